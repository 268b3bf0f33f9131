/* maxLimitRequestRatio of LimitRanges: a pod that an API server takes is not made into one that it
 * refuses. */
#include "arena_fixture.h"
#include "policy_fixtures.h"

#include "vpa/policy/limit_ratio.h"
#include "vpa/policy/pod_patch.h"
#include "vpa/policy/resize_patch.h"

#define CONTAINER(ratio) "{'type':'Container','maxLimitRequestRatio':" ratio "}"
#define POD(ratio) "{'type':'Pod','maxLimitRequestRatio':" ratio "}"
#define ONE_TWO "{'requests':{'cpu':'1'},'limits':{'cpu':'2'}}"
#define INIT(resources) "'initContainers':[{'name':'once','resources':" resources "}],"
#define SIDECAR(resources)                                                                         \
    "'initContainers':[{'name':'side','restartPolicy':'Always','resources':" resources "}],"

/* The recommendation is that of one container of two; the other one may use two CPUs and asks for
 * one. */
static const struct {
    const char *name;
    const char *limits; /* of the LimitRange */
    const char *more;   /* members of the spec */
    const char *resources;
    const char *target;
    const char *values;
    const char *refused; /* NULL: it fits */
} rows[] = {
    {"no ratio", "{'type':'Container','min':{'cpu':'10m'}}", "", ONE_TWO, "{'cpu':'100m'}",
     "RequestsOnly", NULL},
    {"the ratio is reached", CONTAINER("{'cpu':'4'}"), "", ONE_TWO, "{'cpu':'500m'}",
     "RequestsOnly", NULL},
    {"the ratio is passed", CONTAINER("{'cpu':'4'}"), "", ONE_TWO, "{'cpu':'499m'}", "RequestsOnly",
     "container app: cpu limit 2 would be more than 4 times the request 499m, which a LimitRange"},
    {"the least one counts", CONTAINER("{'cpu':'4'}") "," CONTAINER("{'cpu':'3'}"), "", ONE_TWO,
     "{'cpu':'500m'}", "RequestsOnly", "more than 3 times the request 500m"},
    {"whatever their order", CONTAINER("{'cpu':'3'}") "," CONTAINER("{'cpu':'4'}"), "", ONE_TWO,
     "{'cpu':'500m'}", "RequestsOnly", "more than 3 times the request 500m"},
    {"limits that go along", CONTAINER("{'cpu':'2'}"), "", ONE_TWO, "{'cpu':'100m'}",
     "RequestsAndLimits", NULL},
    {"a pod that is refused as it is", CONTAINER("{'cpu':'1500m'}"), "", ONE_TWO, "{'cpu':'100m'}",
     "RequestsOnly", NULL},
    {"one without a limit", CONTAINER("{'cpu':'4'}"), "", "{'requests':{'cpu':'1'}}",
     "{'cpu':'100m'}", "RequestsOnly", NULL},
    {"other resources do not count", CONTAINER("{'memory':'1'}"), "", ONE_TWO, "{'cpu':'100m'}",
     "RequestsOnly", NULL},
    {"memory", CONTAINER("{'memory':'2'}"), "",
     "{'requests':{'memory':'1Gi'},'limits':{'memory':'2Gi'}}", "{'memory':'1023Mi'}",
     "RequestsOnly", "memory limit 2Gi would be more than 2 times the request 1023Mi"},
    {"of the pod: reached", POD("{'cpu':'3'}"), "", ONE_TWO, "{'cpu':'334m'}", "RequestsOnly",
     NULL},
    {"of the pod: passed", POD("{'cpu':'3'}"), "", ONE_TWO, "{'cpu':'333m'}", "RequestsOnly",
     "all containers: cpu limit 4 would be more than 3 times the request 1333m"},
    {"sidecars count", POD("{'cpu':'3'}"), SIDECAR("{'requests':{'cpu':'1'}}"), ONE_TWO,
     "{'cpu':'100m'}", "RequestsOnly", NULL},
    {"what comes before counts", POD("{'cpu':'3'}"),
     INIT("{'requests':{'cpu':'2'},'limits':{'cpu':'2'}}"), ONE_TWO, "{'cpu':'100m'}",
     "RequestsOnly", NULL},
    {"so do its limits", POD("{'cpu':'3'}"), INIT("{'limits':{'cpu':'6'}}"), ONE_TWO,
     "{'cpu':'900m'}", "RequestsOnly", "cpu limit 6 would be more than 3 times the request 1900m"},
};

static struct vpa_pod the_pod(int i)
{
    return fixture_pod(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'p','namespace':'ns','annotations':{}},"
                                 "'spec':{%s'containers':[{'name':'app','resources':%s},"
                                 "{'name':'other','resources':" ONE_TWO "}]}}",
                                 rows[i].more, rows[i].resources));
}

static struct vpa_object the_vpa(int i)
{
    return fixture_vpa(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'v','namespace':'ns'},'spec':{"
                                 "'resourcePolicy':{'containerPolicies':[{'containerName':'*',"
                                 "'controlledValues':'%s'}]},"
                                 "'updatePolicy':{'updateMode':'Recreate'}},"
                                 "'status':{'recommendation':{'containerRecommendations':["
                                 "{'containerName':'app','target':%s}]}}}",
                                 rows[i].values, rows[i].target));
}

static void check(int i, int result, const struct vpa_error *err)
{
    ck_assert_msg((result < 0) == (rows[i].refused != NULL), "%s", rows[i].name);
    if (rows[i].refused && !strstr(err->text, rows[i].refused))
        ck_abort_msg("%s: %s", rows[i].name, err->text);
}

TEST_EACH(a_new_pod_is_not_patched_beyond_it, rows) {
    const struct vpa_pod_patch_options options = {.startup_boost = true};
    struct vpa_namespace_limits limits = fixture_limits(&arena, rows[_i].limits);
    struct vpa_pod pod = the_pod(_i);
    struct vpa_object vpa = the_vpa(_i);
    vpa_auto_buf out = VPA_BUF(1 << 16);
    struct vpa_error err;

    vpa_buf_puts(&out, "before");
    check(_i, vpa_pod_patch(&arena, &pod, &vpa, &limits, &options, &out, &err), &err);
    if (rows[_i].refused)
        ck_assert_str_eq(vpa_buf_text(&out), "before");
}

/* Of less than a core altogether. */
TEST(a_small_pod_is_not_patched_beyond_it) {
    const struct vpa_pod_patch_options options = {.startup_boost = true};
    struct vpa_namespace_limits limits = fixture_limits(&arena, POD("{'cpu':'3'}"));
    struct vpa_pod pod = fixture_pod(
        &arena, "{'metadata':{'name':'p','namespace':'ns','annotations':{}},'spec':{'containers':[{"
                "'name':'app','resources':{'requests':{'cpu':'100m'},'limits':{'cpu':'200m'}}}]}}");
    struct vpa_object vpa = fixture_vpa(
        &arena, "{'metadata':{'name':'v','namespace':'ns'},'spec':{'resourcePolicy':{"
                "'containerPolicies':[{'containerName':'*','controlledValues':'RequestsOnly'}]},"
                "'updatePolicy':{'updateMode':'Recreate'}},'status':{'recommendation':{"
                "'containerRecommendations':[{'containerName':'app','target':{'cpu':'50m'}}]}}}");
    vpa_auto_buf out = VPA_BUF(1 << 16);
    struct vpa_error err;

    ck_assert_int_eq(vpa_pod_patch(&arena, &pod, &vpa, &limits, &options, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cpu limit 200m would be more than 3 times"));
}

/* Of two containers the policy has one alone: as it is, it counts for the pod. */
static const struct {
    const char *name;
    const char *limits; /* of the LimitRange */
    const char *other;  /* its resources */
    const char *target;
    const char *refused; /* NULL: it fits */
} sums[] = {
    {"together they fit", "{'type':'Pod','max':{'cpu':'4'}}", ONE_TWO, "{'cpu':'1'}", NULL},
    {"more than the most", "{'type':'Pod','max':{'cpu':'4'}}", ONE_TWO, "{'cpu':'2'}",
     "all containers: cpu request 2333m and limit 4666m together, which a LimitRange forbids"},
    {"more than the most already", "{'type':'Pod','max':{'cpu':'3'}}", ONE_TWO, "{'cpu':'2'}",
     NULL},
    {"less than the least", "{'type':'Pod','min':{'cpu':'2'}}", ONE_TWO, "{'cpu':'200m'}",
     "all containers: cpu request 1334m and limit 2668m together"},
    {"less than the least already", "{'type':'Pod','min':{'cpu':'3'}}", ONE_TWO, "{'cpu':'200m'}",
     NULL},
    {"without limits", "{'type':'Pod','min':{'cpu':'2'}}", "{'requests':{'cpu':'1'}}",
     "{'cpu':'200m'}", "all containers: cpu request 1200m and limit 0 together"},
    {"memory", "{'type':'Pod','max':{'memory':'2Gi'}}",
     "{'requests':{'memory':'1Gi'},'limits':{'memory':'1Gi'}}", "{'memory':'2Gi'}",
     "all containers: memory request"},
};

static struct vpa_pod pod_of_two(int i)
{
    return fixture_pod(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'p','namespace':'ns','annotations':{}},"
                                 "'spec':{'containers':[{'name':'app','resources':%s},"
                                 "{'name':'other','resources':%s}]}}",
                                 sums[i].other, sums[i].other));
}

static struct vpa_object vpa_of_one(int i)
{
    return fixture_vpa(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'v','namespace':'ns'},'spec':{"
                                 "'resourcePolicy':{'containerPolicies':[{'containerName':'other',"
                                 "'mode':'Off'}]},'updatePolicy':{'updateMode':'Recreate'}},"
                                 "'status':{'recommendation':{'containerRecommendations':["
                                 "{'containerName':'app','target':%s}]}}}",
                                 sums[i].target));
}

TEST_EACH(a_container_that_is_left_alone_counts_for_its_pod, sums) {
    const struct vpa_pod_patch_options options = {.startup_boost = true};
    struct vpa_namespace_limits limits = fixture_limits(&arena, sums[_i].limits);
    struct vpa_pod pod = pod_of_two(_i);
    struct vpa_object vpa = vpa_of_one(_i);
    vpa_auto_buf out = VPA_BUF(1 << 16);
    struct vpa_error err;
    int result = vpa_pod_patch(&arena, &pod, &vpa, &limits, &options, &out, &err);

    ck_assert_msg((result < 0) == (sums[_i].refused != NULL), "%s: %s", sums[_i].name,
                  vpa_buf_text(&out));
    if (sums[_i].refused && !strstr(err.text, sums[_i].refused))
        ck_abort_msg("%s: %s", sums[_i].name, err.text);
}

static struct vpa_pod pod_with(const char *each)
{
    return fixture_pod(&arena, vpa_arena_printf(&arena,
                                                "{'metadata':{'name':'p','namespace':'ns'},'spec':"
                                                "{'containers':[{'name':'app','resources':%s},"
                                                "{'name':'other','resources':%s}]}}",
                                                each, each));
}

/* A pod of one container that asks for 500m and may use 1 CPU, and a sidecar. */
static const struct {
    const char *name;
    const char *limits; /* of the LimitRange */
    const char *sidecar;
    const char *policy;
    const char *target;
    const char *want; /* of the container; NULL: refused */
    const char *refused;
} shares[] = {
    {"what it leaves", "{'type':'Pod','max':{'cpu':'2'}}", "'limits':{'cpu':'500m'}", "", "3",
     "cpu=750m", NULL},
    {"what all of them leave", "{'type':'Pod','max':{'cpu':'3'}}",
     "'limits':{'cpu':'500m'}}},{'name':'b','restartPolicy':'Always','resources':{'limits':"
     "{'cpu':'1'}",
     "", "3", "cpu=750m", NULL},
    {"what ends before leaves all", "{'type':'Pod','max':{'cpu':'2'}}",
     "'limits':{'cpu':'500m'}}},{'name':'b','resources':{'limits':{'cpu':'1'}", "", "3", "cpu=750m",
     NULL},
    {"less than that stays", "{'type':'Pod','max':{'cpu':'2'}}", "'limits':{'cpu':'500m'}", "",
     "750m", "cpu=750m", NULL},
    {"another resource", "{'type':'Pod','max':{'cpu':'2'}}", "'limits':{'memory':'1Gi'}", "", "3",
     "cpu=1", NULL},
    {"a pod that is refused as it is", "{'type':'Pod','max':{'cpu':'2'}}", "'limits':{'cpu':'2'}",
     "", "3", "cpu=1", NULL},
    {"a policy wants more", "{'type':'Pod','max':{'cpu':'2'}}", "'limits':{'cpu':'500m'}",
     "{'containerName':'*','minAllowed':{'cpu':'1'}}", "3", NULL,
     "all containers: cpu request 1 and limit 2500m together, which a LimitRange forbids"},
    {"requests without limits", "{'type':'Pod','max':{'cpu':'2'}}", "'requests':{'cpu':'1500m'}",
     "", "3", NULL, "all containers: cpu request 2500m and limit 2 together"},
};

TEST_EACH(sidecars_have_their_share, shares) {
    struct vpa_namespace_limits limits = fixture_limits(&arena, shares[_i].limits);
    struct vpa_pod pod = fixture_pod(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'p','namespace':'ns'},'spec':{"
                                 "'initContainers':[{'name':'a','restartPolicy':'Always',"
                                 "'resources':{%s}}],'containers':[{'name':'app','resources':{"
                                 "'requests':{'cpu':'500m'},'limits':{'cpu':'1'}}}]}}",
                                 shares[_i].sidecar));
    struct vpa_object vpa = fixture_vpa(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'v','namespace':'ns'},'spec':{"
                                 "'resourcePolicy':{'containerPolicies':[%s]}},'status':{"
                                 "'recommendation':{'containerRecommendations':[{"
                                 "'containerName':'app','target':{'cpu':'%s'}}]}}}",
                                 shares[_i].policy, shares[_i].target));
    struct vpa_capped capped;
    struct vpa_error err;
    int result = vpa_capping_process(&arena, &vpa, &pod, &limits, &capped, &err);

    ck_assert_msg((result < 0) == (shares[_i].refused != NULL), "%s", shares[_i].name);
    if (result == 0)
        ck_assert_str_eq(fixture_list_text(&arena, &capped.recommendation.containers[0].target),
                         shares[_i].want);
    else if (!strstr(err.text, shares[_i].refused))
        ck_abort_msg("%s: %s", shares[_i].name, err.text);
}

/* A boost of a container that asks for 1 CPU, as is recommended, to three times of it. */
#define WITH_SIDECAR SIDECAR("{'requests':{'cpu':'100m'},'limits':{'cpu':'100m'}}")
#define OTHER ",{'name':'other','resources':{'requests':{'cpu':'1'},'limits':{'cpu':'1'}}}"
#define MORE ",'minAllowed':{'cpu':'2'}"

static const struct {
    const char *name;
    const char *limits; /* of the LimitRange */
    const char *more;   /* members of the pod's spec */
    const char *others; /* containers, of mode Off */
    const char *policy; /* of the container */
    bool fits;          /* without the boost */
} boosts[] = {
    {"of a container", "{'type':'Container','max':{'cpu':'2'}}", "", "", "", true},
    {"of a container with a sidecar", "{'type':'Container','max':{'cpu':'2'}}", WITH_SIDECAR, "",
     "", true},
    {"of a pod", "{'type':'Pod','max':{'cpu':'2'}}", "", "", "", true},
    {"of a pod with a sidecar", "{'type':'Pod','max':{'cpu':'2'}}", WITH_SIDECAR, "", "", true},
    {"next to one that is left alone", "{'type':'Pod','max':{'cpu':'2'}}", "", OTHER, "", true},
    {"of one that is left alone", "{'type':'Pod','max':{'cpu':'2'}}", WITH_SIDECAR, "",
     ",'mode':'Off'", true},
    {"what is recommended does not fit", "{'type':'Pod','max':{'cpu':'2'}}", WITH_SIDECAR, "", MORE,
     false},
    {"nor with what the boost adds", "{'type':'Pod','min':{'cpu':'2'}}", "", OTHER,
     ",'maxAllowed':{'cpu':'500m'}", false},
};

/* It was judged when it came without. */
TEST(a_pod_that_comes_boosted_is_not_judged_by_its_boost) {
    const struct vpa_pod_patch_options options = {.startup_boost = true};
    struct vpa_namespace_limits limits = fixture_limits(&arena, "{'type':'Pod','min':{'cpu':'2'}}");
    struct vpa_pod pod = fixture_pod(
        &arena,
        "{'metadata':{'name':'p','namespace':'ns','annotations':{'vpaCpuStartupBoost/app':"
        "'{\\'requests\\':{\\'cpu\\':\\'500m\\'},\\'limits\\':{}}'}},'spec':{'containers':[{"
        "'name':'app','resources':{'requests':{'cpu':'1500m'}}}" OTHER "]}}");
    struct vpa_object vpa = fixture_vpa(
        &arena, "{'metadata':{'name':'v','namespace':'ns'},'spec':{'resourcePolicy':{"
                "'containerPolicies':[{'containerName':'other','mode':'Off'},{'containerName':"
                "'app','maxAllowed':{'cpu':'500m'},'startupBoost':{'cpu':{'type':'Factor',"
                "'factor':3}}}]}},'status':{'recommendation':{'containerRecommendations':[{'"
                "containerName':'app','target':{"
                "'cpu':'500m'}}]}}}");
    vpa_auto_buf out = VPA_BUF(1 << 16);
    struct vpa_error err;

    ck_assert_msg(vpa_pod_patch(&arena, &pod, &vpa, &limits, &options, &out, &err) == 0, "%s",
                  err.text);
    ck_assert_ptr_nonnull(
        strstr(vpa_buf_text(&out), "0/resources/requests/cpu\",\"value\":\"1500m\""));
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&out), "\\\"cpu\\\":\\\"500m\\\""));
}

/* As upstream's does, whatever else is in the pod; without its boost the pod fits. */
TEST_EACH(a_boost_may_go_beyond_a_limit_range, boosts) {
    const struct vpa_pod_patch_options options = {.startup_boost = true};
    struct vpa_namespace_limits limits = fixture_limits(&arena, boosts[_i].limits);
    struct vpa_pod pod = fixture_pod(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'p','namespace':'ns'},'spec':{%s"
                                 "'containers':[{'name':'app','resources':{'requests':{'cpu':'1'},"
                                 "'limits':{'cpu':'1'}}}%s]}}",
                                 boosts[_i].more, boosts[_i].others));
    struct vpa_object vpa = fixture_vpa(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'v','namespace':'ns'},'spec':{"
                                 "'resourcePolicy':{'containerPolicies':[{'containerName':'other',"
                                 "'mode':'Off'},{'containerName':'app','startupBoost':{'cpu':{"
                                 "'type':'Factor','factor':3}}%s}]}},'status':{'recommendation':{"
                                 "'containerRecommendations':[{'containerName':'app','target':{"
                                 "'cpu':'1'}}]}}}",
                                 boosts[_i].policy));
    vpa_auto_buf out = VPA_BUF(1 << 16);
    struct vpa_error err;
    int result = vpa_pod_patch(&arena, &pod, &vpa, &limits, &options, &out, &err);

    ck_assert_msg((result < 0) == !boosts[_i].fits, "%s: %s", boosts[_i].name, vpa_buf_text(&out));
    if (result == 0 && !strstr(vpa_buf_text(&out), "0/resources/limits/cpu\",\"value\":\"3\""))
        ck_abort_msg("%s: %s", boosts[_i].name, vpa_buf_text(&out));
    if (result < 0 && !strstr(err.text, "which a LimitRange forbids"))
        ck_abort_msg("%s: %s", boosts[_i].name, err.text);
}

/* What is wanted of all containers is scaled to fit, but for what upstream rounds up. */
TEST(a_pod_that_is_changed_as_a_whole_is_not_looked_at) {
    struct vpa_namespace_limits limits = fixture_limits(&arena, "{'type':'Pod','max':{'cpu':'2'}}");
    struct vpa_pod now = pod_with("{'requests':{'cpu':'1'},'limits':{'cpu':'1'}}");
    struct vpa_pod then = pod_with("{'requests':{'cpu':'1001m'},'limits':{'cpu':'1001m'}}");
    struct vpa_resources wanted[] = {then.containers[0].resources, then.containers[1].resources};
    struct vpa_error err;

    ck_assert_int_eq(vpa_capping_fits(&arena, &now, &limits, wanted, &err), 0);
    wanted[1] = (struct vpa_resources){0};
    ck_assert_int_eq(vpa_capping_fits(&arena, &now, &limits, wanted, &err), -1);
}

TEST_EACH(no_decision_asks_for_more, rows) {
    struct vpa_namespace_limits limits = fixture_limits(&arena, rows[_i].limits);
    struct vpa_pod pod = the_pod(_i);
    struct vpa_object vpa = the_vpa(_i);
    struct vpa_capped capped;
    struct vpa_error err;

    check(_i, vpa_capping_process(&arena, &vpa, &pod, &limits, &capped, &err), &err);
}

TEST_EACH(no_resize_asks_for_more, rows) {
    struct vpa_namespace_limits limits = fixture_limits(&arena, rows[_i].limits);
    struct vpa_pod pod = the_pod(_i);
    struct vpa_object vpa = the_vpa(_i);
    struct vpa_container_plan *plans;
    struct vpa_resize_patch patch;
    struct vpa_error err;

    vpa_resize_patch_init(&patch);
    ck_assert_int_eq(vpa_capping_plan(&arena, &vpa, &pod, &limits, &plans, &err), 0);
    check(_i, vpa_resize_patch_build(&pod, &vpa, &limits, plans, 0, &arena, &patch, &err), &err);
    vpa_resize_patch_release(&patch);
}

int main(void)
{
    return run_tests("limit_ratio", setup, teardown);
}
