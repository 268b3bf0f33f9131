/* Why a pod is changed, in words. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "objects.h"
#include "vpa/base/mem.h"
#include "vpa/policy/reason.h"

static struct vpa_arena arena;
static struct vpa_buf text;

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    vpa_buf_init(&text, VPA_REASON_MAX);
}

static void teardown(void)
{
    vpa_buf_release(&text);
    vpa_arena_release(&arena);
}

#define C(name, requests) "{'name':'" name "','resources':{'requests':" requests "}}"
#define POD(containers) "{'metadata':{'name':'p'},'spec':{'containers':[" containers "]}}"
#define OOM(containers)                                                                            \
    "{'metadata':{'name':'p'},'spec':{'containers':[" containers                                   \
    "]},'status':{'containerStatuses':[{'name':'c','lastState':{'terminated':{'reason':"           \
    "'OOMKilled','startedAt':'2026-03-01T12:00:00Z','finishedAt':'2026-03-01T12:01:00Z'}}}]}}"
#define R(name, target, lower, upper)                                                              \
    "{'containerName':'" name "','target':" target ",'lowerBound':" lower ",'upperBound':" upper "}"
#define VPA(containers)                                                                            \
    "{'status':{'recommendation':{'containerRecommendations':[" containers "]}}}"

static const struct {
    const char *pod, *vpa, *text;
} updates[] = {
    {POD(C("c", "{'cpu':'500m'}")), VPA(R("c", "{'cpu':'1238m'}", "{'cpu':'1100m'}", "{}")),
     "cpu request 500m -> 1238m: below the lower bound 1100m"},
    {POD(C("c", "{'cpu':'2'}")), VPA(R("c", "{'cpu':'1'}", "{'cpu':'100m'}", "{'cpu':'1500m'}")),
     "cpu request 2 -> 1: above the upper bound 1500m"},
    {POD(C("c", "{}")), VPA(R("c", "{'memory':'1Gi'}", "{}", "{}")),
     "memory request none -> 1Gi: it has no request"},
    {POD(C("c", "{'cpu':'1'}")), VPA(R("c", "{'cpu':'1250m'}", "{'cpu':'1'}", "{'cpu':'2'}")),
     "cpu request 1 -> 1250m: inside the bounds, the pod is off by 25%"},
    {OOM(C("c", "{'memory':'1Gi'}")), VPA(R("c", "{'memory':'2Gi'}", "{}", "{}")),
     "memory request 1Gi -> 2Gi: out of memory soon after its start"},
    /* what stays is not named, one phrase per request that changes */
    {POD(C("c", "{'cpu':'1','memory':'1Gi'}")),
     VPA(R("c", "{'cpu':'1000m','memory':'2Gi'}", "{'memory':'1500Mi'}", "{}")),
     "memory request 1Gi -> 2Gi: below the lower bound 1500Mi"},
    {POD(C("a", "{'cpu':'1'}") "," C("b", "{'cpu':'1'}")),
     VPA(R("b", "{'cpu':'2','memory':'1M'}", "{'cpu':'2'}", "{}")),
     "container b: cpu request 1 -> 2: below the lower bound 2; container b: memory request none "
     "-> 1M: it has no request"},
    /* what is too long is cut: numbers behind 24 digits, names behind 63 characters */
    {POD(C("c", "{'cpu':'123456789012345678901234567'}")), VPA(R("c", "{'cpu':'1'}", "{}", "{}")),
     "cpu request 123456789012345678901234 -> 1: inside the bounds, the pod is off by 100%"},
    {POD(C("c", "{'cpu':'1'}")),
     VPA(R("c", "{'cpu':'123456789012345678901234'}", "{'cpu':'2'}", "{}")),
     "cpu request 1 -> 123456789012345678901234: below the lower bound 2"},
    {POD(C("c", "{}")),
     VPA(R("c",
           "{'"
           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxyz"
           "':'1'}",
           "{}", "{}")),
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx request none -> 1: it has no "
     "request"},
    {POD(C("c", "{'cpu':'1'}")), VPA(R("other", "{'cpu':'2'}", "{}", "{}")), ""},
    {POD(C("c", "{}")),
     VPA(R("c", "{'a/1':'1','a/2':'1','a/3':'1','a/4':'1','a/5':'1','a/6':'1'}", "{}", "{}")),
     "a/1 request none -> 1: it has no request; a/2 request none -> 1: it has no request; a/3 "
     "request none -> 1: it has no request; a/4 request none -> 1: it has no request; and 2 more"},
};

TEST_EACH(old_and_new_values_and_the_reason, updates) {
    const struct vpa_pod *pod = objects_pod(&arena, updates[_i].pod);
    const struct vpa_object *vpa = objects_vpa(&arena, updates[_i].vpa);
    struct vpa_priority_options options = {.oom_threshold = 10 * VPA_MINUTE};

    vpa_reason_of_update(pod, vpa, &vpa->recommendation, &options, &text);
    ck_assert(!vpa_buf_failed(&text));
    ck_assert_str_eq(vpa_buf_text(&text), updates[_i].text);
}

/* Names and numbers come from strangers. */
TEST(the_text_is_bounded) {
    struct vpa_resource resources[6];
    struct vpa_container_recommendation rec = {.container_name = "c"};
    struct vpa_recommendation all = {.containers = &rec, .container_count = 1, .present = true};
    struct vpa_priority_options options = {.oom_threshold = 0};
    struct vpa_container container = {.name = "c"};
    struct vpa_pod pod = {.containers = &container, .container_count = 1};
    struct vpa_object vpa = {.has_update_policy = false};
    char name[400];

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 0; i < VPA_COUNT(resources); i++)
        resources[i] =
            (struct vpa_resource){name, vpa_quantity_units(INT64_MAX - (int64_t)i, VPA_DECIMAL_SI)};
    rec.target = (struct vpa_resource_list){resources, VPA_COUNT(resources), true};
    vpa_reason_of_update(&pod, &vpa, &all, &options, &text);
    ck_assert(!vpa_buf_failed(&text));
    ck_assert_uint_gt(text.len, 0);
}

TEST(the_end_of_a_boost) {
    const struct vpa_pod *pod = objects_pod(
        &arena, "{'metadata':{'name':'p','annotations':{'vpaCpuStartupBoost/c':'{}'}},"
                "'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'2'}}},"
                "{'name':'d','resources':{'requests':{'cpu':'1'}}}]}}");
    struct vpa_resource less = {"cpu", vpa_quantity_milli(500)},
                        same = {"cpu", vpa_quantity_milli(1000)};
    struct vpa_resource_list requests[] = {{&less, 1, true}, {&same, 1, true}};

    vpa_reason_of_unboost(pod, requests, &text);
    ck_assert_str_eq(vpa_buf_text(&text),
                     "container c: cpu request 2 -> 500m: its startup boost is over");
}

int main(void)
{
    return run_tests("reason", setup, teardown);
}
