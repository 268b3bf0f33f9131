/*
 * Everything that `why` says about a pod, found out with the functions of the daemons.
 */
#include <stdlib.h>
#include <string.h>

#include "../../updater/select.h"
#include "lists.h"
#include "why.h"
#include "vpa/base/str.h"
#include "vpa/model/object_status.h"
#include "vpa/policy/decision.h"
#include "vpa/policy/match.h"
#include "vpa/policy/update_mode.h"

#define STEPS_MAX 10

static const struct cli_kind pods = {"v1", "pods", ""};

/* ---- which VPA ---- */

struct contest {
    struct cli *cli;
    struct why_control *out;
    const struct vpa_object *running, *new_pod, *oldest; /* the strongest of each */
};

static void keep_stronger(const struct vpa_object *vpa, const struct vpa_object **strongest)
{
    if (!*strongest || vpa_match_stronger(vpa, *strongest))
        *strongest = vpa;
}

static void on_governor(void *ctx, const struct vpa_object *vpa, enum cli_relation relation,
                        const char *why)
{
    struct contest *c = ctx;
    struct why_rival *rival = &c->out->rivals[c->out->rival_count++];

    rival->vpa = vpa;
    if (relation == CLI_UNRESOLVED) {
        rival->loses = vpa_arena_printf(&c->cli->arena, "its target cannot be resolved: %s", why);
        return;
    }
    if (relation == CLI_MISSES) {
        rival->loses = "the selector of its target does not match the labels of the pod";
        return;
    }
    c->out->governing++;
    keep_stronger(vpa, &c->oldest);
    if (updater_select_takes_part(vpa))
        keep_stronger(vpa, &c->running);
    if (vpa_match_mode(vpa, VPA_MATCH_WEBHOOK))
        keep_stronger(vpa, &c->new_pod);
}

static const char *why_loser(struct cli *cli, const struct why_control *control,
                             const struct vpa_object *vpa)
{
    if (vpa_match_stronger(control->vpa, vpa))
        return vpa_arena_printf(&cli->arena,
                                "another VPA of the same pods is older (or comes first by "
                                "name): %s",
                                control->vpa->meta.name);
    return vpa_arena_printf(&cli->arena, "mode %s leaves running pods alone%s",
                            vpa_object_mode(vpa), vpa == control->new_pod ? "" : " and new ones");
}

static struct vpa_controller_key top_of(struct cli_governors *governors, const struct vpa_pod *pod)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_last(&pod->meta);
    struct vpa_controller_key top = {pod->meta.ns, "", "", ""};

    if (owner)
        cli_governors_top(governors,
                          &(struct vpa_controller_key){pod->meta.ns, owner->kind, owner->name,
                                                       owner->api_version},
                          &top);
    return top;
}

void why_find_control(struct cli *cli, struct cli_forecast *forecast, const struct vpa_pod *pod,
                      struct why_control *out)
{
    struct cli_governors *governors = forecast->governors;
    struct vpa_controller_key top = top_of(governors, pod);
    struct contest c = {.cli = cli, .out = out};
    size_t count;

    (void)cli_governors_vpas(governors, &count);
    *out = (struct why_control){.controller = ""};
    if (top.kind[0])
        out->controller = vpa_arena_printf(&cli->arena, "%s %s", top.kind, top.name);
    out->rivals = vpa_xcalloc(count + 1, sizeof(*out->rivals));
    cli_governors_visit(governors, &(struct cli_governed){pod->meta.ns, &pod->meta.labels, &top},
                        false, on_governor, &c);

    struct why_rival *kept =
        vpa_arena_zalloc(&cli->arena, (out->rival_count + 1) * sizeof(*out->rivals));

    if (out->rival_count)
        memcpy(kept, out->rivals, out->rival_count * sizeof(*kept));
    free(out->rivals);
    out->rivals = kept;
    out->new_pod = c.new_pod;
    out->vpa = c.running ? c.running : c.new_pod ? c.new_pod : c.oldest;
    for (size_t i = 0; i < out->rival_count; i++)
        if (out->rivals[i].vpa != out->vpa && !out->rivals[i].loses)
            out->rivals[i].loses = why_loser(cli, out, out->rivals[i].vpa);
}

/* ---- what becomes of it ---- */

/* A pod that no pass has looked at. */
static void explain_rest(struct cli *cli, struct cli_forecast *forecast, struct why_row *row)
{
    const struct vpa_common_flags *flags = &forecast->config.common;

    row->action = cli_action_name(CLI_ACTION_NONE);
    if (!row->vpa) {
        row->rule = "no-vpa";
        row->text = "no VPA controls the pod";
    } else if (!updater_select_takes_part(row->vpa)) {
        row->rule = "mode";
        row->text = vpa_update_mode_of(row->vpa) == VPA_MODE_INITIAL
                        ? "mode Initial: only new pods get the recommendation"
                        : vpa_arena_printf(&cli->arena, "mode %s: running pods are left alone",
                                           vpa_object_mode(row->vpa));
    } else if (vpa_common_flags_ignore(flags, row->pod->meta.ns)) {
        row->rule = "ignored";
        row->text = "the updater leaves its namespace out";
    } else {
        row->rule = "not-live";
        row->text = "it is not among the live pods that a pass looks at";
    }
}

void why_make_row(struct cli *cli, struct cli_forecast *forecast, const struct vpa_pod *pod,
                  const struct vpa_object *vpa, struct why_row *out)
{
    const struct cli_verdict *v = cli_forecast_find(forecast, pod->meta.ns, pod->meta.name);

    *out = (struct why_row){.pod = pod, .vpa = vpa, .verdict = v};
    if (!v) {
        explain_rest(cli, forecast, out);
        return;
    }
    out->action = cli_action_name(v->action);
    out->rule = v->rule;
    out->text = v->why;
}

/* ---- the rules of a container ---- */

static struct vpa_resource_list nothing(void)
{
    return (struct vpa_resource_list){0};
}

static void add_step(struct why_container *c, const char *rule,
                     const struct vpa_resource_list *values, const char *note)
{
    if (c->step_count < STEPS_MAX)
        c->steps[c->step_count++] = (struct why_step){rule, values ? *values : nothing(), note};
}

static const char *join_notes(struct cli *cli, const struct vpa_notes *notes)
{
    vpa_auto_buf text = VPA_BUF(64 * VPA_ERROR_TEXT_MAX);

    for (size_t i = 0; notes && i < notes->count; i++)
        vpa_buf_printf(&text, "%s%s", i ? ", " : "", notes->items[i]);
    return vpa_arena_strdup(&cli->arena, vpa_buf_text(&text));
}

static const struct vpa_notes *notes_of(const struct vpa_capped *capped, const char *container)
{
    for (size_t i = 0; i < capped->note_count; i++)
        if (vpa_str_eq(capped->notes[i].container, container))
            return &capped->notes[i];
    return NULL;
}

static const char *policy_note(struct cli *cli, const struct vpa_container_policy *policy)
{
    if (!policy)
        return "";
    if (policy->mode && vpa_str_eq(policy->mode, "Off"))
        return "mode Off: the container is left alone";
    return vpa_arena_printf(&cli->arena, "policy of %s: minAllowed %s; maxAllowed %s%s%s",
                            policy->container_name,
                            why_resources(&cli->arena, &policy->min_allowed),
                            why_resources(&cli->arena, &policy->max_allowed),
                            policy->controlled_values ? "; controlledValues " : "",
                            vpa_or_empty(policy->controlled_values));
}

struct calculation {
    struct cli *cli;
    const struct why *why;
    struct vpa_capped by_policy, capped;
    struct vpa_container_plan *plans;
    const char *failure;
};

static void add_capping(struct calculation *k, const char *name, struct why_container *c)
{
    const struct vpa_container_recommendation *by_policy =
        vpa_recommendation_find(&k->by_policy.recommendation, name);
    const struct vpa_container_recommendation *capped =
        vpa_recommendation_find(&k->capped.recommendation, name);

    if (by_policy)
        add_step(c, "container policy", &by_policy->target,
                 policy_note(k->cli, vpa_policy_find(&k->why->control.vpa->resource_policy, name)));
    if (capped)
        add_step(c, "LimitRange", &capped->target, join_notes(k->cli, notes_of(&k->capped, name)));
    if (capped)
        add_step(c, "lower bound", &capped->lower_bound, "");
    if (capped)
        add_step(c, "upper bound", &capped->upper_bound, "");
}

static void examine_container(struct calculation *k, size_t i, struct why_container *c)
{
    const struct vpa_container *container = &k->why->pod->containers[i];
    struct vpa_resources now = vpa_pod_effective_resources(k->why->pod, container->name);
    const struct vpa_container_recommendation *stored;

    c->name = container->name;
    c->steps = vpa_arena_zalloc(&k->cli->arena, STEPS_MAX * sizeof(*c->steps));
    add_step(c, "requests now", &now.requests, "");
    add_step(c, "limits now", &now.limits, "");
    if (!k->why->control.vpa)
        return;
    stored = vpa_recommendation_find(&k->why->control.vpa->recommendation, container->name);
    if (!stored) {
        add_step(c, "recommended", NULL, "nothing is recommended for this container");
        return;
    }
    add_step(c, "recommended", &stored->uncapped_target, "");
    add_step(c, "in the status", &stored->target, "");
    if (k->failure) {
        add_step(c, "LimitRange", NULL, k->failure);
        return;
    }
    add_capping(k, container->name, c);
    add_step(c, "new requests", &k->plans[i].requests, "");
    add_step(c, "new limits", &k->plans[i].limits, join_notes(k->cli, &k->plans[i].notes));
}

static void fold_limits(struct cli *cli, struct cli_forecast *forecast, const char *ns,
                        struct vpa_namespace_limits *out)
{
    size_t kept = 0;
    const struct vpa_limit_range **own =
        vpa_arena_alloc(&cli->arena, (forecast->range_count + 1) * sizeof(*own));

    for (size_t i = 0; i < forecast->range_count; i++)
        if (vpa_str_eq(forecast->ranges[i]->meta.ns, ns))
            own[kept++] = forecast->ranges[i];
    vpa_namespace_limits_fold(&cli->arena, own, kept, out);
}

static void examine_containers(struct cli *cli, struct cli_forecast *forecast, struct why *out)
{
    const struct vpa_object *vpa = out->control.vpa;
    struct calculation k = {.cli = cli, .why = out};
    struct vpa_namespace_limits limits;
    struct vpa_error err;

    fold_limits(cli, forecast, out->pod->meta.ns, &limits);
    if (vpa && (vpa_capping_process(&cli->arena, vpa, out->pod, NULL, &k.by_policy, &err) < 0 ||
                vpa_capping_process(&cli->arena, vpa, out->pod, &limits, &k.capped, &err) < 0 ||
                vpa_capping_plan(&cli->arena, vpa, out->pod, &limits, &k.plans, &err) < 0))
        k.failure = vpa_arena_strdup(&cli->arena, err.text);
    if (k.plans && forecast->config.common.gates.cpu_startup_boost)
        vpa_decision_leave_off(out->pod, vpa, k.plans);
    out->container_count = out->pod->container_count;
    out->containers =
        vpa_arena_zalloc(&cli->arena, (out->container_count + 1) * sizeof(*out->containers));
    for (size_t i = 0; i < out->container_count; i++)
        examine_container(&k, i, &out->containers[i]);
}

/* ---- decisions ---- */

/* The updater's port, 0 where its address has none. */
static int port_of(const struct updater_config *config)
{
    const char *address = config->common.address;
    const char *colon = address ? strrchr(address, ':') : NULL;
    int64_t port = 0;

    if (colon && (vpa_parse_int64(colon + 1, &port, NULL) < 0 || port < 0 || port > 65535))
        port = 0;
    return (int)port;
}

static void examine_decisions(struct cli *cli, struct cli_forecast *forecast, struct why *out)
{
    const struct updater_config *config = &forecast->config;
    const struct why_subject *s = &out->subject;
    const struct vpa_object *about = s->vpa ? s->vpa : out->control.vpa;
    const char **names = vpa_arena_alloc(&cli->arena, (s->count + 1) * sizeof(*names));
    struct cli_decisions_query query = {.ns = s->ns,
                                        .vpa = about ? about->meta.name : "",
                                        .pods = names,
                                        .pod_count = s->count,
                                        .updater = forecast->at,
                                        .port = port_of(config),
                                        .lease_ns = config->leader.resource_namespace,
                                        .lease = config->leader.resource_name};

    for (size_t i = 0; i < s->count; i++)
        names[i] = s->rows[i].pod->meta.name;
    cli_decisions_about(cli, &query, &out->decisions);
}

/* ---- a VPA without pods ---- */

struct own {
    const struct vpa_object *vpa;
    const char *unresolved;
};

static void on_own(void *ctx, const struct vpa_object *vpa, enum cli_relation relation,
                   const char *why)
{
    struct own *own = ctx;

    if (vpa == own->vpa && relation == CLI_UNRESOLVED)
        own->unresolved = why;
}

/* Of the pods that it could have: why the first of them has another one, or none. */
static const char *why_lost(struct cli *cli, struct cli_forecast *forecast,
                            const struct vpa_object *vpa)
{
    struct why_control control;

    for (size_t i = 0; i < forecast->pod_count; i++) {
        const struct vpa_meta *pod = &forecast->pods[i]->meta;

        if (!vpa_str_eq(pod->ns, vpa->meta.ns))
            continue;
        why_find_control(cli, forecast, forecast->pods[i], &control);
        for (size_t k = 0; k < control.rival_count; k++)
            if (control.rivals[k].vpa == vpa && control.rivals[k].loses)
                return vpa_arena_printf(&cli->arena, "%s (pod %s)", control.rivals[k].loses,
                                        pod->name);
    }
    return NULL;
}

static const char *why_idle(struct cli *cli, struct cli_forecast *forecast,
                            const struct vpa_object *vpa)
{
    const struct vpa_controller_key target = vpa_controller_key_of_target(vpa);
    const struct vpa_labels none = {0};
    struct own own = {vpa, vpa->selector_error};
    const char *lost;

    cli_governors_visit(forecast->governors, &(struct cli_governed){vpa->meta.ns, &none, &target},
                        false, on_own, &own);
    if (own.unresolved)
        return vpa_arena_printf(&cli->arena, "its target cannot be resolved: %s", own.unresolved);
    lost = why_lost(cli, forecast, vpa);
    if (lost)
        return lost;
    return vpa->target_ref.present ? "its target has none" : "none has the labels that it selects";
}

static void examine_idle(struct cli *cli, struct cli_forecast *forecast, struct why *out)
{
    static const char *const types[WHY_CONDITIONS] = {VPA_CONDITION_UNSUPPORTED,
                                                      VPA_CONDITION_NO_PODS, VPA_CONDITION_CONFLICT,
                                                      VPA_CONDITION_WAITING};
    const struct vpa_object *vpa = out->subject.vpa;

    out->control.vpa = vpa;
    out->idle = why_idle(cli, forecast, vpa);
    for (size_t i = 0; i < WHY_CONDITIONS; i++) {
        const struct vpa_condition *c = cli_true_condition(vpa, types[i]);

        if (c)
            out->conditions[out->condition_count++] = c;
    }
}

/* ---- the whole ---- */

/* As it is now, and what a new one in its place would be. */
static int examine_pod(struct cli *cli, struct cli_forecast *forecast, struct why *out,
                       struct vpa_error *err)
{
    const struct vpa_meta *meta = &out->subject.rows[0].pod->meta;
    const struct vpa_json *object;
    struct vpa_pod *pod = vpa_arena_zalloc(&cli->arena, sizeof(*pod));

    if (cli_get(cli, &pods, meta->ns, meta->name, &object, err) < 0 ||
        vpa_pod_decode(&cli->arena, object, pod, err) < 0)
        return -1;
    out->pod = pod;
    why_find_control(cli, forecast, pod, &out->control);
    if (out->subject.count == 1)
        why_make_row(cli, forecast, pod, out->control.vpa, &out->subject.rows[0]);
    examine_containers(cli, forecast, out);
    if (cli_preview(cli, forecast, meta->ns, object, &out->preview, err) == 0)
        out->has_preview = true;
    else
        cli_note(cli, "what the webhook would do is not known: %s", err->text);
    return 0;
}

int why_examine(struct cli *cli, struct cli_forecast *forecast, const struct why_subject *subject,
                struct why *out, struct vpa_error *err)
{
    *out = (struct why){.subject = *subject, .control = {.controller = ""}};
    if (subject->count > 0 && examine_pod(cli, forecast, out, err) < 0)
        return -1;
    if (subject->count == 0)
        examine_idle(cli, forecast, out);
    why_read_events(cli, out);
    examine_decisions(cli, forecast, out);
    return 0;
}
