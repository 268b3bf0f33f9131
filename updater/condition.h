/*
 * A condition of ours on a VPA: one patch that adds, replaces or removes it, with a test of the
 * resourceVersion it rests on.
 *
 *     struct condition_round round = updater_round(pass, &env->few_from, count);
 *
 *     for (size_t k = 0; k < count; k++) {
 *         const struct vpa_object *vpa = vpas[updater_round_at(&round, k)];
 *
 *         if (updater_round_may_put(&round) && !updater_condition_is(vpa, "TooFewReplicas", NULL))
 *             updater_condition_put(&round, vpa, "TooFewReplicas", NULL);
 *     }
 *
 * Conditions tell; they change no pod. So a round has its share of the pass and no more, however
 * slowly the API server answers: a quarter of an interval, and fifty patches. The next round begins
 * behind the last VPA whose patch failed, so that one which can never be written keeps no other
 * waiting.
 *
 * After a failure the others of its namespace wait for the next round, and five failures end the
 * round: what stands behind the API server (a policy's webhook) may be away for a namespace, or for
 * all. A VPA that was refused waits for ten minutes besides: a policy may refuse it, or all of a
 * namespace, with 403, 422 or another code; the schema may refuse it; and the right to patch
 * verticalpodautoscalers/status may be given by namespace, or, as under upstream's roles, not at
 * all. The answer does not tell which. The log has a line for each namespace that refuses.
 *
 * An answer that another version is there, or that the VPA is gone, is none of these failures.
 */
#ifndef UPDATER_CONDITION_H
#define UPDATER_CONDITION_H

#include "pass.h"

/* Index of the last condition of the type, -1 without. */
int64_t updater_condition_find(const struct vpa_object *vpa, const char *type);
/* Whether the VPA has the condition with that message, or, for NULL, none of the type. */
bool updater_condition_is(const struct vpa_object *vpa, const char *type,
                          const struct vpa_condition *wanted);

/* Failures that end a round. */
#define UPDATER_FAILURES_MAX 5

struct condition_round {
    struct pass *pass;
    size_t *from; /* where the next round begins */
    size_t first, count, at;
    size_t sent;
    int64_t until; /* monotonic */
    bool over;     /* too many have failed: */
    size_t failures;
    const char *failed[UPDATER_FAILURES_MAX]; /* their namespaces */
};
/* from: kept between passes by whoever writes, an index into VPAs, of which there are `count`. */
struct condition_round updater_round(struct pass *pass, size_t *from, size_t count);
/* Index of the VPA whose turn is the k-th. */
size_t updater_round_at(struct condition_round *round, size_t k);
/* One patch may be sent in any pass, also in one that is late. */
bool updater_round_may_put(const struct condition_round *round);
/* Of the VPA whose turn it is, unless it waits after a failure. wanted: status is "True" in any
 * case; NULL: the condition goes. Pumps the loop. True: it is written, or may be, since nobody has
 * answered. */
bool updater_condition_put(struct condition_round *round, const struct vpa_object *vpa,
                           const char *type, const struct vpa_condition *wanted);

#endif
