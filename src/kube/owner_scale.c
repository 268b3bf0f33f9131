/*
 * Scale answers that are remembered, good ones and bad ones, per (namespace, group, kind, name);
 * owner_fetch.c asks for them. Good ones are fetched again after 10 to 20 minutes, bad ones in the
 * next pass (U19 of docs/compatibility.md); what nobody has read for an hour goes. Targets that
 * views need are followed: fetched again every 30 s in the background. A good one that the
 * background cannot have again stays for 90 s, in which it is asked for every 10 s or so.
 *
 * The background never waits: it begins a few fetches, and each answer makes room for the next one.
 * A sweep puts what is due, some of each namespace, behind what views and passes want
 * (owner_wanted.c), so that namespaces have turns in both alike. A cursor goes round the table, so
 * that everything has its turn where more of a namespace is due than may wait.
 */
#include <stdlib.h>
#include <string.h>

#include "owner_internal.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"

#define SWEEP (7 * VPA_SECOND)
#define FOLLOW_REFRESH (30 * VPA_SECOND)
#define FOLLOW_FOR (10 * VPA_MINUTE)
/* How old an answer may be that a pass takes instead of one that does not come, and for how long
 * views have it while the background asks in vain; how many of a kind a pass waits for in vain. */
#define REMEMBERED_MAX (90 * VPA_SECOND)
#define SLOW_OF_A_KIND 3
/* And after how many of a namespace that could not be had, or are not there, it asks only for those
 * that were to be had at last; or when it has waited so long for such, and for owners that it did
 * not know. What it waited for in vain does not count: that is bounded by the kinds that hang. */
#define FAILED_MAX 30
#define WAITED_MAX (30 * VPA_SECOND)
#define NEGATIVE_REFRESH (10 * VPA_SECOND) /* in the background, for views */

struct trouble {
    unsigned slow, late, failed; /* for a pass; for the background; not to be had */
    char key[]; /* of a kind or group, or of the owners or targets of a namespace */
};

struct owner_scale *owner_scale_ref(struct owner_scale *scale)
{
    if (scale)
        atomic_fetch_add(&scale->refs, 1);
    return scale;
}

void owner_scale_unref(struct owner_scale *scale)
{
    if (!scale || atomic_fetch_sub(&scale->refs, 1) != 1)
        return;
    vpa_arena_release(&scale->arena);
    free(scale);
}

/* Remembering */

/* Anybody who makes a pod asks for owners that do not exist, as many as he likes. */
static void forget_failures(struct vpa_owners *o)
{
    int64_t now = vpa_loop_monotonic(o->loop);
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&o->scales, &i, &key, &value);) {
        struct owner_scale *s = value;
        if (!s->ok && now >= s->followed_until)
            owner_scale_unref(vpa_table_remove(&o->scales, key));
    }
}

/* All failures at once, so that each does not look for the oldest one of thousands; then that. */
static void make_room(struct vpa_owners *o)
{
    struct owner_scale *oldest = NULL;
    const char *key;
    void *value;

    if (o->scales.count < VPA_OWNER_SCALE_MAX)
        return;
    forget_failures(o);
    if (o->scales.count < VPA_OWNER_SCALE_MAX)
        return;
    for (size_t i = 0; vpa_table_next(&o->scales, &i, &key, &value);) {
        struct owner_scale *s = value;
        if (!oldest || s->last_read < oldest->last_read)
            oldest = s;
    }
    owner_scale_unref(vpa_table_remove(&o->scales, oldest->key));
}

static bool same_answer(const struct owner_scale *a, const struct owner_scale *b)
{
    return a->ok == b->ok && a->absent == b->absent && a->code == b->code &&
           strcmp(a->error, b->error) == 0 && a->has_selector == b->has_selector &&
           owner_parent_same(&a->parent, &b->parent) &&
           owner_selector_same(&a->selector, &b->selector);
}

/* Views have it, and what they read is told by it: so it stays, and only the loop's own members
 * change. */
static struct owner_scale *renew(struct owner_scale *known, struct owner_scale *s)
{
    known->replicas = s->replicas;
    known->fetched = s->fetched;
    known->refresh_at = s->refresh_at;
    known->pass = s->pass;
    known->slow = s->slow;
    known->failing = false;
    owner_scale_unref(s);
    return known;
}

static struct owner_scale *replace(struct vpa_owners *o, struct owner_scale *old,
                                   struct owner_scale *s)
{
    if (old) {
        s->last_read = old->last_read;
        s->followed_until = old->followed_until;
        atomic_store(&s->read, atomic_load(&old->read));
    } else {
        make_room(o);
    }
    o->scales_changed = true;
    if (old || s->ok)
        owners_note_change(o);
    else if (!vpa_timer_is_running(o->failures))
        vpa_timer_start(o->failures, OWNER_FAILURES_TOLD);
    owner_scale_unref(vpa_table_put(&o->scales, s->key, s));
    return s;
}

struct owner_scale *owner_scale_remember(struct vpa_owners *o, struct owner_scale *s)
{
    struct owner_scale *old = vpa_table_find(&o->scales, s->key);

    s->said = s->ok || (old && old->said);
    s = old && same_answer(old, s) ? renew(old, s) : replace(o, old, s);
    if (!vpa_timer_is_running(o->sweep))
        vpa_timer_start(o->sweep, SWEEP);
    return s;
}

struct owner_scale *owner_scale_find(const struct vpa_owners *o,
                                     const struct vpa_controller_key *key)
{
    vpa_auto_buf text = VPA_BUF(VPA_KUBE_PATH_MAX);

    owner_scale_key(&text, key);
    return vpa_table_find(&o->scales, vpa_buf_text(&text));
}

static bool is_stale(const struct vpa_owners *o, const struct owner_scale *s, int64_t now)
{
    return now >= s->refresh_at || (!s->ok && s->pass != o->pass);
}

/* A kind of objects is served by one server or one conversion webhook: when that is broken, all of
 * them are slow. So a pass waits for some of a kind at most, and never again for one that has shown
 * to be slow. And whoever makes pods or VPAs names owners and targets that do not exist, thousands
 * of them, each of which would cost a request. What a pass does not ask for, the background does.
 */

enum trouble_with { WITH_TARGETS, WITH_OWNERS, WITH_KIND, WITH_GROUP };

/* What is not there is counted by its namespace, what hangs by its kind. And by its group while
 * that cannot be read: whoever names kinds of it names as many as he likes. */
static void trouble_key(struct vpa_buf *key, enum trouble_with with,
                        const struct vpa_controller_key *k)
{
    vpa_buf_init(key, VPA_KUBE_PATH_MAX);
    vpa_buf_printf(key, "%d\n", (int)with);
    if (with == WITH_KIND || with == WITH_GROUP)
        owner_kind_key(key, k, with == WITH_GROUP);
    else
        vpa_buf_puts(key, k->ns);
}

static struct trouble *trouble_of(const struct vpa_owners *o, enum trouble_with with,
                                  const struct vpa_controller_key *k)
{
    vpa_auto_buf key = {0};

    trouble_key(&key, with, k);
    return vpa_table_find(&o->troubles, vpa_buf_text(&key));
}

/* Made at the first time. */
static struct trouble *have_trouble(struct vpa_owners *o, enum trouble_with with,
                                    const struct vpa_controller_key *k)
{
    vpa_auto_buf key = {0};

    trouble_key(&key, with, k);
    return VPA_TABLE_MAKE(&o->troubles, vpa_buf_text(&key), struct trouble, key);
}

void owner_scales_begin_pass(struct vpa_owners *o)
{
    o->pass++;
    o->waited = 0;
    VPA_TABLE_RELEASE(&o->troubles, free);
}

static void fail_unanswered(const struct vpa_controller_key *k, struct vpa_error *err)
{
    vpa_fail(err, VPA_RETRY, "scale of %s %s/%s: no answer yet", k->kind, k->ns, k->name);
}

static bool has_slow_kind(const struct vpa_owners *o, const struct vpa_controller_key *k)
{
    const struct trouble *kind = trouble_of(o, WITH_KIND, k), *group = trouble_of(o, WITH_GROUP, k);

    return (kind && kind->slow >= SLOW_OF_A_KIND) ||
           (group && group->slow >= SLOW_OF_A_KIND && !owner_kind_is_read(o, k));
}

static bool is_slow(const struct vpa_owners *o, const struct vpa_controller_key *k)
{
    const struct owner_scale *known = owner_scale_find(o, k);

    return (known && known->slow) || has_slow_kind(o, k) ||
           owner_fetch_is_under_way(o, k, OWNER_SCALE_PATIENCE);
}

bool owner_scale_hangs(const struct vpa_owners *o, const struct vpa_controller_key *k)
{
    const struct owner_scale *known = owner_scale_find(o, k);
    const struct trouble *kind = trouble_of(o, WITH_KIND, k);

    if (owner_fetch_is_under_way(o, k, OWNER_SCALE_PATIENCE))
        return true;
    return known ? known->slow : has_slow_kind(o, k) || (kind && kind->late >= SLOW_OF_A_KIND);
}

/* A pass does not wait for what is slow: what was remembered a moment ago is given instead, or
 * there is no answer (VPA_RETRY). With one reference. */
static struct owner_scale *ask(struct vpa_owners *o, const struct vpa_controller_key *k,
                               struct vpa_error *err)
{
    if (!is_slow(o, k)) {
        struct owner_scale *s = owner_scale_fetch(o, k, err);

        if (s || vpa_loop_is_stopping(o->loop))
            return s;
        have_trouble(o, WITH_KIND, k)->slow++;
        if (!owner_kind_is_read(o, k))
            have_trouble(o, WITH_GROUP, k)->slow++;
    }
    vpa_owners_follow_target(o, k);
    struct owner_scale *known = owner_scale_find(o, k);
    if (known && vpa_loop_monotonic(o->loop) - known->fetched <= REMEMBERED_MAX)
        return owner_scale_ref(known);
    fail_unanswered(k, err);
    return NULL;
}

/* What a pass is not to ask for. */
static bool is_one_of_many(const struct vpa_owners *o, bool target,
                           const struct vpa_controller_key *k)
{
    const struct trouble *t = trouble_of(o, target ? WITH_TARGETS : WITH_OWNERS, k);

    return o->waited >= WAITED_MAX || (t && t->failed >= FAILED_MAX);
}

/* A reference, as from ask. */
static struct owner_scale *
leave_to_background(struct vpa_owners *o, const struct vpa_controller_key *k, struct vpa_error *err)
{
    struct owner_scale *known = owner_scale_find(o, k);

    vpa_owners_keep_target(o, k);
    if (!known)
        fail_unanswered(k, err);
    return owner_scale_ref(known);
}

static struct owner_scale *ask_for_some(struct vpa_owners *o, bool target,
                                        const struct vpa_controller_key *k, struct vpa_error *err)
{
    int64_t begun = vpa_loop_monotonic(o->loop);
    struct owner_scale *s = owner_scale_find(o, k);
    bool was_good = s && s->ok;
    vpa_duration waited;

    if (!was_good && is_one_of_many(o, target, k))
        return leave_to_background(o, k, err);
    s = ask(o, k, err);
    waited = vpa_loop_monotonic(o->loop) - begun;
    if (s && !s->ok)
        have_trouble(o, target ? WITH_TARGETS : WITH_OWNERS, k)->failed++;
    if (waited < OWNER_SCALE_PATIENCE && s && (!s->ok || (!target && !was_good)))
        o->waited += waited;
    return s;
}

struct owner_scale *owner_scale_of_target(struct vpa_owners *o, const struct vpa_controller_key *k,
                                          struct vpa_error *err)
{
    struct owner_scale *known = o->target_age > 0 ? owner_scale_find(o, k) : NULL;

    if (!known || !known->ok || vpa_loop_monotonic(o->loop) - known->fetched > o->target_age)
        return ask_for_some(o, true, k, err);
    known->last_read = vpa_loop_monotonic(o->loop);
    return owner_scale_ref(known);
}

static struct owner_scale *have_answer(struct vpa_owners *o, const struct vpa_controller_key *k,
                                       struct vpa_error *err)
{
    struct owner_scale *s = owner_scale_missing(o, k);

    return s ? s : ask_for_some(o, false, k, err);
}

struct owner_scale *owner_scale_get_within(struct vpa_owners *o, const struct vpa_controller_key *k,
                                           vpa_duration age, struct vpa_error *err)
{
    int64_t now = vpa_loop_monotonic(o->loop);
    struct owner_scale *s = owner_scale_find(o, k);

    if (!s || is_stale(o, s, now) || now - s->fetched > age) {
        s = have_answer(o, k, err);
        if (!s)
            return NULL;
        s = owner_scale_remember(o, s);
    }
    if (now - s->fetched > age) {
        fail_unanswered(k, err);
        return NULL;
    }
    s->last_read = vpa_loop_monotonic(o->loop);
    return s;
}

void owner_scales_release(struct vpa_owners *o)
{
    VPA_TABLE_RELEASE(&o->scales, owner_scale_unref);
    VPA_TABLE_RELEASE(&o->troubles, free);
}

/* In the background */

static bool is_due(const struct owner_scale *s, int64_t now)
{
    if (now < s->followed_until && now - s->fetched >= FOLLOW_REFRESH)
        return true;
    if (!s->ok && now - s->fetched >= NEGATIVE_REFRESH && now - s->last_read < VPA_MINUTE)
        return true;
    return now >= s->refresh_at;
}

static void forget_unread(struct vpa_owners *o, int64_t now)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&o->scales, &i, &key, &value);) {
        struct owner_scale *s = value;

        if (atomic_exchange(&s->read, false))
            s->last_read = now;
        if (now - s->last_read < VPA_OWNER_SCALE_UNREAD || now < s->followed_until)
            continue;
        vpa_table_remove(&o->scales, key);
        owner_scale_unref(s);
        o->scales_changed = true;
    }
}

/* Whether what is known stays although the answer could not be had, which says nothing of the
 * scale: pods of the target would have no VPA meanwhile. Either way it is asked for again soon,
 * also where nobody reads it: the next pod may be hours away. */
static bool stands_in(struct owner_scale *known, struct owner_scale *s)
{
    if (!known || !known->said || s->ok || s->code != VPA_RETRY)
        return false;
    s->refresh_at = s->fetched + NEGATIVE_REFRESH;
    if (!known->ok)
        return false;
    if (!known->failing)
        known->failing_since = s->fetched;
    known->failing = true;
    known->refresh_at = s->refresh_at;
    known->slow = s->slow;
    return s->fetched - known->failing_since <= REMEMBERED_MAX;
}

/* How many of a kind were slow, one after the other. */
static void note_late(struct vpa_owners *o, const struct owner_scale *s)
{
    struct trouble *kind = trouble_of(o, WITH_KIND, &s->of);

    if (s->slow)
        have_trouble(o, WITH_KIND, &s->of)->late++;
    else if (kind)
        kind->late = 0;
}

void owner_scale_on_late(void *ctx, struct owner_scale *s)
{
    struct vpa_owners *o = ctx;
    struct owner_scale *known = vpa_table_find(&o->scales, s->key);

    if (!known) /* of others it is known whether they hang */
        note_late(o, s);
    if (stands_in(known, s))
        owner_scale_unref(s);
    else
        owner_scale_remember(o, s);
    o->background--;
    owner_scales_wanted(o);
}

static void start_in_background(struct vpa_owners *o, const struct vpa_controller_key *k)
{
    o->background++;
    owner_fetch_start(o, k, owner_scale_on_late, o);
}

/* Whether there is room for it. What hangs has half of the places at most, and does not keep those
 * waiting that do not. */
static bool want_again(struct vpa_owners *o, const struct owner_scale *s, size_t *hanging)
{
    if (owner_scale_hangs(o, &s->of) && ++*hanging > VPA_OWNER_FETCHES_MAX / 2)
        return false;
    return owner_wanted_again(o->wanted, &s->of);
}

/* The next sweep begins with the first one that there was no room for. */
static void want_due(struct vpa_owners *o, int64_t now)
{
    size_t i = o->sweep_cursor, at, hanging = owner_fetch_count_hanging(o);
    bool any_left = false;
    void *value;

    for (size_t n = 0; n < o->scales.count; n++) {
        at = i;
        if (!vpa_table_next(&o->scales, &i, NULL, &value)) {
            at = i = 0;
            vpa_table_next(&o->scales, &i, NULL, &value);
        }
        if (!is_due(value, now) || want_again(o, value, &hanging))
            continue;
        if (!any_left)
            o->sweep_cursor = at;
        any_left = true;
    }
}

void owner_scales_sweep(void *ctx)
{
    struct vpa_owners *o = ctx;
    int64_t now = vpa_loop_monotonic(o->loop);

    forget_unread(o, now);
    if (o->scales.count > 0)
        vpa_timer_start(o->sweep, SWEEP);
    want_due(o, now);
    owner_scales_wanted(o);
}

/* Known already, or somebody asks for it. */
static bool is_served(const struct vpa_owners *o, const struct vpa_controller_key *k)
{
    int64_t now = vpa_loop_monotonic(o->loop);
    const struct owner_scale *s = owner_scale_find(o, k);

    return (s && !is_stale(o, s, now) && !is_due(s, now)) || owner_fetch_is_under_way(o, k, 0);
}

static bool does_not_hang(const struct vpa_owners *o, const struct vpa_controller_key *k)
{
    return !owner_scale_hangs(o, k);
}

static bool take_wanted(struct vpa_owners *o, struct vpa_controller_key *out)
{
    bool full = owner_fetch_count_hanging(o) >= VPA_OWNER_FETCHES_MAX / 2;

    return owner_wanted_take(o->wanted, full ? does_not_hang : NULL, out);
}

void owner_scales_wanted(void *ctx)
{
    struct vpa_owners *o = ctx;
    struct vpa_controller_key k;

    if (vpa_loop_is_stopping(o->loop))
        return;
    while (o->background < VPA_OWNER_FETCHES_MAX && take_wanted(o, &k)) {
        if (!is_served(o, &k))
            start_in_background(o, &k);
        owner_key_release(&k);
    }
}

static bool has_scale(const struct vpa_controller_key *k)
{
    return !vpa_is_well_known_kind(k->kind) && !owner_bad_api_version(k->api_version);
}

bool vpa_owners_keep_target(struct vpa_owners *o, const struct vpa_controller_key *target)
{
    if (!has_scale(target))
        return true;
    struct owner_scale *s = owner_scale_find(o, target);
    if (s)
        s->last_read = vpa_loop_monotonic(o->loop);
    else
        owner_wanted_add(o->wanted, target, false);
    return s != NULL;
}

size_t vpa_owners_scale_count(const struct vpa_owners *o)
{
    return o->scales.count;
}

void vpa_owners_follow_target(struct vpa_owners *o, const struct vpa_controller_key *target)
{
    if (!has_scale(target))
        return;
    struct owner_scale *s = owner_scale_find(o, target);
    if (s)
        s->followed_until = vpa_loop_monotonic(o->loop) + FOLLOW_FOR;
    else
        owner_wanted_add(o->wanted, target, false);
}
