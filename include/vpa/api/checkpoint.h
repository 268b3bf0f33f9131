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

/* HistogramCheckpoint alone; absent and null give {present=false}. Of two texts for the same bucket
 * ("1", "01") the last one counts. */
int vpa_histogram_checkpoint_decode(struct vpa_arena *arena, const struct vpa_json *node,
                                    struct vpa_histogram_checkpoint *out,
                                    struct vpa_error *err) VPA_MUST_CHECK;
/* Members in upstream's order, bucket keys sorted as strings, empty members left out. */
void vpa_histogram_checkpoint_encode(struct vpa_json_writer *w,
                                     const struct vpa_histogram_checkpoint *histogram);

int vpa_checkpoint_decode(struct vpa_arena *arena, const struct vpa_json *object,
                          struct vpa_checkpoint *out, struct vpa_error *err) VPA_MUST_CHECK;
/* The value of "status" in upstream's member order. */
void vpa_checkpoint_status_encode(struct vpa_json_writer *w,
                                  const struct vpa_checkpoint_status *status);
/* The object as upstream creates it: kind, apiVersion, metadata with the name, spec, status. */
void vpa_checkpoint_encode(struct vpa_json_writer *w, const struct vpa_checkpoint *checkpoint);

#endif
