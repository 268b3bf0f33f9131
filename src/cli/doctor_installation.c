/*
 * What is installed: definitions, daemons, Leases, the panic button.
 */
#include <string.h>

#include "doctor.h"
#include "lists.h"
#include "vpa/base/str.h"
#include "vpa/daemon/panic.h"
#include "vpa/daemon/status_lease.h"

#define LEASE_OLD VPA_MINUTE
#define LEASE_SLACK (5 * VPA_SECOND) /* seconds that are cut off, answers under way */
#define LEASE_TAKEN_BACK INT64_MAX   /* the age of a renewal of 1970, see status_lease.c */

/* ---- definitions ---- */

static const struct vpa_json *version_v1(const struct vpa_json *crd)
{
    bool served;

    vpa_json_foreach (version, vpa_json_at(crd, "spec.versions"))
        if (vpa_str_eq(vpa_json_string(vpa_json_find(version, "name")), "v1") &&
            vpa_json_bool(vpa_json_find(version, "served"), &served) && served)
            return version;
    return NULL;
}

static void check_crd(struct doctor *d, const char *plural)
{
    vpa_auto_free char *name = vpa_xprintf("%s.autoscaling.k8s.io", plural);
    vpa_auto_free char *subject = vpa_xprintf("CustomResourceDefinition %s", name);
    bool missing;
    const struct vpa_json *crd =
        doctor_get(d, "apiextensions.k8s.io/v1", NULL, "customresourcedefinitions", name, &missing);

    if (missing)
        doctor_add(d, DOCTOR_ERROR, "crd", subject, "kubectl apply -f deploy/vpa-v1-crd-gen.yaml",
                   "it does not exist");
    else if (crd && !version_v1(crd))
        doctor_add(d, DOCTOR_ERROR, "crd", subject, "kubectl apply -f deploy/vpa-v1-crd-gen.yaml",
                   "version v1 is not served");
    else if (crd && strcmp(plural, "verticalpodautoscalers") == 0 &&
             !vpa_json_at(version_v1(crd),
                          "schema.openAPIV3Schema.properties.spec.properties.startupBoost"))
        doctor_add(d, DOCTOR_WARNING, "crd-old", subject,
                   "kubectl apply -f deploy/vpa-v1-crd-gen.yaml",
                   "it is of an older release: newer fields of VPAs are dropped by the API server");
    else if (crd)
        doctor_add(d, DOCTOR_OK, "crd", subject, "", "version v1 is served");
}

void doctor_check_crds(struct doctor *d)
{
    check_crd(d, "verticalpodautoscalers");
    check_crd(d, "verticalpodautoscalercheckpoints");
}

/* ---- daemons ---- */

struct daemons {
    struct doctor *d;
    const char *first_tag, *first_name; /* of the images, to compare */
};

static const char *tag_of(const char *image)
{
    const char *colon = strrchr(image, ':');

    return colon && !strchr(colon, '/') ? colon + 1 : "latest";
}

static void check_ready(struct daemons *s, const struct vpa_json *deployment, const char *subject)
{
    int64_t ready = 0, wanted = 1;

    (void)vpa_json_int64(vpa_json_at(deployment, "status.readyReplicas"), &ready);
    (void)vpa_json_int64(vpa_json_at(deployment, "spec.replicas"), &wanted);
    if (ready == 0)
        doctor_add(s->d, DOCTOR_ERROR, "daemon", subject,
                   "kubectl describe the Deployment and its pods; look at their logs",
                   "none of its %lld pods is ready", (long long)wanted);
    else if (ready < wanted)
        doctor_add(s->d, DOCTOR_WARNING, "daemon", subject, "kubectl describe its pods",
                   "%lld of %lld pods are ready", (long long)ready, (long long)wanted);
    else
        doctor_add(s->d, DOCTOR_OK, "daemon", subject, "", "%lld of %lld pods are ready",
                   (long long)ready, (long long)wanted);
}

static void check_tag(struct daemons *s, const char *image, const char *subject)
{
    struct vpa_arena *arena = &s->d->cli->arena;

    if (strchr(image, '@'))
        return; /* a digest, which each image has of its own */
    if (!s->first_tag) {
        s->first_tag = vpa_arena_strdup(arena, tag_of(image));
        s->first_name = vpa_arena_strdup(arena, subject);
    } else if (strcmp(s->first_tag, tag_of(image)) != 0) {
        doctor_add(s->d, DOCTOR_WARNING, "version-skew", subject,
                   "give the three daemons images of one release",
                   "its image has the tag %.60s, that of %s %.60s", tag_of(image), s->first_name,
                   s->first_tag);
    }
}

static struct doctor_lease leader_lease(const struct vpa_leader_flags *leader)
{
    return leader->elect ? (struct doctor_lease){leader->resource_namespace, leader->resource_name}
                         : (struct doctor_lease){0};
}

/* How this installation calls what the later checks look at. Of several Deployments of a daemon
 * (recommenders have names) the one of the usual name counts, else the first. */
static void learn_names(struct doctor *d, const struct vpa_json *deployment,
                        const struct cli_config *config)
{
    enum cli_daemon which = config->which;
    const char *account =
        vpa_json_string(vpa_json_at(deployment, "spec.template.spec.serviceAccountName"));
    const char *name = vpa_json_string(vpa_json_at(deployment, "metadata.name"));

    if (d->names.seen[which] && !vpa_str_eq(name, cli_daemon_names[which]))
        return;
    d->names.seen[which] = true;
    d->names.configs[which] = vpa_arena_alloc(&d->cli->arena, sizeof(*config));
    *d->names.configs[which] = *config;
    d->names.accounts[which] = vpa_arena_strdup(&d->cli->arena, account ? account : "default");
    if (which == CLI_UPDATER) {
        d->names.leader[which] = leader_lease(&config->updater.leader);
        d->names.status = (struct doctor_lease){config->updater.status_lease_namespace,
                                                config->updater.status_lease_name};
    } else if (which == CLI_RECOMMENDER) {
        d->names.leader[which] = leader_lease(&config->recommender.leader);
    }
}

static void add_to(const struct doctor_neighbour **list, struct vpa_arena *arena, const char *ns,
                   const char *name, const struct cli_config *config)
{
    struct doctor_neighbour *neighbour = vpa_arena_alloc(arena, sizeof(*neighbour));

    *neighbour = (struct doctor_neighbour){*list, vpa_arena_strdup(arena, ns),
                                           vpa_arena_strdup(arena, name), *config};
    *list = neighbour;
}

static const struct vpa_common_flags *common_of(const struct cli_config *config)
{
    return config->which == CLI_RECOMMENDER ? &config->recommender.common
           : config->which == CLI_UPDATER   ? &config->updater.common
                                            : &config->admission.common;
}

/* All the VPAs that the one serves are left alone by the other. */
static bool leaves_to(const struct cli_config *config, const struct cli_config *other)
{
    const char *only = common_of(other)->vpa_object_namespace;

    return *only && vpa_common_flags_ignore(common_of(config), only);
}

bool doctor_is_apart(const struct doctor *d, const struct doctor_neighbour *neighbour)
{
    const struct cli_config *theirs = &neighbour->config;
    const struct cli_config *ours = d->names.configs[theirs->which];

    if (cli_config_is_shadow(theirs) || doctor_leaves_out(d, theirs->which))
        return true;
    return ours && (leaves_to(ours, theirs) || leaves_to(theirs, ours) ||
                    (ours->which == CLI_RECOMMENDER &&
                     strcmp(ours->recommender.name, theirs->recommender.name) != 0));
}

static void check_neighbours(struct doctor *d)
{
    for (const struct doctor_neighbour *n = d->neighbours; n; n = n->next) {
        vpa_auto_free char *subject = vpa_xprintf("Deployment %s/%s", n->ns, n->name);

        if (!doctor_is_apart(d, n))
            doctor_add(d, DOCTOR_ERROR, "second-installation", subject,
                       "remove one of the two, or restrict each to a namespace of its own "
                       "(--vpa-object-namespace)",
                       "it runs %s beside the installation in %s: two of them undo what the other "
                       "does",
                       cli_daemon_names[n->config.which], d->ns);
    }
}

static void check_container(struct daemons *s, const struct vpa_json *deployment,
                            const struct vpa_json *container, enum cli_daemon which)
{
    const char *image = vpa_json_string(vpa_json_find(container, "image"));
    const char *ns = vpa_json_text(deployment, "metadata.namespace");
    const char *name = vpa_json_text(deployment, "metadata.name");
    vpa_auto_free char *subject = vpa_xprintf("Deployment %s/%s", ns, name);
    struct cli_config config;
    struct vpa_error err;
    bool readable = cli_config_of(s->d->cli, which, deployment, container, &config, &err) == 0;

    if (which == CLI_RECOMMENDER && !cli_config_is_shadow(&config))
        add_to(&s->d->recommenders, &s->d->cli->arena, ns, name, &config);
    if (cli_config_is_shadow(&config) || strcmp(ns, s->d->ns) != 0) {
        add_to(&s->d->neighbours, &s->d->cli->arena, ns, name, &config);
        return;
    }
    s->d->of_chart |=
        vpa_str_eq(vpa_json_string(vpa_json_find(vpa_json_at(deployment, "metadata.labels"),
                                                 "app.kubernetes.io/managed-by")),
                   "Helm");
    if (!readable)
        cli_note_config(s->d->cli, which, &err);
    learn_names(s->d, deployment, &config);
    if (strstr(image, "registry.k8s.io/") || strstr(image, "k8s.gcr.io/"))
        s->d->is_plumb = false;
    check_ready(s, deployment, subject);
    check_tag(s, image, subject);
}

static int on_deployment(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    (void)err;
    vpa_json_foreach (container, vpa_json_at(object, "spec.template.spec.containers")) {
        enum cli_daemon which = cli_daemon_of(container);

        if (which < CLI_DAEMONS)
            check_container(ctx, object, container, which);
    }
    return 0;
}

bool doctor_leaves_out(const struct doctor *d, enum cli_daemon daemon)
{
    const struct doctor_names *names = &d->names;

    return names->all_seen && names->seen[CLI_RECOMMENDER] && !names->seen[daemon];
}

bool doctor_reads_status(const struct doctor *d)
{
    const struct cli_config *updater = d->names.configs[CLI_UPDATER];

    return updater ? updater->updater.use_admission_status : !doctor_leaves_out(d, CLI_UPDATER);
}

const char *doctor_apply(const struct doctor *d, const char *chart, const char *manifests)
{
    return d->of_chart                           ? chart
           : strcmp(d->ns, CLI_KUBE_SYSTEM) == 0 ? manifests
                                                 : "apply your overlay of deploy/ again";
}

/* intended: it may be meant so. what: as the chart's values have it. */
static void add_gone(struct doctor *d, bool intended, const char *subject, const char *what,
                     const char *text)
{
    vpa_auto_free char *values = vpa_xprintf("set %s in the values of the chart", what);
    vpa_auto_free char *advice =
        vpa_xprintf("%s%s", intended ? "nothing, if that is wanted; else " : "",
                    doctor_apply(d, values, "kubectl apply -k deploy/"));

    doctor_add(d, intended ? DOCTOR_WARNING : DOCTOR_ERROR, "daemon", subject, advice,
               "no Deployment in %s runs %s", d->ns, text);
}

static void check_gone(struct doctor *d)
{
    const bool *seen = d->names.seen;
    const char *webhook = cli_daemon_names[CLI_ADMISSION_CONTROLLER];

    if (!seen[CLI_RECOMMENDER])
        add_gone(d, false, cli_daemon_names[CLI_RECOMMENDER], "recommender.enabled", "it");
    if (doctor_leaves_out(d, CLI_UPDATER) && doctor_leaves_out(d, CLI_ADMISSION_CONTROLLER)) {
        add_gone(d, true, "vpa-updater and vpa-admission-controller",
                 "updater.enabled and admissionController.enabled", "them: recommendations only");
        return;
    }
    if (!seen[CLI_UPDATER])
        add_gone(d, doctor_leaves_out(d, CLI_UPDATER), cli_daemon_names[CLI_UPDATER],
                 "updater.enabled", "it: running pods are left as they are");
    if (!seen[CLI_ADMISSION_CONTROLLER] && doctor_reads_status(d))
        add_gone(d, false, webhook, "admissionController.enabled",
                 "it: the updater changes nothing without the webhook");
    else if (!seen[CLI_ADMISSION_CONTROLLER])
        add_gone(d, doctor_leaves_out(d, CLI_ADMISSION_CONTROLLER), webhook,
                 "admissionController.enabled", "it: new pods do not get their recommendation");
}

void doctor_check_daemons(struct doctor *d)
{
    struct daemons s = {.d = d};
    struct vpa_error err;

    if (!d->ns)
        d->ns = cli_installation(d->cli);
    if (cli_list(d->cli, &cli_deployments, "", on_deployment, &s, &err) < 0) {
        cli_note_list(d->cli, &cli_deployments, "", &err);
        return;
    }
    d->names.all_seen = true;
    check_neighbours(d);
    check_gone(d);
}

/* ---- Leases ---- */

/* When a Lease was renewed last is told by the clocks of the cluster, which ours may be ahead of or
 * behind. Below 0: by a clock that is ahead of the API server's. False: never. */
static bool age_of_lease(struct doctor *d, const struct vpa_json *lease, vpa_duration *age)
{
    const char *renewed = vpa_json_string(vpa_json_at(lease, "spec.renewTime"));
    vpa_time now = vpa_time_add(cli_now(d->cli), -vpa_kube_client_ahead(d->cli->client));
    vpa_time t;

    if (!renewed || vpa_time_parse_micro(renewed, &t, NULL) < 0)
        return false;
    *age = t == vpa_time_from_unix(0, 0) ? LEASE_TAKEN_BACK : vpa_time_sub(now, t);
    return true;
}

/* As the updater takes it (vpa/daemon/status_lease.h): so far ahead it counts for nothing unless it
 * is seen to be renewed. */
static void judge_ahead(struct doctor *d, const char *subject, const char *whose, vpa_duration age)
{
    long long seconds = -(age / VPA_SECOND);

    if (age < -LEASE_OLD)
        doctor_add(d, DOCTOR_WARNING, "lease", subject,
                   "set the clock of the node where its holder runs",
                   "it was renewed by a clock that is %lld s ahead of the API server's; if that "
                   "renewal was the last one, %s",
                   seconds, whose);
    else
        doctor_add(d, DOCTOR_OK, "lease", subject, "",
                   "it was renewed by a clock that is %lld s ahead of the API server's", seconds);
}

static void judge_age(struct doctor *d, const char *subject, const char *whose, const char *advice,
                      vpa_duration age)
{
    long long seconds = age > 0 ? age / VPA_SECOND : 0;

    if (age == LEASE_TAKEN_BACK)
        doctor_add(d, DOCTOR_ERROR, "lease", subject, advice, "its last renewal was taken back: %s",
                   whose);
    else if (age > LEASE_OLD)
        doctor_add(d, DOCTOR_ERROR, "lease", subject, advice, "it was renewed %lld s ago: %s",
                   seconds, whose);
    else if (age < -LEASE_SLACK)
        judge_ahead(d, subject, whose, age);
    else
        doctor_add(d, DOCTOR_OK, "lease", subject, "", "it was renewed %lld s ago", seconds);
}

static void check_lease(struct doctor *d, const struct doctor_lease *at, const char *whose,
                        bool required, const char *advice)
{
    vpa_auto_free char *subject = vpa_xprintf("Lease %s/%s", at->ns, at->name);
    bool missing;
    const struct vpa_json *lease =
        doctor_get(d, "coordination.k8s.io/v1", at->ns, "leases", at->name, &missing);
    vpa_duration age;

    if (missing && required)
        doctor_add(d, DOCTOR_ERROR, "lease", subject, advice, "it does not exist: %s", whose);
    else if (lease && !age_of_lease(d, lease, &age))
        doctor_add(d, DOCTOR_ERROR, "lease", subject, advice, "it was never renewed: %s", whose);
    else if (lease)
        judge_age(d, subject, whose, advice, age);
}

struct doctor_lease doctor_status_lease(const struct doctor *d)
{
    const struct doctor_lease *found = &d->names.status;

    return (struct doctor_lease){found->ns && *found->ns ? found->ns : d->ns,
                                 found->name ? found->name : VPA_STATUS_LEASE_NAME};
}

/* One that leads without a Lease may have left one behind, which says nothing. Of one that was not
 * seen it is not known whether it takes one. */
static void check_leader(struct doctor *d, enum cli_daemon daemon, const char *usual,
                         const char *whose, const char *advice)
{
    const struct doctor_lease at =
        d->names.seen[daemon] ? d->names.leader[daemon] : (struct doctor_lease){d->ns, usual};

    if (at.name && !doctor_leaves_out(d, daemon))
        check_lease(d, &at, whose, d->names.seen[daemon], advice);
}

void doctor_check_leases(struct doctor *d)
{
    const struct doctor_lease status = doctor_status_lease(d);

    if (doctor_reads_status(d))
        check_lease(d, &status, "the updater changes nothing without the webhook", true,
                    "look at the log of the admission controller and at webhook findings here");
    check_leader(d, CLI_RECOMMENDER, "vpa-recommender-lease", "no recommender is at work",
                 "look at the logs of the recommender and at its rights");
    check_leader(d, CLI_UPDATER, "vpa-updater", "no updater is at work",
                 "look at the logs of the updater and at its rights");
}

void doctor_check_panic(struct doctor *d)
{
    bool missing;
    const struct vpa_json *pressed =
        doctor_get(d, "v1", d->ns, "configmaps", VPA_PANIC_CONFIG_MAP, &missing);

    d->may_be_panic = !missing;
    if (pressed)
        doctor_add(d, DOCTOR_WARNING, "panic", "ConfigMap " VPA_PANIC_CONFIG_MAP,
                   "delete it when changes are wanted again",
                   "the panic button is pressed: nothing is changed anywhere");
    else if (missing)
        doctor_add(d, DOCTOR_OK, "panic", "ConfigMap " VPA_PANIC_CONFIG_MAP, "",
                   "the panic button is not pressed");
}
