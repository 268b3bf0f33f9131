/*
 * A daemon under measurement: started against a stub API server, asked of the kernel what it used.
 */
#ifndef BENCH_MEASURED_H
#define BENCH_MEASURED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stub_server.h"

int64_t measured_now_ns(void); /* CLOCK_MONOTONIC */

/* A kubeconfig for the stub, with a token as long as a service account's; its path. */
struct measured_kubeconfig {
    char path[64];
};
bool measured_kubeconfig_write(struct measured_kubeconfig *file, const struct stub *stub);

/* Starts the program that lies beside this one, with --kubeconfig and the other arguments (NULL at
 * the end). Its log goes nowhere unless BENCH_LOG is set, which is then one argument more. */
pid_t measured_start(const char *program, const struct measured_kubeconfig *file,
                     const char *const *arguments);

/* One that nobody listens on now. */
int measured_free_port(void);
/* Until somebody listens there. */
void measured_wait_for_port(int port);

struct measured_usage {
    double cpu_s; /* of all threads, those that ended as well; to the nanosecond */
    double resident_mib;
    double peak_mib;
};
struct measured_usage measured_usage_of(pid_t pid);
/* SIGTERM, and what it ended with: exit status, -1 for a signal. *seconds: how long that took. */
int measured_stop(pid_t pid, double *seconds);

#endif
