#include "recommender_exempt.h"

#include <stdlib.h>
#include <string.h>

#include "runner.h"

#include "vpa/base/str.h"

#define LABEL_VALUE_MAX 63

/* ---- causes in the input ---- */

static void touch(struct exemptions *e, const char *ns, const char *name)
{
    const char *key = golden_label(e->c, "%s/%s", ns, name);

    vpa_table_put(&e->touched, key, (void *)key);
}

/* Calls fn for every change of the case, those before the start too. */
static void each_change(struct golden_case *c,
                        void (*fn)(struct exemptions *e, const struct vpa_json *),
                        struct exemptions *e)
{
    vpa_json_foreach (change, GOLDEN_IN(c, "objects"))
        fn(e, change);
    vpa_json_foreach (step, GOLDEN_IN(c, "steps"))
        vpa_json_foreach (change, vpa_json_find(step, "changes"))
            fn(e, change);
}

static const char *text_at(const struct vpa_json *node, const char *path)
{
    return vpa_or_empty(vpa_json_string(vpa_json_at(node, path)));
}

/* S7: a policy with settings of its own. */
static void find_settings(struct exemptions *e, const struct vpa_json *change)
{
    static const char *const names[] = {"oomBumpUpRatio", "oomMinBumpUp",
                                        "memoryAggregationIntervalSeconds",
                                        "memoryAggregationIntervalCount"};
    const struct vpa_json *vpa = vpa_json_find(change, "apply");

    vpa_json_foreach (policy, vpa_json_at(vpa, "spec.resourcePolicy.containerPolicies"))
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (vpa_json_find(policy, names[i]))
                touch(e, text_at(vpa, "metadata.namespace"), text_at(vpa, "metadata.name"));
}

/* U17: an event watch that ends. */
static void find_closed_watch(struct exemptions *e, const struct vpa_json *change)
{
    if (vpa_json_find(change, "close_watch"))
        e->any_vpa = true;
}

/* U18: a pod that external metrics cannot be asked about. */
static void find_long_name(struct exemptions *e, const struct vpa_json *change)
{
    const struct vpa_json *object = vpa_json_find(change, "apply");

    if (strcmp(text_at(object, "kind"), "Pod") == 0 &&
        strlen(text_at(object, "metadata.name")) > LABEL_VALUE_MAX)
        e->any_vpa = true;
}

/* U19: a scale that comes or goes. */
static void find_scale_change(struct exemptions *e, const struct vpa_json *change)
{
    if (vpa_json_find(change, "unscale"))
        e->any_vpa = true;
}

static bool uses_external_metrics(struct golden_case *c)
{
    vpa_json_foreach (flag, GOLDEN_IN(c, "flags"))
        if (vpa_str_starts_with(vpa_or_empty(vpa_json_string(flag)), "--use-external-metrics"))
            return true;
    return false;
}

/* Whose a VPA is and what it is about. */
static const char *identity_of(const struct exemptions *e, const struct vpa_json *vpa)
{
    return golden_label(e->c, "%s/%s/%s",
                        text_at(vpa_json_first(vpa_json_at(vpa, "spec.recommenders")), "name"),
                        text_at(vpa, "spec.targetRef.kind"), text_at(vpa, "spec.targetRef.name"));
}

/* U25: a VPA that comes, comes back, is handed over or names another target while the process runs.
 */
static void find_newcomer(struct exemptions *e, struct vpa_table *known,
                          const struct vpa_json *change, bool running)
{
    const struct vpa_json *vpa = vpa_json_find(change, "apply");
    const struct vpa_json *gone = vpa_json_find(change, "delete");

    if (strcmp(text_at(gone, "kind"), "VerticalPodAutoscaler") == 0)
        vpa_table_remove(
            known, golden_label(e->c, "%s/%s", text_at(gone, "namespace"), text_at(gone, "name")));
    if (strcmp(text_at(vpa, "kind"), "VerticalPodAutoscaler") != 0)
        return;
    const char *key = golden_label(e->c, "%s/%s", text_at(vpa, "metadata.namespace"),
                                   text_at(vpa, "metadata.name"));
    const char *identity = identity_of(e, vpa);
    if (running && !vpa_str_eq(vpa_table_find(known, key), identity))
        touch(e, text_at(vpa, "metadata.namespace"), text_at(vpa, "metadata.name"));
    vpa_table_put(known, key, (void *)identity);
}

static void find_newcomers(struct exemptions *e)
{
    struct vpa_table known = {0};

    vpa_json_foreach (change, GOLDEN_IN(e->c, "objects"))
        find_newcomer(e, &known, change, false);
    vpa_json_foreach (step, GOLDEN_IN(e->c, "steps"))
        vpa_json_foreach (change, vpa_json_find(step, "changes"))
            find_newcomer(e, &known, change, true);
    vpa_table_release(&known);
}

/* U2: a checkpoint that upstream would keep for ever. */
static void note_collected(struct exemptions *e, const char *path, const char *body, bool written)
{
    if (!written || !strstr(path, "/verticalpodautoscalercheckpoints/") ||
        !strstr(body, "DeleteOptions"))
        return;
    const char *key = golden_label(e->c, "%s", path);
    vpa_table_put(&e->collected, key, (void *)key);
}

static void find_late_decisions(struct exemptions *e)
{
    find_newcomers(e);
    each_change(e->c, find_closed_watch, e);
    if (uses_external_metrics(e->c))
        each_change(e->c, find_long_name, e);
    each_change(e->c, find_scale_change, e);
    e->active = e->any_vpa || e->touched.count > 0;
}

void exemptions_init(struct exemptions *e, struct golden_case *c, bool invariant)
{
    *e = (struct exemptions){.c = c, .active = invariant};
    if (!invariant) {
        if (!c->differs && !golden_listed(c))
            find_late_decisions(e);
        return;
    }
    if (golden_tagged(c, "S7"))
        each_change(c, find_settings, e);
    e->by_containers = golden_tagged(c, "U3") || golden_tagged(c, "spec 8.2");
    e->any_vpa = golden_tagged(c, "U4");
}

void exemptions_release(struct exemptions *e)
{
    vpa_table_release(&e->touched);
    vpa_table_release(&e->collected);
    vpa_table_release(&e->containers[0]);
    vpa_table_release(&e->containers[1]);
}

/* ---- causes in what is written ---- */

/* "ns/name" of the VPA of a status path, NULL for other paths. */
static const char *vpa_of_status(const struct exemptions *e, const char *path)
{
    const char *ns = strstr(path, "/namespaces/");
    const char *name = strstr(path, "/verticalpodautoscalers/");

    if (!ns || !name)
        return NULL;
    ns += strlen("/namespaces/");
    name += strlen("/verticalpodautoscalers/");
    return golden_label(e->c, "%.*s/%.*s", (int)strcspn(ns, "/"), ns, (int)strcspn(name, "/"),
                        name);
}

/* Names of the recommended containers, in their order. */
static const char *containers_of(const struct exemptions *e, const char *body)
{
    const struct vpa_json *root;
    const char *names = "";

    if (vpa_json_parse(e->c->arena, body, strlen(body), &root, NULL) < 0)
        return names;
    vpa_json_foreach (op, root)
        vpa_json_foreach (entry, vpa_json_at(op, "value.recommendation.containerRecommendations"))
            names = golden_label(e->c, "%s/%s", names, text_at(entry, "containerName"));
    return names;
}

void exemptions_note(struct exemptions *e, const char *path, const char *body, bool written)
{
    const char *vpa = e->active ? vpa_of_status(e, path) : NULL;

    note_collected(e, path, body, written);
    if (!vpa)
        return;
    bool unsupported = strstr(body, "\"ConfigUnsupported\"") != NULL;
    bool conflict = strstr(body, "\"TargetConflict\"") != NULL;
    if ((unsupported && (golden_tagged(e->c, "U2") || golden_tagged(e->c, "S8"))) ||
        (conflict && golden_tagged(e->c, "U12")))
        vpa_table_put(&e->touched, vpa, (void *)vpa);
    if (e->by_containers)
        vpa_table_put(&e->containers[written], vpa, (void *)containers_of(e, body));
}

void exemptions_noted(struct exemptions *e)
{
    for (int side = 0; side < 2; side++) {
        size_t i = 0;
        const char *vpa;
        void *names;

        while (vpa_table_next(&e->containers[side], &i, &vpa, &names))
            if (!vpa_str_eq(names, vpa_table_find(&e->containers[!side], vpa)))
                vpa_table_put(&e->touched, vpa, (void *)vpa);
    }
}

/* A checkpoint "<vpa>-<container>" of a touched VPA. */
static bool is_checkpoint_of_touched(const struct exemptions *e, const char *path)
{
    const char *ns = strstr(path, "/namespaces/");
    const char *name = strstr(path, "/verticalpodautoscalercheckpoints/");
    size_t i = 0;
    const char *key;
    void *value;

    if (!ns || !name)
        return false;
    ns += strlen("/namespaces/");
    name += strlen("/verticalpodautoscalercheckpoints/");
    const char *full = golden_label(e->c, "%.*s/%s", (int)strcspn(ns, "/"), ns, name);
    while (vpa_table_next(&e->touched, &i, &key, &value))
        if (vpa_str_starts_with(full, key) && full[strlen(key)] == '-')
            return true;
    return false;
}

/* The VPA named by the body of a create. */
static const char *vpa_of_body(const struct exemptions *e, const char *path, const char *body)
{
    const char *ns = strstr(path, "/namespaces/");
    const struct vpa_json *root;

    if (!ns || vpa_json_parse(e->c->arena, body, strlen(body), &root, NULL) < 0)
        return NULL;
    const char *name = vpa_json_string(vpa_json_at(root, "spec.vpaObjectName"));
    ns += strlen("/namespaces/");
    return name ? golden_label(e->c, "%.*s/%s", (int)strcspn(ns, "/"), ns, name) : NULL;
}

bool exemptions_explain(const struct exemptions *e, const char *path, const char *body)
{
    if (vpa_table_find(&e->collected, path))
        return true;
    if (!e->active)
        return false;
    if (e->any_vpa)
        return true;
    const char *vpa = vpa_of_status(e, path);
    if (!vpa)
        vpa = vpa_of_body(e, path, body);
    return vpa ? vpa_table_find(&e->touched, vpa) != NULL : is_checkpoint_of_touched(e, path);
}
