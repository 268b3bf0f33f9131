/* Validation of metadata and of the built-in kinds other than pods, with the server's texts. */
#include "sim.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUBDOMAIN                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start "                                                                         \
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "    \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL                                                                                      \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end "                                                                          \
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define NAME_PART                                                                                  \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an "                                                                                     \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "         \
    "validation is "                                                                               \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define LABEL_VALUE                                                                                \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start "                                                                         \
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex "  \
    "used for "                                                                                    \
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static bool dns_label(const char *text, size_t len)
{
    if (!len || text[0] == '-' || text[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!(islower((unsigned char)text[i]) || isdigit((unsigned char)text[i]) || text[i] == '-'))
            return false;
    return true;
}

static bool dns_subdomain(const char *text)
{
    for (;;) {
        size_t len = strcspn(text, ".");
        if (!dns_label(text, len))
            return false;
        if (!text[len])
            return true;
        text += len + 1;
    }
}

static bool qualified_part(const char *text, size_t len)
{
    if (!len || !isalnum((unsigned char)text[0]) || !isalnum((unsigned char)text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
            return false;
    return true;
}

bool is_label_key(const char *text, const char **why)
{
    const char *slash = strchr(text, '/'), *name = slash ? slash + 1 : text;

    *why = NAME_PART;
    if (slash && (slash == text || strchr(name, '/'))) {
        return false;
    }
    if (slash) {
        char prefix[254];
        size_t len = (size_t)(slash - text);
        if (len >= sizeof(prefix))
            return false;
        memcpy(prefix, text, len);
        prefix[len] = 0;
        if (!dns_subdomain(prefix)) {
            *why = "prefix part " SUBDOMAIN;
            return false;
        }
    }
    if (strlen(name) > 63) {
        *why = "name part must be no more than 63 bytes";
        return false;
    }
    return qualified_part(name, strlen(name));
}

bool is_label_value(const char *text)
{
    return !*text || (strlen(text) <= 63 && qualified_part(text, strlen(text)));
}

#define INVALID "FieldValueInvalid"
#define REQUIRED "FieldValueRequired"

static void validate_name(struct ctx *c, const struct restype *t, const char *name,
                          struct field_errors *errors)
{
    if (t->flags & T_PATH_NAMES) {
        if (strchr(name, '/') || strchr(name, '%') || !strcmp(name, ".") || !strcmp(name, ".."))
            field_error(c, errors, INVALID, "metadata.name",
                        "Invalid value: \"%s\": may not contain '/'", name);
        return;
    }
    if (t->flags & T_LABEL_NAMES) {
        if (strlen(name) > 63)
            field_error(c, errors, INVALID, "metadata.name",
                        "Invalid value: \"%s\": must be no more than 63 bytes", name);
        if (!dns_label(name, strlen(name)))
            field_error(c, errors, INVALID, "metadata.name", "Invalid value: \"%s\": " LABEL, name);
        return;
    }
    if (strlen(name) > 253)
        field_error(c, errors, INVALID, "metadata.name",
                    "Invalid value: \"%s\": must be no more than 253 %s", name,
                    t->crd ? "characters" : "bytes");
    if (!dns_subdomain(name))
        field_error(c, errors, INVALID, "metadata.name", "Invalid value: \"%s\": " SUBDOMAIN, name);
}

static void validate_labels(struct ctx *c, const struct jv *labels, const char *field,
                            struct field_errors *errors)
{
    const char *why;

    jv_each (m, labels) {
        const char *value = jv_text(m->value) ? m->value->text : "";
        if (!is_label_key(m->name, &why))
            field_error(c, errors, INVALID, field, "Invalid value: \"%s\": %s", m->name, why);
        if (!is_label_value(value))
            field_error(c, errors, INVALID, field,
                        strlen(value) > 63 ? "Invalid value: \"%s\": must be no more than 63 bytes"
                                           : "Invalid value: \"%s\": " LABEL_VALUE,
                        value);
    }
}

static const char *owner_json(struct ctx *c, const struct jv *owners)
{
    vpa_auto_buf b = {0};
    vpa_buf_init(&b, 1 << 20);
    jv_write(&b, owners);
    return vpa_arena_strdup(c->a, vpa_buf_text(&b));
}

static void validate_owners(struct ctx *c, const struct jv *owners, struct field_errors *errors)
{
    const char *first = NULL;
    static const char *const members[] = {"apiVersion", "kind", "name", "uid"};

    jv_each (m, owners) {
        for (size_t i = 0; i < VPA_COUNT(members); i++)
            if (!*jv_text_at(m->value, members[i]))
                field_error(c, errors, INVALID,
                            vpa_arena_printf(c->a, "metadata.ownerReferences.%s", members[i]),
                            "Invalid value: \"\": %s",
                            i ? "must not be empty" : "version must not be empty");
        if (!jv_bool_at(m->value, "controller", false))
            continue;
        const char *who = vpa_arena_printf(c->a, "%s/%s", jv_text_at(m->value, "kind"),
                                           jv_text_at(m->value, "name"));
        if (first)
            field_error(c, errors, INVALID, "metadata.ownerReferences",
                        "Invalid value: %s: Only one reference can have Controller set to true. "
                        "Found \"true\" in "
                        "references for %s and %s",
                        owner_json(c, owners), first, who);
        else
            first = who;
    }
}

void validate_meta(struct ctx *c, const struct restype *t, const struct jv *object,
                   struct field_errors *errors)
{
    const struct jv *meta = jv_get(object, "metadata");
    const char *name = jv_text_at(meta, "name");
    const char *why;

    if (*name)
        validate_name(c, t, name, errors);
    else if (!*jv_text_at(meta, "generateName"))
        field_error(c, errors, REQUIRED, "metadata.name",
                    "Required value: name or generateName is required");
    validate_labels(c, jv_get(meta, "labels"), "metadata.labels", errors);
    jv_each (m, jv_get(meta, "annotations")) {
        char *lower = vpa_arena_strdup(c->a, m->name);
        for (char *p = lower; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        if (!is_label_key(lower, &why))
            field_error(c, errors, INVALID, "metadata.annotations", "Invalid value: \"%s\": %s",
                        m->name, why);
    }
    validate_owners(c, jv_get(meta, "ownerReferences"), errors);
}

static bool has_text(const struct jv *list, const char *text)
{
    jv_each (m, list)
        if (jv_text(m->value) && !strcmp(m->value->text, text))
            return true;
    return false;
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

void validate_meta_update(struct ctx *c, const struct jv *old, const struct jv *object,
                          struct field_errors *errors)
{
    if (!jv_at(old, "metadata.deletionTimestamp"))
        return;
    struct strings fresh = {0};
    const char *list = "";

    jv_each (m, jv_at(object, "metadata.finalizers"))
        if (jv_text(m->value) && !has_text(jv_at(old, "metadata.finalizers"), m->value->text))
            strings_add(c->a, &fresh, m->value->text);
    if (!fresh.count)
        return;
    qsort(fresh.items, fresh.count, sizeof(*fresh.items), by_text);
    for (size_t i = 0; i < fresh.count; i++)
        list = vpa_arena_printf(c->a, "%s%s\"%s\"", list, i ? ", " : "", fresh.items[i]);
    /* The server checks most kinds twice. */
    for (int i = !strcmp(c->type->kind, "PodDisruptionBudget"); i < 2; i++)
        field_error(c, errors, "FieldValueForbidden", "metadata.finalizers",
                    "Forbidden: no new finalizers can be added if the object is being deleted, "
                    "found new finalizers []string{%s}",
                    list);
}

/* ---- kinds ---- */

static void at_least(struct ctx *c, const struct jv *object, const char *path, int64_t least,
                     struct field_errors *errors)
{
    int64_t n;
    if (jv_is_int(jv_at(object, path), &n) && n < least)
        field_error(c, errors, INVALID, path,
                    "Invalid value: %lld: must be greater than or equal to %lld", (long long)n,
                    (long long)least);
}

static void validate_workload(struct ctx *c, const struct jv *object, const char *kind,
                              struct field_errors *errors)
{
    const struct jv *spec = jv_get(object, "spec");
    const struct jv *labels = jv_at(spec, "template.metadata.labels"),
                    *selector = jv_get(spec, "selector");
    bool controller = strcmp(kind, "Job") != 0 && strcmp(kind, "CronJob") != 0;

    at_least(c, object, "spec.replicas", 0, errors);
    if (!strcmp(kind, "CronJob")) {
        if (!*jv_text_at(spec, "schedule"))
            field_error(c, errors, REQUIRED, "spec.schedule", "Required value");
        validate_pod_spec(c, jv_at(spec, "jobTemplate.spec.template.spec"),
                          "spec.jobTemplate.spec.template.spec", errors);
        const char *restart = jv_text_at(spec, "jobTemplate.spec.template.spec.restartPolicy");
        if (strcmp(restart, "OnFailure") != 0 && strcmp(restart, "Never") != 0)
            field_error(c, errors, REQUIRED, "spec.jobTemplate.spec.template.spec.restartPolicy",
                        "Required value: valid values: \"OnFailure\", \"Never\"");
        return;
    }
    if (controller && strcmp(kind, "ReplicationController") != 0) {
        if (jv_missing(selector)) {
            field_error(c, errors, REQUIRED, "spec.selector", "Required value");
        } else if (!jv_len(jv_get(selector, "matchLabels")) &&
                   !jv_len(jv_get(selector, "matchExpressions"))) {
            field_error(c, errors, INVALID, "spec.selector",
                        "Invalid value: {}: empty selector is invalid for %s",
                        !strcmp(kind, "Deployment")    ? "deployment"
                        : !strcmp(kind, "StatefulSet") ? "statefulset"
                                                       : kind);
        }
        bool everything = !jv_missing(selector) && !jv_len(jv_get(selector, "matchLabels")) &&
                          !jv_len(jv_get(selector, "matchExpressions"));
        if (!everything && !label_selector_matches(selector, labels))
            field_error(c, errors, INVALID, "spec.template.metadata.labels",
                        "Invalid value: %s: `selector` does not match template `labels`",
                        labels ? jv_dump(c->a, labels) : "null");
    }
    if (!strcmp(kind, "Deployment") && !strcmp(jv_text_at(spec, "strategy.type"), "Recreate") &&
        jv_at(spec, "strategy.rollingUpdate"))
        field_error(c, errors, "FieldValueForbidden", "spec.strategy.rollingUpdate",
                    "Forbidden: may not be specified when strategy `type` is 'Recreate'");
    if (!strcmp(kind, "ReplicationController") && !jv_len(selector))
        field_error(c, errors, REQUIRED, "spec.selector", "Required value");
    if (!strcmp(kind, "ReplicationController") && jv_missing(jv_get(spec, "template")))
        field_error(c, errors, REQUIRED, "spec.template", "Required value");
    else
        validate_pod_spec(c, jv_at(spec, "template.spec"), "spec.template.spec", errors);
}

static void check_limit_names(struct ctx *c, const struct jv *item, size_t index,
                              struct field_errors *errors)
{
    static const char *const lists[] = {"min", "max", "default", "defaultRequest",
                                        "maxLimitRequestRatio"};

    for (size_t i = 0; i < VPA_COUNT(lists); i++)
        jv_each (m, jv_get(item, lists[i]))
            check_resource_name(
                c, m->name, vpa_arena_printf(c->a, "spec.limits[%zu].%s", index, lists[i]), errors);
}

static void validate_limit_range(struct ctx *c, const struct jv *object,
                                 struct field_errors *errors)
{
    size_t i = 0;

    jv_each (m, jv_at(object, "spec.limits")) {
        const char *at = vpa_arena_printf(c->a, "spec.limits[%zu].type", i);
        check_limit_names(c, m->value, i++, errors);
        if (*jv_text_at(m->value, "type"))
            continue;
        field_error(c, errors, INVALID, at, "Invalid value: \"\": name part must be non-empty");
        field_error(c, errors, INVALID, at, "Invalid value: \"\": " NAME_PART);
    }
}

static void validate_lease(struct ctx *c, const struct jv *object, struct field_errors *errors)
{
    int64_t n;

    if (jv_is_int(jv_at(object, "spec.leaseDurationSeconds"), &n) && n <= 0)
        field_error(c, errors, INVALID, "spec.leaseDurationSeconds",
                    "Invalid value: %lld: must be greater than 0", (long long)n);
    at_least(c, object, "spec.leaseTransitions", 0, errors);
}

static void validate_event(struct ctx *c, const struct restype *t, const struct jv *object,
                           struct field_errors *errors)
{
    const char *ns = jv_text_at(object, "metadata.namespace"),
               *about = jv_text_at(object, "involvedObject.namespace");

    if (t->as) {
        if (jv_missing(jv_get(object, "eventTime")))
            field_error(c, errors, REQUIRED, "eventTime", "Required value");
        const char *type = jv_text_at(object, "type");
        if (strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0)
            field_error(c, errors, INVALID, "type", "Invalid value: \"\": has invalid value: %s",
                        type);
    }
    if ((*about || strcmp(ns, "default") != 0) && strcmp(ns, about) != 0)
        field_error(c, errors, INVALID, "involvedObject.namespace",
                    "Invalid value: \"%s\": does not match event.namespace", about);
}

static void validate_webhooks(struct ctx *c, const struct jv *object, struct field_errors *errors)
{
    size_t i = 0;

    jv_each (m, jv_get(object, "webhooks")) {
        const struct jv *w = m->value;
        const char *name = jv_text_at(w, "name"), *effects = jv_text_at(w, "sideEffects"),
                   *url = jv_text(jv_at(w, "clientConfig.url"));
        int64_t seconds = jv_int_at(w, "timeoutSeconds", 10);
        const char *at = vpa_arena_printf(c->a, "webhooks[%zu]", i++);
        const char *dot = strchr(name, '.');
        if (!dns_subdomain(name))
            field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s.name", at),
                        "Invalid value: \"%s\": " SUBDOMAIN, name);
        else if (!dot || !strchr(dot + 1, '.'))
            field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s.name", at),
                        "Invalid value: \"%s\": should be a domain with at least three segments "
                        "separated by dots",
                        name);
        if (!*effects)
            field_error(c, errors, REQUIRED, vpa_arena_printf(c->a, "%s.sideEffects", at),
                        "Required value: must specify one of None, NoneOnDryRun");
        else if (strcmp(effects, "None") != 0 && strcmp(effects, "NoneOnDryRun") != 0)
            field_error(
                c, errors, "FieldValueNotSupported", vpa_arena_printf(c->a, "%s.sideEffects", at),
                "Unsupported value: \"%s\": supported values: \"None\", \"NoneOnDryRun\"", effects);
        if (seconds < 1 || seconds > 30)
            field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s.timeoutSeconds", at),
                        "Invalid value: %lld: the timeout value must be between 1 and 30 seconds",
                        (long long)seconds);
        if (!jv_len(jv_get(w, "admissionReviewVersions")))
            field_error(c, errors, REQUIRED,
                        vpa_arena_printf(c->a, "%s.admissionReviewVersions", at),
                        "Required value: must specify one of v1, v1beta1");
        if (url && strncmp(url, "https://", 8) != 0)
            field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s.clientConfig.url", at),
                        "Invalid value: \"%.*s\": 'https' is the only allowed URL scheme; desired "
                        "format: https://host[/path]",
                        (int)strcspn(url, ":"), url);
        if (!url && !jv_at(w, "clientConfig.service"))
            field_error(c, errors, REQUIRED, vpa_arena_printf(c->a, "%s.clientConfig", at),
                        "Required value: exactly one of url or service is required");
    }
}

#define PERCENT                                                                                    \
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "   \
    "'93%', "                                                                                      \
    "regex used for validation is '[0-9]+%')"

static void validate_share(struct ctx *c, const struct jv *object, const char *path,
                           struct field_errors *errors)
{
    const struct jv *v = jv_at(object, path);
    int64_t n;

    if (jv_is_int(v, &n) && n < 0)
        field_error(c, errors, INVALID, path,
                    "Invalid value: %lld: must be greater than or equal to 0", (long long)n);
    if (!jv_text(v) || v->type != JV_STR)
        return;
    size_t digits = strspn(v->text, "0123456789");
    if (!digits || strcmp(v->text + digits, "%") != 0)
        field_error(c, errors, INVALID, path, "Invalid value: \"%s\": %s", v->text, PERCENT);
    else if (strtoull(v->text, NULL, 10) > 100)
        field_error(c, errors, INVALID, path,
                    "Invalid value: \"%s\": must not be greater than 100%%", v->text);
}

static void check_selector_keys(struct ctx *c, const struct jv *selector, const char *path,
                                struct field_errors *errors)
{
    size_t i = 0;

    jv_each (m, jv_get(selector, "matchExpressions")) {
        const char *at = vpa_arena_printf(c->a, "%s.matchExpressions[%zu].key", path, i++);
        if (*jv_text_at(m->value, "key"))
            continue;
        field_error(c, errors, INVALID, at, "Invalid value: \"\": name part must be non-empty");
        field_error(c, errors, INVALID, at, "Invalid value: \"\": " NAME_PART);
    }
}

static void validate_budget(struct ctx *c, const struct jv *object, struct field_errors *errors)
{
    check_selector_keys(c, jv_at(object, "spec.selector"), "spec.selector", errors);
    validate_share(c, object, "spec.minAvailable", errors);
    validate_share(c, object, "spec.maxUnavailable", errors);
    if (jv_at(object, "spec.minAvailable") && jv_at(object, "spec.maxUnavailable"))
        field_error(c, errors, INVALID, "spec",
                    "Invalid value: {}: minAvailable and maxUnavailable cannot be both set");
}

static void validate_kind(struct ctx *c, const struct restype *t, struct jv *object,
                          struct field_errors *errors)
{
    const char *k = t->kind;

    if (!strcmp(k, "Pod")) {
        validate_pod_spec(c, jv_get(object, "spec"), "spec", errors);
        if (!errors->count)
            warn_pod_spec(c, jv_get(object, "spec"), "spec");
    } else if (!strcmp(t->group, "apps") || !strcmp(t->group, "batch") ||
               !strcmp(k, "ReplicationController")) {
        validate_workload(c, object, k, errors);
    } else if (!strcmp(k, "LimitRange")) {
        validate_limit_range(c, object, errors);
    } else if (!strcmp(k, "Lease")) {
        validate_lease(c, object, errors);
    } else if (!strcmp(k, "Event")) {
        validate_event(c, t, object, errors);
    } else if (strstr(k, "WebhookConfiguration")) {
        validate_webhooks(c, object, errors);
    } else if (!strcmp(k, "PodDisruptionBudget")) {
        validate_budget(c, object, errors);
    }
}

void validate_create(struct ctx *c, const struct restype *t, struct jv *object,
                     struct field_errors *errors)
{
    validate_meta(c, t, object, errors);
    if (t->crd)
        validate_custom(c, t, NULL, object, errors);
    else
        validate_kind(c, t, object, errors);
}

static void not_more(struct ctx *c, const struct jv *object, const char *path, int64_t most,
                     struct field_errors *errors)
{
    int64_t n = jv_int_at(object, path, 0);
    if (n > most)
        field_error(c, errors, INVALID, path,
                    "Invalid value: %lld: cannot be greater than status.replicas", (long long)n);
}

static void validate_status(struct ctx *c, const struct restype *t, const struct jv *old,
                            const struct jv *object, struct field_errors *errors)
{
    if (!strcmp(t->kind, "Deployment")) {
        int64_t replicas = jv_int_at(object, "status.replicas", 0);
        at_least(c, object, "status.replicas", 0, errors);
        not_more(c, object, "status.updatedReplicas", replicas, errors);
        not_more(c, object, "status.readyReplicas", replicas, errors);
        not_more(c, object, "status.availableReplicas", replicas, errors);
    }
    if (!strcmp(t->kind, "Pod") && *jv_text_at(old, "status.qosClass") &&
        strcmp(jv_text_at(old, "status.qosClass"), jv_text_at(object, "status.qosClass")) != 0)
        field_error(c, errors, INVALID, "status.qosClass",
                    "Invalid value: \"%s\": field is immutable",
                    jv_text_at(object, "status.qosClass"));
}

static void immutable(struct ctx *c, const struct jv *old, const struct jv *object,
                      const char *path, struct field_errors *errors)
{
    const struct jv *x = jv_at(old, path), *y = jv_at(object, path);
    if (!jv_equal(x, y))
        field_error(c, errors, INVALID, path, "Invalid value: %s: field is immutable",
                    y ? jv_dump(c->a, y) : "null");
}

/* Of a pod only images, tolerations (more of them), deadlines and grace may change. */
static void validate_pod_change(struct ctx *c, const struct jv *old, const struct jv *object,
                                struct field_errors *errors)
{
    struct jv *x = jv_clone(c->a, jv_get(old, "spec")), *y = jv_clone(c->a, jv_get(object, "spec"));
    struct jv *const both[] = {x, y};
    static const char *const lists[] = {"containers", "initContainers"};

    for (int i = 0; i < 2; i++) {
        jv_del(both[i], "activeDeadlineSeconds");
        jv_del(both[i], "tolerations");
        jv_del(both[i], "schedulingGates");
        for (size_t k = 0; k < VPA_COUNT(lists); k++)
            jv_each (m, jv_get(both[i], lists[k]))
                jv_del(m->value, "image");
    }
    for (size_t k = 0; k < VPA_COUNT(lists); k++)
        if (jv_len(jv_get(x, lists[k])) != jv_len(jv_get(y, lists[k]))) {
            field_error(c, errors, "FieldValueForbidden",
                        vpa_arena_printf(c->a, "spec.%s", lists[k]),
                        "Forbidden: pod updates may not add or remove containers");
            return;
        }
    if (!jv_equal(x, y))
        field_error(
            c, errors, "FieldValueForbidden", "spec",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
            "additions to "
            "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 "
            "if it was "
            "previously negative)");
}

static void validate_stateful_set_change(struct ctx *c, const struct jv *old,
                                         const struct jv *object, struct field_errors *errors)
{
    static const char *const mutable[] = {"replicas",
                                          "ordinals",
                                          "template",
                                          "updateStrategy",
                                          "revisionHistoryLimit",
                                          "persistentVolumeClaimRetentionPolicy",
                                          "minReadySeconds"};
    struct jv *x = jv_clone(c->a, jv_get(old, "spec")), *y = jv_clone(c->a, jv_get(object, "spec"));

    for (size_t i = 0; i < VPA_COUNT(mutable); i++) {
        jv_del(x, mutable[i]);
        jv_del(y, mutable[i]);
    }
    if (!jv_equal(x, y))
        field_error(c, errors, "FieldValueForbidden", "spec",
                    "Forbidden: updates to statefulset spec for fields other than 'replicas', "
                    "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
                    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
}

/* Takes over what may change. */
static void take_over(struct ctx *c, struct jv *to, const struct jv *from, const char *const *names,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct jv *value = jv_get(from, names[i]);

        if (value)
            jv_set(c->a, to, names[i], jv_clone(c->a, value));
        else
            jv_del(to, names[i]);
    }
}

static void take_over_resources(struct ctx *c, struct jv *to, const struct jv *from,
                                const char *list)
{
    static const char *const resources[] = {"resources"};
    struct jv *ours = jv_get(to, list);
    const struct jv *theirs = jv_get(from, list);

    if (jv_len(ours) != jv_len(theirs))
        return;
    for (size_t i = 0; i < jv_len(ours); i++) {
        struct jv *x = ours->items[i].value;
        const struct jv *y = theirs->items[i].value;

        if (!strcmp(jv_text_at(x, "name"), jv_text_at(y, "name")))
            take_over(c, x, y, resources, 1);
    }
}

/* Of a Job that is suspended and has not begun, the places of its pods may change; from 1.36 on
 * their resources too. */
static void validate_job_template(struct ctx *c, const struct jv *old, const struct jv *object,
                                  struct field_errors *errors)
{
    static const char *const places[] = {"nodeSelector", "tolerations", "schedulingGates"};
    static const char *const names[] = {"labels", "annotations"};
    struct jv *before = jv_clone(c->a, old);
    const struct jv *spec = jv_at(object, "spec.template.spec");

    if (!jv_bool_at(old, "spec.suspend", false) || !jv_missing(jv_at(old, "status.startTime"))) {
        immutable(c, old, object, "spec.template", errors);
        return;
    }
    take_over(c, jv_ensure(c->a, before, "spec.template.spec"), spec, places, VPA_COUNT(places));
    take_over(c, jv_ensure(c->a, before, "spec.template.metadata"),
              jv_at(object, "spec.template.metadata"), names, VPA_COUNT(names));
    if (c->sim->opt.minor < 36) {
        immutable(c, before, object, "spec.template", errors);
        return;
    }
    take_over_resources(c, jv_at(before, "spec.template.spec"), spec, "containers");
    take_over_resources(c, jv_at(before, "spec.template.spec"), spec, "initContainers");
    immutable(c, before, object, "spec.template.spec", errors);
}

static void validate_job_change(struct ctx *c, const struct jv *old, const struct jv *object,
                                struct field_errors *errors)
{
    const struct jv *selector = jv_at(object, "spec.selector");

    validate_workload(c, object, "Job", errors);          /* once more, as the server does */
    for (int i = 0; jv_missing(selector) && i < 2; i++) { /* looked at twice */
        field_error(c, errors, REQUIRED, "spec.selector", "Required value");
        field_error(c, errors, INVALID, "spec.template.metadata.labels",
                    "Invalid value: %s: `selector` does not match template `labels`",
                    jv_at(object, "spec.template.metadata.labels")
                        ? jv_dump(c->a, jv_at(object, "spec.template.metadata.labels"))
                        : "null");
    }
    immutable(c, old, object, "spec.completions", errors);
    immutable(c, old, object, "spec.selector", errors);
    validate_job_template(c, old, object, errors);
}

void validate_update(struct ctx *c, const struct restype *t, const struct jv *old,
                     struct jv *object, const char *sub, struct field_errors *errors)
{
    if (!strcmp(sub, "resize"))
        return; /* resize_prepare has seen to it */
    if (!strcmp(sub, "status")) {
        if (t->crd)
            validate_custom(c, t, old, object, errors);
        else
            validate_status(c, t, old, object, errors);
        return;
    }
    validate_meta(c, t, object, errors);
    validate_meta_update(c, old, object, errors);
    if (!t->crd)
        validate_owners(c, jv_at(object, "metadata.ownerReferences"), errors); /* once more */
    if (t->crd) {
        validate_custom(c, t, old, object, errors);
        return;
    }
    if (!strcmp(t->kind, "Pod")) {
        validate_pod_spec(c, jv_get(object, "spec"), "spec", errors);
        if (!jv_equal(jv_get(old, "spec"), jv_get(object, "spec")))
            validate_pod_change(c, old, object, errors);
        return;
    }
    validate_kind(c, t, object, errors);
    if (!strcmp(t->kind, "StatefulSet"))
        validate_stateful_set_change(c, old, object, errors);
    if (!strcmp(t->kind, "Job"))
        validate_job_change(c, old, object, errors);
    if (!strcmp(t->kind, "Deployment") || !strcmp(t->kind, "ReplicaSet") ||
        !strcmp(t->kind, "DaemonSet"))
        immutable(c, old, object, "spec.selector", errors);
}
