/*
 * Pods as the updater keeps them: what its decisions read, in one block of memory each.
 */
#ifndef UPDATER_COMPACT_H
#define UPDATER_COMPACT_H

#include "vpa/api/pod.h"

struct compact_pod;

/* A copy of the fields that matter; free with compact_pod_free. */
struct compact_pod *compact_pod_new(const struct vpa_pod *pod);
void compact_pod_free(struct compact_pod *compact); /* NULL is allowed */
/* Borrowed until free. */
const struct vpa_pod *compact_pod_get(const struct compact_pod *compact);

#endif
