/*
 * Which VPAs take part in a pass, and which pods each of them controls.
 *
 *     struct selection *s = updater_select_vpas(pass, vpas, count);
 *     updater_select_pods(pass, s, pods, pod_count);
 *     for (size_t i = 0; i < s->count; i++) ... s->items[i].vpa, s->items[i].pods
 *     updater_select_release(s);
 */
#ifndef UPDATER_SELECT_H
#define UPDATER_SELECT_H

#include "pass.h"

/* A VPA that takes part, with the selector of its target and, later, its pods. */
struct selected {
    const struct vpa_object *vpa;
    struct vpa_selector selector;
    size_t pod_count;
    size_t filled;
    const struct vpa_pod **pods;
    bool *held; /* beside pods: not to be touched (unknown.h) */
};

struct selection { /* ordered by namespace, then name */
    struct selected *items;
    size_t count;
    struct vpa_table walks;
    size_t failures; /* owners of pods whose controller is not known */
    const char *first_failed;
    struct vpa_error first_failure;
};

/* Whether the VPA takes part at all, by its mode and boosts. */
bool updater_select_takes_part(const struct vpa_object *vpa);
/* The VPAs that take part, with the selectors of their targets. */
struct selection *updater_select_vpas(struct pass *pass, const struct vpa_object *const *vpas,
                                      size_t count);
void updater_select_release(struct selection *selection);
/* Hands out the pods, which are in the order of namespace and name. */
void updater_select_pods(struct pass *pass, struct selection *selection,
                         const struct vpa_pod *const *pods, size_t count);
/* What an earlier process may have left under way (S5): boosts whose end it has sent and the
 * kubelet not carried out. Such pods must not be evicted, and only that process knew what it had
 * sent. Once for each VPA, in the first pass that it takes part in: before this process has sent
 * anything for it itself, which may look the same. In doubt the pod stays. */
void updater_recover(struct pass_env *env, const struct selection *selection);

#endif
