/* Scales of custom resources that VPAs name are known to a webhook before it says that it is ready,
 * and stay known however quiet it is. While one is not known, its pods are not given to another
 * VPA. */
#include "admission_fixture.h"
#include "admit.h"
#include "captured_log.h"
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

TEST(targets_stay_known_through_quiet_hours) {
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

#define CLONES 1100 /* more than wait in line at a time */
#define OF_CLONE                                                                                   \
    "%s{'metadata':{'name':'v%d','namespace':'n'},'spec':{'targetRef':{'apiVersion':'x.io/v1',"    \
    "'kind':'Clone','name':'c%d'}}}"

/* So many VPAs, each of a Clone of its own, and nothing of the daemon yet. */
static void start_with_clones(struct fixture *f, int count)
{
    const struct vpa_observe_options observed = {.address = "127.0.0.1:0"};
    vpa_auto_buf vpas = VPA_BUF(1 << 20);
    struct vpa_error err;

    for (int i = 0; i < count; i++)
        vpa_buf_printf(&vpas, OF_CLONE, i ? "," : "", i, i);
    f->vpas = vpa_buf_text(&vpas);
    fixture_start(f, false);
    f->vpas = NULL;
    f->observe = vpa_observe_new(f->loop, &observed, &err);
    ck_assert_ptr_nonnull(f->observe);
}

static void start_daemon(struct fixture *f)
{
    struct vpa_error err;

    fixture_daemon(f, true);
    ck_assert_int_eq(admission_sync(f->admission, &err), 0);
}

static void stop_with_observe(struct fixture *f)
{
    admission_free(f->admission);
    f->admission = NULL;
    vpa_observe_free(f->observe);
    fixture_stop(f);
}

/* Whether it says that it is not ready for their sake. */
static bool is_asking(struct fixture *f)
{
    const struct vpa_server_request probe = {.method = "GET", .path = "/readyz", .query = ""};
    struct vpa_server_response response = {0};

    vpa_observe_answer(f->observe, &probe, &response);
    bool asking = strstr(response.body, "scales of targets are being asked for") != NULL;
    ck_assert(!asking || response.status == 503);
    free(response.body);
    return asking;
}

static size_t clones_asked(struct fixture *f)
{
    size_t asked = 0;

    for (int i = 0; i < CLONES; i++) {
        vpa_auto_free char *path = vpa_xprintf("/namespaces/n/clones/c%d/scale", i);

        asked += sim_cluster_asked(f->sim, "GET", path) > 0;
    }
    return asked;
}

/* All traffic goes to a new replica as soon as it is ready. */
TEST(a_webhook_that_starts_asks_for_all_targets_first) {
    struct fixture f = {.vpas = ""};

    start_with_clones(&f, CLONES);
    sim_cluster_serve_kind(f.sim, "x.io", "v1", "clones", "Clone", false, true);
    sim_cluster_answer(f.sim, &(struct sim_answer){.method = "GET",
                                                   .path = "/scale",
                                                   .how = SIM_PATH_HOLDS,
                                                   .delay = 10 * VPA_MILLISECOND});
    start_daemon(&f);
    ck_assert(is_asking(&f));
    int64_t begun = vpa_loop_monotonic(f.loop);
    while (is_asking(&f))
        vpa_loop_pump(f.loop, 10 * VPA_MILLISECOND);
    ck_assert_uint_eq(clones_asked(&f), CLONES);
    ck_assert_int_lt(vpa_loop_monotonic(f.loop) - begun, 10 * VPA_SECOND);
    stop_with_observe(&f);
}

/* Their server may be broken, and a pod of it wait for us: for a minute at most where one or the
 * other answers, for five seconds where none does. */
TEST_TIMES(a_webhook_waits_for_scales_a_minute_at_most, 2) {
    static const struct {
        int clones;
        vpa_duration delay, patience;
    } servers[] = {{1000, 4 * VPA_SECOND, VPA_MINUTE}, {20, VPA_HOUR, 5 * VPA_SECOND}};
    struct fixture f = {.vpas = ""};

    start_with_clones(&f, servers[_i].clones);
    sim_cluster_serve_kind(f.sim, "x.io", "v1", "clones", "Clone", false, true);
    sim_cluster_answer(f.sim, &(struct sim_answer){.method = "GET",
                                                   .path = "/scale",
                                                   .how = SIM_PATH_HOLDS,
                                                   .delay = servers[_i].delay});
    capture_log(0);
    start_daemon(&f);
    vpa_loop_pump(f.loop, servers[_i].patience - VPA_SECOND);
    ck_assert(is_asking(&f));
    vpa_loop_pump(f.loop, 2 * VPA_SECOND);
    ck_assert(!is_asking(&f));
    vpa_loop_pump(f.loop, VPA_MINUTE);
    ck_assert(!is_asking(&f));
    ck_assert_uint_eq(logged("Scales of targets are not known yet"), 1);
    fixture_quiet();
    stop_with_observe(&f);
}

/* No such kind, none at all, or one that is in the caches: nothing to wait for. */
TEST_TIMES(a_webhook_does_not_wait_for_what_cannot_be_asked, 4) {
    static const char *const vpas[] = {
        CLONE_VPA, "",
        "{'metadata':{'name':'v','namespace':'n'},'spec':{'targetRef':{'apiVersion':'apps/v1',"
        "'kind':'Deployment','name':'d'}}}",
        "{'metadata':{'name':'v','namespace':'n'},'spec':{'targetRef':{'apiVersion':'a/b/c',"
        "'kind':'Clone','name':'d'}}}"};
    struct fixture f = {.vpas = ""};

    start_with_clones(&f, 0);
    fixture_put(&f, VPA_KIND, vpas[_i]);
    start_daemon(&f);
    vpa_loop_pump(f.loop, VPA_SECOND);
    ck_assert(!is_asking(&f));
    stop_with_observe(&f);
}

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

TEST_EACH(a_weaker_vpa_does_not_get_a_pod_while_a_target_does_not_answer, strengths) {
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

int main(void)
{
    return run_tests_within(60, "admission_targets", NULL, NULL);
}
