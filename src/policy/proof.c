/*
 * Breakers of VPAs and of the cluster.
 *
 * A record per VPA and way holds its breaker and the groups that are waiting or proven; it exists
 * only while one of them says something. Who has sent the pod on trial is kept with its group, so
 * that a trial that comes to nothing frees the breaker for the next one.
 */
#include "vpa/policy/proof.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

struct group {
    bool waiting;              /* else proven */
    bool for_vpa, for_cluster; /* the trial of an open breaker */
    bool for_webhook;          /* that of a webhook which was away */
    vpa_time since;            /* proven */
    char key[];
};
/* Was the webhook away when this failed? */
struct question {
    bool open;
    bool cluster_trial;
    vpa_time start;
    int64_t heard;
    vpa_duration pause; /* before it; 0: the breaker was closed */
};
struct record {
    struct vpa_breaker breaker;
    struct question question;
    unsigned excuses; /* since its last good proof */
    vpa_time excused;
    struct vpa_table groups;
    unsigned row; /* of failures that this VPA is part of */
    char *vpa;
    char key[];
};
struct vpa_proof {
    struct vpa_table records; /* way and VPA */
    struct vpa_breaker cluster;
    unsigned row; /* grows with each good proof */
    size_t row_count;
    bool watched; /* the webhook's Lease is known: */
    vpa_time start;
    int64_t heard;
    size_t questions;
    unsigned excuses;  /* starts that excused something since the last good proof */
    vpa_time excusing; /* the last of them */
    bool careful;      /* one pod in the whole cluster, until it is patched */
    bool trial;        /* that one is under way: */
    vpa_time tried;    /* since then */
};

const char *vpa_verdict_name(enum vpa_verdict verdict)
{
    static const char *const names[] = {
        "Waiting",       "Good",          "Void",     "NotPatched", "PatchedBack",
        "NoReplacement", "Unschedulable", "Crashing", "NotReady",   "NotResized"};

    return names[verdict];
}

struct vpa_proof *vpa_proof_new(void)
{
    struct vpa_proof *proof = vpa_xcalloc(1, sizeof(*proof));

    proof->row = 1;
    proof->start = VPA_TIME_UNSET;
    return proof;
}

static void set_seen(struct vpa_breaker *b, const char *seen)
{
    char *copy = seen ? vpa_xstrdup(seen) : NULL;

    free((char *)(uintptr_t)b->seen);
    b->seen = copy;
}

static void forget_groups(struct record *r)
{
    void *value;

    for (size_t i = 0; vpa_table_next(&r->groups, &i, NULL, &value);)
        free(value);
    vpa_table_release(&r->groups);
    r->groups = (struct vpa_table){0};
}

static void record_free(struct record *r)
{
    forget_groups(r);
    set_seen(&r->breaker, NULL);
    free(r->vpa);
    free(r);
}

void vpa_proof_free(struct vpa_proof *proof)
{
    void *value;

    if (!proof)
        return;
    for (size_t i = 0; vpa_table_next(&proof->records, &i, NULL, &value);)
        record_free(value);
    vpa_table_release(&proof->records);
    set_seen(&proof->cluster, NULL);
    free(proof);
}

/* ---- looking up ---- */

static char *record_key(const char *vpa, enum vpa_proof_way way)
{
    return vpa_xprintf("%d/%s", (int)way, vpa);
}

static struct record *find_record(const struct vpa_proof *proof, const char *vpa,
                                  enum vpa_proof_way way)
{
    if (proof->records.count == 0)
        return NULL;

    vpa_auto_free char *key = record_key(vpa, way);

    return vpa_table_find(&proof->records, key);
}

static struct record *record_of(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way)
{
    struct record *r = find_record(proof, vpa, way);

    if (r)
        return r;

    vpa_auto_free char *key = record_key(vpa, way);
    size_t size = strlen(key) + 1;

    r = vpa_xcalloc(1, sizeof(*r) + size);
    memcpy(r->key, key, size);
    r->vpa = vpa_xstrdup(vpa);
    vpa_table_put(&proof->records, r->key, r);
    return r;
}

static struct group *group_of(struct record *r, const char *name)
{
    struct group *g = vpa_table_find(&r->groups, name);
    size_t size = strlen(name) + 1;

    if (g)
        return g;
    g = vpa_xcalloc(1, sizeof(*g) + size);
    memcpy(g->key, name, size);
    vpa_table_put(&r->groups, g->key, g);
    return g;
}

/* ---- asking ---- */

static enum vpa_proof_permit permit_of(const struct vpa_breaker *b, enum vpa_proof_permit paused,
                                       vpa_time now)
{
    if (!b->open)
        return VPA_PERMIT_FREE;
    if (now < b->retry_at)
        return paused;
    return b->trial ? VPA_PERMIT_WAITING : VPA_PERMIT_FIRST;
}

static enum vpa_proof_permit cluster_permit(const struct vpa_proof *proof, enum vpa_proof_way way,
                                            vpa_time now)
{
    if (way != VPA_PROOF_EVICTION)
        return VPA_PERMIT_FREE;
    return permit_of(&proof->cluster, VPA_PERMIT_CLUSTER_PAUSED, now);
}

/* Was the webhook away, or does it patch again? One pod is to show it; not one that takes hours to
 * end. */
static bool is_held(const struct vpa_proof *proof, enum vpa_proof_way way, vpa_time now)
{
    bool tried = proof->trial && vpa_time_sub(now, proof->tried) < VPA_PAUSE_FIRST;

    return way == VPA_PROOF_EVICTION && (proof->questions > 0 || tried);
}

static bool is_careful(const struct vpa_proof *proof, enum vpa_proof_way way)
{
    return way == VPA_PROOF_EVICTION && proof->careful;
}

static bool is_proven(const struct group *g, vpa_time now)
{
    return g && !g->waiting && vpa_time_sub(now, g->since) < VPA_PROOF_AGE;
}

enum vpa_proof_permit vpa_proof_ask(const struct vpa_proof *proof, const struct vpa_proof_id *id,
                                    vpa_time now)
{
    const struct record *r = find_record(proof, id->vpa, id->way);
    const struct group *g = r ? vpa_table_find(&r->groups, id->group) : NULL;
    enum vpa_proof_permit own =
        r ? permit_of(&r->breaker, VPA_PERMIT_PAUSED, now) : VPA_PERMIT_FREE;
    enum vpa_proof_permit all = cluster_permit(proof, id->way, now);

    if (!vpa_permit_given(own))
        return own;
    if (!vpa_permit_given(all))
        return all;
    if ((g && g->waiting) || is_held(proof, id->way, now))
        return VPA_PERMIT_WAITING;
    if (own == VPA_PERMIT_FIRST || all == VPA_PERMIT_FIRST || is_careful(proof, id->way) ||
        !is_proven(g, now))
        return VPA_PERMIT_FIRST;
    return VPA_PERMIT_FREE;
}

bool vpa_proof_sent(struct vpa_proof *proof, const struct vpa_proof_id *id, vpa_time now)
{
    if (vpa_proof_ask(proof, id, now) != VPA_PERMIT_FIRST)
        return false;

    struct record *r = record_of(proof, id->vpa, id->way);
    struct group *g = group_of(r, id->group);

    g->waiting = true;
    g->for_vpa = r->breaker.open;
    g->for_cluster = id->way == VPA_PROOF_EVICTION && proof->cluster.open;
    r->breaker.trial = g->for_vpa;
    if (g->for_cluster)
        proof->cluster.trial = true;
    g->for_webhook = is_careful(proof, id->way);
    if (g->for_webhook) {
        proof->trial = true;
        proof->tried = now;
    }
    return true;
}

/* ---- learning ---- */

/* The group is as if nothing had been sent. */
static void drop_group(struct vpa_proof *proof, struct record *r, const char *name)
{
    struct group *g = vpa_table_remove(&r->groups, name);

    if (!g)
        return;
    if (g->for_vpa)
        r->breaker.trial = false;
    if (g->for_cluster)
        proof->cluster.trial = false;
    if (g->for_webhook)
        proof->trial = false;
    free(g);
}

void vpa_proof_refused(struct vpa_proof *proof, const struct vpa_proof_id *id)
{
    struct record *r = find_record(proof, id->vpa, id->way);

    if (r)
        drop_group(proof, r, id->group);
}

static void close_breaker(struct vpa_breaker *b)
{
    set_seen(b, NULL);
    *b = (struct vpa_breaker){.open = false};
}

static void open_breaker(struct vpa_breaker *b, enum vpa_verdict verdict, const char *seen,
                         vpa_time now)
{
    vpa_duration pause = b->pause ? 2 * b->pause : VPA_PAUSE_FIRST;

    if (!b->open)
        b->opened = now;
    b->open = true;
    b->trial = false;
    b->verdict = verdict;
    b->pause = pause < VPA_PAUSE_LONGEST ? pause : VPA_PAUSE_LONGEST;
    b->retry_at = vpa_time_add(now, b->pause);
    set_seen(b, seen);
}

static void answer(struct vpa_proof *proof, struct record *r)
{
    if (r->question.open)
        proof->questions--;
    r->question = (struct question){.open = false};
}

static void close_record(struct vpa_proof *proof, struct record *r)
{
    answer(proof, r);
    close_breaker(&r->breaker);
}

/* One VPA counts once in a row of failures of evictions. */
static void count_failure(struct vpa_proof *proof, struct record *r, bool trial, vpa_time now)
{
    if (r->row != proof->row) {
        r->row = proof->row;
        proof->row_count++;
    }
    if (proof->cluster.open ? trial : proof->row_count >= VPA_PROOF_ROW)
        open_breaker(&proof->cluster, r->breaker.verdict, r->vpa, now);
}

/* ---- a webhook that was away ---- */

static bool lacks_values(enum vpa_verdict verdict)
{
    return verdict == VPA_VERDICT_NOT_PATCHED || verdict == VPA_VERDICT_PATCHED_BACK;
}

static bool shows_values(enum vpa_verdict verdict)
{
    return verdict == VPA_VERDICT_GOOD || verdict == VPA_VERDICT_UNSCHEDULABLE ||
           verdict == VPA_VERDICT_CRASHING || verdict == VPA_VERDICT_NOT_READY;
}

/* One start excuses all that it has to. */
static bool is_excusing(const struct vpa_proof *proof)
{
    return proof->excuses > 0 && proof->excusing == proof->start &&
           !vpa_time_is_unset(proof->start);
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
    if (start == proof->start || r->excuses >= VPA_PROOF_EXCUSES || !may_excuse(proof))
        return false;
    count_excuse(proof);
    r->excuses++;
    r->excused = now;
    return true;
}

/* Of several failures before the answer the breaker goes back to where the first found it. */
static void ask_question(struct vpa_proof *proof, struct record *r, vpa_time start,
                         bool cluster_trial)
{
    proof->questions += !r->question.open;
    r->question = (struct question){.open = true,
                                    .cluster_trial = cluster_trial || r->question.cluster_trial,
                                    .start = start,
                                    .heard = proof->heard,
                                    .pause = r->question.open  ? r->question.pause
                                             : r->breaker.open ? r->breaker.pause
                                                               : 0};
}

/* As before the failure, and one pod may go at once. */
static void take_back(struct vpa_proof *proof, struct record *r, vpa_time now)
{
    vpa_duration pause = r->question.pause;

    answer(proof, r);
    if (pause == 0) {
        close_breaker(&r->breaker);
        return;
    }
    r->breaker.pause = pause;
    r->breaker.retry_at = now;
}

static bool resolve(struct vpa_proof *proof, struct record *r, vpa_time now)
{
    const struct question q = r->question;

    if (excuse(proof, r, q.start, now)) {
        take_back(proof, r, now);
        return true;
    }
    if (q.heard != proof->heard || q.start != proof->start) {
        answer(proof, r);
        count_failure(proof, r, q.cluster_trial, now);
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

    drop_group(proof, r, id->group);
    g = group_of(r, id->group);
    g->waiting = false;
    g->since = now;
    close_record(proof, r);
    r->excuses = 0;
    if (id->way == VPA_PROOF_EVICTION) {
        close_breaker(&proof->cluster);
        proof->row++;
        proof->row_count = 0;
        proof->excuses = 0;
    }
    return was_open ? VPA_BREAKER_CLOSED : VPA_BREAKER_SAME;
}

enum vpa_breaker_change vpa_proof_judge(struct vpa_proof *proof, const struct vpa_proof_id *id,
                                        enum vpa_verdict verdict, const char *seen, vpa_time now)
{
    struct record *r = record_of(proof, id->vpa, id->way);
    const struct group *g = vpa_table_find(&r->groups, id->group);
    bool cluster_trial = g && g->for_cluster;
    bool eviction = id->way == VPA_PROOF_EVICTION;
    bool questionable = proof->watched && eviction && lacks_values(verdict);

    if (eviction && shows_values(verdict))
        vpa_proof_patched(proof);
    if (verdict == VPA_VERDICT_GOOD)
        return judge_good(proof, r, id, now);
    drop_group(proof, r, id->group);
    if (!vpa_verdict_failed(verdict))
        return VPA_BREAKER_SAME;
    if (questionable && excuse(proof, r, id->start, now))
        return VPA_BREAKER_EXCUSED;
    if (questionable && id->start == proof->start && !vpa_time_is_unset(proof->start))
        ask_question(proof, r, id->start, cluster_trial);
    else
        answer(proof, r);
    open_breaker(&r->breaker, verdict, seen, now);
    if (eviction && !r->question.open)
        count_failure(proof, r, cluster_trial, now);
    return VPA_BREAKER_OPENED;
}

/* The shortest of the pauses that is no shorter than what is left of one. */
static vpa_duration pause_of(vpa_duration left)
{
    vpa_duration pause = VPA_PAUSE_FIRST;

    while (pause < left)
        pause *= 2;
    return pause < VPA_PAUSE_LONGEST ? pause : VPA_PAUSE_LONGEST;
}

void vpa_proof_restore(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way,
                       const struct vpa_pause *pause, vpa_time now)
{
    struct record *r = record_of(proof, vpa, way);
    vpa_duration left = vpa_time_sub(pause->retry, now);

    if (r->breaker.open)
        return;
    open_breaker(&r->breaker, pause->verdict, pause->seen, now);
    r->breaker.opened = pause->opened;
    if (left <= 0 || left > VPA_PAUSE_LONGEST)
        return;
    r->breaker.retry_at = pause->retry;
    r->breaker.pause = pause_of(left);
}

static bool reset_way(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way)
{
    struct record *r = find_record(proof, vpa, way);
    bool was_open = r && r->breaker.open;
    const char *name;

    if (!r)
        return false;
    for (size_t i = 0; vpa_table_next(&r->groups, &i, &name, NULL);)
        drop_group(proof, r, name);
    close_record(proof, r);
    return was_open;
}

bool vpa_proof_reset(struct vpa_proof *proof, const char *vpa)
{
    bool evictions = reset_way(proof, vpa, VPA_PROOF_EVICTION);
    bool resizes = reset_way(proof, vpa, VPA_PROOF_RESIZE);

    return evictions || resizes;
}

void vpa_proof_forgive(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way)
{
    (void)reset_way(proof, vpa, way);
}

size_t vpa_proof_repaired(struct vpa_proof *proof)
{
    size_t closed = 0;
    void *value;

    if (!may_excuse(proof))
        return 0;
    for (size_t i = 0; vpa_table_next(&proof->records, &i, NULL, &value);) {
        struct record *r = value;

        if (!r->breaker.open || !lacks_values(r->breaker.verdict))
            continue;
        close_record(proof, r);
        closed++;
    }
    if (proof->cluster.open)
        closed++;
    close_breaker(&proof->cluster);
    proof->row++;
    proof->row_count = 0;
    if (closed > 0)
        count_excuse(proof);
    return closed;
}

/* ---- reading ---- */

const struct vpa_breaker *vpa_proof_breaker(const struct vpa_proof *proof, const char *vpa,
                                            enum vpa_proof_way way)
{
    const struct record *r = find_record(proof, vpa, way);

    return r && r->breaker.open ? &r->breaker : NULL;
}

const struct vpa_breaker *vpa_proof_cluster(const struct vpa_proof *proof)
{
    return proof->cluster.open ? &proof->cluster : NULL;
}

size_t vpa_proof_open_count(const struct vpa_proof *proof)
{
    size_t count = 0;
    void *value;

    for (size_t i = 0; vpa_table_next(&proof->records, &i, NULL, &value);)
        count += ((const struct record *)value)->breaker.open;
    return count;
}

static void sweep_groups(struct record *r, vpa_time now)
{
    const char *name;
    void *value;

    for (size_t i = 0; vpa_table_next(&r->groups, &i, &name, &value);) {
        const struct group *g = value;

        if (g->waiting || is_proven(g, now))
            continue;
        vpa_table_remove(&r->groups, name);
        free(value);
    }
}

void vpa_proof_sweep(struct vpa_proof *proof, bool (*live)(void *ctx, const char *vpa), void *ctx,
                     vpa_time now)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&proof->records, &i, &key, &value);) {
        struct record *r = value;

        if (!live(ctx, r->vpa)) {
            (void)reset_way(proof, r->vpa,
                            r->key[0] == '0' ? VPA_PROOF_EVICTION : VPA_PROOF_RESIZE);
            r->excuses = 0;
        }
        if (vpa_time_sub(now, r->excused) >= VPA_PAUSE_LONGEST)
            r->excuses = 0;
        sweep_groups(r, now);
        if (r->breaker.open || r->groups.count > 0 || r->excuses > 0)
            continue;
        vpa_table_remove(&proof->records, key);
        record_free(r);
    }
}
