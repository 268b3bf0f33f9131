#include "policy_fixtures.h"

#define POD(containers)                                                                            \
    "{'metadata':{'name':'p','namespace':'ns'},'spec':{'containers':[" containers "]}}"
#define ONE(resources) POD("{'name':'c','resources':" resources "}")
#define VPA(spec, recs)                                                                            \
    "{'metadata':{'name':'v','namespace':'ns'},'spec':{" spec                                      \
    "},'status':{'recommendation':{'containerRecommendations':[" recs "]}}}"
#define REC(name, target) "{'containerName':'" name "','target':" target "}"
#define POLICY(text) "'resourcePolicy':{'containerPolicies':[" text "]}"

/* The plan of the first container: requests, limits, phrases joined by "; ". */
static const struct plan_row {
    const char *name;
    const char *vpa;
    const char *pod;
    const char *limits;
    const char *requests_want, *limits_want, *notes_want;
} plan_rows[] = {
    {"target as it is", VPA("", REC("c", "{'cpu':'2','memory':'200Mi'}")), ONE("{}"), "",
     "cpu=2 memory=200Mi", "-", ""},
    {"raised to minAllowed",
     VPA(POLICY("{'containerName':'c','minAllowed':{'cpu':'4','memory':'300Mi'}}"),
         REC("c", "{'cpu':'3','memory':'150Mi'}")),
     ONE("{}"), "", "cpu=4 memory=300Mi", "-",
     "cpu capped to minAllowed; memory capped to minAllowed"},
    {"lowered to maxAllowed, max wins",
     VPA(POLICY("{'containerName':'*','minAllowed':{'cpu':'6'},'maxAllowed':{'cpu':'5'}}"),
         REC("c", "{'cpu':'1'}")),
     ONE("{}"), "", "cpu=5", "-", "cpu capped to minAllowed; cpu capped to maxAllowed"},
    {"zero bounds are none",
     VPA(POLICY("{'containerName':'*','minAllowed':{'cpu':'0'},'maxAllowed':{'cpu':'0'}}"),
         REC("c", "{'cpu':'1'}")),
     ONE("{}"), "", "cpu=1", "-", ""},
    {"limits follow", VPA("", REC("c", "{'cpu':'2','memory':'200Mi'}")),
     ONE("{'requests':{'cpu':'1','memory':'100Mi'},'limits':{'cpu':'2','memory':'200Mi'}}"), "",
     "cpu=2 memory=200Mi", "cpu=4 memory=400Mi", ""},
    {"RequestsOnly is capped to the limit",
     VPA(POLICY("{'containerName':'c','controlledValues':'RequestsOnly'}"),
         REC("c", "{'cpu':'3','memory':'500Mi'}")),
     ONE("{'requests':{'cpu':'1','memory':'100Mi'},'limits':{'cpu':'2','memory':'200Mi'}}"), "",
     "cpu=2 memory=200Mi", "-", "cpu capped to container limit; memory capped to container limit"},
    {"status resources override the spec", VPA("", REC("c", "{'cpu':'2'}")),
     "{'metadata':{'name':'p','namespace':'ns'},'spec':{'containers':[{'name':'c','resources':{"
     "'requests':{'cpu':'1'},'limits':{'cpu':'1'}}}]},'status':{'containerStatuses':[{'name':'c',"
     "'resources':{'requests':{'cpu':'1'},'limits':{'cpu':'3'}}}]}}",
     "", "cpu=2", "cpu=6", "memory: limit NOT set since originalLimit is nil or 0"},
    {"container LimitRange", VPA("", REC("c", "{'cpu':'2','memory':'200M'}")),
     ONE("{'requests':{'cpu':'1','memory':'1G'},'limits':{'cpu':'1','memory':'1G'}}"),
     "{'type':'Container','max':{'cpu':'1'},'min':{'memory':'500M'}}", "cpu=1 memory=500M",
     "cpu=1 memory=500M",
     "cpu capped to fit Max in container LimitRange; memory capped to fit Min in container "
     "LimitRange"},
    {"default limit of the LimitRange", VPA("", REC("c", "{'cpu':'2','memory':'200Mi'}")),
     ONE("{'requests':{'cpu':'2','memory':'100Mi'}}"),
     "{'type':'Container','default':{'cpu':'2','memory':'100Mi'}}", "cpu=2 memory=200Mi",
     "cpu=2 memory=200Mi", ""},
    {"nothing recommended", VPA("", ""), ONE("{'requests':{'cpu':'1'}}"), "", "-", "-", ""},
    {"empty resource names go", VPA("", REC("c", "{'':'5','cpu':'2'}")), ONE("{}"), "", "cpu=2",
     "-", ""},
    {"in mode Off the policy does not count for limits",
     VPA("'updatePolicy':{'updateMode':'Off'}," POLICY(
             "{'containerName':'c','controlledValues':'RequestsOnly'}"),
         REC("c", "{'cpu':'2'}")),
     ONE("{'requests':{'cpu':'1'},'limits':{'cpu':'4'}}"), "", "cpu=2", "cpu=8",
     "memory: limit NOT set since originalLimit is nil or 0"},
    {"entries of other containers are dropped",
     VPA("", REC("gone", "{'cpu':'9'}") "," REC("c", "{'cpu':'2'}")), ONE("{}"), "", "cpu=2", "-",
     ""},
    {"other resources know no LimitRange", VPA("", REC("c", "{'nvidia.com/gpu':'4'}")), ONE("{}"),
     "{'type':'Container','max':{'nvidia.com/gpu':'1'},'min':{'cpu':'1'}}", "nvidia.com/gpu=4", "-",
     ""},
    {"every stage speaks",
     VPA(POLICY("{'containerName':'c','minAllowed':{'cpu':'3','memory':'3Gi'},'maxAllowed':{'cpu':"
                "'2','memory':'2Gi'}}"),
         REC("c", "{'cpu':'1m','memory':'1'}")),
     ONE("{'requests':{'cpu':'1','memory':'1Gi'},'limits':{'cpu':'1','memory':'1Gi'}}"),
     "{'type':'Container','min':{'cpu':'2','memory':'2Gi'},'max':{'cpu':'1','memory':'1Gi'}}",
     "cpu=2 memory=2Gi", "cpu=2 memory=2Gi",
     "cpu capped to fit Min in container LimitRange; cpu capped to fit Max in container "
     "LimitRange; "
     "memory capped to fit Min in container LimitRange; memory capped to fit Max in container "
     "LimitRange; cpu capped to minAllowed; cpu capped to maxAllowed; memory capped to minAllowed; "
     "memory capped to maxAllowed"},
    {"of repeated entries the last one's phrases count",
     VPA(POLICY("{'containerName':'c','maxAllowed':{'cpu':'2','memory':'1Gi'}}"),
         REC("c", "{'cpu':'3'}") "," REC("c", "{'memory':'3Gi'}")),
     ONE("{}"), "", "cpu=2", "-", "memory capped to maxAllowed"},
    {"containers of one name share phrases", VPA("", REC("c", "{'cpu':'2'}")),
     POD("{'name':'c','resources':{'requests':{'cpu':'1'},'limits':{'cpu':'1'}}},{'name':'c'}"), "",
     "cpu=2", "cpu=2",
     "memory: limit NOT set since originalLimit is nil or 0; memory: limit NOT set since "
     "originalLimit is nil or 0"},
    {"limits beyond 64 bits of thousandths are compared exactly",
     VPA(POLICY("{'containerName':'c','controlledValues':'RequestsOnly'}"),
         REC("c", "{'memory':'20Pi'}")),
     ONE("{'requests':{'memory':'1'},'limits':{'memory':'10Pi'}}"), "", "memory=10Pi", "-",
     "memory capped to container limit"},
    {"a Pod minimum that only the limits miss", VPA("", REC("c", "{'cpu':'2'}")),
     ONE("{'requests':{'cpu':'2'},'limits':{'cpu':'1'}}"), "{'type':'Pod','min':{'cpu':'1500m'}}",
     "cpu=3", "cpu=1500m", "memory: limit NOT set since originalLimit is nil or 0"},
    {"above the Pod maximum, and the requests reach the minimum exactly",
     VPA("", REC("c", "{'cpu':'2'}")), ONE("{'requests':{'cpu':'1'},'limits':{'cpu':'4'}}"),
     "{'type':'Pod','min':{'cpu':'2'},'max':{'cpu':'4'}}", "cpu=1", "cpu=4",
     "memory: limit NOT set since originalLimit is nil or 0"},
    {"above the Pod maximum, and the requests miss the minimum by a millicore",
     VPA("", REC("c", "{'cpu':'1999m'}")), ONE("{'requests':{'cpu':'1'},'limits':{'cpu':'4'}}"),
     "{'type':'Pod','min':{'cpu':'2'},'max':{'cpu':'4'}}", "cpu=2", "cpu=8",
     "memory: limit NOT set since originalLimit is nil or 0"},
    {"memory that the Pod LimitRange makes negative is 0",
     VPA("", REC("c", "{'memory':'0'}") "," REC("d", "{'memory':'2Gi'}")),
     POD("{'name':'c','resources':{'requests':{'memory':'1Gi'},'limits':{'memory':'1Gi'}}},{'name':"
         "'d',"
         "'resources':{'requests':{'memory':'1Gi'},'limits':{'memory':'1Gi'}}}"),
     "{'type':'Pod','max':{'memory':'1Gi'}}", "memory=0", "-", ""},
};

static const char *joined(struct vpa_arena *arena, const struct vpa_notes *notes)
{
    const char *text = "";

    for (size_t i = 0; i < notes->count; i++)
        text = vpa_arena_printf(arena, "%s%s%s", text, i ? "; " : "", notes->items[i]);
    return text;
}

TEST_EACH(plans, plan_rows) {
    const struct plan_row *row = &plan_rows[_i];
    vpa_auto_arena arena = {0};
    struct vpa_object vpa = fixture_vpa(&arena, row->vpa);
    struct vpa_pod pod = fixture_pod(&arena, row->pod);
    struct vpa_namespace_limits limits = fixture_limits(&arena, row->limits);
    struct vpa_container_plan *plan;
    struct vpa_error err;

    ck_assert_msg(vpa_capping_plan(&arena, &vpa, &pod, &limits, &plan, &err) == 0, "%s", row->name);
    ck_assert_str_eq(fixture_list_text(&arena, &plan[0].requests), row->requests_want);
    ck_assert_str_eq(fixture_list_text(&arena, &plan[0].limits), row->limits_want);
    ck_assert_str_eq(joined(&arena, &plan[0].notes), row->notes_want);
}

/* Vectors of admission.md 11.5: requests equal limits; two containers with recommendations a and b.
 */
static const struct pod_row {
    const char *name;
    const char *resource;
    const char *a, *b;
    const char *range;
    const char *want_a, *want_b;
} pod_rows[] = {
    {"cpu above max", "cpu", "1", "1", "'max':{'cpu':'1'}", "500m", "500m"},
    {"cpu below min", "cpu", "15m", "100m", "'min':{'cpu':'150m'}", "20m", "131m"},
    {"cpu rounded down", "cpu", "15m", "100m", "'max':{'cpu':'90m'}", "11m", "78m"},
    {"memory below min", "memory", "1G", "1G", "'min':{'memory':'4G'}", "2G", "2G"},
    {"memory above max", "memory", "1Gi", "2Gi", "'max':{'memory':'1Gi'}", "357913941",
     "715827882"},
    {"memory min missed by a byte", "memory", "1Gi", "2Gi", "'min':{'memory':'4Gi'}", "1431655765",
     "2863311530"},
    {"fits", "cpu", "1", "1", "'min':{'cpu':'1'},'max':{'cpu':'2'}", "1", "1"},
};

TEST_EACH(pod_limit_range, pod_rows) {
    const struct pod_row *row = &pod_rows[_i];
    vpa_auto_arena arena = {0};
    const char *r = row->resource;
    struct vpa_object vpa = fixture_vpa(
        &arena,
        vpa_arena_printf(&arena, VPA("", REC("a", "{'%s':'%s'}") "," REC("b", "{'%s':'%s'}")), r,
                         row->a, r, row->b));
    struct vpa_pod pod = fixture_pod(
        &arena, vpa_arena_printf(
                    &arena,
                    POD("{'name':'a','resources':{'requests':{'%s':'1'},'limits':{'%s':'1'}}},"
                        "{'name':'b','resources':{'requests':{'%s':'1'},'limits':{'%s':'1'}}}"),
                    r, r, r, r));
    struct vpa_namespace_limits limits =
        fixture_limits(&arena, vpa_arena_printf(&arena, "{'type':'Pod',%s}", row->range));
    struct vpa_capped got;
    struct vpa_error err;

    ck_assert_int_eq(vpa_capping_process(&arena, &vpa, &pod, &limits, &got, &err), 0);
    const struct vpa_quantity *a = vpa_resource_find(&got.recommendation.containers[0].target, r);
    const struct vpa_quantity *b = vpa_resource_find(&got.recommendation.containers[1].target, r);
    ck_assert_str_eq(vpa_quantity_text(&arena, a), row->want_a);
    ck_assert_str_eq(vpa_quantity_text(&arena, b), row->want_b);
}

TEST(pod_limit_range_takes_unrecommended_containers_along) {
    vpa_auto_arena arena = {0};
    struct vpa_object vpa = fixture_vpa(&arena, VPA("", REC("a", "{'memory':'200M'}")));
    struct vpa_pod pod = fixture_pod(
        &arena,
        POD("{'name':'a','resources':{'requests':{'memory':'50M'},'limits':{'memory':'100M'}}},"
            "{'name':'b','resources':{'requests':{'memory':'50M'},'limits':{'memory':'100M'}}},"
            "{'name':'bare'}"));
    struct vpa_namespace_limits limits =
        fixture_limits(&arena, "{'type':'Pod','min':{'memory':'500M'}}");
    struct vpa_capped got;
    struct vpa_error err;

    ck_assert_int_eq(vpa_capping_process(&arena, &vpa, &pod, &limits, &got, &err), 0);
    ck_assert_uint_eq(got.recommendation.container_count, 2);
    ck_assert_str_eq(fixture_list_text(&arena, &got.recommendation.containers[0].target),
                     "memory=400M");
    ck_assert_str_eq(got.recommendation.containers[1].container_name, "b");
    ck_assert_str_eq(fixture_list_text(&arena, &got.recommendation.containers[1].target),
                     "memory=100M");
    /* The stored recommendation is as it was. */
    ck_assert_str_eq(fixture_list_text(&arena, &vpa.recommendation.containers[0].target),
                     "memory=200M");
}

TEST(absent_and_empty_results) {
    vpa_auto_arena arena = {0};
    struct vpa_object bare =
        fixture_vpa(&arena, "{'metadata':{'name':'v','namespace':'ns'},'spec':{}}");
    struct vpa_object policy = fixture_vpa(
        &arena, "{'metadata':{'name':'v','namespace':'ns'},'spec':{'resourcePolicy':{}}}");
    struct vpa_pod pod = fixture_pod(&arena, ONE("{}"));
    struct vpa_capped got;
    struct vpa_error err;

    ck_assert_int_eq(vpa_capping_process(&arena, &bare, &pod, NULL, &got, &err), 0);
    ck_assert(!got.recommendation.present);
    ck_assert_int_eq(vpa_capping_process(&arena, &policy, &pod, NULL, &got, &err), 0);
    ck_assert(got.recommendation.present);
    ck_assert_uint_eq(got.recommendation.container_count, 0);
}

TEST(unknown_limit_ranges_are_an_error) {
    vpa_auto_arena arena = {0};
    struct vpa_object vpa = fixture_vpa(&arena, VPA("", REC("c", "{'cpu':'1'}")));
    struct vpa_object empty =
        fixture_vpa(&arena, "{'metadata':{'name':'v','namespace':'ns'},'spec':{}}");
    struct vpa_pod pod = fixture_pod(&arena, ONE("{}"));
    const struct vpa_namespace_limits limits = {.error = "oh no"};
    struct vpa_container_plan *plan;
    struct vpa_capped got;
    struct vpa_error err;

    ck_assert_int_eq(vpa_capping_process(&arena, &vpa, &pod, &limits, &got, &err), -1);
    ck_assert_str_eq(err.text, "error obtaining limit range: oh no");
    ck_assert_int_eq(vpa_capping_plan(&arena, &vpa, &pod, &limits, &plan, &err), -1);
    ck_assert_int_eq(vpa_capping_plan(&arena, &empty, &pod, &limits, &plan, &err), -1);
    ck_assert_str_eq(err.text, "error getting containerLimitRange: oh no");
}

TEST(limit_ranges_fold) {
    vpa_auto_arena arena = {0};
    struct vpa_namespace_limits got = fixture_limits(
        &arena, "{'type':'Container','max':{'cpu':'2'},'default':{'cpu':'1.5'},'min':{'cpu':'1'}},"
                "{'type':'Container','max':{'cpu':'1.5','memory':'1Gi'},'min':{'cpu':'1.5'}},"
                "{'type':'Pod','defaultRequest':{'cpu':'1'}},"
                "{'type':'PersistentVolumeClaim','max':{'storage':'1Gi'}}");

    ck_assert(got.container.present);
    ck_assert(!got.pod.present);
    ck_assert_str_eq(fixture_list_text(&arena, &got.container.max), "cpu=1500m memory=1Gi");
    ck_assert_str_eq(fixture_list_text(&arena, &got.container.min), "cpu=1500m");
    ck_assert_str_eq(fixture_list_text(&arena, &got.container.defaults), "cpu=1500m");
}

TEST(no_limit_ranges) {
    vpa_auto_arena arena = {0};
    struct vpa_namespace_limits got;

    vpa_namespace_limits_fold(&arena, NULL, 0, &got);
    ck_assert(!got.container.present && !got.pod.present && !got.error);
}

TEST(the_recommender_caps_by_policy_and_global_maximum) {
    vpa_auto_arena arena = {0};
    struct vpa_object vpa =
        fixture_vpa(&arena, VPA(POLICY("{'containerName':'*','minAllowed':{'cpu':'100m'},'"
                                       "maxAllowed':{'memory':'500Mi'}}"),
                                "{'containerName':'c','target':{'cpu':'25m','memory':'600Mi'},'"
                                "lowerBound':{'cpu':'20m',"
                                "'memory':'550Mi'},'upperBound':{'cpu':'3','memory':'900Mi'},'"
                                "uncappedTarget':{'cpu':'25m',"
                                "'memory':'600Mi'}}"));
    struct vpa_resource_list global = fixture_list(&arena, "{'cpu':'2','memory':'1Mi'}");
    struct vpa_recommendation got =
        vpa_capping_policy(&arena, &vpa.recommendation, &vpa.resource_policy, &global);
    struct vpa_container_recommendation *r = &got.containers[0];

    ck_assert_str_eq(fixture_list_text(&arena, &r->target), "cpu=100m memory=500Mi");
    ck_assert_str_eq(fixture_list_text(&arena, &r->lower_bound), "cpu=100m memory=500Mi");
    ck_assert_str_eq(fixture_list_text(&arena, &r->upper_bound), "cpu=2 memory=500Mi");
    ck_assert_str_eq(fixture_list_text(&arena, &r->uncapped_target), "cpu=25m memory=600Mi");

    got = vpa_capping_policy(&arena, &vpa.recommendation, NULL, &global);
    ck_assert_str_eq(fixture_list_text(&arena, &got.containers[0].target), "cpu=25m memory=1Mi");
    got = vpa_capping_policy(&arena, &vpa.recommendation, NULL, NULL);
    ck_assert_str_eq(fixture_list_text(&arena, &got.containers[0].target), "cpu=25m memory=600Mi");
}

int main(void)
{
    return run_tests("capping", NULL, NULL);
}
