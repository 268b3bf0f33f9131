/*
 * What the service accounts may do, as the API server sees it (SubjectAccessReview).
 */
#include <string.h>

#include "doctor.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define VPAS "autoscaling.k8s.io", "verticalpodautoscalers"
#define LEASES "coordination.k8s.io", "leases"

enum lease { NO_LEASE, STATUS_LEASE, LEADER_LEASE };
struct right {
    enum cli_daemon daemon;
    const char *verb, *group, *resource, *subresource;
    const char *for_what;
    enum lease lease; /* of that object alone */
};
static const struct right rights[] = {
    {CLI_RECOMMENDER, "list", VPAS, "", "it sees no VPA"},
    {CLI_RECOMMENDER, "patch", VPAS, "status", "it cannot write recommendations"},
    {CLI_RECOMMENDER, "create", "autoscaling.k8s.io", "verticalpodautoscalercheckpoints", "",
     "it forgets the history with its process"},
    {CLI_RECOMMENDER, "list", "metrics.k8s.io", "pods", "", "it sees no usage"},
    {CLI_RECOMMENDER, "list", "", "pods", "", "it sees no pods"},
    {CLI_RECOMMENDER, "list", "apps", "replicasets", "", "it cannot find controllers"},
    {CLI_RECOMMENDER, "get", LEASES, "", "no replica leads", LEADER_LEASE},
    {CLI_RECOMMENDER, "create", LEASES, "", "no replica leads", LEADER_LEASE},
    {CLI_RECOMMENDER, "update", LEASES, "", "no replica leads", LEADER_LEASE},
    {CLI_UPDATER, "list", VPAS, "", "it sees no VPA"},
    {CLI_UPDATER, "list", "", "pods", "", "it sees no pods"},
    {CLI_UPDATER, "list", "", "limitranges", "", "it does nothing without them"},
    {CLI_UPDATER, "create", "", "pods", "eviction", "it cannot evict"},
    {CLI_UPDATER, "patch", "", "pods", "resize", "it cannot resize in place"},
    {CLI_UPDATER, "get", LEASES, "", "no replica leads", LEADER_LEASE},
    {CLI_UPDATER, "create", LEASES, "", "no replica leads", LEADER_LEASE},
    {CLI_UPDATER, "update", LEASES, "", "no replica leads", LEADER_LEASE},
    {CLI_UPDATER, "get", LEASES, "", "it does nothing unless it knows that the webhook answers",
     STATUS_LEASE},
    {CLI_ADMISSION_CONTROLLER, "list", VPAS, "", "it sees no VPA"},
    {CLI_ADMISSION_CONTROLLER, "list", "", "limitranges", "", "it patches no pod"},
    {CLI_ADMISSION_CONTROLLER, "list", "apps", "replicasets", "", "it cannot find controllers"},
    {CLI_ADMISSION_CONTROLLER, "update", LEASES, "", "the updater stands still", STATUS_LEASE},
};

/* name NULL: of none. */
static struct doctor_lease lease_of(const struct doctor *d, const struct right *r)
{
    return r->lease == STATUS_LEASE   ? doctor_status_lease(d)
           : r->lease == LEADER_LEASE ? d->names.leader[r->daemon]
                                      : (struct doctor_lease){0};
}

static const char *account_of(const struct doctor *d, enum cli_daemon daemon)
{
    return d->names.accounts[daemon] ? d->names.accounts[daemon] : cli_daemon_names[daemon];
}

static void put_review(struct vpa_json_writer *w, const struct doctor *d, const struct right *r,
                       const char *user)
{
    const struct doctor_lease lease = lease_of(d, r);
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
    if (lease.name && strcmp(r->verb, "create") != 0) /* which goes to the collection */
        vpa_json_member_string(w, "name", lease.name);
    if (lease.name)
        vpa_json_member_string(w, "namespace", lease.ns);
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

static bool is_needed(const struct doctor *d, const struct right *r)
{
    if (doctor_leaves_out(d, r->daemon))
        return false;
    return r->lease == STATUS_LEASE   ? doctor_reads_status(d)
           : r->lease == LEADER_LEASE ? lease_of(d, r).name != NULL
                                      : true;
}

static void add_missing(struct doctor *d, const struct right *r, const char *subject)
{
    const struct doctor_lease lease = lease_of(d, r);
    vpa_auto_free char *of = lease.name ? vpa_xprintf(" (%s/%s)", lease.ns, lease.name) : NULL;

    doctor_add(d, DOCTOR_ERROR, "rights", subject,
               d->of_chart ? "helm upgrade, with rbac.create in the values"
                           : "kubectl apply -f deploy/vpa-rbac.yaml",
               "it may not %s %s%s%s%s%s%s: %s", r->verb, r->resource, *r->subresource ? "/" : "",
               r->subresource, *r->group ? " of " : "", r->group, vpa_or_empty(of), r->for_what);
}

void doctor_check_rights(struct doctor *d)
{
    struct vpa_error err;
    size_t missing = 0;

    for (size_t i = 0; i < VPA_COUNT(rights); i++) {
        const struct right *r = &rights[i];
        vpa_auto_free char *subject =
            vpa_xprintf("ServiceAccount %s/%s", d->ns, account_of(d, r->daemon));

        if (!is_needed(d, r))
            continue;

        int allowed = ask(d, r, &err);

        if (allowed < 0) {
            cli_note(d->cli, "the rights of the service accounts are not looked at: %s", err.text);
            return;
        }
        if (allowed)
            continue;
        missing++;
        add_missing(d, r, subject);
    }
    if (missing == 0)
        doctor_add(d, DOCTOR_OK, "rights", "service accounts", "",
                   "they have the rights they need");
}
