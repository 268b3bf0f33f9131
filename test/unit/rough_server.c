/*
 * Each connection thread turns every 5 ms: read what is there, answer, let drips fall. What tests
 * ask about is behind one lock.
 */
#include "rough_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_peer.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define TURN_MS 5
#define CONNECTIONS_MAX 512
#define REQUESTS_MAX 64
#define TEXT_MAX 256
#define DRIPS_MAX 32

struct rough_connection {
    struct rough_server *server;
    pthread_t thread;
    int fd;
    struct http_peer *peer;
    bool frozen, closing;
    bool busy; /* HTTP/1.1 */
    int32_t last_stream;
    int32_t drips[DRIPS_MAX];
    size_t drip_count;
};

struct rough_server {
    SSL_CTX *tls;
    int fd, port;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    bool stopping, frozen, mute;
    unsigned downgrades, strays;
    struct rough_connection *connections[CONNECTIONS_MAX];
    unsigned connection_count;
    struct {
        char text[TEXT_MAX];
        unsigned count;
    } seen[REQUESTS_MAX];
};

enum manner {
    ANSWER,
    GOAWAY,
    REFUSE,
    STREAM_RESET,
    CLOSE,
    DIE,
    MUTE,
    DISOWN,
    CUT,
    SILENT,
    FREEZE,
    DRIP,
    WATCH,
    LAST
};

/* What was asked */

static unsigned count_request(struct rough_server *s, const char *method, const char *path)
{
    char text[TEXT_MAX];
    unsigned count = 0;

    snprintf(text, sizeof(text), "%s %.200s", method, path);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < REQUESTS_MAX && !count; i++)
        if (!s->seen[i].count || strcmp(s->seen[i].text, text) == 0) {
            memcpy(s->seen[i].text, text, sizeof(text));
            count = ++s->seen[i].count;
        }
    pthread_mutex_unlock(&s->lock);
    return count;
}

unsigned rough_server_seen(struct rough_server *s, const char *request)
{
    unsigned count = 0;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < REQUESTS_MAX; i++)
        if (strcmp(s->seen[i].text, request) == 0)
            count = s->seen[i].count;
    pthread_mutex_unlock(&s->lock);
    return count;
}

static enum manner manner_of(struct rough_server *s, const char *method, const char *path)
{
    static const struct {
        const char *name;
        enum manner manner;
        bool limited;
    } manners[] = {
        {"goaway", GOAWAY, false}, {"refuse", REFUSE, true},  {"reset", STREAM_RESET, true},
        {"close", CLOSE, true},    {"disown", DISOWN, true},  {"cut", CUT, true},
        {"silent", SILENT, false}, {"freeze", FREEZE, false}, {"drip", DRIP, false},
        {"watch", WATCH, false},   {"last", LAST, false},     {"die", DIE, false},
        {"mute", MUTE, false}};
    const char *query = strchr(path, '?');
    unsigned count = count_request(s, method, path);

    for (size_t i = 0; query && i < VPA_COUNT(manners); i++) {
        size_t len = strlen(manners[i].name);
        unsigned times = 1;

        if (strncmp(query + 1, manners[i].name, len) != 0)
            continue;
        if (query[1 + len] == '=')
            times = (unsigned)atoi(query + 2 + len);
        return manners[i].limited && count > times ? ANSWER : manners[i].manner;
    }
    return ANSWER;
}

/* HTTP/2 */

static const struct http_peer_answer ok = {.status = 200, .body = "ok", .len = 2};
static const struct http_peer_answer open_end = {.status = 200, .open = true};

static void begin_stream(struct rough_connection *c, int32_t stream)
{
    http_peer_answer(c->peer, stream, &open_end);
    http_peer_append(c->peer, stream, "{}\n", 3);
}

/* From here on everything waits for the end and comes with it: a client that has the answer can
 * know that the connection is over. */
static void hold_until_the_end(struct rough_connection *c)
{
    int on = 1;

    setsockopt(c->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
}

/* Before the client can know that its connection is over. */
static void end_service(struct rough_server *s, enum manner manner)
{
    if (manner == DIE)
        shutdown(s->fd, SHUT_RDWR);
    pthread_mutex_lock(&s->lock);
    s->mute = true;
    pthread_mutex_unlock(&s->lock);
}

static void serve_stream(struct rough_connection *c, int32_t stream, enum manner manner)
{
    switch (manner) {
    case REFUSE:
        http_peer_reset(c->peer, stream, HTTP_PEER_REFUSED_STREAM);
        return;
    case STREAM_RESET:
        http_peer_reset(c->peer, stream, HTTP_PEER_INTERNAL_ERROR);
        return;
    case DIE:
    case MUTE:
        end_service(c->server, manner);
        c->closing = true;
        return;
    case CLOSE:
        c->closing = true;
        return;
    case DISOWN:
        http_peer_go_away(c->peer, 0);
        return;
    case CUT:
        begin_stream(c, stream);
        c->closing = true;
        return;
    case FREEZE:
        c->frozen = true;
        return;
    case SILENT:
        return;
    case DRIP:
        http_peer_answer(c->peer, stream, &open_end);
        assert(c->drip_count < DRIPS_MAX);
        c->drips[c->drip_count++] = stream;
        return;
    case WATCH:
        begin_stream(c, stream);
        return;
    case LAST:
        c->last_stream = stream;
        hold_until_the_end(c);
        break;
    case GOAWAY:
    case ANSWER:
        break;
    }
    http_peer_answer(c->peer, stream, &ok);
    if (manner == GOAWAY)
        http_peer_go_away(c->peer, stream);
}

static void on_close(void *ctx, struct http_peer *peer, int32_t stream)
{
    struct rough_connection *c = ctx;

    (void)peer;
    if (stream == c->last_stream)
        c->closing = true;
}

/* HTTP/1.1 */

static void serve_plain(struct rough_connection *c, int32_t stream, enum manner manner)
{
    if (c->busy) {
        pthread_mutex_lock(&c->server->lock);
        c->server->strays++;
        pthread_mutex_unlock(&c->server->lock);
        return;
    }
    if (manner == DIE || manner == MUTE)
        end_service(c->server, manner);
    c->busy = manner == SILENT || manner == DRIP || manner == WATCH;
    c->frozen = manner == FREEZE;
    c->closing = manner != ANSWER && !c->busy && !c->frozen;
    if (manner == DRIP)
        c->drips[c->drip_count++] = stream;
    if (manner == DRIP || manner == WATCH || manner == CUT)
        begin_stream(c, stream);
    if (manner == ANSWER || manner == LAST || manner == GOAWAY)
        http_peer_answer(c->peer, stream, &ok);
}

static void on_request(void *ctx, struct http_peer *peer, const struct http_peer_request *request)
{
    struct rough_connection *c = ctx;

    if (http_peer_speaks_http2(peer))
        serve_stream(c, request->stream, manner_of(c->server, request->method, request->target));
    else if (!c->closing && !c->frozen)
        serve_plain(c, request->stream, manner_of(c->server, request->method, request->target));
}

/* Connections */

static bool is_frozen(struct rough_connection *c, bool *stopping)
{
    pthread_mutex_lock(&c->server->lock);
    bool frozen = c->server->frozen;
    *stopping = c->server->stopping;
    pthread_mutex_unlock(&c->server->lock);
    return frozen || c->frozen;
}

static bool turn(struct rough_connection *c)
{
    bool alive = http_peer_read(c->peer);

    if (c->frozen)
        return alive;
    for (size_t i = 0; i < c->drip_count; i++)
        http_peer_append(c->peer, c->drips[i], " ", 1);
    return http_peer_send(c->peer) && alive;
}

static void *be_connected(void *ctx)
{
    struct rough_connection *c = ctx;
    bool stopping = false, alive = true;

    while (alive && !c->closing && !stopping) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};

        if (is_frozen(c, &stopping))
            poll(NULL, 0, TURN_MS);
        else if (poll(&p, 1, TURN_MS) >= 0)
            alive = turn(c);
    }
    if (!is_frozen(c, &stopping))
        http_peer_end(c->peer);
    shutdown(c->fd, SHUT_RDWR);
    return NULL;
}

static void connection_free(struct rough_connection *c)
{
    shutdown(c->fd, SHUT_RDWR);
    pthread_join(c->thread, NULL);
    http_peer_free(c->peer);
    free(c);
}

/* The server */

/* Whether the next connection may speak it. */
static bool offers_http2(struct rough_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool downgrade = s->downgrades > 0;
    s->downgrades -= downgrade;
    pthread_mutex_unlock(&s->lock);
    return !downgrade;
}

static bool is_mute(struct rough_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool mute = s->mute;
    pthread_mutex_unlock(&s->lock);
    return mute;
}

static void be_connected_to(struct rough_server *s, int fd)
{
    static const struct http_peer_calls calls = {.on_request = on_request, .on_close = on_close};
    struct rough_connection *c = vpa_xcalloc(1, sizeof(*c));

    c->server = s;
    c->fd = fd;
    c->peer = http_peer_new(s->tls, fd, offers_http2(s), &calls, c);
    pthread_mutex_lock(&s->lock);
    assert(s->connection_count < CONNECTIONS_MAX);
    s->connections[s->connection_count++] = c;
    pthread_mutex_unlock(&s->lock);
    pthread_create(&c->thread, NULL, be_connected, c);
}

static void *be_listening(void *ctx)
{
    struct rough_server *s = ctx;
    int fd;

    while ((fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (is_mute(s))
            close(fd);
        else
            be_connected_to(s, fd);
    }
    return NULL;
}

struct rough_server *rough_server_new(const struct vpa_tls_pair *pair)
{
    struct rough_server *s = vpa_xcalloc(1, sizeof(*s));
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);

    pthread_mutex_init(&s->lock, NULL);
    s->tls = http_peer_tls_new(pair);
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(s->fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->fd, 64) < 0)
        abort();
    getsockname(s->fd, (struct sockaddr *)&a, &len);
    s->port = ntohs(a.sin_port);
    pthread_create(&s->thread, NULL, be_listening, s);
    return s;
}

void rough_server_free(struct rough_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_mutex_unlock(&s->lock);
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    for (unsigned i = 0; i < s->connection_count; i++)
        connection_free(s->connections[i]);
    close(s->fd);
    SSL_CTX_free(s->tls);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int rough_server_port(const struct rough_server *s)
{
    return s->port;
}

void rough_server_freeze(struct rough_server *s, bool frozen)
{
    pthread_mutex_lock(&s->lock);
    s->frozen = frozen;
    pthread_mutex_unlock(&s->lock);
}

void rough_server_downgrade(struct rough_server *s, unsigned connections)
{
    pthread_mutex_lock(&s->lock);
    s->downgrades = connections;
    pthread_mutex_unlock(&s->lock);
}

unsigned rough_server_connections(struct rough_server *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned count = s->connection_count;
    pthread_mutex_unlock(&s->lock);
    return count;
}

unsigned rough_server_strays(struct rough_server *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned strays = s->strays;
    pthread_mutex_unlock(&s->lock);
    return strays;
}
