/* The admission controller's metrics: names, labels and buckets are upstream's. */
#include "meters.h"

#include "vpa/base/mem.h"
#include "vpa/kube/reflector.h"

static struct vpa_metric pods =
    VPA_COUNTER("vpa_admission_controller_admission_pods_total",
                "Number of Pods processed by VPA Admission Controller.", "applied");
static struct vpa_metric failures =
    VPA_COUNTER("vpa_admission_controller_pod_calculation_failures_total",
                "Pods admitted without a patch because it could not be calculated.");

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

struct vpa_metric *const admission_metrics[] = {
    &pods, &failures, &admission_latency, &step_latency, &vpa_unusable_objects,
};
const size_t admission_metric_count = VPA_COUNT(admission_metrics);

void meter_pod(bool applied)
{
    vpa_metric_inc(&pods, applied ? "true" : "false");
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
