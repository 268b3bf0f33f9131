#include "preview.h"

#include <string.h>

#include "../../admission/admit.h"
#include "daemon_config.h"
#include "lists.h"
#include "text.h"
#include "vpa/api/controller.h"
#include "vpa/api/review.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/replacement.h"

#define POD_MAX ((size_t)8 << 20)
#define TRIES 20 /* of a pod whose owner is not known yet */

/* ---- the new pod ---- */

static const struct vpa_json *controller_of(const struct vpa_json *pod)
{
    const struct vpa_json *found = NULL;
    bool controls;

    vpa_json_foreach (owner, vpa_json_at(pod, "metadata.ownerReferences"))
        if (vpa_json_bool(vpa_json_find(owner, "controller"), &controls) && controls)
            found = owner;
    return found;
}

static const struct vpa_json *template_of(struct cli *cli, const char *ns,
                                          const struct vpa_json *pod)
{
    const struct vpa_json *owner = controller_of(pod), *object;
    enum vpa_controller_kind kind = vpa_controller_kind_parse(vpa_json_text(owner, "kind"));
    const char *name = vpa_json_string(vpa_json_find(owner, "name"));
    struct vpa_error err;

    if (kind == VPA_KIND_OTHER || kind == VPA_KIND_CRON_JOB || !name)
        return NULL;

    struct cli_kind where = {vpa_controller_api_version(kind), vpa_controller_plural(kind), ""};

    if (cli_get(cli, &where, ns, name, &object, &err) < 0)
        return NULL;
    return vpa_json_at(object, "spec.template");
}

static void put_member(struct vpa_json_writer *w, const char *name, const struct vpa_json *node)
{
    if (vpa_json_is_null(node))
        return;
    vpa_json_member_node(w, name, node);
}

/* from: the template, or the pod itself. */
static void put_pod(struct vpa_json_writer *w, const char *ns, const struct vpa_json *pod,
                    const struct vpa_json *from)
{
    const char *name = vpa_json_text(pod, "metadata.name");
    const char *generate = vpa_json_string(vpa_json_at(pod, "metadata.generateName"));

    vpa_json_open_object(w);
    vpa_json_member_string(w, "apiVersion", "v1");
    vpa_json_member_string(w, "kind", "Pod");
    vpa_json_member_object(w, "metadata");
    vpa_json_member_string(w, generate ? "generateName" : "name", generate ? generate : name);
    vpa_json_member_string(w, "namespace", ns);
    put_member(w, "labels", vpa_json_at(pod, "metadata.labels"));
    vpa_replacement_annotations(w, vpa_json_at(from, "metadata.annotations"));
    put_member(w, "ownerReferences", vpa_json_at(pod, "metadata.ownerReferences"));
    vpa_json_close_object(w);
    put_member(w, "spec", vpa_json_find(from, "spec"));
    vpa_json_close_object(w);
}

/* ---- the review ---- */

static void put_review(struct vpa_json_writer *w, const char *ns, const struct vpa_buf *pod)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "apiVersion", "admission.k8s.io/v1");
    vpa_json_member_string(w, "kind", "AdmissionReview");
    vpa_json_member_object(w, "request");
    vpa_json_member_string(w, "uid", "forecast");
    vpa_json_member_object(w, "resource");
    vpa_json_member_string(w, "group", "");
    vpa_json_member_string(w, "version", "v1");
    vpa_json_member_string(w, "resource", "pods");
    vpa_json_close_object(w);
    vpa_json_member_string(w, "namespace", ns);
    vpa_json_member_string(w, "operation", "CREATE");
    vpa_json_member_raw(w, "object", pod->data, pod->len);
    vpa_json_close_object(w);
    vpa_json_close_object(w);
}

static int fill_builder(struct cli *cli, struct snapshot_builder *builder, struct vpa_error *err)
{
    struct vpa_reflector *const needed[] = {
        vpa_cache_reflector(snapshot_builder_vpas(builder)),
        vpa_cache_reflector(snapshot_builder_limit_ranges(builder))};

    snapshot_builder_start(builder);
    return vpa_reflector_wait(needed, VPA_COUNT(needed), cli->loop, CLI_CACHES_TIMEOUT, err);
}

static void follow_target(void *ctx, const struct vpa_object *vpa)
{
    const struct vpa_controller_key target = vpa_controller_key_of_target(vpa);

    if (vpa->target_ref.present)
        vpa_owners_follow_target(ctx, &target);
}

struct webhook {
    struct cli *cli;
    struct cli_forecast *forecast;
    const char *ns; /* of the pod */
    struct cli_config config;
    struct cli_installed at;
};

/* The answer of the webhook's own function, asked again while it waits for an owner. */
static void ask(const struct webhook *w, struct snapshot_builder *builder,
                const struct vpa_buf *review, struct vpa_buf *answer, struct admit_result *result)
{
    const struct admit_options options = {
        .startup_boost = w->config.admission.common.gates.cpu_startup_boost,
        .max_cpu_boost = w->config.admission.max_allowed_cpu_boost};
    struct vpa_owners *owners = updater_env(w->forecast->updater)->owners;

    for (int i = 0; i < TRIES; i++) {
        snapshot_builder_publish(builder, vpa_owners_view(owners));

        struct snapshot *snapshot = snapshot_acquire(snapshot_builder_cell(builder));

        vpa_buf_clear(answer);
        admit(snapshot, &options, &w->cli->arena, review->data, review->len, answer, result);
        snapshot_unref(snapshot);
        if (!result->owner_unknown)
            break;
        vpa_loop_pump(w->cli->loop, 100 * VPA_MILLISECOND);
    }
}

static int read_answer(struct cli *cli, const struct vpa_buf *answer,
                       const struct admit_result *result, struct cli_preview *out,
                       struct vpa_error *err)
{
    const struct vpa_json *root;
    vpa_auto_buf patch = VPA_BUF(POD_MAX);

    out->why_not =
        result->calculation_error ? result->calculation_error : vpa_or_empty(result->owner_error);
    if (vpa_json_parse(&cli->arena, answer->data, answer->len, &root, err) < 0)
        return -1;

    const char *message = vpa_json_string(vpa_json_at(root, "response.status.message"));
    const char *text = vpa_json_string(vpa_json_at(root, "response.patch"));

    if (message)
        out->why_not = message;
    if (!text)
        return 0;
    if (vpa_base64_decode(&patch, text, strlen(text), err) < 0)
        return -1;
    out->patch = vpa_arena_strdup(&cli->arena, vpa_buf_text(&patch));
    return 0;
}

static int apply(struct cli *cli, struct cli_preview *out, struct vpa_error *err)
{
    const struct vpa_json *patch;
    vpa_auto_buf text = VPA_BUF(POD_MAX);

    out->after = out->before;
    if (!out->patch)
        return 0;
    if (vpa_json_parse(&cli->arena, out->patch, strlen(out->patch), &patch, err) < 0 ||
        vpa_json_patch_apply(out->before, patch, &text, err) < 0)
        return -1;
    return vpa_json_parse(&cli->arena, text.data, text.len, &out->after, err);
}

/* Why the webhook patches no pod of the namespace, or NULL. */
static const char *standstill(const struct webhook *w)
{
    if (vpa_common_flags_ignore(&w->config.admission.common, w->ns))
        return vpa_arena_printf(&w->cli->arena, "the webhook leaves the namespace %s out", w->ns);
    return cli_panic(w->cli, w->at.ns);
}

/* To the review of a pod, as if the panic button were not pressed: the forecast's client hides
 * it. */
static int answer_of_webhook(const struct webhook *w, const struct vpa_buf *pod,
                             struct cli_preview *out, struct vpa_error *err)
{
    vpa_auto_buf review = VPA_BUF(POD_MAX), answer = VPA_BUF(ADMIT_ANSWER_MAX);
    struct snapshot_builder *builder = snapshot_builder_new(&(struct snapshot_options){
        .client = w->forecast->dry.client, .ns = w->ns, .panic_ns = w->at.ns});
    struct vpa_json_writer writer;
    struct admit_result result;
    int status;

    snapshot_builder_on_vpa(builder, follow_target, updater_env(w->forecast->updater)->owners);
    vpa_json_writer_init(&writer, &review);
    put_review(&writer, w->ns, pod);
    status = fill_builder(w->cli, builder, err);
    if (status == 0) {
        ask(w, builder, &review, &answer, &result);
        status = read_answer(w->cli, &answer, &result, out, err);
    }
    snapshot_builder_free(builder);
    return status;
}

int cli_preview(struct cli *cli, struct cli_forecast *forecast, const char *ns,
                const struct vpa_json *pod, struct cli_preview *out, struct vpa_error *err)
{
    const struct vpa_json *template = template_of(cli, ns, pod);
    struct webhook webhook = {.cli = cli, .forecast = forecast, .ns = ns};
    vpa_auto_buf object = VPA_BUF(POD_MAX);
    struct vpa_json_writer w;
    const char *why_not;

    *out = (struct cli_preview){.why_not = "", .from_template = template != NULL};
    vpa_json_writer_init(&w, &object);
    put_pod(&w, ns, pod, template ? template : pod);
    if (vpa_buf_failed(&object))
        return vpa_fail(err, VPA_LIMIT, "the pod is longer than 8 MiB");
    if (vpa_json_parse(&cli->arena, object.data, object.len, &out->before, err) < 0)
        return -1;
    cli_config_read(cli, CLI_ADMISSION_CONTROLLER, &webhook.config, &webhook.at);
    why_not = standstill(&webhook);
    if (why_not)
        out->why_not = why_not;
    else if (answer_of_webhook(&webhook, &object, out, err) < 0)
        return -1;
    return apply(cli, out, err);
}

/* ---- diff ---- */

struct diff {
    struct vpa_buf *out;
    struct vpa_buf path;
    bool color;
};

static void put_side(struct diff *d, char sign, const struct vpa_json *node)
{
    vpa_auto_buf line = VPA_BUF(POD_MAX), value = VPA_BUF(POD_MAX);
    struct vpa_json_writer w;
    const char *text = vpa_json_string(node);

    if (!text) {
        vpa_json_writer_init(&w, &value);
        vpa_json_put_node(&w, node);
        text = vpa_buf_text(&value);
    }
    vpa_buf_printf(&line, "%c %s: %s", sign, vpa_buf_text(&d->path), text);
    cli_put_colored(d->out, d->color, sign == '-' ? CLI_RED : CLI_GREEN, vpa_buf_text(&line));
    vpa_buf_putc(d->out, '\n');
}

/* An element of a list is named as it names itself. */
static void put_step(struct diff *d, const struct vpa_json *child, size_t index)
{
    const char *name = vpa_json_name(child);
    const char *own = vpa_json_string(vpa_json_find(child, "name"));

    if (name)
        vpa_buf_printf(&d->path, "%s%s", d->path.len ? "." : "", name);
    else if (own)
        vpa_buf_printf(&d->path, "[%s]", own);
    else
        vpa_buf_printf(&d->path, "[%zu]", index);
}

static const struct vpa_json *child_at(const struct vpa_json *parent, const struct vpa_json *like,
                                       size_t index)
{
    const struct vpa_json *child;

    if (vpa_json_name(like))
        return vpa_json_find(parent, vpa_json_name(like));
    child = vpa_json_first(parent);
    while (child && index-- > 0)
        child = vpa_json_next(child);
    return child;
}

static void put_difference(struct diff *d, const struct vpa_json *before,
                           const struct vpa_json *after);

/* Of the children of `these`; both: those of the other document are compared with. */
static void put_children(struct diff *d, const struct vpa_json *these,
                         const struct vpa_json *others, bool both)
{
    size_t len = d->path.len, index = 0;

    vpa_json_foreach (child, these) {
        const struct vpa_json *other = child_at(others, child, index);

        put_step(d, child, index++);
        if (both)
            put_difference(d, child, other);
        else if (!other)
            put_difference(d, NULL, child);
        vpa_buf_truncate(&d->path, len);
    }
}

static void put_difference(struct diff *d, const struct vpa_json *before,
                           const struct vpa_json *after)
{
    if (before && after && vpa_json_equal(before, after))
        return;
    if ((vpa_json_count(before) || !before) && (vpa_json_count(after) || !after) &&
        (vpa_json_count(before) || vpa_json_count(after))) {
        put_children(d, before, after, true);
        put_children(d, after, before, false);
        return;
    }
    if (before &&
        !(vpa_json_count(after) && vpa_json_count(before) == 0 && vpa_json_is_object(before)))
        put_side(d, '-', before);
    if (after)
        put_side(d, '+', after);
}

void cli_put_diff(struct vpa_buf *out, bool color, const struct vpa_json *before,
                  const struct vpa_json *after)
{
    struct diff d = {.out = out, .color = color};

    vpa_buf_init(&d.path, POD_MAX);
    put_difference(&d, before, after);
    vpa_buf_release(&d.path);
}
