/*
 * One page at a time, and within a page one item at a time: the stream cuts the text of an item out
 * of the answer, which is parsed into an arena that the next item reuses. A page goes out only when
 * the one before has been handed on, so the memory is that of the largest item.
 */
#include "list.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_stream.h"

#define LIST_PAGE_TEXT "500"
#define LIST_PAGES_MAX 100000 /* 50 million items */
/* Longest continue token; escaped, a byte may become three. */
#define LIST_TOKEN_MAX ((size_t)64 << 10)

struct listing {
    list_item_fn on_item;
    void *ctx;
    struct vpa_arena arena; /* of the item in hand */
    struct vpa_json_stream *stream;
    char *token; /* of the page in hand, NULL for the first */
    char *next;  /* continue token of the next page, NULL behind the last one */
    unsigned pages;
    bool failed; /* the text cannot be used: err says why */
    bool done;
    int result;
    struct vpa_error err;
};

static int on_item_text(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct listing *l = ctx;
    const struct vpa_json *item;

    if (vpa_json_parse(&l->arena, json, len, &item, err) < 0)
        return -1;
    l->on_item(l->ctx, item, json, len);
    vpa_arena_clear(&l->arena);
    return 0;
}

static int on_head(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct listing *l = ctx;
    const struct vpa_json *root;

    if (vpa_json_parse(&l->arena, json, len, &root, err) < 0)
        return -1;
    const char *next = vpa_json_string(vpa_json_at(root, "metadata.continue"));
    int result = 0;
    if (next && strlen(next) > LIST_TOKEN_MAX)
        result = vpa_fail(err, VPA_LIMIT, "continue token too long");
    else if (next && *next && (vpa_str_eq(next, l->token) || ++l->pages > LIST_PAGES_MAX))
        result = vpa_fail(err, VPA_LIMIT, "the list has no end");
    else
        l->next = next && *next ? vpa_xstrdup(next) : NULL;
    vpa_arena_clear(&l->arena);
    return result;
}

static int on_data(void *ctx, const char *bytes, size_t len)
{
    struct listing *l = ctx;

    if (vpa_json_stream_feed(l->stream, bytes, len, &l->err) == 0)
        return 0;
    l->failed = true;
    return -1;
}

static void on_done(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct listing *l = ctx;

    (void)result;
    l->done = true;
    if (l->failed) {
        l->result = -1;
    } else if (err) {
        l->err = *err;
        l->result = -1;
    } else {
        l->result = vpa_json_stream_finish(l->stream, &l->err);
    }
}

static bool is_done(void *ctx)
{
    return ((struct listing *)ctx)->done;
}

static int list_page(struct vpa_kube_client *client, const struct list_request *request,
                     struct listing *l, struct vpa_error *err)
{
    vpa_auto_buf path = {0};

    free(l->token);
    l->token = VPA_STEAL(l->next);
    vpa_buf_init(&path, VPA_KUBE_PATH_MAX + 3 * LIST_TOKEN_MAX);
    vpa_buf_puts(&path, request->path);
    if (request->paged)
        vpa_kube_query(&path, "limit", LIST_PAGE_TEXT);
    if (l->token)
        vpa_kube_query(&path, "continue", l->token);

    l->failed = l->done = false;
    l->stream = vpa_json_stream_new(
        VPA_STREAM_LIST, LIST_ITEM_MAX,
        &(struct vpa_json_stream_handler){.ctx = l, .on_object = on_item_text, .on_head = on_head});
    struct vpa_kube_call call = {.verb = VPA_KUBE_LIST,
                                 .path = vpa_buf_text(&path),
                                 .timeout = request->timeout,
                                 .response_max = LIST_ANSWER_MAX,
                                 .on_data = on_data};
    struct vpa_kube_request *under_way = vpa_kube_start(client, &call, on_done, l);
    int result =
        vpa_loop_wait(vpa_kube_client_loop(client), is_done, l, request->timeout + VPA_MINUTE, err);
    if (result < 0)
        vpa_kube_cancel(under_way);
    else if (l->result < 0)
        *err = l->err;
    vpa_json_stream_free(VPA_STEAL(l->stream));
    return result < 0 ? -1 : l->result;
}

int list_each(struct vpa_kube_client *client, const struct list_request *request,
              list_item_fn on_item, void *ctx, struct vpa_error *err)
{
    struct listing l = {.on_item = on_item, .ctx = ctx};
    int result;

    do
        result = list_page(client, request, &l, err);
    while (result == 0 && l.next);
    free(l.token);
    free(l.next);
    vpa_arena_release(&l.arena);
    return result;
}
