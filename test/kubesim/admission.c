/*
 * Built-in admission plugins: ServiceAccount, LimitRanger, DefaultTolerationSeconds, Priority,
 * TaintNodesByCondition.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/quantity.h"

static bool is_kind(const struct ctx *c, const char *group, const char *kind)
{
    return !strcmp(c->type->kind, kind) && !strcmp(c->type->group, group);
}

static int forbid(struct ctx *c, const char *text)
{
    return fail_object(c, 403, "Forbidden", "%s \"%s\" is forbidden: %s",
                       type_qualified(c->a, c->type), c->name, text);
}

/* ---- ServiceAccount ---- */

static int admit_service_account(struct ctx *c, struct jv *pod)
{
    struct jv *spec = jv_ensure(c->a, pod, "spec");
    const char *name = jv_text_at(spec, "serviceAccountName");

    if (!c->sim->opt.service_accounts)
        return 0;
    if (!*name)
        name = "default";
    const struct restype *t = types_find(&c->sim->types, "", "v1", "serviceaccounts");
    if (!store_find(t->store, c->ns, name))
        return forbid(
            c, vpa_arena_printf(
                   c->a, "error looking up service account %s/%s: serviceaccount \"%s\" not found",
                   c->ns, name, name));
    jv_set_str(c->a, spec, "serviceAccountName", name);
    jv_set_str(c->a, spec, "serviceAccount", name);
    return 0;
}

/* ---- small ones ---- */

static void add_tolerations(struct ctx *c, struct jv *spec)
{
    static const char *const keys[] = {"node.kubernetes.io/not-ready",
                                       "node.kubernetes.io/unreachable"};
    struct jv *list = jv_get(spec, "tolerations");

    if (!list) {
        list = jv_arr(c->a);
        jv_set(c->a, spec, "tolerations", list);
    }
    for (size_t i = 0; i < VPA_COUNT(keys); i++) {
        bool there = false;
        jv_each (m, list)
            there = there || !strcmp(jv_text_at(m->value, "key"), keys[i]) ||
                    (!*jv_text_at(m->value, "key") &&
                     !strcmp(jv_text_at(m->value, "operator"), "Exists"));
        if (there)
            continue;
        struct jv *t = jv_obj(c->a);
        jv_set_str(c->a, t, "key", keys[i]);
        jv_set_str(c->a, t, "operator", "Exists");
        jv_set_str(c->a, t, "effect", "NoExecute");
        jv_set_int(c->a, t, "tolerationSeconds", 300);
        jv_push(c->a, list, t);
    }
}

/* A replacement that leaves out what admission filled in gets it again. */
static void keep_admitted(struct ctx *c, const struct jv *old, struct jv *spec)
{
    static const char *const names[] = {"priority", "preemptionPolicy"};

    add_tolerations(c, spec);
    for (size_t i = 0; i < VPA_COUNT(names); i++)
        if (!jv_get(spec, names[i]) && jv_get(old, names[i]))
            jv_set(c->a, spec, names[i], jv_get(old, names[i]));
}

static void taint_node(struct ctx *c, struct jv *node)
{
    struct jv *spec = jv_ensure(c->a, node, "spec"), *taints = jv_get(spec, "taints");

    if (!taints) {
        taints = jv_arr(c->a);
        jv_set(c->a, spec, "taints", taints);
    }
    jv_each (m, taints)
        if (!strcmp(jv_text_at(m->value, "key"), "node.kubernetes.io/not-ready"))
            return;
    jv_insert(c->a, taints, 0,
              jv_lit(c->a, "{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":\"NoSchedule\"}"));
}

/* ---- LimitRanger ---- */

static const char *const amounts[] = {"cpu", "memory"};

static struct vpa_quantity quantity(struct ctx *c, const struct jv *v, bool *there)
{
    struct vpa_quantity q = {0};
    *there = jv_text(v) && vpa_quantity_parse(c->a, v->text, &q, NULL) == 0;
    return q;
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Fills from `presets`; names of what was set are listed. */
static const char *fill(struct ctx *c, struct jv *container, const char *list,
                        const struct jv *presets)
{
    struct strings set = {0};
    const char *names = "";

    jv_each (m, presets) {
        struct jv *to = jv_ensure(c->a, jv_ensure(c->a, container, "resources"), list);
        if (jv_get(to, m->name))
            continue;
        jv_set(c->a, to, m->name, jv_clone(c->a, m->value));
        strings_add(c->a, &set, m->name);
    }
    if (set.count)
        qsort(set.items, set.count, sizeof(*set.items), by_text);
    for (size_t i = 0; i < set.count; i++)
        names = vpa_arena_printf(c->a, "%s%s%s", names, i ? ", " : "", set.items[i]);
    return names;
}

static void default_container(struct ctx *c, struct jv *container, const char *what,
                              const struct jv *item, const char **note)
{
    const char *name = jv_text_at(container, "name");
    const char *requests = fill(c, container, "requests", jv_get(item, "defaultRequest"));
    const char *limits = fill(c, container, "limits", jv_get(item, "default"));

    if (*requests)
        *note = vpa_arena_printf(c->a, "%s%s%s request for %s %s", *note, **note ? "; " : "",
                                 requests, what, name);
    if (*limits)
        *note = vpa_arena_printf(c->a, "%s%s%s limit for %s %s", *note, **note ? "; " : "", limits,
                                 what, name);
}

typedef void (*limit_fn)(struct ctx *c, const struct jv *item, struct jv *pod, void *out);

/* The LimitRanges of the namespace one by one; *at counts them. NULL behind the last. */
static struct version *next_range(struct ctx *c, size_t *at)
{
    const struct collection *s = types_find(&c->sim->types, "", "v1", "limitranges")->store;
    size_t i = store_lower(s, c->ns, "") + (*at)++;

    return i < s->count && !strcmp(s->items[i]->ns, c->ns) ? s->items[i] : NULL;
}

bool admit_has_limits(struct ctx *c)
{
    size_t at = 0;

    return next_range(c, &at) != NULL;
}

static void each_limit_of(struct ctx *c, struct version *range, struct jv *pod, limit_fn visit,
                          void *out)
{
    jv_each (m, jv_at(version_parse(c->a, range), "spec.limits"))
        visit(c, m->value, pod, out);
}

static void each_limit(struct ctx *c, struct jv *pod, limit_fn visit, void *out)
{
    struct version *range;

    for (size_t at = 0; (range = next_range(c, &at));)
        each_limit_of(c, range, pod, visit, out);
}

static void set_defaults(struct ctx *c, const struct jv *item, struct jv *pod, void *out)
{
    if (strcmp(jv_text_at(item, "type"), "Container") != 0)
        return;
    jv_each (m, jv_at(pod, "spec.containers"))
        default_container(c, m->value, "container", item, out);
    jv_each (m, jv_at(pod, "spec.initContainers"))
        default_container(c, m->value, "init container", item, out);
}

void admit_limit_defaults(struct ctx *c, const struct jv *old, struct jv *pod)
{
    const char *note = "";

    if (!jv_at(old, "metadata.deletionTimestamp"))
        each_limit(c, pod, set_defaults, &note);
}

static void apply_limit_defaults(struct ctx *c, struct jv *pod)
{
    const char *note = "";

    each_limit(c, pod, set_defaults, &note);
    if (*note) {
        struct jv *annotations = jv_ensure(c->a, pod, "metadata.annotations");
        jv_set_str(c->a, annotations, "kubernetes.io/limit-ranger",
                   vpa_arena_printf(c->a, "LimitRanger plugin set: %s", note));
    }
}

static void check_amount(struct ctx *c, const char *type, const struct jv *item, const char *name,
                         const struct jv *requests, const struct jv *limits, int kind,
                         struct strings *out)
{
    static const char *const bounds[] = {"min", "max", "maxLimitRequestRatio"};
    bool bounded, has_request, has_limit;
    struct vpa_quantity bound = quantity(c, jv_get(jv_get(item, bounds[kind]), name), &bounded);
    struct vpa_quantity request = quantity(c, jv_get(requests, name), &has_request);
    struct vpa_quantity limit = quantity(c, jv_get(limits, name), &has_limit);

    if (!bounded)
        return;
    if (kind == 0) {
        if (!has_request)
            strings_addf(c->a, out, "minimum %s usage per %s is %s.  No request is specified", name,
                         type, vpa_quantity_text(c->a, &bound));
        else if (vpa_quantity_cmp(&request, &bound) < 0)
            strings_addf(c->a, out, "minimum %s usage per %s is %s, but request is %s", name, type,
                         vpa_quantity_text(c->a, &bound), vpa_quantity_text(c->a, &request));
        else if (has_limit && vpa_quantity_cmp(&limit, &bound) < 0)
            strings_addf(c->a, out, "minimum %s usage per %s is %s, but limit is %s", name, type,
                         vpa_quantity_text(c->a, &bound), vpa_quantity_text(c->a, &limit));
    } else if (kind == 1) {
        if (!has_limit)
            strings_addf(c->a, out, "maximum %s usage per %s is %s.  No limit is specified", name,
                         type, vpa_quantity_text(c->a, &bound));
        else if (vpa_quantity_cmp(&limit, &bound) > 0)
            strings_addf(c->a, out, "maximum %s usage per %s is %s, but limit is %s", name, type,
                         vpa_quantity_text(c->a, &bound), vpa_quantity_text(c->a, &limit));
        else if (has_request && vpa_quantity_cmp(&request, &bound) > 0)
            strings_addf(c->a, out, "maximum %s usage per %s is %s, but request is %s", name, type,
                         vpa_quantity_text(c->a, &bound), vpa_quantity_text(c->a, &request));
    } else {
        double ratio =
            (double)vpa_quantity_milli_value(&limit) /
            (double)(vpa_quantity_milli_value(&request) ? vpa_quantity_milli_value(&request) : 1);
        if (!has_request || vpa_quantity_is_zero(&request))
            strings_addf(c->a, out,
                         "%s max limit to request ratio per %s is %s, but no request is specified "
                         "or request is 0",
                         name, type, vpa_quantity_text(c->a, &bound));
        else if (!has_limit || vpa_quantity_is_zero(&limit))
            strings_addf(c->a, out,
                         "%s max limit to request ratio per %s is %s, but no limit is specified or "
                         "limit is 0",
                         name, type, vpa_quantity_text(c->a, &bound));
        else if (ratio * 1000 > (double)vpa_quantity_milli_value(&bound))
            strings_addf(c->a, out,
                         "%s max limit to request ratio per %s is %s, but provided ratio is %f",
                         name, type, vpa_quantity_text(c->a, &bound), ratio);
    }
}

/* An amount that nobody has stated is absent. */
struct stated {
    struct vpa_quantity q;
    bool there;
};

static void state_sum(struct ctx *c, struct stated *to, const struct stated *more)
{
    if (more->there)
        vpa_quantity_add(c->a, &to->q, &more->q);
    to->there |= more->there;
}

static void state_max(struct stated *to, const struct stated *other)
{
    if (other->there && (!to->there || vpa_quantity_cmp(&other->q, &to->q) > 0))
        *to = *other;
}

static struct stated stated_by(struct ctx *c, const struct jv *container, const char *list,
                               const char *name)
{
    struct stated s;

    s.q = quantity(c, jv_get(jv_get(jv_get(container, "resources"), list), name), &s.there);
    return s;
}

/* What the pod says for itself counts instead of what its containers need. */
static struct stated pod_says(struct ctx *c, const struct jv *pod, const char *list,
                              const char *name, struct stated needs)
{
    struct stated own = stated_by(c, jv_get(pod, "spec"), list, name);

    return own.there ? own : needs;
}

/* What the pod needs at once: its containers and sidecars, or an init container beside the sidecars
 * that have begun before it. */
static struct stated pod_needs(struct ctx *c, const struct jv *pod, const char *list,
                               const char *name)
{
    struct stated all = {0}, sidecars = {0}, beginning = {0};

    jv_each (m, jv_at(pod, "spec.containers")) {
        struct stated own = stated_by(c, m->value, list, name);
        state_sum(c, &all, &own);
    }
    jv_each (m, jv_at(pod, "spec.initContainers")) {
        struct stated own = stated_by(c, m->value, list, name);
        bool stays = !strcmp(jv_text_at(m->value, "restartPolicy"), "Always");

        if (stays)
            state_sum(c, &all, &own);
        state_sum(c, &own, &sidecars);
        if (stays)
            sidecars = own;
        state_max(&beginning, &own);
    }
    state_max(&all, &beginning);
    return all;
}

static struct jv *pod_sum(struct ctx *c, const struct jv *pod, const char *list)
{
    struct jv *out = jv_obj(c->a);

    for (size_t i = 0; i < VPA_COUNT(amounts); i++) {
        struct stated s = pod_says(c, pod, list, amounts[i], pod_needs(c, pod, list, amounts[i]));
        if (s.there)
            jv_set_str(c->a, out, amounts[i], vpa_quantity_text(c->a, &s.q));
    }
    return out;
}

static void check_limits(struct ctx *c, const struct jv *item, struct jv *pod, void *out)
{
    const char *type = jv_text_at(item, "type");

    static const char *const lists[] = {"spec.containers", "spec.initContainers"};

    if (!strcmp(type, "Container")) {
        for (size_t l = 0; l < VPA_COUNT(lists); l++)
            jv_each (m, jv_at(pod, lists[l]))
                for (int kind = 0; kind < 3; kind++)
                    for (size_t i = 0; i < VPA_COUNT(amounts); i++)
                        check_amount(c, type, item, amounts[i],
                                     jv_at(m->value, "resources.requests"),
                                     jv_at(m->value, "resources.limits"), kind, out);
    } else if (!strcmp(type, "Pod")) {
        const struct jv *requests = pod_sum(c, pod, "requests"),
                        *limits = pod_sum(c, pod, "limits");
        for (int kind = 0; kind < 3; kind++)
            for (size_t i = 0; i < VPA_COUNT(amounts); i++)
                check_amount(c, type, item, amounts[i], requests, limits, kind, out);
    }
}

int admit_limits(struct ctx *c, struct jv *pod)
{
    struct strings problems = {0};
    const char *text = "";
    struct version *range;

    /* The first LimitRange that refuses is the one that speaks. */
    for (size_t at = 0; !problems.count && (range = next_range(c, &at));)
        each_limit_of(c, range, pod, check_limits, &problems);
    if (!problems.count)
        return 0;
    size_t kept = 0;
    for (size_t i = 0; i < problems.count; i++) { /* equal texts once */
        struct strings first = {.items = problems.items, .count = kept};
        if (!strings_has(&first, problems.items[i]))
            problems.items[kept++] = problems.items[i];
    }
    problems.count = kept;
    for (size_t i = 0; i < problems.count; i++)
        text = vpa_arena_printf(c->a, "%s%s%s", text, i ? ", " : "", problems.items[i]);
    return forbid(c, problems.count > 1 ? vpa_arena_printf(c->a, "[%s]", text) : text);
}

/* ---- RuntimeClass ---- */

int admit_overhead(struct ctx *c, const struct jv *pod)
{
    if (!jv_at(pod, "spec.overhead") || *jv_text_at(pod, "spec.runtimeClassName"))
        return 0;
    return forbid(c, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
                     "Overhead");
}

/* ---- all of them ---- */

int admit_builtin(struct ctx *c, const char *operation, const struct jv *old, struct jv *object)
{
    bool create = !strcmp(operation, "CREATE") && !*c->sub;

    /* Of a resize only webhooks see what is said of the presets: the metadata are put back. */
    if (!strcmp(operation, "UPDATE") && !strcmp(c->sub, "resize") && admit_has_webhooks(c) &&
        !jv_at(old, "metadata.deletionTimestamp"))
        apply_limit_defaults(c, object);
    if (!strcmp(operation, "UPDATE") && !*c->sub && is_kind(c, "", "Pod"))
        keep_admitted(c, jv_get(old, "spec"), jv_ensure(c->a, object, "spec"));
    if (create && is_kind(c, "", "Pod")) {
        struct jv *spec = jv_ensure(c->a, object, "spec");
        if (admit_service_account(c, object) < 0)
            return -1;
        apply_limit_defaults(c, object);
        add_tolerations(c, spec);
        jv_default(c->a, spec, "priority", "0");
        jv_default(c->a, spec, "preemptionPolicy", "\"PreemptLowerPriority\"");
    }
    if (create && is_kind(c, "", "Node"))
        taint_node(c, object);
    return 0;
}
