/*
 * The panic button (docs/compatibility.md, S11): while a ConfigMap of this name exists
 * in the suite's namespace, nothing is changed anywhere.
 */
#ifndef VPA_DAEMON_PANIC_H
#define VPA_DAEMON_PANIC_H

#include "vpa/kube/reflector.h"

#define VPA_PANIC_CONFIG_MAP "vpa-panic"
/* For the reflector of ConfigMaps in that namespace. */
#define VPA_PANIC_FIELD_SELECTOR "metadata.name=" VPA_PANIC_CONFIG_MAP

/* Before the first change, so that a restart during a panic changes nothing either: waits until the
 * reflector is in step, pumping the loop, but at most five (virtual) seconds, since we may not be
 * allowed to read it; that is logged. -1 with err only when the loop was stopped. */
int vpa_panic_wait(struct vpa_reflector *reflector, struct vpa_loop *loop,
                   struct vpa_error *err) VPA_MUST_CHECK;

#endif
