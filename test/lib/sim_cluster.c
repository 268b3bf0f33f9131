#include "sim_cluster.h"

#include <stdlib.h>
#include <string.h>

#include "../kubesim/sim.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define TEXT_MAX ((size_t)64 << 20)
#define HISTORY 20000
#define SEGMENTS 8         /* of a path, as far as they are looked at */
#define FIRST_VERSION 1000 /* so that versions look like versions */

/* A request under way; a watch is one for long. */
struct exchange {
    struct sim_cluster *cluster;
    struct vpa_arena arena;
    struct response res;
    const char *plural;
    struct vpa_memory_stream *stream;
    struct exchange *next;
};
struct script_line {
    struct sim_answer answer;
    unsigned used;
};
struct record {
    struct sim_asked *items;
    size_t count, capacity;
};
struct sim_cluster {
    struct sim sim;
    struct vpa_loop *loop;
    struct exchange *watches;
    uint64_t told; /* the version up to which they know all */
    sim_hook_fn hook;
    void *hook_ctx;
    struct script_line *script;
    size_t script_count, script_capacity;
    struct vpa_arena arena; /* of one record */
    struct record writes, reads;
    vpa_time began;
};

/* ---- life ---- */

static vpa_time loop_now(void *ctx)
{
    return vpa_loop_now(ctx);
}

void sim_cluster_serve_kind(struct sim_cluster *s, const char *group, const char *version,
                            const char *plural, const char *kind, bool status, bool scale)
{
    vpa_auto_arena a = {0};
    const char *subresources = vpa_arena_printf(
        &a, "{%s%s%s}", status ? "\"status\":{}" : "", status && scale ? "," : "",
        scale ? "\"scale\":{\"specReplicasPath\":\".spec.replicas\",\"statusReplicasPath\":"
                "\".status.replicas\",\"labelSelectorPath\":\".status.selector\"}"
              : "");

    types_add_crd(
        &s->sim.types, &s->sim.store,
        jv_lit(
            &a,
            vpa_arena_printf(
                &a,
                "{\"metadata\":{\"name\":\"%s.%s/%s\"},\"spec\":{\"group\":\"%s\",\"names\":{"
                "\"plural\":\"%s\",\"kind\":\"%s\"},\"scope\":\"Namespaced\",\"versions\":[{"
                "\"name\":\"%s\",\"served\":true,\"storage\":true,\"subresources\":%s,\"schema\":{"
                "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":"
                "true}}}]}}",
                plural, group, version, group, plural, kind, version, subresources)));
}

struct sim_cluster *sim_cluster_new(struct vpa_loop *loop)
{
    static bool ready;
    struct sim_cluster *s = vpa_xcalloc(1, sizeof(*s));

    if (!ready)
        schema_builtin_init();
    ready = true;
    s->loop = loop;
    s->sim.opt = (struct options){.authorization = "none",
                                  .controllers = "",
                                  .service_map = "",
                                  .history = HISTORY,
                                  .minor = 36,
                                  .resize = true,
                                  .bare = true,
                                  .bookmark_seconds = 60};
    s->sim.now = loop_now;
    s->sim.now_ctx = loop;
    s->sim.service_ip = 1;
    store_init(&s->sim.store, HISTORY);
    s->sim.store.rv = FIRST_VERSION;
    types_init(&s->sim.types, &s->sim.store);
    faults_init(&s->sim);
    sim_cluster_serve_kind(s, "autoscaling.k8s.io", "v1", "verticalpodautoscalers",
                           "VerticalPodAutoscaler", true, false);
    sim_cluster_serve_kind(s, "autoscaling.k8s.io", "v1", "verticalpodautoscalercheckpoints",
                           "VerticalPodAutoscalerCheckpoint", false, false);
    return s;
}

static void exchange_free(struct exchange *x)
{
    response_release(&x->res);
    vpa_arena_release(&x->arena);
    free(x);
}

void sim_cluster_free(struct sim_cluster *s)
{
    while (s->watches) {
        struct exchange *x = s->watches;

        s->watches = x->next;
        exchange_free(x);
    }
    faults_release(&s->sim);
    types_release(&s->sim.types);
    store_release(&s->sim.store);
    vpa_arena_release(&s->sim.arena);
    vpa_arena_release(&s->arena);
    free(s->writes.items);
    free(s->reads.items);
    free(s->script);
    free(s);
}

/* ---- watches ---- */

static void on_watch_closed(void *ctx)
{
    struct exchange *x = ctx;
    struct exchange **link = &x->cluster->watches;

    while (*link != x)
        link = &(*link)->next;
    *link = x->next;
    exchange_free(x);
}

static void tell(struct exchange *x)
{
    vpa_auto_buf out = VPA_BUF(TEXT_MAX);

    (void)watch_take(x->res.watch, &out);
    if (out.len)
        vpa_memory_stream_push(x->stream, out.data, out.len);
}

/* Sends the watches what has happened since the last time. */
static void flush(struct sim_cluster *s)
{
    if (s->told == s->sim.store.rv)
        return;
    s->told = s->sim.store.rv;
    for (struct exchange *x = s->watches; x; x = x->next)
        tell(x);
}

void sim_cluster_end_watches(struct sim_cluster *s, const char *plural, bool expired)
{
    for (struct exchange *x = s->watches, *next; x; x = next) {
        next = x->next;
        if (strcmp(x->plural, plural) != 0)
            continue;
        if (expired)
            vpa_memory_stream_event(
                x->stream, "ERROR",
                "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410}");
        vpa_memory_stream_end(x->stream, VPA_TRANSPORT_OK);
        on_watch_closed(x);
    }
}

void sim_cluster_tell(struct sim_cluster *s, const char *plural, const char *type, const char *json)
{
    for (struct exchange *x = s->watches; x; x = x->next)
        if (strcmp(x->plural, plural) == 0)
            vpa_memory_stream_event(x->stream, type, json);
}

/* ---- objects ---- */

void sim_cluster_serve_resizes(struct sim_cluster *s, bool served)
{
    s->sim.opt.resize = served;
}

bool sim_cluster_has_scale(const struct sim_cluster *s, const char *group, const char *plural)
{
    const struct restype *t = types_find(&s->sim.types, group, NULL, plural);

    return t && (t->flags & T_SCALE);
}

static struct restype *type_of(const struct sim_cluster *s, const char *api_version,
                               const char *kind)
{
    const char *slash = strchr(api_version, '/');
    vpa_auto_free char *group =
        vpa_xstrndup(api_version, slash ? (size_t)(slash - api_version) : 0);

    return types_by_kind(&s->sim.types, group, kind);
}

static const struct jv *first_of(const struct jv *a, const struct jv *b)
{
    return a ? a : b;
}

/* What the server sets of the metadata. */
static void complete(struct sim_cluster *s, struct vpa_arena *a, struct restype *t,
                     struct jv *object)
{
    struct jv *meta = jv_get(object, "metadata");
    const struct version *old =
        store_find(t->store, jv_text_at(meta, "namespace"), jv_text_at(meta, "name"));
    const struct jv *stored = old ? version_parse(a, old) : NULL;
    const struct jv *uid = first_of(jv_get(meta, "uid"), jv_at(stored, "metadata.uid"));
    const struct jv *created =
        first_of(jv_at(stored, "metadata.creationTimestamp"), jv_get(meta, "creationTimestamp"));

    jv_set(a, meta, "uid",
           uid ? jv_clone(a, uid)
               : jv_strf(a, "uid-%llu", (unsigned long long)s->sim.store.rv + 1));
    jv_set(a, meta, "creationTimestamp",
           created ? jv_clone(a, created) : jv_str(a, sim_now_text(&s->sim, a)));
    defaults_apply(&(struct ctx){.sim = &s->sim, .a = a, .type = t}, t, object);
    if (t->crd && !jv_get(object, "status") && jv_get(stored, "status"))
        jv_set(a, object, "status", jv_clone(a, jv_get(stored, "status")));
}

static bool put_text(struct sim_cluster *s, const char *object, bool whole)
{
    vpa_auto_arena a = {0};
    struct jv *v;

    if (jv_parse(&a, object, strlen(object), &v, NULL, NULL) < 0)
        abort();
    struct restype *t = type_of(s, jv_text_at(v, "apiVersion"), jv_text_at(v, "kind"));
    if (!t)
        return false;
    jv_del(jv_ensure(&a, v, "metadata"), "resourceVersion");
    if (!whole)
        complete(s, &a, t, v);
    store_put(&s->sim.store, t->store, &a, v);
    flush(s);
    return true;
}

static bool put(struct sim_cluster *s, const struct vpa_json *object, bool whole)
{
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, object);
    return put_text(s, vpa_buf_text(&text), whole);
}

bool sim_cluster_put(struct sim_cluster *s, const struct vpa_json *object)
{
    return put(s, object, true);
}

void sim_cluster_put_text(struct sim_cluster *s, const char *object)
{
    if (!put_text(s, object, true))
        abort();
}

bool sim_cluster_apply(struct sim_cluster *s, const struct vpa_json *object)
{
    return put(s, object, false);
}

static struct version *find(const struct sim_cluster *s, const char *api_version, const char *kind,
                            const char *ns, const char *name)
{
    const struct restype *t = type_of(s, api_version, kind);

    return t ? store_find(t->store, ns, name) : NULL;
}

bool sim_cluster_delete(struct sim_cluster *s, const char *api_version, const char *kind,
                        const char *ns, const char *name)
{
    vpa_auto_arena a = {0};
    struct version *v = find(s, api_version, kind, ns, name);

    if (!v)
        return false;
    store_delete(&s->sim.store, type_of(s, api_version, kind)->store, &a, v, NULL);
    flush(s);
    return true;
}

const struct vpa_json *sim_cluster_find(const struct sim_cluster *s, struct vpa_arena *arena,
                                        const char *api_version, const char *kind, const char *ns,
                                        const char *name)
{
    const struct version *v = find(s, api_version, kind, ns, name);
    const struct vpa_json *root = NULL;

    if (v && vpa_json_parse(arena, v->json, v->len, &root, NULL) < 0)
        abort(); /* the simulator wrote it */
    return root;
}

/* ---- answers out of a script ---- */

struct sim_place sim_place_of(struct vpa_arena *arena, const char *path)
{
    const char *parts[SEGMENTS + 4] = {"", "", "", "", "", "", "", "", "", "", "", ""};
    struct vpa_slice piece;
    size_t n = 0;

    path++;
    while (n < SEGMENTS && vpa_str_split(&path, '/', &piece))
        parts[n++] = vpa_arena_strndup(arena, piece.ptr, piece.len);
    bool core = strcmp(parts[0], "api") == 0;
    const char **at = parts + (core ? 2 : 3);
    bool in_namespace = strcmp(at[0], "namespaces") == 0 && *at[2];
    struct sim_place out = {.group = core ? "" : parts[1], .ns = in_namespace ? at[1] : ""};
    at += in_namespace ? 2 : 0;
    out.resource = at[0];
    out.name = at[1];
    return out;
}

int sim_not_found(const char *path, struct vpa_memory_reply *r)
{
    vpa_auto_arena arena = {0};
    const struct sim_place at = sim_place_of(&arena, path);

    vpa_memory_reply_status(r, 404, NULL,
                            vpa_arena_printf(&arena, "%s%s%s \"%s\" not found", at.resource,
                                             *at.group ? "." : "", at.group, at.name));
    return 404;
}

void sim_cluster_hook(struct sim_cluster *s, sim_hook_fn hook, void *ctx)
{
    s->hook = hook;
    s->hook_ctx = ctx;
}

void sim_cluster_answer(struct sim_cluster *s, const struct sim_answer *answer)
{
    VPA_GROW(s->script, s->script_count, s->script_capacity);
    s->script[s->script_count++] = (struct script_line){.answer = *answer};
}

void sim_cluster_unscript(struct sim_cluster *s)
{
    s->script_count = 0;
}

static bool fits(const struct sim_answer *a, const struct vpa_memory_request *q)
{
    if (strcmp(a->method, q->method) != 0)
        return false;
    return a->how == SIM_PATH_ENDS    ? vpa_str_ends_with(q->path, a->path)
           : a->how == SIM_PATH_HOLDS ? strstr(q->path, a->path) != NULL
                                      : strcmp(q->path, a->path) == 0;
}

static void give(const struct sim_answer *a, const char *path, struct vpa_memory_reply *r)
{
    if (a->failure)
        vpa_memory_reply_fail(r, a->failure);
    else if (a->body)
        vpa_memory_reply_json(r, a->code, a->body);
    else if (a->code == 404 && !a->message)
        (void)sim_not_found(path, r);
    else
        vpa_memory_reply_status(r, a->code, NULL, vpa_or_empty(a->message));
    if (a->retry)
        vpa_memory_reply_retry_after(r, a->retry_after);
}

/* The answer given; NULL when the script leaves the request to others. */
static const struct sim_answer *play(struct sim_cluster *s, const struct vpa_memory_request *q,
                                     struct vpa_memory_reply *r)
{
    const struct sim_answer *given = NULL;
    bool delayed = false;

    for (size_t i = 0; i < s->script_count; i++) {
        struct script_line *line = &s->script[i];
        const struct sim_answer *a = &line->answer;
        bool speaks = a->code || a->failure;

        if (!fits(a, q) || (speaks ? given != NULL : delayed) ||
            (a->times && line->used++ >= a->times))
            continue;
        if (a->delay && !delayed)
            vpa_memory_reply_delay(r, a->delay);
        delayed = delayed || a->delay;
        given = speaks ? a : given;
    }
    if (given)
        give(given, q->path, r);
    return given;
}

/* ---- requests ---- */

static int ask(struct sim_cluster *s, const struct vpa_memory_request *q,
               struct vpa_memory_reply *r)
{
    struct exchange *x = vpa_xcalloc(1, sizeof(*x));
    struct request req = {.method = q->method,
                          .path = q->path,
                          .query = q->query,
                          .accept = vpa_memory_header(q, "Accept"),
                          .content_type = vpa_memory_header(q, "Content-Type"),
                          .user_agent = vpa_memory_header(q, "User-Agent"),
                          .authorization = vpa_memory_header(q, "Authorization"),
                          .body = q->body,
                          .body_len = q->body_len};

    x->cluster = s;
    response_init(&x->res);
    api_handle(&s->sim, &req, &x->res, &x->arena);
    int code = x->res.status;
    if (x->res.watch) {
        x->plural = sim_place_of(&x->arena, q->path).resource;
        x->stream = vpa_memory_reply_stream(r, code, on_watch_closed, x);
        x->next = s->watches;
        s->watches = x;
        tell(x);
    } else {
        vpa_memory_reply_bytes(r, code, x->res.content_type, vpa_buf_text(&x->res.body),
                               x->res.body.len);
        if (x->res.retry_after)
            vpa_memory_reply_retry_after(r, x->res.retry_after);
        exchange_free(x);
    }
    flush(s);
    return code;
}

/* ---- the record ---- */

static void record(struct sim_cluster *s, const struct vpa_memory_request *q, int code,
                   enum vpa_transport_failure failure)
{
    struct record *to = strcmp(q->method, "GET") == 0 ? &s->reads : &s->writes;
    vpa_time now = vpa_loop_now(s->loop);

    VPA_GROW(to->items, to->count, to->capacity);
    to->items[to->count++] = (struct sim_asked){
        .method = vpa_arena_strdup(&s->arena, q->method),
        .path = vpa_arena_strdup(&s->arena, q->target),
        .type = vpa_arena_strdup(&s->arena, vpa_or_empty(vpa_memory_header(q, "Content-Type"))),
        .body = vpa_arena_strndup(&s->arena, q->body, q->body_len),
        .code = code,
        .failure = failure,
        .at_ms = vpa_time_sub(now, s->began) / VPA_MILLISECOND,
        .time = now};
}

void sim_cluster_serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    struct sim_cluster *s = ctx;
    const struct sim_answer *given = play(s, q, r);
    int code = given ? given->code : s->hook ? s->hook(s->hook_ctx, q, r) : 0;

    if (!given && !code)
        code = ask(s, q, r);
    if (!q->watch)
        record(s, q, code, given ? given->failure : VPA_TRANSPORT_OK);
}

void sim_cluster_begin_record(struct sim_cluster *s)
{
    vpa_arena_clear(&s->arena);
    s->writes.count = s->reads.count = 0;
    s->began = vpa_loop_now(s->loop);
}

const struct sim_asked *sim_cluster_writes(const struct sim_cluster *s, size_t *count)
{
    *count = s->writes.count;
    return s->writes.items;
}

const struct sim_asked *sim_cluster_reads(const struct sim_cluster *s, size_t *count)
{
    *count = s->reads.count;
    return s->reads.items;
}

size_t sim_cluster_asked(const struct sim_cluster *s, const char *method, const char *path_end)
{
    const struct record *of = strcmp(method, "GET") == 0 ? &s->reads : &s->writes;
    size_t found = 0;

    for (size_t i = 0; i < of->count; i++)
        found += strcmp(of->items[i].method, method) == 0 &&
                 vpa_str_ends_with(of->items[i].path, path_end);
    return found;
}

const struct sim_asked *sim_cluster_write(const struct sim_cluster *s, const char *path, size_t n)
{
    const struct sim_asked *found = NULL;
    bool last = n == SIM_LAST;

    for (size_t i = 0; i < s->writes.count; i++) {
        if (!strstr(s->writes.items[i].path, path))
            continue;
        found = &s->writes.items[i];
        if (n-- == 0)
            return found;
    }
    return last ? found : NULL;
}
