/*
 * The updater as a daemon: what its table says, and its work from the first list to the last event.
 */
#include "updater_fixture.h"

#include "../../updater/daemon.h"
#include "vpa/kube/elector.h"

static struct vpa_daemon table;
static struct vpa_process process;
static size_t events_there; /* that came to the client for events */

static void serve_events(void *ctx, const struct vpa_memory_request *q,
                         struct vpa_memory_reply *reply)
{
    (void)ctx;
    ck_assert_ptr_nonnull(strstr(q->path, "/events"));
    events_there++;
    vpa_memory_reply_json(reply, 201, "{}");
    vpa_memory_reply_delay(reply, 500 * VPA_MILLISECOND);
}

static struct vpa_transport *events_transport;

static struct vpa_kube_client *events_client(void)
{
    struct vpa_error err;

    events_there = 0;
    events_transport = vpa_memory_transport_new(server.loop, serve_events, NULL);
    return vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = server.loop,
                                                                 .transport = events_transport,
                                                                 .random = &server.random,
                                                                 .user_agent = "test",
                                                                 .qps = -1},
                               &err);
}

static void setup_daemon(void)
{
    static const struct vpa_observe_options options = {.address = "127.0.0.1:0",
                                                       .health_timeout = 5 * VPA_MINUTE};
    struct vpa_error err;

    setup();
    server.config.prove_evictions = "off";
    table = updater_daemon(&server.config);
    process = (struct vpa_process){.loop = server.loop,
                                   .observe = vpa_observe_new(server.loop, &options, &err)};
    ck_assert_ptr_nonnull(process.observe);
}

static void teardown_daemon(void)
{
    vpa_kube_client_free(process.clients[1]);
    vpa_transport_free(events_transport);
    vpa_observe_free(process.observe);
    teardown();
}

/* The status of a page, as a probe would see it now. */
static int probe(const char *path)
{
    struct vpa_server_request request = {.method = "GET", .path = path, .query = ""};
    struct vpa_server_response response = {0};

    vpa_observe_answer(process.observe, &request, &response);
    free(response.body);
    return response.status;
}

/* What happens at a minute of the run, and what is seen then. */
static struct moment {
    int minute;
    bool leads, stops; /* from then on */
    int ready, healthy;
    size_t calls;
} * plan;
static struct vpa_timer *timer;

static void on_moment(void *ctx)
{
    (void)ctx;
    ck_assert_int_eq(probe("/readyz"), plan->ready);
    ck_assert_int_eq(probe("/health-check"), plan->healthy);
    ck_assert_uint_eq(server.call_count, plan->calls);
    process.standby = process.standby && !plan->leads;
    if (plan->stops) {
        vpa_loop_stop(server.loop);
        return;
    }
    vpa_timer_start(timer, (plan[1].minute - plan->minute) * VPA_MINUTE + VPA_SECOND);
    plan++;
}

static void connect_daemon(void)
{
    connect_cluster();
    process.clients[0] = server.client;
    process.clients[1] = events_client();
}

static int run_as_planned(struct moment *moments)
{
    if (!process.clients[0])
        connect_daemon();
    plan = moments;
    timer = vpa_timer_new(server.loop, on_moment, NULL);
    vpa_timer_start(timer, plan->minute * VPA_MINUTE);
    int status = table.run(table.flags.values, &process);
    vpa_timer_free(timer);
    ck_assert(plan->stops);
    return status;
}

TEST(its_table_is_of_its_settings) {
    ck_assert_ptr_eq(table.flags.values, &server.config);
    ck_assert_ptr_eq(table.common, &server.config.common);
    ck_assert_ptr_eq(table.leader, &server.config.leader);
    ck_assert_ptr_eq(table.ledger, &server.config.ledger);
    ck_assert_ptr_eq(table.shadow, &server.config.shadow);
    ck_assert_ptr_eq(table.interval, &server.config.interval);
    ck_assert_ptr_eq(table.metrics, updater_metrics);
    ck_assert_uint_eq(table.metric_count, updater_metric_count);
    ck_assert_uint_eq(table.client_count, 2);
    ck_assert(table.tells_of_unusable);
    ck_assert_ptr_null(table.page.path);
}

/* A pass a minute, which is what the check of health sees. */
TEST(it_passes_until_it_is_stopped) {
    struct moment moments[] = {
        {.minute = 0, .ready = 200, .healthy = 200},
        {.minute = 1, .ready = 200, .healthy = 200, .calls = 5},
        {.minute = 20, .ready = 200, .healthy = 200, .calls = 100, .stops = true}};

    vpa_observe_arm(process.observe);
    ck_assert_int_eq(run_as_planned(moments), EXIT_SUCCESS);
    ck_assert_uint_gt(events_there, 0);
    ck_assert_uint_eq(server.events, 0);
    ck_assert_uint_eq(vpa_memory_transport_open(events_transport), 0); /* all were waited for */
}

/* Told to stop in the middle of a pass: what was done is told all the same. */
TEST(what_was_done_last_is_told) {
    struct moment moments[] = {{.minute = 10, .stops = true}};

    server.stop_at = 5;
    ck_assert_int_eq(run_as_planned(moments), EXIT_SUCCESS);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_uint_ge(events_there, 3); /* half a second each: as many as there is patience for */
}

/* It is ready, and healthy however long it waits; then it begins with its caches filled. */
TEST(a_standby_waits_for_the_lead) {
    struct moment moments[] = {
        {.minute = 2, .ready = 200, .healthy = 200},
        {.minute = 30, .ready = 200, .healthy = 200, .leads = true},
        {.minute = 31, .ready = 200, .healthy = 200, .calls = 5, .stops = true}};

    process.standby = true;
    ck_assert_int_eq(run_as_planned(moments), EXIT_SUCCESS);
}

TEST(a_standby_that_is_stopped_does_nothing) {
    struct moment moments[] = {{.minute = 3, .ready = 200, .healthy = 200, .stops = true}};

    process.standby = true;
    ck_assert_int_eq(run_as_planned(moments), EXIT_SUCCESS);
    ck_assert_uint_eq(server.call_count + events_there, 0);
}

/* It is alive, not ready, and SIGTERM is no failure. */
TEST(an_end_while_caches_fill_is_no_failure) {
    struct moment moments[] = {{.minute = 3, .ready = 503, .healthy = 200, .stops = true}};

    server.slow = "/pods";
    ck_assert_int_eq(run_as_planned(moments), EXIT_SUCCESS);
    ck_assert_uint_eq(server.call_count, 0);
}

/* The process may change nothing, and gives no events away. */
TEST(who_does_not_lead_changes_nothing) {
    struct moment moments[] = {{.minute = 2, .ready = 200, .healthy = 200},
                               {.minute = 4, .ready = 200, .healthy = 200, .stops = true}};

    connect_daemon();
    process.elector =
        vpa_elector_new(&(struct vpa_elector_options){.client = server.client,
                                                      .ns = "n",
                                                      .name = "l",
                                                      .identity = "me",
                                                      .lease_duration = 15 * VPA_SECOND,
                                                      .renew_deadline = 10 * VPA_SECOND,
                                                      .retry_period = 2 * VPA_SECOND});
    ck_assert_int_eq(run_as_planned(moments), EXIT_SUCCESS);
    vpa_elector_free(process.elector);
    ck_assert_uint_eq(server.call_count + events_there, 0);
}

int main(void)
{
    return run_tests("updater_daemon", setup_daemon, teardown_daemon);
}
