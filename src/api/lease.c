#include "vpa/api/lease.h"

#include <string.h>

#include "decoders.h"

/* Longest metadata that is kept and written back (managedFields included). */
#define METADATA_MAX (1 << 20)

static const struct vpa_json_field lease_fields[] = {
    VPA_JSON_META(struct vpa_lease, meta),
    VPA_JSON_PRESENT(struct vpa_lease, spec.has_holder, "spec.holderIdentity"),
    VPA_JSON_STRING(struct vpa_lease, spec.holder, "spec.holderIdentity", 0),
    VPA_JSON_PRESENT(struct vpa_lease, spec.has_duration, "spec.leaseDurationSeconds"),
    VPA_JSON_INT32(struct vpa_lease, spec.duration_seconds, "spec.leaseDurationSeconds", 0),
    VPA_JSON_MICRO_TIME(struct vpa_lease, spec.acquire_time, "spec.acquireTime", 0),
    VPA_JSON_MICRO_TIME(struct vpa_lease, spec.renew_time, "spec.renewTime", 0),
    VPA_JSON_PRESENT(struct vpa_lease, spec.has_transitions, "spec.leaseTransitions"),
    VPA_JSON_INT32(struct vpa_lease, spec.transitions, "spec.leaseTransitions", 0),
    VPA_JSON_STRING(struct vpa_lease, spec.preferred_holder, "spec.preferredHolder",
                    VPA_JSON_NULLABLE),
    VPA_JSON_STRING(struct vpa_lease, spec.strategy, "spec.strategy", VPA_JSON_NULLABLE),
};
static const struct vpa_json_shape lease_shape = VPA_JSON_SHAPE(struct vpa_lease, lease_fields);

/* The text of metadata, as it was read. */
static int keep_metadata(struct vpa_arena *arena, const struct vpa_json *metadata, const char **out,
                         struct vpa_error *err)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(METADATA_MAX);

    *out = NULL;
    if (vpa_json_is_null(metadata))
        return 0;
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, metadata);
    if (vpa_buf_failed(&text))
        return vpa_fail(err, VPA_LIMIT, "metadata: longer than %d bytes", METADATA_MAX);
    *out = vpa_arena_strndup(arena, text.data, text.len);
    return 0;
}

int vpa_lease_decode(struct vpa_arena *arena, const struct vpa_json *object, struct vpa_lease *out,
                     struct vpa_error *err)
{
    struct vpa_lease lease;

    if (vpa_json_decode_object(arena, object, &lease_shape, &lease, err) < 0 ||
        keep_metadata(arena, vpa_json_find(object, "metadata"), &lease.metadata_json, err) < 0)
        return -1;
    *out = lease;
    return 0;
}

void vpa_lease_spec_encode(struct vpa_json_writer *w, const struct vpa_lease_spec *spec)
{
    vpa_json_open_object(w);
    if (spec->has_holder)
        vpa_json_member_string(w, "holderIdentity", spec->holder);
    if (spec->has_duration)
        vpa_json_member_int(w, "leaseDurationSeconds", spec->duration_seconds);
    if (!vpa_time_is_unset(spec->acquire_time)) {
        vpa_json_member_micro_time(w, "acquireTime", spec->acquire_time);
    }
    if (!vpa_time_is_unset(spec->renew_time)) {
        vpa_json_member_micro_time(w, "renewTime", spec->renew_time);
    }
    if (spec->has_transitions)
        vpa_json_member_int(w, "leaseTransitions", spec->transitions);
    if (spec->strategy)
        vpa_json_member_string(w, "strategy", spec->strategy);
    if (spec->preferred_holder)
        vpa_json_member_string(w, "preferredHolder", spec->preferred_holder);
    vpa_json_close_object(w);
}

void vpa_lease_encode(struct vpa_json_writer *w, const struct vpa_lease *lease)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "kind", "Lease");
    vpa_json_member_string(w, "apiVersion", "coordination.k8s.io/v1");
    vpa_json_key(w, "metadata");
    if (lease->metadata_json) {
        vpa_json_put_raw(w, lease->metadata_json, strlen(lease->metadata_json));
    } else {
        vpa_json_open_object(w);
        vpa_json_member_string_opt(w, "name", lease->meta.name);
        vpa_json_member_string_opt(w, "namespace", lease->meta.ns);
        vpa_json_close_object(w);
    }
    vpa_json_key(w, "spec");
    vpa_lease_spec_encode(w, &lease->spec);
    vpa_json_close_object(w);
}
