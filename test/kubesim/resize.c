/*
 * pods/resize: only resources and resize policies of containers may change, the rest of the body is
 * put back without a word; then the rules of what a resize may do. From 1.36 the API server itself
 * refuses what the node can never hold.
 */
#include "sim.h"

#include <string.h>

#include "vpa/base/quantity.h"

#define FORBIDDEN "FieldValueForbidden"

#define INVALID "FieldValueInvalid"

static bool same_names(const struct jv *old, const struct jv *now)
{
    bool same = jv_len(old) == jv_len(now);

    for (size_t i = 0; same && i < jv_len(old); i++)
        same = !strcmp(jv_text_at(old->items[i].value, "name"),
                       jv_text_at(now->items[i].value, "name"));
    return same;
}

/* The old containers with the new resources and resize policies; a list with other names stays as
 * it is, for validation to refuse. */
static void keep_rest(struct ctx *c, const struct jv *old_list, struct jv *list)
{
    static const char *const changing[] = {"resources", "resizePolicy"};

    if (!same_names(old_list, list))
        return;
    for (size_t k = 0; k < jv_len(list); k++) {
        struct jv *merged = jv_clone(c->a, old_list->items[k].value), *now = list->items[k].value;
        for (size_t i = 0; i < VPA_COUNT(changing); i++) {
            struct jv *v = jv_get(now, changing[i]);
            if (v)
                jv_set(c->a, merged, changing[i], v);
            else
                jv_del(merged, changing[i]);
        }
        list->items[k].value = merged;
    }
}

static bool removed(const struct jv *old, const struct jv *now)
{
    jv_each (m, old)
        if (!jv_get(now, m->name))
            return true;
    return false;
}

static void check_removed(struct ctx *c, const struct jv *old, const struct jv *now, const char *at,
                          const char *what, struct field_errors *errors)
{
    static const char *const lists[] = {"requests", "limits"};

    for (size_t i = 0; i < VPA_COUNT(lists); i++)
        if (removed(jv_get(old, lists[i]), jv_get(now, lists[i])))
            field_error(c, errors, FORBIDDEN, vpa_arena_printf(c->a, "%s.%s", at, lists[i]),
                        "Forbidden: %s %s cannot be removed", what, lists[i]);
}

/* Resources without what may change. 1.34 does not look at a list that was not there before. */
static void drop_amounts(struct ctx *c, const struct jv *old, struct jv *resources)
{
    static const char *const lists[] = {"requests", "limits"};

    for (size_t i = 0; i < VPA_COUNT(lists); i++) {
        jv_del(jv_get(resources, lists[i]), "cpu");
        jv_del(jv_get(resources, lists[i]), "memory");
        if (c->sim->opt.minor < 36 && !jv_len(jv_get(old, lists[i])))
            jv_del(resources, lists[i]);
    }
}

static bool rest_changed(struct ctx *c, const struct jv *old, const struct jv *now)
{
    const struct jv *before = jv_get(old, "resources");
    struct jv *x = jv_clone(c->a, old), *y = jv_clone(c->a, now);

    drop_amounts(c, before, jv_get(x, "resources"));
    drop_amounts(c, before, jv_get(y, "resources"));
    return !schema_equal(c->a, schema_builtin("Container"), x, y);
}

static bool goes_on(const struct jv *container)
{
    return !strcmp(jv_text_at(container, "restartPolicy"), "Always");
}

static bool restarts(const struct jv *container)
{
    jv_each (m, jv_get(container, "resizePolicy"))
        if (!strcmp(jv_text_at(m->value, "restartPolicy"), "RestartContainer"))
            return true;
    return false;
}

/* Before 1.36 only init containers that go on can be resized. */
static void check_init(struct ctx *c, const struct jv *old, const struct jv *now, const char *at,
                       struct field_errors *errors)
{
    bool old_rules = c->sim->opt.minor < 36;
    bool changed = !schema_equal(c->a, schema_builtin("Container"), old, now);

    if (old_rules && !goes_on(now)) {
        if (changed)
            field_error(c, errors, FORBIDDEN, "spec",
                        "Forbidden: resources for non-sidecar init containers are immutable");
        return;
    }
    if (rest_changed(c, old, now))
        field_error(c, errors, FORBIDDEN, old_rules ? "spec" : at,
                    "Forbidden: only cpu and memory resources for %ssidecar containers are mutable",
                    old_rules ? "" : "init or ");
    if (changed && !goes_on(now) && restarts(now))
        field_error(c, errors, FORBIDDEN, at,
                    "Forbidden: non-sidecar init containers with a resize policy of "
                    "RestartContainer cannot be resized");
}

static void check_names(struct ctx *c, const struct jv *old, const struct jv *now, const char *list,
                        struct field_errors *errors)
{
    if (jv_len(old) != jv_len(now)) {
        field_error(c, errors, FORBIDDEN, vpa_arena_printf(c->a, "spec.%s", list),
                    "Forbidden: %s may not be added or removed on resize", list);
        return;
    }
    for (size_t i = 0; i < jv_len(old); i++)
        if (strcmp(jv_text_at(old->items[i].value, "name"),
                   jv_text_at(now->items[i].value, "name")) != 0)
            field_error(c, errors, FORBIDDEN, vpa_arena_printf(c->a, "spec.%s[%zu].name", list, i),
                        "Forbidden: %s may not be renamed or reordered on resize", list);
}

static void check_containers(struct ctx *c, const struct jv *old, const struct jv *now,
                             struct field_errors *errors)
{
    const struct jv *init0 = jv_get(old, "initContainers"), *init1 = jv_get(now, "initContainers"),
                    *list0 = jv_get(old, "containers"), *list1 = jv_get(now, "containers");
    size_t before = errors->count;

    check_names(c, list0, list1, "containers", errors);
    check_names(c, init0, init1, "initContainers", errors);
    if (errors->count > before)
        return;
    for (size_t i = 0; i < jv_len(init0); i++)
        if (c->sim->opt.minor >= 36 || goes_on(init0->items[i].value))
            check_removed(c, jv_get(init0->items[i].value, "resources"),
                          jv_get(init1->items[i].value, "resources"),
                          vpa_arena_printf(c->a, "spec.initContainers[%zu].resources", i),
                          "resource", errors);
    for (size_t i = 0; i < jv_len(list0); i++)
        check_removed(c, jv_get(list0->items[i].value, "resources"),
                      jv_get(list1->items[i].value, "resources"),
                      vpa_arena_printf(c->a, "spec.containers[%zu].resources", i), "resource",
                      errors);
    for (size_t i = 0; i < jv_len(list0); i++)
        if (rest_changed(c, list0->items[i].value, list1->items[i].value))
            field_error(c, errors, FORBIDDEN, "spec",
                        "Forbidden: only cpu and memory resources are mutable");
    for (size_t i = 0; i < jv_len(init0); i++)
        check_init(c, init0->items[i].value, init1->items[i].value,
                   vpa_arena_printf(c->a, "spec.initContainers[%zu]", i), errors);
}

static bool node_supports(const struct jv *pod)
{
    jv_each (m, jv_at(pod, "status.containerStatuses"))
        if (jv_at(m->value, "state.running"))
            return jv_get(m->value, "resources") != NULL;
    return true;
}

/* Resources of the whole pod, which 1.34 cannot resize. */
static bool has_pod_level(const struct jv *spec)
{
    return jv_len(jv_at(spec, "resources.requests")) + jv_len(jv_at(spec, "resources.limits")) > 0;
}

static void check_pod_level(struct ctx *c, const struct jv *old, const struct jv *now,
                            struct field_errors *errors)
{
    const struct jv *before = jv_get(old, "resources");

    if (before && !jv_get(now, "resources")) {
        field_error(c, errors, FORBIDDEN, "spec.resources",
                    "Forbidden: pod-level resources cannot be removed");
        return;
    }
    check_removed(c, before, jv_get(now, "resources"), "spec.resources", "pod-level resource",
                  errors);
}

static void put_back(struct ctx *c, const struct jv *old, struct jv *spec)
{
    struct jv *kept = jv_clone(c->a, jv_get(old, "spec"));
    const char *const lists[] = {"containers", "initContainers", "resources"};

    if (jv_len(jv_get(spec, lists[0])) != jv_len(jv_get(kept, lists[0])) ||
        jv_len(jv_get(spec, lists[1])) != jv_len(jv_get(kept, lists[1])))
        return; /* refused anyhow */
    keep_rest(c, jv_get(kept, lists[0]), jv_get(spec, lists[0]));
    keep_rest(c, jv_get(kept, lists[1]), jv_get(spec, lists[1]));
    for (size_t i = 0; i < 2u + (c->sim->opt.minor >= 36); i++) {
        if (jv_get(spec, lists[i]))
            jv_set(c->a, kept, lists[i], jv_get(spec, lists[i]));
        else
            jv_del(kept, lists[i]);
    }
    *spec = *kept;
}

int resize_prepare(struct ctx *c, const struct jv *old, struct jv *object,
                   struct field_errors *errors)
{
    struct jv *spec = jv_get(object, "spec");
    const struct jv *before = jv_get(old, "spec");
    const char *qos = jv_text_at(old, "status.qosClass");

    defaults_pod_spec(c->a, spec);
    admit_limit_defaults(c, old, object);
    put_back(c, old, spec);
    if (c->sim->opt.minor < 36 && (has_pod_level(before) || has_pod_level(spec))) {
        field_error(c, errors, FORBIDDEN, "[]",
                    "Forbidden: pods with pod-level resources cannot be resized");
        return 0;
    }
    validate_pod_spec(c, spec, "spec", errors);
    if (strcmp(*qos ? qos : pod_qos(before), pod_qos(spec)) != 0)
        field_error(c, errors, INVALID, "spec",
                    "Invalid value: \"%s\": Pod QOS Class may not change as a result of resizing",
                    qos);
    if (!node_supports(old))
        field_error(c, errors, FORBIDDEN, "spec",
                    "Forbidden: Pod running on node without support for resize");
    if (has_pod_level(before) || has_pod_level(spec))
        check_pod_level(c, before, spec, errors);
    check_containers(c, before, spec, errors);
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

/* What the pod asks for, as the scheduler counts it. */
static int64_t asked(struct ctx *c, const struct jv *spec, const char *name, bool milli)
{
    const char *own = jv_text(jv_get(jv_at(spec, "resources.requests"), name)),
               *sum = jv_text(jv_get(pod_containers_sum(c->a, spec, "requests"), name));
    struct vpa_quantity q;

    if ((!own && !sum) || vpa_quantity_parse(c->a, own ? own : sum, &q, NULL) < 0)
        return 0;
    return milli ? vpa_quantity_milli_value(&q) : vpa_quantity_value(&q);
}

static int64_t allocatable(struct ctx *c, const struct jv *node, const char *name, bool milli)
{
    const char *text = jv_text(jv_get(jv_at(node, "status.allocatable"), name));
    struct vpa_quantity q;

    if (!text || vpa_quantity_parse(c->a, text, &q, NULL) < 0)
        return 0;
    return milli ? vpa_quantity_milli_value(&q) : vpa_quantity_value(&q);
}

static const char *too_much(struct ctx *c, const struct jv *spec, const struct jv *node)
{
    static const char *const names[] = {"cpu", "memory"};
    const char *text = "";

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        long long wanted = asked(c, spec, names[i], i == 0),
                  there = allocatable(c, node, names[i], i == 0);
        if (wanted > there)
            text = vpa_arena_printf(c->a, "%s%s%s, requested: %lld, allocatable: %lld", text,
                                    *text ? "; " : "", names[i], wanted, there);
    }
    return text;
}

/* Where a LimitRange is, its plugin makes empty lists of absent ones, which is a change to the
 * plugin that looks at init containers. */
static bool init_changed(struct ctx *c, const struct jv *old, const struct jv *now, bool limited)
{
    const struct jv *before = jv_get(old, "resources");
    bool both = jv_len(jv_get(before, "requests")) && jv_len(jv_get(before, "limits"));

    return !goes_on(now) &&
           ((limited && !both) || !schema_equal(c->a, schema_builtin("ResourceRequirements"),
                                                before, jv_get(now, "resources")));
}

/* What nodes must be able to do for this change: none of those that declare nothing. */
static const char *feature_needed(struct ctx *c, const struct jv *pod, const struct jv *spec)
{
    const struct jv *old = jv_get(pod, "spec"), *init = jv_get(spec, "initContainers");
    bool limited = admit_has_limits(c) && !jv_at(pod, "metadata.deletionTimestamp");

    for (size_t i = 0; i < jv_len(init); i++)
        if (init_changed(c, jv_get(old, "initContainers")->items[i].value, init->items[i].value,
                         limited))
            return "InPlacePodVerticalScalingInitContainers";
    return schema_equal(c->a, schema_builtin("ResourceRequirements"), jv_get(old, "resources"),
                        jv_get(spec, "resources"))
               ? NULL
               : "InPlacePodLevelResourcesVerticalScaling";
}

static bool declares(const struct jv *node, const char *feature)
{
    jv_each (m, jv_at(node, "status.declaredFeatures"))
        if (jv_text(m->value) && !strcmp(m->value->text, feature))
            return true;
    return false;
}

/* The LimitRange checks and, from 1.36, admission plugins NodeDeclaredFeatureValidator and
 * PodResizeValidator. */
int resize_admit(struct ctx *c, const struct jv *old, const struct jv *object)
{
    const struct jv *spec = jv_get(object, "spec");
    const char *name = jv_text_at(spec, "nodeName");

    if (!jv_at(old, "metadata.deletionTimestamp") &&
        admit_limits(c, (struct jv *)(uintptr_t)object) < 0)
        return -1;
    if (c->sim->opt.minor < 36 || !*name ||
        schema_equal(c->a, schema_builtin("PodSpec"), jv_get(old, "spec"), spec))
        return 0;
    const struct version *v =
        store_find(types_find(&c->sim->types, "", "v1", "nodes")->store, "", name);
    if (!v)
        return refuse(c, NULL, vpa_arena_printf(c->a, "node \"%s\" not found", name));
    const struct jv *node = version_parse(c->a, v);
    const char *feature = feature_needed(c, old, spec);
    if (feature && !declares(node, feature))
        return refuse(c, NULL,
                      vpa_arena_printf(c->a,
                                       "pod update requires features %s which are not available on "
                                       "node \"%s\"",
                                       feature, name));
    const char *os = jv_text(jv_get(jv_at(node, "metadata.labels"), "kubernetes.io/os"));
    if (os && strcmp(os, "linux") != 0)
        return refuse(c, "UnsupportedPlatform",
                      vpa_arena_printf(c->a,
                                       "pod resize is only supported on linux nodes, node \"%s\" "
                                       "is \"%s\"",
                                       name, os));
    const char *text = too_much(c, spec, node);
    return *text ? refuse(c, "NodeCapacity",
                          vpa_arena_printf(
                              c->a, "node didn't have enough allocatable resources: %s", text))
                 : 0;
}
