/*
 * End of a CPU startup boost: which markers on a pod have expired and which values come back. The webhook
 * writes one annotation per boosted container with the original resources; taking the boost back removes
 * it. Source: specification updater.md 15; DECISIONS S1, U14.
 */
#ifndef VPA_POLICY_UNBOOST_H
#define VPA_POLICY_UNBOOST_H

#include <stdbool.h>

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/base/time.h"

/* Annotation key is the prefix and the container's name. */
#define VPA_BOOST_ANNOTATION_PREFIX "vpaCpuStartupBoost/"

/* Whether the pod carries any marker; values are not looked at. */
bool vpa_pod_boosted(const struct vpa_pod *pod);
/* The container's name when the annotation key is a marker, else NULL. */
const char *vpa_boost_container(const char *annotation_key);
/* Whether the marker of the container has expired at `now`: the pod is Ready for longer than the boost
 * should last. False without a marker. */
bool vpa_boost_expired(const struct vpa_pod *pod, const struct vpa_object *vpa, const char *container,
                       vpa_time now);
/* Whether any marker of the pod has expired. */
bool vpa_pod_boost_expired(const struct vpa_pod *pod, const struct vpa_object *vpa, vpa_time now);
/* The original resources that a marker holds; into the arena. VPA_INVALID for anything unusable. */
int vpa_boost_marker_parse(struct vpa_arena *arena, const char *value, struct vpa_resources *out,
                           struct vpa_error *err) VPA_MUST_CHECK;

#endif
