/*
 * Replacements that no node has taken: they are not in the cache, which holds scheduled pods, so
 * the API server is asked for the unscheduled ones of a namespace.
 */
#ifndef UPDATER_UNSCHEDULED_H
#define UPDATER_UNSCHEDULED_H

#include "vpa/api/pod.h"
#include "vpa/kube/client.h"

/* reason: the scheduler's message, or "". Both until the function returns. */
typedef void (*updater_unscheduled_fn)(void *ctx, const struct vpa_pod *pod, const char *reason);
/* Each pod of the namespace without a node. True when that were all of them, and where we have no
 * right to look; false: they cannot be read now. Pumps the loop. */
bool updater_unscheduled_each(struct vpa_kube_client *client, const char *ns,
                              updater_unscheduled_fn fn, void *ctx);

#endif
