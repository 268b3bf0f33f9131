/* Validation of pod specifications, also inside templates. */
#include "validate.h"

#include <string.h>

#include "vpa/base/quantity.h"
#include "vpa/base/str.h"

static void check_label(struct ctx *c, const char *text, const char *at,
                        struct field_errors *errors)
{
    const char *fault = dns_label_fault(text);

    if (strlen(text) > 63)
        field_error(c, errors, INVALID, at,
                    "Invalid value: \"%s\": must be no more than 63 characters", text);
    if (fault)
        field_error(c, errors, INVALID, at, "Invalid value: \"%s\": %s", text, fault);
}

static void check_word(struct ctx *c, const char *text, const char *at, const char *const words[3],
                       struct field_errors *errors)
{
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(text, words[i]))
            return;
    if (!*text)
        field_error(c, errors, REQUIRED, at, "Required value");
    else
        field_error(c, errors, UNSUPPORTED, at,
                    "Unsupported value: \"%s\": supported values: \"%s\", \"%s\", \"%s\"", text,
                    words[0], words[1], words[2]);
}

static bool amount(struct ctx *c, const struct jv *v, struct vpa_quantity *q)
{
    return jv_text(v) && vpa_quantity_parse(c->a, v->text, q, NULL) == 0;
}

/* A resource that has a domain, or that the server knows. */
static bool is_resource(const char *name)
{
    static const char *const ours[] = {"cpu", "memory", "ephemeral-storage"};

    return strchr(name, '/') || vpa_str_starts_with(name, "hugepages-") ||
           is_one_of(name, ours, VPA_COUNT(ours));
}

/* One that quotas and limits of other things than pods may name too. */
static bool is_known_resource(const char *name)
{
    static const char *const known[] = {"requests.cpu",
                                        "requests.memory",
                                        "requests.ephemeral-storage",
                                        "requests.storage",
                                        "limits.cpu",
                                        "limits.memory",
                                        "limits.ephemeral-storage",
                                        "pods",
                                        "resourcequotas",
                                        "services",
                                        "services.nodeports",
                                        "services.loadbalancers",
                                        "replicationcontrollers",
                                        "secrets",
                                        "configmaps",
                                        "persistentvolumeclaims",
                                        "storage"};

    return is_resource(name) || is_one_of(name, known, VPA_COUNT(known));
}

void check_known_resource_name(struct ctx *c, const char *name, const char *path,
                               struct field_errors *errors)
{
    if (!is_known_resource(name))
        field_wrong(c, errors, vpa_arena_printf(c->a, "%s[%s]", path, name), name,
                    "must be a standard resource type or fully qualified");
}

void check_resource_name(struct ctx *c, const char *name, const char *path,
                         struct field_errors *errors)
{
    check_known_resource_name(c, name, path, errors);
    if (!is_resource(name))
        field_wrong(c, errors, vpa_arena_printf(c->a, "%s[%s]", path, name), name,
                    "must be a standard resource for containers");
}

/* One of a whole pod. */
static void check_pod_resource_name(struct ctx *c, const char *name, const char *path,
                                    struct field_errors *errors)
{
    const char *at = vpa_arena_printf(c->a, "%s[%s]", path, name);

    if (!is_resource(name))
        field_wrong(c, errors, at, name, "must be a standard resource type or fully qualified");
    else if (strcmp(name, "cpu") != 0 && strcmp(name, "memory") != 0)
        field_error(c, errors, UNSUPPORTED, at,
                    "Unsupported value: \"%s\": supported values: \"cpu\", \"hugepages-\", "
                    "\"memory\"",
                    name);
}

typedef void (*name_check)(struct ctx *c, const char *name, const char *path,
                           struct field_errors *errors);

static void check_list(struct ctx *c, const struct jv *list, const char *path, name_check check,
                       struct field_errors *errors)
{
    struct vpa_quantity q;

    jv_each (m, list)
        check(c, m->name, path, errors);
    jv_each (m, list)
        if (amount(c, m->value, &q) && vpa_quantity_sign(&q) < 0)
            field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s[%s]", path, m->name),
                        "Invalid value: \"%s\": must be greater than or equal to 0",
                        m->value->text);
}

static void check_resources(struct ctx *c, const struct jv *resources, const char *path,
                            name_check check, struct field_errors *errors)
{
    const struct jv *limits = jv_get(resources, "limits"),
                    *requests = jv_get(resources, "requests");
    struct vpa_quantity limit, request;

    check_list(c, limits, vpa_arena_printf(c->a, "%s.limits", path), check, errors);
    check_list(c, requests, vpa_arena_printf(c->a, "%s.requests", path), check, errors);
    jv_each (m, requests) {
        const struct jv *l = jv_get(limits, m->name);
        if (amount(c, l, &limit) && amount(c, m->value, &request) &&
            vpa_quantity_cmp(&request, &limit) > 0)
            field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s.requests", path),
                        "Invalid value: \"%s\": must be less than or equal to %s limit of %s",
                        m->value->text, m->name, l->text);
    }
}

/* `policy` is the pod's restartPolicy; `plain_init` an init container that does not go on. */
static void check_resize_policy(struct ctx *c, const struct jv *container, const char *at,
                                const char *policy, bool plain_init, struct field_errors *errors)
{
    const char *list = vpa_arena_printf(c->a, "%s.resizePolicy", at);
    struct strings seen = {0};
    size_t i = 0;

    jv_each (m, jv_get(container, "resizePolicy")) {
        const char *restart = jv_text_at(m->value, "restartPolicy"),
                   *resource = jv_text_at(m->value, "resourceName");
        bool restarts = !strcmp(restart, "RestartContainer");

        if (strings_has(&seen, resource))
            field_error(c, errors, DUPLICATE, vpa_arena_printf(c->a, "%s[%zu]", list, i),
                        "Duplicate value: \"%s\"", resource);
        strings_add(c->a, &seen, resource);
        if (!*resource)
            field_error(c, errors, REQUIRED, list, "Required value");
        else if (strcmp(resource, "cpu") != 0 && strcmp(resource, "memory") != 0)
            field_error(c, errors, UNSUPPORTED, list,
                        "Unsupported value: \"%s\": supported values: \"cpu\", \"memory\"",
                        resource);
        if (!*restart)
            field_error(c, errors, REQUIRED, list, "Required value");
        else if (!restarts && strcmp(restart, "NotRequired") != 0)
            field_error(c, errors, UNSUPPORTED, list,
                        "Unsupported value: \"%s\": supported values: \"NotRequired\", "
                        "\"RestartContainer\"",
                        restart);
        if (!strcmp(policy, "Never") && strcmp(restart, "NotRequired") != 0)
            field_error(c, errors, INVALID, list,
                        "Invalid value: \"%s\": must be 'NotRequired' when %s`restartPolicy` is "
                        "'Never'",
                        restart, c->sim->opt.minor < 35 ? "" : "pod ");
        if (plain_init && restarts && c->sim->opt.minor >= 35)
            field_error(c, errors, INVALID,
                        vpa_arena_printf(c->a, "%s[%zu].restartPolicy", list, i),
                        "Invalid value: \"%s\": must not be set to 'RestartContainer' for "
                        "non-sidecar initContainers",
                        restart);
        i++;
    }
}

/* A field of the pod that a variable shows; members of labels and annotations are taken as they
 * are. */
static void check_field_ref(struct ctx *c, const struct jv *ref, const char *at,
                            struct field_errors *errors)
{
    static const char *const shown[] = {"metadata.name",
                                        "metadata.namespace",
                                        "metadata.uid",
                                        "spec.nodeName",
                                        "spec.serviceAccountName",
                                        "status.hostIP",
                                        "status.hostIPs",
                                        "status.podIP",
                                        "status.podIPs"};
    static const char *const others[] = {"metadata.annotations", "metadata.labels",
                                         "spec.restartPolicy", "spec.schedulerName",
                                         "status.phase"};
    const char *version = jv_text_at(ref, "apiVersion"), *path = jv_text_at(ref, "fieldPath");
    const char *place = vpa_arena_printf(c->a, "%s.fieldPath", at);

    if (!*path)
        field_error(c, errors, REQUIRED, place, "Required value");
    else if (strcmp(version, "v1") != 0)
        field_error(
            c, errors, INVALID, place,
            "Invalid value: \"%s\": error converting fieldPath: unsupported pod version: %s", path,
            version);
    else if (strstr(path, "['") || is_one_of(path, shown, VPA_COUNT(shown)))
        return;
    else if (is_one_of(path, others, VPA_COUNT(others)))
        field_error(c, errors, UNSUPPORTED, place,
                    "Unsupported value: \"%s\": supported values: \"metadata.name\", "
                    "\"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", "
                    "\"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", "
                    "\"status.podIP\", \"status.podIPs\"",
                    path);
    else
        field_error(c, errors, INVALID, place,
                    "Invalid value: \"%s\": error converting fieldPath: field label not supported: "
                    "%s",
                    path, path);
}

/* Where a variable's value comes from, of which the simulator knows fields of the pod. */
static void check_value_from(struct ctx *c, const struct jv *variable, const char *at,
                             struct field_errors *errors)
{
    static const char *const sources[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef",
                                          "secretKeyRef", "fileKeyRef"};
    const struct jv *from = jv_get(variable, "valueFrom");
    int count = 0;

    if (jv_missing(from))
        return;
    for (size_t i = 0; i < VPA_COUNT(sources); i++)
        count += !jv_missing(jv_get(from, sources[i]));
    if (!jv_missing(jv_get(from, "fieldRef")))
        check_field_ref(c, jv_get(from, "fieldRef"), vpa_arena_printf(c->a, "%s.fieldRef", at),
                        errors);
    if (!count)
        field_wrong(c, errors, at, "",
                    c->sim->opt.minor < 35 ? "must specify one of: `fieldRef`, `resourceFieldRef`, "
                                             "`configMapKeyRef` or `secretKeyRef`"
                                           : "must specify one of: `fieldRef`, `resourceFieldRef`, "
                                             "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
    else if (*jv_text_at(variable, "value"))
        field_wrong(c, errors, at, "", "may not be specified when `value` is not empty");
    else if (count > 1)
        field_wrong(c, errors, at, "", "may not have more than one field specified at a time");
}

static void check_env(struct ctx *c, const struct jv *container, const char *at,
                      struct field_errors *errors)
{
    size_t i = 0;

    jv_each (m, jv_get(container, "env")) {
        check_value_from(c, m->value, vpa_arena_printf(c->a, "%s.env[%zu].valueFrom", at, i),
                         errors);
        if (!*jv_text_at(m->value, "name"))
            field_error(c, errors, REQUIRED, vpa_arena_printf(c->a, "%s.env[%zu].name", at, i),
                        "Required value");
        i++;
    }
}

/* A container's own restart policy. */
static void check_own_policy(struct ctx *c, const struct jv *container, const char *at,
                             struct field_errors *errors)
{
    static const char *const words[] = {"Always", "Never", "OnFailure"};
    const struct jv *policy = jv_get(container, "restartPolicy");
    const char *place = vpa_arena_printf(c->a, "%s.restartPolicy", at);

    if (jv_missing(policy))
        return;
    if (jv_text(policy) && !*policy->text)
        field_error(c, errors, UNSUPPORTED, place,
                    "Unsupported value: \"\": supported values: \"Always\", \"Never\", "
                    "\"OnFailure\"");
    else
        check_word(c, jv_text(policy) ? policy->text : "", place, words, errors);
}

static void check_containers(struct ctx *c, const struct jv *spec, const char *member,
                             const char *path, struct strings *seen, struct field_errors *errors)
{
    const struct jv *list = jv_get(spec, member);
    const char *policy = jv_text_at(spec, "restartPolicy");
    bool init = !strcmp(member, "initContainers");
    size_t i = 0;

    jv_each (m, list) {
        const char *at = vpa_arena_printf(c->a, "%s[%zu]", path, i++);
        const char *name = jv_text_at(m->value, "name");
        if (!*name)
            field_error(c, errors, REQUIRED, vpa_arena_printf(c->a, "%s.name", at),
                        "Required value");
        else
            check_label(c, name, vpa_arena_printf(c->a, "%s.name", at), errors);
        if (*name && strings_has(seen, name))
            field_error(c, errors, "FieldValueDuplicate", vpa_arena_printf(c->a, "%s.name", at),
                        "Duplicate value: \"%s\"", name);
        strings_add(c->a, seen, name);
        if (!*jv_text_at(m->value, "image"))
            field_error(c, errors, REQUIRED, vpa_arena_printf(c->a, "%s.image", at),
                        "Required value");
        check_env(c, m->value, at, errors);
        check_own_policy(c, m->value, at, errors);
        check_resources(c, jv_get(m->value, "resources"),
                        vpa_arena_printf(c->a, "%s.resources", at), check_resource_name, errors);
        bool plain_init = init && strcmp(jv_text_at(m->value, "restartPolicy"), "Always") != 0;
        check_resize_policy(c, m->value, at, policy, plain_init, errors);
    }
}

/* No container may use more than the pod. The place that is told is the server's. */
static void check_pod_limits(struct ctx *c, const struct jv *spec, const char *path,
                             struct field_errors *errors)
{
    const struct jv *limits = jv_at(spec, "resources.limits");
    struct vpa_quantity pod, own;
    size_t i = 0;

    jv_each (m, jv_get(spec, "containers")) {
        jv_each (l, jv_at(m->value, "resources.limits")) {
            const struct jv *most = jv_get(limits, l->name);
            if (amount(c, most, &pod) && amount(c, l->value, &own) &&
                vpa_quantity_cmp(&own, &pod) > 0)
                field_error(c, errors, INVALID,
                            vpa_arena_printf(c->a, "%s.resources.containers[%zu][%s].limits", path,
                                             i, l->name),
                            "Invalid value: \"%s\": must be less than or equal to pod limits of %s",
                            l->value->text, most->text);
        }
        i++;
    }
}

/* Resources of the whole pod: cpu and memory only, and at least what its containers ask for. */
static void check_pod_resources(struct ctx *c, const struct jv *spec, const char *path,
                                struct field_errors *errors)
{
    const struct jv *resources = jv_get(spec, "resources");
    struct vpa_quantity own, sum;

    check_resources(c, resources, vpa_arena_printf(c->a, "%s.resources", path),
                    check_pod_resource_name, errors);
    jv_each (m, pod_containers_sum(c->a, spec, "requests")) {
        const struct jv *mine = jv_get(jv_get(resources, "requests"), m->name);
        if (amount(c, mine, &own) && amount(c, m->value, &sum) && vpa_quantity_cmp(&own, &sum) < 0)
            field_error(c, errors, INVALID,
                        vpa_arena_printf(c->a, "%s.resources.requests[%s]", path, m->name),
                        "Invalid value: \"%s\": must be greater than or equal to aggregate "
                        "container requests of %s",
                        mine->text, m->value->text);
    }
    check_pod_limits(c, spec, path, errors);
}

static void check_node_name(struct ctx *c, const char *name, const char *at,
                            struct field_errors *errors)
{
    if (*name && !is_dns_subdomain(name))
        field_error(c, errors, INVALID, at,
                    "Invalid value: \"%s\": a lowercase RFC 1123 subdomain must consist of lower "
                    "case alphanumeric characters, '-' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                    name);
}

void validate_pod_spec(struct ctx *c, const struct jv *spec, const char *path,
                       struct field_errors *errors)
{
    struct strings seen = {0};

    if (!jv_len(jv_get(spec, "containers")))
        field_error(c, errors, REQUIRED, vpa_arena_printf(c->a, "%s.containers", path),
                    "Required value");
    check_containers(c, spec, "containers", vpa_arena_printf(c->a, "%s.containers", path), &seen,
                     errors);
    check_containers(c, spec, "initContainers", vpa_arena_printf(c->a, "%s.initContainers", path),
                     &seen, errors);
    check_pod_resources(c, spec, path, errors);
    static const char *const policies[] = {"Always", "OnFailure", "Never"};
    check_word(c, jv_text_at(spec, "restartPolicy"),
               vpa_arena_printf(c->a, "%s.restartPolicy", path), policies, errors);
    check_node_name(c, jv_text_at(spec, "nodeName"), vpa_arena_printf(c->a, "%s.nodeName", path),
                    errors);
    check_list(c, jv_get(spec, "overhead"), vpa_arena_printf(c->a, "%s.overhead.limits", path),
               check_resource_name, errors);
}

static void warn_fraction(struct ctx *c, const struct jv *amounts, const char *resource,
                          const char *at)
{
    const struct jv *v = jv_get(amounts, resource);
    struct vpa_quantity q;

    if (amount(c, v, &q) && !vpa_quantity_is_whole(&q))
        quote_warning(c, vpa_arena_printf(c->a,
                                          "%s[%s]: fractional byte value \"%s\" is invalid, must "
                                          "be an integer",
                                          at, resource, v->text));
}

/* A variable of the same name hides the one before, unless it is made of it. */
static void warn_hidden(struct ctx *c, const struct jv *env, const char *at)
{
    struct strings seen = {0};
    size_t i = 0;

    jv_each (m, env) {
        const char *name = jv_text_at(m->value, "name"), *value = jv_text_at(m->value, "value");
        const char *reference = vpa_arena_printf(c->a, "$(%s)", name);
        bool made_of_it = !jv_get(m->value, "valueFrom") && strcmp(value, reference) != 0 &&
                          strstr(value, reference);
        if (strings_has(&seen, name) && !made_of_it)
            quote_warning(c, vpa_arena_printf(c->a,
                                              "%s.env[%zu]: hides previous definition of \"%s\", "
                                              "which may be dropped when using apply",
                                              at, i, name));
        strings_add(c->a, &seen, name);
        i++;
    }
}

/* Fractions of bytes are accepted with a warning. */
static void warn_fractions(struct ctx *c, const struct jv *resources, const char *at)
{
    static const char *const names[] = {"memory", "ephemeral-storage"};
    static const char *const lists[] = {"limits", "requests"};

    for (size_t r = 0; r < VPA_COUNT(names); r++)
        for (size_t k = 0; k < VPA_COUNT(lists); k++)
            warn_fraction(c, jv_get(resources, lists[k]), names[r],
                          vpa_arena_printf(c->a, "%s.resources.%s", at, lists[k]));
}

static void warn_containers(struct ctx *c, const struct jv *spec, const char *list,
                            const char *path)
{
    size_t i = 0;

    jv_each (m, jv_get(spec, list)) {
        const char *at = vpa_arena_printf(c->a, "%s.%s[%zu]", path, list, i++);
        warn_fractions(c, jv_get(m->value, "resources"), at);
        warn_hidden(c, jv_get(m->value, "env"), at);
    }
}

void warn_pods(struct ctx *c, const struct restype *t, const struct jv *object)
{
    const char *at = !strcmp(t->kind, "Pod")       ? "spec"
                     : !strcmp(t->kind, "CronJob") ? "spec.jobTemplate.spec.template.spec"
                                                   : "spec.template.spec";
    const struct jv *spec = t->crd ? NULL : jv_at(object, at);

    const char *overhead = vpa_arena_printf(c->a, "%s.overhead", at);

    warn_fraction(c, jv_get(spec, "overhead"), "memory", overhead);
    warn_fraction(c, jv_get(spec, "overhead"), "ephemeral-storage", overhead);
    warn_containers(c, spec, "initContainers", at);
    warn_containers(c, spec, "containers", at);
    if (jv_int_at(spec, "terminationGracePeriodSeconds", 0) < 0)
        quote_warning(c, vpa_arena_printf(c->a,
                                          "%s.terminationGracePeriodSeconds: must be >= 0; "
                                          "negative values are invalid and will be treated as 1",
                                          at));
}

void warn_changed_pods(struct ctx *c, const struct jv *old, const struct jv *object)
{
    bool before = !strcmp(c->type->kind, "ReplicationController");

    warn_pods(c, c->type, before ? old : object);
}
