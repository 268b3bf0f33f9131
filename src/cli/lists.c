#include "lists.h"

#include <string.h>

#include "vpa/api/meta.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/json/json_stream.h"

#define OBJECT_MAX ((size_t)8 << 20)

const struct cli_kind cli_deployments = {"apps/v1", "deployments", "the installed daemons"};

struct listing {
    struct cli *cli;
    const struct cli_kind *kind;
    cli_object_fn object;
    void *ctx;
    struct vpa_json_stream *stream;
    struct vpa_arena scratch;         /* of one object */
    struct vpa_arena arena;           /* of the list */
    struct vpa_table given;           /* "namespace/name", kept for a list that begins anew */
    const char *next;                 /* the continue token, "" at the end */
    struct vpa_kube_request *request; /* under way */
    struct vpa_error failure;         /* of the stream */
    bool broken;
    bool done;
    bool failed;
    struct vpa_error *err;
};

static bool is_given(struct listing *l, const char *ns, const char *name)
{
    vpa_auto_free char *key = vpa_xjoin(ns, '/', name);

    if (vpa_table_find(&l->given, key))
        return true;
    char *kept = vpa_arena_strdup(&l->arena, key);
    vpa_table_put(&l->given, kept, kept);
    return false;
}

static int on_object(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct listing *l = ctx;
    const struct vpa_json *object;
    struct vpa_error why;

    (void)err;
    vpa_arena_clear(&l->scratch);
    if (vpa_json_parse_without(&l->scratch, json, len, vpa_meta_unread, &object, &why) < 0) {
        cli_note(l->cli, "one of %s cannot be read: %s", l->kind->resource, why.text);
        return 0;
    }
    const char *ns = vpa_or_empty(vpa_json_string(vpa_json_at(object, "metadata.namespace")));
    const char *name = vpa_or_empty(vpa_json_string(vpa_json_at(object, "metadata.name")));

    if (!is_given(l, ns, name) && l->object(l->ctx, object, &why) < 0)
        cli_note(l->cli, "%s %s/%s is passed over: %s", l->kind->resource, ns, name, why.text);
    return 0;
}

static int on_head(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct listing *l = ctx;
    const struct vpa_json *head;

    vpa_arena_clear(&l->scratch);
    if (vpa_json_parse(&l->scratch, json, len, &head, err) < 0)
        return -1;
    l->next = vpa_arena_strdup(
        &l->arena, vpa_or_empty(vpa_json_string(vpa_json_at(head, "metadata.continue"))));
    return 0;
}

static int on_long(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct listing *l = ctx;

    (void)json;
    (void)len;
    (void)err;
    cli_note(l->cli, "one of %s is longer than 8 MiB and passed over", l->kind->resource);
    return 0;
}

static int on_data(void *ctx, const char *bytes, size_t len)
{
    struct listing *l = ctx;

    if (vpa_json_stream_feed(l->stream, bytes, len, &l->failure) == 0)
        return 0;
    l->broken = true;
    return -1;
}

static void on_done(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct listing *l = ctx;

    (void)result;
    l->request = NULL;
    l->done = true;
    l->failed = err != NULL || l->broken;
    if (err && !l->broken)
        l->failure = *err;
}

static bool is_done(void *ctx)
{
    return ((struct listing *)ctx)->done;
}

static int read_page(struct listing *l, const char *path, struct vpa_error *err)
{
    const struct vpa_json_stream_handler handler = {l, on_object, on_head, on_long};

    l->stream = vpa_json_stream_new(VPA_STREAM_LIST, OBJECT_MAX, &handler);
    l->done = l->failed = l->broken = false;
    l->next = "";
    l->request = vpa_kube_start(
        l->cli->client,
        &(struct vpa_kube_call){.verb = VPA_KUBE_LIST, .path = path, .on_data = on_data}, on_done,
        l);

    int status = vpa_loop_wait(l->cli->loop, is_done, l, 10 * VPA_MINUTE, err);

    /* What comes later finds neither the stream nor the list. */
    if (l->request)
        vpa_kube_cancel(l->request);
    l->request = NULL;
    if (status == 0 && l->failed) {
        *err = l->failure;
        status = -1;
    }
    if (status == 0)
        status = vpa_json_stream_finish(l->stream, err);
    vpa_json_stream_free(l->stream);
    return status;
}

static int read_pages(struct listing *l, const char *ns, struct vpa_error *err)
{
    bool anew = false;

    l->next = "";
    for (;;) {
        vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
        const char *before = l->next;

        vpa_kube_path(&path, l->kind->group_version, ns, l->kind->resource, NULL, NULL);
        vpa_kube_query(&path, "limit", "500");
        if (l->kind->fields)
            vpa_kube_query(&path, "fieldSelector", l->kind->fields);
        if (l->kind->labels)
            vpa_kube_query(&path, "labelSelector", l->kind->labels);
        if (l->next[0])
            vpa_kube_query(&path, "continue", l->next);
        if (read_page(l, vpa_buf_text(&path), err) < 0) {
            if (err->code != VPA_GONE || anew)
                return -1;
            anew = true;
            l->next = "";
            continue;
        }
        if (!l->next[0])
            return 0;
        if (strcmp(l->next, before) == 0)
            return vpa_fail(err, VPA_INVALID, "its pages lead nowhere");
    }
}

int cli_list(struct cli *cli, const struct cli_kind *kind, const char *ns, cli_object_fn object,
             void *ctx, struct vpa_error *err)
{
    struct listing l = {.cli = cli, .kind = kind, .object = object, .ctx = ctx};
    int status = read_pages(&l, ns, err);

    vpa_table_release(&l.given);
    vpa_arena_release(&l.scratch);
    vpa_arena_release(&l.arena);
    return status;
}

void cli_note_list(struct cli *cli, const struct cli_kind *kind, const char *ns,
                   const struct vpa_error *err)
{
    cli_note(cli, "%s %s%s%s: the answer lacks %s (%s)",
             err->code == VPA_DENIED ? "not allowed to list" : "cannot list", kind->resource,
             ns[0] ? " in " : " of all namespaces", ns, kind->what_lacks, err->text);
}
int cli_get(struct cli *cli, const struct cli_kind *kind, const char *ns, const char *name,
            const struct vpa_json **object, struct vpa_error *err)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, kind->group_version, ns, kind->resource, name, NULL);
    return vpa_kube_get_json(cli->client, vpa_buf_text(&path), &cli->arena, object, err);
}
