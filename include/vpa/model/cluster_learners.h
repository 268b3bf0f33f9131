/*
 * Algorithms other than VPA's own in the cluster: which one a VPA has, and what it has learned.
 *
 * They learn from the samples that vpa_cluster_add_sample and vpa_cluster_record_oom accept, those
 * of a time that has not come as of now, and vpa_estimate asks them; nothing else of the cluster
 * knows them.
 */
#ifndef VPA_MODEL_CLUSTER_LEARNERS_H
#define VPA_MODEL_CLUSTER_LEARNERS_H

#include "vpa/model/algorithm.h"
#include "vpa/model/cluster.h"

/*
 * The algorithm of a VPA. NULL is VPA's own, as for a VPA that was never asked to have another. The
 * histories of VPA's own go on learning whatever is chosen; those of another algorithm do so for
 * as long after they were left as their samples count (vpa_method_memory), so that going back loses
 * nothing; VPA_FORMER_MAX of them at most, beyond which the namespace that has most loses the one
 * that was left first. They belong to the VPA and its target, as loaded histories do (U25).
 *
 * note: what was wrong with the VPA's parameters, copied; NULL: nothing.
 */
#define VPA_FORMER_MAX 1024
void vpa_autoscaler_set_method(struct vpa_autoscaler *v, struct vpa_method *m, const char *note,
                               vpa_time now);
const struct vpa_method *vpa_autoscaler_method(const struct vpa_autoscaler *v);
const char *vpa_autoscaler_method_note(const struct vpa_autoscaler *v);

/* What another algorithm has learned of one container of a VPA. */
struct vpa_known {
    const char *container; /* valid as long as the VPA */
    const struct vpa_knowledge *knowledge;
    bool former; /* of an algorithm that the VPA has left */
};
/* Of the algorithm in use, by container; the number is the value. */
size_t vpa_autoscaler_knowledge(const struct vpa_autoscaler *v, struct vpa_arena *arena,
                                struct vpa_known **out);
/* k becomes what the algorithm in use knows of the container, of which it knew something before;
 * the OOM kills stay. False, and k stays the caller's, when it is of another method than the one in
 * use or nothing was known. */
bool vpa_autoscaler_replace_knowledge(struct vpa_autoscaler *v, const char *container,
                                      struct vpa_knowledge *k);
/* All that is not empty, to be stored. */
typedef void (*vpa_known_fn)(void *ctx, const struct vpa_known *known);
void vpa_autoscaler_visit_knowledge(const struct vpa_autoscaler *v, vpa_known_fn visit, void *ctx);
/* Whether something of that container would be visited, of the algorithm of that name. */
bool vpa_autoscaler_has_learned(const struct vpa_autoscaler *v, const char *container,
                                const char *algorithm);
/* Takes in what was stored for (VPA, container) by the algorithm of m, whose parameters count when
 * the VPA has not chosen others. VPA_INVALID: it cannot be read, nothing has changed. */
int vpa_autoscaler_load_knowledge(struct vpa_autoscaler *v, struct vpa_method *m,
                                  const char *container, const struct vpa_json *stored,
                                  vpa_time now, struct vpa_error *err) VPA_MUST_CHECK;

#endif
