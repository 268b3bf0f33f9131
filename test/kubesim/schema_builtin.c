/*
 * The built-in types in a small language, one line per type:
 *
 *     Type: member=T member=T ...
 *
 * T is s string, S string that is written when it is empty too (the server has a pointer, or says
 * so), i int32, I int64, b boolean, f number, q quantity, t time, m micro time, x int or
 * string, * anything, or a type name; []T a list; []T@key,key a list merged by those members (the
 * first is the key of strategic merge patches, all of them of server-side apply); []s+ a set; {}T a
 * map; a closing ! means owned as a whole, a = behind it replaced as a whole by strategic merge
 * patches too. ResourceList is {}q with rounding to a milli. What is *
 * is stored as given.
 */
#include "schema.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const definitions[] = {
    "ObjectMeta: name=s generateName=s namespace=s selfLink=s uid=s resourceVersion=s generation=I "
    "creationTimestamp=t deletionTimestamp=t deletionGracePeriodSeconds=I labels={}s "
    "annotations={}s "
    "ownerReferences=[]OwnerReference!@uid finalizers=[]s+ managedFields=[]ManagedFieldsEntry!",
    "OwnerReference: apiVersion=S kind=S name=S uid=S controller=b blockOwnerDeletion=b",
    "ManagedFieldsEntry: manager=s operation=s apiVersion=s time=t fieldsType=s fieldsV1=* "
    "subresource=s",
    "LabelSelector: matchLabels={}s matchExpressions=[]LabelSelectorRequirement!",
    "LabelSelectorRequirement: key=S operator=S values=[]s!",
    "Condition: type=S status=S observedGeneration=I lastTransitionTime=t lastProbeTime=t "
    "lastUpdateTime=t lastHeartbeatTime=t reason=s message=s",
    "ObjectReference: kind=s namespace=s name=s uid=s apiVersion=s resourceVersion=s fieldPath=s",
    "LocalObjectReference: name=s",

    "Namespace: metadata=ObjectMeta spec=NamespaceSpec status=NamespaceStatus",
    "NamespaceSpec: finalizers=[]s!",
    "NamespaceStatus: phase=s conditions=[]Condition@type",

    "Node: metadata=ObjectMeta spec=NodeSpec status=NodeStatus",
    "NodeSpec: podCIDR=s podCIDRs=[]s+ providerID=s unschedulable=b taints=[]Taint! configSource=* "
    "externalID=s",
    "Taint: key=S value=s effect=S timeAdded=t",
    "NodeStatus: declaredFeatures=[]s! capacity=ResourceList allocatable=ResourceList phase=s "
    "conditions=[]Condition@type "
    "addresses=[]NodeAddress@type daemonEndpoints=* nodeInfo=* images=* volumesInUse=* "
    "volumesAttached=* config=* runtimeHandlers=* features=*",
    "NodeAddress: type=S address=S",

    "Pod: metadata=ObjectMeta spec=PodSpec status=PodStatus",
    "PodTemplateSpec: metadata=ObjectMeta spec=PodSpec",
    "PodSpec: volumes=[]Volume@name initContainers=[]Container@name containers=[]Container@name "
    "ephemeralContainers=[]Container@name restartPolicy=s terminationGracePeriodSeconds=I "
    "activeDeadlineSeconds=I dnsPolicy=s nodeSelector={}s! serviceAccountName=s serviceAccount=s "
    "automountServiceAccountToken=b nodeName=s hostNetwork=b hostPID=b hostIPC=b "
    "shareProcessNamespace=b securityContext=PodSecurityContext "
    "imagePullSecrets=[]LocalObjectReference@name "
    "hostname=s subdomain=s affinity=* schedulerName=s tolerations=[]Toleration! "
    "hostAliases=[]HostAlias@ip priorityClassName=s priority=i dnsConfig=* "
    "readinessGates=[]ReadinessGate! "
    "runtimeClassName=S enableServiceLinks=b preemptionPolicy=S overhead=ResourceList "
    "topologySpreadConstraints=[]Spread@topologyKey,whenUnsatisfiable setHostnameAsFQDN=b os=PodOS "
    "hostUsers=b "
    "schedulingGates=[]LocalObjectReference@name resourceClaims=* resources=ResourceRequirements "
    "hostnameOverride=S",
    "PodOS: name=S",
    "ReadinessGate: conditionType=S",
    "HostAlias: ip=S hostnames=[]s!",
    "Spread: maxSkew=i topologyKey=S whenUnsatisfiable=S labelSelector=LabelSelector minDomains=i "
    "nodeAffinityPolicy=S nodeTaintsPolicy=S matchLabelKeys=[]s!",
    "Toleration: key=s operator=s value=s effect=s tolerationSeconds=I",
    "PodSecurityContext: seLinuxOptions=* windowsOptions=* runAsUser=I runAsGroup=I runAsNonRoot=b "
    "supplementalGroups=[]I! supplementalGroupsPolicy=S fsGroup=I sysctls=* fsGroupChangePolicy=S "
    "seccompProfile=* appArmorProfile=* seLinuxChangePolicy=S",
    "Volume: name=S hostPath=* emptyDir=* secret=* configMap=* persistentVolumeClaim=* projected=* "
    "downwardAPI=* nfs=* csi=* ephemeral=* iscsi=* rbd=* gitRepo=* fc=* glusterfs=* cephfs=* "
    "cinder=* awsElasticBlockStore=* gcePersistentDisk=* azureDisk=* azureFile=* flexVolume=* "
    "flocker=* portworxVolume=* quobyte=* scaleIO=* storageos=* vsphereVolume=* "
    "photonPersistentDisk=* image=*",
    "Container: name=S image=s command=[]s! args=[]s! workingDir=s "
    "ports=[]ContainerPort@containerPort,protocol "
    "envFrom=* env=[]EnvVar@name resources=ResourceRequirements resizePolicy=[]ResizePolicy! "
    "restartPolicy=S restartPolicyRules=* volumeMounts=[]VolumeMount@mountPath "
    "volumeDevices=[]VolumeDevice@devicePath "
    "livenessProbe=Probe readinessProbe=Probe startupProbe=Probe lifecycle=* "
    "terminationMessagePath=s "
    "terminationMessagePolicy=s imagePullPolicy=s securityContext=* stdin=b stdinOnce=b tty=b "
    "targetContainerName=s",
    "ContainerPort: name=s hostPort=i containerPort=i protocol=s hostIP=s",
    "EnvVar: name=S value=s valueFrom=EnvVarSource",
    "EnvVarSource: fieldRef=FieldRef! resourceFieldRef=ResourceFieldRef! configMapKeyRef=KeyRef! "
    "secretKeyRef=KeyRef! fileKeyRef=*",
    "FieldRef: apiVersion=s fieldPath=S",
    "ResourceFieldRef: containerName=s resource=S divisor=q",
    "KeyRef: name=s key=S optional=b",
    "VolumeMount: name=S readOnly=b recursiveReadOnly=S mountPath=S subPath=s mountPropagation=S "
    "subPathExpr=s",
    "VolumeDevice: name=S devicePath=S",
    "Probe: exec=* httpGet=* tcpSocket=* grpc=* initialDelaySeconds=i timeoutSeconds=i "
    "periodSeconds=i "
    "successThreshold=i failureThreshold=i terminationGracePeriodSeconds=I",
    "ResourceRequirements: limits=ResourceList requests=ResourceList claims=*",
    "ResizePolicy: resourceName=S restartPolicy=S",
    "PodStatus: observedGeneration=I phase=s conditions=[]Condition@type message=s reason=s "
    "nominatedNodeName=s hostIP=s hostIPs=* podIP=s podIPs=[]PodIP@ip startTime=t "
    "initContainerStatuses=[]ContainerStatus! containerStatuses=[]ContainerStatus! qosClass=s "
    "ephemeralContainerStatuses=[]ContainerStatus! resize=s resourceClaimStatuses=* "
    "extendedResourceClaimStatus=* allocatedResources=ResourceList resources=ResourceRequirements",
    "PodIP: ip=S",
    "ContainerStatus: name=S state=ContainerState lastState=ContainerState ready=b restartCount=i "
    "image=S "
    "imageID=S containerID=s started=b allocatedResources=ResourceList "
    "resources=ResourceRequirements "
    "volumeMounts=* user=* allocatedResourcesStatus=* stopSignal=S",
    "ContainerState: waiting=ContainerStateWaiting running=ContainerStateRunning "
    "terminated=ContainerStateTerminated",
    "ContainerStateWaiting: reason=s message=s",
    "ContainerStateRunning: startedAt=t",
    "ContainerStateTerminated: exitCode=i signal=i reason=s message=s startedAt=t finishedAt=t "
    "containerID=s",
    "Binding: metadata=ObjectMeta target=ObjectReference",
    "Eviction: metadata=ObjectMeta deleteOptions=*",

    "ReplicationController: metadata=ObjectMeta spec=ReplicationControllerSpec "
    "status=ReplicaSetStatus",
    "ReplicationControllerSpec: replicas=i minReadySeconds=i selector={}s! "
    "template=PodTemplateSpec",
    "Event: metadata=ObjectMeta involvedObject=ObjectReference! reason=s message=s "
    "source=EventSource "
    "firstTimestamp=t lastTimestamp=t count=i type=s eventTime=m series=EventSeries action=s "
    "related=ObjectReference reportingComponent=S reportingInstance=S",
    "EventSource: component=s host=s",
    "EventSeries: count=i lastObservedTime=m",
    "NewEvent: metadata=ObjectMeta eventTime=m series=EventSeries reportingController=s "
    "reportingInstance=s "
    "action=s reason=s regarding=ObjectReference related=ObjectReference note=s type=s "
    "deprecatedSource=EventSource deprecatedFirstTimestamp=t deprecatedLastTimestamp=t "
    "deprecatedCount=i",
    "LimitRange: metadata=ObjectMeta spec=LimitRangeSpec",
    "LimitRangeSpec: limits=[]LimitRangeItem!",
    "LimitRangeItem: type=S max=ResourceList min=ResourceList default=ResourceList "
    "defaultRequest=ResourceList maxLimitRequestRatio=ResourceList",
    "ResourceQuota: metadata=ObjectMeta spec=ResourceQuotaSpec status=ResourceQuotaStatus",
    "ResourceQuotaSpec: hard=ResourceList scopes=[]s! scopeSelector=*",
    "ResourceQuotaStatus: hard=ResourceList used=ResourceList",
    "ConfigMap: metadata=ObjectMeta immutable=b data={}s binaryData={}s",
    "Secret: metadata=ObjectMeta immutable=b data={}s stringData={}s type=s",
    "ServiceAccount: metadata=ObjectMeta secrets=[]ObjectReference@name "
    "imagePullSecrets=[]LocalObjectReference! "
    "automountServiceAccountToken=b",
    "Service: metadata=ObjectMeta spec=ServiceSpec status=ServiceStatus",
    "ServiceSpec: ports=[]ServicePort@port,protocol selector={}s! clusterIP=s clusterIPs=[]s! "
    "type=s externalIPs=[]s! "
    "sessionAffinity=s loadBalancerIP=s loadBalancerSourceRanges=[]s! externalName=s "
    "externalTrafficPolicy=s "
    "healthCheckNodePort=i publishNotReadyAddresses=b sessionAffinityConfig=* ipFamilies=[]s! "
    "ipFamilyPolicy=S "
    "allocateLoadBalancerNodePorts=b loadBalancerClass=S internalTrafficPolicy=S "
    "trafficDistribution=S",
    "ServicePort: name=s protocol=s appProtocol=S port=i targetPort=x nodePort=i",
    "ServiceStatus: loadBalancer=* conditions=[]Condition@type",
    "Endpoints: metadata=ObjectMeta subsets=*",
    "PersistentVolumeClaim: metadata=ObjectMeta spec=* status=*",

    "Deployment: metadata=ObjectMeta spec=DeploymentSpec status=DeploymentStatus",
    "DeploymentSpec: replicas=i selector=LabelSelector! template=PodTemplateSpec "
    "strategy=DeploymentStrategy "
    "minReadySeconds=i revisionHistoryLimit=i paused=b progressDeadlineSeconds=i",
    "DeploymentStrategy: type=s rollingUpdate=RollingUpdate",
    "RollingUpdate: maxUnavailable=x maxSurge=x partition=i",
    "DeploymentStatus: observedGeneration=I replicas=i updatedReplicas=i readyReplicas=i "
    "availableReplicas=i "
    "unavailableReplicas=i terminatingReplicas=i conditions=[]Condition@type collisionCount=i",
    "ReplicaSet: metadata=ObjectMeta spec=ReplicaSetSpec status=ReplicaSetStatus",
    "ReplicaSetSpec: replicas=i minReadySeconds=i selector=LabelSelector! template=PodTemplateSpec",
    "ReplicaSetStatus: replicas=i fullyLabeledReplicas=i readyReplicas=i availableReplicas=i "
    "terminatingReplicas=i observedGeneration=I conditions=[]Condition@type",
    "StatefulSet: metadata=ObjectMeta spec=StatefulSetSpec status=StatefulSetStatus",
    "StatefulSetSpec: replicas=i selector=LabelSelector! template=PodTemplateSpec "
    "volumeClaimTemplates=* "
    "serviceName=S podManagementPolicy=s updateStrategy=DeploymentStrategy revisionHistoryLimit=i "
    "minReadySeconds=i "
    "persistentVolumeClaimRetentionPolicy=* ordinals=*",
    "StatefulSetStatus: observedGeneration=I replicas=i readyReplicas=i currentReplicas=i "
    "updatedReplicas=i "
    "currentRevision=s updateRevision=s collisionCount=i conditions=[]Condition@type "
    "availableReplicas=i",
    "DaemonSet: metadata=ObjectMeta spec=DaemonSetSpec status=DaemonSetStatus",
    "DaemonSetSpec: selector=LabelSelector! template=PodTemplateSpec "
    "updateStrategy=DeploymentStrategy "
    "minReadySeconds=i revisionHistoryLimit=i",
    "DaemonSetStatus: currentNumberScheduled=i numberMisscheduled=i desiredNumberScheduled=i "
    "numberReady=i "
    "observedGeneration=I updatedNumberScheduled=i numberAvailable=i numberUnavailable=i "
    "collisionCount=i "
    "conditions=[]Condition@type",
    "Job: metadata=ObjectMeta spec=JobSpec status=JobStatus",
    "JobSpec: parallelism=i completions=i activeDeadlineSeconds=I podFailurePolicy=* "
    "successPolicy=* backoffLimit=i "
    "backoffLimitPerIndex=i maxFailedIndexes=i selector=LabelSelector! manualSelector=b "
    "template=PodTemplateSpec "
    "ttlSecondsAfterFinished=i completionMode=S suspend=b podReplacementPolicy=S managedBy=S",
    "JobStatus: conditions=[]Condition! startTime=t completionTime=t active=i succeeded=i failed=i "
    "terminating=i "
    "completedIndexes=s failedIndexes=S uncountedTerminatedPods=* ready=i",
    "CronJob: metadata=ObjectMeta spec=CronJobSpec status=CronJobStatus",
    "CronJobSpec: schedule=S timeZone=S startingDeadlineSeconds=I concurrencyPolicy=s suspend=b "
    "jobTemplate=JobTemplateSpec successfulJobsHistoryLimit=i failedJobsHistoryLimit=i",
    "JobTemplateSpec: metadata=ObjectMeta spec=JobSpec",
    "CronJobStatus: active=[]ObjectReference! lastScheduleTime=t lastSuccessfulTime=t",
    "PodDisruptionBudget: metadata=ObjectMeta spec=PodDisruptionBudgetSpec "
    "status=PodDisruptionBudgetStatus",
    "PodDisruptionBudgetSpec: minAvailable=x selector=LabelSelector!= maxUnavailable=x "
    "unhealthyPodEvictionPolicy=S",
    "PodDisruptionBudgetStatus: observedGeneration=I disruptedPods={}t disruptionsAllowed=i "
    "currentHealthy=i "
    "desiredHealthy=i expectedPods=i conditions=[]Condition@type",
    "Lease: metadata=ObjectMeta spec=LeaseSpec",
    "LeaseSpec: holderIdentity=S leaseDurationSeconds=i acquireTime=m renewTime=m "
    "leaseTransitions=i strategy=S "
    "preferredHolder=S",
    "Scale: metadata=ObjectMeta spec=ScaleSpec status=ScaleStatus",
    "ScaleSpec: replicas=i",
    "ScaleStatus: replicas=i selector=s",
    "MutatingWebhookConfiguration: metadata=ObjectMeta webhooks=[]Webhook@name",
    "ValidatingWebhookConfiguration: metadata=ObjectMeta webhooks=[]Webhook@name",
    "Webhook: name=S clientConfig=WebhookClientConfig rules=[]RuleWithOperations! failurePolicy=S "
    "matchPolicy=S "
    "namespaceSelector=LabelSelector objectSelector=LabelSelector sideEffects=S timeoutSeconds=i "
    "admissionReviewVersions=[]s! reinvocationPolicy=S matchConditions=[]MatchCondition@name",
    "MatchCondition: name=S expression=S",
    "WebhookClientConfig: url=S service=WebhookService caBundle=s",
    "WebhookService: namespace=S name=S path=S port=i",
    "RuleWithOperations: operations=[]s! apiGroups=[]s! apiVersions=[]s! resources=[]s! scope=S",
    "CustomResourceDefinition: metadata=ObjectMeta spec=* status=*",
    "APIService: metadata=ObjectMeta spec=APIServiceSpec status=APIServiceStatus",
    "APIServiceSpec: service=WebhookService group=s version=s insecureSkipTLSVerify=b caBundle=s "
    "groupPriorityMinimum=i versionPriority=i",
    "APIServiceStatus: conditions=[]Condition@type",
    "Role: metadata=ObjectMeta rules=[]PolicyRule!",
    "ClusterRole: metadata=ObjectMeta rules=[]PolicyRule! aggregationRule=*",
    "PolicyRule: verbs=[]s! apiGroups=[]s! resources=[]s! resourceNames=[]s! nonResourceURLs=[]s!",
    "RoleBinding: metadata=ObjectMeta subjects=[]Subject! roleRef=RoleRef",
    "ClusterRoleBinding: metadata=ObjectMeta subjects=[]Subject! roleRef=RoleRef",
    "Subject: kind=S apiGroup=s name=S namespace=s",
    "RoleRef: apiGroup=S kind=S name=S",
    "PriorityClass: metadata=ObjectMeta value=i globalDefault=b description=s preemptionPolicy=S",
    "SelfSubjectAccessReview: metadata=ObjectMeta spec=* status=*",
    "SubjectAccessReview: metadata=ObjectMeta spec=* status=*",
    "SelfSubjectReview: metadata=ObjectMeta status=*",
    "TokenReview: metadata=ObjectMeta spec=* status=*",
    "TokenRequest: metadata=ObjectMeta spec=* status=*",
    "MetricsObject: metadata=ObjectMeta timestamp=t window=S containers=* usage=ResourceList",
};

struct named {
    const char *name;
    struct schema *schema;
};
static struct vpa_arena arena;
static struct named types[VPA_COUNT(definitions) + 1];
static size_t type_count;

static struct schema *find_type(const char *name, size_t len)
{
    for (size_t i = 0; i < type_count; i++)
        if (!strncmp(types[i].name, name, len) && !types[i].name[len])
            return types[i].schema;
    fprintf(stderr, "kubesim: type %.*s is not defined\n", (int)len, name);
    abort();
}

static const struct schema *scalar(enum schema_type type)
{
    static const struct schema all[] = {
        [S_ANY] = {.type = S_ANY, .preserve = true},
        [S_OBJECT] = {.type = S_OBJECT},
        [S_ARRAY] = {.type = S_ARRAY},
        [S_STRING] = {.type = S_STRING},
        [S_INT32] = {.type = S_INT32},
        [S_INT64] = {.type = S_INT64},
        [S_NUMBER] = {.type = S_NUMBER},
        [S_BOOL] = {.type = S_BOOL},
        [S_INT_OR_STRING] = {.type = S_INT_OR_STRING},
        [S_QUANTITY] = {.type = S_QUANTITY},
        [S_TIME] = {.type = S_TIME},
        [S_MICRO_TIME] = {.type = S_MICRO_TIME},
    };
    return &all[type];
}

static const struct schema *parse_type(const char *text, size_t len);

static void parse_keys(struct schema *s, const char *text, size_t len)
{
    size_t n = 0;
    while (len && n < SCHEMA_KEYS_MAX) {
        size_t part = 0;
        while (part < len && text[part] != ',')
            part++;
        s->keys[n++] = vpa_arena_strndup(&arena, text, part);
        part += part < len;
        text += part;
        len -= part;
    }
}

static const struct schema *parse_list(const char *text, size_t len)
{
    struct schema *s = vpa_arena_zalloc(&arena, sizeof(*s));
    const char *at = memchr(text, '@', len);

    s->type = S_ARRAY;
    if (at) {
        parse_keys(s, at + 1, len - (size_t)(at + 1 - text));
        len = (size_t)(at - text);
    } else if (text[len - 1] == '+') {
        s->set = true;
        len--;
    }
    s->items = parse_type(text, len);
    return s;
}

static const struct schema *parse_type(const char *text, size_t len)
{
    static const char letters[] = "SiIbfqtmx*";
    static const enum schema_type kinds[] = {S_STRING,        S_INT32,    S_INT64, S_BOOL,
                                             S_NUMBER,        S_QUANTITY, S_TIME,  S_MICRO_TIME,
                                             S_INT_OR_STRING, S_ANY};
    static const struct schema omitted = {.type = S_STRING, .omitted = true};
    bool replaced = text[len - 1] == '=';

    len -= replaced;
    bool atomic = text[len - 1] == '!';
    len -= atomic;
    if (len == 1 && *text == 's')
        return &omitted;
    if (len == 1)
        return scalar(kinds[strchr(letters, *text) - letters]);
    if (text[0] == '[')
        return parse_list(text + 2, len - 2); /* lists are atomic unless keyed or a set */
    if (text[0] == '{') {
        struct schema *map = vpa_arena_zalloc(&arena, sizeof(*map));
        map->type = S_OBJECT;
        map->values = parse_type(text + 2, len - 2);
        map->atomic = atomic;
        return map;
    }
    struct schema *type = find_type(text, len);
    if (!atomic)
        return type;
    struct schema *copy = vpa_arena_zalloc(&arena, sizeof(*copy));
    *copy = *type;
    copy->atomic = true;
    copy->replaced = replaced;
    return copy;
}

static void define(struct schema *s, const char *line)
{
    line = strchr(line, ':') + 1;
    while (*line) {
        line += strspn(line, " ");
        size_t name = strcspn(line, "=");
        size_t type = strcspn(line + name + 1, " ");
        VPA_ARENA_GROW(&arena, s->fields, s->field_count, s->field_capacity);
        s->fields[s->field_count++] = (struct schema_field){vpa_arena_strndup(&arena, line, name),
                                                            parse_type(line + name + 1, type)};
        line += name + 1 + type;
    }
}

void schema_builtin_init(void)
{
    struct schema *list = vpa_arena_zalloc(&arena, sizeof(*list));

    *list = (struct schema){.type = S_OBJECT,
                            .name = "ResourceList",
                            .values = scalar(S_QUANTITY),
                            .resource_list = true};
    types[type_count++] = (struct named){"ResourceList", list};
    for (size_t i = 0; i < VPA_COUNT(definitions); i++) {
        struct schema *s = vpa_arena_zalloc(&arena, sizeof(*s));
        s->type = S_OBJECT;
        s->name = vpa_arena_strndup(&arena, definitions[i], strcspn(definitions[i], ":"));
        types[type_count++] = (struct named){s->name, s};
    }
    /* Atomic copies are taken of complete types, so a type used with ! is defined before its users
     * are: leaves first, that is in reverse order of need. Two passes settle it. */
    for (size_t i = VPA_COUNT(definitions); i-- > 0;)
        if (!strchr(definitions[i], '!'))
            define(types[i + 1].schema, definitions[i]);
    for (size_t i = 0; i < VPA_COUNT(definitions); i++)
        if (!types[i + 1].schema->field_count)
            define(types[i + 1].schema, definitions[i]);
}

void schema_builtin_release(void)
{
    vpa_arena_release(&arena);
    type_count = 0;
}

const struct schema *schema_builtin(const char *name)
{
    for (size_t i = 0; i < type_count; i++)
        if (!strcmp(types[i].name, name))
            return types[i].schema;
    return NULL;
}

void schema_each_builtin(void (*visit)(void *ctx, const struct schema *s), void *ctx)
{
    for (size_t i = 0; i < type_count; i++)
        visit(ctx, types[i].schema);
}
