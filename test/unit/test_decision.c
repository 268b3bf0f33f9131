/*
 * Decisions made again: from an entry of the ledger and the objects that it names the same decision
 * comes out, to the last bit, for 10,000 random ones.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "objects.h"
#include "vpa/api/limit_range.h"
#include "vpa/base/mem.h"
#include "vpa/base/random.h"
#include "vpa/base/str.h"
#include "vpa/daemon/ledger.h"
#include "vpa/policy/decision.h"
#include "vpa/policy/patch_facts.h"
#include "vpa/policy/recommendation_facts.h"
#include "vpa/policy/rest_facts.h"

#define DECISIONS 10000
#define START 1772366400 /* 2026-03-01T12:00:00Z */

/* ---- entries ---- */

static bool get_double(const struct vpa_json *inputs, const char *name, double *out)
{
    const char *text = vpa_json_string(vpa_json_find(inputs, name));
    char *end;

    if (!text || !*text)
        return false;
    *out = strtod(text, &end);
    return !*end;
}

static bool get_nanos(const struct vpa_json *inputs, const char *name, int64_t *out)
{
    const char *text = vpa_json_string(vpa_json_find(inputs, name));
    char *end;

    if (!text || !*text)
        return false;
    *out = strtoll(text, &end, 10);
    return !*end;
}

static bool get_admission(const struct vpa_json *inputs, enum vpa_admission *out)
{
    const char *name = vpa_json_string(vpa_json_find(inputs, "admission"));

    for (int a = VPA_ADMIT_NO_RECOMMENDATION; a <= VPA_ADMIT_ACCEPTED; a++) {
        if (!vpa_str_eq(vpa_admission_name((enum vpa_admission)a), name))
            continue;
        *out = (enum vpa_admission)a;
        return true;
    }
    return false;
}

static bool get_outcome(const struct vpa_json *inputs, struct vpa_decision *out)
{
    return get_admission(inputs, &out->admission) &&
           get_double(inputs, "priority", &out->priority.diff) &&
           vpa_json_bool(vpa_json_find(inputs, "scaleUp"), &out->priority.scale_up) &&
           vpa_json_bool(vpa_json_find(inputs, "outsideRange"), &out->priority.outside_range) &&
           vpa_json_bool(vpa_json_find(inputs, "allowed"), &out->allowed);
}

/* What vpa_decision_encode wrote of now, options and outcome. */
static int decode(const struct vpa_json *inputs, struct vpa_priority_options *options,
                  vpa_time *now, struct vpa_decision *out, struct vpa_error *err)
{
    struct vpa_priority_options o;
    struct vpa_decision decision = {.allowed = false};
    int64_t nanos;

    if (!get_nanos(inputs, "now", &nanos) ||
        !get_double(inputs, "updateThreshold", &o.update_threshold) ||
        !get_nanos(inputs, "lifetimeThreshold", &o.lifetime_threshold) ||
        !get_nanos(inputs, "oomThreshold", &o.oom_threshold) ||
        !vpa_json_bool(vpa_json_find(inputs, "perVPAConfig"), &o.per_vpa_config) ||
        !vpa_json_bool(vpa_json_find(inputs, "startupBoost"), &o.startup_boost) ||
        !get_outcome(inputs, &decision))
        return vpa_fail(err, VPA_INVALID, "these are no inputs of a decision");
    *options = o;
    *now = vpa_time_from_unix(nanos / VPA_SECOND, nanos % VPA_SECOND);
    *out = decision;
    return 0;
}

/* The same outcome, bit by bit. */
static bool is_equal(const struct vpa_decision *a, const struct vpa_decision *b)
{
    return a->admission == b->admission && a->allowed == b->allowed &&
           a->priority.scale_up == b->priority.scale_up &&
           a->priority.outside_range == b->priority.outside_range &&
           memcmp(&a->priority.diff, &b->priority.diff, sizeof(a->priority.diff)) == 0;
}

/* ---- random objects ---- */

static struct vpa_random randomness;

static int64_t any(int64_t below)
{
    return (int64_t)(vpa_random_next(&randomness) % (uint64_t)below);
}

static const char *one_of(const char *const *texts, size_t count)
{
    return texts[any((int64_t)count)];
}
#define ONE_OF(...)                                                                                \
    one_of((const char *const[]){__VA_ARGS__},                                                     \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static char *amounts(struct vpa_arena *arena)
{
    return vpa_arena_printf(
        arena, "{%s}",
        ONE_OF("", vpa_arena_printf(arena, "'cpu':'%dm'", (int)any(3000)),
               vpa_arena_printf(arena, "'cpu':'%d','memory':'%dMi'", (int)any(4), (int)any(4000)),
               vpa_arena_printf(arena, "'memory':'%d'", (int)any(2000000000))));
}

static char *time_text(struct vpa_arena *arena, int64_t before)
{
    char text[VPA_TIME_TEXT_MAX];

    vpa_time_format(vpa_time_from_unix(START - any(before), 0), text);
    return vpa_arena_strdup(arena, text);
}

static char *pod_text(struct vpa_arena *arena)
{
    char *first = vpa_arena_printf(arena, "{'name':'a','resources':{'requests':%s,'limits':%s}}",
                                   amounts(arena), amounts(arena));
    char *more =
        vpa_arena_printf(arena, ",{'name':'b','resources':{'requests':%s}}", amounts(arena));
    char *oom = vpa_arena_printf(
        arena,
        ",'containerStatuses':[{'name':'a','lastState':{'terminated':{'reason':'%s','startedAt':"
        "'%s','finishedAt':'%s'}}}]",
        ONE_OF("OOMKilled", "Error"), time_text(arena, 2000), time_text(arena, 1000));

    return vpa_arena_printf(
        arena,
        "{'metadata':{'name':'p','namespace':'n','uid':'u%d','resourceVersion':'%d'%s},'spec':{"
        "'containers':[%s%s]},'status':{'startTime':'%s'%s}}",
        (int)any(1000), (int)any(1000), ONE_OF("", ",'annotations':{'vpaObservedContainers':'a'}"),
        first, any(2) ? more : "", time_text(arena, 100000), any(2) ? oom : "");
}

static char *vpa_text(struct vpa_arena *arena)
{
    char *a =
        vpa_arena_printf(arena, "{'containerName':'a','target':%s,'lowerBound':%s,'upperBound':%s}",
                         amounts(arena), amounts(arena), amounts(arena));
    char *b = vpa_arena_printf(arena, ",{'containerName':'b','target':%s}", amounts(arena));

    return vpa_arena_printf(
        arena,
        "{'metadata':{'name':'v','namespace':'n','uid':'w','resourceVersion':'%d'},'spec':{"
        "'updatePolicy':{'updateMode':'%s'%s},'resourcePolicy':{'containerPolicies':[{"
        "'containerName':'*','maxAllowed':%s}]}},'status':{'recommendation':{"
        "'containerRecommendations':[%s%s]}}}",
        (int)any(1000), ONE_OF("Recreate", "InPlace", "InPlaceOrRecreate"),
        ONE_OF("", ",'evictAfterOOMSeconds':300",
               ",'evictionRequirements':[{'resources':['cpu'],'changeRequirement':"
               "'TargetHigherThanRequests'}]"),
        amounts(arena), a, any(2) ? b : "");
}

static void read_limits(struct vpa_arena *arena, const char *text, struct vpa_namespace_limits *out)
{
    struct vpa_limit_range *range = vpa_arena_zalloc(arena, sizeof(*range));
    const struct vpa_limit_range *const ranges[] = {range};
    struct vpa_error err;

    ck_assert_int_eq(vpa_limit_range_decode(arena, objects_json(arena, text), range, &err), 0);
    vpa_namespace_limits_fold(arena, ranges, 1, out);
}

/* What is stored of one decision: the objects as the API server has them. */
struct stored {
    char *pod, *vpa, *limits;
};

static struct vpa_priority_options any_options(void)
{
    return (struct vpa_priority_options){
        .update_threshold = vpa_random_double(&randomness) / 3,
        .lifetime_threshold = any(24) * VPA_HOUR,
        .oom_threshold = any(1200) * VPA_SECOND + any(1000),
        .per_vpa_config = any(2),
        .startup_boost = any(2),
    };
}

static void decide(struct vpa_ledger *ledger, const struct stored *stored, vpa_time now)
{
    const struct vpa_priority_options options = any_options();
    vpa_auto_arena arena = {0};
    struct vpa_namespace_limits limits;
    struct vpa_decision decision;
    struct vpa_json_writer w;
    vpa_auto_buf inputs = VPA_BUF(VPA_LEDGER_LINE_MAX);
    struct vpa_error err;

    read_limits(&arena, stored->limits, &limits);
    const struct vpa_decision_facts facts = {.pod = objects_pod(&arena, stored->pod),
                                             .vpa = objects_vpa(&arena, stored->vpa),
                                             .limits = &limits,
                                             .options = &options,
                                             .now = now,
                                             .evicts = any(2)};
    ck_assert_int_eq(vpa_decision_make(&arena, &facts, &decision, &err), 0);
    vpa_json_writer_init(&w, &inputs);
    vpa_decision_encode(&w, &facts, &decision);
    vpa_ledger_record(ledger, &(struct vpa_ledger_entry){.time = now,
                                                         .ns = "n",
                                                         .vpa = "v",
                                                         .pod = "p",
                                                         .decision = "decide",
                                                         .inputs = vpa_buf_text(&inputs)});
}

static void replay(const struct vpa_json *entry, const struct stored *stored,
                   size_t counts[VPA_ADMIT_ACCEPTED + 1])
{
    const struct vpa_json *inputs = vpa_json_find(entry, "inputs");
    struct vpa_priority_options options;
    struct vpa_decision was, now_made;
    vpa_auto_arena arena = {0};
    struct vpa_namespace_limits limits;
    int64_t hash = -1;
    bool evicts;
    struct vpa_error err;
    vpa_time now;

    ck_assert_int_eq(decode(inputs, &options, &now, &was, &err), 0);
    ck_assert(vpa_json_bool(vpa_json_find(inputs, "evicts"), &evicts));
    read_limits(&arena, stored->limits, &limits);
    const struct vpa_decision_facts facts = {.pod = objects_pod(&arena, stored->pod),
                                             .vpa = objects_vpa(&arena, stored->vpa),
                                             .limits = &limits,
                                             .options = &options,
                                             .now = now,
                                             .evicts = evicts};
    ck_assert(vpa_json_int64(vpa_json_find(inputs, "limits"), &hash));
    ck_assert_int_eq(hash, vpa_namespace_limits_hash(&limits));
    ck_assert_str_eq(vpa_json_string(vpa_json_at(inputs, "pod.uid")), facts.pod->meta.uid);
    ck_assert_str_eq(vpa_json_string(vpa_json_at(inputs, "vpa.resourceVersion")),
                     facts.vpa->meta.resource_version);
    ck_assert_int_eq(vpa_decision_make(&arena, &facts, &now_made, &err), 0);
    ck_assert(is_equal(&was, &now_made));
    counts[was.admission]++;
}

static void store_objects(struct vpa_arena *arena, struct stored *out)
{
    out->pod = pod_text(arena);
    out->vpa = vpa_text(arena);
    out->limits = vpa_arena_printf(
        arena,
        "{'metadata':{'name':'l','namespace':'n'},'spec':{'limits':[{'type':'%s','max':%s}]}}",
        ONE_OF("Container", "Pod"), amounts(arena));
}

/* The entries behind the first so many, of one page. */
static const struct vpa_json *read_page(struct vpa_ledger *ledger, size_t since,
                                        struct vpa_arena *arena)
{
    vpa_auto_free char *text = vpa_xprintf("%zu", since);
    vpa_auto_buf out = VPA_BUF(2 * VPA_LEDGER_PAGE_MAX);
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_int_eq(vpa_ledger_read(ledger, &(struct vpa_ledger_query){.since = text}, &out, &err),
                     0);
    ck_assert_int_eq(vpa_json_parse(arena, out.data, out.len, &root, &err), 0);
    return vpa_json_find(root, "decisions");
}

TEST(ten_thousand_decisions_are_made_again) {
    struct vpa_ledger *ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = 64 << 20});
    vpa_auto_arena arena = {0};
    struct stored *stored = vpa_arena_zalloc(&arena, DECISIONS * sizeof(*stored));
    size_t counts[VPA_ADMIT_ACCEPTED + 1] = {0}, replayed = 0;

    vpa_random_init(&randomness, 14);
    for (size_t i = 0; i < DECISIONS; i++) {
        store_objects(&arena, &stored[i]);
        decide(ledger, &stored[i], vpa_time_from_unix(START + any(1000), any(VPA_SECOND)));
    }
    while (replayed < DECISIONS) {
        vpa_auto_arena page = {0};
        const struct vpa_json *list = read_page(ledger, replayed, &page);

        ck_assert_ptr_nonnull(vpa_json_first(list));
        vpa_json_foreach (entry, list)
            replay(entry, &stored[replayed++], counts);
    }
    vpa_ledger_free(ledger);
    ck_assert_uint_gt(counts[VPA_ADMIT_ACCEPTED], 1000);
    ck_assert_uint_gt(counts[VPA_ADMIT_YOUNG], 50);
    ck_assert_uint_gt(counts[VPA_ADMIT_DIFF_TOO_LOW], 5);
}

/* ---- decisions not to act ---- */

static char *rest_pod(struct vpa_arena *arena)
{
    return vpa_arena_printf(
        arena,
        "{'metadata':{'name':'p','namespace':'n','uid':'u%d','resourceVersion':'%d'%s},'spec':{"
        "'containers':[{'name':'a','resources':{'requests':%s}%s}]},'status':{'phase':'%s',"
        "'startTime':'%s','conditions':[%s],'containerStatuses':[{'name':'a'%s}]}}",
        (int)any(1000), (int)any(1000),
        ONE_OF("", "", "", ",'annotations':{'startupCPUBoost.a':'{}'}"), amounts(arena),
        ONE_OF("", ",'resizePolicy':[{'resourceName':'cpu','restartPolicy':'RestartContainer'}]"),
        ONE_OF("Running", "Running", "Running", "Pending"), time_text(arena, 100000),
        ONE_OF("", "", "", "{'type':'PodResizePending','status':'True','reason':'Deferred'}",
               "{'type':'PodResizePending','status':'True','reason':'Infeasible'}",
               "{'type':'PodResizeInProgress','status':'True'}",
               "{'type':'PodResizeInProgress','status':'True','reason':'Error'}"),
        ONE_OF("", vpa_arena_printf(arena, ",'resources':{'requests':%s}", amounts(arena))));
}

static char *rest_vpa(struct vpa_arena *arena)
{
    char *rec = vpa_arena_printf(
        arena,
        "'recommendation':{'containerRecommendations':[{'containerName':'a','target':%s,"
        "'lowerBound':%s}]}",
        amounts(arena), amounts(arena));

    return vpa_arena_printf(
        arena,
        "{'metadata':{'name':'v','namespace':'n','uid':'w','resourceVersion':'%d'},'spec':{"
        "'updatePolicy':{'updateMode':'%s'%s}%s},'status':{%s}}",
        (int)any(1000),
        ONE_OF("Off", "Initial", "Recreate", "Recreate", "Recreate", "InPlace", "InPlace",
               "InPlaceOrRecreate", "InPlaceOrRecreate"),
        ONE_OF("", "",
               ",'evictionRequirements':[{'resources':['cpu'],'changeRequirement':"
               "'TargetHigherThanRequests'}]"),
        ONE_OF("", ",'startupBoost':{'cpu':{'type':'Factor','factor':2}}"),
        ONE_OF("", rec, rec, rec, rec));
}

static struct vpa_replica_group any_group(void)
{
    return (struct vpa_replica_group){.kind = "ReplicaSet",
                                      .name = "r",
                                      .configured = any(10),
                                      .running = any(10),
                                      .pending = any(3),
                                      .tolerance = any(4),
                                      .evicted = any(3),
                                      .in_place_started = any(3),
                                      .closed = any(8) == 0,
                                      .below_min = any(8) == 0};
}

/* What a rest rests on beside objects and memory. */
struct rest_case {
    struct stored stored;
    struct vpa_update_options update;
    struct vpa_priority_options priority;
    struct vpa_replica_group group;
    struct vpa_update_memory *memory;
    struct vpa_rest_facts facts; /* without what is borrowed from the objects */
    bool evicts;
    vpa_time now;
};

/* Everything borrowed lives in the arena or the case. */
static const struct vpa_rest_facts *rest_facts(struct vpa_arena *arena, struct rest_case *c)
{
    struct vpa_namespace_limits *limits = vpa_arena_zalloc(arena, sizeof(*limits));
    struct vpa_rest_facts *f = &c->facts;

    read_limits(arena, c->stored.limits, limits);
    f->of = (struct vpa_decision_facts){.pod = objects_pod(arena, c->stored.pod),
                                        .vpa = objects_vpa(arena, c->stored.vpa),
                                        .limits = limits,
                                        .options = &c->priority,
                                        .now = c->now,
                                        .evicts = c->evicts};
    f->update = &c->update;
    f->memory = c->memory;
    f->steady = c->now;
    return f;
}

static void remember_anything(struct rest_case *c)
{
    vpa_auto_arena arena = {0};
    const struct vpa_pod *pod = objects_pod(&arena, c->stored.pod);
    const char *other = vpa_text(&arena);

    vpa_update_memory_observe(c->memory, pod, vpa_time_add(c->now, -any(2 * VPA_HOUR)));
    if (any(16) == 0)
        vpa_update_memory_note_eviction(c->memory, pod, 0, c->now);
    if (any(8) == 0)
        vpa_update_memory_note_restart(c->memory, pod, c->now);
    vpa_update_memory_set_unboost(c->memory, pod->meta.uid, any(4) == 0);
    if (any(4) == 0)
        vpa_update_memory_record_infeasible(c->memory, pod->meta.uid,
                                            &objects_vpa(&arena, other)->recommendation);
}

static void any_case(struct vpa_arena *arena, struct rest_case *c)
{
    static const enum vpa_rest turns[] = {VPA_REST_NONE,   VPA_REST_PROOF, VPA_REST_PAUSED,
                                          VPA_REST_BUDGET, VPA_REST_RATE,  VPA_REST_NO_RESIZES};

    store_objects(arena, &c->stored);
    c->stored.pod = rest_pod(arena);
    c->stored.vpa = rest_vpa(arena);
    c->now = vpa_time_from_unix(START + any(1000), any(VPA_SECOND));
    c->update = (struct vpa_update_options){
        .in_place_gate = any(4), .boost_gate = any(2), .in_place_skip_budget = any(4) == 0};
    c->priority = any_options();
    c->evicts = any(2);
    c->group = any_group();
    c->memory = vpa_update_memory_new();
    remember_anything(c);
    c->facts = (struct vpa_rest_facts){.group = any(6) ? &c->group : NULL,
                                       .held = any(16) == 0,
                                       .controlled = any(8),
                                       .live = any(5),
                                       .required = any(5),
                                       .turn = turns[any(VPA_COUNT(turns))]};
}

static enum vpa_rest record_rest(struct vpa_ledger *ledger, struct rest_case *c)
{
    vpa_auto_arena arena = {0};
    struct vpa_json_writer w;
    vpa_auto_buf inputs = VPA_BUF(VPA_LEDGER_LINE_MAX);
    struct vpa_rest_facts facts = *rest_facts(&arena, c);

    facts.of.infeasible = vpa_update_memory_infeasible(c->memory, facts.of.pod->meta.uid);
    enum vpa_rest rest = vpa_rest_make(&arena, &facts);

    vpa_json_writer_init(&w, &inputs);
    vpa_rest_facts_encode(&w, &arena, &facts);
    vpa_ledger_record(ledger, &(struct vpa_ledger_entry){.decision = "leave alone",
                                                         .rule = vpa_rest_name(rest),
                                                         .inputs = vpa_buf_text(&inputs)});
    return rest;
}

static enum vpa_rest rest_named(const char *name)
{
    for (int rest = VPA_REST_NONE; rest < VPA_REST_COUNT; rest++) {
        if (vpa_str_eq(vpa_rest_name((enum vpa_rest)rest), name))
            return (enum vpa_rest)rest;
    }
    ck_abort_msg("no rule %s", name);
}

static bool get_bool(const struct vpa_json *node, const char *name)
{
    bool value = false;

    ck_assert_msg(vpa_json_bool(vpa_json_find(node, name), &value), "%s", name);
    return value;
}

static int64_t get_int(const struct vpa_json *node, const char *name)
{
    int64_t value = 0;

    ck_assert_msg(vpa_json_int64(vpa_json_find(node, name), &value), "%s", name);
    return value;
}

static void read_group(const struct vpa_json *node, struct vpa_replica_group *out)
{
    *out = (struct vpa_replica_group){.configured = get_int(node, "configured"),
                                      .running = get_int(node, "running"),
                                      .pending = get_int(node, "pending"),
                                      .tolerance = get_int(node, "tolerance"),
                                      .evicted = get_int(node, "evicted"),
                                      .in_place_started = get_int(node, "resized"),
                                      .closed = get_bool(node, "closed"),
                                      .below_min = get_bool(node, "belowMin")};
}

/* The memory of a process that saw what the entry says. */
static void read_memory(const struct vpa_json *inputs, const struct rest_case *c)
{
    vpa_auto_arena arena = {0};
    const struct vpa_pod *pod = objects_pod(&arena, c->stored.pod);
    struct vpa_recommendation infeasible;
    struct vpa_error err;
    int64_t since;

    if (get_nanos(inputs, "resizeSince", &since))
        vpa_update_memory_observe(c->memory, pod, vpa_time_from_unix(0, since));
    if (get_bool(inputs, "evicted"))
        vpa_update_memory_note_eviction(c->memory, pod, 0, c->now);
    if (get_bool(inputs, "starting"))
        vpa_update_memory_note_restart(c->memory, pod, c->now);
    vpa_update_memory_set_unboost(c->memory, pod->meta.uid, get_bool(inputs, "boostEnding"));
    if (!vpa_json_find(inputs, "infeasible"))
        return;
    ck_assert_int_eq(
        vpa_recommendation_decode(&arena, vpa_json_find(inputs, "infeasible"), &infeasible, &err),
        0);
    vpa_update_memory_record_infeasible(c->memory, pod->meta.uid, &infeasible);
}

static void read_case(const struct vpa_json *inputs, struct rest_case *c)
{
    struct vpa_decision ignored;
    struct vpa_error err;

    ck_assert_int_eq(
        decode(vpa_json_find(inputs, "decision"), &c->priority, &c->now, &ignored, &err), 0);
    c->update = (struct vpa_update_options){.in_place_gate = get_bool(inputs, "inPlace"),
                                            .boost_gate = get_bool(inputs, "startupBoost"),
                                            .in_place_skip_budget = get_bool(inputs, "skipBudget")};
    c->evicts = get_bool(vpa_json_find(inputs, "decision"), "evicts");
    c->memory = vpa_update_memory_new();
    read_memory(inputs, c);
    if (vpa_json_find(inputs, "group"))
        read_group(vpa_json_find(inputs, "group"), &c->group);
    c->facts =
        (struct vpa_rest_facts){.group = vpa_json_find(inputs, "group") ? &c->group : NULL,
                                .held = get_bool(inputs, "held"),
                                .controlled = get_bool(inputs, "controlled"),
                                .live = get_int(inputs, "live"),
                                .required = get_int(inputs, "required"),
                                .turn = rest_named(vpa_json_string(vpa_json_find(inputs, "turn")))};
}

/* From the entry and the objects alone. */
static void replay_rest(const struct vpa_json *entry, const struct stored *stored)
{
    struct rest_case again = {.stored = *stored};
    vpa_auto_arena arena = {0};
    struct vpa_rest_facts facts;

    read_case(vpa_json_find(entry, "inputs"), &again);
    facts = *rest_facts(&arena, &again);
    facts.of.infeasible = vpa_update_memory_infeasible(again.memory, facts.of.pod->meta.uid);
    ck_assert_str_eq(vpa_rest_name(vpa_rest_make(&arena, &facts)),
                     vpa_json_string(vpa_json_find(entry, "rule")));
    vpa_update_memory_free(again.memory);
}

TEST(ten_thousand_decisions_not_to_act_are_made_again) {
    struct vpa_ledger *ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = 64 << 20});
    vpa_auto_arena arena = {0};
    struct stored *stored = vpa_arena_zalloc(&arena, DECISIONS * sizeof(*stored));
    size_t counts[VPA_REST_COUNT] = {0}, replayed = 0, kinds = 0;

    vpa_random_init(&randomness, 17);
    for (size_t i = 0; i < DECISIONS; i++) {
        struct rest_case c = {.now = 0};

        any_case(&arena, &c);
        stored[i] = c.stored;
        counts[record_rest(ledger, &c)]++;
        vpa_update_memory_free(c.memory);
    }
    while (replayed < DECISIONS) {
        vpa_auto_arena page = {0};
        const struct vpa_json *list = read_page(ledger, replayed, &page);

        ck_assert_ptr_nonnull(vpa_json_first(list));
        vpa_json_foreach (entry, list)
            replay_rest(entry, &stored[replayed++]);
    }
    vpa_ledger_free(ledger);
    for (int rest = VPA_REST_MODE; rest < VPA_REST_COUNT; rest++)
        kinds += counts[rest] > 0;
    ck_assert_uint_ge(kinds, 20);
    ck_assert_uint_gt(counts[VPA_REST_BUDGET], 500);
    ck_assert_uint_gt(counts[VPA_REST_RESIZING], 100);
    ck_assert_uint_gt(counts[VPA_REST_INFEASIBLE], 20);
}

/* ---- patches ---- */

struct patch_case {
    struct stored stored;
    bool boost;
};

static int make_patch(struct vpa_arena *arena, const struct patch_case *c, struct vpa_buf *patch,
                      struct vpa_json_writer *inputs)
{
    struct vpa_namespace_limits limits;
    vpa_auto_buf words = VPA_BUF(VPA_REASON_MAX);
    const struct vpa_pod *pod = objects_pod(arena, c->stored.pod);
    struct vpa_reason_phrases changes = {.out = &words, .pod = pod};
    const struct vpa_pod_patch_options options = {.startup_boost = c->boost, .changes = &changes};
    struct vpa_patch_facts facts = {.review = "r",
                                    .pod = pod,
                                    .vpa = objects_vpa(arena, c->stored.vpa),
                                    .limits = &limits,
                                    .options = &options};
    struct vpa_error err;

    read_limits(arena, c->stored.limits, &limits);
    vpa_buf_init(patch, VPA_LEDGER_LINE_MAX);
    int failed = vpa_pod_patch(arena, pod, facts.vpa, &limits, &options, patch, &err);
    facts.before = changes.left_out > 0;
    if (inputs)
        vpa_patch_facts_encode(inputs, &facts, failed ? NULL : vpa_buf_text(patch), patch->len);
    return failed;
}

static void record_patch(struct vpa_ledger *ledger, const struct patch_case *c)
{
    vpa_auto_arena arena = {0};
    vpa_auto_buf patch = {0}, inputs = VPA_BUF(VPA_LEDGER_LINE_MAX);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &inputs);
    (void)make_patch(&arena, c, &patch, &w);
    vpa_ledger_record(ledger, &(struct vpa_ledger_entry){.decision = "patch",
                                                         .inputs = inputs.data,
                                                         .inputs_len = inputs.len});
}

/* The entry names settings and objects, and has the patch. */
static void replay_patch(const struct vpa_json *entry, const struct patch_case *stored)
{
    const struct vpa_json *inputs = vpa_json_find(entry, "inputs");
    struct patch_case again = *stored;
    vpa_auto_arena arena = {0};
    vpa_auto_buf patch = {0}, was = VPA_BUF(VPA_LEDGER_LINE_MAX);
    struct vpa_json_writer w;

    ck_assert(vpa_json_bool(vpa_json_find(inputs, "startupBoost"), &again.boost));
    ck_assert_int_eq(make_patch(&arena, &again, &patch, NULL), 0);
    vpa_json_writer_init(&w, &was);
    vpa_json_put_node(&w, vpa_json_find(inputs, "patch"));
    ck_assert_str_eq(vpa_buf_text(&was), vpa_buf_text(&patch));
    ck_assert_str_eq(vpa_json_string(vpa_json_at(inputs, "vpa.resourceVersion")),
                     objects_vpa(&arena, stored->stored.vpa)->meta.resource_version);
}

TEST(ten_thousand_patches_are_made_again) {
    struct vpa_ledger *ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = 64 << 20});
    vpa_auto_arena arena = {0};
    struct patch_case *cases = vpa_arena_zalloc(&arena, DECISIONS * sizeof(*cases));
    size_t replayed = 0;

    vpa_random_init(&randomness, 15);
    for (size_t i = 0; i < DECISIONS; i++) {
        store_objects(&arena, &cases[i].stored);
        cases[i].boost = any(2);
        record_patch(ledger, &cases[i]);
    }
    while (replayed < DECISIONS) {
        vpa_auto_arena page = {0};
        const struct vpa_json *list = read_page(ledger, replayed, &page);

        ck_assert_ptr_nonnull(vpa_json_first(list));
        vpa_json_foreach (entry, list)
            replay_patch(entry, &cases[replayed++]);
    }
    vpa_ledger_free(ledger);
}

/* Word by word: the least and the most that is written. */
TEST(what_a_patch_rested_on) {
    vpa_auto_arena arena = {0};
    const struct vpa_pod *pod = objects_pod(
        &arena, "{'metadata':{'name':'p','namespace':'n'},'spec':{'containers':[{'name':'c',"
                "'resources':{'requests':{'cpu':'1','memory':'1Gi'},'limits':{'cpu':'2'}}},"
                "{'name':'d'}]}}");
    const struct vpa_object *vpa = objects_vpa(
        &arena, "{'metadata':{'name':'v','namespace':'n','uid':'u','resourceVersion':'7'},"
                "'status':{'recommendation':{'containerRecommendations':[{'containerName':'c',"
                "'target':{'cpu':'2'}}]}}}");
    const struct vpa_pod_patch_options none = {0};
    const struct vpa_pod_patch_options boost = {.startup_boost = true,
                                                .max_cpu_boost = vpa_quantity_milli(1500)};
    struct vpa_namespace_limits limits;
    vpa_auto_buf least = VPA_BUF(1 << 12), most = VPA_BUF(1 << 12);
    struct vpa_json_writer w;

    read_limits(&arena, "{'metadata':{'name':'l'},'spec':{'limits':[]}}", &limits);
    vpa_json_writer_init(&w, &least);
    vpa_patch_facts_encode(
        &w, &(struct vpa_patch_facts){.review = "r", .pod = pod, .vpa = vpa, .options = &none},
        NULL, 0);
#define NAMED "\"vpa\":{\"namespace\":\"n\",\"name\":\"v\",\"uid\":\"u\",\"resourceVersion\":\"7\"}"
    ck_assert_str_eq(vpa_buf_text(&least),
                     "{\"review\":\"r\",\"startupBoost\":false,\"maxCPUBoost\":\"0\"," NAMED "}");
    vpa_json_writer_init(&w, &most);
    vpa_patch_facts_encode(&w,
                           &(struct vpa_patch_facts){.review = "s",
                                                     .pod = pod,
                                                     .vpa = vpa,
                                                     .advised = true,
                                                     .limits = &limits,
                                                     .before = true,
                                                     .options = &boost},
                           "[1]", 3);
    ck_assert_str_eq(
        vpa_buf_text(&most),
        vpa_arena_printf(&arena,
                         "{\"review\":\"s\",\"startupBoost\":true,\"maxCPUBoost\":\"1500m\"," NAMED
                         ",\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
                         "\"c\",\"target\":{\"cpu\":\"2\"}}]},\"limits\":%lld,\"before\":[{"
                         "\"name\":\"c\",\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
                         "\"limits\":{\"cpu\":\"2\"}},{\"name\":\"d\"}],\"patch\":[1]}",
                         (long long)vpa_namespace_limits_hash(&limits)));
}

/* ---- recommendations ---- */

static struct vpa_estimates any_estimates(struct vpa_arena *arena)
{
    struct vpa_estimates e = {.count = (size_t)any(3)};

    e.items = vpa_arena_zalloc(arena, 2 * sizeof(*e.items));
    for (size_t i = 0; i < e.count; i++) {
        e.items[i].container = i ? "b" : "a";
        for (int kind = 0; kind < VPA_KINDS; kind++) {
            e.items[i].controlled[kind] = any(4);
            for (int bound = 0; bound < VPA_BOUNDS; bound++)
                e.items[i].estimate.bound[bound].value[kind] = any(kind ? 8000000000 : 8000);
        }
    }
    return e;
}

static void record_recommendation(struct vpa_ledger *ledger, const char *vpa)
{
    vpa_auto_arena arena = {0};
    const struct vpa_estimates estimates = any_estimates(&arena);
    const struct vpa_rendering rendering = {.humanize_memory = any(2),
                                            .round_cpu_millicores = 1 + any(50),
                                            .round_memory_bytes = 1 + any(1000000)};
    struct vpa_resource max = {VPA_CPU, vpa_quantity_milli(any(5000))};
    const struct vpa_resource_list global_max = {.items = &max, .count = (size_t)any(2)};
    const struct vpa_recommendation_facts facts = {.vpa = objects_vpa(&arena, vpa),
                                                   .estimates = &estimates,
                                                   .rendering = &rendering,
                                                   .integer_cpu = any(2),
                                                   .global_max = &global_max};
    const struct vpa_recommendation rec = vpa_recommendation_make(&arena, &facts);
    struct vpa_json_writer w;
    vpa_auto_buf inputs = VPA_BUF(VPA_LEDGER_LINE_MAX);

    vpa_json_writer_init(&w, &inputs);
    vpa_recommendation_facts_encode(&w, &facts, &rec);
    vpa_ledger_record(ledger, &(struct vpa_ledger_entry){.decision = "recommend",
                                                         .inputs = vpa_buf_text(&inputs)});
}

static void read_estimate(const struct vpa_json *node, struct vpa_container_estimate *out)
{
    static const char *const kinds[VPA_KINDS] = {"cpu", "memory"};

    out->container = vpa_json_string(vpa_json_find(node, "name"));
    for (int kind = 0; kind < VPA_KINDS; kind++) {
        const struct vpa_json *bounds = vpa_json_find(node, kinds[kind]);
        int bound = 0;

        out->controlled[kind] = bounds != NULL;
        vpa_json_foreach (value, bounds)
            ck_assert(vpa_json_int64(value, &out->estimate.bound[bound++].value[kind]));
    }
}

static struct vpa_estimates read_estimates(struct vpa_arena *arena, const struct vpa_json *list)
{
    struct vpa_estimates e = {.items = vpa_arena_zalloc(arena, 2 * sizeof(*e.items))};

    vpa_json_foreach (node, list)
        read_estimate(node, &e.items[e.count++]);
    return e;
}

static void replay_recommendation(const struct vpa_json *entry, const char *vpa)
{
    const struct vpa_json *inputs = vpa_json_find(entry, "inputs");
    vpa_auto_arena arena = {0};
    const struct vpa_estimates estimates =
        read_estimates(&arena, vpa_json_find(inputs, "estimates"));
    struct vpa_rendering rendering;
    struct vpa_resource_list global_max;
    struct vpa_recommendation_facts facts = {.vpa = objects_vpa(&arena, vpa),
                                             .estimates = &estimates,
                                             .rendering = &rendering,
                                             .global_max = &global_max};
    vpa_auto_buf was = VPA_BUF(VPA_LEDGER_LINE_MAX), is = VPA_BUF(VPA_LEDGER_LINE_MAX);
    struct vpa_json_writer w;
    struct vpa_error err;

    ck_assert(vpa_json_bool(vpa_json_find(inputs, "humanizeMemory"), &rendering.humanize_memory));
    ck_assert(vpa_json_int64(vpa_json_find(inputs, "roundCPUMillicores"),
                             &rendering.round_cpu_millicores));
    ck_assert(
        vpa_json_int64(vpa_json_find(inputs, "roundMemoryBytes"), &rendering.round_memory_bytes));
    ck_assert(vpa_json_bool(vpa_json_find(inputs, "integerCPU"), &facts.integer_cpu));
    ck_assert_int_eq(
        vpa_resource_list_decode(&arena, vpa_json_find(inputs, "maxAllowed"), &global_max, &err),
        0);

    const struct vpa_recommendation rec = vpa_recommendation_make(&arena, &facts);

    vpa_json_writer_init(&w, &was);
    vpa_json_put_node(&w, inputs);
    vpa_json_writer_init(&w, &is);
    vpa_recommendation_facts_encode(&w, &facts, &rec);
    ck_assert_str_eq(vpa_buf_text(&was), vpa_buf_text(&is));
}

TEST(ten_thousand_recommendations_are_made_again) {
    struct vpa_ledger *ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = 64 << 20});
    vpa_auto_arena arena = {0};
    const char **vpas = vpa_arena_zalloc(&arena, DECISIONS * sizeof(*vpas));
    size_t replayed = 0;

    vpa_random_init(&randomness, 16);
    for (size_t i = 0; i < DECISIONS; i++) {
        vpas[i] = vpa_text(&arena);
        record_recommendation(ledger, vpas[i]);
    }
    while (replayed < DECISIONS) {
        vpa_auto_arena page = {0};
        const struct vpa_json *list = read_page(ledger, replayed, &page);

        ck_assert_ptr_nonnull(vpa_json_first(list));
        vpa_json_foreach (entry, list)
            replay_recommendation(entry, vpas[replayed++]);
    }
    vpa_ledger_free(ledger);
}

static const char *const no_inputs[] = {
    "{}", "[]", "{'now':'x'}",
    "{'now':'1','updateThreshold':'0x1p-3','lifetimeThreshold':'1','oomThreshold':'1',"
    "'perVPAConfig':true,'startupBoost':true,'admission':'nonsense','priority':'0x1p0','scaleUp':"
    "true,"
    "'outsideRange':true,'allowed':true}"};

TEST_EACH(what_is_no_decision_is_refused, no_inputs) {
    vpa_auto_arena arena = {0};
    struct vpa_priority_options options;
    struct vpa_decision decision;
    struct vpa_error err;
    vpa_time now;

    ck_assert_int_eq(decode(objects_json(&arena, no_inputs[_i]), &options, &now, &decision, &err),
                     -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
}

/* Without limits that are known nothing is decided. */
TEST(unknown_limits_make_no_decision) {
    vpa_auto_arena arena = {0};
    const struct vpa_namespace_limits limits = {.error = "not there"};
    const struct vpa_priority_options options = {0};
    const struct vpa_decision_facts facts = {
        .pod = objects_pod(&arena, "{'metadata':{'name':'p','namespace':'n'},'spec':{'containers':["
                                   "{'name':'c'}]}}"),
        .vpa = objects_vpa(&arena, "{'status':{'recommendation':{'containerRecommendations':[{"
                                   "'containerName':'c','target':{'cpu':'2'}}]}}}"),
        .limits = &limits,
        .options = &options,
        .now = vpa_time_from_unix(START, 0)};
    struct vpa_decision decision;
    struct vpa_error err;

    ck_assert_int_eq(vpa_decision_make(&arena, &facts, &decision, &err), -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(err.text, "error obtaining limit range: not there");
}

/* ---- what a webhook with startup boosts leaves alone ---- */

#define POD_OF_TWO                                                                                 \
    "{'metadata':{'name':'p','namespace':'n'},'spec':{'containers':[{'name':'app','resources':{"   \
    "'requests':{'cpu':'1'},'limits':{'cpu':'1'}}},{'name':'side','resources':{'requests':{"       \
    "'cpu':'1'},'limits':{'cpu':'1'}}}]},'status':{'phase':'Running','startTime':"                 \
    "'2026-03-01T11:59:00Z'}}"
#define SIDE_OFF(mode, targets)                                                                    \
    "{'metadata':{'name':'v','namespace':'n'},'spec':{'updatePolicy':{'updateMode':'" mode "'},"   \
    "'resourcePolicy':{'containerPolicies':[{'containerName':'side','mode':'Off'}]}},'status':{"   \
    "'recommendation':{'containerRecommendations':[" targets "]}}}"
#define TARGET(name, cpu)                                                                          \
    "{'containerName':'" name "','target':{'cpu':'" cpu "'},'lowerBound':{'cpu':'" cpu "'},"       \
    "'upperBound':{'cpu':'" cpu "'}}"
#define LIMITS(items) "{'metadata':{'name':'l','namespace':'n'},'spec':{'limits':[" items "]}}"
#define MOST(cpu) LIMITS("{'type':'Pod','max':{'cpu':'" cpu "'}}")

static const struct {
    const char *name, *vpa, *limits;
    bool gate;
    const char *want; /* the containers that count; NULL: nothing is decided */
    const char *resized;
    enum vpa_admission admission;
    bool evicts;
} alone[] = {
    {"a stale recommendation", SIDE_OFF("Recreate", TARGET("app", "1") "," TARGET("side", "2")),
     LIMITS(""), true, "app ", "app ", VPA_ADMIT_YOUNG, false},
    {"by a webhook without the gate",
     SIDE_OFF("Recreate", TARGET("app", "1") "," TARGET("side", "2")), LIMITS(""), false,
     "app side ", "app ", VPA_ADMIT_ACCEPTED, false},
    {"a resize carries it out",
     SIDE_OFF("InPlaceOrRecreate", TARGET("app", "1") "," TARGET("side", "2")), LIMITS(""), true,
     "app side ", "app side ", VPA_ADMIT_ACCEPTED, false},
    {"no replacement carries it out",
     SIDE_OFF("InPlaceOrRecreate", TARGET("app", "1") "," TARGET("side", "2")), LIMITS(""), true,
     "app ", "app side ", VPA_ADMIT_YOUNG, true},
    {"in a replacement there is no room beside it",
     SIDE_OFF("InPlaceOrRecreate", TARGET("app", "3") "," TARGET("side", "1")), MOST("2"), true,
     NULL, "app side ", VPA_ADMIT_ACCEPTED, true},
    {"counted for the others only", SIDE_OFF("InPlaceOrRecreate", TARGET("app", "2")), MOST("4"),
     true, "app ", "app ", VPA_ADMIT_ACCEPTED, false},
    {"beside it there is no room", SIDE_OFF("Recreate", TARGET("app", "3")), MOST("2"), true, NULL,
     "app ", VPA_ADMIT_ACCEPTED, false},
    {"nobody minds without the gate", SIDE_OFF("Recreate", TARGET("app", "3")), MOST("2"), false,
     "app side ", "app ", VPA_ADMIT_ACCEPTED, false},
};

static const char *names_of(struct vpa_arena *arena, const struct vpa_recommendation *wanted)
{
    const char *names = "";

    for (size_t i = 0; i < wanted->container_count; i++)
        names = vpa_arena_printf(arena, "%s%s ", names, wanted->containers[i].container_name);
    return names;
}

static const char *planned(struct vpa_arena *arena, const struct vpa_pod *pod,
                           const struct vpa_container_plan *plans)
{
    const char *names = "";

    for (size_t i = 0; i < pod->container_count; i++)
        if (plans[i].requests.count > 0)
            names = vpa_arena_printf(arena, "%s%s ", names, pod->containers[i].name);
    return names;
}

TEST_EACH(what_the_webhook_leaves_alone_does_not_count, alone) {
    vpa_auto_arena arena = {0};
    struct vpa_namespace_limits limits;
    const struct vpa_priority_options options = {
        .update_threshold = 0.1, .lifetime_threshold = VPA_HOUR, .startup_boost = alone[_i].gate};
    const struct vpa_decision_facts facts = {.pod = objects_pod(&arena, POD_OF_TWO),
                                             .vpa = objects_vpa(&arena, alone[_i].vpa),
                                             .limits = &limits,
                                             .options = &options,
                                             .now = vpa_time_from_unix(START, 0),
                                             .evicts = alone[_i].evicts};
    struct vpa_container_plan *plans;
    struct vpa_decision decision;
    struct vpa_error err;

    read_limits(&arena, alone[_i].limits, &limits);
    int made = vpa_decision_make(&arena, &facts, &decision, &err);
    ck_assert_msg((made == 0) == (alone[_i].want != NULL), "%s", alone[_i].name);
    if (made == 0) {
        ck_assert_str_eq(names_of(&arena, &decision.wanted), alone[_i].want);
        ck_assert_int_eq(decision.admission, alone[_i].admission);
    }
    ck_assert_int_eq(vpa_capping_plan(&arena, facts.vpa, facts.pod, &limits, &plans, &err), 0);
    vpa_decision_leave_off(facts.pod, facts.vpa, plans);
    ck_assert_str_eq(planned(&arena, facts.pod, plans), alone[_i].resized);
}

/* ---- pods without a recommendation ---- */

#define RECOMMENDED(text)                                                                          \
    "{'metadata':{'name':'v','namespace':'n'},'spec':{'updatePolicy':{'updateMode':'Recreate'},"   \
    "'resourcePolicy':{'containerPolicies':[{'containerName':'*','minAllowed':{'cpu':'1'}}]}},"    \
    "'status':{" text "}}"
#define LIST(items) "'recommendation':{'containerRecommendations':[" items "]}"

static const struct {
    const char *vpa;
    vpa_duration age_wanted; /* the pod is a minute old */
    enum vpa_rest rest;
    bool gate; /* CPUStartupBoost */
} nothing[] = {
    {RECOMMENDED(""), VPA_HOUR, VPA_REST_NO_RECOMMENDATION},
    {RECOMMENDED(""), 0, VPA_REST_NO_RECOMMENDATION},
    {"{'metadata':{'name':'v','namespace':'n'}}", VPA_HOUR, VPA_REST_NO_RECOMMENDATION},
    {RECOMMENDED(LIST("")), 0, VPA_REST_NO_RECOMMENDATION},
    {RECOMMENDED(LIST(TARGET("other", "2"))), 0, VPA_REST_NO_RECOMMENDATION},
    {RECOMMENDED(LIST(TARGET("side", "1"))), VPA_HOUR, VPA_REST_YOUNG},
    {RECOMMENDED(LIST(TARGET("side", "1"))), 0, VPA_REST_IN_BOUNDS},
    /* There is one, and the webhook carries none of it out. */
    {SIDE_OFF("Recreate", TARGET("side", "4")), 0, VPA_REST_IN_BOUNDS, true},
    {SIDE_OFF("Recreate", TARGET("other", "4")), 0, VPA_REST_NO_RECOMMENDATION, true},
};

/* That nothing is recommended says more than that nothing is out of bounds. */
TEST_EACH(a_pod_without_a_recommendation_is_not_within_its_bounds, nothing) {
    vpa_auto_arena arena = {0};
    struct vpa_namespace_limits limits;
    const struct vpa_priority_options options = {.update_threshold = 0.1,
                                                 .lifetime_threshold = nothing[_i].age_wanted,
                                                 .startup_boost = nothing[_i].gate};
    const struct vpa_decision_facts facts = {.pod = objects_pod(&arena, POD_OF_TWO),
                                             .vpa = objects_vpa(&arena, nothing[_i].vpa),
                                             .limits = &limits,
                                             .options = &options,
                                             .now = vpa_time_from_unix(START, 0)};
    struct vpa_decision decision;
    struct vpa_error err;

    read_limits(&arena, LIMITS(""), &limits);
    ck_assert_int_eq(vpa_decision_make(&arena, &facts, &decision, &err), 0);
    ck_assert_int_eq(vpa_rest_of_decision(&decision), nothing[_i].rest);
}

/* What is scaled to fit a Pod LimitRange may have become -1, which no pod is ever given: one that
 * has 0 has what it should have. */
TEST(memory_is_never_below_zero) {
    vpa_auto_arena arena = {0};
    struct vpa_namespace_limits limits;
    const struct vpa_priority_options options = {.update_threshold = 0.1};
    const struct vpa_decision_facts facts = {
        .pod = objects_pod(
            &arena, "{'metadata':{'name':'p','namespace':'n'},'spec':{'containers':[{'name':'a',"
                    "'resources':{'requests':{'memory':'0'}}},{'name':'b','resources':{'requests':"
                    "{'memory':'1Gi'},'limits':{'memory':'1Gi'}}}]},'status':{'phase':'Running',"
                    "'startTime':'2026-03-01T11:59:00Z'}}"),
        .vpa = objects_vpa(
            &arena, "{'metadata':{'name':'v','namespace':'n'},'spec':{'updatePolicy':{'updateMode':"
                    "'Recreate'}},'status':{'recommendation':{'containerRecommendations':[{"
                    "'containerName':'a','target':{'memory':'0'},'lowerBound':{'memory':'0'},"
                    "'upperBound':{'memory':'0'}},{'containerName':'b','target':{'memory':'2Gi'},"
                    "'lowerBound':{'memory':'2Gi'},'upperBound':{'memory':'2Gi'}}]}}}"),
        .limits = &limits,
        .options = &options,
        .now = vpa_time_from_unix(START, 0)};
    struct vpa_decision decision;
    struct vpa_error err;

    read_limits(&arena, LIMITS("{'type':'Pod','max':{'memory':'1Gi'}}"), &limits);
    ck_assert_int_eq(vpa_decision_make(&arena, &facts, &decision, &err), 0);
    ck_assert_int_eq(decision.admission, VPA_ADMIT_DIFF_TOO_LOW);
}

int main(void)
{
    return run_tests_within(60, "decision", NULL, NULL);
}
