/* The admission controller's metrics: names, labels and buckets are upstream's. */
#include "meters.h"

#include "vpa/base/mem.h"
#include "vpa/kube/reflector.h"
#include "vpa/net/http_server.h"

struct vpa_metric meter_pods =
    VPA_COUNTER("vpa_admission_controller_admission_pods_total",
                "Number of Pods processed by VPA Admission Controller.", "applied");
struct vpa_metric meter_calculation_failures =
    VPA_COUNTER("vpa_admission_controller_pod_calculation_failures_total",
                "Pods admitted without a patch because it could not be calculated.");

struct vpa_metric meter_queries =
    VPA_COUNTER("vpa_admission_controller_recommendation_queries_total",
                "Pods for which the recommender was to be asked, by what came of it.", "result");

static const double admission_seconds[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8,
                                           0.9,  1,    2,    5,   10,  20,  30,  60,  120, 300};
struct vpa_metric meter_admission_seconds = VPA_HISTOGRAM(
    "vpa_admission_controller_admission_latency_seconds", "Time spent in VPA Admission Controller.",
    admission_seconds, "status", "resource");

static const double step_seconds[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,   2,   5,   10,  20, 30,
                                      40,   50,   60,   70,  80,  90,  100, 120, 150, 240, 300};
struct vpa_metric meter_step_seconds =
    VPA_HISTOGRAM("vpa_admission_controller_execution_latency_seconds",
                  "Time spent in various parts of VPA admission controller", step_seconds, "step");

struct vpa_metric meter_certificate =
    VPA_GAUGE("vpa_admission_controller_certificate_expiry_seconds",
              "Unix time at which the certificate that is served ends.");
struct vpa_metric meter_handshakes =
    VPA_COUNTER("vpa_admission_controller_tls_handshake_failures_total",
                "TLS handshakes with the webhook that did not come to their end.", "reason");
struct vpa_metric meter_self_tests = VPA_COUNTER(
    "vpa_admission_controller_self_test_failures_total",
    "Failed proofs that the API server can use the webhook, by the step that failed.", "step");
struct vpa_metric meter_repairs =
    VPA_COUNTER("vpa_admission_controller_registration_repairs_total",
                "Repairs of the MutatingWebhookConfiguration, by what was wrong.", "what");
struct vpa_metric meter_registration = VPA_GAUGE(
    "vpa_admission_controller_registration_right",
    "1 while the MutatingWebhookConfiguration is as it should be or may not be read, else 0.");
struct vpa_metric meter_panic =
    VPA_GAUGE("vpa_admission_controller_panic",
              "1 while the ConfigMap vpa-panic exists and pods are admitted as they are, else 0.");

struct vpa_metric *const admission_metrics[] = {
    &meter_pods,
    &meter_calculation_failures,
    &meter_admission_seconds,
    &meter_step_seconds,
    &meter_certificate,
    &meter_handshakes,
    &meter_self_tests,
    &meter_repairs,
    &meter_registration,
    &meter_panic,
    &meter_queries,
};
const size_t admission_metric_count = VPA_COUNT(admission_metrics);

void meters_start(void)
{
    static const char *const results[] = {"Recommendation", "NoRecommendation", "Refused",
                                          "Garbled",        "Failed",           "NotAsked",
                                          "Busy",           "TooLong"};
    static const char *const wrong[] = {"gone",
                                        "caBundle",
                                        "service",
                                        "rules",
                                        "namespaceSelector",
                                        "objectSelector",
                                        "matchConditions",
                                        "admissionReviewVersions",
                                        "webhooks"};
    static const char *const steps[] = {"registration", "chain", "validity", "handshake", "answer"};

    vpa_metric_start(&meter_queries, results, VPA_COUNT(results));
    vpa_metric_start(&meter_repairs, wrong, VPA_COUNT(wrong));
    vpa_metric_start(&meter_self_tests, steps, VPA_COUNT(steps));
    for (size_t i = 0; vpa_server_handshake_failure(i); i++)
        vpa_metric_add(&meter_handshakes, 0, vpa_server_handshake_failure(i));
}
