/*
 * Beside another installation: how far its recommendations are from ours.
 *
 *     shadow_begin(s)
 *     shadow_compare(s, vpa, recommendation)*     each VPA of the pass, as stored and as computed
 *     shadow_end(s)
 *     shadow_write_table(s, &text)                of the last whole pass
 *
 * A value is compared where both have one: container by container, bound by bound, cpu and memory.
 * Its distance is (ours - theirs) / theirs, as in the metric
 * vpa_recommender_shadow_relative_difference. Containers that only one of the two recommends for
 * are counted apart.
 */
#ifndef RECOMMENDER_SHADOW_H
#define RECOMMENDER_SHADOW_H

#include "vpa/api/vpa.h"
#include "vpa/base/buf.h"

struct shadow;
struct shadow *shadow_new(void);
void shadow_free(struct shadow *shadow); /* NULL is ignored */

void shadow_begin(struct shadow *shadow);
void shadow_compare(struct shadow *shadow, const struct vpa_object *vpa,
                    const struct vpa_recommendation *ours);
/* The pass counts as whole. */
void shadow_end(struct shadow *shadow);
/* Lines for people; at least one. */
void shadow_write_table(const struct shadow *shadow, struct vpa_buf *out);

#endif
