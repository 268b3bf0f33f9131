/* What the cluster hears of a changed pod. */
#include "announce.h"

#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/reason.h"

char *updater_explain_update(struct work *w, const struct vpa_pod *pod)
{
    struct vpa_recommendation wanted =
        updater_pass_wanted(w->pass, w->vpa, pod, updater_work_evicts(w));
    vpa_auto_buf why = VPA_BUF(VPA_REASON_MAX);

    if (wanted.present)
        vpa_reason_of_update(pod, w->vpa, &wanted, &w->pass->env->priority, &why);
    return vpa_buf_take(&why);
}

char *updater_decision_inputs(struct work *w, const struct vpa_pod *pod)
{
    struct pass *pass = w->pass;
    const struct vpa_decision_facts facts = updater_work_facts(w, pod);
    struct vpa_decision decision;
    struct vpa_json_writer writer;
    vpa_auto_buf inputs = VPA_BUF(VPA_LEDGER_LINE_MAX);
    struct vpa_error err;

    if (!pass->env->ledger)
        return NULL;
    vpa_arena_clear(&pass->scratch);
    if (vpa_decision_make(&pass->scratch, &facts, &decision, &err) < 0)
        return NULL;
    vpa_json_writer_init(&writer, &inputs);
    vpa_decision_encode(&writer, &facts, &decision);
    return vpa_buf_failed(&inputs) ? NULL : vpa_buf_take(&inputs);
}

void updater_write_down(const struct pass_env *env, const struct vpa_object *vpa, const char *pod,
                        const struct vpa_ledger_entry *entry)
{
    struct vpa_ledger_entry e = *entry;

    e.time = vpa_loop_now(env->loop);
    e.ns = vpa->meta.ns;
    e.vpa = vpa->meta.name;
    e.pod = pod;
    vpa_ledger_record(env->ledger, &e);
}

char *updater_explain_unboost(const struct vpa_pod *pod, const struct vpa_resource_list *requests)
{
    vpa_auto_buf why = VPA_BUF(VPA_REASON_MAX);

    vpa_reason_of_unboost(pod, requests, &why);
    return vpa_buf_take(&why);
}

struct vpa_object_ref updater_vpa_ref(const struct vpa_object *vpa)
{
    return (struct vpa_object_ref){
        .api_version = VPA_GROUP_VERSION,
        .kind = "VerticalPodAutoscaler",
        .ns = vpa->meta.ns,
        .name = vpa->meta.name,
        .uid = vpa->meta.uid,
        .resource_version = vpa->meta.resource_version,
    };
}

/* Upstream's text, then ours. */
static void record(const struct work *w, const struct vpa_object_ref *object, const char *reason,
                   const char *text, const char *why)
{
    vpa_auto_free char *message = *why ? vpa_xprintf("%s: %s", text, why) : vpa_xstrdup(text);

    vpa_events_record(w->pass->env->events, object, reason, message);
}

void updater_announce_eviction(const struct work *w, const struct vpa_pod *pod, const char *why)
{
    struct vpa_object_ref ref = updater_pod_ref(pod), vpa = updater_vpa_ref(w->vpa);
    vpa_auto_free char *text =
        vpa_xprintf("VPA Updater evicted Pod %s to apply resource recommendation.", pod->meta.name);

    VPA_INFO("Evicted pod", VPA_KV("namespace", pod->meta.ns), VPA_KV("pod", pod->meta.name),
             VPA_KV("vpa", vpa.name), VPA_KV("change", why));
    record(w, &ref, "EvictedByVPA",
           "Pod was evicted by VPA Updater to apply resource recommendation.", why);
    record(w, &vpa, "EvictedPod", text, why);
}

void updater_announce_resize(const struct work *w, const struct vpa_pod *pod, const char *why)
{
    struct vpa_object_ref ref = updater_pod_ref(pod), vpa = updater_vpa_ref(w->vpa);
    vpa_auto_free char *text = vpa_xprintf("VPA Updater resized Pod %s in place", pod->meta.name);

    VPA_INFO("Resized pod in place", VPA_KV("namespace", pod->meta.ns),
             VPA_KV("pod", pod->meta.name), VPA_KV("vpa", vpa.name), VPA_KV("change", why));
    record(w, &ref, "InPlaceResizedByVPA", "Pod was resized in place by VPA Updater.", why);
    record(w, &vpa, "InPlaceResizedPod", text, why);
}
