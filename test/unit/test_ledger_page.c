/* /decisions: who may read, what is answered, and that nobody is kept waiting for ever. */
#include <check.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "suite.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/base/mem.h"
#include "vpa/base/random.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/ledger_page.h"
#include "vpa/net/monotonic.h"

#define SECRET "s3cret"

static struct vpa_clock *clock_;
static struct vpa_loop *loop;
static struct vpa_observe *observe;
static struct vpa_transport *transport;
static struct vpa_kube_client *client;
static struct vpa_random randomness;
static struct vpa_ledger *ledger;
static struct vpa_ledger_page *page;
/* The API server. */
static bool known, allowed, silent, leads;
static int reviews;
static char last_access[4096];
static const char *broken_token, *broken_access; /* answers instead; NULL: none */

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    (void)ctx;
    reviews++;
    if (silent) {
        vpa_memory_reply_delay(reply, VPA_HOUR);
    } else if (vpa_str_ends_with(q->path, "/tokenreviews")) {
        ck_assert_ptr_nonnull(strstr(q->body, "\"token\":\"" SECRET "\""));
        vpa_memory_reply_json(
            reply, 201,
            broken_token ? broken_token
            : known      ? "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"jane\","
                           "\"uid\":\"7\",\"groups\":[\"ops\",\"all\"],\"extra\":{"
                           "\"example.org/scopes\":[\"user:info\",\"user:check\"]}}}}"
                         : "{\"status\":{\"authenticated\":false}}");
    } else {
        ck_assert(vpa_str_ends_with(q->path, "/subjectaccessreviews"));
        snprintf(last_access, sizeof(last_access), "%s", q->body);
        vpa_memory_reply_json(reply, 201,
                              broken_access ? broken_access
                              : allowed     ? "{\"status\":{\"allowed\":true}}"
                                            : "{\"status\":{\"allowed\":false}}");
    }
}

static bool is_leading(void *ctx)
{
    (void)ctx;
    return leads;
}

static void make(bool trust_local)
{
    struct vpa_error err;

    clock_ = vpa_clock_new_manual(vpa_time_from_unix(1772366400, 0));
    loop = vpa_loop_new(clock_);
    observe = vpa_observe_new(loop, &(struct vpa_observe_options){.address = "127.0.0.1:0"}, &err);
    transport = vpa_memory_transport_new(loop, serve, NULL);
    client = vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = loop,
                                                                   .transport = transport,
                                                                   .random = &randomness,
                                                                   .user_agent = "test",
                                                                   .qps = -1,
                                                                   .may_write = is_leading},
                                 &err);
    ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = VPA_LEDGER_MEMORY});
    page = vpa_ledger_page_new(observe, ledger, client, trust_local);
    for (int i = 0; i < 3; i++) {
        vpa_auto_free char *ns = vpa_xprintf("n%d", i);

        vpa_ledger_record(ledger, &(struct vpa_ledger_entry){.ns = ns, .vpa = "a b"});
    }
    known = allowed = leads = true;
    silent = false;
    reviews = 0;
}

static void teardown(void)
{
    vpa_ledger_page_free(page);
    vpa_ledger_free(ledger);
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    vpa_observe_free(observe);
    vpa_loop_free(loop);
    vpa_clock_free(clock_);
}

/* The answer to a request whose head is that; the loop turns meanwhile. */
static const char *ask(const char *line, const char *headers)
{
    static char answer[8192];
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)vpa_observe_port(observe)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t len = 0;
    ssize_t n = 1;

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    dprintf(fd, "%s HTTP/1.1\r\nHost: h\r\n%sConnection: close\r\n\r\n", line, headers);
    while (n != 0 && len < sizeof(answer) - 1) {
        vpa_loop_poll(loop);
        n = recv(fd, answer + len, sizeof(answer) - 1 - len, MSG_DONTWAIT);
        len += n > 0 ? (size_t)n : 0;
    }
    answer[len] = '\0';
    close(fd);
    return answer;
}

static const struct {
    const char *line, *has, *lacks;
} questions[] = {
    {"GET /decisions", "200 OK", "\"seq\":4"},
    {"GET /decisions", "\"next\":3,\"more\":false", NULL},
    {"GET /decisions?namespace=n1", "\"seq\":2", "\"seq\":1"},
    {"GET /decisions?vpa=a+b&since=2", "\"seq\":3", "\"seq\":2"},
    {"GET /decisions?pod=x", "\"decisions\":[]", NULL},
    {"GET /decisions?since=never", "400 Bad Request", "decisions\""},
    {"POST /decisions", "405 ", NULL},
    {"GET /metrics", "200 OK", "seq"},
};

TEST_EACH(local_callers_are_answered, questions) {
    const char *answer;

    make(true);
    answer = ask(questions[_i].line, "");
    ck_assert_msg(strstr(answer, questions[_i].has), "%s", answer);
    if (questions[_i].lacks)
        ck_assert_ptr_null(strstr(answer, questions[_i].lacks));
    ck_assert_int_eq(reviews, 0);
}

static const struct {
    const char *headers;
    bool known, allowed;
    const char *status;
    int reviews;
} callers[] = {
    {"", true, true, "401", 0},
    {"Authorization: Basic eDp5\r\n", true, true, "401", 0},
    {"Authorization: Bearer " SECRET "\r\n", false, true, "401", 1},
    {"Authorization: Bearer " SECRET "\r\n", true, false, "403", 2},
    {"Authorization: Bearer " SECRET "\r\n", true, true, "200", 2},
};

TEST_EACH(others_need_a_token_that_may, callers) {
    const char *answer;

    make(false);
    known = callers[_i].known;
    allowed = callers[_i].allowed;
    answer = ask("GET /decisions", callers[_i].headers);
    ck_assert_msg(!strncmp(answer + strlen("HTTP/1.1 "), callers[_i].status, 3), "%s", answer);
    ck_assert_int_eq(strstr(answer, "\"seq\"") != NULL, !strcmp(callers[_i].status, "200"));
    ck_assert_int_eq(reviews, callers[_i].reviews);
    if (reviews == 2) {
        ck_assert_ptr_nonnull(strstr(last_access, "\"user\":\"jane\""));
        ck_assert_ptr_nonnull(strstr(last_access, "\"groups\":[\"ops\",\"all\"]"));
        /* What a token is limited to: without it the owner's whole rights would be asked for. */
        ck_assert_ptr_nonnull(strstr(last_access, "\"extra\":{\"example.org/scopes\":["
                                                  "\"user:info\",\"user:check\"]}"));
        ck_assert_ptr_nonnull(strstr(
            last_access, "\"nonResourceAttributes\":{\"path\":\"/decisions\",\"verb\":\"get\"}"));
        ck_assert_ptr_null(strstr(last_access, SECRET));
    }
}

/* What the API server says, and what is made of it. */
static const struct {
    const char *token, *access, *status;
} odd_answers[] = {
    {"{", NULL, "503"},
    {NULL, "{", "503"},
    {"{}", NULL, "401"},
    {"{\"status\":{\"authenticated\":\"true\"}}", NULL, "401"},
    {NULL, "{}", "403"},
    {NULL, "{\"status\":{\"allowed\":1}}", "403"},
    {"{\"status\":{\"authenticated\":true}}", NULL, "200"}, /* nobody: his rights decide */
};

TEST_EACH(odd_answers_let_nobody_in, odd_answers) {
    make(false);
    broken_token = odd_answers[_i].token;
    broken_access = odd_answers[_i].access;
    const char *answer = ask("GET /decisions", "Authorization: Bearer " SECRET "\r\n");
    ck_assert_msg(!strncmp(answer + strlen("HTTP/1.1 "), odd_answers[_i].status, 3), "%s", answer);
}

/* The listener has one thread: it gives up before a probe would. */
TEST(a_silent_api_server_keeps_nobody_waiting) {
    make(false);
    silent = true;
    ck_assert_ptr_nonnull(
        strstr(ask("GET /decisions", "Authorization: Bearer " SECRET "\r\n"), "503 "));
    ck_assert_ptr_nonnull(
        strstr(ask("GET /decisions", "Authorization: Bearer " SECRET "\r\n"), "503 "));
    ck_assert_int_eq(reviews, 1); /* one at a time */
    ck_assert_ptr_nonnull(strstr(ask("GET /health-check", ""), "200 OK"));
}

/* Nor does one who goes on asking: probes come on the same thread. */
TEST(who_may_not_read_takes_little_of_the_time) {
    const char *header = "Authorization: Bearer " SECRET "\r\n";

    make(false);
    silent = true;
    ck_assert_ptr_nonnull(strstr(ask("GET /decisions", header), "503 "));
    vpa_loop_pump(loop, VPA_MINUTE); /* the check has ended for the loop, too */
    int64_t before = vpa_monotonic_read();
    ck_assert_ptr_nonnull(strstr(ask("GET /decisions", header), "503 "));
    ck_assert_int_lt(vpa_monotonic_read() - before, VPA_SECOND);
    ck_assert_int_eq(reviews, 1);
}

TEST(who_may_read_is_not_kept_waiting) {
    make(false);
    for (int i = 1; i <= 5; i++) {
        ck_assert_ptr_nonnull(
            strstr(ask("GET /decisions", "Authorization: Bearer " SECRET "\r\n"), "200 "));
        ck_assert_int_eq(reviews, 2 * i);
    }
}

/* A review changes nothing: a replica that does not lead may ask for one. */
TEST(a_standby_answers_too) {
    make(false);
    leads = false;
    const char *answer = ask("GET " VPA_DECISIONS_PATH, "Authorization: Bearer " SECRET "\r\n");
    ck_assert_msg(strstr(answer, " 200 "), "%s", answer);
    ck_assert_int_eq(reviews, 2);
}

/* Else nobody could tell it from a leader that has decided nothing. */
TEST(a_standby_says_so) {
    make(true);
    ck_assert_ptr_null(strstr(ask("GET /decisions", ""), "leads"));
    vpa_ledger_lead(ledger, false);
    ck_assert_ptr_nonnull(strstr(ask("GET /decisions", ""), "\"more\":false,\"leads\":false}"));
    vpa_ledger_lead(ledger, true);
    ck_assert_ptr_null(strstr(ask("GET /decisions", ""), "leads"));
}

TEST(it_is_taken_back) {
    make(true);
    vpa_ledger_page_free(page);
    page = NULL;
    ck_assert_ptr_nonnull(strstr(ask("GET /decisions", ""), "404 "));
}

int main(void)
{
    return run_tests("ledger_page", NULL, teardown);
}
