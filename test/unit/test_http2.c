/* The HTTP client against a server with bad manners: GOAWAY, lost streams, frozen connections, and
 * what may share a connection with what. */
#include <linux/tcp.h>

#include "http_fixture.h"
#include "rough_server.h"

static struct vpa_tls_pair ca, pair;
static struct rough_server *server;
static struct vpa_transport *client;

static struct vpa_transport *client_new(vpa_duration connect_timeout)
{
    const struct vpa_http_client_options options = {
        .ca_data = ca.cert_pem, .connect_timeout = connect_timeout, .frozen_after = VPA_SECOND / 4};

    return connect_to(rough_server_port(server), &options);
}

static void rough_setup(void)
{
    static const char *const names[] = {"127.0.0.1"};

    setup();
    vpa_time now = vpa_clock_now(clk);
    ck_assert_int_eq(vpa_tls_create_ca("test ca", now, VPA_HOUR, &ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 1, true, now, VPA_HOUR, &pair, &err),
                     0);
    server = rough_server_new(&pair);
    client = client_new(0);
}

static void rough_teardown(void)
{
    vpa_transport_free(client);
    rough_server_free(server);
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&pair);
    teardown();
}

/* Many requests at once */

struct request {
    bool headed, done, refuse;
    int status;
    enum vpa_transport_failure failure;
    size_t streamed;
};

static bool asked_to_send(void *ctx)
{
    return !((struct request *)ctx)->refuse;
}

static void request_head(void *ctx, int status)
{
    ((struct request *)ctx)->headed = status == 200;
}

static int request_data(void *ctx, const char *bytes, size_t len)
{
    (void)bytes;
    ((struct request *)ctx)->streamed += len;
    return 0;
}

static void request_done(void *ctx, const struct vpa_http_result *result)
{
    struct request *r = ctx;

    ck_assert(!r->done);
    r->done = true;
    r->status = result->status;
    r->failure = result->failure;
}

static struct vpa_exchange *start(struct request *r, const struct vpa_http_request *request)
{
    const struct vpa_http_handler handler = {
        .ctx = r,
        .may_send = asked_to_send,
        .on_head = request_head,
        .on_data = request->watch || request->idle_timeout ? request_data : NULL,
        .on_done = request_done};

    return vpa_transport_start(client, request, &handler);
}

static struct vpa_exchange *get(struct request *r, const char *target, vpa_duration timeout)
{
    return start(r,
                 &(struct vpa_http_request){.method = "GET", .target = target, .timeout = timeout});
}

static struct vpa_exchange *post(struct request *r, const char *target, bool repeatable)
{
    return start(r, &(struct vpa_http_request){.method = "POST",
                                               .target = target,
                                               .body = "{}",
                                               .body_len = 2,
                                               .repeatable = repeatable});
}

static bool is_headed(void *ctx)
{
    return ((struct request *)ctx)->headed;
}

static bool request_is_done(void *ctx)
{
    return ((struct request *)ctx)->done;
}

static void wait_for(vpa_done_fn done, struct request *r)
{
    ck_assert_int_eq(vpa_loop_wait(loop, done, r, 50 * VPA_SECOND, &err), 0);
}

static void expect_ok(struct request *r)
{
    wait_for(request_is_done, r);
    ck_assert_msg(r->failure == VPA_TRANSPORT_OK, "%s", vpa_transport_failure_name(r->failure));
    ck_assert_int_eq(r->status, 200);
}

static struct vpa_exchange *open_watch(struct request *r)
{
    struct vpa_exchange *x =
        start(r, &(struct vpa_http_request){.method = "GET", .target = "/w?watch", .watch = true});

    wait_for(is_headed, r);
    return x;
}

/* What may share a connection */

TEST_TIMES(watches_keep_their_connections_to_themselves, 2) {
    static const char *const goodbyes[] = {"/a?goaway", "/a?last"};
    struct request watches[3] = {0}, first = {0}, bye = {0}, later[20] = {0};
    struct vpa_exchange *open[3];

    for (int i = 0; i < 3; i++)
        open[i] = open_watch(&watches[i]);
    get(&first, "/first", 0);
    expect_ok(&first);
    get(&bye, goodbyes[_i], 0);
    expect_ok(&bye);
    for (int i = 0; i < 20; i++)
        post(&later[i], "/later", false);
    for (int i = 0; i < 20; i++)
        expect_ok(&later[i]);
    ck_assert_uint_eq(rough_server_strays(server), 0);
    ck_assert_uint_eq(rough_server_seen(server, "POST /later"), 20);
    ck_assert_uint_eq(rough_server_connections(server), 3 + 2); /* nobody looked at the watches' */
    for (int i = 0; i < 3; i++) {
        ck_assert(!watches[i].done);
        vpa_transport_cancel(client, open[i]);
    }
}

TEST(http1_carries_one_request_at_a_time) {
    struct request alone = {0}, bye = {0}, other[5] = {0};
    struct vpa_exchange *busy;

    rough_server_downgrade(server, 1);
    busy = start(&alone, &(struct vpa_http_request){
                             .method = "GET", .target = "/busy?drip", .idle_timeout = VPA_MINUTE});
    wait_for(is_headed, &alone);
    get(&bye, "/a?goaway", 0); /* from here on libcurl believes that all can carry many */
    expect_ok(&bye);
    for (int i = 0; i < 5; i++)
        post(&other[i], "/other", false);
    for (int i = 0; i < 5; i++)
        expect_ok(&other[i]);
    ck_assert_uint_eq(rough_server_strays(server), 0);
    ck_assert_uint_eq(rough_server_seen(server, "POST /other"), 5);
    vpa_transport_cancel(client, busy);
}

TEST(ordinary_requests_share_one_connection) {
    struct request r[50] = {0};

    for (int i = 0; i < 50; i++)
        get(&r[i], "/x", 0);
    for (int i = 0; i < 50; i++)
        expect_ok(&r[i]);
    ck_assert_uint_eq(rough_server_connections(server), 1);
}

/* Head and body of a request */

/* Of the client's connection, of which there is one. */
static struct tcp_info client_tcp(void)
{
    struct tcp_info info = {0};
    int found = 0;

    for (int fd = 0; fd < 256; fd++) {
        struct sockaddr_in peer = {0};
        socklen_t len = sizeof(peer), info_len = sizeof(info);

        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
            ntohs(peer.sin_port) == rough_server_port(server)) {
            ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_len), 0);
            found++;
        }
    }
    ck_assert_int_eq(found, 1);
    return info;
}

static void post_700(struct request *r, const char *target)
{
    static char body[700];

    memset(body, 'b', sizeof(body));
    start(r, &(struct vpa_http_request){
                 .method = "POST", .target = target, .body = body, .body_len = sizeof(body)});
}

/* With HTTP/2 and, second, without. The kernel would hold a segment back for 200 ms. */
TEST_TIMES(a_request_leaves_in_one_piece, 2) {
    int64_t fastest = VPA_MINUTE;

    if (_i == 1)
        rough_server_downgrade(server, 1);
    for (int i = 0; i < 12; i++) {
        struct request r = {0};
        unsigned before = i < 2 ? 0 : client_tcp().tcpi_data_segs_out;
        int64_t begun = read_clock(CLOCK_MONOTONIC), took;

        post_700(&r, "/p");
        expect_ok(&r);
        if (i < 2) /* the handshake, settings */
            continue;
        took = read_clock(CLOCK_MONOTONIC) - begun;
        fastest = took < fastest ? took : fastest;
        ck_assert_uint_eq(client_tcp().tcpi_data_segs_out - before, 1);
    }
    ck_assert_msg(fastest < 150 * VPA_MILLISECOND, "%lld ns", (long long)fastest);
}

/* Also of requests that begin in the midst of others, and of one that is lost in between. */
TEST(nothing_is_held_back) {
    struct request r[20] = {0}, lost = {0};
    int64_t begun, took, fastest = VPA_MINUTE;

    post_700(&lost, "/warm");
    expect_ok(&lost);
    for (int round = 0; round < 5; round++) {
        memset(r, 0, sizeof(r));
        lost = (struct request){0};
        begun = read_clock(CLOCK_MONOTONIC);
        for (int i = 0; i < 10; i++)
            post_700(&r[i], "/crowd");
        vpa_transport_cancel(client, start(&lost, &(struct vpa_http_request){.method = "POST",
                                                                             .target = "/x?silent",
                                                                             .body = "{}",
                                                                             .body_len = 2}));
        expect_ok(&r[0]);
        for (int i = 10; i < 20; i++)
            post_700(&r[i], "/crowd");
        for (int i = 0; i < 20; i++)
            expect_ok(&r[i]);
        took = read_clock(CLOCK_MONOTONIC) - begun;
        fastest = took < fastest ? took : fastest;
    }
    ck_assert_msg(fastest < 150 * VPA_MILLISECOND, "%lld ns", (long long)fastest);
}

/* Sent again, or not */

enum kind { READ, WRITE, REPEATABLE };
static const struct {
    enum kind kind;
    const char *target;
    enum vpa_transport_failure failure;
    unsigned seen;
} losses[] = {
    {READ, "/x?refuse", VPA_TRANSPORT_OK, 2},       {READ, "/x?reset", VPA_TRANSPORT_OK, 2},
    {READ, "/x?close", VPA_TRANSPORT_OK, 2},        {READ, "/x?disown", VPA_TRANSPORT_OK, 2},
    {READ, "/x?goaway", VPA_TRANSPORT_OK, 1},       {WRITE, "/x?refuse", VPA_TRANSPORT_RESET, 1},
    {WRITE, "/x?reset", VPA_TRANSPORT_RESET, 1},    {WRITE, "/x?close", VPA_TRANSPORT_RESET, 1},
    {WRITE, "/x?disown", VPA_TRANSPORT_RESET, 1},   {WRITE, "/x?goaway", VPA_TRANSPORT_OK, 1},
    {REPEATABLE, "/x?refuse", VPA_TRANSPORT_OK, 2}, {REPEATABLE, "/x?reset", VPA_TRANSPORT_OK, 2},
    {REPEATABLE, "/x?close", VPA_TRANSPORT_OK, 2},  {REPEATABLE, "/x?disown", VPA_TRANSPORT_OK, 2},
    {REPEATABLE, "/x?goaway", VPA_TRANSPORT_OK, 1}, {READ, "/x?reset=99", VPA_TRANSPORT_RESET, 5},
    {READ, "/x?cut", VPA_TRANSPORT_OK, 2},          {WRITE, "/x?cut", VPA_TRANSPORT_EOF, 1},
    {REPEATABLE, "/x?cut", VPA_TRANSPORT_OK, 2},
};

static bool is_loss(enum vpa_transport_failure failure)
{
    return failure == VPA_TRANSPORT_RESET || failure == VPA_TRANSPORT_EOF;
}

static unsigned seen_loss(size_t row)
{
    vpa_auto_free char *text =
        vpa_xprintf("%s %s", losses[row].kind == READ ? "GET" : "POST", losses[row].target);

    return rough_server_seen(server, text);
}

/* On a connection that was used before, which is where libcurl repeats by itself, and on a new one
 * (odd). */
TEST_TIMES(lost_requests, 2 * VPA_COUNT(losses)) {
    size_t row = (size_t)_i / 2;
    struct request before = {0}, r = {0};

    if (_i % 2 == 0) {
        get(&before, "/before", 0);
        expect_ok(&before);
    }
    if (losses[row].kind == READ)
        get(&r, losses[row].target, 0);
    else
        post(&r, losses[row].target, losses[row].kind == REPEATABLE);
    wait_for(request_is_done, &r);
    ck_assert_msg(r.failure == losses[row].failure || (losses[row].failure == VPA_TRANSPORT_RESET &&
                                                       r.failure == VPA_TRANSPORT_EOF),
                  "%s", vpa_transport_failure_name(r.failure));
    ck_assert_uint_eq(seen_loss(row), losses[row].seen);
}

/* A write that was sent is in doubt, also where the server is away when libcurl would send it again
 * (as it does on a used connection of HTTP/1.1) and the last thing heard is that nobody listens, or
 * that a handshake failed. */
static const struct {
    const char *target;
    bool http1;
} gone[] = {{"/x?die", false}, {"/x?mute", false}, {"/x?die", true}, {"/x?mute", true}};

TEST_EACH(a_server_that_is_gone_has_refused_nothing, gone) {
    vpa_auto_free char *seen = vpa_xprintf("POST %s", gone[_i].target);
    struct request before = {0}, lost = {0}, later = {0};

    if (gone[_i].http1)
        rough_server_downgrade(server, 100);
    get(&before, "/before", 0);
    expect_ok(&before);
    post(&lost, gone[_i].target, false);
    wait_for(request_is_done, &lost);
    ck_assert_msg(is_loss(lost.failure), "%s", vpa_transport_failure_name(lost.failure));
    ck_assert_uint_eq(rough_server_seen(server, seen), 1);
    post(&later, "/later", false); /* which was not sent */
    wait_for(request_is_done, &later);
    ck_assert_uint_eq(rough_server_seen(server, "POST /later"), 0);
    if (strcmp(gone[_i].target, "/x?die") == 0)
        ck_assert_int_eq(later.failure, VPA_TRANSPORT_REFUSED);
}

/* Every 15th answer comes with a GOAWAY, ten requests are under way at any time. */
struct crowd {
    struct request r[10];
    unsigned started, ok, wanted;
};

static bool crowd_turns(void *ctx)
{
    struct crowd *c = ctx;

    for (int i = 0; i < 10; i++) {
        if (c->r[i].done) {
            ck_assert_msg(c->r[i].failure == VPA_TRANSPORT_OK, "request %u: %s", c->started,
                          vpa_transport_failure_name(c->r[i].failure));
            c->ok++;
        }
        if ((c->r[i].done || c->started < 10) && c->started < c->wanted) {
            c->started++;
            c->r[i] = (struct request){0};
            if (c->started % 15 == 0)
                get(&c->r[i], "/x?goaway", 0);
            else
                post(&c->r[i], "/x", true);
        } else {
            c->r[i].done = false;
        }
    }
    return c->ok == c->wanted;
}

TEST(a_crowd_through_goaways) {
    struct crowd c = {.wanted = 300};

    ck_assert_int_eq(vpa_loop_wait(loop, crowd_turns, &c, 60 * VPA_SECOND, &err), 0);
    ck_assert_uint_ge(rough_server_connections(server), 20);
    ck_assert_uint_eq(rough_server_strays(server), 0);
}

/* The last word before the bytes go out */

TEST_TIMES(refused_before_the_bytes_go_out, 2) {
    struct request first = {0}, kept = {0}, refused = {.refuse = true}, after = {0};
    struct vpa_exchange *open;

    if (_i) {
        get(&first, "/first", 0);
        expect_ok(&first);
    }
    open = start(&kept, &(struct vpa_http_request){
                            .method = "GET", .target = "/kept?drip", .idle_timeout = VPA_MINUTE});
    wait_for(is_headed, &kept);
    post(&refused, "/refused", true);
    wait_for(request_is_done, &refused);
    ck_assert_int_eq(refused.failure, VPA_TRANSPORT_UNSENT);
    post(&after, "/after", false);
    expect_ok(&after);
    ck_assert(!kept.done);
    ck_assert_uint_eq(rough_server_seen(server, "POST /refused"), 0);
    ck_assert_uint_eq(rough_server_connections(server), 1);
    vpa_transport_cancel(client, open);
}

/* Silence */

TEST(a_frozen_connection_is_given_up) {
    struct request frozen = {0}, beside = {0}, write = {0}, next = {0};

    get(&frozen, "/f?freeze", VPA_SECOND / 2);
    get(&beside, "/beside", 0);
    post(&write, "/write", false);
    wait_for(request_is_done, &frozen);
    ck_assert_int_eq(frozen.failure, VPA_TRANSPORT_TIMEOUT);
    wait_for(request_is_done, &write);
    ck_assert(write.failure == VPA_TRANSPORT_OK || is_loss(write.failure));
    expect_ok(&beside); /* on a connection of its own, or on the new one */
    get(&next, "/next", 5 * VPA_SECOND);
    expect_ok(&next);
    ck_assert_uint_ge(rough_server_connections(server), 2);
}

/* A short question to a server that is slow to answer it takes nothing from the others. */
TEST(an_impatient_request_ends_no_connection) {
    struct request slow = {0}, first = {0}, next = {0};

    get(&first, "/first", 0);
    expect_ok(&first);
    get(&slow, "/s?silent", VPA_SECOND / 10);
    wait_for(request_is_done, &slow);
    ck_assert_int_eq(slow.failure, VPA_TRANSPORT_TIMEOUT);
    get(&next, "/next", 0);
    expect_ok(&next);
    ck_assert_uint_eq(rough_server_connections(server), 1);
}

static bool three_answers(void *ctx)
{
    struct request *r = ctx;

    if (r->done) {
        expect_ok(r);
        *r = (struct request){.streamed = r->streamed + 1};
        get(r, "/alive", 0);
    }
    return r->streamed >= 3;
}

TEST(one_silent_stream_leaves_the_others_alone) {
    struct request silent = {0}, drip = {0}, alive = {0}, next = {0};
    struct vpa_exchange *open;

    open = start(&drip, &(struct vpa_http_request){
                            .method = "GET", .target = "/d?drip", .idle_timeout = VPA_MINUTE});
    wait_for(is_headed, &drip);
    get(&silent, "/s?silent", 3 * VPA_SECOND);
    get(&alive, "/alive", 0);
    ck_assert_int_eq(vpa_loop_wait(loop, three_answers, &alive, 20 * VPA_SECOND, &err), 0);
    wait_for(request_is_done, &silent);
    ck_assert_int_eq(silent.failure, VPA_TRANSPORT_TIMEOUT);
    size_t before = drip.streamed;
    get(&next, "/next", 0);
    expect_ok(&next);
    ck_assert(!drip.done);
    ck_assert_uint_gt(before, 0);
    ck_assert_uint_eq(rough_server_connections(server), 1);
    vpa_transport_cancel(client, open);
}

static bool has_streamed_much(void *ctx)
{
    return ((struct request *)ctx)->streamed > 300 || ((struct request *)ctx)->done;
}

/* 200 bytes a second: fine where 20 are asked for, as good as nothing where 100,000 are. */
TEST(answers_in_drips) {
    struct request slow = {0}, patient = {0};
    struct vpa_http_request request = {
        .method = "GET", .target = "/d?drip", .idle_timeout = VPA_SECOND, .rate_min = 20};
    struct vpa_exchange *open = start(&patient, &request);

    request.rate_min = 100000;
    start(&slow, &request);
    wait_for(request_is_done, &slow);
    ck_assert_int_eq(slow.failure, VPA_TRANSPORT_TIMEOUT);
    ck_assert_uint_gt(slow.streamed, 0);
    wait_for(has_streamed_much, &patient);
    ck_assert(!patient.done);
    ck_assert_uint_eq(rough_server_connections(server), 1);
    vpa_transport_cancel(client, open);
}

TEST(a_server_that_accepts_and_says_nothing) {
    struct request r[5] = {0}, next = {0};

    vpa_transport_free(client);
    client = client_new(3 * VPA_SECOND); /* a handshake on a busy machine fits */
    rough_server_freeze(server, true);
    for (int i = 0; i < 5; i++)
        get(&r[i], "/x", 0);
    for (int i = 0; i < 5; i++) {
        wait_for(request_is_done, &r[i]);
        ck_assert_int_eq(r[i].failure, VPA_TRANSPORT_TIMEOUT);
    }
    rough_server_freeze(server, false);
    get(&next, "/next", 0);
    expect_ok(&next);
}

int main(void)
{
    return run_tests_within(60, "http2", rough_setup, rough_teardown);
}
