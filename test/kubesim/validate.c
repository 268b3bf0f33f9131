/* Validation of metadata and of the built-in kinds other than pods, with the server's texts. */
#include "sim.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/quantity.h"

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

/* Lengths are told in characters before 1.35. */
static const char *unit(const struct ctx *c)
{
    return c->sim->opt.minor < 35 ? "characters" : "bytes";
}

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
                        "Invalid value: \"%s\": must be no more than 63 %s", name, unit(c));
        if (!dns_label(name, strlen(name)))
            field_error(c, errors, INVALID, "metadata.name", "Invalid value: \"%s\": " LABEL, name);
        return;
    }
    if (strlen(name) > 253)
        field_error(c, errors, INVALID, "metadata.name",
                    "Invalid value: \"%s\": must be no more than 253 %s", name,
                    t->crd ? "characters" : unit(c));
    if (!dns_subdomain(name))
        field_error(c, errors, INVALID, "metadata.name", "Invalid value: \"%s\": " SUBDOMAIN, name);
}

static void wrong(struct ctx *c, struct field_errors *errors, const char *field, const char *value,
                  const char *why)
{
    field_error(c, errors, INVALID, field, "Invalid value: \"%s\": %s", value, why);
}

/* Every fault is told. */
void validate_label_key(struct ctx *c, const char *key, const char *field,
                        struct field_errors *errors)
{
    const char *slash = strchr(key, '/'), *name = slash ? slash + 1 : key;

    if (strchr(name, '/')) {
        wrong(c, errors, field, key,
              vpa_arena_printf(c->a,
                               "%s %s with an optional DNS subdomain prefix and '/' (e.g. "
                               "'example.com/MyName')",
                               c->sim->opt.minor < 35 ? "a qualified name" : "a valid label key",
                               &NAME_PART[strlen("name part ")]));
        return;
    }
    if (slash == key)
        wrong(c, errors, field, key, "prefix part must be non-empty");
    else if (slash && slash - key > 253)
        wrong(c, errors, field, key,
              vpa_arena_printf(c->a, "prefix part must be no more than 253 %s", unit(c)));
    else if (slash && !dns_subdomain(vpa_arena_strndup(c->a, key, (size_t)(slash - key))))
        wrong(c, errors, field, key, "prefix part " SUBDOMAIN);
    if (!*name)
        wrong(c, errors, field, key, "name part must be non-empty");
    else if (strlen(name) > 63)
        wrong(c, errors, field, key,
              vpa_arena_printf(c->a, "name part must be no more than 63 %s", unit(c)));
    if (!qualified_part(name, strlen(name)))
        wrong(c, errors, field, key, NAME_PART);
}

void validate_label_value(struct ctx *c, const char *value, const char *field,
                          struct field_errors *errors)
{
    if (strlen(value) > 63)
        wrong(c, errors, field, value,
              vpa_arena_printf(c->a, "must be no more than 63 %s", unit(c)));
    if (*value && !qualified_part(value, strlen(value)))
        wrong(c, errors, field, value, LABEL_VALUE);
}

void validate_labels(struct ctx *c, const struct jv *labels, const char *field,
                     struct field_errors *errors)
{
    jv_each (m, labels) {
        validate_label_key(c, m->name, field, errors);
        validate_label_value(c, jv_text(m->value) ? m->value->text : "", field, errors);
    }
}

void validate_annotations(struct ctx *c, const struct jv *annotations, const char *field,
                          struct field_errors *errors)
{
    jv_each (m, annotations) {
        char *lower = vpa_arena_strdup(c->a, m->name);
        size_t before = errors->count;

        for (char *p = lower; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        validate_label_key(c, lower, field, errors);
        for (size_t i = before; i < errors->count; i++) { /* told with the key as it is given */
            const char *why =
                errors->items[i].message + strlen("Invalid value: \"\"") + strlen(lower);
            errors->items[i].message =
                vpa_arena_printf(c->a, "Invalid value: \"%s\"%s", m->name, why);
        }
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

static bool takes_any_finalizer(const struct restype *t)
{
    return t->crd || !strcmp(t->kind, "PodDisruptionBudget") || !strcmp(t->kind, "Lease");
}

static void validate_finalizers(struct ctx *c, const struct restype *t, const struct jv *meta,
                                bool whole, struct field_errors *errors)
{
    static const char *const known[] = {"orphan", "foregroundDeletion", "kubernetes"};
    size_t i = 0;

    jv_each (m, jv_get(meta, "finalizers")) {
        const char *name = jv_text(m->value) ? m->value->text : "";
        bool standard = strchr(name, '/') || takes_any_finalizer(t);

        if (whole)
            validate_label_key(c, name, "metadata.finalizers", errors);
        for (size_t k = 0; k < VPA_COUNT(known); k++)
            standard = standard || !strcmp(name, known[k]);
        if (!standard)
            wrong(c, errors, vpa_arena_printf(c->a, "metadata.finalizers[%zu]", i), name,
                  "name is neither a standard finalizer name nor is it fully qualified");
        i++;
    }
}

void validate_meta(struct ctx *c, const struct restype *t, const struct jv *object,
                   struct field_errors *errors)
{
    const struct jv *meta = jv_get(object, "metadata");
    const char *name = jv_text_at(meta, "name");

    if (*name)
        validate_name(c, t, name, errors);
    else if (!*jv_text_at(meta, "generateName"))
        field_error(c, errors, REQUIRED, "metadata.name",
                    "Required value: name or generateName is required");
    validate_labels(c, jv_get(meta, "labels"), "metadata.labels", errors);
    validate_annotations(c, jv_get(meta, "annotations"), "metadata.annotations", errors);
    validate_owners(c, jv_get(meta, "ownerReferences"), errors);
    validate_finalizers(c, t, meta, true, errors);
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

static void validate_new_finalizers(struct ctx *c, const struct jv *old, const struct jv *object,
                                    struct field_errors *errors)
{
    struct strings fresh = {0};
    const char *list = "";

    jv_each (m, jv_at(object, "metadata.finalizers"))
        if (jv_text(m->value) && !has_text(jv_at(old, "metadata.finalizers"), m->value->text))
            strings_add(c->a, &fresh, m->value->text);
    if (!fresh.count || !jv_at(old, "metadata.deletionTimestamp"))
        return;
    qsort(fresh.items, fresh.count, sizeof(*fresh.items), by_text);
    for (size_t i = 0; i < fresh.count; i++)
        list = vpa_arena_printf(c->a, "%s%s\"%s\"", list, i ? ", " : "", fresh.items[i]);
    field_error(c, errors, "FieldValueForbidden", "metadata.finalizers",
                "Forbidden: no new finalizers can be added if the object is being deleted, found "
                "new finalizers []string{%s}",
                list);
}

/* The server looks at the metadata of most kinds twice. */
void validate_meta_update(struct ctx *c, const struct jv *old, const struct jv *object,
                          struct field_errors *errors)
{
    static const char *const once[] = {"PodDisruptionBudget", "LimitRange", "Event"};
    const struct jv *meta = jv_get(object, "metadata");
    int times = 2;

    for (size_t i = 0; i < VPA_COUNT(once); i++)
        times -= !strcmp(c->type->kind, once[i]);
    for (int i = 0; i < times; i++) {
        validate_labels(c, jv_get(meta, "labels"), "metadata.labels", errors);
        validate_annotations(c, jv_get(meta, "annotations"), "metadata.annotations", errors);
        validate_owners(c, jv_get(meta, "ownerReferences"), errors);
        validate_new_finalizers(c, old, object, errors);
    }
    validate_finalizers(c, c->type, meta, false, errors);
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

/* One resource of a limit: its amounts must be in order. */
struct limit {
    struct ctx *c;
    const struct jv *item;
    const char *at, *resource;
    struct field_errors *errors;
};

static bool stated(const struct limit *k, const char *list, struct vpa_quantity *q)
{
    const struct jv *v = jv_get(jv_get(k->item, list), k->resource);

    return jv_text(v) && vpa_quantity_parse(k->c->a, v->text, q, NULL) == 0;
}

/* Refused when what is stated in `less` is more than what is stated in `more`. */
struct order {
    const char *less, *more;
    const char *told, *value; /* the list that is told of, and the one whose value is shown */
    const char *text[2];      /* how both are called */
};

static void check_order(const struct limit *k, const struct order *o)
{
    struct vpa_quantity less, more;

    if (!stated(k, o->less, &less) || !stated(k, o->more, &more) ||
        vpa_quantity_cmp(&less, &more) <= 0)
        return;
    const char *x = vpa_quantity_text(k->c->a, &less), *y = vpa_quantity_text(k->c->a, &more);
    field_error(k->c, k->errors, INVALID,
                vpa_arena_printf(k->c->a, "%s.%s[%s]", k->at, o->told, k->resource),
                "Invalid value: \"%s\": %s value %s is greater than %s value %s",
                !strcmp(o->value, o->less) ? x : y, o->text[0], x, o->text[1], y);
}

static void check_ratio(const struct limit *k)
{
    const char *at = vpa_arena_printf(k->c->a, "%s.maxLimitRequestRatio[%s]", k->at, k->resource);
    struct vpa_quantity ratio, min, max;

    if (!stated(k, "maxLimitRequestRatio", &ratio))
        return;
    const char *text = vpa_quantity_text(k->c->a, &ratio);
    if (vpa_quantity_milli_value(&ratio) < 1000)
        field_error(k->c, k->errors, INVALID, at, "Invalid value: \"%s\": ratio %s is less than 1",
                    text, text);
    if (!stated(k, "min", &min) || !stated(k, "max", &max))
        return;
    double most = (double)vpa_quantity_milli_value(&max) / (double)vpa_quantity_milli_value(&min);
    if ((double)vpa_quantity_milli_value(&ratio) / 1000 > most)
        field_error(k->c, k->errors, INVALID, at,
                    "Invalid value: \"%s\": ratio %s is greater than max/min = %f", text, text,
                    most);
}

static void check_limit_amounts(struct ctx *c, const struct jv *item, const char *at,
                                struct field_errors *errors)
{
    static const struct order orders[] = {
        {"min", "max", "min", "min", {"min", "max"}},
        {"min", "defaultRequest", "defaultRequest", "defaultRequest", {"min", "default request"}},
        {"defaultRequest", "max", "defaultRequest", "defaultRequest", {"default request", "max"}},
        {"defaultRequest",
         "default",
         "defaultRequest",
         "defaultRequest",
         {"default request", "default limit"}},
        {"min", "default", "default", "min", {"min", "default"}},
        {"default", "max", "default", "max", {"default", "max"}},
    };
    static const char *const lists[] = {"min", "max", "default", "defaultRequest",
                                        "maxLimitRequestRatio"};
    bool pod = !strcmp(jv_text_at(item, "type"), "Pod");
    struct strings seen = {0};

    for (size_t i = 0; i < VPA_COUNT(lists); i++) {
        const struct jv *list = jv_get(item, lists[i]);
        bool preset = !strncmp(lists[i], "default", 7);

        if (pod && preset && jv_len(list))
            field_error(c, errors, "FieldValueForbidden",
                        vpa_arena_printf(c->a, "%s.%s", at, lists[i]),
                        "Forbidden: may not be specified when `type` is 'Pod'");
        jv_each (m, pod && preset ? NULL : list) {
            check_resource_name(c, m->name, vpa_arena_printf(c->a, "%s.%s", at, lists[i]), errors);
            if (!strings_has(&seen, m->name))
                strings_add(c->a, &seen, m->name);
        }
    }
    for (size_t i = 0; i < seen.count; i++) {
        const struct limit k = {c, item, at, seen.items[i], errors};
        for (size_t n = 0; n < VPA_COUNT(orders); n++)
            if (!pod || strncmp(orders[n].told, "default", 7) != 0)
                check_order(&k, &orders[n]);
        check_ratio(&k);
    }
}

static void validate_limit_range(struct ctx *c, const struct jv *object,
                                 struct field_errors *errors)
{
    struct strings seen = {0};
    size_t i = 0;

    jv_each (m, jv_at(object, "spec.limits")) {
        const char *at = vpa_arena_printf(c->a, "spec.limits[%zu]", i++);
        const char *place = vpa_arena_printf(c->a, "%s.type", at),
                   *type = jv_text_at(m->value, "type");
        size_t before = errors->count;

        validate_label_key(c, type, place, errors);
        if (errors->count == before && !strchr(type, '/') && strcmp(type, "Pod") != 0 &&
            strcmp(type, "Container") != 0 && strcmp(type, "PersistentVolumeClaim") != 0)
            wrong(c, errors, place, type, "must be a standard limit type or fully qualified");
        if (strings_has(&seen, type))
            field_error(c, errors, "FieldValueDuplicate", place, "Duplicate value: \"%s\"", type);
        strings_add(c->a, &seen, type);
        check_limit_amounts(c, m->value, at, errors);
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

static void validate_budget(struct ctx *c, const struct jv *object, struct field_errors *errors)
{
    const char *policy = jv_text(jv_at(object, "spec.unhealthyPodEvictionPolicy"));

    validate_selector(c, jv_at(object, "spec.selector"), "spec.selector", errors);
    if (policy && strcmp(policy, "AlwaysAllow") != 0 && strcmp(policy, "IfHealthyBudget") != 0)
        field_error(c, errors, "FieldValueNotSupported", "spec.unhealthyPodEvictionPolicy",
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
    if (!schema_equal(c->a, schema_builtin("PodSpec"), x, y))
        field_error(
            c, errors, "FieldValueForbidden", "spec",
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
