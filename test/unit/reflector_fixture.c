#include "reflector_fixture.h"

#include <stdio.h>
#include <stdlib.h>

struct vpa_reflector *reflector;
size_t object_max;
const char *const *left_out;

char trace[TRACE_MAX];

static void note(const char *text)
{
    strncat(trace, text, sizeof(trace) - strlen(trace) - 1);
}

static void on_begin(void *ctx)
{
    (void)ctx;
    note("B ");
}

static void on_end(void *ctx)
{
    (void)ctx;
    note("E ");
}

static void on_resync(void *ctx)
{
    (void)ctx;
    note("R ");
}

static int on_object(void *ctx, enum vpa_reflector_event event, const struct vpa_json *object,
                     struct vpa_error *err)
{
    const char *name = vpa_json_string(vpa_json_at(object, "metadata.name"));
    char text[64];

    (void)ctx;
    if (!name || strcmp(name, "bad") == 0)
        return vpa_fail(err, VPA_INVALID, "unusable");
    snprintf(text, sizeof(text), "%c%s%s%s ", "LAMD"[event], name,
             vpa_json_find(object, "env") ? "+e" : "",
             vpa_json_at(object, "metadata.managedFields") ? "+m" : "");
    note(text);
    return 0;
}

char reason[256];

static void on_unusable(void *ctx, enum vpa_reflector_event event,
                        const struct vpa_unusable_object *what)
{
    char text[128];

    (void)ctx;
    snprintf(text, sizeof(text), "!%c%s/%s/%s ", "LAMD"[event], what -> kind, what -> ns,
             what -> name);
    note(text);
    snprintf(reason, sizeof(reason), "%s", what->reason);
}

const struct answer *script;
size_t script_count, requests;
int64_t at[REQUESTS_NOTED], timeouts[REQUESTS_NOTED];
struct vpa_memory_stream *stream;
int closed;

static void on_closed(void *ctx)
{
    (void)ctx;
    stream = NULL;
    closed++;
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const struct answer *a = &script[requests < script_count ? requests : script_count - 1];

    (void)ctx;
    if (requests < REQUESTS_NOTED) {
        const char *seconds = vpa_memory_query(q, "timeoutSeconds");
        at[requests] = vpa_loop_monotonic(loop);
        timeouts[requests] = seconds ? strtoll(seconds, NULL, 10) : 0;
    }
    requests++;
    if (a->want)
        ck_assert_msg(strstr(q->target, a->want), "request %zu: %s lacks %s", requests, q->target,
                      a->want);
    if (a->avoid)
        ck_assert_msg(!strstr(q->target, a->avoid), "request %zu: %s has %s", requests, q->target,
                      a->avoid);
    if (a->chunk)
        vpa_memory_reply_chunk(r, a->chunk);
    if (a->stream && a->status == 200 && !vpa_memory_query(q, "watch")) {
        vpa_memory_reply_json(r, 200, "{\"items\":[]}");
        return;
    }
    if (a->stream) {
        stream = vpa_memory_reply_stream(r, a->status, on_closed, NULL);
        if (a->json)
            vpa_memory_stream_push(stream, a->json, strlen(a->json));
        return;
    }
    if (a->status >= 400)
        vpa_memory_reply_status(r, a->status, NULL, a->message ? a->message : "scripted");
    else if (a->status)
        vpa_memory_reply_json(r, a->status, a->json ? a->json : "");
    if (a->failure)
        vpa_memory_reply_fail(r, a->failure);
}

void setup(void)
{
    start_client(serve, 1767225600, 42);
    trace[0] = '\0';
    object_max = 1000;
    left_out = NULL;
    requests = 0;
    stream = NULL;
    closed = 0;
    reflector = NULL;
}

void teardown(void)
{
    vpa_reflector_free(reflector);
    stop_client();
}

void start(const struct answer *answers, size_t count, bool watch_only, vpa_duration resync)
{
    const struct vpa_reflector_options options = {
        .client = client,
        .name = "pods",
        .path = "/api/v1/pods",
        .field_selector = "status.phase!=Pending",
        .resync = resync,
        .object_max = object_max,
        .left_out = left_out,
        .watch_only = watch_only,
        .handler = {.begin = on_begin,
                    .object = on_object,
                    .unusable = on_unusable,
                    .end = on_end,
                    .resync = on_resync},
    };

    script = answers;
    script_count = count;
    reflector = vpa_reflector_new(&options);
    vpa_reflector_start(reflector);
}
