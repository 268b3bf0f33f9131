/*
 * Clocks. Everything else takes "now" as an argument or from the loop; this is where it comes from.
 *
 *     real       CLOCK_REALTIME and CLOCK_BOOTTIME
 *     simulated  virtual time shared with the simulator: a small file, mapped read-only, says how
 *                virtual time follows CLOCK_MONOTONIC. A day of virtual time may so pass in minutes
 *
 * Tests have a third one, which stands still (test/lib/manual_clock.h). Durations of timers are
 * virtual. Transport time-outs (connect, TLS, idle) are real time.
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
 * (write and rename), keeps it mapped and changes it (test/lib/clock_file.h); readers retry
 * while `generation` is odd or changed under them.
 *
 *     virtual now = virtual_base_ns + (CLOCK_MONOTONIC - monotonic_base_ns) * rate
 *     wall clock  = virtual now + wall_offset_ns
 *
 * The offset may be stored at any moment, by itself: somebody has set the clock, and what is
 * measured with the monotonic one does not notice.
 */
#define VPA_CLOCK_FILE_MAGIC INT64_C(0x31304b4c434d554c) /* "LUMCLK01" read as bytes */
/* The same of a time by which no server lives (struct vpa_clock, alone): "LUMCLK0A". */
#define VPA_CLOCK_FILE_ALONE INT64_C(0x41304b4c434d554c)
struct vpa_clock_file {
    int64_t magic;
    int64_t virtual_base_ns;   /* Unix time in nanoseconds */
    int64_t monotonic_base_ns; /* CLOCK_MONOTONIC in nanoseconds */
    double rate;               /* virtual seconds per real second; 0 stands still, moved by hand */
    int64_t generation;        /* odd while being written */
    int64_t wall_offset_ns;    /* 0 but for tests of clocks that are set */
};

struct vpa_clock *vpa_clock_new_real(void);
/* VPA_INVALID when the file cannot be mapped or is not a clock file. */
struct vpa_clock *vpa_clock_new_simulated(const char *path, struct vpa_error *err);
/* The simulated clock when VPA_SIMULATED_CLOCK is set, else the real one; NULL with err. */
struct vpa_clock *vpa_clock_new_from_env(struct vpa_error *err);
void vpa_clock_free(struct vpa_clock *clock);

vpa_time vpa_clock_now(const struct vpa_clock *clock); /* wall clock */

#endif
