/*
 * What happened lately to the pods and the VPA of an answer: events of the VPA's daemons, the
 * newest of however many there are.
 */
#include <stdlib.h>
#include <string.h>

#include "lists.h"
#include "why.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

#define EVENTS_MAX 64

struct events {
    struct cli *cli;
    const char *kind;              /* of the objects that are being listed */
    const struct vpa_table *names; /* of those that count */
    struct why_event *items;       /* heap */
    size_t count, capacity;
};

static bool is_of_vpa(const struct vpa_json *event)
{
    const char *component = vpa_json_string(vpa_json_at(event, "source.component"));
    const char *reason = vpa_json_text(event, "reason");

    if (!component)
        component = vpa_json_string(vpa_json_find(event, "reportingComponent"));
    return (component && vpa_str_starts_with(component, "vpa-")) || strstr(reason, "VPA") ||
           vpa_str_eq(reason, "EvictedPod") || vpa_str_starts_with(reason, "InPlaceResize");
}

static vpa_time time_of(const struct vpa_json *event)
{
    static const char *const fields[] = {"lastTimestamp", "eventTime",
                                         "metadata.creationTimestamp"};
    vpa_time t = VPA_TIME_UNSET;

    for (size_t i = 0; i < VPA_COUNT(fields); i++) {
        const char *text = vpa_json_string(vpa_json_at(event, fields[i]));

        if (text &&
            (vpa_time_parse(text, &t, NULL) == 0 || vpa_time_parse_micro(text, &t, NULL) == 0))
            break;
    }
    return t;
}

static int on_event(void *ctx, const struct vpa_json *event, struct vpa_error *err)
{
    struct events *e = ctx;
    struct vpa_arena *arena = &e->cli->arena;
    const char *name = vpa_json_text(event, "involvedObject.name");

    (void)err;
    if (!is_of_vpa(event) || !vpa_table_find(e->names, name))
        return 0;
    VPA_GROW(e->items, e->count, e->capacity);
    e->items[e->count++] = (struct why_event){
        .reason = vpa_arena_strdup(arena, vpa_json_text(event, "reason")),
        .message = vpa_arena_strdup(arena, vpa_json_text(event, "message")),
        .about = vpa_arena_printf(arena, "%s %s", e->kind, name),
        .at = time_of(event),
    };
    return 0;
}

static int newest_first(const void *a, const void *b)
{
    const struct why_event *x = a, *y = b;

    return (x->at < y->at) - (x->at > y->at);
}

/* Those about the objects of a kind; one object is asked for by its name. */
static void read_kind(struct events *e, const char *ns, const char *kind,
                      const struct vpa_table *names)
{
    const char *name = NULL;
    void *ignored;
    struct cli_kind events = {"v1", "events", "what happened lately", NULL, NULL};
    struct vpa_error err;
    size_t i = 0;

    if (names->count == 0)
        return;
    e->kind = kind;
    e->names = names;
    if (names->count == 1 && vpa_table_next(names, &i, &name, &ignored))
        events.fields = vpa_arena_printf(
            &e->cli->arena, "involvedObject.kind=%s,involvedObject.name=%s", kind, name);
    else
        events.fields = vpa_arena_printf(&e->cli->arena, "involvedObject.kind=%s", kind);
    if (cli_list(e->cli, &events, ns, on_event, e, &err) < 0)
        cli_note_list(e->cli, &events, ns, &err);
}

static void keep_newest(struct events *e, struct why *out)
{
    out->event_count = e->count < EVENTS_MAX ? e->count : EVENTS_MAX;
    out->events_left_out = e->count - out->event_count;
    out->events = vpa_arena_zalloc(&e->cli->arena, (out->event_count + 1) * sizeof(*out->events));
    if (e->count == 0)
        return;
    qsort(e->items, e->count, sizeof(*e->items), newest_first);
    memcpy(out->events, e->items, out->event_count * sizeof(*out->events));
}

void why_read_events(struct cli *cli, struct why *out)
{
    const struct why_subject *s = &out->subject;
    const struct vpa_object *vpa = s->vpa ? s->vpa : out->control.vpa;
    struct vpa_table pods = {0}, vpas = {0};
    struct events e = {.cli = cli};

    for (size_t i = 0; i < s->count; i++)
        vpa_table_put(&pods, s->rows[i].pod->meta.name, out);
    if (vpa)
        vpa_table_put(&vpas, vpa->meta.name, out);
    read_kind(&e, s->ns, "Pod", &pods);
    read_kind(&e, s->ns, "VerticalPodAutoscaler", &vpas);
    keep_newest(&e, out);
    free(e.items);
    vpa_table_release(&pods);
    vpa_table_release(&vpas);
}
