/*
 * A pass of the updater whose requests nobody gets.
 */
#include "forecast.h"

#include <stdlib.h>
#include <string.h>

#include "../../updater/paused.h"
#include "../../updater/updater.h"
#include "daemon_config.h"
#include "lists.h"
#include "vpa/api/lease.h"
#include "vpa/base/str.h"
#include "vpa/daemon/panic.h"
#include "vpa/daemon/status_lease.h"

#define LEASE_OLD VPA_MINUTE /* clocks may differ by so much */

/* ---- what the pass asks ---- */

static void on_refused(void *ctx, const char *resource, int status, const char *message)
{
    struct cli_forecast *f = ctx;

    if (vpa_str_starts_with(resource, "pods") ||
        vpa_str_starts_with(resource, "verticalpodautoscalers"))
        vpa_fail(&f->failure, status == 403 ? VPA_DENIED : VPA_RETRY, "list %s: %s", resource,
                 status == 404 ? "the server does not serve them: are the CRDs installed?"
                               : message);
    else
        cli_note(f->cli, "%s list %s: the forecast takes them for none (%s)",
                 status == 403 ? "not allowed to" : "cannot", resource, message);
}

/* The panic button is told apart (standstill), so that it does not hide everything else. */
static bool hides(void *ctx, const char *target)
{
    (void)ctx;
    return strstr(target, "/configmaps?") != NULL;
}

static struct cli_verdict *verdict_at(struct cli_forecast *f, const char *ns, const char *pod)
{
    vpa_auto_free char *key = vpa_xjoin(ns, '/', pod);
    struct cli_verdict *v = vpa_table_find(&f->verdicts, key);

    if (v)
        return v;
    v = vpa_arena_zalloc(&f->arena, sizeof(*v));
    v->ns = vpa_arena_strdup(&f->arena, ns);
    v->pod = vpa_arena_strdup(&f->arena, pod);
    v->vpa = v->rule = v->why = "";
    vpa_table_put(&f->verdicts, vpa_arena_strdup(&f->arena, key), v);
    return v;
}

/* Of /api/v1/namespaces/NS/pods/NAME/SUB: copies, or false. */
static bool split_target(struct cli_forecast *f, const char *target, const char **ns,
                         const char **pod, const char **sub)
{
    static const char prefix[] = "/api/v1/namespaces/";
    struct vpa_slice parts[4] = {{0}};
    const char *rest;

    if (!vpa_str_starts_with(target, prefix))
        return false;
    rest = target + sizeof(prefix) - 1;
    for (size_t i = 0; i < 4 && vpa_str_split(&rest, '/', &parts[i]); i++)
        continue;
    if (!vpa_slice_eq(parts[1], "pods") || parts[2].len == 0)
        return false;
    *ns = vpa_arena_strndup(&f->arena, parts[0].ptr, parts[0].len);
    *pod = vpa_arena_strndup(&f->arena, parts[2].ptr, parts[2].len);
    *sub =
        parts[3].ptr ? vpa_arena_strndup(&f->arena, parts[3].ptr, strcspn(parts[3].ptr, "/?")) : "";
    return true;
}

static int answer_eviction(struct cli_forecast *f, struct cli_verdict *v, const char **answer)
{
    const struct vpa_pod *pod =
        updater_store_find_pod(updater_env(f->updater)->store, v->ns, v->pod);
    const struct cli_budget *by = NULL;

    if (!pod || cli_budgets_take(&f->budgets, pod, &by)) {
        v->action = CLI_ACTION_EVICT;
        v->refused = false;
        return 201;
    }
    v->refused = true;
    v->rule = "pdb";
    v->why = vpa_arena_printf(&f->arena,
                              "PodDisruptionBudget %s lets no pod go now (%lld of %lld "
                              "healthy pods must stay)",
                              by->name, (long long)by->wanted, (long long)by->healthy);
    *answer = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"TooManyRequests\","
              "\"message\":\"Cannot evict pod as it would violate the pod's disruption budget.\","
              "\"code\":429}";
    return 429;
}

static int on_write(void *ctx, const char *method, const char *target, const char *body,
                    const char **answer)
{
    struct cli_forecast *f = ctx;
    const char *ns, *pod, *sub;

    /* The trial of a replacement (--prove-evictions=dry-run) is left out, as where it is not
     * allowed. */
    if (strstr(target, "dryRun=")) {
        *answer = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\","
                  "\"message\":\"a forecast sends nothing\",\"code\":403}";
        return 403;
    }
    if (!split_target(f, target, &ns, &pod, &sub))
        return 201; /* an event */

    struct cli_verdict *v = verdict_at(f, ns, pod);

    if (strcmp(method, "POST") == 0 && strcmp(sub, "eviction") == 0)
        return answer_eviction(f, v, answer);
    if (strcmp(sub, "resize") == 0) {
        v->action = CLI_ACTION_RESIZE;
        v->patch = vpa_arena_strdup(&f->arena, body);
    } else if (v->action == CLI_ACTION_NONE || strstr(body, "vpaCpuStartupBoost~1")) {
        v->action = CLI_ACTION_UNBOOST; /* the marker goes, perhaps it alone */
    }
    return 200;
}

/* ---- the pass ---- */

const struct vpa_condition *cli_true_condition(const struct vpa_object *vpa, const char *type)
{
    for (size_t i = 0; i < vpa->condition_count; i++)
        if (vpa_str_eq(vpa->conditions[i].type, type) &&
            vpa_str_eq(vpa->conditions[i].status, "True"))
            return &vpa->conditions[i];
    return NULL;
}

/* What a condition of the VPA says about a breaker that is open; the pass has read it too. */
static const char *paused_text(struct cli_forecast *f, const struct vpa_object *vpa)
{
    const struct vpa_condition *c = cli_true_condition(vpa, PAUSED_EVICTIONS);

    if (!c)
        c = cli_true_condition(vpa, PAUSED_RESIZES);
    return c ? vpa_arena_printf(&f->arena, "%s: %s", c->type, c->message) : NULL;
}

static void on_work(void *ctx, const struct work *w)
{
    struct cli_forecast *f = ctx;
    const char *paused = paused_text(f, w->vpa);

    for (size_t i = 0; i < w->pod_count; i++) {
        struct cli_verdict *v = verdict_at(f, w->pods[i]->meta.ns, w->pods[i]->meta.name);

        v->paused = paused;

        v->vpa = vpa_arena_strdup(&f->arena, w->vpa->meta.name);
        if (v->action == CLI_ACTION_NONE)
            cli_verdict_of(&f->arena, w, i, v);
    }
}

/* Pods that had to make room for those before them. */
static void tell_of_turns(struct cli_forecast *f)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&f->verdicts, &i, &key, &value);) {
        struct cli_verdict *v = value;

        if (v->action != CLI_ACTION_NONE) {
            v->rule = "";
        } else if (v->eligible && !v->refused) {
            v->rule = v->paused ? "paused" : "turn";
            v->why = v->paused ? v->paused
                               : vpa_arena_printf(&f->arena,
                                                  "%s; but another pod of its group comes first: "
                                                  "it takes what may be missing at once, or has to "
                                                  "prove itself",
                                                  v->why);
        }
    }
}

static const struct cli_kind config_maps = {"v1", "configmaps", "the panic button"};

const char *cli_panic(struct cli *cli, const char *ns)
{
    const struct vpa_json *object;
    struct vpa_error err;

    if (cli_get(cli, &config_maps, ns, VPA_PANIC_CONFIG_MAP, &object, &err) == 0)
        return vpa_arena_printf(&cli->arena,
                                "the ConfigMap %s/%s exists: nothing is changed anywhere", ns,
                                VPA_PANIC_CONFIG_MAP);
    if (err.code == VPA_DENIED)
        cli_note(cli, "not allowed to look for the ConfigMap %s/%s, which stops every change", ns,
                 VPA_PANIC_CONFIG_MAP);
    return NULL;
}

static void look_at_webhook(struct cli_forecast *f)
{
    const struct updater_config *config = &f->config;
    const char *ns = *config->status_lease_namespace ? config->status_lease_namespace : f->at.ns;
    struct vpa_status_view view = {
        .ns = ns, .name = config->status_lease_name, .timeout = config->status_lease_timeout};
    struct vpa_error err;
    bool valid = false;

    if (!config->use_admission_status || f->standstill)
        return;
    if (vpa_status_lease_check(f->dry.client, &view, &valid, &err) < 0) {
        if (err.code == VPA_DENIED)
            cli_note(f->cli,
                     "not allowed to read the Lease %s/%s of the webhook, without which "
                     "the updater does nothing",
                     ns, config->status_lease_name);
        else
            f->standstill = vpa_arena_printf(&f->arena,
                                             "the Lease of the webhook cannot be read: "
                                             "%s",
                                             err.text);
    } else if (!valid) {
        f->standstill = vpa_arena_printf(&f->arena,
                                         "the Lease %s/%s is too old: the webhook does "
                                         "not answer",
                                         ns, config->status_lease_name);
    }
}

/* By the API server's clock. */
static vpa_duration age_of(struct cli_forecast *f, vpa_time t)
{
    return vpa_time_sub(cli_now(f->cli), t) - vpa_kube_client_ahead(f->cli->client);
}

/* Why nobody holds the Lease of the leader, or NULL. */
static const char *why_no_leader(struct cli_forecast *f)
{
    static const struct cli_kind leases = {"coordination.k8s.io/v1", "leases", ""};
    const struct vpa_leader_flags *leader = &f->config.leader;
    const char *ns = leader->resource_namespace, *name = leader->resource_name;
    const struct vpa_json *object;
    struct vpa_lease lease;
    struct vpa_error err;

    if (cli_get(f->cli, &leases, ns, name, &object, &err) < 0) {
        if (err.code == VPA_NOT_FOUND)
            return vpa_arena_printf(&f->arena, "the Lease %s/%s does not exist", ns, name);
        cli_note(f->cli, "whether an updater leads is not known: the Lease %s/%s: %s", ns, name,
                 err.text);
        return NULL;
    }
    if (vpa_lease_decode(&f->arena, object, &lease, &err) < 0)
        return vpa_arena_printf(&f->arena, "the Lease %s/%s: %s", ns, name, err.text);
    if (!*lease.spec.holder || vpa_time_is_unset(lease.spec.renew_time))
        return vpa_arena_printf(&f->arena, "nobody holds the Lease %s/%s", ns, name);

    vpa_duration age = age_of(f, lease.spec.renew_time);
    vpa_duration least = lease.spec.duration_seconds * VPA_SECOND;

    if (age <= least || age <= LEASE_OLD)
        return NULL;
    return vpa_arena_printf(&f->arena, "the Lease %s/%s was renewed %lld s ago", ns, name,
                            (long long)(age / VPA_SECOND));
}

/* An updater that does not run makes no pass. */
static void look_at_updater(struct cli_forecast *f)
{
    const char *why = f->config.leader.elect && !f->standstill ? why_no_leader(f) : NULL;

    if (f->standstill)
        return;
    if (why)
        f->standstill = vpa_arena_printf(&f->arena, "no updater leads: %s", why);
    else if (!f->config.leader.elect && f->at.idle)
        f->standstill = vpa_arena_printf(
            &f->arena, "no pod of Deployment %s/%s is ready: perhaps no updater runs", f->at.ns,
            f->at.name);
    else if (!f->config.leader.elect && !f->at.found)
        cli_note(f->cli, "no Deployment of an updater is found: whether one runs is not known");
}

static int connect_dry(struct cli_forecast *f, struct vpa_error *err)
{
    const struct cli_dry_handler handler = {
        .ctx = f, .on_write = on_write, .hides = hides, .on_refused = on_refused};

    return cli_dry_connect(f->cli, &handler, &f->dry, err);
}

static int run_pass(struct cli_forecast *f, struct vpa_error *err)
{
    struct pass_env *env;

    f->updater = updater_new(&(struct updater_options){
        .loop = f->cli->loop, .client = f->dry.client, .config = &f->config});
    env = updater_env(f->updater);
    env->on_work = on_work;
    env->on_work_ctx = f;
    updater_start(f->updater);
    if (updater_wait(f->updater, CLI_CACHES_TIMEOUT, err) < 0)
        return -1;
    if (f->failure.code != VPA_OK) {
        *err = f->failure;
        return -1;
    }
    updater_pass(f->updater);
    tell_of_turns(f);
    return 0;
}

/* How many VPAs of each namespace have paused evictions: by namespace, the count as a pointer. */
static void count_paused(const struct cli_forecast *f, struct vpa_table *paused)
{
    for (size_t i = 0; i < f->vpa_count; i++) {
        const char *ns = f->vpas[i]->meta.ns;

        if (cli_true_condition(f->vpas[i], PAUSED_EVICTIONS))
            vpa_table_put(paused, ns, (void *)((uintptr_t)vpa_table_find(paused, ns) + 1));
    }
}

/* The breakers of a namespace and of the cluster are in the updater's memory alone; as many VPAs or
 * namespaces as open them may have done so. */
static void doubt_evictions(struct cli_forecast *f)
{
    struct vpa_table paused = {0};
    const char *key;
    void *value;

    count_paused(f, &paused);
    for (size_t i = 0; vpa_table_next(&f->verdicts, &i, &key, &value);) {
        struct cli_verdict *v = value;
        size_t count = (uintptr_t)vpa_table_find(&paused, v->ns);

        if (v->action != CLI_ACTION_EVICT)
            continue;
        if (count >= VPA_PROOF_ROW)
            v->why = vpa_arena_printf(
                &f->arena,
                "perhaps: its namespace may be paused, where %zu VPAs have " PAUSED_EVICTIONS
                "; %s",
                count, v->why);
        else if (paused.count >= VPA_PROOF_ROW)
            v->why = vpa_arena_printf(&f->arena,
                                      "perhaps: the cluster may be paused, where VPAs of %zu "
                                      "namespaces have " PAUSED_EVICTIONS "; %s",
                                      paused.count, v->why);
    }
    vpa_table_release(&paused);
}

static void keep_objects(struct cli_forecast *f)
{
    struct pass_env *env = updater_env(f->updater);

    updater_store_pin(env->store);
    f->vpas = updater_store_vpas(env->store, &f->vpa_count);
    f->pods = updater_store_pods(env->store, &f->pod_count);
    f->ranges = updater_store_limit_ranges(env->store, &f->range_count);
    f->governors = cli_governors_new(f->cli, env->owners, f->vpas, f->vpa_count);
}

/* Of all namespaces the pass is made over the one that the updater looks after. */
static void choose_namespace(struct cli_forecast *f, const char *ns)
{
    const char *only = f->config.common.vpa_object_namespace;

    if (*only && !*ns) {
        cli_note(f->cli,
                 "the updater looks after the namespace %s only; pods of others are left out",
                 only);
        return;
    }
    if (*only && !vpa_str_eq(only, ns))
        f->standstill =
            vpa_arena_printf(&f->arena, "the updater looks after the namespace %s only", only);
    f->config.common.vpa_object_namespace = ns;
}

static int prepare(struct cli_forecast *f, const char *ns, struct vpa_error *err)
{
    struct cli_config config;

    if (cli_budgets_read(f->cli, ns, &f->budgets, err) < 0 || connect_dry(f, err) < 0)
        return -1;
    cli_config_read(f->cli, CLI_UPDATER, &config, &f->at);
    f->config = config.updater;
    f->standstill = cli_panic(f->cli, f->at.ns);
    look_at_webhook(f);
    look_at_updater(f);
    choose_namespace(f, ns);
    f->config.use_admission_status = false;
    f->config.eviction_rate_limit = -1;
    return 0;
}

struct cli_forecast *cli_forecast_new(struct cli *cli, const char *ns, struct vpa_error *err)
{
    struct cli_forecast *f = vpa_xcalloc(1, sizeof(*f));

    f->cli = cli;
    if (prepare(f, ns, err) < 0 || run_pass(f, err) < 0) {
        cli_forecast_free(f);
        return NULL;
    }
    keep_objects(f);
    doubt_evictions(f);
    return f;
}

void cli_forecast_free(struct cli_forecast *f)
{
    if (!f)
        return;
    cli_governors_free(f->governors);
    free(f->vpas);
    free(f->pods);
    free(f->ranges);
    if (f->updater)
        updater_store_unpin(updater_env(f->updater)->store);
    updater_free(f->updater);
    cli_dry_release(&f->dry);
    cli_budgets_release(&f->budgets);
    vpa_table_release(&f->verdicts);
    vpa_arena_release(&f->arena);
    free(f);
}

const struct cli_verdict *cli_forecast_find(const struct cli_forecast *forecast, const char *ns,
                                            const char *pod)
{
    vpa_auto_free char *key = vpa_xjoin(ns, '/', pod);

    return vpa_table_find(&forecast->verdicts, key);
}
