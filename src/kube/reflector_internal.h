/*
 * The parts of a reflector:
 *   reflector.c         its life, back-off, what LIST and WATCH share
 *   reflector_list.c    pages of the collection
 *   reflector_watch.c   one object after the other
 */
#ifndef VPA_KUBE_REFLECTOR_INTERNAL_H
#define VPA_KUBE_REFLECTOR_INTERNAL_H

#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/json/json_stream.h"
#include "vpa/kube/list.h"
#include "vpa/kube/reflector.h"

enum reflector_choice { ANY_CACHED, LAST_KNOWN, NEWEST };

struct vpa_reflector {
    struct vpa_reflector_options options; /* texts owned */
    struct vpa_kube_client *client;
    struct vpa_loop *loop;
    bool next_is_watch; /* after BACKOFF */
    bool synced;
    bool watching;
    enum reflector_choice choice;
    bool unpaged;     /* the next list takes no pages */
    bool saw_pages;   /* a list of any version came in pages: the server has no cache */
    char *version;    /* last known resourceVersion, "" at first */
    char *last_error; /* logged once until it changes */
    struct vpa_listing *listing;
    struct vpa_kube_request *request; /* the watch, or the question before it */
    struct vpa_json_stream *stream;
    struct vpa_error stream_error; /* why on_data stopped the call */
    bool stream_failed;
    struct vpa_arena arena; /* of one object */
    struct vpa_timer *backoff_timer;
    struct vpa_timer *resync_timer;
    struct vpa_timer *silence_timer;  /* while a watch is under way */
    struct vpa_timer *accepted_timer; /* behind its 200 */
    bool ever_in_step;
    int64_t in_step_at; /* monotonic, the last moment at which that was certain */
    int64_t shown_at;   /* the same, as the metric has it */
    int64_t list_started;
    vpa_duration backoff;
    int64_t backoff_used;
    int64_t watch_started;
    int64_t quiet_since;      /* the watch is open, monotonic */
    int64_t catches_up_until; /* monotonic: its events are old ones, perhaps; 0: they are not */
    uint64_t watch_events;
    unsigned short_watches;
    bool error_frame; /* the stream brought an ERROR */
    struct vpa_kube_status frame_status;
    char frame_reason[64];
    struct vpa_table unknown; /* "namespace/name" -> struct reflector_unknown */
    unsigned round;           /* counts lists */
    struct vpa_reflector_stats stats;
};

/* An object that is there and cannot be used. */
struct reflector_unknown {
    unsigned round; /* of the list that saw it last, or behind which a watch did */
    char key[];
};

/* Begins a phase. */
void reflector_start_list(struct vpa_reflector *r);
void reflector_start_watch(struct vpa_reflector *r);
/* WATCH when the server still has the version from which it begins, else LIST. */
void reflector_resume(struct vpa_reflector *r);
/* The next phase comes after a pause. */
void reflector_back_off(struct vpa_reflector *r, bool then_watch);
/* The same trouble once, not every 30 seconds; deeper levels see every one. */
void reflector_report(struct vpa_reflector *r, const char *what, const struct vpa_error *err);
void reflector_note_in_step(struct vpa_reflector *r, int64_t at);
void reflector_add_selector(const struct vpa_reflector *r, struct vpa_buf *path);

/* The stream of a call, and its bytes into it. */
void reflector_new_stream(struct vpa_reflector *r, enum vpa_stream_kind kind,
                          const struct vpa_json_stream_handler *handler);
int reflector_on_data(void *ctx, const char *bytes, size_t len);

/* An object to the consumer, or past it; -1 when it cannot even be told which one is missing. */
int reflector_give_object(struct vpa_reflector *r, enum vpa_reflector_event event,
                          const struct vpa_json *object, struct vpa_error *err);
/* The same for one that cannot be read; root is where it stands in the text, "" or "object.". */
int reflector_skip_text(struct vpa_reflector *r, enum vpa_reflector_event event,
                        struct vpa_slice text, const char *root, const struct vpa_error *why,
                        struct vpa_error *err);
/* A list came to its end: what it did not bring is gone. */
void reflector_sweep_unknown(struct vpa_reflector *r);
/* The text at root + path of an object that cannot be read, "" when it is not found. */
const char *reflector_peek(struct vpa_reflector *r, struct vpa_slice text, const char *root,
                           const char *path);
void reflector_too_long(const struct vpa_reflector *r, struct vpa_error *err);

/* Whether the server says that it does not have that version any more, or not yet. */
bool reflector_lacks_version(const struct vpa_kube_status *status);

/* Timer: a watch has been silent for too long. */
void reflector_on_silence(void *ctx);
/* Timer: the server has nothing against the version from which a watch begins. */
void reflector_on_accepted(void *ctx);

#endif
