/* Replica groups and budgets. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "arena_fixture.h"
#include "suite.h"
#include "objects.h"
#include "vpa/base/str.h"
#include "vpa/policy/disruption.h"

struct source {
    enum vpa_replica_source kind;
    int64_t count;
};

static enum vpa_replica_source replicas(void *ctx, const char *ns, const char *kind,
                                        const char *api_version, const char *name, int64_t *count)
{
    const struct source *s = ctx;

    ck_assert_str_eq(ns, "n");
    ck_assert_str_eq(name, "o");
    ck_assert(kind && api_version);
    *count = s->count;
    return s->kind;
}

/* running pods, then pending ones, all of one owner. */
static const struct vpa_pod **make_pods(const char *kind, size_t running, size_t pending,
                                        const char *annotations)
{
    const struct vpa_pod **pods =
        vpa_arena_alloc(&arena, (running + pending + 1) * sizeof(struct vpa_pod *));

    for (size_t i = 0; i < running + pending; i++) {
        vpa_auto_free char *text = vpa_xprintf(
            "{'metadata':{'name':'p%zu','namespace':'n','annotations':{%s},'ownerReferences':["
            "{'kind':'X','name':'x'},{'apiVersion':'v','kind':'%s','name':'o','controller':true}]},"
            "'status':{'phase':'%s'}}",
            i, annotations, kind, i < running ? "Running" : "Pending");

        pods[i] = objects_pod(&arena, text);
    }
    return pods;
}

static const struct {
    const char *name, *kind, *mode;
    struct source source;
    size_t running, pending;
    double tolerance;
    int64_t min_replicas;
    bool skip, boosted;
    int evictions; /* of running pods in one pass; -1: no group */
} budgets[] = {
    {"B1", "ReplicaSet", "", {VPA_REPLICAS_KNOWN, 3}, 3, 0, 0.5, 2, false, false, 1},
    {"B2", "ReplicaSet", "", {VPA_REPLICAS_KNOWN, 4}, 4, 0, 0.5, 2, false, false, 2},
    {"B3", "ReplicaSet", "", {VPA_REPLICAS_KNOWN, 4}, 3, 0, 0.5, 2, false, false, 1},
    {"B4", "ReplicaSet", "", {VPA_REPLICAS_KNOWN, 3}, 3, 0, 0.1, 2, false, false, 1},
    {"B5", "ReplicaSet", "", {VPA_REPLICAS_KNOWN, 3}, 2, 0, 0.1, 2, false, false, 0},
    {"B6", "ReplicaSet", "", {VPA_REPLICAS_KNOWN, 3}, 2, 1, 0.5, 2, false, false, 0},
    {"B7", "ReplicaSet", "", {VPA_REPLICAS_KNOWN, 1}, 1, 0, 0.5, 2, false, false, -1},
    {"B7 with the VPA's minimum",
     "ReplicaSet",
     "'minReplicas':1",
     {VPA_REPLICAS_KNOWN, 1},
     1,
     0,
     0.5,
     2,
     false,
     false,
     1},
    {"B8 boosted", "ReplicaSet", "", {VPA_REPLICAS_KNOWN, 1}, 1, 0, 0.5, 2, false, true, 1},
    {"an unknown kind counts its pods",
     "CloneSet",
     "",
     {VPA_REPLICAS_UNKNOWN, 0},
     4,
     0,
     0.5,
     2,
     false,
     false,
     2},
    {"B10 a job counts its pods",
     "Job",
     "",
     {VPA_REPLICAS_MISSING, 0},
     5,
     0,
     0.5,
     2,
     false,
     false,
     2},
    {"B11", "DaemonSet", "", {VPA_REPLICAS_KNOWN, 5}, 6, 0, 0.5, 2, false, false, 3},
    {"B12 no count", "StatefulSet", "", {VPA_REPLICAS_MISSING, 0}, 2, 0, 0.5, 2, false, false, -1},
    {"B13", "ReplicaSet", "", {VPA_REPLICAS_KNOWN, 3}, 3, 0, 1.0, 2, false, false, 3},
    {"B16 the skip flag is for modes in place",
     "ReplicaSet",
     "'updateMode':'Recreate'",
     {VPA_REPLICAS_KNOWN, 5},
     5,
     0,
     0.5,
     10,
     true,
     false,
     -1},
    {"below the minimum in place",
     "ReplicaSet",
     "'updateMode':'InPlaceOrRecreate'",
     {VPA_REPLICAS_KNOWN, 5},
     5,
     0,
     0.5,
     10,
     true,
     false,
     2},
    {"negative tolerance",
     "ReplicaSet",
     "",
     {VPA_REPLICAS_KNOWN, 3},
     3,
     0,
     -0.5,
     2,
     false,
     false,
     0},
    {"absurd tolerance: no bound at all",
     "ReplicaSet",
     "",
     {VPA_REPLICAS_KNOWN, 3},
     3,
     0,
     1e300,
     2,
     false,
     false,
     100},
    {"no number as tolerance",
     "ReplicaSet",
     "",
     {VPA_REPLICAS_KNOWN, 3},
     3,
     0,
     NAN,
     2,
     false,
     false,
     1},
};

static struct vpa_disruption *build(int i)
{
    vpa_auto_free char *text = vpa_xprintf("{'spec':{'updatePolicy':{%s}}}", budgets[i].mode);
    struct vpa_disruption_options options = {.min_replicas = budgets[i].min_replicas,
                                             .tolerance = budgets[i].tolerance,
                                             .in_place_skip_budget = budgets[i].skip};

    return vpa_disruption_new(objects_vpa(&arena, text),
                              make_pods(budgets[i].kind, budgets[i].running, budgets[i].pending,
                                        budgets[i].boosted ? "'vpaCpuStartupBoost/c':''" : ""),
                              budgets[i].running + budgets[i].pending, replicas,
                              (void *)&budgets[i].source, &options);
}

TEST_EACH(spends_the_budget, budgets) {
    struct vpa_disruption *d = build(_i);
    struct vpa_replica_group *group = vpa_disruption_group(d, 0);
    int evictions = group ? 0 : -1;

    while (group && vpa_group_disruptable(group) && evictions < 100) {
        vpa_group_reserve_eviction(group, false);
        vpa_group_settle(group);
        evictions++;
    }
    ck_assert_msg(evictions == budgets[_i].evictions, "%s: %d", budgets[_i].name, evictions);
    ck_assert_ptr_null(vpa_disruption_group(d, 1000));
    ck_assert_int_eq(vpa_disruption_live(d, 1000), -1);
    if (group)
        ck_assert_int_eq(group->below_min,
                         (budgets[_i].skip || budgets[_i].boosted) &&
                             (int64_t)(budgets[_i].running + budgets[_i].pending) <
                                 budgets[_i].min_replicas);
    vpa_disruption_free(d);
}

TEST(failures_give_back) {
    struct vpa_disruption *d = build(0);
    struct vpa_replica_group *group = vpa_disruption_group(d, 0);

    vpa_group_reserve_resize(group);
    ck_assert_int_eq(group->in_flight, 1);
    ck_assert(!vpa_group_disruptable(group));
    vpa_group_give_back_resize(group);
    ck_assert(vpa_group_disruptable(group));
    vpa_group_reserve_eviction(group, false);
    ck_assert(!vpa_group_disruptable(group));
    vpa_group_give_back_eviction(group, false);
    ck_assert(vpa_group_disruptable(group));
    vpa_group_reserve_eviction(group, true); /* a pending pod costs nothing */
    ck_assert(vpa_group_disruptable(group));
    vpa_group_give_back_eviction(group, true);
    ck_assert_int_eq(group->in_flight, 0);
    vpa_disruption_free(d);
}

/* ---- evictions of earlier passes ---- */

static struct vpa_pod *job_pod(int i, const char *created)
{
    vpa_auto_free char *text = vpa_xprintf(
        "{'metadata':{'name':'p%d','namespace':'n','uid':'u%d%s','creationTimestamp':'%s',"
        "'ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'o','controller':true}]},"
        "'status':{'phase':'Running'}}",
        i, i, created, created);

    return objects_pod(&arena, text);
}

#define OLD "2026-03-01T11:00:00Z"
#define NEW "2026-03-01T12:00:05Z"

/* A Job of ten pods, four of which were evicted: how many of these are still shown, are replaced.
 */
static const struct {
    const char *name;
    int shown, replaced;
    vpa_duration later;
    int64_t configured, running;
} absences[] = {
    {"the cache is behind", 4, 0, 0, 10, 6},
    {"gone", 0, 0, 0, 10, 6},
    {"some are back", 0, 3, 0, 10, 9},
    {"all are back", 0, 4, 0, 10, 10},
    {"one is shown, one is back", 1, 1, 0, 10, 7},
    {"nobody comes", 0, 0, VPA_REPLACEMENT_PATIENCE, 6, 6},
};

static bool everybody(void *ctx, const char *uid)
{
    (void)ctx;
    (void)uid;
    return true;
}

TEST_EACH(evicted_pods_are_missing_until_they_are_replaced, absences) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    vpa_time now = vpa_time_from_unix(1772366400, 0);
    struct vpa_disruption_options options = {.min_replicas = 1, .tolerance = 0.5, .memory = memory};
    const struct vpa_pod *pods[14];
    size_t count = 0;

    for (int i = 0; i < 10; i++) {
        if (i < 4)
            vpa_update_memory_note_eviction(memory, job_pod(i, OLD), now - VPA_HOUR, now);
        if (i >= 4 || i < absences[_i].shown)
            pods[count++] = job_pod(i, OLD);
    }
    for (int i = 0; i < absences[_i].replaced; i++)
        pods[count++] = job_pod(i, NEW);
    vpa_update_memory_sweep(memory, everybody, NULL, now + absences[_i].later);
    for (int look = 0; look < 2; look++) { /* a pod replaces one, however often it is seen */
        for (size_t i = 0; i < count; i++)
            vpa_update_memory_observe(memory, pods[i], now);
    }

    struct vpa_disruption *d =
        vpa_disruption_new(objects_vpa(&arena, "{}"), pods, count, replicas, NULL, &options);
    const struct vpa_replica_group *group = vpa_disruption_group(d, 0);

    ck_assert_msg(group->configured == absences[_i].configured, "%s: %d", absences[_i].name,
                  (int)group->configured);
    ck_assert_msg(group->running == absences[_i].running, "%s: %d", absences[_i].name,
                  (int)group->running);
    vpa_disruption_free(d);
    vpa_update_memory_free(memory);
}

static bool nobody(void *ctx, const char *uid)
{
    (void)ctx;
    (void)uid;
    return false;
}

/* An eviction that nobody has confirmed: a pod that is gone at the first look since is awaited,
 * once, whenever that look is; one that is seen to be alive when its time is over stays. */
static const struct {
    bool sure;          /* a later try was accepted */
    vpa_duration alive; /* it was seen then; 0: never */
    bool goes;
    vpa_duration later; /* that was seen */
    int awaited;
} doubts[] = {
    {false, 0, true, VPA_MINUTE, 1},
    {false, 0, true, VPA_DOUBT_PATIENCE, 1},
    {false, 0, true, VPA_HOUR, 1},
    {false, VPA_DOUBT_PATIENCE - 1, true, VPA_HOUR, 1},
    {false, VPA_DOUBT_PATIENCE, true, VPA_HOUR, 0},
    {false, 0, false, VPA_MINUTE, 0},
    {true, 0, true, VPA_MINUTE, 1},
    {true, 0, false, VPA_MINUTE, 1},
};

TEST_EACH(pods_that_go_in_doubt_are_awaited, doubts) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    const struct vpa_pod *pod = job_pod(0, OLD);
    const struct vpa_pod *alone = objects_pod(&arena, "{'metadata':{'uid':'alone'}}");

    vpa_update_memory_note_doubt(memory, alone, 0, 0); /* nobody replaces it */
    vpa_update_memory_note_doubt(memory, pod, 0, 0);
    vpa_update_memory_note_doubt(memory, pod, 0, 0);
    if (doubts[_i].sure)
        vpa_update_memory_note_eviction(memory, pod, 0, 0);
    ck_assert_int_eq(vpa_update_memory_is_evicted(memory, pod->meta.uid), doubts[_i].sure);
    if (doubts[_i].alive)
        vpa_update_memory_sweep(memory, everybody, NULL, doubts[_i].alive);
    for (int look = 0; look < 2; look++)
        vpa_update_memory_sweep(memory, doubts[_i].goes ? nobody : everybody, NULL,
                                doubts[_i].later);
    const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pod->meta);
    ck_assert_int_eq(vpa_update_memory_awaited(memory, pod->meta.ns, owner->kind, owner->name),
                     doubts[_i].awaited);
    vpa_update_memory_free(memory);
}

static int64_t awaited(const struct vpa_update_memory *memory)
{
    return vpa_update_memory_awaited(memory, "n", "Job", "o");
}

/* They have no node yet, and are not shown, when the next pod is evicted, or when it is seen that
 * one went in doubt before the others. */
TEST_TIMES(replacements_are_recognised_behind_other_evictions, 2) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    const struct vpa_pod *shown = job_pod(0, NEW), *late = job_pod(1, NEW);
    vpa_time old = job_pod(0, OLD)->meta.creation, newest = shown->meta.creation;

    if (_i == 0)
        vpa_update_memory_note_eviction(memory, job_pod(0, OLD), old, old);
    else
        vpa_update_memory_note_doubt(memory, job_pod(0, OLD), old, old);
    vpa_update_memory_note_eviction(memory, job_pod(1, OLD), _i == 0 ? old : newest, old);
    vpa_update_memory_observe(memory, shown, newest);
    vpa_update_memory_note_eviction(memory, job_pod(2, OLD), newest, newest);
    vpa_update_memory_sweep(memory, nobody, NULL, newest);
    vpa_update_memory_observe(memory, late, newest);
    ck_assert_int_eq(awaited(memory), 1 + _i);
    vpa_update_memory_free(memory);
}

/* Those that had been shown before are nobody's replacements. */
TEST(pods_that_were_there_replace_nobody) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    const struct vpa_pod *first = job_pod(0, OLD), *second = job_pod(0, NEW);
    vpa_time now = second->meta.creation;

    vpa_update_memory_note_eviction(memory, first, first->meta.creation, now);
    vpa_update_memory_observe(memory, second, now);
    ck_assert_int_eq(awaited(memory), 0);
    vpa_update_memory_note_eviction(memory, job_pod(1, OLD), now, now);
    vpa_update_memory_observe(memory, job_pod(2, NEW), now);
    ck_assert_int_eq(awaited(memory), 1);
    vpa_update_memory_free(memory);
}

/* The server has forgotten that it accepted the eviction: it was restored from a backup. */
TEST(an_evicted_pod_that_lives_on_is_there_again) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    const struct vpa_pod *pod = job_pod(0, OLD);

    for (vpa_time now = 0; now <= 24 * VPA_HOUR; now += 24 * VPA_HOUR) {
        vpa_update_memory_note_eviction(memory, pod, 0, now);
        vpa_update_memory_sweep(memory, everybody, NULL, now + VPA_EVICTION_PATIENCE - 1);
        ck_assert(vpa_update_memory_is_evicted(memory, pod->meta.uid));
        vpa_update_memory_sweep(memory, everybody, NULL, now + VPA_EVICTION_PATIENCE);
        ck_assert(!vpa_update_memory_is_evicted(memory, pod->meta.uid));
        ck_assert_int_eq(awaited(memory), 0);
    }
    vpa_update_memory_free(memory);
}

/* Who goes by itself is missing: of those that run, or of those that have not begun; who was
 * evicted is missing already. */
TEST(a_pod_that_went_is_missing_once) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    struct vpa_replica_group group = {.running = 5, .pending = 3};
    const struct vpa_pod *running =
        objects_pod(&arena, "{'metadata':{'uid':'r'},'status':{'phase':'Running'}}");
    const struct vpa_pod *pending =
        objects_pod(&arena, "{'metadata':{'uid':'p'},'status':{'phase':'Pending'}}");

    vpa_group_lost(&group, running, memory);
    ck_assert_int_eq(group.running, 4);
    ck_assert_int_eq(group.pending, 3);
    vpa_group_lost(&group, pending, NULL);
    ck_assert_int_eq(group.running, 4);
    ck_assert_int_eq(group.pending, 2);
    vpa_update_memory_note_eviction(memory, running, 0, 0);
    vpa_group_lost(&group, running, memory);
    ck_assert_int_eq(group.running, 4);
    vpa_group_lost(&group, running, NULL);
    ck_assert_int_eq(group.running, 3);
    vpa_update_memory_free(memory);
}

/* A DaemonSet says how many pods are ready. Those that we restart are not, which is no reason to
 * keep fewer of the others. */
TEST(restarted_pods_of_a_daemon_set_are_still_wanted) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    vpa_time now = vpa_time_from_unix(1772366400, 0);
    struct vpa_disruption_options options = {.min_replicas = 1, .tolerance = 0.5, .memory = memory};
    struct source source = {VPA_REPLICAS_KNOWN, 5};
    const struct vpa_pod *pods[10];

    for (int i = 0; i < 10; i++) {
        vpa_auto_free char *text = vpa_xprintf(
            "{'metadata':{'name':'p%d','namespace':'n','uid':'u%d','ownerReferences':[{"
            "'apiVersion':'apps/v1','kind':'DaemonSet','name':'o','controller':true}]},'status':{"
            "'phase':'Running','conditions':[{'type':'Ready','status':'%s'}]}}",
            i, i, i < 5 ? "False" : "True");

        pods[i] = objects_pod(&arena, text);
        if (i < 5)
            vpa_update_memory_note_restart(memory, pods[i], now);
        vpa_update_memory_observe(memory, pods[i], now + VPA_MINUTE);
    }

    struct vpa_disruption *d =
        vpa_disruption_new(objects_vpa(&arena, "{}"), pods, 10, replicas, &source, &options);
    const struct vpa_replica_group *group = vpa_disruption_group(d, 0);

    ck_assert_int_eq(group->configured, 10);
    ck_assert_int_eq(group->running, 5);
    ck_assert(!vpa_group_disruptable(group));
    vpa_disruption_free(d);
    vpa_update_memory_free(memory);
}

static struct vpa_pod *daemon_pod(int i, const char *created, const char *phase, const char *ready)
{
    vpa_auto_free char *text = vpa_xprintf(
        "{'metadata':{'name':'p%d','namespace':'n','uid':'u%d%s','creationTimestamp':'%s',"
        "'ownerReferences':[{'apiVersion':'apps/v1','kind':'DaemonSet','name':'o','controller':"
        "true}]},'status':{'phase':'%s','conditions':[{'type':'Ready','status':'%s',"
        "'lastTransitionTime':'%s'}]}}",
        i, i, created, created, phase, ready, created);

    return objects_pod(&arena, text);
}

/* So it is with those that we evict: five of ten, which then are shown still, or gone, or replaced
 * by pods that are not ready yet. */
static const struct {
    const char *name, *created, *phase, *ready; /* of the five */
    int shown;
    int64_t number_ready, configured, running;
} daemons[] = {
    {"the cache is behind", OLD, "Running", "True", 5, 10, 10, 5},
    {"gone", OLD, "", "", 0, 5, 10, 5},
    {"some are back", NEW, "Running", "False", 3, 5, 10, 5},
    {"pending", NEW, "Pending", "False", 5, 5, 10, 5},
    {"running", NEW, "Running", "False", 5, 5, 10, 5},
    {"ready", NEW, "Running", "True", 5, 10, 10, 10},
};

TEST_EACH(evicted_pods_of_a_daemon_set_are_still_wanted, daemons) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    vpa_time now = vpa_time_from_unix(1772366400, 0);
    struct vpa_disruption_options options = {.min_replicas = 1, .tolerance = 0.5, .memory = memory};
    struct source source = {VPA_REPLICAS_KNOWN, daemons[_i].number_ready};
    const struct vpa_pod *pods[10];
    size_t count = 0;

    for (int i = 0; i < 5; i++) {
        vpa_update_memory_note_eviction(memory, daemon_pod(i, OLD, "Running", "True"),
                                        now - VPA_HOUR, now);
        pods[count++] = daemon_pod(5 + i, OLD, "Running", "True");
    }
    for (int i = 0; i < daemons[_i].shown; i++)
        pods[count++] = daemon_pod(i, daemons[_i].created, daemons[_i].phase, daemons[_i].ready);
    for (size_t i = 0; i < count; i++)
        vpa_update_memory_observe(memory, pods[i], now + VPA_MINUTE);

    struct vpa_disruption *d =
        vpa_disruption_new(objects_vpa(&arena, "{}"), pods, count, replicas, &source, &options);
    const struct vpa_replica_group *group = vpa_disruption_group(d, 0);

    ck_assert_msg(group->configured == daemons[_i].configured, "%s: %d", daemons[_i].name,
                  (int)group->configured);
    ck_assert_msg(group->running == daemons[_i].running, "%s: %d", daemons[_i].name,
                  (int)group->running);
    vpa_disruption_free(d);
    vpa_update_memory_free(memory);
}

TEST(pods_without_a_controller_have_no_group) {
    const struct vpa_pod *pods[] = {
        objects_pod(&arena, "{'metadata':{'name':'a','namespace':'n'}}"),
        objects_pod(&arena, "{'metadata':{'name':'b','namespace':'n','ownerReferences':[{'kind':"
                            "'ReplicaSet','name':'o','controller':false}]}}"),
    };
    struct vpa_disruption_options options = {.min_replicas = 1, .tolerance = 0.5};
    struct source source = {VPA_REPLICAS_KNOWN, 2};
    struct vpa_disruption *d =
        vpa_disruption_new(objects_vpa(&arena, "{}"), pods, 2, replicas, &source, &options);

    ck_assert_ptr_null(vpa_disruption_group(d, 0));
    ck_assert_ptr_null(vpa_disruption_group(d, 1));
    vpa_disruption_free(d);
    vpa_disruption_free(NULL);
}

TEST(no_pods_no_groups) {
    struct vpa_disruption_options options = {.min_replicas = 1, .tolerance = 0.5};
    struct source source = {VPA_REPLICAS_KNOWN, 2};
    struct vpa_disruption *d =
        vpa_disruption_new(objects_vpa(&arena, "{}"), NULL, 0, replicas, &source, &options);

    ck_assert_ptr_null(vpa_disruption_group(d, 0));
    vpa_disruption_free(d);
}

TEST(many_groups) {
    enum { PODS = 9 };
    const struct vpa_pod *pods[PODS];
    struct vpa_disruption_options options = {.min_replicas = 1, .tolerance = 0.5};
    struct source source = {VPA_REPLICAS_KNOWN, 1};

    for (int i = 0; i < PODS; i++)
        pods[i] = objects_pod(
            &arena, vpa_arena_printf(&arena,
                                     "{'metadata':{'name':'p','namespace':'n','ownerReferences':[{"
                                     "'kind':'Kind%d','name':'o','controller':true}]}}",
                                     i));
    struct vpa_disruption *d =
        vpa_disruption_new(objects_vpa(&arena, "{}"), pods, PODS, replicas, &source, &options);
    for (int i = 0; i < PODS; i++)
        ck_assert_int_eq(vpa_disruption_group(d, (size_t)i)->kind[4], '0' + i);
    vpa_disruption_free(d);
}

TEST(truncates_as_doubles_do) {
    struct vpa_disruption_options options = {.min_replicas = 1, .tolerance = 0.29};
    struct source source = {VPA_REPLICAS_KNOWN, 100};
    struct vpa_disruption *d =
        vpa_disruption_new(objects_vpa(&arena, "{}"), make_pods("ReplicaSet", 1, 0, ""), 1,
                           replicas, &source, &options);

    ck_assert_int_eq(vpa_disruption_group(d, 0)->tolerance, 28); /* B14 */
    vpa_disruption_free(d);
}

int main(void)
{
    return run_tests("disruption", setup, teardown);
}
