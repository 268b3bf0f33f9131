/* What was sent to the server of the cluster in memory. */
#include <string.h>

#include "updater_event.h"
#include "updater_world_parts.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

void world_record(struct world *world, struct text_list *list, const struct vpa_memory_request *q,
                  int status, const char *transport)
{
    int64_t after = vpa_loop_monotonic(world->loop) - world->began;
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(WORLD_TEXT_MAX);

    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "method", q->method);
    vpa_json_member_string(&w, "path", q->path);
    if (q->body_len > 0) {
        vpa_json_member_string(&w, "type", vpa_memory_header(q, "Content-Type"));
        vpa_json_member_string(&w, "body", q->body);
    }
    if (transport)
        vpa_json_member_string(&w, "transport", transport);
    else
        vpa_json_member_int(&w, "status", status);
    if (after != 0) {
        char text[VPA_DURATION_TEXT_MAX];

        vpa_duration_format(after, text);
        vpa_json_member_string(&w, "after", text);
    }
    vpa_json_close_object(&w);
    text_list_add(world->c, list, vpa_arena_strdup(world->c->arena, vpa_buf_text(&buf)));
}

void world_record_scale(struct world *world, const char *path, int status)
{
    text_list_add(
        world->c, &world->scale_reads,
        vpa_arena_printf(world->c->arena, "{\"path\":\"%s\",\"status\":%d}", path, status));
}

/* The pod as it was when the event was made, NULL for other objects. */
static const char *pod_of_event(struct world *world, const struct vpa_json *object)
{
    const char *ns = vpa_or_empty(vpa_json_string(vpa_json_find(object, "namespace")));
    const char *name = vpa_or_empty(vpa_json_string(vpa_json_find(object, "name")));

    if (!vpa_str_eq(vpa_json_string(vpa_json_find(object, "kind")), "Pod"))
        return NULL;
    const struct object *pod =
        vpa_table_find(&world->pods, vpa_arena_printf(world->c->arena, "%s/%s", ns, name));

    return pod ? pod->json : NULL;
}

static const char *encoded(struct golden_case *c, const char *text)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(WORLD_TEXT_MAX);

    vpa_json_writer_init(&w, &buf);
    vpa_json_put_string(&w, text);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

/* The objects of the reference had no version for an event to name. */
static const char *without_version(struct golden_case *c, const char *body)
{
    static const char member[] = ",\"resourceVersion\":\"";
    const char *at = strstr(body, member);
    const char *end = at ? strchr(at + strlen(member), '"') : NULL;

    return end ? golden_label(c, "%.*s%s", (int)(at - body), body, end + 1) : body;
}

/* The request with another message, as the reference sends it. */
static struct vpa_memory_request with_message(struct golden_case *c,
                                              const struct vpa_memory_request *q,
                                              const char *message, const char *plain)
{
    const char *text = encoded(c, message);
    struct vpa_memory_request out = *q;

    out.body = without_version(c, q->body);
    const char *at = strstr(out.body, text);
    if (at)
        out.body = golden_label(c, "%.*s%s%s", (int)(at - out.body), out.body, encoded(c, plain),
                                at + strlen(text));
    out.body_len = strlen(out.body);
    return out;
}

static int64_t *counter_of(struct world *world, const struct vpa_json *event, const char *part,
                           const char *message)
{
    const struct vpa_json *object = vpa_json_find(event, "involvedObject");
    char *key =
        vpa_arena_printf(world->c->arena, "%s %s %s %s %s", part,
                         vpa_or_empty(vpa_json_string(vpa_json_find(object, "uid"))),
                         vpa_or_empty(vpa_json_string(vpa_json_find(object, "name"))),
                         vpa_or_empty(vpa_json_string(vpa_json_find(event, "reason"))), message);
    int64_t *counter = vpa_table_find(&world->event_counts, key);

    if (!counter) {
        counter = vpa_arena_zalloc(world->c->arena, sizeof(*counter));
        vpa_table_put(&world->event_counts, key, counter);
    }
    return counter;
}

/* Events that differ in the addition only are one for the reference: its count is their sum. */
static int64_t count_of_all(struct world *world, const struct vpa_json *event, const char *message,
                            const char *plain, int64_t count)
{
    int64_t *own = counter_of(world, event, "whole", message);
    int64_t *all = counter_of(world, event, "plain", plain);

    if (vpa_str_eq(message, plain))
        return count;
    *all += count - *own;
    *own = count;
    return *all;
}

/* An event as the vectors tell it: who, what, how often. */
void world_record_event(struct world *world, const struct vpa_memory_request *q, int status)
{
    struct golden_case *c = world->c;
    const struct vpa_json *body = world_parse(c, q->body);
    const struct vpa_json *event = body;
    const char *message = vpa_or_empty(vpa_json_string(vpa_json_find(body, "message")));
    int64_t count = 1;
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(WORLD_TEXT_MAX);

    if (vpa_str_eq(q->method, "POST")) {
        const char *name = vpa_json_string(vpa_json_at(body, "metadata.name"));
        char *path = vpa_arena_printf(c->arena, "%s/%s", q->path, vpa_or_empty(name));
        char *text = vpa_arena_strdup(c->arena, q->body);

        /* Events of one object and moment share a name: the message tells them apart. */
        vpa_table_put(&world->recorded_events, path, text);
        vpa_table_put(&world->recorded_events, vpa_arena_printf(c->arena, "%s %s", path, message),
                      text);
    } else {
        const char *first = vpa_table_find(&world->recorded_events,
                                           vpa_arena_printf(c->arena, "%s %s", q->path, message));

        if (!first)
            first = vpa_table_find(&world->recorded_events, q->path);
        event = first ? world_parse(c, first) : body;
    }
    (void)vpa_json_int64(vpa_json_find(body, "count"), &count);

    const struct vpa_json *object = vpa_json_find(event, "involvedObject");
    const char *kind = vpa_or_empty(vpa_json_string(vpa_json_find(object, "kind")));

    if (updater_event_is_ours(kind, vpa_json_string(vpa_json_find(event, "reason")), message))
        return;

    const char *plain = updater_event_message(c, pod_of_event(world, object), message);
    const struct vpa_memory_request request = with_message(c, q, message, plain);

    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(
        &w, "object",
        vpa_arena_printf(c->arena, "%s %s/%s", kind,
                         vpa_or_empty(vpa_json_string(vpa_json_find(object, "namespace"))),
                         vpa_or_empty(vpa_json_string(vpa_json_find(object, "name")))));
    vpa_json_member_string(&w, "type", vpa_json_string(vpa_json_find(event, "type")));
    vpa_json_member_string(&w, "reason", vpa_json_string(vpa_json_find(event, "reason")));
    vpa_json_member_string(&w, "message", plain);
    count = count_of_all(world, event, message, plain, count);
    if (count > 1 && !world->plain_events)
        vpa_json_member_int(&w, "count", count);
    if (status >= 300)
        vpa_json_member_int(&w, "status", status);
    vpa_json_close_object(&w);
    text_list_add(c, &world->events, vpa_arena_strdup(c->arena, vpa_buf_text(&buf)));
    world_record(world, &world->whole_events, &request, status, NULL);
}

void world_begin_step(struct world *world)
{
    world->calls = (struct text_list){0};
    world->events = (struct text_list){0};
    world->whole_events = (struct text_list){0};
    world->scale_reads = (struct text_list){0};
    world->lease_reads = 0;
    world->began = vpa_loop_monotonic(world->loop);
    VPA_GROW(world->looks, world->look_count, world->look_capacity);
    world->looks[world->look_count].from = vpa_loop_now(world->loop);
    world->looks[world->look_count].till = vpa_loop_now(world->loop);
    world->look_count++;
}

void world_begin(struct world *world)
{
    const char *key;
    void *value;

    world_begin_step(world);
    for (size_t i = 0; vpa_table_next(&world->pods, &i, &key, &value);)
        ((struct object *)value)->server = ((struct object *)value)->json;
}

void world_plain_events(struct world *world)
{
    world->plain_events = true;
}

static const char *array_of(struct world *world, const struct text_list *list, bool or_null)
{
    vpa_auto_buf buf = VPA_BUF(WORLD_TEXT_MAX);

    if (or_null && list->count == 0)
        return NULL;
    vpa_buf_putc(&buf, '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            vpa_buf_putc(&buf, ',');
        vpa_buf_puts(&buf, list->items[i]);
    }
    vpa_buf_putc(&buf, ']');
    return vpa_arena_strdup(world->c->arena, vpa_buf_text(&buf));
}

const char *world_calls(struct world *world, bool or_null)
{
    return array_of(world, &world->calls, or_null);
}

const char *world_events(struct world *world, bool whole, bool or_null)
{
    return array_of(world, whole ? &world->whole_events : &world->events, or_null);
}

const char *world_scale_reads(struct world *world)
{
    return array_of(world, &world->scale_reads, true);
}

int64_t world_lease_reads(const struct world *world)
{
    return world->lease_reads;
}

vpa_duration world_took(struct world *world)
{
    world->looks[world->look_count - 1].till = vpa_loop_now(world->loop);
    return vpa_loop_monotonic(world->loop) - world->began;
}

size_t world_useless_resizes(const struct world *world)
{
    return world->useless_resizes;
}
