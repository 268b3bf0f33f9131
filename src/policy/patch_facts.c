/* What the patch of a new pod rested on. */
#include "vpa/policy/patch_facts.h"

#include "facts.h"
#include "vpa/policy/decision.h"

static void put_list(struct vpa_json_writer *w, const char *name,
                     const struct vpa_resource_list *list)
{
    if (!list->present)
        return;
    vpa_json_key(w, name);
    vpa_resource_list_encode(w, list);
}

static void put_containers(struct vpa_json_writer *w, const struct vpa_pod *pod)
{
    vpa_json_member_array(w, "before");
    for (size_t i = 0; i < pod->container_count; i++) {
        const struct vpa_container *c = &pod->containers[i];

        vpa_json_open_object(w);
        vpa_json_member_string(w, "name", c->name);
        put_list(w, "requests", &c->resources.requests);
        put_list(w, "limits", &c->resources.limits);
        vpa_json_close_object(w);
    }
    vpa_json_close_array(w);
}

void vpa_patch_facts_encode(struct vpa_json_writer *w, const struct vpa_patch_facts *facts,
                            const char *patch, size_t patch_len)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "review", facts->review);
    vpa_json_member_bool(w, "startupBoost", facts->options->startup_boost);
    vpa_json_member_quantity(w, "maxCPUBoost", &facts->options->max_cpu_boost);
    vpa_facts_put_object(w, "vpa", &facts->vpa->meta);
    if (facts->advised) {
        vpa_json_key(w, "recommendation");
        vpa_recommendation_encode(w, &facts->vpa->recommendation);
    }
    if (facts->limits)
        vpa_json_member_int(w, "limits", vpa_namespace_limits_hash(facts->limits));
    if (facts->before)
        put_containers(w, facts->pod);
    if (patch) {
        vpa_json_member_raw(w, "patch", patch, patch_len);
    }
    vpa_json_close_object(w);
}
