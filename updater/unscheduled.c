/* Replacements that no node has taken. */
#include "unscheduled.h"

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/kube/list.h"

static const char *reason_of(const struct vpa_pod *pod)
{
    for (size_t i = 0; i < pod->condition_count; i++) {
        if (vpa_str_eq(pod->conditions[i].type, "PodScheduled"))
            return vpa_or_empty(pod->conditions[i].message);
    }
    return "";
}

struct listing {
    updater_unscheduled_fn fn;
    void *ctx;
    struct vpa_arena scratch; /* of one pod */
};

static void look_at(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    struct listing *l = ctx;
    struct vpa_pod pod;

    (void)text;
    vpa_arena_clear(&l->scratch);
    if (vpa_pod_decode(&l->scratch, item, &pod, NULL) == 0)
        l->fn(l->ctx, &pod, reason_of(&pod));
}

bool updater_unscheduled_each(struct vpa_kube_client *client, const char *ns,
                              updater_unscheduled_fn fn, void *ctx)
{
    struct listing l = {.fn = fn, .ctx = ctx};
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_error err;

    vpa_kube_path(&path, "v1", ns, "pods", NULL, NULL);
    vpa_kube_query(&path, "fieldSelector", "spec.nodeName=,status.phase=Pending");
    /* To its end: the pods of a batch may fill page after page before those of the owner. */
    const struct vpa_list_request request = {.path = vpa_buf_text(&path), .paged = true};
    int rc = vpa_list_each(client, &request, look_at, &l, &err);
    vpa_arena_release(&l.scratch);
    if (rc == 0)
        return true;
    VPA_WARN_UNLESS_TOLD(&err, "Cannot list the unscheduled pods of a namespace", VPA_KERR(&err),
                         VPA_KV("namespace", ns));
    return err.code == VPA_DENIED;
}
