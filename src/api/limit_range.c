#include "vpa/api/limit_range.h"

#include "decoders.h"

static const struct vpa_json_field item_fields[] = {
    VPA_JSON_STRING(struct vpa_limit_range_item, type, "type", 0),
    VPA_JSON_RESOURCE_LIST(struct vpa_limit_range_item, max, "max"),
    VPA_JSON_RESOURCE_LIST(struct vpa_limit_range_item, min, "min"),
    VPA_JSON_RESOURCE_LIST(struct vpa_limit_range_item, default_limit, "default"),
    VPA_JSON_RESOURCE_LIST(struct vpa_limit_range_item, default_request, "defaultRequest"),
    VPA_JSON_RESOURCE_LIST(struct vpa_limit_range_item, max_ratio, "maxLimitRequestRatio"),
};
static const struct vpa_json_shape item_shape =
    VPA_JSON_SHAPE(struct vpa_limit_range_item, item_fields);

static const struct vpa_json_field range_fields[] = {
    VPA_JSON_META(struct vpa_limit_range, meta),
    VPA_JSON_ARRAY_OF(struct vpa_limit_range, items, item_count, "spec.limits", &item_shape, 0),
};
static const struct vpa_json_shape range_shape =
    VPA_JSON_SHAPE(struct vpa_limit_range, range_fields);

int vpa_limit_range_decode(struct vpa_arena *arena, const struct vpa_json *object,
                           struct vpa_limit_range *out, struct vpa_error *err)
{
    out->error = NULL;
    return vpa_json_decode_object(arena, object, &range_shape, out, err);
}
