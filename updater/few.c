/*
 * The condition TooFewReplicas.
 *
 * A streak counts the passes in a row in which there were too few, or in which there were enough.
 * Only VPAs with such a streak, or with the condition, are counted. The message has a count of
 * its own: the passes in which it was the same.
 */
#include "few.h"

#include <stdlib.h>
#include <string.h>

#include "condition.h"
#include "note.h"
#include "words.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define REASON "MinReplicas"

/* Takes the message. */
static void say(struct few *f, char *message)
{
    bool same = f->message && strcmp(f->message, message) == 0;

    f->settled = same ? f->settled + 1 : 1;
    free(f->message);
    f->message = message;
}

void updater_few_note(struct work *w)
{
    struct pass *pass = w->pass;

    if (w->rests[VPA_REST_MIN_REPLICAS] < w->pod_count)
        return;

    struct few *f = &updater_note_of(pass->env, w->vpa)->few;

    vpa_arena_clear(&pass->scratch);
    f->now = true;
    say(f, vpa_xprintf("Running pods are left alone: %s",
                       updater_words_of_rest(&pass->scratch, w, 0, VPA_REST_MIN_REPLICAS)));
}

static void count_pass(struct few *f)
{
    if (f->now != f->few)
        f->streak = 0;
    f->few = f->now;
    f->streak += f->streak < UPDATER_FEW_PASSES;
    f->now = false;
}

static bool is_over(const struct few *f)
{
    return !f->few && f->streak == UPDATER_FEW_PASSES;
}

/* Whether there is anything to count: a streak, or the first pass of one. */
static bool is_counted(const struct few *f)
{
    return f->streak > 0 || f->now;
}

static void forget(struct few *f)
{
    free(f->message);
    *f = (struct few){.message = NULL};
}

static void put_right(struct condition_round *round, const struct vpa_object *vpa,
                      const struct few *f)
{
    struct vpa_condition wanted = {.type = UPDATER_FEW,
                                   .reason = REASON,
                                   .message = f->message,
                                   .last_transition = updater_env_now(round->pass->env)};
    int64_t at = updater_condition_find(vpa, UPDATER_FEW);

    if (is_over(f) && at >= 0) {
        (void)updater_condition_put(round, vpa, UPDATER_FEW, NULL);
        return;
    }
    if (!f->few || f->streak != UPDATER_FEW_PASSES)
        return;
    if (at >= 0) {
        if (f->settled < UPDATER_FEW_PASSES || updater_condition_is(vpa, UPDATER_FEW, &wanted))
            return;
        if (!vpa_time_is_unset(vpa->conditions[at].last_transition))
            wanted.last_transition = vpa->conditions[at].last_transition;
    }
    (void)updater_condition_put(round, vpa, UPDATER_FEW, &wanted);
}

void updater_few_publish(struct pass *pass, const struct vpa_object *const *vpas, size_t count,
                         const bool *unknown)
{
    struct pass_env *env = pass->env;
    struct condition_round round = updater_round(pass, &env->few_from, count);

    for (size_t k = 0; k < count; k++) {
        size_t i = updater_round_at(&round, k);
        /* In a namespace that is passed over it is another updater's. */
        bool has = updater_condition_find(vpas[i], UPDATER_FEW) >= 0 &&
                   !vpa_common_flags_ignore(&env->config->common, vpas[i]->meta.ns);
        struct vpa_note *note =
            has ? updater_note_of(env, vpas[i]) : updater_note_find(env, vpas[i]);

        if (!note || (unknown && unknown[i]) || !(has || is_counted(&note->few)))
            continue;
        count_pass(&note->few);
        if (updater_round_may_put(&round))
            put_right(&round, vpas[i], &note->few);
        if (is_over(&note->few) && !has)
            forget(&note->few);
    }
}
