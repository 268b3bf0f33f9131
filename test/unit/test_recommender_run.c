/* When passes begin, whatever else the loop has to do. */
#include "recommender_fixture.h"

#include "../../recommender/query_certificate.h"

#define SECRET "/api/v1/namespaces/kube-system/secrets/vpa-recommendation-certificates"
#define PASSES 10

static const char *hung; /* whose calls are not answered; "": everything of the API's certificate */
static bool refuses;     /* the connection, at once */
static unsigned asked;

static bool hang(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    bool of_api = strcmp(q->path, SECRET) == 0 || strcmp(q->path, API_SERVICE_PATH) == 0;

    if (!of_api)
        return false;
    asked += vpa_str_ends_with(q->path, hung);
    vpa_memory_reply_json(r, 200, "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{}}");
    if (vpa_str_ends_with(q->path, hung) && refuses)
        vpa_memory_reply_fail(r, VPA_TRANSPORT_REFUSED);
    else if (vpa_str_ends_with(q->path, hung))
        vpa_memory_reply_delay(r, VPA_HOUR);
    return true;
}

static bool slow(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (hang(q, r))
        return true;
    if (vpa_str_starts_with(q->path, "/apis/metrics.k8s.io/")) /* the pass waits for its timeout */
        vpa_memory_reply_delay(r, 3 * VPA_MINUTE);
    return false;
}

static vpa_time begun[PASSES];
static size_t begun_count;

static void on_pass(void *ctx)
{
    (void)ctx;
    begun[begun_count++] = vpa_loop_now(loop);
    if (begun_count == PASSES)
        vpa_loop_stop(loop);
}

/* A recommender that manages the certificate of its API. */
static void start_managing(void)
{
    struct vpa_error err;

    construct(NULL);
    recommender_free(recommender);
    config.recommendation_api.address = "127.0.0.1:0";
    config.recommendation_api.manage_certificates = true;
    recommender = recommender_new(&(struct recommender_options){
        .loop = loop, .config = &config, .client = client, .writer = client, .metrics = client});
    begun_count = asked = 0;
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
    fake_cluster_set_step(server, json(USAGE("100m", "100Mi")));
}

static const char *const hanging[] = {"secrets/vpa-recommendation-certificates", API_SERVICE_NAME,
                                      ""};

/* The API is looked after all the same, every ten seconds. */
TEST_TIMES(a_server_that_hangs_delays_no_pass, 2 * VPA_COUNT(hanging)) {
    hook = hang;
    hung = hanging[_i / 2];
    refuses = _i % 2;
    start_managing();
    vpa_time start = vpa_loop_now(loop);
    recommender_run(recommender, on_pass, NULL);
    ck_assert_uint_eq(begun_count, PASSES);
    for (int i = 0; i < PASSES; i++)
        ck_assert_int_eq(vpa_time_sub(begun[i], start), (i + 1) * VPA_MINUTE);
    ck_assert_uint_ge(asked, PASSES * 3);
    ck_assert_uint_le(asked, PASSES * 20); /* nor is it asked without a pause */
}

/* Passes without a gap between them: the API has its turn after each. */
TEST(the_api_has_its_turn_between_late_passes) {
    hook = slow;
    hung = API_SERVICE_NAME;
    start_managing();
    recommender_run(recommender, on_pass, NULL);
    for (int i = 2; i < PASSES; i++)
        ck_assert_int_gt(vpa_time_sub(begun[i], begun[i - 1]), VPA_MINUTE);
    ck_assert_uint_ge(asked, PASSES - 1);
}

/* ---- the end ---- */

static bool writes_checkpoint(const struct vpa_memory_request *q)
{
    return strstr(q->path, "verticalpodautoscalercheckpoints") && strcmp(q->method, "GET") != 0;
}

static bool refuse_checkpoints(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!writes_checkpoint(q))
        return false;
    vpa_memory_reply_status(r, 403, NULL, "no");
    return true;
}

static bool hold_checkpoints(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (writes_checkpoint(q))
        vpa_memory_reply_delay(r, VPA_HOUR);
    asked += writes_checkpoint(q);
    return false;
}

/* Somebody waits for the Lease, and the kubelet does not wait for long. */
TEST(a_server_that_hangs_does_not_keep_it_from_ending) {
    start(NULL);
    hook = refuse_checkpoints;
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    hook = hold_checkpoints;
    asked = 0;
    vpa_time begin = vpa_loop_now(loop);
    vpa_loop_stop(loop);
    recommender_flush(recommender, 2 * VPA_SECOND);
    ck_assert_uint_eq(asked, 1);
    ck_assert_int_le(vpa_time_sub(vpa_loop_now(loop), begin), 2 * VPA_SECOND);
}

static bool write_slowly(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (writes_checkpoint(q))
        vpa_memory_reply_delay(r, VPA_SECOND);
    return false;
}

/* One that answers within that time is waited for. */
TEST(a_slow_server_gets_what_was_learned_at_the_end) {
    start(NULL);
    hook = refuse_checkpoints;
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    hook = write_slowly;
    vpa_loop_stop(loop);
    recommender_flush(recommender, 5 * VPA_SECOND);
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}

/* ---- the start ---- */

static const char *const lists[] = {"/verticalpodautoscalers", "/pods", "/replicasets"};
/* Histories belong to VPAs, and go on with the pods that are there. */
TEST_EACH(a_start_waits_for_every_list, lists) {
    vpa_time before = vpa_loop_now(loop);

    sim_cluster_answer(
        server->sim,
        &(struct sim_answer){.method = "GET", .path = lists[_i], .delay = 5 * VPA_SECOND});
    start(NULL);
    ck_assert_int_ge(vpa_time_sub(vpa_loop_now(loop), before), 5 * VPA_SECOND);
}

int main(void)
{
    return run_tests_within(60, "recommender_run", setup, teardown);
}
