/*
 * The answer to one AdmissionReview: a pure function of the body, a snapshot and the options
 * (specification admission.md 5 and 9 to 14). Runs in the webhook's thread; nothing is asked of
 * anybody, but with --recommendation-query-url of the recommender (adviser.h).
 *
 *     admit(snapshot, &options, &arena, body, len, &out, &result);
 *     -> out holds the AdmissionReview with the response
 */
#ifndef ADMISSION_ADMIT_H
#define ADMISSION_ADMIT_H

#include "adviser.h"
#include "snapshot.h"
#include "vpa/daemon/ledger.h"
#include "vpa/policy/pod_patch.h"
#include "vpa/policy/validate.h"

/* A pod with this annotation set to "true" is refused while no VPA matches it
 * (docs/compatibility.md, S10). */
#define ADMIT_REQUIRED_ANNOTATION "vpa.autoscaling.k8s.io/required"
/* Longest answer: the patch of a pod at the size limit of etcd, in base64. */
#define ADMIT_ANSWER_MAX ((size_t)16 << 20)
/* A pod with more containers, or init containers, is not read: no node could run it, but a review
 * of 5 MiB has room for four hundred thousand. */
#define ADMIT_CONTAINERS_MAX VPA_JSON_LIST_MAX

struct admit_options {
    bool startup_boost;                /* gate CPUStartupBoost */
    struct vpa_quantity max_cpu_boost; /* zero: no bound */
    struct vpa_validate_options validate;
    struct adviser *adviser; /* asked before what the VPA has stored counts; NULL: nobody */
    bool shadow;  /* what would be answered is logged; the answer allows, and changes nothing */
    bool explain; /* the result says what was decided and why, for the ledger */
};

enum admit_resource { ADMIT_UNKNOWN, ADMIT_POD, ADMIT_VPA };
enum admit_status { ADMIT_ERROR, ADMIT_SKIPPED, ADMIT_APPLIED };

/* What is counted. */
struct admit_result {
    enum admit_resource resource;
    enum admit_status status;
    const char *calculation_error; /* why there is no patch, in the arena; NULL: it did not fail */
    /* The request is none that an API server sends: what to log, NULL otherwise; the reason is in
     * the arena. */
    const char *complaint;
    const char *complaint_why;
    /* The owners of the pod could not be followed: the text is in the arena, NULL otherwise. */
    const char *owner_error;
    bool owner_unknown; /* some owner is not known, or not yet: a newer snapshot may know it */
    /* Boosts that say nothing usable: of how many containers, the first of them and why. No
     * container: all boosts of the pod are left out. */
    size_t unusable_boosts;
    const char *unboosted_container;
    const char *unboosted_why;
    const char *pod_ns; /* of the pod whose owners or boosts these are, in the arena */
    const char *pod_name;
    /* What was decided, but for the time; without a decision there is nothing to write down: no VPA
     * has to do with the pod, or the VPA was let through. Lives as long as arena and snapshot. */
    struct vpa_ledger_entry entry;
};

/* Appends the whole answer to out, whose limit should be ADMIT_ANSWER_MAX. Scratch memory comes
 * from the arena. */
void admit(const struct snapshot *snapshot, const struct admit_options *options,
           struct vpa_arena *arena, const char *body, size_t len, struct vpa_buf *out,
           struct admit_result *result);

/* The VPA that controls the pod, by the rule given, or NULL. *unknown: one of which nobody knows
 * what it says controls it, or may: nothing is to be done about the pod. *owner_error has the code
 * VPA_OK unless the owners of the pod could not be followed. */
const struct vpa_object *admit_match(const struct snapshot *snapshot, enum vpa_match_rule rule,
                                     struct vpa_arena *arena, const struct vpa_pod *pod,
                                     bool *unknown, struct vpa_error *owner_error);

/* Labels of the metrics. */
const char *admit_resource_name(enum admit_resource resource);
const char *admit_status_name(enum admit_status status);

#endif
