#include "stub_pod.h"

static void put_meta(struct vpa_buf *b, const struct stub_pod *p)
{
    vpa_buf_printf(
        b,
        "{\"metadata\":{\"name\":\"" STUB_POD_NAME "\",\"generateName\":\"web-%05zu-"
        "7d4b9c6f5d-\",\"namespace\":\"team-%02zu\",\"uid\":\"" STUB_POD_UID "\","
        "\"resourceVersion\":\"%zu\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
        "\"labels\":{\"app\":\"web-%05zu\",\"app.kubernetes.io/managed-by\":\"Helm\","
        "\"pod-template-hash\":\"7d4b9c6f5d\"},\"annotations\":%s,"
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
        "\"web-%05zu-7d4b9c6f5d\",\"uid\":\"1\",\"controller\":true,\"blockOwnerDeletion\":true}]}"
        ",",
        p->vpa, p->number, p->vpa, p->vpa % STUB_NAMESPACES, p->number, p->version, p->vpa,
        p->annotations, p->vpa);
}

static void put_spec(struct vpa_buf *b, const struct stub_pod *p)
{
    vpa_buf_printf(
        b,
        "\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-x\",\"projected\":{\"sources\":[{"
        "\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}}],"
        "\"defaultMode\":420}}],"
        "\"containers\":[{\"name\":\"app\",\"image\":\"registry.example.com/team/web:1.2.3\","
        "\"ports\":[{\"containerPort\":8080,\"protocol\":\"TCP\"}],\"resources\":%s,"
        "\"terminationMessagePath\":\"/dev/termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}]"
        ",\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,"
        "\"dnsPolicy\":\"ClusterFirst\",\"nodeName\":\"node-%04zu\","
        "\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\","
        "\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]},",
        p->resources, p->place / 50);
}

void stub_put_pod(struct vpa_buf *b, const struct stub_pod *pod)
{
    put_meta(b, pod);
    put_spec(b, pod);
    vpa_buf_puts(b,
                 "\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-01-01T00:00:01Z\","
                 "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
                 "\"lastTransitionTime\":\"2026-01-01T00:00:05Z\"}],"
                 "\"containerStatuses\":[{\"name\":\"app\",\"state\":{\"running\":{\"startedAt\":"
                 "\"2026-01-01T00:00:04Z\"}},\"lastState\":{},\"ready\":true,\"restartCount\":0,"
                 "\"image\":\"registry.example.com/team/web:1.2.3\",\"started\":true");
    if (pod->status_resources)
        vpa_buf_printf(b, ",\"resources\":%s", pod->status_resources);
    vpa_buf_puts(b, "}],\"qosClass\":\"Burstable\"}}");
}
