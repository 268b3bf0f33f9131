/*
 * The whole request is decoded, members that nobody reads too, because upstream's decoder refuses a
 * review of which any member has the wrong type. What is kept borrows from the document. The answer
 * is written member by member in upstream's order.
 */
#include "vpa/api/review.h"

#include <string.h>

#include "vpa/api/object_types.h"
#include "vpa/json/json_decode.h"

/* ---- request ---- */

/* Members that are not used but must have the right type, as upstream's decoder demands of the
 * whole review. Everything that is kept borrows from the document, so no arena is needed. */
struct review {
    const char *kind;
    const char *api_version;
    struct vpa_review_request request;
    const char *kind_group, *kind_version, *kind_kind, *sub_resource;
    const char *request_kind_group, *request_kind_version;
    const char *request_group, *request_version, *request_resource, *request_sub_resource;
    const char *user_name, *user_uid;
    bool groups, extra, response;
};

static int check_strings(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                         struct vpa_error *err)
{
    (void)arena;
    *(bool *)out = true;
    if (!vpa_json_is_null(node) && !vpa_json_is_array(node))
        return vpa_json_wrong_type(node, "array", err);
    vpa_json_foreach (child, node)
        if (!vpa_json_is_null(child) && !vpa_json_string(child))
            return vpa_json_wrong_type(child, "string", err);
    return 0;
}

static int check_extra(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                       struct vpa_error *err)
{
    *(bool *)out = true;
    if (!vpa_json_is_null(node) && !vpa_json_is_object(node))
        return vpa_json_wrong_type(node, "object", err);
    vpa_json_foreach (child, node)
        if (check_strings(arena, child, out, err) < 0)
            return -1;
    return 0;
}

/* A review may carry a response, which nobody reads but the decoder. */
static int check_response(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                          struct vpa_error *err)
{
    const char *patch = vpa_json_string(vpa_json_find(node, "patch"));
    vpa_auto_buf bytes = VPA_BUF(SIZE_MAX / 2);

    *(bool *)out = true;
    if (vpa_json_is_null(node))
        return 0;
    if (vpa_response_check_types(arena, node, err) < 0)
        return -1;
    if (patch && vpa_base64_decode(&bytes, patch, strlen(patch), err) < 0)
        return vpa_wrap(err, "patch");
    return 0;
}

#define TEXT(MEMBER, PATH) VPA_JSON_STRING(struct review, MEMBER, PATH, VPA_JSON_BORROW)

#define SHAPE_OF(FIELDS) VPA_JSON_SHAPE(struct review, FIELDS)

static const struct vpa_json_field kind_fields[] = {
    TEXT(kind_group, "group"),
    TEXT(kind_version, "version"),
    TEXT(kind_kind, "kind"),
};
static const struct vpa_json_shape kind_shape = SHAPE_OF(kind_fields);

static const struct vpa_json_field resource_fields[] = {
    TEXT(request.group, "group"),
    TEXT(request.version, "version"),
    TEXT(request.resource, "resource"),
};
static const struct vpa_json_shape resource_shape = SHAPE_OF(resource_fields);

static const struct vpa_json_field request_kind_fields[] = {
    TEXT(request_kind_group, "group"),
    TEXT(request_kind_version, "version"),
    TEXT(request.request_kind, "kind"),
};
static const struct vpa_json_shape request_kind_shape = SHAPE_OF(request_kind_fields);

static const struct vpa_json_field request_resource_fields[] = {
    TEXT(request_group, "group"),
    TEXT(request_version, "version"),
    TEXT(request_resource, "resource"),
};
static const struct vpa_json_shape request_resource_shape = SHAPE_OF(request_resource_fields);

static const struct vpa_json_field user_fields[] = {
    TEXT(user_name, "username"),
    TEXT(user_uid, "uid"),
    VPA_JSON_CUSTOM(struct review, groups, "groups", check_strings),
    VPA_JSON_CUSTOM(struct review, extra, "extra", check_extra),
};
static const struct vpa_json_shape user_shape = SHAPE_OF(user_fields);

static const struct vpa_json_field request_fields[] = {
    TEXT(request.uid, "uid"),
    VPA_JSON_INSIDE("kind", &kind_shape),
    VPA_JSON_INSIDE("resource", &resource_shape),
    TEXT(sub_resource, "subResource"),
    VPA_JSON_INSIDE("requestKind", &request_kind_shape),
    VPA_JSON_INSIDE("requestResource", &request_resource_shape),
    TEXT(request_sub_resource, "requestSubResource"),
    TEXT(request.name, "name"),
    TEXT(request.ns, "namespace"),
    TEXT(request.operation, "operation"),
    VPA_JSON_INSIDE("userInfo", &user_shape),
    VPA_JSON_FLAG(struct review, request.dry_run, "dryRun", 0),
};
static const struct vpa_json_shape request_shape = SHAPE_OF(request_fields);

static const struct vpa_json_field review_fields[] = {
    TEXT(kind, "kind"),
    TEXT(api_version, "apiVersion"),
    VPA_JSON_INSIDE("request", &request_shape),
    VPA_JSON_CUSTOM(struct review, response, "response", check_response),
};
static const struct vpa_json_shape review_shape = SHAPE_OF(review_fields);

static const struct vpa_json *present(const struct vpa_json *node)
{
    return vpa_json_is_null(node) ? NULL : node;
}

int vpa_review_decode(const struct vpa_json *root, struct vpa_review_request *out,
                      struct vpa_error *err)
{
    const struct vpa_json *request = vpa_json_find(root, "request");
    struct review review;

    if (vpa_json_decode(NULL, root, &review_shape, &review, err) < 0)
        return -1;
    if (vpa_json_is_null(request))
        return vpa_fail(err, VPA_NOT_FOUND, "the review has no request");
    if (strlen(review.request.uid) > VPA_REVIEW_UID_MAX) /* it would be echoed */
        return vpa_fail(err, VPA_INVALID, "request.uid is longer than %d bytes",
                        VPA_REVIEW_UID_MAX);
    review.request.object = present(vpa_json_find(request, "object"));
    review.request.old_object = present(vpa_json_find(request, "oldObject"));
    *out = review.request;
    return 0;
}

/* ---- response ---- */

static void encode_patch(struct vpa_json_writer *w, const struct vpa_review_response *response)
{
    vpa_json_member_raw(w, "patch", "\"", 1);
    vpa_base64_encode(w->buf, response->patch, response->patch_len);
    vpa_buf_putc(w->buf, '"');
    vpa_json_member_string(w, "patchType", "JSONPatch");
}

void vpa_review_encode(struct vpa_buf *out, const struct vpa_review_response *response)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "AdmissionReview");
    vpa_json_member_string(&w, "apiVersion", "admission.k8s.io/v1");
    vpa_json_member_object(&w, "response");
    vpa_json_member_string(&w, "uid", response->uid ? response->uid : "");
    vpa_json_member_bool(&w, "allowed", response->allowed);
    if (response->status) {
        vpa_json_key(&w, "status");
        vpa_status_encode(&w, response->status);
    }
    if (response->patch)
        encode_patch(&w, response);
    if (response->warning_count) {
        vpa_json_member_array(&w, "warnings");
        for (size_t i = 0; i < response->warning_count; i++)
            vpa_json_put_string(&w, response->warnings[i]);
        vpa_json_close_array(&w);
    }
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
}
