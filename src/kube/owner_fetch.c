/*
 * Asking for one scale: a small state machine, at most one call under way.
 *
 *     group known? -> [read the group ->] GET through each mapping of the kind
 *                                         -> the first that answers
 *
 * It never pumps the loop, so it can run behind timers and posted calls; owner_scale_fetch waits
 * for it where waiting is allowed.
 */
#include <stdlib.h>
#include <string.h>

#include "owner_internal.h"
#include "vpa/base/str.h"

struct owner_fetch {
    struct vpa_owners *owners;
    LIST_ENTRY(owner_fetch) link;
    struct owner_scale *scale; /* being made */
    struct vpa_arena arena;
    struct vpa_rest_mapping *mappings;
    size_t mapping_count;
    size_t mapping; /* that is asked */
    struct vpa_discovery_wait group;
    struct vpa_kube_request *request;
    owner_fetched_fn fn;
    void *ctx;
    int64_t begun; /* monotonic */
};

/* Group only: the version of the reference does not matter. */
static size_t group_length(const char *api_version)
{
    const char *slash = strchr(api_version, '/');

    return slash ? (size_t)(slash - api_version) : 0;
}

void owner_scale_key(struct vpa_buf *buf, const struct vpa_controller_key *k)
{
    vpa_buf_printf(buf, "%s\n%.*s\n%s\n%s", k->ns, (int)group_length(k->api_version),
                   k->api_version, k->kind, k->name);
}

void owner_kind_key(struct vpa_buf *buf, const struct vpa_controller_key *k, bool any)
{
    vpa_buf_printf(buf, "%.*s\n%s", (int)group_length(k->api_version), k->api_version,
                   any ? "" : k->kind);
}

/* Answers */

/* The kinds that upstream's client can decode here. */
static int check_kind(const struct vpa_json *object, struct vpa_error *err)
{
    static const char *const versions[] = {"autoscaling/v1", "extensions/v1beta1", "apps/v1beta1",
                                           "apps/v1beta2"};
    const char *kind = vpa_json_string(vpa_json_find(object, "kind"));
    const char *version = vpa_json_string(vpa_json_find(object, "apiVersion"));

    for (size_t i = 0; i < VPA_COUNT(versions); i++)
        if (vpa_str_eq(kind, "Scale") && vpa_str_eq(version, versions[i]))
            return 0;
    return vpa_fail(err, VPA_INVALID, "no kind \"%s\" is registered for version \"%s\"",
                    vpa_or_empty(kind), vpa_or_empty(version));
}

static int keep_scale(struct owner_scale *s, const struct vpa_scale *scale, struct vpa_error *err)
{
    /* A selector that cannot be converted fails the GET as a whole (api.md 11.4). */
    if (vpa_selector_parse_scale(&s->arena, scale->selector_text, &s->selector, err) < 0)
        return -1;
    s->has_selector = *scale->selector_text != '\0';
    s->replicas = scale->spec_replicas;
    s->parent = owner_parent_copy(&s->arena, &scale->meta);
    s->ok = true;
    s->error = "";
    return 0;
}

static int take_answer(struct owner_scale *s, const struct vpa_kube_result *result,
                       struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_scale scale;

    if (vpa_json_parse(&arena, result->body, result->body_len, &root, err) < 0)
        return vpa_wrap(err, "scale of %s %s/%s", s->of.kind, s->of.ns, s->of.name);
    if (check_kind(root, err) < 0 || vpa_scale_decode(&arena, root, &scale, err) < 0)
        return -1;
    return keep_scale(s, &scale, err);
}

/* Steps */

static void release(struct owner_fetch *f)
{
    LIST_REMOVE(f, link);
    vpa_arena_release(&f->arena);
    owner_scale_unref(f->scale);
    free(f);
}

static void date(struct vpa_owners *o, struct owner_scale *s)
{
    s->fetched = s->last_read = vpa_loop_monotonic(o->loop);
    s->refresh_at = s->fetched + vpa_random_jitter(vpa_kube_client_random(o->client),
                                                   VPA_OWNER_SCALE_REFRESH, 1);
    s->pass = o->pass;
}

/* err NULL: the scale is good. */
static void finish(struct owner_fetch *f, const struct vpa_error *err)
{
    struct vpa_owners *o = f->owners;
    struct owner_scale *s = VPA_STEAL(f->scale);
    owner_fetched_fn fn = f->fn;
    void *ctx = f->ctx;

    if (err) {
        s->ok = false;
        s->code = err->code;
        s->error = vpa_arena_strdup(&s->arena, err->text);
    }
    date(o, s);
    s->slow = s->fetched - f->begun >= OWNER_SCALE_PATIENCE;
    release(f);
    fn(ctx, s);
}

static void ask(struct owner_fetch *f);

static void on_answer(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct owner_fetch *f = ctx;
    struct vpa_error why;

    f->request = NULL;
    f->scale->absent = err && err->code == VPA_NOT_FOUND;
    if (!err && take_answer(f->scale, result, &why) == 0) {
        finish(f, NULL);
        return;
    }
    if (!err)
        err = &why;
    if (++f->mapping == f->mapping_count)
        finish(f, err);
    else
        ask(f);
}

static void ask(struct owner_fetch *f)
{
    const struct vpa_rest_mapping *m = &f->mappings[f->mapping];
    vpa_auto_free char *group_version =
        *m->group ? vpa_xjoin(m->group, '/', m->version) : vpa_xstrdup(m->version);
    struct vpa_kube_call call = {.verb = VPA_KUBE_GET};
    struct vpa_error err;
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, group_version, f->scale->of.ns, m->resource, f->scale->of.name, "scale");
    if (vpa_buf_failed(&path)) { /* so it is with every mapping */
        vpa_fail(&err, VPA_INVALID, "name too long");
        finish(f, &err);
        return;
    }
    call.path = vpa_buf_text(&path);
    f->request = vpa_kube_start(f->owners->client, &call, on_answer, f);
}

/* Discovery may be asked by somebody else before the answers are there: a copy is needed. */
static void keep_mappings(struct owner_fetch *f, const struct vpa_rest_mapping *found, size_t count)
{
    f->mappings = vpa_arena_alloc(&f->arena, count * sizeof(*f->mappings));
    f->mapping_count = count;
    for (size_t i = 0; i < count; i++)
        f->mappings[i] = (struct vpa_rest_mapping){
            .group = vpa_arena_strdup(&f->arena, found[i].group),
            .version = vpa_arena_strdup(&f->arena, found[i].version),
            .resource = vpa_arena_strdup(&f->arena, found[i].resource),
        };
}

static bool any_scalable(const struct vpa_rest_mapping *found, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (found[i].scalable)
            return true;
    return false;
}

static void begin(void *ctx)
{
    struct owner_fetch *f = ctx;
    struct vpa_discovery *discovery = f->owners->discovery;
    const char *version = f->scale->of.api_version;
    vpa_auto_free char *group = vpa_xstrndup(version, group_length(version));
    const struct vpa_rest_mapping *found;
    struct vpa_error err;
    size_t count;

    if (vpa_discovery_peek(discovery, group, f->scale->of.kind, &found, &count, &err) == 0) {
        if (!any_scalable(found, count) && !vpa_discovery_is_of_pass(discovery, group)) {
            vpa_discovery_read(discovery, group, &f->group); /* it may have one by now */
            return;
        }
        keep_mappings(f, found, count);
        ask(f);
    } else if (err.code == VPA_RETRY) {
        vpa_discovery_read(discovery, group, &f->group);
    } else {
        if (err.code == VPA_NOT_FOUND && vpa_discovery_is_incomplete(discovery, group))
            err.code = VPA_RETRY; /* a version that cannot be read may have the kind */
        finish(f, &err);
    }
}

static void on_group(void *ctx, const struct vpa_error *err)
{
    struct owner_fetch *f = ctx;

    if (err)
        finish(f, err);
    else
        begin(f);
}

/* Life */

static struct owner_scale *scale_new(const struct vpa_controller_key *key)
{
    struct owner_scale *s = vpa_xcalloc(1, sizeof(*s));
    vpa_auto_buf text = VPA_BUF(VPA_KUBE_PATH_MAX);

    owner_scale_key(&text, key);
    vpa_arena_init(&s->arena, 512);
    atomic_init(&s->refs, 1);
    s->key = vpa_arena_strdup(&s->arena, vpa_buf_text(&text));
    s->of = owner_copy_key(&s->arena, key);
    s->error = "";
    s->selector.nothing = true;
    return s;
}

struct owner_fetch *owner_fetch_start(struct vpa_owners *o, const struct vpa_controller_key *key,
                                      owner_fetched_fn fn, void *ctx)
{
    struct owner_fetch *f = vpa_xcalloc(1, sizeof(*f));

    f->owners = o;
    f->scale = scale_new(key);
    f->fn = fn;
    f->ctx = ctx;
    f->begun = vpa_loop_monotonic(o->loop);
    f->group = (struct vpa_discovery_wait){.fn = on_group, .ctx = f};
    LIST_INSERT_HEAD(&o->fetches, f, link);
    vpa_loop_post(o->loop, begin, f);
    return f;
}

void owner_fetch_cancel(struct owner_fetch *f)
{
    vpa_loop_unpost(f->owners->loop, begin, f);
    vpa_discovery_unwait(&f->group);
    if (f->request)
        vpa_kube_cancel(f->request);
    release(f);
}

bool owner_fetch_is_under_way(const struct vpa_owners *o, const struct vpa_controller_key *key,
                              vpa_duration since)
{
    vpa_auto_buf text = VPA_BUF(VPA_KUBE_PATH_MAX);
    int64_t now = vpa_loop_monotonic(o->loop);
    const struct owner_fetch *f;

    owner_scale_key(&text, key);
    LIST_FOREACH (f, &o->fetches, link)
        if (now - f->begun >= since && strcmp(f->scale->key, vpa_buf_text(&text)) == 0)
            return true;
    return false;
}

size_t owner_fetch_count_hanging(const struct vpa_owners *o)
{
    const struct owner_fetch *f;
    size_t count = 0;

    LIST_FOREACH (f, &o->fetches, link)
        count += owner_scale_hangs(o, &f->scale->of);
    return count;
}

/* Without asking */

struct owner_scale *owner_scale_missing(struct vpa_owners *o, const struct vpa_controller_key *key)
{
    vpa_auto_free char *group = vpa_xstrndup(key->api_version, group_length(key->api_version));
    const struct vpa_rest_mapping *found;
    struct owner_scale *s;
    struct vpa_error err;
    size_t count;
    bool is_kind = vpa_discovery_peek(o->discovery, group, key->kind, &found, &count, &err) == 0;

    if (is_kind ? any_scalable(found, count) || !vpa_discovery_is_of_pass(o->discovery, group)
                : err.code != VPA_NOT_FOUND || vpa_discovery_is_incomplete(o->discovery, group))
        return NULL;
    s = scale_new(key);
    s->absent = is_kind;
    s->code = VPA_NOT_FOUND;
    s->error = is_kind ? "the server could not find the requested resource"
                       : vpa_arena_strdup(&s->arena, err.text);
    date(o, s);
    return s;
}

bool owner_kind_is_read(const struct vpa_owners *o, const struct vpa_controller_key *key)
{
    vpa_auto_free char *group = vpa_xstrndup(key->api_version, group_length(key->api_version));
    const struct vpa_rest_mapping *found;
    struct vpa_error err;
    size_t count;

    return vpa_discovery_peek(o->discovery, group, key->kind, &found, &count, &err) == 0 ||
           err.code != VPA_RETRY;
}

/* Waiting */

static void on_fetched(void *ctx, struct owner_scale *scale)
{
    *(struct owner_scale **)ctx = scale;
}

static bool is_fetched(void *ctx)
{
    return *(struct owner_scale **)ctx != NULL;
}

struct owner_scale *owner_scale_fetch(struct vpa_owners *o, const struct vpa_controller_key *key,
                                      struct vpa_error *err)
{
    struct owner_scale *scale = NULL;
    struct owner_fetch *f = owner_fetch_start(o, key, on_fetched, &scale);

    if (vpa_loop_wait(o->loop, is_fetched, &scale, OWNER_SCALE_PATIENCE, err) == 0)
        return scale;
    if (scale) { /* came with the stop */
        owner_scale_unref(scale);
    } else if (vpa_loop_is_stopping(o->loop)) {
        owner_fetch_cancel(f);
    } else {
        vpa_fail(err, VPA_RETRY, "no answer yet");
        f->fn = owner_scale_on_late;
        f->ctx = o;
        o->background++;
    }
    vpa_wrap(err, "scale of %s %s/%s", key->kind, key->ns, key->name);
    return NULL;
}
