/* Two records that leave together, also through a socket that is full. */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../src/net/server_push.h"
#include "suite.h"

static int ours, theirs;
static struct server_push *push;

static void connect_by(int type)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, fds), 0);
    ours = fds[0];
    theirs = fds[1];
    push = server_push_new(ours);
}

static void teardown(void)
{
    server_push_free(push);
    close(ours);
    close(theirs);
}

static ssize_t say(const char *first, const char *second)
{
    const giovec_t pieces[] = {{(void *)(uintptr_t)first, strlen(first)},
                               {(void *)(uintptr_t)second, strlen(second)}};

    return server_push_send(push, pieces, 2);
}

static void expect(const char *text)
{
    char got[64] = "";
    ssize_t n = recv(theirs, got, sizeof(got) - 1, 0);

    ck_assert_msg(n == (ssize_t)strlen(text) && strcmp(got, text) == 0, "%s", got);
}

static void expect_nothing(void)
{
    char got[8];

    ck_assert_int_eq(recv(theirs, got, sizeof(got), 0), -1);
}

/* The boundaries of what was sent show at the other end. */
TEST(two_leave_together) {
    connect_by(SOCK_SEQPACKET);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(say("hand", "shake"), 9);
        expect("handshake");
        server_push_join(push);
        ck_assert_int_eq(say("he", "ad "), 5);
        expect_nothing();
        ck_assert_int_eq(say("bo", "dy"), 4);
        expect("head body");
        ck_assert_int_eq(say("more", ""), 4);
        expect("more");
    }
}

TEST(a_long_one_does_not_wait) {
    static char text[(16 << 10) + 2];

    connect_by(SOCK_STREAM);
    memset(text, 'x', sizeof(text) - 1);
    server_push_join(push);
    ck_assert_int_eq(say(text, ""), sizeof(text) - 1);
    ck_assert_int_eq(recv(theirs, text, sizeof(text), 0), sizeof(text) - 1);
    ck_assert_int_eq(say("more", ""), 4);
    expect("more");
}

TEST(a_peer_that_is_gone) {
    connect_by(SOCK_STREAM);
    server_push_join(push);
    ck_assert_int_eq(say("head", ""), 4);
    shutdown(theirs, SHUT_RDWR);
    ck_assert_int_eq(say("body", ""), -1);
    ck_assert_int_eq(errno, EPIPE);
}

/* A pattern in which no byte is like the one that should have been there after a gap. */
static void fill(char *text, size_t len, unsigned *state)
{
    for (size_t i = 0; i < len; i++) {
        *state = *state * 1103515245 + 12345;
        text[i] = (char)(*state >> 16);
    }
}

static void read_some(size_t max, unsigned *state, size_t *total)
{
    char got[4096], due[4096];
    ssize_t n = recv(theirs, got, max, 0);

    if (n <= 0)
        return;
    fill(due, (size_t)n, state);
    ck_assert_int_eq(memcmp(got, due, (size_t)n), 0);
    *total += (size_t)n;
}

/* As GnuTLS does it: what was not taken is offered again. */
TEST(a_full_socket_loses_nothing) {
    unsigned written = 1, read_state = 1, refused = 0;
    size_t sent = 0, got = 0;
    int size = 4096;

    connect_by(SOCK_STREAM);
    setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    for (int i = 0; i < 2000; i++) {
        char text[3000];
        size_t len = 1 + (size_t)(i * 7919) % sizeof(text), offset = 0;

        fill(text, len, &written);
        if (i % 2 == 0)
            server_push_join(push);
        while (offset < len) {
            const giovec_t piece = {text + offset, len - offset};
            ssize_t n = server_push_send(push, &piece, 1);

            ck_assert(n > 0 || (n == -1 && errno == EAGAIN));
            refused += n < 0;
            offset += n > 0 ? (size_t)n : 0;
            if (n < 0)
                read_some(1 + (size_t)(i * 31) % 900, &read_state, &got);
        }
        sent += len;
    }
    while (got < sent)
        read_some(4096, &read_state, &got);
    ck_assert_uint_eq(got, sent);
    ck_assert_uint_gt(refused, 100);
}

int main(void)
{
    return run_tests("server_push", NULL, teardown);
}
