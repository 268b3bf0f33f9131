#include "stub_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "http_peer.h"
#include "vpa/base/mem.h"

#define CONNECTIONS_MAX 1024
#define WATCHES_MAX 256
#define EVENTS_MAX 64
#define PAGE 500
/* Of API servers: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go */
#define GZIP_FROM ((size_t)128 << 10)
#define GZIP_LEVEL 1
#define GZIP_WINDOW_BITS (15 + 16)

struct connection {
    int fd;
    struct http_peer *peer;
    uint64_t received;   /* as counted so far */
    bool waits_for_room; /* epoll tells when the socket takes more */
    bool over;
};

struct stub_call {
    struct http_peer *peer;
    const struct http_peer_request *request;
};

struct watch {
    struct http_peer *peer; /* NULL: the place is free */
    int32_t stream;
    const char *collection;
};

static struct connection *connections[CONNECTIONS_MAX];
static size_t connection_count; /* places ever used */
static struct watch watches[WATCHES_MAX];
static int poller;
static size_t version = 1000000;
static stub_dispatch_fn dispatch;
static atomic_uint_fast64_t *received;

size_t stub_version(void)
{
    return version;
}

size_t stub_next_version(void)
{
    return ++version;
}

/* ---- answers ---- */

static void compress_text(const char *text, size_t len, char **out, size_t *out_len)
{
    z_stream z = {0};

    if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    size_t room = deflateBound(&z, len);

    *out = vpa_xmalloc(room);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)*out;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    *out_len = z.total_out;
    deflateEnd(&z);
    *out = vpa_xrealloc(*out, *out_len);
}

void stub_answer(struct stub_call *call, int code, const char *body, size_t len)
{
    struct http_peer_answer answer = {.status = code, .len = len, .owned = true};
    char *text;

    if (len > GZIP_FROM && call->request->accepts_gzip) {
        compress_text(body, len, &text, &answer.len);
        answer.gzip = true;
    } else {
        text = vpa_xstrndup(body, len);
    }
    answer.body = text;
    http_peer_answer(call->peer, call->request->stream, &answer);
}

size_t stub_parameter(const char *target, const char *name)
{
    const char *at = strstr(target, name);

    return at ? (size_t)strtoul(at + strlen(name), NULL, 10) : 0;
}

struct page {
    const char *collection;
    size_t from;
    bool gzip;
    char *text;
    size_t len;
};
static struct page *pages;
static size_t page_count, page_capacity;

void stub_put_page(struct vpa_buf *b, size_t from, size_t to, size_t count, stub_put_fn put)
{
    to = to < count ? to : count;
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
    vpa_auto_buf b = VPA_BUF(STUB_TEXT_MAX);

    for (size_t from = 0; from < count; from += PAGE) {
        struct page page = {.collection = collection, .from = from};

        vpa_buf_clear(&b);
        stub_put_page(&b, from, from + PAGE, count, put);
        page.gzip = b.len > GZIP_FROM;
        page.len = b.len;
        if (page.gzip)
            compress_text(vpa_buf_text(&b), b.len, &page.text, &page.len);
        else
            page.text = vpa_xstrndup(vpa_buf_text(&b), b.len);
        VPA_GROW(pages, page_count, page_capacity);
        pages[page_count++] = page;
    }
}

static bool answer_from_pages(struct stub_call *call, const char *target)
{
    size_t from = stub_parameter(target, "continue=");

    for (size_t i = 0; i < page_count; i++) {
        const struct page *page = &pages[i];

        if (page->from != from || !strstr(target, page->collection) ||
            (page->gzip && !call->request->accepts_gzip))
            continue;
        http_peer_answer(
            call->peer, call->request->stream,
            &(struct http_peer_answer){
                .status = 200, .body = page->text, .len = page->len, .gzip = page->gzip});
        return true;
    }
    return false;
}

void stub_answer_list(struct stub_call *call, const char *target, size_t count, stub_put_fn put)
{
    size_t limit = stub_parameter(target, "limit=");
    size_t from = stub_parameter(target, "continue=");
    vpa_auto_buf b = VPA_BUF(STUB_TEXT_MAX);

    if (answer_from_pages(call, target))
        return;
    stub_put_page(&b, from, limit > 0 ? from + limit : count, count, put);
    stub_answer(call, 200, vpa_buf_text(&b), b.len);
}

/* ---- watches ---- */

void stub_start_watch(struct stub_call *call, const char *collection)
{
    const struct http_peer_answer answer = {.status = 200, .open = true};

    for (size_t i = 0; i < WATCHES_MAX; i++)
        if (!watches[i].peer) {
            watches[i] = (struct watch){call->peer, call->request->stream, collection};
            http_peer_answer(call->peer, call->request->stream, &answer);
            return;
        }
    abort();
}

void stub_send_event(const char *collection, const char *type, const char *object)
{
    vpa_auto_buf line = VPA_BUF(STUB_TEXT_MAX);

    vpa_buf_printf(&line, "{\"type\":\"%s\",\"object\":", type);
    vpa_buf_puts(&line, object);
    vpa_buf_puts(&line, "}\n");
    for (size_t i = 0; i < WATCHES_MAX; i++)
        if (watches[i].peer && strcmp(watches[i].collection, collection) == 0)
            http_peer_append(watches[i].peer, watches[i].stream, vpa_buf_text(&line), line.len);
}

/* Of one stream; of all of the connection when that is 0. */
static void forget_watches(struct http_peer *peer, int32_t stream)
{
    for (size_t i = 0; i < WATCHES_MAX; i++)
        if (watches[i].peer == peer && (stream == 0 || watches[i].stream == stream))
            watches[i].peer = NULL;
}

/* ---- connections ---- */

static void on_request(void *ctx, struct http_peer *peer, const struct http_peer_request *request)
{
    (void)ctx;
    dispatch(&(struct stub_call){peer, request},
             &(struct stub_request){request->method, request->target, request->body});
}

static void on_close(void *ctx, struct http_peer *peer, int32_t stream)
{
    (void)ctx;
    forget_watches(peer, stream);
}

static void accept_connection(int listener, struct ssl_ctx_st *tls)
{
    static const struct http_peer_calls calls = {.on_request = on_request, .on_close = on_close};
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int on = 1;
    struct connection *c;

    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (connections[i])
            continue;
        c = connections[i] = vpa_xcalloc(1, sizeof(*c));
        c->fd = fd;
        c->peer = http_peer_new(tls, fd, true, &calls, NULL);
        if (i >= connection_count)
            connection_count = i + 1;
        epoll_ctl(poller, EPOLL_CTL_ADD, fd,
                  &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
        return;
    }
    close(fd);
}

static void drop(size_t place)
{
    struct connection *c = connections[place];

    forget_watches(c->peer, 0);
    http_peer_free(c->peer);
    free(c);
    connections[place] = NULL;
}

static void count_received(struct connection *c)
{
    uint64_t now = http_peer_received(c->peer);

    atomic_fetch_add(received, now - c->received);
    c->received = now;
}

/* What was said in this turn, watches included; false: the connection is over. */
static bool flush(struct connection *c)
{
    bool alive = http_peer_send(c->peer), waits = http_peer_has_more(c->peer);

    count_received(c);
    if (alive && waits != c->waits_for_room) {
        c->waits_for_room = waits;
        epoll_ctl(
            poller, EPOLL_CTL_MOD, c->fd,
            &(struct epoll_event){.events = EPOLLIN | (waits ? EPOLLOUT : 0u), .data.ptr = c});
    }
    return alive;
}

static _Noreturn void serve(int listener, struct ssl_ctx_st *tls)
{
    poller = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN});
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(poller, events, EVENTS_MAX, -1);

        for (int k = 0; k < count; k++) {
            struct connection *c = events[k].data.ptr;

            if (!c)
                accept_connection(listener, tls);
            else if (events[k].events & ~(uint32_t)EPOLLOUT && !http_peer_read(c->peer))
                c->over = true;
        }
        for (size_t i = 0; i < connection_count; i++)
            if (connections[i] && (!flush(connections[i]) || connections[i]->over))
                drop(i);
    }
}

/* ---- the process ---- */

static int listen_at_loopback(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, CONNECTIONS_MAX) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) < 0) {
        perror("stub server");
        exit(1);
    }
    *port = ntohs(address.sin_port);
    return listener;
}

/* A CA for this run and what it signed. */
static struct ssl_ctx_st *make_tls(char **ca_pem)
{
    static const char *const names[] = {"127.0.0.1"};
    vpa_time now = vpa_time_from_unix(time(NULL), 0);
    struct vpa_tls_pair ca = {0}, pair = {0};

    if (vpa_tls_create_ca("bench", now, 24 * VPA_HOUR, &ca, NULL) < 0 ||
        vpa_tls_create_certificate(&ca, names, 1, false, now, 24 * VPA_HOUR, &pair, NULL) < 0)
        abort();
    struct ssl_ctx_st *tls = http_peer_tls_new(&pair);

    *ca_pem = VPA_STEAL(ca.cert_pem);
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&pair);
    return tls;
}

void stub_start(struct stub *stub, void (*prepare)(void), stub_dispatch_fn answers)
{
    int listener = listen_at_loopback(&stub->port), ready[2];
    struct ssl_ctx_st *tls = make_tls(&stub->ca);
    char byte = 0;

    received =
        mmap(NULL, sizeof *received, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (received == MAP_FAILED || pipe(ready) < 0)
        exit(1);
    stub->received = received;
    stub->pid = fork();
    if (stub->pid == 0) {
        signal(SIGPIPE, SIG_IGN);
        dispatch = answers;
        prepare();
        if (write(ready[1], &byte, 1) != 1)
            exit(1);
        serve(listener, tls);
    }
    SSL_CTX_free(tls);
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        exit(1);
    close(ready[0]);
    close(listener);
}

void stub_stop(struct stub *stub)
{
    kill(stub->pid, SIGKILL);
    waitpid(stub->pid, NULL, 0);
    munmap(stub->received, sizeof *stub->received);
    free(stub->ca);
}
