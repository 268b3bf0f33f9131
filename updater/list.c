/* The pods of a VPA that deserve a change. */
#include "list.h"

#include "rest.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"

enum vpa_rest updater_list_look(struct work *w, size_t i, struct vpa_update_candidate *out)
{
    struct pass *pass = w->pass;
    const struct vpa_pod *pod = w->pods[i];
    const struct vpa_decision_facts facts = updater_work_facts(w, pod);
    struct vpa_decision decision;
    struct vpa_error err;

    vpa_arena_clear(&pass->scratch);
    if (vpa_decision_make(&pass->scratch, &facts, &decision, &err) < 0) {
        VPA_V(2, "Cannot process the recommendation for a pod", VPA_KV("namespace", pod->meta.ns),
              VPA_KV("pod", pod->meta.name), VPA_KERR(&err));
        return VPA_REST_LIMITS_UNKNOWN;
    }
    if (decision.admission != VPA_ADMIT_ACCEPTED) {
        VPA_V(4, "Not updating pod", VPA_KV("namespace", pod->meta.ns),
              VPA_KV("pod", pod->meta.name),
              VPA_KV("reason", vpa_admission_name(decision.admission)));
        return vpa_rest_of_decision(&decision);
    }
    VPA_V(2, "Pod accepted for update", VPA_KV("namespace", pod->meta.ns),
          VPA_KV("pod", pod->meta.name), VPA_KV("updatePriority", decision.priority.diff));
    *out = (struct vpa_update_candidate){.pod = pod, .priority = decision.priority, .index = i};
    return vpa_rest_of_decision(&decision);
}

void updater_list_make(struct work *w)
{
    w->list = vpa_xcalloc(w->pod_count, sizeof(*w->list));
    w->evict = vpa_xcalloc(w->pod_count, sizeof(*w->evict));
    for (size_t i = 0; i < w->pod_count; i++) {
        const struct vpa_rest_facts state = updater_work_state(w, i);
        enum vpa_rest rest = vpa_rest_of_state(&state);

        if (rest == VPA_REST_INFEASIBLE)
            updater_work_skip_infeasible(w, i);
        if (rest == VPA_REST_NONE)
            rest = updater_list_look(w, i, &w->list[w->list_count]);
        if (rest == VPA_REST_NONE)
            w->list_count++;
        else
            updater_rest_note(w, i, rest);
    }
    vpa_priority_sort(w->list, w->list_count);
}
