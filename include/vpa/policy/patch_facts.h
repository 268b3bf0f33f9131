/*
 * What the patch of a new pod rested on, as members of JSON for a ledger: so that from the entry,
 * the pod as it was sent and the objects that are named the same patch comes out again
 * (vpa/policy/pod_patch.h).
 *
 *     {"review":"705ab4f5-...","startupBoost":false,"maxCPUBoost":"0","vpa":{...},"limits":216613,
 *      "before":[{"name":"app","requests":{"cpu":"100m"}}],"patch":[...]}
 */
#ifndef VPA_POLICY_PATCH_FACTS_H
#define VPA_POLICY_PATCH_FACTS_H

#include "vpa/json/json_writer.h"
#include "vpa/policy/pod_patch.h"

struct vpa_patch_facts { /* borrowed */
    const char *review;  /* uid of the request */
    const struct vpa_pod *pod;
    const struct vpa_object *vpa;
    bool advised; /* the recommendation is not the VPA's own: it is written by value */
    const struct vpa_namespace_limits *limits; /* NULL: none */
    bool before; /* the values of the containers, too: the words do not name all that change */
    const struct vpa_pod_patch_options *options;
};
/* An object. patch: NULL when none was made; else JSON, written by value. */
void vpa_patch_facts_encode(struct vpa_json_writer *w, const struct vpa_patch_facts *facts,
                            const char *patch, size_t patch_len);

#endif
