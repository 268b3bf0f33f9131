/* The replacement that no node has taken. */
#include "unscheduled.h"

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/kube/list.h"

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

struct looked_for {
    const char *kind, *name;
    vpa_time newest;
    struct vpa_arena scratch; /* of one pod */
    struct unscheduled *out;
    bool found;
};

/* Of a long list only the pod that was looked for is kept. */
static void keep(struct looked_for *l, struct vpa_slice text)
{
    struct unscheduled *out = l->out;
    const struct vpa_json *root;

    vpa_arena_clear(&out->arena);
    if (vpa_json_parse(&out->arena, text.ptr, text.len, &root, NULL) < 0 ||
        vpa_pod_decode(&out->arena, root, &out->pod, NULL) < 0)
        return;
    out->reason = reason_of(&out->pod);
    l->found = true;
}

static void look_at(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    struct looked_for *l = ctx;
    struct vpa_pod pod;

    if (l->found)
        return;
    vpa_arena_clear(&l->scratch);
    if (vpa_pod_decode(&l->scratch, item, &pod, NULL) == 0 &&
        is_of(&pod, l->kind, l->name, l->newest))
        keep(l, text);
}

enum unscheduled_answer updater_unscheduled_find(struct vpa_kube_client *client, const char *ns,
                                                 const char *kind, const char *name,
                                                 vpa_time newest, struct unscheduled *out)
{
    struct looked_for l = {.kind = kind, .name = name, .newest = newest, .out = out};
    vpa_auto_buf path = {0};
    struct vpa_error err;

    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(&path, "v1", ns, "pods", NULL, NULL);
    vpa_kube_query(&path, "fieldSelector", "spec.nodeName=,status.phase=Pending");
    /* To its end: the pods of a batch may fill page after page before those of the owner. */
    const struct vpa_list_request request = {.path = vpa_buf_text(&path), .paged = true};
    int rc = vpa_list_each(client, &request, look_at, &l, &err);
    vpa_arena_release(&l.scratch);
    if (l.found)
        return UNSCHEDULED_FOUND;
    if (rc == 0)
        return UNSCHEDULED_NONE;
    VPA_WARN_UNLESS_TOLD(&err, "Cannot list the unscheduled pods of a namespace", VPA_KERR(&err),
                         VPA_KV("namespace", ns));
    return err.code == VPA_DENIED ? UNSCHEDULED_NONE : UNSCHEDULED_UNKNOWN;
}
