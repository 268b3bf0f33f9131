/*
 * Which targets the VPAs of a namespace have, for a pod of which nobody knows to whom it belongs:
 * then each of them may be its own.
 *
 * It says only where to look in the map of VPAs (vpa_cache_map), so that a status write, which
 * changes no target, costs nothing here.
 */
#ifndef ADMISSION_TARGETS_H
#define ADMISSION_TARGETS_H

#include "vpa/api/vpa.h"
#include "vpa/base/shared_map.h"

/* A VPA came, changed or went, known or not, as a cache tells it; `vpas` shows it already. */
void targets_note(struct vpa_shared_map *targets, const struct vpa_shared_map *vpas,
                  const struct vpa_object *before, const struct vpa_object *after);
/* Each VPA of the namespace that has a target, known or not, in no order; both maps as they were at
 * one time. */
void targets_visit(const struct vpa_shared_map *targets, const struct vpa_shared_map *vpas,
                   const char *ns, void (*visit)(void *ctx, const struct vpa_object *vpa),
                   void *ctx);
/* Whether the namespace has any. */
bool targets_exist(const struct vpa_shared_map *targets, const struct vpa_shared_map *vpas,
                   const char *ns);

#endif
