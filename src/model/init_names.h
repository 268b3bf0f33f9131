/*
 * The names of a pod's init containers: one text, one name per line, sorted. Pods of one workload
 * share it, and a name is found by bisection, since whoever writes a pod may name thousands.
 */
#ifndef VPA_MODEL_INIT_NAMES_H
#define VPA_MODEL_INIT_NAMES_H

#include <stdbool.h>

#include "vpa/api/pod.h"
#include "vpa/base/buf.h"

/* Appends the text; nothing for a pod without init containers. */
void init_names_put(const struct vpa_pod *pod, struct vpa_buf *out);
/* names: such a text, or NULL for none. A name that has line breaks is found line by line or not at
 * all: API servers store none. */
bool init_names_have(const char *names, const char *name);

#endif
