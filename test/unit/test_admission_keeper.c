/* Who keeps the registration as it should be, on the simulator and in virtual time. */
#include <stdio.h>
#include <unistd.h>

#include "client_fixture.h"
#include "json_helper.h"
#include "keeper.h"
#include "meters.h"
#include "proof.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/net/tls.h"
#include "webhook.h"
#include "captured_log.h"

#define NAME "vpa-webhook-config"
#define COLLECTION "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
#define API_VERSION "admissionregistration.k8s.io/v1"
#define KIND "MutatingWebhookConfiguration"
#define METADATA "\"metadata\":{\"name\":\"" NAME "\"}"
#define PODS "\"resources\":[\"pods\"]"
#define NO_PODS "\"resources\":[\"configmaps\"]"
#define CERT_MANAGERS "\"cert-manager.io/inject-ca-from\":\"ns/name\""
#define HELMS "\"meta.helm.sh/release-name\":\"vpa\""
#define OUR_CA "our CA"
#define OLD_CA "old CA"
#define REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define EVENTS "/events"
#define SIDE_EFFECTS "\"sideEffects\":\"None\""
#define BY_HAND "\"failurePolicy\":\"Fail\""
#define SERVICE "\"service\":{\"namespace\":\"kube-system\",\"name\":\"vpa-webhook\"}"
#define SELECTOR_WITH(MORE)                                                                        \
    "{\"matchExpressions\":[{\"key\":\"kubernetes.io/metadata.name\",\"operator\":\"NotIn\","      \
    "\"values\":[\"\"]}" MORE "]}"
#define SELECTOR SELECTOR_WITH("")
#define EXPRESSIONS "\"matchExpressions\":["
/* What AKS adds to every webhook. */
#define AKS                                                                                        \
    "{\"key\":\"control-plane\",\"operator\":\"NotIn\",\"values\":[\"true\"]},"                    \
    "{\"key\":\"kubernetes.azure.com/managedby\",\"operator\":\"NotIn\",\"values\":[\"aks\"]}"
#define GKES                                                                                       \
    "{\"key\":\"kubernetes.io/"                                                                    \
    "metadata.name\",\"operator\":\"NotIn\",\"values\":[\"kube-system\"]}"

static struct admission_config config;
static struct registration *registration;
static struct keeper *keeper;

/* ---- the server ---- */

static bool stubborn; /* what is written is undone before it is read again */

/* The object as we would register it for that CA, with annotations and a piece of its text
 * replaced. */
static const char *registered(const char *ca, const char *annotations, const char *from,
                              const char *to)
{
    const struct {
        const char *from, *to;
    } changes[] = {
        {METADATA,
         vpa_arena_printf(&arena, "\"metadata\":{\"name\":\"" NAME "\",\"annotations\":{%s}}",
                          annotations)},
        {from, to}};
    vpa_auto_buf text = VPA_BUF(1 << 16);

    webhook_encode(&config, "kube-system", ca, &text);
    const char *json = vpa_buf_text(&text);
    for (size_t i = 0; i < VPA_COUNT(changes) && changes[i].from; i++) {
        const char *at = strstr(json, changes[i].from);
        ck_assert_msg(at != NULL, "%s in %s", changes[i].from, json);
        json = vpa_arena_printf(&arena, "%.*s%s%s", (int)(at - json), json, changes[i].to,
                                at + strlen(changes[i].from));
    }
    return vpa_arena_strdup(&arena, json);
}

/* From now on that is registered; "": nothing. */
static void set_object(const char *object)
{
    if (*object)
        sim_cluster_put_text(sim, object);
    else
        (void)sim_cluster_delete(sim, API_VERSION, KIND, "", NAME);
}

/* From now on requests by that method for it are answered so, and no others; code 0: not at all. */
static void answer(const char *method, int code, const char *body)
{
    sim_cluster_unscript(sim);
    sim_cluster_answer(
        sim, &(struct sim_answer){.method = method,
                                  .path = COLLECTION,
                                  .how = SIM_PATH_HOLDS,
                                  .code = code,
                                  .body = body,
                                  .message = "refused",
                                  .failure = code ? VPA_TRANSPORT_OK : VPA_TRANSPORT_REFUSED});
}

static int serve_first(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (stubborn && strcmp(q->method, "GET") == 0)
        set_object(registered(OUR_CA, "", PODS, NO_PODS));
    if (strcmp(q->path, REVIEWS) != 0)
        return 0;
    vpa_memory_reply_json(r, 201, "{\"status\":{\"allowed\":false}}");
    return 201;
}

static size_t count_of(const char *path)
{
    size_t n = 0;

    while (sim_cluster_write(sim, path, n))
        n++;
    return n;
}

static const struct sim_asked *last(const char *path)
{
    return sim_cluster_write(sim, path, SIM_LAST);
}

/* ---- the daemon ---- */

static void on_change(void *ctx)
{
    (void)ctx;
    keeper_look(keeper);
}

static void setup(void)
{
    static char ours[] = OUR_CA;
    static const struct keeper_facts facts = {.ca = ours, .exact_ca = true};
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};

    vpa_flags_preset(&flags);
    start_client(NULL, 1780000000, 1);
    sim_cluster_hook(sim, serve_first, NULL);
    const struct registration_wanted wanted = {.config = &config, .ns = "kube-system"};
    registration = registration_new(
        &(struct registration_options){.client = client, .wanted = wanted, .changed = on_change});
    keeper = keeper_new(&(struct keeper_options){
        .client = client, .wanted = wanted, .registration = registration, .facts = &facts});
    for (size_t i = 0; i < admission_metric_count; i++)
        vpa_metric_reset(admission_metrics[i]);
    vpa_loop_pump(loop, VPA_HOUR); /* its monotonic time is not 0 */
    set_object(registered(OUR_CA, "", NULL, NULL));
}

static void teardown(void)
{
    keeper_free(keeper);
    registration_free(registration);
    stop_client();
    vpa_arena_release(&arena);
}

/* Time passes, and what is due is done. */
static void work_for(vpa_duration duration)
{
    int64_t end = vpa_loop_monotonic(loop) + duration;

    while (vpa_loop_monotonic(loop) < end) {
        while (vpa_loop_poll(loop))
            ;
        if (keeper_is_due(keeper))
            keeper_work(keeper);
        else
            vpa_loop_pump(loop, 100 * VPA_MILLISECOND);
    }
}

static void start(void)
{
    registration_start(registration);
    keeper_start(keeper);
    work_for(VPA_SECOND);
}

static double metric(const char *name, const char *label)
{
    for (size_t i = 0; i < admission_metric_count; i++)
        if (strstr(admission_metrics[i]->name, name))
            return label ? vpa_metric_value(admission_metrics[i], label)
                         : vpa_metric_value(admission_metrics[i]);
    ck_abort_msg("no metric %s", name);
}

#define RIGHT() metric("registration_right", NULL)
#define REPAIRS(WHAT) metric("registration_repairs", WHAT)

/* The first Event. */
static void expect_event(const char *reason, const char *message)
{
    const struct sim_asked *event = sim_cluster_write(sim, EVENTS, 0);
    const struct vpa_json *told = json_of(event ? event->body : "null");

    ck_assert_str_eq(vpa_or_empty(vpa_json_string(vpa_json_find(told, "reason"))), reason);
    ck_assert_str_eq(vpa_or_empty(vpa_json_string(vpa_json_find(told, "message"))), message);
    ck_assert_str_eq(vpa_json_string(vpa_json_find(told, "type")), "Warning");
    ck_assert_str_eq(vpa_json_string(vpa_json_at(told, "involvedObject.kind")), "Lease");
    ck_assert_str_eq(vpa_json_string(vpa_json_at(told, "involvedObject.name")),
                     config.status_lease_name);
}

static const char *live_version(void)
{
    const struct vpa_json *live = sim_cluster_find(sim, &arena, API_VERSION, KIND, "", NAME);

    return vpa_json_string(vpa_json_at(live, "metadata.resourceVersion"));
}

/* The patch: it rests on the version that was seen, and writes that path. The value is returned. */
static const struct vpa_json *expect_patch(const char *seen, const char *op, const char *path)
{
    const struct vpa_json *first = vpa_json_first(json_of(last(COLLECTION)->body)), *second;

    ck_assert_str_eq(last(COLLECTION)->method, "PATCH");
    ck_assert_str_eq(last(COLLECTION)->path, COLLECTION "/" NAME);
    ck_assert_str_eq(vpa_json_string(vpa_json_find(first, "op")), "test");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(first, "path")), "/metadata/resourceVersion");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(first, "value")), seen);
    second = vpa_json_next(first);
    ck_assert_str_eq(vpa_json_string(vpa_json_find(second, "op")), op);
    ck_assert_str_eq(vpa_json_string(vpa_json_find(second, "path")), path);
    ck_assert_ptr_null(vpa_json_next(second));
    return vpa_json_find(second, "value");
}

/* ... with another piece replaced as well. */
static const char *with(const char *json, const char *from, const char *to)
{
    const char *at = strstr(json, from);

    ck_assert_msg(at != NULL, "%s in %s", from, json);
    return vpa_arena_printf(&arena, "%.*s%s%s", (int)(at - json), json, to, at + strlen(from));
}

static const char *webhooks_of(const char *text)
{
    return text_of(vpa_json_find(json_of(text), "webhooks"));
}

/* ---- tests ---- */

TEST(what_is_right_is_left_alone) {
    capture_log(0);
    registration_start(registration);
    work_for(VPA_SECOND);
    ck_assert(!keeper_is_due(keeper)); /* it was not started */
    keeper_start(keeper);
    ck_assert(keeper_is_due(keeper));
    work_for(VPA_MINUTE);
    ck_assert(!keeper_is_due(keeper));
    ck_assert_uint_eq(logged("Others leave out"), 0);
    ck_assert_uint_eq(count_of(COLLECTION) + count_of(EVENTS), 0);
    ck_assert_double_eq(RIGHT(), 1);
}

/* ... also by who insists on it. */
TEST(namespaces_that_others_leave_out_are_left_alone) {
    capture_log(0);
    set_object(registered(OUR_CA, "", EXPRESSIONS, EXPRESSIONS AKS ","));
    start();
    work_for(VPA_HOUR);
    ck_assert_uint_eq(count_of(COLLECTION) + count_of(EVENTS), 0);
    ck_assert_double_eq(RIGHT(), 1);
    ck_assert_uint_eq(logged("Others leave out namespaces"), 1);
    ck_assert_uint_eq(logged("managedby"), 1);
    set_object(
        registered(OUR_CA, "", "\"values\":[\"\"]", "\"values\":[\"payments\"]")); /* whose? */
    work_for(VPA_HOUR);
    ck_assert_uint_eq(logged("Others leave out"), 1);
    set_object(registered(OUR_CA, "", NULL, NULL));
    work_for(VPA_HOUR);
    ck_assert_uint_eq(logged("Others leave out namespaces"), 1);
    ck_assert_uint_eq(logged("Others leave out no namespaces any more"), 1);
}

/* Another replica has other flags: the one that starts last has the last word. */
TEST(settings_of_another_replica_are_left_alone) {
    set_object(registered(OUR_CA, "", "\"values\":[\"\"]", "\"values\":[\"payments\"]"));
    start();
    work_for(VPA_MINUTE);
    ck_assert_uint_eq(count_of(COLLECTION) + count_of(EVENTS), 0);
    ck_assert_double_eq(RIGHT(), 1);
}

/* ... but once: an older version, which puts its namespaces back, is gone by then. That
 * is no repair, and what was set by hand beside them stays. */
TEST_TIMES(namespaces_are_looked_at_once_more, 2) {
    const char *by_hand = registered(OUR_CA, "", "\"failurePolicy\":\"Ignore\"", BY_HAND);
    const char *theirs = with(by_hand, "\"values\":[\"\"]", "\"values\":[\"payments\"]");
    bool others = _i == 1; /* leave out more, which stays */

    if (others)
        theirs = with(theirs, EXPRESSIONS, EXPRESSIONS AKS ",");
    set_object(theirs);
    start();
    work_for(KEEPER_QUIET - VPA_MINUTE);
    ck_assert_uint_eq(count_of(COLLECTION), 0);
    const char *seen = live_version();
    work_for(VPA_MINUTE);
    ck_assert_uint_eq(count_of(COLLECTION), 1);
    const struct vpa_json *value = expect_patch(seen, "add", "/webhooks/0/namespaceSelector");
    ck_assert_str_eq(text_of(value), others ? SELECTOR_WITH("," AKS) : SELECTOR);
    set_object(theirs);
    work_for(VPA_HOUR);
    ck_assert_uint_eq(count_of(COLLECTION), 1);
    ck_assert_uint_eq(count_of(EVENTS), 0);
    ck_assert_double_eq(REPAIRS("namespaces"), 0);
    ck_assert_double_eq(RIGHT(), 1);
}

TEST(other_settings_stay_as_they_are) {
    set_object(registered(OUR_CA, "", "\"failurePolicy\":\"Ignore\"", BY_HAND));
    start();
    work_for(VPA_HOUR);
    ck_assert_uint_eq(count_of(COLLECTION), 0);
    ck_assert_double_eq(RIGHT(), 1);
}

/* How the patch of that look is refused; 0: what is there is right. */
static const struct {
    int code;
    const char *body;
} looks[] = {
    {0, NULL},
    {403, NULL},
    {413, NULL},
    {422, "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"code\":422,"
          "\"details\":{\"causes\":[{\"message\":\"m\",\"field\":\"f\"}]}}"},
};

/* What is right then, or is refused, may be changed by hand from then on. */
TEST_EACH(one_look_at_the_namespaces_is_enough, looks) {
    const char *theirs = registered(OUR_CA, "", "\"values\":[\"\"]", "\"values\":[\"payments\"]");
    int code = looks[_i].code;

    if (code)
        set_object(theirs);
    start();
    if (code)
        answer("PATCH", code, looks[_i].body);
    work_for(KEEPER_QUIET);
    ck_assert_double_eq(RIGHT(), 1);
    sim_cluster_unscript(sim);
    set_object(theirs);
    work_for(VPA_HOUR);
    ck_assert_uint_eq(count_of(COLLECTION), code != 0);
}

/* Namespaces that cannot be written now are no fault, and nothing waits for them. */
TEST(a_wrong_bundle_does_not_wait_for_the_namespaces) {
    set_object(registered(OUR_CA, "", "\"values\":[\"\"]", "\"values\":[\"payments\"]"));
    start();
    answer("PATCH", 500, NULL);
    work_for(KEEPER_QUIET);
    ck_assert_uint_ge(count_of(COLLECTION), 1);
    ck_assert_double_eq(RIGHT(), 1);
    sim_cluster_unscript(sim);
    set_object(registered(OLD_CA, "", "\"values\":[\"\"]", "\"values\":[\"payments\"]"));
    registration_refresh(registration);
    size_t before = count_of(COLLECTION);
    work_for(VPA_MINUTE);
    ck_assert_uint_eq(count_of(COLLECTION), before + 2);
    ck_assert_double_eq(REPAIRS("caBundle"), 1);
    ck_assert_double_eq(RIGHT(), 1);
    const struct vpa_json *live = sim_cluster_find(sim, &arena, API_VERSION, KIND, "", NAME);
    ck_assert_ptr_nonnull(strstr(text_of(live), "\"values\":[\"\"]"));
}

TEST(a_registration_that_is_gone_is_made_again) {
    set_object("");
    start();
    ck_assert_str_eq(last(COLLECTION)->method, "POST");
    ck_assert_str_eq(last(COLLECTION)->path, COLLECTION);
    ck_assert_str_eq(webhooks_of(last(COLLECTION)->body),
                     webhooks_of(registered(OUR_CA, "", NULL, NULL)));
    ck_assert_uint_eq(count_of(COLLECTION), 1);
    ck_assert_double_eq(REPAIRS("gone"), 1);
    ck_assert_double_eq(RIGHT(), 1); /* it was read at once */
    expect_event("RegistrationRepaired",
                 "MutatingWebhookConfiguration " NAME ": gone is not as it should be; repaired");
}

/* What somebody made of the text, what is wrong then, and what is written: where, which value. */
static const struct part_row {
    const char *ca, *annotations, *from, *to;
    const char *what, *op, *path, *value;
} parts[] = {
    {OUR_CA, "", "\"NotIn\"", "\"In\"", "namespaceSelector", "add", "namespaceSelector", SELECTOR},
    {OUR_CA, "", EXPRESSIONS, EXPRESSIONS "{\"key\":\"a\",\"operator\":\"Exists\"}," AKS ",",
     "namespaceSelector", "add", "namespaceSelector", SELECTOR_WITH("," AKS)},
    {OUR_CA, "", "\"NotIn\",\"values\":[\"\"]}", "\"In\",\"values\":[\"payments\"]}," GKES,
     "namespaceSelector", "add", "namespaceSelector", SELECTOR},
    {OUR_CA, "", "ReviewVersions\":[", "ReviewVersions\":[\"v1beta1\",", "admissionReviewVersions",
     "add", "admissionReviewVersions", "[\"v1\"]"},
    {OUR_CA, "", SIDE_EFFECTS, SIDE_EFFECTS ",\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}",
     "objectSelector", "remove", "objectSelector", "null"},
    {OUR_CA, "", SIDE_EFFECTS,
     SIDE_EFFECTS ",\"matchConditions\":[{\"name\":\"n\",\"expression\":\"false\"}]",
     "matchConditions", "remove", "matchConditions", "null"},
    {OUR_CA, "", SERVICE, "\"url\":\"https://elsewhere\"", "service", "add", "clientConfig",
     "{" SERVICE ",\"caBundle\":\"b3VyIENB\"}"},
    /* That caBundle is cert-manager's, whatever it holds. */
    {OLD_CA, CERT_MANAGERS, SERVICE, "\"url\":\"https://elsewhere\"", "service", "add",
     "clientConfig", "{" SERVICE ",\"caBundle\":\"b2xkIENB\"}"},
    {"", CERT_MANAGERS, SERVICE, "\"url\":\"https://elsewhere\"", "service", "add", "clientConfig",
     "{" SERVICE "}"},
};

TEST_EACH(what_was_set_by_hand_stays_when_a_part_is_put_back, parts) {
    const struct part_row *row = &parts[_i];
    const char *object = registered(row->ca, row->annotations, row->from, row->to);

    set_object(with(object, "\"failurePolicy\":\"Ignore\"", BY_HAND));
    const char *seen = live_version();
    start();
    const struct vpa_json *value =
        expect_patch(seen, row->op, vpa_arena_printf(&arena, "/webhooks/0/%s", row->path));
    ck_assert_str_eq(text_of(value), row->value);
    ck_assert_uint_eq(count_of(COLLECTION), 1);
    ck_assert_double_eq(REPAIRS(row->what), 1);
    const struct vpa_json *live = sim_cluster_find(sim, &arena, API_VERSION, KIND, "", NAME);
    ck_assert_ptr_nonnull(strstr(text_of(live), BY_HAND));
    work_for(VPA_MINUTE);
    ck_assert_uint_eq(count_of(COLLECTION), 1); /* it is right but for a CA that is not ours */
}

TEST_TIMES(a_part_that_differs_is_put_back, 2) {
    bool theirs = _i == 1; /* the caBundle, which stays */

    set_object(registered(theirs ? OLD_CA : OUR_CA, theirs ? CERT_MANAGERS : "", PODS, NO_PODS));
    const char *seen = live_version();
    start();
    const struct vpa_json *value = expect_patch(seen, "add", "/webhooks/0/rules");
    const char *right = webhooks_of(registered(OUR_CA, "", NULL, NULL));
    ck_assert_ptr_nonnull(strstr(right, text_of(value)));
    ck_assert_uint_eq(count_of(COLLECTION), 1);
    ck_assert_double_eq(REPAIRS("rules"), 1);
    expect_event("RegistrationRepaired",
                 "MutatingWebhookConfiguration " NAME ": rules is not as it should be; repaired");
}

/* At once, with one line and one event about the first. */
TEST(parts_that_differ_are_put_back_together) {
    const char *object = registered(OLD_CA, "", PODS, NO_PODS);

    set_object(with(with(object, "\"NotIn\"", "\"In\""), SERVICE, "\"url\":\"https://elsewhere\""));
    start();
    ck_assert_uint_eq(count_of(COLLECTION), 1);
    ck_assert_double_eq(REPAIRS("service"), 1);
    ck_assert_double_eq(RIGHT(), 1);
    ck_assert_uint_eq(count_of(EVENTS), 1);
}

/* None is of our name, or there is none: what stands there is not ours to mend piece by piece. */
TEST_TIMES(a_registration_without_our_webhook_is_put_back_whole, 2) {
    const char *object = registered(OUR_CA, "", PODS, NO_PODS);
    bool empty = _i == 1; /* webhooks: [], which the API server keeps as no member at all */

    set_object(empty
                   ? with(object, "\"webhooks\":[", "\"others\":[")
                   : with(with(object, "\"name\":\"vpa.k8s.io\"", "\"name\":\"other.example.com\""),
                          EXPRESSIONS, EXPRESSIONS AKS ","));
    const struct vpa_json *live = sim_cluster_find(sim, &arena, API_VERSION, KIND, "", NAME);
    ck_assert_int_eq(vpa_json_find(live, "webhooks") == NULL, empty);
    const char *seen = live_version();
    start();
    const struct vpa_json *value = expect_patch(seen, "add", "/webhooks");
    ck_assert_str_eq(text_of(value), webhooks_of(registered(OUR_CA, "", NULL, NULL)));
    ck_assert_double_eq(REPAIRS("webhooks"), 1);
    ck_assert_double_eq(RIGHT(), 1);
}

TEST(a_bundle_that_does_not_vouch_for_us_gets_our_ca) {
    set_object(
        registered(OLD_CA, "", "\"webhooks\":[",
                   "\"webhooks\":[{\"name\":\"first.example.com\",\"clientConfig\":{\"service\":{"
                   "\"namespace\":\"n\",\"name\":\"s\"}},\"admissionReviewVersions\":[\"v1\"],"
                   "\"sideEffects\":\"None\"},"));
    const char *seen = live_version();
    start();
    const struct vpa_json *value = expect_patch(seen, "add", "/webhooks/1/clientConfig/caBundle");
    ck_assert_str_eq(vpa_json_string(value), "b3VyIENB");
    ck_assert_double_eq(REPAIRS("caBundle"), 1);
    ck_assert_uint_eq(count_of(EVENTS), 1);
}

/* What others own is told once, and once again when it had been right in between. */
static const struct report_row {
    bool registering;
    const char *annotations, *ca, *from, *to;
    const char *what;
} reports[] = {
    {true, HELMS, OUR_CA, PODS, NO_PODS, "rules"},
    {true, CERT_MANAGERS, OLD_CA, NULL, NULL, "caBundle"},
    {false, "", OLD_CA, NULL, NULL, "caBundle"},
    {false, NULL, NULL, NULL, NULL, "gone"}, /* its name was given */
};

static const char *faulty(const struct report_row *row)
{
    return row->annotations ? registered(row->ca, row->annotations, row->from, row->to) : "";
}

TEST_EACH(what_others_own_is_reported, reports) {
    const struct report_row *row = &reports[_i];

    config.register_webhook = row->registering;
    config.webhook_config_name = NAME;
    set_object(faulty(row));
    start();
    expect_event("RegistrationFaulty",
                 vpa_arena_printf(&arena,
                                  "MutatingWebhookConfiguration " NAME ": %s is not as it should "
                                  "be; not repaired, because others own it",
                                  row->what));
    ck_assert_double_eq(RIGHT(), 0);
    set_object(faulty(row));
    keeper_look(keeper);
    work_for(VPA_MINUTE);
    ck_assert_uint_eq(count_of(EVENTS), 1);
    set_object(registered(OUR_CA, "", NULL, NULL));
    work_for(10 * VPA_SECOND);
    ck_assert_double_eq(RIGHT(), 1);
    set_object(faulty(row));
    work_for(10 * VPA_SECOND);
    ck_assert_uint_eq(count_of(EVENTS), 2);
    ck_assert_uint_eq(count_of(COLLECTION), 0);
    ck_assert_double_eq(REPAIRS(row->what), 0);
}

/* The answer of the webhook alone counts then (U13). */
TEST(what_may_not_be_read_counts_as_right) {
    answer("GET", 403, NULL);
    start();
    ck_assert_double_eq(RIGHT(), 1);
    ck_assert_uint_eq(count_of(COLLECTION) + count_of(EVENTS), 0);
}

/* So it does where others have made it, under a name that nobody has told us. What has been there
 * has that name. */
TEST(what_is_called_otherwise_counts_as_right) {
    config.register_webhook = false;
    set_object("");
    start();
    ck_assert_int_eq(registration_state(registration), REGISTRATION_ELSEWHERE);
    ck_assert_double_eq(RIGHT(), 1);
    ck_assert_uint_eq(count_of(COLLECTION) + count_of(EVENTS), 0);
    set_object(registered(OUR_CA, "", PODS, NO_PODS));
    work_for(10 * VPA_SECOND);
    ck_assert_double_eq(RIGHT(), 0);
    set_object(registered(OUR_CA, "", NULL, NULL));
    work_for(10 * VPA_SECOND);
    ck_assert_double_eq(RIGHT(), 1);
    set_object("");
    work_for(10 * VPA_SECOND);
    ck_assert_int_eq(registration_state(registration), REGISTRATION_ABSENT);
    ck_assert_double_eq(RIGHT(), 0);
}

/* As it was. */
TEST(what_is_not_known_is_neither_right_nor_wrong) {
    answer("GET", 500, NULL);
    for (int right = 0; right < 2; right++) {
        vpa_metric_set(&meter_registration, right);
        start();
        keeper_look(keeper);
        work_for(VPA_SECOND);
        ck_assert_double_eq(RIGHT(), right);
    }
    ck_assert_uint_eq(count_of(COLLECTION) + count_of(EVENTS), 0);
}

/* What was not heard of for a while is not known; that it may not be read is no less true then. */
static const struct {
    int code;
    const char *body;
    enum registration_state state, later;
    unsigned reviews; /* whether it may be watched is asked once, of who may read it */
    bool theirs;      /* whose name nobody has told us */
} states[] = {
    {200, "{}", REGISTRATION_PRESENT, REGISTRATION_UNKNOWN, 1, false},
    {404, NULL, REGISTRATION_ABSENT, REGISTRATION_UNKNOWN, 1, false},
    {404, NULL, REGISTRATION_ELSEWHERE, REGISTRATION_ELSEWHERE, 1, true},
    {403, NULL, REGISTRATION_FORBIDDEN, REGISTRATION_FORBIDDEN, 0, false},
    {401, NULL, REGISTRATION_UNKNOWN, REGISTRATION_UNKNOWN, 0, false}, /* it did not see us */
};

TEST_EACH(a_registration_is_known_for_a_while, states) {
    config.register_webhook = !states[_i].theirs;
    answer("GET", states[_i].code, states[_i].body);
    ck_assert_int_eq(registration_state(registration), REGISTRATION_UNKNOWN);
    registration_start(registration);
    work_for(VPA_SECOND);
    answer("GET", 0, NULL);
    ck_assert_int_eq(registration_state(registration), states[_i].state);
    work_for(REGISTRATION_AGE_MAX - 2 * VPA_SECOND);
    ck_assert_int_eq(registration_state(registration), states[_i].state);
    work_for(VPA_MINUTE);
    ck_assert_int_eq(registration_state(registration), states[_i].later);
    ck_assert_uint_eq(count_of(REVIEWS), states[_i].reviews);
    if (states[_i].reviews)
        ck_assert_str_eq(last(REVIEWS)->body,
                         "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":"
                         "\"SelfSubjectAccessReview\",\"spec\":{\"resourceAttributes\":{\"group\":"
                         "\"admissionregistration.k8s.io\",\"resource\":"
                         "\"mutatingwebhookconfigurations\",\"name\":\"" NAME
                         "\",\"verb\":\"watch\"}}}");
}

static const int no_answers[] = {0, 401};

/* Nothing is known of who is away, or takes our token for nobody's: nothing is asked, until it
 * answers. */
TEST_EACH(a_server_that_is_away_is_asked_later, no_answers) {
    answer("GET", no_answers[_i], NULL);
    registration_start(registration);
    work_for(VPA_MINUTE);
    ck_assert_int_eq(registration_state(registration), REGISTRATION_UNKNOWN);
    ck_assert_uint_eq(count_of(REVIEWS), 0);
    sim_cluster_unscript(sim);
    work_for(REGISTRATION_POLL + VPA_SECOND);
    ck_assert_int_eq(registration_state(registration), REGISTRATION_PRESENT);
    ck_assert_uint_eq(count_of(REVIEWS), 1);
}

/* Another CA of ours is written as soon as there is one, and is no repair; what comes later is. */
TEST(a_new_ca_is_no_repair) {
    start();
    for (unsigned i = 0; i < 2; i++) { /* the second time too soon */
        set_object(registered(OLD_CA, "", NULL, NULL));
        registration_refresh(registration);
        work_for(100 * VPA_MILLISECOND);
        ck_assert_uint_eq(count_of(COLLECTION), 1);
    }
    ck_assert_double_eq(REPAIRS("caBundle"), 1);
    keeper_ca_is_new(keeper);
    work_for(100 * VPA_MILLISECOND);
    ck_assert_uint_eq(count_of(COLLECTION), 2);
    ck_assert_double_eq(REPAIRS("caBundle"), 1);
    ck_assert_uint_eq(count_of(EVENTS), 1);
    work_for(VPA_MINUTE);
    ck_assert_uint_eq(count_of(COLLECTION), 2);
    set_object(registered(OLD_CA, "", NULL, NULL));
    work_for(VPA_MINUTE);
    ck_assert_uint_eq(count_of(COLLECTION), 3);
    ck_assert_double_eq(REPAIRS("caBundle"), 2);
}

TEST(another_fault_is_a_repair_while_the_ca_is_new) {
    set_object(registered(OUR_CA, "", PODS, NO_PODS));
    keeper_ca_is_new(keeper);
    start();
    ck_assert_uint_eq(count_of(COLLECTION), 1);
    ck_assert_double_eq(REPAIRS("rules"), 1);
    ck_assert_uint_eq(count_of(EVENTS), 1);
}

static void expect_pause(size_t i, vpa_duration wanted)
{
    vpa_duration pause = vpa_time_sub(sim_cluster_write(sim, COLLECTION, i)->time,
                                      sim_cluster_write(sim, COLLECTION, i - 1)->time);

    ck_assert_msg(pause >= wanted && pause < wanted + VPA_SECOND / 2, "repair %zu came %g s after",
                  i, (double)pause / VPA_SECOND);
}

TEST(who_keeps_undoing_is_answered_after_longer_pauses) {
    static const int pauses[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};

    stubborn = true;
    set_object(registered(OUR_CA, "", PODS, NO_PODS));
    start();
    work_for(VPA_HOUR / 3);
    ck_assert_uint_ge(count_of(COLLECTION), 1 + VPA_COUNT(pauses));
    for (size_t i = 0; i < VPA_COUNT(pauses); i++)
        expect_pause(i + 1, pauses[i] * VPA_SECOND);
    ck_assert_double_eq(RIGHT(), 0);
    ck_assert_double_eq(REPAIRS("rules"), (double)count_of(COLLECTION));
}

/* Undone after so many quiet minutes: the pause after that repair starts over, or does not. */
TEST_TIMES(after_ten_quiet_minutes_the_pauses_start_over, 2) {
    bool over = _i == 1;
    size_t before;

    stubborn = true;
    set_object(registered(OUR_CA, "", PODS, NO_PODS));
    start();
    work_for(2 * VPA_MINUTE);
    stubborn = false;
    work_for(5 * VPA_MINUTE);
    before = count_of(COLLECTION);
    ck_assert_double_eq(RIGHT(), 1);
    vpa_duration quiet = vpa_time_sub(vpa_loop_now(loop), last(COLLECTION)->time);
    work_for((over ? 10 * VPA_MINUTE + VPA_SECOND : 9 * VPA_MINUTE) - quiet);
    stubborn = true;
    set_object(registered(OUR_CA, "", PODS, NO_PODS));
    work_for(5 * VPA_MINUTE);
    ck_assert_uint_gt(count_of(COLLECTION), before + 1);
    expect_pause(before + 1, over ? VPA_SECOND : 256 * VPA_SECOND);
}

/* Overtaken by another replica: nothing to tell. Else it is, and both try again. */
static const struct {
    bool gone;
    int status;
    bool told;
} refusals[] = {{true, 409, false}, {false, 409, false}, {false, 404, false}, {false, 500, true}};

TEST_EACH(a_refused_repair_is_tried_again, refusals) {
    capture_log(0);
    answer(refusals[_i].gone ? "POST" : "PATCH", refusals[_i].status, NULL);
    set_object(refusals[_i].gone ? "" : registered(OUR_CA, "", PODS, NO_PODS));
    start();
    ck_assert_uint_eq(count_of(COLLECTION), 1);
    ck_assert_uint_eq(count_of(EVENTS), 0);
    ck_assert_uint_eq(logged("Cannot repair the registration"), refusals[_i].told);
    sim_cluster_unscript(sim);
    work_for(3 * VPA_SECOND);
    ck_assert_uint_eq(count_of(COLLECTION), 2);
    ck_assert_uint_eq(count_of(EVENTS), 1);
    ck_assert_double_eq(RIGHT(), 1);
}

/* ---- what the API server would take ---- */

static struct vpa_tls_pair issue(const struct vpa_tls_pair *from, vpa_duration ago)
{
    static const char *const names[] = {"vpa-webhook.kube-system.svc"};
    vpa_time then = vpa_time_add(vpa_loop_now(loop), -ago);
    struct vpa_tls_pair pair;
    struct vpa_error err;

    ck_assert_int_eq(
        from ? vpa_tls_create_certificate(from, names, 1, false, then, VPA_HOUR, &pair, &err)
             : vpa_tls_create_ca("ca", then, 24 * VPA_HOUR, &pair, &err),
        0);
    return pair;
}

/* Who cannot tell says no. */
static const struct {
    bool read, may, there; /* the registration */
    vpa_duration ago;      /* when what is served was issued */
    int served, given;     /* given: a new certificate of the CA in the registration */
} takes[] = {
    {false, true, true, 0, -1, -1},          {true, false, true, 0, -1, -1},
    {true, true, false, 0, -1, -1},          {true, true, true, 0, 0, 0},
    {true, true, true, 2 * VPA_HOUR, -1, 0},
};

TEST_EACH(says_what_the_server_would_take, takes) {
    struct vpa_tls_pair authority = issue(NULL, 3 * VPA_HOUR), stranger = issue(NULL, 0);
    struct vpa_tls_pair served = issue(&authority, takes[_i].ago), fresh = issue(&authority, 0);
    struct vpa_tls_pair foreign = issue(&stranger, 0);
    struct proof *proof = proof_new(&(struct proof_options){
        .loop = loop, .client = client, .config = &config, .ns = "kube-system", .port = 1});

    set_object(takes[_i].there ? registered(authority.cert_pem, "", NULL, NULL) : "");
    if (!takes[_i].may)
        answer("GET", 403, NULL);
    proof_serves(proof, served.cert_pem);
    ck_assert(proof_is_serving(proof, served.cert_pem));
    ck_assert(!proof_is_serving(proof, fresh.cert_pem));
    if (takes[_i].read)
        registration_start(proof->registration);
    work_for(VPA_SECOND);
    ck_assert_int_eq(proof_would_take(proof, NULL), takes[_i].served);
    ck_assert_int_eq(proof_would_take(proof, fresh.cert_pem), takes[_i].given);
    ck_assert_int_eq(proof_would_take(proof, foreign.cert_pem), -1);
    proof_free(proof);
    struct vpa_tls_pair *const pairs[] = {&authority, &stranger, &served, &fresh, &foreign};
    for (size_t i = 0; i < VPA_COUNT(pairs); i++)
        vpa_tls_pair_release(pairs[i]);
}

int main(void)
{
    return run_tests("admission_keeper", setup, teardown);
}
