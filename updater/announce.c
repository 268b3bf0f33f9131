/* What the cluster hears of a changed pod. */
#include "announce.h"

#include "vpa/base/log.h"
#include "vpa/base/mem.h"

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
