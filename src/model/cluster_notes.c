/* A pointer at each VPA, where a table of the caller's would need its name again. */
#include "vpa/model/cluster_notes.h"

#include "cluster_private.h"

void **vpa_autoscaler_note(struct vpa_autoscaler *v)
{
    return &v->note;
}
