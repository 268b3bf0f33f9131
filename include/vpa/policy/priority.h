/*
 * Update priority: how far a pod is from its recommendation, whether that is enough to disturb it
 * now, in which order pods are disturbed, and whether the direction of the change is wanted.
 * Source: specification updater.md 9 to 11.
 *
 *     struct vpa_priority priority;
 *     if (vpa_priority_admit(pod, vpa, processed, NULL, &options, now, &priority) ==
 *         VPA_ADMIT_ACCEPTED) ...
 *
 * "processed" is the recommendation after capping for this pod (policy/capping.h); all functions
 * take NULL or an absent recommendation for "none". Pure functions: nothing is kept.
 */
#ifndef VPA_POLICY_PRIORITY_H
#define VPA_POLICY_PRIORITY_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/base/mem.h"
#include "vpa/base/time.h"

/* Written by the webhook: the containers that a VPA looked at, joined with ", ". */
#define VPA_OBSERVED_ANNOTATION "vpaObservedContainers"

struct vpa_priority {
    bool outside_range; /* some request is outside [lowerBound, upperBound], or missing */
    bool scale_up;      /* some target is above its request, or the request is missing */
    double diff;        /* sum over resources of |request - target| / request, pod totals */
};
struct vpa_priority_options {
    double update_threshold;         /* --pod-update-threshold: smallest diff of pods in range */
    vpa_duration lifetime_threshold; /* --in-recommendation-bounds-eviction-lifetime-threshold */
    vpa_duration oom_threshold;      /* --evict-after-oom-threshold */
    bool per_vpa_config; /* gate PerVPAConfig: spec.updatePolicy.evictAfterOOMSeconds counts */
    bool startup_boost;  /* gate CPUStartupBoost: the webhook leaves containers of mode Off alone */
};
/* Rows of updater.md 10.4 in the order in which they are looked at. */
enum vpa_admission {
    VPA_ADMIT_NO_RECOMMENDATION, /* processing failed or gave nothing */
    VPA_ADMIT_INFEASIBLE_CACHED, /* known to be infeasible, nothing got lower */
    VPA_ADMIT_NO_START_TIME,
    VPA_ADMIT_YOUNG,
    VPA_ADMIT_DIFF_TOO_LOW,
    VPA_ADMIT_OOM_NO_CHANGE,
    VPA_ADMIT_ACCEPTED,
};

/* The observed list of a pod, read once for all questions about its containers: it may be as long
 * as an annotation can be. Begins as {.pod = pod}; the rest belongs to the functions. */
struct vpa_observed {
    const struct vpa_pod *pod;
    struct vpa_arena arena;
    bool read;          /* by the first question */
    bool all;           /* there is no list, or none that can be used */
    const char **names; /* sorted */
    size_t count;
};
void vpa_observed_release(struct vpa_observed *observed);
#define vpa_auto_observed __attribute__((cleanup(vpa_observed_release)))
/* Whether the annotation lists the container; true for every container while it is absent or
 * unusable. */
bool vpa_container_observed(struct vpa_observed *observed, const char *container);

struct vpa_priority vpa_priority_of(const struct vpa_pod *pod,
                                    const struct vpa_recommendation *processed);

/* The threshold in force for the VPA: its own (gate on) or the flag. */
vpa_duration vpa_quick_oom_threshold(const struct vpa_object *vpa,
                                     const struct vpa_priority_options *options);
/* Whether this entry of status.containerStatuses shows a quick OOM (updater.md 10.3). */
bool vpa_quick_oom_status(struct vpa_observed *observed, const struct vpa_object *vpa,
                          const struct vpa_container_status *status,
                          const struct vpa_priority_options *options);

/* infeasible: what was recorded for the pod's UID (update.h), NULL when nothing; looked at in mode
 * InPlace only. now: the moment of the decision. */
enum vpa_admission vpa_priority_admit(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                      const struct vpa_recommendation *processed,
                                      const struct vpa_recommendation *infeasible,
                                      const struct vpa_priority_options *options, vpa_time now,
                                      struct vpa_priority *priority);
const char *vpa_admission_name(enum vpa_admission admission); /* "young", for logs */

/* One pod that may be updated. */
struct vpa_update_candidate {
    const struct vpa_pod *pod;
    struct vpa_priority priority;
    size_t index; /* position in the list it came from: the order of equal priorities */
};
/* Scale-ups first, then larger diffs first, then by index. */
void vpa_priority_sort(struct vpa_update_candidate *items, size_t count);

/* spec.updatePolicy.evictionRequirements (updater.md 11): one container for which every requirement
 * holds is enough. True when the VPA has no updatePolicy. */
bool vpa_eviction_requirements_hold(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                    const struct vpa_recommendation *processed);

#endif
