/*
 * The marker of a startup boost: an annotation for each boosted container, which tells the updater
 * what to restore when the boost is over (specification admission.md 13, updater.md 15.2).
 *
 *     vpaCpuStartupBoost/app: {"requests":{"cpu":"100m","memory":"64Mi"},"limits":{}}
 */
#ifndef VPA_POLICY_BOOST_MARKER_H
#define VPA_POLICY_BOOST_MARKER_H

#include "vpa/api/labels.h"
#include "vpa/api/pod.h"

#define VPA_BOOST_ANNOTATION_PREFIX "vpaCpuStartupBoost/"

/* The value: cpu and memory of the container's spec. */
void vpa_boost_marker_format(const struct vpa_container *container, struct vpa_buf *out);
/* Reads a value, tolerant as upstream's reader; .present of the lists is set. Everything lives in
 * the arena. VPA_INVALID also for more than VPA_JSON_LIST_MAX resources in a list. */
int vpa_boost_marker_parse(struct vpa_arena *arena, const char *text, struct vpa_resources *out,
                           struct vpa_error *err) VPA_MUST_CHECK;

/* The container that an annotation key is the marker of, or NULL; borrowed from key. */
const char *vpa_boost_marker_container(const char *key);
/* The value of the marker of a container, or NULL: it is not boosted. */
const char *vpa_boost_marker_find(const struct vpa_labels *annotations, const char *container);
/* Any marker on the pod, whatever it names. */
bool vpa_boost_marked(const struct vpa_labels *annotations);

#endif
