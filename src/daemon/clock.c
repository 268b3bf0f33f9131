/*
 * Two clocks behind the functions of struct vpa_clock. A clock begins with that struct, so that a
 * pointer to one is a pointer to the other. The simulated clock's parameters are a sequence
 * lock in shared memory whose writer is another process: readers try again while it writes, and
 * take what they have when the writer died in between.
 */
#include "vpa/daemon/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "vpa/base/mem.h"
#include "vpa/net/monotonic.h"

/* A simulated clock may change its rate at any moment: no sleep trusts the old one for longer. */
#define SIMULATED_WAIT_MAX (50 * VPA_MILLISECOND)
/* One that stands still is moved by hand, from moment to moment, by somebody who waits for us. */
#define STANDING_WAIT (2 * VPA_MILLISECOND)
/* A real sleep is never longer, whatever is asked: poll(2) takes an int of milliseconds. */
#define REAL_WAIT_MAX (24 * VPA_HOUR)
/* A reader that keeps meeting a writer gives up and takes what it has: the writer died in between.
 */
#define SEQUENCE_TRIES 100000

struct simulated_clock {
    struct vpa_clock base;
    const struct vpa_clock_file *file; /* mapped */
};

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * VPA_SECOND + ts.tv_nsec;
}

/* ---- real ---- */

static vpa_time real_now(const struct vpa_clock *clock)
{
    (void)clock;
    return (vpa_time)read_clock(CLOCK_REALTIME);
}

static int64_t real_monotonic(const struct vpa_clock *clock)
{
    (void)clock;
    return read_clock(CLOCK_BOOTTIME); /* a lease expires while the machine sleeps, too */
}

static int64_t real_wait(const struct vpa_clock *clock, vpa_duration duration)
{
    (void)clock;
    if (duration <= 0)
        return 0;
    return duration < REAL_WAIT_MAX ? duration : REAL_WAIT_MAX;
}

struct vpa_clock *vpa_clock_new_real(void)
{
    struct vpa_clock *clock = vpa_xcalloc(1, sizeof(*clock));

    *clock =
        (struct vpa_clock){.now = real_now, .monotonic = real_monotonic, .real_wait = real_wait};
    return clock;
}

/* ---- simulated ---- */

/* One consistent set of parameters: a sequence lock whose writer is another process. */
static void read_file(const struct vpa_clock_file *file, struct vpa_clock_file *out)
{
    for (int i = 0; i < SEQUENCE_TRIES; i++) {
        int64_t before = __atomic_load_n(&file->generation, __ATOMIC_ACQUIRE);

        out->virtual_base_ns = __atomic_load_n(&file->virtual_base_ns, __ATOMIC_ACQUIRE);
        out->monotonic_base_ns = __atomic_load_n(&file->monotonic_base_ns, __ATOMIC_ACQUIRE);
        __atomic_load(&file->rate, &out->rate, __ATOMIC_ACQUIRE);
        if (before % 2 == 0 && before == __atomic_load_n(&file->generation, __ATOMIC_ACQUIRE))
            break;
    }
    if (!(out->rate >= 0) || !isfinite(out->rate))
        out->rate = 0;
}

static int64_t simulated_now(const struct vpa_clock *clock)
{
    struct vpa_clock_file f;

    read_file(((const struct simulated_clock *)clock)->file, &f);
    double passed = (double)(vpa_monotonic_read() - f.monotonic_base_ns) * f.rate;
    if (passed > 9e18)
        passed = 9e18;
    int64_t now;
    if (__builtin_add_overflow(f.virtual_base_ns, (int64_t)passed, &now))
        now = INT64_MAX;
    return now;
}

static vpa_time simulated_wall(const struct vpa_clock *clock)
{
    const struct vpa_clock_file *file = ((const struct simulated_clock *)clock)->file;

    return vpa_time_add((vpa_time)simulated_now(clock),
                        __atomic_load_n(&file->wall_offset_ns, __ATOMIC_ACQUIRE));
}

static int64_t simulated_wait(const struct vpa_clock *clock, vpa_duration duration)
{
    struct vpa_clock_file f;

    if (duration <= 0)
        return 0;
    read_file(((const struct simulated_clock *)clock)->file, &f);
    if (!(f.rate > 0))
        return STANDING_WAIT;
    double wait = (double)duration / f.rate;
    return wait < (double)SIMULATED_WAIT_MAX ? (int64_t)wait : SIMULATED_WAIT_MAX;
}

struct vpa_clock *vpa_clock_new_simulated(const char *path, struct vpa_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        vpa_fail(err, VPA_INVALID, "simulated clock %s: %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(struct vpa_clock_file)) {
        close(fd);
        vpa_fail(err, VPA_INVALID, "simulated clock %s: too short", path);
        return NULL;
    }
    void *map = mmap(NULL, sizeof(struct vpa_clock_file), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) {
        vpa_fail(err, VPA_INVALID, "simulated clock %s: %s", path, strerror(errno));
        return NULL;
    }
    const struct vpa_clock_file *file = map;
    bool alone = file->magic == VPA_CLOCK_FILE_ALONE;
    if (file->magic != VPA_CLOCK_FILE_MAGIC && !alone) {
        munmap(map, sizeof(*file));
        vpa_fail(err, VPA_INVALID, "simulated clock %s: not a clock file", path);
        return NULL;
    }
    struct simulated_clock *simulated = vpa_xcalloc(1, sizeof(*simulated));
    simulated->base = (struct vpa_clock){.now = simulated_wall,
                                         .monotonic = simulated_now,
                                         .real_wait = simulated_wait,
                                         .alone = alone};
    simulated->file = file;
    return &simulated->base;
}

struct vpa_clock *vpa_clock_new_from_env(struct vpa_error *err)
{
    const char *path = getenv(VPA_SIMULATED_CLOCK_ENV);

    if (path && *path)
        return vpa_clock_new_simulated(path, err);
    return vpa_clock_new_real();
}

void vpa_clock_free(struct vpa_clock *clock)
{
    if (!clock)
        return;
    if (clock->now == simulated_wall) {
        const struct vpa_clock_file *file = ((struct simulated_clock *)clock)->file;
        munmap((void *)(uintptr_t)file, sizeof(*file));
    }
    free(clock);
}

/* ---- any ---- */

vpa_time vpa_clock_now(const struct vpa_clock *clock)
{
    return clock->now(clock);
}
