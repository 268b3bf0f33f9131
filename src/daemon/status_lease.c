/*
 * Writer: a ticker. Each tick makes up to three tries of GET and then POST or PUT, pauses 100 and
 * 300 ms; a tick that finds the last one still at work gives that one up, which is its time limit
 * of one interval. The first tick that is not healthy takes the last renewal back (1970), so that
 * nobody acts for the minute that it would be good for; where it cannot, the next one does. So does
 * the end of the webhook, unless another replica has renewed it since: that one goes on. What was
 * written between GET and PUT is looked at within the same tries: it may be a renewal of ours that
 * was given up, or one that another replica has taken back. A renewal after more than GAP intervals
 * without one takes the Lease anew, as the first one does.
 * Reader: the same three tries around one GET.
 */
#include "vpa/daemon/status_lease.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/kube/elector.h"

#define FIRST_PAUSE (100 * VPA_MILLISECOND)
#define PAUSE_FACTOR 3
#define GAP 2
/* The renewTime of a webhook that found out that it cannot be used. */
#define TAKEN_BACK vpa_time_from_unix(0, 0)

enum step { GET, CREATE, PUT };

struct vpa_status_writer {
    struct vpa_status_writer_options options; /* texts owned */
    struct vpa_loop *loop;
    struct vpa_timer *ticker;
    struct vpa_timer *retry;
    int64_t tick;
    struct vpa_kube_request *request;
    enum step step;
    int tries;
    vpa_duration pause;
    bool unhealthy; /* at the last tick */
    bool standing;  /* a renewal of ours may be in the Lease, and is to be taken back */
    bool withdraw;  /* what is under way takes the last renewal back */
    bool leaving;   /* if it is ours */
    bool revocable; /* what was read is a renewal that may be taken back meanwhile, or is to be */
    bool overtaken; /* somebody has written it since it was read for what is under way */
    bool holding;   /* it was renewed without a gap since it was taken: */
    int64_t held;   /* monotonic: so far */
};

const char *vpa_status_lease_namespace(const char *flag)
{
    const char *env = getenv("NAMESPACE");

    if (flag && *flag)
        return flag;
    return env && *env ? env : "kube-system";
}

static void on_answer(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err);

static void call(struct vpa_status_writer *w, enum step step, enum vpa_kube_verb verb,
                 const struct vpa_lease *lease)
{
    vpa_auto_arena arena = {0};
    struct vpa_kube_call c =
        vpa_lease_call(&arena, verb, w->options.ns, w->options.name, lease, w->options.interval);

    c.repeatable = verb == VPA_KUBE_UPDATE;
    w->step = step;
    w->request = vpa_kube_start(w->options.client, &c, on_answer, w);
}

static void failed(struct vpa_status_writer *w, const struct vpa_error *err)
{
    VPA_ERROR_UNLESS_TOLD(err, "Status update failed", VPA_KV("holderIdentity", w->options.holder),
                          VPA_KERR(err));
}

static void create(struct vpa_status_writer *w)
{
    const struct vpa_lease lease = {
        .meta = {.ns = w->options.ns, .name = w->options.name},
        .spec = {.has_holder = true,
                 .holder = w->options.holder,
                 .has_duration = true,
                 .duration_seconds = (int32_t)(w->options.interval / VPA_SECOND),
                 .acquire_time = vpa_loop_now(w->loop),
                 .renew_time = VPA_TIME_UNSET},
    };

    call(w, CREATE, VPA_KUBE_CREATE, &lease);
}

static void take(struct vpa_lease_spec *spec, vpa_time now)
{
    spec->acquire_time = now;
    spec->has_transitions = true;
    if (spec->transitions < INT32_MAX)
        spec->transitions++;
}

static void renewed(struct vpa_status_writer *w)
{
    w->holding = w->standing = !w->withdraw;
    w->held = vpa_loop_monotonic(w->loop);
}

/* Another replica was faster: as good, and what it wrote is its own. */
static void leave_it(struct vpa_status_writer *w)
{
    w->standing = !w->withdraw;
    w->held = vpa_loop_monotonic(w->loop);
}

static bool is_anothers(const struct vpa_status_writer *w, const struct vpa_lease_spec *spec)
{
    if (w->withdraw)
        return (w->leaving || w->overtaken) && !vpa_str_eq(spec->holder, w->options.holder);
    return w->overtaken && spec->renew_time != TAKEN_BACK;
}

static int update(struct vpa_status_writer *w, const struct vpa_kube_result *result,
                  struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    struct vpa_lease lease;

    if (vpa_lease_read(&arena, result, &lease, err) < 0)
        return -1;
    if (is_anothers(w, &lease.spec)) {
        leave_it(w);
        return 0;
    }
    w->revocable = w->withdraw || !vpa_time_is_unset(lease.spec.renew_time);
    lease.spec.has_holder = true;
    lease.spec.holder = w->options.holder;
    lease.spec.renew_time = w->withdraw ? TAKEN_BACK : vpa_loop_now(w->loop);
    if (!w->withdraw && !w->holding)
        take(&lease.spec, lease.spec.renew_time);
    call(w, PUT, VPA_KUBE_UPDATE, &lease);
    return 0;
}

static void on_retry(void *ctx)
{
    call(ctx, GET, VPA_KUBE_GET, NULL);
}

static void try_again(struct vpa_status_writer *w, const struct vpa_kube_result *result,
                      const struct vpa_error *err)
{
    if (++w->tries >= VPA_STATUS_LEASE_TRIES || !vpa_kube_is_retryable(result)) {
        failed(w, err);
        return;
    }
    vpa_timer_start(w->retry, w->pause);
    w->pause *= PAUSE_FACTOR;
}

static void look_again(struct vpa_status_writer *w, const struct vpa_error *err)
{
    w->overtaken = true;
    if (++w->tries >= VPA_STATUS_LEASE_TRIES)
        failed(w, err);
    else
        call(w, GET, VPA_KUBE_GET, NULL);
}

static void on_answer(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct vpa_status_writer *w = ctx;
    struct vpa_error why;

    w->request = NULL;
    if (w->step == GET && err && err->code == VPA_NOT_FOUND && w->withdraw) {
        w->standing = false;
        return;
    }
    if (w->step == GET && err && err->code == VPA_NOT_FOUND)
        create(w);
    else if (err && w->step == PUT && err->code == VPA_CONFLICT && w->revocable)
        look_again(w, err);
    else if (err && ((w->step == CREATE && vpa_kube_is_already_exists(&result->status)) ||
                     (w->step == PUT && err->code == VPA_CONFLICT)))
        leave_it(w);
    else if (err)
        try_again(w, result, err);
    else if (w->step != GET)
        renewed(w);
    else if (update(w, result, &why) < 0)
        failed(w, &why);
}

static void begin(struct vpa_status_writer *w)
{
    w->overtaken = false;
    w->tries = 0;
    w->pause = FIRST_PAUSE;
    call(w, GET, VPA_KUBE_GET, NULL);
}

static void on_tick(void *ctx)
{
    struct vpa_status_writer *w = ctx;

    int64_t now = vpa_loop_monotonic(w->loop);

    w->tick += w->options.interval;
    if (w->tick <= now) /* ticks that were slept through are not made up for */
        w->tick = now + w->options.interval;
    vpa_timer_start_at(w->ticker, w->tick);
    vpa_timer_stop(w->retry);
    if (w->request) {
        struct vpa_error err;
        vpa_kube_cancel(VPA_STEAL(w->request));
        vpa_fail(&err, VPA_RETRY, "no answer within the update interval");
        failed(w, &err);
    }
    bool healthy = !w->options.healthy || w->options.healthy(w->options.ctx);
    if (!healthy && !w->unhealthy) /* said once, not at every tick */
        VPA_ERROR("Webhook failed its self-test, status lease is not renewed",
                  VPA_KV("holderIdentity", w->options.holder));
    if (now - w->held > GAP * w->options.interval)
        w->holding = false;
    w->withdraw = !healthy && w->standing;
    w->unhealthy = !healthy;
    if (!healthy && !w->withdraw)
        return;
    w->standing = true;
    begin(w);
}

struct vpa_status_writer *vpa_status_writer_new(const struct vpa_status_writer_options *options)
{
    struct vpa_status_writer *w = vpa_xcalloc(1, sizeof(*w));

    w->options = *options;
    w->options.ns = vpa_xstrdup(options->ns);
    w->options.name = vpa_xstrdup(options->name);
    w->options.holder = vpa_xstrdup(options->holder);
    w->loop = vpa_kube_client_loop(options->client);
    w->ticker = vpa_timer_new(w->loop, on_tick, w);
    w->retry = vpa_timer_new(w->loop, on_retry, w);
    return w;
}

void vpa_status_writer_start(struct vpa_status_writer *w)
{
    w->tick = vpa_loop_monotonic(w->loop) + w->options.interval;
    vpa_timer_start_at(w->ticker, w->tick);
}

void vpa_status_writer_farewell(struct vpa_status_writer *w)
{
    vpa_timer_stop(w->ticker);
    vpa_timer_stop(w->retry);
    if (w->request)
        vpa_kube_cancel(VPA_STEAL(w->request));
    w->leaving = w->withdraw = true;
    if (w->standing)
        begin(w);
}

void vpa_status_writer_free(struct vpa_status_writer *w)
{
    if (!w)
        return;
    if (w->request)
        vpa_kube_cancel(w->request);
    vpa_timer_free(w->ticker);
    vpa_timer_free(w->retry);
    free((char *)(uintptr_t)w->options.ns);
    free((char *)(uintptr_t)w->options.name);
    free((char *)(uintptr_t)w->options.holder);
    free(w);
}

/* Reader */

static int read_lease(struct vpa_kube_client *client, const struct vpa_status_view *view,
                      struct vpa_arena *arena, struct vpa_kube_result *result,
                      struct vpa_error *err)
{
    const struct vpa_kube_call c =
        vpa_lease_call(arena, VPA_KUBE_GET, view->ns, view->name, NULL, 0);
    vpa_duration pause = FIRST_PAUSE;

    for (int tries = 1;; tries++) {
        if (vpa_kube_do(client, &c, arena, result, err) == 0)
            return 0;
        if ((err && err->code == VPA_CANCELLED) || !vpa_kube_is_retryable(result))
            return -1;
        if (tries == VPA_STATUS_LEASE_TRIES)
            return vpa_fail(err, VPA_RETRY, "timed out waiting for the condition");
        vpa_loop_pump(vpa_kube_client_loop(client), pause);
        pause *= PAUSE_FACTOR;
    }
}

/* The time of day that the API server tells, or ours where it tells none; a small difference is
 * that of seconds cut off and of answers under way. */
static vpa_time time_of_server(const struct vpa_loop *loop, vpa_duration ahead)
{
    bool differs = ahead > VPA_MINUTE || ahead < -VPA_MINUTE;

    return vpa_time_add(vpa_loop_now(loop), differs ? -ahead : 0);
}

static bool is_within(vpa_time from, vpa_duration timeout, vpa_time now)
{
    return !vpa_time_is_unset(from) && vpa_time_add(from, timeout) > now;
}

/* By the wall clock, which upstream goes by. What was taken back is not recent, however young the
 * Lease is; nor is what lies ahead of the server's clock: whoever wrote it has another one, and may
 * have been dead for as long as it is ahead. */
static bool is_recent(const struct vpa_lease *lease, vpa_duration timeout,
                      const struct vpa_kube_client *client)
{
    vpa_duration ahead = vpa_kube_client_ahead(client);
    vpa_time now = time_of_server(vpa_kube_client_loop(client), ahead);
    vpa_time renewed = lease->spec.renew_time;

    if (renewed == TAKEN_BACK)
        return false;
    return is_within(lease->meta.creation, timeout, now) ||
           (is_within(renewed, timeout, now) &&
            (ahead == 0 || vpa_time_sub(renewed, now) <= timeout));
}

/* A renewal that was taken back has an earlier time than it had: so it does not count as one. Nor
 * does one that lies back for the timeout itself, when nobody has looked for long: by so much less
 * has the time in it grown than that by which we live. */
static void see(struct vpa_status_view *view, vpa_time renewed, int64_t now)
{
    if (view->known && renewed == view->renewed)
        return;
    view->moved = view->known && renewed > view->renewed &&
                  now - view->since - vpa_time_sub(renewed, view->renewed) < view->timeout;
    view->renewed = renewed;
    view->since = now;
    view->known = true;
}

int vpa_status_lease_check(struct vpa_kube_client *client, struct vpa_status_view *view,
                           bool *valid, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result = {0};
    struct vpa_lease lease;

    if (read_lease(client, view, &arena, &result, err) < 0 ||
        vpa_lease_read(&arena, &result, &lease, err) < 0)
        return -1;
    int64_t now = vpa_loop_monotonic(vpa_kube_client_loop(client));
    see(view, lease.spec.renew_time, now);
    view->start = lease.spec.acquire_time;
    *valid = now - view->since < view->timeout &&
             (view->moved || is_recent(&lease, view->timeout, client));
    return 0;
}
