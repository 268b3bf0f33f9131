#include "lists.h"

#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/kube/list.h"

#define PATIENCE (10 * VPA_MINUTE)   /* with one page */
#define SILENCE_MAX (2 * VPA_MINUTE) /* of all lists that had nothing to give */

const struct cli_kind cli_deployments = {"apps/v1", "deployments", "the installed daemons"};

struct listing {
    struct cli *cli;
    const struct cli_kind *kind;
    cli_object_fn object;
    void *ctx;
    struct vpa_arena arena;
    struct vpa_table given; /* "namespace/name", kept for a list that begins anew */
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

static void on_object(void *ctx, const struct vpa_json *object, struct vpa_slice text)
{
    struct listing *l = ctx;
    const char *ns = vpa_json_text(object, "metadata.namespace");
    const char *name = vpa_json_text(object, "metadata.name");
    struct vpa_error why;

    (void)text;
    if (!is_given(l, ns, name) && l->object(l->ctx, object, &why) < 0)
        cli_note(l->cli, "%s %s/%s is passed over: %s", l->kind->resource, ns, name, why.text);
}

static void on_unreadable(void *ctx, const struct vpa_error *why)
{
    struct listing *l = ctx;

    cli_note(l->cli, "one of %s cannot be read: %s", l->kind->resource, why->text);
}

static int ask(struct listing *l, const char *ns, struct vpa_error *err)
{
    const struct cli_kind *kind = l->kind;
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, kind->group_version, ns, kind->resource, NULL, NULL);
    if (kind->fields)
        vpa_kube_query(&path, "fieldSelector", kind->fields);
    if (kind->labels)
        vpa_kube_query(&path, "labelSelector", kind->labels);
    const struct vpa_list_request request = {.path = vpa_buf_text(&path),
                                             .paged = true,
                                             .patience = PATIENCE,
                                             .unreadable = on_unreadable};
    int status = vpa_list_each(l->cli->client, &request, on_object, l, err);

    if (status < 0 && err->code == VPA_GONE)
        status = vpa_list_each(l->cli->client, &request, on_object, l, err);
    return status;
}

int cli_list(struct cli *cli, const struct cli_kind *kind, const char *ns, cli_object_fn object,
             void *ctx, struct vpa_error *err)
{
    struct listing l = {.cli = cli, .kind = kind, .object = object, .ctx = ctx};
    int64_t begin = vpa_loop_monotonic(cli->loop);

    if (cli->silence >= SILENCE_MAX)
        return vpa_fail(err, VPA_CANCELLED, "not asked: there was no answer in two minutes");

    int status = ask(&l, ns, err);

    if (status < 0 && err->code == VPA_RETRY && l.given.count == 0)
        cli->silence += vpa_loop_monotonic(cli->loop) - begin;
    vpa_table_release(&l.given);
    vpa_arena_release(&l.arena);
    return status;
}

void cli_note_list(struct cli *cli, const struct cli_kind *kind, const char *ns,
                   const struct vpa_error *err)
{
    /* Of what the server does not serve there is nothing, and defaults stand in for Deployments. */
    cli->lacks |= kind != &cli_deployments && err->code != VPA_NOT_FOUND;
    cli_note_failure(cli, "%s %s%s%s: the answer lacks %s (%s)",
                     err->code == VPA_DENIED ? "not allowed to list" : "cannot list",
                     kind->resource, ns[0] ? " in " : " of all namespaces", ns, kind->what_lacks,
                     err->text);
}
int cli_get(struct cli *cli, const struct cli_kind *kind, const char *ns, const char *name,
            const struct vpa_json **object, struct vpa_error *err)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, kind->group_version, ns, kind->resource, name, NULL);
    return vpa_kube_get_json(cli->client, vpa_buf_text(&path), &cli->arena, object, err);
}
