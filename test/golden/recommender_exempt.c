#include "recommender_exempt.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define LABEL_VALUE_MAX 63
#define TEXT_MAX ((size_t)16 << 20)
#define STATUSES "/verticalpodautoscalers/"
#define CHECKPOINTS "/verticalpodautoscalercheckpoints"

/* What is known of a VPA. Keys and texts live in the case's arena. */
struct exempt_vpa {
    const char *key;           /* namespace/name */
    enum exempt fields;        /* that may differ from now on */
    const char *identity;      /* whose it is and what it is about; NULL: it is not there */
    const char *policies;      /* its container policies */
    int64_t generation;        /* as it was applied last */
    bool conflict;             /* our last status has the condition of U12 */
    bool set;                  /* they had settings of their own at some time (S7) */
    bool stored;               /* there is a checkpoint of it, or was */
    const char *containers[2]; /* names in its last status: expected, written */
    const char
        *statuses[2]; /* that we wrote, the last and the one before, without U12's condition */
};

static const char *text_at(const struct vpa_json *node, const char *path)
{
    return vpa_or_empty(vpa_json_string(vpa_json_at(node, path)));
}

static bool is_kind(const struct vpa_json *object, const char *kind)
{
    return strcmp(text_at(object, "kind"), kind) == 0;
}

static struct exempt_vpa *entry_of(struct exemptions *e, struct vpa_table *table, const char *key)
{
    struct exempt_vpa *vpa = vpa_table_find(table, key);

    if (vpa)
        return vpa;
    vpa = vpa_arena_zalloc(e->c->arena, sizeof *vpa);
    vpa->key = golden_label(e->c, "%s", key);
    vpa_table_put(table, vpa->key, vpa);
    return vpa;
}

static struct exempt_vpa *vpa_named(struct exemptions *e, const char *ns, const char *name)
{
    return entry_of(e, &e->vpas, golden_label(e->c, "%s/%s", ns, name));
}

static void touch(struct exempt_vpa *vpa, enum exempt fields)
{
    if (vpa->fields < fields)
        vpa->fields = fields;
}

static void touch_namespace(struct exemptions *e, const char *ns, enum exempt fields)
{
    touch(entry_of(e, &e->spaces, ns), fields);
}

/* ---- causes in the input ---- */

static const char *node_text(struct golden_case *c, const struct vpa_json *node)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);

    if (!node)
        return "";
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, node);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&text));
}

/* S7: the global values apply again where a setting goes. Any change of the policies may do that:
 * an entry of its own hides the one for all containers. */
static void note_policies(struct exemptions *e, struct exempt_vpa *vpa,
                          const struct vpa_json *object)
{
    static const char *const names[] = {"\"oomBumpUpRatio\"", "\"oomMinBumpUp\"",
                                        "\"memoryAggregationInterval"};
    const char *policies =
        node_text(e->c, vpa_json_at(object, "spec.resourcePolicy.containerPolicies"));

    if (vpa->set && golden_tagged(e->c, "S7") && !vpa_str_eq(vpa->policies, policies))
        touch(vpa, EXEMPT_HISTORY);
    for (size_t i = 0; i < VPA_COUNT(names); i++)
        vpa->set = vpa->set || strstr(policies, names[i]);
    vpa->policies = policies;
}

/* U25: a VPA that comes, comes back, is handed over or names another target. Without a stored
 * history there is nothing to load or to drop. */
static void note_vpa(struct exemptions *e, const struct vpa_json *object, bool running)
{
    struct exempt_vpa *vpa =
        vpa_named(e, text_at(object, "metadata.namespace"), text_at(object, "metadata.name"));
    const char *identity = golden_label(
        e->c, "%s/%s/%s", text_at(vpa_json_first(vpa_json_at(object, "spec.recommenders")), "name"),
        text_at(object, "spec.targetRef.kind"), text_at(object, "spec.targetRef.name"));

    if (running && vpa->stored && !vpa_str_eq(vpa->identity, identity))
        touch(vpa, EXEMPT_HISTORY);
    vpa->stored = vpa->stored || e->prometheus;
    vpa->identity = identity;
    vpa->generation = 0;
    vpa_json_int64(vpa_json_at(object, "metadata.generation"), &vpa->generation);
    note_policies(e, vpa, object);
}

static void note_object(struct exemptions *e, const struct vpa_json *object, bool running)
{
    const char *ns = text_at(object, "metadata.namespace");

    if (is_kind(object, "VerticalPodAutoscaler"))
        note_vpa(e, object, running);
    else if (is_kind(object, "VerticalPodAutoscalerCheckpoint"))
        vpa_named(e, ns, text_at(object, "spec.vpaObjectName"))->stored = true;
    else if (is_kind(object, "Event"))
        vpa_table_put(&e->events, golden_label(e->c, "%s", ns), (void *)"");
    else if (e->external && is_kind(object, "Pod") &&
             strlen(text_at(object, "metadata.name")) > LABEL_VALUE_MAX)
        e->everywhere = EXEMPT_HISTORY; /* U18 */
}

/* U17: the events that are there are read again. */
static void note_closed_watch(struct exemptions *e)
{
    size_t i = 0;
    const char *ns;
    void *value;

    while (vpa_table_next(&e->events, &i, &ns, &value))
        touch_namespace(e, ns, EXEMPT_MEMORY);
}

void exemptions_change(struct exemptions *e, const struct vpa_json *change, bool running)
{
    const struct vpa_json *gone = vpa_json_find(change, "delete");
    const struct vpa_json *scale = vpa_json_find(change, "scale");

    if (!e->active)
        return;
    if (!scale)
        scale = vpa_json_find(change, "unscale");
    note_object(e, vpa_json_find(change, "apply"), running);
    if (is_kind(gone, "VerticalPodAutoscaler"))
        vpa_named(e, text_at(gone, "namespace"), text_at(gone, "name"))->identity = NULL;
    if (strcmp(text_at(change, "close_watch"), "events") == 0)
        note_closed_watch(e);
    if (scale && running) { /* U19 */
        touch_namespace(e, text_at(scale, "namespace"), EXEMPT_HISTORY);
        e->reads = true;
    }
}

static bool has_flag(struct golden_case *c, const char *part)
{
    vpa_json_foreach (flag, GOLDEN_IN(c, "flags"))
        if (strstr(vpa_or_empty(vpa_json_string(flag)), part))
            return true;
    return false;
}

void exemptions_init(struct exemptions *e, struct golden_case *c, bool tagged)
{
    *e = (struct exemptions){.c = c,
                             .tagged = tagged,
                             .external = has_flag(c, "--use-external-metrics"),
                             .capped = has_flag(c, "max-allowed") || has_flag(c, "integer")};
    e->prometheus = has_flag(c, "--storage=prometheus");
    e->active = tagged || (!c->differs && !golden_listed(c));
    e->by_containers = tagged && golden_tagged(c, "spec 8.2");
    vpa_json_foreach (change, GOLDEN_IN(c, "objects"))
        exemptions_change(e, change, false);
}

void exemptions_release(struct exemptions *e)
{
    vpa_table_release(&e->vpas);
    vpa_table_release(&e->spaces);
    vpa_table_release(&e->events);
    vpa_table_release(&e->collected);
}

/* ---- causes in what is written ---- */

/* "ns/name" of the object of a path, NULL when it is in another collection. */
static const char *object_of(const struct exemptions *e, const char *path, const char *collection)
{
    const char *ns = strstr(path, "/namespaces/");
    const char *name = strstr(path, collection);

    if (!ns || !name)
        return NULL;
    ns += strlen("/namespaces/");
    name += strlen(collection);
    return golden_label(e->c, "%.*s/%.*s", (int)strcspn(ns, "/"), ns, (int)strcspn(name, "/"),
                        name);
}

/* "ns/name" of the VPA that a create of a checkpoint names. */
static const char *vpa_of_create(const struct exemptions *e, const char *path, const char *body)
{
    const char *ns = strstr(path, "/namespaces/");
    const struct vpa_json *root;

    if (!ns || vpa_json_parse(e->c->arena, body, strlen(body), &root, NULL) < 0)
        return NULL;
    const char *name = vpa_json_string(vpa_json_at(root, "spec.vpaObjectName"));
    ns += strlen("/namespaces/");
    return name ? golden_label(e->c, "%.*s/%s", (int)strcspn(ns, "/"), ns, name) : NULL;
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

static void note_collected(struct exemptions *e, const char *path, const char *body, bool written)
{
    if (written && strstr(path, CHECKPOINTS "/") && strstr(body, "DeleteOptions"))
        vpa_table_put(&e->collected, golden_label(e->c, "%s", path), (void *)"");
}

/* The create of it may have been in a pass that is not recorded. */
static void note_checkpoint(struct exemptions *e, const char *name)
{
    size_t i = 0;
    const char *key;
    void *value;

    while (name && vpa_table_next(&e->vpas, &i, &key, &value))
        if (vpa_str_starts_with(name, key) && name[strlen(key)] == '-')
            ((struct exempt_vpa *)value)->stored = true;
}

static void note_status(struct exemptions *e, struct exempt_vpa *vpa, const char *body,
                        bool written)
{
    if (e->tagged && vpa->stored && strstr(body, "\"ConfigUnsupported\"") &&
        (golden_tagged(e->c, "U2") || golden_tagged(e->c, "S8")))
        touch(vpa, EXEMPT_HISTORY);
    if (e->by_containers)
        vpa->containers[written] = containers_of(e, body);
    if (!written)
        return;
    vpa->conflict = strstr(body, "\"TargetConflict\"") != NULL;
    vpa->statuses[1] = vpa->statuses[0];
    vpa->statuses[0] = exemptions_without_conflict(e->c, golden_label(e->c, "%s", body));
}

void exemptions_note(struct exemptions *e, const char *path, const char *body, bool written)
{
    const char *status = e->active ? object_of(e, path, STATUSES) : NULL;
    const char *created = e->active && !status ? vpa_of_create(e, path, body) : NULL;

    note_collected(e, path, body, written);
    if (e->active)
        note_checkpoint(e, object_of(e, path, CHECKPOINTS "/"));
    if (status)
        note_status(e, entry_of(e, &e->vpas, status), body, written);
    if (created)
        entry_of(e, &e->vpas, created)->stored = true;
}

/* U4: "a" with the container "b-c" and "a-b" with the container "c" have one checkpoint's name. */
static bool may_share(const struct exempt_vpa *a, const struct exempt_vpa *b)
{
    size_t len = strlen(a->key);

    return vpa_str_starts_with(b->key, a->key) && b->key[len] == '-';
}

static void note_shared(struct exemptions *e)
{
    size_t i = 0, k = 0;
    const char *key;
    void *a, *b;

    while (vpa_table_next(&e->vpas, &i, &key, &a))
        for (k = 0; vpa_table_next(&e->vpas, &k, &key, &b);)
            if (may_share(a, b)) {
                touch(a, EXEMPT_SHARED);
                touch(b, EXEMPT_SHARED);
            }
}

void exemptions_noted(struct exemptions *e)
{
    size_t i = 0;
    const char *key;
    void *value;

    while (vpa_table_next(&e->vpas, &i, &key, &value)) {
        struct exempt_vpa *vpa = value;

        if ((vpa->stored && e->tagged && golden_tagged(e->c, "U3")) ||
            !vpa_str_eq(vpa->containers[0], vpa->containers[1]))
            touch(vpa, EXEMPT_HISTORY);
    }
    if (e->tagged && golden_tagged(e->c, "U4"))
        note_shared(e);
}

/* ---- what they explain ---- */

static enum exempt fields_of(const struct vpa_table *table, const char *key)
{
    const struct exempt_vpa *entry = vpa_table_find(table, key);

    return entry ? entry->fields : EXEMPT_NOTHING;
}

/* A checkpoint "<vpa>-<container>": that of any VPA with such a beginning. */
static enum exempt fields_of_checkpoint(const struct exemptions *e, const char *name)
{
    enum exempt fields = EXEMPT_NOTHING;
    size_t i = 0;
    const char *key;
    void *value;

    while (vpa_table_next(&e->vpas, &i, &key, &value)) {
        const struct exempt_vpa *vpa = value;

        if (vpa_str_starts_with(name, key) && name[strlen(key)] == '-' && vpa->fields > fields)
            fields = vpa->fields;
    }
    return fields;
}

enum exempt exemptions_explain(const struct exemptions *e, const char *path, const char *body)
{
    const char *vpa = object_of(e, path, STATUSES);
    const char *checkpoint = object_of(e, path, CHECKPOINTS "/");
    enum exempt fields;

    if (!e->active)
        return EXEMPT_NOTHING;
    if (!vpa && !checkpoint)
        vpa = vpa_of_create(e, path, body);
    if (!vpa && !checkpoint)
        return EXEMPT_NOTHING;
    fields = vpa ? fields_of(&e->vpas, vpa) : fields_of_checkpoint(e, checkpoint);
    const char *any = vpa ? vpa : checkpoint;
    enum exempt all =
        fields_of(&e->spaces, golden_label(e->c, "%.*s", (int)strcspn(any, "/"), any));
    if (all < e->everywhere)
        all = e->everywhere;
    return all > fields ? all : fields;
}

bool exemptions_is_collected(const struct exemptions *e, const char *path)
{
    return vpa_table_find(&e->collected, path) != NULL;
}

static const struct exempt_vpa *vpa_of_status(const struct exemptions *e, const char *path)
{
    const char *status = object_of(e, path, STATUSES);

    return status ? vpa_table_find(&e->vpas, status) : NULL;
}

int64_t exemptions_generation(const struct exemptions *e, const char *path)
{
    const struct exempt_vpa *vpa = vpa_of_status(e, path);

    return vpa ? vpa->generation : 0;
}

bool exemptions_is_capped(const struct exemptions *e, const char *path)
{
    const struct exempt_vpa *vpa = vpa_of_status(e, path);

    return e->capped || !vpa || !vpa->policies || *vpa->policies;
}

void exemptions_check(struct exemptions *e)
{
    if (e->leaves == 1)
        golden_difference(e->c, "decision", "more than one leaf", "a single one");
}

/* ---- U12 ---- */

bool exemptions_repeats(const struct exemptions *e, const char *path)
{
    const struct exempt_vpa *vpa = vpa_of_status(e, path);

    return e->active && vpa && vpa->statuses[0] &&
           (vpa->statuses[1] ? strcmp(vpa->statuses[0], vpa->statuses[1]) == 0 : vpa->conflict);
}

static void put_without_conflict(struct vpa_json_writer *w, const struct vpa_json *node)
{
    bool array = vpa_json_is_array(node);

    if (!array && !vpa_json_is_object(node)) {
        vpa_json_put_node(w, node);
        return;
    }
    if (array)
        vpa_json_open_array(w);
    else
        vpa_json_open_object(w);
    vpa_json_foreach (child, node) {
        if (strcmp(text_at(child, "type"), "TargetConflict") == 0)
            continue;
        if (!array)
            vpa_json_key(w, vpa_json_name(child));
        put_without_conflict(w, child);
    }
    if (array)
        vpa_json_close_array(w);
    else
        vpa_json_close_object(w);
}

const char *exemptions_without_conflict(struct golden_case *c, const char *body)
{
    const struct vpa_json *root;
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);

    if (!strstr(body, "\"TargetConflict\"") ||
        vpa_json_parse(c->arena, body, strlen(body), &root, NULL) < 0)
        return body;
    vpa_json_writer_init(&w, &text);
    put_without_conflict(&w, root);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&text));
}
