/*
 * A reflector that was started is always in one of three phases:
 *
 *     LIST      pages of the collection stream through vpa_json_stream into the consumer
 *     WATCH     one object after the other from the last known version
 *     BACKOFF   waiting after trouble; ends in LIST or WATCH
 *
 * Which version a LIST asks for (5.2): "0" at first (any cached state will do), later the last
 * known one, and none (the newest, by quorum) once the server has called a version expired. A page
 * that is refused as expired makes the list start over without pages.
 *
 * What ends a watch and what comes next (5.3) is in reflector_watch.c. The wait between
 * rounds doubles from 0.8 s to 30 s, each drawn uniformly from [d, 2d), and starts over after two
 * quiet minutes (5.4).
 *
 * client-go's streaming list is not used: LIST is what every server has, and its memory is bounded
 * here by the longest single object.
 */
#include "reflector_internal.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/api/meta.h"
#include "vpa/base/log.h"
#include "vpa/json/json_peek.h"

#define EVENTS_PAUSE (10 * VPA_SECOND) /* watch_only, jittered by half (5.6) */

struct vpa_metric vpa_cache_in_step = VPA_GAUGE(
    "vpa_cache_in_step_timestamp_seconds",
    "When the cache of a resource was last certain to be in step with the API server, Unix time; "
    "0: never yet.",
    "resource");
struct vpa_metric vpa_unusable_objects =
    VPA_COUNTER("vpa_unusable_objects_total",
                "Objects that were passed over because they cannot be read or used.", "resource");
struct vpa_metric vpa_unknown_objects = VPA_GAUGE(
    "vpa_unknown_objects", "Objects that are there and cannot be read or used.", "resource");

/* Being in step */

/* Unix time, of the daemon's clock. */
static double seconds_of(const struct vpa_reflector *r, int64_t at)
{
    vpa_duration ago = vpa_loop_monotonic(r->loop) - at;

    return (double)(vpa_time_unix_nanos(vpa_loop_now(r->loop)) - ago) / (double)VPA_SECOND;
}

void reflector_note_in_step(struct vpa_reflector *r, int64_t at)
{
    bool first = !r->ever_in_step;

    r->ever_in_step = true;
    r->in_step_at = at;
    if (r->options.watch_only || (!first && at - r->shown_at < VPA_SECOND))
        return; /* no cache, whose silence says nothing; events come by the thousand */
    r->shown_at = at;
    vpa_metric_set(&vpa_cache_in_step, seconds_of(r, at), r->options.name);
}

vpa_duration vpa_reflector_age(const struct vpa_reflector *r, int64_t now)
{
    return r->ever_in_step ? now - r->in_step_at : INT64_MAX;
}

/* Back-off */

void reflector_back_off(struct vpa_reflector *r, bool then_watch)
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
    r->next_is_watch = then_watch || r->options.watch_only;
    vpa_timer_start(r->backoff_timer, wait);
}

static void on_backoff(void *ctx)
{
    struct vpa_reflector *r = ctx;

    if (r->next_is_watch)
        reflector_resume(r);
    else
        reflector_start_list(r);
}

/* The same trouble once, not every 30 seconds; deeper levels see every one. */
void reflector_report(struct vpa_reflector *r, const char *what, const struct vpa_error *err)
{
    r->stats.errors++;
    if (vpa_error_says(err, r->last_error)) {
        VPA_V(5, "Still failing", VPA_KV("operation", what), VPA_KV("resource", r->options.name),
              VPA_KERR(err));
        return;
    }
    vpa_replace_text(&r->last_error, err->text);
    VPA_WARN_UNLESS_TOLD(err, what, VPA_KV("resource", r->options.name), VPA_KERR(err));
}

/* Objects that are unknown now: of a resource with several reflectors all are in one series. */

static void note_unknown(struct vpa_reflector *r, const char *ns, const char *name)
{
    vpa_auto_free char *key = vpa_xjoin(ns, '/', name);
    size_t before = r->unknown.count;

    VPA_TABLE_MAKE(&r->unknown, key, struct reflector_unknown, key)->round = r->round;
    vpa_metric_add(&vpa_unknown_objects, (double)(r->unknown.count - before), r->options.name);
}

static void forget_unknown(struct vpa_reflector *r, const char *key)
{
    struct reflector_unknown *gone = vpa_table_remove(&r->unknown, key);

    if (gone)
        vpa_metric_add(&vpa_unknown_objects, -1, r->options.name);
    free(gone);
}

static void note_known(struct vpa_reflector *r, const char *ns, const char *name)
{
    if (r->unknown.count == 0)
        return;
    vpa_auto_free char *key = vpa_xjoin(ns, '/', name);
    forget_unknown(r, key);
}

void reflector_sweep_unknown(struct vpa_reflector *r)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&r->unknown, &i, &key, &value);)
        if (((struct reflector_unknown *)value)->round != r->round)
            forget_unknown(r, key);
}

/* Objects */

static void count_unusable(struct vpa_reflector *r, enum vpa_reflector_event event,
                           const struct vpa_unusable_object *what)
{
    r->stats.skipped++;
    vpa_metric_inc(&vpa_unusable_objects, r->options.name);
    if (event == VPA_REFLECTOR_DELETED)
        note_known(r, what->ns, what->name);
    else if (!r->options.watch_only) /* whose objects are no state */
        note_unknown(r, what->ns, what->name);
}

/* -1 when it has no name: then it cannot be told what is missing. */
static int skip_object(struct vpa_reflector *r, enum vpa_reflector_event event,
                       const struct vpa_unusable_object *what, struct vpa_error *err)
{
    const struct vpa_reflector_handler *handler = &r->options.handler;

    if (!*what->name)
        return vpa_fail(err, VPA_INVALID, "an object without a name: %s", what->reason);
    count_unusable(r, event, what);
    VPA_ERROR("Skipping an object that cannot be used", VPA_KV("resource", r->options.name),
              VPA_KV("kind", what->kind), VPA_KV("namespace", what->ns), VPA_KV("name", what->name),
              VPA_KV("err", what->reason));
    if (handler->unusable)
        handler->unusable(handler->ctx, event, what);
    if (event != VPA_REFLECTOR_DELETED)
        vpa_kube_client_tell_unusable(r->client, r->options.path, r->options.name, what);
    return 0;
}

/* API servers refuse other names (path segment names); one that gave them would send our requests
 * elsewhere. */
static bool can_stand_in_a_path(const char *name)
{
    return !strpbrk(name, "/%") && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int check_name(const char *ns, const char *name, struct vpa_error *why)
{
    if (!*name)
        return vpa_fail(why, VPA_INVALID, "metadata.name is missing");
    if (!can_stand_in_a_path(name) || !can_stand_in_a_path(ns))
        return vpa_fail(why, VPA_INVALID, "its name or namespace cannot stand in a path");
    return 0;
}

int reflector_give_object(struct vpa_reflector *r, enum vpa_reflector_event event,
                          const struct vpa_json *object, struct vpa_error *err)
{
    const struct vpa_json *meta = vpa_json_find(object, "metadata");
    const char *ns = vpa_json_text(meta, "namespace");
    const char *name = vpa_json_text(meta, "name");
    struct vpa_error why;

    r->stats.objects++;
    if (check_name(ns, name, &why) == 0 &&
        r->options.handler.object(r->options.handler.ctx, event, object, &why) == 0) {
        note_known(r, ns, name);
        return 0;
    }
    const struct vpa_unusable_object what = {
        .kind = vpa_json_text(object, "kind"),
        .ns = ns,
        .name = name,
        .reason = why.text,
        .object = object,
    };
    return skip_object(r, event, &what, err);
}

/* The text at root + path of an object that cannot be read, "" when it is not found. */
const char *reflector_peek(struct vpa_reflector *r, struct vpa_slice text, const char *root,
                           const char *path)
{
    const char *whole = vpa_arena_printf(&r->arena, "%s%s", root, path);

    return vpa_or_empty(vpa_json_peek(&r->arena, text.ptr, text.len, whole));
}

/* The same for one that cannot be read; root is where it stands in the text, "" or "object.". */
int reflector_skip_text(struct vpa_reflector *r, enum vpa_reflector_event event,
                        struct vpa_slice text, const char *root, const struct vpa_error *why,
                        struct vpa_error *err)
{
    const struct vpa_unusable_object what = {
        .kind = reflector_peek(r, text, root, "kind"),
        .ns = reflector_peek(r, text, root, "metadata.namespace"),
        .name = reflector_peek(r, text, root, "metadata.name"),
        .reason = why->text,
    };

    r->stats.objects++;
    return skip_object(r, event, &what, err);
}

void reflector_too_long(const struct vpa_reflector *r, struct vpa_error *err)
{
    vpa_fail(err, VPA_LIMIT, "longer than %zu bytes", r->options.object_max);
}

int reflector_on_data(void *ctx, const char *bytes, size_t len)
{
    struct vpa_reflector *r = ctx;

    if (vpa_json_stream_feed(r->stream, bytes, len, &r->stream_error) == 0)
        return 0;
    r->stream_failed = true;
    return -1;
}

void reflector_new_stream(struct vpa_reflector *r, enum vpa_stream_kind kind,
                          const struct vpa_json_stream_handler *handler)
{
    vpa_json_stream_free(r->stream);
    r->stream = vpa_json_stream_new(kind, r->options.object_max, handler);
    r->stream_failed = false;
}

/* Paths */

void reflector_add_selector(const struct vpa_reflector *r, struct vpa_buf *path)
{
    if (r->options.field_selector && *r->options.field_selector)
        vpa_kube_query(path, "fieldSelector", r->options.field_selector);
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
    if (r->options.object_max == 0)
        r->options.object_max = VPA_LIST_ITEM_MAX;
    if (!r->options.left_out)
        r->options.left_out = vpa_meta_unread;
    r->client = options->client;
    r->loop = vpa_kube_client_loop(options->client);
    r->version = vpa_xstrdup("");
    r->backoff = VPA_REFLECTOR_BACKOFF_FIRST;
    r->backoff_timer = vpa_timer_new(r->loop, on_backoff, r);
    r->resync_timer = vpa_timer_new(r->loop, on_resync, r);
    r->silence_timer = vpa_timer_new(r->loop, reflector_on_silence, r);
    r->accepted_timer = vpa_timer_new(r->loop, reflector_on_accepted, r);
    vpa_metric_add(&vpa_unusable_objects, 0, r->options.name);
    if (!r->options.watch_only)
        vpa_metric_add(&vpa_unknown_objects, 0, r->options.name);
    return r;
}

void vpa_reflector_start(struct vpa_reflector *r)
{
    if (r->options.watch_only)
        reflector_start_watch(r);
    else
        reflector_start_list(r);
}

void vpa_reflector_free(struct vpa_reflector *r)
{
    if (!r)
        return;
    vpa_listing_cancel(r->listing);
    if (r->request)
        vpa_kube_cancel(r->request);
    vpa_timer_free(r->backoff_timer);
    vpa_timer_free(r->resync_timer);
    vpa_timer_free(r->silence_timer);
    vpa_timer_free(r->accepted_timer);
    vpa_json_stream_free(r->stream);
    r->round++;
    reflector_sweep_unknown(r);
    vpa_table_release(&r->unknown);
    vpa_arena_release(&r->arena);
    free(r->version);
    free(r->last_error);
    free((char *)(uintptr_t)r->options.name);
    free((char *)(uintptr_t)r->options.path);
    free((char *)(uintptr_t)r->options.field_selector);
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
