/* Scales of custom resources that VPAs name stay known to the webhook, however quiet it is. */
#include <check.h>
#include <string.h>

#include "admission.h"
#include "suite.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"

static int scale_reads;
static struct vpa_memory_stream *vpas;

#define VPA                                                                                        \
    "{\"metadata\":{\"name\":\"v\",\"namespace\":\"n\"},\"spec\":{\"targetRef\":{"                 \
    "\"apiVersion\":\"x.io/v1\",\"kind\":\"Clone\",\"name\":\"c\"}}}"

static const char *answer_for(const char *path)
{
    if (vpa_str_ends_with(path, "/verticalpodautoscalers"))
        return "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[" VPA
               ",{\"metadata\":{\"name\":\"w\",\"namespace\":\"n\"},"
               "\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"w\"}}}}]}";
    if (vpa_str_ends_with(path, "/scale"))
        return "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{},\"spec\":{"
               "\"replicas\":2},\"status\":{\"selector\":\"app=c\"}}";
    if (vpa_str_eq(path, "/apis/x.io"))
        return "{\"versions\":[{\"version\":\"v1\"}],\"preferredVersion\":{\"version\":\"v1\"}}";
    if (vpa_str_eq(path, "/apis/x.io/v1"))
        return "{\"resources\":[{\"name\":\"clones\",\"kind\":\"Clone\",\"namespaced\":true},"
               "{\"name\":\"clones/scale\",\"kind\":\"Scale\",\"namespaced\":true}]}";
    return "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}";
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    (void)ctx;
    scale_reads += vpa_str_ends_with(q->path, "/scale");
    ck_assert_int_eq(vpa_str_ends_with(q->path, "/scale"),
                     vpa_str_ends_with(q->path, "/namespaces/n/clones/c/scale"));
    if (vpa_memory_query(q, "watch")) {
        struct vpa_memory_stream *s = vpa_memory_reply_stream(reply, 200, NULL, NULL);

        if (vpa_str_ends_with(q->path, "/verticalpodautoscalers"))
            vpas = s;
    } else {
        vpa_memory_reply_json(reply, 200, answer_for(q->path));
    }
}

START_TEST(targets_stay_known_through_quiet_hours)
{
    static struct admission_config config;
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_random random;
    struct vpa_error err;
    struct vpa_clock *clock = vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));

    vpa_flags_preset(&flags);
    config.register_webhook = false;
    loop = vpa_loop_new(clock);
    transport = vpa_memory_transport_new(loop, serve, NULL);
    vpa_random_init(&random, 1);
    struct vpa_kube_client *client = vpa_kube_client_new(
        &(struct vpa_kube_client_options){
            .loop = loop, .transport = transport, .random = &random, .user_agent = "t", .qps = -1},
        &err);
    struct admission *admission = admission_new(&(struct admission_options){.config = &config,
                                                                            .loop = loop,
                                                                            .client = client,
                                                                            .ns = "kube-system",
                                                                            .host_name = "t",
                                                                            .unbound = true});
    ck_assert_int_eq(admission_sync(admission, &err), 0);
    vpa_loop_pump(loop, 9 * VPA_MINUTE);
    ck_assert_int_eq(scale_reads, 1);
    vpa_memory_stream_event(vpas, "MODIFIED", VPA);
    vpa_loop_pump(loop, 9 * VPA_MINUTE); /* somebody works on it: read anew each half a minute */
    ck_assert_int_ge(scale_reads, 12);
    vpa_loop_pump(loop, 3 * VPA_HOUR); /* what nobody reads is forgotten after one */
    int before = scale_reads;
    ck_assert_int_ge(before, 1);
    vpa_loop_pump(loop, VPA_HOUR);
    ck_assert_int_ge(scale_reads, before + 2); /* read anew every 10 to 20 minutes */
    admission_free(admission);
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission_targets");
    TCase *c = tcase_create("admission_targets");

    tcase_add_test(c, targets_stay_known_through_quiet_hours);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
