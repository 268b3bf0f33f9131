/*
 * A reflector is always in one of four phases:
 *
 *     LIST      pages of the collection stream through vpa_json_stream into the consumer
 *     WATCH     one object after the other from the last known version
 *     BACKOFF   waiting after trouble; ends in LIST or WATCH
 *     STOPPED   not yet started
 *
 * Which version a LIST asks for (5.2): "0" at first (any cached state will do), later the last
 * known one, and none (the newest, by quorum) once the server has called a version expired. A page
 * that is refused as expired makes the list start over without pages.
 *
 * What ends a watch and what comes next (5.3) is on_watch_done, or on_silence. The wait between
 * rounds doubles from 0.8 s to 30 s, each drawn uniformly from [d, 2d), and starts over after two
 * quiet minutes (5.4).
 *
 * client-go's streaming list is not used: LIST is what every server has, and its memory is bounded
 * here by the longest single object.
 */
#include "vpa/kube/reflector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_peek.h"
#include "vpa/json/json_stream.h"

#define WATCH_TIMEOUT_MIN_S 300 /* timeoutSeconds: uniform in [300, 600] */
#define WATCH_TIMEOUT_SPAN_S 301
/* A watch that outlives its own time-out by this much has a dead peer. */
#define WATCH_GRACE (30 * VPA_SECOND)
#define SHORT_WATCH VPA_SECOND
#define SHORT_WATCHES_MAX 3            /* in a row, opened again at once */
#define EVENTS_PAUSE (10 * VPA_SECOND) /* watch_only, jittered by half (5.6) */
#define CONTINUE_MAX ((size_t)64 << 10)
#define VERSION_MAX ((size_t)1024) /* versions are a few digits; they go into paths */
#define PAGES_MAX 100000           /* of one list: 50 million objects */
#define ARENA_KEEP ((size_t)1 << 20)

struct vpa_metric vpa_unusable_objects =
    VPA_COUNTER("vpa_unusable_objects_total",
                "Objects that were passed over because they cannot be read or used.", "resource");

enum phase { STOPPED, LIST, WATCH, BACKOFF };
enum version_choice { ANY_CACHED, LAST_KNOWN, NEWEST };

struct vpa_reflector {
    struct vpa_reflector_options options; /* texts owned */
    struct vpa_kube_client *client;
    struct vpa_loop *loop;
    enum phase phase;
    bool next_is_watch; /* after BACKOFF */
    bool synced;
    bool watching;
    enum version_choice choice;
    bool unpaged;       /* the next list takes no pages */
    bool saw_pages;     /* the very first list came back in pages */
    char *version;      /* last known resourceVersion, "" at first */
    char *continue_;    /* token of the next page, NULL for the first */
    char *list_version; /* of the list under way */
    unsigned pages;     /* of the list under way */
    char *last_error;   /* logged once until it changes */
    struct vpa_kube_request *request;
    struct vpa_json_stream *stream;
    struct vpa_error stream_error; /* why on_data stopped the call */
    bool stream_failed;
    struct vpa_arena arena; /* of one object */
    struct vpa_timer *backoff_timer;
    struct vpa_timer *resync_timer;
    struct vpa_timer *silence_timer; /* while a watch is under way */
    bool ever_in_step;
    int64_t in_step_at;   /* monotonic, the last moment at which that was certain */
    int64_t list_started; /* of its first page */
    vpa_duration backoff;
    int64_t backoff_used;
    int64_t watch_started;
    uint64_t watch_events;
    unsigned short_watches;
    bool error_frame; /* the stream brought an ERROR */
    struct vpa_kube_status frame_status;
    char frame_reason[64];
    struct vpa_reflector_stats stats;
};

static void start_list(struct vpa_reflector *r);
static void start_watch(struct vpa_reflector *r);

static void set_text(char **slot, const char *text)
{
    char *copy = text ? vpa_xstrdup(text) : NULL;

    free(*slot);
    *slot = copy;
}

/* Being in step */

static void note_in_step(struct vpa_reflector *r, int64_t at)
{
    r->ever_in_step = true;
    r->in_step_at = at;
}

/* An event or a bookmark: all that happened before it has been told. */
static void note_sign_of_life(struct vpa_reflector *r)
{
    r->watch_events++;
    note_in_step(r, vpa_loop_monotonic(r->loop));
    if (!r->options.watch_only)
        vpa_timer_start(r->silence_timer, VPA_REFLECTOR_SILENCE);
}

vpa_duration vpa_reflector_age(const struct vpa_reflector *r, int64_t now)
{
    return r->ever_in_step ? now - r->in_step_at : INT64_MAX;
}

/* Back-off */

static void back_off(struct vpa_reflector *r, bool then_watch)
{
    int64_t now = vpa_loop_monotonic(r->loop);

    if (now - r->backoff_used > VPA_REFLECTOR_BACKOFF_RESET)
        r->backoff = VPA_REFLECTOR_BACKOFF_FIRST;
    vpa_duration wait = vpa_random_jitter(vpa_kube_client_random(r->client), r->backoff, 1);
    r->backoff_used = now;
    r->backoff =
        r->backoff * 2 < VPA_REFLECTOR_BACKOFF_MAX ? r->backoff * 2 : VPA_REFLECTOR_BACKOFF_MAX;
    if (r->options.watch_only)
        wait = vpa_random_jitter(vpa_kube_client_random(r->client), EVENTS_PAUSE, 0.5);
    r->phase = BACKOFF;
    r->next_is_watch = then_watch || r->options.watch_only;
    vpa_timer_start(r->backoff_timer, wait);
}

static void on_backoff(void *ctx)
{
    struct vpa_reflector *r = ctx;

    if (r->next_is_watch)
        start_watch(r);
    else
        start_list(r);
}

/* The same trouble once, not every 30 seconds; deeper levels see every one. */
static void report(struct vpa_reflector *r, const char *what, const struct vpa_error *err)
{
    r->stats.errors++;
    if (vpa_error_says(err, r->last_error)) {
        VPA_V(5, "Still failing", VPA_KV("operation", what), VPA_KV("resource", r->options.name),
              VPA_KERR(err));
        return;
    }
    set_text(&r->last_error, err->text);
    VPA_WARN_UNLESS_TOLD(err, what, VPA_KV("resource", r->options.name), VPA_KERR(err));
}

/* Objects */

static void clear_arena(struct vpa_reflector *r)
{
    if (r->arena.used > ARENA_KEEP)
        vpa_arena_release(&r->arena);
    else
        vpa_arena_clear(&r->arena);
}

/* -1 when it has no name: then it cannot be told what is missing. */
static int skip_object(struct vpa_reflector *r, enum vpa_reflector_event event,
                       const struct vpa_unusable_object *what, struct vpa_error *err)
{
    const struct vpa_reflector_handler *handler = &r->options.handler;

    if (!*what->name)
        return vpa_fail(err, VPA_INVALID, "an object without a name: %s", what->reason);
    r->stats.skipped++;
    vpa_metric_inc(&vpa_unusable_objects, r->options.name);
    VPA_ERROR("Skipping an object that cannot be used", VPA_KV("resource", r->options.name),
              VPA_KV("kind", what->kind), VPA_KV("namespace", what->ns), VPA_KV("name", what->name),
              VPA_KV("err", what->reason));
    if (handler->unusable)
        handler->unusable(handler->ctx, event, what);
    return 0;
}

static int give_object(struct vpa_reflector *r, enum vpa_reflector_event event,
                       const struct vpa_json *object, struct vpa_error *err)
{
    const struct vpa_json *meta = vpa_json_find(object, "metadata");
    struct vpa_error why;

    r->stats.objects++;
    if (r->options.handler.object(r->options.handler.ctx, event, object, &why) == 0)
        return 0;
    const struct vpa_unusable_object what = {
        .kind = vpa_or_empty(vpa_json_string(vpa_json_find(object, "kind"))),
        .ns = vpa_or_empty(vpa_json_string(vpa_json_find(meta, "namespace"))),
        .name = vpa_or_empty(vpa_json_string(vpa_json_find(meta, "name"))),
        .reason = why.text,
        .object = object,
    };
    return skip_object(r, event, &what, err);
}

/* The text at root + path of an object that cannot be read, "" when it is not found. */
static const char *peek(struct vpa_reflector *r, struct vpa_slice text, const char *root,
                        const char *path)
{
    const char *whole = vpa_arena_printf(&r->arena, "%s%s", root, path);

    return vpa_or_empty(vpa_json_peek(&r->arena, text.ptr, text.len, whole));
}

/* The same for one that cannot be read; root is where it stands in the text, "" or "object.". */
static int skip_text(struct vpa_reflector *r, enum vpa_reflector_event event, struct vpa_slice text,
                     const char *root, const struct vpa_error *why, struct vpa_error *err)
{
    const struct vpa_unusable_object what = {
        .kind = peek(r, text, root, "kind"),
        .ns = peek(r, text, root, "metadata.namespace"),
        .name = peek(r, text, root, "metadata.name"),
        .reason = why->text,
    };

    r->stats.objects++;
    return skip_object(r, event, &what, err);
}

static void too_long(const struct vpa_reflector *r, struct vpa_error *err)
{
    vpa_fail(err, VPA_LIMIT, "longer than %zu bytes", r->options.object_max);
}

static int on_data(void *ctx, const char *bytes, size_t len)
{
    struct vpa_reflector *r = ctx;

    if (vpa_json_stream_feed(r->stream, bytes, len, &r->stream_error) == 0)
        return 0;
    r->stream_failed = true;
    return -1;
}

static void new_stream(struct vpa_reflector *r, enum vpa_stream_kind kind,
                       const struct vpa_json_stream_handler *handler)
{
    vpa_json_stream_free(r->stream);
    r->stream = vpa_json_stream_new(kind, r->options.object_max, handler);
    r->stream_failed = false;
}

/* LIST */

static int on_list_item(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    const struct vpa_slice text = {json, len};
    const struct vpa_json *object;
    struct vpa_error why;
    int rc = vpa_json_parse(&r->arena, json, len, &object, &why) == 0
                 ? give_object(r, VPA_REFLECTOR_LISTED, object, err)
                 : skip_text(r, VPA_REFLECTOR_LISTED, text, "", &why, err);

    clear_arena(r);
    return rc;
}

static int on_long_item(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    const struct vpa_slice text = {json, len};
    struct vpa_error why;

    too_long(r, &why);
    int rc = skip_text(r, VPA_REFLECTOR_LISTED, text, "", &why, err);
    clear_arena(r);
    return rc;
}

static int on_list_head(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    const struct vpa_json *head;
    int rc = vpa_json_parse(&r->arena, json, len, &head, err);

    if (rc == 0) {
        const char *token = vpa_json_string(vpa_json_at(head, "metadata.continue"));
        const char *version = vpa_json_string(vpa_json_at(head, "metadata.resourceVersion"));
        if (token && strlen(token) > CONTINUE_MAX)
            rc = vpa_fail(err, VPA_LIMIT, "continue token too long");
        else if (version && strlen(version) > VERSION_MAX)
            rc = vpa_fail(err, VPA_LIMIT, "resourceVersion too long");
        else if (token && *token && (vpa_str_eq(token, r->continue_) || ++r->pages > PAGES_MAX))
            rc = vpa_fail(err, VPA_LIMIT, "the list has no end");
        else
            set_text(&r->continue_, token && *token ? token : NULL);
        if (rc == 0)
            set_text(&r->list_version, version);
    }
    clear_arena(r);
    return rc;
}

static void list_complete(struct vpa_reflector *r)
{
    set_text(&r->version, vpa_or_empty(r->list_version));
    r->choice = LAST_KNOWN;
    r->unpaged = false;
    r->synced = true;
    note_in_step(r, r->list_started);
    set_text(&r->last_error, NULL);
    if (r->options.handler.end)
        r->options.handler.end(r->options.handler.ctx);
    if (r->options.resync > 0 && !vpa_timer_is_running(r->resync_timer))
        vpa_timer_start(r->resync_timer, r->options.resync);
    start_watch(r);
}

static bool too_large_version(const struct vpa_kube_status *status)
{
    return vpa_kube_has_cause(status, "ResourceVersionTooLarge") ||
           strstr(status->message, "Too large resource version") != NULL;
}

static void list_failed(struct vpa_reflector *r, const struct vpa_kube_result *result,
                        const struct vpa_error *err)
{
    bool paging = r->continue_ != NULL;

    report(r, "Failed to list", err);
    set_text(&r->continue_, NULL);
    if (result && result->failure == VPA_TRANSPORT_OK && result->status_code > 0 &&
        (vpa_kube_is_expired(&result->status) || too_large_version(&result->status))) {
        r->choice = NEWEST;
        r->unpaged = paging; /* the pages expired under us: once more, in one piece */
        if (paging) {
            start_list(r);
            return;
        }
    }
    back_off(r, false);
}

static void on_list_done(void *ctx, const struct vpa_kube_result *result,
                         const struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    struct vpa_error why;

    r->request = NULL;
    if (r->stream_failed) {
        vpa_wrap(&r->stream_error, "list");
        list_failed(r, NULL, &r->stream_error);
    } else if (err) {
        list_failed(r, result, err);
    } else if (vpa_json_stream_finish(r->stream, &why) < 0) {
        vpa_wrap(&why, "list");
        list_failed(r, NULL, &why);
    } else if (r->continue_) {
        r->saw_pages = true;
        start_list(r);
    } else {
        list_complete(r);
    }
}

static void add_selectors(const struct vpa_reflector *r, struct vpa_buf *path)
{
    if (r->options.field_selector && *r->options.field_selector)
        vpa_kube_query(path, "fieldSelector", r->options.field_selector);
    if (r->options.label_selector && *r->options.label_selector)
        vpa_kube_query(path, "labelSelector", r->options.label_selector);
}

static void list_path(const struct vpa_reflector *r, struct vpa_buf *path)
{
    char limit[16];

    vpa_buf_puts(path, r->options.path);
    add_selectors(r, path);
    snprintf(limit, sizeof(limit), "%d", VPA_REFLECTOR_PAGE);
    if (r->continue_) {
        vpa_kube_query(path, "limit", limit);
        vpa_kube_query(path, "continue", r->continue_);
        return;
    }
    /* A version with a limit makes the server read from its store; without pages it may use its
     * cache. */
    if (!r->unpaged && (r->choice != LAST_KNOWN || r->saw_pages))
        vpa_kube_query(path, "limit", limit);
    if (r->choice == ANY_CACHED)
        vpa_kube_query(path, "resourceVersion", "0");
    else if (r->choice == LAST_KNOWN && *r->version)
        vpa_kube_query(path, "resourceVersion", r->version);
}

static void start_list(struct vpa_reflector *r)
{
    vpa_auto_buf path = {0};
    struct vpa_kube_call call = {.verb = VPA_KUBE_LIST, .on_data = on_data};

    vpa_buf_init(&path, 3 * CONTINUE_MAX + VPA_KUBE_PATH_MAX); /* escaped */
    list_path(r, &path);
    if (!r->continue_) {
        r->pages = 0;
        r->list_started = vpa_loop_monotonic(r->loop);
        if (r->options.handler.begin)
            r->options.handler.begin(r->options.handler.ctx);
    }
    r->phase = LIST;
    r->stats.lists++;
    new_stream(
        r, VPA_STREAM_LIST,
        &(struct vpa_json_stream_handler){
            .ctx = r, .on_object = on_list_item, .on_head = on_list_head, .on_long = on_long_item});
    call.path = vpa_buf_text(&path);
    r->request = vpa_kube_start(r->client, &call, on_list_done, r);
}

/* WATCH */

static enum vpa_frame_type frame_type(const char *text)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};

    for (size_t i = 0; text && i < VPA_COUNT(names); i++)
        if (strcmp(names[i], text) == 0)
            return (enum vpa_frame_type)i;
    return VPA_FRAME_UNKNOWN;
}

int vpa_watch_frame_decode(struct vpa_arena *arena, const char *json, size_t len,
                           struct vpa_watch_frame *out, struct vpa_error *err)
{
    const struct vpa_json *frame;

    if (vpa_json_parse(arena, json, len, &frame, err) < 0)
        return vpa_wrap(err, "watch frame");
    const struct vpa_json *object = vpa_json_find(frame, "object");
    if (!vpa_json_is_object(object))
        return vpa_fail(err, VPA_INVALID, "watch frame: no object");
    out->type = frame_type(vpa_json_string(vpa_json_find(frame, "type")));
    out->object = object;
    out->resource_version =
        vpa_or_empty(vpa_json_string(vpa_json_at(object, "metadata.resourceVersion")));
    return 0;
}

static void keep_error_frame(struct vpa_reflector *r, const struct vpa_json *object,
                             struct vpa_error *err)
{
    const char *reason = vpa_or_empty(vpa_json_string(vpa_json_find(object, "reason")));
    const char *message = vpa_or_empty(vpa_json_string(vpa_json_find(object, "message")));
    int64_t code = 0;

    vpa_json_int64(vpa_json_find(object, "code"), &code);
    r->error_frame = true;
    snprintf(r->frame_reason, sizeof(r->frame_reason), "%s", reason);
    r->frame_status =
        (struct vpa_kube_status){.code = (int)code, .reason = r->frame_reason, .message = ""};
    vpa_fail(err, vpa_kube_error_code((int)code, reason), "%s",
             *message ? message : "error without a message");
}

static const enum vpa_reflector_event frame_events[] = {
    [VPA_FRAME_ADDED] = VPA_REFLECTOR_ADDED,
    [VPA_FRAME_MODIFIED] = VPA_REFLECTOR_MODIFIED,
    [VPA_FRAME_DELETED] = VPA_REFLECTOR_DELETED,
};

/* The place in the history behind an event. */
static int move_on(struct vpa_reflector *r, const char *version, struct vpa_error *err)
{
    if (strlen(version) > VERSION_MAX)
        return vpa_fail(err, VPA_LIMIT, "resourceVersion too long");
    if (*version && strcmp(version, r->version) != 0)
        set_text(&r->version, version);
    return 0;
}

static int take_frame(struct vpa_reflector *r, const struct vpa_watch_frame *frame,
                      struct vpa_error *err)
{
    switch (frame->type) {
    case VPA_FRAME_ERROR:
        keep_error_frame(r, frame->object, err);
        return -1;
    case VPA_FRAME_UNKNOWN:
        VPA_ERROR("Unable to understand watch event", VPA_KV("resource", r->options.name));
        return 0;
    case VPA_FRAME_BOOKMARK:
        break;
    case VPA_FRAME_ADDED:
    case VPA_FRAME_MODIFIED:
    case VPA_FRAME_DELETED:
        if (give_object(r, frame_events[frame->type], frame->object, err) < 0)
            return -1;
        break;
    }
    return move_on(r, frame->resource_version, err);
}

/* A frame that cannot be read because of its object. Bookmarks and errors have none. */
static int skip_frame(struct vpa_reflector *r, const char *json, size_t len,
                      const struct vpa_error *why, struct vpa_error *err)
{
    const struct vpa_slice text = {json, len};
    enum vpa_frame_type type = frame_type(vpa_json_peek(&r->arena, json, len, "type"));

    if (type != VPA_FRAME_ADDED && type != VPA_FRAME_MODIFIED && type != VPA_FRAME_DELETED) {
        *err = *why;
        return -1;
    }
    if (skip_text(r, frame_events[type], text, "object.", why, err) < 0)
        return -1;
    return move_on(r, peek(r, text, "object.", "metadata.resourceVersion"), err);
}

static int on_frame(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    struct vpa_watch_frame frame;
    struct vpa_error why;

    note_sign_of_life(r);
    int rc = vpa_watch_frame_decode(&r->arena, json, len, &frame, &why) == 0
                 ? take_frame(r, &frame, err)
                 : skip_frame(r, json, len, &why, err);
    clear_arena(r);
    return rc;
}

static int on_long_frame(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    struct vpa_error why;

    note_sign_of_life(r);
    too_long(r, &why);
    int rc = skip_frame(r, json, len, &why, err);
    clear_arena(r);
    return rc;
}

static void on_watch_open(void *ctx)
{
    struct vpa_reflector *r = ctx;

    r->watching = true;
    note_in_step(r, vpa_loop_monotonic(r->loop));
    if (r->options.watch_only)
        r->synced = true;
    set_text(&r->last_error, NULL);
}

static void watch_failed(struct vpa_reflector *r, const struct vpa_kube_status *status,
                         enum vpa_transport_failure failure, const struct vpa_error *err)
{
    bool refused = failure == VPA_TRANSPORT_REFUSED;
    bool throttled = status && (status->code == 429 ||
                                strcmp(vpa_or_empty(status->reason), "TooManyRequests") == 0);

    if (status && vpa_kube_is_expired(status)) {
        /* The list asks for the last known version as a lower bound; refused, it asks for the
         * newest. */
        VPA_V(4, "Watch version expired", VPA_KV("resource", r->options.name));
        back_off(r, false);
        return;
    }
    report(r, "Watch ended with error", err);
    back_off(r, refused || throttled);
}

static void watch_ended(struct vpa_reflector *r)
{
    bool too_short = vpa_loop_monotonic(r->loop) - r->watch_started < SHORT_WATCH;
    struct vpa_error why;

    if (r->options.watch_only || (too_short && r->watch_events == 0)) {
        if (!r->options.watch_only) {
            vpa_fail(&why, VPA_RETRY,
                     "very short watch: it ended within a second without an event");
            report(r, "Watch ended with error", &why);
        }
        back_off(r, false);
        return;
    }
    r->short_watches = too_short ? r->short_watches + 1 : 0;
    if (r->short_watches > SHORT_WATCHES_MAX) /* a server that closes after each event */
        back_off(r, true);
    else
        start_watch(r);
}

static void on_watch_done(void *ctx, const struct vpa_kube_result *result,
                          const struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    bool own_limit = result->failure == VPA_TRANSPORT_TIMEOUT && r->watching;

    r->request = NULL;
    r->watching = false;
    vpa_timer_stop(r->silence_timer);
    if (r->stream_failed) {
        watch_failed(r, r->error_frame ? &r->frame_status : NULL, VPA_TRANSPORT_OK,
                     &r->stream_error);
    } else if (err && !own_limit) {
        bool answered = result->failure == VPA_TRANSPORT_OK && result->status_code > 0;
        watch_failed(r, answered ? &result->status : NULL, result->failure, err);
    } else {
        watch_ended(r);
    }
}

/* The connection may look well: a server or a balancer that hangs still acknowledges bytes. */
static void on_silence(void *ctx)
{
    struct vpa_reflector *r = ctx;
    bool answered = r->watching;
    struct vpa_error why;

    vpa_kube_cancel(VPA_STEAL(r->request));
    r->watching = false;
    if (answered) {
        VPA_V(4, "Watch is silent, opening it anew", VPA_KV("resource", r->options.name));
        start_watch(r);
        return;
    }
    vpa_fail(&why, VPA_RETRY, "no answer within %d s", (int)(VPA_REFLECTOR_SILENCE / VPA_SECOND));
    report(r, "Watch ended with error", &why);
    back_off(r, true);
}

static void start_watch(struct vpa_reflector *r)
{
    struct vpa_random *random = vpa_kube_client_random(r->client);
    int64_t seconds =
        WATCH_TIMEOUT_MIN_S + (int64_t)(vpa_random_double(random) * WATCH_TIMEOUT_SPAN_S);
    struct vpa_kube_call call = {
        .verb = VPA_KUBE_WATCH, .on_data = on_data, .on_open = on_watch_open};
    vpa_auto_buf path = {0};
    char text[24];

    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    vpa_buf_puts(&path, r->options.path);
    add_selectors(r, &path);
    vpa_kube_query(&path, "watch", "true");
    if (!r->options.watch_only) {
        vpa_kube_query(&path, "allowWatchBookmarks", "true");
        vpa_kube_query(&path, "resourceVersion", r->version);
    }
    snprintf(text, sizeof(text), "%lld", (long long)seconds);
    vpa_kube_query(&path, "timeoutSeconds", text);
    r->phase = WATCH;
    r->stats.watches++;
    r->watch_started = vpa_loop_monotonic(r->loop);
    r->watch_events = 0;
    r->error_frame = false;
    new_stream(r, VPA_STREAM_VALUES,
               &(struct vpa_json_stream_handler){
                   .ctx = r, .on_object = on_frame, .on_long = on_long_frame});
    call.path = vpa_buf_text(&path);
    call.timeout = seconds * VPA_SECOND + WATCH_GRACE;
    if (!r->options.watch_only)
        vpa_timer_start(r->silence_timer, VPA_REFLECTOR_SILENCE);
    r->request = vpa_kube_start(r->client, &call, on_watch_done, r);
}

/* Life */

static void on_resync(void *ctx)
{
    struct vpa_reflector *r = ctx;

    if (r->options.handler.resync)
        r->options.handler.resync(r->options.handler.ctx);
    vpa_timer_start(r->resync_timer, r->options.resync);
}

static char *copy_or_null(const char *text)
{
    return text ? vpa_xstrdup(text) : NULL;
}

struct vpa_reflector *vpa_reflector_new(const struct vpa_reflector_options *options)
{
    struct vpa_reflector *r = vpa_xcalloc(1, sizeof(*r));

    r->options = *options;
    r->options.name = vpa_xstrdup(options->name);
    r->options.path = vpa_xstrdup(options->path);
    r->options.field_selector = copy_or_null(options->field_selector);
    r->options.label_selector = copy_or_null(options->label_selector);
    if (r->options.object_max == 0)
        r->options.object_max = VPA_REFLECTOR_OBJECT_MAX;
    r->client = options->client;
    r->loop = vpa_kube_client_loop(options->client);
    r->version = vpa_xstrdup("");
    r->backoff = VPA_REFLECTOR_BACKOFF_FIRST;
    r->backoff_timer = vpa_timer_new(r->loop, on_backoff, r);
    r->resync_timer = vpa_timer_new(r->loop, on_resync, r);
    r->silence_timer = vpa_timer_new(r->loop, on_silence, r);
    return r;
}

void vpa_reflector_start(struct vpa_reflector *r)
{
    if (r->phase != STOPPED)
        return;
    if (r->options.watch_only)
        start_watch(r);
    else
        start_list(r);
}

void vpa_reflector_free(struct vpa_reflector *r)
{
    if (!r)
        return;
    if (r->request)
        vpa_kube_cancel(r->request);
    vpa_timer_free(r->backoff_timer);
    vpa_timer_free(r->resync_timer);
    vpa_timer_free(r->silence_timer);
    vpa_json_stream_free(r->stream);
    vpa_arena_release(&r->arena);
    free(r->version);
    free(r->continue_);
    free(r->list_version);
    free(r->last_error);
    free((char *)(uintptr_t)r->options.name);
    free((char *)(uintptr_t)r->options.path);
    free((char *)(uintptr_t)r->options.field_selector);
    free((char *)(uintptr_t)r->options.label_selector);
    free(r);
}

bool vpa_reflector_is_synced(const struct vpa_reflector *r)
{
    return r->synced;
}

bool vpa_reflector_is_watching(const struct vpa_reflector *r)
{
    return r->watching;
}

struct vpa_reflector_stats vpa_reflector_stats(const struct vpa_reflector *r)
{
    return r->stats;
}

struct sync_wait {
    struct vpa_reflector *const *reflectors;
    size_t count;
};

static const struct vpa_reflector *first_unsynced(const struct sync_wait *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (!w->reflectors[i]->synced)
            return w->reflectors[i];
    return NULL;
}

static bool all_synced(void *ctx)
{
    return !first_unsynced(ctx);
}

int vpa_reflector_wait(struct vpa_reflector *const *reflectors, size_t count, struct vpa_loop *loop,
                       vpa_duration timeout, struct vpa_error *err)
{
    struct sync_wait w = {reflectors, count};

    if (vpa_loop_wait(loop, all_synced, &w, timeout > 0 ? timeout : INT64_MAX, err) == 0)
        return 0;
    const struct vpa_reflector *late = first_unsynced(&w);
    return vpa_wrap(err, "%s not in step%s%s", late ? late->options.name : "cache",
                    late && late->last_error ? ": " : "",
                    late && late->last_error ? late->last_error : "");
}
