/* A history that Prometheus does not give at the start. */
#include "captured_log.h"
#include "recommender_fixture.h"

#define SERIES(metric, values) "{\"metric\":" metric ",\"values\":[" values "]}"
#define MATRIX(more, list)                                                                         \
    "{\"status\":\"success\"" more ",\"data\":{\"resultType\":\"matrix\",\"result\":[" list "]}}"
#define CONTAINER "{\"namespace\":\"shop\",\"pod_name\":\"web-1\",\"name\":\"app\"}"
#define LABELS                                                                                     \
    "{\"kubernetes_namespace\":\"shop\",\"kubernetes_pod_name\":\"web-1\",\"pod_label_app\":"      \
    "\"web\"}"
/* 2026-01-15, 10:00 to 12:00; the start is at 12:00. */
#define CPU "[1768471200,\"2\"],[1768474800,\"2\"],[1768478400,\"2\"]"
#define MEMORY "[1768471200,\"1e9\"],[1768474800,\"1e9\"],[1768478400,\"1e9\"]"
#define STATUS "/verticalpodautoscalers/web/status"
#define VPA_OF(uid, status)                                                                        \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"generation\":1," uid            \
          "\"creationTimestamp\":\"2026-01-15T10:00:00Z\"},\"spec\":{\"targetRef\":{"              \
          "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}" status "}")
#define VPA_WITH_STATUS                                                                            \
    VPA_OF("", ",\"status\":{\"recommendation\":{\"containerRecommendations\":[{"                  \
               "\"containerName\":\"app\",\"target\":{\"cpu\":\"1038m\",\"memory\":\"1Gi\"}}]}}")
#define VPA_ANEW VPA_OF("\"uid\":\"another\",", "")

static struct {
    int status;          /* other than 200: of every answer; 0: none comes */
    const char *more;    /* members of every answer */
    bool empty;          /* there are no series of memory */
    vpa_duration delay;  /* of each answer */
    unsigned questions;  /* requests */
    char first_end[512]; /* of the last CPU query: its body */
} prom;

static const char *answer_to(const struct vpa_memory_request *q)
{
    if (!strstr(q->path, "query_range"))
        return MATRIX("", SERIES(LABELS, "[1768478400,\"1\"]"));
    if (strstr(q->body, "query=rate"))
        return prom.more ? prom.more : MATRIX("", SERIES(CONTAINER, CPU));
    return prom.empty ? MATRIX("", "") : MATRIX("", SERIES(CONTAINER, MEMORY));
}

static void prometheus(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    prom.questions++;
    if (prom.delay)
        vpa_memory_reply_delay(r, prom.delay);
    if (strstr(q->path, "query_range") && q->body && strstr(q->body, "query=rate"))
        snprintf(prom.first_end, sizeof(prom.first_end), "%s", q->body);
    if (prom.status == 0)
        vpa_memory_reply_delay(r, VPA_HOUR);
    else
        vpa_memory_reply_json(r, prom.status, prom.status == 200 ? answer_to(q) : "no");
}

static struct vpa_transport *connect(void *ctx, const struct vpa_http_client_options *options,
                                     struct vpa_error *err)
{
    (void)ctx;
    (void)options;
    (void)err;
    return vpa_memory_transport_new(loop, prometheus, NULL);
}

static void start_with(int status)
{
    struct vpa_error err;

    memset(&prom, 0, sizeof(prom));
    prom.status = status;
    construct("--storage=prometheus");
    recommender_free(recommender);
    recommender = recommender_new(&(struct recommender_options){.loop = loop,
                                                                .config = &config,
                                                                .client = client,
                                                                .writer = client,
                                                                .metrics = client,
                                                                .connect_prometheus = connect});
    capture_log(0);
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
}

static bool is_ready(const char *reason)
{
    vpa_auto_buf why = VPA_BUF(4096);
    bool ready = recommender_is_ready(recommender, &why);

    if (!ready)
        ck_assert_msg(strstr(vpa_buf_text(&why), reason) != NULL, "%s", vpa_buf_text(&why));
    return ready;
}

static const int refusals[] = {503, 500, 429, 400, 401, 403, 422, 0};

TEST_EACH(a_status_stays_until_the_history_comes, refusals) {
    change(VPA_WITH_STATUS);
    start_with(refusals[_i]);
    ck_assert(!is_ready("the history is not loaded yet: "));
    for (int i = 0; i < 3; i++) {
        pass(USAGE("5m", "10M"));
        ck_assert_uint_eq(count_writes("PATCH", STATUS), 0);
        /* Silence takes longer than a rollout waits. */
        ck_assert(!is_ready("the history is not loaded yet: ") || refusals[_i] == 0);
    }
    ck_assert_int_eq(target_cpu(), 1038);
    ck_assert_uint_ge(logged("Cannot get cluster history"), 2);

    prom.status = 200;
    for (int i = 0; i < 10; i++)
        pass(USAGE("5m", "10M"));
    ck_assert(is_ready(""));
    ck_assert_int_ge(target_cpu(), 2000);
    ck_assert_uint_eq(logged("Read the history from Prometheus"), 1);
}

/* As upstream has it (history-0039): one question, and the VPA begins with what there is. */
TEST(a_vpa_without_a_status_does_not_wait) {
    start_with(503);
    ck_assert_uint_eq(prom.questions, 1);
    pass(USAGE("50m", "100M"));
    ck_assert_uint_eq(count_writes("PATCH", STATUS), 1);
    ck_assert(is_ready(""));
    pass(USAGE("50m", "100M"));
    ck_assert_uint_eq(prom.questions, 1);
    ck_assert_int_lt(target_cpu(), 100);

    prom.status = 200;
    for (int i = 0; i < 9; i++)
        pass(USAGE("50m", "100M"));
    ck_assert_uint_eq(prom.questions, 4);
    ck_assert_int_ge(target_cpu(), 2000);
}

/* What is sampled since the failure is not asked for. */
TEST(the_history_ends_where_the_samples_begin) {
    change(VPA_WITH_STATUS);
    start_with(503);
    pass(USAGE("5m", "10M"));
    prom.status = 200;
    for (int i = 0; i < 3; i++)
        pass(USAGE("5m", "10M"));
    ck_assert(is_ready(""));
    ck_assert_msg(strstr(prom.first_end, "end=1768478400&") != NULL, "%s", prom.first_end);
}

TEST(nobody_waits_for_more_than_a_day) {
    change(VPA_WITH_STATUS);
    start_with(401);
    pass(USAGE("50m", "100M"));
    ck_assert(!is_ready("the history is not loaded yet: "));
    vpa_loop_pump(loop, 10 * VPA_MINUTE);
    pass(USAGE("50m", "100M"));
    ck_assert(is_ready("")); /* though VPAs wait: it keeps no rollout from its end */
    ck_assert_uint_eq(count_writes("PATCH", STATUS), 0);
    vpa_loop_pump(loop, 24 * VPA_HOUR);
    pass(USAGE("50m", "100M"));
    ck_assert_uint_eq(count_writes("PATCH", STATUS), 1);
    ck_assert(is_ready(""));
    pass(USAGE("50m", "100M"));
    ck_assert_uint_eq(logged("No history from Prometheus for a day"), 1);
}

/* A minute for each question: no pass has time for all three. */
TEST(a_slow_history_takes_more_than_one_pass) {
    change(VPA_WITH_STATUS);
    start_with(503);
    prom.status = 200;
    prom.delay = 50 * VPA_SECOND;
    vpa_time begin = vpa_loop_now(loop);
    pass(USAGE("5m", "10M"));
    ck_assert_int_lt(vpa_time_sub(vpa_loop_now(loop), begin), 4 * VPA_MINUTE);
    ck_assert_uint_eq(prom.questions, 3);
    ck_assert(!is_ready("the history is not loaded yet"));
    pass(USAGE("5m", "10M"));
    ck_assert_uint_eq(prom.questions, 4);
    ck_assert(is_ready(""));
    ck_assert_int_ge(target_cpu(), 2000);
}

/* A server that hangs holds up a pass for two minutes. */
TEST(a_pass_does_not_wait_for_long) {
    change(VPA_WITH_STATUS);
    start_with(0);
    for (int i = 0; i < 5; i++) {
        vpa_time begin = vpa_loop_now(loop);

        pass(USAGE("5m", "10M"));
        ck_assert_int_le(vpa_time_sub(vpa_loop_now(loop), begin), 3 * VPA_MINUTE + VPA_SECOND);
    }
}

/* ---- what is said ---- */

TEST(says_what_it_has_read) {
    start_with(200);
    ck_assert_uint_eq(logged("\"Read the history from Prometheus\" pods=1 containers=1 samples=6 "
                             "oldest=\"2026-01-15T10:00:00Z\""),
                      1);
    ck_assert_uint_eq(logged("Prometheus has no series"), 0);
    ck_assert_uint_eq(logged("Prometheus warns"), 0);
}

/* A disk that was lost, or another job: an answer without samples is none. */
TEST(an_empty_history_is_awaited_too) {
    change(VPA_WITH_STATUS);
    start_with(503);
    prom.status = 200;
    prom.empty = true;
    prom.more = MATRIX("", "");
    pass(USAGE("5m", "10M"));
    ck_assert_uint_eq(logged("the answers have no sample of a container: rate(container_cpu_usage"),
                      1);
    ck_assert_uint_eq(count_writes("PATCH", STATUS), 0);
    ck_assert_int_eq(target_cpu(), 1038);
}

/* Made anew under its name it has nothing that were to be kept. */
TEST(a_vpa_that_is_made_anew_does_not_wait) {
    change(VPA_WITH_STATUS);
    start_with(503);
    pass(USAGE("50m", "100M"));
    ck_assert_uint_eq(count_writes("PATCH", STATUS), 0);
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
           "\"VerticalPodAutoscaler\",\"namespace\":\"shop\",\"name\":\"web\"}}");
    change(VPA_ANEW);
    pass(USAGE("50m", "100M"));
    ck_assert_uint_eq(count_writes("PATCH", STATUS), 1);
}

TEST(warns_of_what_is_missing) {
    change(VPA_WITH_STATUS);
    start_with(503);
    prom.status = 200;
    prom.empty = true;
    prom.more =
        MATRIX(",\"warnings\":[\"store 10.1.1.1 is away\",\"another\"]", SERIES(CONTAINER, CPU));
    pass(USAGE("5m", "10M"));
    ck_assert_uint_eq(logged("its history is empty\" resource=\"memory\" "
                             "query=\"container_memory_working_set_bytes{job="),
                      1);
    ck_assert_uint_eq(logged("may not be whole\" warning=\"store 10.1.1.1 is away\""), 1);
}

int main(void)
{
    return run_tests("recommender start history", setup, teardown);
}
