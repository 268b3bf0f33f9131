/* Resources of the pod as a whole: whoever plans for its containers stays inside them, or leaves
 * it. */
#include "arena_fixture.h"
#include "policy_fixtures.h"

#include "vpa/policy/pod_patch.h"
#include "vpa/policy/resize_patch.h"

#define SIDECAR                                                                                    \
    "'initContainers':[{'name':'once','resources':{'requests':{'cpu':'9'}}},{'name':'side',"       \
    "'restartPolicy':'Always','resources':{'requests':{'cpu':'500m'}}}],"
#define ONE_CPU "{'requests':{'cpu':'1'}}"
#define NO_BOOST ""
#define TWICE "'startupBoost':{'cpu':{'type':'Factor','factor':2}},"

/* The recommendation is that of one container of two; the other one has a request of 1 CPU. */
static const struct {
    const char *name;
    const char *of_pod;    /* spec.resources */
    const char *more;      /* members of the spec */
    const char *resources; /* of the container */
    const char *target;
    const char *boost;
    const char *refused; /* NULL: it fits */
} rows[] = {
    {"nothing for the pod", "{}", "", ONE_CPU, "{'cpu':'64'}", NO_BOOST, NULL},
    {"the sum is reached", "{'requests':{'cpu':'3'}}", "", ONE_CPU, "{'cpu':'2'}", NO_BOOST, NULL},
    {"the sum is passed", "{'requests':{'cpu':'3'}}", "", ONE_CPU, "{'cpu':'2001m'}", NO_BOOST,
     "cpu requests of all containers would be 3001m, more than the 3 of spec.resources"},
    {"other resources do not count", "{'requests':{'memory':'1Gi'}}", "", ONE_CPU,
     "{'cpu':'64','memory':'1Gi'}", NO_BOOST, NULL},
    {"memory counts", "{'requests':{'cpu':'3','memory':'1Gi'}}", "", ONE_CPU,
     "{'cpu':'2','memory':'1025Mi'}", NO_BOOST,
     "memory requests of all containers would be 1025Mi, more than the 1Gi of spec.resources"},
    {"sidecars count", "{'requests':{'cpu':'3'}}", SIDECAR, ONE_CPU, "{'cpu':'2'}", NO_BOOST,
     "cpu requests of all containers would be 3500m, more than the 3 of spec.resources"},
    {"containers that end before do not", "{'requests':{'cpu':'3500m'}}", SIDECAR, ONE_CPU,
     "{'cpu':'2'}", NO_BOOST, NULL},
    {"a limit is reached", "{'limits':{'cpu':'4'}}", "",
     "{'requests':{'cpu':'1'},'limits':{'cpu':'2'}}", "{'cpu':'2'}", NO_BOOST, NULL},
    {"a limit is passed", "{'limits':{'cpu':'4'}}", "",
     "{'requests':{'cpu':'1'},'limits':{'cpu':'2'}}", "{'cpu':'3'}", NO_BOOST,
     "container app: cpu limit would be 6, more than the 4 of spec.resources"},
    {"passed without a boost", "{'requests':{'cpu':'2'}}", "", ONE_CPU, "{'cpu':'2'}", TWICE,
     "cpu requests of all containers would be 3, more than the 2 of spec.resources"},
};

static struct vpa_pod the_pod(int i)
{
    return fixture_pod(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'p','namespace':'ns','annotations':{}},"
                                 "'spec':{'resources':%s,%s'containers':[{'name':'app',"
                                 "'resources':%s},{'name':'other','resources':" ONE_CPU "}]}}",
                                 rows[i].of_pod, rows[i].more, rows[i].resources));
}

static struct vpa_object the_vpa(int i)
{
    return fixture_vpa(&arena, vpa_arena_printf(&arena,
                                                "{'metadata':{'name':'v','namespace':'ns'},'spec':{"
                                                "%s'updatePolicy':{'updateMode':'Recreate'}},"
                                                "'status':{'recommendation':{"
                                                "'containerRecommendations':[{'containerName':"
                                                "'app','target':%s}]}}}",
                                                rows[i].boost, rows[i].target));
}

static void check(int i, int result, const struct vpa_error *err)
{
    ck_assert_int_eq(result, rows[i].refused ? -1 : 0);
    if (rows[i].refused && !strstr(err->text, rows[i].refused))
        ck_abort_msg("%s: %s", rows[i].name, err->text);
}

TEST_EACH(a_new_pod_is_not_patched_beyond_it, rows) {
    const struct vpa_pod_patch_options options = {.startup_boost = true};
    struct vpa_pod pod = the_pod(_i);
    struct vpa_object vpa = the_vpa(_i);
    vpa_auto_buf out = VPA_BUF(1 << 16);
    struct vpa_error err;

    vpa_buf_puts(&out, "before");
    check(_i, vpa_pod_patch(&arena, &pod, &vpa, NULL, &options, &out, &err), &err);
    if (rows[_i].refused)
        ck_assert_str_eq(vpa_buf_text(&out), "before");
}

static const char *unboosted;

static void note_unboosted(void *ctx, const char *container, const char *reason)
{
    struct vpa_arena *of = ctx;

    ck_assert_ptr_null(unboosted);
    unboosted = vpa_arena_printf(of, "%s: %s", container ? container : "all", reason);
}

/* And so is each other one. The replacement is what the updater evicts for. */
TEST(a_boost_that_passes_it_is_left_out) {
    vpa_auto_buf words = VPA_BUF(VPA_REASON_MAX), out = VPA_BUF(1 << 16);
    struct vpa_pod pod = fixture_pod(
        &arena, "{'metadata':{'name':'p','namespace':'ns','annotations':{}},'spec':{'resources':{"
                "'requests':{'cpu':'3'}},'containers':[{'name':'app','resources':" ONE_CPU
                "},{'name':'other','resources':{}}]}}");
    struct vpa_object vpa = fixture_vpa(
        &arena, "{'metadata':{'name':'v','namespace':'ns'},'spec':{'resourcePolicy':{"
                "'containerPolicies':[{'containerName':'*','startupBoost':{'cpu':{'type':"
                "'Factor','factor':2}}}]}},'status':{'recommendation':{'containerRecommendations':"
                "[{'containerName':'app','target':{'cpu':'2'}}]}}}");
    struct vpa_reason_phrases changes = {.out = &words, .pod = &pod};
    const struct vpa_pod_patch_options options = {.startup_boost = true,
                                                  .on_unusable_boost = note_unboosted,
                                                  .ctx = &arena,
                                                  .changes = &changes};
    struct vpa_error err;

    unboosted = NULL;
    ck_assert_int_eq(vpa_pod_patch(&arena, &pod, &vpa, NULL, &options, &out, &err), 0);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&out), "/resources/requests/cpu\",\"value\":\"2\""));
    ck_assert_ptr_null(strstr(vpa_buf_text(&out), "vpaCpuStartupBoost"));
    ck_assert_str_eq(vpa_buf_text(&words), "container app: cpu request 1 -> 2");
    ck_assert_str_eq(unboosted, "all: cpu requests of all containers would be 4, more than the 3 "
                                "of spec.resources");
}

/* A boost is no wish of the updater. */
TEST_EACH(no_decision_asks_for_more, rows) {
    struct vpa_pod pod = the_pod(_i);
    struct vpa_object vpa = the_vpa(_i);
    struct vpa_capped capped;
    struct vpa_error err;

    check(_i, vpa_capping_process(&arena, &vpa, &pod, NULL, &capped, &err), &err);
}

TEST_EACH(no_resize_asks_for_more, rows) {
    struct vpa_pod pod = the_pod(_i);
    struct vpa_object vpa = the_vpa(_i);
    struct vpa_container_plan *plans;
    struct vpa_resize_patch patch;
    struct vpa_error err;

    vpa_resize_patch_init(&patch);
    ck_assert_int_eq(vpa_capping_plan(&arena, &vpa, &pod, NULL, &plans, &err), 0);
    check(_i, vpa_resize_patch_build(&pod, &vpa, NULL, plans, 0, &arena, &patch, &err), &err);
    vpa_resize_patch_release(&patch);
}

int main(void)
{
    return run_tests("pod_level", setup, teardown);
}
