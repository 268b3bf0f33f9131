/*
 * Whether a pod is left alone and by which rule, as a function of its arguments, and what that
 * rested on as a few members of JSON: from an entry of the ledger and the objects that it names the
 * same answer comes out again.
 *
 *     const struct vpa_rest_facts facts = {.of = {pod, vpa, limits, infeasible, &options, now},
 *                                          .update = &update, .memory = memory, .steady = steady,
 *                                          .group = group};
 *     vpa_rest_of_state(&facts)              // before its worth is looked at
 *     vpa_rest_make(&arena, &facts)          // all rules in their order
 */
#ifndef VPA_POLICY_REST_FACTS_H
#define VPA_POLICY_REST_FACTS_H

#include "vpa/policy/decision.h"
#include "vpa/policy/rest.h"
#include "vpa/policy/update.h"

struct vpa_rest_facts { /* borrowed */
    struct vpa_decision_facts of;
    const struct vpa_update_options *update;
    const struct vpa_update_memory *memory;
    vpa_time steady;                       /* now, by the clock of that memory */
    const struct vpa_replica_group *group; /* NULL: it has none */
    bool held;                             /* an object that may govern it cannot be read */
    bool controlled;                       /* some controller would make another one */
    int64_t live, required;                /* pods of its owner; how many there have to be */
    enum vpa_rest turn; /* what proofs, limiter or server said when its turn came; NONE: nothing */
};

/* By what the VPA asks for: whether its pods are looked at at all. */
enum vpa_rest vpa_rest_of_vpa(const struct vpa_object *vpa,
                              const struct vpa_update_options *options);
/* By the state of pod and group; of `of` without limits, infeasible and options. */
enum vpa_rest vpa_rest_of_state(const struct vpa_rest_facts *facts);
/* Which of the rules about groups it is that a pod without one is left alone by. */
enum vpa_rest vpa_rest_refine(const struct vpa_rest_facts *facts, enum vpa_rest rest);
enum vpa_rest vpa_rest_of_decision(const struct vpa_decision *decision);
/* The first rule that says no. */
enum vpa_rest vpa_rest_make(struct vpa_arena *arena, const struct vpa_rest_facts *facts);

/* An object: the facts by value and what comes out, made here anew. The arena is for that. */
void vpa_rest_facts_encode(struct vpa_json_writer *w, struct vpa_arena *arena,
                           const struct vpa_rest_facts *facts);

#endif
