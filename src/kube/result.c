/*
 * What an answer that is no success means (leader-election-and-clients.md 4.4 of the
 * specification): the server's own Status when it sent one, else a generic one made of the code,
 * the verb and the path, with client-go's texts.
 */
#include <stdlib.h>
#include <string.h>

#include "vpa/api/status.h"
#include "vpa/base/str.h"
#include "vpa/kube/client.h"

#define CAUSE_TEXT_MAX 2048
#define UNEXPECTED "UnexpectedServerResponse" /* the cause where the answer is no Status */

static const struct generic {
    int code;
    const char *reason;
    const char *message; /* NULL: the text of the answer */
} generics[] = {
    {400, "BadRequest", "the server rejected our request for an unknown reason"},
    {401, "Unauthorized", "the server has asked for the client to provide credentials"},
    {403, "Forbidden", NULL},
    {404, "NotFound", "the server could not find the requested resource"},
    {405, "MethodNotAllowed", "the server does not allow this method on the requested resource"},
    {406, "NotAcceptable", NULL},
    {409, "Conflict", "the server reported a conflict"},
    {410, "Gone", "the requested resource is no longer available at the server"},
    {415, "UnsupportedMediaType", NULL},
    {422, "Invalid", "the server rejected our request due to an error in our request"},
    {429, "TooManyRequests",
     "the server has received too many requests and has asked us to try again later"},
    {503, "ServiceUnavailable", "the server is currently unable to handle the request"},
    {504, "Timeout",
     "the server was unable to return a response in the time allotted, but may still be processing "
     "the request"},
};

enum vpa_code vpa_kube_error_code(int http_code, const char *reason)
{
    static const struct {
        const char *reason;
        enum vpa_code code;
    } by_reason[] = {
        {"NotFound", VPA_NOT_FOUND},  {"AlreadyExists", VPA_CONFLICT},
        {"Conflict", VPA_CONFLICT},   {"Expired", VPA_GONE},
        {"Gone", VPA_GONE},           {"Unauthorized", VPA_DENIED},
        {"Forbidden", VPA_DENIED},    {"TooManyRequests", VPA_RETRY},
        {"InternalError", VPA_RETRY}, {"ServiceUnavailable", VPA_RETRY},
        {"Timeout", VPA_RETRY},       {"ServerTimeout", VPA_RETRY},
    };

    for (size_t i = 0; reason && i < VPA_COUNT(by_reason); i++)
        if (strcmp(by_reason[i].reason, reason) == 0)
            return by_reason[i].code;
    switch (http_code) {
    case 401:
    case 403:
        return VPA_DENIED;
    case 404:
        return VPA_NOT_FOUND;
    case 409:
        return VPA_CONFLICT;
    case 410:
        return VPA_GONE;
    case 429:
        return VPA_RETRY;
    default:
        return http_code >= 500 ? VPA_RETRY : VPA_INVALID;
    }
}

/* "deployments.apps" and "web" of /apis/apps/v1/namespaces/ns/deployments/web. */
static void describe_path(struct vpa_arena *arena, const char *path, const char **resource,
                          const char **name)
{
    vpa_auto_free char *copy = vpa_xstrndup(path, strcspn(path, "?"));
    const char *parts[10] = {0}, *rest = copy;
    struct vpa_slice piece;
    size_t count = 0;

    while (count < VPA_COUNT(parts) && vpa_str_split(&rest, '/', &piece))
        if (piece.len > 0)
            parts[count++] = vpa_arena_strndup(arena, piece.ptr, piece.len);
    *resource = *name = "";
    bool core = count > 0 && strcmp(parts[0], "api") == 0;
    size_t at = core ? 2 : 3;
    if (at + 2 < count && strcmp(parts[at], "namespaces") == 0)
        at += 2;
    if (at >= count)
        return;
    /* The client of scale subresources knows no groups, and its texts show that. */
    bool scale = at + 2 < count && strcmp(parts[at + 2], "scale") == 0;
    *resource = core || scale ? parts[at] : vpa_arena_printf(arena, "%s.%s", parts[at], parts[1]);
    if (at + 1 < count)
        *name = parts[at + 1];
}

static void make_generic(struct vpa_arena *arena, enum vpa_kube_verb verb, const char *path,
                         int code, const char *text, struct vpa_kube_status *out)
{
    static const char *const methods[] = {"get",   "get",   "get",   "post",  "put",
                                          "patch", "patch", "patch", "delete"};
    const char *resource, *name;
    const char *message = vpa_arena_printf(
        arena, "the server responded with the status code %d but did not return more information",
        code);

    out->code = code;
    out->reason = "";
    for (size_t i = 0; i < VPA_COUNT(generics); i++)
        if (generics[i].code == code) {
            out->reason = generics[i].reason;
            message = generics[i].message ? generics[i].message : text;
        }
    if (code == 409 && verb == VPA_KUBE_CREATE)
        out->reason = "AlreadyExists";
    if (code >= 500 && !*out->reason) {
        vpa_auto_buf quoted = VPA_BUF(4 * CAUSE_TEXT_MAX + 16);
        vpa_quote_go(&quoted, text);
        out->reason = "InternalError";
        message = vpa_arena_printf(
            arena, "an error on the server (%s) has prevented the request from succeeding",
            vpa_buf_text(&quoted));
    }
    describe_path(arena, path, &resource, &name);
    if (*resource)
        message = vpa_arena_printf(arena, "%s (%s %s%s%s)", message, methods[verb], resource,
                                   *name ? " " : "", name);
    out->message = message;
    struct vpa_kube_cause *cause = vpa_arena_zalloc(arena, sizeof(*cause));
    *cause = (struct vpa_kube_cause){UNEXPECTED, text, ""};
    out->causes = cause;
    out->cause_count = 1;
}

void vpa_kube_status_decode(struct vpa_arena *arena, enum vpa_kube_verb verb, const char *path,
                            int code, const char *body, size_t len, struct vpa_kube_status *out)
{
    const struct vpa_json *root = NULL;
    struct vpa_status status;
    struct vpa_slice text = {body, len < CAUSE_TEXT_MAX ? len : CAUSE_TEXT_MAX};

    *out = (struct vpa_kube_status){
        .code = code, .reason = "", .message = "", .name = "", .group = "", .kind = "", .uid = ""};
    if (len == 0 || vpa_json_parse(arena, body, len, &root, NULL) < 0 ||
        vpa_status_decode(arena, root, &status, NULL) < 0 ||
        !vpa_str_eq(status.status, "Failure")) {
        text = vpa_slice_trim(text);
        const char *copy = vpa_arena_strndup(arena, text.len ? text.ptr : "", text.len);
        make_generic(arena, verb, path, code, *copy ? copy : "unknown", out); /* NULs cut it off */
        return;
    }
    out->code = status.code ? status.code : code;
    out->reason = status.reason;
    out->message = *status.message ? status.message : "unknown";
    out->name = status.details_name;
    out->group = status.details_group;
    out->kind = status.details_kind;
    out->uid = status.details_uid;
    out->has_details = vpa_json_is_object(vpa_json_find(root, "details"));
    out->retry_after_seconds = status.retry_after_seconds;
    if (status.cause_count == 0)
        return;
    struct vpa_kube_cause *causes = vpa_arena_zalloc(arena, status.cause_count * sizeof(*causes));
    for (size_t i = 0; i < status.cause_count; i++)
        causes[i] = (struct vpa_kube_cause){status.causes[i].reason, status.causes[i].message,
                                            status.causes[i].field};
    out->causes = causes;
    out->cause_count = status.cause_count;
}

bool vpa_kube_is_already_exists(const struct vpa_kube_status *status)
{
    return strcmp(status->reason, "AlreadyExists") == 0;
}

bool vpa_kube_is_expired(const struct vpa_kube_status *status)
{
    return strcmp(status->reason, "Expired") == 0 || strcmp(status->reason, "Gone") == 0 ||
           status->code == 410;
}

bool vpa_kube_is_stale(const struct vpa_kube_result *result)
{
    const struct vpa_kube_status *status = &result->status;

    if (result->status_code == 409)
        return strcmp(status->reason, "Conflict") == 0 && *status->name;
    return result->status_code == 422 && status->has_details && status->cause_count == 0 &&
           !*status->name;
}

bool vpa_kube_has_cause(const struct vpa_kube_status *status, const char *reason)
{
    for (size_t i = 0; i < status->cause_count; i++)
        if (strcmp(status->causes[i].reason, reason) == 0)
            return true;
    return false;
}

/* The reason decides; the code only where the reason is empty. */
static bool is(const struct vpa_kube_status *status, const char *reason, int code)
{
    return strcmp(status->reason, reason) == 0 || (!*status->reason && status->code == code);
}

bool vpa_kube_is_retryable(const struct vpa_kube_result *result)
{
    const struct vpa_kube_status *status = &result->status;

    if (result->failure != VPA_TRANSPORT_OK)
        return result->failure == VPA_TRANSPORT_RESET || result->failure == VPA_TRANSPORT_EOF ||
               result->failure == VPA_TRANSPORT_TIMEOUT;
    return is(status, "InternalError", 500) || is(status, "Timeout", 504) ||
           strcmp(status->reason, "ServerTimeout") == 0 || is(status, "TooManyRequests", 429) ||
           status->code == 429 || status->retry_after_seconds > 0 || result->retry_after > 0;
}

/* By the API server, and not by a proxy before it. */
static bool is_named(const struct vpa_kube_status *status)
{
    return *status->reason && !vpa_kube_has_cause(status, UNEXPECTED);
}

bool vpa_kube_leaves_open(const struct vpa_kube_result *result)
{
    int code = result->status_code;

    switch (result->failure) {
    case VPA_TRANSPORT_RESET:
    case VPA_TRANSPORT_EOF:
    case VPA_TRANSPORT_TIMEOUT:
    case VPA_TRANSPORT_LIMIT:
        return true;
    default:
        return code == 504 || code == 502 || (code >= 500 && !is_named(&result->status));
    }
}

static const char *keep(struct vpa_arena *arena, const char *text)
{
    return arena ? vpa_arena_strdup(arena, vpa_or_empty(text)) : "";
}

void vpa_kube_result_keep(struct vpa_arena *arena, const struct vpa_kube_result *in,
                          struct vpa_kube_result *out)
{
    const struct vpa_kube_status *s = &in->status;

    *out = *in;
    out->body = "";
    out->body_len = 0;
    if (arena) {
        char *body = vpa_arena_alloc(arena, in->body_len + 1);
        memcpy(body, in->body, in->body_len);
        body[in->body_len] = '\0';
        out->body = body;
        out->body_len = in->body_len;
    }
    out->status.reason = keep(arena, s->reason);
    out->status.message = keep(arena, s->message);
    out->status.name = keep(arena, s->name);
    out->status.group = keep(arena, s->group);
    out->status.kind = keep(arena, s->kind);
    out->status.uid = keep(arena, s->uid);
    out->status.cause_count = arena ? s->cause_count : 0;
    out->status.causes = NULL;
    if (out->status.cause_count == 0)
        return;
    struct vpa_kube_cause *causes = vpa_arena_alloc(arena, s->cause_count * sizeof(*causes));
    for (size_t i = 0; i < s->cause_count; i++)
        causes[i] = (struct vpa_kube_cause){keep(arena, s->causes[i].reason),
                                            keep(arena, s->causes[i].message),
                                            keep(arena, s->causes[i].field)};
    out->status.causes = causes;
}
