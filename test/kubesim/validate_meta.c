/* Validation of metadata: names, labels, annotations, owners, finalizers. */
#include "validate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ANNOTATIONS_MAX (256 << 10)
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

bool is_dns_label(const char *text, size_t len)
{
    if (!len || text[0] == '-' || text[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!(islower((unsigned char)text[i]) || isdigit((unsigned char)text[i]) || text[i] == '-'))
            return false;
    return true;
}

bool is_dns_subdomain(const char *text)
{
    for (;;) {
        size_t len = strcspn(text, ".");
        if (!is_dns_label(text, len))
            return false;
        if (!text[len])
            return true;
        text += len + 1;
    }
}

/* What is wrong with a DNS label, NULL when nothing is. */
const char *dns_label_fault(const char *text)
{
    return is_dns_label(text, strlen(text)) ? NULL
           : is_dns_subdomain(text)         ? "must not contain dots"
                                            : LABEL;
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
        if (!is_dns_subdomain(prefix)) {
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
        const char *fault = dns_label_fault(name);
        if (strlen(name) > 63)
            field_wrong(c, errors, "metadata.name", name, "must be no more than 63 characters");
        if (fault)
            field_wrong(c, errors, "metadata.name", name, fault);
        return;
    }
    if (strlen(name) > 253)
        field_error(c, errors, INVALID, "metadata.name",
                    "Invalid value: \"%s\": must be no more than 253 %s", name,
                    t->crd ? "characters" : unit(c));
    if (!is_dns_subdomain(name))
        field_error(c, errors, INVALID, "metadata.name", "Invalid value: \"%s\": " SUBDOMAIN, name);
}

void field_wrong(struct ctx *c, struct field_errors *errors, const char *field, const char *value,
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
        field_wrong(
            c, errors, field, key,
            vpa_arena_printf(c->a,
                             "%s %s with an optional DNS subdomain prefix and '/' (e.g. "
                             "'example.com/MyName')",
                             c->sim->opt.minor < 35 ? "a qualified name" : "a valid label key",
                             &NAME_PART[strlen("name part ")]));
        return;
    }
    if (slash == key)
        field_wrong(c, errors, field, key, "prefix part must be non-empty");
    else if (slash && slash - key > 253)
        field_wrong(c, errors, field, key,
                    vpa_arena_printf(c->a, "prefix part must be no more than 253 %s", unit(c)));
    else if (slash && !is_dns_subdomain(vpa_arena_strndup(c->a, key, (size_t)(slash - key))))
        field_wrong(c, errors, field, key, "prefix part " SUBDOMAIN);
    if (!*name)
        field_wrong(c, errors, field, key, "name part must be non-empty");
    else if (strlen(name) > 63)
        field_wrong(c, errors, field, key,
                    vpa_arena_printf(c->a, "name part must be no more than 63 %s", unit(c)));
    if (!qualified_part(name, strlen(name)))
        field_wrong(c, errors, field, key, NAME_PART);
}

void validate_label_value(struct ctx *c, const char *value, const char *field,
                          struct field_errors *errors)
{
    if (strlen(value) > 63)
        field_wrong(c, errors, field, value,
                    vpa_arena_printf(c->a, "must be no more than 63 %s", unit(c)));
    if (*value && !qualified_part(value, strlen(value)))
        field_wrong(c, errors, field, value, LABEL_VALUE);
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
    size_t bytes = 0;

    jv_each (m, annotations) {
        bytes += strlen(m->name) + strlen(jv_text(m->value) ? m->value->text : "");
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
    if (bytes > ANNOTATIONS_MAX)
        field_error(c, errors, "FieldValueTooLong", field,
                    "Too long: may not be more than %d bytes", ANNOTATIONS_MAX);
}

static const char *owner_json(struct ctx *c, const struct jv *owners)
{
    vpa_auto_buf b = VPA_BUF(1 << 20);
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
    return t->crd || !strcmp(t->kind, "PodDisruptionBudget") || !strcmp(t->kind, "Lease") ||
           !strcmp(t->kind, "Event");
}

/* Built-in kinds look once more whether somebody can own the name. */
static void validate_known_finalizers(struct ctx *c, const struct restype *t, const struct jv *meta,
                                      struct field_errors *errors)
{
    static const char *const known[] = {"orphan", "foregroundDeletion", "kubernetes"};
    size_t i = 0;

    jv_each (m, jv_get(meta, "finalizers")) {
        const char *name = jv_text(m->value) ? m->value->text : "";
        bool standard = strchr(name, '/') || takes_any_finalizer(t);

        for (size_t k = 0; k < VPA_COUNT(known); k++)
            standard = standard || !strcmp(name, known[k]);
        if (!standard)
            field_wrong(c, errors, vpa_arena_printf(c->a, "metadata.finalizers[%zu]", i), name,
                        "name is neither a standard finalizer name nor is it fully qualified");
        i++;
    }
}

static void validate_maps(struct ctx *c, const struct jv *meta, struct field_errors *errors)
{
    validate_labels(c, jv_get(meta, "labels"), "metadata.labels", errors);
    validate_annotations(c, jv_get(meta, "annotations"), "metadata.annotations", errors);
    validate_owners(c, jv_get(meta, "ownerReferences"), errors);
}

/* What does not depend on what was there before. */
static void validate_whole(struct ctx *c, const struct jv *meta, struct field_errors *errors)
{
    validate_maps(c, meta, errors);
    jv_each (m, jv_get(meta, "finalizers"))
        validate_label_key(c, jv_text(m->value) ? m->value->text : "", "metadata.finalizers",
                           errors);
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
    validate_whole(c, meta, errors);
    validate_known_finalizers(c, t, meta, errors);
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
    field_error(c, errors, FORBIDDEN, "metadata.finalizers",
                "Forbidden: no new finalizers can be added if the object is being deleted, found "
                "new finalizers []string{%s}",
                list);
}

/* What changed, the second time. */
static void validate_change(struct ctx *c, const struct jv *old, const struct jv *object,
                            struct field_errors *errors)
{
    validate_new_finalizers(c, old, object, errors);
    validate_maps(c, jv_get(object, "metadata"), errors);
}

bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(word, words[i]))
            return true;
    return false;
}

/* The server looks at all metadata, and at what changed; then most kinds look at what changed
 * again, and some at all of it. */
void validate_meta_update(struct ctx *c, const struct jv *old, const struct jv *object,
                          struct field_errors *errors)
{
    static const char *const once[] = {"PodDisruptionBudget", "LimitRange", "Event"};
    static const char *const whole[] = {"Pod", "ConfigMap", "ServiceAccount", "Job", "LimitRange"};
    const struct jv *meta = jv_get(object, "metadata");
    const char *kind = c->type->kind;

    validate_whole(c, meta, errors);
    validate_change(c, old, object, errors);
    if (!strcmp(kind, "ReplicationController") && c->sim->opt.minor < 35) {
        validate_whole(c, meta, errors);
        validate_known_finalizers(c, c->type, meta, errors);
    }
    if (!is_one_of(kind, once, VPA_COUNT(once))) {
        validate_change(c, old, object, errors);
        validate_known_finalizers(c, c->type, meta, errors);
    }
    if (is_one_of(kind, whole, VPA_COUNT(whole))) {
        validate_whole(c, meta, errors);
        validate_known_finalizers(c, c->type, meta, errors);
    }
}

void warn_finalizers(struct ctx *c, const struct jv *old, const struct jv *object)
{
    static const char *const known[] = {"orphan", "foregroundDeletion", "kubernetes"};

    jv_each (m, c->type->crd ? jv_at(object, "metadata.finalizers") : NULL) {
        const char *name = jv_text(m->value) ? m->value->text : "";

        if (strchr(name, '/') || is_one_of(name, known, VPA_COUNT(known)) ||
            has_text(jv_at(old, "metadata.finalizers"), name))
            continue;
        quote_warning(c, vpa_arena_printf(c->a,
                                          "metadata.finalizers: \"%s\": prefer a domain-qualified "
                                          "finalizer name %sto avoid accidental conflicts with "
                                          "other finalizer writers",
                                          name, strchr(name, '.') ? "including a path (/) " : ""));
    }
}
