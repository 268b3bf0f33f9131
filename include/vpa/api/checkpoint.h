/*
 * VerticalPodAutoscalerCheckpoint v1: the stored history of one container of one VPA (specification
 * api.md 7.1, recommender.md 4 and 14). This is the wire form; the model turns it into histograms.
 */
#ifndef VPA_API_CHECKPOINT_H
#define VPA_API_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/api/meta.h"
#include "vpa/base/time.h"
#include "vpa/json/json_writer.h"

#define VPA_CHECKPOINT_VERSION "v3"
/* Most entries of one bucketWeights object; more is VPA_INVALID (upstream writes at most 176). */
#define VPA_CHECKPOINT_BUCKETS_MAX 4096

struct vpa_bucket_weight {
    int64_t bucket; /* as stored, negative or too large perhaps: loading checks that */
    uint32_t weight;
};
struct vpa_histogram_checkpoint {
    bool present;                            /* the member was there and not null */
    vpa_time reference;                      /* unset for null and absent */
    const struct vpa_bucket_weight *buckets; /* sorted by bucket, each once */
    size_t bucket_count;
    double total_weight;
};
struct vpa_checkpoint_status {
    vpa_time last_update; /* unset writes null, here and below */
    const char *version;  /* "" when absent */
    struct vpa_histogram_checkpoint cpu;
    struct vpa_histogram_checkpoint memory;
    vpa_time first_sample_start;
    vpa_time last_sample_start;
    int64_t total_samples_count;
};
struct vpa_checkpoint {
    struct vpa_meta meta;
    const char *vpa_object_name;
    const char *container_name;
    bool has_status;
    struct vpa_checkpoint_status status;
};

/*
 * The memory peak of a container in an interval that was not over when the checkpoint was written.
 * Upstream's status leaves these peaks out, because a container that begins its interval anew after
 * a restart would count twice; so a restart forgets them. Plumb stores them beside the status, in
 * an annotation that upstream does not look at, and continues the intervals. It is written when it
 * changes, and counts as long as the memory histogram is the one that it was written for: when
 * upstream has closed an interval meanwhile, its peak is in there.
 */
#define VPA_OPEN_INTERVALS_ANNOTATION "vpa.autoscaling.k8s.io/open-memory-intervals"
/* Longest text: the API server takes 256 KiB of annotations. 6,000 to 8,000 pods of one VPA. */
#define VPA_OPEN_INTERVALS_TEXT_MAX ((size_t)192 << 10)
struct vpa_open_interval {
    uint32_t pod_uid; /* vpa_hash_stable of the UID: a later pod may have the same name */
    vpa_time end;     /* of the interval; stored in whole seconds */
    int64_t usage;    /* bytes, the peak of the samples */
    int64_t oom;      /* bytes, the peak that an OOM kill stands for; 0: none */
};
struct vpa_open_intervals {
    uint32_t history; /* vpa_histogram_checkpoint_hash of the memory histogram beside it */
    const struct vpa_open_interval *items; /* by the names of their pods */
    size_t count;
};

/*
 * Whose history it is: the target that the VPA named when the checkpoint was written (the text of
 * vpa_object_target). A VPA that names another one today has no use for it. Upstream writes
 * none, so a checkpoint without it belongs to whatever the VPA names.
 */
#define VPA_HISTORY_TARGET_ANNOTATION "vpa.autoscaling.k8s.io/history-target"

/* HistogramCheckpoint alone; absent and null give {present=false}. Of two texts for the same bucket
 * ("1", "01") the last one counts. */
int vpa_histogram_checkpoint_decode(struct vpa_arena *arena, const struct vpa_json *node,
                                    struct vpa_histogram_checkpoint *out,
                                    struct vpa_error *err) VPA_MUST_CHECK;
/* Members in upstream's order, bucket keys sorted as strings, empty members left out. */
void vpa_histogram_checkpoint_encode(struct vpa_json_writer *w,
                                     const struct vpa_histogram_checkpoint *histogram);
/* vpa_hash_stable_add of what that text says: tells whether another recommender has changed the
 * history since. The same before it is written and after it was read. */
uint32_t vpa_histogram_checkpoint_hash(const struct vpa_histogram_checkpoint *histogram);

int vpa_checkpoint_decode(struct vpa_arena *arena, const struct vpa_json *object,
                          struct vpa_checkpoint *out, struct vpa_error *err) VPA_MUST_CHECK;
/* The value of "status" in upstream's member order. */
void vpa_checkpoint_status_encode(struct vpa_json_writer *w,
                                  const struct vpa_checkpoint_status *status);
/* The text of the annotation, a row for each interval: UID hash, usage, seconds that it ends after
 * `end`, OOM peak; zeros at the end of a row are left out.
 *
 *     {"history":"0badcafe","end":"2026-03-03T06:00:00Z","peaks":[
 *       [439041101,104857600],[7,0,60,209715200]]}
 *
 * Items that would make it longer than VPA_OPEN_INTERVALS_TEXT_MAX are left out; returns the number
 * written. */
size_t vpa_open_intervals_encode(struct vpa_buf *out, const struct vpa_open_intervals *intervals);
/* Copied into the arena. Reads the first form of the text as well, four times as long:
 *
 *     {"history":"0badcafe","intervals":[
 *       {"pod":"web-0","uid":"1a2b3c4d","end":"2026-03-03T06:00:00Z","usage":104857600}]}
 *
 * VPA_INVALID says what is wrong and where. */
int vpa_open_intervals_decode(struct vpa_arena *arena, const char *text,
                              struct vpa_open_intervals *out, struct vpa_error *err) VPA_MUST_CHECK;
/* The object as upstream creates it: kind, apiVersion, metadata with the name, spec, status. */
void vpa_checkpoint_encode(struct vpa_json_writer *w, const struct vpa_checkpoint *checkpoint);

#endif
