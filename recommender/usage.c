#include "usage.h"

#include "external.h"
#include "metrics.h"

#include "vpa/api/metrics_api.h"
#include "vpa/base/log.h"
#include "vpa/kube/list.h"

#define METRICS_GROUP_VERSION "metrics.k8s.io/v1beta1"

struct reading {
    const struct usage_options *options;
    vpa_time now;
    struct vpa_arena arena;
    size_t unusable;
};

/* Called while the pass waits for the answer: the model is the pass' own. */
static void on_pod_metrics(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    struct reading *r = ctx;
    struct vpa_pod_metrics pod;
    struct vpa_error err;

    (void)text;
    if (vpa_pod_metrics_decode(&r->arena, item, &pod, &err) < 0) {
        if (r->unusable++ == 0)
            VPA_WARN("Cannot use the metrics of a pod", VPA_KERR(&err));
    } else {
        for (size_t i = 0; i < pod.container_count; i++)
            usage_add(r->options,
                      &(struct usage_sample){.ns = pod.ns,
                                             .pod = pod.name,
                                             .container = pod.containers[i].name,
                                             .time = pod.timestamp,
                                             .cpu_millis = pod.containers[i].cpu_millis,
                                             .memory_bytes = pod.containers[i].memory_bytes},
                      r->now);
    }
    vpa_arena_clear(&r->arena);
}

static int collect_metrics(const struct usage_options *o, vpa_time now, struct vpa_error *err)
{
    struct reading reading = {.options = o, .now = now};
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, METRICS_GROUP_VERSION, o->config->common.vpa_object_namespace, "pods",
                  NULL, NULL);
    struct vpa_list_request request = {.path = vpa_buf_text(&path),
                                       .timeout = usage_patience(o->config->interval),
                                       .with_unreadable = true};
    int result = vpa_list_each(o->client, &request, on_pod_metrics, &reading, err);
    if (reading.unusable > 1)
        VPA_WARN("Some pods had unusable metrics", VPA_KV("pods", (int64_t)reading.unusable));
    vpa_arena_release(&reading.arena);
    return result;
}

bool usage_collect(const struct usage_options *options, vpa_time now)
{
    struct vpa_error err;

    options->memory->unknown.message = "Usage of containers that are not known";
    int result = options->config->use_external_metrics ? usage_collect_external(options, now, &err)
                                                       : collect_metrics(options, now, &err);

    failures_report(&options->memory->unknown);
    if (vpa_loop_is_stopping(vpa_kube_client_loop(options->client)))
        return result == 0;
    vpa_metric_inc(&metrics_usage_responses, result < 0 ? "true" : "false",
                   "default-metrics-client");
    if (result < 0)
        VPA_ERROR_UNLESS_TOLD(&err, "Cannot get ContainerMetricsSnapshot from MetricsClient",
                              VPA_KERR(&err));
    return result == 0;
}
