/*
 * Instructions of this process in user space, between start and stop. The kernel counts them where
 * it may; elsewhere a program that simulates the processor has to (`--in-valgrind`).
 */
#ifndef HOSTILE_COUNT_H
#define HOSTILE_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct count {
    int fd;                /* -1: the kernel does not count */
    uint64_t instructions; /* of all sections */
    uint64_t last;         /* of the last one */
};
/* False when nothing can be counted here. */
bool count_open(struct count *count);
void count_start(struct count *count);
void count_stop(struct count *count); /* adds what came since the start */
void count_close(struct count *count);
/* Largest memory that the process ever had resident, in KiB. */
long count_peak_kib(void);

#endif
