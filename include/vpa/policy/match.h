/*
 * Which VPA controls a pod (specification admission.md 9.5 to 9.7, updater.md 6.2).
 *
 * The caller has found the topmost controller of the pod and, per VPA, the selector of its
 * target; both come from watch caches and the scale cache. Here is the pure rest: same namespace,
 * kind and name as the controller, selector matches, oldest wins, then the smaller name.
 *
 *     struct vpa_match_index *index = vpa_match_index_new(candidates, count);
 *     const struct vpa_candidate *c =
 *         vpa_match_find(index, ns, "Deployment", "web", &labels, flags);
 *     vpa_match_index_free(index);
 */
#ifndef VPA_POLICY_MATCH_H
#define VPA_POLICY_MATCH_H

#include "vpa/api/vpa.h"

/* Borrowed pointers: VPA and selector must outlive whatever holds the candidate. */
struct vpa_candidate {
    const struct vpa_object *vpa;
    const struct vpa_selector *selector; /* of the target; NULL when it cannot be fetched */
};

enum vpa_match_rule {
    VPA_MATCH_UPDATER, /* every mode */
    VPA_MATCH_WEBHOOK, /* mode Off only with a startup boost, whatever the gate */
};

/* Whether this VPA is stronger than the other: created earlier (absent: before everything), on a
 * tie the bytewise smaller name. Antisymmetric for VPAs of one namespace. */
bool vpa_match_stronger(const struct vpa_object *a, const struct vpa_object *b);

/* Whether the rule lets this VPA act on pods at all, by its mode. */
bool vpa_match_mode(const struct vpa_object *vpa, enum vpa_match_rule rule);

/* Whether the selector of the candidate takes the pod: same namespace, labels match. */
bool vpa_match_selects(const struct vpa_candidate *candidate, const char *pod_ns,
                       const struct vpa_labels *pod_labels);

/* The strongest of the candidates that control the pod, or NULL. ns, kind, name: the topmost
 * controller (the empty kind: the pod has none). With S8 a VPA with spec.selector needs no
 * controller: it takes every pod of its namespace that its selector matches. */
const struct vpa_candidate *vpa_match_strongest(const struct vpa_candidate *candidates,
                                                size_t count, enum vpa_match_rule rule,
                                                const char *ns, const char *kind, const char *name,
                                                const struct vpa_labels *pod_labels);

/* The same over many VPAs: grouped by namespace, kind and name of the target. The index copies the
 * candidates (not what they point to). */
struct vpa_match_index;
struct vpa_match_index *vpa_match_index_new(const struct vpa_candidate *candidates, size_t count);
void vpa_match_index_free(struct vpa_match_index *index);
const struct vpa_candidate *vpa_match_find(const struct vpa_match_index *index,
                                           enum vpa_match_rule rule, const char *ns,
                                           const char *kind, const char *name,
                                           const struct vpa_labels *pod_labels);
/* The VPA of a pod whose controller nobody knows: the strongest whose labels fit. NULL also when
 * that one has a target, which may be the pod's or not: a weaker one does not get it meanwhile. */
const struct vpa_candidate *vpa_match_find_unowned(const struct vpa_match_index *index,
                                                   enum vpa_match_rule rule, const char *ns,
                                                   const struct vpa_labels *pod_labels);

#endif
