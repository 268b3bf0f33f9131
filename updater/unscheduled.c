/* The replacement that no node has taken. */
#include "unscheduled.h"

#include "vpa/base/log.h"
#include "vpa/base/str.h"

/* A namespace with more unscheduled pods has other worries. */
#define PODS_MAX "200"

void updater_unscheduled_release(struct unscheduled *found)
{
    vpa_arena_release(&found->arena);
}

static bool is_of(const struct vpa_pod *pod, const char *kind, const char *name, vpa_time newest)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pod->meta);

    return owner && vpa_str_eq(owner->kind, kind) && vpa_str_eq(owner->name, name) &&
           pod->meta.creation > newest && vpa_time_is_unset(pod->meta.deletion);
}

static const char *reason_of(const struct vpa_pod *pod)
{
    for (size_t i = 0; i < pod->condition_count; i++) {
        if (vpa_str_eq(pod->conditions[i].type, "PodScheduled"))
            return vpa_or_empty(pod->conditions[i].message);
    }
    return "";
}

enum unscheduled_answer updater_unscheduled_find(struct vpa_kube_client *client, const char *ns,
                                                 const char *kind, const char *name,
                                                 vpa_time newest, struct unscheduled *out)
{
    vpa_auto_buf path = {0};
    const struct vpa_json *root;
    struct vpa_error err;

    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(&path, "v1", ns, "pods", NULL, NULL);
    vpa_kube_query(&path, "fieldSelector", "spec.nodeName=,status.phase=Pending");
    vpa_kube_query(&path, "limit", PODS_MAX);
    if (vpa_kube_get_json(client, vpa_buf_text(&path), &out->arena, &root, &err) < 0) {
        VPA_WARN_UNLESS_TOLD(&err, "Cannot list the unscheduled pods of a namespace",
                             VPA_KERR(&err), VPA_KV("namespace", ns));
        return err.code == VPA_DENIED ? UNSCHEDULED_NONE : UNSCHEDULED_UNKNOWN;
    }
    vpa_json_foreach (item, vpa_json_find(root, "items")) {
        if (vpa_pod_decode(&out->arena, item, &out->pod, &err) < 0 ||
            !is_of(&out->pod, kind, name, newest))
            continue;
        out->reason = reason_of(&out->pod);
        return UNSCHEDULED_FOUND;
    }
    return UNSCHEDULED_NONE;
}
