/*
 * Set container_state: samples, OOMs, windows, checkpoints and settings of containers and
 * aggregates.
 */
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "histogram_compare.h"
#include "vpa/base/str.h"
#include "vpa/model/cluster.h"

#define STATES_MAX 64

struct named_aggregate {
    const char *name;
    struct vpa_aggregate state;
};
struct named_container {
    const char *name;
    struct vpa_container_state state;
};

struct bench { /* the work bench of one case */
    struct golden_case *c;
    struct vpa_aggregation global;
    vpa_time now;
    struct named_aggregate aggregates[STATES_MAX];
    size_t aggregate_count;
    struct named_container containers[STATES_MAX];
    size_t container_count;
};

/* ---- reading ---- */

static void read_config(struct bench *b)
{
    const struct vpa_json *config = GOLDEN_IN(b->c, "config");

    vpa_aggregation_init(&b->global);
    vpa_json_bool(GOLDEN_IN(b->c, "gate_per_vpa_config"), &b->global.per_vpa_config);
    if (!config)
        return;
    b->global.memory_interval = golden_int_of(config, "memory_aggregation_interval");
    b->global.memory_interval_count = golden_int_of(config, "memory_aggregation_interval_count");
    b->global.memory_half_life = golden_int_of(config, "memory_half_life");
    b->global.cpu_half_life = golden_int_of(config, "cpu_half_life");
    b->global.oom_bump_up_ratio = golden_double_of(config, "oom_bump_up_ratio");
    b->global.oom_min_bump_up = golden_double_of(config, "oom_min_bump_up_bytes");
    vpa_json_bool(vpa_json_find(config, "gate_per_vpa_config"), &b->global.per_vpa_config);
}

static struct vpa_aggregate *aggregate(struct bench *b, const char *name)
{
    for (size_t i = 0; i < b->aggregate_count; i++) {
        if (strcmp(b->aggregates[i].name, name) == 0)
            return &b->aggregates[i].state;
    }
    if (b->aggregate_count == STATES_MAX)
        abort();
    struct named_aggregate *a = &b->aggregates[b->aggregate_count++];
    a->name = name;
    vpa_aggregate_init(&a->state, &b->global, b->now);
    return &a->state;
}

static struct vpa_container_state *container(struct bench *b, const char *name)
{
    for (size_t i = 0; i < b->container_count; i++) {
        if (strcmp(b->containers[i].name, name) == 0)
            return &b->containers[i].state;
    }
    if (b->container_count == STATES_MAX)
        abort();
    struct named_container *n = &b->containers[b->container_count++];
    n->name = name;
    vpa_container_state_init(&n->state);
    return &n->state;
}

/* A single container policy as the API has it; NULL for null. */
static const struct vpa_container_policy *policy_of(struct bench *b, const struct vpa_json *node)
{
    struct vpa_resource_policy policy;
    const struct vpa_json *root;
    struct vpa_json_writer w;
    struct vpa_error err = {0};
    vpa_auto_buf text = VPA_BUF(1 << 16);

    if (vpa_json_is_null(node))
        return NULL;
    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    vpa_json_member_array(&w, "containerPolicies");
    vpa_json_put_node(&w, node);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    if (vpa_json_parse(b->c->arena, text.data, text.len, &root, &err) < 0 ||
        vpa_resource_policy_decode(b->c->arena, root, &policy, &err) < 0) {
        golden_unexpected(b->c, "policy", err.text);
        return NULL;
    }
    return policy.containers;
}

/* ---- comparing ---- */

static void compare_histogram(struct bench *b, const char *label, const struct vpa_json *want,
                              const struct vpa_decay *d)
{
    static const double percentiles[] = {0.5, 0.9};

    if (!want)
        return;
    compare_state(b->c, label, want, d, true);
    if (vpa_json_find(want, "p"))
        compare_percentiles(b->c, golden_label(b->c, "%s.p", label), vpa_json_find(want, "p"),
                            percentiles, VPA_COUNT(percentiles), &d->h);
}

static void compare_aggregate(struct bench *b, const char *label, const struct vpa_json *want,
                              const struct vpa_aggregate *a)
{
    if (!want)
        return;
    golden_int(b->c, golden_label(b->c, "%s.count", label), vpa_json_find(want, "count"),
               a->sample_count);
    golden_time(b->c, golden_label(b->c, "%s.first", label), vpa_json_find(want, "first"),
                a->first_sample);
    golden_time(b->c, golden_label(b->c, "%s.last", label), vpa_json_find(want, "last"),
                a->last_sample);
}

static void compare_container(struct bench *b, const char *label, const struct vpa_json *want,
                              const struct vpa_container_state *s)
{
    if (!want)
        return;
    golden_time(b->c, golden_label(b->c, "%s.last_cpu", label), vpa_json_find(want, "last_cpu"),
                vpa_container_time(s, VPA_LAST_CPU));
    golden_time(b->c, golden_label(b->c, "%s.last_memory", label),
                vpa_json_find(want, "last_memory"), vpa_container_time(s, VPA_LAST_MEMORY));
    golden_time(b->c, golden_label(b->c, "%s.window_end", label), vpa_json_find(want, "window_end"),
                vpa_container_time(s, VPA_WINDOW_END));
    golden_int(b->c, golden_label(b->c, "%s.memory_peak", label),
               vpa_json_find(want, "memory_peak"), s->memory_peak);
    golden_int(b->c, golden_label(b->c, "%s.oom_peak", label), vpa_json_find(want, "oom_peak"),
               s->oom_peak);
}

static const char *controlled_json(struct bench *b, const struct vpa_settings *s)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(256);

    vpa_json_writer_init(&w, &text);
    vpa_json_open_array(&w);
    for (size_t i = 0; i < s->controlled_count; i++)
        vpa_json_put_string(&w, vpa_kind_name((enum vpa_kind)s->controlled[i]));
    for (enum vpa_kind k = VPA_KIND_CPU; !s->scaling_mode && k < VPA_KINDS; k++)
        vpa_json_put_string(&w, vpa_kind_name(k));
    vpa_json_close_array(&w);
    return golden_label(b->c, "%s", vpa_buf_text(&text));
}

static void compare_settings(struct bench *b, const char *label, const struct vpa_json *want,
                             const struct vpa_settings *s)
{
    struct golden_case *c = b->c;

    if (!vpa_json_find(want, "interval_count"))
        return;
    golden_json(c, golden_label(c, "%s.controlled_resources", label),
                vpa_json_find(want, "controlled_resources"), controlled_json(b, s));
    golden_int(c, golden_label(c, "%s.interval", label), vpa_json_find(want, "interval"),
               s->memory_interval);
    golden_int(c, golden_label(c, "%s.interval_count", label),
               vpa_json_find(want, "interval_count"), s->memory_interval_count);
    golden_bool(c, golden_label(c, "%s.needs_recommendation", label),
                vpa_json_find(want, "needs_recommendation"), vpa_settings_needs_recommendation(s));
    golden_double(c, golden_label(c, "%s.oom_bump_up_ratio", label),
                  vpa_json_find(want, "oom_bump_up_ratio"), s->oom_bump_up_ratio);
    golden_double(c, golden_label(c, "%s.oom_min_bump_up", label),
                  vpa_json_find(want, "oom_min_bump_up"), s->oom_min_bump_up);
    golden_text(c, golden_label(c, "%s.scaling_mode", label), vpa_json_find(want, "scaling_mode"),
                s->scaling_mode);
    golden_int(c, golden_label(c, "%s.window", label), vpa_json_find(want, "window"),
               vpa_settings_window(s));
}

static void compare_final_percentiles(struct bench *b, const char *label,
                                      const struct vpa_json *want, const struct vpa_decay *d)
{
    static const double percentiles[] = {0.0, 0.5, 0.9, 0.95, 1.0};

    compare_percentiles(b->c, label, want, percentiles, VPA_COUNT(percentiles), &d->h);
}

static const char *status_text(struct bench *b, const struct vpa_checkpoint_status *status)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(1 << 20);

    vpa_json_writer_init(&w, &text);
    vpa_checkpoint_status_encode(&w, status);
    return golden_label(b->c, "%s", vpa_buf_text(&text));
}

static const char *save(struct bench *b, const struct vpa_aggregate *a, vpa_time now)
{
    struct vpa_checkpoint_status status;

    vpa_aggregate_save(a, now, b->c->arena, &status);
    return status_text(b, &status);
}

/* The status of a checkpoint, decoded as part of the object. */
static int decode_status(struct bench *b, const char *status, size_t len,
                         struct vpa_checkpoint_status *out, struct vpa_error *err)
{
    struct vpa_checkpoint checkpoint;
    const struct vpa_json *root;
    vpa_auto_buf text = {0};

    vpa_buf_init(&text, len + 64);
    vpa_buf_puts(&text, "{\"status\":");
    vpa_buf_append(&text, status, len);
    vpa_buf_puts(&text, "}");
    if (vpa_json_parse(b->c->arena, text.data, text.len, &root, err) < 0 ||
        vpa_checkpoint_decode(b->c->arena, root, &checkpoint, err) < 0)
        return -1;
    *out = checkpoint.status;
    return 0;
}

/* ---- operations ---- */

static const char *load(struct bench *b, struct vpa_aggregate *a, const char *text)
{
    struct vpa_checkpoint_status status;
    struct vpa_error err = {0};

    if (decode_status(b, text, strlen(text), &status, &err) < 0 ||
        vpa_aggregate_load(a, &status, &err) < 0)
        return golden_label(b->c, "%s", err.text);
    return NULL;
}

static const char *aggregate_of(struct bench *b, const struct vpa_json *op)
{
    const char *name = golden_text_of(op, "c");

    return name ? golden_text_of(GOLDEN_IN(b->c, "containers"), name) : golden_text_of(op, "a");
}

/* Operations on a container. True when it was one. */
static bool container_step(struct bench *b, const char *label, const char *kind,
                           const struct vpa_json *op, const struct vpa_json *want)
{
    struct vpa_aggregate *a = aggregate(b, aggregate_of(b, op));
    vpa_time t = golden_time_of(vpa_json_find(op, "t"));
    struct vpa_error err = {0};
    const char *error = NULL;

    if (!golden_text_of(op, "c"))
        return false;
    struct vpa_container_state *s = container(b, golden_text_of(op, "c"));
    if (strcmp(kind, "cpu") == 0)
        golden_bool(b->c, golden_label(b->c, "%s.accepted", label), vpa_json_find(want, "accepted"),
                    vpa_container_add_cpu(s, a, t, golden_int_of(op, "millicores"), NULL));
    else if (strcmp(kind, "memory") == 0)
        golden_bool(b->c, golden_label(b->c, "%s.accepted", label), vpa_json_find(want, "accepted"),
                    vpa_container_add_memory(s, a, t, golden_int_of(op, "bytes"), NULL));
    else if (strcmp(kind, "oom") == 0 &&
             vpa_container_record_oom(s, a, t, golden_int_of(op, "requested"), NULL, &err) < 0)
        error = err.text;
    else if (strcmp(kind, "other") == 0)
        golden_bool(b->c, golden_label(b->c, "%s.accepted", label), vpa_json_find(want, "accepted"),
                    false);
    /* "other": a resource that nobody samples; "request": not used by the model */
    golden_text(b->c, golden_label(b->c, "%s.error", label), vpa_json_find(want, "error"), error);
    compare_container(b, golden_label(b->c, "%s.container", label),
                      vpa_json_find(want, "container"), s);
    return true;
}

static void aggregate_step(struct bench *b, const char *label, const char *kind,
                           const struct vpa_json *op, const struct vpa_json *want)
{
    struct golden_case *c = b->c;
    struct vpa_aggregate *a = aggregate(b, aggregate_of(b, op));
    const char *error = NULL;

    if (strcmp(kind, "policy") == 0) {
        vpa_settings_apply_policy(&a->settings, policy_of(b, vpa_json_find(op, "policy")),
                                  b->global.per_vpa_config);
    } else if (strcmp(kind, "under_vpa") == 0) {
        vpa_json_bool(vpa_json_find(op, "value"), &a->settings.under_vpa);
        if (!a->settings.under_vpa)
            vpa_settings_mark_not_autoscaled(&a->settings);
    } else if (strcmp(kind, "merge") == 0) {
        struct vpa_aggregate *from = aggregate(b, golden_text_of(op, "from"));

        vpa_aggregate_merge(a, from);
        compare_histogram(b, golden_label(c, "%s.from_cpu", label), vpa_json_find(want, "from_cpu"),
                          &from->cpu);
        compare_histogram(b, golden_label(c, "%s.from_memory", label),
                          vpa_json_find(want, "from_memory"), &from->memory);
    } else if (strcmp(kind, "load") == 0) {
        error = load(b, a, golden_text_of(op, "checkpoint"));
    } else if (strcmp(kind, "save") == 0) {
        vpa_time now = vpa_json_find(op, "now") ? golden_time_of(vpa_json_find(op, "now")) : b->now;

        golden_text(c, golden_label(c, "%s.checkpoint", label), vpa_json_find(want, "checkpoint"),
                    save(b, a, now));
    } else {
        golden_skip(c, "unknown operation %s", kind);
    }
    golden_text(c, golden_label(c, "%s.error", label), vpa_json_find(want, "error"), error);
}

static void run_operations(struct bench *b)
{
    struct golden_case *c = b->c;
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "steps"));
    size_t i = 0;

    vpa_json_foreach (op, GOLDEN_IN(c, "ops")) {
        const char *label = golden_label(c, "steps[%zu]", i++);
        const char *kind = golden_text_of(op, "op");
        const struct vpa_aggregate *a = aggregate(b, aggregate_of(b, op));

        if (!container_step(b, label, kind, op, want))
            aggregate_step(b, label, kind, op, want);
        compare_aggregate(b, golden_label(c, "%s.aggregate", label),
                          vpa_json_find(want, "aggregate"), a);
        compare_histogram(b, golden_label(c, "%s.cpu", label), vpa_json_find(want, "cpu"), &a->cpu);
        compare_histogram(b, golden_label(c, "%s.memory", label), vpa_json_find(want, "memory"),
                          &a->memory);
        compare_settings(b, label, want, &a->settings);
        want = want ? vpa_json_next(want) : NULL;
    }
    vpa_json_foreach (final, GOLDEN_OUT(c, "final")) {
        const char *name = vpa_json_name(final);
        const struct vpa_aggregate *a = aggregate(b, name);

        compare_aggregate(b, golden_label(c, "final.%s", name), vpa_json_find(final, "aggregate"),
                          a);
        compare_final_percentiles(b, golden_label(c, "final.%s.cpu_p", name),
                                  vpa_json_find(final, "cpu_p"), &a->cpu);
        compare_final_percentiles(b, golden_label(c, "final.%s.memory_p", name),
                                  vpa_json_find(final, "memory_p"), &a->memory);
        compare_weights(c, golden_label(c, "final.%s.cpu_weights", name),
                        vpa_json_find(final, "cpu_weights"), &a->cpu.h);
        compare_weights(c, golden_label(c, "final.%s.memory_weights", name),
                        vpa_json_find(final, "memory_weights"), &a->memory.h);
        golden_text(c, golden_label(c, "final.%s.checkpoint", name),
                    vpa_json_find(final, "checkpoint"), save(b, a, b->now));
    }
}

static void run_policy(struct bench *b)
{
    struct golden_case *c = b->c;
    struct vpa_settings *s = &aggregate(b, "A")->settings;
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "after_each_then_not_autoscaled"));
    size_t i = 0;

    s->under_vpa = true;
    vpa_json_foreach (policy, GOLDEN_IN(c, "policies")) {
        vpa_settings_apply_policy(s, policy_of(b, policy), b->global.per_vpa_config);
        compare_settings(b, golden_label(c, "after[%zu]", i++), want, s);
        want = want ? vpa_json_next(want) : NULL;
    }
    vpa_settings_mark_not_autoscaled(s);
    compare_settings(b, "not_autoscaled", want, s);
}

static void run_expiry(struct bench *b)
{
    struct golden_case *c = b->c;
    struct vpa_aggregate *a;

    b->now = golden_time_of(GOLDEN_IN(c, "created"));
    a = aggregate(b, "A");
    if (!vpa_json_is_null(GOLDEN_IN(c, "policy")))
        vpa_settings_apply_policy(&a->settings, policy_of(b, GOLDEN_IN(c, "policy")),
                                  b->global.per_vpa_config);
    vpa_json_foreach (t, GOLDEN_IN(c, "cpu_samples"))
        vpa_aggregate_add_cpu(a, golden_time_of(t), 100);
    vpa_json_foreach (t, GOLDEN_IN(c, "memory_samples"))
        vpa_aggregate_add_memory(a, golden_time_of(t), 100 << 20);
    golden_bool(c, "empty", GOLDEN_OUT(c, "empty"), vpa_aggregate_is_empty(a));
    golden_bool(c, "expired", GOLDEN_OUT(c, "expired"),
                vpa_aggregate_is_expired(a, golden_time_of(GOLDEN_IN(c, "now"))));
    golden_int(c, "window", GOLDEN_OUT(c, "window"), vpa_settings_window(&a->settings));
}

static void run_checkpoint(struct bench *b)
{
    struct golden_case *c = b->c;
    struct vpa_aggregate *a = aggregate(b, "A");
    struct vpa_checkpoint_status status;
    struct vpa_error err = {0};
    struct vpa_json_writer w;
    const char *error = NULL;
    vpa_auto_buf text = VPA_BUF(1 << 20);
    vpa_time now;

    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, GOLDEN_IN(c, "status"));
    if (decode_status(b, text.data, text.len, &status, &err) < 0) {
        golden_bool(c, "decode_error", GOLDEN_OUT(c, "decode_error"), true);
        return;
    }
    if (GOLDEN_OUT(c, "decode_error")) {
        golden_difference(c, "decode_error", "true", "false");
        return;
    }
    if (vpa_aggregate_load(a, &status, &err) < 0)
        error = err.text;
    golden_text(c, "error", GOLDEN_OUT(c, "error"), error);
    compare_aggregate(b, "aggregate", GOLDEN_OUT(c, "aggregate"), a);
    compare_histogram(b, "cpu", GOLDEN_OUT(c, "cpu"), &a->cpu);
    compare_histogram(b, "memory", GOLDEN_OUT(c, "memory"), &a->memory);
    if (GOLDEN_OUT(c, "saved_again") && vpa_time_parse("2026-01-15T00:00:00Z", &now, &err) == 0)
        golden_text(c, "saved_again", GOLDEN_OUT(c, "saved_again"), save(b, a, now));
}

/* ---- store: the whole way through the cluster ---- */

struct store_check {
    struct bench *b;
    size_t written;
};

static void check_stored(void *ctx, const char *name, const struct vpa_checkpoint_status *status,
                         const struct vpa_open_intervals *open)
{
    struct store_check *check = ctx;
    struct golden_case *c = check->b->c;

    (void)open;
    check->written++;
    golden_text(c, golden_label(c, "checkpoints.%s", name),
                vpa_json_find(GOLDEN_OUT(c, "checkpoints"), name), status_text(check->b, status));
}

static void store_pods(struct bench *b, struct vpa_cluster *cluster)
{
    struct golden_case *c = b->c;

    vpa_json_foreach (pod, GOLDEN_IN(c, "pods")) {
        struct vpa_labels labels;
        struct vpa_error err;
        const char *name = vpa_json_name(pod);

        if (vpa_labels_decode(c->arena, pod, &labels, &err) < 0) {
            golden_unexpected(c, "labels", err.text);
            return;
        }
        vpa_cluster_put_bare_pod(cluster, "ns", name, &labels, VPA_PHASE_RUNNING, b->now);
        vpa_json_foreach (item, vpa_json_find(GOLDEN_IN(c, "containers"), name)) {
            if (vpa_cluster_put_container(cluster, "ns", name, vpa_json_string(item), b->now,
                                          &err) < 0)
                golden_unexpected(c, "container", err.text);
        }
    }
}

/* Refused samples are part of the cases. */
static void store_events(struct bench *b, struct vpa_cluster *cluster)
{
    vpa_json_foreach (event, GOLDEN_IN(b->c, "events")) {
        const char *kind = golden_text_of(event, "kind");
        const struct vpa_container_name name = {"ns", golden_text_of(event, "pod"),
                                                golden_text_of(event, "container")};
        vpa_time t = golden_time_of(vpa_json_find(event, "t"));
        int64_t amount = golden_int_of(event, "amount");
        struct vpa_sample_target to;

        if (vpa_cluster_container(cluster, &name, b->now, &to, NULL) < 0)
            continue;
        if (strcmp(kind, "oom") == 0)
            (void)!vpa_cluster_record_oom(&to, t, amount, b->now, NULL);
        else
            (void)!vpa_cluster_add_sample(&to,
                                          strcmp(kind, "cpu") == 0 ? VPA_KIND_CPU : VPA_KIND_MEMORY,
                                          t, amount, b->now, NULL);
    }
}

static void store_load(struct bench *b, struct vpa_cluster *cluster)
{
    vpa_json_foreach (loaded, GOLDEN_IN(b->c, "loaded_checkpoints")) {
        struct vpa_checkpoint_status status;
        struct vpa_json_writer w;
        struct vpa_error err;
        vpa_auto_buf text = VPA_BUF(1 << 20);

        vpa_json_writer_init(&w, &text);
        vpa_json_put_node(&w, loaded);
        if (decode_status(b, text.data, text.len, &status, &err) < 0 ||
            vpa_cluster_load_checkpoint(cluster, "ns", "v", vpa_json_name(loaded), &status, b->now,
                                        &err) < 0)
            golden_unexpected(b->c, "loaded_checkpoints", err.text);
    }
}

static void run_store(struct bench *b)
{
    struct golden_case *c = b->c;
    struct vpa_cluster_options options = {.aggregation = &b->global};
    struct vpa_object object = {.meta = {.ns = "ns", .name = "v", .uid = ""}};
    struct store_check check = {.b = b};
    struct vpa_selector selector;
    struct vpa_error err;

    b->now = golden_time_of(GOLDEN_IN(c, "now"));
    if (vpa_selector_parse(c->arena, golden_in_text(c, "selector"), &selector, &err) < 0) {
        golden_unexpected(c, "selector", err.text);
        return;
    }
    struct vpa_cluster *cluster = vpa_cluster_new(&options);
    struct vpa_autoscaler *v = vpa_cluster_put_vpa(cluster, &object, &selector, NULL, b->now);
    store_load(b, cluster);
    store_pods(b, cluster);
    store_events(b, cluster);
    vpa_cluster_checkpoints(cluster, v, b->now, check_stored, &check);
    if (check.written != vpa_json_count(GOLDEN_OUT(c, "checkpoints")))
        golden_difference(c, "checkpoints", "as many as listed", "another number");
    vpa_cluster_free(cluster);
}

static void run(struct golden_case *c)
{
    struct bench *b = vpa_xcalloc(1, sizeof(*b));

    b->c = c;
    b->now = golden_time_of(GOLDEN_IN(c, "now"));
    read_config(b);
    if (strcmp(c->file, "policy") == 0)
        run_policy(b);
    else if (strcmp(c->file, "expiry") == 0)
        run_expiry(b);
    else if (strcmp(c->file, "checkpoint") == 0)
        run_checkpoint(b);
    else if (strcmp(c->file, "store") == 0)
        run_store(b);
    else
        run_operations(b);
    for (size_t i = 0; i < b->aggregate_count; i++)
        vpa_aggregate_release(&b->aggregates[i].state);
    vpa_aggregation_release(&b->global);
    free(b);
}

/* What the library of the reference says of a checkpoint that it cannot decode. */
static const char *const information[] = {"text", NULL};

const struct golden_set golden_set_container_state = {
    .name = "container_state", .run = run, .information = information};
