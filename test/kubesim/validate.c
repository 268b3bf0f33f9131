/* Validation of the built-in kinds without a file of their own, with the server's texts. */
#include "validate.h"

#include <stdlib.h>
#include <string.h>

static void at_least(struct ctx *c, const struct jv *object, const char *path, int64_t least,
                     struct field_errors *errors)
{
    int64_t n;
    if (jv_is_int(jv_at(object, path), &n) && n < least)
        field_error(c, errors, INVALID, path,
                    "Invalid value: %lld: must be greater than or equal to %lld", (long long)n,
                    (long long)least);
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
        if (!is_dns_subdomain(name))
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
            field_error(c, errors, UNSUPPORTED, vpa_arena_printf(c->a, "%s.sideEffects", at),
                        "Unsupported value: \"%s\": supported values: \"None\", \"NoneOnDryRun\"",
                        effects);
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

static void validate_budget(struct ctx *c, const struct jv *object, struct field_errors *errors)
{
    const char *policy = jv_text(jv_at(object, "spec.unhealthyPodEvictionPolicy"));

    validate_selector(c, jv_at(object, "spec.selector"), "spec.selector", errors);
    if (policy && strcmp(policy, "AlwaysAllow") != 0 && strcmp(policy, "IfHealthyBudget") != 0)
        field_error(c, errors, UNSUPPORTED, "spec.unhealthyPodEvictionPolicy",
                    "Unsupported value: \"%s\": supported values: \"AlwaysAllow\", "
                    "\"IfHealthyBudget\"",
                    policy);
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
    validate_new_workload(c, object, t->kind, errors);
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

/* Told once more of what may change. */
static void require_images(struct ctx *c, const struct jv *spec, const char *list,
                           struct field_errors *errors)
{
    size_t i = 0;

    jv_each (m, jv_get(spec, list)) {
        if (!*jv_text_at(m->value, "image"))
            field_error(c, errors, REQUIRED, vpa_arena_printf(c->a, "spec.%s[%zu].image", list, i),
                        "Required value");
        i++;
    }
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
            field_error(c, errors, FORBIDDEN, vpa_arena_printf(c->a, "spec.%s", lists[k]),
                        "Forbidden: pod updates may not add or remove containers");
            return;
        }
    for (size_t k = 0; k < VPA_COUNT(lists); k++)
        require_images(c, jv_at(object, "spec"), lists[k], errors);
    if (!schema_equal(c->a, schema_builtin("PodSpec"), x, y))
        field_error(
            c, errors, FORBIDDEN, "spec",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
            "additions to "
            "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 "
            "if it was "
            "previously negative)");
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
    validate_meta_update(c, old, object, errors);
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
    validate_workload_change(c, old, object, t->kind, errors);
}
