/* What a request costs beside transfers that have nothing to do, and who wakes the loop. */
#include <sched.h>

#include "http_fixture.h"

#define WATCHES 20
#define REQUESTS 50

/* Takes the place of the C library's, for libcurl too. Each thread counts for itself. */
static _Thread_local size_t polls;

__attribute__((visibility("default"))) int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

    polls++;
    return ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}

static int count_event(void *ctx, const char *bytes, size_t len)
{
    (void)bytes;
    (void)len;
    ++*(size_t *)ctx;
    return 0;
}

static void nothing_more(void *ctx, const struct vpa_http_result *result)
{
    (void)ctx;
    (void)result;
}

struct quiet_peer {
    int fd, port;
    int peers[WATCHES];
    size_t heard; /* watches that got their first event */
};

/* Answers each watch with one event, and says nothing from then on. */
static void answer_watches(struct quiet_peer *p, struct vpa_transport *t)
{
    const struct vpa_http_request watch = {.method = "GET", .target = "/", .watch = true};
    const struct vpa_http_handler handler = {
        .on_data = count_event, .on_done = nothing_more, .ctx = &p->heard};

    for (size_t i = 0; i < WATCHES; i++) {
        vpa_transport_start(t, &watch, &handler);
        while ((p->peers[i] = accept4(p->fd, NULL, NULL, SOCK_NONBLOCK)) < 0)
            vpa_loop_poll(loop);
        dprintf(p->peers[i], "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n");
        while (p->heard <= i)
            vpa_loop_poll(loop);
    }
}

static void listen_quietly(struct quiet_peer *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);

    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(p->fd, (struct sockaddr *)&a, len), 0);
    ck_assert_int_eq(listen(p->fd, WATCHES), 0);
    getsockname(p->fd, (struct sockaddr *)&a, &len);
    p->port = ntohs(a.sin_port);
}

static size_t polls_of_requests(struct vpa_transport *t)
{
    size_t before = polls;

    for (size_t i = 0; i < REQUESTS; i++) {
        fetch(t, "GET", "/", NULL);
        ck_assert_int_eq(got.status, 200);
    }
    return polls - before;
}

TEST(watches_that_say_nothing_cost_a_request_nothing) {
    struct vpa_http_server *server = serve(1, NULL);
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), NULL);
    struct quiet_peer peer = {0};

    listen_quietly(&peer);
    struct vpa_transport *watches = connect_to(peer.port, NULL);
    size_t alone = polls_of_requests(t);
    ck_assert_uint_gt(alone, 0);
    answer_watches(&peer, watches);
    size_t beside = polls_of_requests(t);
    /* A look at each watch is twenty times as much; a busy machine wakes us more often. */
    ck_assert_msg(beside < alone * 3, "%zu calls of poll(2) for %d requests, %zu without", beside,
                  REQUESTS, alone);
    vpa_transport_free(watches);
    vpa_transport_free(t);
    vpa_http_server_free(server);
    for (size_t i = 0; i < WATCHES; i++)
        close(peer.peers[i]);
    close(peer.fd);
}

/* A post of another thread, while the loop sleeps. */
struct other_thread {
    pid_t sleeper;
    bool arrived;
};

static bool sleeps(pid_t thread)
{
    vpa_auto_free char *path = vpa_xprintf("/proc/self/task/%d/stat", (int)thread);
    FILE *f = fopen(path, "r");
    char state = 0;

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
    fclose(f);
    return state == 'S';
}

static void arrive(void *ctx)
{
    ((struct other_thread *)ctx)->arrived = true;
}

static void *post_to_sleeper(void *ctx)
{
    struct other_thread *o = ctx;

    while (!sleeps(o->sleeper))
        sched_yield();
    vpa_loop_post(loop, arrive, o);
    return NULL;
}

static bool has_arrived(void *ctx)
{
    return ((struct other_thread *)ctx)->arrived;
}

TEST(a_post_wakes_the_loop) {
    struct other_thread o = {.sleeper = gettid()};
    pthread_t thread;

    pthread_create(&thread, NULL, post_to_sleeper, &o);
    ck_assert_int_eq(vpa_loop_wait(loop, has_arrived, &o, 10 * VPA_SECOND, &err), 0);
    pthread_join(thread, NULL);
}

int main(void)
{
    return run_tests_within(30, "transfers", setup, teardown);
}
