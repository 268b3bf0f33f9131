/*
 * Each connection thread turns every 5 ms: read what is there, answer, let drips fall. What tests
 * ask about is behind one lock.
 */
#include "rough_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define TURN_MS 5
#define CONNECTIONS_MAX 512
#define REQUESTS_MAX 64
#define TEXT_MAX 256
#define INPUT_MAX 65536

struct rough_connection {
    struct rough_server *server;
    pthread_t thread;
    int fd;
    SSL *ssl;
    nghttp2_session *h2; /* NULL: HTTP/1.1 */
    bool frozen, closing;
    bool busy, dripping; /* HTTP/1.1 */
    char input[INPUT_MAX];
    size_t input_len;
};

struct rough_server {
    SSL_CTX *tls;
    int fd, port;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    bool stopping, frozen;
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
    DISOWN,
    CUT,
    SILENT,
    FREEZE,
    DRIP,
    WATCH,
    LAST
};

struct stream { /* of HTTP/2 */
    int32_t id;
    char method[16], path[TEXT_MAX];
    enum manner manner;
    bool dropped; /* the byte of this turn */
    bool written;
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
        {"watch", WATCH, false},   {"last", LAST, false}};
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

static ssize_t give_body(nghttp2_session *h2, int32_t id, uint8_t *out, size_t max, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    struct stream *stream = source->ptr;

    (void)h2;
    (void)id;
    (void)max;
    (void)ctx;
    if (stream->manner == DRIP) {
        if (stream->dropped)
            return NGHTTP2_ERR_DEFERRED;
        stream->dropped = true;
        out[0] = ' ';
        return 1;
    }
    if (stream->manner == WATCH || stream->manner == CUT) {
        if (stream->written)
            return NGHTTP2_ERR_DEFERRED;
        stream->written = true;
        memcpy(out, "{}\n", 3);
        return 3;
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    memcpy(out, "ok", 2);
    return 2;
}

static void respond(nghttp2_session *h2, struct stream *stream)
{
    static uint8_t name[] = ":status", value[] = "200";
    const nghttp2_nv head = {name, value, 7, 3, NGHTTP2_NV_FLAG_NONE};
    const nghttp2_data_provider body = {.source.ptr = stream, .read_callback = give_body};

    nghttp2_submit_response(h2, stream->id, &head, 1, &body);
}

static void serve_stream(struct rough_connection *c, struct stream *stream)
{
    switch (stream->manner) {
    case REFUSE:
        nghttp2_submit_rst_stream(c->h2, 0, stream->id, NGHTTP2_REFUSED_STREAM);
        return;
    case STREAM_RESET:
        nghttp2_submit_rst_stream(c->h2, 0, stream->id, NGHTTP2_INTERNAL_ERROR);
        return;
    case CLOSE:
        c->closing = true;
        return;
    case DISOWN:
        nghttp2_submit_goaway(c->h2, 0, 0, NGHTTP2_NO_ERROR, NULL, 0);
        return;
    case CUT:
        respond(c->h2, stream);
        c->closing = true;
        return;
    case FREEZE:
        c->frozen = true;
        return;
    case SILENT:
        return;
    case GOAWAY:
        respond(c->h2, stream);
        nghttp2_submit_goaway(c->h2, 0, stream->id, NGHTTP2_NO_ERROR, NULL, 0);
        return;
    case LAST:
    case ANSWER:
    case DRIP:
    case WATCH:
        respond(c->h2, stream);
        return;
    }
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
    struct stream *stream = vpa_xcalloc(1, sizeof(*stream));

    (void)ctx;
    stream->id = frame->hd.stream_id;
    nghttp2_session_set_stream_user_data(h2, stream->id, stream);
    return 0;
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *ctx)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);

    (void)flags;
    (void)ctx;
    if (name_len == 7 && memcmp(name, ":method", 7) == 0)
        snprintf(stream->method, sizeof(stream->method), "%.*s", (int)value_len, value);
    if (name_len == 5 && memcmp(name, ":path", 5) == 0)
        snprintf(stream->path, sizeof(stream->path), "%.*s", (int)value_len, value);
    return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
    struct rough_connection *c = ctx;
    struct stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);

    if (!stream || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
        (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    stream->manner = manner_of(c->server, stream->method, stream->path);
    serve_stream(c, stream);
    return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t code, void *ctx)
{
    struct rough_connection *c = ctx;
    struct stream *stream = nghttp2_session_get_stream_user_data(h2, id);

    (void)code;
    if (stream && stream->manner == LAST)
        c->closing = true;
    free(stream);
    nghttp2_session_set_stream_user_data(h2, id, NULL);
    return 0;
}

static void start_http2(struct rough_connection *c)
{
    const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100};
    nghttp2_session_callbacks *callbacks;

    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_server_new(&c->h2, callbacks, c);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(c->h2, 0, &settings, 1);
}

static void let_drips_fall(struct rough_connection *c)
{
    for (int32_t id = 1; id < 64; id += 2) {
        struct stream *stream = nghttp2_session_get_stream_user_data(c->h2, id);

        if (!stream || stream->manner != DRIP)
            continue;
        stream->dropped = false;
        nghttp2_session_resume_data(c->h2, id);
    }
}

static void send_frames(struct rough_connection *c)
{
    const uint8_t *bytes;
    ssize_t len;

    while (!c->frozen && (len = nghttp2_session_mem_send(c->h2, &bytes)) > 0)
        if (SSL_write(c->ssl, bytes, (int)len) <= 0)
            c->closing = true;
    if (!nghttp2_session_want_read(c->h2) && !nghttp2_session_want_write(c->h2))
        c->closing = true;
}

/* HTTP/1.1 */

static void say(struct rough_connection *c, const char *text)
{
    if (SSL_write(c->ssl, text, (int)strlen(text)) <= 0)
        c->closing = true;
}

static void serve_plain(struct rough_connection *c, enum manner manner)
{
    if (c->busy) {
        pthread_mutex_lock(&c->server->lock);
        c->server->strays++;
        pthread_mutex_unlock(&c->server->lock);
        return;
    }
    c->busy = manner == SILENT || manner == DRIP || manner == WATCH;
    c->dripping = manner == DRIP;
    c->frozen = manner == FREEZE;
    c->closing = manner == CLOSE || manner == STREAM_RESET || manner == REFUSE || manner == DISOWN;
    if (manner == DRIP || manner == WATCH)
        say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n");
    if (manner == ANSWER || manner == LAST || manner == GOAWAY)
        say(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    c->closing = c->closing || manner == LAST || manner == GOAWAY;
}

/* Takes one whole request off the input. */
static bool take_plain(struct rough_connection *c, char method[16], char path[TEXT_MAX])
{
    c->input[c->input_len] = '\0';
    char *end = strstr(c->input, "\r\n\r\n");
    if (!end)
        return false;
    char *length = strcasestr(c->input, "\r\nContent-Length:");
    size_t whole = (size_t)(end + 4 - c->input);
    if (length && length < end)
        whole += strtoul(length + 17, NULL, 10);
    if (whole > c->input_len || sscanf(c->input, "%15s %255s", method, path) != 2)
        return false;
    c->input_len -= whole;
    memmove(c->input, c->input + whole, c->input_len);
    return true;
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

static void read_some(struct rough_connection *c)
{
    char method[16], path[TEXT_MAX];
    int len;

    for (;;) {
        len = SSL_read(c->ssl, c->input + c->input_len, (int)(INPUT_MAX - 1 - c->input_len));
        if (len <= 0)
            break;
        if (c->h2) {
            if (nghttp2_session_mem_recv(c->h2, (uint8_t *)c->input, (size_t)len) < 0)
                c->closing = true;
            continue;
        }
        c->input_len += (size_t)len;
        while (!c->closing && !c->frozen && take_plain(c, method, path))
            serve_plain(c, manner_of(c->server, method, path));
    }
    if (SSL_get_error(c->ssl, len) != SSL_ERROR_WANT_READ)
        c->closing = true;
}

static void turn(struct rough_connection *c)
{
    read_some(c);
    if (c->h2 && !c->frozen) {
        let_drips_fall(c);
        send_frames(c);
    } else if (c->dripping) {
        say(c, "1\r\n \r\n");
    }
}

static void *be_connected(void *ctx)
{
    struct rough_connection *c = ctx;
    const unsigned char *protocol = NULL;
    unsigned len = 0;
    bool stopping = false;

    while (is_frozen(c, &stopping) && !stopping)
        poll(NULL, 0, TURN_MS);
    if (stopping || SSL_accept(c->ssl) != 1)
        return NULL;
    SSL_get0_alpn_selected(c->ssl, &protocol, &len);
    if (len == 2)
        start_http2(c);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    while (!c->closing && !stopping) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};

        if (is_frozen(c, &stopping))
            poll(NULL, 0, TURN_MS);
        else if (poll(&p, 1, TURN_MS) >= 0)
            turn(c);
    }
    if (!is_frozen(c, &stopping))
        SSL_shutdown(c->ssl);
    shutdown(c->fd, SHUT_RDWR);
    return NULL;
}

static void release_streams(struct rough_connection *c)
{
    for (int32_t id = 1; c->h2 && id < 4096; id += 2)
        free(nghttp2_session_get_stream_user_data(c->h2, id));
    nghttp2_session_del(c->h2);
}

static void connection_free(struct rough_connection *c)
{
    shutdown(c->fd, SHUT_RDWR);
    pthread_join(c->thread, NULL);
    release_streams(c);
    SSL_free(c->ssl);
    close(c->fd);
    free(c);
}

/* The server */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *ctx)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1", old[] = "\x08http/1.1";
    struct rough_server *s = ctx;
    unsigned char *chosen;

    (void)ssl;
    pthread_mutex_lock(&s->lock);
    bool downgrade = s->downgrades > 0;
    s->downgrades -= downgrade;
    pthread_mutex_unlock(&s->lock);
    int rc = downgrade
                 ? SSL_select_next_proto(&chosen, out_len, old, sizeof(old) - 1, in, in_len)
                 : SSL_select_next_proto(&chosen, out_len, both, sizeof(both) - 1, in, in_len);
    *out = chosen;
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static void *be_listening(void *ctx)
{
    struct rough_server *s = ctx;
    int fd;

    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        struct rough_connection *c = vpa_xcalloc(1, sizeof(*c));

        c->server = s;
        c->fd = fd;
        c->ssl = SSL_new(s->tls);
        SSL_set_fd(c->ssl, fd);
        pthread_mutex_lock(&s->lock);
        assert(s->connection_count < CONNECTIONS_MAX);
        s->connections[s->connection_count++] = c;
        pthread_mutex_unlock(&s->lock);
        pthread_create(&c->thread, NULL, be_connected, c);
    }
    return NULL;
}

static SSL_CTX *make_tls(struct rough_server *s, const struct vpa_tls_pair *pair)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    BIO *cert = BIO_new_mem_buf(pair->cert_pem, -1), *key = BIO_new_mem_buf(pair->key_pem, -1);
    X509 *x = PEM_read_bio_X509(cert, NULL, NULL, NULL);
    EVP_PKEY *k = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);

    SSL_CTX_use_certificate(tls, x);
    SSL_CTX_use_PrivateKey(tls, k);
    SSL_CTX_set_alpn_select_cb(tls, choose_protocol, s);
    X509_free(x);
    EVP_PKEY_free(k);
    BIO_free(cert);
    BIO_free(key);
    return tls;
}

struct rough_server *rough_server_new(const struct vpa_tls_pair *pair)
{
    struct rough_server *s = vpa_xcalloc(1, sizeof(*s));
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);

    pthread_mutex_init(&s->lock, NULL);
    s->tls = make_tls(s, pair);
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
