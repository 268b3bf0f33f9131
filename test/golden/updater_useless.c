#include "updater_useless.h"

#include <string.h>

#include "updater_world_parts.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"

#define MARK "/metadata/annotations/vpaInPlaceUpdated"
#define RESIZED "Pod was resized in place by VPA Updater."

static const char *text_of(const struct vpa_json *node, const char *name)
{
    return vpa_or_empty(vpa_json_string(vpa_json_find(node, name)));
}

static const struct vpa_json *parsed(struct golden_case *c, const char *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    return vpa_json_parse(c->arena, text, strlen(text), &root, &err) < 0 ? NULL : root;
}

/* "ns/name" of "/api/v1/namespaces/ns/pods/name" with the ending; NULL for other paths. */
static const char *pod_of(struct golden_case *c, const char *path, const char *ending)
{
    static const char head[] = "/api/v1/namespaces/";
    const char *ns = path + strlen(head);
    const char *pods = vpa_str_starts_with(path, head) ? strstr(ns, "/pods/") : NULL;
    size_t len = pods ? strlen(pods) : 0;

    if (!pods || !vpa_str_ends_with(pods, ending))
        return NULL;
    const char *name = pods + strlen("/pods/");
    return golden_label(c, "%.*s/%.*s", (int)(pods - ns), ns,
                        (int)(len - strlen("/pods/") - strlen(ending)), name);
}

static bool is_patch(const struct vpa_json *call)
{
    int64_t status = 0;

    return vpa_json_count(call) == 5 && strcmp(text_of(call, "method"), "PATCH") == 0 &&
           strcmp(text_of(call, "type"), "application/json-patch+json") == 0 &&
           vpa_json_int64(vpa_json_find(call, "status"), &status) && status == 200;
}

/* Every operation sets what is there. */
static bool is_useless(struct world *world, const struct vpa_json *call)
{
    struct golden_case *c = world->c;
    const char *pod = is_patch(call) ? pod_of(c, text_of(call, "path"), "/resize") : NULL;
    const struct object *o = pod ? vpa_table_find(&world->pods, pod) : NULL;
    const struct vpa_json *ops = parsed(c, text_of(call, "body"));

    if (!o || vpa_json_count(ops) == 0)
        return false;
    const struct vpa_json *object = world_parse(c, o->json);
    vpa_json_foreach (op, ops)
        if (vpa_json_count(op) != 3 || strcmp(text_of(op, "op"), "add") != 0 ||
            !updater_case_same_quantity(c, vpa_json_find(op, "value"),
                                        vpa_json_pointer_find(object, text_of(op, "path"))))
            return false;
    return true;
}

/* The patch of annotations that says no more than that the pod was resized. */
static bool is_mark(struct golden_case *c, const struct vpa_json *call, const char *pod)
{
    const char *of = is_patch(call) ? pod_of(c, text_of(call, "path"), "") : NULL;

    if (!vpa_str_eq(of, pod))
        return false;
    vpa_json_foreach (op, parsed(c, text_of(call, "body"))) {
        const char *path = text_of(op, "path");

        if (strcmp(text_of(op, "op"), "add") != 0 ||
            (strcmp(path, MARK) == 0 ? strcmp(text_of(op, "value"), "true") != 0
                                     : strcmp(path, "/metadata/annotations") != 0))
            return false;
    }
    return true;
}

static bool is_event_of(struct golden_case *c, const struct vpa_json *event, const char *pod)
{
    return vpa_json_count(event) - (vpa_json_find(event, "count") != NULL) == 4 &&
           strcmp(text_of(event, "object"), golden_label(c, "Pod %s", pod)) == 0 &&
           strcmp(text_of(event, "type"), "Normal") == 0 &&
           strcmp(text_of(event, "reason"), "InPlaceResizedByVPA") == 0 &&
           strcmp(text_of(event, "message"), RESIZED) == 0;
}

/* Steps over the elements of ours until one equals the wanted one. */
static bool is_next(const struct vpa_json **ours, const struct vpa_json *want)
{
    while (*ours) {
        const struct vpa_json *one = *ours;

        *ours = vpa_json_next(one);
        if (vpa_json_equal(one, want))
            return true;
    }
    return false;
}

static bool are_calls_among(struct world *world, const struct vpa_json *calls,
                            const struct vpa_json *ours, struct text_list *left_out)
{
    struct golden_case *c = world->c;
    const char *last = NULL; /* the pod of the resize before */

    vpa_json_foreach (call, calls) {
        if (is_useless(world, call)) {
            last = pod_of(c, text_of(call, "path"), "/resize");
            text_list_add(c, left_out, last);
            continue;
        }
        bool mark = last && is_mark(c, call, last);
        last = NULL;
        if (!mark && !is_next(&ours, call))
            return false;
    }
    return true;
}

static bool are_events_among(struct golden_case *c, const struct vpa_json *events,
                             const struct vpa_json *ours, struct text_list *left_out)
{
    vpa_json_foreach (event, events) {
        bool dropped = false;

        for (size_t i = 0; i < left_out->count && !dropped; i++) {
            dropped = left_out->items[i] && is_event_of(c, event, left_out->items[i]);
            if (dropped)
                left_out->items[i] = NULL;
        }
        if (!dropped && !is_next(&ours, event))
            return false;
    }
    return true;
}

void updater_useless_compare(struct world *world, const char *label, const struct vpa_json *calls,
                             const char *got_calls, const struct vpa_json *events,
                             const char *got_events)
{
    struct golden_case *c = world->c;
    struct text_list left_out = {0};
    const struct vpa_json *our_calls = got_calls ? vpa_json_first(parsed(c, got_calls)) : NULL;
    const struct vpa_json *our_events = got_events ? vpa_json_first(parsed(c, got_events)) : NULL;

    golden_compared(c, calls);
    golden_compared(c, events);
    if (!are_calls_among(world, calls, our_calls, &left_out))
        golden_json(c, golden_label(c, "%s.calls", label), calls, got_calls ? got_calls : "[]");
    golden_exempt(c, left_out.count);
    if (!are_events_among(c, events, our_events, &left_out))
        golden_json(c, golden_label(c, "%s.events", label), events, got_events ? got_events : "[]");
}
