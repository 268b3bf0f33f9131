/* Defaults of built-in kinds: what the API server fills in before admission sees the object. */
#include "sim.h"

#include <string.h>

#include "vpa/base/quantity.h"

static void default_probe(struct vpa_arena *a, struct jv *container, const char *name)
{
    struct jv *p = jv_get(container, name);

    if (!jv_is(p, JV_OBJ))
        return;
    jv_default(a, p, "timeoutSeconds", "1");
    jv_default(a, p, "periodSeconds", "10");
    jv_default(a, p, "successThreshold", "1");
    jv_default(a, p, "failureThreshold", "3");
    struct jv *http = jv_get(p, "httpGet");
    if (jv_is(http, JV_OBJ)) {
        jv_default_text(a, http, "path", "/");
        jv_default_text(a, http, "scheme", "HTTP");
    }
}

/* Requests that are missing are copied from the limits. */
static void default_requests(struct vpa_arena *a, struct jv *container)
{
    struct jv *resources = jv_get(container, "resources");
    struct jv *limits = jv_get(resources, "limits");

    jv_each (m, limits) {
        struct jv *requests = jv_ensure(a, resources, "requests");
        if (!jv_get(requests, m->name))
            jv_set(a, requests, m->name, jv_clone(a, m->value));
    }
}

/* Length of a part of a repository's name: letters and digits, between them one of . _ __ or any
 * number of dashes; 0 when there is none. */
static size_t name_part(const char *text)
{
    static const char alphanumeric[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t len = strspn(text, alphanumeric);

    while (len) {
        size_t dashes = strspn(text + len, "-");
        size_t separator = dashes                          ? dashes
                           : !strncmp(text + len, "__", 2) ? 2
                                                           : (text[len] == '.' || text[len] == '_');
        size_t more = separator ? strspn(text + len + separator, alphanumeric) : 0;
        if (!more)
            break;
        len += separator + more;
    }
    return len;
}

/* Whether an image is named and its tag is "latest", said or not; not of what is no name. */
static bool is_latest(const char *image)
{
    const char *slash = strchr(image, '/');
    size_t first = slash ? (size_t)(slash - image) : 0;
    size_t lower = strcspn(image, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.:"); /* what only a host has */
    bool host = slash && lower < first;

    for (const char *at = host ? slash + 1 : image;;) {
        size_t len = name_part(at);
        if (!len)
            return false;
        at += len;
        if (*at != '/')
            return !*at || !strcmp(at, ":latest");
        at++;
    }
}

static void default_container(struct vpa_arena *a, struct jv *c, bool requests)
{
    const char *image = jv_text_at(c, "image");

    jv_default(a, c, "resources", "{}");
    if (requests)
        default_requests(a, c);
    jv_default_text(a, c, "terminationMessagePath", "/dev/termination-log");
    jv_default_text(a, c, "terminationMessagePolicy", "File");
    jv_default_text(a, c, "imagePullPolicy", is_latest(image) ? "Always" : "IfNotPresent");
    jv_each (m, jv_get(c, "ports"))
        jv_default_text(a, m->value, "protocol", "TCP");
    jv_each (m, jv_get(c, "env")) {
        struct jv *field = jv_at(m->value, "valueFrom.fieldRef");
        if (jv_is(field, JV_OBJ))
            jv_default_text(a, field, "apiVersion", "v1");
    }
    default_probe(a, c, "livenessProbe");
    default_probe(a, c, "readinessProbe");
    default_probe(a, c, "startupProbe");
}

/* What pods and pod templates share. */
static void default_pod_spec(struct vpa_arena *a, struct jv *spec, bool requests)
{
    jv_default_text(a, spec, "restartPolicy", "Always");
    jv_default(a, spec, "terminationGracePeriodSeconds", "30");
    jv_default_text(a, spec, "dnsPolicy", "ClusterFirst");
    jv_default(a, spec, "securityContext", "{}");
    jv_default_text(a, spec, "schedulerName", "default-scheduler");
    const char *account = jv_text_at(spec, "serviceAccountName");
    if (*account)
        jv_set_str(a, spec, "serviceAccount", account);
    else if (*jv_text_at(spec, "serviceAccount"))
        jv_set_str(a, spec, "serviceAccountName", jv_text_at(spec, "serviceAccount"));
    jv_each (m, jv_get(spec, "containers"))
        default_container(a, m->value, requests);
    jv_each (m, jv_get(spec, "initContainers"))
        default_container(a, m->value, requests);
    jv_each (m, jv_get(spec, "volumes")) {
        static const char *const modes[] = {"secret", "configMap", "projected", "downwardAPI"};
        for (size_t i = 0; i < VPA_COUNT(modes); i++) {
            struct jv *v = jv_get(m->value, modes[i]);
            if (jv_is(v, JV_OBJ))
                jv_default(a, v, "defaultMode", "420");
        }
        if (m->value->count == 1)
            jv_set(a, m->value, "emptyDir", jv_obj(a));
    }
}

static void add_amount(struct vpa_arena *a, struct jv *to, const char *name, const char *text)
{
    struct vpa_quantity sum = {0}, more;

    if (vpa_quantity_parse(a, text, &more, NULL) < 0)
        return;
    if (jv_text(jv_get(to, name)))
        (void)!vpa_quantity_parse(a, jv_get(to, name)->text, &sum, NULL);
    vpa_quantity_add(a, &sum, &more);
    jv_set_str(a, to, name, vpa_quantity_text(a, &sum));
}

static void add_amounts(struct vpa_arena *a, struct jv *to, const struct jv *more)
{
    jv_each (m, more)
        if (jv_text(m->value))
            add_amount(a, to, m->name, m->value->text);
}

static void raise_to(struct vpa_arena *a, struct jv *to, const struct jv *least)
{
    jv_each (m, least) {
        struct vpa_quantity x, y;
        const char *now = jv_text(jv_get(to, m->name));
        if (!now ||
            (vpa_quantity_parse(a, now, &x, NULL) == 0 && jv_text(m->value) &&
             vpa_quantity_parse(a, m->value->text, &y, NULL) == 0 && vpa_quantity_cmp(&x, &y) < 0))
            jv_set(a, to, m->name, jv_clone(a, m->value));
    }
}

/* What the containers of a pod need together: those that go on are added, each init container that
 * ends needs its own beside the sidecars that started before it. */
struct jv *pod_containers_sum(struct vpa_arena *a, const struct jv *spec, const char *list)
{
    struct jv *sum = jv_obj(a), *sidecars = jv_obj(a), *most = jv_obj(a);

    jv_each (m, jv_get(spec, "containers"))
        add_amounts(a, sum, jv_get(jv_get(m->value, "resources"), list));
    jv_each (m, jv_get(spec, "initContainers")) {
        const struct jv *own = jv_get(jv_get(m->value, "resources"), list);
        struct jv *now = jv_clone(a, sidecars);
        add_amounts(a, now, own);
        if (!strcmp(jv_text_at(m->value, "restartPolicy"), "Always")) {
            add_amounts(a, sum, own);
            add_amounts(a, sidecars, own);
        }
        raise_to(a, most, now);
    }
    raise_to(a, sum, most);
    return sum;
}

static bool pod_level(const char *name)
{
    return !strcmp(name, "cpu") || !strcmp(name, "memory");
}

/* Requests of a pod that has limits of its own: what its containers ask for, else the limits. */
static void default_pod_requests(struct vpa_arena *a, struct jv *spec)
{
    struct jv *resources = jv_get(spec, "resources"), *limits = jv_get(resources, "limits");

    if (!jv_len(limits))
        return;
    struct jv *requests = jv_ensure(a, resources, "requests");
    const struct jv *const sources[] = {pod_containers_sum(a, spec, "requests"), limits};
    for (size_t i = 0; i < VPA_COUNT(sources); i++)
        jv_each (m, sources[i])
            if (pod_level(m->name) && !jv_get(requests, m->name))
                jv_set(a, requests, m->name, jv_clone(a, m->value));
}

void defaults_pod_spec(struct vpa_arena *a, struct jv *spec)
{
    default_pod_spec(a, spec, true);
    default_pod_requests(a, spec);
    jv_default(a, spec, "enableServiceLinks", "true");
}

/* Decoding keeps an empty one, which a new pod may not have. */
static void drop_empty_overhead(struct jv *spec)
{
    if (!jv_len(jv_get(spec, "overhead")))
        jv_del(spec, "overhead");
}

static void default_template(struct vpa_arena *a, struct jv *spec)
{
    struct jv *template = jv_get(spec, "template");

    if (jv_is(template, JV_OBJ)) {
        drop_empty_overhead(jv_ensure(a, template, "spec"));
        jv_default(a, template, "metadata", "{}");
        default_pod_spec(a, jv_ensure(a, template, "spec"), false);
    }
}

static void default_deployment(struct vpa_arena *a, struct jv *spec)
{
    jv_default(a, spec, "replicas", "1");
    jv_default(a, spec, "strategy", "{}");
    struct jv *strategy = jv_get(spec, "strategy");
    jv_default_text(a, strategy, "type", "RollingUpdate");
    if (!strcmp(jv_text_at(strategy, "type"), "RollingUpdate")) {
        struct jv *rolling = jv_ensure(a, strategy, "rollingUpdate");
        jv_default(a, rolling, "maxUnavailable", "\"25%\"");
        jv_default(a, rolling, "maxSurge", "\"25%\"");
    }
    jv_default(a, spec, "revisionHistoryLimit", "10");
    jv_default(a, spec, "progressDeadlineSeconds", "600");
}

static void default_job(struct vpa_arena *a, struct jv *spec)
{
    if (jv_missing(jv_get(spec, "parallelism")) && jv_missing(jv_get(spec, "completions")))
        jv_default(a, spec, "completions", "1");
    jv_default(a, spec, "parallelism", "1");
    jv_default(a, spec, "backoffLimit", "6");
    jv_default(a, spec, "completionMode", "\"NonIndexed\"");
    jv_default(a, spec, "manualSelector", "false");
    jv_default(a, spec, "suspend", "false");
    jv_default(a, spec, "podReplacementPolicy", "\"TerminatingOrFailed\"");
}

static void default_workload(struct ctx *c, const char *kind, struct jv *object)
{
    struct vpa_arena *a = c->a;
    struct jv *spec = jv_ensure(a, object, "spec");

    if (!strcmp(kind, "Deployment"))
        default_deployment(a, spec);
    if (!strcmp(kind, "ReplicaSet") || !strcmp(kind, "ReplicationController"))
        jv_default(a, spec, "replicas", "1");
    if (!strcmp(kind, "StatefulSet")) {
        jv_default(a, spec, "replicas", "1");
        jv_default(a, spec, "serviceName", "\"\"");
        jv_default_text(a, spec, "podManagementPolicy", "OrderedReady");
        jv_default(a, spec, "updateStrategy",
                   "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":0}}");
        jv_default(a, spec, "revisionHistoryLimit", "10");
        jv_default(a, spec, "persistentVolumeClaimRetentionPolicy",
                   "{\"whenDeleted\":\"Retain\",\"whenScaled\":\"Retain\"}");
    }
    if (!strcmp(kind, "DaemonSet")) {
        jv_default(
            a, spec, "updateStrategy",
            "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":1,\"maxSurge\":0}}");
        jv_default(a, spec, "revisionHistoryLimit", "10");
    }
    if (!strcmp(kind, "Job"))
        default_job(a, spec);
    if (!strcmp(kind, "CronJob")) {
        jv_default_text(a, spec, "concurrencyPolicy", "Allow");
        jv_default(a, spec, "suspend", "false");
        jv_default(a, spec, "successfulJobsHistoryLimit", "3");
        jv_default(a, spec, "failedJobsHistoryLimit", "1");
        if (jv_is(jv_get(spec, "jobTemplate"), JV_OBJ))
            jv_default(a, jv_get(spec, "jobTemplate"), "metadata", "{}");
        struct jv *job = jv_ensure(a, spec, "jobTemplate.spec");
        jv_ensure(a, job, "template");
        default_template(a, job);
    }
    if (strcmp(kind, "ReplicationController") != 0 && strcmp(kind, "CronJob") != 0)
        jv_ensure(a, spec, "template");
    default_template(a, spec);
    struct jv *template_labels = jv_at(spec, "template.metadata.labels");
    if (!strcmp(kind, "ReplicationController") && !jv_get(spec, "selector") && template_labels)
        jv_set(a, spec, "selector", jv_clone(a, template_labels));
    struct jv *meta = jv_ensure(a, object, "metadata");
    bool inherits = !strcmp(kind, "ReplicationController") || !strcmp(kind, "Job");
    if (inherits && !jv_get(meta, "labels") && template_labels) /* one map, as in the server */
        jv_set(a, meta, "labels", template_labels);
}

static void default_webhooks(struct vpa_arena *a, const char *kind, struct jv *object)
{
    jv_each (m, jv_get(object, "webhooks")) {
        struct jv *w = m->value;
        if (!jv_is(w, JV_OBJ))
            continue;
        jv_default(a, w, "failurePolicy", "\"Fail\"");
        jv_default(a, w, "matchPolicy", "\"Equivalent\"");
        jv_default(a, w, "namespaceSelector", "{}");
        jv_default(a, w, "objectSelector", "{}");
        jv_default(a, w, "timeoutSeconds", "10");
        if (!strcmp(kind, "MutatingWebhookConfiguration"))
            jv_default(a, w, "reinvocationPolicy", "\"Never\"");
        jv_each (r, jv_get(w, "rules"))
            if (jv_is(r->value, JV_OBJ))
                jv_default(a, r->value, "scope", "\"*\"");
        struct jv *service = jv_at(w, "clientConfig.service");
        if (jv_is(service, JV_OBJ))
            jv_default(a, service, "port", "443");
    }
}

static void default_event(struct vpa_arena *a, struct jv *object)
{
    jv_default(a, object, "source", "{}");
    jv_default(a, object, "reportingComponent", "\"\"");
    jv_default(a, object, "reportingInstance", "\"\"");
    static const char *const times[] = {"eventTime", "firstTimestamp", "lastTimestamp"};
    for (size_t i = 0; i < VPA_COUNT(times); i++)
        if (!jv_get(object, times[i]))
            jv_set(a, object, times[i], jv_null(a));
}

static void default_service(struct ctx *c, struct jv *object)
{
    struct vpa_arena *a = c->a;
    struct jv *spec = jv_ensure(a, object, "spec");

    jv_default(a, spec, "type", "\"ClusterIP\"");
    jv_default(a, spec, "sessionAffinity", "\"None\"");
    jv_default(a, spec, "internalTrafficPolicy", "\"Cluster\"");
    jv_each (m, jv_get(spec, "ports")) {
        jv_default_text(a, m->value, "protocol", "TCP");
        if (!jv_get(m->value, "targetPort") && jv_get(m->value, "port"))
            jv_set(a, m->value, "targetPort", jv_clone(a, jv_get(m->value, "port")));
    }
    if (!strcmp(jv_text_at(spec, "type"), "ExternalName") || jv_get(spec, "clusterIP"))
        return;
    const char *ip = vpa_arena_printf(a, "10.0.%u.%u", (unsigned)(c->sim->service_ip >> 8 & 255),
                                      (unsigned)(c->sim->service_ip & 255));
    c->sim->service_ip++;
    jv_set_str(a, spec, "clusterIP", ip);
    struct jv *ips = jv_arr(a);
    jv_push(a, ips, jv_str(a, ip));
    jv_set(a, spec, "clusterIPs", ips);
    jv_default(a, spec, "ipFamilies", "[\"IPv4\"]");
    jv_default(a, spec, "ipFamilyPolicy", "\"SingleStack\"");
}

static void default_limit_range(struct ctx *c, struct jv *object)
{
    struct vpa_arena *a = c->a;
    struct jv *spec = jv_ensure(a, object, "spec"), *limits = jv_get(spec, "limits");

    /* Of a new one an empty list counts as said until it has its owner. */
    if (!jv_len(limits) && (!limits || *jv_text_at(object, "metadata.uid"))) {
        c->limits_emptied |= jv_is(limits, JV_ARR);
        jv_set(a, spec, "limits", jv_null(a));
    }
    jv_each (m, jv_get(spec, "limits")) {
        struct jv *item = m->value;
        if (strcmp(jv_text_at(item, "type"), "Container") != 0)
            continue;
        /* default follows max, defaultRequest follows default, then min */
        static const char *const steps[][2] = {
            {"max", "default"}, {"default", "defaultRequest"}, {"min", "defaultRequest"}};
        for (size_t i = 0; i < VPA_COUNT(steps); i++) {
            jv_each (v, jv_get(item, steps[i][0])) {
                struct jv *to = jv_ensure(a, item, steps[i][1]);
                if (!jv_get(to, v->name))
                    jv_set(a, to, v->name, jv_clone(a, v->value));
            }
        }
    }
}

static void default_rbac(struct vpa_arena *a, struct jv *object)
{
    jv_each (m, jv_get(object, "subjects")) {
        const char *kind = jv_text_at(m->value, "kind");
        if (!strcmp(kind, "User") || !strcmp(kind, "Group"))
            jv_default(a, m->value, "apiGroup", "\"rbac.authorization.k8s.io\"");
    }
    struct jv *ref = jv_get(object, "roleRef");
    if (jv_is(ref, JV_OBJ))
        jv_default(a, ref, "apiGroup", "\"rbac.authorization.k8s.io\"");
}

static void default_secret(struct vpa_arena *a, struct jv *object)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct jv *plain = jv_get(object, "stringData");

    jv_default(a, object, "type", "\"Opaque\"");
    jv_each (m, plain) {
        const unsigned char *t = (const unsigned char *)(jv_text(m->value) ? m->value->text : "");
        size_t len = strlen((const char *)t), n = 0;
        char *out = vpa_arena_alloc(a, len * 4 / 3 + 5);
        for (size_t i = 0; i < len; i += 3) {
            unsigned v = (unsigned)t[i] << 16 | (i + 1 < len ? (unsigned)t[i + 1] << 8 : 0) |
                         (i + 2 < len ? t[i + 2] : 0u);
            out[n++] = digits[v >> 18 & 63];
            out[n++] = digits[v >> 12 & 63];
            out[n++] = i + 1 < len ? digits[v >> 6 & 63] : '=';
            out[n++] = i + 2 < len ? digits[v & 63] : '=';
        }
        out[n] = 0;
        jv_set_str(a, jv_ensure(a, object, "data"), m->name, out);
    }
    jv_del(object, "stringData");
}

/* Members of a status that every answer has, because they are structures without a pointer in the
 * server. */
/* What Go writes of a container's status whether it is there or not. */
static void default_container_state(struct vpa_arena *a, struct jv *status, const char *which)
{
    struct jv *state = jv_ensure(a, status, which), *ended = jv_get(state, "terminated");

    if (jv_get(state, "running"))
        jv_default(a, jv_get(state, "running"), "startedAt", "null");
    if (!ended)
        return;
    jv_default(a, ended, "exitCode", "0");
    jv_default(a, ended, "startedAt", "null");
    jv_default(a, ended, "finishedAt", "null");
}

static void default_container_status(struct vpa_arena *a, struct jv *status)
{
    default_container_state(a, status, "state");
    default_container_state(a, status, "lastState");
    jv_default(a, status, "ready", "false");
    jv_default(a, status, "restartCount", "0");
    jv_default(a, status, "image", "\"\"");
    jv_default(a, status, "imageID", "\"\"");
}

void defaults_status(struct ctx *c, const struct restype *t, struct jv *object)
{
    static const char *const lists[] = {"status.initContainerStatuses", "status.containerStatuses",
                                        "status.ephemeralContainerStatuses"};
    static const char *const info[] = {"machineID",       "systemUUID",
                                       "bootID",          "kernelVersion",
                                       "osImage",         "containerRuntimeVersion",
                                       "kubeletVersion",  "kubeProxyVersion",
                                       "operatingSystem", "architecture"};

    if (!t->crd)
        schema_drop_empty(t->schema, object);
    if (*t->group || t->crd)
        return;
    if (!strcmp(t->kind, "Pod")) {
        for (size_t i = 0; i < VPA_COUNT(lists); i++)
            jv_each (m, jv_at(object, lists[i]))
                default_container_status(c->a, m->value);
        jv_each (m, jv_at(object, "status.conditions")) {
            if (!jv_get(m->value, "lastProbeTime"))
                jv_set(c->a, m->value, "lastProbeTime", jv_null(c->a));
            if (!jv_get(m->value, "lastTransitionTime"))
                jv_set(c->a, m->value, "lastTransitionTime", jv_null(c->a));
        }
    } else if (!strcmp(t->kind, "Node")) {
        struct jv *status = jv_ensure(c->a, object, "status");
        jv_default(c->a, jv_ensure(c->a, status, "daemonEndpoints.kubeletEndpoint"), "Port", "0");
        for (size_t i = 0; i < VPA_COUNT(info); i++)
            jv_default(c->a, jv_ensure(c->a, status, "nodeInfo"), info[i], "\"\"");
    }
}

void drop_own_policies(struct ctx *c, struct jv *object)
{
    static const char *const places[] = {"spec", "spec.template.spec",
                                         "spec.jobTemplate.spec.template.spec"};

    for (size_t i = 0; !c->type->crd && c->sim->opt.minor < 35 && i < VPA_COUNT(places); i++) {
        const struct jv *spec = jv_at(object, places[i]);
        jv_each (m, jv_get(spec, "containers"))
            jv_del(m->value, "restartPolicy");
        jv_each (m, jv_get(spec, "initContainers"))
            if (strcmp(jv_text_at(m->value, "restartPolicy"), "Always") != 0)
                jv_del(m->value, "restartPolicy");
    }
}

void defaults_apply(struct ctx *c, const struct restype *t, struct jv *object)
{
    struct vpa_arena *a = c->a;
    const char *k = t->kind;

    if (t->crd)
        return;
    schema_drop_empty(t->schema, object);
    if (!strcmp(k, "Pod")) {
        struct jv *spec = jv_ensure(a, object, "spec");
        if (*jv_text_at(object, "metadata.uid")) /* no new pod */
            drop_empty_overhead(spec);
        if (jv_int_at(spec, "terminationGracePeriodSeconds", 0) < 0) /* but not in a template */
            jv_set_int(a, spec, "terminationGracePeriodSeconds", 1);
        defaults_pod_spec(a, spec);
    } else if (!strcmp(t->group, "apps") || !strcmp(t->group, "batch") ||
               !strcmp(k, "ReplicationController")) {
        default_workload(c, k, object);
    } else if (strstr(k, "WebhookConfiguration")) {
        default_webhooks(a, k, object);
    } else if (!strcmp(k, "Event")) {
        default_event(a, object);
    } else if (!strcmp(k, "Service")) {
        default_service(c, object);
    } else if (!strcmp(k, "PodDisruptionBudget") || !strcmp(k, "Lease")) {
        jv_ensure(a, object, "spec");
    } else if (!strcmp(k, "LimitRange")) {
        default_limit_range(c, object);
    } else if (!strcmp(k, "Secret")) {
        default_secret(a, object);
    } else if (strstr(k, "RoleBinding")) {
        default_rbac(a, object);
    } else if (!strcmp(k, "Namespace")) {
        struct jv *meta = jv_ensure(a, object, "metadata");
        if (*jv_text_at(meta, "name"))
            jv_set_str(a, jv_ensure(a, meta, "labels"), "kubernetes.io/metadata.name",
                       jv_text_at(meta, "name"));
    } else if (!strcmp(k, "Node")) {
        struct jv *status = jv_ensure(a, object, "status");
        if (!jv_get(status, "allocatable") && jv_get(status, "capacity"))
            jv_set(a, status, "allocatable", jv_clone(a, jv_get(status, "capacity")));
    }
}

/* ---- quality of service ---- */

static bool all_guaranteed(const struct jv *container)
{
    static const char *const names[] = {"cpu", "memory"};
    const struct jv *requests = jv_at(container, "resources.requests");
    const struct jv *limits = jv_at(container, "resources.limits");

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        const char *limit = jv_text(jv_get(limits, names[i])),
                   *request = jv_text(jv_get(requests, names[i]));
        struct vpa_quantity l, r;
        vpa_auto_arena a = {0};
        if (!limit || !request || vpa_quantity_parse(&a, limit, &l, NULL) < 0 ||
            vpa_quantity_parse(&a, request, &r, NULL) < 0 || vpa_quantity_cmp(&l, &r) != 0 ||
            vpa_quantity_is_zero(&l))
            return false;
    }
    return true;
}

static bool has_amount(const struct jv *list)
{
    static const char *const names[] = {"cpu", "memory"};

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        const char *text = jv_text(jv_get(list, names[i]));
        struct vpa_quantity q;
        vpa_auto_arena a = {0};
        if (text && vpa_quantity_parse(&a, text, &q, NULL) == 0 && vpa_quantity_sign(&q) > 0)
            return true;
    }
    return false;
}

const char *pod_qos(const struct jv *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    bool any = false, guaranteed = true;

    if (jv_get(spec, "resources")) { /* what the pod says stands for its containers */
        any = has_amount(jv_at(spec, "resources.requests")) ||
              has_amount(jv_at(spec, "resources.limits"));
        return !any ? "BestEffort" : all_guaranteed(spec) ? "Guaranteed" : "Burstable";
    }

    for (size_t i = 0; i < VPA_COUNT(lists); i++) {
        jv_each (m, jv_get(spec, lists[i])) {
            any = any || has_amount(jv_at(m->value, "resources.requests")) ||
                  has_amount(jv_at(m->value, "resources.limits"));
            guaranteed = guaranteed && all_guaranteed(m->value);
        }
    }
    return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}
