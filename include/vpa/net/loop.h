/*
 * The event loop of a daemon: timers, posted callbacks, signals, watched descriptors and HTTP
 * transfers, around poll(2). One thread owns it and everything it calls; only
 * vpa_loop_post() may be called from others.
 *
 *     struct vpa_loop *loop = vpa_loop_new(clock);
 *     struct vpa_timer *timer = vpa_timer_new(loop, on_tick, daemon);
 *     vpa_timer_start(timer, VPA_MINUTE);
 *     vpa_loop_on_signals(loop, (int[]){SIGTERM, SIGINT}, 2, on_signal, daemon, &err);
 *     vpa_loop_run(loop);
 *
 * A tick that waits pumps the loop (vpa_loop_wait). The rule that makes this safe: callbacks only
 * enqueue, set a flag, or renew their own lease.
 *
 * Order is deterministic: posted callbacks first come first served, timers by deadline and then by
 * start. Signals are looked at between any two callbacks; descriptors and timers get their turn
 * however many posted callbacks wait. With a manual clock the loop jumps to the next timer when
 * nothing is ready.
 */
#ifndef VPA_NET_LOOP_H
#define VPA_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/error.h"
#include "vpa/base/time.h"

typedef void (*vpa_loop_fn)(void *ctx);

/* Where time comes from; daemon/clock.h has a real one and the simulator's, test/lib has one that
 * stands still. */
struct vpa_clock {
    vpa_time (*now)(const struct vpa_clock *clock);      /* wall clock */
    int64_t (*monotonic)(const struct vpa_clock *clock); /* nanoseconds, never backwards */
    /* Real nanoseconds to sleep for the duration to pass; bounded where the rate may change. */
    int64_t (*real_wait)(const struct vpa_clock *clock, vpa_duration duration);
    /* A clock that stands still: forward by d. NULL: it runs by itself. */
    void (*advance)(struct vpa_clock *clock, vpa_duration d);
    bool alone; /* no server lives by it: what they say of the time means nothing here */
};

struct vpa_loop;
/* The clock is borrowed and outlives the loop. SIGPIPE is ignored process-wide from here on. */
struct vpa_loop *vpa_loop_new(struct vpa_clock *clock);
/* Everything that was made on the loop (timers, watches, clients) must be freed before. */
void vpa_loop_free(struct vpa_loop *loop);

vpa_time vpa_loop_now(const struct vpa_loop *loop);
int64_t vpa_loop_monotonic(const struct vpa_loop *loop);
/* Whether its clock is alone. */
bool vpa_loop_is_out_of_time(const struct vpa_loop *loop);

/* Runs fn in the loop, soon, in order. Callable from any thread; wakes the loop. */
void vpa_loop_post(struct vpa_loop *loop, vpa_loop_fn fn, void *ctx);
/* Forgets posted calls of fn with ctx that have not run yet (loop thread only). */
void vpa_loop_unpost(struct vpa_loop *loop, vpa_loop_fn fn, void *ctx);

/* One-shot timers; started again from their own callback for a period. A delay is virtual time, not
 * negative; starting a running timer moves it. */
struct vpa_timer;
struct vpa_timer *vpa_timer_new(struct vpa_loop *loop, vpa_loop_fn fn, void *ctx);
void vpa_timer_start(struct vpa_timer *timer, vpa_duration delay);
/* At an absolute monotonic time of the loop's clock; times already past fire at once. */
void vpa_timer_start_at(struct vpa_timer *timer, int64_t monotonic);
void vpa_timer_stop(struct vpa_timer *timer);
bool vpa_timer_is_running(const struct vpa_timer *timer);
void vpa_timer_free(struct vpa_timer *timer); /* NULL is allowed; also from its own callback */

/* Calls fn while the descriptor is readable. The descriptor is borrowed. */
struct vpa_watch;
struct vpa_watch *vpa_watch_new(struct vpa_loop *loop, int fd, vpa_loop_fn fn, void *ctx);
void vpa_watch_free(struct vpa_watch *watch); /* NULL is allowed; also from its own callback */

/* Blocks these signals in the calling thread (threads started later inherit that) and delivers them
 * to fn on the loop. At most once per loop. */
typedef void (*vpa_signal_fn)(void *ctx, int signal_number);
int vpa_loop_on_signals(struct vpa_loop *loop, const int *signals, size_t count, vpa_signal_fn fn,
                        void *ctx, struct vpa_error *err) VPA_MUST_CHECK;

/* Until vpa_loop_stop(). */
void vpa_loop_run(struct vpa_loop *loop);
/* Ends vpa_loop_run and every vpa_loop_wait after the current callback; sticky. */
void vpa_loop_stop(struct vpa_loop *loop);
bool vpa_loop_is_stopping(const struct vpa_loop *loop);
/* Stopped before, usable again (tests, shutdown work after run has returned). */
void vpa_loop_resume(struct vpa_loop *loop);

/* Pumps until done(ctx) is true: 0. -1 with VPA_CANCELLED when the (virtual) timeout passed first
 * or the loop was stopped. done is asked after every callback. May be nested. */
typedef bool (*vpa_done_fn)(void *ctx);
int vpa_loop_wait(struct vpa_loop *loop, vpa_done_fn done, void *ctx, vpa_duration timeout,
                  struct vpa_error *err);
/* Pumps for a (virtual) time; ends early when stopped. */
void vpa_loop_pump(struct vpa_loop *loop, vpa_duration duration);
/* Runs whatever is ready now, without waiting or moving a manual clock; true when anything ran. */
bool vpa_loop_poll(struct vpa_loop *loop);

#endif
