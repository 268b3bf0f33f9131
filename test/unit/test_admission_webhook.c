/* Registering ourselves, and a new CA for what is registered, in the simulator. */
#include <stdio.h>
#include <unistd.h>

#include "client_fixture.h"
#include "json_helper.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "registration_view.h"
#include "webhook.h"
#include "captured_log.h"

#define NAME "vpa-webhook-config"
#define COLLECTION "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
#define METADATA "\"metadata\":{\"name\":\"" NAME "\"}"
#define ANNOTATED(TEXT) "\"metadata\":{\"name\":\"" NAME "\",\"annotations\":{" TEXT "}}"
#define CERT_MANAGERS ANNOTATED("\"cert-manager.io/inject-ca-from\":\"ns/name\"")
#define HELMS ANNOTATED("\"meta.helm.sh/release-name\":\"vpa\"")
#define SELECTOR "\"namespaceSelector\":{\"matchExpressions\":["
#define IGNORE "\"failurePolicy\":\"Ignore\","
#define AKS /* adds that to every webhook */                                                       \
    "{\"key\":\"control-plane\",\"operator\":\"NotIn\",\"values\":[\"true\"]},"                    \
    "{\"key\":\"kubernetes.azure.com/managedby\",\"operator\":\"NotIn\",\"values\":[\"aks\"]}"
#define CA "-CA-"
#define OTHER_CA "other CA"
#define UNREAD "MutatingWebhookConfiguration " NAME " is there, but was not read"
#define CANNOT_CREATE "cannot create MutatingWebhookConfiguration " NAME ": "
#define CANNOT_PATCH "cannot patch MutatingWebhookConfiguration " NAME ": "
#define CANNOT_DELETE "cannot delete MutatingWebhookConfiguration " NAME ": "
#define CAUSES "\"causes\":[{\"message\":\"m\",\"field\":\"f\"}]"
#define LOST (-1) /* no status: the connection is lost */
#define TESTED                                                                                     \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"code\":422,\"details\":" \
    "{%s}}"

static struct admission_config config;
static char ca_file[64];

static const char *refused;  /* the method that is refused */
static int refusal;          /* with that status */
static const char *details;  /* of a refusal with 422 */
static struct vpa_buf calls; /* the methods, in order */
static const char *written;  /* the last body */
static const char *rivals;   /* what an older replica puts back when it finds nothing */

static int serve_first(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    bool creates = strcmp(q->method, "POST") == 0;

    (void)ctx;
    ck_assert_str_eq(q->path, creates ? COLLECTION : COLLECTION "/" NAME);
    vpa_buf_printf(&calls, "%s%s", calls.len ? " " : "", q->method);
    if (*q->body)
        written = vpa_arena_strdup(&arena, q->body);
    if (creates && rivals)
        sim_cluster_put_text(sim, VPA_STEAL(rivals));
    if (!vpa_str_eq(q->method, refused))
        return 0;
    if (refusal == LOST)
        vpa_memory_reply_fail(r, VPA_TRANSPORT_RESET);
    else if (details)
        vpa_memory_reply_json(r, refusal, vpa_arena_printf(&arena, TESTED, details));
    else
        vpa_memory_reply_status(r, refusal, NULL, "refused");
    return refusal;
}

static void write_ca(const char *text)
{
    FILE *file = fopen(ca_file, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void setup(void)
{
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};

    vpa_flags_preset(&flags);
    snprintf(ca_file, sizeof(ca_file), "/tmp/plumb-webhook-XXXXXX");
    int fd = mkstemp(ca_file);
    ck_assert_int_ge(fd, 0);
    close(fd);
    config.client_ca_file = ca_file;
    start_client(NULL, 1780000000, 1);
    sim_cluster_hook(sim, serve_first, NULL);
    vpa_buf_init(&calls, 4096);
}

static void teardown(void)
{
    unlink(ca_file);
    vpa_buf_release(&calls);
    stop_client();
    vpa_arena_release(&arena);
}

/* The object as we would register it for that CA, with a piece of its text replaced. */
static const char *registered(const char *ca, const char *from, const char *to)
{
    vpa_auto_buf text = VPA_BUF(1 << 16);

    webhook_encode(&config, "kube-system", ca, &text);
    const char *json = vpa_buf_text(&text), *at = from ? strstr(json, from) : json;
    ck_assert_msg(at != NULL, "%s in %s", from, json);
    return vpa_arena_printf(&arena, "%.*s%s%s", (int)(at - json), json, to,
                            at + (from ? strlen(from) : 0));
}

/* ---- registering ---- */

static const struct register_row {
    const char *ca, *from, *to; /* what is there; CA NULL: nothing */
    const char *calls;
} registers[] = {
    {NULL, NULL, "", "GET POST"},
    {CA, NULL, "", "GET"},
    {CA, METADATA, HELMS, "GET"},
    {OTHER_CA, METADATA, HELMS, "GET"},
    {OTHER_CA, METADATA, CERT_MANAGERS, "GET"},
    {CA, "\"pods\"", "\"configmaps\"", "GET DELETE POST"},
    /* Nothing is gone in between: new flags, a new CA. */
    {OTHER_CA, NULL, "", "GET PATCH"},
    {CA, "\"failurePolicy\":\"Ignore\"", "\"failurePolicy\":\"Fail\"", "GET PATCH"},
    {CA, "\"values\":[\"\"]", "\"values\":[\"payments\"]", "GET PATCH"},
    {CA, "\"team\":\"a\"", "\"team\":\"b\"", "GET PATCH"},
    {CA, SELECTOR, SELECTOR AKS ",", "GET"},
};

static const struct vpa_json *live(void)
{
    return sim_cluster_find(sim, &arena, WEBHOOK_GROUP_VERSION, "MutatingWebhookConfiguration", "",
                            NAME);
}

/* By our flags, with that CA. */
static void expect_ours(const char *ca)
{
    const struct registration_wanted wanted = {.config = &config, .ns = "kube-system"};
    struct registration_view view = {0};

    registration_view_read(&view, live(), &wanted);
    ck_assert_str_eq(view.fault, "");
    ck_assert(!view.settings_differ);
    ck_assert_str_eq(view.ca, ca);
    registration_view_release(&view);
}

TEST_EACH(what_is_right_stays_and_what_is_not_is_made_anew, registers) {
    const struct register_row *row = &registers[_i];
    struct vpa_error err;

    if (row->from && strstr(row->from, "team"))
        config.webhook_labels = "team:a";
    if (row->ca)
        sim_cluster_put_text(sim, registered(row->ca, row->from, row->to));
    ck_assert_int_eq(webhook_register(client, &config, "kube-system", CA, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&calls), row->calls);
    if (strstr(row->calls, "POST"))
        ck_assert_str_eq(text_of(json_of(written)), text_of(json_of(registered(CA, NULL, ""))));
    if (strstr(row->calls, "PATCH"))
        expect_ours(CA);
}

/* What others leave out stays so, however ours is written. */
static const struct {
    const char *from, *to;
    int refusal; /* of the patch */
    const char *calls;
} others[] = {
    {IGNORE SELECTOR, "\"failurePolicy\":\"Fail\"," SELECTOR AKS ",", 0, "GET PATCH"},
    {IGNORE SELECTOR, "\"failurePolicy\":\"Fail\"," SELECTOR AKS ",", 403, "GET PATCH DELETE POST"},
    {SELECTOR, SELECTOR "{\"key\":\"a\",\"operator\":\"Exists\"}," AKS ",", 0, "GET DELETE POST"},
};

#define NAMES(VALUES)                                                                              \
    "{\"key\":\"kubernetes.io/metadata.name\",\"operator\":\"NotIn\",\"values\":[" VALUES "]}"
#define GKES NAMES("\"kube-system\",\"gke-managed\"")
#define PAYMENTS NAMES("\"payments\"")

/* Names that others leave out are told from ours only while ours stand beside them. */
static const struct {
    const char *there, *left;
} names[] = {
    {GKES "," PAYMENTS, NAMES("\"\"")},
    {PAYMENTS "," GKES "," AKS, NAMES("\"\"") "," AKS},
    {GKES, NAMES("\"\"")},
    {GKES "," NAMES("\"\""), NAMES("\"\"") "," GKES},
};

TEST_EACH(names_that_are_ignored_no_more_are_not_left_out, names) {
    struct vpa_error err;

    sim_cluster_put_text(sim, registered(CA, NAMES("\"\""), names[_i].there));
    config.webhook_failure_policy_fail = true;
    ck_assert_int_eq(webhook_register(client, &config, "kube-system", CA, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&calls), "GET PATCH");
    expect_ours(CA);
    ck_assert_str_eq(text_of(vpa_json_at(vpa_json_first(vpa_json_find(live(), "webhooks")),
                                         "namespaceSelector.matchExpressions")),
                     vpa_arena_printf(&arena, "[%s]", names[_i].left));
}

TEST_EACH(namespaces_that_others_leave_out_stay_left_out, others) {
    struct vpa_error err;

    sim_cluster_put_text(sim, registered(CA, others[_i].from, others[_i].to));
    refused = others[_i].refusal ? "PATCH" : NULL;
    refusal = others[_i].refusal;
    ck_assert_int_eq(webhook_register(client, &config, "kube-system", CA, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&calls), others[_i].calls);
    expect_ours(CA);
    const char *text = text_of(live());
    ck_assert_msg(strstr(text, "\"values\":[\"\"]}," AKS "]") != NULL, "%s", text);
}

/* Labels that others have set stay where ours are written, also one that tells an enforcer to keep
 * away. */
TEST_TIMES(labels_of_others_stay, 2) {
    struct vpa_error err;
    const char *theirs = vpa_arena_printf(
        &arena, "\"metadata\":{\"name\":\"" NAME "\"%s",
        _i ? ",\"labels\":{\"admissions.enforcer/disabled\":\"true\",\"a/b\":\"c\"}}" : "}");

    sim_cluster_put_text(sim, registered(CA, METADATA, theirs));
    config.webhook_labels = "team:a,a/b:d";
    ck_assert_int_eq(webhook_register(client, &config, "kube-system", CA, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&calls), "GET PATCH");
    expect_ours(CA);
    ck_assert_uint_eq(vpa_json_count(vpa_json_at(live(), "metadata.labels")), _i ? 3U : 2U);
}

/* An injector's caBundle stays when our flags are new, and so does what says that it is his. */
TEST(a_bundle_that_is_not_ours_stays) {
    struct vpa_error err;

    sim_cluster_put_text(sim, registered(OTHER_CA, METADATA, CERT_MANAGERS));
    config.webhook_failure_policy_fail = true;
    ck_assert_int_eq(webhook_register(client, &config, "kube-system", CA, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&calls), "GET PATCH");
    expect_ours(OTHER_CA);
    ck_assert_ptr_nonnull(vpa_json_at(live(), "metadata.annotations"));
}

/* ... to the byte, whatever it is. */
TEST(a_bundle_that_cannot_be_read_stays) {
    struct vpa_error err;
    const char *garbled = registered("other", METADATA, CERT_MANAGERS);

    int before = (int)(strstr(garbled, "b3RoZXI=") - garbled);
    sim_cluster_put_text(sim, vpa_arena_printf(&arena, "%.*s!!!!%s", before, garbled,
                                               garbled + before + strlen("b3RoZXI=")));
    config.webhook_failure_policy_fail = true;
    ck_assert_int_eq(webhook_register(client, &config, "kube-system", CA, &err), 0);
    const struct vpa_json *hook = vpa_json_first(vpa_json_find(live(), "webhooks"));
    ck_assert_str_eq(vpa_json_string(vpa_json_at(hook, "clientConfig.caBundle")), "!!!!");
}

/* An older replica repairs what is gone, by its own flags: ours are the newer ones. */
TEST(what_an_older_replica_puts_back_is_made_anew) {
    struct vpa_error err;

    sim_cluster_put_text(sim, registered(CA, "\"pods\"", "\"configmaps\""));
    rivals = registered(CA, "\"NotIn\"", "\"In\"");
    ck_assert_int_eq(webhook_register(client, &config, "kube-system", CA, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&calls), "GET DELETE POST GET DELETE POST");
    expect_ours(CA);
}

static const struct refusal_row {
    const char *method;
    int status;
    const char *calls;
    const char *error; /* the beginning; NULL: success */
    enum vpa_code code;
} refusals[] = {
    {"POST", 409, "GET DELETE POST GET POST", NULL, 0}, /* another replica was faster */
    {"POST", 403, "GET DELETE POST", CANNOT_CREATE, VPA_DENIED},
    {"POST", 422, "GET DELETE POST", CANNOT_CREATE, VPA_INVALID},
    {"POST", 500, "GET DELETE POST", CANNOT_CREATE, VPA_DENIED},
    {"DELETE", 403, "GET DELETE", CANNOT_DELETE, VPA_DENIED},
    {"DELETE", 503, "GET DELETE", CANNOT_DELETE, VPA_RETRY},
    /* What passes leaves what is there. */
    {"PATCH", 500, "GET PATCH", CANNOT_PATCH, VPA_RETRY},
    {"PATCH", 503, "GET PATCH", CANNOT_PATCH, VPA_RETRY},
    {"PATCH", 429, "GET PATCH", CANNOT_PATCH, VPA_RETRY},
    {"PATCH", 401, "GET PATCH", CANNOT_PATCH, VPA_RETRY},
    {"PATCH", LOST, "GET PATCH", CANNOT_PATCH, VPA_RETRY},
    /* Neither passes nor speaks of our rights. */
    {"PATCH", 400, "GET PATCH", CANNOT_PATCH, VPA_INVALID},
    {"PATCH", 422, "GET PATCH", CANNOT_PATCH, VPA_INVALID},
    {"GET", 403, "GET POST", NULL, 0}, /* taken as absence */
    /* ... for now: what is there is looked at later */
    {"GET", 503, "GET POST", UNREAD, VPA_RETRY},
    {"GET", 429, "GET POST", UNREAD, VPA_RETRY},
    {"GET", 401, "GET POST", UNREAD, VPA_RETRY},
    {"PATCH", 409, "GET PATCH GET PATCH GET PATCH",
     "MutatingWebhookConfiguration " NAME ": somebody else keeps writing it", VPA_RETRY},
    {"PATCH", 403, "GET PATCH DELETE POST", NULL, 0}, /* no right to it: as before there was one */
    {"PATCH", 405, "GET PATCH DELETE POST", NULL, 0}, /* no patch comes through to the server */
    {"PATCH", 415, "GET PATCH DELETE POST", NULL, 0},
};

TEST_EACH(refusals_end_the_registration_but_for_a_faster_replica, refusals) {
    const struct refusal_row *row = &refusals[_i];
    struct vpa_error err = {0};

    bool mends = strcmp(row->method, "PATCH") == 0;

    sim_cluster_put_text(
        sim, registered(OTHER_CA, mends ? NULL : "\"pods\"", mends ? "" : "\"configmaps\""));
    refused = row->method;
    refusal = row->status;
    details = row->status == 422 ? CAUSES : NULL;
    capture_log(0);
    ck_assert_int_eq(webhook_register(client, &config, "kube-system", CA, &err),
                     row->error ? -1 : 0);
    ck_assert_str_eq(vpa_buf_text(&calls), row->calls);
    ck_assert_int_eq(err.code, row->code);
    ck_assert_uint_eq(logged("it stays as it is"), strcmp(row->method, "GET") == 0 && !row->error);
    if (row->error)
        ck_assert_msg(vpa_str_starts_with(err.text, row->error), "%s", err.text);
}

/* ---- a new CA ---- */

static const struct reload_row {
    const char *file; /* what is in it; NULL: there is none */
    const char *ca, *from, *to;
    const char *refused;
    const char *calls;
    int result;
} reloads[] = {
    {CA, CA, NULL, "", NULL, "GET", 0},
    {CA, OTHER_CA, NULL, "", NULL, "GET PATCH", 0},
    {CA, "-CA+", NULL, "", NULL, "GET PATCH", 0}, /* of the same length */
    {CA, CA, "LUNBLQ==", "!", NULL, "GET PATCH", 0},
    {CA, CA, ",\"caBundle\":\"LUNBLQ==\"", "", NULL, "GET PATCH", 0},
    {CA, OTHER_CA, METADATA, HELMS, NULL, "GET", 0},
    {CA, OTHER_CA, METADATA, CERT_MANAGERS, NULL, "GET", 0},
    {CA, CA, "\"webhooks\":[", "\"others\":[", NULL, "GET", -1},
    {CA, OTHER_CA, NULL, "", "GET", "GET", -1},
    {CA, OTHER_CA, NULL, "", "PATCH", "GET PATCH", -1},
    {"", OTHER_CA, NULL, "", NULL, "", 0},
    {NULL, OTHER_CA, NULL, "", NULL, "", 0},
};

TEST_EACH(a_new_ca_is_put_where_it_differs, reloads) {
    const struct reload_row *row = &reloads[_i];

    sim_cluster_put_text(sim, registered(row->ca, row->from, row->to));
    refused = row->refused;
    refusal = 403;
    if (row->file)
        write_ca(row->file);
    else
        unlink(ca_file);
    ck_assert_int_eq(webhook_reload_ca(client, &config), row->result);
    ck_assert_str_eq(vpa_buf_text(&calls), row->calls);
    if (strstr(row->calls, "PATCH"))
        ck_assert_str_eq(written, "{\"webhooks\":[{\"name\":\"vpa.k8s.io\",\"clientConfig\":{"
                                  "\"caBundle\":\"LUNBLQ==\"}}]}");
}

TEST(the_file_is_read_or_there_is_none) {
    write_ca(CA);
    vpa_auto_free char *text = webhook_read_ca(ca_file);
    ck_assert_str_eq(text, CA);
    ck_assert_ptr_null(webhook_read_ca("/nonexistent"));
}

/* ---- a patch whose test fails ---- */

static const struct {
    int status;
    const char *details;
    bool conflict;
} tests[] = {
    {422, "", true},
    {422, CAUSES, false},
    {409, NULL, true},
    {400, NULL, false},
};

/* As upstream reads them: of a key that comes twice the last counts, and what is no list of labels
 * is none at all. */
static const struct {
    const char *flag, *labels; /* NULL: none */
} label_flags[] = {
    {"a:b", "{\"a\":\"b\"}"},
    {"a:b,c:d", "{\"a\":\"b\",\"c\":\"d\"}"},
    {"a:b,c:d,a:e", "{\"a\":\"e\",\"c\":\"d\"}"},
    {"a:b,ab:d", "{\"a\":\"b\",\"ab\":\"d\"}"},
    {"\"a:b,c:d\"", "{\"a\":\"b\",\"c\":\"d\"}"},
    {"\"a:b,c:d,e:f\"", "{\"a\":\"b\",\"c\":\"d\",\"e\":\"f\"}"},
    {"a:b,c", NULL},
    {"a:b,:c", NULL},
};

TEST_EACH(labels_of_the_registration, label_flags) {
    vpa_auto_buf text = VPA_BUF(1 << 16);
    const struct vpa_json *labels;

    config.webhook_labels = label_flags[_i].flag;
    webhook_encode(&config, "kube-system", CA, &text);
    labels = vpa_json_at(json_of(vpa_buf_text(&text)), "metadata.labels");
    if (label_flags[_i].labels)
        ck_assert_str_eq(text_of(labels), label_flags[_i].labels);
    else
        ck_assert_ptr_null(labels);
}

TEST_EACH(a_test_that_fails_is_a_conflict, tests) {
    vpa_auto_buf body = VPA_BUF(16);
    struct vpa_error err = {0};

    sim_cluster_put_text(sim, registered(CA, NULL, ""));
    refused = "PATCH";
    refusal = tests[_i].status;
    details = tests[_i].details;
    vpa_buf_puts(&body, "[]");
    ck_assert_int_eq(webhook_call(client, VPA_KUBE_PATCH_JSON, NAME, &body, &err), -1);
    ck_assert_int_eq(err.code == VPA_CONFLICT, tests[_i].conflict);
    ck_assert_int_eq(webhook_call(client, VPA_KUBE_PATCH_JSON, NAME, &body, NULL), -1);
    refused = NULL;
    ck_assert_int_eq(webhook_call(client, VPA_KUBE_PATCH_JSON, NAME, &body, &err), 0);
}

int main(void)
{
    return run_tests("admission_webhook", setup, teardown);
}
