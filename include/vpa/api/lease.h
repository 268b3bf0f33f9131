/*
 * coordination.k8s.io/v1 Lease. A holder writes back the whole object it read with only the spec
 * replaced, so the metadata is kept as text.
 */
#ifndef VPA_API_LEASE_H
#define VPA_API_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/api/meta.h"
#include "vpa/base/time.h"
#include "vpa/json/json_writer.h"

/* Absent fields read as "", 0 and unset; the has_ flags tell absence where it matters. */
struct vpa_lease_spec {
    bool has_holder;
    const char *holder;
    bool has_duration;
    int32_t duration_seconds;
    vpa_time acquire_time; /* unset: absent */
    vpa_time renew_time;   /* unset: absent */
    bool has_transitions;
    int32_t transitions;
    const char *preferred_holder; /* NULL when absent */
    const char *strategy;         /* NULL when absent */
};
struct vpa_lease {
    struct vpa_meta meta;
    const char *metadata_json; /* metadata as it was read; NULL writes name and namespace of meta */
    struct vpa_lease_spec spec;
};

/* The object and all its texts live in the arena. */
int vpa_lease_decode(struct vpa_arena *arena, const struct vpa_json *object, struct vpa_lease *out,
                     struct vpa_error *err) VPA_MUST_CHECK;
/* The whole object: kind, apiVersion, metadata, spec; absent spec members are left out. */
void vpa_lease_encode(struct vpa_json_writer *w, const struct vpa_lease *lease);
void vpa_lease_spec_encode(struct vpa_json_writer *w, const struct vpa_lease_spec *spec);

#endif
