/*
 * Pods as the updater keeps them: what its decisions read, in one block of memory each.
 */
#ifndef UPDATER_COMPACT_H
#define UPDATER_COMPACT_H

#include "vpa/api/pod.h"

struct compact_pod;

/* A copy of the fields that matter; free with updater_pod_free. */
struct compact_pod *updater_pod_new(const struct vpa_pod *pod);
void updater_pod_free(struct compact_pod *compact); /* NULL is allowed */
/* Borrowed until free. */
const struct vpa_pod *updater_pod_get(const struct compact_pod *compact);

#endif
