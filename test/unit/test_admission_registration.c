/* What is read out of a MutatingWebhookConfiguration: whom it calls, whose it is, what is wrong. */
#include "suite.h"

#include "json_helper.h"
#include "registration_view.h"
#include "webhook.h"

static struct admission_config config;
static const struct registration_wanted wanted = {.config = &config, .ns = "kube-system"};
static struct registration_view view;

static void setup(void)
{
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};

    vpa_flags_preset(&flags);
}

static void teardown(void)
{
    registration_view_release(&view);
    vpa_arena_release(&arena);
}

/* What we would register, as the API server gives it back, with a piece of its text replaced. */
static const struct vpa_json *registered(const char *from, const char *to)
{
    vpa_auto_buf text = VPA_BUF(1 << 16);

    webhook_encode(&config, "kube-system", "-CA-", &text);
    const char *json = vpa_buf_text(&text), *at = from ? strstr(json, from) : json;
    ck_assert_msg(at != NULL, "%s in %s", from, json);
    return json_of(vpa_arena_printf(&arena, "%.*s%s%s", (int)(at - json), json, to,
                                    at + (from ? strlen(from) : 0)));
}

#define METADATA "\"metadata\":{\"name\":\"vpa-webhook-config\"}"
#define META(TEXT) "\"metadata\":{\"annotations\":{" TEXT "}}"
#define SERVICE "\"service\":{\"namespace\":\"kube-system\",\"name\":\"vpa-webhook\"}"
#define SELECTOR                                                                                   \
    "\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"kubernetes.io/metadata.name\","       \
    "\"operator\":\"NotIn\",\"values\":[\"\"]}]}"
#define EXPRESSIONS "\"matchExpressions\":["
/* What AKS and GKE Autopilot add to every webhook. */
#define AKS                                                                                        \
    "{\"key\":\"control-plane\",\"operator\":\"DoesNotExist\"},"                                   \
    "{\"key\":\"kubernetes.azure.com/managedby\",\"operator\":\"NotIn\",\"values\":[\"aks\"]}"
#define GKE                                                                                        \
    "{\"key\":\"kubernetes.io/"                                                                    \
    "metadata.name\",\"operator\":\"NotIn\",\"values\":[\"kube-system\"]}"
#define PODS "\"resources\":[\"pods\"]"
#define SERVICE_WITH(MORE)                                                                         \
    "\"service\":{\"namespace\":\"kube-system\",\"name\":\"vpa-webhook\"," MORE "}"
#define VERSIONS(LIST) "\"admissionReviewVersions\":[" LIST "]"
#define POD_RULE                                                                                   \
    "{\"operations\":[\"CREATE\"],\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"]," PODS "}"

static const struct fault_row {
    const char *from, *to;
    const char *fault;        /* of an object of ours */
    const char *fault_theirs; /* with --register-webhook=false */
} faults[] = {
    {NULL, "", "", ""},
    {SERVICE, "\"service\":{\"namespace\":\"kube-system\",\"name\":\"vpa-webhook\",\"port\":443}",
     "", ""},
    {PODS, PODS ",\"scope\":\"*\"", "", ""},
    {PODS, PODS ",\"scope\":\"Cluster\"", "rules", "rules"},
    {PODS, "\"resources\":[\"configmaps\"]", "rules", "rules"},
    {"\"operations\":[\"CREATE\"]", "\"operations\":[\"UPDATE\"]", "rules", "rules"},
    {PODS, "\"resources\":[\"*\"]", "rules", ""},
    {PODS, "\"resources\":[\"*/*\"]", "rules", ""},
    {PODS, "\"resources\":[\"pods\",\"services\"]", "rules", ""},
    {PODS, PODS ",\"scope\":\"Namespaced\"", "rules", ""},
    {"\"apiGroups\":[\"\"]", "\"apiGroups\":[\"apps\"]", "rules", "rules"},
    {"\"apiGroups\":[\"\"]", "\"apiGroups\":[\"apps\",\"\"]", "rules", ""},
    {"\"apiVersions\":[\"v1\"]", "\"apiVersions\":[\"v2\"]", "rules", "rules"},
    {"\"operations\":[\"CREATE\"]", "\"operations\":[\"*\"]", "rules", ""},
    {"\"rules\":[", "\"rules\":[" POD_RULE ",", "rules", ""},
    {"verticalpodautoscalers", "others", "rules", ""},
    {SERVICE, "\"service\":{\"namespace\":\"kube-system\",\"name\":\"other\"}", "service", ""},
    {SERVICE, "\"service\":{\"namespace\":\"other\",\"name\":\"vpa-webhook\"}", "service", ""},
    {SERVICE, "\"service\":{\"namespace\":\"kube-system\",\"name\":\"vpa-webhook\",\"port\":8443}",
     "service", ""},
    {SERVICE, SERVICE_WITH("\"path\":\"/\""), "", ""},
    {SERVICE, SERVICE_WITH("\"path\":\"/v\""), "service", ""},
    {SERVICE, "\"url\":\"https://elsewhere\"", "service", ""},
    {SELECTOR, "\"namespaceSelector\":{}", "namespaceSelector", ""},
    {"\"values\":[\"\"]", "\"values\":[\"payments\"]", "", ""}, /* by flags of another replica */
    {"metadata.name\"", "metadata.other\"", "namespaceSelector", ""},
    {"\"matchExpressions\":[", "\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"},",
     "namespaceSelector", ""},
    {"\"values\":[\"\"]}]", "\"values\":[\"\"]},{\"key\":\"a\",\"operator\":\"Exists\"}]",
     "namespaceSelector", ""},
    /* Others may leave out more namespaces, but not all of them. */
    {EXPRESSIONS, EXPRESSIONS AKS ",", "", ""},
    {"\"values\":[\"\"]}]", "\"values\":[\"\"]}," AKS "]", "", ""},
    {EXPRESSIONS, EXPRESSIONS GKE ",", "", ""},
    {EXPRESSIONS, EXPRESSIONS AKS ",{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b\"]},",
     "namespaceSelector", ""},
    {EXPRESSIONS,
     EXPRESSIONS "{\"key\":\"kubernetes.io/metadata.name\",\"operator\":\"DoesNotExist\"},",
     "namespaceSelector", ""},
    {SELECTOR, "\"namespaceSelector\":{" EXPRESSIONS AKS "]}", "namespaceSelector", ""},
    {"\"matchExpressions\":[", "\"matchLabels\":{},\"matchExpressions\":[", "", ""},
    {"\"matchExpressions\":[", "\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":[",
     "namespaceSelector", ""},
    {"\"NotIn\"", "\"In\"", "namespaceSelector", ""},
    {SELECTOR, "\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}}", "namespaceSelector", ""},
    {SELECTOR, SELECTOR ",\"objectSelector\":{}", "", ""},
    {SELECTOR, SELECTOR ",\"objectSelector\":{\"matchLabels\":{},\"matchExpressions\":[]}", "", ""},
    {SELECTOR, SELECTOR ",\"objectSelector\":null,\"matchConditions\":null", "", ""},
    {SELECTOR, SELECTOR ",\"objectSelector\":{\"matchExpressions\":[{}]}", "objectSelector", ""},
    {SELECTOR, SELECTOR ",\"matchConditions\":[]", "", ""},
    {SELECTOR, SELECTOR ",\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}", "objectSelector",
     ""},
    {SELECTOR, SELECTOR ",\"matchConditions\":[{\"name\":\"n\",\"expression\":\"false\"}]",
     "matchConditions", ""},
    {VERSIONS("\"v1\""), VERSIONS("\"v1beta1\""), "admissionReviewVersions",
     "admissionReviewVersions"},
    {VERSIONS("\"v1\""), VERSIONS("\"v1beta1\",\"v1\""), "admissionReviewVersions",
     "admissionReviewVersions"},
    {VERSIONS("\"v1\""), VERSIONS("\"v2\""), "admissionReviewVersions", "admissionReviewVersions"},
    {VERSIONS("\"v1\""), VERSIONS("\"v2\",\"v1\",\"v1beta1\""), "", ""},
    {"\"webhooks\":[", "\"others\":[", "webhooks", "webhooks"},
};

START_TEST(faults_are_found)
{
    const struct fault_row *row = &faults[_i];
    const struct vpa_json *object = registered(row->from, row->to);

    registration_view_read(&view, object, &wanted);
    ck_assert_str_eq(view.fault, row->fault);
    config.register_webhook = false;
    registration_view_read(&view, object, &wanted);
    ck_assert_str_eq(view.fault, row->fault_theirs);
}
END_TEST

/* Registered by an address of its own, only that counts. */
START_TEST(an_address_is_compared_as_it_is)
{
    config.register_by_url = true;
    config.webhook_address = "https://example.com";
    config.webhook_port = "8443";
    registration_view_read(&view, registered(NULL, ""), &wanted);
    ck_assert_str_eq(view.fault, "");
    ck_assert_str_eq(view.host, "example.com");
    registration_view_read(&view, registered("com:8443", "com:8444"), &wanted);
    ck_assert_str_eq(view.fault, "service");
}
END_TEST

static const struct owner_row {
    const char *annotations;
    bool registering;
    bool object, ca; /* ours */
} owners[] = {
    {"", true, true, true},
    {"", false, false, false},
    {"\"cert-manager.io/inject-ca-from\":\"ns/name\"", true, true, false},
    {"\"cert-manager.io/inject-ca-from-secret\":\"ns/name\"", true, true, false},
    {"\"cert-manager.io/inject-apiserver-ca\":\"true\"", true, true, false},
    {"\"meta.helm.sh/release-name\":\"vpa\"", true, false, false},
    {"\"meta.helm.sh/release-name\":\"vpa\"", false, false, false},
};

START_TEST(owners_are_told_apart)
{
    const struct owner_row *row = &owners[_i];
    const char *metadata = vpa_arena_printf(&arena, META("%s"), row->annotations);

    config.register_webhook = row->registering;
    registration_view_read(&view, registered(METADATA, metadata), &wanted);
    ck_assert_int_eq(view.object_is_ours, row->object);
    ck_assert_int_eq(view.ca_is_ours, row->ca);
    ck_assert_str_eq(view.fault, "");
}
END_TEST

static const struct {
    const char *from, *to;
    const char *host, *ca;
} calls[] = {
    {NULL, "", "vpa-webhook.kube-system.svc", "-CA-"},
    {SERVICE, "\"url\":\"https://example.com:8443/path\"", "example.com", "-CA-"},
    {SERVICE, "\"url\":\"https://[::1]:8443\"", "::1", "-CA-"},
    {",\"caBundle\":\"LUNBLQ==\"", "", "vpa-webhook.kube-system.svc", ""},
    {SERVICE, "\"url\":\"https://example.com/path\"", "example.com", "-CA-"},
    {SERVICE, "\"url\":\"example.com:1\"", "example.com", "-CA-"},
    {"LUNBLQ==", "!", "vpa-webhook.kube-system.svc", "unreadable"},
    {"\"name\":\"vpa.k8s.io\"", "\"name\":\"first\"", "vpa-webhook.kube-system.svc", "-CA-"},
};

START_TEST(says_whom_the_server_calls)
{
    registration_view_read(&view, registered(calls[_i].from, calls[_i].to), &wanted);
    ck_assert_str_eq(view.host, calls[_i].host);
    ck_assert_str_eq(view.ca, calls[_i].ca);
}
END_TEST

/* A webhook of another name may stand before ours. */
START_TEST(finds_the_webhook_by_its_name)
{
    registration_view_read(
        &view,
        registered("\"webhooks\":[", "\"webhooks\":[{\"name\":\"first\",\"clientConfig\":{}},"),
        &wanted);
    ck_assert_uint_eq(view.index, 1);
    ck_assert_str_eq(view.fault, "");
}
END_TEST

/* What flags set differs from what is there: no fault, but the next start registers it anew. */
static const struct {
    const char *from, *to;
    bool differ;
} settings[] = {
    {NULL, "", false},
    {"\"failurePolicy\":\"Ignore\"", "\"failurePolicy\":\"Fail\"", true},
    {"\"timeoutSeconds\":30", "\"timeoutSeconds\":10", true},
    {"\"sideEffects\":\"None\"", "\"sideEffects\":\"Some\"", true},
    {"\"values\":[\"\"]", "\"values\":[\"payments\"]", true},
    {EXPRESSIONS, EXPRESSIONS AKS ",", false},
    {EXPRESSIONS, EXPRESSIONS GKE ",", false},
    {"\"values\":[\"\"]}", "\"values\":[\"payments\"]}," AKS, true},
    {"\"values\":[\"\"]}", "\"values\":[\"payments\"]}," GKE, true},
    {"\"team\":\"a\"", "\"team\":\"b\"", true},
    {"\"team\":\"a\"", "", true},
    {"\"team\":\"a\"", "\"team\":\"a\",\"more\":\"c\"", false},
};

START_TEST(settings_are_compared)
{
    config.webhook_labels = "team:a";
    registration_view_read(&view, registered(settings[_i].from, settings[_i].to), &wanted);
    ck_assert_int_eq(view.settings_differ, settings[_i].differ);
    bool namespaces = settings[_i].from && strstr(settings[_i].from, "values");
    ck_assert_int_eq(view.namespaces_differ, namespaces);
    ck_assert_str_eq(view.fault, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission_registration");
    TCase *tc = tcase_create("view");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, faults_are_found, 0, (int)VPA_COUNT(faults));
    tcase_add_test(tc, an_address_is_compared_as_it_is);
    tcase_add_loop_test(tc, owners_are_told_apart, 0, (int)VPA_COUNT(owners));
    tcase_add_loop_test(tc, says_whom_the_server_calls, 0, (int)VPA_COUNT(calls));
    tcase_add_test(tc, finds_the_webhook_by_its_name);
    tcase_add_loop_test(tc, settings_are_compared, 0, (int)VPA_COUNT(settings));
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
