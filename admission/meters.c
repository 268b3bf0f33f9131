/* The admission controller's metrics: names, labels and buckets are upstream's. */
#include "meters.h"

#include "vpa/base/mem.h"
#include "vpa/kube/reflector.h"
#include "vpa/net/http_server.h"

static struct vpa_metric pods =
    VPA_COUNTER("vpa_admission_controller_admission_pods_total",
                "Number of Pods processed by VPA Admission Controller.", "applied");
static struct vpa_metric failures =
    VPA_COUNTER("vpa_admission_controller_pod_calculation_failures_total",
                "Pods admitted without a patch because it could not be calculated.");

static struct vpa_metric queries =
    VPA_COUNTER("vpa_admission_controller_recommendation_queries_total",
                "Pods for which the recommender was to be asked, by what came of it.", "result");

static const double admission_seconds[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8,
                                           0.9,  1,    2,    5,   10,  20,  30,  60,  120, 300};
static struct vpa_metric admission_latency = VPA_HISTOGRAM(
    "vpa_admission_controller_admission_latency_seconds", "Time spent in VPA Admission Controller.",
    admission_seconds, "status", "resource");

static const double step_seconds[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,   2,   5,   10,  20, 30,
                                      40,   50,   60,   70,  80,  90,  100, 120, 150, 240, 300};
static struct vpa_metric step_latency =
    VPA_HISTOGRAM("vpa_admission_controller_execution_latency_seconds",
                  "Time spent in various parts of VPA admission controller", step_seconds, "step");

static struct vpa_metric certificate =
    VPA_GAUGE("vpa_admission_controller_certificate_expiry_seconds",
              "Unix time at which the certificate that is served ends.");
static struct vpa_metric handshakes =
    VPA_COUNTER("vpa_admission_controller_tls_handshake_failures_total",
                "TLS handshakes with the webhook that did not come to their end.", "reason");
static struct vpa_metric self_tests = VPA_COUNTER(
    "vpa_admission_controller_self_test_failures_total",
    "Failed proofs that the API server can use the webhook, by the step that failed.", "step");
static struct vpa_metric repairs =
    VPA_COUNTER("vpa_admission_controller_registration_repairs_total",
                "Repairs of the MutatingWebhookConfiguration, by what was wrong.", "what");
static struct vpa_metric registration = VPA_GAUGE(
    "vpa_admission_controller_registration_right",
    "1 while the MutatingWebhookConfiguration is as it should be or may not be read, else 0.");
static struct vpa_metric panic =
    VPA_GAUGE("vpa_admission_controller_panic",
              "1 while the ConfigMap vpa-panic exists and pods are admitted as they are, else 0.");

struct vpa_metric *const admission_metrics[] = {
    &pods,       &failures, &admission_latency, &step_latency, &certificate, &handshakes,
    &self_tests, &repairs,  &registration,      &panic,        &queries,
};
const size_t admission_metric_count = VPA_COUNT(admission_metrics);

static void start(struct vpa_metric *metric, const char *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        vpa_metric_add(metric, 0, values[i]);
}

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

    start(&queries, results, VPA_COUNT(results));
    start(&repairs, wrong, VPA_COUNT(wrong));
    start(&self_tests, steps, VPA_COUNT(steps));
    for (size_t i = 0; vpa_server_handshake_failure(i); i++)
        vpa_metric_add(&handshakes, 0, vpa_server_handshake_failure(i));
}

void meter_pod(bool applied)
{
    vpa_metric_inc(&pods, applied ? "true" : "false");
}

void meter_recommendation_query(const char *result)
{
    vpa_metric_inc(&queries, result);
}

void meter_calculation_failed(void)
{
    vpa_metric_inc(&failures);
}

void meter_admission(const char *status, const char *resource, double seconds)
{
    vpa_metric_observe(&admission_latency, seconds, status, resource);
}

void meter_step(const char *step, double seconds)
{
    vpa_metric_observe(&step_latency, seconds, step);
}

void meter_certificate(double expires)
{
    vpa_metric_set(&certificate, expires);
}

void meter_handshake_failed(const char *reason)
{
    vpa_metric_inc(&handshakes, reason);
}

void meter_self_test_failed(const char *step)
{
    vpa_metric_inc(&self_tests, step);
}

void meter_repair(const char *what)
{
    vpa_metric_inc(&repairs, what);
}

void meter_registration(bool right)
{
    vpa_metric_set(&registration, right ? 1 : 0);
}

void meter_panic(bool on)
{
    vpa_metric_set(&panic, on ? 1 : 0);
}
