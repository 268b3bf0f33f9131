/*
 * Where time comes from. With --clock-file the parameters of virtual time live in a file that
 * everybody who takes part maps (layout: vpa/daemon/clock.h); without, virtual time is real time.
 */
#include "sim.h"
#include "clock_file.h"

#include <fcntl.h>
#include <string.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "vpa/daemon/clock.h"

struct clock_file {
    struct vpa_clock_file *map;
};

static int64_t monotonic_nanos(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t real_nanos(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t real_millis(void)
{
    return monotonic_nanos() / 1000000;
}

static int create_file(const char *path, const struct vpa_clock_file *first, struct vpa_error *err)
{
    vpa_auto_free char *temporary = vpa_xprintf("%s.%d", path, (int)getpid());
    int fd = open(temporary, O_CREAT | O_EXCL | O_RDWR, 0644);

    if (fd < 0)
        return vpa_fail(err, VPA_INVALID, "clock file %s cannot be made", temporary);
    if (write(fd, first, sizeof(*first)) != (ssize_t)sizeof(*first) ||
        rename(temporary, path) < 0) {
        close(fd);
        return vpa_fail(err, VPA_INVALID, "clock file %s cannot be written", path);
    }
    return fd;
}

int clock_open(struct sim *sim, struct vpa_error *err)
{
    struct vpa_clock_file first = {.magic = VPA_CLOCK_FILE_MAGIC,
                                   .virtual_base_ns = real_nanos(),
                                   .monotonic_base_ns = monotonic_nanos(),
                                   .rate = sim->opt.time_rate};
    vpa_time start;

    if (sim->opt.start_time) {
        if (vpa_time_parse(sim->opt.start_time, &start, err) < 0)
            return vpa_wrap(err, "--start-time");
        first.virtual_base_ns = vpa_time_unix_nanos(start);
    }
    sim->clock = vpa_xcalloc(1, sizeof(*sim->clock));
    if (!sim->opt.clock_file) {
        sim->clock->map = vpa_xmalloc(sizeof(first));
        *sim->clock->map = first;
        return 0;
    }
    int fd = create_file(sim->opt.clock_file, &first, err);
    if (fd < 0)
        return -1;
    void *map = mmap(NULL, sizeof(first), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return vpa_fail(err, VPA_INVALID, "clock file %s cannot be mapped", sim->opt.clock_file);
    sim->clock->map = map;
    return 0;
}

void clock_close(struct sim *sim)
{
    if (!sim->clock)
        return;
    if (sim->clock->map && sim->opt.clock_file) {
        munmap(sim->clock->map, sizeof(*sim->clock->map));
        unlink(sim->opt.clock_file);
    } else {
        vpa_free_indirect(&sim->clock->map);
    }
    vpa_free_indirect(&sim->clock);
}

void clock_change(struct sim *sim, double rate, vpa_duration forward)
{
    int64_t now = vpa_time_unix_nanos(sim_now(sim)) + forward;

    vpa_clock_file_write(sim->clock->map, now, monotonic_nanos(), rate > 0 ? rate : 0);
    if (forward <= 0)
        return;
    pthread_mutex_lock(&sim->store.lock);
    sim->jumps++;
    for (struct collection *c = sim->store.collections; c; c = c->next)
        pthread_cond_broadcast(&c->changed);
    pthread_cond_broadcast(&sim->store.any);
    pthread_mutex_unlock(&sim->store.lock);
}

double sim_rate(const struct sim *sim)
{
    return sim->clock->map->rate;
}

int64_t sim_millis(const struct sim *sim)
{
    return sim->now ? 0 : real_millis();
}

vpa_time sim_now(const struct sim *sim)
{
    if (sim->now)
        return sim->now(sim->now_ctx);

    const struct vpa_clock_file *f = sim->clock->map;
    double passed = (double)(monotonic_nanos() - f->monotonic_base_ns) * f->rate;

    return (vpa_time)f->virtual_base_ns + (vpa_time)(int64_t)passed;
}

const char *sim_now_text(const struct sim *sim, struct vpa_arena *a)
{
    char text[VPA_TIME_TEXT_MAX];
    vpa_time_format(sim_now(sim), text);
    return vpa_arena_strdup(a, text);
}

const char *sim_now_micro(const struct sim *sim, struct vpa_arena *a)
{
    char text[VPA_TIME_TEXT_MAX];
    vpa_time_format_micro(sim_now(sim), text);
    return vpa_arena_strdup(a, text);
}
