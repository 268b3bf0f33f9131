/*
 * VPAs of the cluster and which groups they select.
 *
 * With 10,000 VPAs in one namespace, trying every selector on every new label set would take a
 * hundred million matches. Nearly all selectors demand some "key = value", so each VPA is filed
 * under one such pair, and a label set only asks the VPAs under its own pairs. Of several pairs the
 * one with the fewest VPAs is taken: "app.kubernetes.io/managed-by=Helm" would be no help.
 * Selectors without such a pair are filed under their namespace and always tried.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_private.h"

/* Upstream's message for a VPA that stays without a recommendation. */
#define MISSING_LIMIT (30 * VPA_MINUTE)
/* Longest text of a selector: the API server takes no larger object. */
#define SELECTOR_TEXT_MAX (2u << 20)

/* ---- index of selectors ---- */

/* "namespace" or "namespace/key=value"; names of namespaces hold no slash. */
static void index_key(struct vpa_buf *out, const char *ns, const char *key, const char *value)
{
    vpa_buf_clear(out);
    vpa_buf_puts(out, ns);
    if (key) {
        vpa_buf_putc(out, '/');
        vpa_buf_puts(out, key);
        vpa_buf_putc(out, '=');
        vpa_buf_puts(out, value);
    }
}

/* Keys and values of labels are short; longer ones (from Prometheus) are cut, which is harmless:
 * the bucket then also holds VPAs with other values, and each one is matched in full. */
#define INDEX_KEY_MAX 1024

static size_t bucket_size(const struct vpa_cluster *c, const char *key)
{
    const struct vpa_selector_bucket *bucket = vpa_table_find(&c->selectors, key);

    return bucket ? bucket->count : 0;
}

/* The key under which the VPA goes; heap text. */
static char *choose_key(const struct vpa_cluster *c, const struct vpa_autoscaler *v)
{
    vpa_auto_buf key = VPA_BUF(INDEX_KEY_MAX);
    char *best = NULL;
    size_t best_size = 0;

    for (size_t i = 0; i < v->selector.count; i++) {
        const struct vpa_requirement *r = &v->selector.items[i];
        const char *value = vpa_requirement_value(r);
        if (!value)
            continue;
        index_key(&key, v->ns, r->key, value);
        size_t size = bucket_size(c, vpa_buf_text(&key));
        if (!best || size < best_size) {
            vpa_replace_text(&best, vpa_buf_text(&key));
            best_size = size;
        }
    }
    return best ? best : vpa_xstrdup(v->ns);
}

static void file_selector(struct vpa_cluster *c, struct vpa_autoscaler *v)
{
    vpa_auto_free char *key = choose_key(c, v);
    struct vpa_selector_bucket *bucket =
        VPA_TABLE_MAKE(&c->selectors, key, struct vpa_selector_bucket, key);

    VPA_GROW_FROM(1, bucket->items, bucket->count, bucket->capacity); /* usually the only one */
    bucket->items[bucket->count++] = v;
    v->bucket = bucket;
}

static void unfile_selector(struct vpa_cluster *c, struct vpa_autoscaler *v)
{
    struct vpa_selector_bucket *bucket = v->bucket;
    size_t at = 0;

    if (!bucket)
        return;
    while (bucket->items[at] != v)
        at++;
    bucket->items[at] = bucket->items[--bucket->count];
    if (bucket->count == 0) {
        vpa_table_remove(&c->selectors, bucket->key);
        free(bucket->items);
        free(bucket);
    }
    v->bucket = NULL;
}

void vpa_selectors_candidates(const struct vpa_cluster *c, struct vpa_group *group,
                              void (*fn)(struct vpa_group *group, struct vpa_autoscaler *v))
{
    vpa_auto_buf key = VPA_BUF(INDEX_KEY_MAX);

    for (size_t i = 0; i <= group->label_count; i++) {
        if (i < group->label_count)
            index_key(&key, group->ns, group->labels[i].key, group->labels[i].value);
        else
            index_key(&key, group->ns, NULL, NULL);
        const struct vpa_selector_bucket *bucket =
            vpa_table_find(&c->selectors, vpa_buf_text(&key));
        for (size_t n = 0; bucket && n < bucket->count; n++)
            fn(group, bucket->items[n]);
    }
}

/* ---- selectors and links ---- */

static bool requirements_equal(const struct vpa_requirement *a, const struct vpa_requirement *b)
{
    if (a->op != b->op || a->value_count != b->value_count || !vpa_str_eq(a->key, b->key))
        return false;
    for (size_t i = 0; i < a->value_count; i++) {
        if (!vpa_str_eq(a->values[i], b->values[i]))
            return false;
    }
    return true;
}

/* By their texts, as upstream compares: "nothing" and "everything" are both the empty text, so a
 * change between these two goes unnoticed. */
static bool selectors_equal(const struct vpa_selector *a, const struct vpa_selector *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (!requirements_equal(&a->items[i], &b->items[i]))
            return false;
    }
    return true;
}

static void unlink_groups(struct vpa_cluster *c, struct vpa_autoscaler *v)
{
    while (v->group_count) {
        struct vpa_group *group = v->groups[v->group_count - 1];
        vpa_group_unlink(group, v);
        vpa_group_drop_if_unused(c, group);
    }
}

static void link_unlinked(struct vpa_group *group, struct vpa_autoscaler *v)
{
    if (v->unlinked && vpa_group_matches(group, v))
        vpa_group_link(group, v);
}

/* In the order of names, so that the last one wins whatever the order of the index. */
static void apply_unlinked(const struct vpa_group *group)
{
    for (uint32_t i = 0; i < group->vpa_count; i++) {
        for (struct vpa_member *m = group->members; m && group->vpas[i]->unlinked; m = m->next)
            vpa_autoscaler_apply(group->vpas[i], m);
    }
}

static void set_linked(struct vpa_cluster *c, struct vpa_autoscaler *v)
{
    c->unlinked_count -= v->unlinked;
    v->unlinked = false;
}

/* VPAs usually come in numbers; each would have to look at all groups. Going over the groups once,
 * each asking the index, costs the same for one VPA as for ten thousand. Which pods the memory
 * saver tracks depends on it too, so whoever asks for a tracked pod settles first. */
void vpa_cluster_settle(struct vpa_cluster *c)
{
    struct vpa_hashed *object;
    void *value;

    if (c->unlinked_count == 0)
        return;
    for (size_t i = 0; (object = vpa_pointer_set_next(&c->groups, &i));) {
        struct vpa_group *group = (struct vpa_group *)object;

        vpa_selectors_candidates(c, group, link_unlinked);
        vpa_group_sort_vpas(group);
        apply_unlinked(group);
        if (group->vpa_count)
            vpa_pods_promote(c, group, c->unlinked_since);
    }
    for (size_t i = 0; vpa_table_next(&c->vpas, &i, NULL, &value);)
        set_linked(c, value);
}

/* The first copy tells the size, so that the kept one has no room to spare. */
static void copy_selector(struct vpa_autoscaler *v, const struct vpa_selector *selector)
{
    vpa_auto_arena trial = {0};

    vpa_selector_copy(&trial, selector);
    vpa_arena_release(&v->arena);
    vpa_arena_init(&v->arena, trial.used);
    v->selector = vpa_selector_copy(&v->arena, selector);
}

/* Loaded histories stay (decision U2). */
static void set_selector(struct vpa_cluster *c, struct vpa_autoscaler *v,
                         const struct vpa_selector *selector, vpa_time now)
{
    if (v->has_selector && selectors_equal(&v->selector, selector))
        return;
    unlink_groups(c, v);
    unfile_selector(c, v);
    copy_selector(v, selector);
    v->has_selector = true;
    file_selector(c, v);
    c->unlinked_count += !v->unlinked;
    v->unlinked = true;
    c->unlinked_since = now;
}

void vpa_autoscaler_apply(const struct vpa_autoscaler *v, struct vpa_member *member)
{
    struct vpa_settings *s = &member->state.settings;

    s->under_vpa = true;
    s->update_mode = v->object->update_mode;
    vpa_settings_use_global(s, v->cluster->aggregation);
    vpa_settings_apply_policy(s, vpa_policy_find(&v->object->resource_policy, member->name),
                              v->cluster->aggregation->per_vpa_config);
}

/* ---- the target ---- */

void vpa_object_target(const struct vpa_object *o, struct vpa_buf *out)
{
    vpa_auto_buf selector = VPA_BUF(SELECTOR_TEXT_MAX);

    if (o->target_ref.present) {
        vpa_buf_printf(out, "%s/%s", vpa_or_empty(o->target_ref.kind),
                       vpa_or_empty(o->target_ref.name));
        return;
    }
    vpa_selector_format(&o->selector, &selector);
    vpa_buf_printf(out, "selector/%08" PRIx32, vpa_hash_stable(vpa_buf_text(&selector)));
}

static uint64_t target_hash(const struct vpa_autoscaler *v)
{
    vpa_auto_buf text = VPA_BUF(VPA_OBJECT_TARGET_MAX);

    vpa_object_target(v->object, &text);
    return vpa_hash_bytes(vpa_buf_text(&text), text.len);
}

/* As if the VPA were new. */
static void forget_history(struct vpa_cluster *c, struct vpa_autoscaler *v)
{
    vpa_side_free(v);
    vpa_autoscaler_free_initial(c, v);
    unlink_groups(c, v);
    unfile_selector(c, v);
    v->has_selector = false;
}

static void set_object(struct vpa_cluster *c, struct vpa_autoscaler *v,
                       const struct vpa_object *object)
{
    if (v->object == object)
        return;
    v->object = object;
    if (target_hash(v) != v->target)
        forget_history(c, v);
    v->target = target_hash(v);
    for (size_t i = 0; i < v->group_count; i++) {
        for (struct vpa_member *m = v->groups[i]->members; m; m = m->next)
            vpa_autoscaler_apply(v, m);
    }
}

/* ---- put, find, remove ---- */

static struct vpa_autoscaler *find_by_key(const struct vpa_cluster *c, const char *ns,
                                          const char *name)
{
    vpa_auto_buf key = VPA_BUF(1024);

    vpa_buf_printf(&key, "%s/%s", ns, name);
    return vpa_table_find(&c->vpas, vpa_buf_text(&key));
}

static struct vpa_autoscaler *make_autoscaler(struct vpa_cluster *c,
                                              const struct vpa_object *object)
{
    struct vpa_autoscaler *v = vpa_xcalloc(1, sizeof(*v));

    v->cluster = c;
    v->key = vpa_xjoin(object->meta.ns, '/', object->meta.name);
    v->ns = vpa_intern(c->names, object->meta.ns);
    v->name = vpa_intern(c->names, object->meta.name);
    v->object = object;
    v->target = target_hash(v);
    v->checkpoint_turns.last = -1;
    v->missing_since = VPA_TIME_UNSET;
    vpa_table_put(&c->vpas, v->key, v);
    c->sorted_valid = false;
    return v;
}

struct vpa_autoscaler *vpa_cluster_put_vpa(struct vpa_cluster *c, const struct vpa_object *object,
                                           const struct vpa_selector *selector,
                                           const char *unsupported, vpa_time now)
{
    struct vpa_autoscaler *v = find_by_key(c, object->meta.ns, object->meta.name);

    if (!v)
        v = make_autoscaler(c, object);
    set_object(c, v, object);
    v->resolved = selector != NULL;
    if (selector)
        set_selector(c, v, selector, now);
    if (!vpa_str_eq(v->unsupported, unsupported)) {
        vpa_replace_text(&v->unsupported, unsupported);
    }
    return v;
}

struct vpa_autoscaler *vpa_cluster_find_vpa(const struct vpa_cluster *c, const char *ns,
                                            const char *name)
{
    return find_by_key(c, ns, name);
}

void vpa_autoscaler_free(struct vpa_cluster *c, struct vpa_autoscaler *v)
{
    vpa_side_free(v);
    set_linked(c, v);
    unlink_groups(c, v);
    unfile_selector(c, v);
    vpa_autoscaler_free_initial(c, v);
    free(v->groups);
    free(v->unsupported);
    free(v->note);
    vpa_arena_release(&v->arena);
    vpa_unintern(c->names, v->ns);
    vpa_unintern(c->names, v->name);
    free(v->key);
    free(v);
}

bool vpa_cluster_remove_vpa(struct vpa_cluster *c, const char *ns, const char *name)
{
    struct vpa_autoscaler *v = find_by_key(c, ns, name);

    if (!v)
        return false;
    vpa_table_remove(&c->vpas, v->key);
    c->sorted_valid = false;
    vpa_autoscaler_free(c, v);
    return true;
}

static int compare_autoscalers(const void *a, const void *b)
{
    const struct vpa_autoscaler *x = *(struct vpa_autoscaler *const *)a;
    const struct vpa_autoscaler *y = *(struct vpa_autoscaler *const *)b;
    int by_ns = x->ns == y->ns ? 0 : strcmp(x->ns, y->ns);

    return by_ns ? by_ns : strcmp(x->name, y->name);
}

struct vpa_autoscaler *const *vpa_cluster_vpas(struct vpa_cluster *c, size_t *count)
{
    *count = c->vpas.count;
    if (!c->sorted_valid) {
        void *value;
        size_t n = 0;

        c->sorted = vpa_xreallocarray(c->sorted, *count + 1, sizeof(struct vpa_autoscaler *));
        for (size_t i = 0; vpa_table_next(&c->vpas, &i, NULL, &value);)
            c->sorted[n++] = value;
        qsort(c->sorted, n, sizeof(struct vpa_autoscaler *), compare_autoscalers);
        for (size_t i = 0; i < n; i++)
            c->sorted[i]->place = (uint32_t)i;
        c->sorted_valid = true;
    }
    return c->sorted;
}

/* ---- what others may read ---- */

size_t vpa_autoscaler_place(const struct vpa_autoscaler *v)
{
    return v->place;
}

const struct vpa_object *vpa_autoscaler_object(const struct vpa_autoscaler *v)
{
    return v->object;
}

const char *vpa_autoscaler_ns(const struct vpa_autoscaler *v)
{
    return v->ns;
}

const char *vpa_autoscaler_name(const struct vpa_autoscaler *v)
{
    return v->name;
}

const struct vpa_selector *vpa_autoscaler_selector(const struct vpa_autoscaler *v)
{
    return v->has_selector ? &v->selector : NULL;
}

bool vpa_autoscaler_resolved(const struct vpa_autoscaler *v)
{
    return v->resolved;
}

const char *vpa_autoscaler_unsupported(const struct vpa_autoscaler *v)
{
    return v->unsupported;
}

size_t vpa_autoscaler_pod_count(const struct vpa_autoscaler *v)
{
    size_t count = 0;

    vpa_cluster_settle(v->cluster);
    for (size_t i = 0; v->resolved && i < v->group_count; i++)
        count += v->groups[i]->pod_count;
    return count;
}

size_t vpa_autoscaler_aggregate_count(const struct vpa_autoscaler *v)
{
    size_t count = 0;

    vpa_cluster_settle(v->cluster);
    for (size_t i = 0; i < v->group_count; i++) {
        for (const struct vpa_member *m = v->groups[i]->members; m; m = m->next)
            count++;
    }
    return count;
}

const char **vpa_autoscaler_pods(const struct vpa_autoscaler *v, size_t *count)
{
    const char **names = vpa_xcalloc(vpa_autoscaler_pod_count(v) + 1, sizeof(*names));
    size_t n = 0;

    for (size_t i = 0; v->resolved && i < v->group_count; i++) {
        for (struct vpa_tracked_pod *pod = v->groups[i]->pods; pod; pod = pod->next)
            names[n++] = vpa_tracked_pod_name(pod);
    }
    qsort(names, n, sizeof(*names), vpa_str_compare);
    *count = n;
    return names;
}

bool vpa_autoscaler_awaits_history(const struct vpa_autoscaler *v)
{
    return v->awaits_history;
}

void vpa_autoscaler_set_awaits_history(struct vpa_autoscaler *v, bool awaits)
{
    v->awaits_history = awaits;
}

struct vpa_checkpoint_turns *vpa_autoscaler_checkpoint_turns(struct vpa_autoscaler *v)
{
    return &v->checkpoint_turns;
}

/* ---- order of groups ---- */

static int compare_groups(const void *a, const void *b)
{
    const struct vpa_group *x = *(struct vpa_group *const *)a, *y = *(struct vpa_group *const *)b;
    const struct vpa_labels p = {x->labels, x->label_count, true};
    const struct vpa_labels q = {y->labels, y->label_count, true};

    return vpa_labels_compare(&p, &q);
}

void vpa_autoscaler_sort_groups(struct vpa_autoscaler *v)
{
    if (!v->groups_sorted && v->group_count > 1)
        qsort(v->groups, v->group_count, sizeof(struct vpa_group *), compare_groups);
    v->groups_sorted = true;
}

/* ---- recommendations ---- */

static void note_recommendation(const struct vpa_cluster *c, struct vpa_member *m,
                                enum vpa_kind kind, const struct vpa_resource_list *uncapped,
                                size_t pods)
{
    const struct vpa_quantity *q = vpa_resource_find(uncapped, vpa_kind_name(kind));
    vpa_amount before = m->state.last_recommendation[kind];
    vpa_amount after = 0;

    if (q)
        after = kind == VPA_KIND_CPU ? vpa_quantity_milli_value(q) : vpa_quantity_value(q);
    if (before > 0 && c->hooks.change)
        c->hooks.change(c->hooks.ctx, m->state.settings.update_mode, kind, before, after, pods);
    m->state.last_recommendation[kind] = after;
}

/* Reported once per period of MISSING_LIMIT without a recommendation. */
static int check_missing(struct vpa_autoscaler *v, bool has_recommendation, vpa_time now,
                         struct vpa_error *err)
{
    if (has_recommendation) {
        v->missing_since = VPA_TIME_UNSET;
        return 0;
    }
    if (vpa_time_is_unset(v->missing_since)) {
        v->missing_since = now;
        return 0;
    }
    if (vpa_time_add(v->missing_since, MISSING_LIMIT) >= now)
        return 0;
    v->missing_since = now;
    return vpa_fail(err, VPA_NOT_FOUND, "VPA %s/%s is missing recommendation for more than 30m0s",
                    v->ns, v->name);
}

int vpa_cluster_set_recommendation(struct vpa_cluster *c, struct vpa_autoscaler *v,
                                   const struct vpa_recommendation *recommendation, vpa_time now,
                                   struct vpa_error *err)
{
    size_t pods = vpa_autoscaler_pod_count(v);

    for (size_t i = 0; i < v->group_count; i++) {
        for (struct vpa_member *m = v->groups[i]->members; m; m = m->next) {
            const struct vpa_container_recommendation *r =
                vpa_recommendation_find(recommendation, m->name);
            if (!r)
                continue;
            note_recommendation(c, m, VPA_KIND_CPU, &r->uncapped_target, pods);
            note_recommendation(c, m, VPA_KIND_MEMORY, &r->uncapped_target, pods);
        }
    }
    return check_missing(v, recommendation->container_count > 0, now, err);
}

/* ---- overlaps ---- */

void vpa_cluster_visit_overlaps(struct vpa_cluster *c, size_t least, vpa_overlap_fn visit,
                                void *ctx)
{
    struct vpa_hashed *object;

    vpa_cluster_settle(c);
    for (size_t i = 0; (object = vpa_pointer_set_next(&c->groups, &i));) {
        const struct vpa_group *group = (const struct vpa_group *)object;
        size_t count = 0;

        if (group->vpa_count < least || group->pod_count == 0)
            continue;
        vpa_auto_free struct vpa_autoscaler **resolved =
            vpa_xcalloc(group->vpa_count, sizeof(*resolved));
        for (size_t n = 0; n < group->vpa_count; n++)
            if (group->vpas[n]->resolved)
                resolved[count++] = group->vpas[n];
        if (count >= least)
            visit(ctx,
                  &(struct vpa_labels){
                      .items = group->labels, .count = group->label_count, .present = true},
                  resolved, count);
    }
}
