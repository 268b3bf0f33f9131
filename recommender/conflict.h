/*
 * Several VPAs on one pod: which of them do not control it (DECISIONS U12, docs/compatibility.md).
 *
 * Updater and webhook let the oldest VPA win, silently. The losers get the condition
 * TargetConflict, so that their owners see why nothing happens. Two VPAs are rivals when they match
 * the same pods and both would be asked about them: they have the same target, or one of them
 * selects pods itself. Rivals may have different recommenders, since updater and webhook do not
 * look at these; each recommender tells the losers among its own VPAs.
 */
#ifndef RECOMMENDER_CONFLICT_H
#define RECOMMENDER_CONFLICT_H

#include "vpa/base/table.h"
#include "vpa/model/cluster.h"
#include "vpa/policy/match.h"

struct conflicts {
    const struct vpa_object **winners; /* by the place of the loser; NULL: none */
    size_t count;
    size_t comparisons; /* of a foreign selector with a label set */
    struct vpa_arena arena;
};
/* Of the model as it is now, and of the VPAs of other recommenders; a selector that is
 * not known is NULL. The objects are borrowed until the release, and until then no VPA may come to
 * the model or leave it. Takes time in proportion to VPAs and, for each label set, the VPAs of the
 * model that match it and its labels: of foreign VPAs those are compared with it that are the
 * strongest ones to demand one of its pairs, or none, and a hundred more. */
void conflicts_find(struct conflicts *conflicts, struct vpa_cluster *cluster,
                    const struct vpa_candidate *foreign, size_t foreign_count);
void conflicts_release(struct conflicts *conflicts);
/* v: one of that model. Message of the condition in the arena, NULL when the VPA has its pods for
 * itself. */
const char *conflicts_message(const struct conflicts *conflicts, const struct vpa_autoscaler *v,
                              struct vpa_arena *arena);

#endif
