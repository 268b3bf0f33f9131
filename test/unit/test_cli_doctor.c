/* What the command doctor finds, and what it does not say of what it could not look at. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "doctor.h"
#include "suite.h"
#include "vpa/base/str.h"

static struct cli cli;
static struct doctor doctor;
static const char *forbidden; /* part of the path of what may not be listed; NULL: all may */
static const char *lease;
static const char *lease_at;    /* the only path where there is one; NULL: all */
static const char *deployments; /* a list */
static const char *kube_system; /* the list of that namespace; NULL: the same */
static const char *vpas, *hpas; /* lists */
static const char *account;     /* part of the only user who has rights; NULL: all have */
static const char *denied;      /* part of the reviews that are answered with no; NULL: none is */
static char *review;            /* the last one, heap */
static const char *hooks;       /* registrations, a list */
static const char *namespaces;  /* a list; NULL: they may not be listed */
static char *sample;            /* where the last pod was sent, heap; NULL: nowhere */
static int panic;               /* the answer about the panic button, 200: it is pressed */

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (forbidden && strstr(q->path, forbidden)) {
        vpa_memory_reply_status(r, 403, NULL, "no");
    } else if (strstr(q->path, "/configmaps/")) {
        if (panic == 200)
            vpa_memory_reply_json(r, 200, "{\"kind\":\"ConfigMap\"}");
        else
            vpa_memory_reply_status(r, panic, NULL, "no");
    } else if (vpa_str_ends_with(q->path, "/namespaces")) {
        if (namespaces)
            vpa_memory_reply_json(r, 200, namespaces);
        else
            vpa_memory_reply_status(r, 403, NULL, "no");
    } else if (vpa_memory_query(q, "dryRun")) {
        free(sample);
        sample = vpa_xstrdup(q->path);
        vpa_memory_reply_json(r, 201, "{}");
    } else if (strstr(q->path, "/leases/")) {
        if (lease && (!lease_at || strstr(q->path, lease_at)))
            vpa_memory_reply_json(r, 200, lease);
        else
            vpa_memory_reply_status(r, 404, NULL, "there is none");
    } else if (strstr(q->path, "subjectaccessreviews")) {
        free(review);
        review = vpa_xstrdup(q->body);
        vpa_memory_reply_json(r, 201,
                              (account && !strstr(q->body, account)) ||
                                      (denied && strstr(q->body, denied))
                                  ? "{\"status\":{\"allowed\":false}}"
                                  : "{\"status\":{\"allowed\":true}}");
    } else if (deployments && strstr(q->path, "/deployments")) {
        vpa_memory_reply_json(
            r, 200, kube_system && strstr(q->path, "/namespaces/") ? kube_system : deployments);
    } else if (hooks && strstr(q->path, "/mutatingwebhookconfigurations")) {
        vpa_memory_reply_json(r, 200, hooks);
    } else if (vpas && strstr(q->path, "/verticalpodautoscalers")) {
        vpa_memory_reply_json(r, 200, vpas);
    } else if (hpas && strstr(q->path, "/horizontalpodautoscalers")) {
        vpa_memory_reply_json(r, 200, hpas);
    } else {
        vpa_memory_reply_json(r, 200, "{\"items\":[]}");
    }
}

static void setup(void)
{
    cli_init(&cli);
    start_client(serve, 1772366400, 3); /* 2026-03-01T12:00:00Z */
    cli.loop = loop;
    cli.client = client;
    doctor = (struct doctor){.cli = &cli, .ns = "kube-system"};
    forbidden = lease = lease_at = deployments = kube_system = vpas = hpas = account = hooks = NULL;
    denied = namespaces = NULL;
    review = sample = NULL;
    panic = 404;
}

static void teardown(void)
{
    free(doctor.items);
    free(review);
    free(sample);
    stop_client();
    cli.client = NULL;
    cli_release(&cli);
}

static const struct doctor_finding *finding(const char *check)
{
    for (size_t i = 0; i < doctor.count; i++)
        if (vpa_str_eq(doctor.items[i].check, check))
            return &doctor.items[i];
    return NULL;
}

static const char *const lists[] = {"verticalpodautoscalers", "horizontalpodautoscalers", NULL};

TEST_EACH(what_may_not_be_listed_is_not_in_order, lists) {
    forbidden = lists[_i];
    doctor_check_objects(&doctor);
    ck_assert((finding("vpas") == NULL) == (forbidden != NULL));
    ck_assert_uint_eq(cli.note_count, forbidden != NULL);
}

static const struct {
    const char *renewed;
    vpa_duration ahead; /* our clock, of the server's */
    enum doctor_level level;
    const char *text;
} leases[] = {
    {"\"2026-03-01T11:59:50.000000Z\"", 0, DOCTOR_OK, "it was renewed 10 s ago"},
    {"\"2026-03-01T11:49:50.000000Z\"", 0, DOCTOR_ERROR, "it was renewed 610 s ago"},
    {"\"2026-03-01T11:49:50.000000Z\"", 10 * VPA_MINUTE, DOCTOR_OK, "it was renewed 10 s ago"},
    {"\"2026-03-01T12:09:50.000000Z\"", -10 * VPA_MINUTE, DOCTOR_OK, "it was renewed 10 s ago"},
    {"\"2026-03-01T12:00:02.000000Z\"", 0, DOCTOR_OK, "it was renewed 0 s ago"},
    {"\"2026-03-01T12:00:30.000000Z\"", 0, DOCTOR_OK,
     "it was renewed by a clock that is 30 s ahead of the API server's"},
    {"\"2026-03-01T12:09:50.000000Z\"", 0, DOCTOR_WARNING,
     "it was renewed by a clock that is 590 s ahead of the API server's; if that renewal was the "
     "last one, the updater changes nothing without the webhook"},
    {"\"2026-03-01T12:00:00.000000Z\"", 10 * VPA_MINUTE, DOCTOR_WARNING,
     "it was renewed by a clock that is 600 s ahead of the API server's; "},
    {"\"9999-01-01T00:00:00.000000Z\"", 0, DOCTOR_WARNING,
     "it was renewed by a clock that is 9223372036 s ahead of the API server's; "},
    {"\"1970-01-01T00:00:00.000000Z\"", 0, DOCTOR_ERROR, "its last renewal was taken back: "},
    {"null", 0, DOCTOR_ERROR, "it was never renewed"},
    {"\"soon\"", 0, DOCTOR_ERROR, "it was never renewed"},
};

TEST_EACH(a_lease_is_as_old_as_the_cluster_says, leases) {
    vpa_auto_free char *text =
        vpa_xprintf("{\"kind\":\"Lease\",\"spec\":{\"holderIdentity\":\"a\",\"renewTime\":%s}}",
                    leases[_i].renewed);

    lease = text;
    vpa_memory_transport_set_ahead(transport, leases[_i].ahead);
    doctor_check_leases(&doctor);
    ck_assert_ptr_nonnull(finding("lease"));
    ck_assert_int_eq(finding("lease")->level, leases[_i].level);
    ck_assert_msg(vpa_str_starts_with(finding("lease")->text, leases[_i].text), "%s",
                  finding("lease")->text);
}

TEST(only_the_webhook_needs_its_lease) {
    doctor_check_leases(&doctor);
    ck_assert_uint_eq(doctor.count, 1);
    ck_assert_int_eq(doctor.items[0].level, DOCTOR_ERROR);
    ck_assert_str_eq(doctor.items[0].subject, "Lease kube-system/vpa-admission-controller");
}

/* Rights may be given to all service accounts of a namespace. */
TEST(rights_are_asked_for_as_the_server_would) {
    doctor_check_rights(&doctor);
    ck_assert_int_eq(finding("rights")->level, DOCTOR_OK);
    ck_assert_ptr_nonnull(strstr(review, "\"system:serviceaccounts:kube-system\""));
    ck_assert_ptr_nonnull(strstr(review, "\"system:serviceaccounts\""));
    ck_assert_ptr_nonnull(strstr(review, "\"system:authenticated\""));
}

#define CHART "x-vertical-pod-autoscaler-"
#define RUNS(NAME, ACCOUNT, IMAGE, ARGS) RUNS_IN("kube-system", NAME, ACCOUNT, IMAGE, ARGS)
#define RUNS_IN(NS, NAME, ACCOUNT, IMAGE, ARGS)                                                    \
    "{\"metadata\":{\"namespace\":\"" NS "\",\"name\":\"" NAME "\"},"                              \
    "\"spec\":{\"replicas\":1,\"template\":{\"spec\":{" ACCOUNT "\"containers\":[{\"name\":\"d\"," \
    "\"image\":\"" IMAGE "\",\"args\":[" ARGS "]}]}}},\"status\":{\"readyReplicas\":1}}"
#define OF_THE_CHART(NAME, TAG, ARGS)                                                              \
    RUNS(CHART NAME, "\"serviceAccountName\":\"" CHART NAME "\",",                                 \
         "r.example/plumb/vpa-" NAME TAG, ARGS)
#define OLD "{\"kind\":\"Lease\",\"spec\":{\"renewTime\":\"2026-03-01T10:00:00.000000Z\"}}"

static void take_deployments(const char *list)
{
    deployments = list;
    doctor_check_daemons(&doctor);
}

/* The chart gives the objects of a release names of their own. */
TEST(accounts_are_those_of_the_deployments) {
    account = "system:serviceaccount:kube-system:" CHART;
    take_deployments("{\"items\":[" OF_THE_CHART("recommender", ":1", "") "," OF_THE_CHART(
        "updater", ":1", "") "," OF_THE_CHART("admission-controller", ":1", "") "]}");
    doctor_check_rights(&doctor);
    for (size_t i = 0; i < doctor.count; i++)
        ck_assert_msg(doctor.items[i].level == DOCTOR_OK, "%s: %s", doctor.items[i].subject,
                      doctor.items[i].text);
    ck_assert_ptr_nonnull(finding("rights"));
}

/* A second recommender, for the VPAs that ask for it by name. */
TEST_TIMES(the_account_of_a_second_recommender_is_not_that_of_the_first, 2) {
    static const char *const pairs[] = {
        "{\"items\":[" RUNS("vpa-recommender", "\"serviceAccountName\":\"first\",",
                            "vpa-recommender",
                            "") "," RUNS("vpa-recommender-blue", "", "vpa-recommender", "") "]}",
        "{\"items\":[" RUNS("blue", "", "vpa-recommender", "") "," RUNS(
            "vpa-recommender", "\"serviceAccountName\":\"first\",", "vpa-recommender", "") "]}",
    };

    take_deployments(pairs[_i]);
    ck_assert_str_eq(doctor.names.accounts[CLI_RECOMMENDER], "first");
}

TEST(a_deployment_without_an_account_has_the_namespaces) {
    account = "\"system:serviceaccount:kube-system:default\"";
    take_deployments("{\"items\":[" RUNS("a", "", "vpa-recommender", "") "," RUNS(
        "b", "", "vpa-updater", "") "," RUNS("c", "", "vpa-admission-controller", "") "]}");
    doctor_check_rights(&doctor);
    ck_assert_int_eq(finding("rights")->level, DOCTOR_OK);
}

#define ALL_IN(NS, ARGS)                                                                           \
    RUNS_IN(NS, "r", "", "vpa-recommender", ARGS)                                                  \
    "," RUNS_IN(NS, "u", "", "vpa-updater", ARGS) "," RUNS_IN(NS, "a", "",                         \
                                                              "vpa-admission-controller", ARGS)
#define ONLY(NS) "\"--vpa-object-namespace=" NS "\""
#define IGNORES(NS) "\"--ignored-vpa-object-namespaces=" NS ",x\""
#define BLUE_IN(NS) RUNS_IN(NS, "r", "", "vpa-recommender", "\"--recommender-name=blue\"")
#define LIST(...) "{\"items\":[" __VA_ARGS__ "]}"

static const struct {
    const char *kube_system, *deployments;
    const char *asked; /* --installation */
    const char *ns;    /* of the installation */
    size_t wrong, beside;
} places[] = {
    {LIST(), LIST(ALL_IN("vpa", "")), NULL, "vpa", 0, 0},
    {LIST(), LIST(ALL_IN("vpa", "")), "kube-system", "kube-system", 6, 3},
    {LIST(), LIST(ALL_IN("a", "\"--shadow\"") "," ALL_IN("vpa", "")), NULL, "vpa", 0, 0},
    {LIST(), LIST(ALL_IN("vpa", "") "," ALL_IN("x", "\"--shadow=true\"")), NULL, "vpa", 0, 0},
    {LIST(ALL_IN("kube-system", "")), LIST(ALL_IN("a", "") "," ALL_IN("kube-system", "")), NULL,
     "kube-system", 3, 3},
    {LIST(), LIST(), NULL, "kube-system", 3, 0},
    {LIST(), LIST(ALL_IN("a", ONLY("a")) "," ALL_IN("b", ONLY("b"))), NULL, "a", 0, 0},
    {LIST(), LIST(ALL_IN("b", ONLY("b")) "," ALL_IN("vpa", ONLY("a"))), "vpa", "vpa", 0, 0},
    {LIST(), LIST(ALL_IN("a", ONLY("a")) "," ALL_IN("b", ONLY("a"))), NULL, "a", 3, 3},
    {LIST(), LIST(ALL_IN("a", ONLY("a")) "," ALL_IN("b", "")), NULL, "a", 3, 3},
    {LIST(), LIST(ALL_IN("a", ONLY("a")) "," ALL_IN("b", IGNORES("a"))), NULL, "a", 0, 0},
    {LIST(), LIST(ALL_IN("a", "") "," BLUE_IN("b")), NULL, "a", 0, 0},
    {LIST(), LIST(BLUE_IN("a") "," ALL_IN("b", "")), NULL, "b", 0, 0},
    {LIST(), LIST(BLUE_IN("a") "," ALL_IN("b", "")), "a", "a", 1, 0},
    {LIST(), LIST(RUNS_IN("a", "r", "", "vpa-recommender", "") "," ALL_IN("b", "")), NULL, "b", 1,
     1},
    {LIST(BLUE_IN("kube-system")), LIST(ALL_IN("a", "") "," BLUE_IN("kube-system")), NULL, "a", 0,
     0},
    {LIST(), LIST(ALL_IN("a", "\"--shadow\"")), NULL, "kube-system", 3, 0},
};

TEST_EACH(an_installation_may_be_anywhere, places) {
    size_t wrong = 0, beside = 0;

    doctor.ns = places[_i].asked;
    kube_system = places[_i].kube_system;
    take_deployments(places[_i].deployments);
    for (size_t i = 0; i < doctor.count; i++) {
        wrong += doctor.items[i].level != DOCTOR_OK;
        beside += vpa_str_eq(doctor.items[i].check, "second-installation");
    }
    ck_assert_str_eq(doctor.ns, places[_i].ns);
    ck_assert_uint_eq(wrong, places[_i].wrong);
    ck_assert_uint_eq(beside, places[_i].beside);
}

#define HOOK(REGISTRATION, SERVICE_NS, SERVICE)                                                    \
    "{\"metadata\":{\"name\":\"" REGISTRATION "\"},\"webhooks\":[{\"name\":\"vpa.k8s.io\","        \
    "\"rules\":[{\"operations\":[\"CREATE\"],\"resources\":[\"pods\"]}],\"clientConfig\":{"        \
    "\"service\":{\"namespace\":\"" SERVICE_NS "\",\"name\":\"" SERVICE "\"}}}]}"
#define USUAL HOOK("vpa-webhook-config", "kube-system", "vpa-webhook")
#define WEBHOOK_IN(NS, ARGS) RUNS_IN(NS, "w", "", "vpa-admission-controller", ARGS)
#define SHADOW "\"--shadow\",\"--webhook-config-name=z\",\"--webhook-service=w\""
#define BESIDE RUNS_IN("kube-system", "shadow", "", "vpa-admission-controller", "\"--shadow\"")
#define OURS "\"--webhook-config-name=o\",\"--webhook-service=p\""

static const struct {
    const char *deployments, *hooks;
    bool second, missing;
} registrations[] = {
    {LIST(WEBHOOK_IN("kube-system", "")), LIST(USUAL), false, false},
    {LIST(WEBHOOK_IN("kube-system", "")), LIST(USUAL "," HOOK("z", "s", "w")), true, false},
    {LIST(WEBHOOK_IN("kube-system", "") "," WEBHOOK_IN("s", SHADOW)),
     LIST(USUAL "," HOOK("y", "s", "w")), false, false},
    {LIST(WEBHOOK_IN("kube-system", "") "," WEBHOOK_IN("s", SHADOW)),
     LIST(USUAL "," HOOK("z", "s", "v")), false, false},
    {LIST(WEBHOOK_IN("kube-system", "") "," WEBHOOK_IN("s", SHADOW)),
     LIST(USUAL "," HOOK("y", "s", "v")), true, false},
    {LIST(WEBHOOK_IN("kube-system", "") "," WEBHOOK_IN("s", SHADOW)), LIST(HOOK("z", "s", "w")),
     false, true},
    {LIST(WEBHOOK_IN("kube-system", "") "," WEBHOOK_IN("s", "\"--shadow\"")), LIST(USUAL), false,
     false},
    {LIST(WEBHOOK_IN("kube-system", ONLY("a")) "," WEBHOOK_IN("b", ONLY("b"))),
     LIST(USUAL "," HOOK("other", "b", "vpa-webhook")), false, false},
    {LIST(WEBHOOK_IN("kube-system", "") "," WEBHOOK_IN("b", ONLY("b"))),
     LIST(USUAL "," HOOK("other", "b", "vpa-webhook")), true, false},
    {LIST(WEBHOOK_IN("kube-system", "") "," BESIDE), LIST(USUAL), false, false},
    {LIST(WEBHOOK_IN("kube-system", OURS) "," BESIDE),
     LIST(HOOK("o", "kube-system", "p") "," HOOK("y", "kube-system", "vpa-webhook")), false, false},
    {LIST(WEBHOOK_IN("kube-system", "") "," BESIDE), LIST(HOOK("y", "kube-system", "vpa-webhook")),
     false, false},
    {LIST(WEBHOOK_IN("kube-system", OURS) "," WEBHOOK_IN("s", SHADOW)), LIST(HOOK("o", "s", "w")),
     false, false},
};

/* The guide has the operator register a shadow. */
TEST_EACH(the_registration_of_a_neighbour_is_not_one_too_many, registrations) {
    hooks = registrations[_i].hooks;
    take_deployments(registrations[_i].deployments);
    doctor.count = 0;
    doctor_check_webhook(&doctor);
    ck_assert((finding("second-installation") != NULL) == registrations[_i].second);
    ck_assert((finding("webhook") != NULL) == registrations[_i].missing);
    ck_assert(doctor.webhook_found == !registrations[_i].missing);
}

#define BY_HELM(ARGS)                                                                              \
    "{\"metadata\":{\"namespace\":\"kube-system\",\"name\":\"a\",\"labels\":{"                     \
    "\"app.kubernetes.io/managed-by\":\"Helm\"}},\"spec\":{\"template\":{\"spec\":{"               \
    "\"containers\":[{\"image\":\"vpa-admission-controller\",\"args\":[" ARGS "]}]}}}}"
#define NOT_ITSELF "\"--register-webhook=false\""

static const struct {
    const char *deployments;
    const char *webhook, *ca; /* how the advice begins, of one that is not registered, or so */
} registrars[] = {
    {LIST(WEBHOOK_IN("kube-system", "")), "restart", "restart"},
    {LIST(BY_HELM("")), "restart", "restart"},
    {LIST(WEBHOOK_IN("kube-system", NOT_ITSELF)), "register it: ", "register it: "},
    {LIST(BY_HELM(NOT_ITSELF)), "helm upgrade", "helm upgrade"},
    {LIST(BY_HELM(NOT_ITSELF ",\"--manage-certificates\"")), "helm upgrade", "look at the log"},
    {LIST(WEBHOOK_IN("kube-system", NOT_ITSELF ",\"--manage-certificates\"")),
     "register it: ", "look at the log"},
};

TEST_EACH(who_registers_the_webhook_is_asked_to, registrars) {
    take_deployments(registrars[_i].deployments);
    doctor_check_webhook(&doctor);
    hooks = LIST(USUAL);
    doctor_check_webhook(&doctor);
    ck_assert(vpa_str_starts_with(finding("webhook")->advice, registrars[_i].webhook));
    ck_assert(vpa_str_starts_with(finding("webhook-ca")->advice, registrars[_i].ca));
}

/* Behind the arguments. */
#define WITH_VARIABLES                                                                             \
    "],\"env\":[{\"name\":\"NAMESPACE\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"               \
    "\"metadata.namespace\"}}},{\"name\":\"NODE\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"     \
    "\"spec.nodeName\"}}},{\"name\":\"A\",\"value\":\"x\"},{\"name\":\"A\",\"value\":\"a\"},"      \
    "{\"name\":\"EMPTY\"},{\"name\":\"PAIR\",\"value\":\"$(A)$(PAIR)$(LATER)$$(A)\"},"             \
    "{\"name\":\"LATER\",\"value\":\"l\"},{\"name\":\"LOST\",\"value\":\"l\"},"                    \
    "{\"name\":\"LOST\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\"}}}"
#define NAMED(TEXT)                                                                                \
    OF_THE_CHART("updater", ":1",                                                                  \
                 "\"--leader-elect=true\",\"--leader-elect-resource-name=" TEXT                    \
                 "\"" WITH_VARIABLES)

static const struct {
    const char *deployment;
    const char *subject; /* of the finding about the only Lease; NULL: there is none */
} elections[] = {
    {OF_THE_CHART("updater", ":1", "\"--leader-elect=true\",\"--leader-elect-resource-name=u\""),
     "Lease kube-system/u"},
    {OF_THE_CHART(
         "recommender", ":1",
         "\"--leader-elect\",\"--leader-elect-resource-name=old\","
         "\"--leader-elect-resource-namespace=ns\",\"--leader-elect-resource-name\",\"u\""),
     "Lease ns/u"},
    {OF_THE_CHART("updater", ":1", "\"--leader-elect=true\""), "Lease kube-system/vpa-updater"},
    {OF_THE_CHART("updater", ":1", ""), NULL},
    {OF_THE_CHART("updater", ":1", "\"--leader-elect=false\""), NULL},
    {OF_THE_CHART("recommender", ":1", ""), NULL},
    {OF_THE_CHART(
         "updater", ":1",
         "\"--leader-elect=true\",\"--leader-elect-resource-namespace=$(A)\"" WITH_VARIABLES),
     "Lease a/vpa-updater"},
    {NAMED("u-$(NAMESPACE)-$(A)"), "Lease kube-system/u-kube-system-a"},
    {NAMED("u$(EMPTY)$(LOST)"), "Lease kube-system/u$(LOST)"},
    {NAMED("$(PAIR)$(LATER)"), "Lease kube-system/a$(PAIR)$(LATER)$(A)l"},
    {NAMED("$(B)$(NODE)$(a)$()$$(A)$$$(A)$(A$"), "Lease kube-system/$(B)$(NODE)$(a)$()$(A)$a$(A$"},
};

TEST_EACH(leases_are_those_of_the_deployments, elections) {
    vpa_auto_free char *list = vpa_xprintf("{\"items\":[%s]}", elections[_i].deployment);
    const char *subject = elections[_i].subject;
    bool updater = strstr(list, "vpa-updater") != NULL;

    take_deployments(list);
    doctor.count = 0;
    lease = OLD;
    lease_at = subject ? strrchr(subject, '/') : updater ? "vpa-updater" : "vpa-recommender";
    doctor_check_leases(&doctor);
    ck_assert_uint_eq(doctor.count,
                      (subject ? 1U : 0U) + (updater ? 1U : 0U)); /* which reads the webhook's */
    if (subject)
        ck_assert_str_eq(doctor.items[doctor.count - 1].subject, subject);
}

#define LEADS                                                                                      \
    "\"--leader-elect\",\"--leader-elect-resource-namespace=ns\","                                 \
    "\"--leader-elect-resource-name=u\""
#define ALL_LEAD                                                                                   \
    "{\"items\":[" RUNS("r", "", "vpa-recommender", LEADS) "," RUNS(                               \
        "u", "", "vpa-updater", LEADS) "," RUNS("a", "", "vpa-admission-controller", "") "]}"
#define OF_LEASES(VERB)                                                                            \
    "\"verb\":\"" VERB "\",\"group\":\"coordination.k8s.io\",\"resource\":\"leases\","

static const struct {
    const char *denied, *text;
} locks[] = {
    {OF_LEASES("get") "\"name\":\"u\",\"namespace\":\"ns\"",
     "it may not get leases of coordination.k8s.io (ns/u): no replica leads"},
    {OF_LEASES("update") "\"name\":\"u\",\"namespace\":\"ns\"",
     "it may not update leases of coordination.k8s.io (ns/u): no replica leads"},
    {OF_LEASES("create") "\"namespace\":\"ns\"",
     "it may not create leases of coordination.k8s.io (ns/u): no replica leads"},
};

/* Nobody leads: the Lease was never made, or may not be read or written. */
TEST_EACH(daemons_that_elect_a_leader_need_its_lease, locks) {
    size_t missing = 0, refused = 0;

    take_deployments(ALL_LEAD);
    doctor.count = 0;
    denied = locks[_i].denied;
    doctor_check_leases(&doctor);
    doctor_check_rights(&doctor);
    for (size_t i = 0; i < doctor.count; i++) {
        missing += vpa_str_eq(doctor.items[i].subject, "Lease ns/u") &&
                   doctor.items[i].level == DOCTOR_ERROR;
        refused += vpa_str_eq(doctor.items[i].text, locks[_i].text);
    }
    ck_assert_uint_eq(missing, 2);
    ck_assert_uint_eq(refused, 2);
}

#define R_IN(NS) RUNS_IN(NS, "r", "", "vpa-recommender", "")
#define U_IN(NS, ARGS) RUNS_IN(NS, "u", "", "vpa-updater", ARGS)
#define A_IN(NS) RUNS_IN(NS, "a", "", "vpa-admission-controller", "")
#define ALONE "\"--use-admission-controller-status=false\""

static const struct {
    const char *deployments;
    enum doctor_level level;
    const char *text, *advice; /* of what is not there */
    size_t leases, webhooks;   /* findings that are not in order */
} parts[] = {
    {LIST(R_IN("kube-system")), DOCTOR_WARNING,
     "no Deployment in kube-system runs them: recommendations only",
     "nothing, if that is wanted; else kubectl apply -k deploy/", 0, 0},
    {LIST(R_IN("vpa")), DOCTOR_WARNING, "no Deployment in vpa runs them: recommendations only",
     "nothing, if that is wanted; else apply your overlay of deploy/ again", 0, 0},
    {LIST(R_IN("kube-system") "," A_IN("kube-system")), DOCTOR_WARNING,
     "no Deployment in kube-system runs it: running pods are left as they are",
     "nothing, if that is wanted; else kubectl apply -k deploy/", 0, 1},
    {LIST(R_IN("vpa") "," U_IN("vpa", ALONE)), DOCTOR_WARNING,
     "no Deployment in vpa runs it: new pods do not get their recommendation",
     "nothing, if that is wanted; else apply your overlay of deploy/ again", 0, 0},
    {LIST(R_IN("vpa") "," U_IN("vpa", "")), DOCTOR_ERROR,
     "no Deployment in vpa runs it: the updater changes nothing without the webhook",
     "apply your overlay of deploy/ again", 1, 0},
    {LIST(A_IN("vpa") "," U_IN("vpa", ALONE)), DOCTOR_ERROR, "no Deployment in vpa runs it",
     "apply your overlay of deploy/ again", 0, 1},
    {LIST("{\"metadata\":{\"namespace\":\"kube-system\",\"name\":\"r\",\"labels\":{"
          "\"app.kubernetes.io/managed-by\":\"Helm\"}},\"spec\":{\"template\":{\"spec\":{"
          "\"containers\":[{\"image\":\"vpa-recommender\"}]}}},\"status\":{\"readyReplicas\":1}}"),
     DOCTOR_WARNING, "no Deployment in kube-system runs them: recommendations only",
     "nothing, if that is wanted; else set updater.enabled and admissionController.enabled in the "
     "values of the chart",
     0, 0},
};

/* What an installation leaves out needs no rights, no Lease and no registration. */
TEST_EACH(an_installation_may_leave_daemons_out, parts) {
    const struct doctor_finding *gone = NULL;
    size_t stale = 0, unregistered = 0;

    denied = ":vpa-updater\"";
    doctor.ns = NULL;
    take_deployments(parts[_i].deployments);
    doctor_check_leases(&doctor);
    doctor_check_webhook(&doctor);
    doctor_check_rights(&doctor);
    for (size_t i = 0; i < doctor.count; i++) {
        const struct doctor_finding *f = &doctor.items[i];

        gone = vpa_str_eq(f->check, "daemon") && f->level != DOCTOR_OK ? f : gone;
        stale += vpa_str_eq(f->check, "lease");
        unregistered += vpa_str_eq(f->check, "webhook");
        ck_assert(!vpa_str_eq(f->check, "rights") || f->level == DOCTOR_OK);
    }
    ck_assert_int_eq(gone->level, parts[_i].level);
    ck_assert_str_eq(gone->text, parts[_i].text);
    ck_assert_str_eq(gone->advice, parts[_i].advice);
    ck_assert_uint_eq(stale, parts[_i].leases);
    ck_assert_uint_eq(unregistered, parts[_i].webhooks);
}

TEST(the_webhooks_lease_is_that_which_the_updater_reads) {
    take_deployments(
        "{\"items\":[" OF_THE_CHART("updater", ":1",
                                    "\"--admission-controller-status-lease-name=w\","
                                    "\"--admission-controller-status-lease-namespace=ns\"") "]}");
    doctor.count = 0;
    account = "\"name\":\"w\",\"namespace\":\"ns\"";
    doctor_check_leases(&doctor);
    ck_assert_uint_eq(doctor.count, 1);
    ck_assert_str_eq(doctor.items[0].subject, "Lease ns/w");
    doctor_check_rights(&doctor);
    for (size_t i = 0; i < doctor.count; i++)
        if (vpa_str_eq(doctor.items[i].check, "rights"))
            ck_assert_ptr_null(strstr(doctor.items[i].text, "leases"));
}

static const struct {
    const char *first, *second;
    bool differ;
} images[] = {
    {OF_THE_CHART("recommender", ":1", ""), OF_THE_CHART("updater", ":1", ""), false},
    {OF_THE_CHART("recommender", ":1", ""), OF_THE_CHART("updater", ":2", ""), true},
    {OF_THE_CHART("recommender", "@sha256:aa", ""), OF_THE_CHART("updater", "@sha256:bb", ""),
     false},
    {OF_THE_CHART("recommender", ":1@sha256:aa", ""), OF_THE_CHART("updater", ":1", ""), false},
    {OF_THE_CHART("recommender", ":1", ""), OF_THE_CHART("updater", "@sha256:bb", ""), false},
};

/* Each image has a digest of its own. */
TEST_EACH(digests_are_not_compared, images) {
    vpa_auto_free char *list =
        vpa_xprintf("{\"items\":[%s,%s]}", images[_i].first, images[_i].second);

    take_deployments(list);
    ck_assert((finding("version-skew") != NULL) == images[_i].differ);
}

#define VPA(NAME, MODE, POLICIES, STATUS) MADE(NAME, "2026-02-01", MODE, POLICIES, STATUS)
#define OF(NAME, DAY, MODE) MADE(NAME, DAY, MODE, "", "")
#define MADE(NAME, DAY, MODE, POLICIES, STATUS)                                                    \
    "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"" NAME "\",\"creationTimestamp\":\"" DAY     \
    "T00:00:00Z\"},\"spec\":{\"targetRef\":{"                                                      \
    "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},\"updatePolicy\":{"      \
    "\"updateMode\":\"" MODE "\"},\"resourcePolicy\":{\"containerPolicies\":[" POLICIES "]}},"     \
    "\"status\":{\"recommendation\":{\"containerRecommendations\":[" STATUS "]}}}"
#define POLICY(NAME, REST) "{\"containerName\":\"" NAME "\"," REST "}"
#define CONTROLS(LIST) "\"controlledResources\":[" LIST "]"
#define RECOMMENDED(NAME) "{\"containerName\":\"" NAME "\",\"target\":{\"memory\":\"1Gi\"}}"
#define MEMORY CONTROLS("\"memory\"")
#define RESOURCE(NAME) "{\"type\":\"Resource\",\"resource\":{\"name\":\"" NAME "\"}}"
#define OF_CONTAINER(NAME, CONTAINER)                                                              \
    "{\"type\":\"ContainerResource\",\"containerResource\":{\"name\":\"" NAME                      \
    "\",\"container\":\"" CONTAINER "\"}}"
#define QUEUE "{\"type\":\"External\",\"external\":{}}"

static const struct {
    const char *vpas, *metrics;
    const char *by; /* the resource of the only conflict; NULL: there is none */
} conflicts[] = {
    {VPA("v", "Recreate", "", ""), RESOURCE("cpu"), "cpu"},
    {VPA("v", "Recreate", "", ""), "", "cpu"},
    {VPA("v", "Recreate", "", ""), QUEUE, NULL},
    {VPA("v", "Off", "", ""), RESOURCE("cpu"), NULL},
    {VPA("v", "Recreate", POLICY("*", MEMORY), RECOMMENDED("app")), RESOURCE("cpu"), NULL},
    {VPA("v", "Recreate", POLICY("*", MEMORY), ""), "", NULL},
    {VPA("v", "Recreate", POLICY("*", MEMORY), ""), RESOURCE("cpu") "," RESOURCE("memory"),
     "memory"},
    {VPA("v", "Recreate", POLICY("*", MEMORY), ""), QUEUE "," OF_CONTAINER("memory", "app"),
     "memory"},
    {VPA("v", "Recreate", POLICY("*", CONTROLS("")), ""), RESOURCE("cpu"), NULL},
    {VPA("v", "Recreate", POLICY("*", "\"mode\":\"Off\""), ""), RESOURCE("memory"), NULL},
    {VPA("v", "Recreate", POLICY("*", MEMORY) "," POLICY("side", "\"mode\":\"Auto\""), ""),
     RESOURCE("cpu"), "cpu"},
    {VPA("v", "Recreate", POLICY("*", MEMORY) "," POLICY("side", "\"mode\":\"Auto\""), ""),
     OF_CONTAINER("cpu", "app"), NULL},
    {VPA("v", "Recreate", POLICY("*", MEMORY) "," POLICY("side", "\"mode\":\"Auto\""), ""),
     OF_CONTAINER("cpu", "side"), "cpu"},
    {VPA("v", "Recreate", POLICY("app", MEMORY), RECOMMENDED("app")), RESOURCE("cpu"), NULL},
    {VPA("v", "Recreate", POLICY("app", MEMORY), RECOMMENDED("app") "," RECOMMENDED("side")),
     RESOURCE("cpu"), "cpu"},
    {VPA("a", "Off", "", "") "," VPA("v", "Recreate", "", ""), RESOURCE("cpu"), "cpu"},
};

TEST_EACH(an_autoscaler_conflicts_over_what_a_vpa_changes, conflicts) {
    vpa_auto_free char *list = vpa_xprintf("{\"items\":[%s]}", conflicts[_i].vpas);
    vpa_auto_free char *scaled = vpa_xprintf(
        "{\"items\":[{\"metadata\":{\"namespace\":\"shop\",\"name\":\"h\"},\"spec\":{"
        "\"scaleTargetRef\":{\"kind\":\"Deployment\",\"name\":\"web\"},\"metrics\":[%s]}}]}",
        conflicts[_i].metrics);
    size_t count = 0;

    vpas = list;
    hpas = scaled;
    doctor_check_objects(&doctor);
    for (size_t i = 0; i < doctor.count; i++)
        count += vpa_str_eq(doctor.items[i].check, "hpa");
    ck_assert_uint_eq(count, conflicts[_i].by != NULL);
    if (conflicts[_i].by) {
        vpa_auto_free char *text =
            vpa_xprintf("it scales Deployment web by %s, which VPA v changes", conflicts[_i].by);

        ck_assert_str_eq(finding("hpa")->text, text);
    }
}

/* A webhook that lets every pod through is not one that is not reached. */
TEST_TIMES(a_pressed_panic_button_hides_whether_the_webhook_is_reached, 3) {
    static const int answers[] = {404, 200, 403};

    panic = answers[_i];
    doctor.is_plumb = doctor.webhook_found = true;
    doctor_check_panic(&doctor);
    doctor_check_reach(&doctor);
    ck_assert((finding("webhook-reach") == NULL) == (panic != 404));
    ck_assert_uint_eq(cli.note_count, panic == 404 ? 0 : panic == 200 ? 1 : 2);
}

#define NAMESPACE(NAME, LABELS)                                                                    \
    "{\"metadata\":{\"name\":\"" NAME "\",\"labels\":{\"kubernetes.io/metadata.name\":\"" NAME     \
    "\"" LABELS "}}}"
#define TWO LIST(NAMESPACE("a", ",\"vpa\":\"on\"") "," NAMESPACE("default", ""))
#define SELECTS(SELECTOR)                                                                          \
    LIST("{\"metadata\":{\"name\":\"vpa-webhook-config\"},\"webhooks\":[{\"name\":\"vpa.k8s.io\"," \
         "\"rules\":[{\"operations\":[\"CREATE\"],\"resources\":[\"pods\"]}],"                     \
         "\"namespaceSelector\":" SELECTOR "}]}")
#define NOT_IN(NS)                                                                                 \
    "{\"matchExpressions\":[{\"key\":\"kubernetes.io/metadata.name\",\"operator\":\"NotIn\","      \
    "\"values\":[\"" NS "\"]}]}"

static const struct {
    const char *args, *selector, *namespaces;
    const char *ns;    /* of -n, "": none */
    const char *asked; /* NULL: nowhere, which is noted */
} samples[] = {
    {"", SELECTS("null"), TWO, "", "default"},
    {"", SELECTS("{}"), TWO, "", "default"},
    {"", SELECTS(NOT_IN("default")), TWO, "", "a"},
    {"", SELECTS("{\"matchLabels\":{\"vpa\":\"on\"}}"), TWO, "", "a"},
    {"", SELECTS("{\"matchLabels\":{\"vpa\":\"off\"}}"), TWO, "", NULL},
    {"\"--ignored-vpa-object-namespaces=default\"", SELECTS("{}"), TWO, "", "a"},
    {"\"--vpa-object-namespace=a\"", SELECTS("{}"), TWO, "", "a"},
    {"\"--vpa-object-namespace=a\"", SELECTS("{}"), NULL, "", "a"},
    {"", SELECTS(NOT_IN("a")), NULL, "", "default"},
    {"", SELECTS(NOT_IN("default")), NULL, "", NULL},
    {"", SELECTS(NOT_IN("a")), LIST(NAMESPACE("a", "")), "a", NULL},
    {"\"--ignored-vpa-object-namespaces=a\"", SELECTS("{}"), NULL, "a", NULL},
    {"", SELECTS("{\"matchLabels\":{\"vpa\":\"on\"}}"), LIST(NAMESPACE("a", ",\"vpa\":\"on\"")),
     "a", "a"},
    {"", SELECTS("{}"), LIST(), "a", NULL},
};

TEST_EACH(the_webhook_is_tried_where_it_is_called, samples) {
    vpa_auto_free char *list =
        vpa_xprintf(LIST(RUNS("w", "", "vpa-admission-controller", "%s")), samples[_i].args);
    vpa_auto_free char *path = vpa_xprintf("/namespaces/%s/pods", vpa_or_empty(samples[_i].asked));

    doctor.is_plumb = true;
    cli.ns = samples[_i].ns;
    hooks = samples[_i].selector;
    namespaces = samples[_i].namespaces;
    take_deployments(list);
    doctor_check_webhook(&doctor);
    doctor_check_reach(&doctor);
    ck_assert((sample != NULL) == (samples[_i].asked != NULL));
    ck_assert((finding("webhook-reach") != NULL) == (samples[_i].asked != NULL));
    ck_assert_uint_eq(cli.note_count, samples[_i].asked == NULL);
    if (cli.note_count)
        ck_assert((strcmp(cli.notes[0], "there is no namespace a") == 0) ==
                  vpa_str_eq(samples[_i].namespaces, LIST()));
    if (sample)
        ck_assert_ptr_nonnull(strstr(sample, path));
}

static const struct {
    const char *args, *selector, *mode;
    size_t warned;
} uncalled[] = {
    {"", NOT_IN("shop"), "Recreate", 1},
    {"", "{\"matchLabels\":{\"vpa\":\"on\"}}", "Initial", 1},
    {"", NOT_IN("shop"), "Off", 0},
    {"", NOT_IN("a"), "Recreate", 0},
    {"\"--ignored-vpa-object-namespaces=shop\"", NOT_IN("shop"), "Recreate", 0},
    {"\"--vpa-object-namespace=a\"", NOT_IN("shop"), "Recreate", 0},
};

TEST_EACH(a_namespace_that_the_webhook_is_not_called_for_is_told_of, uncalled) {
    vpa_auto_free char *list =
        vpa_xprintf(LIST(RUNS("w", "", "vpa-admission-controller", "%s")), uncalled[_i].args);
    vpa_auto_free char *registered = vpa_xprintf(SELECTS("%s"), uncalled[_i].selector);
    vpa_auto_free char *two = vpa_xprintf(LIST(VPA("a", "%s", "", "") "," VPA("b", "%s", "", "")),
                                          uncalled[_i].mode, uncalled[_i].mode);
    size_t warned = 0;

    cli.ns = "";
    hooks = registered;
    namespaces = LIST(NAMESPACE("shop", "") "," NAMESPACE("a", ",\"vpa\":\"on\""));
    vpas = two;
    take_deployments(list);
    doctor_check_webhook(&doctor);
    doctor_check_reach(&doctor);
    doctor_check_objects(&doctor);
    for (size_t i = 0; i < doctor.count; i++)
        warned += vpa_str_eq(doctor.items[i].check, "webhook-namespace") &&
                  vpa_str_eq(doctor.items[i].subject, "Namespace shop");
    ck_assert_uint_eq(warned, uncalled[_i].warned);
}

static const struct {
    const char *type, *status;
    const char *check, *text; /* NULL: nothing is found */
} conditions[] = {
    {"EvictionsPaused", "True", "evictions-paused", "m"},
    {"ResizesPaused", "True", "resizes-paused", "m"},
    {"ResizesPaused", "False", NULL, NULL},
    {"ConfigUnsupported", "True", "vpa-target", "m"},
    {"NoPodsMatched", "True", "vpa-no-pods", "no pods match it"},
    {"RecommendationProvided", "True", NULL, NULL},
    {"WaitingForSamples", "True", "vpa-waiting", "m"},
};

TEST_EACH(conditions_that_say_what_is_wrong_are_findings, conditions) {
    vpa_auto_free char *list =
        vpa_xprintf("{\"items\":[{\"metadata\":{\"namespace\":\"shop\",\"name\":\"v\"},\"status\":{"
                    "\"conditions\":[{\"type\":\"%s\",\"status\":\"%s\",\"message\":\"m\"}]}}]}",
                    conditions[_i].type, conditions[_i].status);

    vpas = list;
    doctor_check_objects(&doctor);
    ck_assert_uint_eq(doctor.count, 1);
    ck_assert_str_eq(doctor.items[0].check, conditions[_i].check ? conditions[_i].check : "vpas");
    if (conditions[_i].check)
        ck_assert_str_eq(doctor.items[0].text, conditions[_i].text);
}

static const struct {
    const char *type, *reason, *advice;
} pauses[] = {
    {"EvictionsPaused", "NotPatched", "find out why new pods do not carry the recommendation"},
    {"EvictionsPaused", "PatchedBack", "find out why new pods do not carry the recommendation"},
    {"EvictionsPaused", "NoReplacement",
     "look at the quota of the namespace and at the events of what owns the pods"},
    {"EvictionsPaused", "Unschedulable", "make room on the nodes, or set maxAllowed"},
    {"EvictionsPaused", "Crashing", "look at the logs of the pod that is named"},
    {"EvictionsPaused", "NotReady", "look at the logs of the pod that is named"},
    {"ResizesPaused", "Crashing", "look at the logs of the pod that is named"},
    {"ResizesPaused", "NotReady", "look at the logs of the pod that is named"},
    {"ResizesPaused", "NotResized", "look at the conditions and events of the pod that is named"},
    {"ResizesPaused", "Other", "look at the pod that is named"},
};

TEST_EACH(advice_on_a_pause_is_of_its_reason, pauses) {
    vpa_auto_free char *list =
        vpa_xprintf("{\"items\":[{\"metadata\":{\"namespace\":\"shop\",\"name\":\"v\"},\"status\":{"
                    "\"conditions\":[{\"type\":\"%s\",\"status\":\"True\",\"reason\":\"%s\"}]}}]}",
                    pauses[_i].type, pauses[_i].reason);

    vpas = list;
    doctor_check_objects(&doctor);
    ck_assert_str_eq(doctor.items[0].advice, pauses[_i].advice);
}

static const struct {
    const char *vpas;
    const char *subject, *text; /* NULL: no conflict */
} twins[] = {
    {VPA("a", "Recreate", "", "") "," VPA("b", "Initial", "", ""), "VerticalPodAutoscaler shop/b",
     "it targets Deployment web as VPA a does, whose recommendation new pods get"},
    {OF("a", "2026-02-02", "Auto") "," OF("b", "2026-02-01", "Auto"),
     "VerticalPodAutoscaler shop/a",
     "it targets Deployment web as VPA b does, whose recommendation new pods get"},
    {OF("a", "2026-02-01", "Off") "," OF("b", "2026-02-02", "Auto"), NULL, NULL},
    {OF("a", "2026-02-02", "Off") "," OF("b", "2026-02-01", "Auto"), NULL, NULL},
    {OF("a", "2026-02-02", "Off") "," OF("b", "2026-02-01", "Off"), NULL, NULL},
    {OF("a", "2026-02-01", "Off") "," OF("b", "2026-02-03", "Auto") "," OF("c", "2026-02-02",
                                                                           "Auto"),
     "VerticalPodAutoscaler shop/b",
     "it targets Deployment web as VPA c does, whose recommendation new pods get"},
};

/* The strongest of those that act; others may compare what recommenders say. */
TEST_EACH(of_vpas_with_one_target_the_losers_are_told, twins) {
    vpa_auto_free char *list = vpa_xprintf("{\"items\":[%s]}", twins[_i].vpas);
    const struct doctor_finding *found;

    vpas = list;
    doctor_check_objects(&doctor);
    found = finding("vpa-conflict");
    ck_assert_uint_eq(doctor.count, 1);
    ck_assert((found != NULL) == (twins[_i].subject != NULL));
    if (found) {
        ck_assert_str_eq(found->subject, twins[_i].subject);
        ck_assert_str_eq(found->text, twins[_i].text);
    }
}

#define NO_STATUS "\"recommendation\":{}"
#define HAS_STATUS "\"recommendation\":{\"containerRecommendations\":[" RECOMMENDED("app") "]}"
#define NAMES(NAME) "[{\"name\":\"" NAME "\"}]"
#define BLUE RUNS_IN("b", "blue", "", "vpa-recommender", "\"--recommender-name=blue\"")
#define DEFAULT(ARGS) RUNS("r", "", "vpa-recommender", ARGS)

static const struct {
    const char *deployments, *recommenders, *status;
    const char *text; /* NULL: nothing is found */
} served[] = {
    {LIST(DEFAULT("")), "[]", NO_STATUS, NULL},
    {LIST(DEFAULT("")), NAMES("default"), NO_STATUS, NULL},
    {LIST(DEFAULT("")), NAMES("crane"), NO_STATUS, NULL},
    {LIST(DEFAULT("")), NAMES("cranes"), HAS_STATUS, NULL},
    {LIST(DEFAULT("")), NAMES("cranes"), NO_STATUS,
     "it has no recommendation: no recommender that runs is called cranes"},
    {LIST(DEFAULT("\"--algorithms=vpa\"")), NAMES("crane"), NO_STATUS,
     "it has no recommendation: no recommender that runs is called crane"},
    {LIST(DEFAULT("") "," BLUE), NAMES("blue"), NO_STATUS, NULL},
    {LIST(DEFAULT("") "," BLUE), NAMES("blue/crane"), NO_STATUS, NULL},
    {LIST(BLUE), "[]", NO_STATUS,
     "it has no recommendation: no recommender that runs is called default"},
    {LIST(DEFAULT("") "," RUNS_IN("b", "x", "", "vpa-recommender",
                                  "\"--recommender-name=x\",\"--shadow\"")),
     NAMES("x"), NO_STATUS, "it has no recommendation: no recommender that runs is called x"},
    {LIST(), NAMES("cranes"), NO_STATUS, NULL},
};

TEST_EACH(a_vpa_names_a_recommender_that_runs, served) {
    vpa_auto_free char *list =
        vpa_xprintf("{\"items\":[{\"metadata\":{\"namespace\":\"shop\",\"name\":\"v\"},\"spec\":{"
                    "\"recommenders\":%s},\"status\":{%s}}]}",
                    served[_i].recommenders, served[_i].status);

    doctor.ns = NULL;
    take_deployments(served[_i].deployments);
    vpas = list;
    doctor_check_objects(&doctor);
    ck_assert((finding("vpa-recommender") != NULL) == (served[_i].text != NULL));
    if (served[_i].text)
        ck_assert_str_eq(finding("vpa-recommender")->text, served[_i].text);
}

int main(void)
{
    return run_tests("cli doctor", setup, teardown);
}
