/* Mode "history": what a VPA knows is filled from Prometheus once per period. */
#include <unistd.h>

#include "captured_log.h"
#include "recommender_fixture.h"

#include "../../recommender/prom_client.h"
#include "../../recommender/refill.h"

#define IN_HISTORY_AS(name) IN_HISTORY_WITH(name, "")
#define IN_HISTORY_WITH(name, annotation)                                                          \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"shop\",\"generation\":1,"           \
          "\"annotations\":{" annotation "\"crane.vpa.autoscaling.k8s.io/mode\":\"history\"},"     \
          "\"creationTimestamp\":\"2026-01-15T10:00:00Z\"},\"spec\":{"                             \
          "\"recommenders\":[{\"name\":\"crane\"}],\"targetRef\":{\"apiVersion\":"                 \
          "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}}")

#define IN_HISTORY IN_HISTORY_AS("web")
#define EVERY_HALF_MINUTE "\"crane.vpa.autoscaling.k8s.io/cpu-sample-interval\":\"30s\","

static int questions; /* to Prometheus */
static int status = 200;
static int minutes = 60; /* that it has */
static int memory_minutes = 60;
static int64_t ahead; /* seconds, its clock */
static bool endless;  /* its answers */
static vpa_duration delay;
static const char *slow = ""; /* only questions with this text are delayed */
static int slow_questions;
static const char *first_token = "", *token_file = "";
static char *last_body, *last_authorization;

static void reply_too_long(struct vpa_memory_reply *r)
{
    size_t len = PROM_RANGE_ANSWER_MAX + 1;
    vpa_auto_free char *spaces = vpa_xcalloc(1, len + 1);

    memset(spaces, ' ', len);
    vpa_memory_reply_json(r, 200, spaces);
}

/* An hour of minutes before the question: 1.95 cores, 950 MiB. */
static void prometheus(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    bool cpu = strstr(q->body, "irate") != NULL;
    vpa_auto_buf text = VPA_BUF(1 << 20);
    int64_t now = vpa_time_unix_nanos(vpa_loop_now(loop)) / VPA_SECOND;
    int begin = cpu ? 0 : minutes - memory_minutes;

    (void)ctx;
    questions++;
    ck_assert_str_eq(q->method, "POST");
    ck_assert_str_eq(q->path, "/api/v1/query_range");
    last_body = vpa_arena_strdup(&arena, q->body);
    last_authorization =
        vpa_arena_strdup(&arena, vpa_or_empty(vpa_memory_header(q, "Authorization")));
    vpa_buf_puts(&text, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{"
                        "\"metric\":{\"pod\":\"web-0\"},\"values\":[");
    for (int i = begin; i < minutes; i++)
        vpa_buf_printf(&text, "%s[%lld,\"%s\"]", i > begin ? "," : "",
                       (long long)(now + ahead - 60 * (minutes - i)),
                       i == 7   ? "NaN"
                       : i == 8 ? "+Inf"
                       : i == 9 ? "-1e9"
                       : cpu    ? minutes == 60 ? "1.95" : "0.05"
                                : "996147200");
    vpa_buf_puts(&text, "]}]}}");
    slow_questions += strstr(q->body, slow) != NULL;
    vpa_memory_reply_delay(r, strstr(q->body, slow) ? delay : 0);
    if (endless)
        reply_too_long(r);
    else
        vpa_memory_reply_json(r, status, status == 200 ? vpa_buf_text(&text) : "no");
}

static struct vpa_transport *connect(void *ctx, const struct vpa_http_client_options *options,
                                     struct vpa_error *err)
{
    (void)ctx;
    (void)err;
    ck_assert_str_eq(options->base_url, "http://prometheus.monitoring.svc");
    return vpa_memory_transport_new(loop, prometheus, NULL);
}

static void start_connected(void)
{
    struct vpa_error err;

    construct(NULL);
    config.prometheus.bearer_token = first_token;
    config.prometheus.bearer_token_file = token_file;
    recommender_free(recommender);
    recommender = recommender_new(&(struct recommender_options){.loop = loop,
                                                                .config = &config,
                                                                .client = client,
                                                                .writer = client,
                                                                .metrics = client,
                                                                .connect_prometheus = connect});
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
}

/* From the first pass on, without the time that live samples need; the live ones count too. */
START_TEST(the_history_counts_at_once)
{
    change(IN_HISTORY);
    start_connected();
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2);
    ck_assert_int_eq(target_cpu(), 2300);
    struct vpa_quantity memory = target("memory");
    ck_assert_int_eq(vpa_quantity_value(&memory), 1205862400);
    ck_assert_ptr_nonnull(strstr(last_body, "container_memory_working_set_bytes"));
    ck_assert_ptr_nonnull(strstr(last_body, "step=60"));
    ck_assert_ptr_nonnull(strstr(last_body, "%5Eweb-%5Ba-z0-9%5D%2B-%5Ba-z0-9%5D%7B5%7D%24"));
}
END_TEST

/* Of many VPAs only so many in a pass, the others in the next ones. */
START_TEST(a_pass_fills_so_many_at_most)
{
    for (int i = 0; i <= REFILL_VPAS_MAX; i++) {
        vpa_auto_free char *vpa = vpa_xprintf(IN_HISTORY_AS("v%d"), i);

        change(vpa);
    }
    start_connected();
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2 * REFILL_VPAS_MAX);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2 * (REFILL_VPAS_MAX + 1));
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2 * (REFILL_VPAS_MAX + 1));
}
END_TEST

#define EVERY_MINUTE "\"crane.vpa.autoscaling.k8s.io/history-period\":\"1m\","
#define ELSEWHERE(object)                                                                          \
    "{\"apply\":{\"apiVersion\":" object ",\"metadata\":{\"namespace\":\"zoo\","
static const char *const zoo[] = {
    APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"zoo\"}}"),
    ELSEWHERE("\"apps/v1\",\"kind\":\"Deployment\"") "\"name\":\"web\"},\"spec\":{\"selector\":{"
                                                     "\"matchLabels\":{\"app\":\"web\"}}}}}",
    ELSEWHERE("\"v1\",\"kind\":\"Pod\"") "\"name\":\"web-9\",\"labels\":{\"app\":\"web\"}},"
                                         "\"spec\":{\"containers\":[{\"name\":\"app\"}]},"
                                         "\"status\":{\"phase\":\"Running\"}}}",
    ELSEWHERE(
        "\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\"") "\"name\":\"late\","
                                                                        "\"annotations\":{\"crane."
                                                                        "vpa.autoscaling.k8s.io/"
                                                                        "mode\":\"history\"},"
                                                                        "\"creationTimestamp\":"
                                                                        "\"2026-01-15T10:00:00Z\"},"
                                                                        "\"spec\":{"
                                                                        "\"recommenders\":[{"
                                                                        "\"name\":\"crane\"}],"
                                                                        "\"targetRef\":{"
                                                                        "\"apiVersion\":\"apps/"
                                                                        "v1\",\"kind\":"
                                                                        "\"Deployment\",\"name\":"
                                                                        "\"web\"}}}}",
};
#define BOTH_USE                                                                                   \
    "{\"usage\":[{\"namespace\":\"shop\",\"pod\":\"web-1\",\"containers\":[{\"name\":\"app\","     \
    "\"cpu\":[\"150m\"],\"memory\":[\"150Mi\"]}]},{\"namespace\":\"zoo\",\"pod\":\"web-9\","       \
    "\"containers\":[{\"name\":\"app\",\"cpu\":[\"150m\"],\"memory\":[\"150Mi\"]}]}]}"

/* A namespace that has more to ask for in every pass than a pass asks leaves others their turn; so
 * it does when each of its questions takes all the time that there is. */
START_TEST(no_namespace_keeps_another_waiting)
{
    for (int i = 0; i <= REFILL_VPAS_MAX; i++) {
        vpa_auto_free char *vpa = vpa_xprintf(IN_HISTORY_WITH("v%d", EVERY_MINUTE), i);

        change(vpa);
    }
    for (size_t i = 0; i < VPA_COUNT(zoo); i++)
        change(zoo[i]);
    start_connected();
    delay = _i == 0 ? 0 : VPA_HOUR;
    slow = _i == 0 ? "zoo" : "shop";
    for (int i = 0; i < 3; i++) {
        pass(BOTH_USE);
        if (_i == 1)
            vpa_loop_pump(loop, REFILL_RETRY);
    }
    ck_assert_int_eq(_i == 0 ? slow_questions : questions - slow_questions, 2);
}
END_TEST

START_TEST(once_per_period)
{
    change(IN_HISTORY);
    start_connected();
    for (int i = 0; i < 20; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2);
    vpa_loop_pump(loop, 24 * VPA_HOUR);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 4);
}
END_TEST

/* Whoever sets the clock in between, a day is a day. */
START_TEST(once_per_period_by_whatever_clock)
{
    change(IN_HISTORY);
    start_connected();
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2);
    vpa_clock_set(virtual_clock, _i ? 30 * 24 * VPA_HOUR : -30 * 24 * VPA_HOUR);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2);
    vpa_loop_pump(loop, 24 * VPA_HOUR);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 4);
}
END_TEST

/* A failure leaves what is known, and is tried again after a while. */
START_TEST(a_failure_is_tried_again)
{
    static const char line[] = "Cannot read the history of a VPA from Prometheus";

    change(IN_HISTORY);
    start_connected();
    capture_log(0);
    status = 500;
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 1);
    ck_assert_uint_eq(logged(line), 1);
    ck_assert_int_eq(target_cpu(), 229);
    status = 200;
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 3);
    ck_assert_uint_eq(logged(line), 1);
    ck_assert_int_eq(target_cpu(), 2300);
}
END_TEST

/* CPU alone is no history: with it the memory that was learned would be gone. */
START_TEST(what_prometheus_does_not_know_stays)
{
    memory_minutes = 0;
    change(IN_HISTORY);
    start_connected();
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "950Mi"));
    vpa_loop_pump(loop, 24 * VPA_HOUR);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 4);
    pass(USAGE("150m", "150Mi"));
    struct vpa_quantity memory = target("memory");
    ck_assert_int_ge(vpa_quantity_value(&memory), 950 << 20);
    for (int i = 0; i < 60; i++)
        pass(USAGE("150m", "150Mi"));
    memory = target("memory");
    ck_assert_int_ge(vpa_quantity_value(&memory), 950 << 20);
}
END_TEST

/* Nor is memory of which it knows only the last of what we know. */
START_TEST(a_kind_that_it_knows_less_of_takes_no_place)
{
    change(IN_HISTORY);
    start_connected();
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "150Mi"));
    memory_minutes = 5;
    minutes = 2 * 1440 + 60;
    vpa_loop_pump(loop, 48 * VPA_HOUR);
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 4);
    ck_assert_int_eq(target_cpu(), 2300); /* CPU would be another */
}
END_TEST

/* A server that has lost its disk knows less than we do, which is told once. */
START_TEST(a_shorter_history_takes_no_place)
{
    static const char line[] =
        "Prometheus has less of the history of a VPA than is known, which stays";

    change(IN_HISTORY);
    start_connected();
    capture_log(0);
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "150Mi"));
    minutes = 5;
    vpa_loop_pump(loop, 48 * VPA_HOUR);
    for (int i = 0; i < 2; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 4);
    ck_assert_int_eq(target_cpu(), 2300);
    ck_assert_uint_eq(logged(line), 1);
    ck_assert_uint_eq(logged("container app: cpu of 5 minutes"), 1);
}
END_TEST

/* Of the one kind a day is read and all of it is there, of the other four days. */
START_TEST(each_kind_reaches_back_as_far_as_it_counts)
{
    change(IN_HISTORY_WITH("web", "\"crane.vpa.autoscaling.k8s.io/cpu-model-history-length\":"
                                  "\"24h\","));
    start_connected();
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 2300);
    capture_log(0);
    minutes = 1440;
    memory_minutes = 4 * 1440 + 60;
    vpa_loop_pump(loop, 96 * VPA_HOUR);
    for (int i = 0; i < 2; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 4);
    ck_assert_int_eq(target_cpu(), 114); /* 0.05 cores, in buckets of 0.1, and 15 % */
    ck_assert_uint_eq(logged("Prometheus has less"), 0);
}
END_TEST

START_TEST(a_time_that_has_not_come_is_no_history)
{
    change(IN_HISTORY);
    start_connected();
    ahead = 7200;
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2);
    ck_assert_int_eq(target_cpu(), 229);
}
END_TEST

/* The pass is everybody's. */
START_TEST(a_server_that_hangs_holds_up_one_pass_a_little)
{
    change(IN_HISTORY);
    change(IN_HISTORY_AS("web-2"));
    change(IN_HISTORY_AS("web-3"));
    start_connected();
    delay = VPA_HOUR;
    for (int i = 0; i < 5; i++) {
        vpa_time begin = vpa_loop_now(loop);

        pass(USAGE("150m", "150Mi"));
        ck_assert_int_le(vpa_time_sub(vpa_loop_now(loop), begin), 2 * VPA_MINUTE);
        ck_assert_int_eq(questions, 1);
    }
    ck_assert_int_eq(target_cpu(), 229);
    delay = 0;
    vpa_loop_pump(loop, 10 * VPA_MINUTE);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 7);
    ck_assert_int_eq(target_cpu(), 2300);
}
END_TEST

/* Whose questions are too much for the server does not take the turn of the others for ever. */
START_TEST(one_vpa_that_fails_keeps_no_other_waiting)
{
    change(_i == 0 ? IN_HISTORY_WITH("web", EVERY_HALF_MINUTE) : IN_HISTORY);
    change(_i == 0 ? IN_HISTORY_AS("web-2") : IN_HISTORY_WITH("web-2", EVERY_HALF_MINUTE));
    start_connected();
    delay = VPA_HOUR;
    slow = "step=30";
    for (int i = 0; i < 4; i++) {
        pass(USAGE("150m", "150Mi"));
        vpa_loop_pump(loop, REFILL_RETRY);
    }
    ck_assert_int_eq(questions - slow_questions, 2);
    ck_assert_int_ge(slow_questions, 2);
    ck_assert_int_le(slow_questions, 3);
}
END_TEST

/* More than fits the recommender's memory is not read; it is that VPA's own misfortune. */
START_TEST(an_answer_without_end_is_given_up)
{
    change(IN_HISTORY_AS("web-2"));
    change(IN_HISTORY);
    start_connected();
    endless = true;
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2); /* both were asked for, once */
    ck_assert_int_eq(target_cpu(), 229);
}
END_TEST

static void write_token(const char *path, const char *token)
{
    FILE *file = fopen(path, "we");

    ck_assert(file && fprintf(file, "%s\n", token) > 0 && fclose(file) == 0);
}

/* The token of a service account is replaced every hour. */
START_TEST(each_fill_reads_the_token)
{
    char path[] = "/tmp/plumb-token-XXXXXX";

    close(mkstemp(path));
    change(IN_HISTORY);
    first_token = "of the start";
    token_file = path;
    start_connected();
    write_token(path, "first");
    pass(USAGE("150m", "150Mi"));
    ck_assert_str_eq(last_authorization, "Bearer first");
    write_token(path, "second");
    vpa_loop_pump(loop, 24 * VPA_HOUR);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 4);
    ck_assert_str_eq(last_authorization, "Bearer second");
    write_token(path, "");
    vpa_loop_pump(loop, 24 * VPA_HOUR);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 6);
    ck_assert_str_eq(last_authorization, "Bearer of the start");
    unlink(path);
    vpa_loop_pump(loop, 24 * VPA_HOUR);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 8);
    ck_assert_str_eq(last_authorization, "Bearer of the start");
}
END_TEST

#define IN_HISTORY_OF(uid, target, annotation)                                                     \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"uid\":\"" uid                   \
          "\",\"generation\":1,\"annotations\":{" annotation                                       \
          "\"crane.vpa.autoscaling.k8s.io/mode\":\"history\"},"                                    \
          "\"creationTimestamp\":\"2026-01-15T10:00:00Z\"},\"spec\":{"                             \
          "\"recommenders\":[{\"name\":\"crane\"}],\"targetRef\":{\"apiVersion\":"                 \
          "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"" target "\"}}}")

/* What was filled was not this VPA's, or not with these parameters. */
static const struct {
    const char *vpa;
    int questions; /* in the three passes after it has changed */
} changes[] = {
    {IN_HISTORY_OF("a", "web", "\"any\":\"1\","), 0},
    {IN_HISTORY_OF("a", "api", ""), 2},
    {IN_HISTORY_OF("b", "web", ""), 2}, /* deleted and made anew between two passes */
    {IN_HISTORY_OF("a", "web",
                   "\"crane.vpa.autoscaling.k8s.io/cpu-model-history-length\":\"72h\","),
     2},
    {IN_HISTORY_OF("a", "web", EVERY_MINUTE), 6},
};

START_TEST(what_has_changed_is_filled_at_once)
{
    change(APPLY("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
                 "\"api\",\"namespace\":\"shop\"},\"spec\":{\"selector\":{\"matchLabels\":{"
                 "\"app\":\"web\"}}}}"));
    change(IN_HISTORY_OF("a", "web", ""));
    start_connected();
    for (int i = 0; i < 3; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2);
    change(changes[_i].vpa);
    for (int i = 0; i < 3; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 2 + changes[_i].questions);
    ck_assert_int_eq(target_cpu(), 2300);
}
END_TEST

/* It is tried again at once, and waits no longer than others after that. */
START_TEST(what_has_changed_has_not_failed)
{
    change(IN_HISTORY_OF("a", "web", ""));
    start_connected();
    status = 400;
    for (int i = 0; i < 3; i++) {
        pass(USAGE("150m", "150Mi"));
        vpa_loop_pump(loop, REFILL_RETRY << i);
    }
    ck_assert_int_eq(questions, 3);
    change(IN_HISTORY_OF("b", "web", ""));
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 4);
    vpa_loop_pump(loop, REFILL_RETRY);
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 5);
}
END_TEST

START_TEST(mode_live_asks_nobody)
{
    change(VPA("web", "2026-01-15T10:00:00Z"));
    start_connected();
    for (int i = 0; i < 6; i++)
        pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(questions, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender refill");
    TCase *tc = tcase_create("recommender refill");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_history_counts_at_once);
    tcase_add_test(tc, a_pass_fills_so_many_at_most);
    tcase_add_loop_test(tc, no_namespace_keeps_another_waiting, 0, 2);
    tcase_add_test(tc, once_per_period);
    tcase_add_loop_test(tc, once_per_period_by_whatever_clock, 0, 2);
    tcase_add_test(tc, a_failure_is_tried_again);
    tcase_add_test(tc, what_prometheus_does_not_know_stays);
    tcase_add_test(tc, a_kind_that_it_knows_less_of_takes_no_place);
    tcase_add_test(tc, a_shorter_history_takes_no_place);
    tcase_add_test(tc, each_kind_reaches_back_as_far_as_it_counts);
    tcase_add_test(tc, a_time_that_has_not_come_is_no_history);
    tcase_add_test(tc, a_server_that_hangs_holds_up_one_pass_a_little);
    tcase_add_test(tc, each_fill_reads_the_token);
    tcase_add_loop_test(tc, one_vpa_that_fails_keeps_no_other_waiting, 0, 2);
    tcase_add_test(tc, an_answer_without_end_is_given_up);
    tcase_add_loop_test(tc, what_has_changed_is_filled_at_once, 0, (int)VPA_COUNT(changes));
    tcase_add_test(tc, what_has_changed_has_not_failed);
    tcase_add_test(tc, mode_live_asks_nobody);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
