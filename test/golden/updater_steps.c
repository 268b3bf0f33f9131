/* One VPA inside a pass: its groups, and single decisions and requests. */
#include "updater_steps.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../updater/act.h"
#include "../../updater/answer.h"
#include "updater_useless.h"
#include "updater_world.h"
#include "updater_world_parts.h"
#include "vpa/policy/resize_state.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/boost_marker.h"

#define TEXT_MAX ((size_t)16 << 20)

/* What the case that ran last did against a decision; NULL: nothing. */
static const char *violation;

struct bench {
    struct golden_case *c;
    struct world *world;
    struct pass pass;
    const struct vpa_object **vpas;
    const struct vpa_pod **pods; /* live */
    size_t pod_count;
    struct work work;
};

static void begin_pass(struct bench *b)
{
    struct pass_env *env = world_env(b->world);
    size_t count, live = 0;

    updater_pass_init(&b->pass, env);
    b->pass.deadline = INT64_MAX; /* the steps of a case know no deadline */
    b->vpas = updater_store_vpas(env->store, &count);
    b->pods = updater_store_pods(env->store, &b->pod_count);
    for (size_t i = 0; i < b->pod_count; i++) {
        if (vpa_time_is_unset(b->pods[i]->meta.deletion))
            b->pods[live++] = b->pods[i];
    }
    b->pod_count = live;
    updater_case_undo_objects(b->c, b->vpas[0], b->pods, b->pod_count);
    updater_work_init(&b->work, &b->pass, b->vpas[0], b->pods, NULL, b->pod_count);
    updater_work_begin(&b->work);
    updater_case_undo_groups(b->c, b->work.budget, b->pod_count);
    updater_case_look(b->vpas[0], b->pods, b->pod_count, &env->disruption);
}

static void end_pass(struct bench *b)
{
    updater_work_clear(&b->work);
    updater_pass_release(&b->pass);
    free(b->vpas);
    free(b->pods);
}

static void bench_begin(struct bench *b)
{
    struct golden_case *c = b->c;

    updater_case_begin();

    b->world = world_new(c, updater_case_time(c, GOLDEN_IN(c, "now"), "now"));
    world_plain_events(b->world); /* the vectors have them as they were recorded, not as sent */
    world_list_all_pods(b->world);
    world_put(b->world, GOLDEN_IN(c, "vpa"));
    world_put_all(b->world, GOLDEN_IN(c, "pods"));
    world_put_all(b->world, GOLDEN_IN(c, "owners"));
    world_put_all(b->world, GOLDEN_IN(c, "limitRanges"));
    world_sync(b->world);
    world_set_memory(b->world, GOLDEN_IN(c, "firstSeen"), GOLDEN_IN(c, "infeasible"));
    world_begin(b->world);
    begin_pass(b);
}

static void bench_end(struct bench *b)
{
    end_pass(b);
    world_free(b->world);
}

/* U26, undone: what the reference knows of a small group; it asks with the flag only. */
static bool is_below_min(const struct bench *b, const struct vpa_replica_group *g)
{
    const struct vpa_disruption_options *options = &world_env(b->world)->disruption;
    const struct vpa_object *vpa = b->work.vpa;
    int64_t required = vpa->min_replicas.present ? vpa->min_replicas.value : options->min_replicas;

    return options->in_place_skip_budget && vpa_update_mode_in_place(b->work.mode) &&
           g->running + g->pending < required;
}

static void put_group(struct bench *b, struct vpa_json_writer *w, const struct vpa_replica_group *g)
{
    bool below_min = updater_case_is_undone() ? is_below_min(b, g) : g->below_min;

    vpa_json_open_object(w);
    vpa_json_member_string(w, "kind", g->kind);
    vpa_json_member_string(w, "name", g->name);
    vpa_json_member_int(w, "configured", g->configured);
    vpa_json_member_int(w, "running", g->running);
    vpa_json_member_int(w, "pending", g->pending);
    vpa_json_member_int(w, "tolerance", g->tolerance);
    vpa_json_member_int(w, "evicted", g->evicted);
    vpa_json_member_int(w, "inPlaceStarted", g->in_place_started);
    vpa_json_member_bool(w, "belowMin", below_min);
    vpa_json_member_bool(w, "disruptable", vpa_group_disruptable(g));
    vpa_json_close_object(w);
}

/* The vectors list the groups by kind and name. */
static const char *groups_json(struct bench *b)
{
    struct vpa_disruption *d = b->work.budget;
    struct vpa_table by_name = {0};
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(TEXT_MAX);

    for (size_t i = 0; i < b->pod_count; i++) {
        struct vpa_replica_group *g = vpa_disruption_group(d, i);

        if (g)
            vpa_table_put(&by_name, golden_label(b->c, "%s/%s", g->kind, g->name), g);
    }

    vpa_auto_free void **sorted = vpa_table_sorted(&by_name);

    vpa_json_writer_init(&w, &buf);
    vpa_json_open_array(&w);
    for (size_t i = 0; i < by_name.count; i++)
        put_group(b, &w, sorted[i]);
    vpa_json_close_array(&w);
    vpa_table_release(&by_name);
    return vpa_arena_strdup(b->c->arena, vpa_buf_text(&buf));
}

static const char *pod_groups_json(struct bench *b)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(TEXT_MAX);

    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    for (size_t i = 0; i < b->pod_count; i++) {
        const struct vpa_replica_group *g = vpa_disruption_group(b->work.budget, i);

        if (g)
            vpa_json_member_string(
                &w, golden_label(b->c, "%s/%s", b->pods[i]->meta.ns, b->pods[i]->meta.name),
                golden_label(b->c, "%s/%s", g->kind, g->name));
    }
    vpa_json_close_object(&w);
    return vpa_arena_strdup(b->c->arena, vpa_buf_text(&buf));
}

static size_t pod_named(struct bench *b, const char *name)
{
    size_t i = 0;

    while (
        i < b->pod_count &&
        !vpa_str_eq(golden_label(b->c, "%s/%s", b->pods[i]->meta.ns, b->pods[i]->meta.name), name))
        i++;
    return i;
}

/* ---- steps ---- */

static void put_outcome(struct vpa_json_writer *w, enum act_result result)
{
    static const char *const why[] = {
        [ACT_NO_GROUP] = "no-group",
        [ACT_BUDGET] = "budget",
        [ACT_NOTHING_TO_PATCH] = "nothing-to-patch",
        [ACT_COMPUTATION] = "patch-computation",
        [ACT_API] = "api",
        [ACT_API_INFEASIBLE] = "api",
    };

    if (result == ACT_OK) {
        vpa_json_member_bool(w, "ok", true);
    } else if (result == ACT_NOT_NEEDED) {
        vpa_json_member_bool(w, "notNeeded", true);
    } else {
        vpa_json_member_bool(w, "error", true);
        vpa_json_member_string(w, "why", why[result]);
        if (result == ACT_API || result == ACT_API_INFEASIBLE)
            vpa_json_member_bool(w, "infeasible", result == ACT_API_INFEASIBLE);
    }
}

static void put_sent(struct bench *b, struct vpa_json_writer *w)
{
    vpa_duration took = world_took(b->world);
    const char *calls, *events;

    updater_flush(world_updater(b->world), VPA_HOUR);
    calls = world_calls(b->world, true);
    events = world_events(b->world, false, true);
    if (calls) {
        vpa_json_member_raw(w, "calls", calls, strlen(calls));
    }
    if (events) {
        vpa_json_member_raw(w, "events", events, strlen(events));
    }
    if (took != 0) {
        char text[VPA_DURATION_TEXT_MAX];

        vpa_duration_format(took, text);
        vpa_json_member_string(w, "took", text);
    }
}

static const char *decision_name(enum vpa_update_decision decision)
{
    switch (decision) {
    case VPA_DECIDE_DEFERRED:
        return "Deferred";
    case VPA_DECIDE_EVICT:
        return "Evict";
    case VPA_DECIDE_INFEASIBLE:
        return "Infeasible";
    case VPA_DECIDE_INFEASIBLE_CACHED:
        return "InfeasibleCached";
    case VPA_DECIDE_APPROVED:
        break;
    }
    return "Approved";
}

static bool can_evict(const struct bench *b, size_t i)
{
    const struct pass_env *env = world_env(b->world);

    return vpa_eviction_rest(b->pods[i], vpa_disruption_group(b->work.budget, i), env->memory,
                             vpa_loop_now(env->loop)) == VPA_REST_NONE;
}

static enum act_result try_to_evict(struct bench *b, size_t i)
{
    if (!vpa_disruption_group(b->work.budget, i))
        return ACT_NO_GROUP;
    if (!can_evict(b, i))
        return ACT_BUDGET;
    updater_act_evict(&b->work, i);
    return ACT_SENT;
}

static void step_act(struct bench *b, struct vpa_json_writer *w, const char *op, size_t i)
{
    enum act_result result =
        vpa_str_eq(op, "evict") ? try_to_evict(b, i) : updater_act_resize(&b->work, i, SIZE_MAX);

    if (result == ACT_SENT) {
        updater_pass_drain(&b->pass);
        result = b->work.last;
    }
    put_outcome(w, result);
    put_sent(b, w);
}

static void step_pod(struct bench *b, struct vpa_json_writer *w, const char *op, size_t i)
{
    struct pass_env *env = world_env(b->world);
    const struct vpa_pod *pod = b->pods[i];
    struct vpa_replica_group *group = vpa_disruption_group(b->work.budget, i);
    vpa_time now = vpa_loop_now(env->loop);

    /* A pass looks at its pods once; the reference whenever it thinks of evicting one. */
    if (vpa_str_eq(op, "canEvict") || vpa_str_eq(op, "decide") || vpa_str_eq(op, "evict"))
        vpa_update_memory_observe(env->memory, pod, now);
    if (vpa_str_eq(op, "canEvict"))
        vpa_json_member_bool(w, "result", can_evict(b, i));
    else if (vpa_str_eq(op, "canUnboost"))
        vpa_json_member_bool(w, "result",
                             vpa_can_unboost(pod, b->work.vpa, group, &env->update, now));
    else if (vpa_str_eq(op, "decide"))
        vpa_json_member_string(w, "decision",
                               decision_name(vpa_update_decide(pod, b->work.vpa, group, env->memory,
                                                               &env->update, now)));
    else
        step_act(b, w, op, i);
}

/* A terminating pod is in no group: nothing is done to it. */
static void step_without_pod(struct vpa_json_writer *w, const char *op)
{
    if (vpa_str_eq(op, "canEvict") || vpa_str_eq(op, "canUnboost"))
        vpa_json_member_bool(w, "result", false);
    else if (vpa_str_eq(op, "decide"))
        vpa_json_member_string(w, "decision", "Deferred");
    else
        put_outcome(w, ACT_NO_GROUP);
}

static const char *run_step(struct bench *b, const struct vpa_json *step)
{
    const char *op = vpa_or_empty(vpa_json_string(vpa_json_find(step, "op")));
    const char *pod = vpa_json_string(vpa_json_find(step, "pod"));
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(TEXT_MAX);

    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    world_set_faults(b->world, vpa_json_find(step, "faults"));
    if (vpa_str_eq(op, "advance")) {
        /* Watches that are silent meanwhile are opened anew. */
        vpa_loop_pump(world_loop(b->world),
                      updater_case_duration(b->c, vpa_json_find(step, "by"), "by"));
    } else if (vpa_str_eq(op, "newPass")) {
        const char *groups;

        end_pass(b);
        begin_pass(b);
        groups = groups_json(b);
        vpa_json_member_raw(&w, "groups", groups, strlen(groups));
    } else if (pod && pod_named(b, pod) < b->pod_count) {
        world_begin_step(b->world);
        step_pod(b, &w, op, pod_named(b, pod));
    } else {
        step_without_pod(&w, op);
    }
    vpa_json_close_object(&w);
    return vpa_arena_strdup(b->c->arena, vpa_buf_text(&buf));
}

/* U7: no resize that changes nothing; U8: a group keeps what it must. */
static void check_decisions(struct bench *b)
{
    struct vpa_disruption *d = b->work.budget;

    if (updater_case_is_undone())
        return;
    if (world_useless_resizes(b->world) > 0)
        violation = "a resize that changes nothing was sent";
    for (size_t i = 0; golden_tagged(b->c, "U8") && i < b->pod_count; i++) {
        const struct vpa_replica_group *g = vpa_disruption_group(d, i);

        if (g && g->running > 1 && g->evicted >= g->running)
            violation = "all pods were evicted at once";
    }
}

void updater_steps_invariant(struct golden_case *c)
{
    if (violation)
        golden_difference(c, "decision", "kept", violation);
}

static bool same_member(const struct vpa_json *a, const struct vpa_json *b, const char *name)
{
    const struct vpa_json *x = vpa_json_find(a, name), *y = vpa_json_find(b, name);

    return x && y ? vpa_json_equal(x, y) : x == y;
}

/* U7, undone: all but calls and events is the same. */
static void compare_useless(struct bench *b, const char *label, const struct vpa_json *want,
                            const struct vpa_json *got)
{
    static const char *const sent[] = {"calls", "events"};
    struct golden_case *c = b->c;
    const char *texts[VPA_COUNT(sent)] = {NULL, NULL};

    vpa_json_foreach (member, got) {
        const char *name = vpa_json_name(member);

        for (size_t i = 0; i < VPA_COUNT(sent); i++)
            if (strcmp(name, sent[i]) == 0)
                texts[i] = world_node_text(c, member);
    }
    vpa_json_foreach (member, want) {
        const char *name = vpa_json_name(member);

        if (strcmp(name, sent[0]) != 0 && strcmp(name, sent[1]) != 0 &&
            !same_member(want, got, name))
            golden_unexpected(c, golden_label(c, "%s.%s (but for calls)", label, name), "another");
    }
    updater_useless_compare(b->world, label, vpa_json_find(want, sent[0]), texts[0],
                            vpa_json_find(want, sent[1]), texts[1]);
}

/* What is not sent gives no event: undone, the two differ together or not at all, but for refused
 * requests. */
static void compare_step(struct bench *b, const char *label, const struct vpa_json *want,
                         const char *text, bool faulty)
{
    struct golden_case *c = b->c;
    const struct vpa_json *got = NULL;
    struct vpa_error err;
    bool undone = updater_case_is_undone() && want &&
                  vpa_json_parse(c->arena, text, strlen(text), &got, &err) == 0;

    if (undone && golden_tagged(c, "U7")) {
        golden_compared(c, want);
        compare_useless(b, label, want, got);
        return;
    }
    if (golden_json(c, label, want, text) || !undone || faulty)
        return;
    if (same_member(want, got, "calls") != same_member(want, got, "events"))
        golden_difference(c, golden_label(c, "%s (calls and events)", label), "both", "one alone");
}

void updater_steps_case(struct golden_case *c)
{
    struct bench b = {.c = c};
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "steps"));
    size_t i = 0;

    if (!updater_case_is_undone())
        violation = NULL;
    golden_marker(c, "crash");
    golden_count(c, "steps", GOLDEN_OUT(c, "steps"),
                 GOLDEN_OUT(c, "crash") ? 0 : vpa_json_count(GOLDEN_IN(c, "steps")));
    bench_begin(&b);
    golden_json(c, "groups", GOLDEN_OUT(c, "groups"), groups_json(&b));
    golden_json(c, "podGroup", GOLDEN_OUT(c, "podGroup"), pod_groups_json(&b));
    vpa_json_foreach (step, GOLDEN_IN(c, "steps")) {
        compare_step(&b, golden_label(c, "steps[%zu]", i++), want, run_step(&b, step),
                     vpa_json_find(step, "faults"));
        want = want ? vpa_json_next(want) : NULL;
    }
    check_decisions(&b);
    golden_json(c, "groupsAfter", GOLDEN_OUT(c, "groupsAfter"), groups_json(&b));
    world_compare_first_seen(b.world, "firstSeen", GOLDEN_OUT(c, "firstSeen"));
    bench_end(&b);
}

/* ---- decisions ---- */

static void compare_decision(struct bench *b, size_t i, const struct vpa_json *want)
{
    struct golden_case *c = b->c;
    struct pass_env *env = world_env(b->world);
    const struct vpa_pod *pod = b->pods[i];
    const struct vpa_object *vpa = b->work.vpa;
    struct vpa_replica_group *group = vpa_disruption_group(b->work.budget, i);
    vpa_time now = vpa_loop_now(env->loop);
    enum vpa_update_decision decision;
    struct text_list expired = {0};

    vpa_update_memory_observe(env->memory, pod, now);
    decision = vpa_update_decide(pod, vpa, group, env->memory, &env->update, now);
#define LABEL(what) golden_label(c, "pods[%s]." what, pod->meta.name)

    golden_text(c, LABEL("name"), vpa_json_find(want, "name"), pod->meta.name);
    golden_bool(c, LABEL("resizing"), vpa_json_find(want, "resizing"), vpa_pod_resizing(pod));
    golden_text(c, LABEL("resizeStatus"), vpa_json_find(want, "resizeStatus"),
                vpa_resize_status_name(vpa_pod_resize_status(pod)));
    golden_text(c, LABEL("decision"), vpa_json_find(want, "decision"), decision_name(decision));
    golden_bool(c, LABEL("canEvict"), vpa_json_find(want, "canEvict"), can_evict(b, i));
    golden_bool(c, LABEL("canUnboost"), vpa_json_find(want, "canUnboost"),
                vpa_can_unboost(pod, vpa, group, &env->update, now));
    for (size_t k = 0; k < pod->meta.annotations.count; k++) {
        const char *key = pod->meta.annotations.items[k].key;
        const char *container = vpa_boost_marker_container(key);

        if (container && vpa_boost_expired(pod, vpa, container, now))
            text_list_add(c, &expired, key);
    }
    golden_json(c, LABEL("expiredBoosts"), vpa_json_find(want, "expiredBoosts"),
                expired.count > 0 ? text_list_json(c, &expired) : NULL);
    bool explicit =
        vpa_json_string(vpa_json_at(GOLDEN_IN(c, "vpa"), "spec.updatePolicy.updateMode"));
    if (explicit || vpa_json_find(want, "keptByFilter")) {
        const struct vpa_rest_facts state = updater_work_state(&b->work, i);
        enum vpa_rest rest = vpa_rest_of_state(&state);

        world_begin_step(b->world);
        if (rest == VPA_REST_INFEASIBLE)
            updater_work_skip_infeasible(&b->work, i);
        golden_bool(c, LABEL("keptByFilter"), vpa_json_find(want, "keptByFilter"),
                    vpa_update_mode_in_place(b->work.mode)
                        ? rest == VPA_REST_NONE
                        : vpa_update_kept_by_filter(b->work.mode, decision));
        updater_flush(world_updater(b->world), VPA_MINUTE);
        golden_json(c, LABEL("events"), vpa_json_find(want, "events"),
                    world_events(b->world, false, true));
    }
#undef LABEL
}

void updater_decide_case(struct golden_case *c)
{
    struct bench b = {.c = c};

    if (!updater_case_is_undone())
        violation = NULL;
    bench_begin(&b);
    golden_json(c, "groups", GOLDEN_OUT(c, "groups"), groups_json(&b));
    golden_count(c, "pods", GOLDEN_OUT(c, "pods"), b.pod_count);
    bool *done = vpa_arena_zalloc(c->arena, b.pod_count + 1);
    vpa_json_foreach (want, GOLDEN_OUT(c, "pods")) {
        const char *name = vpa_or_empty(vpa_json_string(vpa_json_find(want, "name")));
        size_t i = 0;

        while (i < b.pod_count && (done[i] || !vpa_str_eq(b.pods[i]->meta.name, name)))
            i++;
        if (i < b.pod_count)
            compare_decision(&b, i, want);
        else
            golden_difference(c, "pods", name, "not there");
        done[i] = true;
    }
    world_compare_first_seen(b.world, "firstSeen", GOLDEN_OUT(c, "firstSeen"));
    bench_end(&b);
}
