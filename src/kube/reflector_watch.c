/*
 * WATCH: one object after the other from the last known version, until the server, the connection
 * or silence ends it.
 *
 * A store that was restored is at an older version than ours. A watch from a version that is still
 * to come is answered with 200 and is silent until that number is reached, and what was written
 * meanwhile never comes. So behind silence and behind a pause the server is asked first whether it
 * has the version, by a list of one object that must not be older; it tells when it has not.
 */
#include "reflector_internal.h"

#include <stdio.h>
#include <string.h>

#include "vpa/api/meta.h"
#include "vpa/base/log.h"
#include "vpa/json/json_peek.h"

#define WATCH_TIMEOUT_MIN_S 300 /* timeoutSeconds: uniform in [300, 600] */
/* watch_only: [1800, 3600], as long as a server lets a watch that names no time-out live. It has no
 * version to go on from, and each opening makes the server read all its Events from etcd. */
#define WATCH_ONLY_TIMEOUT_MIN_S 1800
/* A watch that outlives its own time-out by this much has a dead peer. */
#define WATCH_GRACE (30 * VPA_SECOND)
#define SHORT_WATCH VPA_SECOND
#define SHORT_WATCHES_MAX 3 /* in a row, opened again at once */
/* A server that lacks the version, or has no time, says 200 first and ERROR right behind it. */
#define WATCH_ACCEPTED (3 * VPA_SECOND)
/* How long at most the events of a watch behind a pause are taken for old ones. Those of five
 * minutes in a large cluster are read in a few seconds, and events that never pause are no
 * backlog. */
#define WATCH_CATCHES_UP (15 * VPA_SECOND)
/* Finding out whether the server has a version; it may wait 3 s until its cache has it. */
#define RESUME_TIMEOUT (15 * VPA_SECOND)

/* An event or a bookmark: all that happened before it has been told. What comes first of a watch
 * that follows a long pause happened during that pause, though: behind such events it has to be
 * quiet for a while, or a bookmark to come. */
static void note_sign_of_life(struct vpa_reflector *r, bool bookmark)
{
    int64_t now = vpa_loop_monotonic(r->loop);

    r->watch_events++;
    if (bookmark)
        r->catches_up_until = 0;
    if (now >= r->catches_up_until) {
        reflector_note_in_step(r, now);
    } else {
        r->quiet_since = now;
        vpa_timer_start(r->accepted_timer, WATCH_ACCEPTED);
    }
    if (!r->options.watch_only)
        vpa_timer_start(r->silence_timer, VPA_REFLECTOR_SILENCE);
}

static enum vpa_frame_type frame_type(const char *text)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};

    for (size_t i = 0; text && i < VPA_COUNT(names); i++)
        if (strcmp(names[i], text) == 0)
            return (enum vpa_frame_type)i;
    return VPA_FRAME_UNKNOWN;
}

int vpa_watch_frame_decode(struct vpa_arena *arena, const char *json, size_t len,
                           const char *const *left_out, struct vpa_watch_frame *out,
                           struct vpa_error *err)
{
    const struct vpa_json *frame;

    if (vpa_json_parse_without(arena, json, len, left_out, &frame, err) < 0)
        return vpa_wrap(err, "watch frame");
    const struct vpa_json *object = vpa_json_find(frame, "object");
    if (!vpa_json_is_object(object))
        return vpa_fail(err, VPA_INVALID, "watch frame: no object");
    out->type = frame_type(vpa_json_string(vpa_json_find(frame, "type")));
    out->object = object;
    out->resource_version = vpa_json_text(object, "metadata.resourceVersion");
    return 0;
}

static void keep_error_frame(struct vpa_reflector *r, const struct vpa_json *object,
                             struct vpa_error *err)
{
    const char *reason = vpa_json_text(object, "reason");
    const char *message = vpa_json_text(object, "message");
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
    if (strlen(version) > VPA_LIST_VERSION_MAX)
        return vpa_fail(err, VPA_LIMIT, "resourceVersion too long");
    if (*version && strcmp(version, r->version) != 0)
        vpa_replace_text(&r->version, version);
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
        note_sign_of_life(r, true);
        break;
    case VPA_FRAME_ADDED:
    case VPA_FRAME_MODIFIED:
    case VPA_FRAME_DELETED:
        note_sign_of_life(r, false);
        if (reflector_give_object(r, frame_events[frame->type], frame->object, err) < 0)
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
    note_sign_of_life(r, false);
    if (reflector_skip_text(r, frame_events[type], text, "object.", why, err) < 0)
        return -1;
    return move_on(r, reflector_peek(r, text, "object.", "metadata.resourceVersion"), err);
}

static int on_frame(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    struct vpa_watch_frame frame;
    struct vpa_error why;
    int rc = vpa_watch_frame_decode(&r->arena, json, len, r->options.left_out, &frame, &why) == 0
                 ? take_frame(r, &frame, err)
                 : skip_frame(r, json, len, &why, err);
    vpa_arena_clear_small(&r->arena);
    return rc;
}

static int on_long_frame(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    struct vpa_error why;

    reflector_too_long(r, &why);
    int rc = skip_frame(r, json, len, &why, err);
    vpa_arena_clear_small(&r->arena);
    return rc;
}

/* It is open for so long, and no ERROR came, nor what was left of a pause. */
void reflector_on_accepted(void *ctx)
{
    struct vpa_reflector *r = ctx;

    r->catches_up_until = 0;
    if (r->quiet_since > r->in_step_at)
        reflector_note_in_step(r, r->quiet_since);
    vpa_replace_text(&r->last_error, NULL);
}

static void on_watch_open(void *ctx)
{
    struct vpa_reflector *r = ctx;

    r->watching = true;
    r->quiet_since = vpa_loop_monotonic(r->loop);
    vpa_timer_start(r->accepted_timer, WATCH_ACCEPTED);
    if (r->options.watch_only)
        r->synced = true;
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
        reflector_back_off(r, false);
        return;
    }
    reflector_report(r, "Watch ended with error", err);
    reflector_back_off(r, refused || throttled);
}

/* cut: behind an event its connection was lost, as when an API server is rolled. One that brought
 * nothing may be cut for what it was to bring, and is no such end. */
static void watch_ended(struct vpa_reflector *r, bool cut)
{
    bool too_short = vpa_loop_monotonic(r->loop) - r->watch_started < SHORT_WATCH;
    struct vpa_error why;

    if (r->options.watch_only || (too_short && r->watch_events == 0)) {
        if (!r->options.watch_only) {
            vpa_fail(&why, VPA_RETRY,
                     "very short watch: it ended within a second without an event");
            reflector_report(r, "Watch ended with error", &why);
        }
        reflector_back_off(r, false);
        return;
    }
    r->short_watches = too_short ? r->short_watches + 1 : 0;
    if (cut || r->short_watches > SHORT_WATCHES_MAX) /* a server that closes after each event */
        reflector_back_off(r, true);
    else
        reflector_start_watch(r);
}

static void on_watch_done(void *ctx, const struct vpa_kube_result *result,
                          const struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    bool own_limit = result->failure == VPA_TRANSPORT_TIMEOUT && r->watching;
    bool lost = result->failure == VPA_TRANSPORT_RESET || result->failure == VPA_TRANSPORT_EOF;
    bool cut = lost && r->watching && r->watch_events > 0;

    r->request = NULL;
    r->watching = false;
    vpa_timer_stop(r->silence_timer);
    vpa_timer_stop(r->accepted_timer);
    if (r->stream_failed) {
        watch_failed(r, r->error_frame ? &r->frame_status : NULL, VPA_TRANSPORT_OK,
                     &r->stream_error);
    } else if (err && !own_limit && !cut) {
        watch_failed(r, &result->status, result->failure, err);
    } else {
        watch_ended(r, cut);
    }
}

/* The connection may look well: a server or a balancer that hangs still acknowledges bytes. */
void reflector_on_silence(void *ctx)
{
    struct vpa_reflector *r = ctx;
    bool answered = r->watching;
    struct vpa_error why;

    vpa_kube_cancel(VPA_STEAL(r->request));
    vpa_timer_stop(r->accepted_timer);
    r->watching = false;
    if (answered) {
        VPA_V(4, "Watch is silent, opening it anew", VPA_KV("resource", r->options.name));
        reflector_resume(r);
        return;
    }
    vpa_fail(&why, VPA_RETRY, "no answer within %d s", (int)(VPA_REFLECTOR_SILENCE / VPA_SECOND));
    reflector_report(r, "Watch ended with error", &why);
    reflector_back_off(r, true);
}

static int pass_over(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    (void)len;
    return 0;
}

static void on_resume_done(void *ctx, const struct vpa_kube_result *result,
                           const struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;

    r->request = NULL;
    if (!err) {
        reflector_start_watch(r);
        return;
    }
    if (!reflector_lacks_version(&result->status)) {
        watch_failed(r, &result->status, result->failure, err);
        return;
    }
    reflector_report(r, "The API server is at an older version, listing anew", err);
    r->choice = NEWEST;
    reflector_start_list(r);
}

void reflector_resume(struct vpa_reflector *r)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    if (r->options.watch_only || !*r->version) {
        reflector_start_watch(r);
        return;
    }
    vpa_buf_puts(&path, r->options.path);
    reflector_add_selector(r, &path);
    vpa_kube_query(&path, "limit", "1");
    vpa_kube_query(&path, "resourceVersion", r->version);
    vpa_kube_query(&path, "resourceVersionMatch", "NotOlderThan");
    const struct vpa_kube_call call = {.verb = VPA_KUBE_LIST,
                                       .path = vpa_buf_text(&path),
                                       .timeout = RESUME_TIMEOUT,
                                       .unlimited = true,
                                       .no_retry = true,
                                       .on_data = pass_over};
    r->request = vpa_kube_start(r->client, &call, on_resume_done, r);
}

void reflector_start_watch(struct vpa_reflector *r)
{
    struct vpa_random *random = vpa_kube_client_random(r->client);
    int least = r->options.watch_only ? WATCH_ONLY_TIMEOUT_MIN_S : WATCH_TIMEOUT_MIN_S;
    int64_t seconds = least + (int64_t)(vpa_random_double(random) * (least + 1));
    struct vpa_kube_call call = {
        .verb = VPA_KUBE_WATCH, .on_data = reflector_on_data, .on_open = on_watch_open};
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    char text[24];

    vpa_buf_puts(&path, r->options.path);
    reflector_add_selector(r, &path);
    vpa_kube_query(&path, "watch", "true");
    if (!r->options.watch_only) {
        vpa_kube_query(&path, "allowWatchBookmarks", "true");
        vpa_kube_query(&path, "resourceVersion", r->version);
    }
    snprintf(text, sizeof(text), "%lld", (long long)seconds);
    vpa_kube_query(&path, "timeoutSeconds", text);
    r->stats.watches++;
    r->watch_started = vpa_loop_monotonic(r->loop);
    r->watch_events = 0;
    r->catches_up_until = vpa_reflector_age(r, r->watch_started) > VPA_REFLECTOR_SILENCE
                              ? r->watch_started + WATCH_CATCHES_UP
                              : 0;
    r->error_frame = false;
    reflector_new_stream(r, VPA_STREAM_VALUES,
                         &(struct vpa_json_stream_handler){
                             .ctx = r, .on_object = on_frame, .on_long = on_long_frame});
    call.path = vpa_buf_text(&path);
    call.timeout = seconds * VPA_SECOND + WATCH_GRACE;
    if (!r->options.watch_only)
        vpa_timer_start(r->silence_timer, VPA_REFLECTOR_SILENCE);
    r->request = vpa_kube_start(r->client, &call, on_watch_done, r);
}
