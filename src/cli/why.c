/*
 * `why`: which VPA governs a pod and why this one, what its rules make of the recommendation, what
 * the updater would do next and the first rule that stops it, what a new pod would get.
 */
#include "why.h"

#include <stdlib.h>
#include <string.h>

#include "lists.h"
#include "output.h"
#include "workloads.h"
#include "vpa/base/str.h"

enum subject { SUBJECT_ANY, SUBJECT_POD, SUBJECT_VPA, SUBJECT_WORKLOAD };
struct target {
    enum subject subject;
    const char *kind; /* of a workload, "Deployment"; "" for any */
    const char *name;
};

/* "pod/web-0", "vpa/web", "deploy/web", or a name alone. */
static void read_target(struct cli *cli, const char *word, struct target *out)
{
    const char *slash = strchr(word, '/');
    const char *kind;

    *out = (struct target){SUBJECT_ANY, "", slash ? slash + 1 : word};
    if (!slash)
        return;
    kind = vpa_arena_strndup(&cli->arena, word, (size_t)(slash - word));
    if (strcasecmp(kind, "pod") == 0 || strcasecmp(kind, "pods") == 0 ||
        strcasecmp(kind, "po") == 0) {
        out->subject = SUBJECT_POD;
    } else if (strcasecmp(kind, "vpa") == 0 ||
               strncasecmp(kind, "verticalpodautoscaler", 21) == 0) {
        out->subject = SUBJECT_VPA;
    } else {
        out->subject = SUBJECT_WORKLOAD;
        out->kind = cli_workload_kind(kind) ? cli_workload_kind(kind) : kind;
    }
}

/* ---- whose pods ---- */

struct choice {
    const struct target *target;
    struct why_subject subject;
    size_t capacity;
};

static bool is_of_vpa(const struct why_control *control, const char *name)
{
    return (control->vpa && vpa_str_eq(control->vpa->meta.name, name)) ||
           (control->new_pod && vpa_str_eq(control->new_pod->meta.name, name));
}

static bool is_of_workload(const struct why_control *control, const struct target *target)
{
    const char *blank = strchr(control->controller, ' ');
    size_t len = strlen(target->kind);

    return blank && vpa_str_eq(blank + 1, target->name) &&
           (len == 0 || (len == (size_t)(blank - control->controller) &&
                         strncasecmp(control->controller, target->kind, len) == 0));
}

/* Of what the target names, where its word leaves that open: a workload before a VPA. */
static bool is_chosen(struct cli *cli, const struct why_control *control, struct choice *c)
{
    const struct target *target = c->target;
    bool may_be_vpa = target->subject == SUBJECT_VPA || target->subject == SUBJECT_ANY;
    bool may_be_workload = target->subject != SUBJECT_VPA;

    if (!*target->name)
        return true;
    if (may_be_workload && is_of_workload(control, target)) {
        c->subject.kind =
            vpa_arena_strndup(&cli->arena, control->controller, strcspn(control->controller, " "));
        return true;
    }
    return may_be_vpa && is_of_vpa(control, target->name);
}

static const struct vpa_object *find_vpa(struct cli_forecast *forecast, const char *ns,
                                         const char *name)
{
    for (size_t i = 0; i < forecast->vpa_count; i++)
        if (vpa_str_eq(forecast->vpas[i]->meta.ns, ns) &&
            vpa_str_eq(forecast->vpas[i]->meta.name, name))
            return forecast->vpas[i];
    return NULL;
}

static void choose_pods(struct cli *cli, struct cli_forecast *forecast, struct choice *c)
{
    struct why_subject *s = &c->subject;
    struct why_control control;

    for (size_t i = 0; i < forecast->pod_count; i++) {
        why_find_control(cli, forecast, forecast->pods[i], &control);
        if (!is_chosen(cli, &control, c))
            continue;
        VPA_GROW(s->rows, s->count, c->capacity);
        why_make_row(cli, forecast, forecast->pods[i], control.vpa, &s->rows[s->count++]);
    }
}

/* Also one that is not live: it is read by its name later. */
static void choose_pod(struct cli *cli, struct choice *c, const char *name)
{
    struct vpa_pod *pod = vpa_arena_zalloc(&cli->arena, sizeof(*pod));

    pod->meta.ns = cli->ns;
    pod->meta.name = name;
    VPA_GROW(c->subject.rows, c->subject.count, c->capacity);
    c->subject.kind = "Pod";
    c->subject.rows[c->subject.count++] = (struct why_row){.pod = pod};
}

static bool is_live_pod(struct cli_forecast *forecast, const char *ns, const char *name)
{
    return updater_store_find_pod(updater_env(forecast->updater)->store, ns, name) != NULL;
}

static bool is_any_pod(struct cli *cli, const char *name)
{
    static const struct cli_kind pods = {.group_version = "v1", .resource = "pods"};
    const struct vpa_json *object;
    struct vpa_error err;

    return cli_get(cli, &pods, cli->ns, name, &object, &err) == 0;
}

/* ---- the answer ---- */

static int answer(struct cli *cli, struct cli_forecast *forecast, const struct why_subject *subject)
{
    struct why why;
    struct vpa_error err;

    if (why_examine(cli, forecast, subject, &why, &err) < 0)
        return cli_complain(cli, &err);
    if (cli_is_json(cli))
        why_print_json(cli, forecast, &why);
    else
        why_print(cli, forecast, &why);
    return CLI_OK;
}

static int choose(struct cli *cli, struct cli_forecast *forecast, struct choice *c,
                  struct vpa_error *err)
{
    const struct target *target = c->target;
    struct why_subject *s = &c->subject;
    bool any = target->subject == SUBJECT_ANY && *target->name;

    if (target->subject == SUBJECT_POD || (any && is_live_pod(forecast, cli->ns, target->name))) {
        choose_pod(cli, c, target->name);
        return 0;
    }
    choose_pods(cli, forecast, c);
    if (*target->name && strcmp(s->kind, "VPA") == 0 && target->subject != SUBJECT_WORKLOAD)
        s->vpa = find_vpa(forecast, cli->ns, target->name);
    if (s->count > 0 || s->vpa || !*target->name)
        return 0;
    if (any && is_any_pod(cli, target->name)) {
        choose_pod(cli, c, target->name);
        return 0;
    }
    return vpa_fail(err, VPA_NOT_FOUND,
                    "no pod, and no VPA or workload with live pods, is named %s in namespace %s",
                    target->name, cli->ns);
}

static int run_why(struct cli *cli, struct cli_forecast *forecast, const struct target *target)
{
    struct choice c = {.target = target,
                       .subject = {.kind = "VPA", .ns = cli->ns, .name = target->name}};
    struct vpa_error err;
    int status = CLI_OK;

    if (choose(cli, forecast, &c, &err) < 0)
        status = cli_complain(cli, &err);
    else if (*target->name && cli->format != CLI_CSV)
        status = answer(cli, forecast, &c.subject);
    else {
        if (forecast->standstill)
            cli_note(cli, "no pass changes anything now: %s", forecast->standstill);
        why_print_rows(cli, c.subject.rows, c.subject.count);
    }
    free(c.subject.rows);
    return status;
}

static int run(struct cli *cli)
{
    struct target target;
    struct vpa_error err;
    struct cli_forecast *forecast;
    int status;

    read_target(cli, cli->arg_count ? cli->args[0] : "", &target);
    if (cli_connect(cli, &err) < 0)
        return cli_complain(cli, &err);
    forecast = cli_forecast_new(cli, cli->ns, &err);
    if (!forecast)
        return cli_complain(cli, &err);
    status = run_why(cli, forecast, &target);
    cli_forecast_free(forecast);
    return status;
}

static const struct cli_option options[] = {CLI_FORECAST_OPTION, CLI_DECISIONS_OPTION};

const struct cli_command cli_why = {
    .name = "why",
    .summary = "Why a pod has its requests, and what becomes of it",
    .arguments = "[[pod/|vpa/|deploy/...]NAME]",
    .max_args = 1,
    .named = true,
    .details =
        "The code of the updater and of the webhook decides over the live objects; nothing "
        "is sent but reads.\nFor a VPA or a workload each pod has a line, and the first of them "
        "stands for all where rules are told;\nwithout a name there are the lines alone. What "
        "only a running updater knows is not in the forecast:\nresizes that a node refused, how "
        "long one has waited, evicted pods that are not back, rate limits.\nWhat it decided "
        "lately is read from its ledger, through a kubectl port-forward of this command's own,\n"
        "or of yours with --decisions-from.",
    .example = "  # Which VPA governs a pod, what its rules make of it, what comes next\n"
               "  kubectl vpa why web-5d4f8 -n shop\n"
               "  # The same; the updater's ledger through a port-forward that you have opened\n"
               "  kubectl vpa why web-5d4f8 -n shop --decisions-from http://127.0.0.1:8943\n"
               "  # A workload: the same, and what the next pass does to each of its pods\n"
               "  kubectl vpa why deploy/web -n shop\n"
               "  # All pods of the cluster, one line each\n"
               "  kubectl vpa why -A",
    .options = options,
    .option_count = VPA_COUNT(options),
    .run = run,
};
