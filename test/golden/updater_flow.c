/* Cases of the form of the set updater_pass. */
#include "updater_flow.h"

#include <stdlib.h>
#include <string.h>

#include "../../updater/work.h"
#include "updater_useless.h"
#include "updater_world.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define TEXT_MAX ((size_t)16 << 20)

/* What the case that ran last did against a decision; NULL: nothing. */
static const char *violation;

struct flow {
    struct golden_case *c;
    struct world *world;
    vpa_time start;
    size_t pass;
    bool crashed;                      /* the reference, in a pass before */
    bool faulty;                       /* some request was refused */
    bool differed;                     /* the calls of this pass, or of one before */
    struct vpa_json_writer controlled; /* of the pass under way */
    struct vpa_buf controlled_text;
    size_t controlled_count;
    size_t controlled_pods;
};

/* A pass before the one in which a decision was met has nothing to do with it: no licence is for
 * such a label. */
static const char *label(struct flow *f, const char *what)
{
    return golden_label(f->c, "passes[%zu]%s.%s", f->pass,
                        updater_case_is_before(f->pass) ? " (before)" : "", what);
}

static void on_controlled(void *ctx, const struct vpa_object *vpa,
                          const struct vpa_pod *const *pods, size_t count)
{
    struct flow *f = ctx;

    updater_case_undo_objects(f->c, vpa, pods, count);
    updater_case_look(vpa, pods, count, &world_env(f->world)->disruption);
    f->controlled_count++;
    f->controlled_pods += count;
    vpa_json_member_array(&f->controlled,
                          golden_label(f->c, "%s/%s", vpa->meta.ns, vpa->meta.name));
    for (size_t i = 0; i < count; i++)
        vpa_json_put_string(&f->controlled,
                            golden_label(f->c, "%s/%s", pods[i]->meta.ns, pods[i]->meta.name));
    vpa_json_close_array(&f->controlled);
}

static void on_work(void *ctx, const struct work *work)
{
    updater_case_undo_groups(((struct flow *)ctx)->c, work->budget, work->pod_count);
}

/* Series whose zeros the vectors leave out. */
static bool is_size_gauge(const char *series)
{
    return vpa_str_starts_with(series, "vpa_updater_in_place_updatable_pods_total") ||
           vpa_str_starts_with(series, "vpa_updater_vpas_with_in_place_updatable_pods_total") ||
           vpa_str_starts_with(series, "vpa_updater_vpas_with_in_place_updated_pods_total");
}

/* Upstream has no such family; while it is 0 it says what upstream's page says without it. */
static bool is_idle_of_ours(const char *series, const char *value)
{
    return vpa_str_starts_with(series, "vpa_updater_held_pods{") && vpa_str_eq(value, "0");
}

/* The exposition as the vectors have it: series to value, without buckets and sums of histograms.
 */
static const char *metrics_json(struct golden_case *c)
{
    struct vpa_metrics metrics = {.table = updater_metrics, .count = updater_metric_count};
    struct vpa_json_writer w;
    struct vpa_slice line;
    const char *rest;
    int64_t size_gauges = 0;
    vpa_auto_buf text = VPA_BUF(TEXT_MAX), json = VPA_BUF(TEXT_MAX);

    vpa_metrics_write(&metrics, VPA_EXPOSITION_TEXT, NULL, 0, &text);
    vpa_json_writer_init(&w, &json);
    vpa_json_open_object(&w);
    rest = vpa_buf_text(&text);
    while (vpa_str_split(&rest, '\n', &line)) {
        char *series = vpa_arena_strndup(c->arena, line.ptr, line.len);
        char *value = strrchr(series, ' ');

        if (!vpa_str_starts_with(series, "vpa_updater_") || !value)
            continue;
        *value++ = '\0';
        if (strstr(series, "_bucket{") || strstr(series, "_sum{") || is_idle_of_ours(series, value))
            continue;
        if (is_size_gauge(series)) {
            size_gauges++;
            if (vpa_str_eq(value, "0"))
                continue;
        }
        vpa_json_member_raw(&w, series, value, strlen(value));
    }
    vpa_json_member_int(&w, "sizeGaugeSeries", size_gauges);
    vpa_json_close_object(&w);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&json));
}

static const char *infeasible_json(struct flow *f)
{
    struct text_list list = {0};
    size_t count;
    vpa_auto_free const char **uids =
        vpa_update_memory_infeasible_uids(world_env(f->world)->memory, &count);

    for (size_t i = 0; i < count; i++)
        text_list_add(f->c, &list, vpa_arena_strdup(f->c->arena, uids[i]));
    return count > 0 ? text_list_json(f->c, &list) : NULL;
}

static bool wants_whole_events(const struct vpa_json *want)
{
    return vpa_json_find(vpa_json_first(vpa_json_find(want, "events")), "path") != NULL;
}

static const struct vpa_json *parsed(struct flow *f, const char *text)
{
    const struct vpa_json *out = NULL;
    struct vpa_error err;

    if (vpa_json_parse(f->c->arena, vpa_arena_strdup(f->c->arena, text), strlen(text), &out, &err) <
        0)
        golden_difference(f->c, "json", "JSON", err.text);
    return out;
}

/* U8: where a disruption hangs on a scale it is read anew. Which scales are asked for in a pass,
 * and what the server says, is the same; how often is not. */
static const struct vpa_json *without_repetitions(struct flow *f, const struct vpa_json *reads)
{
    struct text_list seen = {0};
    vpa_auto_buf buf = VPA_BUF(TEXT_MAX);

    vpa_json_foreach (read, reads) {
        const char *text = golden_label(f->c, "{\"path\":\"%s\",\"status\":%s}",
                                        vpa_or_empty(vpa_json_string(vpa_json_find(read, "path"))),
                                        vpa_json_number_text(vpa_json_find(read, "status")));
        bool known = false;

        for (size_t i = 0; i < seen.count && !known; i++)
            known = vpa_str_eq(seen.items[i], text);
        if (known)
            continue;
        text_list_add(f->c, &seen, text);
        vpa_buf_printf(&buf, "%s%s", seen.count > 1 ? "," : "[", text);
        if (vpa_json_count(read) != 2)
            golden_difference(f->c, label(f, "scaleReads (members)"), "path and status", text);
    }
    vpa_buf_puts(&buf, seen.count > 0 ? "]" : "null");
    return parsed(f, vpa_buf_text(&buf));
}

static void compare_scale_reads(struct flow *f, const struct vpa_json *want)
{
    const char *reads = world_scale_reads(f->world);
    const struct vpa_json *got = reads ? parsed(f, reads) : NULL;

    golden_compared(f->c, want);
    if (!vpa_json_equal(without_repetitions(f, want), without_repetitions(f, got)))
        golden_json(f->c, label(f, "scaleReads"), want, reads);
}

/* Calls and events move together, so a decision is never told from one of them alone: what is not
 * sent gives no event, and an event of a later pass counts the earlier ones. Refused requests
 * (faults, U23) give none either. */
static void check_together(struct flow *f, bool same_calls, bool same_events)
{
    bool differed = f->differed;

    f->differed = differed || !same_calls;
    if (!updater_case_is_undone() || f->faulty)
        return;
    if ((!same_calls && same_events) || (!same_events && !f->differed))
        golden_difference(f->c, label(f, "deeds (calls and events)"), "both", "one alone");
}

static void compare_deeds(struct flow *f, const struct vpa_json *want)
{
    struct golden_case *c = f->c;
    const struct vpa_json *calls = vpa_json_find(want, "calls");
    const struct vpa_json *events = vpa_json_find(want, "events");
    const char *got_calls = world_calls(f->world, false);
    const char *got_events = world_events(f->world, wants_whole_events(want), false);

    if (updater_case_is_undone() && golden_tagged(c, "U7")) {
        updater_useless_compare(f->world, golden_label(c, "passes[%zu]", f->pass), calls, got_calls,
                                events, got_events);
        f->differed = true;
        return;
    }
    bool same_calls = golden_json(c, label(f, "calls"), calls, got_calls);
    check_together(f, same_calls, golden_json(c, label(f, "events"), events, got_events));
}

static bool is_counter_of_deeds(const char *series)
{
    return vpa_str_starts_with(series, "vpa_updater_evicted_pods_total") ||
           vpa_str_starts_with(series, "vpa_updater_in_place_updated_pods_total") ||
           vpa_str_starts_with(series, "vpa_updater_vpas_with_evicted_pods_total") ||
           vpa_str_starts_with(series, "vpa_updater_vpas_with_in_place_updated_pods_total");
}

/* What counts the deeds of the passes differs only where they do. */
static void check_counters(struct flow *f, const struct vpa_json *want, const struct vpa_json *got)
{
    if (!updater_case_is_undone() || f->differed)
        return;
    vpa_json_foreach (series, want) {
        const struct vpa_json *ours = vpa_json_find(got, vpa_json_name(series));

        if (is_counter_of_deeds(vpa_json_name(series)) && !(ours && vpa_json_equal(series, ours)))
            golden_difference(
                f->c, golden_label(f->c, "passes[%zu] (%s)", f->pass, vpa_json_name(series)),
                "as the calls", "another");
    }
}

static void compare_pass(struct flow *f, const struct vpa_json *want, vpa_duration took)
{
    struct golden_case *c = f->c;
    char duration[VPA_DURATION_TEXT_MAX];
    int64_t lease_reads = world_lease_reads(f->world);
    const char *metrics = metrics_json(c);

    compare_deeds(f, want);
    golden_json(c, label(f, "controlled"), vpa_json_find(want, "controlled"),
                f->controlled_count > 0 || vpa_json_find(want, "controlled")
                    ? vpa_buf_text(&f->controlled_text)
                    : NULL);
    golden_json(c, label(f, "metrics"), vpa_json_find(want, "metrics"), metrics);
    check_counters(f, vpa_json_find(want, "metrics"), parsed(f, metrics));
    golden_json(c, label(f, "leaseReads"), vpa_json_find(want, "leaseReads"),
                lease_reads > 0 ? golden_label(c, "%lld", (long long)lease_reads) : NULL);
    compare_scale_reads(f, vpa_json_find(want, "scaleReads"));
    vpa_duration_format(took, duration);
    golden_text(c, label(f, "took"), vpa_json_find(want, "took"), took != 0 ? duration : NULL);
    golden_json(c, label(f, "infeasibleRecords"), vpa_json_find(want, "infeasibleRecords"),
                infeasible_json(f));
    world_compare_first_seen(f->world, label(f, "firstSeen"), vpa_json_find(want, "firstSeen"));
}

/* U7: no resize that changes nothing; U8: never all pods of a workload at once. */
static void check_decisions(struct flow *f)
{
    const struct vpa_json *calls;
    struct vpa_error err;
    const char *text = world_calls(f->world, false);
    size_t evictions = 0;

    if (updater_case_is_undone())
        return;
    if (world_useless_resizes(f->world) > 0)
        violation = "a resize that changes nothing was sent";
    if (vpa_json_parse(f->c->arena, text, strlen(text), &calls, &err) < 0)
        return;
    vpa_json_foreach (call, calls) {
        const char *path = vpa_or_empty(vpa_json_string(vpa_json_find(call, "path")));

        evictions += vpa_str_ends_with(path, "/eviction");
    }
    if (golden_tagged(f->c, "U8") && f->controlled_pods > 1 && evictions >= f->controlled_pods)
        violation = "all pods were evicted at once";
}

static void run_pass(struct flow *f, const struct vpa_json *in, const struct vpa_json *want)
{
    struct pass_env *env = world_env(f->world);
    vpa_duration at = updater_case_duration(f->c, vpa_json_find(in, "at"), "at");

    updater_case_begin_pass(f->pass);

    world_wait_until(f->world, vpa_time_add(f->start, at));
    vpa_json_foreach (object, vpa_json_find(in, "put"))
        world_put(f->world, object);
    vpa_json_foreach (what, vpa_json_find(in, "delete"))
        world_delete(f->world, vpa_json_string(what));
    if (vpa_json_find(in, "scales"))
        world_set_scales(f->world, vpa_json_find(in, "scales"));
    world_set_faults(f->world, vpa_json_find(in, "faults"));
    f->faulty = f->faulty || vpa_json_find(in, "faults");
    world_settle(f->world);

    vpa_buf_init(&f->controlled_text, TEXT_MAX);
    vpa_json_writer_init(&f->controlled, &f->controlled_text);
    vpa_json_open_object(&f->controlled);
    f->controlled_count = 0;
    f->controlled_pods = 0;
    env->on_controlled = on_controlled;
    env->on_controlled_ctx = f;
    env->on_work = on_work;
    env->on_work_ctx = f;
    world_begin(f->world);
    updater_pass(world_updater(f->world));

    vpa_duration took = world_took(f->world);

    vpa_json_close_object(&f->controlled);
    check_decisions(f);
    updater_flush(world_updater(f->world), 10 * VPA_MINUTE);
    if (vpa_json_find(want, "crash"))
        golden_bool(f->c, label(f, "crash"), vpa_json_find(want, "crash"), true);
    else if (want)
        compare_pass(f, want, took);
    else if (!f->crashed)
        golden_unexpected(f->c, label(f, "calls"), world_calls(f->world, false));
    f->crashed = f->crashed || vpa_json_find(want, "crash");
    vpa_buf_release(&f->controlled_text);
}

void updater_flow_case(struct golden_case *c)
{
    struct flow f = {.c = c, .start = updater_case_time(c, GOLDEN_IN(c, "start"), "start")};
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "passes"));
    const char *namespace = vpa_json_string(GOLDEN_IN(c, "env"));

    if (namespace)
        setenv("NAMESPACE", namespace, 1);
    else
        unsetenv("NAMESPACE");
    if (!updater_case_is_undone())
        violation = NULL;
    updater_case_begin();
    f.world = world_new(c, f.start);
    world_put_all(f.world, GOLDEN_IN(c, "objects"));
    world_set_scales(f.world, GOLDEN_IN(c, "scales"));
    world_sync(f.world);
    vpa_json_foreach (pass, GOLDEN_IN(c, "passes")) {
        run_pass(&f, pass, want);
        want = want ? vpa_json_next(want) : NULL;
        f.pass++;
    }
    world_free(f.world);
}

void updater_flow_invariant(struct golden_case *c)
{
    if (violation)
        golden_difference(c, "decision", "kept", violation);
}
