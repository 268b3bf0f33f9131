/*
 * The walk up the owners and the selector of a target, over either source of knowledge: the caches
 * of the loop, or a view. Texts of errors are upstream's, because the recommender shows them in
 * conditions (api.md 6.3 of the specification).
 */
#include "vpa/kube/owner.h"

#include <stdlib.h>
#include <string.h>

#include "owner_internal.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"

struct vpa_controller_key vpa_controller_key_of_owner(const char *ns,
                                                      const struct vpa_owner_reference *owner)
{
    return (struct vpa_controller_key){ns, owner->kind, owner->name, owner->api_version};
}

struct vpa_controller_key vpa_controller_key_of_target(const struct vpa_object *vpa)
{
    const struct vpa_target_ref *ref = &vpa->target_ref;

    return (struct vpa_controller_key){vpa->meta.ns, ref->kind, ref->name, ref->api_version};
}

bool vpa_controller_key_equal(const struct vpa_controller_key *a,
                              const struct vpa_controller_key *b)
{
    return strcmp(a->ns, b->ns) == 0 && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->name, b->name) == 0 && strcmp(a->api_version, b->api_version) == 0;
}

bool vpa_is_well_known_kind(const char *kind)
{
    return vpa_controller_kind_parse(kind) != VPA_KIND_OTHER;
}

bool owner_bad_api_version(const char *api_version)
{
    const char *slash = strchr(api_version, '/');

    return slash && strchr(slash + 1, '/');
}

bool vpa_owner_is_node_error(const struct vpa_error *err)
{
    return err->code == VPA_NOT_OURS;
}

/* NOT_FOUND is kept for an owner of a known kind that the caches do not have, perhaps not yet. */
static int fail_unhandled(const struct vpa_controller_key *k, enum vpa_code code,
                          const char *last_error, struct vpa_error *err)
{
    return vpa_fail(err, code == VPA_NOT_FOUND ? VPA_INVALID : code,
                    "unhandled targetRef %s / %s / %s, last error %s", k->api_version, k->kind,
                    k->name, last_error);
}

static bool is_node(const char *kind)
{
    return strcmp(kind, "Node") == 0;
}

/* Walk */

/* Well-known or scalable. -1: the source cannot say. */
static int eligible(const struct owner_source *source, const struct vpa_controller_key *k,
                    bool *out, struct vpa_error *err)
{
    *out = vpa_is_well_known_kind(k->kind);
    if (*out || is_node(k->kind))
        return 0;
    if (owner_bad_api_version(k->api_version)) {
        VPA_V(4, "Cannot parse API version", VPA_KV("apiVersion", k->api_version));
        return 0;
    }
    const struct owner_scale *scale = source->scale(source->ctx, k, err);
    if (!scale)
        return -1;
    *out = scale->ok;
    return 0;
}

static const struct parent *parent_of_entry(const struct owner_source *source,
                                            enum vpa_controller_kind kind,
                                            const struct vpa_controller_key *k,
                                            struct vpa_error *err)
{
    const struct owner_entry *entry = source->entry(source->ctx, kind, k->ns, k->name);

    if (entry)
        return &entry->parent;
    vpa_fail(err, VPA_NOT_FOUND, "%s %s/%s does not exist", k->kind, k->ns, k->name);
    return NULL;
}

/* Borrowed; one without a kind when there is none. NULL: err says why it is not known. */
static const struct parent *parent_of(const struct owner_source *source,
                                      const struct vpa_controller_key *k, struct vpa_error *err)
{
    static const struct parent none = {0};
    enum vpa_controller_kind kind = vpa_controller_kind_parse(k->kind);
    const struct owner_scale *scale;

    if (kind != VPA_KIND_OTHER)
        return parent_of_entry(source, kind, k, err);
    if (owner_bad_api_version(k->api_version)) {
        vpa_fail(err, VPA_INVALID, "unexpected GroupVersion string: %s", k->api_version);
    } else if (is_node(k->kind)) {
        fail_unhandled(k, VPA_NOT_OURS, NODE_OWNER_TEXT, err);
    } else if ((scale = source->scale(source->ctx, k, err)) != NULL) {
        if (scale->ok)
            return &scale->parent;
        if (scale->absent)
            return &none;
        fail_unhandled(k, scale->code, scale->error, err);
    }
    return NULL;
}

struct vpa_controller_key owner_copy_key(struct vpa_arena *arena,
                                         const struct vpa_controller_key *k)
{
    return (struct vpa_controller_key){
        vpa_arena_strdup(arena, k->ns), vpa_arena_strdup(arena, k->kind),
        vpa_arena_strdup(arena, k->name), vpa_arena_strdup(arena, k->api_version)};
}

int owner_walk(const struct owner_source *source, const struct vpa_controller_key *key,
               struct vpa_arena *arena, bool *found, struct vpa_controller_key *top,
               struct vpa_error *err)
{
    struct vpa_controller_key visited[VPA_OWNER_CHAIN_MAX];
    size_t count = 0, best = SIZE_MAX;
    bool good;

    visited[count++] = owner_copy_key(arena, key);
    if (eligible(source, &visited[0], &good, err) < 0)
        return -1;
    if (good)
        best = 0;
    for (;;) {
        const struct parent *parent = parent_of(source, &visited[count - 1], err);
        if (!parent)
            return -1;
        if (!parent->kind)
            break;
        const struct vpa_controller_key named = {key->ns, parent->kind, parent->name,
                                                 parent->api_version};
        struct vpa_controller_key owner = owner_copy_key(arena, &named);
        if (eligible(source, &owner, &good, err) < 0)
            return -1;
        for (size_t i = 0; i < count; i++)
            if (vpa_controller_key_equal(&visited[i], &owner))
                return vpa_fail(err, VPA_INVALID, "cycle detected in ownership chain");
        if (count == VPA_OWNER_CHAIN_MAX)
            return vpa_fail(err, VPA_LIMIT, "cycle detected in ownership chain");
        if (good)
            best = count;
        visited[count++] = owner;
    }
    *found = best != SIZE_MAX;
    if (*found)
        *top = visited[best];
    return 0;
}

/* Selectors */

static int selector_of_entry(const struct owner_entry *entry, const struct vpa_controller_key *k,
                             const struct vpa_selector **out, struct vpa_error *err)
{
    if (!entry)
        return vpa_fail(err, VPA_NOT_FOUND, "%s %s/%s does not exist", k->kind, k->ns, k->name);
    if (entry->selector_error)
        return vpa_fail(err, VPA_INVALID, "%s", entry->selector_error);
    *out = &entry->selector;
    return 0;
}

static int selector_of_scale(const struct owner_scale *scale, const struct vpa_selector **out,
                             struct vpa_error *err)
{
    const struct vpa_controller_key *k = &scale->of;
    struct vpa_error empty;

    if (!scale->ok)
        return fail_unhandled(k, scale->code, scale->error, err);
    if (!scale->has_selector) {
        vpa_fail(&empty, VPA_INVALID, "resource %s/%s has an empty selector for scale sub-resource",
                 k->ns, k->name);
        return fail_unhandled(k, VPA_INVALID, empty.text, err);
    }
    *out = &scale->selector;
    return 0;
}

int owner_selector(const struct owner_source *source, const struct vpa_controller_key *k,
                   const struct vpa_selector **out, struct vpa_error *err)
{
    enum vpa_controller_kind kind = vpa_controller_kind_parse(k->kind);

    if (kind != VPA_KIND_OTHER)
        return selector_of_entry(source->entry(source->ctx, kind, k->ns, k->name), k, out, err);
    if (owner_bad_api_version(k->api_version))
        return vpa_fail(err, VPA_INVALID, "unexpected GroupVersion string: %s", k->api_version);
    const struct owner_scale *scale = source->scale(source->ctx, k, err);
    return scale ? selector_of_scale(scale, out, err) : -1;
}

/* The caches of the loop as a source */

struct live {
    struct vpa_owners *owners;
    struct owner_scale *held; /* that of a target, with its reference */
};

static const struct owner_entry *live_entry(void *ctx, enum vpa_controller_kind kind,
                                            const char *ns, const char *name)
{
    const struct live *live = ctx;

    return owner_store_find(&live->owners->store, kind, ns, name);
}

static const struct owner_scale *live_scale(void *ctx, const struct vpa_controller_key *k,
                                            struct vpa_error *err)
{
    const struct live *live = ctx;

    return owner_scale_get_within(live->owners, k, INT64_MAX, err);
}

static const struct owner_scale *target_scale(void *ctx, const struct vpa_controller_key *k,
                                              struct vpa_error *err)
{
    struct live *live = ctx;

    live->held = owner_scale_of_target(live->owners, k, err);
    return live->held;
}

int vpa_owners_selector(struct vpa_owners *o, const struct vpa_controller_key *target,
                        struct vpa_arena *arena, struct vpa_selector *out, struct vpa_error *err)
{
    struct live live = {.owners = o};
    const struct owner_source source = {&live, live_entry, target_scale};
    const struct vpa_selector *selector;
    int rc = owner_selector(&source, target, &selector, err);

    if (rc == 0)
        *out = vpa_selector_copy(arena, selector);
    const struct owner_scale *known = owner_scale_find(o, target);
    if (rc == 0 && live.held && (!known || (o->target_age > 0 && known != live.held)))
        owner_scale_remember(o, live.held); /* the walk need not ask for it again */
    else
        owner_scale_unref(live.held);
    return rc;
}

int vpa_owners_topmost(struct vpa_owners *o, const struct vpa_controller_key *key,
                       struct vpa_arena *arena, bool *found, struct vpa_controller_key *top,
                       struct vpa_error *err)
{
    struct live live = {.owners = o};
    const struct owner_source source = {&live, live_entry, live_scale};

    return owner_walk(&source, key, arena, found, top, err);
}

bool vpa_owners_replicas_within(struct vpa_owners *o, const struct vpa_controller_key *key,
                                vpa_duration age, int32_t *replicas)
{
    enum vpa_controller_kind known = vpa_controller_kind_parse(key->kind);

    if (known != VPA_KIND_OTHER) {
        const struct owner_entry *entry = owner_store_find(&o->store, known, key->ns, key->name);

        if (!entry || !entry->has_replicas)
            return false;
        *replicas = entry->replicas;
        return true;
    }
    if (is_node(key->kind) || owner_bad_api_version(key->api_version))
        return false;
    const struct owner_scale *scale = owner_scale_get_within(o, key, age, NULL);
    if (!scale || !scale->ok)
        return false;
    *replicas = scale->replicas;
    return true;
}

bool vpa_owners_has_said(const struct vpa_owners *o, const struct vpa_controller_key *key)
{
    const struct owner_scale *scale = owner_scale_find(o, key);

    return scale && scale->said;
}

bool vpa_owners_replicas(struct vpa_owners *o, const struct vpa_controller_key *key,
                         int32_t *replicas)
{
    return vpa_owners_replicas_within(o, key, INT64_MAX, replicas);
}

bool vpa_owners_wanted(struct vpa_owners *o, const struct vpa_controller_key *key, int32_t *wanted)
{
    enum vpa_controller_kind known = vpa_controller_kind_parse(key->kind);

    if (known == VPA_KIND_OTHER)
        return vpa_owners_replicas(o, key, wanted);

    const struct owner_entry *entry = owner_store_find(&o->store, known, key->ns, key->name);

    if (!entry || !entry->has_replicas)
        return false;
    *wanted = entry->wanted;
    return true;
}

/* Life */

static void tell_change(void *ctx)
{
    struct vpa_owners *o = ctx;

    o->telling = false;
    if (o->on_change)
        o->on_change(o->on_change_ctx);
}

void owners_note_change(void *ctx)
{
    struct vpa_owners *o = ctx;

    o->changed = true;
    if (o->telling || !o->on_change)
        return;
    o->telling = true;
    vpa_loop_post(o->loop, tell_change, o);
}

void vpa_owners_on_change(struct vpa_owners *o, void (*fn)(void *ctx), void *ctx)
{
    o->on_change = fn;
    o->on_change_ctx = ctx;
}

struct vpa_owners *vpa_owners_new(const struct vpa_owners_options *options)
{
    struct vpa_owners *o = vpa_xcalloc(1, sizeof(*o));

    o->client = options->client;
    o->loop = vpa_kube_client_loop(options->client);
    o->discovery = vpa_discovery_new(options->client);
    o->changed = true;
    owner_store_init(&o->store, options, owners_note_change, o);
    o->sweep = vpa_timer_new(o->loop, owner_scales_sweep, o);
    o->failures = vpa_timer_new(o->loop, owners_note_change, o);
    o->wanted = owner_wanted_new(o);
    return o;
}

void vpa_owners_start(struct vpa_owners *o)
{
    if (o->started)
        return;
    o->started = true;
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++)
        vpa_cache_start(o->store.feeds[kind].cache);
}

void vpa_owners_free(struct vpa_owners *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->wanted->lock);
    o->wanted->owners = NULL;
    pthread_mutex_unlock(&o->wanted->lock);
    vpa_loop_unpost(o->loop, tell_change, o);
    vpa_loop_unpost(o->loop, owner_scales_wanted, o);
    owner_wanted_unref(o->wanted);
    vpa_timer_free(o->sweep);
    vpa_timer_free(o->failures);
    while (!LIST_EMPTY(&o->fetches))
        owner_fetch_cancel(LIST_FIRST(&o->fetches));
    vpa_owner_view_unref(o->view);
    owner_scales_release(o);
    owner_store_release(&o->store);
    vpa_discovery_free(o->discovery);
    free(o);
}

bool vpa_owners_is_synced(const struct vpa_owners *o)
{
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++)
        if (!vpa_cache_is_synced(o->store.feeds[kind].cache))
            return false;
    return true;
}

vpa_duration vpa_owners_age(const struct vpa_owners *o, int64_t now, const char **which)
{
    vpa_duration oldest = -1;

    for (int kind = 0; kind < VPA_KIND_COUNT; kind++) {
        vpa_duration age = vpa_cache_age(o->store.feeds[kind].cache, now);

        if (age <= oldest)
            continue;
        oldest = age;
        *which = vpa_controller_plural((enum vpa_controller_kind)kind);
    }
    return oldest;
}

int vpa_owners_wait(struct vpa_owners *o, vpa_duration timeout, struct vpa_error *err)
{
    struct vpa_reflector *reflectors[VPA_KIND_COUNT];

    for (int kind = 0; kind < VPA_KIND_COUNT; kind++)
        reflectors[kind] = vpa_cache_reflector(o->store.feeds[kind].cache);
    return vpa_reflector_wait(reflectors, VPA_KIND_COUNT, o->loop, timeout, err);
}

void vpa_owners_begin_pass(struct vpa_owners *o)
{
    owner_scales_begin_pass(o);
    vpa_discovery_begin_pass(o->discovery);
}

void vpa_owners_remember_targets(struct vpa_owners *o, vpa_duration age)
{
    o->target_age = age;
}

struct vpa_discovery *vpa_owners_discovery(struct vpa_owners *o)
{
    return o->discovery;
}
