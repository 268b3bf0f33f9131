/*
 * A condition of ours on a VPA: one patch that adds, replaces or removes it, with a test of the
 * resourceVersion it rests on. Where the right to patch verticalpodautoscalers/status is missing,
 * as under upstream's roles, that is said once and believed for an hour.
 *
 *     if (!updater_condition_is(vpa, "TooFewReplicas", NULL) && updater_condition_may_put(env))
 *         updater_condition_put(env, vpa, "TooFewReplicas", NULL);
 */
#ifndef UPDATER_CONDITION_H
#define UPDATER_CONDITION_H

#include "env.h"

/* Index of the last condition of the type, -1 without. */
int64_t updater_condition_find(const struct vpa_object *vpa, const char *type);
/* Whether the VPA has the condition with that message, or, for NULL, none of the type. */
bool updater_condition_is(const struct vpa_object *vpa, const char *type,
                          const struct vpa_condition *wanted);
bool updater_condition_may_put(const struct pass_env *env);
/* wanted: status is "True" in any case; NULL: the condition goes. Pumps the loop. */
void updater_condition_put(struct pass_env *env, const struct vpa_object *vpa, const char *type,
                           const struct vpa_condition *wanted);

#endif
