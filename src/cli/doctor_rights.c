/*
 * What the service accounts may do, as the API server sees it (SubjectAccessReview).
 */
#include <string.h>

#include "doctor.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

struct right {
    enum cli_daemon daemon;
    const char *verb, *group, *resource, *subresource;
    bool of_status_lease; /* of that object alone */
    const char *for_what;
};
static const struct right rights[] = {
    {CLI_RECOMMENDER, "list", "autoscaling.k8s.io", "verticalpodautoscalers", "", false,
     "it sees no VPA"},
    {CLI_RECOMMENDER, "patch", "autoscaling.k8s.io", "verticalpodautoscalers", "status", false,
     "it cannot write recommendations"},
    {CLI_RECOMMENDER, "create", "autoscaling.k8s.io", "verticalpodautoscalercheckpoints", "", false,
     "it forgets the history with its process"},
    {CLI_RECOMMENDER, "list", "metrics.k8s.io", "pods", "", false, "it sees no usage"},
    {CLI_RECOMMENDER, "list", "", "pods", "", false, "it sees no pods"},
    {CLI_RECOMMENDER, "list", "apps", "replicasets", "", false, "it cannot find controllers"},
    {CLI_UPDATER, "list", "autoscaling.k8s.io", "verticalpodautoscalers", "", false,
     "it sees no VPA"},
    {CLI_UPDATER, "list", "", "pods", "", false, "it sees no pods"},
    {CLI_UPDATER, "list", "", "limitranges", "", false, "it does nothing without them"},
    {CLI_UPDATER, "create", "", "pods", "eviction", false, "it cannot evict"},
    {CLI_UPDATER, "patch", "", "pods", "resize", false, "it cannot resize in place"},
    {CLI_UPDATER, "get", "coordination.k8s.io", "leases", "", true,
     "it does nothing unless it knows that the webhook answers"},
    {CLI_ADMISSION_CONTROLLER, "list", "autoscaling.k8s.io", "verticalpodautoscalers", "", false,
     "it sees no VPA"},
    {CLI_ADMISSION_CONTROLLER, "list", "", "limitranges", "", false, "it patches no pod"},
    {CLI_ADMISSION_CONTROLLER, "list", "apps", "replicasets", "", false,
     "it cannot find controllers"},
    {CLI_ADMISSION_CONTROLLER, "update", "coordination.k8s.io", "leases", "", true,
     "the updater stands still"},
};

static const char *account_of(const struct doctor *d, enum cli_daemon daemon)
{
    return d->names.accounts[daemon] ? d->names.accounts[daemon] : cli_daemon_names[daemon];
}

static void put_review(struct vpa_json_writer *w, const struct doctor *d, const struct right *r,
                       const char *user)
{
    vpa_auto_free char *group = vpa_xjoin("system:serviceaccounts", ':', d->ns);

    vpa_json_open_object(w);
    vpa_json_member_string(w, "apiVersion", "authorization.k8s.io/v1");
    vpa_json_member_string(w, "kind", "SubjectAccessReview");
    vpa_json_member_object(w, "spec");
    vpa_json_member_string(w, "user", user);
    vpa_json_member_array(w, "groups");
    vpa_json_put_string(w, "system:serviceaccounts");
    vpa_json_put_string(w, group);
    vpa_json_put_string(w, "system:authenticated");
    vpa_json_close_array(w);
    vpa_json_member_object(w, "resourceAttributes");
    vpa_json_member_string(w, "verb", r->verb);
    vpa_json_member_string_opt(w, "group", r->group);
    vpa_json_member_string(w, "resource", r->resource);
    vpa_json_member_string_opt(w, "subresource", r->subresource);
    if (r->of_status_lease) {
        vpa_json_member_string(w, "name", doctor_status_lease(d).name);
        vpa_json_member_string(w, "namespace", doctor_status_lease(d).ns);
    }
    vpa_json_close_object(w);
    vpa_json_close_object(w);
    vpa_json_close_object(w);
}

/* -1: it cannot be said. */
static int ask(struct doctor *d, const struct right *r, struct vpa_error *err)
{
    vpa_auto_free char *user =
        vpa_xprintf("system:serviceaccount:%s:%s", d->ns, account_of(d, r->daemon));
    vpa_auto_buf body = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_json_writer w;
    struct vpa_kube_result result;
    const struct vpa_json *root;
    bool allowed = false;

    vpa_json_writer_init(&w, &body);
    put_review(&w, d, r, user);
    if (vpa_kube_do(
            d->cli->client,
            &(struct vpa_kube_call){.verb = VPA_KUBE_CREATE,
                                    .path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                    .body = vpa_buf_text(&body),
                                    .body_len = body.len},
            &d->cli->arena, &result, err) < 0 ||
        vpa_json_parse(&d->cli->arena, result.body, result.body_len, &root, err) < 0)
        return -1;
    (void)vpa_json_bool(vpa_json_at(root, "status.allowed"), &allowed);
    return allowed;
}

void doctor_check_rights(struct doctor *d)
{
    struct vpa_error err;
    size_t missing = 0;

    for (size_t i = 0; i < VPA_COUNT(rights); i++) {
        const struct right *r = &rights[i];
        vpa_auto_free char *subject =
            vpa_xprintf("ServiceAccount %s/%s", d->ns, account_of(d, r->daemon));
        int allowed = ask(d, r, &err);

        if (allowed < 0) {
            cli_note(d->cli, "the rights of the service accounts are not looked at: %s", err.text);
            return;
        }
        if (allowed)
            continue;
        missing++;
        doctor_add(d, DOCTOR_ERROR, "rights", subject,
                   "kubectl apply -f deploy/vpa-rbac.yaml; the chart makes its roles with "
                   "rbac.create",
                   "it may not %s %s%s%s%s%s: %s", r->verb, r->resource, *r->subresource ? "/" : "",
                   r->subresource, *r->group ? " of " : "", r->group, r->for_what);
    }
    if (missing == 0)
        doctor_add(d, DOCTOR_OK, "rights", "service accounts", "",
                   "they have the rights they need");
}
