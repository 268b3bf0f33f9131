#include "dry_transport.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json_peek.h"
#include "vpa/net/loop.h"
#include "vpa/net/transport.h"

struct dry_transport {
    struct vpa_transport base;
    struct vpa_transport *real;
    struct vpa_loop *loop;
    struct cli_dry_handler handler;
    struct vpa_exchange *first;
};

struct vpa_exchange {
    struct dry_transport *transport;
    struct vpa_exchange *next, **link;
    struct vpa_http_handler handler;
    struct vpa_exchange *real; /* of the real transport; NULL: answered here, or never */
    char *target;
    bool is_list;
    int status; /* of a write, answered soon */
    const char *answer;
};

static void unlink_exchange(struct vpa_exchange *x)
{
    *x->link = x->next;
    if (x->next)
        x->next->link = x->link;
}

static void exchange_free(struct vpa_exchange *x)
{
    unlink_exchange(x);
    free(x->target);
    free(x);
}

/* ---- reads ---- */

static void on_head(void *ctx, int status)
{
    struct vpa_exchange *x = ctx;
    struct vpa_transport *base = &x->transport->base;

    base->dated = x->transport->real->dated;
    base->peer_offset = x->transport->real->peer_offset;
    if (x->handler.on_head && !(x->is_list && status >= 400))
        x->handler.on_head(x->handler.ctx, status);
}

static int on_data(void *ctx, const char *bytes, size_t len)
{
    struct vpa_exchange *x = ctx;

    return x->handler.on_data(x->handler.ctx, bytes, len);
}

static bool may_send(void *ctx)
{
    struct vpa_exchange *x = ctx;

    return !x->handler.may_send || x->handler.may_send(x->handler.ctx);
}

/* Gone tells a reader to list anew, which it does; what is stopped was stopped by it. */
static bool is_refused(const struct vpa_exchange *x, const struct vpa_http_result *result)
{
    return x->is_list && (result->status >= 400 || result->status == 0) && result->status != 410 &&
           result->failure != VPA_TRANSPORT_STOPPED && result->failure != VPA_TRANSPORT_UNSENT;
}

static void give_empty_list(struct vpa_exchange *x)
{
    static const char list[] = "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}";
    struct vpa_http_result result = {.status = 200,
                                     .error = "",
                                     .content_type = "application/json",
                                     .warning = "",
                                     .retry_after = -1,
                                     .body = ""};

    if (x->handler.on_head)
        x->handler.on_head(x->handler.ctx, 200);
    if (x->handler.on_data) {
        if (x->handler.on_data(x->handler.ctx, list, sizeof(list) - 1) < 0)
            result.failure = VPA_TRANSPORT_STOPPED;
    } else {
        result.body = list;
        result.body_len = sizeof(list) - 1;
    }
    x->handler.on_done(x->handler.ctx, &result);
}

static void tell_of_refusal(const struct vpa_exchange *x, const struct vpa_http_result *result)
{
    const struct cli_dry_handler *handler = &x->transport->handler;
    const char *text = result->status ? result->body : result->error;
    size_t len = strcspn(x->target, "?");
    const char *slash = memrchr(x->target, '/', len);
    const char *name = slash ? slash + 1 : x->target;
    vpa_auto_free char *resource = vpa_xstrndup(name, len - (size_t)(name - x->target));
    vpa_auto_arena arena = {0};
    const char *message = vpa_json_peek(&arena, text, strlen(text), "message");

    handler->on_refused(handler->ctx, resource, result->status,
                        message && *message ? message : text);
}

static void on_done(void *ctx, const struct vpa_http_result *result)
{
    struct vpa_exchange *x = ctx;

    if (is_refused(x, result)) {
        tell_of_refusal(x, result);
        give_empty_list(x);
    } else {
        x->handler.on_done(x->handler.ctx, result);
    }
    exchange_free(x);
}

static void give_nothing(void *ctx)
{
    struct vpa_exchange *x = ctx;

    give_empty_list(x);
    exchange_free(x);
}

static void start_read(struct vpa_exchange *x, const struct vpa_http_request *request)
{
    struct vpa_http_handler handler = {.ctx = x,
                                       .may_send = may_send,
                                       .on_head = on_head,
                                       .on_data = x->handler.on_data ? on_data : NULL,
                                       .on_done = on_done};

    const struct cli_dry_handler *ours = &x->transport->handler;

    x->is_list = strstr(request->target, "limit=") != NULL;
    if (x->is_list && ours->hides && ours->hides(ours->ctx, request->target)) {
        vpa_loop_post(x->transport->loop, give_nothing, x);
        return;
    }
    x->real = vpa_transport_start(x->transport->real, request, &handler);
}

/* ---- writes ---- */

static void give_answer(void *ctx)
{
    struct vpa_exchange *x = ctx;
    struct vpa_http_result result = {.status = x->status,
                                     .error = "",
                                     .content_type = "application/json",
                                     .warning = "",
                                     .retry_after = -1,
                                     .body = x->answer,
                                     .body_len = strlen(x->answer)};

    if (!may_send(x)) {
        result.status = 0;
        result.failure = VPA_TRANSPORT_UNSENT;
    } else if (x->handler.on_head) {
        x->handler.on_head(x->handler.ctx, x->status);
    }
    x->handler.on_done(x->handler.ctx, &result);
    exchange_free(x);
}

static void start_write(struct vpa_exchange *x, const struct vpa_http_request *request)
{
    const struct cli_dry_handler *handler = &x->transport->handler;

    vpa_auto_free char *body = vpa_xstrndup(request->body ? request->body : "", request->body_len);

    x->answer = "{}";
    x->status = handler->on_write(handler->ctx, request->method, request->target, body, &x->answer);
    vpa_loop_post(x->transport->loop, give_answer, x);
}

/* ---- the transport ---- */

static struct vpa_exchange *start(struct vpa_transport *transport,
                                  const struct vpa_http_request *request,
                                  const struct vpa_http_handler *handler)
{
    struct dry_transport *t = (struct dry_transport *)transport;
    struct vpa_exchange *x = vpa_xcalloc(1, sizeof(*x));

    x->transport = t;
    x->handler = *handler;
    x->target = vpa_xstrdup(request->target);
    x->next = t->first;
    x->link = &t->first;
    if (x->next)
        x->next->link = &x->next;
    t->first = x;
    if (strcmp(request->method, "GET") != 0)
        start_write(x, request);
    else if (!request->watch)
        start_read(x, request);
    return x;
}

static void cancel(struct vpa_transport *transport, struct vpa_exchange *x)
{
    struct dry_transport *t = (struct dry_transport *)transport;

    if (x->real)
        vpa_transport_cancel(t->real, x->real);
    vpa_loop_unpost(t->loop, give_answer, x);
    vpa_loop_unpost(t->loop, give_nothing, x);
    exchange_free(x);
}

static void free_transport(struct vpa_transport *transport)
{
    struct dry_transport *t = (struct dry_transport *)transport;

    while (t->first)
        cancel(transport, t->first);
    free(t);
}

static struct vpa_transport *transport_new(const struct cli *cli,
                                           const struct cli_dry_handler *handler)
{
    static const struct vpa_transport_ops ops = {start, cancel, free_transport};
    struct dry_transport *t = vpa_xcalloc(1, sizeof(*t));

    t->base.ops = &ops;
    t->real = cli->transport;
    t->loop = cli->loop;
    t->handler = *handler;
    return &t->base;
}

int cli_dry_connect(struct cli *cli, const struct cli_dry_handler *handler, struct cli_dry *out,
                    struct vpa_error *err)
{
    struct cli_dry dry = {.transport = transport_new(cli, handler)};

    dry.client = vpa_kube_client_new(
        &(struct vpa_kube_client_options){.loop = cli->loop,
                                          .transport = dry.transport,
                                          .config = cli->config,
                                          .random = &cli->random,
                                          .user_agent = "kubectl-vpa/" PLUMB_VERSION,
                                          .qps = -1},
        err);
    if (!dry.client) {
        vpa_transport_free(dry.transport);
        return -1;
    }
    *out = dry;
    return 0;
}

void cli_dry_release(struct cli_dry *dry)
{
    vpa_kube_client_free(dry->client);
    vpa_transport_free(dry->transport);
    *dry = (struct cli_dry){0};
}
