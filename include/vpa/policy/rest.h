/*
 * Why a running pod is left alone: the rules of the updater that say no, each with the name that
 * the ledger and `kubectl vpa why` know it by.
 */
#ifndef VPA_POLICY_REST_H
#define VPA_POLICY_REST_H

enum vpa_rest {
    VPA_REST_NONE, /* it is not left alone */
    /* by what its VPA asks for */
    VPA_REST_MODE,   /* Off or Initial: running pods are left alone */
    VPA_REST_GATE,   /* mode InPlace, and the feature gate is off */
    VPA_REST_TARGET, /* of the whole VPA: its target or selector cannot be had */
    /* by the state of the pod and its group */
    VPA_REST_UNKNOWN_OBJECT, /* a VPA or LimitRange that may govern it cannot be read */
    VPA_REST_EVICTED,        /* it was evicted already, and has not gone yet */
    VPA_REST_BOOSTED,
    VPA_REST_NO_CONTROLLER,
    VPA_REST_MIN_REPLICAS,
    VPA_REST_REPLICAS_UNKNOWN,
    VPA_REST_PENDING,
    VPA_REST_NO_RECOMMENDATION,
    VPA_REST_INFEASIBLE,   /* its node could not hold it, and nothing got lower */
    VPA_REST_BOOST_ENDING, /* the kubelet is still to carry out the end of its boost */
    VPA_REST_RESIZING,     /* the kubelet still has a resize to carry out */
    VPA_REST_BUDGET,
    /* because a change is not worth it */
    VPA_REST_LIMITS_UNKNOWN, /* what it should have cannot be calculated */
    VPA_REST_NOT_STARTED,
    VPA_REST_YOUNG,
    VPA_REST_IN_BOUNDS,
    VPA_REST_OOM_NO_CHANGE,
    VPA_REST_REQUIREMENTS,
    /* when its turn came */
    VPA_REST_PROOF,            /* another pod has to show first that it helps */
    VPA_REST_PAUSED,           /* the breaker of its VPA is open */
    VPA_REST_NAMESPACE_PAUSED, /* that of its namespace */
    VPA_REST_CLUSTER_PAUSED,   /* that of the cluster */
    VPA_REST_NOTHING_TO_CHANGE,
    VPA_REST_NO_RESIZES,  /* the API server has no pods/resize */
    VPA_REST_RATE,        /* --eviction-rate-limit, or that of resizes */
    VPA_REST_REFUSED_PDB, /* a PodDisruptionBudget refused its eviction */
    VPA_REST_REFUSED,     /* the API server refused the change */
    VPA_REST_NOT_NOW,     /* it is not reached, has too much to do or is going down */
    VPA_REST_COUNT
};

const char *vpa_rest_name(enum vpa_rest rest); /* "min-replicas"; "" for NONE */

#endif
