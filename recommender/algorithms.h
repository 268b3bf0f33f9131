/*
 * Which algorithm a VPA has, and with which parameters.
 *
 * spec.recommenders names it: the recommender's own name is VPA's own algorithm, NAME/crane (or
 * "crane" alone, when this recommender's name is "default") is Crane's, and so on for every
 * algorithm of the registry that --algorithms lists. Parameters come from flags with the name of
 * the algorithm before the key (--crane-cpu-request-percentile) and, for one VPA, from annotations
 * (crane.vpa.autoscaling.k8s.io/cpu-request-percentile), which win.
 */
#ifndef RECOMMENDER_ALGORITHMS_H
#define RECOMMENDER_ALGORITHMS_H

#include "vpa/base/flags.h"
#include "vpa/model/cluster_learners.h"

/* Flags of parameters, of all algorithms but VPA's own, whose flags are upstream's. */
#define ALGORITHM_FLAGS_MAX 128
struct algorithm_flags {
    const char *served; /* --algorithms */
    const char *parameters[ALGORITHM_FLAGS_MAX];
};
/* The rows of the parameters; offset is that of the parameters in the values. Static, made by the
 * first call. */
const struct vpa_flag *algorithm_flag_rows(size_t offset, size_t *count);
/* Whether the values can be used; VPA_INVALID names the flag. */
int algorithm_flags_check(const struct algorithm_flags *flags,
                          struct vpa_error *err) VPA_MUST_CHECK;

struct algorithms;
/* Of checked flags. name: --recommender-name. Both are borrowed. */
struct algorithms *algorithms_new(const struct algorithm_flags *flags, const char *name);
void algorithms_free(struct algorithms *a); /* NULL is ignored */

/* Whether the VPA is one of ours; *out is its algorithm, NULL for VPA's own. Of several names the
 * first that we serve counts. */
bool algorithms_serve(const struct algorithms *a, const struct vpa_object *vpa,
                      const struct vpa_algorithm **out);
/* Gives the VPA the algorithm that its object names; says a wrong parameter once in the log. */
void algorithms_apply(const struct algorithms *a, struct vpa_autoscaler *v, vpa_time now);
/* The algorithm with the parameters of the flags; NULL when it is not served. Borrowed. */
struct vpa_method *algorithms_method(const struct algorithms *a, const char *algorithm);

#endif
