/*
 * pods/resize: only resources and resize policies of containers may change, the rest of the body is
 * put back without a word; then the rules of what a resize may do. From 1.36 the API server itself
 * refuses what the node can never hold.
 */
#include "sim.h"

#include <string.h>

#include "vpa/base/quantity.h"

#define FORBIDDEN "FieldValueForbidden"

static struct jv *named(const struct jv *list, const char *name)
{
    jv_each (m, list)
        if (!strcmp(jv_text_at(m->value, "name"), name))
            return m->value;
    return NULL;
}

static void keep_rest(struct ctx *c, const struct jv *old_list, struct jv *list)
{
    jv_each (m, list) {
        struct jv *before = named(old_list, jv_text_at(m->value, "name"));
        if (!before)
            continue;
        struct jv *merged = jv_clone(c->a, before);
        static const char *const changing[] = {"resources", "resizePolicy"};
        for (size_t i = 0; i < VPA_COUNT(changing); i++) {
            struct jv *v = jv_get(m->value, changing[i]);
            if (v)
                jv_set(c->a, merged, changing[i], v);
            else
                jv_del(merged, changing[i]);
        }
        m->value = merged;
    }
}

static bool removed(const struct jv *old, const struct jv *now)
{
    jv_each (m, old)
        if (!jv_get(now, m->name))
            return true;
    return false;
}

static bool other_changed(const struct jv *old, const struct jv *now)
{
    jv_each (m, now)
        if (strcmp(m->name, "cpu") != 0 && strcmp(m->name, "memory") != 0 &&
            !jv_equal(m->value, jv_get(old, m->name)))
            return true;
    return false;
}

static void check_container(struct ctx *c, const struct jv *old, const struct jv *now,
                            const char *at, struct field_errors *errors)
{
    const struct jv *r0 = jv_at(old, "resources.requests"), *r1 = jv_at(now, "resources.requests"),
                    *l0 = jv_at(old, "resources.limits"), *l1 = jv_at(now, "resources.limits");

    if (other_changed(r0, r1) || other_changed(l0, l1))
        field_error(c, errors, FORBIDDEN, "spec",
                    "Forbidden: only cpu and memory resources are mutable");
    if (removed(l0, l1))
        field_error(c, errors, FORBIDDEN, vpa_arena_printf(c->a, "%s.resources.limits", at),
                    "Forbidden: resource limits cannot be removed");
    if (removed(r0, r1))
        field_error(c, errors, FORBIDDEN, vpa_arena_printf(c->a, "%s.resources.requests", at),
                    "Forbidden: resource requests cannot be removed");
}

static bool node_supports(const struct jv *pod)
{
    jv_each (m, jv_at(pod, "status.containerStatuses"))
        if (jv_at(m->value, "state.running"))
            return jv_get(m->value, "resources") != NULL;
    return true;
}

int resize_prepare(struct ctx *c, const struct jv *old, struct jv *object,
                   struct field_errors *errors)
{
    struct jv *spec = jv_get(object, "spec"), *kept = jv_clone(c->a, jv_get(old, "spec"));
    struct jv *list = jv_get(spec, "containers"), *init = jv_get(spec, "initContainers");
    const struct jv *old_list = jv_at(old, "spec.containers");
    size_t i = 0;
    bool same = jv_len(list) == jv_len(old_list);

    keep_rest(c, old_list, list);
    keep_rest(c, jv_at(old, "spec.initContainers"), init);
    if (list)
        jv_set(c->a, kept, "containers", list);
    if (init && jv_at(old, "spec.initContainers"))
        jv_set(c->a, kept, "initContainers", init);
    jv_set(c->a, object, "spec", kept);
    jv_each (m, list)
        same =
            same && i < jv_len(old_list) &&
            !strcmp(jv_text_at(m->value, "name"), jv_text_at(old_list->items[i++].value, "name"));
    if (jv_equal(jv_get(old, "spec"), kept))
        return 0;
    defaults_pod_spec(c->a, kept);
    validate_pod_spec(c, kept, "spec", errors);
    const char *qos = jv_text_at(old, "status.qosClass");
    if (*qos && strcmp(qos, pod_qos(kept)) != 0)
        field_error(c, errors, "FieldValueInvalid", "spec",
                    "Invalid value: \"%s\": Pod QOS Class may not change as a result of resizing",
                    qos);
    if (!node_supports(old))
        field_error(c, errors, FORBIDDEN, "spec",
                    "Forbidden: Pod running on node without support for resize");
    if (!same) {
        field_error(c, errors, FORBIDDEN, "spec.containers",
                    "Forbidden: containers may not be added or removed on resize");
        return 0;
    }
    for (i = 0; i < jv_len(list); i++)
        check_container(c, old_list->items[i].value, list->items[i].value,
                        vpa_arena_printf(c->a, "spec.containers[%zu]", i), errors);
    return 0;
}

static int refuse(struct ctx *c, const char *cause, const char *text)
{
    struct jv *d = jv_obj(c->a), *causes = jv_arr(c->a), *one = jv_obj(c->a);

    jv_set_str(c->a, d, "name", c->name);
    jv_set_str(c->a, d, "kind", "pods");
    if (cause) {
        jv_set_str(c->a, one, "reason", cause);
        jv_push(c->a, causes, one);
        jv_set(c->a, d, "causes", causes);
    }
    return fail_details(c, 403, "Forbidden", d,
                        vpa_arena_printf(c->a, "pods \"%s\" is forbidden: %s", c->name, text));
}

static int64_t request_sum(struct ctx *c, const struct jv *pod, const char *name, bool milli)
{
    int64_t sum = 0;

    jv_each (m, jv_at(pod, "spec.containers")) {
        const char *text = jv_text(jv_get(jv_at(m->value, "resources.requests"), name));
        struct vpa_quantity q;
        if (text && vpa_quantity_parse(c->a, text, &q, NULL) == 0)
            sum += milli ? vpa_quantity_milli_value(&q) : vpa_quantity_value(&q);
    }
    return sum;
}

/* Admission plugin PodResizeValidator of 1.36, and the LimitRange checks. */
int resize_admit(struct ctx *c, const struct jv *old, const struct jv *object)
{
    static const char *const names[] = {"cpu", "memory"};
    const char *node_name = jv_text_at(object, "spec.nodeName");
    struct vpa_quantity q;

    if (jv_equal(jv_get(old, "spec"), jv_get(object, "spec")))
        return 0;
    if (admit_limits(c, (struct jv *)(uintptr_t)object) < 0)
        return -1;
    if (c->sim->opt.minor < 36 || !*node_name)
        return 0;
    const struct version *v =
        store_find(types_find(&c->sim->types, "", "v1", "nodes")->store, "", node_name);
    if (!v)
        return refuse(c, NULL, vpa_arena_printf(c->a, "node \"%s\" not found", node_name));
    const struct jv *node = version_parse(c->a, v);
    const char *os = jv_text(jv_get(jv_at(node, "metadata.labels"), "kubernetes.io/os"));
    if (os && strcmp(os, "linux") != 0)
        return refuse(c, "UnsupportedPlatform", "Pod resize is not supported on non-linux nodes");
    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        const char *text = jv_text(jv_get(jv_at(node, "status.allocatable"), names[i]));
        if (!text || vpa_quantity_parse(c->a, text, &q, NULL) < 0)
            continue;
        int64_t allocatable = i == 0 ? vpa_quantity_milli_value(&q) : vpa_quantity_value(&q);
        int64_t wanted = request_sum(c, object, names[i], i == 0);
        if (wanted > allocatable)
            return refuse(c, "NodeCapacity",
                          vpa_arena_printf(c->a,
                                           "node didn't have enough allocatable resources: %s, "
                                           "requested: %lld, allocatable: %lld",
                                           names[i], (long long)wanted, (long long)allocatable));
    }
    return 0;
}
