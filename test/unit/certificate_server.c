#include "certificate_server.h"

char data[64 << 10];
char bundle[64 << 10];
const char *annotations = "";
int secret_version = 1, service_version = 1;
int secret_writes, service_writes, conflicts;
bool no_service, no_rights, raced;
char written[128 << 10];
char event[8 << 10];
int events_written;

static void reply_secret(struct vpa_memory_reply *reply)
{
    vpa_auto_free char *text = vpa_xprintf("{\"metadata\":{\"resourceVersion\":\"%d\"}%s%s}",
                                           secret_version, *data ? ",\"data\":" : "", data);

    vpa_memory_reply_json(reply, 200, text);
}

static void reply_service(struct vpa_memory_reply *reply)
{
    vpa_auto_free char *text = vpa_xprintf("{\"metadata\":{\"resourceVersion\":\"%d\","
                                           "\"annotations\":{%s}},\"spec\":{\"caBundle\":\"%s\"}}",
                                           service_version, annotations, bundle);

    vpa_memory_reply_json(reply, 200, text);
}

/* The body's member as JSON text. */
static void keep_member(const struct vpa_memory_request *request, const char *path, char *out,
                        size_t size)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_json_writer w;
    vpa_auto_buf text = {0};
    struct vpa_error err;

    ck_assert_int_eq(vpa_json_parse(&arena, request->body, request->body_len, &root, &err), 0);
    const struct vpa_json *member = vpa_json_at(root, path);
    vpa_buf_init(&text, size - 1);
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, member);
    snprintf(out, size, "%s",
             vpa_json_string(member) ? vpa_json_string(member) : vpa_buf_text(&text));
}

static bool rests_on(const struct vpa_memory_request *request, int version)
{
    char text[64];

    snprintf(text, sizeof(text), "\"resourceVersion\":\"%d\"", version);
    return strstr(request->body, text) != NULL;
}

static void serve_service(const struct vpa_memory_request *request, struct vpa_memory_reply *reply)
{
    if (no_service) {
        vpa_memory_reply_status(reply, 404, "NotFound", "no APIService");
        return;
    }
    if (strcmp(request->method, "GET") == 0) {
        reply_service(reply);
        return;
    }
    ck_assert_str_eq(request->method, "PATCH");
    snprintf(written, sizeof(written), "%s", request->body);
    if (raced)
        service_version++;
    raced = false;
    if (!rests_on(request, service_version)) {
        conflicts++;
        vpa_memory_reply_status(reply, 409, "Conflict", "somebody was faster");
        return;
    }
    keep_member(request, "spec.caBundle", bundle, sizeof(bundle));
    service_version++;
    service_writes++;
    reply_service(reply);
}

void serve_certificates(void *ctx, const struct vpa_memory_request *request,
                        struct vpa_memory_reply *reply)
{
    (void)ctx;
    if (strcmp(request->path, "/api/v1/namespaces/default/events") == 0) {
        snprintf(event, sizeof(event), "%s", request->body);
        events_written++;
        vpa_memory_reply_json(reply, 201, "{}");
    } else if (no_rights) {
        vpa_memory_reply_status(reply, 403, "Forbidden", "no right");
    } else if (strcmp(request->path, API_SERVICE_PATH) == 0) {
        serve_service(request, reply);
    } else {
        ck_assert_str_eq(request->path, SECRET_PATH);
        if (strcmp(request->method, "GET") != 0) {
            ck_assert(rests_on(request, secret_version));
            keep_member(request, "data", data, sizeof(data));
            secret_version++;
            secret_writes++;
        }
        reply_secret(reply);
    }
}
