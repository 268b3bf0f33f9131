/*
 * From estimates to what is recommended, and what that rested on as members of JSON for a ledger:
 * so that from the entry and the VPA that it names the same recommendation comes out again.
 *
 *     const struct vpa_recommendation_facts facts = {vpa, &estimates, &rendering, false, NULL};
 *     struct vpa_recommendation rec = vpa_recommendation_make(&arena, &facts);
 */
#ifndef VPA_POLICY_RECOMMENDATION_FACTS_H
#define VPA_POLICY_RECOMMENDATION_FACTS_H

#include "vpa/json/json_writer.h"
#include "vpa/model/recommend.h"
#include "vpa/policy/capping.h"

struct vpa_recommendation_facts { /* borrowed */
    const struct vpa_object *vpa;
    const struct vpa_estimates *estimates;
    const struct vpa_rendering *rendering;
    bool integer_cpu;                           /* the annotations for whole cores count */
    const struct vpa_resource_list *global_max; /* bounds for all containers; may be empty */
};
/* Rendered, rounded to whole cores where that is asked for, capped by the policies. */
struct vpa_recommendation vpa_recommendation_make(struct vpa_arena *arena,
                                                  const struct vpa_recommendation_facts *facts);
/* An object: settings and estimates by value (target, lower and upper bound of each container, in
 * millicores and bytes), the VPA by name, UID and version, and what came out. */
void vpa_recommendation_facts_encode(struct vpa_json_writer *w,
                                     const struct vpa_recommendation_facts *facts,
                                     const struct vpa_recommendation *rec);

#endif
