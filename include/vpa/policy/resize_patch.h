/*
 * The two JSON patches of an in-place update: resources (to pods/resize) and annotations (to the
 * pod). Source: specification updater.md 14 and 15.3; docs/compatibility.md S1, U7, U14, U20, U23,
 * U31, U33, U41, U47, U52.
 *
 * Both begin with `test` operations that tie them to what was decided on: the pod's UID, and for
 * the resources every request and limit that the operations replace. A pod that is another one, or
 * has other resources by the time the patch arrives, refuses it. There is no test of the
 * resourceVersion, which the kubelet changes all the time. What is absent cannot be tested for.
 */
#ifndef VPA_POLICY_RESIZE_PATCH_H
#define VPA_POLICY_RESIZE_PATCH_H

#include <stdbool.h>

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/base/buf.h"
#include "vpa/base/time.h"
#include "vpa/policy/capping.h"

#define VPA_IN_PLACE_ANNOTATION "vpaInPlaceUpdated"
/* Longest patch text. */
#define VPA_RESIZE_PATCH_MAX (1 << 20)

struct vpa_resize_patch {
    /* Set by the caller: a patch that asked for all was refused. Boosts that are over go back to
     * the cpu of their markers, and memory stays where its limit would be lowered, which
     * Kubernetes 1.33 refuses (U47). */
    bool cautious;
    struct vpa_buf resize;      /* JSON Patch for pods/resize; "" when there is no operation */
    struct vpa_buf annotations; /* JSON Patch for the pod; never empty */
    bool changes; /* false: every value equals the pod's spec already, nothing needs to be sent (U7)
                   */
    bool
        restarts; /* a container is restarted by it: a resource that changes has RestartContainer */
    bool takes_back; /* some expired boost marker is removed by `annotations` */
    /* Names of containers that keep the cpu of a boost that is over, having nothing to go down to
     * (U52); in the arena, NULL: none. */
    const char *keeping;
    /* What each container is to ask for, in the order of the pod; in the arena. */
    const struct vpa_resource_list *requests;
};
void vpa_resize_patch_init(struct vpa_resize_patch *patch);
void vpa_resize_patch_release(struct vpa_resize_patch *patch);

/* plans: what vpa_capping_plan gives for this pod within these limits, which may be NULL for none.
 * Where the pod cannot take them, boosts that are over go back to the cpu of their markers and
 * nothing else is changed. Fails with VPA_INVALID when an expired marker is unusable or the pod can
 * take neither, with VPA_NOT_FOUND when there is no operation on resources at all: `annotations`
 * can be sent alone where it takes_back. arena: for parsed markers. out was initialised; all but
 * `cautious` is refilled. */
int vpa_resize_patch_build(const struct vpa_pod *pod, const struct vpa_object *vpa,
                           const struct vpa_namespace_limits *limits,
                           const struct vpa_container_plan *plans, vpa_time now,
                           struct vpa_arena *arena, struct vpa_resize_patch *out,
                           struct vpa_error *err) VPA_MUST_CHECK;
/* What `annotations` is for a pod that had none when it was built and has some by now: without the
 * operation that makes an empty object, which would take the place of theirs. */
void vpa_resize_patch_mark(const struct vpa_pod *pod, struct vpa_buf *out);

#endif
