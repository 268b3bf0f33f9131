/*
 * The sockets are an array: a daemon has about a dozen. What poll(2) gets is a copy of it, because
 * curl takes sockets away and adds others while it is told of those that are ready.
 *
 * libcurl writes the head of an HTTP/2 request and its body as a TLS record each, with a system
 * call each. Each would leave as a segment of its own and wake the peer, which costs both more than
 * the request does. So the socket is corked while curl goes on. It never stays so when curl has
 * returned: whatever becomes of the request, what was written is on its way before poll(2). The
 * list is of descriptors: where one was closed since, and even where another socket has its number,
 * to take off a cork that is not there does nothing.
 */
#include "transfers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vpa/base/mem.h"

struct transfers {
    CURLM *multi;
    int running;
    int wake_fd;
    struct pollfd *sockets; /* sockets[0 .. count) */
    size_t count, capacity;
    struct pollfd *polled;
    size_t polled_capacity;
    curl_socket_t *held; /* held[0 .. held_count) are corked */
    size_t held_count, held_capacity;
};

static size_t place_of(const struct transfers *t, curl_socket_t fd)
{
    size_t i = 0;

    while (i < t->count && t->sockets[i].fd != fd)
        i++;
    return i;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *assigned)
{
    struct transfers *t = ctx;
    size_t i = place_of(t, fd);

    (void)easy;
    (void)assigned;
    if (what == CURL_POLL_REMOVE) {
        if (i < t->count)
            t->sockets[i] = t->sockets[--t->count];
        return 0;
    }
    if (i == t->count) {
        VPA_GROW(t->sockets, t->count, t->capacity);
        t->count++;
    }
    t->sockets[i] = (struct pollfd){.fd = fd};
    if (what & CURL_POLL_IN)
        t->sockets[i].events |= POLLIN;
    if (what & CURL_POLL_OUT)
        t->sockets[i].events |= POLLOUT;
    return 0;
}

struct transfers *transfers_new(void)
{
    struct transfers *t = vpa_xcalloc(1, sizeof(*t));

    curl_global_init(CURL_GLOBAL_DEFAULT);
    t->multi = curl_multi_init();
    t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!t->multi || t->wake_fd < 0) {
        perror("a loop for transfers");
        abort();
    }
    curl_multi_setopt(t->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(t->multi, CURLMOPT_SOCKETDATA, t);
    return t;
}

void transfers_free(struct transfers *t)
{
    curl_multi_cleanup(t->multi);
    curl_global_cleanup();
    close(t->wake_fd);
    free(t->sockets);
    free(t->polled);
    free(t->held);
    free(t);
}

CURLM *transfers_multi(struct transfers *t)
{
    return t->multi;
}

/* Where the kernel refuses, requests leave as they are written. */
static void set_cork(curl_socket_t fd, int on)
{
    setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
}

void transfers_hold(struct transfers *t, curl_socket_t fd)
{
    for (size_t i = 0; i < t->held_count; i++)
        if (t->held[i] == fd)
            return;
    VPA_GROW(t->held, t->held_count, t->held_capacity);
    t->held[t->held_count++] = fd;
    set_cork(fd, 1);
}

static void release_held(struct transfers *t)
{
    while (t->held_count > 0)
        set_cork(t->held[--t->held_count], 0);
}

void transfers_run(struct transfers *t)
{
    curl_multi_socket_action(t->multi, CURL_SOCKET_TIMEOUT, 0, &t->running);
    release_held(t);
}

int transfers_running(const struct transfers *t)
{
    return t->running;
}

void transfers_wake(struct transfers *t)
{
    if (eventfd_write(t->wake_fd, 1) < 0)
        return; /* it is as full as it gets: the wait ends anyhow */
}

static int until_due(const struct transfers *t, int timeout_ms)
{
    long due = -1;

    curl_multi_timeout(t->multi, &due);
    return due >= 0 && due < timeout_ms ? (int)due : timeout_ms;
}

/* wake_fd, own, sockets: their number. */
static size_t collect(struct transfers *t, const struct pollfd *own, size_t count)
{
    size_t need = 1 + count + t->count;

    if (need > t->polled_capacity) {
        t->polled = vpa_xreallocarray(t->polled, need, sizeof(*t->polled));
        t->polled_capacity = need;
    }
    t->polled[0] = (struct pollfd){.fd = t->wake_fd, .events = POLLIN};
    if (count)
        memcpy(t->polled + 1, own, count * sizeof(*own));
    if (t->count)
        memcpy(t->polled + 1 + count, t->sockets, t->count * sizeof(*t->sockets));
    return need;
}

/* curl is told of an error with what it waits for: it finds out by itself. */
static void go_on(struct transfers *t, const struct pollfd *ready)
{
    int bits = 0;

    if (ready->revents & (POLLIN | POLLPRI | POLLERR | POLLHUP | POLLNVAL))
        bits |= CURL_CSELECT_IN;
    if (ready->revents & POLLOUT)
        bits |= CURL_CSELECT_OUT;
    if (ready->revents & (POLLERR | POLLNVAL))
        bits |= CURL_CSELECT_ERR;
    if (bits)
        curl_multi_socket_action(t->multi, ready->fd, bits, &t->running);
}

void transfers_wait(struct transfers *t, struct pollfd *own, size_t count, int timeout_ms)
{
    size_t polled = collect(t, own, count);
    eventfd_t wakes;

    if (poll(t->polled, polled, until_due(t, timeout_ms)) <= 0)
        return;
    if (t->polled[0].revents && eventfd_read(t->wake_fd, &wakes) < 0)
        t->polled[0].revents = 0; /* somebody else's: nobody reads it but us */
    if (count)
        memcpy(own, t->polled + 1, count * sizeof(*own));
    for (size_t i = 1 + count; i < polled; i++)
        go_on(t, t->polled + i);
    release_held(t);
}
