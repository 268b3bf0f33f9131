/*
 * The loop knows four kinds of work: posted calls, timers that are due, descriptors that are ready,
 * and curl transfers. dispatch_one() runs exactly one piece, so that a callback may pump the loop
 * again (vpa_loop_wait) without anything being run twice or lost: each piece is taken off its queue
 * before its callback starts. gather() asks the kernel for more.
 *
 * curl's own callbacks run inside the multi handle and therefore only collect; the HTTP client
 * posts the delivery.
 *
 * Posted calls come first, and there may always be one more: an answer that streams posts its next
 * piece while the last one is handled. So that nothing starves, signals are read between any two
 * pieces of work, whatever waits, and every 64 pieces the kernel is asked and one ready descriptor
 * and one due timer get their turn before posted calls do.
 *
 * With a manual clock nothing waits: when gather() finds nothing, the clock is set to the next
 * timer.
 */
#include "loop_internal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "transfers.h"
#include "vpa/base/mem.h"

/* Descriptors and timers get a turn at least after so many pieces of work. */
#define FAIRNESS 64
#define WATCHES_MAX 64
/* Real transfers under a manual clock (tests with a real server) get so long before the clock
 * jumps. */
#define MANUAL_TRANSFER_WAIT_MS 10

struct vpa_timer {
    struct vpa_loop *loop;
    vpa_loop_fn fn;
    void *ctx;
    int64_t deadline; /* monotonic */
    uint64_t order;   /* of starts, breaks ties */
    size_t position;  /* in the heap, from 1; 0: not running */
};

struct vpa_watch {
    struct vpa_loop *loop;
    int fd;
    bool ready;
    vpa_loop_fn fn;
    void *ctx;
};

struct posted {
    vpa_loop_fn fn; /* NULL: taken back */
    void *ctx;
};

struct vpa_loop {
    struct vpa_clock *clock;
    struct transfers *transfers;
    pthread_t owner;
    bool stopping;

    pthread_mutex_t post_lock;
    struct posted *posts; /* posts[post_head .. post_count) wait */
    size_t post_head, post_count, post_capacity;

    struct vpa_timer **heap; /* heap[0 .. timer_count) */
    size_t timer_count, timer_capacity;
    uint64_t timer_order;

    struct vpa_watch *watches[WATCHES_MAX];
    size_t watch_count;
    unsigned since_gather;
    bool owed_watch, owed_timer; /* their turn before posted calls */

    int signal_fd;
    struct vpa_watch *signal_watch;
    vpa_signal_fn on_signal;
    void *signal_ctx;
};

struct vpa_loop *vpa_loop_new(struct vpa_clock *clock)
{
    struct vpa_loop *loop = vpa_xcalloc(1, sizeof(*loop));

    signal(SIGPIPE, SIG_IGN);
    loop->clock = clock;
    loop->transfers = transfers_new();
    loop->owner = pthread_self();
    loop->signal_fd = -1;
    pthread_mutex_init(&loop->post_lock, NULL);
    return loop;
}

void vpa_loop_free(struct vpa_loop *loop)
{
    if (!loop)
        return;
    vpa_watch_free(loop->signal_watch);
    if (loop->signal_fd >= 0)
        close(loop->signal_fd);
    assert(loop->timer_count == 0 && loop->watch_count == 0);
    transfers_free(loop->transfers);
    pthread_mutex_destroy(&loop->post_lock);
    free(loop->posts);
    free(loop->heap);
    free(loop);
}

vpa_time vpa_loop_now(const struct vpa_loop *loop)
{
    return loop->clock->now(loop->clock);
}

int64_t vpa_loop_monotonic(const struct vpa_loop *loop)
{
    return loop->clock->monotonic(loop->clock);
}

bool vpa_loop_is_out_of_time(const struct vpa_loop *loop)
{
    return loop->clock->alone;
}

CURLM *vpa_loop_multi(struct vpa_loop *loop)
{
    return transfers_multi(loop->transfers);
}

void vpa_loop_hold(struct vpa_loop *loop, curl_socket_t fd)
{
    transfers_hold(loop->transfers, fd);
}

/* Posted calls */

void vpa_loop_post(struct vpa_loop *loop, vpa_loop_fn fn, void *ctx)
{
    pthread_mutex_lock(&loop->post_lock);
    if (loop->post_head > 1024 && loop->post_head * 2 > loop->post_count) {
        loop->post_count -= loop->post_head;
        memmove(loop->posts, loop->posts + loop->post_head,
                loop->post_count * sizeof(*loop->posts));
        loop->post_head = 0;
    }
    VPA_GROW(loop->posts, loop->post_count, loop->post_capacity);
    loop->posts[loop->post_count++] = (struct posted){fn, ctx};
    pthread_mutex_unlock(&loop->post_lock);
    if (!pthread_equal(loop->owner, pthread_self()))
        transfers_wake(loop->transfers);
}

void vpa_loop_unpost(struct vpa_loop *loop, vpa_loop_fn fn, void *ctx)
{
    pthread_mutex_lock(&loop->post_lock);
    for (size_t i = loop->post_head; i < loop->post_count; i++)
        if (loop->posts[i].fn == fn && loop->posts[i].ctx == ctx)
            loop->posts[i].fn = NULL;
    pthread_mutex_unlock(&loop->post_lock);
}

static bool run_posted(struct vpa_loop *loop)
{
    struct posted p = {0};

    pthread_mutex_lock(&loop->post_lock);
    while (!p.fn && loop->post_head < loop->post_count)
        p = loop->posts[loop->post_head++];
    if (loop->post_head == loop->post_count)
        loop->post_head = loop->post_count = 0;
    pthread_mutex_unlock(&loop->post_lock);
    if (!p.fn)
        return false;
    p.fn(p.ctx);
    return true;
}

/* Timers: a binary heap by (deadline, order of start) */

static bool timer_before(const struct vpa_timer *a, const struct vpa_timer *b)
{
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->order < b->order;
}

static void heap_put(struct vpa_loop *loop, size_t i, struct vpa_timer *timer)
{
    loop->heap[i] = timer;
    timer->position = i + 1;
}

static void heap_settle(struct vpa_loop *loop, size_t i, struct vpa_timer *timer)
{
    while (i > 0 && timer_before(timer, loop->heap[(i - 1) / 2])) {
        heap_put(loop, i, loop->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= loop->timer_count)
            break;
        if (child + 1 < loop->timer_count && timer_before(loop->heap[child + 1], loop->heap[child]))
            child++;
        if (!timer_before(loop->heap[child], timer))
            break;
        heap_put(loop, i, loop->heap[child]);
        i = child;
    }
    heap_put(loop, i, timer);
}

struct vpa_timer *vpa_timer_new(struct vpa_loop *loop, vpa_loop_fn fn, void *ctx)
{
    struct vpa_timer *timer = vpa_xcalloc(1, sizeof(*timer));

    timer->loop = loop;
    timer->fn = fn;
    timer->ctx = ctx;
    return timer;
}

void vpa_timer_stop(struct vpa_timer *timer)
{
    struct vpa_loop *loop = timer->loop;

    if (!timer->position)
        return;
    size_t i = timer->position - 1;
    struct vpa_timer *last = loop->heap[--loop->timer_count];
    timer->position = 0;
    if (last != timer)
        heap_settle(loop, i, last);
}

void vpa_timer_start_at(struct vpa_timer *timer, int64_t monotonic)
{
    struct vpa_loop *loop = timer->loop;

    vpa_timer_stop(timer);
    timer->deadline = monotonic;
    timer->order = loop->timer_order++;
    VPA_GROW(loop->heap, loop->timer_count, loop->timer_capacity);
    loop->timer_count++;
    heap_settle(loop, loop->timer_count - 1, timer);
}

void vpa_timer_start(struct vpa_timer *timer, vpa_duration delay)
{
    int64_t deadline;

    if (__builtin_add_overflow(vpa_loop_monotonic(timer->loop), delay > 0 ? delay : 0, &deadline))
        deadline = INT64_MAX;
    vpa_timer_start_at(timer, deadline);
}

bool vpa_timer_is_running(const struct vpa_timer *timer)
{
    return timer->position != 0;
}

void vpa_timer_free(struct vpa_timer *timer)
{
    if (!timer)
        return;
    vpa_timer_stop(timer);
    free(timer);
}

static bool run_timer(struct vpa_loop *loop)
{
    if (loop->timer_count == 0 || loop->heap[0]->deadline > vpa_loop_monotonic(loop))
        return false;
    struct vpa_timer *timer = loop->heap[0];
    vpa_timer_stop(timer);
    timer->fn(timer->ctx);
    return true;
}

/* Watched descriptors */

struct vpa_watch *vpa_watch_new(struct vpa_loop *loop, int fd, vpa_loop_fn fn, void *ctx)
{
    struct vpa_watch *watch = vpa_xcalloc(1, sizeof(*watch));

    assert(loop->watch_count < WATCHES_MAX);
    *watch = (struct vpa_watch){.loop = loop, .fd = fd, .fn = fn, .ctx = ctx};
    loop->watches[loop->watch_count++] = watch;
    return watch;
}

void vpa_watch_free(struct vpa_watch *watch)
{
    if (!watch)
        return;
    struct vpa_loop *loop = watch->loop;
    for (size_t i = 0; i < loop->watch_count; i++)
        if (loop->watches[i] == watch) {
            memmove(loop->watches + i, loop->watches + i + 1,
                    (loop->watch_count - i - 1) * sizeof(*loop->watches));
            loop->watch_count--;
            break;
        }
    free(watch);
}

static bool run_watch(struct vpa_loop *loop)
{
    for (size_t i = 0; i < loop->watch_count; i++) {
        struct vpa_watch *watch = loop->watches[i];

        if (watch->ready) {
            watch->ready = false;
            watch->fn(watch->ctx);
            return true;
        }
    }
    return false;
}

/* Signals */

static bool run_signal(struct vpa_loop *loop)
{
    struct signalfd_siginfo info;

    if (loop->signal_fd < 0 || read(loop->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return false;
    loop->on_signal(loop->signal_ctx, (int)info.ssi_signo);
    return true;
}

/* Only to be woken: run_signal() looks before anything else. */
static void on_signal_fd(void *ctx)
{
    run_signal(ctx);
}

int vpa_loop_on_signals(struct vpa_loop *loop, const int *signals, size_t count, vpa_signal_fn fn,
                        void *ctx, struct vpa_error *err)
{
    sigset_t set;

    assert(loop->signal_fd < 0);
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++)
        sigaddset(&set, signals[i]);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return vpa_fail(err, VPA_INVALID, "cannot block signals");
    loop->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->signal_fd < 0)
        return vpa_fail(err, VPA_INVALID, "signalfd: %s", strerror(errno));
    loop->on_signal = fn;
    loop->signal_ctx = ctx;
    loop->signal_watch = vpa_watch_new(loop, loop->signal_fd, on_signal_fd, loop);
    return 0;
}

/* Running */

/* Tells the owners of transfers that are over. */
static void tell_done(struct vpa_loop *loop)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(vpa_loop_multi(loop), &left)) != NULL) {
        struct vpa_loop_transfer *transfer = NULL;
        CURLcode code = message->data.result;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        transfer->done(transfer, code);
    }
}

static bool has_posted(struct vpa_loop *loop)
{
    pthread_mutex_lock(&loop->post_lock);
    bool has = loop->post_head < loop->post_count;
    pthread_mutex_unlock(&loop->post_lock);
    return has;
}

static void gather(struct vpa_loop *loop, int timeout_ms)
{
    struct pollfd fds[WATCHES_MAX];
    struct vpa_watch *polled[WATCHES_MAX];
    size_t count = loop->watch_count;

    loop->since_gather = 0;
    transfers_run(loop->transfers);
    tell_done(loop);
    if (has_posted(loop))
        timeout_ms = 0;
    for (size_t i = 0; i < count; i++) {
        polled[i] = loop->watches[i];
        fds[i] = (struct pollfd){.fd = polled[i]->fd, .events = POLLIN};
    }
    transfers_wait(loop->transfers, fds, count, timeout_ms);
    for (size_t i = 0; i < count; i++)
        if (fds[i].revents)
            polled[i]->ready = true;
    tell_done(loop);
}

static bool run_owed(struct vpa_loop *loop)
{
    bool watch = loop->owed_watch, timer = loop->owed_timer;

    loop->owed_watch = false;
    if (watch && run_watch(loop))
        return true;
    loop->owed_timer = false;
    return timer && run_timer(loop);
}

static bool dispatch_one(struct vpa_loop *loop)
{
    if (run_signal(loop))
        return true;
    if (++loop->since_gather > FAIRNESS) {
        gather(loop, 0);
        loop->owed_watch = loop->owed_timer = true;
    }
    return run_owed(loop) || run_posted(loop) || run_timer(loop) || run_watch(loop);
}

static int wait_ms(struct vpa_loop *loop, int64_t until)
{
    int64_t wait = loop->clock->real_wait(loop->clock, until - vpa_loop_monotonic(loop));
    int64_t ms = (wait + VPA_MILLISECOND - 1) / VPA_MILLISECOND;

    return (int)ms;
}

/* Nothing is ready: waits until something is, or the (virtual) deadline. */
static void idle(struct vpa_loop *loop, int64_t deadline)
{
    int64_t until = deadline;

    if (loop->timer_count > 0 && loop->heap[0]->deadline < until)
        until = loop->heap[0]->deadline;
    if (!loop->clock->advance) {
        gather(loop, until == INT64_MAX ? 60 * 1000 : wait_ms(loop, until));
        return;
    }
    gather(loop, until == INT64_MAX                       ? 1000
                 : transfers_running(loop->transfers) > 0 ? MANUAL_TRANSFER_WAIT_MS
                                                          : 0);
    bool ready = has_posted(loop);
    for (size_t i = 0; i < loop->watch_count; i++)
        ready = ready || loop->watches[i]->ready;
    if (!ready && until != INT64_MAX)
        loop->clock->advance(loop->clock, until - vpa_loop_monotonic(loop));
}

void vpa_loop_run(struct vpa_loop *loop)
{
    while (!loop->stopping)
        if (!dispatch_one(loop))
            idle(loop, INT64_MAX);
}

void vpa_loop_stop(struct vpa_loop *loop)
{
    loop->stopping = true;
}

bool vpa_loop_is_stopping(const struct vpa_loop *loop)
{
    return loop->stopping;
}

void vpa_loop_resume(struct vpa_loop *loop)
{
    loop->stopping = false;
}

int vpa_loop_wait(struct vpa_loop *loop, vpa_done_fn done, void *ctx, vpa_duration timeout,
                  struct vpa_error *err)
{
    int64_t deadline;

    if (__builtin_add_overflow(vpa_loop_monotonic(loop), timeout, &deadline))
        deadline = INT64_MAX;
    while (!done(ctx)) {
        if (loop->stopping)
            return vpa_fail(err, VPA_CANCELLED, "stopping");
        /* Work that is always ready must not keep the wait from ending. */
        if (vpa_loop_monotonic(loop) <= deadline && dispatch_one(loop))
            continue;
        if (vpa_loop_monotonic(loop) >= deadline)
            return vpa_fail(err, VPA_CANCELLED, "timed out");
        idle(loop, deadline);
    }
    return 0;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

void vpa_loop_pump(struct vpa_loop *loop, vpa_duration duration)
{
    vpa_loop_wait(loop, never, NULL, duration, NULL);
}

bool vpa_loop_poll(struct vpa_loop *loop)
{
    bool any = false;

    gather(loop, 0);
    while (!loop->stopping && dispatch_one(loop))
        any = true;
    return any;
}
