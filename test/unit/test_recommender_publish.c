/*
 * What a pass publishes: the bounds of flags, so many requests at once, and what is answered to
 * queries from then on.
 */
#include "recommender_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../recommender/query.h"
#include "../../recommender/query_object.h"
#include "vpa/daemon/observe.h"
#include "vpa/model/object_status.h"

/* ---- bounds of flags ---- */

static const struct {
    const char *flag;
    int64_t cpu_millis, memory; /* 0: whatever was learned, which is more */
} maxima[] = {
    {"--container-recommendation-max-allowed-cpu=300m", 300, 0},
    {"--container-recommendation-max-allowed-memory=400Mi", 0, INT64_C(400) << 20},
    {NULL, 0, 0},
};

TEST_EACH(a_flag_bounds_all_recommendations, maxima) {
    start(maxima[_i].flag);
    pass(USAGE("2", "2Gi"));
    struct vpa_quantity memory = target("memory");

    if (maxima[_i].cpu_millis)
        ck_assert_int_eq(target_cpu(), maxima[_i].cpu_millis);
    else
        ck_assert_int_gt(target_cpu(), 2000);
    if (maxima[_i].memory)
        ck_assert_int_eq(vpa_quantity_value(&memory), maxima[_i].memory);
    else
        ck_assert_int_gt(vpa_quantity_value(&memory), INT64_C(2) << 30);
}

/* ---- requests at once ---- */

static bool delay_status(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "PATCH") == 0 && strstr(q->path, "/status"))
        vpa_memory_reply_delay(r, VPA_SECOND);
    return false;
}

static const struct {
    const char *flag;
    size_t patches;
    int seconds;
} workers[] = {
    {"--update-worker-count=1", 5, 5}, {"--update-worker-count=2", 5, 3},
    {"--update-worker-count=4", 5, 2}, {"--update-worker-count=10", 5, 1},
    {"--update-worker-count=0", 0, 0},
};

/* Five VPAs whose status is new, each of which takes a second. */
TEST_EACH(so_many_statuses_are_written_at_once, workers) {
    change(VPA("v1", "2026-01-15T10:00:00Z"));
    change(VPA("v2", "2026-01-15T10:00:00Z"));
    change(VPA("v3", "2026-01-15T10:00:00Z"));
    change(VPA("v4", "2026-01-15T10:00:00Z"));
    start(workers[_i].flag);
    hook = delay_status;
    int64_t begun = vpa_loop_monotonic(loop);
    pass(USAGE("100m", "100Mi"));
    vpa_duration took = vpa_loop_monotonic(loop) - begun - VPA_MINUTE;
    ck_assert_uint_eq(count_writes("PATCH", "/status"), workers[_i].patches);
    ck_assert_int_eq(took / VPA_SECOND, workers[_i].seconds);
}

static void on_stop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

/* Nothing more is written from then on. */
TEST(a_stop_writes_no_further_status) {
    struct vpa_timer *timer = vpa_timer_new(loop, on_stop, NULL);

    change(VPA("v1", "2026-01-15T10:00:00Z"));
    change(VPA("v2", "2026-01-15T10:00:00Z"));
    change(VPA("v3", "2026-01-15T10:00:00Z"));
    start("--update-worker-count=2");
    hook = delay_status;
    vpa_loop_pump(loop, VPA_MINUTE);
    fake_cluster_begin_record(server);
    vpa_timer_start(timer, 500 * VPA_MILLISECOND);
    recommender_pass(recommender);
    ck_assert_uint_eq(count_writes("PATCH", "/status"), 2);
    vpa_timer_free(timer);
    stop();
    vpa_loop_resume(loop);
}

/* Several are under way, of which those in the middle are answered first. */
TEST(what_a_stop_leaves_is_given_up) {
    struct vpa_timer *timer = vpa_timer_new(loop, on_stop, NULL);

    change(VPA("v1", "2026-01-15T10:00:00Z"));
    change(VPA("v2", "2026-01-15T10:00:00Z"));
    start("--update-worker-count=2");
    hook = delay_status;
    vpa_loop_pump(loop, VPA_MINUTE);
    vpa_timer_start(timer, 1500 * VPA_MILLISECOND);
    int64_t begun = vpa_loop_monotonic(loop);
    recommender_pass(recommender);
    ck_assert_int_le(vpa_loop_monotonic(loop) - begun, 1600 * VPA_MILLISECOND);
    vpa_timer_free(timer);
    stop();
    vpa_loop_resume(loop);
    vpa_loop_pump(loop, VPA_MINUTE);
}

/* ---- conditions ---- */

static const char *conditions_text(void)
{
    static char text[2048];
    size_t len = 0;

    text[0] = '\0';
    vpa_json_foreach (c, vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.conditions"))
        len +=
            (size_t)snprintf(text + len, sizeof(text) - len, "%s %s %s; ", fake_text_at(c, "type"),
                             fake_text_at(c, "status"), fake_text_at(c, "lastTransitionTime"));
    return text;
}

#define CRANE "\"recommenders\":[{\"name\":\"crane\"}],"

static const struct {
    const char *policy;
    const char *usage;
    bool waits;
} waiting[] = {
    {CRANE, "{\"usage\":[]}", true},
    {CRANE "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\",\"mode\":\"Off\"}]"
           "},",
     USAGE("100m", "100Mi"), false},
    {"", USAGE("100m", "100Mi"), false},
    {"", "{\"usage\":[]}", false}, /* it has the least there is */
};

/* Who has pods without a sample for a while is told so; not who wants nothing of their
 * containers. */
TEST_EACH(a_vpa_without_samples_is_told, waiting) {
    vpa_auto_free char *vpa = vpa_xprintf(
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
              "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"generation\":1,"
              "\"creationTimestamp\":\"2026-01-15T10:00:00Z\"},\"spec\":{%s\"targetRef\":{"
              "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}}"),
        waiting[_i].policy);
    bool told = false;

    change(vpa);
    start(NULL);
    for (int i = 0; i < 20; i++)
        pass(waiting[_i].usage);
    vpa_json_foreach (condition,
                      vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.conditions"))
        told = told || strcmp(fake_text_at(condition, "type"), VPA_CONDITION_WAITING) == 0;
    ck_assert_msg(told == waiting[_i].waits, "%s", conditions_text());
}

/* ---- queries ---- */

#define FOREIGN(name, created)                                                                     \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"" name                                                         \
          "\",\"namespace\":\"shop\",\"creationTimestamp\":\"" created                             \
          "\"},\"spec\":{\"recommenders\":[{\"name\":\"other\"}],\"targetRef\":{"                  \
          "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}}")
#define QUESTION                                                                                   \
    "{\"apiVersion\":\"" QUERY_API_VERSION "\",\"kind\":\"" QUERY_KIND "\",\"spec\":{\"pod\":{"    \
    "\"metadata\":{\"namespace\":\"shop\",\"name\":\"web-2\",\"labels\":{\"app\":\"web\"},"        \
    "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\","   \
    "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"app\"}]}}}}"

static struct vpa_observe *observe;

static void start_with_queries(const char *flag)
{
    struct vpa_error err;

    connect_cluster(flag);
    config.recommendation_query = true;
    observe = vpa_observe_new(loop, &(struct vpa_observe_options){.address = "127.0.0.1:0"}, &err);
    ck_assert_ptr_nonnull(observe);
    recommender = recommender_new(&(struct recommender_options){.loop = loop,
                                                                .config = &config,
                                                                .client = client,
                                                                .writer = client,
                                                                .metrics = client,
                                                                .observe = observe});
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
}

static void stop_queries(void)
{
    stop();
    vpa_observe_free(observe);
    config.recommendation_query = false;
}

/* The body, in the arena; the loop turns meanwhile. */
static const char *ask(int *status)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)vpa_observe_port(observe)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char *answer = vpa_arena_zalloc(&arena, 65536);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t len = 0;
    ssize_t n = 1;

    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    dprintf(fd,
            "POST " QUERY_PATH " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
            strlen(QUESTION), QUESTION);
    while (n != 0 && len < 65535) {
        vpa_loop_poll(loop);
        n = recv(fd, answer + len, 65535 - len, MSG_DONTWAIT);
        len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    *status = atoi(answer + strlen("HTTP/1.1 "));
    const char *head_end = strstr(answer, "\r\n\r\n");
    return head_end ? head_end + 4 : "";
}

static const char *cpu_of(const char *answer)
{
    const struct vpa_json *first =
        vpa_json_first(vpa_json_at(json(answer), "status.recommendation.containerRecommendations"));

    return vpa_or_empty(vpa_json_string(vpa_json_at(first, "target.requests.cpu")));
}

/* The page is there as long as the recommender, and answers from the first whole pass on. */
TEST(queries_are_answered_from_the_pass) {
    int status;

    start_with_queries(NULL);
    ask(&status);
    ck_assert_int_eq(status, 503);
    pass(USAGE("1", "100Mi"));
    const char *answer = ask(&status);
    ck_assert_int_eq(status, 200);
    struct vpa_quantity stored_cpu = target("cpu"), cpu;
    ck_assert_int_eq(vpa_quantity_parse(&arena, cpu_of(answer), &cpu, NULL), 0);
    ck_assert_int_eq(vpa_quantity_cmp(&cpu, &stored_cpu), 0);
    stop();
    ask(&status);
    ck_assert_int_eq(status, 404);
    stop_queries();
}

/* Whose pod it is counts, whichever recommender looks after the VPA. */
static const struct {
    const char *created;
    bool ours;
} foreigners[] = {{"2026-01-15T09:00:00Z", false}, {"2026-01-15T11:00:00Z", true}};

TEST_EACH(an_older_vpa_of_another_recommender_answers_nothing, foreigners) {
    int status;

    change(_i == 0 ? FOREIGN("other", "2026-01-15T09:00:00Z")
                   : FOREIGN("other", "2026-01-15T11:00:00Z"));
    start_with_queries(NULL);
    pass(USAGE("1", "100Mi"));
    const char *answer = ask(&status);
    ck_assert_int_eq(status, 200);
    ck_assert_msg((*cpu_of(answer) != '\0') == foreigners[_i].ours, "%s", answer);
    stop_queries();
}

/* A pass that was not whole leaves the answers of the one before. */
TEST(half_a_pass_answers_nothing_new) {
    int status;

    start_with_queries(NULL);
    pass(USAGE("1", "100Mi"));
    const char *before = vpa_arena_strdup(&arena, cpu_of(ask(&status)));
    ck_assert_str_ne(before, "");
    config.update_workers = 0; /* nothing is evaluated */
    pass(USAGE("1", "100Mi"));
    ck_assert_str_eq(cpu_of(ask(&status)), before);
    ck_assert_int_eq(status, 200);
    stop_queries();
}

int main(void)
{
    return run_tests_within(60, "recommender_publish", setup, teardown);
}
