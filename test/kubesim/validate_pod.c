/* Validation of pod specifications, also inside templates. */
#include "sim.h"

#include <ctype.h>
#include <string.h>

#include "vpa/base/quantity.h"

#define INVALID "FieldValueInvalid"
#define LABEL                                                                                      \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end "                                                                          \
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

static bool dns_label(const char *t)
{
    size_t len = strlen(t);
    if (!len || len > 63 || t[0] == '-' || t[len - 1] == '-')
        return false;
    for (; *t; t++)
        if (!islower((unsigned char)*t) && !isdigit((unsigned char)*t) && *t != '-')
            return false;
    return true;
}

static bool amount(struct ctx *c, const struct jv *v, struct vpa_quantity *q)
{
    return jv_text(v) && vpa_quantity_parse(c->a, v->text, q, NULL) == 0;
}

static void check_list(struct ctx *c, const struct jv *list, const char *path,
                       struct field_errors *errors)
{
    struct vpa_quantity q;

    jv_each (m, list)
        if (amount(c, m->value, &q) && vpa_quantity_sign(&q) < 0)
            field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s[%s]", path, m->name),
                        "Invalid value: \"%s\": must be greater than or equal to 0",
                        m->value->text);
}

static void check_resources(struct ctx *c, const struct jv *resources, const char *path,
                            struct field_errors *errors)
{
    const struct jv *limits = jv_get(resources, "limits"),
                    *requests = jv_get(resources, "requests");
    struct vpa_quantity limit, request;

    check_list(c, limits, vpa_arena_printf(c->a, "%s.limits", path), errors);
    check_list(c, requests, vpa_arena_printf(c->a, "%s.requests", path), errors);
    jv_each (m, requests) {
        const struct jv *l = jv_get(limits, m->name);
        if (amount(c, l, &limit) && amount(c, m->value, &request) &&
            vpa_quantity_cmp(&request, &limit) > 0)
            field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s.requests", path),
                        "Invalid value: \"%s\": must be less than or equal to %s limit of %s",
                        m->value->text, m->name, l->text);
    }
}

static void check_containers(struct ctx *c, const struct jv *list, const char *path,
                             struct strings *seen, struct field_errors *errors)
{
    size_t i = 0;

    jv_each (m, list) {
        const char *at = vpa_arena_printf(c->a, "%s[%zu]", path, i++);
        const char *name = jv_text_at(m->value, "name");
        if (!*name)
            field_error(c, errors, "FieldValueRequired", vpa_arena_printf(c->a, "%s.name", at),
                        "Required value");
        else if (!dns_label(name))
            field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s.name", at),
                        "Invalid value: \"%s\": " LABEL, name);
        else if (strings_has(seen, name))
            field_error(c, errors, "FieldValueDuplicate", vpa_arena_printf(c->a, "%s.name", at),
                        "Duplicate value: \"%s\"", name);
        strings_add(c->a, seen, name);
        if (!*jv_text_at(m->value, "image"))
            field_error(c, errors, "FieldValueRequired", vpa_arena_printf(c->a, "%s.image", at),
                        "Required value");
        check_resources(c, jv_get(m->value, "resources"),
                        vpa_arena_printf(c->a, "%s.resources", at), errors);
    }
}

void validate_pod_spec(struct ctx *c, const struct jv *spec, const char *path,
                       struct field_errors *errors)
{
    struct strings seen = {0};

    if (!jv_len(jv_get(spec, "containers")))
        field_error(c, errors, "FieldValueRequired", vpa_arena_printf(c->a, "%s.containers", path),
                    "Required value");
    check_containers(c, jv_get(spec, "containers"), vpa_arena_printf(c->a, "%s.containers", path),
                     &seen, errors);
    check_containers(c, jv_get(spec, "initContainers"),
                     vpa_arena_printf(c->a, "%s.initContainers", path), &seen, errors);
}

/* Fractions of bytes are accepted with a warning. */
void warn_pod_spec(struct ctx *c, const struct jv *spec, const char *path)
{
    static const char *const lists[] = {"requests", "limits"};
    struct vpa_quantity q;
    size_t i = 0;

    jv_each (m, jv_get(spec, "containers")) {
        for (size_t k = 0; k < VPA_COUNT(lists); k++) {
            const struct jv *v = jv_get(jv_get(jv_get(m->value, "resources"), lists[k]), "memory");
            if (amount(c, v, &q) && !vpa_quantity_is_whole(&q))
                quote_warning(
                    c, vpa_arena_printf(c->a,
                                        "%s.containers[%zu].resources.%s[memory]: fractional byte "
                                        "value \"%s\" is invalid, must be an integer",
                                        path, i, lists[k], v->text));
        }
        i++;
    }
}
