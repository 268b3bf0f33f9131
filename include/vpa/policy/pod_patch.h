/*
 * The JSON patch that a new pod gets at admission (specification admission.md 11 to 13): resources
 * per container, startup boost, the annotations vpaUpdates and vpaObservedContainers.
 */
#ifndef VPA_POLICY_POD_PATCH_H
#define VPA_POLICY_POD_PATCH_H

#include "vpa/base/buf.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/capping.h"
#include "vpa/policy/reason.h"

#define VPA_UPDATES_ANNOTATION "vpaUpdates"

struct vpa_pod_patch_options {
    bool startup_boost;                /* gate CPUStartupBoost */
    struct vpa_quantity max_cpu_boost; /* --max-allowed-cpu-boost; zero: none */
    /* Called for a boost that cannot be used (S2); without a container when all boosts of the pod
     * are left out, because an API server would refuse it with them. May be NULL. */
    void (*on_unusable_boost)(void *ctx, const char *container, const char *reason);
    void *ctx;
    struct vpa_reason_phrases *changes; /* what changes, in words, for who wants it; may be NULL */
};

/* Appends the patch (a JSON array, never empty) to out. It always fits the pod as it was sent,
 * whose status is not believed. Scratch memory comes from the arena. limits may be NULL for none.
 * On failure out is as it was. */
int vpa_pod_patch(struct vpa_arena *arena, const struct vpa_pod *pod, const struct vpa_object *vpa,
                  const struct vpa_namespace_limits *limits,
                  const struct vpa_pod_patch_options *options, struct vpa_buf *out,
                  struct vpa_error *err) VPA_MUST_CHECK;

#endif
