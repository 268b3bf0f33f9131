/* Why a running pod is left alone. */
#include "vpa/policy/rest.h"

const char *vpa_rest_name(enum vpa_rest rest)
{
    static const char *const names[VPA_REST_COUNT] = {
        [VPA_REST_NONE] = "",
        [VPA_REST_MODE] = "mode",
        [VPA_REST_GATE] = "gate",
        [VPA_REST_TARGET] = "target-unknown",
        [VPA_REST_UNKNOWN_OBJECT] = "unknown-object",
        [VPA_REST_EVICTED] = "evicted",
        [VPA_REST_BOOSTED] = "boosted",
        [VPA_REST_NO_CONTROLLER] = "no-controller",
        [VPA_REST_MIN_REPLICAS] = "min-replicas",
        [VPA_REST_REPLICAS_UNKNOWN] = "replicas-unknown",
        [VPA_REST_PENDING] = "pending",
        [VPA_REST_NO_RECOMMENDATION] = "no-recommendation",
        [VPA_REST_INFEASIBLE] = "infeasible",
        [VPA_REST_BOOST_ENDING] = "boost-ending",
        [VPA_REST_RESIZING] = "resizing",
        [VPA_REST_BUDGET] = "budget",
        [VPA_REST_LIMITS_UNKNOWN] = "limits-unknown",
        [VPA_REST_NOT_STARTED] = "not-started",
        [VPA_REST_YOUNG] = "young",
        [VPA_REST_IN_BOUNDS] = "in-bounds",
        [VPA_REST_OOM_NO_CHANGE] = "oom-no-change",
        [VPA_REST_REQUIREMENTS] = "eviction-requirements",
        [VPA_REST_PROOF] = "proof",
        [VPA_REST_PAUSED] = "paused",
        [VPA_REST_NAMESPACE_PAUSED] = "namespace-paused",
        [VPA_REST_CLUSTER_PAUSED] = "cluster-paused",
        [VPA_REST_NOTHING_TO_CHANGE] = "nothing-to-change",
        [VPA_REST_NO_RESIZES] = "no-resizes",
        [VPA_REST_RATE] = "rate",
        [VPA_REST_REFUSED_PDB] = "pdb",
        [VPA_REST_REFUSED] = "refused",
        [VPA_REST_NOT_NOW] = "not-now",
    };

    return names[rest];
}
