/* The patches of an in-place update. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "objects.h"
#include "vpa/base/mem.h"
#include "vpa/policy/resize_patch.h"

static struct vpa_arena arena;
static struct vpa_resize_patch patch;

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    vpa_resize_patch_init(&patch);
}

static void teardown(void)
{
    vpa_resize_patch_release(&patch);
    vpa_arena_release(&arena);
}

#define MARK(value) "'annotations':{'vpaCpuStartupBoost/c':'" value "'},"
#define MARKS(c, d) "'annotations':{'vpaCpuStartupBoost/c':'" c "','vpaCpuStartupBoost/d':'" d "'},"
#define POD(meta, resources) POD_OF("", meta, resources)
#define POD_OF(of_pod, meta, resources)                                                            \
    "{'metadata':{" meta "'name':'p','namespace':'n'},'spec':{" of_pod                             \
    "'containers':[{'name':'c'," resources                                                         \
    "}]},'status':{'conditions':[{'type':'Ready','status':'True','lastTransitionTime':"            \
    "'2026-03-01T11:00:00Z'}]}}"
#define BOOSTED "'resources':{'requests':{'cpu':'3','memory':'1Gi'},'limits':{'cpu':'6'}}"
#define ADD(path, value)                                                                           \
    "{'op':'add','path':'/spec/containers/0/resources" path "','value':" value "}"
#define SAME(path, value)                                                                          \
    "{'op':'test','path':'/spec/containers/0/resources" path "','value':" value "},"
/* A container beside it. */
#define BOOSTED_D "},{'name':'d','resources':{'requests':{'cpu':'4'},'limits':{'cpu':'8'}}"
#define OF_D(cpu) "},{'containerName':'d','target':{'cpu':'" cpu "'}"
#define ADD_D(path, value)                                                                         \
    "{'op':'add','path':'/spec/containers/1/resources" path "','value':" value "}"
#define SAME_D(path, value)                                                                        \
    "{'op':'test','path':'/spec/containers/1/resources" path "','value':" value "},"
#define OF_POD(requests) "'resources':{'requests':{" requests "}},"
#define ORIGINAL                                                                                   \
    "{\\'requests\\':{\\'cpu\\':\\'1\\',\\'memory\\':\\'512Mi\\'},\\'limits\\':{\\'cpu\\':\\'2\\'" \
    "}}"
/* From BOOSTED to the cpu of ORIGINAL. */
#define TAKEN_BACK                                                                                 \
    "[" SAME("/requests/cpu", "'3'") SAME("/limits/cpu", "'6'")                                    \
        ADD("/requests/cpu", "'1'") "," ADD("/limits/cpu", "'2'") "]"
#define POLICY_OFF "'resourcePolicy':{'containerPolicies':[{'containerName':'c','mode':'Off'}]},"
#define VPA(mode, more, target)                                                                    \
    "{'spec':{" more "'updatePolicy':{'updateMode':'" mode "'},'startupBoost':{'cpu':{"            \
    "'durationSeconds':60}}},'status':{'recommendation':{'containerRecommendations':[{"            \
    "'containerName':'c','target':" target "}]}}}"

static const struct {
    const char *name, *pod, *vpa, *want; /* want NULL: nothing to patch; "!": unusable */
    bool changes, takes_back;
} patches[] = {
    {"requests", POD("", "'resources':{'requests':{'cpu':'1'}}"),
     VPA("Recreate", "", "{'cpu':'2'}"),
     "[" SAME("/requests/cpu", "'1'") ADD("/requests/cpu", "'2'") "]", true, false},
    {"limits in proportion", POD("", "'resources':{'requests':{'cpu':'1'},'limits':{'cpu':'2'}}"),
     VPA("Recreate", "", "{'cpu':'2'}"),
     "[" SAME("/requests/cpu", "'1'") SAME("/limits/cpu", "'2'")
         ADD("/requests/cpu", "'2'") "," ADD("/limits/cpu", "'4'") "]",
     true, false},
    {"parents are made", POD("", "'x':1"), VPA("Recreate", "", "{'cpu':'2','memory':'1Gi'}"),
     "[" ADD("", "{}") "," ADD("/requests", "{}") "," ADD("/requests/cpu", "'2'") "," ADD(
         "/requests/memory", "'1Gi'") "]",
     true, false},
    {"the same values", POD("", "'resources':{'requests':{'cpu':'2000m'}}"),
     VPA("Recreate", "", "{'cpu':'2'}"),
     "[" SAME("/requests/cpu", "'2'") ADD("/requests/cpu", "'2'") "]", false, false},
    {"mode Off", POD("", "'resources':{'requests':{'cpu':'1'}}"), VPA("Off", "", "{'cpu':'2'}"),
     NULL, false, false},
    {"a boost that is over", POD(MARK("{\\'requests\\':{\\'cpu\\':\\'1\\'}}"), BOOSTED),
     VPA("Recreate", "", "{'cpu':'2','memory':'2Gi'}"),
     "[" SAME("/requests/cpu", "'3'") SAME("/requests/memory", "'1Gi'") SAME("/limits/cpu", "'6'")
         ADD("/requests/cpu", "'2'") "," ADD("/requests/memory", "'2Gi'") "," ADD("/limits/cpu",
                                                                                  "'4'") "]",
     true, true},
    {"taken back to the originals in mode Off",
     POD(MARK("{\\'requests\\':{\\'cpu\\':\\'1\\'},\\'limits\\':{\\'cpu\\':\\'2\\'}}"), BOOSTED),
     VPA("Off", "", "{'cpu':'2'}"),
     "[" SAME("/requests/cpu", "'3'") SAME("/limits/cpu", "'6'")
         ADD("/requests/cpu", "'1'") "," ADD("/limits/cpu", "'2'") "]",
     true, true},
    {"taken back to the originals where the container is off",
     POD(MARK("{\\'requests\\':{\\'cpu\\':\\'1\\'}}"), BOOSTED),
     VPA("Recreate", POLICY_OFF, "{'cpu':'2'}"),
     "[" SAME("/requests/cpu", "'3'") ADD("/requests/cpu", "'1'") "]", true, true},
    {"taken back although only memory is recommended",
     POD(MARK("{\\'requests\\':{\\'cpu\\':\\'1\\'},\\'limits\\':{\\'cpu\\':\\'2\\'}}"), BOOSTED),
     VPA("Recreate", "", "{'memory':'2Gi'}"),
     "[" SAME("/requests/cpu", "'3'") SAME("/requests/memory", "'1Gi'") SAME("/limits/cpu", "'6'")
         ADD("/requests/cpu", "'1'") "," ADD("/requests/memory", "'2Gi'") "," ADD("/limits/cpu",
                                                                                  "'2'") "]",
     true, true},
    {"taken back, and the original had no cpu",
     POD(MARK("{\\'requests\\':{\\'memory\\':\\'1Gi\\'}}"), BOOSTED),
     VPA("Recreate", "", "{'memory':'2Gi'}"),
     "[" SAME("/requests/memory", "'1Gi'") ADD("/requests/memory", "'2Gi'") "]", true, true},
    {"resources are back already", POD(MARK("{\\'requests\\':{\\'cpu\\':\\'3\\'}}"), BOOSTED),
     VPA("Off", "", "{'cpu':'2'}"),
     "[" SAME("/requests/cpu", "'3'") ADD("/requests/cpu", "'3'") "]", false, true},
    {"unusable marker", POD(MARK("x"), BOOSTED), VPA("Recreate", "", "{'cpu':'2'}"), "!", false,
     false},
    {"taken back to the originals where the recommendation does not fit the pod",
     POD_OF(OF_POD("'cpu':'3'"), MARK(ORIGINAL), BOOSTED),
     VPA("Recreate", "", "{'cpu':'4','memory':'2Gi'}"), TAKEN_BACK, true, true},
    {"so it is where its memory does not fit",
     POD_OF(OF_POD("'memory':'1Gi'"), MARK(ORIGINAL), BOOSTED),
     VPA("Recreate", "", "{'cpu':'2','memory':'2Gi'}"), TAKEN_BACK, true, true},
    {"then other containers get nothing",
     POD_OF(OF_POD("'cpu':'4'"), MARK(ORIGINAL),
            BOOSTED "},{'name':'d','resources':{'requests':{'cpu':'1'}}"),
     VPA("Recreate", "", "{'cpu':'2'}},{'containerName':'d','target':{'cpu':'3'}"), TAKEN_BACK,
     true, true},
    {"what had no cpu of its own goes down to what is recommended",
     POD_OF(OF_POD("'memory':'1Gi'"), MARKS(ORIGINAL, "{}"), BOOSTED BOOSTED_D),
     VPA("Recreate", "", "{'cpu':'2','memory':'2Gi'}" OF_D("1")),
     "[" SAME("/requests/cpu", "'3'") SAME("/limits/cpu", "'6'") SAME_D("/requests/cpu", "'4'")
         SAME_D("/limits/cpu", "'8'")
             ADD("/requests/cpu", "'1'") "," ADD("/limits/cpu", "'2'") "," ADD_D(
                 "/requests/cpu", "'1'") "," ADD_D("/limits/cpu", "'2'") "]",
     true, true},
    {"and never above its boost",
     POD_OF(OF_POD("'memory':'1Gi'"), MARKS(ORIGINAL, "{}"), BOOSTED BOOSTED_D),
     VPA("Recreate", "", "{'cpu':'2','memory':'2Gi'}" OF_D("5")),
     "[" SAME("/requests/cpu", "'3'") SAME("/limits/cpu", "'6'") SAME_D("/requests/cpu", "'4'")
         SAME_D("/limits/cpu", "'8'")
             ADD("/requests/cpu", "'1'") "," ADD("/limits/cpu", "'2'") "," ADD_D(
                 "/requests/cpu", "'4'") "," ADD_D("/limits/cpu", "'8'") "]",
     true, true},
    {"alone as well",
     POD_OF(OF_POD("'memory':'512Mi'"), MARK("{}"), "'resources':{'requests':{'cpu':'3'}}"),
     VPA("Recreate", "", "{'cpu':'2','memory':'2Gi'}"),
     "[" SAME("/requests/cpu", "'3'") ADD("/requests/cpu", "'2'") "]", true, true},
    {"not where the container is off",
     POD_OF(OF_POD("'memory':'1Gi'"), MARKS("{}", ORIGINAL), BOOSTED BOOSTED_D),
     VPA("Recreate", POLICY_OFF, "{'cpu':'2','memory':'1Gi'}" OF_D("1','memory':'2Gi")),
     "[" SAME_D("/requests/cpu", "'4'") SAME_D("/limits/cpu", "'8'")
         ADD_D("/requests/cpu", "'1'") "," ADD_D("/limits/cpu", "'2'") "]",
     true, true},
    {"the originals do not fit either", POD_OF(OF_POD("'cpu':'500m'"), MARK(ORIGINAL), BOOSTED),
     VPA("Recreate", "", "{'cpu':'2'}"), "!", false, false},
    {"no boost is over and the recommendation does not fit",
     POD_OF(OF_POD("'cpu':'1'"), "", "'resources':{'requests':{'cpu':'1'}}"),
     VPA("Recreate", "", "{'cpu':'2'}"), "!", false, false},
    {"devices stay claimed", POD("", "'resources':{'claims':[{'name':'gpu'}]}"),
     VPA("Recreate", "", "{'cpu':'2'}"),
     "[" ADD("/requests", "{}") "," ADD("/requests/cpu", "'2'") "]", true, false},
};

/* ' for " and \' for a quote inside a string. */
static const char *quoted(const char *text)
{
    char *out = vpa_arena_strdup(&arena, text);

    for (char *c = out; *c; c++) {
        if (*c == '\'')
            *c = '"';
    }
    return out;
}

static int build(int i, struct vpa_error *err)
{
    struct vpa_pod *pod = objects_pod(&arena, patches[i].pod);
    struct vpa_object *vpa = objects_vpa(&arena, patches[i].vpa);
    struct vpa_container_plan *plans;
    vpa_time now;

    ck_assert_int_eq(vpa_time_parse("2026-03-01T12:00:00Z", &now, err), 0);
    ck_assert_int_eq(vpa_capping_plan(&arena, vpa, pod, NULL, &plans, err), 0);
    return vpa_resize_patch_build(pod, vpa, NULL, plans, now, &arena, &patch, err);
}

TEST_EACH(builds_patches, patches) {
    const char *want = patches[_i].want;
    struct vpa_error err;
    int result = build(_i, &err);

    if (!want || *want == '!') {
        ck_assert_int_eq(result, -1);
        ck_assert_int_eq(err.code, want ? VPA_INVALID : VPA_NOT_FOUND);
        return;
    }
    ck_assert_msg(result == 0, "%s: %s", patches[_i].name, err.text);
    ck_assert_str_eq(vpa_buf_text(&patch.resize), quoted(want));
    ck_assert_msg(patch.changes == patches[_i].changes, "%s: changes", patches[_i].name);
    ck_assert_msg(patch.takes_back == patches[_i].takes_back, "%s: takes back", patches[_i].name);
}

TEST(annotations_mark_the_pod_and_drop_the_marker) {
    struct vpa_error err;

    ck_assert_int_eq(build(0, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&patch.annotations),
                     quoted("[{'op':'add','path':'/metadata/annotations','value':{}},{'op':'add',"
                            "'path':'/metadata/annotations/vpaInPlaceUpdated','value':'true'}]"));
    ck_assert_int_eq(build(5, &err), 0);
    ck_assert_str_eq(
        vpa_buf_text(&patch.annotations),
        quoted(
            "[{'op':'add','path':'/metadata/annotations/vpaInPlaceUpdated','value':'true'},"
            "{'op':'remove','path':'/metadata/annotations/vpaCpuStartupBoost~1c','value':null}]"));
}

/* Whoever makes pods gives them as many containers as he likes: a message has room for some. */
TEST(what_keeps_its_boost_is_named_as_far_as_there_is_room) {
    enum { CONTAINERS = 1000 };
    vpa_auto_buf text = VPA_BUF(1 << 20);
    struct vpa_container_plan *plans;
    struct vpa_error err;
    vpa_time now;

    vpa_buf_puts(&text, "{'metadata':{'name':'p','namespace':'n','annotations':{");
    for (int i = 0; i < CONTAINERS; i++)
        vpa_buf_printf(&text, "%s'vpaCpuStartupBoost/c%d':'{}'", i ? "," : "", i);
    vpa_buf_puts(&text, "}},'spec':{'containers':[");
    for (int i = 0; i < CONTAINERS; i++)
        vpa_buf_printf(&text, "%s{'name':'c%d','resources':{'requests':{'cpu':'2'}}}", i ? "," : "",
                       i);
    vpa_buf_puts(&text, "]},'status':{'conditions':[{'type':'Ready','status':'True',"
                        "'lastTransitionTime':'2026-03-01T11:00:00Z'}]}}");

    struct vpa_pod *pod = objects_pod(&arena, quoted(vpa_buf_text(&text)));
    struct vpa_object *vpa = objects_vpa(&arena, VPA("Off", "", "{'memory':'1Gi'}"));
    ck_assert_int_eq(vpa_time_parse("2026-03-01T12:00:00Z", &now, &err), 0);
    ck_assert_int_eq(vpa_capping_plan(&arena, vpa, pod, NULL, &plans, &err), 0);
    ck_assert_int_eq(vpa_resize_patch_build(pod, vpa, NULL, plans, now, &arena, &patch, &err), -1);
    ck_assert_ptr_nonnull(patch.keeping);
    ck_assert_int_eq(strncmp(patch.keeping, "c0, c1, c2, ", 12), 0);
    ck_assert_uint_lt(strlen(patch.keeping), 300);
}

/* Where others have written annotations meanwhile. */
TEST(a_mark_beside_annotations_of_others) {
    vpa_auto_buf out = VPA_BUF(VPA_RESIZE_PATCH_MAX);

    vpa_resize_patch_mark(objects_pod(&arena, POD("'uid':'u',", "'x':1")), &out);
    ck_assert_str_eq(vpa_buf_text(&out),
                     quoted("[{'op':'test','path':'/metadata/uid','value':'u'},{'op':'add','path':"
                            "'/metadata/annotations/vpaInPlaceUpdated','value':'true'}]"));
}

/* The patch of one pod is made where that of another was: nothing of it is left. */
TEST(a_patch_says_nothing_of_the_one_before) {
    struct vpa_error err;

    ck_assert_int_eq(build(5, &err), 0);
    ck_assert(patch.changes && patch.takes_back);
    ck_assert_int_eq(build(3, &err), 0);
    ck_assert(!patch.changes && !patch.takes_back);
    ck_assert_str_eq(vpa_buf_text(&patch.resize), quoted(patches[3].want));
}

/* Kubernetes 1.33 refuses a lower memory limit, and all that comes with it. */
#define LIMITED_MEMORY(cpu, memory)                                                                \
    "{'requests':{'cpu':'" cpu "','memory':'" memory "'},'limits':{'memory':'" memory "'}}"

#define RESTARTS_FOR(RESOURCE)                                                                     \
    ",'resizePolicy':[{'resourceName':'" RESOURCE "','restartPolicy':'RestartContainer'}]"

static const struct {
    const char *name, *meta, *vpa, *want, *policy;
} refused[] = {
    {"cpu alone is taken back", MARK(ORIGINAL), VPA("Recreate", "", "{'cpu':'2','memory':'512Mi'}"),
     "[" SAME("/requests/cpu", "'3'") ADD("/requests/cpu", "'1'") "," ADD("/limits/cpu", "'2'") "]",
     ""},
    {"cpu alone is resized", "", VPA("InPlace", "", "{'cpu':'2','memory':'512Mi'}"),
     "[" SAME("/requests/cpu", "'3'") ADD("/requests/cpu", "'2'") "]", RESTARTS_FOR("cpu")},
    {"one that restarts for its memory gets less", "",
     VPA("InPlace", "", "{'cpu':'2','memory':'512Mi'}"),
     "[" SAME("/requests/cpu", "'3'") SAME("/requests/memory", "'1Gi'")
         SAME("/limits/memory", "'1Gi'") ADD("/requests/cpu", "'2'") "," ADD(
             "/requests/memory", "'512Mi'") "," ADD("/limits/memory", "'512Mi'") "]",
     RESTARTS_FOR("memory")},
    {"more memory is none that is refused", "", VPA("InPlace", "", "{'cpu':'2','memory':'2Gi'}"),
     "[" SAME("/requests/cpu", "'3'") SAME("/requests/memory", "'1Gi'")
         SAME("/limits/memory", "'1Gi'") ADD("/requests/cpu", "'2'") "," ADD(
             "/requests/memory", "'2Gi'") "," ADD("/limits/memory", "'2Gi'") "]",
     ""},
};

TEST_EACH(what_was_refused_is_asked_for_without_less_memory, refused) {
    struct vpa_pod *pod = objects_pod(
        &arena, vpa_arena_printf(&arena, POD("%s", "'resources':" LIMITED_MEMORY("3", "1Gi") "%s"),
                                 refused[_i].meta, refused[_i].policy));
    struct vpa_object *vpa = objects_vpa(&arena, refused[_i].vpa);
    struct vpa_container_plan *plans;
    struct vpa_error err;
    vpa_time now;

    patch.cautious = true;
    ck_assert_int_eq(vpa_time_parse("2026-03-01T12:00:00Z", &now, &err), 0);
    ck_assert_int_eq(vpa_capping_plan(&arena, vpa, pod, NULL, &plans, &err), 0);
    ck_assert_int_eq(vpa_resize_patch_build(pod, vpa, NULL, plans, now, &arena, &patch, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&patch.resize), quoted(refused[_i].want));
}

TEST(a_boost_that_lasts_is_left_alone) {
    struct vpa_pod *pod =
        objects_pod(&arena, POD(MARK("{\\'requests\\':{\\'cpu\\':\\'1\\'}}"), BOOSTED));
    struct vpa_object *vpa = objects_vpa(&arena, VPA("Recreate", "", "{'cpu':'2'}"));
    struct vpa_container_plan *plans;
    struct vpa_error err;
    vpa_time now;

    ck_assert_int_eq(vpa_time_parse("2026-03-01T11:01:00Z", &now, &err), 0);
    ck_assert_int_eq(vpa_capping_plan(&arena, vpa, pod, NULL, &plans, &err), 0);
    ck_assert_int_eq(vpa_resize_patch_build(pod, vpa, NULL, plans, now, &arena, &patch, &err), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
}

TEST(a_name_that_does_not_fit_changes_nothing) {
    struct vpa_pod *pod =
        objects_pod(&arena, POD("", "'resources':{'requests':{'cpu':'1','memory':'1'}}"));
    struct vpa_object *vpa = objects_vpa(&arena, VPA("Recreate", "", "{'cpu':'2'}"));
    struct vpa_container_plan *plans;
    struct vpa_error err;

    ck_assert_int_eq(vpa_capping_plan(&arena, vpa, pod, NULL, &plans, &err), 0);
    vpa_resource_set(&arena, &plans[0].requests,
                     vpa_arena_printf(&arena, "%0*d", VPA_RESIZE_PATCH_MAX, 0),
                     plans[0].requests.items[0].quantity);
    ck_assert_int_eq(vpa_resize_patch_build(pod, vpa, NULL, plans, 0, &arena, &patch, &err), -1);
    ck_assert_int_eq(err.code, VPA_LIMIT);
}

/* Whether the kubelet will restart a container: by the policy of a resource that changes in the
 * spec, or that has another value on the node than in the spec. */
#define LIMITED(REQUEST, LIMIT) "{'requests':{'cpu':'" REQUEST "'},'limits':{'cpu':'" LIMIT "'}}"
#define ON_NODE(NAME, RESOURCES)                                                                   \
    ",'status':{'containerStatuses':[{'name':'" NAME "','resources':" RESOURCES "}]}"
#define RESTARTS(RESOURCE) "{'resourceName':'" RESOURCE "','restartPolicy':'RestartContainer'}"
#define NOT(RESOURCE) "{'resourceName':'" RESOURCE "','restartPolicy':'NotRequired'}"

static const struct {
    const char *name, *spec, *policy, *status;
    bool restarts;
} restarts[] = {
    {"a change", LIMITED("1", "2"), RESTARTS("cpu"), "", true},
    {"no policy", LIMITED("1", "2"), "", "", false},
    {"not required", LIMITED("1", "2"), NOT("cpu"), "", false},
    {"the policy of another", LIMITED("1", "2"), RESTARTS("memory"), "", false},
    {"the second policy", LIMITED("1", "2"), NOT("memory") "," RESTARTS("cpu"), "", true},
    {"the first of two counts", LIMITED("1", "2"), NOT("cpu") "," RESTARTS("cpu"), "", false},
    {"a new request", "{'limits':{'cpu':'2'}}", RESTARTS("cpu"), "", true},
    {"no change", LIMITED("2", "4"), RESTARTS("cpu"), "", false},
    {"the node has it", LIMITED("2", "4"), RESTARTS("cpu"), ON_NODE("c", LIMITED("2", "4")), false},
    {"the node has less", LIMITED("2", "4"), RESTARTS("cpu"), ON_NODE("c", LIMITED("1", "4")),
     true},
    {"the node has more", LIMITED("2", "4"), RESTARTS("cpu"), ON_NODE("c", LIMITED("3", "4")),
     true},
    {"a lower limit", LIMITED("2", "4"), RESTARTS("cpu"), ON_NODE("c", LIMITED("2", "3")), true},
    {"a higher limit", LIMITED("2", "4"), RESTARTS("cpu"), ON_NODE("c", LIMITED("2", "5")), true},
    {"without policy", LIMITED("2", "4"), "", ON_NODE("c", LIMITED("1", "3")), false},
    {"another container", LIMITED("2", "4"), RESTARTS("cpu"), ON_NODE("d", LIMITED("1", "3")),
     false},
    {"the node does not say", LIMITED("2", "4"), RESTARTS("cpu"), ON_NODE("c", "{}"), false},
    {"a status without it", LIMITED("2", "4"), RESTARTS("cpu"),
     ",'status':{'containerStatuses':[{'name':'c'}]}", false},
};

TEST_EACH(says_whether_a_container_restarts, restarts) {
    const char *pod = vpa_arena_printf(
        &arena,
        "{'metadata':{'name':'p','namespace':'n'},'spec':{'containers':[{'name':'c',"
        "'resources':%s,'resizePolicy':[%s]}]}%s}",
        restarts[_i].spec, restarts[_i].policy, restarts[_i].status);
    struct vpa_pod *decoded = objects_pod(&arena, pod);
    struct vpa_object *vpa = objects_vpa(&arena, VPA("Recreate", "", "{'cpu':'2'}"));
    struct vpa_container_plan *plans;
    struct vpa_error err;

    ck_assert_int_eq(vpa_capping_plan(&arena, vpa, decoded, NULL, &plans, &err), 0);
    ck_assert_int_eq(vpa_resize_patch_build(decoded, vpa, NULL, plans, 0, &arena, &patch, &err), 0);
    ck_assert_msg(patch.restarts == restarts[_i].restarts, "%s", restarts[_i].name);
}

int main(void)
{
    return run_tests("resize_patch", setup, teardown);
}
