/*
 * Scale answers. A GET through each mapping of the kind until one answers; the result, good or bad,
 * is remembered per (namespace, group, kind, name). Good ones are fetched again after 10 to 20
 * minutes, bad ones in the next pass (U19 of docs/compatibility.md); what nobody has read for an
 * hour goes. Targets that views need are followed: fetched again every 30 s in the background.
 *
 * Background work pumps the loop inside a callback; `busy` keeps it to one at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "owner_internal.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"

#define SWEEP (7 * VPA_SECOND)
#define FOLLOW_REFRESH (30 * VPA_SECOND)
#define FOLLOW_FOR (10 * VPA_MINUTE)
#define NEGATIVE_REFRESH (10 * VPA_SECOND) /* in the background, for views */

struct owner_scale *owner_scale_ref(struct owner_scale *scale)
{
    if (scale)
        atomic_fetch_add(&scale->refs, 1);
    return scale;
}

void owner_scale_unref(struct owner_scale *scale)
{
    if (!scale || atomic_fetch_sub(&scale->refs, 1) != 1)
        return;
    vpa_arena_release(&scale->arena);
    free(scale);
}

/* Group only: the version of the reference does not matter. */
static size_t group_length(const char *api_version)
{
    const char *slash = strchr(api_version, '/');

    return slash ? (size_t)(slash - api_version) : 0;
}

void owner_scale_key(struct vpa_buf *buf, const char *ns, const char *api_version, const char *kind,
                     const char *name)
{
    vpa_buf_printf(buf, "%s\n%.*s\n%s\n%s", ns, (int)group_length(api_version), api_version, kind,
                   name);
}

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

/* Asking */

static int get_scale(struct vpa_owners *o, const struct vpa_rest_mapping *m, const char *ns,
                     const char *name, struct vpa_arena *arena, struct vpa_scale *out, bool *absent,
                     struct vpa_error *err)
{
    vpa_auto_free char *group_version =
        *m->group ? vpa_xprintf("%s/%s", m->group, m->version) : vpa_xstrdup(m->version);
    const struct vpa_json *root;
    vpa_auto_buf path = {0};

    *absent = false;
    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(&path, group_version, ns, m->resource, name, "scale");
    if (vpa_buf_failed(&path))
        return vpa_fail(err, VPA_INVALID, "name too long");
    if (vpa_kube_get_json(o->client, vpa_buf_text(&path), arena, &root, err) < 0) {
        *absent = err->code == VPA_NOT_FOUND;
        return -1;
    }
    if (check_kind(root, err) < 0)
        return -1;
    return vpa_scale_decode(arena, root, out, err);
}

static void keep_parent(struct owner_scale *s, const struct vpa_scale *scale)
{
    const struct vpa_owner_reference *parent = vpa_meta_controller_first(&scale->meta);

    if (parent)
        s->parent = (struct parent){vpa_arena_strdup(&s->arena, parent->kind),
                                    vpa_arena_strdup(&s->arena, parent->name),
                                    vpa_arena_strdup(&s->arena, parent->api_version)};
}

static int keep_scale(struct owner_scale *s, const struct vpa_scale *scale, struct vpa_error *err)
{
    /* A selector that cannot be converted fails the GET as a whole (api.md 11.4). */
    if (vpa_selector_parse_scale(&s->arena, scale->selector_text, &s->selector, err) < 0)
        return -1;
    s->has_selector = *scale->selector_text != '\0';
    s->replicas = scale->spec_replicas;
    keep_parent(s, scale);
    s->ok = true;
    s->absent = false;
    s->error = "";
    return 0;
}

static int ask(struct vpa_owners *o, struct owner_scale *s, struct vpa_error *err)
{
    vpa_auto_free char *group = vpa_xstrndup(s->api_version, group_length(s->api_version));
    const struct vpa_rest_mapping *found;
    vpa_auto_arena arena = {0};
    size_t count;

    if (vpa_discovery_find(o->discovery, group, s->kind, &found, &count, err) < 0)
        return -1;
    /* The answer may take a while, in which somebody else asks discovery: a copy is needed. */
    struct vpa_rest_mapping *mappings = vpa_arena_alloc(&arena, count * sizeof(*mappings));
    for (size_t i = 0; i < count; i++)
        mappings[i] = (struct vpa_rest_mapping){
            .group = group,
            .version = vpa_arena_strdup(&arena, found[i].version),
            .resource = vpa_arena_strdup(&arena, found[i].resource),
        };
    for (size_t i = 0; i < count; i++) {
        struct vpa_scale scale;

        if (get_scale(o, &mappings[i], s->ns, s->name, &arena, &scale, &s->absent, err) == 0 &&
            keep_scale(s, &scale, err) == 0)
            return 0;
        if (err->code == VPA_CANCELLED)
            return -1;
    }
    return -1;
}

struct owner_scale *owner_scale_fetch(struct vpa_owners *o, const char *ns, const char *api_version,
                                      const char *kind, const char *name, struct vpa_error *err)
{
    struct owner_scale *s = vpa_xcalloc(1, sizeof(*s));
    struct vpa_error why;
    vpa_auto_buf key = {0};

    vpa_buf_init(&key, VPA_KUBE_PATH_MAX);
    owner_scale_key(&key, ns, api_version, kind, name);
    vpa_arena_init(&s->arena, 512);
    atomic_init(&s->refs, 1);
    s->key = vpa_arena_strdup(&s->arena, vpa_buf_text(&key));
    s->ns = vpa_arena_strdup(&s->arena, ns);
    s->api_version = vpa_arena_strdup(&s->arena, api_version);
    s->kind = vpa_arena_strdup(&s->arena, kind);
    s->name = vpa_arena_strdup(&s->arena, name);
    s->selector.nothing = true;
    if (ask(o, s, &why) < 0) {
        if (why.code == VPA_CANCELLED) {
            if (err)
                *err = why;
            owner_scale_unref(s);
            return NULL;
        }
        s->ok = false;
        s->code = why.code;
        s->error = vpa_arena_strdup(&s->arena, why.text);
    }
    s->fetched = s->last_read = vpa_loop_monotonic(o->loop);
    s->refresh_at = s->fetched + vpa_random_jitter(vpa_kube_client_random(o->client),
                                                   VPA_OWNER_SCALE_REFRESH, 1);
    s->pass = o->pass;
    return s;
}

/* Remembering */

static void make_room(struct vpa_owners *o)
{
    struct owner_scale *oldest = NULL;
    const char *key;
    void *value;

    if (o->scales.count < VPA_OWNER_SCALE_MAX)
        return;
    for (size_t i = 0; vpa_table_next(&o->scales, &i, &key, &value);) {
        struct owner_scale *s = value;
        if (!oldest || s->last_read < oldest->last_read)
            oldest = s;
    }
    owner_scale_unref(vpa_table_remove(&o->scales, oldest->key));
}

static bool same_answer(const struct owner_scale *a, const struct owner_scale *b)
{
    vpa_auto_buf x = {0}, y = {0};

    vpa_buf_init(&x, 1 << 20);
    vpa_buf_init(&y, 1 << 20);
    vpa_selector_format(&a->selector, &x);
    vpa_selector_format(&b->selector, &y);
    return a->ok == b->ok && a->absent == b->absent && strcmp(a->error, b->error) == 0 &&
           a->has_selector == b->has_selector && vpa_str_eq(a->parent.kind, b->parent.kind) &&
           vpa_str_eq(a->parent.name, b->parent.name) &&
           vpa_str_eq(a->parent.api_version, b->parent.api_version) &&
           a->selector.nothing == b->selector.nothing &&
           strcmp(vpa_buf_text(&x), vpa_buf_text(&y)) == 0;
}

static void remember(struct vpa_owners *o, struct owner_scale *s)
{
    struct owner_scale *old = vpa_table_find(&o->scales, s->key);

    if (old)
        s->followed_until = old->followed_until;
    else
        make_room(o);
    if (!old || !same_answer(old, s)) {
        o->scales_changed = true;
        owners_note_change(o);
    }
    owner_scale_unref(vpa_table_put(&o->scales, s->key, s));
    if (!vpa_timer_is_running(o->sweep))
        vpa_timer_start(o->sweep, SWEEP);
}

static struct owner_scale *find_scale(const struct vpa_owners *o, const char *ns,
                                      const char *api_version, const char *kind, const char *name)
{
    vpa_auto_buf key = {0};

    vpa_buf_init(&key, VPA_KUBE_PATH_MAX);
    owner_scale_key(&key, ns, api_version, kind, name);
    return vpa_table_find(&o->scales, vpa_buf_text(&key));
}

struct owner_scale *owner_scale_get(struct vpa_owners *o, const char *ns, const char *api_version,
                                    const char *kind, const char *name, struct vpa_error *err)
{
    struct owner_scale *s = find_scale(o, ns, api_version, kind, name);
    int64_t now = vpa_loop_monotonic(o->loop);

    if (!s || now >= s->refresh_at || (!s->ok && s->pass != o->pass)) {
        s = owner_scale_fetch(o, ns, api_version, kind, name, err);
        if (!s)
            return NULL;
        remember(o, s);
    }
    s->last_read = now;
    return s;
}

void owner_scales_release(struct vpa_owners *o)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&o->scales, &i, &key, &value);)
        owner_scale_unref(value);
    vpa_table_release(&o->scales);
}

/* In the background */

static bool is_due(const struct owner_scale *s, int64_t now)
{
    if (now < s->followed_until && now - s->fetched >= FOLLOW_REFRESH)
        return true;
    if (!s->ok && now - s->fetched >= NEGATIVE_REFRESH && now - s->last_read < VPA_MINUTE)
        return true;
    return now >= s->refresh_at;
}

static void refresh(struct vpa_owners *o, const struct owner_scale *old)
{
    int64_t last_read = old->last_read;
    vpa_auto_arena arena = {0};
    /* The old one may be replaced by another asker while this one waits. */
    struct owner_scale *s = owner_scale_fetch(
        o, vpa_arena_strdup(&arena, old->ns), vpa_arena_strdup(&arena, old->api_version),
        vpa_arena_strdup(&arena, old->kind), vpa_arena_strdup(&arena, old->name), NULL);

    if (!s)
        return;
    s->last_read = last_read;
    remember(o, s);
}

static struct owner_scale *next_due(struct vpa_owners *o, int64_t now)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&o->scales, &i, &key, &value);) {
        struct owner_scale *s = value;

        if (atomic_exchange(&s->read, false))
            s->last_read = now;
        if (now - s->last_read >= VPA_OWNER_SCALE_UNREAD && now >= s->followed_until) {
            vpa_table_remove(&o->scales, key);
            owner_scale_unref(s);
            o->scales_changed = true;
        } else if (is_due(s, now)) {
            return s;
        }
    }
    return NULL;
}

void owner_scales_sweep(void *ctx)
{
    struct vpa_owners *o = ctx;
    int64_t now = vpa_loop_monotonic(o->loop);
    struct owner_scale *s;

    if (o->scales.count > 0)
        vpa_timer_start(o->sweep, SWEEP);
    if (o->busy)
        return;
    o->busy = true;
    /* Each is fetched at most once per sweep: a fetched one is not due at the same `now`. */
    while (!vpa_loop_is_stopping(o->loop) && (s = next_due(o, now)) != NULL)
        refresh(o, s);
    o->busy = false;
    owner_scales_wanted(o); /* what was asked for meanwhile */
}

static bool take_wanted(struct owner_wanted *w, struct vpa_controller_key *out)
{
    bool any;

    pthread_mutex_lock(&w->lock);
    any = w->count > 0;
    if (any)
        *out = w->keys[--w->count];
    pthread_mutex_unlock(&w->lock);
    return any;
}

static void key_release(struct vpa_controller_key *k)
{
    free((char *)(uintptr_t)k->ns);
    free((char *)(uintptr_t)k->kind);
    free((char *)(uintptr_t)k->name);
    free((char *)(uintptr_t)k->api_version);
}

void owner_scales_wanted(void *ctx)
{
    struct vpa_owners *o = ctx;
    struct vpa_controller_key k;

    if (o->busy) /* whoever is busy will see to it */
        return;
    o->busy = true;
    while (!vpa_loop_is_stopping(o->loop) && take_wanted(o->wanted, &k)) {
        owner_scale_get(o, k.ns, k.api_version, k.kind, k.name, NULL);
        key_release(&k);
    }
    o->busy = false;
}

void owner_wanted_add(struct owner_wanted *w, const struct vpa_controller_key *key)
{
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < w->count; i++)
        if (vpa_controller_key_equal(&w->keys[i], key)) {
            pthread_mutex_unlock(&w->lock);
            return;
        }
    if (w->owners && w->count < OWNER_WANTED_MAX) {
        w->keys[w->count++] =
            (struct vpa_controller_key){vpa_xstrdup(key->ns), vpa_xstrdup(key->kind),
                                        vpa_xstrdup(key->name), vpa_xstrdup(key->api_version)};
        vpa_loop_post(w->owners->loop, owner_scales_wanted, w->owners);
    }
    pthread_mutex_unlock(&w->lock);
}

void owner_wanted_unref(struct owner_wanted *w)
{
    if (atomic_fetch_sub(&w->refs, 1) != 1)
        return;
    for (size_t i = 0; i < w->count; i++)
        key_release(&w->keys[i]);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void vpa_owners_keep_target(struct vpa_owners *o, const char *ns, const char *api_version,
                            const char *kind, const char *name)
{
    const struct vpa_controller_key key = {ns, kind, name, api_version};

    if (vpa_is_well_known_kind(kind) || owner_bad_api_version(api_version))
        return;
    struct owner_scale *s = find_scale(o, ns, api_version, kind, name);
    if (s)
        s->last_read = vpa_loop_monotonic(o->loop);
    else
        owner_wanted_add(o->wanted, &key);
}

void vpa_owners_follow_target(struct vpa_owners *o, const char *ns, const char *api_version,
                              const char *kind, const char *name)
{
    int64_t until = vpa_loop_monotonic(o->loop) + FOLLOW_FOR;

    if (vpa_is_well_known_kind(kind) || owner_bad_api_version(api_version))
        return;
    struct owner_scale *s = find_scale(o, ns, api_version, kind, name);
    if (s) {
        s->followed_until = until;
        return;
    }
    const struct vpa_controller_key key = {ns, kind, name, api_version};
    owner_wanted_add(o->wanted, &key);
}
