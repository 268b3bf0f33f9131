/*
 * Why a pod is changed, in few words, for events, log lines and the ledger of decisions:
 *
 *     cpu request 500m -> 1238m: below the lower bound 1100m
 *     container app: memory request 1Gi -> 512Mi: above the upper bound 768Mi; and 2 more
 *
 * One phrase per request that changes, in the order of the pod's containers; its container is named
 * where the pod has several. Old values are those in force, new ones those that the pod is to get.
 *
 *     vpa_auto_buf why = {0};
 *     vpa_buf_init(&why, VPA_REASON_MAX);
 *     vpa_reason_of_update(pod, vpa, &capped.recommendation, &options, &why);
 *
 * Pure functions; the text is cut at whole phrases, so a buffer of VPA_REASON_MAX never fails.
 */
#ifndef VPA_POLICY_REASON_H
#define VPA_POLICY_REASON_H

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/base/buf.h"
#include "vpa/policy/priority.h"

#define VPA_REASON_MAX 1024
/* Phrases; more are only counted. */
#define VPA_REASON_PHRASES 4

/* Phrases one by one, for other reasons: begin writes "cpu request 500m -> 1238m" (from NULL:
 * "none"), false when there are enough; end counts those that were left out. Zeroed but for the
 * first two is the beginning. */
struct vpa_reason_phrases {
    struct vpa_buf *out;
    const struct vpa_pod *pod;
    size_t written;
    size_t left_out;
};
bool vpa_reason_begin(struct vpa_reason_phrases *p, const char *container, const char *resource,
                      const char *what, const struct vpa_quantity *from,
                      const struct vpa_quantity *to);
void vpa_reason_end(const struct vpa_reason_phrases *p);

/* A pod that vpa_priority_admit has accepted. processed: after capping for this pod. */
void vpa_reason_of_update(const struct vpa_pod *pod, const struct vpa_object *vpa,
                          const struct vpa_recommendation *processed,
                          const struct vpa_priority_options *options, struct vpa_buf *out);
/* A pod whose startup boost is over. requests: what each container gets instead. */
void vpa_reason_of_unboost(const struct vpa_pod *pod, const struct vpa_resource_list *requests,
                           struct vpa_buf *out);

#endif
