/*
 * The webhook: its registration, its CA, its Service, and whether the API server reaches it.
 */
#include <string.h>

#include "doctor.h"
#include "lists.h"
#include "../../admission/admit.h"
#include "vpa/api/meta.h"
#include "vpa/api/review.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/tls.h"

#define USUAL_NAMESPACE "default"

static bool is_ours(const struct vpa_json *hook)
{
    const char *name = vpa_json_text(hook, "name");

    return strcmp(name, "vpa.k8s.io") == 0 || strstr(name, "vpa-admission") != NULL;
}

/* Without rules the API server calls it for nothing: the chart keeps one so for a rollback. */
static bool is_called(const struct vpa_json *hook)
{
    return vpa_json_count(vpa_json_find(hook, "rules")) > 0;
}

static bool covers_pods(const struct vpa_json *hook)
{
    vpa_json_foreach (rule, vpa_json_find(hook, "rules")) {
        bool pods = false, create = false;

        vpa_json_foreach (r, vpa_json_find(rule, "resources"))
            pods |= vpa_str_eq(vpa_json_string(r), "pods") || vpa_str_eq(vpa_json_string(r), "*");
        vpa_json_foreach (o, vpa_json_find(rule, "operations"))
            create |=
                vpa_str_eq(vpa_json_string(o), "CREATE") || vpa_str_eq(vpa_json_string(o), "*");
        if (pods && create)
            return true;
    }
    return false;
}

static const char *register_advice(const struct doctor *d)
{
    const struct cli_config *ours = d->names.configs[CLI_ADMISSION_CONTROLLER];

    if (!ours || ours->admission.register_webhook)
        return "restart the admission controller: it registers itself (--register-webhook)";
    return d->of_chart ? "helm upgrade, or register it yourself where the chart leaves that to you"
                       : "register it: --register-webhook=false leaves that to you";
}

static const char *ca_advice(const struct doctor *d)
{
    const struct cli_config *ours = d->names.configs[CLI_ADMISSION_CONTROLLER];

    return ours && !ours->admission.register_webhook && ours->admission.manage_certificates
               ? "look at the log of the admission controller, which writes its CA there "
                 "(--manage-certificates)"
               : register_advice(d);
}

static void check_ca(struct doctor *d, const struct vpa_json *hook, const char *subject)
{
    const char *bundle = vpa_json_string(vpa_json_at(hook, "clientConfig.caBundle"));
    vpa_auto_buf pem = VPA_BUF(VPA_PEM_MAX);
    struct vpa_error err;

    if (!bundle || !*bundle)
        doctor_add(d, DOCTOR_ERROR, "webhook-ca", subject, ca_advice(d),
                   "it has no caBundle: the API server cannot trust the webhook");
    else if (vpa_base64_decode(&pem, bundle, strlen(bundle), &err) < 0 ||
             vpa_tls_check_ca(vpa_buf_text(&pem), &err) < 0)
        doctor_add(d, DOCTOR_ERROR, "webhook-ca", subject, ca_advice(d),
                   "its caBundle is no certificate: %s", err.text);
    else
        doctor_add(d, DOCTOR_OK, "webhook-ca", subject, "", "its caBundle is a certificate");
}

static void check_service(struct doctor *d, const struct vpa_json *hook)
{
    const char *ns = vpa_json_string(vpa_json_at(hook, "clientConfig.service.namespace"));
    const char *name = vpa_json_string(vpa_json_at(hook, "clientConfig.service.name"));
    bool missing;

    if (!ns || !name)
        return; /* by URL */

    vpa_auto_free char *subject = vpa_xprintf("Service %s/%s", ns, name);

    if (doctor_get(d, "v1", ns, "services", name, &missing))
        doctor_add(d, DOCTOR_OK, "webhook-service", subject, "", "it exists");
    else if (missing)
        doctor_add(d, DOCTOR_ERROR, "webhook-service", subject,
                   doctor_apply(d, "helm upgrade: the chart makes it",
                                "kubectl apply -f deploy/admission-controller-service.yaml"),
                   "the webhook is registered behind it, and it does not exist");
}

static void take_namespaces(struct doctor *d, const struct vpa_json *hook)
{
    const struct vpa_json *node = vpa_json_find(hook, "namespaceSelector");
    struct vpa_selector *selector = vpa_arena_alloc(&d->cli->arena, sizeof(*selector));
    struct vpa_error err;

    if (!vpa_json_is_null(node) && vpa_selector_decode(&d->cli->arena, node, selector, &err) == 0)
        d->called_in = selector;
}

struct hooks {
    struct doctor *d;
    size_t found;
};

static void check_hook(struct hooks *s, const struct vpa_json *hook, const char *subject)
{
    const char *policy = vpa_json_string(vpa_json_find(hook, "failurePolicy"));

    s->found++;
    if (!covers_pods(hook))
        doctor_add(s->d, DOCTOR_ERROR, "webhook-rules", subject, register_advice(s->d),
                   "its rules do not name the creation of pods");
    if (vpa_str_eq(policy, "Fail"))
        doctor_add(s->d, DOCTOR_WARNING, "webhook-policy", subject,
                   "--webhook-failure-policy-fail=false, unless that is wanted",
                   "failurePolicy Fail: no pod can be created while the webhook is away");
    take_namespaces(s->d, hook);
    check_ca(s->d, hook, subject);
    check_service(s->d, hook);
}

static const char *config_name(const struct doctor *d)
{
    const struct cli_config *ours = d->names.configs[CLI_ADMISSION_CONTROLLER];

    return ours ? ours->admission.webhook_config_name : "vpa-webhook-config";
}

static bool is_our_service(const struct doctor *d, const char *ns, const char *name)
{
    const struct cli_config *ours = d->names.configs[CLI_ADMISSION_CONTROLLER];

    return vpa_str_eq(ns, d->ns) &&
           vpa_str_eq(name, ours ? ours->admission.webhook_service : "vpa-webhook");
}

/* Of a shadow, whose registration is the operator's, or of an installation for other VPAs. A shadow
 * beside the installation has the name of our Service unless it was given another one. */
static bool is_neighbours(const struct doctor *d, const struct vpa_json *hook,
                          const char *registration)
{
    const char *ns = vpa_json_string(vpa_json_at(hook, "clientConfig.service.namespace"));
    const char *name = vpa_json_string(vpa_json_at(hook, "clientConfig.service.name"));
    bool our_service = is_our_service(d, ns, name);

    if (vpa_str_eq(registration, config_name(d)))
        return false;
    for (const struct doctor_neighbour *n = d->neighbours; n; n = n->next) {
        const struct admission_config *theirs = &n->config.admission;

        if (n->config.which != CLI_ADMISSION_CONTROLLER || !doctor_is_apart(d, n))
            continue;
        if (vpa_str_eq(registration, theirs->webhook_config_name) ||
            (!our_service && vpa_str_eq(ns, n->ns) && vpa_str_eq(name, theirs->webhook_service)))
            return true;
    }
    return false;
}

static int on_registration(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct hooks *s = ctx;
    const char *name = vpa_json_text(object, "metadata.name");
    vpa_auto_free char *subject = vpa_xprintf("MutatingWebhookConfiguration %s", name);

    (void)err;
    vpa_json_foreach (hook, vpa_json_find(object, "webhooks"))
        if (is_ours(hook) && is_called(hook) && !is_neighbours(s->d, hook, name))
            check_hook(s, hook, subject);
    return 0;
}

void doctor_check_webhook(struct doctor *d)
{
    static const struct cli_kind kind = {"admissionregistration.k8s.io/v1",
                                         "mutatingwebhookconfigurations",
                                         "the registration of the webhook"};
    struct hooks s = {.d = d};
    struct vpa_error err;

    if (cli_list(d->cli, &kind, "", on_registration, &s, &err) < 0) {
        cli_note_list(d->cli, &kind, "", &err);
        d->webhook_found = true; /* perhaps */
        return;
    }
    d->webhook_found = s.found > 0;
    if (s.found == 0 && !doctor_leaves_out(d, CLI_ADMISSION_CONTROLLER))
        doctor_add(d, DOCTOR_ERROR, "webhook", "MutatingWebhookConfiguration", register_advice(d),
                   "the webhook is not registered: new pods do not get their recommendation");
    if (s.found > 1)
        doctor_add(d, DOCTOR_ERROR, "second-installation", "MutatingWebhookConfiguration",
                   "delete the one that is left over",
                   "%zu webhooks of a vertical pod autoscaler are registered", s.found);
}

/* ---- a pod that is never stored ---- */

static void put_sample(struct vpa_json_writer *w)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "apiVersion", "v1");
    vpa_json_member_string(w, "kind", "Pod");
    vpa_json_member_object(w, "metadata");
    vpa_json_member_string(w, "name", "kubectl-vpa-doctor");
    vpa_json_member_object(w, "annotations");
    vpa_json_member_string(w, ADMIT_REQUIRED_ANNOTATION, "true");
    vpa_json_close_object(w);
    vpa_json_close_object(w);
    vpa_json_member_object(w, "spec");
    vpa_json_member_array(w, "containers");
    vpa_json_open_object(w);
    vpa_json_member_string(w, "name", "sample");
    vpa_json_member_string(w, "image", "sample");
    vpa_json_close_object(w);
    vpa_json_close_array(w);
    vpa_json_close_object(w);
    vpa_json_close_object(w);
}

static void judge(struct doctor *d, bool created, const struct vpa_kube_result *result)
{
    static const char subject[] = "dry run of a pod";
    const char *said = vpa_or_empty(result->status.message);
    const char *certificate = "compare the caBundle of the registration with the CA of the webhook";

    if (!created && strstr(said, ADMIT_REQUIRED_ANNOTATION))
        doctor_add(d, DOCTOR_OK, "webhook-reach", subject, "",
                   "the API server asks the webhook, and it answers");
    else if (!created && strstr(said, "x509"))
        doctor_add(d, DOCTOR_ERROR, "webhook-certificate", subject, certificate, "%s", said);
    else if (!created && (strstr(said, "webhook") || result->status_code >= 500))
        doctor_add(d, DOCTOR_ERROR, "webhook-reach", subject,
                   "look at Service, endpoints and network policies of the webhook", "%s", said);
    else if (!created)
        cli_note(d->cli, "whether the webhook is reached is not known: %s", said);
    else if (!d->is_plumb)
        cli_note(d->cli, "whether upstream's webhook is reached cannot be told by a dry run");
    else if (d->may_be_panic)
        cli_note(d->cli, "whether the webhook is reached cannot be told while the panic button is "
                         "pressed, or may be: it lets every pod through then");
    else
        doctor_add(
            d, DOCTOR_ERROR, "webhook-reach", subject,
            "look at the selectors of the registration, at Service, certificate and network "
            "policies",
            "the API server stored it without an answer of the webhook (failurePolicy Ignore "
            "hides why)");
}

struct place {
    struct doctor *d;
    const char *found; /* NULL: none yet */
    bool exists;       /* that of -n */
};

static bool is_ignored(const struct doctor *d, const char *ns)
{
    const struct cli_config *ours = d->names.configs[CLI_ADMISSION_CONTROLLER];

    return ours && vpa_common_flags_ignore(&ours->admission.common, ns);
}

static bool is_called_in(const struct doctor *d, const struct vpa_labels *labels)
{
    return !d->called_in || vpa_selector_matches(d->called_in, labels);
}

static void add_uncalled(struct doctor *d, const char *name)
{
    struct doctor_namespace *uncalled = vpa_arena_alloc(&d->cli->arena, sizeof(*uncalled));

    *uncalled = (struct doctor_namespace){d->uncalled, name};
    d->uncalled = uncalled;
}

/* The one of -n, else "default", else the first one. */
static int on_namespace(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct place *p = ctx;
    struct cli *cli = p->d->cli;
    struct vpa_meta meta;

    if (vpa_meta_decode(&cli->arena, vpa_json_find(object, "metadata"), &meta, err) < 0)
        return -1;
    if (*cli->ns && strcmp(cli->ns, meta.name) != 0)
        return 0;
    p->exists = true;
    if (is_ignored(p->d, meta.name))
        return 0;
    if (!is_called_in(p->d, &meta.labels))
        add_uncalled(p->d, meta.name);
    else if (!p->found || strcmp(meta.name, USUAL_NAMESPACE) == 0)
        p->found = meta.name;
    return 0;
}

/* Where namespaces may not be listed their names have to do. NULL: there is none, as is noted. */
static const char *find_place(struct doctor *d)
{
    const struct cli_kind kind = {
        .group_version = "v1",
        .resource = "namespaces",
        .fields =
            *d->cli->ns ? vpa_arena_printf(&d->cli->arena, "metadata.name=%s", d->cli->ns) : NULL};
    const struct cli_config *ours = d->names.configs[CLI_ADMISSION_CONTROLLER];
    const char *only = ours ? ours->admission.common.vpa_object_namespace : "";
    const char *name = *d->cli->ns ? d->cli->ns : *only ? only : USUAL_NAMESPACE;
    struct vpa_label label = {"kubernetes.io/metadata.name", name};
    const struct vpa_labels labels = {.present = true, .items = &label, .count = 1};
    struct place place = {.d = d};
    struct vpa_error err;

    if (cli_list(d->cli, &kind, "", on_namespace, &place, &err) < 0) {
        place.exists = true; /* perhaps */
        place.found = !is_ignored(d, name) && is_called_in(d, &labels) ? name : NULL;
    }
    if (*d->cli->ns && !place.exists)
        cli_note(d->cli, "there is no namespace %s", d->cli->ns);
    else if (!place.found)
        cli_note(d->cli, "whether the webhook is reached is not known: it is not called for %s%s",
                 *d->cli->ns ? "namespace " : "any namespace that may be seen", d->cli->ns);
    return place.found;
}

void doctor_check_reach(struct doctor *d)
{
    const char *ns = d->webhook_found ? find_place(d) : NULL;
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX), body = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_json_writer w;
    struct vpa_kube_result result = {0};
    struct vpa_error err;

    if (!ns)
        return;
    vpa_kube_path(&path, "v1", ns, "pods", NULL, NULL);
    vpa_kube_query(&path, "dryRun", "All");
    vpa_json_writer_init(&w, &body);
    put_sample(&w);

    int status = vpa_kube_do(d->cli->client,
                             &(struct vpa_kube_call){.verb = VPA_KUBE_CREATE,
                                                     .path = vpa_buf_text(&path),
                                                     .body = vpa_buf_text(&body),
                                                     .body_len = body.len,
                                                     .no_retry = true},
                             &d->cli->arena, &result, &err);

    judge(d, status == 0, &result);
}
