/*
 * Whether usage can be measured, and whether the VPAs can work: conflicts, targets, autoscalers
 * that pull at the same resource.
 */
#include <stdlib.h>

#include "../../updater/paused.h"
#include "doctor.h"
#include "lists.h"
#include "vpa/api/vpa.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/model/object_status.h"
#include "vpa/policy/match.h"
#include "vpa/policy/update_mode.h"

#define OLD_ENOUGH (5 * VPA_MINUTE) /* a pod should have usage by then */
#define NAMED_MAX 5                 /* pods without usage that are named */
#define RESIZE_MINOR 33             /* the first with pods/resize */

/* ---- metrics ---- */

struct coverage {
    struct doctor *d;
    struct vpa_table measured; /* "namespace/name" */
    size_t running, without;
    struct vpa_buf named;
};

static char *key_of(struct cli *cli, const struct vpa_json *object)
{
    return vpa_arena_printf(&cli->arena, "%s/%s", vpa_json_text(object, "metadata.namespace"),
                            vpa_json_text(object, "metadata.name"));
}

static int on_metrics(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct coverage *c = ctx;
    char *key = key_of(c->d->cli, object);

    (void)err;
    vpa_table_put(&c->measured, key, key);
    return 0;
}

static bool should_be_measured(struct coverage *c, const struct vpa_json *pod)
{
    const char *started = vpa_json_string(vpa_json_at(pod, "status.startTime"));
    vpa_time t;

    return vpa_str_eq(vpa_json_string(vpa_json_at(pod, "status.phase")), "Running") && started &&
           vpa_time_parse(started, &t, NULL) == 0 &&
           vpa_time_sub(cli_now(c->d->cli), t) > OLD_ENOUGH;
}

static int on_pod(void *ctx, const struct vpa_json *pod, struct vpa_error *err)
{
    struct coverage *c = ctx;

    (void)err;
    if (!should_be_measured(c, pod))
        return 0;
    c->running++;

    const char *key = key_of(c->d->cli, pod);

    if (vpa_table_find(&c->measured, key))
        return 0;
    if (c->without++ < NAMED_MAX)
        vpa_buf_printf(&c->named, "%s%s", c->without > 1 ? ", " : "", key);
    return 0;
}

static void check_coverage(struct coverage *c)
{
    static const struct cli_kind pods = {"v1", "pods", "pods that the metrics do not cover"};
    struct doctor *d = c->d;
    struct vpa_error err;

    if (cli_list(d->cli, &pods, d->cli->ns, on_pod, c, &err) < 0)
        cli_note_list(d->cli, &pods, d->cli->ns, &err);
    else if (c->without > 0)
        doctor_add(d, DOCTOR_WARNING, "metrics-coverage", "metrics.k8s.io",
                   "look at the kubelets of their nodes and at the log of the metrics server",
                   "%zu of %zu running pods have no usage: %s%s", c->without, c->running,
                   vpa_buf_text(&c->named), c->without > NAMED_MAX ? ", ..." : "");
    else
        doctor_add(d, DOCTOR_OK, "metrics-coverage", "metrics.k8s.io", "",
                   "all %zu running pods have usage", c->running);
}

void doctor_check_metrics(struct doctor *d)
{
    static const struct cli_kind metrics = {"metrics.k8s.io/v1beta1", "pods", "usage"};
    struct coverage c = {.d = d};
    struct vpa_error err;

    vpa_buf_init(&c.named, 8 * VPA_ERROR_TEXT_MAX);
    if (cli_list(d->cli, &metrics, d->cli->ns, on_metrics, &c, &err) == 0)
        check_coverage(&c);
    else if (err.code == VPA_DENIED)
        cli_note_list(d->cli, &metrics, d->cli->ns, &err);
    else
        doctor_add(d, DOCTOR_ERROR, "metrics", "metrics.k8s.io",
                   "install metrics-server, or look at its APIService and log",
                   "the metrics API does not answer (%s): the recommender learns nothing from it",
                   err.text);
    vpa_table_release(&c.measured);
    vpa_buf_release(&c.named);
}

/* ---- VPAs ---- */

struct objects {
    struct doctor *d;
    struct vpa_table targets;         /* "namespace/kind/name" -> its strongest VPA */
    const struct vpa_object **acting; /* heap; with a target */
    size_t acting_count, acting_capacity;
    struct algorithms **served; /* heap; of each recommender that runs */
    size_t served_count, served_capacity;
    size_t count;
};

static char *subject_of(const struct vpa_object *vpa)
{
    return vpa_xprintf("VerticalPodAutoscaler %s/%s", vpa->meta.ns, vpa->meta.name);
}

static const char *target_key(struct cli *cli, const char *ns, const char *kind, const char *name)
{
    return vpa_arena_printf(&cli->arena, "%s/%s/%s", ns, kind, name);
}

static bool is_off(const struct vpa_object *vpa)
{
    return vpa_update_mode_of(vpa) == VPA_MODE_OFF;
}

static bool acts(const struct vpa_object *vpa)
{
    return vpa_match_mode(vpa, VPA_MATCH_WEBHOOK);
}

static const char *key_of_target(const struct objects *s, const struct vpa_object *vpa)
{
    return target_key(s->d->cli, vpa->meta.ns, vpa->target_ref.kind, vpa->target_ref.name);
}

static void take_target(struct objects *s, struct vpa_object *vpa)
{
    const char *key = key_of_target(s, vpa);
    const struct vpa_object *other = vpa_table_find(&s->targets, key);

    if (!other || (acts(vpa) == acts(other) ? vpa_match_stronger(vpa, other) : acts(vpa)))
        vpa_table_put(&s->targets, key, vpa);
    if (!acts(vpa))
        return;
    VPA_GROW(s->acting, s->acting_count, s->acting_capacity);
    s->acting[s->acting_count++] = vpa;
}

/* One that only recommends is in nobody's way. */
static void check_targets(struct objects *s)
{
    for (size_t i = 0; i < s->acting_count; i++) {
        const struct vpa_object *vpa = s->acting[i];
        const struct vpa_object *strongest = vpa_table_find(&s->targets, key_of_target(s, vpa));
        vpa_auto_free char *subject = subject_of(vpa);

        if (vpa != strongest)
            doctor_add(s->d, DOCTOR_WARNING, "vpa-conflict", subject,
                       "delete one of the two, or set mode Off in it",
                       "it targets %s %s as VPA %s does, whose recommendation new pods get",
                       vpa->target_ref.kind, vpa->target_ref.name, strongest->meta.name);
    }
}

/* What it says when it is true. advice NULL: that of its reason; text NULL: the message of the
 * condition. */
static const struct {
    const char *type, *check, *advice, *text;
} conditions[] = {
    {"ConfigUnsupported", "vpa-target", "name a target that exists and has a scale subresource",
     NULL},
    {VPA_CONDITION_WAITING, "vpa-waiting",
     "look whether the metrics API has its pods (kubectl top pods), and at the metrics findings "
     "here",
     NULL},
    {"NoPodsMatched", "vpa-no-pods",
     "compare the selector of its target with the labels of the pods", "no pods match it"},
    {PAUSED_EVICTIONS, "evictions-paused", NULL, NULL},
    {PAUSED_RESIZES, "resizes-paused", NULL, NULL},
};

/* Of EvictionsPaused and ResizesPaused, by what was seen. */
static const char *advice_by_reason(const char *reason)
{
    static const char *const advice[VPA_VERDICTS] = {
        [VPA_VERDICT_NOT_PATCHED] = "find out why new pods do not carry the recommendation",
        [VPA_VERDICT_PATCHED_BACK] = "find out why new pods do not carry the recommendation",
        [VPA_VERDICT_NO_REPLACEMENT] =
            "look at the quota of the namespace and at the events of what owns the pods",
        [VPA_VERDICT_UNSCHEDULABLE] = "make room on the nodes, or set maxAllowed",
        [VPA_VERDICT_CRASHING] = "look at the logs of the pod that is named",
        [VPA_VERDICT_NOT_READY] = "look at the logs of the pod that is named",
        [VPA_VERDICT_NOT_RESIZED] = "look at the conditions and events of the pod that is named",
    };

    for (int v = 0; v < VPA_VERDICTS; v++)
        if (advice[v] && vpa_str_eq(reason, vpa_verdict_name((enum vpa_verdict)v)))
            return advice[v];
    return "look at the pod that is named";
}

static void check_conditions(struct objects *s, const struct vpa_object *vpa, const char *subject)
{
    for (size_t i = 0; i < vpa->condition_count; i++) {
        const struct vpa_condition *c = &vpa->conditions[i];

        for (size_t k = 0; k < VPA_COUNT(conditions); k++)
            if (vpa_str_eq(c->status, "True") && vpa_str_eq(c->type, conditions[k].type))
                doctor_add(
                    s->d, DOCTOR_WARNING, conditions[k].check, subject,
                    conditions[k].advice ? conditions[k].advice : advice_by_reason(c->reason), "%s",
                    conditions[k].text ? conditions[k].text : vpa_or_empty(c->message));
    }
}

static void check_mode(struct objects *s, const struct vpa_object *vpa, const char *subject)
{
    enum vpa_update_mode mode = vpa_update_mode_of(vpa);

    if (mode == VPA_MODE_OTHER)
        doctor_add(s->d, DOCTOR_WARNING, "vpa-mode", subject, "use one of the known modes",
                   "its mode %.60s is not known: nothing is done", vpa_object_mode(vpa));
    if (vpa_update_mode_in_place(mode) && s->d->minor > 0 && s->d->minor < RESIZE_MINOR)
        doctor_add(s->d, DOCTOR_WARNING, "version-skew", subject,
                   "use mode Recreate, or a server from 1.33 on",
                   "mode %s, but the server (1.%lld) cannot resize pods", vpa_object_mode(vpa),
                   (long long)s->d->minor);
}

static void take_recommenders(struct objects *s)
{
    struct vpa_error err;

    for (const struct doctor_neighbour *n = s->d->recommenders; n; n = n->next) {
        const struct recommender_config *config = &n->config.recommender;

        if (algorithm_flags_check(&config->algorithms, &err) < 0)
            continue; /* it does not start */
        VPA_GROW(s->served, s->served_count, s->served_capacity);
        s->served[s->served_count++] = algorithms_new(&config->algorithms, config->name);
    }
}

/* Where a recommender runs that nobody here knows of, there is a recommendation. */
static void check_served(struct objects *s, const struct vpa_object *vpa, const char *subject)
{
    const struct vpa_algorithm *algorithm;

    if (vpa->recommendation.container_count > 0 || !s->d->names.all_seen || s->served_count == 0)
        return;
    for (size_t i = 0; i < s->served_count; i++)
        if (algorithms_serve(s->served[i], vpa, &algorithm))
            return;
    doctor_add(s->d, DOCTOR_WARNING, "vpa-recommender", subject,
               "name an algorithm or a recommender that runs (--recommender-name) in "
               "spec.recommenders",
               "it has no recommendation: no recommender that runs is called %.60s",
               vpa->recommender_count ? vpa->recommenders[0] : "default");
}

/* Expressions of a selector may be added by whoever may write the registration. */
static void check_called(struct doctor *d, const char *ns)
{
    struct doctor_namespace **at = &d->uncalled;
    vpa_auto_free char *subject = vpa_xprintf("Namespace %s", ns);

    while (*at && !vpa_str_eq((*at)->name, ns))
        at = &(*at)->next;
    if (!*at)
        return;
    *at = (*at)->next; /* said once */
    doctor_add(d, DOCTOR_WARNING, "webhook-namespace", subject,
               "compare its labels with the namespaceSelector of the registration; if it is left "
               "out on purpose, set mode Off in its VPAs",
               "the webhook is not called for it: new pods do not get what its VPAs recommend");
}

static int on_vpa(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct objects *s = ctx;
    struct vpa_arena *arena = &s->d->cli->arena;
    struct vpa_object *vpa = vpa_arena_zalloc(arena, sizeof(*vpa));

    if (vpa_object_decode(arena, object, vpa, err) < 0)
        return -1;

    vpa_auto_free char *subject = subject_of(vpa);

    s->count++;
    if (acts(vpa))
        check_called(s->d, vpa->meta.ns);
    if (vpa->target_ref.present)
        take_target(s, vpa);
    check_conditions(s, vpa, subject);
    check_served(s, vpa, subject);
    check_mode(s, vpa, subject);
    return 0;
}

/* ---- horizontal autoscalers ---- */

/* p: NULL for a container without a policy. */
static bool policy_changes(const struct vpa_container_policy *p, const char *resource)
{
    if (!p)
        return true;
    if (vpa_str_eq(p->mode, "Off"))
        return false;
    for (size_t i = 0; i < p->controlled_resource_count; i++)
        if (vpa_str_eq(p->controlled_resources[i], resource))
            return true;
    return !p->has_controlled_resources;
}

/* container NULL: of any. Those without a policy are known by the recommendation. */
static bool vpa_changes(const struct vpa_object *vpa, const char *resource, const char *container)
{
    const struct vpa_resource_policy *policy = &vpa->resource_policy;
    const struct vpa_recommendation *known = &vpa->recommendation;

    if (is_off(vpa))
        return false;
    if (container || policy->container_count == 0)
        return policy_changes(container ? vpa_policy_find(policy, container) : NULL, resource);
    for (size_t i = 0; i < policy->container_count; i++)
        if (policy_changes(&policy->containers[i], resource))
            return true;
    for (size_t i = 0; i < known->container_count; i++)
        if (!vpa_policy_find(policy, known->containers[i].container_name))
            return true;
    return false;
}

static void check_metric(struct doctor *d, const struct vpa_object *vpa, const char *subject,
                         const char *resource, const char *container)
{
    if (resource && vpa_changes(vpa, resource, container))
        doctor_add(d, DOCTOR_WARNING, "hpa", subject,
                   "scale by another metric, or take the resource out of controlledResources",
                   "it scales %s %s by %s, which VPA %s changes", vpa->target_ref.kind,
                   vpa->target_ref.name, resource, vpa->meta.name);
}

static int on_hpa(void *ctx, const struct vpa_json *hpa, struct vpa_error *err)
{
    struct objects *s = ctx;
    struct cli *cli = s->d->cli;
    const char *ns = vpa_json_text(hpa, "metadata.namespace");
    const char *name = vpa_json_text(hpa, "metadata.name");
    const char *kind = vpa_json_text(hpa, "spec.scaleTargetRef.kind");
    const char *target = vpa_json_text(hpa, "spec.scaleTargetRef.name");
    const struct vpa_object *vpa = vpa_table_find(&s->targets, target_key(cli, ns, kind, target));
    const struct vpa_json *metrics = vpa_json_at(hpa, "spec.metrics");
    vpa_auto_free char *subject = vpa_xprintf("HorizontalPodAutoscaler %s/%s", ns, name);

    (void)err;
    if (!vpa)
        return 0;
    if (vpa_json_count(metrics) == 0)
        check_metric(s->d, vpa, subject, "cpu", NULL); /* the default */
    vpa_json_foreach (metric, metrics) {
        check_metric(s->d, vpa, subject, vpa_json_string(vpa_json_at(metric, "resource.name")),
                     NULL);
        check_metric(s->d, vpa, subject,
                     vpa_json_string(vpa_json_at(metric, "containerResource.name")),
                     vpa_json_string(vpa_json_at(metric, "containerResource.container")));
    }
    return 0;
}

void doctor_check_objects(struct doctor *d)
{
    static const struct cli_kind vpas = {VPA_GROUP_VERSION, "verticalpodautoscalers",
                                         "conflicts of VPAs"};
    static const struct cli_kind hpas = {"autoscaling/v2", "horizontalpodautoscalers",
                                         "autoscalers on the same metric"};
    struct objects s = {.d = d};
    size_t before = d->count;
    bool listed = false;
    struct vpa_error err;

    take_recommenders(&s);
    if (cli_list(d->cli, &vpas, d->cli->ns, on_vpa, &s, &err) < 0)
        cli_note_list(d->cli, &vpas, d->cli->ns, &err);
    else if (cli_list(d->cli, &hpas, d->cli->ns, on_hpa, &s, &err) < 0)
        cli_note_list(d->cli, &hpas, d->cli->ns, &err);
    else
        listed = true;
    check_targets(&s);
    if (listed && d->count == before)
        doctor_add(d, DOCTOR_OK, "vpas", "VerticalPodAutoscalers", "", "%zu, without a conflict",
                   s.count);
    vpa_table_release(&s.targets);
    free(s.acting);
    for (size_t i = 0; i < s.served_count; i++)
        algorithms_free(s.served[i]);
    free(s.served);
}
