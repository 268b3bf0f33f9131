/*
 * The replacement that no node has taken: it is not in the cache, which holds scheduled pods, so
 * the API server is asked for the unscheduled ones of its namespace.
 */
#ifndef UPDATER_UNSCHEDULED_H
#define UPDATER_UNSCHEDULED_H

#include "vpa/api/pod.h"
#include "vpa/kube/client.h"

struct unscheduled {
    struct vpa_arena arena;
    struct vpa_pod pod;
    const char *reason; /* the scheduler's message, or "" */
};
void updater_unscheduled_release(struct unscheduled *found);
#define vpa_auto_unscheduled __attribute__((cleanup(updater_unscheduled_release)))

enum unscheduled_answer {
    UNSCHEDULED_FOUND,
    UNSCHEDULED_NONE,    /* also where we have no right to look */
    UNSCHEDULED_UNKNOWN, /* the list cannot be read now */
};
/* A pod of the owner, younger than that, without a node. Pumps the loop. */
enum unscheduled_answer updater_unscheduled_find(struct vpa_kube_client *client, const char *ns,
                                                 const char *kind, const char *name,
                                                 vpa_time newest, struct unscheduled *out);

#endif
