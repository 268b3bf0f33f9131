/*
 * `diff`: the resources of a workload's manifest against those that the webhook would give its
 * pods, as a difference, as a patch, or as a part of a kustomization.
 */
#include <string.h>

#include "daemon_config.h"
#include "governors.h"
#include "output.h"
#include "preview.h"
#include "workloads.h"
#include "vpa/api/limit_range.h"
#include "vpa/base/str.h"
#include "vpa/policy/capping.h"
#include "vpa/policy/match.h"
#include "vpa/policy/update_mode.h"

#define TEXT_MAX ((size_t)8 << 20)

enum form { FORM_PATCH, FORM_KUSTOMIZE, FORM_DIFFERENCE };

struct difference {
    struct cli *cli;
    enum form form;
    struct cli_workload workload;
    const struct vpa_object *vpa; /* the strongest that governs its pods and is not Off, else Off */
    const char *near;             /* one that nearly does, for people; NULL: none */
    struct vpa_pod pod;           /* as the template makes it */
    struct vpa_container_plan *plans;
    const struct vpa_limit_range **ranges;
    size_t range_count;
};

static int on_range(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct difference *d = ctx;
    struct vpa_arena *arena = &d->cli->arena;
    struct vpa_limit_range *range = vpa_arena_zalloc(arena, sizeof(*range));
    const struct vpa_limit_range **items =
        vpa_arena_alloc(arena, (d->range_count + 1) * sizeof(*items));

    if (vpa_limit_range_decode(arena, object, range, err) < 0)
        return -1;
    if (d->range_count)
        memcpy(items, d->ranges, d->range_count * sizeof(*items));
    items[d->range_count++] = range;
    d->ranges = items;
    return 0;
}

static bool has_mode_off(const struct difference *d)
{
    for (size_t i = 0; i < d->pod.container_count; i++)
        if (vpa_policy_is_off(&d->vpa->resource_policy, d->pod.containers[i].name))
            return true;
    return false;
}

/* With the gate CPUStartupBoost the webhook leaves containers of mode Off as they are. */
static void leave_off(struct difference *d)
{
    struct cli_config webhook;

    if (!has_mode_off(d))
        return;
    cli_config_read(d->cli, CLI_ADMISSION_CONTROLLER, &webhook, NULL);
    if (!webhook.admission.common.gates.cpu_startup_boost)
        return;
    for (size_t i = 0; i < d->pod.container_count; i++)
        if (vpa_policy_is_off(&d->vpa->resource_policy, d->pod.containers[i].name))
            d->plans[i] = (struct vpa_container_plan){0};
}

/* The API server would refuse such pods, and the webhook gives them nothing. */
static int check_fit(const struct difference *d, const struct vpa_namespace_limits *limits,
                     struct vpa_error *err)
{
    struct vpa_arena *arena = &d->cli->arena;
    const struct vpa_resources *wanted =
        vpa_plans_resources(arena, d->plans, d->pod.container_count);

    if (!vpa_capping_is_bounded(&d->pod, limits) ||
        vpa_capping_fits(arena, &d->pod, limits, wanted, err) == 0)
        return 0;
    return vpa_wrap(err, "the pods of %s %s cannot have what VPA %s recommends", d->workload.kind,
                    d->workload.name, d->vpa->meta.name);
}

static int plan(struct difference *d, struct vpa_error *err)
{
    static const struct cli_kind kind = {
        .group_version = "v1", .resource = "limitranges", .what_lacks = "the LimitRanges"};
    struct vpa_namespace_limits limits;
    struct vpa_error why;

    if (cli_list(d->cli, &kind, d->cli->ns, on_range, d, &why) < 0)
        cli_note_list(d->cli, &kind, d->cli->ns, &why);
    vpa_namespace_limits_fold(&d->cli->arena, d->ranges, d->range_count, &limits);
    if (vpa_capping_plan(&d->cli->arena, d->vpa, &d->pod, &limits, &d->plans, err) < 0)
        return -1;
    leave_off(d);
    return check_fit(d, &limits, err);
}

static void put_resources(struct vpa_json_writer *w, const struct vpa_container *container,
                          const struct vpa_container_plan *p)
{
    const struct {
        const char *name;
        const struct vpa_resource_list *list;
    } parts[] = {{"requests", &p->requests}, {"limits", &p->limits}};

    vpa_json_open_object(w);
    vpa_json_member_string(w, "name", container->name);
    vpa_json_member_object(w, "resources");
    for (size_t i = 0; i < VPA_COUNT(parts); i++) {
        if (!parts[i].list->present || parts[i].list->count == 0)
            continue;
        vpa_json_key(w, parts[i].name);
        vpa_resource_list_encode(w, parts[i].list);
    }
    vpa_json_close_object(w);
    vpa_json_close_object(w);
}

static void open_members(struct vpa_json_writer *w, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vpa_json_member_object(w, names[i]);
    }
}

/*
 * A strategic merge patch, for `kubectl patch`: it changes what it names. Applied, it would stand
 * for the whole manifest, and take away every field that an earlier apply had set.
 */
static void put_patch(const struct difference *d, struct vpa_buf *out)
{
    static const char *const path[] = {"spec", "jobTemplate", "spec", "template", "spec"};
    bool cron = strcmp(d->workload.kind, "CronJob") == 0;
    const char *const plain[] = {"spec", "template", "spec"};
    size_t depth = cron ? VPA_COUNT(path) : VPA_COUNT(plain);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "apiVersion", d->workload.api_version);
    vpa_json_member_string(&w, "kind", d->workload.kind);
    vpa_json_member_object(&w, "metadata");
    vpa_json_member_string(&w, "name", d->workload.name);
    vpa_json_member_string(&w, "namespace", d->cli->ns);
    vpa_json_close_object(&w);
    open_members(&w, cron ? path : plain, depth);
    vpa_json_member_array(&w, "containers");
    for (size_t i = 0; i < d->pod.container_count; i++)
        if (d->plans[i].requests.count || d->plans[i].limits.count)
            put_resources(&w, &d->pod.containers[i], &d->plans[i]);
    vpa_json_close_array(&w);
    for (size_t i = 0; i <= depth; i++)
        vpa_json_close_object(&w);
}

static void put_indented(struct vpa_buf *out, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");

        vpa_buf_printf(out, "    %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void put_kustomization(const struct difference *d, const struct vpa_buf *patch)
{
    struct vpa_buf *out = &d->cli->out;
    vpa_auto_buf yaml = VPA_BUF(TEXT_MAX);

    (void)cli_put_yaml(&yaml, vpa_buf_text(patch), patch->len);
    vpa_buf_printf(out, "patches:\n- target:\n    kind: %s\n    name: %s\n  patch: |-\n",
                   d->workload.kind, d->workload.name);
    put_indented(out, vpa_buf_text(&yaml));
}

/* ---- as a difference ---- */

static void put_list(struct vpa_json_writer *w, const char *name,
                     const struct vpa_resource_list *before, const struct vpa_resource_list *after)
{
    vpa_json_member_object(w, name);
    for (size_t i = 0; i < before->count; i++) {
        const struct vpa_quantity *q =
            after ? vpa_resource_find(after, before->items[i].name) : NULL;

        vpa_json_member_quantity(w, before->items[i].name, q ? q : &before->items[i].quantity);
    }
    for (size_t i = 0; after && i < after->count; i++) {
        if (vpa_resource_find(before, after->items[i].name))
            continue;
        vpa_json_member_quantity(w, after->items[i].name, &after->items[i].quantity);
    }
    vpa_json_close_object(w);
}

/* The resources of all containers, planned: as they will be. */
static int side(const struct difference *d, bool planned, const struct vpa_json **root,
                struct vpa_error *err)
{
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    for (size_t i = 0; i < d->pod.container_count; i++) {
        const struct vpa_container *c = &d->pod.containers[i];

        vpa_json_member_object(&w, c->name);
        put_list(&w, "requests", &c->resources.requests, planned ? &d->plans[i].requests : NULL);
        put_list(&w, "limits", &c->resources.limits, planned ? &d->plans[i].limits : NULL);
        vpa_json_close_object(&w);
    }
    vpa_json_close_object(&w);
    return vpa_json_parse(&d->cli->arena, text.data, text.len, root, err);
}

static int print_difference(const struct difference *d, struct vpa_error *err)
{
    const struct vpa_json *before, *after;

    if (side(d, false, &before, err) < 0 || side(d, true, &after, err) < 0)
        return -1;
    if (vpa_json_equal(before, after))
        cli_note(d->cli, "the manifest has what VPA %s recommends", d->vpa->meta.name);
    else
        cli_put_diff(&d->cli->out, d->cli->color, before, after);
    return 0;
}

static int print(const struct difference *d, struct vpa_error *err)
{
    vpa_auto_buf patch = VPA_BUF(TEXT_MAX);

    if (d->form == FORM_DIFFERENCE && !cli_is_json(d->cli))
        return print_difference(d, err);
    put_patch(d, &patch);
    if (d->form == FORM_KUSTOMIZE) {
        put_kustomization(d, &patch);
    } else if (d->cli->format == CLI_JSON) {
        cli_put_json(&d->cli->out, vpa_buf_text(&patch), patch.len);
        vpa_buf_putc(&d->cli->out, '\n');
    } else {
        (void)cli_put_yaml(&d->cli->out, vpa_buf_text(&patch), patch.len);
    }
    return 0;
}

/* ---- which VPA ---- */

static bool is_off(const struct vpa_object *vpa)
{
    return vpa_update_mode_of(vpa) == VPA_MODE_OFF;
}

static bool comes_before(const struct vpa_object *a, const struct vpa_object *b)
{
    return is_off(a) != is_off(b) ? is_off(b) : vpa_match_stronger(a, b);
}

static void on_governor(void *ctx, const struct vpa_object *vpa, enum cli_relation relation,
                        const char *why)
{
    struct difference *d = ctx;
    struct vpa_arena *arena = &d->cli->arena;

    if (relation == CLI_GOVERNS) {
        if (!d->vpa || comes_before(vpa, d->vpa))
            d->vpa = vpa;
    } else if (relation == CLI_UNRESOLVED) {
        d->near = vpa_arena_printf(arena, "VPA %s cannot find the pods of its target: %s",
                                   vpa->meta.name, why);
    } else if (relation == CLI_MISSES) {
        d->near = vpa_arena_printf(arena, "the selector of the target of VPA %s leaves them out",
                                   vpa->meta.name);
    } else {
        d->near = vpa_arena_printf(arena, "VPA %s, whose target is %s %s, only learns from them",
                                   vpa->meta.name, vpa->target_ref.kind, vpa->target_ref.name);
    }
}

static int find_vpa(struct difference *d, struct cli_governors *governors, struct vpa_error *err)
{
    const struct cli_workload *w = &d->workload;
    struct vpa_controller_key from = {d->cli->ns, w->kind, w->name, w->api_version}, top;

    cli_governors_top(governors, &from, &top);
    if (!top.kind[0])
        top = from;
    cli_governors_visit(governors, &(struct cli_governed){d->cli->ns, &d->pod.meta.labels, &top},
                        true, on_governor, d);
    if (d->vpa)
        return 0;
    return vpa_fail(err, VPA_NOT_FOUND, "no VPA governs the pods of %s %s; %s", w->kind, w->name,
                    d->near ? d->near : "\"kubectl vpa create\" makes one");
}

static int examine(struct difference *d, struct cli_governors *governors, struct vpa_error *err)
{
    if (vpa_pod_decode(&d->cli->arena, cli_workload_template(d->workload.object), &d->pod, err) < 0)
        return -1;
    d->pod.meta.ns = d->cli->ns;
    if (find_vpa(d, governors, err) < 0)
        return -1;
    if (!d->vpa->recommendation.present)
        return vpa_fail(err, VPA_NOT_FOUND, "VPA %s has no recommendation yet", d->vpa->meta.name);
    if (is_off(d->vpa))
        cli_note(d->cli, "VPA %s is Off: no pod is given its values", d->vpa->meta.name);
    return plan(d, err) < 0 ? -1 : print(d, err);
}

static int read_words(struct difference *d, struct vpa_error *err)
{
    static const char *const forms[] = {"patch", "kustomize", NULL};
    size_t form = FORM_DIFFERENCE;

    if (cli_choose(d->cli, "format", forms, &form, err) < 0)
        return -1;
    d->form = (enum form)form;
    return cli_workload_parse(d->cli, d->cli->args[0], &d->workload, err);
}

static int run(struct cli *cli)
{
    struct difference d = {.cli = cli};
    struct cli_governors *governors = NULL;
    struct vpa_error err;
    int status = -1;

    if (read_words(&d, &err) < 0)
        return cli_complain_of_usage(cli, &err);
    if (cli_connect(cli, &err) == 0 && cli_workload_get(cli, &d.workload, &err) == 0 &&
        (governors = cli_governors_read(cli, cli->ns, &err)))
        status = examine(&d, governors, &err);
    cli_governors_free(governors);
    return status < 0 ? cli_complain(cli, &err) : (int)cli_status_of_answer(cli);
}

static const struct cli_option options[] = {
    {"format", 0, "patch|kustomize", "A patch instead of a difference"},
};

const struct cli_command cli_diff = {
    .name = "diff",
    .summary = "The resources of a workload against the recommendation",
    .arguments = "deploy/NAME|sts/NAME|...",
    .min_args = 1,
    .max_args = 1,
    .example = "  # What would change\n  kubectl vpa diff deploy/web -n shop\n"
               "  # Into the manifest of the cluster\n"
               "  kubectl vpa diff deploy/web -n shop --format=patch |\n"
               "    kubectl patch deploy/web -n shop --patch-file=/dev/stdin\n"
               "  # Into Git, for a kustomization\n"
               "  kubectl vpa diff deploy/web -n shop --format=kustomize",
    .options = options,
    .option_count = VPA_COUNT(options),
    .forms = CLI_FORMS_BUT_CSV,
    .named = true,
    .run = run,
};
