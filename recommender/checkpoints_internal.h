/*
 * Shared by the parts of the checkpoints: checkpoints.c (reading), checkpoint_collection.c and
 * checkpoint_writer.c (writing).
 */
#ifndef RECOMMENDER_CHECKPOINTS_INTERNAL_H
#define RECOMMENDER_CHECKPOINTS_INTERNAL_H

#include "checkpoint_names.h"
#include "checkpoints.h"

#define CHECKPOINT_LIST_TIMEOUT (5 * VPA_MINUTE)
#define CHECKPOINT_RESOURCE "verticalpodautoscalercheckpoints"
/* Longest body: two histograms of 4096 buckets, and the open intervals. */
#define CHECKPOINT_BODY_MAX ((size_t)2 << 20)

struct checkpoints {
    struct checkpoints_options options;
    struct checkpoint_names names;
    vpa_time last_collection;
    char *collected_until;  /* namespace in which the last one ended before its end; or NULL */
    uint32_t rounds;        /* of writing */
    struct vpa_table fresh; /* "namespace/name" of VPAs that checkpoints_load_new() was for: heap */
};

/* Path of one checkpoint, or of the collection of a namespace (name NULL), or of all (ns NULL too).
 */
void checkpoint_path(struct vpa_buf *out, const char *ns, const char *name);

/* Tables of names -> themselves. */
void checkpoint_set_release(struct vpa_table *names);
void checkpoint_set_add(struct vpa_table *names, const char *name);

#endif
