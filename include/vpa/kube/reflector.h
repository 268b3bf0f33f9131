/*
 * Keeps a consumer in step with a collection on the API server: LIST in pages of 500, then WATCH
 * with bookmarks, again and again (leader-election-and-clients.md 5 of the specification). The
 * reflector keeps no objects; the consumer does.
 *
 *     begin()                 a list starts: mark everything you hold as unseen
 *     object(LISTED, json)*   each object of the list: put and mark as seen
 *     end()                   drop what was not seen. A list that fails never comes to its end;
 *                             begin may follow begin
 *     object(ADDED | MODIFIED | DELETED, json)*
 *
 * ADDED of a known object is an update, MODIFIED of an unknown one an addition. Objects of a list
 * carry no kind. Callbacks run on the loop and only enqueue; they must not free the reflector.
 * Several reflectors share a loop and a client.
 *
 * A reflector knows its age: how long ago it was certain to be in step. Certain it is when a list
 * was asked for that came to its end, at each event and bookmark (of a watch that follows a pause
 * longer than VPA_REFLECTOR_SILENCE not at the events that it begins with, which are old: at a
 * bookmark, when there were none for three seconds, or 15 seconds later), and when the server
 * answers a watch that begins at the last known version and has nothing against it: one that does
 * not have that version any more answers 200 as well, and says so in the first frame, an ERROR.
 * Bookmarks come about every minute, so a watch that brought neither for VPA_REFLECTOR_SILENCE is
 * given up, whatever the connection looks like, and opened anew from that version; one that was
 * not even answered by then counts as an error. Before it is opened anew, there or after a pause,
 * the server is asked whether it has that version: a store that was restored may be at an older
 * one, and says nothing until it gets there. Then a list follows. watch_only has no version to go
 * on from, every opening replays old objects, so there silence is waited out.
 *
 * A bad object is one object. What cannot be read (nested too deeply, longer than object_max) or
 * cannot be used (object() returned -1) is logged with its kind, namespace and name, counted in
 * vpa_unusable_objects, told to unusable(), and passed over; the list or watch goes on. As long as
 * it is there and stays so it is one of vpa_unknown_objects. Of an object that cannot be read the
 * key comes out of its text as far as that goes (json_peek.h). Should not even a name be found,
 * which no API server causes, then the list has failed, or the watch has lost its place and a list
 * follows: otherwise nobody would know what the cache lacks. Text that is no stream of objects ends
 * the list or watch, as a broken connection does.
 */
#ifndef VPA_KUBE_REFLECTOR_H
#define VPA_KUBE_REFLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/metrics.h"
#include "vpa/kube/client.h"

#define VPA_REFLECTOR_SILENCE (75 * VPA_SECOND)
#define VPA_REFLECTOR_BACKOFF_FIRST (800 * VPA_MILLISECOND)
#define VPA_REFLECTOR_BACKOFF_MAX (30 * VPA_SECOND)
#define VPA_REFLECTOR_BACKOFF_RESET (2 * VPA_MINUTE)

enum vpa_reflector_event {
    VPA_REFLECTOR_LISTED,
    VPA_REFLECTOR_ADDED,
    VPA_REFLECTOR_MODIFIED,
    VPA_REFLECTOR_DELETED,
};

/* What can be told of an object that cannot be used; texts are borrowed for the call, "" when not
 * known. */
struct vpa_unusable_object {
    const char *kind;
    const char *ns;
    const char *name; /* never "" */
    const char *reason;
    const struct vpa_json *object; /* NULL when it cannot even be parsed */
};

struct vpa_reflector_handler { /* all but object may be NULL */
    void *ctx;
    void (*begin)(void *ctx);
    /* object lives in an arena that is cleared afterwards. -1 with err: unusable, skipped. */
    int (*object)(void *ctx, enum vpa_reflector_event event, const struct vpa_json *object,
                  struct vpa_error *err);
    void (*end)(void *ctx);
    /* Every options.resync while in step. */
    void (*resync)(void *ctx);
    /* Instead of object(), or behind one that returned -1. It exists (unless the event is DELETED),
     * but nobody knows what it says now. */
    void (*unusable)(void *ctx, enum vpa_reflector_event event,
                     const struct vpa_unusable_object *what);
};

struct vpa_reflector_options {      /* texts are copied */
    struct vpa_kube_client *client; /* borrowed */
    const char *name;               /* for log lines: "pods" */
    const char *path;               /* collection path without query (vpa_kube_path) */
    const char *field_selector;     /* NULL: none */
    vpa_duration resync;            /* 0: never */
    size_t object_max;              /* 0: VPA_LIST_ITEM_MAX */
    /* Members that nobody reads, see vpa_json_parse_without; borrowed. NULL: vpa_meta_unread. */
    const char *const *left_out;
    /* Only WATCH, without a version, opened again 10 to 15 s after it ended: the events of 5.6. */
    bool watch_only;
    struct vpa_reflector_handler handler;
};

/* By resource, listed by the frame of the daemons: vpa_unusable_objects_total; how many of those
 * there are now, vpa_unknown_objects; and vpa_cache_in_step_timestamp_seconds, when a cache was
 * last certain to be in step. watch_only keeps nothing, and has neither of the last two. */
extern struct vpa_metric vpa_unusable_objects;
extern struct vpa_metric vpa_unknown_objects;
extern struct vpa_metric vpa_cache_in_step;

struct vpa_reflector;
struct vpa_reflector *vpa_reflector_new(const struct vpa_reflector_options *options);
/* Once: nobody may start it twice. */
void vpa_reflector_start(struct vpa_reflector *reflector);
void vpa_reflector_free(struct vpa_reflector *reflector); /* NULL is allowed */
/* The first list came to its end (watch_only: the first watch is open). */
bool vpa_reflector_is_synced(const struct vpa_reflector *reflector);
/* A watch is open now. */
bool vpa_reflector_is_watching(const struct vpa_reflector *reflector);
/* See above; INT64_MAX before it has ever been in step. now: of vpa_loop_monotonic(). */
vpa_duration vpa_reflector_age(const struct vpa_reflector *reflector, int64_t now);
/* Waits, pumping the loop; VPA_CANCELLED when stopped or after the (virtual) timeout, naming the
 * first reflector that is not in step. timeout 0: no limit. */
int vpa_reflector_wait(struct vpa_reflector *const *reflectors, size_t count, struct vpa_loop *loop,
                       vpa_duration timeout, struct vpa_error *err);

struct vpa_reflector_stats {
    uint64_t lists;
    uint64_t watches;
    uint64_t objects;
    uint64_t skipped; /* unusable objects */
    uint64_t errors;  /* failed lists and watches */
};
struct vpa_reflector_stats vpa_reflector_stats(const struct vpa_reflector *reflector);

/* Decoding of one watch frame, exposed for the fuzz target: the event, its object and
 * resourceVersion. */
enum vpa_frame_type {
    VPA_FRAME_ADDED,
    VPA_FRAME_MODIFIED,
    VPA_FRAME_DELETED,
    VPA_FRAME_BOOKMARK,
    VPA_FRAME_ERROR,
    VPA_FRAME_UNKNOWN,
};
struct vpa_watch_frame {
    enum vpa_frame_type type;
    const struct vpa_json *object;
    const char *resource_version; /* "" when absent */
};
int vpa_watch_frame_decode(struct vpa_arena *arena, const char *json, size_t len,
                           const char *const *left_out, struct vpa_watch_frame *out,
                           struct vpa_error *err) VPA_MUST_CHECK;

#endif
