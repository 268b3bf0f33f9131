/* Decisions about one pod, and the memory between passes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "objects.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/resize_state.h"
#include "vpa/policy/update.h"

static struct vpa_arena arena;
static struct vpa_update_memory *memory;

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    memory = vpa_update_memory_new();
}

static void teardown(void)
{
    vpa_update_memory_free(memory);
    vpa_update_memory_free(NULL);
    vpa_arena_release(&arena);
}

static vpa_time now(void)
{
    return vpa_time_from_unix(1772366400, 0);
}

#define POD(conditions)                                                                            \
    "{'metadata':{'name':'p','namespace':'n','uid':'u'},'spec':{'containers':[{'name':'c'}]},"     \
    "'status':{'phase':'Running','conditions':[" conditions "]}}"
#define PENDING(status, reason)                                                                    \
    "{'type':'PodResizePending','status':'" status "','reason':'" reason "'}"
#define PROGRESS(reason, message)                                                                  \
    "{'type':'PodResizeInProgress','status':'True','reason':'" reason "','message':'" message "'}"

static const struct {
    const char *name, *pod;
    enum vpa_resize_status want;
} statuses[] = {
    {"none", POD(""), VPA_RESIZE_NONE},
    {"other conditions", POD("{'type':'Ready','status':'True'}"), VPA_RESIZE_NONE},
    {"not true", POD(PENDING("False", "Deferred")), VPA_RESIZE_NONE},
    {"the first one hides", POD(PENDING("False", "Deferred") "," PROGRESS("", "")),
     VPA_RESIZE_NONE},
    {"deferred", POD(PENDING("True", "Deferred")), VPA_RESIZE_DEFERRED},
    {"infeasible", POD(PENDING("True", "Infeasible")), VPA_RESIZE_INFEASIBLE},
    {"pending for no reason", POD(PENDING("True", "")), VPA_RESIZE_UNKNOWN},
    {"pending behind progress", POD(PROGRESS("", "") "," PENDING("False", "Deferred")),
     VPA_RESIZE_DEFERRED},
    {"in progress", POD(PROGRESS("", "")), VPA_RESIZE_IN_PROGRESS},
    {"error", POD(PROGRESS("Error", "x")), VPA_RESIZE_ERROR},
    {"message without reason", POD(PROGRESS("", "x")), VPA_RESIZE_UNKNOWN},
    {"other reason", POD(PROGRESS("Other", "")), VPA_RESIZE_UNKNOWN},
};

TEST_EACH(reads_the_resize_status, statuses) {
    struct vpa_pod *pod = objects_pod(&arena, statuses[_i].pod);
    enum vpa_resize_status got = vpa_pod_resize_status(pod);

    ck_assert_msg(got == statuses[_i].want, "%s: %s", statuses[_i].name,
                  vpa_resize_status_name(got));
    ck_assert_int_eq(vpa_pod_resizing(pod), got != VPA_RESIZE_NONE);
}

static const struct {
    const char *text;
    enum vpa_update_mode mode;
} modes[] = {
    {"{}", VPA_MODE_RECREATE},
    {"{'spec':{'updatePolicy':{}}}", VPA_MODE_RECREATE},
    {"{'spec':{'updatePolicy':{'updateMode':''}}}", VPA_MODE_RECREATE},
    {"{'spec':{'updatePolicy':{'updateMode':'Off'}}}", VPA_MODE_OFF},
    {"{'spec':{'updatePolicy':{'updateMode':'Initial'}}}", VPA_MODE_INITIAL},
    {"{'spec':{'updatePolicy':{'updateMode':'Recreate'}}}", VPA_MODE_RECREATE},
    {"{'spec':{'updatePolicy':{'updateMode':'Auto'}}}", VPA_MODE_AUTO},
    {"{'spec':{'updatePolicy':{'updateMode':'InPlaceOrRecreate'}}}", VPA_MODE_IN_PLACE_OR_RECREATE},
    {"{'spec':{'updatePolicy':{'updateMode':'InPlace'}}}", VPA_MODE_IN_PLACE},
    {"{'spec':{'updatePolicy':{'updateMode':'off'}}}", VPA_MODE_OTHER},
};

TEST_EACH(knows_the_modes, modes) {
    const char *name = vpa_update_mode_name(modes[_i].mode);

    ck_assert_int_eq(vpa_update_mode_of(objects_vpa(&arena, modes[_i].text)), modes[_i].mode);
    if (modes[_i].mode == VPA_MODE_OTHER)
        ck_assert_str_eq(name, "Unknown");
    else if (strstr(modes[_i].text, name) == NULL)
        ck_assert_str_eq(name, "Recreate"); /* the preset */
}

enum group_kind { NO_GROUP, SPENT, FREE, SHORT };

/* Decisions by mode, group, status and time since the resize was first seen. */
static const struct {
    const char *name, *mode;
    bool gate;
    enum group_kind group;
    const char *pod;
    vpa_duration waited;
    enum vpa_update_decision want;
} decisions[] = {
    {"D1", "InPlaceOrRecreate", true, FREE, POD(""), 0, VPA_DECIDE_APPROVED},
    {"no budget", "InPlaceOrRecreate", true, SPENT, POD(""), 0, VPA_DECIDE_DEFERRED},
    {"no group", "InPlaceOrRecreate", true, NO_GROUP, POD(""), 0, VPA_DECIDE_DEFERRED},
    {"pending pod", "InPlaceOrRecreate", true, FREE, "{'status':{'phase':'Pending'}}", 0,
     VPA_DECIDE_DEFERRED},
    {"D2", "InPlaceOrRecreate", true, FREE, POD(PENDING("True", "Deferred")), VPA_MILLISECOND,
     VPA_DECIDE_DEFERRED},
    {"deferred for five minutes", "InPlaceOrRecreate", true, FREE, POD(PENDING("True", "Deferred")),
     5 * VPA_MINUTE, VPA_DECIDE_DEFERRED},
    {"D3", "InPlaceOrRecreate", true, FREE, POD(PENDING("True", "Deferred")), 5 * VPA_MINUTE + 1,
     VPA_DECIDE_EVICT},
    {"D4", "InPlaceOrRecreate", true, FREE, POD(PENDING("True", "Infeasible")), 0,
     VPA_DECIDE_EVICT},
    {"D5", "InPlaceOrRecreate", true, FREE, POD(PROGRESS("", "")), VPA_HOUR, VPA_DECIDE_DEFERRED},
    {"D5 too long", "InPlaceOrRecreate", true, FREE, POD(PROGRESS("", "")), VPA_HOUR + 1,
     VPA_DECIDE_EVICT},
    {"D6", "InPlaceOrRecreate", true, FREE, POD(PROGRESS("Error", "")), 0, VPA_DECIDE_EVICT},
    {"D7", "InPlaceOrRecreate", true, SPENT, POD(PENDING("True", "Infeasible")), VPA_HOUR,
     VPA_DECIDE_DEFERRED},
    {"D8", "InPlace", true, FREE, POD(PROGRESS("", "")), 2 * VPA_HOUR, VPA_DECIDE_DEFERRED},
    {"D9", "InPlace", true, FREE, POD(PENDING("True", "Infeasible")), 0, VPA_DECIDE_INFEASIBLE},
    {"in place", "InPlace", true, FREE, POD(""), 0, VPA_DECIDE_APPROVED},
    {"D13", "InPlace", false, FREE, POD(""), 0, VPA_DECIDE_DEFERRED},
    {"D15", "Recreate", true, FREE, POD(PROGRESS("", "")), VPA_HOUR + 1, VPA_DECIDE_EVICT},
    {"unknown status", "InPlaceOrRecreate", true, FREE, POD(PENDING("True", "")), 0,
     VPA_DECIDE_EVICT},
};

static struct vpa_object *vpa_of_mode(const char *mode, const char *target)
{
    vpa_auto_free char *text =
        vpa_xprintf("{'spec':{'updatePolicy':{'updateMode':'%s'}},'status':{'recommendation':{"
                    "'containerRecommendations':[{'containerName':'c','target':%s}]}}}",
                    mode, target);

    return objects_vpa(&arena, text);
}

static struct vpa_replica_group *group_of(enum group_kind kind, struct vpa_replica_group *group)
{
    *group = (struct vpa_replica_group){.configured = 3, .running = 3, .tolerance = 1};
    if (kind == SPENT)
        group->evicted = 1;
    if (kind == SHORT)
        group->running = 1;
    return kind == NO_GROUP ? NULL : group;
}

TEST_EACH(decides_by_the_table, decisions) {
    struct vpa_pod *pod = objects_pod(&arena, decisions[_i].pod);
    struct vpa_object *vpa = vpa_of_mode(decisions[_i].mode, "{'cpu':'2'}");
    struct vpa_update_options options = {.in_place_gate = decisions[_i].gate};
    struct vpa_replica_group group;
    enum vpa_update_decision got;

    vpa_update_memory_observe(memory, pod, now() - decisions[_i].waited);
    got =
        vpa_update_decide(pod, vpa, group_of(decisions[_i].group, &group), memory, &options, now());
    ck_assert_msg(got == decisions[_i].want, "%s: %d", decisions[_i].name, (int)got);
}

TEST(without_a_recommendation_nothing_is_decided) {
    struct vpa_update_options options = {.in_place_gate = true};
    struct vpa_replica_group group;

    ck_assert_int_eq(vpa_update_decide(objects_pod(&arena, POD("")), objects_vpa(&arena, "{}"),
                                       group_of(FREE, &group), memory, &options, now()),
                     VPA_DECIDE_DEFERRED); /* D14 */
}

TEST(the_skip_flag_passes_over_the_budget_unless_a_container_restarts) {
    struct vpa_pod *restarts = objects_pod(
        &arena, "{'spec':{'containers':[{'name':'c','resizePolicy':[{'resourceName':'cpu',"
                "'restartPolicy':'NotRequired'},{'resourceName':'memory','restartPolicy':"
                "'RestartContainer'}]}]}}");
    struct vpa_update_options options = {.in_place_gate = true, .in_place_skip_budget = true};
    struct vpa_object *vpa = vpa_of_mode("InPlaceOrRecreate", "{'cpu':'2'}");
    struct vpa_replica_group group;

    group_of(SPENT, &group);
    ck_assert_int_eq(
        vpa_update_decide(objects_pod(&arena, POD("")), vpa, &group, memory, &options, now()),
        VPA_DECIDE_APPROVED);
    ck_assert_int_eq(vpa_update_decide(restarts, vpa, &group, memory, &options, now()),
                     VPA_DECIDE_DEFERRED);
}

TEST(an_infeasible_resize_is_retried_when_less_is_wanted) {
    struct vpa_update_options options = {.in_place_gate = true};
    struct vpa_pod *pod = objects_pod(&arena, POD(""));
    struct vpa_object *vpa = vpa_of_mode("InPlace", "{'cpu':'2','memory':'2Gi'}");
    struct vpa_replica_group group;

    vpa_update_memory_record_infeasible(memory, "u", &vpa->recommendation);
    ck_assert_int_eq(vpa_update_decide(pod, vpa, group_of(FREE, &group), memory, &options, now()),
                     VPA_DECIDE_INFEASIBLE_CACHED);
    vpa = vpa_of_mode("InPlace", "{'cpu':'1','memory':'2Gi'}");
    ck_assert_int_eq(vpa_update_decide(pod, vpa, &group, memory, &options, now()),
                     VPA_DECIDE_APPROVED); /* D11 */
    vpa = vpa_of_mode("InPlace", "{'cpu':'4','memory':'2Gi'}");
    ck_assert_int_eq(vpa_update_decide(pod, vpa, &group, memory, &options, now()),
                     VPA_DECIDE_INFEASIBLE_CACHED); /* D12 */
    /* Recording a record onto itself keeps it. */
    vpa_update_memory_record_infeasible(memory, "u", vpa_update_memory_infeasible(memory, "u"));
    ck_assert_uint_eq(vpa_update_memory_infeasible(memory, "u")->container_count, 1);
}

TEST(compares_records_of_a_repeated_name) {
    struct vpa_object *twice = objects_vpa(
        &arena, "{'status':{'recommendation':{'containerRecommendations':[{'containerName':'c',"
                "'target':{'cpu':'3'}},{'containerName':'c','target':{'cpu':'1'}}]}}}");
    struct vpa_object *vpa = vpa_of_mode("InPlace", "{'cpu':'2'}");

    ck_assert(vpa_recommendation_lower(&vpa->recommendation, &twice->recommendation, false));
    ck_assert(!vpa_recommendation_lower(&vpa->recommendation, &twice->recommendation, true));
    ck_assert(!vpa_recommendation_lower(NULL, &twice->recommendation, true));
    ck_assert(!vpa_recommendation_lower(&vpa->recommendation, NULL, true));
}

TEST(keeps_by_mode) {
    ck_assert(vpa_update_kept_by_filter(VPA_MODE_RECREATE, VPA_DECIDE_APPROVED));
    ck_assert(vpa_update_kept_by_filter(VPA_MODE_IN_PLACE_OR_RECREATE, VPA_DECIDE_EVICT));
    ck_assert(!vpa_update_kept_by_filter(VPA_MODE_RECREATE, VPA_DECIDE_EVICT));
    ck_assert(vpa_update_kept_by_filter(VPA_MODE_IN_PLACE, VPA_DECIDE_DEFERRED));
    ck_assert(vpa_update_kept_by_filter(VPA_MODE_IN_PLACE, VPA_DECIDE_INFEASIBLE));
    ck_assert(!vpa_update_kept_by_filter(VPA_MODE_IN_PLACE_OR_RECREATE, VPA_DECIDE_DEFERRED));
    ck_assert(!vpa_update_kept_by_filter(VPA_MODE_IN_PLACE, VPA_DECIDE_INFEASIBLE_CACHED));
}

/* It may be gone already: no other goes, and it costs nothing once more. */
TEST(what_is_in_doubt_keeps_the_others) {
    struct vpa_replica_group group;
    struct vpa_pod *first =
        objects_pod(&arena, "{'metadata':{'uid':'1'},'status':{'phase':'Running'}}");
    struct vpa_pod *other =
        objects_pod(&arena, "{'metadata':{'uid':'2'},'status':{'phase':'Running'}}");

    vpa_group_doubt(group_of(FREE, &group), first);
    ck_assert(!vpa_group_disruptable(&group));
    ck_assert_int_eq(vpa_eviction_rest(other, &group, memory, now()), VPA_REST_BUDGET);
    ck_assert_int_eq(vpa_eviction_rest(first, &group, memory, now()), VPA_REST_NONE);
    vpa_group_doubt(group_of(SPENT, &group), first);
    ck_assert_int_eq(vpa_eviction_rest(first, &group, memory, now()), VPA_REST_BUDGET);
}

/* A pod that has not begun costs nothing; it stays where nobody knows what became of another one
 * (U30), or how many there are to be (U8). */
TEST(what_is_not_known_keeps_pending_pods_too) {
    struct vpa_replica_group group;
    struct vpa_pod *pending =
        objects_pod(&arena, "{'metadata':{'uid':'1'},'status':{'phase':'Pending'}}");
    struct vpa_pod *other =
        objects_pod(&arena, "{'metadata':{'uid':'2'},'status':{'phase':'Running'}}");

    vpa_group_doubt(group_of(SPENT, &group), other);
    ck_assert_int_eq(vpa_eviction_rest(pending, &group, memory, now()), VPA_REST_BUDGET);
    vpa_group_doubt(group_of(SPENT, &group), pending);
    ck_assert_int_eq(vpa_eviction_rest(pending, &group, memory, now()), VPA_REST_NONE);
    vpa_group_confirm(&group, false, 0, 0);
    ck_assert_int_eq(vpa_eviction_rest(pending, &group, memory, now()), VPA_REST_REPLICAS_UNKNOWN);
}

static bool can_evict(const struct vpa_pod *pod, const struct vpa_replica_group *group, vpa_time t)
{
    return vpa_eviction_rest(pod, group, memory, t) == VPA_REST_NONE;
}

TEST(evicts_only_what_may_go) {
    struct vpa_replica_group group;
    struct vpa_pod *running = objects_pod(&arena, POD(""));
    struct vpa_pod *pending = objects_pod(&arena, "{'status':{'phase':'Pending'}}");
    struct vpa_pod *stuck = objects_pod(&arena, POD(PENDING("True", "Infeasible")));

    ck_assert(!can_evict(running, NULL, now()));
    ck_assert(can_evict(running, group_of(FREE, &group), now()));
    ck_assert(can_evict(stuck, &group, now()));
    group.below_min = true;
    ck_assert(!can_evict(running, &group, now()));
    ck_assert(!can_evict(pending, &group, now())); /* U26 */
    group_of(SPENT, &group);
    ck_assert(!can_evict(running, &group, now()));
    ck_assert(can_evict(pending, &group, now()));
    ck_assert(!vpa_resize_stalled(running, &group, memory, now()));
    vpa_update_memory_note_eviction(memory, running, now(), now());
    ck_assert_int_eq(vpa_eviction_rest(running, group_of(FREE, &group), memory, now()),
                     VPA_REST_EVICTED);
}

#define BOOSTED(phase, conditions)                                                                 \
    "{'metadata':{'uid':'u','annotations':{'vpaCpuStartupBoost/c':'{}','x':'y'}},'spec':{"         \
    "'containers':[{'name':'c'}]},'status':{'phase':'" phase "','conditions':[" conditions "]}}"
#define READY "{'type':'Ready','status':'True','lastTransitionTime':'2026-03-01T11:00:00Z'}"

static const struct {
    const char *name, *pod;
    bool gate;
    enum group_kind group;
    bool want;
} unboosts[] = {
    {"ready", BOOSTED("Running", READY), true, FREE, true},
    {"gate off", BOOSTED("Running", READY), false, FREE, false},
    {"pending", BOOSTED("Pending", READY), true, FREE, false},
    {"not ready", BOOSTED("Running", ""), true, FREE, false},
    {"no marker", POD(READY), true, FREE, false},
    {"no group", BOOSTED("Running", READY), true, NO_GROUP, false},
    {"no budget", BOOSTED("Running", READY), true, SPENT, false},
    {"a pod is missing", BOOSTED("Running", READY), true, SHORT, true},
    {"in resize", BOOSTED("Running", READY "," PROGRESS("", "")), true, FREE, false},
};

TEST_EACH(takes_back_boosts_that_are_over, unboosts) {
    struct vpa_update_options options = {.boost_gate = unboosts[_i].gate};
    struct vpa_object *vpa =
        objects_vpa(&arena, "{'spec':{'startupBoost':{'cpu':{'durationSeconds':60}}}}");
    struct vpa_replica_group group;

    ck_assert_msg(vpa_can_unboost(objects_pod(&arena, unboosts[_i].pod), vpa,
                                  group_of(unboosts[_i].group, &group), &options,
                                  now()) == unboosts[_i].want,
                  "%s", unboosts[_i].name);
}

TEST(takes_back_no_boost_where_replicas_are_not_known) {
    struct vpa_update_options options = {.boost_gate = true};
    struct vpa_object *vpa =
        objects_vpa(&arena, "{'spec':{'startupBoost':{'cpu':{'durationSeconds':60}}}}");
    struct vpa_pod *pod = objects_pod(&arena, BOOSTED("Running", READY)),
                   *other = objects_pod(&arena, "{'metadata':{'uid':'2'}}");
    struct vpa_replica_group group;

    vpa_group_doubt(group_of(SHORT, &group), other);
    ck_assert(!vpa_can_unboost(pod, vpa, &group, &options, now()));
    group_of(SHORT, &group)->closed = true;
    ck_assert(!vpa_can_unboost(pod, vpa, &group, &options, now()));
}

#define RUNS_WITH(cpu, conditions)                                                                 \
    "{'metadata':{'uid':'u'},'spec':{'containers':[{'name':'b'},{'name':'c','resources':{"         \
    "'requests':{'cpu':'1'}}}]},'status':{'phase':'Running','conditions':[" conditions "],"        \
    "'containerStatuses':[{'name':'c','resources':{'requests':{'cpu':'" cpu "'}}}]}}"

static const struct {
    const char *name, *pod;
    bool unfinished;
} taken_back[] = {
    {"done", RUNS_WITH("1000m", ""), false},
    {"nothing known", POD(""), false},
    {"the kubelet has not acted", RUNS_WITH("3", ""), true},
    {"waits", RUNS_WITH("3", PENDING("True", "Deferred")), true},
    {"refused", RUNS_WITH("3", PENDING("True", "Infeasible")), true},
    {"failed", RUNS_WITH("3", PROGRESS("Error", "x")), true},
};

/* S5: an eviction would bring a boosted pod that ends the same way. */
TEST_EACH(a_boost_that_cannot_be_taken_back_never_evicts, taken_back) {
    struct vpa_update_options options = {0};
    struct vpa_object *vpa = vpa_of_mode("InPlaceOrRecreate", "{'cpu':'1'}");
    struct vpa_pod *pod = objects_pod(&arena, taken_back[_i].pod);
    bool resizing = vpa_pod_resizing(pod), deferred = strstr(taken_back[_i].pod, "Deferred");
    struct vpa_replica_group group;

    group_of(FREE, &group);
    vpa_update_memory_set_unboost(memory, "u", true);
    ck_assert(vpa_unboost_unfinished(pod, memory) == taken_back[_i].unfinished);
    ck_assert(can_evict(pod, &group, now()) == !taken_back[_i].unfinished);
    ck_assert_int_eq(vpa_update_decide(pod, vpa, &group, memory, &options, now()),
                     VPA_DECIDE_APPROVED);
    group_of(SPENT, &group);
    ck_assert_int_eq(vpa_update_decide(pod, vpa, &group, memory, &options, now()),
                     VPA_DECIDE_DEFERRED);

    /* The next resize of the same pod is an ordinary one. */
    group_of(FREE, &group);
    vpa_update_memory_set_unboost(memory, "u", false);
    vpa_update_memory_set_unboost(memory, "stranger", false);
    ck_assert(!vpa_unboost_unfinished(pod, memory));
    ck_assert(can_evict(pod, &group, now()) == !deferred);
    ck_assert_int_eq(vpa_update_decide(pod, vpa, &group, memory, &options, now()),
                     !resizing  ? VPA_DECIDE_APPROVED
                     : deferred ? VPA_DECIDE_DEFERRED
                                : VPA_DECIDE_EVICT);
}

#define WANTS(requests)                                                                            \
    "{'spec':{'containers':[{'name':'c','resources':{'requests':{" requests "}}}]}}"

static const struct {
    const char *name, *pod, *wants;
    bool outlasts;
} overtaken[] = {
    {"less than it has", RUNS_WITH("3", ""), WANTS("'cpu':'2'"), true},
    {"as much as it has", RUNS_WITH("3", ""), WANTS("'cpu':'3'"), false},
    {"more than it has", RUNS_WITH("3", PENDING("True", "Infeasible")), WANTS("'cpu':'4'"), false},
    {"memory alone", RUNS_WITH("3", ""), WANTS("'memory':'1Gi'"), true},
    {"carried out", RUNS_WITH("1", ""), WANTS("'cpu':'500m'"), false},
};

/* What is sent next may be more than the boost was. */
TEST_EACH(an_end_outlasts_resizes_that_leave_a_boost, overtaken) {
    const struct vpa_pod *pod = objects_pod(&arena, overtaken[_i].pod);
    const struct vpa_resource_list wanted[] = {
        {.count = 0}, objects_pod(&arena, overtaken[_i].wants)->containers[0].resources.requests};

    ck_assert(!vpa_unboost_outlasts(pod, memory, wanted));
    vpa_update_memory_set_unboost(memory, "u", true);
    ck_assert_msg(vpa_unboost_outlasts(pod, memory, wanted) == overtaken[_i].outlasts, "%s",
                  overtaken[_i].name);
}

#define MARKED_RUNS_WITH(cpu)                                                                      \
    "{'metadata':{'uid':'u','annotations':{'vpaCpuStartupBoost/c':'{}'}},'spec':{'containers':[{"  \
    "'name':'c','resources':{'requests':{'cpu':'1'}}}]},'status':{'phase':'Running',"              \
    "'containerStatuses':[{'name':'c','resources':{'requests':{'cpu':'" cpu "'}}}]}}"

static const struct {
    const char *name, *pod;
    bool presumed;
} left_behind[] = {
    {"done", RUNS_WITH("1000m", ""), false},
    {"nothing known", POD(""), false},
    {"the kubelet has not acted", RUNS_WITH("3", ""), true},
    {"refused", RUNS_WITH("3", PENDING("True", "Infeasible")), true},
    {"gets more", RUNS_WITH("500m", PENDING("True", "Infeasible")), false},
    {"still marked", MARKED_RUNS_WITH("3"), false}, /* its end is still to be sent */
};

/* S5 holds for a process that has just begun as well. */
TEST_EACH(ends_of_boosts_are_recognised_without_memory, left_behind) {
    ck_assert_msg(vpa_unboost_presumed(objects_pod(&arena, left_behind[_i].pod)) ==
                      left_behind[_i].presumed,
                  "%s", left_behind[_i].name);
}

static bool only_u(void *ctx, const char *uid)
{
    (void)ctx;
    return vpa_str_eq(uid, "u");
}

TEST(memory_goes_with_the_pods) {
    struct vpa_object *vpa = vpa_of_mode("InPlace", "{'cpu':'2'}");
    struct vpa_pod *pod = objects_pod(&arena, POD(PENDING("True", "Deferred")));
    struct vpa_pod *gone = objects_pod(&arena, POD(PENDING("True", "Deferred")));
    vpa_time t;
    size_t count;

    gone->meta.uid = "gone";
    vpa_update_memory_observe(memory, pod, now());
    vpa_update_memory_observe(memory, gone, now());
    vpa_update_memory_record_infeasible(memory, "gone", &vpa->recommendation);
    vpa_update_memory_record_infeasible(memory, "b", &vpa->recommendation);

    vpa_auto_free const char **uids = vpa_update_memory_infeasible_uids(memory, &count);

    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(uids[0], "b");
    ck_assert_str_eq(uids[1], "gone");
    vpa_update_memory_sweep(memory, only_u, NULL, now());
    ck_assert(!vpa_update_memory_resize_since(memory, "gone", &t));
    ck_assert_ptr_null(vpa_update_memory_infeasible(memory, "gone"));
    ck_assert(vpa_update_memory_resize_since(memory, "u", &t) && t == now());
    ck_assert_ptr_null(vpa_update_memory_infeasible(memory, "u"));
}

/* ---- timers (U22) ---- */

#define DEFERRED_AT(time)                                                                          \
    "{'type':'PodResizePending','status':'True','reason':'Deferred','lastTransitionTime':'" time   \
    "'}"

/* What a pod shows in successive passes a minute apart, and how long the last status had been seen
 * at the last of them; -1: no timer. */
static const struct {
    const char *name;
    const char *pods[4];
    vpa_duration waited;
} timers[] = {
    {"seen first now", {POD(PENDING("True", "Deferred"))}, 0},
    {"seen before",
     {POD(PENDING("True", "Deferred")), POD(PENDING("True", "Deferred")),
      POD(PENDING("True", "Deferred"))},
     2 * VPA_MINUTE},
    {"over", {POD(PENDING("True", "Deferred")), POD("")}, -1},
    {"a second Deferred",
     {POD(PENDING("True", "Deferred")), POD(""), POD(PENDING("True", "Deferred")),
      POD(PENDING("True", "Deferred"))},
     VPA_MINUTE},
    {"a second InProgress", {POD(PROGRESS("", "")), POD(""), POD(PROGRESS("", ""))}, 0},
    {"another status", {POD(PENDING("True", "Deferred")), POD(PROGRESS("", ""))}, 0},
    {"a second one between two looks",
     {POD(DEFERRED_AT("2026-03-01T11:00:00Z")), POD(DEFERRED_AT("2026-03-01T12:00:30Z"))},
     0},
    {"the same one with its transition",
     {POD(DEFERRED_AT("2026-03-01T11:00:00Z")), POD(DEFERRED_AT("2026-03-01T11:00:00Z"))},
     VPA_MINUTE},
};

TEST_EACH(timers_begin_anew_when_the_status_had_ended, timers) {
    vpa_time t = now(), since;
    int i = 0;

    for (; i < 4 && timers[_i].pods[i]; i++)
        vpa_update_memory_observe(memory, objects_pod(&arena, timers[_i].pods[i]),
                                  now() + i * VPA_MINUTE);
    t = now() + (i - 1) * VPA_MINUTE;
    ck_assert_msg(vpa_update_memory_resize_since(memory, "u", &since) == (timers[_i].waited >= 0),
                  "%s", timers[_i].name);
    if (timers[_i].waited >= 0)
        ck_assert_msg(t - since == timers[_i].waited, "%s", timers[_i].name);
}

/* The kubelet has had no time for what was sent to it while it waited. */
TEST(timers_begin_anew_when_another_size_is_sent) {
    struct vpa_pod *pod = objects_pod(&arena, POD(DEFERRED_AT("2026-03-01T11:00:00Z")));
    vpa_time since;

    vpa_update_memory_note_resize(memory, "u");
    ck_assert(!vpa_update_memory_resize_since(memory, "u", &since));
    vpa_update_memory_observe(memory, pod, now());
    vpa_update_memory_note_resize(memory, "u");
    vpa_update_memory_observe(memory, pod, now() + VPA_HOUR);
    vpa_update_memory_observe(memory, pod, now() + 2 * VPA_HOUR);
    ck_assert(vpa_update_memory_resize_since(memory, "u", &since));
    ck_assert(since == now() + VPA_HOUR);
}

/* A StatefulSet's next pod has the name of the one before. */
TEST(timers_belong_to_a_pod_not_to_its_name) {
    struct vpa_pod *pod = objects_pod(&arena, POD(PENDING("True", "Deferred")));
    vpa_time since;

    vpa_update_memory_observe(memory, pod, now());
    pod->meta.uid = "next";
    vpa_update_memory_observe(memory, pod, now() + VPA_HOUR);
    ck_assert(vpa_update_memory_resize_since(memory, "next", &since));
    ck_assert(since == now() + VPA_HOUR);
}

/* Asking starts nothing: a pod that nobody looked at has not waited. */
TEST(decisions_start_no_timer) {
    struct vpa_pod *pod = objects_pod(&arena, POD(PENDING("True", "Deferred")));
    struct vpa_update_options options = {.in_place_gate = true};
    struct vpa_object *vpa = vpa_of_mode("InPlaceOrRecreate", "{'cpu':'2'}");
    struct vpa_replica_group group;
    vpa_time since;

    group_of(FREE, &group);
    ck_assert(!can_evict(pod, &group, now()));
    ck_assert_int_eq(vpa_update_decide(pod, vpa, &group, memory, &options, now()),
                     VPA_DECIDE_DEFERRED);
    ck_assert(!vpa_update_memory_resize_since(memory, "u", &since));
    ck_assert(!can_evict(pod, &group, now() + VPA_HOUR));
}

TEST(states_of_resizes_have_names) {
    for (int i = VPA_RESIZE_NONE; i <= VPA_RESIZE_ERROR; i++)
        ck_assert_str_ne(vpa_resize_status_name((enum vpa_resize_status)i), "");
}

int main(void)
{
    return run_tests("update", setup, teardown);
}
