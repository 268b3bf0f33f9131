/*
 * What a pod was evicted for, and whether its replacement is that (U24): it carries the values that
 * were wanted, and is no worse than the pod before.
 *
 *     vpa_expected_init(&expected, pod, &capped.recommendation);        // before the eviction
 *     verdict = vpa_expected_judge(&expected, replacement, NULL, &seen); // when it is there
 *     vpa_expected_release(&expected);
 *
 * LimitRanges, policies and other webhooks may round, and the recommendation moves between the
 * decision and the admission. So a replacement carries the values when some request has come nearer
 * to what was wanted and none is outside the bounds, either those of the decision or those of the
 * recommendation by now. That is: it would not be evicted again for the same reason. Where the
 * recommendation has come back meanwhile to what the pod before had, the replacement rightly has it
 * too: that proves nothing, for or against.
 *
 * A startup boost raises the cpu above what is wanted for a while. Above that, and with the mark of
 * the boost, is as good as wanted: the end of the boost leads there.
 */
#ifndef VPA_POLICY_REPLACEMENT_H
#define VPA_POLICY_REPLACEMENT_H

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/base/buf.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/proof.h"

/* Longest text of what was seen. */
#define VPA_SEEN_MAX 1024

struct vpa_expected {
    struct vpa_arena arena;
    struct vpa_recommendation wanted; /* processed for the pod, with its bounds */
    struct vpa_resource_list *had;    /* requests in force, beside wanted.containers */
    bool was_ready;
    bool had_ended; /* some container of it had ended before */
};
/* Copies what is kept. wanted: after capping for the pod. */
void vpa_expected_init(struct vpa_expected *expected, const struct vpa_pod *pod,
                       const struct vpa_recommendation *wanted);
void vpa_expected_release(struct vpa_expected *expected);

/* The member "annotations" of a pod that would replace one with these: all but what the webhook and
 * the updater write. */
void vpa_replacement_annotations(struct vpa_json_writer *w, const struct vpa_json *annotations);

/* WAIT while it carries the values and is not ready, as the pod before was; VOID when what it lacks
 * is not wanted any more. now_wanted: after capping for the replacement; NULL: as it was. seen:
 * appended to when the proof failed, at most VPA_SEEN_MAX. */
enum vpa_verdict vpa_expected_judge(const struct vpa_expected *expected,
                                    const struct vpa_pod *replacement,
                                    const struct vpa_recommendation *now_wanted,
                                    struct vpa_buf *seen);

#endif
