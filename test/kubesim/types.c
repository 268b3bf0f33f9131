/* The table of built-in resources and the registry of all: see types.h. */
#include "types.h"

#include <stdlib.h>
#include <string.h>

static const char *const pod_fields[] = {"metadata.name",
                                         "metadata.namespace",
                                         "spec.nodeName",
                                         "spec.restartPolicy",
                                         "spec.schedulerName",
                                         "spec.serviceAccountName",
                                         "spec.hostNetwork",
                                         "status.phase",
                                         "status.podIP",
                                         "status.nominatedNodeName",
                                         NULL};
static const char *const event_fields[] = {"metadata.name",
                                           "metadata.namespace",
                                           "involvedObject.kind",
                                           "involvedObject.namespace",
                                           "involvedObject.name",
                                           "involvedObject.uid",
                                           "involvedObject.apiVersion",
                                           "involvedObject.resourceVersion",
                                           "involvedObject.fieldPath",
                                           "reason",
                                           "reportingComponent",
                                           "source",
                                           "type",
                                           NULL};
static const char *const node_fields[] = {"metadata.name", "metadata.namespace",
                                          "spec.unschedulable", NULL};
static const char *const namespace_fields[] = {"metadata.name", "metadata.namespace",
                                               "status.phase", "name", NULL};
static const char *const job_fields[] = {"metadata.name", "metadata.namespace", "status.successful",
                                         NULL};
static const char *const secret_fields[] = {"metadata.name", "metadata.namespace", "type", NULL};
static const char *const plain_fields[] = {"metadata.name", "metadata.namespace", NULL};

#define NS T_NAMESPACED
#define WORKLOAD (T_NAMESPACED | T_STATUS | T_GENERATION)
#define RBAC "rbac.authorization.k8s.io"
#define HOOKS "admissionregistration.k8s.io"
#define RETURNS T_DELETE_RETURNS_OBJECT

static const struct builtin {
    const char *group, *version, *plural, *singular, *kind, *short_names;
    bool all;
    unsigned flags;
    const char *const *fields;
} builtins[] = {
    {"", "v1", "configmaps", "configmap", "ConfigMap", "cm", false, NS, plain_fields},
    {"", "v1", "endpoints", "endpoints", "Endpoints", "ep", false, NS, plain_fields},
    {"", "v1", "events", "event", "Event", "ev", false, NS | T_PATH_NAMES | T_CREATE_BY_PUT,
     event_fields},
    {"", "v1", "limitranges", "limitrange", "LimitRange", "limits", false, NS | T_CREATE_BY_PUT,
     plain_fields},
    {"", "v1", "namespaces", "namespace", "Namespace", "ns", false,
     T_STATUS | RETURNS | T_LABEL_NAMES, namespace_fields},
    {"", "v1", "nodes", "node", "Node", "no", false, T_STATUS | T_STATUS_ON_CREATE, node_fields},
    {"", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", "pvc",
     false, NS | T_STATUS | RETURNS, plain_fields},
    {"", "v1", "pods", "pod", "Pod", "po", true, WORKLOAD | RETURNS, pod_fields},
    {"", "v1", "replicationcontrollers", "replicationcontroller", "ReplicationController", "rc",
     true, WORKLOAD | T_SCALE, plain_fields},
    {"", "v1", "resourcequotas", "resourcequota", "ResourceQuota", "quota", false,
     NS | T_STATUS | RETURNS, plain_fields},
    {"", "v1", "secrets", "secret", "Secret", "", false, NS, secret_fields},
    {"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", "sa", false, NS | RETURNS,
     plain_fields},
    {"", "v1", "services", "service", "Service", "svc", true,
     NS | T_STATUS | RETURNS | T_LABEL_NAMES, plain_fields},
    {"apiregistration.k8s.io", "v1", "apiservices", "apiservice", "APIService", "", false, T_STATUS,
     plain_fields},
    {"apps", "v1", "daemonsets", "daemonset", "DaemonSet", "ds", true, WORKLOAD, plain_fields},
    {"apps", "v1", "deployments", "deployment", "Deployment", "deploy", true, WORKLOAD | T_SCALE,
     plain_fields},
    {"apps", "v1", "replicasets", "replicaset", "ReplicaSet", "rs", true, WORKLOAD | T_SCALE,
     plain_fields},
    {"apps", "v1", "statefulsets", "statefulset", "StatefulSet", "sts", true,
     WORKLOAD | T_SCALE | T_LABEL_NAMES, plain_fields},
    {"events.k8s.io", "v1", "events", "event", "Event", "ev", false, NS | T_PATH_NAMES,
     event_fields},
    {"authentication.k8s.io", "v1", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview",
     "", false, T_CREATE_ONLY, NULL},
    {"authentication.k8s.io", "v1", "tokenreviews", "tokenreview", "TokenReview", "", false,
     T_CREATE_ONLY, NULL},
    {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview",
     "SelfSubjectAccessReview", "", false, T_CREATE_ONLY, NULL},
    {"authorization.k8s.io", "v1", "subjectaccessreviews", "subjectaccessreview",
     "SubjectAccessReview", "", false, T_CREATE_ONLY, NULL},
    {"batch", "v1", "cronjobs", "cronjob", "CronJob", "cj", true, WORKLOAD, plain_fields},
    {"batch", "v1", "jobs", "job", "Job", "", true, WORKLOAD, job_fields},
    {"policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", "pdb",
     false, WORKLOAD | T_NEEDS_VERSION | T_PATH_NAMES, plain_fields},
    {RBAC, "v1", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", "", false,
     T_PATH_NAMES, plain_fields},
    {RBAC, "v1", "clusterroles", "clusterrole", "ClusterRole", "", false, T_PATH_NAMES,
     plain_fields},
    {RBAC, "v1", "rolebindings", "rolebinding", "RoleBinding", "", false, NS | T_PATH_NAMES,
     plain_fields},
    {RBAC, "v1", "roles", "role", "Role", "", false, NS | T_PATH_NAMES, plain_fields},
    {HOOKS, "v1", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration",
     "MutatingWebhookConfiguration", "", false, T_GENERATION, plain_fields},
    {HOOKS, "v1", "validatingwebhookconfigurations", "validatingwebhookconfiguration",
     "ValidatingWebhookConfiguration", "", false, T_GENERATION, plain_fields},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition",
     "CustomResourceDefinition", "crd,crds", false, T_STATUS | T_GENERATION | RETURNS,
     plain_fields},
    {"scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass", "pc", false, 0,
     plain_fields},
    {"coordination.k8s.io", "v1", "leases", "lease", "Lease", "", false,
     NS | T_CREATE_BY_PUT | T_NEEDS_VERSION, plain_fields},
};

static void append(struct types *t, struct restype *type)
{
    *t->end = type;
    t->end = &type->next;
}

void types_init(struct types *t, struct store *s)
{
    t->first = NULL;
    t->end = &t->first;
    for (size_t i = 0; i < VPA_COUNT(builtins); i++) {
        const struct builtin *b = &builtins[i];
        struct restype *type = vpa_xcalloc(1, sizeof(*type));
        bool new_events = !strcmp(b->group, "events.k8s.io");
        *type = (struct restype){.group = b->group,
                                 .version = b->version,
                                 .plural = b->plural,
                                 .singular = b->singular,
                                 .kind = b->kind,
                                 .short_names = b->short_names,
                                 .category_all = b->all,
                                 .flags = b->flags,
                                 .schema = schema_builtin(new_events ? "NewEvent" : b->kind)};
        type->list_kind = vpa_xprintf("%sList", b->kind);
        if (!(b->flags & T_CREATE_ONLY))
            type->store = store_collection(s, new_events ? "" : b->group, b->plural, b->fields);
        if (new_events)
            type->as = "events";
        append(t, type);
    }
}

void types_release(struct types *t)
{
    while (t->first) {
        struct restype *type = t->first;
        t->first = type->next;
        if (type->crd) {
            vpa_arena_release(&type->crd->arena);
            free(type->crd);
        } else {
            free((void *)(uintptr_t)type->list_kind);
        }
        free(type);
    }
}

struct restype *types_find(const struct types *t, const char *group, const char *version,
                           const char *plural)
{
    for (struct restype *type = t->first; type; type = type->next)
        if (!type->withdrawn && !strcmp(type->plural, plural) && !strcmp(type->group, group) &&
            (!version || !strcmp(type->version, version)))
            return type;
    return NULL;
}

struct restype *types_by_kind(const struct types *t, const char *group, const char *kind)
{
    for (struct restype *type = t->first; type; type = type->next)
        if (!type->withdrawn && !strcmp(type->kind, kind) && !strcmp(type->group, group))
            return type;
    return NULL;
}

bool types_has_group(const struct types *t, const char *group, const char *version)
{
    for (struct restype *type = t->first; type; type = type->next)
        if (!type->withdrawn && !strcmp(type->group, group) &&
            (!version || !strcmp(type->version, version)))
            return true;
    return false;
}

/* ---- definitions of custom resources ---- */

static const char *copy_path(struct vpa_arena *a, const struct jv *v)
{
    const char *text = jv_text(v);
    return text ? vpa_arena_strdup(a, text + (*text == '.')) : NULL;
}

static void read_columns(struct vpa_arena *a, struct crd_info *crd, const struct jv *columns)
{
    crd->columns = vpa_arena_zalloc(a, (jv_len(columns) + 1) * sizeof(*crd->columns));
    jv_each (m, columns) {
        struct crd_column *c = &crd->columns[crd->column_count++];
        c->name = vpa_arena_strdup(a, jv_text_at(m->value, "name"));
        c->type = vpa_arena_strdup(a, jv_text_at(m->value, "type"));
        c->format = vpa_arena_strdup(a, jv_text_at(m->value, "format"));
        c->description = vpa_arena_strdup(a, jv_text_at(m->value, "description"));
        c->path = vpa_arena_strdup(a, jv_text_at(m->value, "jsonPath"));
        c->priority = (int)jv_int_at(m->value, "priority", 0);
    }
}

static const char *join_names(struct vpa_arena *a, const struct jv *names)
{
    const char *out = "";
    jv_each (m, names)
        out = vpa_arena_printf(a, "%s%s%s", out, *out ? "," : "",
                               jv_text(m->value) ? m->value->text : "");
    return out;
}

static struct restype *make_custom(struct store *s, const struct jv *object,
                                   const struct jv *version)
{
    struct crd_info *crd = vpa_xcalloc(1, sizeof(*crd));
    struct vpa_arena *a = &crd->arena;
    struct restype *type = vpa_xcalloc(1, sizeof(*type));
    const struct jv *spec = jv_clone(a, jv_get(object, "spec"));
    const struct jv *names = jv_get(spec, "names");
    const struct jv *sub = jv_get(version, "subresources");
    const struct jv *scale = jv_get(sub, "scale");

    crd->name = vpa_arena_strdup(a, jv_text_at(object, "metadata.name"));
    version = jv_clone(a, version);
    type->crd = crd;
    type->group = jv_text_at(spec, "group");
    type->version = jv_text_at(version, "name");
    type->plural = jv_text_at(names, "plural");
    type->kind = jv_text_at(names, "kind");
    type->singular = jv_text(jv_get(names, "singular")) ? jv_text_at(names, "singular")
                                                        : vpa_arena_strdup(a, type->kind);
    type->list_kind = jv_text(jv_get(names, "listKind"))
                          ? jv_text_at(names, "listKind")
                          : vpa_arena_printf(a, "%sList", type->kind);
    type->short_names = join_names(a, jv_get(names, "shortNames"));
    jv_each (m, jv_get(names, "categories"))
        if (jv_text(m->value) && !strcmp(m->value->text, "all"))
            type->category_all = true;
    type->flags = T_GENERATION | T_NEEDS_VERSION;
    if (!strcmp(jv_text_at(spec, "scope"), "Namespaced"))
        type->flags |= T_NAMESPACED;
    type->flags |= jv_get(sub, "status") ? T_STATUS : T_STATUS_ON_CREATE;
    if (scale) {
        type->flags |= T_SCALE;
        crd->spec_replicas = copy_path(a, jv_get(scale, "specReplicasPath"));
        crd->status_replicas = copy_path(a, jv_get(scale, "statusReplicasPath"));
        crd->selector = copy_path(a, jv_get(scale, "labelSelectorPath"));
    }
    read_columns(a, crd, jv_get(version, "additionalPrinterColumns"));
    const struct jv *openapi = jv_at(version, "schema.openAPIV3Schema");
    type->schema = schema_from_crd(a, openapi ? openapi : jv_lit(a, "{\"type\":\"object\"}"));
    type->store = store_collection(s, type->group, type->plural, plain_fields);
    return type;
}

void types_drop_crd(struct types *t, const char *crd_name)
{
    for (struct restype *type = t->first; type; type = type->next)
        if (type->crd && !strcmp(type->crd->name, crd_name))
            type->withdrawn = true;
}

void types_add_crd(struct types *t, struct store *s, const struct jv *crd)
{
    types_drop_crd(t, jv_text_at(crd, "metadata.name"));
    jv_each (m, jv_at(crd, "spec.versions"))
        if (jv_bool_at(m->value, "served", false))
            append(t, make_custom(s, crd, m->value));
}

/* ---- names ---- */

const char *type_qualified(struct vpa_arena *a, const struct restype *t)
{
    return *t->group ? vpa_arena_printf(a, "%s.%s", t->plural, t->group) : t->plural;
}

const char *type_qualified_kind(struct vpa_arena *a, const struct restype *t)
{
    /* Both views of events are one internal kind of the core group. */
    return *t->group && !t->as ? vpa_arena_printf(a, "%s.%s", t->kind, t->group) : t->kind;
}

const char *type_api_version(struct vpa_arena *a, const struct restype *t)
{
    return *t->group ? vpa_arena_printf(a, "%s/%s", t->group, t->version) : t->version;
}
