/*
 * Breakers of VPAs, of namespaces and of the cluster: asking and learning. What is known of them
 * is kept by proof_records.c.
 */
#include "vpa/policy/proof.h"

#include "proof_private.h"
#include "vpa/base/mem.h"

/* How much later than a replacement may come its verdict is known, unless it is slow to end. */
#define MARGIN (5 * VPA_MINUTE)
/* And also when the kubelet takes its hour to resize a pod, and that one its time to be ready. */
#define VERDICT_LONGEST (90 * VPA_MINUTE)

/* ---- asking ---- */

/* Of those that the VPA is part of. */
static enum vpa_proof_permit common_permit(const struct vpa_proof *proof,
                                           const struct vpa_proof_id *id, const struct record *r,
                                           vpa_time now)
{
    const struct space *space = space_find(proof, id->vpa);
    enum vpa_proof_permit own = VPA_PERMIT_FREE, all;

    if (id->way != VPA_PROOF_EVICTION)
        return VPA_PERMIT_FREE;
    if (space)
        own = scope_permit(&space->scope, r && r->row == space->scope.row ? VPA_PAUSE_FIRST : 0,
                           VPA_PERMIT_NAMESPACE_PAUSED, now);
    all = scope_permit(
        &proof->cluster,
        helpers_first(&proof->helpers, space ? &space->helper : NULL, space_in_row(proof, space)),
        VPA_PERMIT_CLUSTER_PAUSED, now);
    return own > all ? own : all;
}

/* Was the webhook away, or does it patch again? One pod is to show it; not one that takes hours to
 * end. */
static bool is_held(const struct vpa_proof *proof, const struct vpa_proof_id *id, vpa_time now)
{
    const struct space *space = space_find(proof, id->vpa);
    bool asked = proof->holding > 0 || (space && space->questions > 0);
    bool tried = proof->trial && breaker_within(now, proof->tried, VPA_PAUSE_FIRST);

    return id->way == VPA_PROOF_EVICTION && (asked || tried);
}

/* Nobody knows yet whether evictions help this VPA: one of its groups is to show it, then all may.
 * Not one that takes hours to end; but none goes out just before it is known. */
static bool is_first_group(const struct vpa_proof *proof, const struct record *r,
                           const struct vpa_proof_id *id, vpa_time now)
{
    vpa_duration soon = proof->patience > VPA_PAUSE_FIRST ? proof->patience : VPA_PAUSE_FIRST;

    return id->way == VPA_PROOF_EVICTION && r && r->waiting > 0 &&
           breaker_within(now, r->tried, soon + MARGIN) &&
           !breaker_within(now, r->proven, VPA_PROOF_AGE);
}

/* What was sent then takes longer than any verdict: its pod may never end. A clock that went back
 * says nothing of that. */
static bool is_late(const struct vpa_proof *proof, const struct record *r, vpa_time sent,
                    vpa_time now)
{
    vpa_duration longest = proof->patience + VERDICT_LONGEST;

    if (longest < r->breaker.pause)
        longest = r->breaker.pause;
    return r->breaker.open && !breaker_within(now, sent, longest) &&
           !breaker_within(sent, now, longest);
}

static enum vpa_proof_permit own_permit(const struct record *r, bool lapsed, vpa_time now)
{
    enum vpa_proof_permit own = breaker_permit(&r->breaker, VPA_PERMIT_PAUSED, now);

    return own == VPA_PERMIT_WAITING && lapsed ? VPA_PERMIT_FIRST : own;
}

static bool is_careful(const struct vpa_proof *proof, enum vpa_proof_way way)
{
    return way == VPA_PROOF_EVICTION && proof->careful;
}

enum vpa_proof_permit vpa_proof_ask(const struct vpa_proof *proof, const struct vpa_proof_id *id,
                                    vpa_time now)
{
    const struct record *r = record_find(proof, id->vpa, id->way);
    const struct group *g = r ? vpa_table_find(&r->groups, id->group) : NULL;
    bool lapsed = r && r->breaker.trial && is_late(proof, r, r->tried, now);
    bool awaited = g && g->waiting && !is_late(proof, r, g->sent, now);
    enum vpa_proof_permit own = r ? own_permit(r, lapsed, now) : VPA_PERMIT_FREE;
    enum vpa_proof_permit all = common_permit(proof, id, r, now);

    if (!vpa_permit_given(own))
        return own;
    if (!vpa_permit_given(all))
        return all;
    if (awaited || is_first_group(proof, r, id, now) || is_held(proof, id, now))
        return VPA_PERMIT_WAITING;
    if (own == VPA_PERMIT_FIRST || all == VPA_PERMIT_FIRST || is_careful(proof, id->way) ||
        !group_is_proven(g, now))
        return VPA_PERMIT_FIRST;
    return VPA_PERMIT_FREE;
}

static struct trials trials_due(const struct vpa_proof *proof, const struct record *r, vpa_time now)
{
    return (struct trials){scope_is_due(&r->space->scope, now), scope_is_due(&proof->cluster, now)};
}

bool vpa_proof_sent(struct vpa_proof *proof, const struct vpa_proof_id *id, vpa_time now)
{
    if (vpa_proof_ask(proof, id, now) != VPA_PERMIT_FIRST)
        return false;

    struct record *r = record_of(proof, id->vpa, id->way);
    struct group *g = group_of(r, id->group);

    r->waiting += !g->waiting;
    r->tried = now;
    g->waiting = true;
    g->sent = now;
    if (r->breaker.open) /* what went out before decides nothing any more */
        r->breaker.opening = ++proof->openings;
    g->opening = r->breaker.opening;
    r->breaker.trial = r->breaker.open;
    if (id->way == VPA_PROOF_EVICTION)
        g->trials = trials_due(proof, r, now);
    if (g->trials.space)
        scope_try(&r->space->scope, now);
    if (g->trials.cluster)
        scope_try(&proof->cluster, now);
    g->for_webhook = is_careful(proof, id->way);
    if (g->for_webhook) {
        proof->trial = true;
        proof->tried = now;
    }
    return true;
}

/* ---- learning ---- */

void vpa_proof_refused(struct vpa_proof *proof, const struct vpa_proof_id *id)
{
    struct record *r = record_find(proof, id->vpa, id->way);

    if (r)
        record_drop_group(proof, r, id->group);
}

void vpa_proof_deferred(struct vpa_proof *proof, const struct vpa_proof_id *id, vpa_time now)
{
    struct record *r = record_find(proof, id->vpa, id->way);

    vpa_proof_refused(proof, id);
    if (r && r->breaker.open && r->breaker.opening == id->opening)
        r->breaker.retry_at = vpa_time_add(now, r->breaker.pause);
}

static void count_failure(struct vpa_proof *proof, struct record *r, struct trials trials,
                          vpa_time now)
{
    const struct vpa_breaker *b = &r->breaker;
    struct space *space = r->space;

    r->lacking = verdict_lacks_values(b->verdict);
    scope_failed(&space->scope, &r->row, trials.space, b->verdict, r->vpa, now);
    if (!space_in_row(proof, space))
        helpers_failed(&proof->helpers, &space->helper);
    scope_failed(&proof->cluster, &space->row, trials.cluster, b->verdict, r->vpa, now);
}

static void end_row(struct vpa_proof *proof)
{
    scope_helped(&proof->cluster);
    proof->helpers.failing = 0;
}

/* A quota that has no room for one pod more may have it for one in the place of another. */
static bool is_for_room(const struct vpa_proof_id *id, enum vpa_verdict verdict)
{
    return id->dry_run && verdict == VPA_VERDICT_NO_REPLACEMENT;
}

/* ---- a webhook that was away ---- */

/* One start excuses all that it has to, also several groups of a VPA. */
static bool is_counted(const struct vpa_proof *proof, unsigned excuses, vpa_time excusing)
{
    return excuses > 0 && excusing == proof->start && !vpa_time_is_unset(proof->start);
}

static bool is_excusing(const struct vpa_proof *proof)
{
    return is_counted(proof, proof->excuses, proof->excusing);
}

static bool may_excuse(const struct vpa_proof *proof)
{
    return proof->excuses < VPA_PROOF_EXCUSES || is_excusing(proof);
}

static void count_excuse(struct vpa_proof *proof)
{
    proof->excuses += !is_excusing(proof);
    proof->excusing = proof->start;
    proof->careful = true;
}

static bool excuse(struct vpa_proof *proof, struct record *r, vpa_time start, vpa_time now)
{
    bool counted = is_counted(proof, r->excuses, r->excusing);

    if (start == proof->start || (r->excuses >= VPA_PROOF_EXCUSES && !counted) ||
        !may_excuse(proof))
        return false;
    count_excuse(proof);
    r->excuses += !counted;
    r->excusing = proof->start;
    r->excused = now;
    return true;
}

/* Of several failures before the answer the breaker goes back to where the first found it. A
 * namespace that asks again and again, and was answered, keeps nobody else waiting. */
static void ask_question(struct vpa_proof *proof, struct record *r, vpa_time start,
                         struct trials trials)
{
    struct question *q = &r->question;

    if (!q->open) {
        q->holds = r->space->row != proof->cluster.row;
        q->pause = r->breaker.pause;
        q->retry_at = r->breaker.retry_at;
        q->opening = r->breaker.opening;
        r->space->questions++;
        proof->questions++;
        proof->holding += q->holds;
    }
    q->open = true;
    q->trials.space = trials.space || q->trials.space;
    q->trials.cluster = trials.cluster || q->trials.cluster;
    q->start = start;
    q->heard = proof->heard;
}

/* As before the failure: after a trial one pod may go at once. */
static void take_back(struct vpa_proof *proof, struct record *r)
{
    const struct question q = r->question;

    record_answer(proof, r);
    if (q.pause == 0) {
        breaker_close(&r->breaker);
        return;
    }
    r->breaker.pause = q.pause;
    r->breaker.retry_at = q.retry_at;
    r->breaker.opening = q.opening;
}

static bool resolve(struct vpa_proof *proof, struct record *r, vpa_time now)
{
    const struct question q = r->question;

    if (excuse(proof, r, q.start, now)) {
        take_back(proof, r);
        return true;
    }
    if (q.heard != proof->heard || q.start != proof->start) {
        record_answer(proof, r);
        count_failure(proof, r, q.trials, now);
    }
    return false;
}

size_t vpa_proof_webhook(struct vpa_proof *proof, vpa_time start, int64_t heard, vpa_time now)
{
    vpa_auto_free void **records = NULL;
    size_t excused = 0;

    proof->watched = true;
    proof->start = start;
    proof->heard = heard;
    if (proof->questions == 0)
        return 0;
    records = vpa_table_sorted(&proof->records);
    for (size_t i = 0; i < proof->records.count; i++) {
        struct record *r = records[i];

        if (r->question.open)
            excused += resolve(proof, r, now);
    }
    return excused;
}

vpa_time vpa_proof_start(const struct vpa_proof *proof)
{
    return proof->start;
}

void vpa_proof_patched(struct vpa_proof *proof)
{
    proof->careful = false;
    proof->trial = false;
}

static enum vpa_breaker_change judge_good(struct vpa_proof *proof, struct record *r,
                                          const struct vpa_proof_id *id, vpa_time now)
{
    bool was_open = r->breaker.open;
    struct group *g;

    record_drop_group(proof, r, id->group);
    g = group_of(r, id->group);
    g->waiting = false;
    g->since = now;
    r->proven = now;
    record_close(proof, r);
    r->excuses = 0;
    if (id->way == VPA_PROOF_EVICTION) {
        scope_helped(&r->space->scope);
        end_row(proof);
        helpers_helped(&proof->helpers, &r->space->helper, now);
        proof->excuses = 0;
    }
    return was_open ? VPA_BREAKER_CLOSED : VPA_BREAKER_SAME;
}

/* Of all that went out before a breaker opened the first failure opens it: what one pass did counts
 * once. */
static enum vpa_breaker_change open_or_note(struct vpa_proof *proof, struct record *r,
                                            const struct vpa_proof_id *id, enum vpa_verdict verdict,
                                            const char *seen, vpa_time now)
{
    if (r->breaker.open && r->breaker.opening != id->opening) {
        breaker_note(&r->breaker, verdict, seen);
        return VPA_BREAKER_NOTED;
    }
    breaker_open(&r->breaker, verdict, seen, now);
    r->breaker.opening = ++proof->openings;
    return VPA_BREAKER_OPENED;
}

enum vpa_breaker_change vpa_proof_judge(struct vpa_proof *proof, const struct vpa_proof_id *id,
                                        enum vpa_verdict verdict, const char *seen, vpa_time now)
{
    struct record *r = record_of(proof, id->vpa, id->way);
    const struct group *g = vpa_table_find(&r->groups, id->group);
    struct trials trials = g ? g->trials : (struct trials){.cluster = false};
    bool eviction = id->way == VPA_PROOF_EVICTION;
    bool questionable = proof->watched && eviction && verdict_lacks_values(verdict);
    enum vpa_breaker_change change;

    if (id->dry_run) /* nothing was sent before */
        trials = trials_due(proof, r, now);
    if (eviction && verdict_shows_values(verdict))
        vpa_proof_patched(proof);
    if (verdict == VPA_VERDICT_GOOD)
        return judge_good(proof, r, id, now);
    if (!g || g->opening == id->opening) /* else a later one of the group is under way */
        record_drop_group(proof, r, id->group);
    if (!vpa_verdict_failed(verdict))
        return VPA_BREAKER_SAME;
    r->proven = 0;
    if (questionable && excuse(proof, r, id->start, now))
        return VPA_BREAKER_EXCUSED;
    if (questionable && id->start == proof->start && !vpa_time_is_unset(proof->start))
        ask_question(proof, r, id->start, trials);
    else
        record_answer(proof, r);
    change = open_or_note(proof, r, id, verdict, seen, now);
    if (eviction && !r->question.open && !is_for_room(id, verdict))
        count_failure(proof, r, trials, now);
    return change;
}

void vpa_proof_restore(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way,
                       const struct vpa_pause *pause, vpa_time now)
{
    struct record *r = record_of(proof, vpa, way);
    vpa_duration left = vpa_time_sub(pause->retry, now);

    if (r->breaker.open)
        return;
    breaker_open(&r->breaker, pause->verdict, pause->seen, now);
    r->breaker.opening = ++proof->openings;
    r->breaker.opened = pause->opened;
    if (left <= 0 || left > VPA_PAUSE_LONGEST)
        return;
    r->breaker.retry_at = pause->retry;
    r->breaker.pause = breaker_pause_of(left);
}

bool vpa_proof_reset(struct vpa_proof *proof, const char *vpa)
{
    bool evictions = record_reset(proof, vpa, VPA_PROOF_EVICTION);
    bool resizes = record_reset(proof, vpa, VPA_PROOF_RESIZE);

    return evictions || resizes;
}

void vpa_proof_forgive(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way)
{
    (void)record_reset(proof, vpa, way);
}

static void forgive_space(struct vpa_proof *proof, struct space *space)
{
    if (space_in_row(proof, space))
        proof->helpers.failing -= space->helper.helped;
    scope_forgive(&proof->cluster, &space->row);
}

size_t vpa_proof_repaired(struct vpa_proof *proof)
{
    size_t closed = 0;
    void *value;

    if (!may_excuse(proof))
        return 0;
    for (size_t i = 0; vpa_table_next(&proof->records, &i, NULL, &value);) {
        struct record *r = value;

        record_forgive(r);
        if (!verdict_lacks_values(r->breaker.verdict))
            continue;
        record_close(proof, r);
        closed++;
    }
    for (size_t i = 0; vpa_table_next(&proof->spaces, &i, NULL, &value);) {
        struct space *space = value;

        if (verdict_lacks_values(space->scope.breaker.verdict)) {
            scope_helped(&space->scope);
            closed++;
        }
        if (space->scope.row_count == 0)
            forgive_space(proof, space);
    }
    if (verdict_lacks_values(proof->cluster.breaker.verdict)) {
        end_row(proof);
        closed++;
    }
    if (closed > 0)
        count_excuse(proof);
    return closed;
}

/* ---- reading ---- */

const struct vpa_breaker *vpa_proof_breaker(const struct vpa_proof *proof, const char *vpa,
                                            enum vpa_proof_way way)
{
    const struct record *r = record_find(proof, vpa, way);

    return r && r->breaker.open ? &r->breaker : NULL;
}

const struct vpa_breaker *vpa_proof_cluster(const struct vpa_proof *proof)
{
    return proof->cluster.breaker.open ? &proof->cluster.breaker : NULL;
}

size_t vpa_proof_namespaces(const struct vpa_proof *proof, const struct vpa_breaker **newest)
{
    size_t count = 0;
    void *value;

    *newest = NULL;
    for (size_t i = 0; vpa_table_next(&proof->spaces, &i, NULL, &value);) {
        const struct space *space = value;
        const struct vpa_breaker *b = &space->scope.breaker;

        if (!b->open)
            continue;
        count++;
        if (!*newest || b->opened > (*newest)->opened)
            *newest = b;
    }
    return count;
}

size_t vpa_proof_open_count(const struct vpa_proof *proof)
{
    size_t count = 0;
    void *value;

    for (size_t i = 0; vpa_table_next(&proof->records, &i, NULL, &value);)
        count += ((const struct record *)value)->breaker.open;
    return count;
}
