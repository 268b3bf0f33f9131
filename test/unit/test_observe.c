/* The plain listener: metrics, health, everything else. */
#include <check.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

#include "suite.h"
#include "manual_clock.h"
#include "vpa/base/mem.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/observe.h"

static struct vpa_metric apples = VPA_COUNTER("apples_total", "Apples", "colour");
static struct vpa_metric pears = VPA_GAUGE("pears", "Pears");
static struct vpa_metric *const table[] = {&apples, &pears};

static struct vpa_clock *clock_;
static struct vpa_loop *loop;
static struct vpa_observe *observe;

static void setup(void)
{
    struct vpa_error err;

    clock_ = vpa_clock_new_manual(vpa_time_from_unix(1772366400, 0));
    loop = vpa_loop_new(clock_);
    observe = vpa_observe_new(loop,
                              &(struct vpa_observe_options){.address = "127.0.0.1:0",
                                                            .metrics = table,
                                                            .metric_count = VPA_COUNT(table),
                                                            .health_timeout = 5 * VPA_MINUTE},
                              &err);
    ck_assert_ptr_nonnull(observe);
    vpa_metric_inc(&apples, "red");
    vpa_metric_set(&pears, 3);
}

static void teardown(void)
{
    vpa_observe_free(observe);
    vpa_observe_free(NULL);
    vpa_loop_free(loop);
    vpa_clock_free(clock_);
    vpa_metric_reset(&apples);
    vpa_metric_reset(&pears);
}

/* The body, which the caller frees. */
static char *ask(const char *path, const char *query, int status)
{
    struct vpa_server_request request = {.method = "GET", .path = path, .query = query};
    struct vpa_server_response response = {0};

    vpa_observe_answer(observe, &request, &response);
    ck_assert_int_eq(response.status, status);
    return response.body;
}

static const struct {
    const char *query, *has, *lacks;
} exposures[] = {
    {"", "apples_total{colour=\"red\"} 1\n", NULL},
    {"", "process_resident_memory_bytes ", NULL},
    {"", "promhttp_metric_handler_requests_total{code=\"200\"} 0\n", NULL},
    {"name[]=pears", "pears 3\n", "apples"},
    {"name%5B%5D=pears&x=y", "pears 3\n", "apples"},
    {"name[]=apples_total&name[]=pears", "pears 3\n", "process_"},
    {"name[]=%zz+", "", "pears"},
};

TEST_EACH(shows_metrics, exposures) {
    vpa_auto_free char *body = ask("/metrics", exposures[_i].query, 200);

    ck_assert_ptr_nonnull(strstr(body ? body : "", exposures[_i].has));
    if (exposures[_i].lacks)
        ck_assert_ptr_null(strstr(body ? body : "", exposures[_i].lacks));
}

TEST(is_healthy_until_armed_and_idle) {
    vpa_clock_advance(clock_, VPA_HOUR);
    free(ask("/health-check", "", 200));
    vpa_observe_arm(observe);
    vpa_clock_advance(clock_, 5 * VPA_MINUTE);
    free(ask("/health-check", "", 200));
    vpa_clock_advance(clock_, 1500 * VPA_MILLISECOND);

    vpa_auto_free char *body = ask("/health-check", "", 500);

    ck_assert_str_eq(body, "Error: last activity more than 5m1.5s ago\n");
    vpa_observe_activity(observe);
    free(ask("/health-check", "", 200));
}

static bool says_no(void *ctx, struct vpa_buf *why)
{
    vpa_buf_puts(why, ctx);
    return false;
}

static bool says_yes(void *ctx, struct vpa_buf *why)
{
    (void)ctx;
    (void)why;
    return true;
}

static void expect(const char *path, int status, const char *text)
{
    vpa_auto_free char *body = ask(path, "", status);

    ck_assert_str_eq(body, text);
}

/* What is not ready is alive, what is not alive is not ready. */
TEST(tells_ready_from_alive) {
    char no_list[] = "pods: no list yet", deaf[] = "the listener is deaf";

    expect("/readyz", 200, "OK");
    vpa_observe_on_ready(observe, says_no, no_list);
    expect("/readyz", 503, "Not ready: pods: no list yet\n");
    expect("/health-check", 200, "OK");
    vpa_observe_on_ready(observe, says_yes, NULL);
    expect("/readyz", 200, "OK");

    vpa_observe_on_alive(observe, says_no, deaf);
    expect("/health-check", 500, "Error: the listener is deaf\n");
    expect("/readyz", 503, "Not ready: the listener is deaf\n");
    vpa_observe_on_alive(observe, NULL, NULL);
    expect("/health-check", 200, "OK");

    vpa_observe_arm(observe);
    vpa_clock_advance(clock_, 6 * VPA_MINUTE);
    expect("/readyz", 503, "Not ready: last activity more than 6m0s ago\n");
}

TEST(a_cache_is_fresh_or_it_says_why) {
    const struct {
        vpa_duration age;
        const char *why;
    } cases[] = {
        {0, ""},
        {VPA_READY_CACHE_AGE_MAX, ""},
        {2 * VPA_MINUTE, "the cache of pods was in step 2m0s ago"},
        {INT64_MAX, "the cache of pods is not filled yet"},
    };

    for (size_t i = 0; i < VPA_COUNT(cases); i++) {
        vpa_auto_buf why = VPA_BUF(256);

        ck_assert_int_eq(vpa_observe_is_fresh("pods", cases[i].age, &why), !*cases[i].why);
        ck_assert_str_eq(vpa_buf_text(&why), cases[i].why);
    }
}

/* While the API server is away nothing is held against a pass; when it is back, a pass has time. */
TEST(is_alive_while_the_api_server_is_away) {
    vpa_observe_arm(observe);
    vpa_observe_unreachable(observe, true);
    vpa_clock_advance(clock_, VPA_HOUR);
    expect("/health-check", 200, "OK");
    vpa_observe_unreachable(observe, false);
    expect("/health-check", 200, "OK");
    vpa_clock_advance(clock_, 5 * VPA_MINUTE);
    expect("/health-check", 200, "OK");
    vpa_observe_unreachable(observe, false);
    vpa_clock_advance(clock_, 1);
    free(ask("/health-check", "", 500));
}

/* The test's own thread has the loop, and does not turn it unless it says so. headers: further
 * ones, each with its line end. Returns the length of the answer. */
static size_t get_with(const char *path, const char *headers, char answer[4096], bool turning)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)vpa_observe_port(observe)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t len = 0;
    ssize_t n = 1;

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    dprintf(fd, "GET %s HTTP/1.1\r\nHost: h\r\n%sConnection: close\r\n\r\n", path, headers);
    while (n != 0 && len < 4095) {
        if (turning)
            vpa_loop_poll(loop);
        n = recv(fd, answer + len, 4095 - len, turning ? MSG_DONTWAIT : 0);
        len += n > 0 ? (size_t)n : 0;
    }
    answer[len] = '\0';
    close(fd);
    return len;
}

static void get(const char *path, char answer[4096], bool turning)
{
    get_with(path, "", answer, turning);
}

#define OPENMETRICS "Accept: application/openmetrics-text; version=1.0.0"
static const struct {
    const char *headers, *type, *has;
} forms[] = {
    {"", "text/plain; version=0.0.4", "# TYPE apples_total counter\n"},
    {OPENMETRICS "\r\n", "application/openmetrics-text; version=1.0.0", "# TYPE apples counter\n"},
    {OPENMETRICS ";q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2\r\n", "text/plain; version=0.0.4",
     "# TYPE apples_total counter\n"},
    {OPENMETRICS ";q=0\r\n", "text/plain; version=0.0.4", "# TYPE apples_total counter\n"},
    {"Accept-Encoding: gzip;q=0\r\n", "text/plain; version=0.0.4", "# TYPE apples_total counter\n"},
};

TEST_EACH(answers_in_the_form_that_was_asked_for, forms) {
    char answer[4096];

    get_with("/metrics?name[]=apples_total", forms[_i].headers, answer, false);
    ck_assert_msg(strstr(answer, forms[_i].type) && strstr(answer, forms[_i].has), "%s", answer);
    ck_assert_ptr_null(strstr(answer, "Content-Encoding"));
}

TEST(answers_are_compressed_for_those_who_ask) {
    char answer[4096], text[4096] = "";
    size_t len = get_with("/metrics", "Accept-Encoding: deflate, gzip\r\n", answer, false);
    const char *body = strstr(answer, "\r\n\r\n");

    ck_assert_ptr_nonnull(body);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Encoding: gzip\r\n"));
    body += strlen("\r\n\r\n");
    z_stream z = {.next_in = (Bytef *)(uintptr_t)body,
                  .avail_in = (uInt)(len - (size_t)(body - answer)),
                  .next_out = (Bytef *)text,
                  .avail_out = sizeof(text) - 1};
    ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    ck_assert_ptr_nonnull(strstr(text, "\npears 3\n"));
}

/* A wait that a turning loop keeps on a busy machine, too. */
TEST_TIMES(probes_prove_that_the_loop_turns, 2) {
    static const char *const probes[] = {"/health-check", "/readyz"};
    char answer[4096];

    vpa_observe_free(observe);
    observe = vpa_observe_new(loop,
                              &(struct vpa_observe_options){.address = "127.0.0.1:0",
                                                            .metrics = table,
                                                            .metric_count = VPA_COUNT(table),
                                                            .probe_wait = 3 * VPA_SECOND},
                              NULL);
    get(probes[_i], answer, false);
    ck_assert_ptr_nonnull(strstr(answer, "500 Internal"));
    ck_assert_ptr_nonnull(strstr(answer, "Error: the daemon's loop does not turn\n"));
    get("/metrics", answer, false);
    ck_assert_ptr_nonnull(strstr(answer, "200 OK"));
    for (size_t i = 0; i < VPA_COUNT(probes); i++) {
        vpa_loop_poll(loop); /* the call for the question that was given up */
        get(probes[i], answer, true);
        ck_assert_msg(strstr(answer, "200 OK") != NULL, "%s", answer);
    }
    vpa_observe_on_ready(observe, says_no, (char[]){"no list"});
    get("/readyz", answer, true);
    ck_assert_ptr_nonnull(strstr(answer, "Not ready: no list\n"));
}

/* Whoever stops does not wait for a probe that waits for it. */
TEST(stops_while_a_probe_waits) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)vpa_observe_port(observe)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char byte;

    vpa_observe_free(observe);
    observe = vpa_observe_new(
        loop, &(struct vpa_observe_options){.address = "127.0.0.1:0", .probe_wait = VPA_HOUR},
        NULL);
    a.sin_port = htons((uint16_t)vpa_observe_port(observe));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    dprintf(fd, "GET /readyz HTTP/1.1\r\nHost: h\r\n\r\n");
    poll(NULL, 0, 100);
    vpa_observe_free(observe);
    observe = NULL;
    ck_assert_int_ge(read(fd, &byte, 1), 0);
    close(fd);
}

TEST(knows_no_other_path) {
    static const char *const paths[] = {"/", "/metrics/", "/debug/pprof/", "/healthz"};

    for (size_t i = 0; i < VPA_COUNT(paths); i++)
        free(ask(paths[i], "", 404));
    ck_assert_int_gt(vpa_observe_port(observe), 0);
}

static void answer_here(void *ctx, const struct vpa_server_request *request,
                        struct vpa_server_response *response)
{
    (void)request;
    vpa_server_reply_text(response, 200, ctx);
}

/* 404 would tell whoever asks while the daemon starts or ends that it has no such page. */
TEST(a_page_that_is_expected_is_never_missing) {
    char answer[4096];

    vpa_observe_free(observe);
    observe = vpa_observe_new(
        loop, &(struct vpa_observe_options){.address = "127.0.0.1:0", .expected = {NULL, "/later"}},
        NULL);
    vpa_observe_serve(observe, "/other", answer_here, (char[]){"other\n"});
    for (int i = 0; i < 2; i++) {
        get("/later", answer, false);
        ck_assert_msg(strstr(answer, " 503 ") && strstr(answer, "not now: "), "%s", answer);
        vpa_observe_serve(observe, "/later", answer_here, (char[]){"here\n"});
        get("/later", answer, false);
        ck_assert_msg(strstr(answer, " 200 ") && strstr(answer, "here\n"), "%s", answer);
        vpa_observe_serve(observe, "/later", NULL, NULL);
    }
    get("/other", answer, false);
    ck_assert_msg(strstr(answer, " 200 ") && strstr(answer, "other\n"), "%s", answer);
    vpa_observe_serve(observe, "/other", NULL, NULL);
    get("/other", answer, false);
    ck_assert_msg(strstr(answer, " 404 ") != NULL, "%s", answer);
}

TEST(a_taken_port_is_an_error) {
    vpa_auto_free char *address = vpa_xprintf("127.0.0.1:%d", vpa_observe_port(observe));
    struct vpa_error err;

    ck_assert_ptr_null(
        vpa_observe_new(loop, &(struct vpa_observe_options){.address = address}, &err));
    ck_assert_int_eq(err.code, VPA_RETRY);
}

TEST(reads_the_process) {
    struct vpa_process_stats stats;

    vpa_process_stats_read(&stats);
    ck_assert_double_gt(stats.resident_bytes, 0);
    ck_assert_double_gt(stats.virtual_bytes, stats.resident_bytes);
    ck_assert_double_gt(stats.open_fds, 2);
    ck_assert_double_ge(stats.max_fds, stats.open_fds);
    ck_assert_double_gt(stats.start_seconds, 1e9);
    ck_assert_double_le(stats.start_seconds, (double)time(NULL) + 1);
    ck_assert_double_ge(stats.start_seconds, (double)time(NULL) - 3600);
    ck_assert_double_lt(stats.network_receive_bytes, 0); /* not known, so not shown */
    ck_assert_double_lt(stats.network_transmit_bytes, 0);
}

/* Files may get the number 0 where nobody has opened a standard input. */
TEST(reads_the_process_without_a_standard_input) {
    struct vpa_process_stats stats;
    int before = dup(0);

    ck_assert_int_gt(before, 0);
    close(0);
    for (int i = 0; i < 3; i++) {
        vpa_process_stats_read(&stats);
        ck_assert_double_gt(stats.resident_bytes, 0);
        ck_assert_int_eq(fcntl(0, F_GETFD), -1);
    }
    dup2(before, 0);
    close(before);
}

TEST(reads_the_limits_of_the_process) {
    struct vpa_process_stats before, after;
    struct rlimit limit;
    int fd;

    vpa_process_stats_read(&before);
    fd = dup(0);
    ck_assert_int_ge(fd, 0);
    vpa_process_stats_read(&after);
    close(fd);
    ck_assert(after.open_fds == before.open_fds + 1);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert(after.max_fds == (double)limit.rlim_cur);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
    ck_assert(after.virtual_max_bytes ==
              (limit.rlim_cur == RLIM_INFINITY ? 18446744073709551615.0 : (double)limit.rlim_cur));
}

static double cpu_seconds(void)
{
    struct rusage usage;

    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* What it computed, by itself and in the kernel, is what the kernel says elsewhere, to two ticks or
 * so: a loop is its own time, asking for the time is the kernel's. */
TEST_TIMES(reads_the_time_of_the_process, 2) {
    struct vpa_process_stats stats;
    double begin = cpu_seconds(), end = 0, least;
    volatile unsigned turns = 0;

    do {
        for (int i = 0; i < (_i ? 1000000 : 0); i++)
            turns++;
        end = cpu_seconds();
    } while (end < begin + 0.15);
    least = cpu_seconds();
    vpa_process_stats_read(&stats);
    ck_assert_double_ge(stats.cpu_seconds, least - 0.03);
    ck_assert_double_le(stats.cpu_seconds, cpu_seconds() + 0.03);
}

int main(void)
{
    return run_tests("observe", setup, teardown);
}
