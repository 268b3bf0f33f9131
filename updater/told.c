/*
 * What the ledger has of things left alone.
 *
 * Of a VPA it is a set of rules, one bit each, in two generations: that of the last few passes and
 * the one before. A rule in either is not told again.
 */
#include "told.h"

#include <stdlib.h>
#include <string.h>

#include "words.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define GENERATION_PASSES 10
_Static_assert(VPA_REST_COUNT <= 32, "a rule is a bit of 32");

static uint32_t bit_of(enum vpa_rest rest)
{
    return UINT32_C(1) << rest;
}

static uint64_t identity_of(const struct vpa_object *vpa)
{
    const char *uid = vpa_or_empty(vpa->meta.uid);

    return vpa_hash_bytes(uid, strlen(uid)) + (uint64_t)vpa->meta.generation;
}

struct told *updater_told_of(struct pass_env *env, const struct vpa_object *vpa)
{
    if (!env->ledger)
        return NULL;

    struct told *told = &updater_note_of(env, vpa)->told;
    uint64_t identity = identity_of(vpa);

    if (told->identity != identity) {
        told->recent = told->older = told->passes = 0;
        told->identity = identity;
    }
    return told;
}

bool updater_told_news(struct pass_env *env, struct told *told, enum vpa_rest rest)
{
    if (!told)
        return false;

    bool known = (told->recent | told->older) & bit_of(rest);

    if (!known && env->rest_room == 0)
        return false;
    told->recent |= bit_of(rest);
    env->rest_room -= !known;
    return !known;
}

void updater_told_turn(struct told *told)
{
    if (++told->passes < GENERATION_PASSES)
        return;
    told->older = told->recent;
    told->recent = 0;
    told->passes = 0;
}

/* ---- of pods ---- */

void updater_write_down(const struct pass_env *env, const struct vpa_object *vpa, const char *pod,
                        const struct vpa_ledger_entry *entry)
{
    struct vpa_ledger_entry e = *entry;

    e.time = vpa_loop_now(env->loop);
    e.ns = vpa->meta.ns;
    e.vpa = vpa->meta.name;
    e.pod = pod;
    vpa_ledger_record(env->ledger, &e);
}

static char *inputs_of(struct work *w, const struct vpa_rest_facts *facts)
{
    struct vpa_json_writer writer;
    vpa_auto_buf inputs = VPA_BUF(VPA_LEDGER_LINE_MAX);

    vpa_json_writer_init(&writer, &inputs);
    vpa_rest_facts_encode(&writer, &w->pass->scratch, facts);
    return vpa_buf_failed(&inputs) ? NULL : vpa_buf_take(&inputs);
}

static void note(struct work *w, size_t pod, enum vpa_rest rest, enum vpa_rest turn)
{
    w->rests[rest]++;
    if (!updater_told_news(w->pass->env, w->told, rest))
        return;

    struct rest_note *n = vpa_xcalloc(1, sizeof(*n));

    vpa_arena_clear(&w->pass->scratch);

    struct vpa_rest_facts facts = updater_work_state(w, pod);

    facts.turn = turn;
    n->rest = rest;
    n->pod = pod;
    n->why = vpa_xstrdup(updater_words_of_rest(&w->pass->scratch, w, pod, rest));
    n->inputs = inputs_of(w, &facts);
    n->next = w->notes;
    w->notes = n;
}

void updater_rest_note(struct work *w, size_t pod, enum vpa_rest rest)
{
    note(w, pod, rest, VPA_REST_NONE);
}

void updater_rest_note_turn(struct work *w, size_t pod, enum vpa_rest rest)
{
    const struct vpa_rest_facts state = updater_work_state(w, pod);

    note(w, pod, vpa_rest_refine(&state, rest), rest);
}

static void enter(const struct work *w, const struct rest_note *n)
{
    size_t others = w->rests[n->rest] - 1;
    vpa_auto_free char *why = others
                                  ? vpa_xprintf("%s; so it is for %zu more of its VPA's %zu pods",
                                                n->why, others, w->pod_count)
                                  : vpa_xstrdup(n->why);

    updater_write_down(w->pass->env, w->vpa, w->pods[n->pod]->meta.name,
                       &(struct vpa_ledger_entry){.decision = UPDATER_LEAVES_ALONE,
                                                  .rule = vpa_rest_name(n->rest),
                                                  .why = why,
                                                  .inputs = n->inputs});
}

/* In the order of the rules, whatever pod came first. */
static void enter_all(const struct work *w)
{
    for (int rest = 0; w->notes && rest < VPA_REST_COUNT; rest++) {
        for (const struct rest_note *n = w->notes; n; n = n->next) {
            if (n->rest == (enum vpa_rest)rest)
                enter(w, n);
        }
    }
}

void updater_rest_publish(struct work *w)
{
    if (!w->told)
        return;
    enter_all(w);
    updater_work_drop_notes(w);
    updater_told_turn(w->told);
}

/* ---- of more than pods ---- */

void updater_tell_of_vpa(struct pass_env *env, const struct vpa_object *vpa, enum vpa_rest rest,
                         const char *why)
{
    if (updater_told_news(env, updater_told_of(env, vpa), rest))
        updater_write_down(env, vpa, NULL,
                           &(struct vpa_ledger_entry){.decision = UPDATER_LEAVES_ALONE,
                                                      .rule = vpa_rest_name(rest),
                                                      .why = why});
}

void updater_tell_of_pass(struct pass_env *env, const char *rule, const char *why)
{
    const char *before = env->halted;

    if (before == rule || (before && rule && strcmp(before, rule) == 0))
        return;
    env->halted = rule;
    vpa_ledger_record(env->ledger,
                      &(struct vpa_ledger_entry){.time = vpa_loop_now(env->loop),
                                                 .decision = rule ? "do nothing" : "go on",
                                                 .rule = rule ? rule : before,
                                                 .why = why});
}
