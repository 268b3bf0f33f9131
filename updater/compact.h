/*
 * Pods as the updater keeps them: what its decisions read.
 */
#ifndef UPDATER_COMPACT_H
#define UPDATER_COMPACT_H

#include "vpa/api/pod.h"

/* A copy of the fields that matter; what it points to is in the arena or lives for ever. */
void updater_pod_pack(struct vpa_arena *arena, const struct vpa_pod *from, struct vpa_pod *out);

#endif
