#include "vpa/api/status.h"

#include <string.h>

#include "vpa/json/json_decode.h"

static const struct vpa_json_field cause_fields[] = {
    VPA_JSON_STRING(struct vpa_status_cause, reason, "reason", 0),
    VPA_JSON_STRING(struct vpa_status_cause, message, "message", 0),
    VPA_JSON_STRING(struct vpa_status_cause, field, "field", 0),
};
static const struct vpa_json_shape cause_shape =
    VPA_JSON_SHAPE(struct vpa_status_cause, cause_fields);

static const struct vpa_json_field status_fields[] = {
    VPA_JSON_STRING(struct vpa_status, status, "status", 0),
    VPA_JSON_STRING(struct vpa_status, message, "message", 0),
    VPA_JSON_STRING(struct vpa_status, reason, "reason", 0),
    VPA_JSON_INT32(struct vpa_status, code, "code", 0),
    VPA_JSON_PRESENT(struct vpa_status, has_details, "details"),
    VPA_JSON_STRING(struct vpa_status, details_name, "details.name", 0),
    VPA_JSON_STRING(struct vpa_status, details_group, "details.group", 0),
    VPA_JSON_STRING(struct vpa_status, details_kind, "details.kind", 0),
    VPA_JSON_STRING(struct vpa_status, details_uid, "details.uid", 0),
    VPA_JSON_INT32(struct vpa_status, retry_after_seconds, "details.retryAfterSeconds", 0),
    VPA_JSON_ARRAY_OF(struct vpa_status, causes, cause_count, "details.causes", &cause_shape, 0),
};
static const struct vpa_json_shape status_shape = VPA_JSON_SHAPE(struct vpa_status, status_fields);

int vpa_status_decode(struct vpa_arena *arena, const struct vpa_json *object,
                      struct vpa_status *out, struct vpa_error *err)
{
    const char *kind = vpa_json_string(vpa_json_find(object, "kind"));

    if (!kind || strcmp(kind, "Status") != 0)
        return vpa_fail(err, VPA_INVALID, "kind Status expected");
    return vpa_json_decode(arena, object, &status_shape, out, err);
}

static void encode_causes(struct vpa_json_writer *w, const struct vpa_status *status)
{
    if (status->cause_count == 0)
        return;
    vpa_json_member_array(w, "causes");
    for (size_t i = 0; i < status->cause_count; i++) {
        const struct vpa_status_cause *cause = &status->causes[i];

        vpa_json_open_object(w);
        vpa_json_member_string_opt(w, "reason", cause->reason);
        vpa_json_member_string_opt(w, "message", cause->message);
        vpa_json_member_string_opt(w, "field", cause->field);
        vpa_json_close_object(w);
    }
    vpa_json_close_array(w);
}

void vpa_status_encode(struct vpa_json_writer *w, const struct vpa_status *status)
{
    vpa_json_open_object(w);
    vpa_json_member_object(w, "metadata");
    vpa_json_close_object(w);
    vpa_json_member_string_opt(w, "status", status->status);
    vpa_json_member_string_opt(w, "message", status->message);
    vpa_json_member_string_opt(w, "reason", status->reason);
    if (status->has_details) {
        vpa_json_member_object(w, "details");
        vpa_json_member_string_opt(w, "name", status->details_name);
        vpa_json_member_string_opt(w, "group", status->details_group);
        vpa_json_member_string_opt(w, "kind", status->details_kind);
        vpa_json_member_string_opt(w, "uid", status->details_uid);
        encode_causes(w, status);
        vpa_json_member_int_opt(w, "retryAfterSeconds", status->retry_after_seconds);
        vpa_json_close_object(w);
    }
    vpa_json_member_int_opt(w, "code", status->code);
    vpa_json_close_object(w);
}
