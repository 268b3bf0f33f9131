/* Scales of custom resources that VPAs name stay known to the webhook, however quiet it is; and
 * while one is not known, its pods are not given to another VPA. */
#include "admission_fixture.h"
#include "admit.h"
#include "vpa/api/pod.h"

#define VPA_KIND "autoscaling.k8s.io/v1", "VerticalPodAutoscaler"
#define CLONE_VPA                                                                                  \
    "{'metadata':{'name':'v','namespace':'n'},'spec':{'targetRef':{'apiVersion':'x.io/v1','kind':" \
    "'Clone','name':'c'}}}"

/* Of the one target; nobody asks for another one. */
static size_t scale_reads(const struct fixture *f)
{
    size_t reads = sim_cluster_asked(f->sim, "GET", "/scale");

    ck_assert_uint_eq(sim_cluster_asked(f->sim, "GET", "/namespaces/n/clones/c/scale"), reads);
    return reads;
}

START_TEST(targets_stay_known_through_quiet_hours)
{
    struct fixture f = {.vpas = CLONE_VPA ",{'metadata':{'name':'w','namespace':'n'},'spec':{"
                                          "'selector':{'matchLabels':{'app':'w'}}}}"};
    struct vpa_error err;

    fixture_start(&f, false);
    sim_cluster_serve_kind(f.sim, "x.io", "v1", "clones", "Clone", false, true);
    fixture_put(&f, "x.io/v1", "Clone",
                "{'metadata':{'name':'c','namespace':'n'},'spec':{'replicas':2},'status':{"
                "'selector':'app=c'}}");
    fixture_daemon(&f, true);
    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    vpa_loop_pump(f.loop, 9 * VPA_MINUTE);
    ck_assert_uint_eq(scale_reads(&f), 1);
    fixture_put(&f, VPA_KIND, CLONE_VPA);
    vpa_loop_pump(f.loop, 9 * VPA_MINUTE); /* somebody works on it: anew each half a minute */
    ck_assert_uint_ge(scale_reads(&f), 12);
    vpa_loop_pump(f.loop, 3 * VPA_HOUR); /* what nobody reads is forgotten after one */
    size_t before = scale_reads(&f);
    vpa_loop_pump(f.loop, VPA_HOUR);
    ck_assert_uint_ge(scale_reads(&f), before + 2); /* read anew every 10 to 20 minutes */
    fixture_stop(&f);
}
END_TEST

#define TARGETING(YEAR, MODE)                                                                      \
    "{'metadata':{'name':'a','namespace':'n','creationTimestamp':'" YEAR                           \
    "-01-01T00:00:00Z'},'spec':{'targetRef':{'apiVersion':'x.io/v1','kind':'Clone','name':'c'},"   \
    "'updatePolicy':{'updateMode':'" MODE "'}}}"
#define SELECTING                                                                                  \
    "{'metadata':{'name':'b','namespace':'n','creationTimestamp':'2021-01-01T00:00:00Z'},"         \
    "'spec':{'selector':{'matchLabels':{'app':'w'}}}}"

/* What the server says of the scale, and whose the pod is, which both select. */
static const struct {
    const char *vpas;
    struct sim_answer scale;
    const char *vpa;
} strengths[] = {
    {TARGETING("2020", "Auto") "," SELECTING, {.code = 503}, "none"},
    {SELECTING "," TARGETING("2020", "Auto"), {.delay = VPA_HOUR}, "none"},
    {TARGETING("2020", "Auto") "," SELECTING, {.delay = 0}, "a"},
    {TARGETING("2022", "Auto") "," SELECTING, {.code = 503}, "b"},
    {TARGETING("2020", "Off") "," SELECTING, {.code = 503}, "b"},
    {TARGETING("2020", "Auto") "," SELECTING, {.code = 403}, "b"},
};

START_TEST(a_weaker_vpa_does_not_get_a_pod_while_a_target_does_not_answer)
{
    struct fixture f = {.vpas = strengths[_i].vpas};
    struct sim_answer scale = strengths[_i].scale;
    const struct vpa_object *vpa;
    struct vpa_pod pod;
    struct vpa_error err;
    bool unknown;

    fixture_start(&f, false);
    sim_cluster_serve_kind(f.sim, "x.io", "v1", "clones", "Clone", false, true);
    fixture_put(&f, "x.io/v1", "Clone",
                "{'metadata':{'name':'c','namespace':'n'},'spec':{'replicas':2},'status':{"
                "'selector':'app=w'}}");
    scale.method = "GET";
    scale.path = "/scale";
    sim_cluster_answer(f.sim, &scale);
    fixture_daemon(&f, true);
    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    vpa_loop_pump(f.loop, VPA_SECOND);
    const struct vpa_json *object = fixture_parse(
        &f.arena, "{'metadata':{'name':'p','namespace':'n','labels':{'app':'w'},'ownerReferences':"
                  "[{'kind':'Clone','name':'c','apiVersion':'x.io/v1','controller':true}]},"
                  "'spec':{'containers':[{'name':'x'}]}}");
    ck_assert_int_eq(vpa_pod_decode(&f.arena, object, &pod, &err), 0);
    struct snapshot *snapshot = snapshot_acquire(admission_cell(f.admission));
    vpa = admit_match(snapshot, VPA_MATCH_WEBHOOK, &f.arena, &pod, &unknown, &err);
    ck_assert_str_eq(vpa ? vpa->meta.name : "none", strengths[_i].vpa);
    snapshot_unref(snapshot);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission_targets");
    TCase *c = tcase_create("admission_targets");

    tcase_add_test(c, targets_stay_known_through_quiet_hours);
    tcase_add_loop_test(c, a_weaker_vpa_does_not_get_a_pod_while_a_target_does_not_answer, 0,
                        (int)VPA_COUNT(strengths));
    suite_add_tcase(suite, c);
    return fixture_run(suite);
}
