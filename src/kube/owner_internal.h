/*
 * The parts of owner resolution:
 *   owner_store.c   the seven well-known kinds, a watch cache each
 *   owner_fetch.c   asks for one scale
 *   owner_scale.c   answers of scale subresources, remembered and refreshed
 *   owner_view.c    the immutable form for other threads
 *   owner_wanted.c  what that could not answer
 *   owner.c         the walk and the questions
 */
#ifndef VPA_KUBE_OWNER_INTERNAL_H
#define VPA_KUBE_OWNER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "vpa/api/controller.h"
#include "vpa/base/table.h"
#include "vpa/kube/cache.h"
#include "vpa/kube/owner.h"

#define NODE_OWNER_TEXT "node is not a valid owner"

/* Parent reference; kind NULL: none. */
struct parent {
    const char *kind;
    const char *name;
    const char *api_version;
};
struct parent owner_parent_copy(struct vpa_arena *arena, const struct vpa_meta *meta);
bool owner_parent_same(const struct parent *a, const struct parent *b);
bool owner_selector_same(const struct vpa_selector *a, const struct vpa_selector *b);

/* What is kept of one object, in a watch cache. */
struct owner_entry {
    struct parent parent;
    struct vpa_selector selector;
    const char *selector_error; /* NULL when the selector is good */
    bool has_replicas;
    int32_t replicas;
    int32_t wanted; /* pods it is to have; another number than replicas for a DaemonSet */
};

struct owner_feed { /* one kind */
    struct owner_store *store;
    enum vpa_controller_kind kind;
    struct vpa_cache *cache;
};
struct owner_store {
    struct owner_feed feeds[VPA_KIND_COUNT];
    void (*changed)(void *ctx);
    void *ctx;
};
void owner_store_init(struct owner_store *store, const struct vpa_owners_options *options,
                      void (*changed)(void *ctx), void *ctx);
void owner_store_release(struct owner_store *store);
/* NULL when it is not there, or unknown. */
const struct owner_entry *owner_store_find(const struct owner_store *store,
                                           enum vpa_controller_kind kind, const char *ns,
                                           const char *name);

/*
 * The scale of (namespace, group, kind, name) through all mappings of the kind: the first that
 * answers. Never changed once made; a refresh replaces it.
 */
struct owner_scale {
    atomic_uint refs;
    struct vpa_arena arena;
    const char *key;
    struct vpa_controller_key of; /* as it was asked for */
    bool ok;                      /* some mapping answered */
    bool absent;                  /* last error: 404 of the object */
    enum vpa_code code;
    const char *error; /* of the last mapping, "" when ok */
    struct parent parent;
    bool has_selector; /* status.selector is not empty */
    struct vpa_selector selector;
    int32_t replicas;
    bool said;                   /* this answer or one before it told a number of replicas */
    int64_t fetched, refresh_at; /* monotonic */
    uint64_t pass;
    bool slow;    /* it took longer than a pass waits */
    bool failing; /* good, but the background asks for it in vain */
    int64_t failing_since;
    atomic_bool read;  /* since the last sweep */
    int64_t last_read; /* loop thread */
    int64_t followed_until;
};
struct owner_scale *owner_scale_ref(struct owner_scale *scale);
void owner_scale_unref(struct owner_scale *scale);
void owner_scale_key(struct vpa_buf *buf, const struct vpa_controller_key *key);
/* The same for all of a kind, or for any kind of its group. */
void owner_kind_key(struct vpa_buf *buf, const struct vpa_controller_key *key, bool any);
struct vpa_controller_key owner_copy_key(struct vpa_arena *arena,
                                         const struct vpa_controller_key *key);

/* Questions of other threads that a view could not answer. Shared, outlives views. */
#define OWNER_WANTED_MAX 1024
struct owner_wanted {
    atomic_uint refs;
    pthread_mutex_t lock;
    struct vpa_owners *owners; /* NULL once freed */
    bool posted;               /* owner_scales_wanted, which has not taken anything since */
    struct vpa_table wants;    /* by the keys of their scales */
    struct vpa_table shares;   /* namespace -> struct owner_share */
    TAILQ_HEAD(, owner_share) turns;
};
struct owner_wanted *owner_wanted_new(struct vpa_owners *owners);
/* now: one that is there already counts as asked for just now. */
void owner_wanted_add(struct owner_wanted *wanted, const struct vpa_controller_key *key, bool now);
/* For a scale that is known: behind all that. Waits already, or from now on; false: not, because
 * VPA_OWNER_AGAIN_MAX such of its namespace wait, or nobody has more that could make way. */
bool owner_wanted_again(struct owner_wanted *wanted, const struct vpa_controller_key *key);
/* One that may be taken, NULL: any. False: there is none. The texts are the caller's, see
 * owner_key_release. */
typedef bool (*owner_may_fn)(const struct vpa_owners *owners, const struct vpa_controller_key *key);
bool owner_wanted_take(struct owner_wanted *wanted, owner_may_fn may,
                       struct vpa_controller_key *out);
void owner_key_release(struct vpa_controller_key *key);
void owner_wanted_unref(struct owner_wanted *wanted);

struct vpa_owners {
    struct vpa_kube_client *client;
    struct vpa_loop *loop;
    struct vpa_discovery *discovery;
    struct owner_store store;
    struct vpa_table scales; /* key -> struct owner_scale */
    struct vpa_timer *sweep;
    struct vpa_timer *failures; /* new ones, which are told together */
    struct owner_wanted *wanted;
    LIST_HEAD(, owner_fetch) fetches; /* under way */
    size_t background;                /* of these, those that nobody waits for */
    size_t sweep_cursor;              /* position in scales */
    uint64_t pass;
    struct vpa_table troubles; /* of this pass: what was asked for in vain, how often */
    vpa_duration target_age;   /* of an answer that does for a target without asking */
    vpa_duration waited;       /* for such, and for owners that were not known */
    bool started, changed, scales_changed, telling;
    void (*on_change)(void *ctx);
    void *on_change_ctx;
    struct vpa_owner_view *view; /* last one taken */
};
void owners_note_change(void *ctx);
/* Until a failure of an owner that nobody has asked for before is told: who looks at a change
 * makes a view of everything. */
#define OWNER_FAILURES_TOLD (100 * VPA_MILLISECOND)

/* Asks the server without waiting; fn gets a new scale with one reference, from the loop, never
 * from start. The texts of key are copied. */
typedef void (*owner_fetched_fn)(void *ctx, struct owner_scale *scale);
struct owner_fetch;
struct owner_fetch *owner_fetch_start(struct vpa_owners *owners,
                                      const struct vpa_controller_key *key, owner_fetched_fn fn,
                                      void *ctx);
void owner_fetch_cancel(struct owner_fetch *fetch);
/* An answer that discovery gives in this pass: there is no such kind, or it has no scale, so that
 * thousands of objects are not asked for one by one. NULL: it has, or it is not known. */
struct owner_scale *owner_scale_missing(struct vpa_owners *owners,
                                        const struct vpa_controller_key *key);
/* For at least so long. */
bool owner_fetch_is_under_way(const struct vpa_owners *owners, const struct vpa_controller_key *key,
                              vpa_duration since);
/* How many are under way that owner_scale_hangs is true of. */
size_t owner_fetch_count_hanging(const struct vpa_owners *owners);
/* Whether discovery can tell in this pass if there is such a kind, without asking. */
bool owner_kind_is_read(const struct vpa_owners *owners, const struct vpa_controller_key *key);
/* How long a pass waits for one scale. */
#define OWNER_SCALE_PATIENCE (10 * VPA_SECOND)
/* Asks and waits, pumping the loop. NULL with err when the loop was stopped, or with VPA_RETRY when
 * no answer came in time: then the answer is remembered when it comes. */
struct owner_scale *owner_scale_fetch(struct vpa_owners *owners,
                                      const struct vpa_controller_key *key, struct vpa_error *err);
/* The same for the target of a VPA. But a pass does not wait for what is slow, nor ask for another
 * one where too many of the namespace were asked for in vain: what was remembered is given instead,
 * or there is no answer (VPA_RETRY). With one reference. */
struct owner_scale *owner_scale_of_target(struct vpa_owners *owners,
                                          const struct vpa_controller_key *key,
                                          struct vpa_error *err);
/* Takes longer than a pass waits, or is not known and others of its kind did in this pass. */
bool owner_scale_hangs(const struct vpa_owners *owners, const struct vpa_controller_key *key);
void owner_scales_begin_pass(struct vpa_owners *owners);
/* For an answer that nobody waits for: counts as one of the background. ctx: the owners. */
void owner_scale_on_late(void *ctx, struct owner_scale *s);
/* The remembered one, asked for when unknown, due, a negative one of an earlier pass, or older than
 * that. Borrowed until the next fetch. */
struct owner_scale *owner_scale_get_within(struct vpa_owners *owners,
                                           const struct vpa_controller_key *key, vpa_duration age,
                                           struct vpa_error *err);
/* Borrowed, as it is; NULL when there is none. */
struct owner_scale *owner_scale_find(const struct vpa_owners *owners,
                                     const struct vpa_controller_key *key);
/* Takes over the reference; a first answer counts as a reading, a further one does not. The
 * remembered one: that from before where the answer is the same. Borrowed. */
struct owner_scale *owner_scale_remember(struct vpa_owners *owners, struct owner_scale *scale);
void owner_scales_release(struct vpa_owners *owners);
/* Timer, and posted call: begin to fetch what is due or wanted, in the background. */
void owner_scales_sweep(void *ctx);
void owner_scales_wanted(void *ctx);

/* The walk and the selector over any source of knowledge. */
struct owner_source {
    void *ctx;
    const struct owner_entry *(*entry)(void *ctx, enum vpa_controller_kind kind, const char *ns,
                                       const char *name);
    /* NULL with err: not known (yet), the walk ends. */
    const struct owner_scale *(*scale)(void *ctx, const struct vpa_controller_key *key,
                                       struct vpa_error *err);
};
int owner_walk(const struct owner_source *source, const struct vpa_controller_key *key,
               struct vpa_arena *arena, bool *found, struct vpa_controller_key *top,
               struct vpa_error *err);
/* Borrowed from the source. */
int owner_selector(const struct owner_source *source, const struct vpa_controller_key *key,
                   const struct vpa_selector **out, struct vpa_error *err);
/* More than one slash. */
bool owner_bad_api_version(const char *api_version);

#endif
