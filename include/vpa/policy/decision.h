/*
 * Whether a pod deserves a change, before budgets and proofs: capping, priority and eviction
 * requirements in one pure function, and what it rested on as a few members of JSON. So that a
 * decision can be made again from its entry in a ledger and the objects that it names, and must
 * come out the same to the last bit.
 *
 *     const struct vpa_decision_facts facts = {pod, vpa, limits, NULL, &options, now};
 *     if (vpa_decision_make(&arena, &facts, &decision, &err) == 0 &&
 *         decision.admission == VPA_ADMIT_ACCEPTED && decision.allowed) ...
 */
#ifndef VPA_POLICY_DECISION_H
#define VPA_POLICY_DECISION_H

#include "vpa/json/json_writer.h"
#include "vpa/policy/capping.h"
#include "vpa/policy/priority.h"

struct vpa_decision_facts { /* borrowed */
    const struct vpa_pod *pod;
    const struct vpa_object *vpa;
    const struct vpa_namespace_limits *limits;   /* NULL: none */
    const struct vpa_recommendation *infeasible; /* as for vpa_priority_admit */
    const struct vpa_priority_options *options;
    vpa_time now;
    bool evicts; /* not to be resized: by its mode, or because that failed */
};
struct vpa_decision {
    enum vpa_admission admission;
    struct vpa_priority priority;
    bool allowed;                     /* by the eviction requirements */
    bool recommended;                 /* anything, also what is left as it is */
    struct vpa_recommendation wanted; /* capped for the pod; in the arena */
};
/* Clears the plans of containers that the updater leaves as they are, because the webhook does so
 * with the gate CPUStartupBoost: those of policy mode Off, but in modes that act in place not those
 * that are recommended something, which a resize carries out. */
void vpa_decision_leave_off(const struct vpa_pod *pod, const struct vpa_object *vpa,
                            struct vpa_container_plan *plans);
/* What the pod shall have: capped, no memory below zero, without containers that are left as they
 * are. Fills recommended and wanted. Fails as vpa_capping_process does. */
int vpa_decision_wanted(struct vpa_arena *arena, const struct vpa_decision_facts *facts,
                        struct vpa_decision *out, struct vpa_error *err) VPA_MUST_CHECK;
/* Fails as vpa_capping_process does. */
int vpa_decision_make(struct vpa_arena *arena, const struct vpa_decision_facts *facts,
                      struct vpa_decision *out, struct vpa_error *err) VPA_MUST_CHECK;

/* An object: now and options by value, pod and VPA by name, UID and version, the limits of the
 * namespace by hash, and what came out. Doubles are written in hexadecimal, which loses nothing. */
void vpa_decision_encode(struct vpa_json_writer *w, const struct vpa_decision_facts *facts,
                         const struct vpa_decision *decision);
/* What the limits of a namespace say, as a number: for objects that are named by their hash. */
uint32_t vpa_namespace_limits_hash(const struct vpa_namespace_limits *limits);

#endif
