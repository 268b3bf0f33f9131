#include "standby.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"

#define LEASE_TIMEOUT (10 * VPA_SECOND)
#define NEVER INT64_MIN

struct standby {
    struct vpa_kube_client *client;
    struct vpa_elector *elector;
    char *ns;
    char *name;
    char *identity;
    vpa_time renewed; /* by another one, as last read; unset: nobody has */
    unsigned silence; /* passes since it changed */
    unsigned waited;  /* displaced by a newer standby: passes without a sign of that one */
    unsigned denied;  /* it may not be used: calls until that is asked again */
    bool told;        /* and that was said */
    bool in_step;     /* leader: as last told */
    vpa_duration interval;
    /* Monotonic, NEVER: not at all. Not counted in passes: one that hangs is several of the
     * leader's. */
    int64_t seen;    /* when the last pass with usage began, or a load; NEVER: who leads, too */
    int64_t missed;  /* when the first pass without usage began, or had to */
    int64_t claimed; /* since then: there is usage again */
    bool has_usage;  /* of the last pass */
    bool behind;     /* and that was said; until it renews */
    vpa_duration load_time; /* of the last load of all, and of what was read once more since */
    unsigned slow_loads;    /* since it was in step: each longer than passes may be apart */
};

struct standby *standby_new(const struct standby_options *options, vpa_duration interval)
{
    struct standby *s = vpa_xcalloc(1, sizeof(*s));

    s->client = options->client;
    s->elector = options->elector;
    if (s->elector)
        vpa_elector_yield(s->elector, true);
    s->ns = vpa_xstrdup(options->ns);
    s->name = vpa_xprintf("%s" STANDBY_SUFFIX, options->leader);
    s->identity = vpa_xstrdup(options->identity);
    s->renewed = VPA_TIME_UNSET;
    s->silence = STANDBY_SILENCE;
    s->interval = interval;
    s->has_usage = true;
    standby_has_taken_over(s);
    return s;
}

void standby_free(struct standby *s)
{
    if (!s)
        return;
    free(s->ns);
    free(s->name);
    free(s->identity);
    free(s);
}

/* ---- the Lease ---- */

static void failed(struct standby *s, const struct vpa_error *err)
{
    if (vpa_loop_is_stopping(vpa_kube_client_loop(s->client)))
        return;
    if (err->code == VPA_DENIED) {
        s->denied = STANDBY_PATIENCE;
        if (s->told)
            return;
        s->told = true;
        VPA_WARN("The Lease of the standby may not be used: changed checkpoints are written in "
                 "every pass, as without a standby",
                 VPA_KV("namespace", s->ns), VPA_KV("lease", s->name), VPA_KERR(err));
    } else {
        VPA_WARN_UNLESS_TOLD(err, "Cannot use the Lease of the standby", VPA_KV("namespace", s->ns),
                             VPA_KV("lease", s->name), VPA_KERR(err));
    }
}

/* A refusal is believed for some passes. */
static bool is_denied(struct standby *s)
{
    if (s->denied == 0)
        return false;
    s->denied--;
    return true;
}

static void allowed(struct standby *s)
{
    if (s->told)
        VPA_INFO("The Lease of the standby may be used again", VPA_KV("namespace", s->ns),
                 VPA_KV("lease", s->name));
    s->told = false;
}

/* 1: it is there; 0: it is not. */
static int read_lease(struct standby *s, struct vpa_arena *arena, struct vpa_lease *lease,
                      struct vpa_error *err)
{
    struct vpa_kube_result result = {0};
    const struct vpa_kube_call call =
        vpa_lease_call(arena, VPA_KUBE_GET, s->ns, s->name, NULL, LEASE_TIMEOUT);

    if (vpa_kube_do(s->client, &call, arena, &result, err) < 0)
        return err->code == VPA_NOT_FOUND ? 0 : -1;
    return vpa_lease_read(arena, &result, lease, err) < 0 ? -1 : 1;
}

static int write_lease(struct standby *s, bool exists, const struct vpa_lease *lease,
                       struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_kube_call call = vpa_lease_call(
        &arena, exists ? VPA_KUBE_UPDATE : VPA_KUBE_CREATE, s->ns, s->name, lease, LEASE_TIMEOUT);

    return vpa_kube_do(s->client, &call, NULL, NULL, err);
}

static void take(struct standby *s, int found, struct vpa_lease *lease, vpa_time now, bool in_step)
{
    struct vpa_error err;

    if (!found)
        *lease = (struct vpa_lease){.meta = {.ns = s->ns, .name = s->name},
                                    .spec = {.acquire_time = now}};
    lease->spec.has_holder = true;
    lease->spec.holder = s->identity;
    if (!in_step)
        lease->spec.acquire_time = now;
    lease->spec.renew_time = in_step ? now : VPA_TIME_UNSET;
    if (write_lease(s, found, lease, &err) < 0)
        failed(s, &err);
    else
        allowed(s);
}

/* ---- the standby's side ---- */

static bool claim(struct standby *s)
{
    vpa_auto_arena arena = {0};
    struct vpa_lease lease;
    struct vpa_error err;
    int found = read_lease(s, &arena, &lease, &err);

    if (found < 0) {
        failed(s, &err);
        return false;
    }
    bool other = found && !vpa_time_is_unset(lease.spec.renew_time);

    take(s, found, &lease, vpa_loop_now(vpa_kube_client_loop(s->client)), false);
    return other;
}

bool standby_claim(struct standby *s)
{
    bool other = claim(s);

    if (s->elector)
        vpa_elector_yield(s->elector, other);
    return other;
}

/* One more reading: whose time it shows, unset when nobody's. */
static bool judge(struct standby *s, vpa_time renewed)
{
    if (vpa_time_is_unset(renewed))
        s->silence = STANDBY_SILENCE;
    else if (!vpa_time_is_unset(s->renewed) && renewed != s->renewed)
        s->silence = 0;
    else if (s->silence < STANDBY_SILENCE)
        s->silence++;
    s->renewed = renewed;
    return s->silence < STANDBY_SILENCE;
}

/* Whether a newer standby has the Lease, which may still come to something. */
static bool is_displaced(struct standby *s, const struct vpa_lease *lease)
{
    if (!lease->spec.has_holder || vpa_str_eq(lease->spec.holder, "") ||
        vpa_str_eq(lease->spec.holder, s->identity))
        return false;
    if (judge(s, lease->spec.renew_time))
        s->waited = 0;
    else
        s->waited++;
    return s->waited < STANDBY_PATIENCE;
}

static void renew(struct standby *s)
{
    vpa_auto_arena arena = {0};
    struct vpa_lease lease;
    struct vpa_error err;

    if (is_denied(s))
        return;
    int found = read_lease(s, &arena, &lease, &err);
    if (found < 0) {
        failed(s, &err);
        return;
    }
    if (found && is_displaced(s, &lease))
        return;
    s->waited = 0;
    take(s, found, &lease, vpa_loop_now(vpa_kube_client_loop(s->client)), true);
}

static int64_t monotonic(const struct standby *s)
{
    return vpa_loop_monotonic(vpa_kube_client_loop(s->client));
}

/* The leader has made a pass meanwhile. */
static bool is_slow(const struct standby *s, vpa_duration time)
{
    return time > s->interval + s->interval / 2;
}

/* The first pass of the leader that this one has no usage of. */
static int64_t missed_since(const struct standby *s)
{
    bool is_late = s->seen != NEVER && is_slow(s, monotonic(s) - s->seen);

    return s->missed == NEVER && is_late ? s->seen + s->interval : s->missed;
}

static void say_behind(struct standby *s, const char *message)
{
    if (!s->behind)
        VPA_WARN(message, VPA_KV("namespace", s->ns), VPA_KV("lease", s->name));
    s->behind = true;
}

static void note_time(struct standby *s)
{
    int64_t since = missed_since(s);

    if (since != s->missed)
        say_behind(s, "A standby that missed passes is not in step: the leader writes changed "
                      "checkpoints in every pass until this one has loaded them");
    s->missed = since;
}

void standby_begin_pass(struct standby *s, bool leads)
{
    note_time(s);
    if (leads)
        s->seen = NEVER;
}

void standby_end_pass(struct standby *s)
{
    note_time(s);
    if (s->missed == NEVER) {
        s->behind = false;
        s->slow_loads = 0;
        renew(s);
    } else if (s->has_usage && s->claimed == NEVER) {
        (void)claim(s);
        s->claimed = monotonic(s);
    }
}

void standby_note_usage(struct standby *s, int64_t begin, bool has_usage)
{
    s->has_usage = has_usage;
    if (has_usage) {
        s->seen = begin;
        return;
    }
    s->claimed = NEVER;
    if (s->missed == NEVER)
        s->missed = begin;
    say_behind(s, "A standby without usage is not in step: the leader writes changed checkpoints "
                  "in every pass until this one has usage and has loaded them");
}

/* A pass of the leader has been stored when half an interval is over; its first one after the claim
 * begins an interval later at most. */
bool standby_is_to_load(const struct standby *s, bool leads)
{
    int64_t since = leads ? missed_since(s) : s->claimed;
    vpa_duration wait = (leads ? STANDBY_SILENCE : 1) * s->interval + s->interval / 2;

    return since != NEVER && monotonic(s) - since > wait;
}

/* A further one would be no faster than STANDBY_LOADS of them. */
static void note_load_time(struct standby *s, int64_t begin)
{
    bool was_slow = is_slow(s, s->load_time);

    s->load_time += monotonic(s) - begin;
    if (!was_slow && is_slow(s, s->load_time))
        s->slow_loads++;
    if (s->slow_loads >= STANDBY_LOADS)
        s->seen = monotonic(s);
}

void standby_has_loaded(struct standby *s, int64_t begin)
{
    standby_has_taken_over(s);
    s->seen = begin;
    s->load_time = 0;
    note_load_time(s, begin);
}

void standby_has_loaded_twice(struct standby *s, int64_t begin)
{
    note_load_time(s, begin);
}

void standby_has_taken_over(struct standby *s)
{
    s->seen = NEVER;
    s->missed = NEVER;
    s->claimed = NEVER;
}

/* ---- the leader's side ---- */

/* A former standby holds a Lease that another one may need. The faster one has it. */
static void give_up(struct standby *s, struct vpa_lease *lease)
{
    struct vpa_error err;

    lease->spec.has_holder = false;
    lease->spec.renew_time = VPA_TIME_UNSET;
    if (write_lease(s, true, lease, &err) < 0 && err.code != VPA_CONFLICT)
        failed(s, &err);
}

bool standby_is_in_step(struct standby *s)
{
    vpa_auto_arena arena = {0};
    struct vpa_lease lease;
    struct vpa_error err;

    if (is_denied(s))
        return false;
    int found = read_lease(s, &arena, &lease, &err);
    if (found < 0)
        failed(s, &err);
    else
        allowed(s);
    bool ours = found > 0 && lease.spec.has_holder && vpa_str_eq(lease.spec.holder, s->identity);
    bool other = found > 0 && !ours;
    bool in_step = judge(s, other ? lease.spec.renew_time : VPA_TIME_UNSET);
    if (in_step != s->in_step)
        VPA_INFO(in_step ? "A standby is in step" : "There is no standby any more",
                 VPA_KV("namespace", s->ns), VPA_KV("lease", s->name));
    s->in_step = in_step;
    if (ours)
        give_up(s, &lease);
    return in_step;
}
