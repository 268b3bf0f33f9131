/*
 * Set recommendation: from histories to the text of status.recommendation; rendering;
 * post-processors.
 */
#include <string.h>

#include "golden.h"
#include "vpa/base/str.h"
#include "vpa/model/recommend.h"
#include "vpa/policy/capping.h"

struct bench { /* the work bench of one case */
    struct golden_case *c;
    struct vpa_aggregation global;
    struct vpa_estimator estimator;
    struct vpa_rendering rendering;
    bool integer_cpu;
    struct vpa_resource_list global_max;
    struct vpa_cluster *cluster;
    const char *ns;
};

/* ---- reading ---- */

static void read_double_flag(const struct vpa_json *flags, const char *name, double *out)
{
    const struct vpa_json *node = vpa_json_find(flags, name);

    if (node)
        golden_read_double(node, out);
}

static void read_duration_flag(const struct vpa_json *flags, const char *name, vpa_duration *out)
{
    const char *text = golden_text_of(flags, name);

    if (text && vpa_duration_parse(text, out, NULL) < 0)
        *out = 0;
}

static void read_int_flag(const struct vpa_json *flags, const char *name, int64_t *out)
{
    if (vpa_json_find(flags, name))
        golden_read_int(vpa_json_find(flags, name), out);
}

static void read_maximum(struct bench *b, const struct vpa_json *flags, const char *flag,
                         const char *resource)
{
    struct vpa_quantity q;

    if (vpa_json_find(flags, flag) &&
        vpa_quantity_decode(b->c->arena, vpa_json_find(flags, flag), &q, NULL) == 0)
        vpa_resource_set(b->c->arena, &b->global_max, resource, q);
}

static void read_flags(struct bench *b, const struct vpa_json *flags)
{
    static const struct {
        const char *name;
        enum vpa_bound bound;
        enum vpa_kind kind;
    } percentiles[] = {
        {"target-cpu-percentile", VPA_TARGET, VPA_KIND_CPU},
        {"target-memory-percentile", VPA_TARGET, VPA_KIND_MEMORY},
        {"recommendation-lower-bound-cpu-percentile", VPA_LOWER_BOUND, VPA_KIND_CPU},
        {"recommendation-lower-bound-memory-percentile", VPA_LOWER_BOUND, VPA_KIND_MEMORY},
        {"recommendation-upper-bound-cpu-percentile", VPA_UPPER_BOUND, VPA_KIND_CPU},
        {"recommendation-upper-bound-memory-percentile", VPA_UPPER_BOUND, VPA_KIND_MEMORY},
    };
    const char *gates = golden_text_of(flags, "feature-gates");

    vpa_aggregation_init(&b->global);
    vpa_estimator_init(&b->estimator);
    vpa_rendering_init(&b->rendering);
    for (size_t i = 0; i < VPA_COUNT(percentiles); i++)
        read_double_flag(flags, percentiles[i].name,
                         &b->estimator.percentile[percentiles[i].bound][percentiles[i].kind]);
    read_double_flag(flags, "recommendation-margin-fraction", &b->estimator.margin);
    read_double_flag(flags, "pod-recommendation-min-cpu-millicores",
                     &b->estimator.min_cpu_millicores);
    read_double_flag(flags, "pod-recommendation-min-memory-mb", &b->estimator.min_memory_mb);
    read_duration_flag(flags, "confidence-interval-cpu",
                       &b->estimator.confidence_interval[VPA_KIND_CPU]);
    read_duration_flag(flags, "confidence-interval-memory",
                       &b->estimator.confidence_interval[VPA_KIND_MEMORY]);
    read_duration_flag(flags, "cpu-histogram-decay-half-life", &b->global.cpu_half_life);
    read_duration_flag(flags, "memory-histogram-decay-half-life", &b->global.memory_half_life);
    read_duration_flag(flags, "memory-aggregation-interval", &b->global.memory_interval);
    read_int_flag(flags, "memory-aggregation-interval-count", &b->global.memory_interval_count);
    read_double_flag(flags, "oom-bump-up-ratio", &b->global.oom_bump_up_ratio);
    read_double_flag(flags, "oom-min-bump-up-bytes", &b->global.oom_min_bump_up);
    b->global.per_vpa_config = gates && strstr(gates, "PerVPAConfig=true");
    vpa_json_bool(vpa_json_find(flags, "humanize-memory"), &b->rendering.humanize_memory);
    read_int_flag(flags, "round-cpu-millicores", &b->rendering.round_cpu_millicores);
    read_int_flag(flags, "round-memory-bytes", &b->rendering.round_memory_bytes);
    vpa_json_bool(vpa_json_find(flags, "cpu-integer-post-processor-enabled"), &b->integer_cpu);
    read_maximum(b, flags, "container-recommendation-max-allowed-cpu", VPA_CPU);
    read_maximum(b, flags, "container-recommendation-max-allowed-memory", VPA_MEMORY);
}

/* ---- the cluster of a case ---- */

static void put_pods(struct bench *b)
{
    struct golden_case *c = b->c;

    vpa_json_foreach (pod, GOLDEN_IN(c, "pods")) {
        const char *name = golden_text_of(pod, "name");
        struct vpa_labels labels;
        struct vpa_error err;

        if (vpa_labels_decode(c->arena, vpa_json_find(pod, "labels"), &labels, &err) < 0) {
            golden_unexpected(c, "labels", err.text);
            return;
        }
        vpa_cluster_put_bare_pod(b->cluster, b->ns, name, &labels, VPA_PHASE_RUNNING, 0);
        vpa_json_foreach (item, vpa_json_find(pod, "containers")) {
            if (vpa_cluster_put_container(b->cluster, b->ns, name, vpa_json_string(item), 0, &err) <
                0)
                golden_unexpected(c, "container", err.text);
        }
    }
}

static bool find_target(struct bench *b, const struct vpa_json *event, struct vpa_sample_target *to)
{
    const struct vpa_container_name name = {b->ns, golden_text_of(event, "pod"),
                                            golden_text_of(event, "container")};

    return vpa_cluster_container(b->cluster, &name, 0, to, NULL) == 0;
}

/* Refused samples are part of the cases. */
static void add(struct bench *b, const struct vpa_json *event, enum vpa_kind kind, vpa_time t,
                int64_t amount)
{
    struct vpa_sample_target to;

    if (find_target(b, event, &to))
        (void)!vpa_cluster_add_sample(&to, kind, t, amount, 0, NULL);
}

static void add_oom(struct bench *b, const struct vpa_json *event)
{
    struct vpa_sample_target to;

    if (find_target(b, event, &to))
        (void)!vpa_cluster_record_oom(&to, golden_time_of(vpa_json_find(event, "t")),
                                      golden_int_of(event, "requested"), 0, NULL);
}

static int64_t *read_pattern(struct bench *b, const struct vpa_json *list, size_t *count)
{
    int64_t *values = vpa_arena_alloc(b->c->arena, (vpa_json_count(list) + 1) * sizeof(*values));

    *count = 0;
    vpa_json_foreach (value, list) {
        values[*count] = 0;
        golden_read_int(value, &values[(*count)++]);
    }
    return values;
}

static void play_series(struct bench *b, const struct vpa_json *event)
{
    size_t cpu_count;
    size_t memory_count;
    const int64_t *cpu = read_pattern(b, vpa_json_find(event, "cpu"), &cpu_count);
    const int64_t *memory = read_pattern(b, vpa_json_find(event, "memory"), &memory_count);
    vpa_time t0 = golden_time_of(vpa_json_find(event, "t0"));
    int64_t step = golden_int_of(event, "step");
    size_t n = (size_t)golden_int_of(event, "n");

    for (size_t i = 0; i < n; i++) {
        vpa_time t = t0 + (vpa_time)i * step;
        if (cpu_count)
            add(b, event, VPA_KIND_CPU, t, cpu[i % cpu_count]);
        if (memory_count)
            add(b, event, VPA_KIND_MEMORY, t, memory[i % memory_count]);
    }
}

static void play_events(struct bench *b)
{
    vpa_json_foreach (event, GOLDEN_IN(b->c, "events")) {
        if (vpa_str_eq(golden_text_of(event, "kind"), "series"))
            play_series(b, event);
        else
            add_oom(b, event);
    }
}

static void load_checkpoints(struct bench *b, const char *vpa_name)
{
    vpa_json_foreach (loaded, GOLDEN_IN(b->c, "loaded_checkpoints")) {
        struct vpa_checkpoint checkpoint;
        struct vpa_error err;

        if (vpa_checkpoint_decode(b->c->arena, loaded, &checkpoint, &err) < 0 ||
            vpa_cluster_load_checkpoint(b->cluster, b->ns, vpa_name,
                                        golden_text_of(loaded, "container"), &checkpoint.status,
                                        VPA_TIME_UNSET, &err) < 0)
            golden_unexpected(b->c, "loaded_checkpoints", err.text);
    }
}

/* ---- comparing ---- */

static const char *encode(struct bench *b, const struct vpa_recommendation *rec)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(1 << 20);

    if (!rec->present)
        return "null";
    vpa_json_writer_init(&w, &text);
    vpa_recommendation_encode(&w, rec);
    return golden_label(b->c, "%s", vpa_buf_text(&text));
}

static void compare_amounts(struct bench *b, const struct vpa_estimates *estimates)
{
    static const char *const bounds[VPA_BOUNDS] = {"target", "lowerBound", "upperBound"};
    struct golden_case *c = b->c;
    const struct vpa_json *amounts = GOLDEN_OUT(c, "amounts");

    golden_count(c, "amounts", amounts, estimates->count);
    for (size_t i = 0; i < estimates->count; i++) {
        const struct vpa_container_estimate *e = &estimates->items[i];
        for (enum vpa_bound bound = VPA_TARGET; bound < VPA_BOUNDS; bound++) {
            const struct vpa_json *want =
                vpa_json_find(vpa_json_find(amounts, e->container), bounds[bound]);
            golden_count(c, golden_label(c, "amounts.%s.%s", e->container, bounds[bound]), want,
                         (size_t)e->controlled[VPA_KIND_CPU] + e->controlled[VPA_KIND_MEMORY]);
            for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
                const char *label = golden_label(c, "amounts.%s.%s.%s", e->container, bounds[bound],
                                                 vpa_kind_name(kind));
                if (e->controlled[kind])
                    golden_int(c, label, vpa_json_find(want, vpa_kind_name(kind)),
                               e->estimate.bound[bound].value[kind]);
                else if (vpa_json_find(want, vpa_kind_name(kind)))
                    golden_difference(c, label, "an amount", "none");
            }
        }
    }
}

static void compare_confidence(struct bench *b, struct vpa_autoscaler *v)
{
    struct golden_case *c = b->c;
    struct vpa_histories histories;

    vpa_cluster_histories(b->cluster, v, 0, &histories);
    if (vpa_json_count(GOLDEN_OUT(c, "confidence")) == 0)
        golden_compared(c,
                        GOLDEN_OUT(c, "confidence")); /* as many as estimates, which is compared */
    for (size_t i = 0; i < histories.count; i++) {
        const char *name = histories.items[i].container;
        const struct vpa_json *want = vpa_json_find(GOLDEN_OUT(c, "confidence"), name);
        struct vpa_history history = vpa_aggregate_history(histories.items[i].aggregate);

        if (!want)
            continue;
        golden_int(c, golden_label(c, "confidence.%s.samples", name),
                   vpa_json_find(want, "samples"), history.sample_count);
        for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
            golden_double(c, golden_label(c, "confidence.%s.%s", name, vpa_kind_name(kind)),
                          vpa_json_find(want, vpa_kind_name(kind)),
                          vpa_estimator_confidence(&b->estimator, &history, kind));
    }
    vpa_histories_release(&histories);
}

static void run_full(struct bench *b)
{
    struct golden_case *c = b->c;
    struct vpa_selector selector;
    struct vpa_object object;
    struct vpa_estimates estimates;
    struct vpa_error err;

    read_flags(b, GOLDEN_IN(c, "flags"));
    struct vpa_cluster_options options = {.aggregation = &b->global};
    b->cluster = vpa_cluster_new(&options);
    if (vpa_object_decode(c->arena, GOLDEN_IN(c, "vpa"), &object, &err) < 0 ||
        vpa_selector_parse(c->arena, golden_in_text(c, "selector"), &selector, &err) < 0) {
        golden_unexpected(c, "vpa", err.text);
        return;
    }
    b->ns = object.meta.ns;
    struct vpa_autoscaler *v = vpa_cluster_put_vpa(b->cluster, &object, &selector, NULL, 0);
    load_checkpoints(b, object.meta.name);
    put_pods(b);
    play_events(b);

    vpa_estimate(b->cluster, v, &b->estimator, 0, c->arena, &estimates);
    compare_amounts(b, &estimates);
    compare_confidence(b, v);
    struct vpa_recommendation rec = vpa_render(&estimates, &b->rendering, c->arena);
    if (b->integer_cpu)
        vpa_recommend_integer_cpu(&rec, &object.meta.annotations, c->arena);
    rec = vpa_capping_policy(c->arena, &rec, &object.resource_policy, &b->global_max);
    golden_text(c, "recommendation", GOLDEN_OUT(c, "recommendation"), encode(b, &rec));
    vpa_cluster_free(b->cluster);
    vpa_aggregation_release(&b->global);
}

static void run_render(struct bench *b)
{
    struct golden_case *c = b->c;
    struct vpa_rendering r;
    struct vpa_resource_list list = {.present = true};
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(1024);
    vpa_auto_buf humanized = VPA_BUF(64);

    vpa_rendering_init(&r);
    vpa_json_bool(GOLDEN_IN(c, "humanize"), &r.humanize_memory);
    r.round_cpu_millicores = golden_in_int(c, "round_cpu");
    r.round_memory_bytes = golden_in_int(c, "round_memory");
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
        vpa_resource_set(
            c->arena, &list, vpa_kind_name(kind),
            vpa_render_amount(kind, golden_in_int(c, vpa_kind_name(kind)), &r, c->arena));
    vpa_json_writer_init(&w, &text);
    vpa_resource_list_encode(&w, &list);
    golden_text(c, "json", GOLDEN_OUT(c, "json"), vpa_buf_text(&text));
    vpa_render_humanized(golden_in_int(c, "memory"), &humanized);
    golden_text(c, "humanized", GOLDEN_OUT(c, "humanized"), vpa_buf_text(&humanized));
}

static void run_integer_cpu(struct bench *b)
{
    struct golden_case *c = b->c;
    struct vpa_recommendation rec;
    struct vpa_labels annotations;
    struct vpa_error err;

    if (vpa_labels_decode(c->arena, GOLDEN_IN(c, "annotations"), &annotations, &err) < 0 ||
        vpa_recommendation_decode(c->arena, GOLDEN_IN(c, "recommendation"), &rec, &err) < 0) {
        golden_unexpected(c, "in", err.text);
        return;
    }
    vpa_recommend_integer_cpu(&rec, &annotations, c->arena);
    golden_text(c, "recommendation", GOLDEN_OUT(c, "recommendation"), encode(b, &rec));
}

static void run_policy_cap(struct bench *b)
{
    struct golden_case *c = b->c;
    struct vpa_recommendation rec;
    struct vpa_resource_policy policy;
    struct vpa_resource_list global_max;
    struct vpa_error err;

    if (vpa_recommendation_decode(c->arena, GOLDEN_IN(c, "recommendation"), &rec, &err) < 0 ||
        vpa_resource_policy_decode(c->arena, GOLDEN_IN(c, "policy"), &policy, &err) < 0 ||
        vpa_resource_list_decode(c->arena, GOLDEN_IN(c, "global_max"), &global_max, &err) < 0) {
        golden_unexpected(c, "in", err.text);
        return;
    }
    rec = vpa_capping_policy(c->arena, &rec, &policy, &global_max);
    golden_text(c, "recommendation", GOLDEN_OUT(c, "recommendation"), encode(b, &rec));
}

static void run(struct golden_case *c)
{
    struct bench b = {.c = c};

    if (strcmp(c->file, "full") == 0)
        run_full(&b);
    else if (strcmp(c->file, "render") == 0)
        run_render(&b);
    else if (strcmp(c->file, "integer_cpu") == 0)
        run_integer_cpu(&b);
    else if (strcmp(c->file, "policy_cap") == 0)
        run_policy_cap(&b);
    else
        golden_skip(c, "unknown file %s", c->file);
}

const struct golden_set golden_set_recommendation = {.name = "recommendation", .run = run};
