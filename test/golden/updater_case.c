/* Settings and objects of the updater's sets. */
#include "updater_case.h"

#include <string.h>

#include "vpa/api/limit_range.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/update_mode.h"

#define ARGUMENTS_MAX 64

static const char *flag_value(const struct vpa_json *node)
{
    bool on;

    if (vpa_json_string(node))
        return vpa_json_string(node);
    if (vpa_json_bool(node, &on))
        return on ? "true" : "false";
    return vpa_json_number_text(node);
}

struct updater_config updater_case_config(struct golden_case *c)
{
    static const char *const gates[] = {"CPUStartupBoost", "InPlace", "PerVPAConfig"};
    struct updater_config config;
    const struct vpa_flags flags = {
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &config};
    static char program[] = "updater";
    char *argv[ARGUMENTS_MAX] = {program};
    int argc = 1;
    struct vpa_error err;

    vpa_json_foreach (flag, GOLDEN_IN(c, "flags")) {
        if (argc < ARGUMENTS_MAX)
            argv[argc++] = vpa_arena_printf(c->arena, "--%s=%s", vpa_json_name(flag),
                                            vpa_or_empty(flag_value(flag)));
    }
    for (size_t i = 0; i < VPA_COUNT(gates) && argc < ARGUMENTS_MAX; i++) {
        bool on = false;

        (void)vpa_json_bool(vpa_json_find(GOLDEN_IN(c, "featureGates"), gates[i]), &on);
        argv[argc++] =
            vpa_arena_printf(c->arena, "--feature-gates=%s=%s", gates[i], on ? "true" : "false");
    }
    if (vpa_flags_parse(&flags, c->arena, argc, argv, &err) != VPA_FLAGS_RUN)
        golden_difference(c, "flags", "usable", err.text);
    return config;
}

vpa_time updater_case_time(struct golden_case *c, const struct vpa_json *node, const char *what)
{
    vpa_time t = VPA_TIME_UNSET;
    struct vpa_error err;

    if (!vpa_json_string(node) || vpa_time_parse(vpa_json_string(node), &t, &err) < 0)
        golden_difference(c, what, "a time", "something else");
    return t;
}

vpa_duration updater_case_duration(struct golden_case *c, const struct vpa_json *node,
                                   const char *what)
{
    vpa_duration d = 0;
    struct vpa_error err;

    if (!vpa_json_string(node) || vpa_duration_parse(vpa_json_string(node), &d, &err) < 0)
        golden_difference(c, what, "a duration", "something else");
    return d;
}

struct vpa_object *updater_case_vpa(struct golden_case *c, const struct vpa_json *node)
{
    struct vpa_object *vpa = vpa_arena_zalloc(c->arena, sizeof(*vpa));
    struct vpa_error err;

    if (vpa_object_decode(c->arena, node, vpa, &err) < 0)
        golden_difference(c, "vpa", "readable", err.text);
    return vpa;
}

struct vpa_pod *updater_case_pod(struct golden_case *c, const struct vpa_json *node)
{
    struct vpa_pod *pod = vpa_arena_zalloc(c->arena, sizeof(*pod));
    struct vpa_error err;

    if (vpa_pod_decode(c->arena, node, pod, &err) < 0)
        golden_difference(c, "pod", "readable", err.text);
    return pod;
}

struct vpa_namespace_limits updater_case_limits(struct golden_case *c, const struct vpa_json *nodes)
{
    size_t count = vpa_json_count(nodes), n = 0;
    struct vpa_limit_range *ranges = vpa_arena_zalloc(c->arena, (count + 1) * sizeof(*ranges));
    const struct vpa_limit_range **pointers =
        vpa_arena_zalloc(c->arena, (count + 1) * sizeof(struct vpa_limit_range *));
    struct vpa_namespace_limits limits = {0};
    struct vpa_error err;

    vpa_json_foreach (node, nodes) {
        if (vpa_limit_range_decode(c->arena, node, &ranges[n], &err) < 0)
            golden_difference(c, "limitRange", "readable", err.text);
        pointers[n] = &ranges[n];
        n++;
    }
    vpa_namespace_limits_fold(c->arena, pointers, n, &limits);
    return limits;
}

struct vpa_recommendation updater_case_recommendation(struct golden_case *c,
                                                      const struct vpa_json *node)
{
    struct vpa_recommendation rec = {0};
    struct vpa_error err;

    if (vpa_recommendation_decode(c->arena, node, &rec, &err) < 0)
        golden_difference(c, "recommendation", "readable", err.text);
    return rec;
}

void text_list_add(struct golden_case *c, struct text_list *list, const char *text)
{
    VPA_ARENA_GROW(c->arena, list->items, list->count, list->capacity);
    list->items[list->count++] = text;
}

const char *text_list_json(struct golden_case *c, const struct text_list *list)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, (size_t)1 << 20);
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_array(&w);
    for (size_t i = 0; i < list->count; i++)
        vpa_json_put_string(&w, list->items[i]);
    vpa_json_close_array(&w);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

/* ---- decisions that came after the tags ---- */

static const char *met;
static size_t pass, met_in;
static bool undo;

void updater_case_begin(void)
{
    pass = 0;
    if (undo) /* what was met when the case ran the first time counts */
        return;
    met = NULL;
    met_in = 0;
}

void updater_case_begin_pass(size_t number)
{
    pass = number;
}

void updater_case_met(const char *decision)
{
    if (met || undo)
        return;
    met = decision;
    met_in = pass;
}

bool updater_case_is_before(size_t number)
{
    return undo && number < met_in;
}

const char *updater_case_touches(struct golden_case *c)
{
    (void)c;
    return met;
}

static bool has_restart_policy(const struct vpa_pod *pod)
{
    for (size_t i = 0; i < pod->container_count; i++) {
        for (size_t k = 0; k < pod->containers[i].resize_policy_count; k++) {
            if (vpa_str_eq(pod->containers[i].resize_policy[k].restart_policy, "RestartContainer"))
                return true;
        }
    }
    return false;
}

static enum vpa_replica_source any_replicas(void *ctx, const char *ns, const char *kind,
                                            const char *api_version, const char *name,
                                            int64_t *count)
{
    (void)ctx, (void)ns, (void)kind, (void)api_version, (void)name;
    *count = 1;
    return VPA_REPLICAS_KNOWN;
}

void updater_case_look(const struct vpa_object *vpa, const struct vpa_pod *const *pods,
                       size_t count, const struct vpa_disruption_options *options)
{
    struct vpa_disruption *d = vpa_disruption_new(vpa, pods, count, any_replicas, NULL, options);

    for (size_t i = 0; i < count; i++) {
        const struct vpa_replica_group *group = vpa_disruption_group(d, i);

        if (group && group->below_min)
            updater_case_met("U26");
    }
    vpa_disruption_free(d);
    for (size_t i = 0; i < count; i++) {
        if (vpa_update_mode_of(vpa) == VPA_MODE_IN_PLACE && has_restart_policy(pods[i]))
            updater_case_met("U20");
    }
}

/* ---- decisions undone ---- */

void updater_case_undone(struct golden_case *c, void (*run)(struct golden_case *c))
{
    undo = true;
    run(c);
    undo = false;
}

bool updater_case_is_undone(void)
{
    return undo;
}

static void *copy_of(struct golden_case *c, const void *items, size_t size)
{
    return size > 0 ? memcpy(vpa_arena_alloc(c->arena, size), items, size) : NULL;
}

/* U20: the reference does not ask whether a resize restarts a container. */
static void undo_restarts(struct golden_case *c, struct vpa_pod *pod)
{
    struct vpa_container *containers =
        copy_of(c, pod->containers, pod->container_count * sizeof(*containers));

    for (size_t i = 0; i < pod->container_count; i++)
        containers[i].resize_policy_count = 0;
    pod->containers = containers;
}

/* 8.1: pods without a controller are one group without a name. */
static void undo_owners(struct vpa_pod *pod)
{
    static const struct vpa_owner_reference nobody = {
        .api_version = "", .kind = "", .name = "", .uid = "", .controller = true};

    if (vpa_meta_controller_first(&pod->meta))
        return;
    pod->meta.owners = &nobody;
    pod->meta.owner_count = 1;
}

/* 15.3: nothing of a marker is restored where memory alone is recommended. */
static void undo_markers(struct golden_case *c, struct vpa_pod *pod, const struct vpa_object *vpa)
{
    struct vpa_labels *annotations = &pod->meta.annotations;
    struct vpa_label *items =
        copy_of(c, annotations->items, annotations->count * sizeof(*annotations->items));

    for (size_t i = 0; i < annotations->count; i++) {
        const char *container = vpa_boost_marker_container(items[i].key);
        const struct vpa_container_recommendation *r =
            container ? vpa_recommendation_find(&vpa->recommendation, container) : NULL;

        if (r && vpa_resource_find(&r->target, VPA_MEMORY) &&
            !vpa_resource_find(&r->target, VPA_CPU))
            items[i].value = "{\"requests\":{},\"limits\":{}}";
    }
    annotations->items = items;
}

/* S1: a container that is switched off is unboosted as any other. */
static void undo_off(struct golden_case *c, struct vpa_resource_policy *policy)
{
    struct vpa_container_policy *containers =
        copy_of(c, policy->containers, policy->container_count * sizeof(*containers));

    for (size_t i = 0; i < policy->container_count; i++)
        if (vpa_str_eq(containers[i].mode, "Off"))
            containers[i].mode = NULL;
    policy->containers = containers;
}

void updater_case_undo_objects(struct golden_case *c, const struct vpa_object *vpa,
                               const struct vpa_pod *const *pods, size_t count)
{
    if (!undo)
        return;
    if (golden_tagged(c, "S1"))
        undo_off(c, &((struct vpa_object *)vpa)->resource_policy);
    for (size_t i = 0; i < count; i++) {
        struct vpa_pod *pod = (struct vpa_pod *)pods[i];

        if (vpa_update_mode_of(vpa) == VPA_MODE_IN_PLACE)
            undo_restarts(c, pod);
        if (golden_tagged(c, "updater.md 8.1"))
            undo_owners(pod);
        if (golden_tagged(c, "updater.md 15.3") && !golden_tagged(c, "U7"))
            undo_markers(c, pod, vpa);
    }
}

/* The kinds whose replicas the reference counts; all others have none (U8). */
static bool has_configured(const char *kind)
{
    static const char *const kinds[] = {"DaemonSet", "Job", "ReplicaSet", "ReplicationController",
                                        "StatefulSet"};

    for (size_t i = 0; i < VPA_COUNT(kinds); i++)
        if (vpa_str_eq(kind, kinds[i]))
            return true;
    return false;
}

void updater_case_undo_groups(struct golden_case *c, struct vpa_disruption *d, size_t pods)
{
    bool unknown = golden_tagged(c, "U8") || golden_tagged(c, "updater.md 8.1");

    for (size_t i = 0; undo && i < pods; i++) {
        struct vpa_replica_group *g = vpa_disruption_group(d, i);

        if (!g)
            continue;
        g->below_min = false;
        if (!unknown || has_configured(g->kind))
            continue;
        g->configured = g->tolerance = 0;
        g->live_count = true; /* not read anew */
    }
}

/* ---- preconditions ---- */

#define TEST_OP "{\"op\":\"test\","

bool updater_case_same_quantity(struct golden_case *c, const struct vpa_json *a,
                                const struct vpa_json *b)
{
    struct vpa_quantity x, y;
    struct vpa_error err;

    return a && b && vpa_quantity_decode(c->arena, a, &x, &err) == 0 &&
           vpa_quantity_decode(c->arena, b, &y, &err) == 0 && vpa_quantity_cmp(&x, &y) == 0;
}

/* Whether one of the operations of that kind has the path. */
static bool has_op(const struct vpa_json *ops, const char *kind, const char *path)
{
    vpa_json_foreach (op, ops) {
        if (vpa_str_eq(vpa_json_string(vpa_json_find(op, "op")), kind) &&
            vpa_str_eq(vpa_json_string(vpa_json_find(op, "path")), path))
            return true;
    }
    return false;
}

/* The operations but the first: each test names a value of the pod that is replaced below, and each
 * value of the pod that is replaced has its test. */
static const char *check_values(struct golden_case *c, const struct vpa_json *pod,
                                const struct vpa_json *ops)
{
    vpa_json_foreach (op, ops) {
        const char *path = vpa_or_empty(vpa_json_string(vpa_json_find(op, "path")));
        bool test = vpa_str_eq(vpa_json_string(vpa_json_find(op, "op")), "test");
        const struct vpa_json *there = vpa_json_pointer_find(pod, path);

        if (vpa_str_eq(path, "/metadata/uid") || !vpa_str_starts_with(path, "/spec/"))
            continue;
        if (test && !updater_case_same_quantity(c, vpa_json_find(op, "value"), there))
            return "a test names another value than the pod has";
        if (test && !has_op(ops, "add", path))
            return "a test of a value that is not replaced";
        if (!test && there && !vpa_json_is_null(there) && !vpa_json_is_object(there) &&
            !has_op(ops, "test", path))
            return "a value is replaced without a test";
    }
    return NULL;
}

static const char *check_uid(struct golden_case *c, const struct vpa_json *pod,
                             const struct vpa_json *ops)
{
    const char *uid = vpa_json_string(vpa_json_pointer_find(pod, "/metadata/uid"));
    const struct vpa_json *first = vpa_json_first(ops);

    (void)c;
    if (!uid || !*uid)
        return NULL;
    if (!vpa_str_eq(vpa_json_string(vpa_json_find(first, "op")), "test") ||
        !vpa_str_eq(vpa_json_string(vpa_json_find(first, "path")), "/metadata/uid") ||
        !vpa_str_eq(vpa_json_string(vpa_json_find(first, "value")), uid))
        return "the patch does not begin with a test of the pod's UID";
    return NULL;
}

static const char *unguarded_patch(struct golden_case *c, const struct vpa_json *pod,
                                   const struct vpa_json *ops, const char *body)
{
    const char *rest = body + 1, *wrong = check_uid(c, pod, ops);

    if (!wrong)
        wrong = check_values(c, pod, ops);
    if (wrong)
        golden_difference(c, "precondition", wrong, body);
    while (vpa_str_starts_with(rest, TEST_OP)) {
        rest += strcspn(rest, "}") + 1;
        rest += *rest == ',';
    }
    return golden_label(c, "[%s", rest);
}

static const char *unguarded_eviction(struct golden_case *c, const struct vpa_json *pod,
                                      const char *body)
{
    const char *uid = vpa_json_string(vpa_json_pointer_find(pod, "/metadata/uid"));
    const char *options = golden_label(
        c, ",\"deleteOptions\":{\"preconditions\":{\"uid\":\"%s\"}}}", vpa_or_empty(uid));

    if (!uid || !*uid)
        return body;
    if (vpa_str_ends_with(body, options))
        return golden_label(c, "%.*s}", (int)(strlen(body) - strlen(options)), body);
    golden_difference(c, "precondition", options, body);
    return body;
}

const char *updater_case_unguarded(struct golden_case *c, const struct vpa_json *pod,
                                   const char *body)
{
    const struct vpa_json *root;
    struct vpa_error err;

    if (vpa_json_parse(c->arena, body, strlen(body), &root, &err) < 0)
        return body;
    return vpa_json_is_array(root) ? unguarded_patch(c, pod, root, body)
                                   : unguarded_eviction(c, pod, body);
}

/* What is done to pods, and what counts it: everything else of a pass stays as it is. */
#define SERIES "passes[*].metrics.vpa_updater_"
#define COUNTED SERIES "evict*", SERIES "in_place_updat*", SERIES "vpas_with_*"
#define DONE "passes[*].calls[*", "passes[*].events[*", COUNTED
#define CRASH                                                                                      \
    "resize", "annotations", "error", "why", "groups", "podGroup", "steps[*]", "groupsAfter"

/* Of decisions that undone() does not undo. */
const struct golden_licence updater_licences[] = {
    {"U1", {CRASH}}, /* passes of a crash are not compared, those before it must be equal */
    {"U6", {DONE, "passes[*].firstSeen[*", "firstSeen[*"}},
    {"U7", {COUNTED, "groupsAfter[*].inPlaceStarted"}}, /* calls and events: updater_useless.h */
    {"U19",
     {DONE, SERIES "controlled_pods_total*", "passes[*].controlled.*", "passes[*].scaleReads"}},
    {"U22", {DONE, "passes[*].firstSeen[*"}},
    {"U23",
     {DONE, "passes[*].took", SERIES "failed_eviction_attempts_total*",
      SERIES "execution_latency_seconds_count{step=\"EvictPods\"}", "steps[*].calls[*",
      "steps[*].took"}},
    {NULL, {NULL}},
};
