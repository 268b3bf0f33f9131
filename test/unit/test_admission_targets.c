/* Scales of custom resources that VPAs name stay known to the webhook, however quiet it is. */
#include "admission_fixture.h"

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

int main(void)
{
    Suite *suite = suite_create("admission_targets");
    TCase *c = tcase_create("admission_targets");

    tcase_add_test(c, targets_stay_known_through_quiet_hours);
    suite_add_tcase(suite, c);
    return fixture_run(suite);
}
