/*
 * The recommender as a daemon: what its table says, and its work from the first list to the last
 * checkpoint.
 */
#include <stdio.h>

#include "recommender_fixture.h"

#include "../../recommender/daemon.h"
#include "../../recommender/metrics.h"
#include "../../recommender/query.h"
#include "captured_log.h"
#include "vpa/kube/elector.h"

static struct vpa_daemon table;
static struct vpa_process process;

static void setup_daemon(void)
{
    static const struct vpa_observe_options options = {.address = "127.0.0.1:0",
                                                       .health_timeout = 5 * VPA_MINUTE};
    struct vpa_error err;

    setup();
    table = recommender_daemon(&config);
    process = (struct vpa_process){.loop = loop, .observe = vpa_observe_new(loop, &options, &err)};
    ck_assert_ptr_nonnull(process.observe);
}

static void teardown_daemon(void)
{
    vpa_observe_free(process.observe);
    teardown();
}

static void connect_daemon(const char *flag)
{
    connect_cluster(flag);
    for (size_t i = 0; i < table.client_count; i++)
        process.clients[i] = client;
    fake_cluster_set_step(server, json(USAGE("100m", "100Mi")));
    fake_cluster_begin_record(server);
}

static bool is_ready(void)
{
    struct vpa_server_request request = {.method = "GET", .path = "/readyz", .query = ""};
    struct vpa_server_response response = {0};

    vpa_observe_answer(process.observe, &request, &response);
    free(response.body);
    return response.status == 200;
}

static void stop_loop(void *ctx)
{
    bool *ready = ctx;

    *ready = is_ready();
    vpa_loop_stop(loop);
}

/* The status, after so many minutes; *ready: as it was at their end. */
static int run_for(int minutes, bool *ready)
{
    struct vpa_timer *timer = vpa_timer_new(loop, stop_loop, ready);

    vpa_timer_start(timer, minutes * VPA_MINUTE + VPA_SECOND);
    int status = table.run(table.flags.values, &process);
    vpa_timer_free(timer);
    return status;
}

#define CHECKPOINT "/verticalpodautoscalercheckpoints"

static size_t checkpoints_written(void)
{
    return count_writes("POST", CHECKPOINT) + count_writes("PATCH", CHECKPOINT "/web-app");
}

TEST(its_table_is_of_its_settings) {
    size_t count;

    ck_assert_ptr_eq(table.flags.values, &config);
    ck_assert_ptr_eq(table.common, &config.common);
    ck_assert_ptr_eq(table.leader, &config.leader);
    ck_assert_ptr_eq(table.ledger, &config.ledger);
    ck_assert_ptr_eq(table.shadow, &config.shadow);
    ck_assert_ptr_eq(table.interval, &config.interval);
    ck_assert_ptr_eq(table.instance.value, &config.name);
    ck_assert_ptr_eq(table.metrics, recommender_metrics_table(&count));
    ck_assert_uint_eq(table.metric_count, count);
    ck_assert(table.tells_of_unusable);
    /* before it is served, whoever asks for it is told to come again */
    ck_assert_str_eq(table.page.path, QUERY_PATH);
    ck_assert_ptr_eq(table.page.wanted, &config.recommendation_query);
}

TEST(it_passes_until_it_is_stopped_and_writes_what_it_knows) {
    bool ready;

    connect_daemon("--checkpoints-timeout=1m");
    ck_assert_int_eq(run_for(3, &ready), EXIT_SUCCESS);
    ck_assert(ready);
    ck_assert_uint_ge(count_writes("PATCH", "/web/status") + count_writes("PATCH", "/web"), 1);
    ck_assert_uint_ge(checkpoints_written(), 1);
}

/* Whose Lease is another one's. */
TEST(who_does_not_lead_leaves_no_checkpoint_at_the_end) {
    size_t before;
    bool ready;

    connect_daemon("--leader-elect=true");
    process.elector =
        vpa_elector_new(&(struct vpa_elector_options){.client = client,
                                                      .ns = "n",
                                                      .name = "l",
                                                      .identity = "me",
                                                      .lease_duration = 15 * VPA_SECOND,
                                                      .renew_deadline = 10 * VPA_SECOND,
                                                      .retry_period = 2 * VPA_SECOND});
    before = checkpoints_written();
    ck_assert_int_eq(run_for(0, &ready), EXIT_SUCCESS);
    ck_assert_uint_eq(checkpoints_written(), before);
    vpa_elector_free(process.elector);
}

static bool lists_hang(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!vpa_str_ends_with(q->path, "/pods"))
        return false;
    vpa_memory_reply_delay(r, VPA_HOUR);
    return true;
}

/* SIGTERM while the caches fill. */
TEST(an_end_while_caches_fill_is_no_failure) {
    bool ready;

    hook = lists_hang;
    connect_daemon(NULL);
    ck_assert_int_eq(run_for(1, &ready), EXIT_SUCCESS);
    ck_assert(!ready);
    ck_assert_uint_eq(checkpoints_written(), 0);
}

TEST(settings_that_cannot_be_used_end_it) {
    bool ready;

    capture_log(0);
    connect_daemon("--storage=prometheus");
    config.prometheus.history_length = "eight days";
    ck_assert_int_eq(run_for(1, &ready), EXIT_FAILURE);
    ck_assert_uint_eq(logged("Recommender controller exited with error"), 1);
}

/* It writes nothing, and prints its table at the end. */
TEST(a_shadow_prints_what_it_saw) {
    FILE *usual = stdout;
    char *text = NULL;
    size_t len;
    bool ready;

    connect_daemon("--shadow");
    stdout = open_memstream(&text, &len);
    int status = run_for(3, &ready);
    fclose(stdout);
    stdout = usual;
    ck_assert_int_eq(status, EXIT_SUCCESS);
    ck_assert_ptr_nonnull(strstr(text, "shadow: 3 passes; in the last one 1 VPAs"));
    ck_assert_uint_eq(checkpoints_written(), 0);
    free(text);
}

int main(void)
{
    return run_tests("recommender_daemon", setup_daemon, teardown_daemon);
}
