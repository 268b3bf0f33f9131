/*
 * What goes out lies in one buffer of plain bytes, filled from nghttp2 in steps, so that a large
 * answer is never there twice; TLS takes of it what the socket takes.
 */
#include "http_peer.h"

#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"

#define INPUT_STEP ((size_t)65536)
#define OUTPUT_STEP ((size_t)262144)
#define TEXT_MAX ((size_t)1 << 30)
#define STREAMS_MAX 100 /* as API servers offer */

struct http_peer {
    SSL *ssl;
    int fd;
    const struct http_peer_calls *calls;
    void *ctx;
    nghttp2_session *h2;    /* NULL: HTTP/1.1, or no handshake yet */
    struct stream *streams; /* of HTTP/2 */
    struct vpa_buf in;      /* HTTP/1.1 */
    struct vpa_buf out;
    int32_t last_stream; /* HTTP/1.1 */
    bool http2;          /* is offered */
    bool greeted;        /* the handshake is done */
    bool waits_for_room;
};

struct stream { /* of HTTP/2 */
    struct stream *next, **place;
    int32_t id;
    char method[16];
    char *target;
    bool accepts_gzip;
    struct vpa_buf body;
    struct http_peer_answer answer;
    size_t sent;         /* of its body */
    struct vpa_buf more; /* of an open one */
};

/* HTTP/2 */

static ssize_t give_body(nghttp2_session *h2, int32_t id, uint8_t *out, size_t max, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    struct stream *stream = source->ptr;
    size_t len = stream->answer.len - stream->sent;

    (void)h2;
    (void)id;
    (void)ctx;
    if (stream->answer.open) {
        len = stream->more.len < max ? stream->more.len : max;
        if (len == 0)
            return NGHTTP2_ERR_DEFERRED;
        memcpy(out, stream->more.data, len);
        vpa_buf_consume(&stream->more, len);
        return (ssize_t)len;
    }
    len = len < max ? len : max;
    if (len > 0)
        memcpy(out, stream->answer.body + stream->sent, len);
    stream->sent += len;
    if (stream->sent == stream->answer.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)len;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static void respond(struct http_peer *peer, struct stream *stream)
{
    char status[16];
    nghttp2_nv headers[3];
    size_t count = 0;
    const nghttp2_data_provider body = {.source.ptr = stream, .read_callback = give_body};

    snprintf(status, sizeof(status), "%d", stream->answer.status);
    headers[count++] = header(":status", status);
    headers[count++] = header("content-type", "application/json");
    if (stream->answer.gzip)
        headers[count++] = header("content-encoding", "gzip");
    nghttp2_submit_response(peer->h2, stream->id, headers, count, &body);
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
    struct http_peer *peer = ctx;
    struct stream *stream;

    if (nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id))
        return 0; /* trailers */
    stream = vpa_xcalloc(1, sizeof(*stream));
    stream->id = frame->hd.stream_id;
    stream->next = peer->streams;
    stream->place = &peer->streams;
    if (stream->next)
        stream->next->place = &stream->next;
    peer->streams = stream;
    vpa_buf_init(&stream->body, TEXT_MAX);
    vpa_buf_init(&stream->more, TEXT_MAX);
    nghttp2_session_set_stream_user_data(h2, stream->id, stream);
    return 0;
}

static bool is_named(const uint8_t *name, size_t len, const char *what)
{
    return len == strlen(what) && memcmp(name, what, len) == 0;
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *ctx)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);

    (void)flags;
    (void)ctx;
    if (is_named(name, name_len, ":method")) {
        snprintf(stream->method, sizeof(stream->method), "%.*s", (int)value_len, value);
    } else if (is_named(name, name_len, ":path")) {
        free(stream->target);
        stream->target = vpa_xstrndup((const char *)value, value_len);
    } else if (is_named(name, name_len, "accept-encoding")) {
        stream->accepts_gzip = memmem(value, value_len, "gzip", 4) != NULL;
    }
    return 0;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                   void *ctx)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(h2, id);

    (void)flags;
    (void)ctx;
    vpa_buf_append(&stream->body, (const char *)data, len);
    return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
    struct http_peer *peer = ctx;
    struct stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);

    if (!stream || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
        (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    peer->calls->on_request(
        peer->ctx, peer,
        &(struct http_peer_request){.stream = stream->id,
                                    .method = stream->method,
                                    .target = stream->target ? stream->target : "",
                                    .body = vpa_buf_text(&stream->body),
                                    .body_len = stream->body.len,
                                    .accepts_gzip = stream->accepts_gzip});
    return 0;
}

static void stream_free(struct stream *stream)
{
    *stream->place = stream->next;
    if (stream->next)
        stream->next->place = stream->place;
    if (stream->answer.owned)
        free((char *)(uintptr_t)stream->answer.body);
    vpa_buf_release(&stream->body);
    vpa_buf_release(&stream->more);
    free(stream->target);
    free(stream);
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t code, void *ctx)
{
    struct http_peer *peer = ctx;
    struct stream *stream = nghttp2_session_get_stream_user_data(h2, id);

    (void)code;
    if (!stream)
        return 0;
    nghttp2_session_set_stream_user_data(h2, id, NULL);
    stream_free(stream);
    if (peer->calls->on_close)
        peer->calls->on_close(peer->ctx, peer, id);
    return 0;
}

static void start_http2(struct http_peer *peer)
{
    const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX};
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *options;

    nghttp2_option_new(&options);
    /* libcurl resets the streams that it is done with; a thousand of them are no flood. */
    nghttp2_option_set_stream_reset_rate_limit(options, UINT32_MAX, UINT32_MAX);
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_server_new2(&peer->h2, callbacks, peer, options);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(options);
    nghttp2_submit_settings(peer->h2, 0, &settings, 1);
}

void http_peer_reset(struct http_peer *peer, int32_t stream, uint32_t code)
{
    nghttp2_submit_rst_stream(peer->h2, 0, stream, code);
}

void http_peer_go_away(struct http_peer *peer, int32_t last_stream)
{
    nghttp2_submit_goaway(peer->h2, 0, last_stream, NGHTTP2_NO_ERROR, NULL, 0);
}

/* HTTP/1.1 */

static bool has_gzip(const char *head, const char *end)
{
    const char *line = strcasestr(head, "\r\nAccept-Encoding:");
    const char *gzip = line && line < end ? strcasestr(line, "gzip") : NULL;
    const char *line_end = gzip ? strstr(line + 2, "\r\n") : NULL;

    return gzip && gzip < line_end;
}

/* Takes one whole request off the input; false: there is none. */
static bool take_request(struct http_peer *peer)
{
    char *text = peer->in.data;
    char *end = text ? strstr(text, "\r\n\r\n") : NULL;
    char *target = end ? memchr(text, ' ', (size_t)(end - text)) : NULL;
    char *length = end ? strcasestr(text, "\r\nContent-Length:") : NULL;
    size_t head = end ? (size_t)(end - text) + 4 : 0, body_len = 0;

    if (!end || !target)
        return false;
    if (length && length < end)
        body_len = strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
    if (peer->in.len < head + body_len)
        return false;
    vpa_auto_free char *method_text = vpa_xstrndup(text, (size_t)(target - text));
    vpa_auto_free char *target_text = vpa_xstrndup(target + 1, strcspn(target + 1, " \r"));
    vpa_auto_free char *body = vpa_xstrndup(text + head, body_len);
    bool accepts_gzip = has_gzip(text, end);

    vpa_buf_consume(&peer->in, head + body_len);
    if (peer->in.data)
        peer->in.data[peer->in.len] = '\0';
    peer->calls->on_request(peer->ctx, peer,
                            &(struct http_peer_request){.stream = ++peer->last_stream,
                                                        .method = method_text,
                                                        .target = target_text,
                                                        .body = body,
                                                        .body_len = body_len,
                                                        .accepts_gzip = accepts_gzip});
    return true;
}

static void say_answer(struct http_peer *peer, const struct http_peer_answer *answer)
{
    vpa_buf_printf(&peer->out, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n",
                   answer->status);
    if (answer->gzip)
        vpa_buf_puts(&peer->out, "Content-Encoding: gzip\r\n");
    if (answer->open) {
        vpa_buf_puts(&peer->out, "Transfer-Encoding: chunked\r\n\r\n");
    } else {
        vpa_buf_printf(&peer->out, "Content-Length: %zu\r\n\r\n", answer->len);
        vpa_buf_append(&peer->out, answer->body, answer->len);
    }
    if (answer->owned)
        free((char *)(uintptr_t)answer->body);
}

/* Both */

void http_peer_answer(struct http_peer *peer, int32_t id, const struct http_peer_answer *answer)
{
    struct stream *stream = peer->h2 ? nghttp2_session_get_stream_user_data(peer->h2, id) : NULL;

    if (!peer->h2) {
        say_answer(peer, answer);
    } else if (stream) {
        stream->answer = *answer;
        respond(peer, stream);
    } else if (answer->owned) {
        free((char *)(uintptr_t)answer->body);
    }
}

void http_peer_append(struct http_peer *peer, int32_t id, const char *text, size_t len)
{
    struct stream *stream = peer->h2 ? nghttp2_session_get_stream_user_data(peer->h2, id) : NULL;

    if (!peer->h2) {
        vpa_buf_printf(&peer->out, "%zx\r\n", len);
        vpa_buf_append(&peer->out, text, len);
        vpa_buf_puts(&peer->out, "\r\n");
    } else if (stream) {
        vpa_buf_append(&stream->more, text, len);
        nghttp2_session_resume_data(peer->h2, id);
    }
}

static void greet(struct http_peer *peer)
{
    const unsigned char *protocol = NULL;
    unsigned len = 0;

    peer->greeted = SSL_do_handshake(peer->ssl) == 1;
    if (!peer->greeted)
        return;
    SSL_get0_alpn_selected(peer->ssl, &protocol, &len);
    if (len == 2)
        start_http2(peer);
}

static bool take_bytes(struct http_peer *peer, const char *bytes, size_t len)
{
    if (peer->h2)
        return nghttp2_session_mem_recv(peer->h2, (const uint8_t *)bytes, len) >= 0;
    vpa_buf_append(&peer->in, bytes, len);
    while (take_request(peer))
        ;
    return true;
}

bool http_peer_read(struct http_peer *peer)
{
    char bytes[INPUT_STEP];
    int len = -1;

    ERR_clear_error(); /* what another connection left is not said of this one */
    if (!peer->greeted)
        greet(peer);
    while (peer->greeted && (len = SSL_read(peer->ssl, bytes, sizeof(bytes))) > 0)
        if (!take_bytes(peer, bytes, (size_t)len))
            return false;
    switch (SSL_get_error(peer->ssl, len)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return true;
    default:
        return false;
    }
}

static void fetch_frames(struct http_peer *peer)
{
    const uint8_t *bytes;
    ssize_t len;

    while (peer->out.len < OUTPUT_STEP && (len = nghttp2_session_mem_send(peer->h2, &bytes)) > 0)
        vpa_buf_append(&peer->out, (const char *)bytes, (size_t)len);
}

/* Until nothing is left or the socket takes no more; false: the connection is over. */
static bool write_out(struct http_peer *peer)
{
    size_t sent = 0;
    int len = 1;

    ERR_clear_error();
    while (sent < peer->out.len) {
        size_t rest = peer->out.len - sent;

        len = SSL_write(peer->ssl, peer->out.data + sent,
                        (int)(rest < OUTPUT_STEP ? rest : OUTPUT_STEP));
        if (len <= 0)
            break;
        sent += (size_t)len;
    }
    vpa_buf_consume(&peer->out, sent);
    peer->waits_for_room = len <= 0;
    return len > 0 || SSL_get_error(peer->ssl, len) == SSL_ERROR_WANT_WRITE;
}

bool http_peer_send(struct http_peer *peer)
{
    if (!peer->greeted)
        return true;
    do {
        if (peer->h2)
            fetch_frames(peer);
        if (!write_out(peer))
            return false;
    } while (peer->h2 && !peer->waits_for_room && nghttp2_session_want_write(peer->h2));
    return !peer->h2 || nghttp2_session_want_read(peer->h2) ||
           nghttp2_session_want_write(peer->h2) || peer->waits_for_room;
}

bool http_peer_has_more(const struct http_peer *peer)
{
    return peer->waits_for_room;
}

bool http_peer_speaks_http2(const struct http_peer *peer)
{
    return peer->h2 != NULL;
}

uint64_t http_peer_received(const struct http_peer *peer)
{
    return BIO_number_read(SSL_get_rbio(peer->ssl));
}

struct http_peer *http_peer_new(SSL_CTX *tls, int fd, bool http2,
                                const struct http_peer_calls *calls, void *ctx)
{
    struct http_peer *peer = vpa_xcalloc(1, sizeof(*peer));

    peer->fd = fd;
    peer->http2 = http2;
    peer->calls = calls;
    peer->ctx = ctx;
    peer->ssl = SSL_new(tls);
    SSL_set_app_data(peer->ssl, peer);
    SSL_set_fd(peer->ssl, fd);
    SSL_set_accept_state(peer->ssl);
    vpa_buf_init(&peer->in, TEXT_MAX);
    vpa_buf_init(&peer->out, TEXT_MAX);
    return peer;
}

void http_peer_end(struct http_peer *peer)
{
    if (peer->greeted)
        SSL_shutdown(peer->ssl);
}

void http_peer_free(struct http_peer *peer)
{
    while (peer->streams)
        stream_free(peer->streams);
    nghttp2_session_del(peer->h2);
    SSL_free(peer->ssl);
    close(peer->fd);
    vpa_buf_release(&peer->in);
    vpa_buf_release(&peer->out);
    free(peer);
}

/* TLS */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *ctx)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1", old[] = "\x08http/1.1";
    const struct http_peer *peer = SSL_get_app_data(ssl);
    unsigned char *chosen;
    int rc = peer->http2
                 ? SSL_select_next_proto(&chosen, out_len, both, sizeof(both) - 1, in, in_len)
                 : SSL_select_next_proto(&chosen, out_len, old, sizeof(old) - 1, in, in_len);

    (void)ctx;
    *out = chosen;
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

SSL_CTX *http_peer_tls_new(const struct vpa_tls_pair *pair)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    BIO *cert = BIO_new_mem_buf(pair->cert_pem, -1), *key = BIO_new_mem_buf(pair->key_pem, -1);
    X509 *x = PEM_read_bio_X509(cert, NULL, NULL, NULL);
    EVP_PKEY *k = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);

    if (SSL_CTX_use_certificate(tls, x) != 1 || SSL_CTX_use_PrivateKey(tls, k) != 1)
        abort();
    /* The order of Go's servers on machines with AES instructions. */
    SSL_CTX_set_ciphersuites(tls, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384");
    SSL_CTX_set_options(tls, SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(tls, choose_protocol, NULL);
    X509_free(x);
    EVP_PKEY_free(k);
    BIO_free(cert);
    BIO_free(key);
    return tls;
}
