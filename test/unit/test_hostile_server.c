/*
 * Strangers at the listeners: many who say nothing, some who say it slowly, some who say nonsense.
 * Whoever asks a question is answered meanwhile, and the server stops when it is told to.
 */
#include <sys/resource.h>

#include "http_fixture.h"
#include "vpa/net/tls.h"

#define MANY (VPA_SERVER_CONNECTIONS_MAX + 100)
#define STOP_MAX (5 * VPA_SECOND)

static struct vpa_tls_pair ca, pair;
static struct vpa_http_server *server;
static int fds[MANY];
static size_t fd_count;

static void hostile_setup(void)
{
    static const char *const names[] = {"localhost", "127.0.0.1"};

    setup();
    ck_assert_int_eq(vpa_tls_create_ca("test ca", vpa_clock_now(clk), VPA_HOUR, &ca, &err), 0);
    ck_assert_int_eq(
        vpa_tls_create_certificate(&ca, names, 2, true, vpa_clock_now(clk), VPA_HOUR, &pair, &err),
        0);
    fd_count = 0;
}

static void hang_up(void)
{
    while (fd_count > 0)
        close(fds[--fd_count]);
}

static void stop(void)
{
    int64_t begin = read_clock(CLOCK_MONOTONIC);

    vpa_http_server_free(server);
    ck_assert_int_lt(read_clock(CLOCK_MONOTONIC) - begin, STOP_MAX);
    server = NULL;
}

static void hostile_teardown(void)
{
    if (server)
        stop();
    hang_up();
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&pair);
    teardown();
}

/* The two kinds of listeners: on the loop without TLS, with threads and TLS. */
static void start(bool tls, struct vpa_http_server_options options)
{
    const struct vpa_server_tls settings = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};

    options.address = "0.0.0.0:0";
    options.handler = options.handler ? options.handler : handle;
    options.threads = tls ? 2 : 0;
    options.tls = tls ? &settings : NULL;
    server = vpa_http_server_new(loop, &options, &err);
    ck_assert_msg(server != NULL, "%s", err.text);
}

/* A connection from 127.0.0.HOST. */
static int connect_from(int host)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (uint32_t)host)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    connect_raw(fd, vpa_http_server_port(server));
    ck_assert_uint_lt(fd_count, MANY);
    return fds[fd_count++] = fd;
}

/* The server gets some time to take in what came. */
static void settle(void)
{
    vpa_loop_pump(loop, 20 * VPA_MILLISECOND);
}

static void expect_answer(bool tls)
{
    const struct vpa_http_client_options good = {.ca_data = ca.cert_pem};
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), tls ? &good : NULL);

    fetch(t, "GET", "/x", NULL);
    ck_assert_msg(got.status == 200, "%d %s", got.status, got.error);
    vpa_transport_free(t);
}

struct end {
    int fd;
    char text[1024];
    size_t len;
};

static bool has_ended(void *ctx)
{
    struct end *e = ctx;
    char rest[256];
    ssize_t n;

    while ((n = recv(e->fd, rest, sizeof(rest), MSG_DONTWAIT)) > 0)
        for (ssize_t i = 0; i < n && e->len < sizeof(e->text) - 1; i++)
            e->text[e->len++] = rest[i];
    return n == 0 || errno != EAGAIN;
}

/* What the server's threads do wakes no loop of ours: it is asked again and again. */
static bool comes_true(vpa_done_fn fn, void *ctx)
{
    for (int i = 0; i < 500; i++) {
        if (fn(ctx))
            return true;
        settle();
    }
    return false;
}

/* Waits until the server has closed it; what came before. */
static const char *read_to_end(int fd)
{
    static struct end e;

    e = (struct end){.fd = fd};
    ck_assert_msg(comes_true(has_ended, &e), "still open");
    return e.text;
}

static bool is_open(int fd)
{
    struct end e = {.fd = fd};

    return !has_ended(&e);
}

/* More than it can hold, who say nothing, go, and leave it as it was. */
TEST_TIMES(many_silent_connections, 2) {
    bool tls = _i == 1;

    start(tls, (struct vpa_http_server_options){0});
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            connect_from(2);
            if (i % 64 == 0)
                settle();
        }
        settle();
        expect_answer(tls);
        hang_up();
        expect_answer(tls);
    }
}

TEST_TIMES(stops_while_connections_hang, 2) {
    static const char *const half[] = {"", "GET / HT", "POST / HTTP/1.1\r\nHost: h\r\n",
                                       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab"};
    bool tls = _i == 1;

    start(tls, (struct vpa_http_server_options){0});
    for (int i = 0; i < MANY; i++) {
        dprintf(connect_from(2), "%s", tls ? "" : half[i % 4]);
        if (i % 64 == 0)
            settle();
    }
    expect_answer(tls);
    stop();
}

/* One address with all its connections does not take the place of another's. */
TEST(a_greedy_address_displaces_itself) {
    int other;

    start(false, (struct vpa_http_server_options){.connections_max = 16});
    other = connect_from(1);
    dprintf(other, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    settle();
    for (int i = 0; i < 100; i++) {
        connect_from(2);
        if (i % 8 == 0)
            settle();
    }
    settle();
    ck_assert(is_open(other));
    dprintf(other, "GET /again HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(read_to_end(other), "GET /again"));
}

/* Silent ones that hold the last descriptors make way as those do that hold the last places. */
TEST_TIMES(descriptors_run_out, 2) {
    struct rlimit usual, few;
    int crowd[20], asking;

    start(_i == 1, (struct vpa_http_server_options){0});
    for (size_t i = 0; i < VPA_COUNT(crowd); i++)
        fds[fd_count++] = crowd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fds[fd_count++] = asking = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    few.rlim_cur = (rlim_t)asking + 5;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (size_t i = 0; i < VPA_COUNT(crowd); i++)
        connect_raw(crowd[i], vpa_http_server_port(server));
    settle();
    connect_raw(asking, vpa_http_server_port(server));
    dprintf(asking, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const char *answer = read_to_end(asking);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
    if (_i == 0) /* with TLS it is no question, but its end shows that it was taken in */
        ck_assert_ptr_nonnull(strstr(answer, "GET /x"));
}

/* What a good client of a busy machine keeps to. */
#define BRIEF (1500 * VPA_MILLISECOND)

static const struct {
    const char *bytes;
    struct vpa_http_server_options options;
} dawdlers[] = {
    {"", {.head_timeout = BRIEF}},
    {"GET / HT", {.head_timeout = BRIEF}},
    {"GET / HTTP/1.1\r\nHost: h\r\n", {.head_timeout = BRIEF}},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab", {.transfer_timeout = BRIEF}},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
     {.transfer_timeout = BRIEF}},
    {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", {.idle_timeout = BRIEF}},
    {"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /second HTTP/1.1\r\nHost", {.head_timeout = BRIEF}},
};

static const char *repeated; /* a byte that a dawdler goes on sending */
static int repeat_to;

static bool dawdled(void *ctx)
{
    if (repeated)
        send(repeat_to, repeated, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return has_ended(ctx);
}

TEST_EACH(dawdlers_are_dropped, dawdlers) {
    struct end e = {0};

    start(false, dawdlers[_i].options);
    e.fd = repeat_to = connect_from(1);
    dprintf(e.fd, "%s", dawdlers[_i].bytes);
    ck_assert(comes_true(has_ended, &e));
    expect_answer(false);
}

/* Whoever was answered may stay for another question, however short the other times are. */
TEST(the_answered_may_stay) {
    int fd;

    start(false,
          (struct vpa_http_server_options){.transfer_timeout = BRIEF, .head_timeout = BRIEF});
    fd = connect_from(1);
    dprintf(fd, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    vpa_loop_pump(loop, 2 * BRIEF + VPA_SECOND); /* two sweeps */
    ck_assert(is_open(fd));
    dprintf(fd, "GET /again HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(read_to_end(fd), "GET /again"));
}

/* A byte now and then does not help. */
TEST(slow_heads_are_dropped) {
    struct end e = {0};

    start(false, (struct vpa_http_server_options){.head_timeout = BRIEF});
    e.fd = repeat_to = connect_from(1);
    dprintf(e.fd, "GET / HTTP/1.1\r\nX-Long: ");
    repeated = "x";
    ck_assert(comes_true(dawdled, &e));
    repeated = NULL;
    ck_assert_ptr_null(strstr(e.text, " 200 "));
    expect_answer(false);
}

/* The first flight of a client of TLS 1.2, byte by byte, and then nothing. */
TEST(slow_handshakes_are_dropped) {
    static const unsigned char hello[] = {0x16, 0x03, 0x01, 0x00, 0x49, 0x01, 0x00, 0x00};
    int fd;

    start(true, (struct vpa_http_server_options){.handshake_timeout = BRIEF});
    fd = connect_from(1);
    for (size_t i = 0; i < sizeof(hello); i++) {
        ck_assert_int_eq(send(fd, hello + i, 1, MSG_NOSIGNAL), 1);
        settle();
    }
    expect_answer(true);
    ck_assert_str_eq(read_to_end(fd), "");
    expect_answer(true);
}

/* Whoever has finished it has the time of a head. */
TEST(a_finished_handshake_has_time) {
    const struct vpa_http_client_options good = {.ca_data = ca.cert_pem};

    start(true, (struct vpa_http_server_options){.handshake_timeout = VPA_SECOND,
                                                 .idle_timeout = 20 * VPA_SECOND});
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), &good);
    fetch(t, "GET", "/x", NULL);
    int port = vpa_http_server_port(server);
    vpa_auto_free char *command = vpa_xprintf(
        "(sleep 3; printf 'GET /late HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n'; "
        "sleep 1) | openssl s_client -quiet -connect 127.0.0.1:%d 2>/dev/null",
        port);
    FILE *out = popen(command, "r");
    char answer[1024] = "";
    ck_assert_ptr_nonnull(out);
    size_t n = fread(answer, 1, sizeof(answer) - 1, out);
    pclose(out);
    answer[n] = '\0';
    ck_assert_msg(strstr(answer, "GET /late") != NULL, "%s", answer);
    vpa_transport_free(t);
}

/* Large bodies that drip do not keep others from being answered. */
TEST_TIMES(dripping_bodies, 2) {
    start(_i == 1, (struct vpa_http_server_options){.connections_max = 128});
    for (int i = 0; i < 100; i++)
        dprintf(connect_from(2), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5242880\r\n\r\nx");
    settle();
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < fd_count; i++)
            send(fds[i], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        expect_answer(_i == 1);
    }
    stop();
}

/* Who asks for 3 MiB and does not read them. */
static int ask_for_much(int host)
{
    int small = 4096, fd = connect_from(host);

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    dprintf(fd, "GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
    settle();
    return fd;
}

/* The server's end of a connection: it is in this process as well. */
static int other_end(int fd)
{
    struct sockaddr_in mine, peer;
    socklen_t len = sizeof(mine);

    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&mine, &len), 0);
    for (int other = 0; other < fd + MANY; other++) {
        len = sizeof(peer);
        if (getpeername(other, (struct sockaddr *)&peer, &len) == 0 && peer.sin_family == AF_INET &&
            peer.sin_port == mine.sin_port)
            return other;
    }
    ck_abort_msg("not taken in");
}

static int buffer_of(int fd, int which)
{
    int bytes = 0;
    socklen_t len = sizeof(bytes);

    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, which, &bytes, &len), 0);
    return bytes;
}

/* A peer that has sent a large body well, and takes nothing of a large answer. */
TEST(the_kernel_keeps_little) {
    static char bytes[65536];
    int fd;

    start(false, (struct vpa_http_server_options){0});
    fd = connect_from(2);
    dprintf(fd, "POST /big HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", 4 << 20);
    for (int sent = 0; sent < 4 << 20;) {
        ssize_t n = send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);

        sent += n > 0 ? (int)n : 0;
        vpa_loop_pump(loop, VPA_MILLISECOND);
    }
    settle();
    ck_assert_int_le(buffer_of(other_end(fd), SO_SNDBUF), 256 << 10);
    ck_assert_int_le(buffer_of(other_end(fd), SO_RCVBUF), 128 << 10);
}

/* TLS is written in records. Where the kernel has no room for more than a segment of the loopback,
 * 64 KiB, each waits for its acknowledgement, which is 40 ms late: 3 MiB take 2 s, else less than
 * 0.1 s. The best of some rounds, as a busy machine is slow now and then, but not each time. */
TEST(who_reads_a_large_answer_waits_for_no_acknowledgement) {
    const struct vpa_http_client_options trusting = {.ca_data = ca.cert_pem};
    int64_t best = VPA_HOUR;

    start(true, (struct vpa_http_server_options){0});
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), &trusting);
    for (int round = 0; round < 5 && best > VPA_SECOND; round++) {
        int64_t begin = read_clock(CLOCK_MONOTONIC);

        fetch(t, "GET", "/big", NULL);
        int64_t time = read_clock(CLOCK_MONOTONIC) - begin;
        ck_assert_uint_eq(got.body_len, 3 << 20);
        best = time < best ? time : best;
    }
    ck_assert_int_le(best, VPA_SECOND);
    vpa_transport_free(t);
}

static const char *read_begin(int fd)
{
    static char text[1024];
    ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* What unread answers hold beyond their first 64 KiB is bounded: here by what two have. Small ones
 * have room always, large ones of somebody else at the cost of who holds most; who holds it has
 * none for more. */
TEST_TIMES(unread_answers_are_bounded, 2) {
    const struct vpa_http_server_options options = {.address = "127.0.0.1:0",
                                                    .handler = handle,
                                                    .threads = (unsigned)_i,
                                                    .answers_max = 2 * ((3 << 20) - (64 << 10))};
    int first;

    server = vpa_http_server_new(loop, &options, &err);
    ck_assert_msg(server != NULL, "%s", err.text);
    first = ask_for_much(2);
    ask_for_much(2);
    ck_assert_ptr_nonnull(strstr(read_begin(ask_for_much(2)), " 503 "));
    expect_answer(false);
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), NULL);
    fetch(t, "GET", "/big", NULL);
    ck_assert_int_eq(got.status, 200);
    ck_assert_uint_eq(got.body_len, 3 << 20);
    vpa_transport_free(t);
    read_to_end(first);
}

static void handle_with_room(void *ctx, const struct vpa_server_request *q,
                             struct vpa_server_response *r)
{
    if (vpa_server_take_room(q, 3 << 20))
        handle(ctx, q, r);
    else
        vpa_server_reply_text(r, 200, "nothing was done");
}

/* Room that a handler has taken is not taken again behind it. */
TEST(a_handler_knows_whether_there_is_room) {
    start(false, (struct vpa_http_server_options){.handler = handle_with_room,
                                                  .answers_max = 2 * ((3 << 20) - (64 << 10))});
    ask_for_much(2);
    const char *second = read_begin(ask_for_much(2));
    ck_assert(strstr(second, " 200 ") && !strstr(second, "nothing was done"));
    ck_assert_ptr_nonnull(strstr(read_begin(ask_for_much(2)), "nothing was done"));
}

/* A handler that a hostile body keeps busy: until somebody says so. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static int at_gate;

static void handle_slowly(void *ctx, const struct vpa_server_request *q,
                          struct vpa_server_response *r)
{
    if (q->body_len > 0) {
        pthread_mutex_lock(&gate);
        at_gate++;
        while (!gate_open)
            pthread_cond_wait(&gate_changed, &gate);
        pthread_mutex_unlock(&gate);
    }
    handle(ctx, q, r);
}

static void *open_gate(void *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&gate);
    gate_open = true;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate);
    return NULL;
}

static bool is_at_gate(void *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&gate);
    bool there = at_gate > 0;
    pthread_mutex_unlock(&gate);
    return there;
}

#define LARGE 100000

static int post_large(void)
{
    vpa_auto_free char *body = vpa_xmalloc(LARGE);
    int fd = connect_from(1);
    size_t sent = 0;

    memset(body, 'x', LARGE);
    dprintf(fd,
            "POST /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
            "Content-Length: %d\r\n\r\n",
            LARGE);
    while (sent < LARGE) {
        ssize_t n = write(fd, body + sent, LARGE - sent);

        ck_assert_int_gt(n, 0);
        sent += (size_t)n;
    }
    return fd;
}

/* One thread and one worker: what keeps the worker busy keeps nobody else waiting. */
static void start_with_worker(void)
{
    const struct vpa_http_server_options options = {
        .address = "127.0.0.1:0", .handler = handle_slowly, .threads = 1, .workers = 1};

    gate_open = false;
    at_gate = 0;
    server = vpa_http_server_new(loop, &options, &err);
    ck_assert_msg(server != NULL, "%s", err.text);
}

TEST(large_bodies_keep_nobody_waiting) {
    int first, second;

    start_with_worker();
    first = post_large();
    ck_assert(comes_true(is_at_gate, NULL));
    second = post_large();
    for (int i = 0; i < 10; i++)
        expect_answer(false);
    ck_assert(is_open(first) && is_open(second));
    open_gate(NULL);
    ck_assert_ptr_nonnull(strstr(read_to_end(first), "POST /large [] 100000"));
    ck_assert_ptr_nonnull(strstr(read_to_end(second), "POST /large [] 100000"));
}

/* Its only thread is busy, so it has not looked at anybody whom the listener has let in. */
TEST(who_comes_while_the_threads_are_behind_waits) {
    const struct vpa_http_server_options options = {
        .address = "127.0.0.1:0", .handler = handle_slowly, .threads = 1, .connections_max = 2};

    gate_open = false;
    at_gate = 0;
    server = vpa_http_server_new(loop, &options, &err);
    ck_assert_msg(server != NULL, "%s", err.text);
    dprintf(connect_from(1), "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
    ck_assert(comes_true(is_at_gate, NULL));
    connect_from(2);
    int last = connect_from(3);
    dprintf(last, "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    settle(); /* less than the listener's patience, on a machine that is slow as well */
    ck_assert(is_open(last));
    open_gate(NULL);
    ck_assert_ptr_nonnull(strstr(read_to_end(last), "GET /last"));
}

/* The server lets the first go on only when the second was told that it has no turn. */
static void *open_gate_after(void *ctx)
{
    struct end *e = ctx;
    ssize_t n;

    while (e->len < sizeof(e->text) - 1 &&
           (n = read(e->fd, e->text + e->len, sizeof(e->text) - 1 - e->len)) > 0)
        e->len += (size_t)n;
    return open_gate(NULL);
}

/* What has not begun when the server stops is not begun. */
TEST(stops_with_large_bodies_waiting) {
    struct end second = {0};
    pthread_t thread;
    int first;

    start_with_worker();
    first = post_large();
    ck_assert(comes_true(is_at_gate, NULL));
    second.fd = post_large();
    expect_answer(false); /* its one thread has taken in what came before */
    ck_assert_int_eq(pthread_create(&thread, NULL, open_gate_after, &second), 0);
    stop();
    pthread_join(thread, NULL);
    ck_assert_int_eq(at_gate, 1);
    read_to_end(first);
    ck_assert_ptr_null(strstr(second.text, "POST /large"));
}

static const char *const nonsense[] = {
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "\x16\x03\x01 no TLS here at all",
    "\x16\x03\x03\xff\xff",
    "\x80\x2e\x01\x03\x01",
    "\r\n\r\n\r\n",
    "SSH-2.0-OpenSSH_9.2\r\n",
};

TEST_EACH(nonsense_before_tls, nonsense) {
    int fd;

    start(true, (struct vpa_http_server_options){.handshake_timeout = BRIEF});
    fd = connect_from(1);
    dprintf(fd, "%s", nonsense[_i]);
    const char *answer = read_to_end(fd);
    ck_assert_ptr_null(strstr(answer, "200"));
    expect_answer(true);
}

/* A client of TLS 1.2 that wants a new handshake gets none, and nobody else notices. */
TEST(renegotiation) {
    start(true, (struct vpa_http_server_options){0});
    vpa_auto_free char *command = vpa_xprintf(
        "(sleep 0.3; echo R; sleep 0.3; echo R 2>/dev/null; sleep 0.3) | openssl s_client -tls1_2 "
        "-connect 127.0.0.1:%d >/dev/null 2>&1",
        vpa_http_server_port(server));
    ck_assert_int_ne(system(command), -1);
    expect_answer(true);
}

int main(void)
{
    return run_tests_within(60, "hostile_server", hostile_setup, hostile_teardown);
}
