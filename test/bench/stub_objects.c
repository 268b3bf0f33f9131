#include "stub_objects.h"

/* ---- what is the same in all pods ---- */

static const char managed_fields[] =
    "\"managedFields\":[{\"manager\":\"kube-controller-manager\",\"operation\":\"Update\",\"a"
    "piVersion\":\"v1\",\"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"field"
    "sV1\":{\"f:metadata\":{\"f:generateName\":{},\"f:labels\":{\".\":{},\"f:app\":{},\"f:app"
    ".kubernetes.io/managed-by\":{},\"f:pod-template-hash\":{}},\"f:ownerReferences\":{\".\":"
    "{},\"k:{\\\"uid\\\":\\\"1\\\"}\":{}}},\"f:spec\":{\"f:affinity\":{\".\":{},\"f:podAntiAf"
    "finity\":{\".\":{},\"f:preferredDuringSchedulingIgnoredDuringExecution\":{}}},\"f:contai"
    "ners\":{\"k:{\\\"name\\\":\\\"app\\\"}\":{\".\":{},\"f:env\":{\".\":{},\"k:{\\\"name\\\""
    ":\\\"LOG_LEVEL\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}},\"k:{\\\"name\\\":\\\"DATA"
    "BASE_HOST\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}},\"k:{\\\"name\\\":\\\"CACHE_URL"
    "\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}},\"k:{\\\"name\\\":\\\"OTEL_EXPORTER_OTLP"
    "_ENDPOINT\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}},\"k:{\\\"name\\\":\\\"POD_NAME"
    "\\\"}\":{\".\":{},\"f:name\":{},\"f:valueFrom\":{\"f:fieldRef\":{}}},\"k:{\\\"name\\\":"
    "\\\"POD_NAMESPACE\\\"}\":{\".\":{},\"f:name\":{},\"f:valueFrom\":{\"f:fieldRef\":{}}},\""
    "k:{\\\"name\\\":\\\"POD_IP\\\"}\":{\".\":{},\"f:name\":{},\"f:valueFrom\":{\"f:fieldRef"
    "\":{}}},\"k:{\\\"name\\\":\\\"DATABASE_USER\\\"}\":{\".\":{},\"f:name\":{},\"f:valueFrom"
    "\":{\"f:secretKeyRef\":{}}},\"k:{\\\"name\\\":\\\"DATABASE_PASSWORD\\\"}\":{\".\":{},\"f"
    ":name\":{},\"f:valueFrom\":{\"f:secretKeyRef\":{}}}},\"f:image\":{},\"f:imagePullPolicy"
    "\":{},\"f:livenessProbe\":{\".\":{},\"f:failureThreshold\":{},\"f:httpGet\":{\".\":{},\""
    "f:path\":{},\"f:port\":{},\"f:scheme\":{}},\"f:periodSeconds\":{},\"f:successThreshold\""
    ":{},\"f:timeoutSeconds\":{}},\"f:name\":{},\"f:ports\":{\".\":{},\"k:{\\\"containerPort"
    "\\\":8080,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},\"f:containerPort\":{},\"f:name\":{}"
    ",\"f:protocol\":{}}},\"f:readinessProbe\":{\".\":{},\"f:failureThreshold\":{},\"f:httpGe"
    "t\":{\".\":{},\"f:path\":{},\"f:port\":{},\"f:scheme\":{}},\"f:periodSeconds\":{},\"f:su"
    "ccessThreshold\":{},\"f:timeoutSeconds\":{}},\"f:resources\":{\".\":{},\"f:limits\":{\"."
    "\":{},\"f:memory\":{}},\"f:requests\":{\".\":{},\"f:cpu\":{},\"f:memory\":{}}},\"f:termi"
    "nationMessagePath\":{},\"f:terminationMessagePolicy\":{},\"f:volumeMounts\":{\".\":{},\""
    "k:{\\\"mountPath\\\":\\\"/etc/web\\\"}\":{\".\":{},\"f:mountPath\":{},\"f:name\":{},\"f:"
    "readOnly\":{}},\"k:{\\\"mountPath\\\":\\\"/etc/web/tls\\\"}\":{\".\":{},\"f:mountPath\":"
    "{},\"f:name\":{},\"f:readOnly\":{}},\"k:{\\\"mountPath\\\":\\\"/var/cache/web\\\"}\":{\""
    ".\":{},\"f:mountPath\":{},\"f:name\":{}},\"k:{\\\"mountPath\\\":\\\"/var/run/secrets/kub"
    "ernetes.io/serviceaccount\\\"}\":{\".\":{},\"f:mountPath\":{},\"f:name\":{},\"f:readOnly"
    "\":{}}}}},\"f:dnsPolicy\":{},\"f:enableServiceLinks\":{},\"f:restartPolicy\":{},\"f:sche"
    "dulerName\":{},\"f:securityContext\":{},\"f:serviceAccount\":{},\"f:terminationGracePeri"
    "odSeconds\":{},\"f:volumes\":{\".\":{},\"k:{\\\"name\\\":\\\"config\\\"}\":{\".\":{},\"f"
    ":configMap\":{\".\":{},\"f:defaultMode\":{},\"f:name\":{}},\"f:name\":{}}}}}}";

static const char managed_by_kubelet[] =
    ",{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026"
    "-01-01T00:00:05Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:status\":{\"f:condition"
    "s\":{\"k:{\\\"type\\\":\\\"Initialized\\\"}\":{\".\":{},\"f:lastProbeTime\":{},\"f:lastT"
    "ransitionTime\":{},\"f:status\":{},\"f:type\":{}},\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\""
    ".\":{},\"f:lastProbeTime\":{},\"f:lastTransitionTime\":{},\"f:status\":{},\"f:type\":{}}"
    ",\"k:{\\\"type\\\":\\\"ContainersReady\\\"}\":{\".\":{},\"f:lastProbeTime\":{},\"f:lastT"
    "ransitionTime\":{},\"f:status\":{},\"f:type\":{}}},\"f:containerStatuses\":{},\"f:hostIP"
    "\":{},\"f:hostIPs\":{},\"f:phase\":{},\"f:podIP\":{},\"f:podIPs\":{\".\":{},\"k:{\\\"ip"
    "\\\":\\\"10.42.17.93\\\"}\":{\".\":{},\"f:ip\":{}}},\"f:startTime\":{}}},\"subresource\""
    ":\"status\"}";

static const char volumes[] =
    "\"volumes\":[{\"name\":\"config\",\"configMap\":{\"name\":\"web-config\",\"defaultMode\""
    ":420}},{\"name\":\"tls\",\"secret\":{\"secretName\":\"web-tls\",\"defaultMode\":420}},{"
    "\"name\":\"scratch\",\"emptyDir\":{\"sizeLimit\":\"1Gi\"}},{\"name\":\"kube-api-access-x"
    "7k2p\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,"
    "\"path\":\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":"
    "\"ca.crt\",\"path\":\"ca.crt\"}]}},{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\","
    "\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}],\"default"
    "Mode\":420}}]";

static const char container_head[] =
    "\"ports\":[{\"name\":\"http\",\"containerPort\":8080,\"protocol\":\"TCP\"},{\"name\":\"m"
    "etrics\",\"containerPort\":9090,\"protocol\":\"TCP\"}],\"env\":[{\"name\":\"LOG_LEVEL\","
    "\"value\":\"info\"},{\"name\":\"DATABASE_HOST\",\"value\":\"postgres-primary.databases.s"
    "vc.cluster.local\"},{\"name\":\"CACHE_URL\",\"value\":\"redis://redis-master.databases.s"
    "vc.cluster.local:6379/0\"},{\"name\":\"OTEL_EXPORTER_OTLP_ENDPOINT\",\"value\":\"http://"
    "otel-collector.observability.svc:4317\"},{\"name\":\"POD_NAME\",\"valueFrom\":{\"fieldRe"
    "f\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.name\"}}},{\"name\":\"POD_NAMESPACE"
    "\",\"valueFrom\":{\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace"
    "\"}}},{\"name\":\"POD_IP\",\"valueFrom\":{\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPat"
    "h\":\"status.podIP\"}}},{\"name\":\"DATABASE_USER\",\"valueFrom\":{\"secretKeyRef\":{\"n"
    "ame\":\"web-database\",\"key\":\"username\"}}},{\"name\":\"DATABASE_PASSWORD\",\"valueFr"
    "om\":{\"secretKeyRef\":{\"name\":\"web-database\",\"key\":\"password\"}}}],\"resources\""
    ":";

static const char container_tail[] =
    ",\"volumeMounts\":[{\"name\":\"config\",\"readOnly\":true,\"mountPath\":\"/etc/web\"},{"
    "\"name\":\"tls\",\"readOnly\":true,\"mountPath\":\"/etc/web/tls\"},{\"name\":\"scratch\""
    ",\"mountPath\":\"/var/cache/web\"},{\"name\":\"kube-api-access-x7k2p\",\"readOnly\":true"
    ",\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\"}],\"livenessProbe\":{\""
    "httpGet\":{\"path\":\"/healthz\",\"port\":\"http\",\"scheme\":\"HTTP\"},\"timeoutSeconds"
    "\":1,\"periodSeconds\":10,\"successThreshold\":1,\"failureThreshold\":3,\"initialDelaySe"
    "conds\":15},\"readinessProbe\":{\"httpGet\":{\"path\":\"/ready\",\"port\":\"http\",\"sch"
    "eme\":\"HTTP\"},\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,\"failu"
    "reThreshold\":3},\"startupProbe\":{\"httpGet\":{\"path\":\"/healthz\",\"port\":\"http\","
    "\"scheme\":\"HTTP\"},\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,\""
    "failureThreshold\":30},\"lifecycle\":{\"preStop\":{\"exec\":{\"command\":[\"/bin/sleep\""
    ",\"5\"]}}},\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolic"
    "y\":\"File\",\"imagePullPolicy\":\"IfNotPresent\",\"securityContext\":{\"capabilities\":"
    "{\"drop\":[\"ALL\"]},\"runAsNonRoot\":true,\"runAsUser\":10001,\"readOnlyRootFilesystem"
    "\":true,\"allowPrivilegeEscalation\":false}}";

static const char spec_middle[] =
    "\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"Cluste"
    "rFirst\",\"serviceAccountName\":\"web\",\"serviceAccount\":\"web\",";

static const char spec_end[] =
    "\"securityContext\":{\"runAsNonRoot\":true,\"fsGroup\":10001,\"seccompProfile\":{\"type"
    "\":\"RuntimeDefault\"}},\"affinity\":{\"podAntiAffinity\":{\"preferredDuringSchedulingIg"
    "noredDuringExecution\":[{\"weight\":100,\"podAffinityTerm\":{\"labelSelector\":{\"matchL"
    "abels\":{\"app.kubernetes.io/name\":\"web\"}},\"topologyKey\":\"kubernetes.io/hostname\""
    "}}]}},\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":\"node.kubernete"
    "s.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":"
    "300},{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"effect\":\"No"
    "Execute\",\"tolerationSeconds\":300}],\"priorityClassName\":\"default\",\"priority\":0,"
    "\"enableServiceLinks\":true,\"preemptionPolicy\":\"PreemptLowerPriority\",\"topologySpre"
    "adConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"topology.kubernetes.io/zone\",\"whenUn"
    "satisfiable\":\"ScheduleAnyway\",\"labelSelector\":{\"matchLabels\":{\"app.kubernetes.io"
    "/name\":\"web\"}}}]}";

static const char status_head[] =
    "\"status\":{\"observedGeneration\":1,\"phase\":\"Running\",\"conditions\":[{\"type\":\"P"
    "odReadyToStartContainers\",\"observedGeneration\":1,\"status\":\"True\",\"lastProbeTime"
    "\":null,\"lastTransitionTime\":\"2026-01-01T00:00:05Z\"},{\"type\":\"Initialized\",\"obs"
    "ervedGeneration\":1,\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":\""
    "2026-01-01T00:00:05Z\"},{\"type\":\"Ready\",\"observedGeneration\":1,\"status\":\"True\""
    ",\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-01T00:00:05Z\"},{\"type\":\"Con"
    "tainersReady\",\"observedGeneration\":1,\"status\":\"True\",\"lastProbeTime\":null,\"las"
    "tTransitionTime\":\"2026-01-01T00:00:05Z\"},{\"type\":\"PodScheduled\",\"observedGenerat"
    "ion\":1,\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-01T0"
    "0:00:05Z\"}],\"hostIP\":\"10.0.3.17\",\"hostIPs\":[{\"ip\":\"10.0.3.17\"}],\"podIP\":\"1"
    "0.42.17.93\",\"podIPs\":[{\"ip\":\"10.42.17.93\"}],\"startTime\":\"2026-01-01T00:00:01Z"
    "\",\"containerStatuses\":[{\"name\":\"app\",\"state\":{\"running\":{\"startedAt\":\"2026"
    "-01-01T00:00:04Z\"}},\"lastState\":{},\"ready\":true,\"restartCount\":0,\"image\":\"regi"
    "stry.example.com/team/web:1.2.3\",\"imageID\":\"registry.example.com/team/web@sha256:5b0"
    "bcabd1ed22e9fb1310cf6c2dec7cdef19f0ad69efa1f392e94a4333501270\",\"containerID\":\"contai"
    "nerd://0f4d2c6b8e1a3957c0d6e2f8b4a19375d8c6e0f2a4b6c8d0e1f3a5b7c9d1e3f5\",\"started\":tr"
    "ue";

static const char vpa_managed_fields[] =
    "\"managedFields\":[{\"manager\":\"kubectl-client-side-apply\",\"operation\":\"Update\","
    "\"apiVersion\":\"autoscaling.k8s.io/v1\",\"time\":\"2026-01-01T00:00:00Z\",\"fieldsType"
    "\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:annotations\":{\".\":{},\"f:kubectl.ku"
    "bernetes.io/last-applied-configuration\":{}}},\"f:spec\":{\".\":{},\"f:resourcePolicy\":"
    "{\".\":{},\"f:containerPolicies\":{}},\"f:targetRef\":{},\"f:updatePolicy\":{\".\":{},\""
    "f:updateMode\":{}}}}},{\"manager\":\"recommender\",\"operation\":\"Update\",\"apiVersion"
    "\":\"autoscaling.k8s.io/v1\",\"time\":\"2026-01-01T00:05:00Z\",\"fieldsType\":\"FieldsV1"
    "\",\"fieldsV1\":{\"f:status\":{\".\":{},\"f:conditions\":{},\"f:recommendation\":{\".\":"
    "{},\"f:containerRecommendations\":{}}}}}]";

/* ---- the pod ---- */

static void put_labels(struct vpa_buf *b, const struct stub_pod *p)
{
    vpa_buf_printf(b,
                   "\"labels\":{\"app\":\"web-%05zu\",\"app.kubernetes.io/managed-by\":\"Helm\","
                   "\"pod-template-hash\":\"7d4b9c6f5d\"",
                   p->vpa);
    if (p->own_labels)
        vpa_buf_printf(b, ",\"statefulset.kubernetes.io/pod-name\":\"" STUB_POD_NAME "\"", p->vpa,
                       p->number);
    vpa_buf_puts(b, "},");
}

static void put_meta(struct vpa_buf *b, const struct stub_pod *p)
{
    vpa_buf_puts(b, "{\"metadata\":{");
    if (!p->fresh)
        vpa_buf_printf(b,
                       "\"name\":\"" STUB_POD_NAME "\",\"uid\":\"" STUB_POD_UID "\","
                       "\"resourceVersion\":\"%zu\",\"generation\":1,"
                       "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",",
                       p->vpa, p->number, p->number, p->version);
    vpa_buf_printf(b, "\"generateName\":\"web-%05zu-7d4b9c6f5d-\",\"namespace\":\"team-%02zu\",",
                   p->vpa, p->vpa % STUB_NAMESPACES);
    put_labels(b, p);
    vpa_buf_printf(
        b,
        "\"annotations\":%s,\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
        "\"ReplicaSet\",\"name\":\"web-%05zu-7d4b9c6f5d\",\"uid\":\"" STUB_REPLICA_SET_UID "\","
        "\"controller\":true,\"blockOwnerDeletion\":true}],",
        p->annotations, p->vpa, p->vpa);
    vpa_buf_puts(b, managed_fields);
    if (!p->fresh)
        vpa_buf_puts(b, managed_by_kubelet);
    vpa_buf_puts(b, "]},");
}

static void put_container(struct vpa_buf *b, const char *name, const char *resources)
{
    vpa_buf_printf(b, "{\"name\":\"%s\",\"image\":\"registry.example.com/team/web:1.2.3\",", name);
    vpa_buf_puts(b, container_head);
    vpa_buf_puts(b, resources);
    vpa_buf_puts(b, container_tail);
}

/* Of a pod, and of the template that it comes from. */
static void put_spec(struct vpa_buf *b, const struct stub_pod *p)
{
    vpa_buf_puts(b, "\"spec\":{");
    vpa_buf_puts(b, volumes);
    vpa_buf_puts(b, ",\"containers\":[");
    put_container(b, "app", p->resources);
    if (p->sidecar) {
        vpa_buf_putc(b, ',');
        put_container(b, "sidecar", p->sidecar);
    }
    vpa_buf_puts(b, "],");
    vpa_buf_puts(b, spec_middle);
    if (!p->fresh)
        vpa_buf_printf(b, "\"nodeName\":\"node-%04zu\",", p->place / 50);
    vpa_buf_puts(b, spec_end);
}

static void put_status(struct vpa_buf *b, const struct stub_pod *p)
{
    if (p->fresh) {
        vpa_buf_puts(b, ",\"status\":{}}");
        return;
    }
    vpa_buf_putc(b, ',');
    vpa_buf_puts(b, status_head);
    if (p->status_resources)
        vpa_buf_printf(b, ",\"resources\":%s", p->status_resources);
    vpa_buf_puts(b, "}],\"qosClass\":\"Burstable\"}}");
}

void stub_put_pod(struct vpa_buf *b, const struct stub_pod *pod)
{
    put_meta(b, pod);
    put_spec(b, pod);
    put_status(b, pod);
}

/* ---- what belongs to it ---- */

static void put_template(struct vpa_buf *b, size_t vpa)
{
    const struct stub_pod pod = {.vpa = vpa,
                                 .fresh = true,
                                 .resources = "{\"requests\":{\"cpu\":\"100m\",\"memory\":"
                                              "\"256Mi\"},\"limits\":{\"memory\":\"512Mi\"}}"};

    vpa_buf_puts(b, "\"template\":{\"metadata\":{");
    put_labels(b, &pod);
    vpa_buf_puts(b, "\"creationTimestamp\":null},");
    put_spec(b, &pod);
    vpa_buf_puts(b, "}},");
}

static void put_workload_status(struct vpa_buf *b, size_t replicas)
{
    vpa_buf_printf(b,
                   "\"status\":{\"observedGeneration\":1,\"replicas\":%zu,\"readyReplicas\":%zu,"
                   "\"availableReplicas\":%zu}}",
                   replicas, replicas, replicas);
}

void stub_put_deployment(struct vpa_buf *b, size_t vpa, size_t replicas)
{
    vpa_buf_printf(b,
                   "{\"metadata\":{\"name\":\"web-%05zu\",\"namespace\":\"team-%02zu\","
                   "\"uid\":\"" STUB_DEPLOYMENT_UID "\",\"resourceVersion\":\"%zu\","
                   "\"generation\":1,\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
                   "\"labels\":{\"app\":\"web-%05zu\"},",
                   vpa, vpa % STUB_NAMESPACES, vpa, vpa + 1, vpa);
    vpa_buf_puts(b, managed_fields);
    vpa_buf_printf(b,
                   "]},\"spec\":{\"replicas\":%zu,\"selector\":{\"matchLabels\":{\"app\":"
                   "\"web-%05zu\"}},",
                   replicas, vpa);
    put_template(b, vpa);
    put_workload_status(b, replicas);
}

void stub_put_replica_set(struct vpa_buf *b, size_t vpa, size_t replicas)
{
    vpa_buf_printf(b,
                   "{\"metadata\":{\"name\":\"web-%05zu-7d4b9c6f5d\",\"namespace\":\"team-%02zu\","
                   "\"uid\":\"" STUB_REPLICA_SET_UID "\",\"resourceVersion\":\"%zu\","
                   "\"generation\":1,\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
                   "\"labels\":{\"app\":\"web-%05zu\",\"pod-template-hash\":\"7d4b9c6f5d\"},"
                   "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
                   "\"name\":\"web-%05zu\",\"uid\":\"" STUB_DEPLOYMENT_UID
                   "\",\"controller\":true,\"blockOwnerDeletion\":true}],",
                   vpa, vpa % STUB_NAMESPACES, vpa, vpa + 1, vpa, vpa, vpa);
    vpa_buf_puts(b, managed_fields);
    vpa_buf_printf(b,
                   "]},\"spec\":{\"replicas\":%zu,\"selector\":{\"matchLabels\":{\"app\":"
                   "\"web-%05zu\",\"pod-template-hash\":\"7d4b9c6f5d\"}},",
                   replicas, vpa);
    put_template(b, vpa);
    put_workload_status(b, replicas);
}

void stub_put_vpa(struct vpa_buf *b, const struct stub_vpa *v)
{
    vpa_buf_printf(b,
                   "{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
                   "\"metadata\":{\"name\":\"web-%05zu\",\"namespace\":\"team-%02zu\","
                   "\"uid\":\"" STUB_VPA_UID "\",\"resourceVersion\":\"%zu\",\"generation\":1,"
                   "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",",
                   v->number, v->number % STUB_NAMESPACES, v->number, v->version);
    vpa_buf_puts(b, vpa_managed_fields);
    vpa_buf_printf(b,
                   "},\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
                   "\"name\":\"web-%05zu\"},\"updatePolicy\":{\"updateMode\":\"%s\"},"
                   "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\","
                   "\"minAllowed\":{\"cpu\":\"10m\",\"memory\":\"32Mi\"},\"maxAllowed\":{"
                   "\"cpu\":\"4\",\"memory\":\"8Gi\"}}]}}",
                   v->number, v->mode);
    if (v->status)
        vpa_buf_printf(b, ",\"status\":%s", v->status);
    vpa_buf_puts(b, "}");
}
