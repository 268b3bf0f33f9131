/*
 * From estimates to the texts in the status of a VPA.
 */
#include "vpa/model/recommend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/str.h"
#include "vpa/model/cluster_learners.h"

#define INTEGER_CPU_PREFIX "vpa-post-processor.kubernetes.io/"
#define INTEGER_CPU_SUFFIX "_integerCPU"

void vpa_rendering_init(struct vpa_rendering *r)
{
    *r = (struct vpa_rendering){.round_cpu_millicores = 1, .round_memory_bytes = 1};
}

/* ---- estimation ---- */

static const struct vpa_container_policy *policy_of(const struct vpa_autoscaler *v,
                                                    const char *container)
{
    return vpa_policy_find(&vpa_autoscaler_object(v)->resource_policy, container);
}

static bool is_off(const struct vpa_container_policy *policy)
{
    return policy && policy->mode && strcmp(policy->mode, "Off") == 0;
}

/* Without a list both resources are controlled; names other than the two are ignored. */
static bool controls(const struct vpa_container_policy *policy, enum vpa_kind kind)
{
    if (!policy || !policy->has_controlled_resources)
        return true;
    return vpa_str_is_in(vpa_kind_name(kind), policy->controlled_resources,
                         policy->controlled_resource_count);
}

static void init_item(struct vpa_container_estimate *item, const struct vpa_autoscaler *v,
                      const char *container)
{
    const struct vpa_container_policy *policy = policy_of(v, container);

    item->container = container;
    item->controlled[VPA_KIND_CPU] = controls(policy, VPA_KIND_CPU);
    item->controlled[VPA_KIND_MEMORY] = controls(policy, VPA_KIND_MEMORY);
}

/* Of another algorithm: a container that it knows too little of is left out. */
static void estimate_known(const struct vpa_autoscaler *v, vpa_time now, struct vpa_arena *arena,
                           struct vpa_estimates *out)
{
    struct vpa_known *known;
    size_t count = vpa_autoscaler_knowledge(v, arena, &known), kept = 0;

    for (size_t i = 0; i < count && kept < VPA_LIST_MAX; i++) {
        if (!is_off(policy_of(v, known[i].container)))
            known[kept++] = known[i];
    }
    out->left_out = count - kept;
    out->count = 0;
    out->items = vpa_arena_alloc(arena, (kept + 1) * sizeof(*out->items));
    for (size_t i = 0; i < kept; i++) {
        struct vpa_container_estimate *item = &out->items[out->count];
        init_item(item, v, known[i].container);
        out->count += vpa_knowledge_estimate(known[i].knowledge, &(struct vpa_question){now, kept},
                                             &item->estimate);
    }
}

void vpa_estimate(struct vpa_cluster *c, struct vpa_autoscaler *v, const struct vpa_estimator *e,
                  vpa_time now, struct vpa_arena *arena, struct vpa_estimates *out)
{
    struct vpa_histories histories;
    size_t kept = 0;

    if (vpa_autoscaler_method(v)) {
        estimate_known(v, now, arena, out);
        return;
    }
    vpa_cluster_histories(c, v, now, &histories);
    for (size_t i = 0; i < histories.count && kept < VPA_LIST_MAX; i++) {
        if (!is_off(policy_of(v, histories.items[i].container)))
            histories.items[kept++] = histories.items[i];
    }
    out->left_out = histories.count - kept;
    out->count = kept;
    out->items = vpa_arena_alloc(arena, (kept + 1) * sizeof(*out->items));
    for (size_t i = 0; i < kept; i++) {
        struct vpa_container_estimate *item = &out->items[i];
        struct vpa_history history = vpa_aggregate_history(histories.items[i].aggregate);
        struct vpa_amounts minimum = vpa_estimator_minimum(e, kept);

        init_item(item, v, histories.items[i].container);
        vpa_estimator_estimate(e, &history, &minimum, &item->estimate);
    }
    vpa_histories_release(&histories);
}

/* ---- rendering ---- */

/* Up to a multiple of factor, in double as upstream; products beyond 64 bits saturate. */
static vpa_amount round_up(vpa_amount amount, int64_t factor)
{
    vpa_amount product;

    if (factor <= 0 || factor == 1 || amount == 0)
        return amount;
    int64_t multiples = vpa_trunc_int64(ceil((double)amount / (double)factor));
    return __builtin_mul_overflow(multiples, factor, &product) ? INT64_MAX : product;
}

void vpa_render_humanized(vpa_amount bytes, struct vpa_buf *out)
{
    static const struct {
        vpa_amount size;
        const char *suffix;
    } units[] = {{INT64_C(1) << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}};

    for (size_t i = 0; i < VPA_COUNT(units); i++) {
        if (bytes >= units[i].size) {
            vpa_buf_printf(out, "%.2f%s", (double)bytes / (double)units[i].size, units[i].suffix);
            return;
        }
    }
    vpa_buf_printf(out, "%lld", (long long)bytes);
}

static struct vpa_quantity humanize(vpa_amount bytes, struct vpa_arena *arena)
{
    struct vpa_quantity q = vpa_quantity_units(bytes, VPA_BINARY_SI);
    vpa_auto_buf text = VPA_BUF(64);

    vpa_render_humanized(bytes, &text);
    if (vpa_quantity_parse(arena, vpa_buf_text(&text), &q, NULL) < 0)
        return vpa_quantity_units(bytes, VPA_BINARY_SI);
    return q;
}

struct vpa_quantity vpa_render_amount(enum vpa_kind kind, vpa_amount amount,
                                      const struct vpa_rendering *r, struct vpa_arena *arena)
{
    if (kind == VPA_KIND_CPU)
        return vpa_quantity_milli(round_up(amount, r->round_cpu_millicores));
    amount = round_up(amount, r->round_memory_bytes);
    if (r->humanize_memory && amount != 0)
        return humanize(amount, arena);
    return vpa_quantity_units(amount, VPA_BINARY_SI);
}

static struct vpa_resource_list render_list(const struct vpa_container_estimate *estimate,
                                            enum vpa_bound bound, const struct vpa_rendering *r,
                                            struct vpa_arena *arena)
{
    struct vpa_resource_list list = {
        .items = vpa_arena_alloc(arena, VPA_KINDS * sizeof(*list.items)),
        .present = true,
    };

    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        if (estimate->controlled[kind])
            list.items[list.count++] = (struct vpa_resource){
                .name = vpa_kind_name(kind),
                .quantity =
                    vpa_render_amount(kind, estimate->estimate.bound[bound].value[kind], r, arena),
            };
    }
    return list;
}

struct vpa_recommendation vpa_render(const struct vpa_estimates *estimates,
                                     const struct vpa_rendering *r, struct vpa_arena *arena)
{
    struct vpa_recommendation rec = {
        .present = true,
        .containers = vpa_arena_alloc(arena, (estimates->count + 1) * sizeof(*rec.containers)),
        .container_count = estimates->count,
    };

    for (size_t i = 0; i < estimates->count; i++) {
        const struct vpa_container_estimate *estimate = &estimates->items[i];
        rec.containers[i] = (struct vpa_container_recommendation){
            .container_name = vpa_arena_strdup(arena, estimate->container),
            .target = render_list(estimate, VPA_TARGET, r, arena),
            .lower_bound = render_list(estimate, VPA_LOWER_BOUND, r, arena),
            .upper_bound = render_list(estimate, VPA_UPPER_BOUND, r, arena),
            .uncapped_target = render_list(estimate, VPA_TARGET, r, arena),
        };
    }
    vpa_recommendation_index(arena, &rec);
    return rec;
}

/* ---- integer CPU ---- */

static void round_list(struct vpa_resource_list *list, struct vpa_arena *arena)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, VPA_CPU) == 0)
            vpa_quantity_round_up(arena, &list->items[i].quantity, 0);
    }
}

/* The entry of the container that the annotation's key names, or NULL. */
static struct vpa_container_recommendation *named_entry(const struct vpa_recommendation *rec,
                                                        const char *key)
{
    size_t prefix = strlen(INTEGER_CPU_PREFIX), suffix = strlen(INTEGER_CPU_SUFFIX);
    size_t length = strlen(key);

    if (length <= prefix + suffix || !vpa_str_starts_with(key, INTEGER_CPU_PREFIX) ||
        !vpa_str_ends_with(key, INTEGER_CPU_SUFFIX))
        return NULL;
    vpa_auto_free char *name = vpa_xstrndup(key + prefix, length - prefix - suffix);
    return vpa_recommendation_find(rec, name);
}

void vpa_recommend_integer_cpu(struct vpa_recommendation *rec, const struct vpa_labels *annotations,
                               struct vpa_arena *arena)
{
    for (size_t i = 0; i < annotations->count; i++) {
        const struct vpa_label *annotation = &annotations->items[i];
        struct vpa_container_recommendation *r =
            strcmp(annotation->value, "true") == 0 ? named_entry(rec, annotation->key) : NULL;

        if (!r)
            continue;
        round_list(&r->target, arena);
        round_list(&r->lower_bound, arena);
        round_list(&r->upper_bound, arena);
        round_list(&r->uncapped_target, arena);
    }
}
