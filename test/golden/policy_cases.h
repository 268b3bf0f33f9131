/*
 * What the sets about recommendations for pods have in common: reading objects of a case and
 * comparing resource lists and phrases.
 */
#ifndef GOLDEN_POLICY_CASES_H
#define GOLDEN_POLICY_CASES_H

#include "golden.h"
#include "vpa/policy/capping.h"

/* Objects that must be readable; a difference under the label "input" otherwise, and false. */
bool policy_read_vpa(struct golden_case *c, const struct vpa_json *node, struct vpa_object *out);
bool policy_read_pod(struct golden_case *c, const struct vpa_json *node, struct vpa_pod *out);
bool policy_read_list(struct golden_case *c, const struct vpa_json *node,
                      struct vpa_resource_list *out);
/* The VPA and the pod of a case with the LimitRanges (`ranges`) of the pod's namespace. */
struct policy_subject {
    struct vpa_object vpa;
    struct vpa_pod pod;
    struct vpa_namespace_limits limits;
};
bool policy_read_subject(struct golden_case *c, const struct vpa_json *ranges,
                         struct policy_subject *out);
/* The LimitRanges of that namespace in an array (may be absent), folded. */
bool policy_read_limits(struct golden_case *c, const struct vpa_json *ranges, const char *ns,
                        struct vpa_namespace_limits *out);

/* {"cpu":"1"} or NULL for a list that is not present. */
const char *policy_list_text(struct golden_case *c, const struct vpa_resource_list *list);
/* A recommendation as it goes on the wire; "null" when absent. */
const char *policy_recommendation_text(struct golden_case *c, const struct vpa_recommendation *rec);
/* {"container":["phrase",...]} of those that have phrases. */
const char *policy_notes_text(struct golden_case *c, const struct vpa_notes *notes, size_t count);

/*
 * updater.md 16.3: no resource key is created that was not recommended (or, for a container without
 * an entry, requested). invents: whether the reference's outcome has such a key. check: ours has
 * none, and every other value is the reference's; differences go under the label "16.3".
 */
bool policy_reference_invents(const struct vpa_object *vpa, const struct vpa_pod *pod,
                              const struct vpa_recommendation *reference);
void policy_check_uninvented(struct golden_case *c, const struct vpa_object *vpa,
                             const struct vpa_pod *pod, const struct vpa_recommendation *reference,
                             const struct vpa_recommendation *got);
/* A recommendation of the vectors, as text or as an object; not present when it cannot be read. */
struct vpa_recommendation policy_read_recommendation(struct golden_case *c,
                                                     const struct vpa_json *node);

#endif
