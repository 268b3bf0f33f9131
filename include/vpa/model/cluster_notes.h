/*
 * What the user of a cluster wants to remember of each VPA for as long as there is that VPA.
 *
 *     void **note = vpa_autoscaler_note(v);
 *     if (!*note)
 *         *note = vpa_xstrdup("seen");
 */
#ifndef VPA_MODEL_CLUSTER_NOTES_H
#define VPA_MODEL_CLUSTER_NOTES_H

#include "vpa/model/cluster.h"

/* One block of malloc()'s, NULL at first; it is freed with the VPA. */
void **vpa_autoscaler_note(struct vpa_autoscaler *v);

#endif
