/* Update priority: numbers, admission, order, eviction requirements. */
#include <check.h>
#include <stdlib.h>

#include "arena_fixture.h"
#include "suite.h"
#include "objects.h"
#include "vpa/policy/priority.h"
#include "vpa/policy/update_memory.h"

#define NOW "2026-03-01T12:00:00Z"

static vpa_time now(void)
{
    vpa_time t;
    struct vpa_error err;

    ck_assert_int_eq(vpa_time_parse(NOW, &t, &err), 0);
    return t;
}

static struct vpa_priority_options options(void)
{
    return (struct vpa_priority_options){
        .update_threshold = 0.1,
        .lifetime_threshold = 12 * VPA_HOUR,
        .oom_threshold = 10 * VPA_MINUTE,
        .per_vpa_config = true,
    };
}

#define C(requests) "{'name':'c','resources':{'requests':" requests "}}"
#define POD(containers, rest)                                                                      \
    "{'metadata':{'name':'p','namespace':'n','uid':'u'},'spec':{'containers':[" containers         \
    "]}," rest "}"
#define OLD "'status':{'startTime':'2026-02-28T23:00:00Z'}"
#define REC(target, lower, upper)                                                                  \
    "{'status':{'recommendation':{'containerRecommendations':[{'containerName':'c','target'"       \
    ":" target ",'lowerBound':" lower ",'upperBound':" upper "}]}}}"

static const struct {
    const char *name, *pod, *vpa;
    double diff;
    bool scale_up, outside;
} numbers[] = {
    {"A1 scale up", POD(C("{'cpu':'2'}"), OLD), REC("{'cpu':'10'}", "{}", "{}"), 4.0, true, false},
    {"A2 the status wins",
     POD(C("{'cpu':'10000'}"),
         "'status':{'containerStatuses':[{'name':'c','resources':{'requests':{'cpu':'2'}}}]}"),
     REC("{'cpu':'10'}", "{}", "{}"), 4.0, true, false},
    {"A4 above the upper bound", POD(C("{'cpu':'4','memory':'20M'}"), OLD),
     REC("{'cpu':'2','memory':'10M'}", "{'cpu':'1','memory':'5M'}", "{'cpu':'3','memory':'30M'}"),
     1.0, false, true},
    {"A5 no request", POD(C("{}"), OLD), REC("{'cpu':'100m'}", "{}", "{}"), 99.0, true, true},
    {"below the lower bound", POD(C("{'cpu':'1'}"), OLD),
     REC("{'cpu':'1'}", "{'cpu':'1001m'}", "{}"), 0.0, false, true},
    {"a resource of its own", POD(C("{'cpu':'1','example.com/x':'2'}"), OLD),
     REC("{'cpu':'1','example.com/x':'3'}", "{}", "{}"), 0.5, true, false},
    {"a request without a target", POD(C("{'cpu':'1','memory':'1'}"), OLD),
     REC("{'cpu':'1'}", "{}", "{}"), 0.0, false, false},
    {"a recommendation for another container",
     POD("{'name':'d','resources':{'requests':{'cpu':'1'}}}", OLD), REC("{'cpu':'9'}", "{}", "{}"),
     0.0, false, false},
    {"sums that would overflow", POD(C("{'cpu':'9E'}") "," C("{'cpu':'9E'}"), OLD),
     REC("{'cpu':'9E'}", "{}", "{}"), 0.0, false, false},
};

TEST_EACH(gives_numbers, numbers) {
    struct vpa_pod *pod = objects_pod(&arena, numbers[_i].pod);
    struct vpa_object *vpa = objects_vpa(&arena, numbers[_i].vpa);
    struct vpa_priority p = vpa_priority_of(pod, &vpa->recommendation);

    ck_assert_msg(p.diff == numbers[_i].diff, "%s: diff %g", numbers[_i].name, p.diff);
    ck_assert_msg(p.scale_up == numbers[_i].scale_up, "%s: scale up", numbers[_i].name);
    ck_assert_msg(p.outside_range == numbers[_i].outside, "%s: outside", numbers[_i].name);
}

TEST(no_recommendation_is_no_difference) {
    struct vpa_priority p = vpa_priority_of(objects_pod(&arena, POD(C("{}"), OLD)), NULL);

    ck_assert(p.diff == 0 && !p.scale_up && !p.outside_range);
}

static const struct {
    const char *name, *annotation;
    bool observed; /* container "c" */
} observed[] = {
    {"absent", NULL, true},
    {"empty", "", false},
    {"listed", "a, c", true},
    {"not listed", "a, b", false},
    {"unusable", "abcd;'", true},
    {"wrong separator", "a,c", true},
    {"empty element", "a, , b", true},
    {"too long", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true},
    {"upper case", "C", true},
};

TEST_EACH(reads_observed_containers, observed) {
    struct vpa_pod *pod = objects_pod(&arena, POD(C("{}"), OLD));
    struct vpa_label label = {VPA_OBSERVED_ANNOTATION, observed[_i].annotation};
    vpa_auto_observed struct vpa_observed list = {.pod = pod};

    if (observed[_i].annotation)
        pod->meta.annotations = (struct vpa_labels){&label, 1, true};
    for (int question = 0; question < 2; question++)
        ck_assert_msg(vpa_container_observed(&list, "c") == observed[_i].observed, "%s",
                      observed[_i].name);
}

#define OOM(started, finished)                                                                     \
    "'status':{'startTime':'2026-03-01T11:00:00Z','containerStatuses':[{'name':'c','lastState':{"  \
    "'terminated':{'reason':'OOMKilled'" started finished "}}}]}"
#define STARTED ",'startedAt':'2026-03-01T10:00:00Z'"
#define IN_RANGE(target) REC(target, "{'cpu':'1m'}", "{'cpu':'100'}")

static const struct {
    const char *name, *pod, *vpa;
    enum vpa_admission want;
} admissions[] = {
    {"A6 a tenth is enough", POD(C("{'cpu':'1000m'}"), OLD), IN_RANGE("{'cpu':'1100m'}"),
     VPA_ADMIT_ACCEPTED},
    {"A7 less is not", POD(C("{'cpu':'1000m'}"), OLD), IN_RANGE("{'cpu':'1099m'}"),
     VPA_ADMIT_DIFF_TOO_LOW},
    {"A8 diffs add up", POD(C("{'cpu':'1000m','memory':'200M'}"), OLD),
     IN_RANGE("{'cpu':'1050m','memory':'210M'}"), VPA_ADMIT_ACCEPTED},
    {"A9 too young", POD(C("{'cpu':'2'}"), "'status':{'startTime':'2026-03-01T00:00:01Z'}"),
     IN_RANGE("{'cpu':'10'}"), VPA_ADMIT_YOUNG},
    {"A9 of a far future", POD(C("{'cpu':'2'}"), "'status':{'startTime':'2999-03-01T00:00:00Z'}"),
     IN_RANGE("{'cpu':'10'}"), VPA_ADMIT_YOUNG},
    {"A9 old enough", POD(C("{'cpu':'2'}"), "'status':{'startTime':'2026-03-01T00:00:00Z'}"),
     IN_RANGE("{'cpu':'10'}"), VPA_ADMIT_ACCEPTED},
    {"A10 outside the range",
     POD(C("{'cpu':'1000m'}"), "'status':{'startTime':'2026-03-01T11:59:00Z'}"),
     REC("{'cpu':'1001m'}", "{'cpu':'1001m'}", "{}"), VPA_ADMIT_ACCEPTED},
    {"A11 quick OOM",
     POD(C("{'cpu':'1000m'}"), OOM(STARTED, ",'finishedAt':'2026-03-01T10:09:59Z'")),
     IN_RANGE("{'cpu':'1010m'}"), VPA_ADMIT_ACCEPTED},
    {"A12 not so quick",
     POD(C("{'cpu':'1000m'}"), OOM(STARTED, ",'finishedAt':'2026-03-01T10:10:00Z'")),
     IN_RANGE("{'cpu':'1010m'}"), VPA_ADMIT_YOUNG},
    {"A13 quick OOM without a change",
     POD(C("{'cpu':'1000m'}"), OOM(STARTED, ",'finishedAt':'2026-03-01T10:09:59Z'")),
     IN_RANGE("{'cpu':'1000m'}"), VPA_ADMIT_OOM_NO_CHANGE},
    {"OOM without times", POD(C("{'cpu':'1000m'}"), OOM("", "")), IN_RANGE("{'cpu':'1010m'}"),
     VPA_ADMIT_ACCEPTED},
    {"OOM without a start",
     POD(C("{'cpu':'1000m'}"), OOM("", ",'finishedAt':'2026-03-01T10:09:59Z'")),
     IN_RANGE("{'cpu':'1010m'}"), VPA_ADMIT_YOUNG},
    {"OOM of a container that nobody has observed",
     "{'metadata':{'name':'p','annotations':{'vpaObservedContainers':'d'}},'spec':{'containers':"
     "[" C("{'cpu':'1000m'}") "]}," OOM("", "") "}",
     IN_RANGE("{'cpu':'1010m'}"), VPA_ADMIT_YOUNG},
    {"an end for another reason",
     POD(C("{'cpu':'1000m'}"),
         "'status':{'startTime':'2026-03-01T11:00:00Z','containerStatuses':[{'name':'c',"
         "'lastState':{'terminated':{'reason':'Error'}}}]}"),
     IN_RANGE("{'cpu':'1010m'}"), VPA_ADMIT_YOUNG},
    {"OOM of a container that is switched on", POD(C("{'cpu':'1000m'}"), OOM("", "")),
     "{'spec':{'resourcePolicy':{'containerPolicies':[{'containerName':'*','mode':'Auto'}]}},"
     "'status':{'recommendation':{'containerRecommendations':[{'containerName':'c','target':"
     "{'cpu':'1010m'}}]}}}",
     VPA_ADMIT_ACCEPTED},
    {"OOM of a container that is switched off", POD(C("{'cpu':'1000m'}"), OOM("", "")),
     "{'spec':{'resourcePolicy':{'containerPolicies':[{'containerName':'*','mode':'Off'}]}},"
     "'status':{'recommendation':{'containerRecommendations':[{'containerName':'c','target':"
     "{'cpu':'1010m'}}]}}}",
     VPA_ADMIT_YOUNG},
    {"A14 threshold of the VPA",
     POD(C("{'cpu':'1000m'}"), OOM(STARTED, ",'finishedAt':'2026-03-01T10:02:00Z'")),
     "{'spec':{'updatePolicy':{'evictAfterOOMSeconds':60}},"
     "'status':{'recommendation':{'containerRecommendations':[{'containerName':'c','target':"
     "{'cpu':'1500m'}}]}}}",
     VPA_ADMIT_YOUNG},
    {"A18 no start time", POD(C("{'cpu':'1000m'}"), "'status':{}"), IN_RANGE("{'cpu':'6'}"),
     VPA_ADMIT_NO_START_TIME},
};

TEST_EACH(admits_by_the_table, admissions) {
    struct vpa_pod *pod = objects_pod(&arena, admissions[_i].pod);
    struct vpa_object *vpa = objects_vpa(&arena, admissions[_i].vpa);
    struct vpa_priority_options o = options();
    struct vpa_priority p;
    enum vpa_admission got =
        vpa_priority_admit(pod, vpa, &vpa->recommendation, NULL, &o, now(), &p);

    ck_assert_msg(got == admissions[_i].want, "%s: %s, wanted %s", admissions[_i].name,
                  vpa_admission_name(got), vpa_admission_name(admissions[_i].want));
}

TEST(the_gate_hides_the_threshold_of_the_vpa) {
    struct vpa_object *vpa =
        objects_vpa(&arena, "{'spec':{'updatePolicy':{'evictAfterOOMSeconds':60}}}");
    struct vpa_priority_options o = options();

    ck_assert_int_eq(vpa_quick_oom_threshold(vpa, &o), 60 * VPA_SECOND);
    o.per_vpa_config = false;
    ck_assert_int_eq(vpa_quick_oom_threshold(vpa, &o), 10 * VPA_MINUTE);
}

TEST(an_absent_recommendation_is_never_accepted) {
    struct vpa_pod *pod = objects_pod(&arena, POD(C("{'cpu':'1'}"), OLD));
    struct vpa_object *vpa = objects_vpa(&arena, "{}");
    struct vpa_priority_options o = options();
    struct vpa_priority p;

    o.update_threshold = 0;
    ck_assert_int_eq(vpa_priority_admit(pod, vpa, &vpa->recommendation, NULL, &o, now(), &p),
                     VPA_ADMIT_NO_RECOMMENDATION);
    ck_assert_int_eq(vpa_priority_admit(pod, vpa, NULL, NULL, &o, now(), &p),
                     VPA_ADMIT_NO_RECOMMENDATION);
}

TEST(a_record_rules_out_until_less_is_wanted) {
    struct vpa_pod *pod = objects_pod(&arena, POD(C("{'cpu':'1'}"), OLD));
    struct vpa_object *vpa = objects_vpa(
        &arena, "{'spec':{'updatePolicy':{'updateMode':'InPlace'}},'status':{'recommendation':{"
                "'containerRecommendations':[{'containerName':'c','target':{'cpu':'3'}}]}}}");
    struct vpa_object *more = objects_vpa(&arena, REC("{'cpu':'4'}", "{}", "{}"));
    struct vpa_priority_options o = options();
    struct vpa_priority p;

    ck_assert_int_eq(
        vpa_priority_admit(pod, vpa, &vpa->recommendation, &vpa->recommendation, &o, now(), &p),
        VPA_ADMIT_INFEASIBLE_CACHED);
    ck_assert_int_eq(
        vpa_priority_admit(pod, vpa, &vpa->recommendation, &more->recommendation, &o, now(), &p),
        VPA_ADMIT_ACCEPTED);
    vpa->update_mode = "Recreate";
    ck_assert_int_eq(
        vpa_priority_admit(pod, vpa, &vpa->recommendation, &vpa->recommendation, &o, now(), &p),
        VPA_ADMIT_ACCEPTED);
}

TEST(sorts_by_direction_then_size_then_place) {
    struct vpa_update_candidate c[] = {
        {.priority = {.diff = 0.5}, .index = 0},
        {.priority = {.diff = 0.25, .scale_up = true}, .index = 1},
        {.priority = {.diff = 0.25}, .index = 2},
        {.priority = {.diff = 0.5}, .index = 3},
        {.priority = {.diff = 0.75, .scale_up = true}, .index = 4},
    };
    static const size_t want[] = {4, 1, 0, 3, 2};

    vpa_priority_sort(c, VPA_COUNT(c));
    for (size_t i = 0; i < VPA_COUNT(c); i++)
        ck_assert_uint_eq(c[i].index, want[i]);
    vpa_priority_sort(c, 0);
}

#define REQ(resources, change) "{'resources':[" resources "],'changeRequirement':'" change "'}"
#define HIGHER "TargetHigherThanRequests"
#define LOWER "TargetLowerThanRequests"
#define VPA_WITH(requirements, target)                                                             \
    "{'spec':{'updatePolicy':{'evictionRequirements':[" requirements "]}},'status':{"              \
    "'recommendation':{'containerRecommendations':[{'containerName':'c','target':" target "}]}}}"
#define X(request) C("{'cpu':'1','memory':'1'," request "}")
#define BOTH C("{'cpu':'500m','memory':'10Gi'}")

static const struct {
    const char *name, *pod, *vpa;
    bool want;
} requirements[] = {
    {"C1", BOTH, VPA_WITH(REQ("'cpu'", HIGHER), "{'cpu':'600m','memory':'10Gi'}"), true},
    {"C2", BOTH, VPA_WITH(REQ("'cpu','memory'", HIGHER), "{'cpu':'500m','memory':'10Gi'}"), false},
    {"C3", BOTH, VPA_WITH(REQ("'cpu','memory'", HIGHER), "{'cpu':'500m','memory':'11Gi'}"), true},
    {"C4", BOTH,
     VPA_WITH(REQ("'cpu'", HIGHER) "," REQ("'memory'", LOWER), "{'cpu':'600m','memory':'9Gi'}"),
     true},
    {"C5", BOTH,
     VPA_WITH(REQ("'cpu'", HIGHER) "," REQ("'memory'", HIGHER), "{'cpu':'600m','memory':'9Gi'}"),
     false},
    {"C6", C("{}"), VPA_WITH(REQ("'cpu'", HIGHER), "{'cpu':'600m'}"), true},
    {"no cpu request", C("{'memory':'1'}"), VPA_WITH(REQ("'cpu'", LOWER), "{'cpu':'600m'}"), true},
    {"C8", "{'name':'d'}", VPA_WITH("", "{'cpu':'600m'}"), false},
    {"no requirements", BOTH, VPA_WITH("", "{}"), true},
    {"unknown direction", BOTH, VPA_WITH(REQ("'cpu'", "Other"), "{'cpu':'600m'}"), false},
    {"no resources", BOTH, VPA_WITH(REQ("", HIGHER), "{'cpu':'600m'}"), false},
    {"absent target counts as zero", BOTH, VPA_WITH(REQ("'cpu'", LOWER), "{'memory':'1'}"), true},
    {"absent request counts as zero", BOTH, VPA_WITH(REQ("'x'", HIGHER), "{'x':'1'}"), true},
    {"the least request counts", X("'x':'1m'"), VPA_WITH(REQ("'x'", LOWER), "{}"), true},
    {"the least target counts", X("'x':'0'"), VPA_WITH(REQ("'x'", HIGHER), "{'x':'1m'}"), true},
    {"a target of nothing", X("'x':'0'"), VPA_WITH(REQ("'x'", HIGHER), "{'x':'0'}"), false},
    {"a first target of the least", BOTH, VPA_WITH(REQ("'x'", HIGHER), "{'x':'1m'}"), true},
    {"a first target of nothing", BOTH, VPA_WITH(REQ("'x'", LOWER), "{'x':'0'}"), false},
    {"what stays is not lower", X("'x':'1m'"), VPA_WITH(REQ("'x'", LOWER), "{'x':'1m'}"), false},
    {"what stays is not higher", X("'x':'1m'"), VPA_WITH(REQ("'x'", HIGHER), "{'x':'1m'}"), false},
    {"nothing to nothing", X("'x':'0'"), VPA_WITH(REQ("'x'", HIGHER), "{}"), false},
    {"no update policy", BOTH, "{'status':{}}", true},
    {"C7 one container suffices",
     BOTH ",{'name':'d','resources':{'requests':{'cpu':'500m',"
          "'memory':'10Gi'}}}",
     "{'spec':{'updatePolicy':{'evictionRequirements':[" REQ(
         "'cpu'", HIGHER) "]}},'status':{"
                          "'recommendation':{'containerRecommendations':[{'containerName':'c','"
                          "target':{'cpu':'200m'}},"
                          "{'containerName':'d','target':{'cpu':'700m'}}]}}}",
     true},
    {"two halves are no container that meets them",
     BOTH ",{'name':'d','resources':{'requests':{'cpu':'500m','memory':'10Gi'}}}",
     "{'spec':{'updatePolicy':{'evictionRequirements':[" REQ("'cpu'", HIGHER) "," REQ(
         "'memory'", HIGHER) "]}},'status':{'recommendation':{'containerRecommendations':[{"
                             "'containerName':'c','target':{'cpu':'700m','memory':'10Gi'}},"
                             "{'containerName':'d','target':{'cpu':'500m','memory':'11Gi'}}]}}}",
     false},
};

TEST_EACH(checks_eviction_requirements, requirements) {
    vpa_auto_free char *text = vpa_xprintf("{'spec':{'containers':[%s]}}", requirements[_i].pod);
    struct vpa_pod *pod = objects_pod(&arena, text);
    struct vpa_object *vpa = objects_vpa(&arena, requirements[_i].vpa);

    ck_assert_msg(vpa_eviction_requirements_hold(pod, vpa, &vpa->recommendation) ==
                      requirements[_i].want,
                  "%s", requirements[_i].name);
}

/* ---- many of them ---- */

#define MANY 1000

static void put_many(struct vpa_buf *out, int n, const char *format)
{
    for (int i = 0; i < n; i++) {
        vpa_buf_puts(out, i ? "," : "");
        for (const char *p = format; *p; p++) {
            if (*p == '#')
                vpa_buf_printf(out, "%d", i);
            else
                vpa_buf_putc(out, *p);
        }
    }
}

/* A thousand containers, and a thousand requirements of which only the last may fail, each with a
 * hundred resources that nobody has before the one that counts: not each container asks each
 * resource of each requirement, which takes minutes. */
static const char *const last_asked[] = {HIGHER, LOWER};
TEST_EACH(containers_do_not_multiply_requirements, last_asked) {
    vpa_auto_buf junk = VPA_BUF(1 << 20), one = VPA_BUF(1 << 20), text = VPA_BUF(1 << 22),
                 containers = VPA_BUF(1 << 20);

    put_many(&junk, 100, "'x#'");
    vpa_buf_printf(&one, "{'resources':[%s,'cpu'],'changeRequirement':'" HIGHER "'}",
                   vpa_buf_text(&junk));
    vpa_buf_puts(&text, "{'spec':{'updatePolicy':{'evictionRequirements':[");
    put_many(&text, MANY, vpa_buf_text(&one));
    vpa_buf_printf(&text,
                   "," REQ("'memory'", "%s") "]}},'status':{'recommendation':{"
                                             "'containerRecommendations':[",
                   last_asked[_i]);
    put_many(&text, MANY, "{'containerName':'c#','target':{'cpu':'2','memory':'1Gi'}}");
    vpa_buf_puts(&text, "]}}}");
    vpa_buf_puts(&containers, "{'spec':{'containers':[");
    put_many(&containers, MANY,
             "{'name':'c#','resources':{'requests':{'cpu':'1','memory':'2Gi'}}}");
    vpa_buf_puts(&containers, "]}}");

    struct vpa_object *vpa = objects_vpa(&arena, vpa_buf_text(&text));
    struct vpa_pod *pod = objects_pod(&arena, vpa_buf_text(&containers));

    ck_assert_uint_eq(vpa->eviction_requirement_count, MANY + 1);
    ck_assert(vpa_eviction_requirements_hold(pod, vpa, &vpa->recommendation) == (_i == 1));
}

TEST(requirements_without_a_recommendation_do_not_hold) {
    struct vpa_pod *pod = objects_pod(&arena, POD(BOTH, OLD));
    struct vpa_object *vpa = objects_vpa(&arena, VPA_WITH("", "{}"));

    ck_assert(!vpa_eviction_requirements_hold(pod, vpa, NULL));
}

TEST(names_admissions) {
    for (int i = VPA_ADMIT_NO_RECOMMENDATION; i <= VPA_ADMIT_ACCEPTED; i++)
        ck_assert_str_ne(vpa_admission_name((enum vpa_admission)i), "");
}

int main(void)
{
    return run_tests("priority", setup, teardown);
}
