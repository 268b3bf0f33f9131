/*
 * What libcurl may share, and what it may not.
 *
 * libcurl 7.88 keeps its connections in a pool and picks one for each request: HTTP/2 carries many
 * requests at once, HTTP/1.1 one after the other. Three things it does by itself are not good
 * enough for a client whose requests evict pods.
 *
 * 1. It writes requests onto the HTTP/1.1 connection of another that is still under way. Once it
 *    has seen HTTP/2 from a server, every connection to that server counts as one that can carry
 *    many (ConnectionExists() looks at bits.multiplex only for the number of streams). It chooses
 *    the first that is open: as soon as the HTTP/2 connection went, by GOAWAY, after idle time, at
 *    the end of CURLOPT_MAXLIFETIME_CONN, the connection of a running watch. The server reads the
 *    request when the watch ends, minutes later, and carries it out then.
 *    Therefore watches have a pool of their own (a share with CURL_LOCK_DATA_CONNECT: libcurl looks
 *    for connections there and nowhere else), and never take one that is there. And whatever
 *    libcurl chose is looked at once more: right before a request is written
 *    (client_connections_take), a connection without HTTP/2 must carry no other. That holds also
 *    for a server that sometimes speaks HTTP/2 and sometimes does not, as a load balancer in the
 *    middle of a change.
 *
 * 2. It does not notice that a peer fell silent. An HTTP/2 connection outlives the requests that
 *    time out on it, and the next request goes there again. The multi interface sends no HTTP/2
 *    PING: curl_easy_upkeep() sends one, but only on connections of a handle that
 *    curl_easy_perform() used. A PING of our own would have to be written into the middle of
 *    libcurl's TLS stream. What a PING would tell is known without: when a request has timed out,
 *    and nothing at all arrived on its connection while it waited, no stream, no window update, no
 *    answer to another request, then the peer is gone or stands still. The kernel knows when
 *    something arrived (TCP_INFO); the second half of the wait counts, because a new connection
 *    gets a greeting first. Such a connection is given up: shut down under libcurl, which then
 *    fails what is on it and opens another. One stream that times out while others get their
 *    answers leaves them alone. A peer that acknowledges nothing is found by keepalive probes and
 *    TCP_USER_TIMEOUT, whether somebody asks or not.
 *
 * 3. It repeats requests that it lost: on a connection that was used before, any method, up to five
 *    times. http_client.c decides that, request by request.
 *
 * An idle connection is used again for 80 s: API servers close theirs after 90 s, and a request
 * that meets the goodbye would have to be sent a second time.
 *
 * The record of a connection begins when libcurl opens a socket (attempts that fail have one, too)
 * and ends when libcurl has closed it and no exchange refers to it any more. libcurl does not say
 * on which socket a request goes; it tells the local port, which is enough: two sockets of this
 * process can have one port only if they lead to different servers.
 */
#include "client_connections.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vpa/base/mem.h"

#define IDLE_MAX_S 80L
/* Dead peers: probed after 30 s, gone after 3 unanswered probes 10 s apart. */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES 3

struct client_connection {
    LIST_ENTRY(client_connection) link;
    int fd;         /* -1: closed by libcurl */
    int port;       /* the local one, 0: not known yet */
    unsigned users; /* exchanges between take and leave */
    bool given_up;
};

struct client_connections {
    CURLSH *shared, *watches;
    LIST_HEAD(, client_connection) list;
};

static CURLSH *pool_new(void)
{
    CURLSH *pool = curl_share_init();

    curl_share_setopt(pool, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
    return pool;
}

struct client_connections *client_connections_new(void)
{
    struct client_connections *cs = vpa_xcalloc(1, sizeof(*cs));

    cs->shared = pool_new();
    cs->watches = pool_new();
    return cs;
}

static void record_free(struct client_connection *c)
{
    LIST_REMOVE(c, link);
    free(c);
}

void client_connections_free(struct client_connections *cs)
{
    curl_share_cleanup(cs->shared);
    curl_share_cleanup(cs->watches);
    while (!LIST_EMPTY(&cs->list))
        record_free(LIST_FIRST(&cs->list));
    free(cs);
}

/* Sockets */

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct client_connections *cs = ctx;
    int probes = KEEPALIVE_PROBES;
    unsigned unacknowledged_ms =
        (KEEPALIVE_IDLE_S + KEEPALIVE_INTERVAL_S * KEEPALIVE_PROBES) * 1000;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

    (void)purpose;
    if (fd < 0)
        return CURL_SOCKET_BAD;
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof(unacknowledged_ms));
    struct client_connection *c = vpa_xcalloc(1, sizeof(*c));
    c->fd = fd;
    LIST_INSERT_HEAD(&cs->list, c, link);
    return fd;
}

static int close_socket(void *ctx, curl_socket_t fd)
{
    struct client_connections *cs = ctx;
    struct client_connection *c;

    LIST_FOREACH (c, &cs->list, link)
        if (c->fd == fd)
            break;
    if (c) {
        c->fd = -1;
        if (c->users == 0)
            record_free(c);
    }
    return close(fd);
}

void client_connections_set_up(struct client_connections *cs, CURL *easy, bool watch)
{
    curl_easy_setopt(easy, CURLOPT_SHARE, watch ? cs->watches : cs->shared);
    if (watch) {
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    }
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, IDLE_MAX_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, cs);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, cs);
}

/* Exchanges */

/* 0 as long as it has none. */
static int local_port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a = {0};
    socklen_t len = sizeof(a);

    if (getsockname(fd, &a.any, &len) < 0)
        return 0;
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

static struct client_connection *find(const struct client_connections *cs, int local_port)
{
    struct client_connection *c;

    LIST_FOREACH (c, &cs->list, link) {
        if (c->fd < 0)
            continue;
        if (c->port == 0)
            c->port = local_port_of(c->fd);
        if (c->port == local_port)
            return c;
    }
    return NULL;
}

static bool speaks_http2(CURL *easy)
{
    struct curl_tlssessioninfo *tls = NULL;
    const unsigned char *name = NULL;
    unsigned len = 0;

    curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &tls);
    if (!tls || !tls->internals)
        return false;
    SSL_get0_alpn_selected(tls->internals, &name, &len);
    return len == 2 && memcmp(name, "h2", 2) == 0;
}

enum client_connection_fit client_connections_take(struct client_connections *cs, CURL *easy,
                                                   int local_port, struct client_connection **taken)
{
    struct client_connection *c = find(cs, local_port);

    if (!c)
        return CONNECTION_FITS;
    if (c->given_up)
        return CONNECTION_DEAD;
    if (c->users > 0 && !speaks_http2(easy))
        return CONNECTION_BUSY;
    c->users++;
    *taken = c;
    return CONNECTION_FITS;
}

int client_connections_socket(const struct client_connection *c)
{
    return c->fd;
}

void client_connections_leave(struct client_connection *c)
{
    if (c && --c->users == 0 && c->fd < 0)
        record_free(c);
}

bool client_connections_judge(struct client_connection *c, vpa_duration waited)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);

    if (!c || c->given_up || c->fd < 0 ||
        getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
        info.tcpi_last_data_recv * VPA_MILLISECOND < waited / 2)
        return false;
    c->given_up = true;
    shutdown(c->fd, SHUT_RDWR);
    return true;
}
