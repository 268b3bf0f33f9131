/*
 * Clocks. Everything else takes "now" as an argument or from the loop; this is where it comes from.
 *
 *     real       CLOCK_REALTIME and CLOCK_BOOTTIME
 *     simulated  virtual time shared with the simulator: a small file, mapped read-only, says how
 *                virtual time follows CLOCK_MONOTONIC. A day of virtual time may so pass in minutes
 *     manual     stands still while code runs; the loop moves it to the next timer when nothing
 *                else is ready, so a whole daemon runs in virtual time without waiting (tests)
 *
 * Durations of timers are virtual. Transport time-outs (connect, TLS, idle) are real time, except
 * in the in-memory transport.
 */
#ifndef VPA_DAEMON_CLOCK_H
#define VPA_DAEMON_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/base/error.h"
#include "vpa/base/time.h"
#include "vpa/net/loop.h"

/* Environment variable that names the file of the simulated clock. */
#define VPA_SIMULATED_CLOCK_ENV "VPA_SIMULATED_CLOCK"

/*
 * Layout of that file, in the byte order of the machine. The simulator creates the file whole
 * (write and rename), keeps it mapped and changes it with vpa_clock_file_write(); readers retry
 * while `generation` is odd or changed under them.
 *
 *     virtual now = virtual_base_ns + (CLOCK_MONOTONIC - monotonic_base_ns) * rate
 */
#define VPA_CLOCK_FILE_MAGIC INT64_C(0x31304b4c434d554c) /* "LUMCLK01" read as bytes */
struct vpa_clock_file {
    int64_t magic;
    int64_t virtual_base_ns;   /* Unix time in nanoseconds */
    int64_t monotonic_base_ns; /* CLOCK_MONOTONIC in nanoseconds */
    double rate;               /* virtual seconds per real second; 0 stands still; never negative */
    int64_t generation;        /* odd while being written */
};

/* For the simulator: new parameters in one consistent step. Virtual time must not run backwards. */
static inline void vpa_clock_file_write(struct vpa_clock_file *file, int64_t virtual_base_ns,
                                        int64_t monotonic_base_ns, double rate)
{
    __atomic_fetch_add(&file->generation, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&file->virtual_base_ns, virtual_base_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&file->monotonic_base_ns, monotonic_base_ns, __ATOMIC_RELEASE);
    __atomic_store(&file->rate, &rate, __ATOMIC_RELEASE);
    __atomic_fetch_add(&file->generation, 1, __ATOMIC_ACQ_REL);
}

struct vpa_clock *vpa_clock_new_real(void);
/* VPA_INVALID when the file cannot be mapped or is not a clock file. */
struct vpa_clock *vpa_clock_new_simulated(const char *path, struct vpa_error *err);
struct vpa_clock *vpa_clock_new_manual(vpa_time start);
/* The simulated clock when VPA_SIMULATED_CLOCK is set, else the real one; NULL with err. */
struct vpa_clock *vpa_clock_new_from_env(struct vpa_error *err);
void vpa_clock_free(struct vpa_clock *clock);

vpa_time vpa_clock_now(const struct vpa_clock *clock);      /* wall clock */
int64_t vpa_clock_monotonic(const struct vpa_clock *clock); /* nanoseconds, never backwards */
/* Real nanoseconds to sleep for the virtual duration to pass; bounded where the rate may change. */
int64_t vpa_clock_real_wait(const struct vpa_clock *clock, vpa_duration duration);
/* Manual clock only: forward by d. */
void vpa_clock_advance(struct vpa_clock *clock, vpa_duration d);

#endif
