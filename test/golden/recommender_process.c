#include "recommender_process.h"

#include "../../recommender/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recommender_compare.h"
#include "manual_clock.h"

#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"

#define ARGUMENTS_MAX 64
#define BEFORE_START (700 * VPA_MILLISECOND)

/* ---- Prometheus ---- */

static const char *member_text(const struct vpa_json *node, const char *name)
{
    return vpa_json_string(vpa_json_find(node, name));
}

static size_t kind_of(const struct vpa_memory_request *q)
{
    const char *arguments = strcmp(q->method, "POST") == 0 ? q->body : q->query;

    if (vpa_str_ends_with(q->path, "/query"))
        return 2;
    return strstr(arguments, "query=rate%28") ? 0 : 1;
}

static void serve_prometheus(void *ctx, const struct vpa_memory_request *q,
                             struct vpa_memory_reply *r)
{
    static const char *const names[] = {"cpu", "memory", "labels"};
    struct process *p = ctx;
    struct world *w = p->world;
    const struct vpa_json *script = GOLDEN_IN(w->c, "prometheus");
    size_t kind = kind_of(q);
    const struct vpa_json *replies = vpa_json_find(script, names[kind]);
    size_t count = vpa_json_count(replies);
    size_t use = w->prometheus_uses[kind]++;
    bool yes = false;
    int32_t status = 404;
    int64_t delay_ms = 0;

    if (vpa_json_bool(vpa_json_find(script, "refuse"), &yes) && yes) {
        vpa_memory_reply_fail(r, VPA_TRANSPORT_REFUSED);
        return;
    }
    if (vpa_json_bool(vpa_json_find(script, "tls"), &yes) && yes && !p->prometheus_insecure) {
        vpa_memory_reply_fail(r, VPA_TRANSPORT_TLS);
        return;
    }
    const struct vpa_json *reply = count > 0 ? vpa_json_first(replies) : NULL;
    for (size_t i = 0; reply && i < use && i + 1 < count; i++)
        reply = vpa_json_next(reply);
    if (reply) {
        vpa_auto_buf body = VPA_BUF(64 << 20);
        struct vpa_json_writer writer;

        vpa_json_int32(vpa_json_find(reply, "status"), &status);
        if (vpa_json_find(reply, "body")) {
            vpa_json_writer_init(&writer, &body);
            vpa_json_put_node(&writer, vpa_json_find(reply, "body"));
        } else {
            vpa_buf_puts(&body, vpa_or_empty(member_text(reply, "text")));
        }
        vpa_memory_reply_bytes(r, status, "application/json", vpa_buf_text(&body), body.len);
        if (vpa_json_int64(vpa_json_find(reply, "delay_ms"), &delay_ms))
            vpa_memory_reply_delay(r, delay_ms * VPA_MILLISECOND);
    }

    struct vpa_arena *arena = w->c->arena;
    const char *type = vpa_memory_header(q, "Content-Type");
    const char *authorization = vpa_memory_header(q, "Authorization");
    VPA_GROW(w->requests, w->request_count, w->request_capacity);
    w->requests[w->request_count++] = (struct prometheus_request){
        .which = names[kind],
        .method = vpa_arena_strdup(arena, q->method),
        .path = vpa_arena_strdup(arena, q->path),
        .url_query = *q->query ? vpa_arena_strdup(arena, q->query) : NULL,
        .content_type = type ? vpa_arena_strdup(arena, type) : NULL,
        .authorization = authorization ? vpa_arena_strdup(arena, authorization) : NULL,
        .body = vpa_arena_strdup(arena, q->body),
        .dial = p->dial,
        .status = status};
}

/* host:port of an origin. */
static const char *dial_of(struct vpa_arena *arena, const char *origin)
{
    const char *host = strstr(origin, "://");
    bool tls = vpa_str_starts_with(origin, "https");

    host = host ? host + 3 : origin;
    return strchr(host, ':') ? vpa_arena_strdup(arena, host)
                             : vpa_arena_printf(arena, "%s:%s", host, tls ? "443" : "80");
}

static struct vpa_transport *
connect_prometheus(void *ctx, const struct vpa_http_client_options *options, struct vpa_error *err)
{
    struct process *p = ctx;

    (void)err;
    p->dial = dial_of(p->world->c->arena, options->base_url);
    p->prometheus_insecure = options->insecure;
    return vpa_memory_transport_new(p->world->loop, serve_prometheus, p);
}

/* ---- world ---- */

void world_init(struct world *w, struct golden_case *c, bool invariant)
{
    *w = (struct world){.c = c};
    exemptions_init(&w->exemptions, c, invariant);
    if (vpa_time_parse(golden_in_text(c, "start"), &w->t0, NULL) < 0)
        abort();
    w->clock = vpa_clock_new_manual(vpa_time_add(w->t0, -VPA_SECOND));
    w->loop = vpa_loop_new(w->clock);
    w->cluster = fake_cluster_new(w->loop, GOLDEN_IN(c, "crds"));
    vpa_json_foreach (change, GOLDEN_IN(c, "objects"))
        fake_cluster_change(w->cluster, change);
}

void world_release(struct world *w)
{
    exemptions_release(&w->exemptions);
    fake_cluster_free(w->cluster);
    vpa_loop_free(w->loop);
    vpa_clock_free(w->clock);
    free(w->requests);
}

void world_advance(struct world *w, vpa_duration at)
{
    vpa_duration left = vpa_time_sub(vpa_time_add(w->t0, at), vpa_loop_now(w->loop));

    if (left > 0)
        vpa_loop_pump(w->loop, left);
    while (vpa_loop_poll(w->loop))
        ;
}

/* ---- process ---- */

static const char *read_env(void *ctx, const char *name)
{
    return member_text(GOLDEN_IN((struct golden_case *)ctx, "env"), name);
}

/* The folder of the files that the case's flags name. */
static void write_files(struct golden_case *c)
{
    char folder[] = "/tmp/plumb-golden-XXXXXX";

    if (!GOLDEN_IN(c, "files"))
        return;
    if (!mkdtemp(folder) || chdir(folder) < 0)
        abort();
    vpa_json_foreach (file, GOLDEN_IN(c, "files")) {
        FILE *f = fopen(vpa_json_name(file), "w");

        if (!f)
            abort();
        fputs(vpa_or_empty(vpa_json_string(file)), f);
        fclose(f);
    }
}

static void remove_files(struct golden_case *c)
{
    char folder[256];

    if (!GOLDEN_IN(c, "files") || !getcwd(folder, sizeof folder))
        return;
    vpa_json_foreach (file, GOLDEN_IN(c, "files"))
        unlink(vpa_json_name(file));
    if (chdir("/") == 0)
        rmdir(folder);
}

static int read_config(struct process *p, struct vpa_error *err)
{
    struct golden_case *c = p->world->c;
    char *argv[ARGUMENTS_MAX + 2] = {
        (char *)"recommender",
        /* Upstream's defaults of the gates, and what it forgets at a restart; the case's own flags
         * come later and count. */
        (char *)"--feature-gates=CPUStartupBoost=false,InPlace=false,PerVPAConfig=false",
        (char *)"--checkpoint-open-intervals=false"};
    int argc = 3;
    int status;
    struct vpa_flags flags = recommender_flags(&p->config);

    vpa_json_foreach (flag, GOLDEN_IN(c, "flags"))
        if (argc < ARGUMENTS_MAX)
            argv[argc++] = vpa_arena_strdup(&p->arena, vpa_or_empty(vpa_json_string(flag)));
    if (vpa_flags_parse(&flags, &p->arena, argc, argv, err) < 0)
        return -1;
    write_files(c);
    int result = recommender_config_check(&p->config, read_env, c, &p->arena, &status, err);
    remove_files(c);
    return result;
}

static int construct(struct process *p, bool observed, struct vpa_error *err)
{
    struct world *w = p->world;

    vpa_random_init(&p->random, 1);
    p->transport = vpa_memory_transport_new(w->loop, fake_cluster_serve, w->cluster);
    p->client = vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = w->loop,
                                                                      .transport = p->transport,
                                                                      .random = &p->random,
                                                                      .user_agent = "golden",
                                                                      .qps = -1},
                                    err);
    if (!p->client)
        return -1;
    if (observed) {
        p->observe =
            vpa_observe_new(w->loop,
                            &(struct vpa_observe_options){.address = "127.0.0.1:0",
                                                          .health_timeout = 5 * p->config.interval},
                            err);
        if (!p->observe)
            return -1;
    }
    p->recommender =
        recommender_new(&(struct recommender_options){.loop = w->loop,
                                                      .config = &p->config,
                                                      .client = p->client,
                                                      .writer = p->client,
                                                      .metrics = p->client,
                                                      .observe = p->observe,
                                                      .connect_prometheus = connect_prometheus,
                                                      .connect_ctx = p});
    return 0;
}

int process_start(struct process *p, struct world *w, vpa_duration at, bool observed,
                  struct vpa_error *err)
{
    *p = (struct process){.world = w};
    if (read_config(p, err) < 0)
        return -1;
    world_advance(w, at - BEFORE_START);
    if (construct(p, observed, err) < 0 || recommender_start(p->recommender, err) < 0)
        return -1;
    world_advance(w, at);
    return recommender_load_history(p->recommender, err);
}

void process_stop(struct process *p)
{
    recommender_free(p->recommender);
    vpa_kube_client_free(p->client);
    vpa_transport_free(p->transport);
    vpa_observe_free(p->observe);
    vpa_arena_release(&p->arena);
    *p = (struct process){0};
}

/* ---- steps ---- */

struct step {
    const struct vpa_json *json;
    size_t index;
    int64_t at_s;
    int64_t count;
    int64_t every_s;
};

static void read_step(const struct vpa_json *json, size_t index, struct step *out)
{
    const struct vpa_json *repeat = vpa_json_find(json, "repeat");

    *out = (struct step){.json = json, .index = index, .count = 1};
    vpa_json_int64(vpa_json_find(json, "at_s"), &out->at_s);
    vpa_json_int64(vpa_json_find(repeat, "count"), &out->count);
    vpa_json_int64(vpa_json_find(repeat, "every_s"), &out->every_s);
}

static bool is_recorded(const struct step *s, int64_t i)
{
    const struct vpa_json *record = vpa_json_find(s->json, "record");

    if (!record)
        return i == s->count - 1;
    vpa_json_foreach (entry, record) {
        int64_t wanted = 0;

        vpa_json_int64(entry, &wanted);
        if (wanted == i || (wanted == -1 && i == s->count - 1))
            return true;
    }
    return false;
}

static void make_changes(struct world *w, const struct step *s, bool running)
{
    vpa_json_foreach (change, vpa_json_find(s->json, "changes")) {
        fake_cluster_change(w->cluster, change);
        exemptions_change(&w->exemptions, change, running);
        while (vpa_loop_poll(w->loop))
            ;
    }
}

/* The process is down while the changes are made. */
static int restart(struct world *w, struct process *p, const struct step *s)
{
    struct vpa_error err;

    world_advance(w, s->at_s * VPA_SECOND - VPA_SECOND);
    process_stop(p);
    make_changes(w, s, false);
    if (process_start(p, w, s->at_s * VPA_SECOND, false, &err) == 0)
        return 0;
    golden_unexpected(w->c, golden_label(w->c, "restart at %lld s", (long long)s->at_s), err.text);
    return -1;
}

static int run_step(struct world *w, struct process *p, const struct step *s,
                    const struct vpa_json **expected)
{
    struct pass_totals totals = {0};
    bool restarts = false;

    vpa_json_bool(vpa_json_find(s->json, "restart"), &restarts);
    fake_cluster_set_step(w->cluster, NULL);
    if (restarts && restart(w, p, s) < 0)
        return -1;
    world_advance(w, s->at_s * VPA_SECOND);
    fake_cluster_set_step(w->cluster, s->json);
    if (!restarts)
        make_changes(w, s, true);
    for (int64_t i = 0; i < s->count; i++) {
        world_advance(w, (s->at_s + i * s->every_s) * VPA_SECOND);
        fake_cluster_begin_record(w->cluster);
        fake_cluster_set_usage(w->cluster, s->json, (size_t)i);
        recommender_pass(p->recommender);
        compare_count(w, &totals);
        if (is_recorded(s, i)) {
            compare_pass(w, *expected, &(struct pass_place){s->json, s->index, i});
            *expected = *expected ? vpa_json_next(*expected) : NULL;
        }
    }
    compare_totals(w, s->index, &totals);
    return 0;
}

void world_run_steps(struct world *w, struct process *p)
{
    const struct vpa_json *passes = GOLDEN_OUT(w->c, "passes");
    const struct vpa_json *expected = vpa_json_count(passes) > 0 ? vpa_json_first(passes) : NULL;
    size_t index = 0;

    vpa_json_foreach (json, GOLDEN_IN(w->c, "steps")) {
        struct step step;

        read_step(json, index++, &step);
        if (run_step(w, p, &step, &expected) < 0)
            return;
    }
    if (vpa_json_count(passes) == 0)
        golden_json(w->c, "passes", passes, "[]");
}

/* ---- requests to Prometheus ---- */

/* The parameters of a form or query, decoded; NULL for none. */
static const char *params_json(struct golden_case *c, const char *text)
{
    struct vpa_json_writer out;
    struct vpa_slice piece;
    vpa_auto_buf buf = VPA_BUF(1 << 20);

    if (!*text)
        return NULL;
    vpa_json_writer_init(&out, &buf);
    vpa_json_open_object(&out);
    while (vpa_str_split(&text, '&', &piece)) {
        const char *equals = memchr(piece.ptr, '=', piece.len);
        size_t len = equals ? (size_t)(equals - piece.ptr) : piece.len;

        vpa_json_key(&out, golden_form_decode(c->arena, piece.ptr, len));
        vpa_json_put_string(
            &out, equals ? golden_form_decode(c->arena, equals + 1, piece.len - len - 1) : "");
    }
    vpa_json_close_object(&out);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

static void compare_request(struct world *w, size_t i, const struct vpa_json *want)
{
    struct golden_case *c = w->c;
    const struct prometheus_request *got = &w->requests[i];
    const struct vpa_json *headers = vpa_json_find(want, "headers");
    const struct vpa_json *body = vpa_json_find(want, "body");

    golden_text(c, golden_label(c, "requests[%zu].which", i), vpa_json_find(want, "which"),
                got->which);
    golden_text(c, golden_label(c, "requests[%zu].method", i), vpa_json_find(want, "method"),
                got->method);
    golden_text(c, golden_label(c, "requests[%zu].path", i), vpa_json_find(want, "path"),
                got->path);
    golden_text(c, golden_label(c, "requests[%zu].url_query", i), vpa_json_find(want, "url_query"),
                got->url_query);
    golden_text(c, golden_label(c, "requests[%zu].Content-Type", i),
                vpa_json_find(headers, "Content-Type"), got->content_type);
    golden_text(c, golden_label(c, "requests[%zu].Authorization", i),
                vpa_json_find(headers, "Authorization"), got->authorization);
    golden_text(c, golden_label(c, "requests[%zu].body", i), body,
                body || *got->body ? got->body : NULL);
    golden_text(c, golden_label(c, "requests[%zu].dial", i), vpa_json_find(want, "dial"),
                got->dial);
    golden_int(c, golden_label(c, "requests[%zu].status", i), vpa_json_find(want, "status"),
               got->status);
    if (headers && vpa_json_count(headers) == 0)
        golden_compared(c, headers); /* the two must be absent */
    golden_json(c, golden_label(c, "requests[%zu].params", i), vpa_json_find(want, "params"),
                params_json(c, *got->body ? got->body : vpa_or_empty(got->url_query)));
}

void world_compare_requests(struct world *w)
{
    struct golden_case *c = w->c;
    size_t i = 0;

    vpa_json_foreach (want, GOLDEN_OUT(c, "requests")) {
        if (i < w->request_count)
            compare_request(w, i, want);
        else
            golden_difference(c, golden_label(c, "requests[%zu]", i), "a request", "none");
        i++;
    }
    for (; i < w->request_count; i++)
        golden_unexpected(c, golden_label(c, "requests[%zu]", i), w->requests[i].path);
}

void world_run_case(struct golden_case *c, bool invariant)
{
    struct world world;
    struct process process;
    struct vpa_error err;

    recommender_metrics_reset();
    world_init(&world, c, invariant);
    bool started = process_start(&process, &world, 0, false, &err) == 0;
    golden_text(c, "run_error", GOLDEN_OUT(c, "run_error"), started ? NULL : err.text);
    /* Where the reference crashes there are no passes to compare with. */
    if (!started || GOLDEN_OUT(c, "crash"))
        golden_json(c, "passes", GOLDEN_OUT(c, "passes"), "[]");
    if (started && !GOLDEN_OUT(c, "crash"))
        world_run_steps(&world, &process);
    world_compare_requests(&world);
    exemptions_check(&world.exemptions);
    process_stop(&process);
    world_release(&world);
}
