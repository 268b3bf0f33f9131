#include "stub_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vpa/base/mem.h"

#define CONNECTIONS_MAX 1024
#define EVENTS_MAX 64
#define PAGE 500
#define TARGET_MAX 4096

struct stub_connection {
    int fd;
    struct vpa_buf in;
    struct vpa_buf out;
    size_t sent;
    bool waits_for_room; /* epoll tells when the socket takes more */
    const char *watches; /* a collection, NULL: none */
};

static struct stub_connection *connections[CONNECTIONS_MAX];
static size_t connection_count; /* places ever used */
static int poller;
static size_t version = 1000000;

size_t stub_version(void)
{
    return version;
}

size_t stub_next_version(void)
{
    return ++version;
}

/* ---- answers ---- */

void stub_answer(struct stub_connection *c, int code, const char *body, size_t len)
{
    vpa_buf_printf(&c->out,
                   "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   code, len);
    vpa_buf_append(&c->out, body, len);
}

size_t stub_parameter(const char *target, const char *name)
{
    const char *at = strstr(target, name);

    return at ? (size_t)strtoul(at + strlen(name), NULL, 10) : 0;
}

struct page {
    const char *collection;
    size_t from;
    char *text;
    size_t len;
};
static struct page *pages;
static size_t page_count, page_capacity;

static void put_page(struct vpa_buf *b, size_t from, size_t to, size_t count, stub_put_fn put)
{
    vpa_buf_printf(
        b, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%zu\"",
        version);
    if (to < count)
        vpa_buf_printf(b, ",\"continue\":\"%zu\"", to);
    vpa_buf_puts(b, "},\"items\":[");
    for (size_t i = from; i < to; i++) {
        if (i > from)
            vpa_buf_putc(b, ',');
        put(b, i);
    }
    vpa_buf_puts(b, "]}");
}

void stub_make_pages(const char *collection, size_t count, stub_put_fn put)
{
    for (size_t from = 0; from < count; from += PAGE) {
        struct vpa_buf b;

        vpa_buf_init(&b, STUB_TEXT_MAX);
        put_page(&b, from, from + PAGE < count ? from + PAGE : count, count, put);
        VPA_GROW(pages, page_count, page_capacity);
        pages[page_count].len = b.len;
        pages[page_count].collection = collection;
        pages[page_count].from = from;
        pages[page_count++].text = vpa_buf_take(&b);
    }
}

static bool answer_from_pages(struct stub_connection *c, const char *target)
{
    size_t from = stub_parameter(target, "continue=");

    for (size_t i = 0; i < page_count; i++)
        if (pages[i].from == from && strstr(target, pages[i].collection)) {
            stub_answer(c, 200, pages[i].text, pages[i].len);
            return true;
        }
    return false;
}

void stub_answer_list(struct stub_connection *c, const char *target, size_t count, stub_put_fn put)
{
    size_t limit = stub_parameter(target, "limit=");
    size_t from = stub_parameter(target, "continue=");
    size_t to = limit > 0 && from + limit < count ? from + limit : count;
    vpa_auto_buf b = {0};

    if (answer_from_pages(c, target))
        return;
    vpa_buf_init(&b, STUB_TEXT_MAX);
    put_page(&b, from, to, count, put);
    stub_answer(c, 200, vpa_buf_text(&b), b.len);
}

/* ---- watches ---- */

void stub_start_watch(struct stub_connection *c, const char *collection)
{
    vpa_buf_puts(
        &c->out,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    c->watches = collection;
}

void stub_send_event(const char *collection, const char *type, const char *object)
{
    size_t len = strlen(type) + strlen(object) + strlen("{\"type\":\"\",\"object\":}\n");

    for (size_t k = 0; k < connection_count; k++) {
        struct stub_connection *c = connections[k];

        if (!c || !c->watches || strcmp(c->watches, collection) != 0)
            continue;
        vpa_buf_printf(&c->out, "%zx\r\n{\"type\":\"%s\",\"object\":", len, type);
        vpa_buf_puts(&c->out, object);
        vpa_buf_puts(&c->out, "}\n\r\n");
    }
}

/* ---- requests ---- */

/* Answers every complete request in the buffer. */
static void answer_requests(struct stub_connection *c, stub_dispatch_fn dispatch, void *ctx)
{
    for (;;) {
        char *text = c->in.data;
        char *end = text ? strstr(text, "\r\n\r\n") : NULL;
        size_t body_len = 0;
        char method[16];
        char target[TARGET_MAX];

        if (!end)
            return;
        char *length = strcasestr(text, "\r\ncontent-length:");
        if (length && length < end)
            body_len = strtoul(length + 17, NULL, 10);
        size_t head = (size_t)(end - text) + 4;
        if (c->in.len < head + body_len || sscanf(text, "%15s %4095s", method, target) != 2)
            return;
        vpa_auto_free char *body = vpa_xstrndup(text + head, body_len);
        dispatch(ctx, c, &(struct stub_request){method, target, body});
        vpa_buf_consume(&c->in, head + body_len);
        if (c->in.data)
            c->in.data[c->in.len] = '\0';
    }
}

/* ---- sockets ---- */

static void flush(struct stub_connection *c)
{
    bool waits = false;

    while (c->sent < c->out.len) {
        ssize_t n = write(c->fd, c->out.data + c->sent, c->out.len - c->sent);

        if (n <= 0) {
            waits = true;
            break;
        }
        c->sent += (size_t)n;
    }
    if (!waits) {
        vpa_buf_clear(&c->out);
        c->sent = 0;
    }
    if (waits == c->waits_for_room)
        return;
    c->waits_for_room = waits;
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd,
              &(struct epoll_event){.events = EPOLLIN | (waits ? EPOLLOUT : 0u), .data.ptr = c});
}

static bool read_more(struct stub_connection *c)
{
    for (;;) {
        char *room = vpa_buf_reserve(&c->in, 65536);
        ssize_t n = room ? read(c->fd, room, 65535) : 0;

        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        vpa_buf_advance(&c->in, (size_t)n);
        c->in.data[c->in.len] = '\0';
        if (n < 65535) /* no more for now: saves a system call that would only say so */
            return true;
    }
}

static void accept_connection(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int on = 1;
    struct stub_connection *c;

    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (connections[i])
            continue;
        c = connections[i] = vpa_xcalloc(1, sizeof(*c));
        c->fd = fd;
        if (i >= connection_count)
            connection_count = i + 1;
        vpa_buf_init(&c->in, STUB_TEXT_MAX);
        vpa_buf_init(&c->out, STUB_TEXT_MAX);
        epoll_ctl(poller, EPOLL_CTL_ADD, fd,
                  &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
        return;
    }
    close(fd);
}

static void drop(struct stub_connection *c)
{
    for (size_t i = 0; i < connection_count; i++)
        if (connections[i] == c)
            connections[i] = NULL;
    close(c->fd);
    vpa_buf_release(&c->in);
    vpa_buf_release(&c->out);
    free(c);
}

int stub_listen(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    signal(SIGPIPE, SIG_IGN);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, CONNECTIONS_MAX) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) < 0) {
        perror("stub server");
        exit(1);
    }
    *port = ntohs(address.sin_port);
    return listener;
}

void stub_serve(int listener, stub_dispatch_fn dispatch, void *ctx)
{
    poller = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN});
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(poller, events, EVENTS_MAX, -1);

        for (int k = 0; k < count; k++) {
            struct stub_connection *c = events[k].data.ptr;

            if (!c) {
                accept_connection(listener);
                continue;
            }
            if (events[k].events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !read_more(c)) {
                drop(c);
                continue;
            }
            answer_requests(c, dispatch, ctx);
        }
        /* Once for all that was said in this turn, watches included. */
        for (size_t i = 0; i < connection_count; i++)
            if (connections[i] && connections[i]->out.len > 0)
                flush(connections[i]);
    }
}
