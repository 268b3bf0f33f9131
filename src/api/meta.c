#include "vpa/api/meta.h"

#include "vpa/json/json_decode.h"

const char *const vpa_meta_unread[] = {"managedFields", NULL};

const char *const vpa_pod_unread[] = {
    "affinity",
    "args",
    "command",
    "env",
    "envFrom",
    "lifecycle",
    "livenessProbe",
    "managedFields",
    "ports",
    "readinessProbe",
    "securityContext",
    "startupProbe",
    "tolerations",
    "topologySpreadConstraints",
    "volumeMounts",
    "volumes",
    NULL,
};

VPA_JSON_DECODER(decode_labels, vpa_labels_decode)

static const struct vpa_json_field owner_fields[] = {
    VPA_JSON_STRING(struct vpa_owner_reference, api_version, "apiVersion", 0),
    VPA_JSON_STRING(struct vpa_owner_reference, kind, "kind", 0),
    VPA_JSON_STRING(struct vpa_owner_reference, name, "name", 0),
    VPA_JSON_STRING(struct vpa_owner_reference, uid, "uid", 0),
    VPA_JSON_FLAG(struct vpa_owner_reference, controller, "controller", 0),
};
static const struct vpa_json_shape owner_shape =
    VPA_JSON_SHAPE(struct vpa_owner_reference, owner_fields);

static const struct vpa_json_field meta_fields[] = {
    VPA_JSON_STRING(struct vpa_meta, ns, "namespace", 0),
    VPA_JSON_STRING(struct vpa_meta, name, "name", 0),
    VPA_JSON_STRING(struct vpa_meta, generate_name, "generateName", 0),
    VPA_JSON_STRING(struct vpa_meta, uid, "uid", 0),
    VPA_JSON_STRING(struct vpa_meta, resource_version, "resourceVersion", 0),
    VPA_JSON_TIME(struct vpa_meta, creation, "creationTimestamp", 0),
    VPA_JSON_TIME(struct vpa_meta, deletion, "deletionTimestamp", 0),
    VPA_JSON_INT64(struct vpa_meta, generation, "generation", 0),
    VPA_JSON_CUSTOM(struct vpa_meta, labels, "labels", decode_labels),
    VPA_JSON_CUSTOM(struct vpa_meta, annotations, "annotations", decode_labels),
    VPA_JSON_ARRAY_OF(struct vpa_meta, owners, owner_count, "ownerReferences", &owner_shape, 0),
};
static const struct vpa_json_shape meta_shape = VPA_JSON_SHAPE(struct vpa_meta, meta_fields);

int vpa_meta_decode(struct vpa_arena *arena, const struct vpa_json *metadata, struct vpa_meta *out,
                    struct vpa_error *err)
{
    return vpa_json_decode(arena, metadata, &meta_shape, out, err);
}

const struct vpa_owner_reference *vpa_meta_controller_first(const struct vpa_meta *meta)
{
    for (size_t i = 0; i < meta->owner_count; i++)
        if (meta->owners[i].controller)
            return &meta->owners[i];
    return NULL;
}

const struct vpa_owner_reference *vpa_meta_controller_last(const struct vpa_meta *meta)
{
    for (size_t i = meta->owner_count; i > 0; i--)
        if (meta->owners[i - 1].controller)
            return &meta->owners[i - 1];
    return NULL;
}
