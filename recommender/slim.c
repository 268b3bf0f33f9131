/*
 * A slim object is one arena. Texts are copied into it unless they are one of the well-known words,
 * which are static; the policy is a reference to a shared, counted copy, found by its text. What
 * holds pointers into the full object is copied too: the full object dies with the event that
 * brought it.
 */
#include "slim.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"
#include "vpa/model/object_status.h"

/* Annotations that the integer-CPU post-processor looks for. */
#define ANNOTATION_PREFIX "vpa-post-processor.kubernetes.io/"
/* Longest policy that is shared; longer ones are decoded for each object. */
#define POLICY_TEXT_MAX ((size_t)16384)

void slim_pool_release(struct slim_pool *pool)
{
    vpa_table_release(&pool->policies);
}

/* ---- policies ---- */

static struct slim_policy *policy_new(const char *key, const struct vpa_json *node)
{
    struct slim_policy *policy = vpa_xcalloc(1, sizeof(*policy));

    /* It was decoded once as a part of the object, so it can be decoded. */
    if (vpa_resource_policy_decode(&policy->arena, node, &policy->policy, NULL) < 0)
        policy->policy = (struct vpa_resource_policy){0};
    policy->references = 1;
    policy->key = vpa_xstrdup(key);
    return policy;
}

static struct slim_policy *policy_get(struct slim_pool *pool, const struct vpa_json *node)
{
    struct vpa_json_writer w;
    vpa_auto_buf key = {0};

    if (vpa_json_is_null(node))
        return NULL;
    vpa_buf_init(&key, POLICY_TEXT_MAX);
    vpa_json_writer_init(&w, &key);
    vpa_json_put_node(&w, node);
    if (vpa_buf_failed(&key))
        return policy_new("", node);

    struct slim_policy *policy = vpa_table_find(&pool->policies, vpa_buf_text(&key));
    if (policy) {
        policy->references++;
        return policy;
    }
    policy = policy_new(vpa_buf_text(&key), node);
    vpa_table_put(&pool->policies, policy->key, policy);
    return policy;
}

static void policy_unref(struct slim_pool *pool, struct slim_policy *policy)
{
    if (!policy || --policy->references > 0)
        return;
    if (*policy->key)
        vpa_table_remove(&pool->policies, policy->key);
    vpa_arena_release(&policy->arena);
    free(policy->key);
    free(policy);
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

static struct vpa_labels copy_annotations(struct vpa_arena *arena, const struct vpa_labels *all)
{
    struct vpa_labels kept = {.present = all->present};
    struct vpa_label *items;

    for (size_t i = 0; i < all->count; i++)
        kept.count += vpa_str_starts_with(all->items[i].key, ANNOTATION_PREFIX);
    if (kept.count == 0)
        return kept;
    kept.items = items = vpa_arena_alloc(arena, kept.count * sizeof(*items));
    for (size_t i = 0, n = 0; i < all->count; i++)
        if (vpa_str_starts_with(all->items[i].key, ANNOTATION_PREFIX))
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

/* Everything but the policy; the key, whose end is the name. */
static char *copy_object(struct vpa_arena *arena, const struct vpa_object *from,
                         struct vpa_object *to)
{
    char *key =
        vpa_arena_printf(arena, "%s%c%s", from->meta.ns, SLIM_KEY_SEPARATOR, from->meta.name);

    *to = *from;
    to->meta.name = key + strlen(from->meta.ns) + 1;
    copy_meta(arena, &to->meta);
    copy_target(arena, to);
    copy_recommenders(arena, to);
    copy_conditions(arena, to);
    to->update_mode = copy_word(arena, from->update_mode);
    to->eviction_requirements = NULL; /* the updater's part */
    to->eviction_requirement_count = 0;
    to->startup_boost = (struct vpa_startup_boost){.type = ""};
    to->recommendation = vpa_recommendation_copy(arena, &from->recommendation);
    return key;
}

int slim_vpa_decode(struct slim_pool *pool, struct vpa_arena *scratch,
                    const struct vpa_json *source, struct slim_vpa *out, struct vpa_error *err)
{
    struct vpa_object whole;
    struct vpa_object trial;

    vpa_arena_clear(scratch);
    if (vpa_object_decode(scratch, source, &whole, err) < 0)
        return -1;
    /* The first copy tells the size, so that the arena of the second one has no room to spare. */
    vpa_arena_alloc(scratch, 0); /* aligned, as a fresh arena is */
    size_t before = scratch->used;
    copy_object(scratch, &whole, &trial);
    *out = (struct slim_vpa){0};
    vpa_arena_init(&out->arena, scratch->used - before);
    out->key = copy_object(&out->arena, &whole, &out->object);
    out->policy = policy_get(pool, vpa_json_at(source, "spec.resourcePolicy"));
    out->object.resource_policy =
        out->policy ? out->policy->policy : (struct vpa_resource_policy){0};
    return 0;
}

void slim_vpa_release(struct slim_pool *pool, struct slim_vpa *vpa)
{
    policy_unref(pool, vpa->policy);
    vpa_arena_release(&vpa->arena);
    *vpa = (struct slim_vpa){0};
}
