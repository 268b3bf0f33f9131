/*
 * One page at a time, and within a page one item at a time. The end of an answer names the token of
 * the next page; one that names the token that was just used, or a list of more pages than any
 * cluster has, has no end and fails.
 */
#include "vpa/kube/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/api/meta.h"
#include "vpa/json/json_stream.h"

#define PAGES_MAX 100000 /* 50 million items */
/* Longest continue token; escaped, a byte may become three. */
#define TOKEN_MAX ((size_t)64 << 10)

struct vpa_listing {
    struct vpa_kube_client *client;
    struct vpa_list_handler handler;
    char *path;
    char *asked_version; /* NULL: the newest */
    bool paged;
    size_t item_max;
    const char *const *left_out;
    vpa_duration timeout;
    struct vpa_kube_request *call; /* of the page in hand */
    struct vpa_json_stream *stream;
    struct vpa_arena arena; /* of the item in hand */
    char *token;            /* of the page in hand, NULL for the first; behind its head the next */
    char *version;
    unsigned pages;
    bool failed; /* the text cannot be used: err says why */
    struct vpa_error err;
};

static void start_page(struct vpa_listing *l);

/* ---- what an answer holds ---- */

static int on_unreadable(struct vpa_listing *l, struct vpa_slice text, const struct vpa_error *why,
                         struct vpa_error *err)
{
    if (l->handler.unreadable)
        return l->handler.unreadable(l->handler.ctx, text, why, err);
    *err = *why;
    return -1;
}

static int on_item(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_listing *l = ctx;
    const struct vpa_slice text = {json, len};
    const struct vpa_json *item;
    struct vpa_error why;
    int result = vpa_json_parse_without(&l->arena, json, len, l->left_out, &item, &why) == 0
                     ? l->handler.item(l->handler.ctx, item, text, err)
                     : on_unreadable(l, text, &why, err);

    vpa_arena_clear_small(&l->arena);
    return result;
}

static int on_long_item(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_listing *l = ctx;
    struct vpa_error why;

    vpa_fail(&why, VPA_LIMIT, "longer than %zu bytes", l->item_max);
    return on_unreadable(l, (struct vpa_slice){json, len}, &why, err);
}

static int take_head(struct vpa_listing *l, const struct vpa_json *head, struct vpa_error *err)
{
    const char *token = vpa_json_text(head, "metadata.continue");
    const char *version = vpa_json_text(head, "metadata.resourceVersion");

    if (strlen(token) > TOKEN_MAX)
        return vpa_fail(err, VPA_LIMIT, "continue token too long");
    if (strlen(version) > VPA_LIST_VERSION_MAX)
        return vpa_fail(err, VPA_LIMIT, "resourceVersion too long");
    if (*token && (vpa_str_eq(token, l->token) || l->pages + 1 > PAGES_MAX))
        return vpa_fail(err, VPA_LIMIT, "the list has no end");
    vpa_replace_text(&l->token, *token ? token : NULL);
    vpa_replace_text(&l->version, version);
    return 0;
}

static int on_head(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_listing *l = ctx;
    const struct vpa_json *head;
    int result = vpa_json_parse(&l->arena, json, len, &head, err);

    if (result == 0)
        result = take_head(l, head, err);
    vpa_arena_clear_small(&l->arena);
    return result;
}

static int on_data(void *ctx, const char *bytes, size_t len)
{
    struct vpa_listing *l = ctx;

    if (vpa_json_stream_feed(l->stream, bytes, len, &l->err) == 0)
        return 0;
    l->failed = true;
    return -1;
}

/* ---- pages ---- */

static void listing_free(struct vpa_listing *l)
{
    vpa_json_stream_free(l->stream);
    vpa_arena_release(&l->arena);
    free(l->path);
    free(l->asked_version);
    free(l->token);
    free(l->version);
    free(l);
}

static void end(struct vpa_listing *l, const struct vpa_error *err,
                const struct vpa_kube_result *refused)
{
    const struct vpa_list_end how = {
        .err = err, .refused = refused, .version = vpa_or_empty(l->version), .pages = l->pages};

    l->handler.done(l->handler.ctx, &how);
    listing_free(l);
}

static void on_page(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct vpa_listing *l = ctx;

    l->call = NULL;
    if (err && !l->failed) {
        end(l, err, result);
    } else if (l->failed || vpa_json_stream_finish(l->stream, &l->err) < 0) {
        vpa_wrap(&l->err, "list");
        end(l, &l->err, NULL);
    } else if (l->token) {
        l->pages++;
        start_page(l);
    } else {
        end(l, NULL, NULL);
    }
}

static void page_path(const struct vpa_listing *l, struct vpa_buf *path)
{
    char limit[16];

    snprintf(limit, sizeof(limit), "%d", VPA_LIST_PAGE);
    vpa_buf_puts(path, l->path);
    if (l->paged || l->token)
        vpa_kube_query(path, "limit", limit);
    if (l->token)
        vpa_kube_query(path, "continue", l->token);
    else if (*vpa_or_empty(l->asked_version))
        vpa_kube_query(path, "resourceVersion", l->asked_version);
}

static void start_page(struct vpa_listing *l)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX + 3 * TOKEN_MAX);

    page_path(l, &path);
    vpa_json_stream_free(l->stream);
    l->stream = vpa_json_stream_new(
        VPA_STREAM_LIST, l->item_max,
        &(struct vpa_json_stream_handler){.ctx = l,
                                          .on_object = on_item,
                                          .on_head = on_head,
                                          .on_long = l->handler.unreadable ? on_long_item : NULL});
    struct vpa_kube_call call = {.verb = VPA_KUBE_LIST,
                                 .path = vpa_buf_text(&path),
                                 .timeout = l->timeout,
                                 .on_data = on_data};
    l->call = vpa_kube_start(l->client, &call, on_page, l);
}

struct vpa_listing *vpa_listing_start(struct vpa_kube_client *client,
                                      const struct vpa_list_request *request,
                                      const struct vpa_list_handler *handler)
{
    struct vpa_listing *l = vpa_xcalloc(1, sizeof(*l));

    l->client = client;
    l->handler = *handler;
    l->path = vpa_xstrdup(request->path);
    vpa_replace_text(&l->asked_version, request->version);
    l->paged = request->paged;
    l->timeout = request->timeout;
    l->item_max = request->item_max ? request->item_max : VPA_LIST_ITEM_MAX;
    l->left_out = request->left_out ? request->left_out : vpa_meta_unread;
    start_page(l);
    return l;
}

void vpa_listing_cancel(struct vpa_listing *listing)
{
    if (!listing)
        return;
    if (listing->call)
        vpa_kube_cancel(listing->call);
    listing_free(listing);
}

/* ---- one that is waited for ---- */

struct waiting {
    const struct vpa_list_request *request;
    vpa_list_item_fn give;
    void *ctx;
    struct vpa_listing *listing;
    unsigned pages; /* that had come when the wait began */
    bool done;
    int result;
    struct vpa_error *err;
};

static int give_item(void *ctx, const struct vpa_json *item, struct vpa_slice text,
                     struct vpa_error *err)
{
    struct waiting *w = ctx;

    (void)err;
    w->give(w->ctx, item, text);
    return 0;
}

static int give_unreadable(void *ctx, struct vpa_slice text, const struct vpa_error *why,
                           struct vpa_error *err)
{
    struct waiting *w = ctx;

    if (!w->request->unreadable)
        return give_item(ctx, NULL, text, err);
    w->request->unreadable(w->ctx, why);
    return 0;
}

static void on_end(void *ctx, const struct vpa_list_end *how)
{
    struct waiting *w = ctx;

    w->done = true;
    w->result = how->err ? -1 : 0;
    if (how->err)
        *w->err = *how->err;
}

static bool is_further(void *ctx)
{
    const struct waiting *w = ctx;

    return w->done || w->listing->pages != w->pages;
}

int vpa_list_each(struct vpa_kube_client *client, const struct vpa_list_request *request,
                  vpa_list_item_fn give, void *ctx, struct vpa_error *err)
{
    struct waiting w = {.request = request, .give = give, .ctx = ctx, .err = err};
    bool goes_on = request->with_unreadable || request->unreadable;
    const struct vpa_list_handler handler = {.ctx = &w,
                                             .item = give_item,
                                             .unreadable = goes_on ? give_unreadable : NULL,
                                             .done = on_end};
    vpa_duration patience = request->patience ? request->patience : request->timeout + VPA_MINUTE;

    w.listing = vpa_listing_start(client, request, &handler);
    while (!w.done) {
        w.pages = w.listing->pages;
        if (vpa_loop_wait(vpa_kube_client_loop(client), is_further, &w, patience, err) < 0) {
            vpa_listing_cancel(w.listing);
            return -1;
        }
    }
    return w.result;
}
