/*
 * A slim object is one piece of memory, made by the cache. Texts are copied into it unless they are
 * one of the well-known words, which are static; the policy is a reference to a shared copy, found
 * by its text. What holds pointers into the full object is copied too: the full object dies with
 * the event that brought it.
 */
#include "slim.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"
#include "vpa/model/algorithm.h"
#include "vpa/model/object_status.h"

/* Annotations that the integer-CPU post-processor looks for. */
#define ANNOTATION_PREFIX "vpa-post-processor.kubernetes.io/"
/* Longest policy that is shared; longer ones are decoded for each object. */
#define POLICY_TEXT_MAX ((size_t)16384)

/* ---- policies ---- */

static void policy_free(struct slim_policy *policy)
{
    vpa_arena_release(&policy->arena);
    free(policy);
}

static struct slim_policy *policy_new(const char *key, const struct vpa_json *node)
{
    struct slim_policy *policy = vpa_xcalloc(1, sizeof(*policy));

    /* It was decoded once as a part of the object, so it can be decoded. */
    if (vpa_resource_policy_decode(&policy->arena, node, &policy->policy, NULL) < 0)
        policy->policy = (struct vpa_resource_policy){0};
    policy->key = vpa_arena_strdup(&policy->arena, key);
    return policy;
}

/* NULL when it is too long. */
static struct slim_policy *policy_get(struct slim_pool *pool, const struct vpa_json *node)
{
    struct vpa_json_writer w;
    vpa_auto_buf key = VPA_BUF(POLICY_TEXT_MAX);

    vpa_json_writer_init(&w, &key);
    vpa_json_put_node(&w, node);
    if (vpa_buf_failed(&key))
        return NULL;

    struct slim_policy *policy = vpa_table_find(&pool->policies, vpa_buf_text(&key));
    if (!policy) {
        policy = policy_new(vpa_buf_text(&key), node);
        vpa_table_put(&pool->policies, policy->key, policy);
    }
    return policy;
}

void slim_pool_sweep(struct slim_pool *pool, const struct vpa_cache_list *lists, size_t count)
{
    void *value;

    pool->round++;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < lists[i].count; k++) {
            const struct slim_vpa *vpa = vpa_cache_last(lists[i].objects[k]);

            if (vpa && vpa->policy)
                vpa->policy->round = pool->round;
        }
    for (size_t i = 0; vpa_table_next(&pool->policies, &i, NULL, &value);) {
        struct slim_policy *policy = value;

        if (policy->round == pool->round)
            continue;
        vpa_table_remove(&pool->policies, policy->key);
        policy_free(policy);
    }
}

void slim_pool_release(struct slim_pool *pool)
{
    slim_pool_sweep(pool, NULL, 0);
    vpa_table_release(&pool->policies);
}

/* ---- copies ---- */

/* Words that almost every VPA has. */
static const char *const well_known[] = {
    "",
    "True",
    "False",
    VPA_CONDITION_PROVIDED,
    VPA_CONDITION_NO_PODS,
    VPA_CONDITION_UNSUPPORTED,
    VPA_CONDITION_CONFLICT,
    VPA_CONDITION_WAITING,
    "apps/v1",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "batch/v1",
    "CronJob",
    "Job",
    "v1",
    "Auto",
    "Off",
    "Initial",
    "Recreate",
    "InPlaceOrRecreate",
    "InPlace",
    "default",
};

static const char *copy_word(struct vpa_arena *arena, const char *text)
{
    if (!text)
        return NULL;
    for (size_t i = 0; i < VPA_COUNT(well_known); i++)
        if (strcmp(text, well_known[i]) == 0)
            return well_known[i];
    return vpa_arena_strdup(arena, text);
}

/* Post-processing, and parameters of algorithms. */
static bool is_needed(const char *annotation)
{
    return vpa_str_starts_with(annotation, ANNOTATION_PREFIX) ||
           strstr(annotation, VPA_PARAMETER_ANNOTATION_SUFFIX);
}

static struct vpa_labels copy_annotations(struct vpa_arena *arena, const struct vpa_labels *all)
{
    struct vpa_labels kept = {.present = all->present};
    struct vpa_label *items;

    for (size_t i = 0; i < all->count; i++)
        kept.count += is_needed(all->items[i].key);
    if (kept.count == 0)
        return kept;
    kept.items = items = vpa_arena_alloc(arena, kept.count * sizeof(*items));
    for (size_t i = 0, n = 0; i < all->count; i++)
        if (is_needed(all->items[i].key))
            items[n++] = (struct vpa_label){vpa_arena_strdup(arena, all->items[i].key),
                                            vpa_arena_strdup(arena, all->items[i].value)};
    return kept;
}

static void copy_meta(struct vpa_arena *arena, struct vpa_meta *meta)
{
    meta->ns = copy_word(arena, meta->ns);
    meta->uid = vpa_arena_strdup(arena, meta->uid);
    meta->generate_name = "";
    meta->resource_version = "";
    meta->labels = (struct vpa_labels){0};
    meta->annotations = copy_annotations(arena, &meta->annotations);
    meta->owners = NULL;
    meta->owner_count = 0;
}

static void copy_target(struct vpa_arena *arena, struct vpa_object *o)
{
    struct vpa_target_ref *ref = &o->target_ref;

    ref->api_version = copy_word(arena, ref->api_version);
    ref->kind = copy_word(arena, ref->kind);
    /* Usually a VPA has the name of its target. */
    if (ref->name)
        ref->name = strcmp(ref->name, o->meta.name) == 0 ? o->meta.name
                                                         : vpa_arena_strdup(arena, ref->name);
    if (o->has_selector)
        o->selector = vpa_selector_copy(arena, &o->selector);
    o->selector_error = copy_word(arena, o->selector_error);
}

static void copy_recommenders(struct vpa_arena *arena, struct vpa_object *o)
{
    const char **names;

    if (o->recommender_count == 0)
        return;
    names = vpa_arena_alloc(arena, o->recommender_count * sizeof(*names));
    for (size_t i = 0; i < o->recommender_count; i++)
        names[i] = copy_word(arena, o->recommenders[i]);
    o->recommenders = names;
}

static void copy_conditions(struct vpa_arena *arena, struct vpa_object *o)
{
    struct vpa_condition *conditions;

    if (o->condition_count == 0)
        return;
    conditions = vpa_arena_alloc(arena, o->condition_count * sizeof(*conditions));
    for (size_t i = 0; i < o->condition_count; i++) {
        const struct vpa_condition *c = &o->conditions[i];

        conditions[i] = *c;
        conditions[i].type = copy_word(arena, c->type);
        conditions[i].status = copy_word(arena, c->status);
        conditions[i].reason = copy_word(arena, c->reason);
        conditions[i].message = copy_word(arena, c->message);
    }
    o->conditions = conditions;
}

/* Everything but the policy. */
static void copy_object(struct vpa_arena *arena, const struct vpa_object *from,
                        struct vpa_object *to)
{
    *to = *from;
    to->meta.name = vpa_arena_strdup(arena, from->meta.name);
    copy_meta(arena, &to->meta);
    copy_target(arena, to);
    copy_recommenders(arena, to);
    copy_conditions(arena, to);
    to->update_mode = copy_word(arena, from->update_mode);
    to->eviction_requirements = NULL; /* the updater's part */
    to->eviction_requirement_count = 0;
    to->startup_boost = NULL; /* the webhook's and the updater's */
    to->recommendation = vpa_recommendation_copy(arena, &from->recommendation);
}

/* ---- the kind ---- */

struct draft {
    struct vpa_object whole;
    const struct vpa_json *policy_source; /* NULL: it has none */
    struct slim_policy *policy;           /* NULL: not shared */
};

static int read_vpa(void *ctx, struct vpa_arena *scratch, const struct vpa_json *json,
                    const void **out, struct vpa_error *err)
{
    struct draft *draft = vpa_arena_zalloc(scratch, sizeof(*draft));
    const struct vpa_json *policy = vpa_json_at(json, "spec.resourcePolicy");

    if (vpa_object_decode(scratch, json, &draft->whole, err) < 0)
        return -1;
    if (!vpa_json_is_null(policy)) {
        draft->policy_source = policy;
        draft->policy = policy_get(ctx, policy);
    }
    *out = draft;
    return 0;
}

static int make_vpa(void *ctx, struct vpa_arena *arena, const void *from, void *object,
                    struct vpa_error *err)
{
    const struct draft *draft = from;
    struct slim_vpa *vpa = object;

    (void)ctx;
    copy_object(arena, &draft->whole, &vpa->object);
    vpa->policy = draft->policy;
    vpa->object.resource_policy = (struct vpa_resource_policy){0};
    if (draft->policy)
        vpa->object.resource_policy = draft->policy->policy;
    else if (draft->policy_source)
        return vpa_resource_policy_decode(arena, draft->policy_source, &vpa->object.resource_policy,
                                          err);
    return 0;
}

const struct vpa_cache_kind slim_vpas = {
    .size = sizeof(struct slim_vpa), .read = read_vpa, .make = make_vpa};
