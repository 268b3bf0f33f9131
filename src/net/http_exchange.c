/*
 * One request: libmicrohttpd tells of its URI, then of its headers, then of its body piece by
 * piece, and takes an answer at any of these points but the first.
 *
 * What a body may hold is bounded twice: each by body_max, and all together by bodies_max beyond
 * the first 64 KiB of each. A refused body is still read, up to a few times the limit, since a peer
 * that is writing does not look for an answer.
 */
#include "http_exchange.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define DRAIN_FACTOR 4
/* Bodies up to here are always taken: with all connections 32 MiB. */
#define SMALL_BODY ((size_t)64 << 10)

struct exchange {
    struct exchange_place *place;
    char *query;
    struct vpa_buf body;
    size_t received; /* bytes of the body, dropped ones included */
    size_t charged;  /* of place->large_bytes */
    bool begun, too_large;
    int64_t received_ns;
};

static int64_t monotonic_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * VPA_SECOND + ts.tv_nsec;
}

const char *vpa_server_header(const struct vpa_server_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->headers_, MHD_HEADER_KIND, name);
}

void vpa_server_reply_text(struct vpa_server_response *response, int status, const char *text)
{
    *response = (struct vpa_server_response){.status = status,
                                             .content_type = "text/plain; charset=utf-8",
                                             .body = vpa_xstrdup(text),
                                             .body_len = strlen(text)};
}

static enum MHD_Result send_response(struct exchange *x, struct MHD_Connection *connection,
                                     struct vpa_server_response *response)
{
    struct MHD_Response *mhd = MHD_create_response_from_buffer(
        response->body_len, response->body ? response->body : (void *)(uintptr_t) "",
        response->body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);

    if (!mhd) {
        free(response->body);
        return MHD_NO;
    }
    if (response->content_type)
        MHD_add_response_header(mhd, "Content-Type", response->content_type);
    if (response->nosniff)
        MHD_add_response_header(mhd, "X-Content-Type-Options", "nosniff");
    if (x->too_large || atomic_load(&x->place->retired))
        MHD_add_response_header(mhd, "Connection", "close");
    enum MHD_Result rc =
        MHD_queue_response(connection, response->status ? (unsigned)response->status : 500u, mhd);
    MHD_destroy_response(mhd);
    return rc;
}

static void release_body(struct exchange *x)
{
    vpa_buf_release(&x->body);
    atomic_fetch_sub(x->place->large_bytes, x->charged);
    x->charged = 0;
}

static enum MHD_Result answer(struct exchange *x, struct MHD_Connection *connection,
                              const char *url, const char *method)
{
    const struct exchange_place *place = x->place;
    struct vpa_server_response response = {0};
    const struct vpa_server_request request = {
        .method = method,
        .path = url,
        .query = x->query,
        .body = x->too_large ? "" : vpa_buf_text(&x->body),
        .body_len = x->too_large ? 0 : x->body.len,
        .body_too_large = x->too_large,
        .received_ns = x->received_ns,
        .headers_ = connection,
    };

    if (place->tls && !server_tls_client_allowed(place->tls, connection))
        vpa_server_reply_text(&response, 401, "client certificate required\n");
    else
        place->options->handler(place->options->ctx, &request, &response);
    release_body(x); /* the peer may take its time with the answer */
    return send_response(x, connection, &response);
}

/* Whether all bodies together may grow by what this one has grown. */
static bool charge(struct exchange *x)
{
    size_t large = x->received > SMALL_BODY ? x->received - SMALL_BODY : 0;
    size_t more = large - x->charged;

    x->charged = large;
    return atomic_fetch_add(x->place->large_bytes, more) + more <= x->place->options->bodies_max;
}

static enum MHD_Result take_body(struct exchange *x, const char *bytes, size_t *size)
{
    size_t limit = x->place->options->body_max;

    x->received += *size;
    if (!x->too_large && x->received <= limit && charge(x)) {
        vpa_buf_append(&x->body, bytes, *size);
    } else {
        x->too_large = true;
        release_body(x);
    }
    *size = 0;
    return x->received / DRAIN_FACTOR > limit ? MHD_NO : MHD_YES;
}

enum MHD_Result exchange_go_on(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **con_cls)
{
    struct exchange *x = *con_cls;

    (void)cls;
    (void)version;
    if (!x->begun) {
        const char *length =
            MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
        size_t limit = x->place->options->body_max;
        uint64_t announced = 0;

        x->begun = true;
        x->received_ns = monotonic_ns();
        atomic_fetch_add(&x->place->requests, 1);
        if (length && vpa_parse_uint64(length, &announced, NULL) < 0)
            announced = UINT64_MAX;
        if (announced / DRAIN_FACTOR > limit) { /* not worth reading: answered at once */
            x->too_large = true;
            return answer(x, connection, url, method);
        }
        if (announced > 0 && announced <= limit) /* room that is charged comes with the bytes */
            vpa_buf_reserve(&x->body, announced < SMALL_BODY ? (size_t)announced : SMALL_BODY);
        return MHD_YES;
    }
    if (*upload_size > 0)
        return take_body(x, upload, upload_size);
    return answer(x, connection, url, method);
}

void *exchange_begin(void *place, const char *uri, struct MHD_Connection *connection)
{
    struct exchange *x = vpa_xcalloc(1, sizeof(*x));
    const char *mark = strchr(uri, '?');

    (void)connection;
    x->place = place;
    x->query = vpa_xstrdup(mark ? mark + 1 : "");
    vpa_buf_init(&x->body, x->place->options->body_max);
    return x;
}

void exchange_end(void *cls, struct MHD_Connection *connection, void **con_cls,
                  enum MHD_RequestTerminationCode code)
{
    struct exchange *x = *con_cls;

    (void)cls;
    (void)connection;
    (void)code;
    if (!x)
        return;
    if (x->begun)
        atomic_fetch_sub(&x->place->requests, 1);
    free(x->query);
    release_body(x);
    free(x);
    *con_cls = NULL;
}
