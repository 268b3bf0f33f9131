/*
 * Stored forms of the parts that algorithms of windows are made of; for algorithm_*.c.
 *
 *     histogram   {"ref": seconds, "first": bucket, "weights": [..]}, seven digits
 *     maximum     [[second, value], ..], oldest and largest first
 *
 * Reading refuses what cannot be: VPA_INVALID says what. Times may be a little ahead of now,
 * because clocks differ, but no more: what lies in the future would outweigh everything for good.
 */
#ifndef VPA_MODEL_STORED_H
#define VPA_MODEL_STORED_H

#include "vpa/json/json_writer.h"
#include "vpa/model/load_histogram.h"
#include "vpa/model/recent_max.h"

#define VPA_STORED_AHEAD_SECONDS 3600

/* Member `name` of an object. Into a fresh histogram or maximum; absent: it stays empty.
 *
 * Weights are stored as of the newest sample, so that they mean the same under another half-life:
 * as_of is when that was, or somewhat before. Read, they are scaled down when they are more than
 * any samples can be, and what comes would weigh nothing beside them. */
void vpa_stored_put_histogram(struct vpa_json_writer *w, const char *name,
                              const struct vpa_load_histogram *h, int64_t as_of);
int vpa_stored_histogram(const struct vpa_json *object, const char *name, vpa_time now,
                         struct vpa_load_histogram *h, struct vpa_error *err) VPA_MUST_CHECK;
void vpa_stored_put_max(struct vpa_json_writer *w, const char *name,
                        const struct vpa_recent_max *m);
int vpa_stored_max(const struct vpa_json *object, const char *name, vpa_time now,
                   struct vpa_recent_max *m, struct vpa_error *err) VPA_MUST_CHECK;
/* A number that is not negative; 0 when absent. */
int vpa_stored_amount(const struct vpa_json *object, const char *name, double *out,
                      struct vpa_error *err) VPA_MUST_CHECK;
/* Whole Unix seconds, not (far) in the future; 0 when absent. */
int vpa_stored_second(const struct vpa_json *object, const char *name, vpa_time now, int64_t *out,
                      struct vpa_error *err) VPA_MUST_CHECK;
void vpa_stored_put_number(struct vpa_json_writer *w, const char *name, double value);

#endif
