/* What is kept of VPAs and namespaces for proof.c: looking up, ending, sweeping. */
#include "proof_private.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

struct vpa_proof *vpa_proof_new(vpa_duration patience)
{
    struct vpa_proof *proof = vpa_xcalloc(1, sizeof(*proof));

    proof->start = VPA_TIME_UNSET;
    proof->patience = patience < VPA_PAUSE_LONGEST ? patience : VPA_PAUSE_LONGEST;
    scope_init(&proof->cluster);
    return proof;
}

static void record_free(struct record *r)
{
    VPA_TABLE_RELEASE(&r->groups, free);
    breaker_close(&r->breaker);
    r->space->records--;
    free(r->vpa);
    free(r);
}

static void space_free(struct space *space)
{
    scope_release(&space->scope);
    free(space);
}

void vpa_proof_free(struct vpa_proof *proof)
{
    if (!proof)
        return;
    VPA_TABLE_RELEASE(&proof->records, record_free);
    VPA_TABLE_RELEASE(&proof->spaces, space_free);
    scope_release(&proof->cluster);
    free(proof);
}

/* ---- looking up ---- */

static char *record_key(const char *vpa, enum vpa_proof_way way)
{
    return vpa_xprintf("%d/%s", (int)way, vpa);
}

struct record *record_find(const struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way)
{
    if (proof->records.count == 0)
        return NULL;

    vpa_auto_free char *key = record_key(vpa, way);

    return vpa_table_find(&proof->records, key);
}

struct space *space_find(const struct vpa_proof *proof, const char *vpa)
{
    if (proof->spaces.count == 0)
        return NULL;

    vpa_auto_free char *ns = vpa_xstrndup(vpa, strcspn(vpa, "/"));

    return vpa_table_find(&proof->spaces, ns);
}

static struct space *space_of(struct vpa_proof *proof, const char *vpa)
{
    struct space *space = space_find(proof, vpa);
    size_t len = strcspn(vpa, "/");

    if (space)
        return space;
    space = vpa_xcalloc(1, sizeof(*space) + len + 1);
    memcpy(space->name, vpa, len);
    scope_init(&space->scope);
    vpa_table_put(&proof->spaces, space->name, space);
    return space;
}

struct record *record_of(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way)
{
    struct record *r = record_find(proof, vpa, way);

    if (r)
        return r;

    vpa_auto_free char *key = record_key(vpa, way);

    r = VPA_TABLE_MAKE(&proof->records, key, struct record, key);
    r->vpa = vpa_xstrdup(vpa);
    r->space = space_of(proof, vpa);
    r->space->records++;
    return r;
}

struct group *group_of(struct record *r, const char *name)
{
    return VPA_TABLE_MAKE(&r->groups, name, struct group, key);
}

bool space_in_row(const struct vpa_proof *proof, const struct space *space)
{
    return space && space->row == proof->cluster.row;
}

bool group_is_proven(const struct group *g, vpa_time now)
{
    return g && !g->waiting && breaker_within(now, g->since, VPA_PROOF_AGE);
}

/* ---- ending ---- */

void record_drop_group(struct vpa_proof *proof, struct record *r, const char *name)
{
    struct group *g = vpa_table_remove(&r->groups, name);

    if (!g)
        return;
    r->waiting -= g->waiting;
    if (g->opening && g->opening == r->breaker.opening)
        r->breaker.trial = false;
    if (g->trials.space)
        r->space->scope.breaker.trial = false;
    if (g->trials.cluster)
        proof->cluster.breaker.trial = false;
    if (g->for_webhook)
        proof->trial = false;
    free(g);
}

void record_answer(struct vpa_proof *proof, struct record *r)
{
    if (r->question.open) {
        r->space->questions--;
        proof->questions--;
        proof->holding -= r->question.holds;
    }
    r->question = (struct question){.open = false};
}

void record_close(struct vpa_proof *proof, struct record *r)
{
    record_answer(proof, r);
    breaker_close(&r->breaker);
}

bool record_reset(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way)
{
    struct record *r = record_find(proof, vpa, way);
    bool was_open = r && r->breaker.open;
    const char *name;

    if (!r)
        return false;
    for (size_t i = 0; vpa_table_next(&r->groups, &i, &name, NULL);)
        record_drop_group(proof, r, name);
    record_close(proof, r);
    r->proven = 0;
    return was_open;
}

void record_forgive(struct record *r)
{
    if (r->lacking)
        scope_forgive(&r->space->scope, &r->row);
}

/* ---- sweeping ---- */

static void sweep_groups(struct record *r, vpa_time now)
{
    const char *name;
    void *value;

    for (size_t i = 0; vpa_table_next(&r->groups, &i, &name, &value);) {
        const struct group *g = value;

        if (g->waiting || group_is_proven(g, now))
            continue;
        vpa_table_remove(&r->groups, name);
        free(value);
    }
}

/* A namespace that is part of a row counts once, whatever becomes of its VPAs. Its pause ends with
 * what is kept of its VPAs, also where it has others. */
static void sweep_spaces(struct vpa_proof *proof, vpa_time now)
{
    const char *name;
    void *value;

    for (size_t i = 0; vpa_table_next(&proof->spaces, &i, &name, &value);) {
        struct space *space = value;

        helpers_forget(&proof->helpers, &space->helper, space_in_row(proof, space), now);
        if (space->records > 0)
            continue;
        breaker_close(&space->scope.breaker);
        if (space_in_row(proof, space) || space->helper.helped)
            continue;
        vpa_table_remove(&proof->spaces, name);
        space_free(value);
    }
}

/* A VPA counts once in the row of its namespace, however often it is changed. One that failed by
 * the webhook counts no more: a repair would not find it. */
static bool is_in_row(const struct record *r)
{
    return r->row == r->space->scope.row && !r->lacking;
}

static void sweep_record(struct vpa_proof *proof, const char *key, struct record *r, bool live,
                         vpa_time now)
{
    if (!live) {
        (void)record_reset(proof, r->vpa, r->key[0] == '0' ? VPA_PROOF_EVICTION : VPA_PROOF_RESIZE);
        r->excuses = 0;
    }
    if (vpa_time_sub(now, r->excused) >= VPA_PAUSE_LONGEST)
        r->excuses = 0;
    sweep_groups(r, now);
    if (r->breaker.open || r->groups.count > 0 || r->excuses > 0 || (live && is_in_row(r)))
        return;
    record_forgive(r);
    vpa_table_remove(&proof->records, key);
    record_free(r);
}

void vpa_proof_sweep(struct vpa_proof *proof, bool (*live)(void *ctx, const char *vpa), void *ctx,
                     vpa_time now)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&proof->records, &i, &key, &value);) {
        struct record *r = value;

        sweep_record(proof, key, r, live(ctx, r->vpa), now);
    }
    sweep_spaces(proof, now);
}
