/*
 * An event goes through a queue and then, when the writer is free, through client-go's correlator:
 *
 *     aggregate   ten different messages for one object and reason within ten minutes of each
 *                 other become "(combined from similar events): ..."
 *     count       the same event again is a PATCH of the earlier object: count, lastTimestamp,
 *                 message
 *     filter      25 at once, then one per 300 s for each source, object and type
 *
 * and is written, one after the other; only transport failures are tried again.
 */
#include "vpa/kube/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lru.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/rate.h"

#define SIMILAR_MAX 10 /* different messages until they are combined */
#define SIMILAR_GAP (600 * VPA_SECOND)
#define SPAM_BURST 25
#define SPAM_RATE (1.0 / 300.0)
#define TRIES_MAX 12
#define TRY_PAUSE (10 * VPA_SECOND)
#define EVENT_MAX ((size_t)64 << 10)
#define COMBINED "(combined from similar events): "

struct event {
    struct event *next;
    struct vpa_arena arena;
    struct vpa_object_ref object; /* texts never NULL */
    const char *type, *reason, *message;
    const char *name;
    const char *count_key; /* of the count stage */
    vpa_time first, last;
    int64_t count;
};

struct similar { /* aggregate stage */
    struct lru_node node;
    char *messages[SIMILAR_MAX];
    size_t count;
    int64_t last; /* monotonic */
};
struct counted { /* count stage */
    struct lru_node node;
    char *name;
    vpa_time first;
    int64_t count;
};
struct spam { /* filter stage */
    struct lru_node node;
    struct vpa_rate rate;
};

struct vpa_events {
    struct vpa_kube_client *client;
    struct vpa_loop *loop;
    char *component;
    struct event *head, **tail;
    size_t queued;
    struct event *writing;
    bool creating; /* the write under way is a POST */
    int tries;
    struct vpa_kube_request *request;
    struct vpa_timer *retry;
    struct lru similar, counted, spam;
    bool posted;
};

static void free_similar(struct lru_node *node)
{
    struct similar *s = (struct similar *)node;

    for (size_t i = 0; i < s->count; i++)
        free(s->messages[i]);
    free(s);
}

static void free_counted(struct lru_node *node)
{
    free(((struct counted *)node)->name);
    free(node);
}

static void free_spam(struct lru_node *node)
{
    free(node);
}

static void event_free(struct event *e)
{
    if (!e)
        return;
    vpa_arena_release(&e->arena);
    free(e);
}

/* Correlating */

static void advance(struct vpa_events *events)
{
    int64_t now = vpa_loop_monotonic(events->loop);

    lru_advance(&events->similar, now);
    lru_advance(&events->counted, now);
    lru_advance(&events->spam, now);
}

static const char *object_key(struct vpa_arena *arena, const struct vpa_events *events,
                              const struct event *e)
{
    const struct vpa_object_ref *o = &e->object;

    return vpa_arena_printf(arena, "%s\n%s\n%s\n%s\n%s\n%s\n%s", events->component, o->kind, o->ns,
                            o->name, o->uid, o->api_version, e->type);
}

static const char *event_name(struct vpa_arena *arena, const char *object, vpa_time now,
                              struct vpa_random *random)
{
    char uuid[VPA_UUID_TEXT_MAX];
    const char *name =
        vpa_arena_printf(arena, "%s.%llx", object, (unsigned long long)vpa_time_unix_nanos(now));

    if (vpa_is_dns1123_subdomain(name))
        return name;
    vpa_random_uuid(random, uuid);
    return vpa_arena_strdup(arena, uuid);
}

static bool knows_message(const struct similar *s, const char *message)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->messages[i], message) == 0)
            return true;
    return false;
}

static void aggregate(struct vpa_events *events, struct event *e)
{
    const char *key =
        vpa_arena_printf(&e->arena, "%s\n%s", object_key(&e->arena, events, e), e->reason);
    int64_t now = vpa_loop_monotonic(events->loop);
    struct similar *s = lru_find(&events->similar, key);

    if (!s)
        s = lru_add(&events->similar, key, sizeof(*s));
    else if (now - s->last > SIMILAR_GAP)
        while (s->count > 0)
            free(s->messages[--s->count]);
    s->last = now;
    if (!knows_message(s, e->message))
        s->messages[s->count++] = vpa_xstrdup(e->message);
    if (s->count < SIMILAR_MAX) {
        e->count_key = vpa_arena_printf(&e->arena, "%s\n%s", key, e->message);
        return;
    }
    free(s->messages[--s->count]); /* the set does not grow beyond what keeps it combined */
    e->count_key = key;
    e->message = vpa_arena_printf(&e->arena, COMBINED "%s", e->message);
    e->name = event_name(&e->arena, e->object.name, vpa_loop_now(events->loop),
                         vpa_kube_client_random(events->client));
    e->first = e->last = vpa_loop_now(events->loop);
}

static void remember_count(struct vpa_events *events, const struct event *e)
{
    struct counted *c = lru_find(&events->counted, e->count_key);

    if (!c)
        c = lru_add(&events->counted, e->count_key, sizeof(*c));
    free(c->name);
    c->name = vpa_xstrdup(e->name);
    c->first = e->first;
    c->count = e->count;
}

static void count(struct vpa_events *events, struct event *e)
{
    struct counted *c = lru_find(&events->counted, e->count_key);

    if (c && c->count > 0) {
        e->name = vpa_arena_strdup(&e->arena, c->name);
        e->first = c->first;
        e->count = c->count + 1;
    }
    remember_count(events, e);
}

static bool is_spam(struct vpa_events *events, const struct event *e)
{
    vpa_auto_arena arena = {0};
    const char *key = object_key(&arena, events, e);
    struct spam *s = lru_find(&events->spam, key);

    if (!s) {
        s = lru_add(&events->spam, key, sizeof(*s));
        vpa_rate_init(&s->rate, SPAM_RATE, SPAM_BURST);
    }
    return !vpa_rate_allow(&s->rate, vpa_loop_monotonic(events->loop));
}

/* Writing */

static void encode_event(const struct vpa_events *events, const struct event *e,
                         struct vpa_buf *buf)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "Event");
    vpa_json_member_string(&w, "apiVersion", "v1");
    vpa_json_member_object(&w, "metadata");
    vpa_json_member_string(&w, "name", e->name);
    vpa_json_member_string(&w, "namespace", *e->object.ns ? e->object.ns : "default");
    vpa_json_close_object(&w);
    vpa_json_member_object(&w, "involvedObject");
    vpa_json_member_string_opt(&w, "kind", e->object.kind);
    vpa_json_member_string_opt(&w, "namespace", e->object.ns);
    vpa_json_member_string_opt(&w, "name", e->object.name);
    vpa_json_member_string_opt(&w, "uid", e->object.uid);
    vpa_json_member_string_opt(&w, "apiVersion", e->object.api_version);
    vpa_json_member_string_opt(&w, "resourceVersion", e->object.resource_version);
    vpa_json_close_object(&w);
    vpa_json_member_string(&w, "reason", e->reason);
    vpa_json_member_string(&w, "message", e->message);
    vpa_json_member_object(&w, "source");
    vpa_json_member_string(&w, "component", events->component);
    vpa_json_close_object(&w);
    vpa_json_member_time(&w, "firstTimestamp", e->first);
    vpa_json_member_time(&w, "lastTimestamp", e->last);
    vpa_json_member_int(&w, "count", e->count);
    vpa_json_member_string(&w, "type", e->type);
    vpa_json_key(&w, "eventTime");
    vpa_json_put_null(&w);
    /* Upstream builds combined events anew and leaves the reporter out. */
    vpa_json_member_string(&w, "reportingComponent",
                           vpa_str_starts_with(e->message, COMBINED) ? "" : events->component);
    vpa_json_member_string(&w, "reportingInstance", "");
    vpa_json_close_object(&w);
}

static void encode_patch(const struct event *e, struct vpa_buf *buf)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, buf);
    vpa_json_open_object(&w);
    vpa_json_member_int(&w, "count", e->count);
    vpa_json_member_time(&w, "lastTimestamp", e->last);
    vpa_json_member_string(&w, "message", e->message);
    vpa_json_close_object(&w);
}

static void next_event(void *ctx);
static void on_written(void *ctx, const struct vpa_kube_result *result,
                       const struct vpa_error *err);

static void write_event(struct vpa_events *events)
{
    const struct event *e = events->writing;
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX), body = VPA_BUF(EVENT_MAX);
    struct vpa_kube_call call = {0};

    vpa_kube_path(&path, "v1", *e->object.ns ? e->object.ns : "default", "events",
                  events->creating ? NULL : e->name, NULL);
    if (events->creating)
        encode_event(events, e, &body);
    else
        encode_patch(e, &body);
    call.verb = events->creating ? VPA_KUBE_CREATE : VPA_KUBE_PATCH_STRATEGIC;
    call.path = vpa_buf_text(&path);
    call.body = vpa_buf_text(&body);
    call.body_len = body.len;
    events->request = vpa_kube_start(events->client, &call, on_written, events);
}

static void on_retry(void *ctx)
{
    write_event(ctx);
}

/* -1: given up or dropped, the next one's turn. */
static int handle_failure(struct vpa_events *events, const struct vpa_kube_result *result,
                          const struct vpa_error *err)
{
    if (!events->creating && err->code == VPA_NOT_FOUND) {
        events->creating = true; /* the earlier object is gone */
        write_event(events);
        return 0;
    }
    if (result->failure == VPA_TRANSPORT_OK || ++events->tries >= TRIES_MAX) {
        if (!vpa_kube_is_already_exists(&result->status) &&
            !vpa_kube_has_cause(&result->status, "NamespaceTerminating"))
            VPA_ERROR_UNLESS_TOLD(err, "Server rejected event (will not retry!)", VPA_KERR(err));
        return -1;
    }
    double part =
        events->tries == 1 ? vpa_random_double(vpa_kube_client_random(events->client)) : 1;
    vpa_timer_start(events->retry, (vpa_duration)((double)TRY_PAUSE * part));
    return 0;
}

static void post_next(struct vpa_events *events)
{
    if (events->posted || events->writing)
        return;
    events->posted = true;
    vpa_loop_post(events->loop, next_event, events);
}

static void on_written(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct vpa_events *events = ctx;

    events->request = NULL;
    if (err && handle_failure(events, result, err) == 0)
        return;
    event_free(events->writing);
    events->writing = NULL;
    if (events->queued > 0)
        post_next(events);
}

static void next_event(void *ctx)
{
    struct vpa_events *events = ctx;

    events->posted = false;
    while (events->head && !events->writing) {
        struct event *e = events->head;

        events->head = e->next;
        if (!events->head)
            events->tail = &events->head;
        events->queued--;
        advance(events);
        aggregate(events, e);
        count(events, e);
        if (is_spam(events, e)) {
            event_free(e);
            continue;
        }
        events->writing = e;
        events->creating = e->count == 1;
        events->tries = 0;
        write_event(events);
    }
}

/* Recording */

static const char *keep(struct vpa_arena *arena, const char *text)
{
    return vpa_arena_strdup(arena, vpa_or_empty(text));
}

static void record(struct vpa_events *events, const struct vpa_object_ref *object, const char *type,
                   const char *reason, const char *message)
{
    VPA_V(4, "Event occurred", VPA_KV("object", object->name), VPA_KV("namespace", object->ns),
          VPA_KV("kind", object->kind), VPA_KV("type", type), VPA_KV("reason", reason),
          VPA_KV("message", message));
    if (events->queued >= VPA_EVENTS_QUEUE)
        return;
    struct event *e = vpa_xcalloc(1, sizeof(*e));
    struct vpa_arena *a = &e->arena;
    e->object = (struct vpa_object_ref){
        keep(a, object->api_version), keep(a, object->kind), keep(a, object->ns),
        keep(a, object->name),        keep(a, object->uid),  keep(a, object->resource_version)};
    e->type = type;
    e->reason = keep(a, reason);
    e->message = keep(a, message);
    e->first = e->last = vpa_loop_now(events->loop);
    e->name = event_name(a, e->object.name, e->first, vpa_kube_client_random(events->client));
    e->count = 1;
    *events->tail = e;
    events->tail = &e->next;
    events->queued++;
    post_next(events);
}

void vpa_events_record(struct vpa_events *events, const struct vpa_object_ref *object,
                       const char *reason, const char *message)
{
    record(events, object, "Normal", reason, message);
}

void vpa_events_record_warning(struct vpa_events *events, const struct vpa_object_ref *object,
                               const char *reason, const char *message)
{
    record(events, object, "Warning", reason, message);
}

/* Life */

struct vpa_events *vpa_events_new(const struct vpa_events_options *options)
{
    struct vpa_events *events = vpa_xcalloc(1, sizeof(*events));

    events->client = options->client;
    events->loop = vpa_kube_client_loop(options->client);
    events->component = vpa_xstrdup(options->component);
    events->tail = &events->head;
    events->retry = vpa_timer_new(events->loop, on_retry, events);
    lru_init(&events->similar, VPA_EVENTS_MEMORY, VPA_EVENTS_IDLE, free_similar);
    lru_init(&events->counted, VPA_EVENTS_MEMORY, VPA_EVENTS_IDLE, free_counted);
    lru_init(&events->spam, VPA_EVENTS_MEMORY, VPA_EVENTS_IDLE, free_spam);
    return events;
}

void vpa_events_free(struct vpa_events *events)
{
    if (!events)
        return;
    vpa_loop_unpost(events->loop, next_event, events);
    if (events->request)
        vpa_kube_cancel(events->request);
    vpa_timer_free(events->retry);
    event_free(events->writing);
    while (events->head) {
        struct event *next = events->head->next;
        event_free(events->head);
        events->head = next;
    }
    lru_release(&events->similar);
    lru_release(&events->counted);
    lru_release(&events->spam);
    free(events->component);
    free(events);
}

size_t vpa_events_pending(const struct vpa_events *events)
{
    return events->queued + (events->writing != NULL);
}

static bool nothing_pending(void *ctx)
{
    return vpa_events_pending(ctx) == 0;
}

void vpa_events_flush(struct vpa_events *events, vpa_duration timeout)
{
    vpa_loop_wait(events->loop, nothing_pending, events, timeout, NULL);
}
