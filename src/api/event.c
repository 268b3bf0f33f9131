#include "vpa/api/event.h"

#include "decoders.h"

static const struct vpa_json_field event_fields[] = {
    VPA_JSON_META(struct vpa_event, meta),
    VPA_JSON_STRING(struct vpa_event, reason, "reason", 0),
    VPA_JSON_STRING(struct vpa_event, type, "type", 0),
    VPA_JSON_STRING(struct vpa_event, message, "message", 0),
    VPA_JSON_STRING(struct vpa_event, involved_kind, "involvedObject.kind", 0),
    VPA_JSON_STRING(struct vpa_event, involved_ns, "involvedObject.namespace", 0),
    VPA_JSON_STRING(struct vpa_event, involved_name, "involvedObject.name", 0),
    VPA_JSON_STRING(struct vpa_event, involved_uid, "involvedObject.uid", 0),
};
static const struct vpa_json_shape event_shape = VPA_JSON_SHAPE(struct vpa_event, event_fields);

int vpa_event_decode(struct vpa_arena *arena, const struct vpa_json *object, struct vpa_event *out,
                     struct vpa_error *err)
{
    return vpa_json_decode_object(arena, object, &event_shape, out, err);
}
