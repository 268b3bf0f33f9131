/*
 * Tables: what kubectl get shows. Columns of the common built-in kinds are computed as the server's
 * printers do; custom resources have theirs from the definition, cells found by JSONPath.
 */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/time.h"

struct column {
    const char *name, *type;
    int priority;
};
#define END                                                                                        \
    {                                                                                              \
        NULL, NULL, 0                                                                              \
    }

static const struct column pod_columns[] = {{"Name", "string", 0},
                                            {"Ready", "string", 0},
                                            {"Status", "string", 0},
                                            {"Restarts", "string", 0},
                                            {"Age", "string", 0},
                                            {"IP", "string", 1},
                                            {"Node", "string", 1},
                                            {"Nominated Node", "string", 1},
                                            {"Readiness Gates", "string", 1},
                                            END};
static const struct column deployment_columns[] = {
    {"Name", "string", 0},      {"Ready", "string", 0},    {"Up-to-date", "string", 0},
    {"Available", "string", 0}, {"Age", "string", 0},      {"Containers", "string", 1},
    {"Images", "string", 1},    {"Selector", "string", 1}, END};
static const struct column replica_set_columns[] = {
    {"Name", "string", 0},   {"Desired", "integer", 0}, {"Current", "integer", 0},
    {"Ready", "integer", 0}, {"Age", "string", 0},      {"Containers", "string", 1},
    {"Images", "string", 1}, {"Selector", "string", 1}, END};
static const struct column stateful_set_columns[] = {
    {"Name", "string", 0},       {"Ready", "string", 0},  {"Age", "string", 0},
    {"Containers", "string", 1}, {"Images", "string", 1}, END};
static const struct column daemon_set_columns[] = {
    {"Name", "string", 0},          {"Desired", "integer", 0},    {"Current", "integer", 0},
    {"Ready", "integer", 0},        {"Up-to-date", "integer", 0}, {"Available", "integer", 0},
    {"Node Selector", "string", 0}, {"Age", "string", 0},         {"Containers", "string", 1},
    {"Images", "string", 1},        {"Selector", "string", 1},    END};
static const struct column job_columns[] = {
    {"Name", "string", 0},     {"Status", "string", 0},   {"Completions", "string", 0},
    {"Duration", "string", 0}, {"Age", "string", 0},      {"Containers", "string", 1},
    {"Images", "string", 1},   {"Selector", "string", 1}, END};
static const struct column cron_job_columns[] = {{"Name", "string", 0},
                                                 {"Schedule", "string", 0},
                                                 {"Timezone", "string", 0},
                                                 {"Suspend", "boolean", 0},
                                                 {"Active", "integer", 0},
                                                 {"Last Schedule", "string", 0},
                                                 {"Age", "string", 0},
                                                 {"Containers", "string", 1},
                                                 {"Images", "string", 1},
                                                 {"Selector", "string", 1},
                                                 END};
static const struct column node_columns[] = {{"Name", "string", 0},    {"Status", "string", 0},
                                             {"Roles", "string", 0},   {"Age", "string", 0},
                                             {"Version", "string", 0}, END};
static const struct column namespace_columns[] = {
    {"Name", "string", 0}, {"Status", "string", 0}, {"Age", "string", 0}, END};
static const struct column event_columns[] = {{"Last Seen", "string", 0},
                                              {"Type", "string", 0},
                                              {"Reason", "string", 0},
                                              {"Object", "string", 0},
                                              {"Subobject", "string", 1},
                                              {"Source", "string", 1},
                                              {"Message", "string", 0},
                                              {"First Seen", "string", 1},
                                              {"Count", "string", 1},
                                              {"Name", "string", 1},
                                              END};
static const struct column config_map_columns[] = {
    {"Name", "string", 0}, {"Data", "string", 0}, {"Age", "string", 0}, END};
static const struct column secret_columns[] = {
    {"Name", "string", 0}, {"Type", "string", 0}, {"Data", "string", 0}, {"Age", "string", 0}, END};
static const struct column service_columns[] = {
    {"Name", "string", 0},       {"Type", "string", 0},
    {"Cluster-IP", "string", 0}, {"External-IP", "string", 0},
    {"Port(s)", "string", 0},    {"Age", "string", 0},
    {"Selector", "string", 1},   END};
static const struct column budget_columns[] = {{"Name", "string", 0},
                                               {"Min Available", "string", 0},
                                               {"Max Unavailable", "string", 0},
                                               {"Allowed Disruptions", "integer", 0},
                                               {"Age", "string", 0},
                                               END};
static const struct column lease_columns[] = {
    {"Name", "string", 0}, {"Holder", "string", 0}, {"Age", "string", 0}, END};
static const struct column webhook_columns[] = {
    {"Name", "string", 0}, {"Webhooks", "integer", 0}, {"Age", "string", 0}, END};
static const struct column plain_columns[] = {{"Name", "string", 0}, {"Age", "date", 0}, END};
static const struct column old_account_columns[] = {
    {"Name", "string", 0}, {"Secrets", "string", 0}, {"Age", "string", 0}, END};
static const struct column account_columns[] = {{"Name", "string", 0}, {"Age", "string", 0}, END};
static const struct column created_columns[] = {
    {"Name", "string", 0}, {"Created At", "date", 0}, END};

static const struct {
    const char *kind;
    const struct column *columns;
    unsigned before; /* only of minors before that one; 0: of all */
} by_kind[] = {
    {"Pod", pod_columns},
    {"Deployment", deployment_columns},
    {"ReplicaSet", replica_set_columns},
    {"ReplicationController", replica_set_columns},
    {"StatefulSet", stateful_set_columns},
    {"DaemonSet", daemon_set_columns},
    {"Job", job_columns},
    {"CronJob", cron_job_columns},
    {"Node", node_columns},
    {"Namespace", namespace_columns},
    {"Event", event_columns},
    {"ConfigMap", config_map_columns},
    {"Secret", secret_columns},
    {"Service", service_columns},
    {"PodDisruptionBudget", budget_columns},
    {"Lease", lease_columns},
    {"ServiceAccount", old_account_columns, 36},
    {"ServiceAccount", account_columns},
    {"MutatingWebhookConfiguration", webhook_columns},
    {"ValidatingWebhookConfiguration", webhook_columns},
    {"LimitRange", created_columns},
    {"Role", created_columns},
    {"ClusterRole", created_columns},
    {"CustomResourceDefinition", created_columns},
};

static const struct column *columns_of(const struct restype *t, unsigned minor)
{
    for (size_t i = 0; i < VPA_COUNT(by_kind); i++)
        if (!t->crd && !strcmp(by_kind[i].kind, t->kind) &&
            (!by_kind[i].before || minor < by_kind[i].before))
            return by_kind[i].columns;
    return plain_columns;
}

bool table_is_plain(const struct restype *t)
{
    return !t->crd && columns_of(t, 0) == created_columns;
}

/* ---- JSONPath ---- */

static struct jv *filter(struct vpa_arena *a, const struct jv *list, const char *text, size_t len)
{
    /* ?(@.type=='X') */
    const char *at = memchr(text, '@', len), *eq = strstr(text, "==");
    const char *quote = eq ? strpbrk(eq, "'\"") : NULL;

    if (!at || !eq || !quote || quote >= text + len)
        return NULL;
    const char *path = vpa_arena_strndup(a, at + 2, (size_t)(eq - at - 2));
    const char *wanted = vpa_arena_strndup(a, quote + 1, strcspn(quote + 1, "'\""));
    jv_each (m, list)
        if (!strcmp(jv_text_at(m->value, path), wanted))
            return m->value;
    return NULL;
}

struct jv *json_path(struct vpa_arena *a, const struct jv *object, const char *path)
{
    const struct jv *v = object;

    while (v && *path) {
        if (*path == '.') {
            path++;
            continue;
        }
        if (*path == '[') {
            size_t len = strcspn(path, "]");
            const char *inside = path + 1;
            if (*inside == '?')
                v = filter(a, v, inside, len);
            else if (*inside == '*')
                v = jv_len(v) ? v->items[0].value : NULL;
            else if (*inside == '\'' || *inside == '"')
                v = jv_get(v, vpa_arena_strndup(a, inside + 1, len - 3));
            else {
                long i = strtol(inside, NULL, 10);
                if (i < 0)
                    i += (long)jv_len(v);
                v = i >= 0 && (size_t)i < jv_len(v) ? v->items[i].value : NULL;
            }
            path += len + (path[len] == ']');
            continue;
        }
        vpa_auto_buf name = VPA_BUF(512);
        while (*path && *path != '.' && *path != '[') {
            if (*path == '\\' && path[1])
                path++;
            vpa_buf_putc(&name, *path++);
        }
        v = jv_get(v, vpa_buf_text(&name));
    }
    return (struct jv *)(uintptr_t)v;
}

/* ---- texts of cells ---- */

const char *age_text(struct vpa_arena *a, vpa_time now, const char *since)
{
    vpa_time t;

    if (!*since || vpa_time_parse(since, &t, NULL) < 0)
        return "<unknown>";
    int64_t s = (int64_t)(vpa_time_sub(now, t) / VPA_SECOND);
    if (s < 0)
        return "0s";
    if (s < 120)
        return vpa_arena_printf(a, "%llds", (long long)s);
    int64_t minutes = s / 60;
    if (minutes < 10)
        return s % 60 ? vpa_arena_printf(a, "%lldm%llds", (long long)minutes, (long long)(s % 60))
                      : vpa_arena_printf(a, "%lldm", (long long)minutes);
    if (minutes < 180)
        return vpa_arena_printf(a, "%lldm", (long long)minutes);
    int64_t hours = minutes / 60;
    if (hours < 8)
        return minutes % 60
                   ? vpa_arena_printf(a, "%lldh%lldm", (long long)hours, (long long)(minutes % 60))
                   : vpa_arena_printf(a, "%lldh", (long long)hours);
    if (hours < 48)
        return vpa_arena_printf(a, "%lldh", (long long)hours);
    if (hours < 192 && hours % 24)
        return vpa_arena_printf(a, "%lldd%lldh", (long long)(hours / 24), (long long)(hours % 24));
    if (hours < 24 * 365 * 2)
        return vpa_arena_printf(a, "%lldd", (long long)(hours / 24));
    int64_t days = hours / 24 % 365;
    if (hours < 24 * 365 * 8 && days)
        return vpa_arena_printf(a, "%lldy%lldd", (long long)(hours / 24 / 365), (long long)days);
    return vpa_arena_printf(a, "%lldy", (long long)(hours / 24 / 365));
}

const char *age_of(struct vpa_arena *a, vpa_time now, const struct jv *object)
{
    return age_text(a, now, jv_text_at(object, "metadata.creationTimestamp"));
}

void cell_text(struct row *r, const char *text)
{
    if (r->any)
        vpa_buf_putc(r->buf, ',');
    r->any = true;
    jv_write_string(r->buf, text);
}

void cell_int(struct row *r, int64_t n)
{
    vpa_buf_printf(r->buf, "%s%lld", r->any ? "," : "", (long long)n);
    r->any = true;
}

static void cell_value(struct row *r, const struct jv *v)
{
    if (r->any)
        vpa_buf_putc(r->buf, ',');
    r->any = true;
    if (v)
        jv_write(r->buf, v);
    else
        vpa_buf_puts(r->buf, "null");
}

void cell_path(struct row *r, const char *path, const char *absent)
{
    const char *t = jv_text_at(r->o, path);
    cell_text(r, *t ? t : absent);
}

static const char *x_text(struct row *r, const char *path, const char *absent)
{
    const struct jv *v = jv_at(r->o, path);
    return v && v->text ? v->text : absent;
}

static const char *joined(struct row *r, const char *path, const char *member)
{
    const char *out = "";
    jv_each (m, jv_at(r->o, path))
        out = vpa_arena_printf(r->a, "%s%s%s", out, *out ? "," : "", jv_text_at(m->value, member));
    return out;
}

/* ---- rows ---- */

static const char *or_none(const char *text)
{
    return *text ? text : "<none>";
}

/* Names and images of the containers of a template, and the selector of the specification. */
static void template_cells(struct row *r, const char *spec)
{
    const char *list = vpa_arena_printf(r->a, "%s.template.spec.containers", spec);

    cell_text(r, joined(r, list, "name"));
    cell_text(r, joined(r, list, "image"));
}

static const char *selector_text(struct row *r, const char *spec)
{
    return label_selector_text(r->a, jv_get(jv_at(r->o, spec), "selector"));
}

/* "k=v,k=v", by name. */
static const char *labels_text(struct row *r, const char *path)
{
    struct jv *selector = jv_obj(r->a), *labels = jv_at(r->o, path);

    if (labels)
        jv_set(r->a, selector, "matchLabels", labels);
    return or_none(label_selector_text(r->a, selector));
}

static int64_t status_int(struct row *r, const char *name)
{
    return jv_int_at(jv_get(r->o, "status"), name, 0);
}

static void workload_row(struct row *r, const char *kind)
{
    int64_t wanted = jv_int_at(r->o, "spec.replicas", 1);

    cell_path(r, "metadata.name", "");
    if (!strcmp(kind, "Deployment")) {
        cell_text(r, vpa_arena_printf(r->a, "%lld/%lld", (long long)status_int(r, "readyReplicas"),
                                      (long long)wanted));
        cell_int(r, status_int(r, "updatedReplicas"));
        cell_int(r, status_int(r, "availableReplicas"));
    } else if (!strcmp(kind, "StatefulSet")) {
        cell_text(r, vpa_arena_printf(r->a, "%lld/%lld", (long long)status_int(r, "readyReplicas"),
                                      (long long)wanted));
    } else if (!strcmp(kind, "DaemonSet")) {
        static const char *const names[] = {"desiredNumberScheduled", "currentNumberScheduled",
                                            "numberReady", "updatedNumberScheduled",
                                            "numberAvailable"};
        for (size_t i = 0; i < VPA_COUNT(names); i++)
            cell_int(r, status_int(r, names[i]));
        cell_text(r, labels_text(r, "spec.template.spec.nodeSelector"));
    } else {
        cell_int(r, wanted);
        cell_int(r, status_int(r, "replicas"));
        cell_int(r, status_int(r, "readyReplicas"));
    }
    cell_text(r, age_of(r->a, r->now, r->o));
    template_cells(r, "spec");
    if (!strcmp(kind, "Deployment"))
        cell_text(r, selector_text(r, "spec"));
    else if (!strcmp(kind, "ReplicationController"))
        cell_text(r, labels_text(r, "spec.selector"));
    else if (strcmp(kind, "StatefulSet") != 0)
        cell_text(r, or_none(selector_text(r, "spec")));
}

static void node_row(struct row *r)
{
    const char *status = "Unknown";
    jv_each (m, jv_at(r->o, "status.conditions"))
        if (!strcmp(jv_text_at(m->value, "type"), "Ready"))
            status = !strcmp(jv_text_at(m->value, "status"), "True") ? "Ready" : "NotReady";
    if (jv_bool_at(r->o, "spec.unschedulable", false))
        status = vpa_arena_printf(r->a, "%s,SchedulingDisabled", status);
    cell_path(r, "metadata.name", "");
    cell_text(r, status);
    cell_text(r, "<none>");
    cell_text(r, age_of(r->a, r->now, r->o));
    cell_path(r, "status.nodeInfo.kubeletVersion", "");
}

static const char *event_source(struct row *r)
{
    const char *component = jv_text_at(r->o, "source.component"),
               *host = jv_text_at(r->o, "source.host");

    if (!*component)
        component = jv_text_at(r->o, "reportingComponent");
    if (!*host)
        host = jv_text_at(r->o, "reportingInstance");
    return *host ? vpa_arena_printf(r->a, "%s, %s", component, host) : component;
}

static const char *event_target(struct row *r)
{
    char *kind = vpa_arena_strdup(r->a, jv_text_at(r->o, "involvedObject.kind"));
    const char *name = jv_text_at(r->o, "involvedObject.name");

    for (char *p = kind; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p + 32);
    return *name ? vpa_arena_printf(r->a, "%s/%s", kind, name) : kind;
}

static const char *trimmed(struct vpa_arena *a, const char *text)
{
    text += strspn(text, " \t\r\n");
    size_t len = strlen(text);
    while (len && strchr(" \t\r\n", text[len - 1]))
        len--;
    return vpa_arena_strndup(a, text, len);
}

static void event_row(struct row *r)
{
    const char *first = jv_text_at(r->o, "firstTimestamp"),
               *last = jv_text_at(r->o, "lastTimestamp");
    int64_t count = jv_int_at(r->o, "count", 0);

    if (!*first)
        first = jv_text_at(r->o, "eventTime");
    if (!*last)
        last = first;
    if (jv_get(r->o, "series")) {
        last = jv_text_at(r->o, "series.lastObservedTime");
        count = jv_int_at(r->o, "series.count", 0);
    } else if (!count) {
        count = 1;
    }
    cell_text(r, age_text(r->a, r->now, last));
    cell_path(r, "type", "");
    cell_path(r, "reason", "");
    cell_text(r, event_target(r));
    cell_path(r, "involvedObject.fieldPath", "");
    cell_text(r, event_source(r));
    cell_text(r, trimmed(r->a, jv_text_at(r->o, "message")));
    cell_text(r, age_text(r->a, r->now, first));
    cell_int(r, count);
    cell_path(r, "metadata.name", "");
}

/* The first of these conditions that holds; between those of the end and the others stands that it
 * goes. */
static const char *job_status(struct row *r)
{
    static const char *const types[][2] = {{"Complete", "Complete"},
                                           {"Failed", "Failed"},
                                           {"", "Terminating"},
                                           {"Suspended", "Suspended"},
                                           {"FailureTarget", "FailureTarget"},
                                           {"SuccessCriteriaMet", "SuccessCriteriaMet"}};

    for (size_t i = 0; i < VPA_COUNT(types); i++) {
        if (!*types[i][0] && jv_at(r->o, "metadata.deletionTimestamp"))
            return types[i][1];
        jv_each (m, jv_at(r->o, "status.conditions"))
            if (!strcmp(jv_text_at(m->value, "type"), types[i][0]) &&
                !strcmp(jv_text_at(m->value, "status"), "True"))
                return types[i][1];
    }
    return "Running";
}

static const char *completions_text(struct row *r)
{
    long long succeeded = status_int(r, "succeeded"),
              parallel = jv_int_at(r->o, "spec.parallelism", 0);

    if (jv_at(r->o, "spec.completions"))
        return vpa_arena_printf(r->a, "%lld/%lld", succeeded,
                                (long long)jv_int_at(r->o, "spec.completions", 0));
    return parallel > 1 ? vpa_arena_printf(r->a, "%lld/1 of %lld", succeeded, parallel)
                        : vpa_arena_printf(r->a, "%lld/1", succeeded);
}

static const char *job_duration(struct row *r)
{
    const char *start = jv_text_at(r->o, "status.startTime"),
               *end = jv_text_at(r->o, "status.completionTime");
    vpa_time until = r->now;

    if (!*start)
        return "";
    if (*end)
        (void)!vpa_time_parse(end, &until, NULL);
    return age_text(r->a, until, start);
}

static void job_row(struct row *r)
{
    cell_path(r, "metadata.name", "");
    cell_text(r, job_status(r));
    cell_text(r, completions_text(r));
    cell_text(r, job_duration(r));
    cell_text(r, age_of(r->a, r->now, r->o));
    template_cells(r, "spec");
    cell_text(r, or_none(selector_text(r, "spec")));
}

static void cron_job_row(struct row *r)
{
    const struct jv *suspend = jv_at(r->o, "spec.suspend");
    const char *last = jv_text_at(r->o, "status.lastScheduleTime");

    cell_path(r, "metadata.name", "");
    cell_path(r, "spec.schedule", "");
    cell_path(r, "spec.timeZone", "<none>");
    cell_text(r, !suspend ? "<unset>" : jv_bool_at(r->o, "spec.suspend", false) ? "True" : "False");
    cell_int(r, (int64_t)jv_len(jv_at(r->o, "status.active")));
    cell_text(r, *last ? age_text(r->a, r->now, last) : "<none>");
    cell_text(r, age_of(r->a, r->now, r->o));
    template_cells(r, "spec.jobTemplate.spec");
    cell_text(r, or_none(selector_text(r, "spec.jobTemplate.spec")));
}

static void service_row(struct row *r)
{
    const char *ports = "";
    jv_each (m, jv_at(r->o, "spec.ports"))
        ports = vpa_arena_printf(r->a, "%s%s%lld/%s", ports, *ports ? "," : "",
                                 (long long)jv_int_at(m->value, "port", 0),
                                 jv_text_at(m->value, "protocol"));
    cell_path(r, "metadata.name", "");
    cell_path(r, "spec.type", "");
    cell_path(r, "spec.clusterIP", "<none>");
    cell_path(r, "spec.externalName", "<none>");
    cell_text(r, ports);
    cell_text(r, age_of(r->a, r->now, r->o));
    cell_text(r, "<none>");
}

static void custom_row(struct row *r, const struct crd_info *crd)
{
    cell_path(r, "metadata.name", "");
    for (size_t i = 0; i < crd->column_count; i++) {
        const struct crd_column *c = &crd->columns[i];
        const struct jv *v = json_path(r->a, r->o, c->path);
        if (!strcmp(c->type, "date"))
            cell_text(r, jv_text(v) ? age_text(r->a, r->now, v->text) : "<unknown>");
        else if (!strcmp(c->type, "string") && v && v->type != JV_STR && v->type != JV_NULL)
            cell_text(r, jv_dump(r->a, v));
        else
            cell_value(r, v);
    }
    if (!crd->column_count)
        cell_text(r, age_of(r->a, r->now, r->o));
}

static void other_row(struct row *r, const char *k, unsigned minor)
{
    cell_path(r, "metadata.name", "");
    if (!strcmp(k, "Namespace"))
        cell_path(r, "status.phase", "");
    else if (!strcmp(k, "ConfigMap"))
        cell_int(r, (int64_t)jv_len(jv_get(r->o, "data")));
    else if (!strcmp(k, "Lease"))
        cell_path(r, "spec.holderIdentity", "");
    else if (!strcmp(k, "ServiceAccount") && minor < 36)
        cell_int(r, (int64_t)jv_len(jv_get(r->o, "secrets")));
    else if (strstr(k, "WebhookConfiguration"))
        cell_int(r, (int64_t)jv_len(jv_get(r->o, "webhooks")));
    else if (!strcmp(k, "Secret")) {
        cell_path(r, "type", "");
        cell_int(r, (int64_t)jv_len(jv_get(r->o, "data")));
    } else if (!strcmp(k, "PodDisruptionBudget")) {
        cell_text(r, x_text(r, "spec.minAvailable", "N/A"));
        cell_text(r, x_text(r, "spec.maxUnavailable", "N/A"));
        cell_int(r, status_int(r, "disruptionsAllowed"));
    }
    if (columns_of(&(struct restype){.kind = k}, 0) == created_columns)
        cell_path(r, "metadata.creationTimestamp", "");
    else
        cell_text(r, age_of(r->a, r->now, r->o));
}

static void write_cells(struct row *r, const struct restype *t, unsigned minor)
{
    const char *k = t->kind;

    if (t->crd)
        custom_row(r, t->crd);
    else if (!strcmp(k, "Pod"))
        pod_row(r);
    else if (!strcmp(t->group, "apps") || !strcmp(k, "ReplicationController"))
        workload_row(r, k);
    else if (!strcmp(k, "Node"))
        node_row(r);
    else if (!strcmp(k, "Event"))
        event_row(r);
    else if (!strcmp(k, "Job"))
        job_row(r);
    else if (!strcmp(k, "CronJob"))
        cron_job_row(r);
    else if (!strcmp(k, "Service"))
        service_row(r);
    else
        other_row(r, k, minor);
}

/* ---- the table ---- */

static void write_column(struct vpa_buf *b, bool first, const char *name, const char *type,
                         const char *format, const char *description, int priority)
{
    vpa_buf_puts(b, first ? "{\"name\":" : ",{\"name\":");
    jv_write_string(b, name);
    vpa_buf_puts(b, ",\"type\":");
    jv_write_string(b, type);
    vpa_buf_puts(b, ",\"format\":");
    jv_write_string(b, !strcmp(name, "Name") && !*format ? "name" : format);
    vpa_buf_puts(b, ",\"description\":");
    jv_write_string(b, description);
    vpa_buf_printf(b, ",\"priority\":%d}", priority);
}

static void write_columns(struct vpa_buf *b, const struct restype *t, unsigned minor)
{
    vpa_buf_putc(b, '[');
    if (t->crd) {
        write_column(b, true, "Name", "string", "", "", 0);
        for (size_t i = 0; i < t->crd->column_count; i++) {
            const struct crd_column *c = &t->crd->columns[i];
            write_column(b, false, c->name, c->type, c->format, c->description, c->priority);
        }
        if (!t->crd->column_count)
            write_column(b, false, "Age", "date", "", "", 0);
    } else {
        const struct column *columns = columns_of(t, minor);
        for (size_t i = 0; columns[i].name; i++)
            write_column(b, i == 0, columns[i].name, columns[i].type, "", "", columns[i].priority);
    }
    vpa_buf_putc(b, ']');
}

void table_begin(struct vpa_buf *b, const struct sim *sim, const struct restype *t, const char *rv,
                 const char *cont, int64_t remaining, bool columns)
{
    vpa_buf_printf(b,
                   "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
                   "v1\",\"metadata\":{\"resourceVersion\":\"%s\"",
                   rv);
    if (cont)
        vpa_buf_printf(b, ",\"continue\":\"%s\"", cont);
    if (remaining >= 0)
        vpa_buf_printf(b, ",\"remainingItemCount\":%lld", (long long)remaining);
    vpa_buf_puts(b, "},\"columnDefinitions\":");
    if (columns)
        write_columns(b, t, sim->opt.minor);
    else
        vpa_buf_puts(b, "null");
    vpa_buf_puts(b, ",\"rows\":[");
}

void table_row(struct vpa_buf *b, struct sim *sim, struct vpa_arena *a, const struct restype *t,
               const struct version *v, uint64_t rv, const char *include)
{
    struct row r = {.buf = b, .a = a, .o = version_parse(a, v), .now = sim_now(sim)};

    vpa_buf_puts(b, "{\"cells\":[");
    write_cells(&r, t, sim->opt.minor);
    vpa_buf_puts(b, "]");
    const char *conditions = strcmp(t->kind, "Pod") != 0 ? NULL : pod_row_conditions(r.o);
    if (conditions)
        vpa_buf_printf(b, ",\"conditions\":%s", conditions);
    if (!strcmp(include, "Metadata")) {
        vpa_buf_puts(b, ",\"object\":");
        write_metadata(b, a, t, v, rv);
    } else if (!strcmp(include, "Object")) {
        vpa_buf_puts(b, ",\"object\":");
        write_object(b, a, t, v, true, rv);
    } else {
        vpa_buf_puts(b, ",\"object\":null");
    }
    vpa_buf_putc(b, '}');
}

void table_end(struct vpa_buf *b)
{
    vpa_buf_puts(b, "]}");
}
