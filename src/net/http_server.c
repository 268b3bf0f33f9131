/*
 * A server is a listening socket and a list of generations, each a libmicrohttpd daemon without a
 * listening socket of its own: connections are accepted here and handed to the newest generation
 * (MHD_add_connection). A new certificate means a new generation; the old ones answer what is still
 * on their connections, with "Connection: close", and are stopped when the last has gone, at the
 * latest after five minutes. MHD_quiesce_daemon is not used: with epoll it can abort the process.
 *
 * Two ways to run. On the loop, plain HTTP only: the daemon's epoll descriptor is watched, MHD_run
 * does the work, handlers run on the loop. With threads: libmicrohttpd calls poll(2) in threads of
 * its own and a small listener thread accepts, so that neither handshakes nor requests ever wait
 * for the loop. TLS and epoll do not go together: see start_daemon().
 */
#include "vpa/net/http_server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "connections.h"
#include "http_exchange.h"
#include "server_tls.h"
#include "vpa/base/buf.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/net/monotonic.h"
#include "vpa/net/tls.h"
#include "workers.h"

#define BACKLOG SOMAXCONN
#define ACCEPT_BURST 32
/* What the kernel may keep of a connection, which it doubles. Left alone that grows to megabytes,
 * and they count as the container's. Less of what is sent would be one segment of the loopback,
 * and each would wait for an acknowledgement that comes 40 ms late. */
#define SEND_BUFFER (128 << 10)
#define RECEIVE_BUFFER (64 << 10)
#define RETIRE_CHECK VPA_SECOND
#define RETIRED_MAX_S 300
#define STOP_WAIT (2 * VPA_SECOND)
#define STOP_POLL_MS 5
#define SWEEP VPA_SECOND
/* libmicrohttpd 0.9.75 locks itself for good when a connection exceeds its limit, so it never gets
 * as many: each of its threads may have twice what we let in. */
#define MHD_LIMIT_FACTOR 2
#define MHD_LIMIT_SLACK 64
#define PAUSE_AFTER_ACCEPT_ERROR (50 * VPA_MILLISECOND)
/* How long a connection waits for room, and how often it looks. */
#define ROOM_WAIT VPA_SECOND
#define ROOM_POLL_MS 2

struct generation {
    struct vpa_http_server *server;
    struct generation *next;
    struct MHD_Daemon *daemon;
    struct vpa_watch *watch; /* on the loop: of the epoll descriptor */
    atomic_int connections;
    struct exchange_place place;
    int64_t retired_at; /* real, ns */
};

struct vpa_http_server {
    struct vpa_http_server_options options; /* address and tls not kept */
    struct vpa_loop *loop;
    struct server_tls *tls; /* NULL: plain */
    struct connections *connections;
    struct workers *workers; /* NULL: none */
    int listen_fd;
    int port;
    pthread_mutex_t lock; /* of `current` against the listener thread */
    struct generation *current;
    struct generation *retired;
    struct vpa_timer *retire_timer;
    struct vpa_watch *listen_watch; /* on the loop; NULL while accepting pauses */
    struct vpa_timer *accept_again; /* on the loop: ends the pause */
    atomic_size_t large_bytes;      /* of all exchanges */
    struct vpa_timer *sweep_timer;  /* on the loop: who is overdue is dropped */
    pthread_t listener;
    bool has_listener;
    int stop_fd; /* wakes the listener */
};

static void shut_down(void *ctx, int fd)
{
    (void)ctx;
    shutdown(fd, SHUT_RDWR);
}

/* Our half of a handshake ends when the client's last message is there. */
static int on_handshake(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                        const gnutls_datum_t *message)
{
    struct connections *connections = gnutls_session_get_ptr(session);

    (void)type;
    (void)when;
    (void)message;
    if (incoming)
        connections_turn(connections, gnutls_transport_get_int(session), CONNECTION_HEAD, 0,
                         vpa_monotonic_read());
    return 0;
}

static void watch_handshake(struct vpa_http_server *server, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    gnutls_session_set_ptr(info->tls_session, server->connections);
    gnutls_handshake_set_hook_function(info->tls_session, GNUTLS_HANDSHAKE_FINISHED,
                                       GNUTLS_HOOK_POST, on_handshake);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_ctx,
                          enum MHD_ConnectionNotificationCode code)
{
    struct generation *g = cls;
    struct vpa_http_server *server = g->server;
    int fd = exchange_socket(connection);

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        atomic_fetch_add(&g->connections, 1);
        if (server->tls) {
            watch_handshake(server, connection);
            server_tls_ask(server->tls, connection);
            *socket_ctx = server_tls_listen(connection, fd);
        }
        connections_start(server->connections, fd, vpa_monotonic_read());
    } else {
        enum connection_phase phase = connections_remove(server->connections, fd);
        const char *heard = server->tls ? server_tls_heard(*socket_ctx, fd) : "";
        if (phase == CONNECTION_HANDSHAKE && server->options.on_failed_handshake)
            server->options.on_failed_handshake(server->options.ctx, heard);
        atomic_fetch_sub(&g->connections, 1);
    }
}

static void on_log(void *cls, const char *format, va_list args) VPA_PRINTF(2, 0);
static void on_log(void *cls, const char *format, va_list args)
{
    vpa_auto_buf text = VPA_BUF(4096);

    (void)cls;
    if (!vpa_log_enabled(5, __FILE__)) /* mostly peers that go away or speak no TLS */
        return;
    vpa_buf_vprintf(&text, format, args);
    VPA_V(5, "HTTP server", VPA_KV("message", vpa_buf_text(&text)));
}

/* On the loop */

static void run_mhd(void *ctx)
{
    struct generation *g = ctx;
    MHD_UNSIGNED_LONG_LONG timeout = 1;

    for (int i = 0; i < ACCEPT_BURST; i++) {
        MHD_run(g->daemon);
        if (MHD_get_timeout(g->daemon, &timeout) != MHD_YES || timeout > 0)
            break;
    }
    if (atomic_load(&g->connections) > 0 && !vpa_timer_is_running(g->server->sweep_timer))
        vpa_timer_start(g->server->sweep_timer, SWEEP);
}

static void on_sweep(void *ctx)
{
    struct vpa_http_server *server = ctx;

    connections_sweep(server->connections, vpa_monotonic_read());
    if (server->current)
        run_mhd(server->current);
}

/* Generations */

static void generation_free(struct generation *g)
{
    if (!g)
        return;
    vpa_watch_free(g->watch);
    if (g->daemon)
        MHD_stop_daemon(g->daemon);
    free(g);
}

static struct MHD_Daemon *start_daemon(struct generation *g, const char *cert, const char *key)
{
    struct vpa_http_server *s = g->server;
    unsigned flags = MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem items[16];
    size_t n = 0;

    /* Threads poll(2): with epoll libmicrohttpd holds a TLS connection for readable from the
     * client's first flight to its next one and turns without waiting until then. */
    if (s->options.threads > 0)
        flags |= MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC | MHD_USE_POLL;
    else
        flags |= MHD_USE_EPOLL;
    if (s->workers)
        flags |= MHD_ALLOW_SUSPEND_RESUME;
    if (s->options.threads > 1)
        items[n++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, s->options.threads, NULL};
    if (s->tls) {
        flags |= MHD_USE_TLS;
        items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert};
        items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key};
        items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
                                             (void *)(uintptr_t)server_tls_priorities(s->tls)};
        if (server_tls_client_ca(s->tls))
            items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0,
                                                 (void *)(uintptr_t)server_tls_client_ca(s->tls)};
    }
    items[n++] = (struct MHD_OptionItem){
        MHD_OPTION_CONNECTION_LIMIT,
        (intptr_t)(s->options.threads > 1 ? s->options.threads : 1) *
            (MHD_LIMIT_FACTOR * (intptr_t)s->options.connections_max + MHD_LIMIT_SLACK),
        NULL};
    items[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(flags, 0, NULL, NULL, exchange_go_on, NULL,
                            /* first, so that it catches complaints about the others */
                            MHD_OPTION_EXTERNAL_LOGGER, on_log, g, MHD_OPTION_URI_LOG_CALLBACK,
                            exchange_begin, &g->place, MHD_OPTION_NOTIFY_COMPLETED, exchange_end,
                            NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection, g,
                            MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY, items,
                            MHD_OPTION_END);
}

static struct generation *generation_new(struct vpa_http_server *server, const char *cert,
                                         const char *key, struct vpa_error *err)
{
    struct generation *g = vpa_xcalloc(1, sizeof(*g));

    g->server = server;
    g->place = (struct exchange_place){.handler = server->options.handler,
                                       .ctx = server->options.ctx,
                                       .body_max = server->options.body_max,
                                       .bodies_max = server->options.bodies_max,
                                       .tls = server->tls,
                                       .connections = server->connections,
                                       .workers = server->workers,
                                       .large_bytes = &server->large_bytes};
    g->daemon = start_daemon(g, cert, key);
    if (!g->daemon) {
        vpa_fail(err, VPA_INVALID, "cannot start the HTTP server%s",
                 server->tls ? " with this certificate" : "");
        generation_free(g);
        return NULL;
    }
    if (server->options.threads == 0) {
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(g->daemon, MHD_DAEMON_INFO_EPOLL_FD);
        g->watch = vpa_watch_new(server->loop, info->epoll_fd, run_mhd, g);
    }
    return g;
}

static void on_retire_check(void *ctx)
{
    struct vpa_http_server *server = ctx;
    struct generation **link = &server->retired, *g;

    while ((g = *link) != NULL) {
        bool late = vpa_monotonic_read() - g->retired_at > RETIRED_MAX_S * VPA_SECOND;

        if (atomic_load(&g->place.handed_over) > 0 || (atomic_load(&g->connections) > 0 && !late)) {
            link = &g->next;
            continue;
        }
        *link = g->next;
        generation_free(g);
    }
    if (server->retired)
        vpa_timer_start(server->retire_timer, RETIRE_CHECK);
}

int vpa_http_server_reload(struct vpa_http_server *server, const char *cert_pem,
                           const char *key_pem, struct vpa_error *err)
{
    if (!server->tls)
        return vpa_fail(err, VPA_INVALID, "the server does not speak TLS");
    if (vpa_tls_check_pair(cert_pem, key_pem, NULL, err) < 0)
        return -1;
    struct generation *fresh = generation_new(server, cert_pem, key_pem, err);
    if (!fresh)
        return -1;
    pthread_mutex_lock(&server->lock);
    struct generation *old = server->current;
    server->current = fresh;
    pthread_mutex_unlock(&server->lock);
    old->retired_at = vpa_monotonic_read();
    atomic_store(&old->place.retired, true);
    old->next = server->retired;
    server->retired = old;
    vpa_timer_start(server->retire_timer, RETIRE_CHECK);
    return 0;
}

/* Accepting */

/* A house is full although nobody in it is idle when the threads are behind: what was taken in a
 * moment ago has not been looked at yet. So there is room soon, and the listener waits for it; the
 * kernel keeps who comes meanwhile. On the loop nothing changes by waiting. */
static bool find_room(struct vpa_http_server *server, int fd, const struct sockaddr *peer)
{
    enum connection_phase phase = server->tls ? CONNECTION_HANDSHAKE : CONNECTION_HEAD;
    const int64_t end = vpa_monotonic_read() + ROOM_WAIT;
    struct pollfd stop = {.fd = server->stop_fd, .events = POLLIN};

    while (!connections_add(server->connections, fd, peer, phase, vpa_monotonic_read()))
        if (server->options.threads == 0 || vpa_monotonic_read() > end ||
            poll(&stop, 1, ROOM_POLL_MS) > 0)
            return false;
    return true;
}

/* Takes a new connection in, or closes it. */
static void take_in(struct vpa_http_server *server, int fd, const struct sockaddr *peer,
                    socklen_t len)
{
    int on = 1;

    if (!find_room(server, fd, peer)) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    pthread_mutex_lock(&server->lock);
    /* On failure libmicrohttpd closes the socket, which may be another's by now: its entry goes
     * when the descriptor comes again. */
    MHD_add_connection(server->current->daemon, fd, peer, len);
    pthread_mutex_unlock(&server->lock);
}

/* False when there is nothing to accept now (errno EAGAIN) or accepting does not work. */
static bool accept_one(struct vpa_http_server *server)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    int fd =
        accept4(server->listen_fd, (struct sockaddr *)&address, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        take_in(server, fd, (struct sockaddr *)&address, len);
        return true;
    }
    int why = errno;
    if (why == EMFILE || why == ENFILE)
        connections_make_room(server->connections, vpa_monotonic_read());
    errno = why;
    return why == EINTR || why == ECONNABORTED;
}

static void on_acceptable(void *ctx)
{
    struct vpa_http_server *server = ctx;
    int accepted = 0;

    while (accepted < ACCEPT_BURST && accept_one(server))
        accepted++;
    if (accepted < ACCEPT_BURST && errno != EAGAIN) { /* out of descriptors: do not spin */
        vpa_watch_free(server->listen_watch);
        server->listen_watch = NULL;
        vpa_timer_start(server->accept_again, PAUSE_AFTER_ACCEPT_ERROR);
    }
    run_mhd(server->current);
}

static void watch_listener(void *ctx)
{
    struct vpa_http_server *server = ctx;

    server->listen_watch = vpa_watch_new(server->loop, server->listen_fd, on_acceptable, server);
}

static void accept_and_sweep(struct vpa_http_server *server, struct pollfd fds[2])
{
    bool any = false;

    while (!fds[1].revents) {
        /* Also with nobody there: a connection may come and fall silent. */
        if (poll(fds, 2, any ? SWEEP / VPA_MILLISECOND : -1) < 0 && errno != EINTR)
            return;
        if ((fds[0].revents & POLLIN) && !accept_one(server) && errno != EAGAIN)
            poll(fds + 1, 1, PAUSE_AFTER_ACCEPT_ERROR / VPA_MILLISECOND); /* do not spin */
        any = connections_sweep(server->connections, vpa_monotonic_read());
    }
}

static void *listen_thread(void *ctx)
{
    struct vpa_http_server *server = ctx;
    struct pollfd fds[2] = {{.fd = server->listen_fd, .events = POLLIN},
                            {.fd = server->stop_fd, .events = POLLIN}};

    accept_and_sweep(server, fds);
    return NULL;
}

/* Listening */

int vpa_address_parse(const char *address, char host[256], int *port, struct vpa_error *err)
{
    const char *colon = strrchr(address, ':');
    int64_t number;
    size_t len;

    if (!colon || vpa_parse_int64(colon + 1, &number, NULL) < 0 || number < 0 || number > 65535)
        return vpa_fail(err, VPA_INVALID, "address \"%s\": expected host:port", address);
    len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    } else if (memchr(address, ':', len)) {
        return vpa_fail(err, VPA_INVALID, "address \"%s\": an IPv6 host needs brackets", address);
    }
    if (len > 255)
        return vpa_fail(err, VPA_INVALID, "address \"%s\": host too long", address);
    memcpy(host, address, len);
    host[len] = '\0';
    *port = (int)number;
    return 0;
}

static int listen_on(const struct addrinfo *info)
{
    int on = 1, off = 0, sending = SEND_BUFFER, receiving = RECEIVE_BUFFER;
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    /* Those that are accepted inherit them. */
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sending, sizeof(sending));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receiving, sizeof(receiving));
    if (info->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int open_listener(struct vpa_http_server *server, const char *address, struct vpa_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list;
    char host[256], service[8];
    int port;

    if (vpa_address_parse(address, host, &port, err) < 0)
        return -1;
    snprintf(service, sizeof(service), "%d", port);
    int rc = getaddrinfo(host[0] ? host : NULL, service, &hints, &list);
    if (rc != 0)
        return vpa_fail(err, VPA_INVALID, "listen %s: %s", address, gai_strerror(rc));
    server->listen_fd = -1;
    /* The IPv6 wildcard first: it takes IPv4 as well. Of a name an IPv4 address, as Go does. */
    int first = host[0] ? AF_INET : AF_INET6;
    for (int pass = 0; pass < 2; pass++)
        for (struct addrinfo *i = list; i && server->listen_fd < 0; i = i->ai_next)
            if ((i->ai_family == first) == (pass == 0))
                server->listen_fd = listen_on(i);
    int saved = errno;
    freeaddrinfo(list);
    if (server->listen_fd < 0)
        return vpa_fail(err, VPA_RETRY, "listen tcp %s: bind: %s", address, strerror(saved));
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {0};
    socklen_t len = sizeof(bound);
    if (getsockname(server->listen_fd, &bound.any, &len) < 0)
        return vpa_fail(err, VPA_RETRY, "listen tcp %s: %s", address, strerror(errno));
    server->port = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    return 0;
}

/* Life */

static int start_accepting(struct vpa_http_server *s, struct vpa_error *err)
{
    if (s->options.threads == 0) {
        watch_listener(s);
        return 0;
    }
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->stop_fd < 0 || pthread_create(&s->listener, NULL, listen_thread, s) != 0)
        return vpa_fail(err, VPA_RETRY, "cannot start the listener thread");
    s->has_listener = true;
    return 0;
}

static int start_serving(struct vpa_http_server *s, const char *cert, const char *key,
                         struct vpa_error *err)
{
    const struct vpa_http_server_options *o = &s->options;

    s->connections = connections_new(&(struct connection_limits){.max = o->connections_max,
                                                                 .handshake = o->handshake_timeout,
                                                                 .head = o->head_timeout,
                                                                 .idle = o->idle_timeout,
                                                                 .transfer = o->transfer_timeout,
                                                                 .rate = VPA_SERVER_RATE_MIN,
                                                                 .answers_max = o->answers_max},
                                     shut_down, NULL);
    if (o->workers > 0 && !(s->workers = workers_new(o->workers)))
        return vpa_fail(err, VPA_RETRY, "cannot start the worker threads");
    s->current = generation_new(s, cert, key, err);
    return s->current ? start_accepting(s, err) : -1;
}

static int start(struct vpa_http_server *s, const struct vpa_http_server_options *o,
                 struct vpa_error *err)
{
    const char *cert = o->tls ? o->tls->cert_pem : NULL, *key = o->tls ? o->tls->key_pem : NULL;

    if ((o->tls || o->workers) && o->threads == 0)
        return vpa_fail(err, VPA_INVALID, "a server that speaks TLS needs a thread of its own");
    if (o->tls) {
        if (vpa_tls_check_pair(cert, key, NULL, err) < 0)
            return -1;
        s->tls = server_tls_new(o->tls, err);
        if (!s->tls)
            return -1;
    }
    if (open_listener(s, o->address, err) < 0)
        return -1;
    return start_serving(s, cert, key, err);
}

static void set_options(struct vpa_http_server_options *o,
                        const struct vpa_http_server_options *wanted)
{
    *o = *wanted;
    o->address = NULL;
    o->tls = NULL;
    if (!o->body_max)
        o->body_max = VPA_SERVER_BODY_MAX;
    if (!o->bodies_max)
        o->bodies_max = VPA_SERVER_BODIES_MAX;
    if (!o->answers_max)
        o->answers_max = VPA_SERVER_ANSWERS_MAX;
    if (!o->connections_max)
        o->connections_max = VPA_SERVER_CONNECTIONS_MAX;
    if (o->handshake_timeout <= 0)
        o->handshake_timeout = VPA_SERVER_HANDSHAKE_TIMEOUT;
    if (o->head_timeout <= 0)
        o->head_timeout = VPA_SERVER_HEAD_TIMEOUT;
    if (o->idle_timeout <= 0)
        o->idle_timeout = VPA_SERVER_IDLE_TIMEOUT;
    if (o->transfer_timeout <= 0)
        o->transfer_timeout = VPA_SERVER_TRANSFER_TIMEOUT;
}

struct vpa_http_server *vpa_http_server_new(struct vpa_loop *loop,
                                            const struct vpa_http_server_options *options,
                                            struct vpa_error *err)
{
    struct vpa_http_server *s = vpa_xcalloc(1, sizeof(*s));

    set_options(&s->options, options);
    s->loop = loop;
    s->listen_fd = s->stop_fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    s->retire_timer = vpa_timer_new(loop, on_retire_check, s);
    s->sweep_timer = vpa_timer_new(loop, on_sweep, s);
    s->accept_again = vpa_timer_new(loop, watch_listener, s);
    if (start(s, options, err) < 0) {
        vpa_http_server_free(s);
        return NULL;
    }
    return s;
}

int vpa_http_server_port(const struct vpa_http_server *server)
{
    return server->port;
}

static void stop_accepting(struct vpa_http_server *s)
{
    uint64_t one = 1;

    vpa_watch_free(s->listen_watch);
    s->listen_watch = NULL;
    if (s->has_listener) {
        if (write(s->stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
            pthread_join(s->listener, NULL);
        s->has_listener = false;
    }
    if (s->listen_fd >= 0)
        close(s->listen_fd);
    if (s->stop_fd >= 0)
        close(s->stop_fd);
}

static int requests_in_hand(const struct vpa_http_server *s)
{
    int count = s->current ? atomic_load(&s->current->place.requests) : 0;

    for (const struct generation *g = s->retired; g; g = g->next)
        count += atomic_load(&g->place.requests);
    return count;
}

/* Lets requests in hand finish. Slow clients are not waited for. */
static void finish_requests(struct vpa_http_server *s)
{
    const int64_t end =
        vpa_monotonic_read() + STOP_WAIT; /* by the clock: a busy machine oversleeps each poll */

    while (requests_in_hand(s) > 0 && vpa_monotonic_read() < end) {
        connections_hurry(s->connections, vpa_monotonic_read());
        if (s->options.threads == 0)
            run_mhd(s->current);
        poll(NULL, 0, STOP_POLL_MS);
    }
}

/* Those that have gone before do so already. */
void vpa_http_server_farewell(struct vpa_http_server *server)
{
    atomic_store(&server->current->place.retired, true);
}

void vpa_http_server_free(struct vpa_http_server *s)
{
    if (!s)
        return;
    stop_accepting(s);
    if (s->current)
        vpa_http_server_farewell(s);
    finish_requests(s);
    workers_stop(s->workers); /* libmicrohttpd cannot stop while connections are suspended */
    generation_free(s->current);
    while (s->retired) {
        struct generation *next = s->retired->next;
        generation_free(s->retired);
        s->retired = next;
    }
    vpa_timer_free(s->retire_timer);
    vpa_timer_free(s->sweep_timer);
    vpa_timer_free(s->accept_again);
    connections_free(s->connections);
    server_tls_free(s->tls);
    workers_free(s->workers); /* the generations' threads gave some until their end */
    pthread_mutex_destroy(&s->lock);
    free(s);
}
