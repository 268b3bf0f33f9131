#include "restart_fixture.h"

const char *annotation(const char *name)
{
    return vpa_json_string(vpa_json_find(
        vpa_json_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"), "metadata.annotations"),
        name));
}

void put_checkpoint(const char *annotations, const char *memory)
{
    change(vpa_arena_printf(
        &arena,
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
              "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-app\",%s"
              "\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":"
              "\"app\"},\"status\":{\"lastUpdateTime\":\"2026-01-15T11:00:00Z\","
              "\"version\":\"v3\",\"memoryHistogram\":%s,\"cpuHistogram\":{"
              "\"referenceTimestamp\":null}}}"),
        annotations, memory));
}

void use_a_peak(const char *flag)
{
    start(flag);
    pass(USAGE("1", "4Gi"));
    for (int i = 0; i < 3; i++)
        pass(USAGE("1", "1Gi"));
}
