#include "world.h"

/* ---- the story ---- */

static void world_read_line(struct world *w, const char *text, size_t len)
{
    const char *blank = memchr(text, ' ', len);
    size_t head = blank ? (size_t)(blank - text) : len;
    size_t rest = blank ? len - head - 1 : 0;

    if (len == 0 || !strchr("LWR.", text[0]))
        return;
    VPA_GROW(w->lines, w->count, w->capacity);
    w->lines[w->count++] = (struct world_line){
        .what = text[0],
        .of = vpa_arena_strndup(&w->arena, text + 1, strnlen(text + 1, head - 1)),
        .text = vpa_arena_strndup(&w->arena, blank ? blank + 1 : "", rest),
        .len = rest,
    };
}

static void world_read(struct world *w, const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t len = end ? (size_t)(end - text) - at : size - at;

        world_read_line(w, text + at, len);
        at += len + 1;
    }
}

/* ---- the server ---- */

static const char *world_collection(const char *path)
{
    const char *last = strrchr(path, '/');

    if (strstr(path, "metrics.k8s.io"))
        return "usage";
    return last ? last + 1 : path;
}

static void world_list(const struct world *w, const char *path, struct vpa_memory_reply *reply)
{
    const char *of = world_collection(path), *comma = "";
    vpa_auto_buf text = VPA_BUF(WORLD_TEXT_MAX);

    vpa_buf_puts(&text, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
    for (size_t i = 0; i < w->count; i++) {
        if (w->lines[i].what != 'L' || strcmp(w->lines[i].of, of) != 0)
            continue;
        vpa_buf_puts(&text, comma);
        vpa_buf_append(&text, w->lines[i].text, w->lines[i].len);
        comma = ",";
    }
    vpa_buf_puts(&text, "]}");
    vpa_memory_reply_bytes(reply, 200, "application/json", vpa_buf_text(&text), text.len);
}

static void world_watch_closed(void *ctx)
{
    *(struct vpa_memory_stream **)ctx = NULL;
}

static void world_watch(struct world *w, const char *path, struct vpa_memory_reply *reply)
{
    const char *of = world_collection(path);
    size_t at = 0;

    while (at < w->watch_count && strcmp(w->watches[at].of, of) != 0)
        at++;
    if (at == VPA_COUNT(w->watches)) {
        vpa_memory_reply_status(reply, 500, NULL, "too many collections");
        return;
    }
    if (at == w->watch_count) {
        w->watch_count++;
        w->watches[at].of = vpa_arena_strdup(&w->arena, of);
    }
    w->watches[at].stream =
        vpa_memory_reply_stream(reply, 200, world_watch_closed, &w->watches[at].stream);
}

/* What a write must be: JSON (a copy may be more than we read), about an object of a namespace that
 * has a name. */
static void world_write(struct world *w, const struct vpa_memory_request *q,
                        struct vpa_memory_reply *reply)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *body = NULL;
    struct vpa_error err;

    w->writes++;
    FUZZ_CHECK(q->path[0] == '/' && !strstr(q->path, "//") && !strstr(q->path, "/../"));
    if (q->body_len > 0)
        FUZZ_CHECK(vpa_json_parse(&arena, q->body, q->body_len, &body, &err) == 0 ||
                   err.code == VPA_LIMIT);
    if (vpa_str_ends_with(q->path, "/eviction")) {
        const char *uid = vpa_json_string(vpa_json_at(body, "deleteOptions.preconditions.uid"));
        FUZZ_CHECK(uid && *uid);
    }
    if (strcmp(q->method, "PATCH") == 0 && vpa_str_ends_with(q->path, "/resize"))
        FUZZ_CHECK(strcmp(vpa_json_string(vpa_json_find(vpa_json_first(body), "op")), "test") == 0);
    vpa_memory_reply_json(reply, 200, "{\"metadata\":{\"name\":\"x\",\"namespace\":\"n\"}}");
}

static void world_serve(void *ctx, const struct vpa_memory_request *q,
                        struct vpa_memory_reply *reply)
{
    struct world *w = ctx;

    if (++w->requests == WORLD_REQUESTS_MAX)
        vpa_loop_stop(w->loop);
    vpa_memory_reply_chunk(reply, 4096);
    if (strcmp(q->method, "GET") != 0)
        world_write(w, q, reply);
    else if (q->watch)
        world_watch(w, q->path, reply);
    else if (strcmp(q->path, "/api/v1") == 0)
        vpa_memory_reply_json(reply, 200,
                              "{\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\"},"
                              "{\"name\":\"pods/resize\",\"kind\":\"Pod\"}]}");
    else
        world_list(w, q->path, reply);
}

bool world_tell(struct world *w, size_t *at)
{
    for (; *at < w->count && w->lines[*at].what != '.' && w->lines[*at].what != 'R'; ++*at) {
        const struct world_line *line = &w->lines[*at];

        for (size_t i = 0; line->what == 'W' && i < w->watch_count; i++)
            if (w->watches[i].stream && strcmp(w->watches[i].of, line->of) == 0) {
                vpa_memory_stream_push(w->watches[i].stream, line->text, line->len);
                vpa_memory_stream_push(w->watches[i].stream, "\n", 1);
            }
        while (vpa_loop_poll(w->loop))
            ;
    }
    return *at < w->count;
}

/* ---- life ---- */

void world_start(struct world *w, const uint8_t *data, size_t size)
{
    static bool quiet;
    const struct vpa_log_options log = {.fd = quiet ? 0 : open("/dev/null", O_WRONLY | O_CLOEXEC)};
    struct vpa_error err;

    if (!quiet)
        FUZZ_CHECK(vpa_log_configure(&log, &err) == 0);
    quiet = true;
    *w = (struct world){.count = 0};
    world_read(w, size ? (const char *)data : "", size);
    w->clock = vpa_clock_new_manual(vpa_time_from_unix(WORLD_START, 0));
    w->loop = vpa_loop_new(w->clock);
    w->transport = vpa_memory_transport_new(w->loop, world_serve, w);
    vpa_random_init(&w->random, 1);
    w->client = vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = w->loop,
                                                                      .transport = w->transport,
                                                                      .random = &w->random,
                                                                      .user_agent = "fuzz",
                                                                      .qps = -1},
                                    &err);
    FUZZ_CHECK(w->client);
}

void world_stop(struct world *w)
{
    vpa_kube_client_free(w->client);
    vpa_transport_free(w->transport);
    vpa_loop_free(w->loop);
    vpa_clock_free(w->clock);
    free(w->lines);
    vpa_arena_release(&w->arena);
}
