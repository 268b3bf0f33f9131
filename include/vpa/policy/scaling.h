/*
 * Limits that keep their ratio to a changed request, and the inverse: requests whose limit fits a
 * bound (specification updater.md 16.3 to 16.5, admission.md 11.5 to 11.9).
 *
 *     struct vpa_scaled_limit l = vpa_scale_limit(VPA_CPU, limit, request, target, NULL);
 *     if (l.present) ... l.limit ...
 *
 * All quantities are inputs by pointer, NULL standing for "absent", which counts as zero. Results
 * borrow texts of the inputs. Pure arithmetic with 128-bit products; values beyond 64 bits
 * saturate.
 */
#ifndef VPA_POLICY_SCALING_H
#define VPA_POLICY_SCALING_H

#include "vpa/api/resources.h"

struct vpa_scaled_limit {
    bool present; /* false: no limit is to be set */
    struct vpa_quantity limit;
    const char *note; /* phrase for the vpaUpdates annotation, or NULL; a constant */
};

/* The limit that goes with request `target` for a container that has `limit` and `request` now; a
 * zero limit is replaced by default_limit (of a LimitRange). resource is "cpu" (thousandths) or
 * "memory" (whole bytes). */
struct vpa_scaled_limit vpa_scale_limit(const char *resource, const struct vpa_quantity *limit,
                                        const struct vpa_quantity *request,
                                        const struct vpa_quantity *target,
                                        const struct vpa_quantity *default_limit);

/* cpu and memory of one container together: the list is absent when neither has a limit, and then
 * there are no phrases either. */
struct vpa_scaled_limits {
    struct vpa_resource_list limits; /* .present tells */
    const char *notes[2];
    size_t note_count;
};
struct vpa_scaled_limits vpa_scale_limits(struct vpa_arena *arena,
                                          const struct vpa_resource_list *limits,
                                          const struct vpa_resource_list *requests,
                                          const struct vpa_resource_list *target,
                                          const struct vpa_resource_list *default_limits);

enum vpa_scale_rounding { VPA_SCALE_NONE, VPA_SCALE_UP, VPA_SCALE_DOWN };
enum vpa_scale_kind { VPA_SCALE_OK, VPA_SCALE_CAPPED, VPA_SCALE_ZERO_BASE };

/* quantity * result / base in the format of quantity: thousandths for cpu, bytes for memory. UP
 * rounds cpu up; memory never rounds up, and DOWN makes memory of 0 or less one byte less (both as
 * upstream). A zero base leaves the quantity as it is; saturation yields the largest int64 of that
 * unit and CAPPED. */
enum vpa_scale_kind vpa_scale_quantity(const char *resource, const struct vpa_quantity *quantity,
                                       const struct vpa_quantity *base,
                                       const struct vpa_quantity *result,
                                       enum vpa_scale_rounding rounding, struct vpa_quantity *out);

/* The request at which the proportional limit equals `edge`; zero means "no bound". */
struct vpa_quantity vpa_scale_boundary(const char *resource, const struct vpa_quantity *request,
                                       const struct vpa_quantity *limit,
                                       const struct vpa_quantity *edge,
                                       const struct vpa_quantity *default_limit);

#endif
