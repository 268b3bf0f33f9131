/*
 * How well the recommendations fit, live: the measures of kubectl-vpa lab (vpa/model/measure.h) as
 * metrics, per algorithm always, per VPA where --measure-vpas asks.
 *
 *     struct measures *m = measures_new("web/shop,team-a/cart");
 *     // per pass, on the loop
 *     measures_begin_pass(m, cluster);                         // VPAs come and go before this
 *     measures_sample(m, v, kind, is_oom, usage, recommended);  // the model's hook
 *     measures_target(m, v, &recommendation);                  // before it is written
 *     measures_end_pass(m);                                    // the metrics have it
 *
 * The allocation is what was recommended when the sample came: the target before the bounds of the
 * container policies, so that an algorithm is measured and not a policy, whether the VPA's mode
 * applies it or not. Each accepted sample of a container is a window; until there is a
 * recommendation nothing is measured. An OOM kill counts as one and not as usage. A change is a
 * target, bounds applied, that differs from the one in the VPA's stored status. With several VPAs
 * on one pod the sample counts for the last by name, whose recommendation the model keeps.
 *
 *     recommended, used, served   sums over samples, in cores and bytes; whence
 *                                 slack = 1 - served / recommended, unserved = 1 - served / used,
 *                                 over any range of time and any set of series
 *     slack, unserved             the same of the samples of the last pass that had any
 *     ooms, changes               counted
 *
 * Cost: 112 bytes and 11 series per algorithm, and a few additions per sample (below 1 % of a
 * pass); with --measure-vpas 200 bytes and nine series more for each VPA, of which
 * MEASURES_VPAS_MAX are measured at most.
 */
#ifndef RECOMMENDER_MEASURES_H
#define RECOMMENDER_MEASURES_H

#include "vpa/base/metrics.h"
#include "vpa/model/cluster.h"

/* VPAs that are measured one by one; of more the first by namespace and name, and a log line. */
#define MEASURES_VPAS_MAX 1000

#define MEASURES_METRICS 12
extern struct vpa_metric *const measures_metrics[MEASURES_METRICS];

/* Whether a list can be used: pairs of namespace and name with a slash between them, separated by
 * commas; the name or both may be an asterisk, which stands for all. Empty: none. VPA_INVALID names
 * the wrong one. */
int measures_check(const char *vpas, struct vpa_error *err) VPA_MUST_CHECK;

/* Every series of an algorithm with 0, and of the metrics per VPA those that name none. */
void measures_start(void);

struct measures;
struct measures *measures_new(const char *vpas); /* of a checked list, borrowed */
void measures_free(struct measures *m);          /* NULL is ignored */

void measures_begin_pass(struct measures *m, struct vpa_cluster *c);
/* recommended 0: none. Outside of a pass it counts for the algorithm only. */
void measures_sample(struct measures *m, const struct vpa_autoscaler *v, enum vpa_kind kind,
                     bool is_oom, vpa_amount usage, vpa_amount recommended);
void measures_target(struct measures *m, const struct vpa_autoscaler *v,
                     const struct vpa_recommendation *rec);
void measures_end_pass(struct measures *m);

#endif
