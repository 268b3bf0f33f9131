/* Loop, timers, clocks, rate limit, random source. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"
#include "manual_clock.h"
#include "clock_file.h"
#include "vpa/base/mem.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/seed.h"
#include "vpa/net/loop.h"
#include "vpa/base/random.h"
#include "vpa/net/monotonic.h"
#include "vpa/net/rate.h"

#define START vpa_time_from_unix(1767225600, 0)

static struct vpa_clock *clk;
static struct vpa_loop *loop;
static char trace[256];

/* Texts as contexts of callbacks. */
static char la[] = "a", lb[] = "b", lc[] = "c", lx[] = "x", l1[] = "1", li[] = "i", lopen[] = "(",
            lclose[] = ")";

static void setup(void)
{
    clk = vpa_clock_new_manual(START);
    loop = vpa_loop_new(clk);
    trace[0] = '\0';
}

static void teardown(void)
{
    vpa_loop_free(loop);
    vpa_clock_free(clk);
}

static void note(void *ctx)
{
    strncat(trace, ctx, sizeof(trace) - strlen(trace) - 1);
}

static void stop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

TEST(posts_run_in_order) {
    vpa_loop_post(loop, note, la);
    vpa_loop_post(loop, note, lb);
    vpa_loop_post(loop, note, lx);
    vpa_loop_post(loop, note, lc);
    vpa_loop_unpost(loop, note, lx);
    vpa_loop_post(loop, stop, NULL);
    vpa_loop_run(loop);
    ck_assert_str_eq(trace, "abc");
}

TEST(timers_run_by_deadline_then_start) {
    const int delays[] = {5, 1, 3, 1, 9, 3};
    char names[][2] = {"a", "b", "c", "d", "e", "f"};
    struct vpa_timer *timers[6];

    for (int i = 0; i < 6; i++) {
        timers[i] = vpa_timer_new(loop, note, names[i]);
        vpa_timer_start(timers[i], delays[i] * VPA_HOUR);
    }
    vpa_timer_stop(timers[4]);
    vpa_timer_start(timers[1], 4 * VPA_HOUR); /* moved */
    vpa_loop_pump(loop, 10 * VPA_HOUR);
    ck_assert_str_eq(trace, "dcfba");
    ck_assert(vpa_loop_now(loop) == vpa_time_add(START, 10 * VPA_HOUR));
    for (int i = 0; i < 6; i++) {
        ck_assert(!vpa_timer_is_running(timers[i]));
        vpa_timer_free(timers[i]);
    }
}

static struct vpa_timer *periodic;
static int ticks;

static void tick(void *ctx)
{
    (void)ctx;
    if (++ticks < 1000)
        vpa_timer_start(periodic, VPA_MINUTE);
}

TEST(manual_clock_jumps) {
    periodic = vpa_timer_new(loop, tick, NULL);
    vpa_timer_start(periodic, VPA_MINUTE);
    vpa_loop_pump(loop, 1000 * VPA_MINUTE);
    ck_assert_int_eq(ticks, 1000);
    ck_assert(vpa_loop_monotonic(loop) == 1000 * VPA_MINUTE);
    vpa_timer_free(periodic);
}

static bool five_ticks(void *ctx)
{
    (void)ctx;
    return ticks >= 5;
}

TEST(wait_returns_or_times_out) {
    struct vpa_error err;

    ticks = 0;
    periodic = vpa_timer_new(loop, tick, NULL);
    vpa_timer_start(periodic, VPA_MINUTE);
    ck_assert_int_eq(vpa_loop_wait(loop, five_ticks, NULL, VPA_HOUR, &err), 0);
    ck_assert(vpa_loop_monotonic(loop) == 5 * VPA_MINUTE);
    ticks = -100;
    ck_assert_int_eq(vpa_loop_wait(loop, five_ticks, NULL, 2 * VPA_MINUTE, &err), -1);
    ck_assert_int_eq(err.code, VPA_CANCELLED);
    vpa_loop_stop(loop);
    ck_assert_int_eq(vpa_loop_wait(loop, five_ticks, NULL, VPA_HOUR, &err), -1);
    vpa_timer_free(periodic);
}

static void nested(void *ctx)
{
    note(ctx);
    vpa_loop_pump(loop, VPA_SECOND);
    note(lclose);
}

TEST(callbacks_may_pump) {
    struct vpa_timer *t = vpa_timer_new(loop, nested, lopen);

    vpa_timer_start(t, 0);
    vpa_loop_post(loop, note, l1);
    struct vpa_timer *inner = vpa_timer_new(loop, note, li);
    vpa_timer_start(inner, VPA_MILLISECOND);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_str_eq(trace, "1(i)");
    vpa_timer_free(t);
    vpa_timer_free(inner);
}

static int pipe_fds[2];

static void read_pipe(void *ctx)
{
    char c[2] = {0};

    ck_assert_int_eq(read(pipe_fds[0], c, 1), 1);
    note(c);
    (void)ctx;
}

static void *write_later(void *ctx)
{
    usleep(20000);
    vpa_loop_post(loop, stop, NULL);
    return ctx;
}

TEST(watches_and_foreign_posts) {
    struct vpa_watch *w;
    pthread_t thread;

    ck_assert_int_eq(pipe(pipe_fds), 0);
    w = vpa_watch_new(loop, pipe_fds[0], read_pipe, NULL);
    ck_assert_int_eq(write(pipe_fds[1], "xy", 2), 2);
    pthread_create(&thread, NULL, write_later, NULL);
    vpa_loop_run(loop); /* nothing but the thread ends it */
    pthread_join(thread, NULL);
    ck_assert_str_eq(trace, "xy");
    vpa_watch_free(w);
}

static void on_signal(void *ctx, int number)
{
    char name[] = {number == SIGTERM ? 'T' : '?', '\0'};

    note(name);
    (void)ctx;
    vpa_loop_stop(loop);
}

TEST(signals_arrive_on_the_loop) {
    const int signals[] = {SIGTERM, SIGUSR1};
    struct vpa_error err;

    ck_assert_int_eq(vpa_loop_on_signals(loop, signals, 2, on_signal, NULL, &err), 0);
    raise(SIGTERM);
    vpa_loop_run(loop);
    ck_assert_str_eq(trace, "T");
}

/* Work without end: every callback posts the next. */

static struct {
    int pieces, raise_at, signal_at, timer_at, watch_at;
} busy;

static void one_more(void *ctx)
{
    busy.pieces++;
    if (busy.pieces == busy.raise_at)
        raise(SIGTERM);
    if (busy.pieces == 100000)
        vpa_loop_stop(loop);
    vpa_loop_post(loop, one_more, ctx);
}

static void on_busy_signal(void *ctx, int number)
{
    (void)ctx;
    ck_assert_int_eq(number, SIGTERM);
    busy.signal_at = busy.pieces;
    vpa_loop_stop(loop);
}

TEST_RANGE(signals_come_before_any_other_work, 1, 70) {
    const int signals[] = {SIGTERM};
    struct vpa_error err;

    memset(&busy, 0, sizeof(busy));
    busy.raise_at = _i;
    ck_assert_int_eq(vpa_loop_on_signals(loop, signals, 1, on_busy_signal, NULL, &err), 0);
    for (int i = 0; i < 1000; i++)
        vpa_loop_post(loop, one_more, NULL);
    vpa_loop_run(loop);
    ck_assert_int_eq(busy.signal_at, busy.raise_at); /* not one piece in between */
}

static void on_busy_timer(void *ctx)
{
    (void)ctx;
    busy.timer_at = busy.timer_at ? busy.timer_at : busy.pieces;
}

static void on_busy_watch(void *ctx)
{
    (void)ctx;
    busy.watch_at = busy.watch_at ? busy.watch_at : busy.pieces;
}

TEST(posted_work_starves_nothing) {
    struct vpa_timer *timer = vpa_timer_new(loop, on_busy_timer, NULL);

    memset(&busy, 0, sizeof(busy));
    ck_assert_int_eq(pipe(pipe_fds), 0);
    struct vpa_watch *watch = vpa_watch_new(loop, pipe_fds[0], on_busy_watch, NULL);
    ck_assert_int_eq(write(pipe_fds[1], "x", 1), 1);
    vpa_timer_start(timer, 0);
    vpa_loop_post(loop, one_more, NULL);
    vpa_loop_run(loop);
    ck_assert_int_gt(busy.timer_at, 0);
    ck_assert_int_le(busy.timer_at, 100);
    ck_assert_int_gt(busy.watch_at, 0);
    ck_assert_int_le(busy.watch_at, 100);
    vpa_timer_free(timer);
    vpa_watch_free(watch);
}

TEST_CASE(clocks_and_rates, NULL, NULL);

TEST(real_clock_waits) {
    struct vpa_clock *real = vpa_clock_new_real();
    struct vpa_loop *l = vpa_loop_new(real);
    int64_t before = real->monotonic(real);

    vpa_loop_pump(l, 30 * VPA_MILLISECOND);
    int64_t passed = real->monotonic(real) - before;
    ck_assert_int_ge(passed, 30 * VPA_MILLISECOND);
    ck_assert_int_lt(passed, 10 * VPA_SECOND);
    ck_assert(vpa_clock_now(real) > START);
    vpa_loop_free(l);
    vpa_clock_free(real);
}

static int64_t monotonic_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * VPA_SECOND + ts.tv_nsec;
}

TEST(threads_wait_by_the_monotonic_clock) {
    for (int i = 0; i < 1000; i++) {
        int64_t before = monotonic_ns(), now = vpa_monotonic_read();

        ck_assert_int_ge(now, before);
        ck_assert_int_le(now, monotonic_ns());
    }
}

TEST(simulated_clock_follows_its_file) {
    char path[] = "/tmp/plumb-clock-XXXXXX";
    int fd = mkstemp(path);
    struct vpa_error err;

    ck_assert_int_ge(fd, 0);
    ck_assert_ptr_null(vpa_clock_new_simulated(path, &err)); /* too short */
    ck_assert_int_eq(ftruncate(fd, sizeof(struct vpa_clock_file)), 0);
    ck_assert_ptr_null(vpa_clock_new_simulated(path, &err)); /* no magic */
    struct vpa_clock_file *file =
        mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    file->magic = VPA_CLOCK_FILE_MAGIC;
    vpa_clock_file_write(file, 1000 * VPA_SECOND, monotonic_ns(), 1000);
    setenv(VPA_SIMULATED_CLOCK_ENV, path, 1);
    struct vpa_clock *clock = vpa_clock_new_from_env(&err);
    ck_assert_ptr_nonnull(clock);
    struct vpa_loop *l = vpa_loop_new(clock);
    int64_t before = monotonic_ns();
    vpa_loop_pump(l, 20 * VPA_SECOND); /* 20 ms */
    ck_assert_int_lt(monotonic_ns() - before, 5 * VPA_SECOND);
    ck_assert(vpa_clock_now(clock) >= (vpa_time)1020 * VPA_SECOND);
    vpa_clock_file_write(file, 5000 * VPA_SECOND, monotonic_ns(), 0); /* stands still */
    ck_assert(vpa_clock_now(clock) == (vpa_time)5000 * VPA_SECOND);
    ck_assert_int_gt(clock->real_wait(clock, VPA_SECOND), 0);
    ck_assert_int_le(clock->real_wait(clock, VPA_SECOND), 2 * VPA_MILLISECOND);
    ck_assert_int_eq(clock->real_wait(clock, VPA_MICROSECOND), 2 * VPA_MILLISECOND);
    file->wall_offset_ns = -VPA_MINUTE; /* somebody sets the clock back */
    ck_assert(vpa_clock_now(clock) == (vpa_time)4940 * VPA_SECOND);
    ck_assert_int_eq(clock->monotonic(clock), 5000 * VPA_SECOND);
    vpa_loop_free(l);
    vpa_clock_free(clock);
    munmap(file, sizeof(*file));
    close(fd);
    unlink(path);
    ck_assert_ptr_null(vpa_clock_new_from_env(&err));
}

/* updater.md 3.3: rate, burst, steps of (at seconds, limit seconds, passes, wait ms) */
static const struct {
    const char *name;
    double rate;
    int64_t burst;
    struct {
        double at, limit;
        int passes, wait_ms;
    } steps[5];
} rates[] = {
    {"full bucket, then deficits",
     2,
     2,
     {{0, 60, 1, 0}, {0, 60, 1, 0}, {0, 60, 1, 500}, {0, 60, 1, 1000}, {5, 60, 1, 0}}},
    {"refill is capped at the burst", 1, 1, {{0, 60, 1, 0}, {100, 60, 1, 0}, {100, 60, 1, 1000}}},
    {"a wait beyond the limit takes nothing",
     1,
     1,
     {{0, 60, 1, 0}, {0, 0.5, 0, 0}, {0, 1, 1, 1000}}},
    {"no limit", 0, 0, {{0, 0, 1, 0}, {0, 0, 1, 0}, {0, -1, 0, 0}}},
    {"negative rate", -1, 5, {{0, 0, 1, 0}}},
    {"burst below one", 5, 0, {{0, 60, 0, 0}}},
};

TEST_EACH(token_bucket, rates) {
    struct vpa_rate r;
    vpa_duration wait;

    vpa_rate_init(&r, rates[_i].rate, rates[_i].burst);
    for (int i = 0; i < 5; i++) {
        if (i > 0 && rates[_i].steps[i].at == 0 && rates[_i].steps[i].limit == 0 &&
            !rates[_i].steps[i].passes)
            break;
        wait = -1;
        bool got = vpa_rate_reserve(&r, (int64_t)(rates[_i].steps[i].at * 1e9),
                                    (vpa_duration)(rates[_i].steps[i].limit * 1e9), &wait);
        ck_assert_msg(got == rates[_i].steps[i].passes, "%s: step %d", rates[_i].name, i);
        if (got)
            ck_assert_msg(wait == rates[_i].steps[i].wait_ms * VPA_MILLISECOND, "%s: step %d: %lld",
                          rates[_i].name, i, (long long)wait);
    }
}

/* Sums of parts are rounded otherwise than the whole. */
TEST(what_was_refused_changes_no_wait) {
    struct vpa_rate asked, left;
    vpa_duration wait, same;

    vpa_rate_init(&asked, 0.0032, 1);
    vpa_rate_init(&left, 0.0032, 1);
    ck_assert(vpa_rate_allow(&asked, 0) && vpa_rate_allow(&left, 0));
    for (int minute = 1; minute < 5; minute++)
        ck_assert(!vpa_rate_reserve(&asked, minute * VPA_MINUTE, VPA_SECOND, &wait));
    ck_assert(vpa_rate_reserve(&asked, 5 * VPA_MINUTE, VPA_MINUTE, &wait));
    ck_assert(vpa_rate_reserve(&left, 5 * VPA_MINUTE, VPA_MINUTE, &same));
    ck_assert_int_eq(wait, same);
}

TEST(client_limits) {
    struct vpa_rate r;
    struct vpa_error err;

    ck_assert_int_eq(vpa_rate_init_client(&r, 50, 0, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "burst is required to be greater than 0"));
    ck_assert_int_eq(vpa_rate_init_client(&r, 0, 0, &err), 0);
    ck_assert(r.rate == 5 && r.burst == 10);
    ck_assert_int_eq(vpa_rate_init_client(&r, 0, -7, &err), -1); /* nothing would ever pass */
    ck_assert_int_eq(vpa_rate_init_client(&r, -1, 0, &err), 0);
    for (int i = 0; i < 1000; i++)
        ck_assert(vpa_rate_allow(&r, 0));
}

TEST(random_source) {
    struct vpa_random a, b;
    char uuid[VPA_UUID_TEXT_MAX];

    vpa_random_init(&a, 7);
    vpa_random_init(&b, 7);
    for (int i = 0; i < 1000; i++) {
        ck_assert(vpa_random_next(&a) == vpa_random_next(&b));
        double x = vpa_random_double(&a);
        ck_assert(x >= 0 && x < 1);
        ck_assert(x == vpa_random_double(&b));
        vpa_duration d = vpa_random_jitter(&a, VPA_SECOND, 1.2);
        ck_assert(d >= VPA_SECOND && d < 2200 * VPA_MILLISECOND);
        vpa_random_jitter(&b, VPA_SECOND, 1.2);
    }
    vpa_random_uuid(&a, uuid);
    ck_assert_uint_eq(strlen(uuid), 36);
    ck_assert_int_eq(uuid[14], '4');
    vpa_random_init(&a, vpa_seed_from_kernel());
    vpa_random_init(&b, vpa_seed_from_kernel());
    ck_assert(a.state != b.state);
}

int main(void)
{
    return run_tests("loop", setup, teardown);
}
