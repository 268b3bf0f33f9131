/* Validation of LimitRanges: the amounts of each limit must be in order. */
#include "validate.h"

#include <string.h>

#include "vpa/base/quantity.h"

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
    const char *type = jv_text_at(item, "type");
    bool pod = !strcmp(type, "Pod"), container = !strcmp(type, "Container");
    struct strings seen = {0};

    for (size_t i = 0; i < VPA_COUNT(lists); i++) {
        const struct jv *list = jv_get(item, lists[i]);
        bool preset = !strncmp(lists[i], "default", 7);

        if (pod && preset && jv_len(list))
            field_error(c, errors, FORBIDDEN, vpa_arena_printf(c->a, "%s.%s", at, lists[i]),
                        "Forbidden: may not be specified when `type` is 'Pod'");
        jv_each (m, pod && preset ? NULL : list) {
            const char *place = vpa_arena_printf(c->a, "%s.%s", at, lists[i]);
            if (pod || container)
                check_resource_name(c, m->name, place, errors);
            else
                check_known_resource_name(c, m->name, place, errors);
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
    if (!strcmp(type, "PersistentVolumeClaim") && !jv_at(item, "min.storage") &&
        !jv_at(item, "max.storage"))
        field_error(c, errors, REQUIRED, vpa_arena_printf(c->a, "%s.limits", at),
                    "Required value: either minimum or maximum storage value is required, but "
                    "neither was provided");
}

void validate_limit_range(struct ctx *c, const struct jv *object, struct field_errors *errors)
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
            field_wrong(c, errors, place, type, "must be a standard limit type or fully qualified");
        if (strings_has(&seen, type))
            field_error(c, errors, DUPLICATE, place, "Duplicate value: \"%s\"", type);
        strings_add(c->a, &seen, type);
        check_limit_amounts(c, m->value, at, errors);
    }
}
