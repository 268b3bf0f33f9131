#include "workloads.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/api/controller.h"
#include "vpa/base/str.h"

static const enum vpa_controller_kind listed[] = {
    VPA_KIND_DEPLOYMENT, VPA_KIND_STATEFUL_SET, VPA_KIND_DAEMON_SET,
    VPA_KIND_REPLICATION_CONTROLLER, VPA_KIND_CRON_JOB};

struct listing {
    enum vpa_controller_kind kind;
    cli_workload_fn visit;
    void *ctx;
};

static bool is_owned(const struct vpa_json *object)
{
    bool controls;

    vpa_json_foreach (owner, vpa_json_at(object, "metadata.ownerReferences"))
        if (vpa_json_bool(vpa_json_find(owner, "controller"), &controls) && controls)
            return true;
    return false;
}

static int on_object(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    const struct listing *l = ctx;

    (void)err;
    l->visit(l->ctx, &(struct cli_workload){.ns = vpa_json_text(object, "metadata.namespace"),
                                            .kind = vpa_controller_kind_name(l->kind),
                                            .api_version = vpa_controller_api_version(l->kind),
                                            .name = vpa_json_text(object, "metadata.name"),
                                            .owned = is_owned(object),
                                            .object = object});
    return 0;
}

bool cli_workloads_list(struct cli *cli, const char *ns, const char *labels, cli_workload_fn visit,
                        void *ctx)
{
    bool whole = true;

    for (size_t i = 0; i < VPA_COUNT(listed); i++) {
        struct listing l = {listed[i], visit, ctx};
        struct cli_kind kind = {.group_version = vpa_controller_api_version(listed[i]),
                                .resource = vpa_controller_plural(listed[i]),
                                .what_lacks = "workloads of that kind",
                                .labels = labels};
        struct vpa_error err;

        if (cli_list(cli, &kind, ns, on_object, &l, &err) == 0)
            continue;
        cli_note_list(cli, &kind, ns, &err);
        whole = false;
    }
    return whole;
}

const char *cli_workload_kind(const char *text)
{
    static const struct {
        const char *short_name;
        enum vpa_controller_kind kind;
    } shorts[] = {{"deploy", VPA_KIND_DEPLOYMENT}, {"sts", VPA_KIND_STATEFUL_SET},
                  {"ds", VPA_KIND_DAEMON_SET},     {"rs", VPA_KIND_REPLICA_SET},
                  {"cj", VPA_KIND_CRON_JOB},       {"rc", VPA_KIND_REPLICATION_CONTROLLER}};

    for (size_t i = 0; i < VPA_COUNT(shorts); i++)
        if (strcasecmp(text, shorts[i].short_name) == 0)
            return vpa_controller_kind_name(shorts[i].kind);
    for (int i = 0; i < VPA_KIND_COUNT; i++) {
        enum vpa_controller_kind kind = (enum vpa_controller_kind)i;

        if (strcasecmp(text, vpa_controller_kind_name(kind)) == 0 ||
            strcasecmp(text, vpa_controller_plural(kind)) == 0)
            return vpa_controller_kind_name(kind);
    }
    return NULL;
}

int cli_workload_parse(struct cli *cli, const char *word, struct cli_workload *out,
                       struct vpa_error *err)
{
    const char *slash = strchr(word, '/');
    const char *text =
        slash ? vpa_arena_strndup(&cli->arena, word, (size_t)(slash - word)) : "deployment";
    const char *name = cli_workload_kind(text);

    if (!name)
        return vpa_fail(err, VPA_INVALID,
                        "\"%.60s\" is no kind of workload; there are deploy, sts, "
                        "ds, rs, rc, job, cronjob",
                        text);

    *out = (struct cli_workload){.kind = name,
                                 .api_version =
                                     vpa_controller_api_version(vpa_controller_kind_parse(name)),
                                 .name = slash ? slash + 1 : word};
    return 0;
}

int cli_workload_get(struct cli *cli, struct cli_workload *workload, struct vpa_error *err)
{
    const struct cli_kind where = {
        .group_version = workload->api_version,
        .resource = vpa_controller_plural(vpa_controller_kind_parse(workload->kind))};

    workload->ns = cli->ns;
    return cli_get(cli, &where, cli->ns, workload->name, &workload->object, err);
}

const struct vpa_json *cli_workload_template(const struct vpa_json *object)
{
    const struct vpa_json *of_cron_job = vpa_json_at(object, "spec.jobTemplate.spec.template");

    return of_cron_job ? of_cron_job : vpa_json_at(object, "spec.template");
}

/* ---- VPAs ---- */

static void add_selecting(struct cli_vpas *vpas, const struct vpa_object *vpa)
{
    VPA_GROW(vpas->selecting, vpas->selecting_count, vpas->selecting_room);
    vpas->selecting[vpas->selecting_count++] = (struct vpa_candidate){vpa, &vpa->selector};
}

static int on_vpa(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct cli_vpas *vpas = ctx;
    struct vpa_arena *arena = &vpas->arena;
    struct vpa_object *vpa = vpa_arena_zalloc(arena, sizeof(*vpa));

    if (vpa_object_decode(arena, object, vpa, err) < 0)
        return -1;
    vpa_table_put(&vpas->by_name, vpa_arena_printf(arena, "%s/%s", vpa->meta.ns, vpa->meta.name),
                  vpa);
    if (!vpa->target_ref.present) {
        if (vpa->has_selector)
            add_selecting(vpas, vpa);
        return 0;
    }

    const char *key = vpa_arena_printf(arena, "%s/%s/%s", vpa->meta.ns, vpa->target_ref.kind,
                                       vpa->target_ref.name);
    const struct vpa_object *other = vpa_table_find(&vpas->by_target, key);

    if (!other || vpa_match_stronger(vpa, other))
        vpa_table_put(&vpas->by_target, key, vpa);
    return 0;
}

int cli_vpas_read(struct cli *cli, const char *ns, struct cli_vpas *out, struct vpa_error *err)
{
    static const struct cli_kind kind = {.group_version = VPA_GROUP_VERSION,
                                         .resource = "verticalpodautoscalers",
                                         .what_lacks = "recommendations"};

    *out = (struct cli_vpas){0};

    int status = cli_list(cli, &kind, ns, on_vpa, out, err);

    out->by_labels = vpa_match_index_new(out->selecting, out->selecting_count);
    return status;
}

void cli_vpas_release(struct cli_vpas *vpas)
{
    vpa_table_release(&vpas->by_target);
    vpa_table_release(&vpas->by_name);
    vpa_match_index_free(vpas->by_labels);
    free(vpas->selecting);
    vpa_arena_release(&vpas->arena);
}

const struct vpa_object *cli_vpas_find(const struct cli_vpas *vpas, const char *ns,
                                       const char *kind, const char *name)
{
    vpa_auto_free char *key = vpa_xprintf("%s/%s/%s", ns, kind, name);

    return vpa_table_find(&vpas->by_target, key);
}

const struct vpa_object *cli_vpas_of_pod(const struct cli_vpas *vpas, const char *ns,
                                         const char *kind, const char *name,
                                         const struct vpa_labels *labels)
{
    const struct vpa_object *by_target = cli_vpas_find(vpas, ns, kind, name);
    const struct vpa_candidate *by_labels =
        vpas->by_labels ? vpa_match_find(vpas->by_labels, VPA_MATCH_UPDATER, ns, "", "", labels)
                        : NULL;

    if (by_labels && (!by_target || vpa_match_stronger(by_labels->vpa, by_target)))
        return by_labels->vpa;
    return by_target;
}
