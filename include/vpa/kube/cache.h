/*
 * One watch cache: the objects of a collection of the API server, as their reader wants them, kept
 * in step by a reflector. It owns what is the same for every reader: keys, mark and sweep around a
 * LIST, what happens to a version that is replaced while somebody reads it, the age of what is
 * known, and the objects of which nobody knows what they say.
 *
 *     static const struct vpa_cache_kind kind = {
 *         .size = sizeof(struct vpa_object), .make = make_vpa, .salvage = salvage_vpa};
 *     struct vpa_cache *vpas = vpa_cache_new(&(struct vpa_cache_options){
 *         .kind = &kind, .client = client, .name = "verticalpodautoscalers", .path = path});
 *     vpa_cache_start(vpas);
 *
 *     vpa_auto_cache_list struct vpa_cache_list list = {0};
 *     vpa_cache_list(vpas, VPA_CACHE_KNOWN, &list);
 *     for (size_t i = 0; i < list.count; i++)
 *         const struct vpa_object *vpa = list.objects[i]; // while the list is held
 *
 * An object is immutable and reference counted: a change makes another one. So there is one rule
 * for all readers: hold what you read. A pass that waits for answers, and so lets the watches flow,
 * holds a list; a thread that answers requests holds a copy of the map (vpa/base/shared_map.h); a
 * callback that ends before the loop turns may borrow.
 *
 * An object that cannot be read or decoded is *unknown*: the cache has its key, the reason, and
 * what `salvage` could save of it, in place of the version before, on which nothing may rest any
 * more. An unknown object is never among the known ones; it goes when it is deleted, when a LIST
 * does not have it, or when a version of it can be decoded.
 *
 * For a reader whose state rests on what objects said (`keeps_last`), an unknown object holds the
 * last version that was known: vpa_cache_last().
 *
 * A reader that packs what it needs into a store of its own, tighter than any cache could be, does
 * not need it twice: 100,000 pods in the recommender's model. For such a reader (`taker`) the cache
 * holds only what has come since it was emptied, by vpa_cache_take(). What is taken is what there
 * is in that moment; older versions come along where they show something that the newest does not.
 *
 * The cache belongs to the loop thread. References and copies of the map may be given up anywhere.
 */
#ifndef VPA_KUBE_CACHE_H
#define VPA_KUBE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/mem.h"
#include "vpa/base/shared_map.h"
#include "vpa/kube/reflector.h"

/* How objects of one resource are kept. All but size may be NULL (0: only that it exists is kept).
 */
struct vpa_cache_kind {
    size_t size; /* of what is kept of one object */
    /* First step, once per version: reads the JSON into scratch memory. *draft goes to make;
     * without this step it gets the JSON. */
    int (*read)(void *ctx, struct vpa_arena *scratch, const struct vpa_json *json,
                const void **draft, struct vpa_error *err);
    /* Makes the object (zeroed, size bytes) out of the draft; everything it points to must be in
     * the arena or outlive the cache. Called twice for a version, first to learn how much room it
     * needs, so that objects, which live for days, waste none; both calls must do the same. */
    int (*make)(void *ctx, struct vpa_arena *arena, const void *draft, void *object,
                struct vpa_error *err);
    /* The same for an unknown object: what to keep of it. what->object may be NULL. */
    void (*salvage)(void *ctx, struct vpa_arena *arena, const struct vpa_unusable_object *what,
                    void *object);
    /* Whether nothing that is kept differs: the old version stays, and nothing has changed. */
    bool (*same)(const void *a, const void *b);
    /* For readers in other threads: under which hash the object stands in the map. NULL: under that
     * of its key, for vpa_cache_map_find. */
    uint64_t (*hash)(const void *object);
    /* Members that read does not look at, see vpa_json_parse_without. NULL: vpa_meta_unread. */
    const char *const *left_out;
};

/* Kinds that several daemons keep. Of an unknown VPA meta.ns, meta.name and, when it can be told,
 * target_ref; of an unknown LimitRange its namespace, name and error. Of others only that they are
 * there. The hashes are of the target (vpa_cache_target_hash) and of the namespace. */
extern const struct vpa_cache_kind vpa_cache_vpas;         /* struct vpa_object */
extern const struct vpa_cache_kind vpa_cache_limit_ranges; /* struct vpa_limit_range */
extern const struct vpa_cache_kind vpa_cache_presence;     /* nothing */
uint64_t vpa_cache_target_hash(const char *ns, const char *kind, const char *name);
uint64_t vpa_cache_ns_hash(const char *ns);

/* Versions of one object that wait to be taken; the newest is replaced when more come. */
#define VPA_CACHE_VERSIONS_MAX 64
/* Names of one list that waits to be taken: 64 MiB are a million objects. */
#define VPA_CACHE_NAMES_MAX ((size_t)64 << 20)

struct vpa_cache_change { /* of one object since the cache was emptied; borrowed for the call */
    const char *ns;
    const char *name;
    bool gone;
    /* The known ones, oldest first. None, and it is not gone: it is there, and nothing new is known
     * of it. */
    const void *const *versions;
    size_t count;
};
struct vpa_cache_taker { /* all of them are needed; ctx is that of the options */
    /* Of an object in a LIST that does not wait to be taken: whether the store has that version
     * already, or has taken it now. draft as the kind's read made it. */
    bool (*has)(void *ctx, const void *draft);
    /* Whether the older version must be seen although a newer one has come. */
    bool (*differs)(const void *older, const void *newer);
    /* Called by vpa_cache_take: once, when a LIST has come to its end, then for each object that it
     * had. All others are gone unless change says otherwise. */
    void (*list)(void *ctx);
    void (*listed)(void *ctx, const char *ns, const char *name);
    /* Behind them, by namespace and name. */
    void (*change)(void *ctx, const struct vpa_cache_change *change);
};

struct vpa_cache_options { /* texts are copied, the rest is borrowed */
    const struct vpa_cache_kind *kind;
    void *ctx; /* of the kind's functions and of changed */
    /* The reflector; client NULL: none, what the handler is given is all. */
    struct vpa_kube_client *client;
    const char *name;
    const char *path;
    const char *field_selector;
    vpa_duration resync;
    bool shared;                         /* keep the map, for readers in other threads */
    bool keeps_last;                     /* see vpa_cache_last */
    const struct vpa_cache_taker *taker; /* NULL: objects stay; else neither shared nor changed */
    /* Behind each change, may be NULL: after is NULL when the object is gone, before when it is
     * new. Either may be unknown. Must not change the cache. */
    void (*changed)(void *ctx, const void *before, const void *after);
};

struct vpa_cache;
struct vpa_cache *vpa_cache_new(const struct vpa_cache_options *options);
void vpa_cache_start(struct vpa_cache *cache);
void vpa_cache_free(struct vpa_cache *cache); /* NULL is allowed; objects that are held live on */
/* What feeds the cache: for tests, and for those who have a reflector of their own. */
struct vpa_reflector_handler vpa_cache_handler(struct vpa_cache *cache);
/* Borrowed; NULL without a client. For waiting. */
struct vpa_reflector *vpa_cache_reflector(const struct vpa_cache *cache);
bool vpa_cache_is_synced(const struct vpa_cache *cache);
/* How long before `now` (monotonic, of its loop) it was certain to be in step, see
 * vpa_reflector_age(). */
vpa_duration vpa_cache_age(const struct vpa_cache *cache, int64_t now);

/* On the loop. Borrowed until the loop turns; NULL when it is not there or unknown. */
const void *vpa_cache_find(const struct vpa_cache *cache, const char *ns, const char *name);
/* It is there, known or not. */
bool vpa_cache_has(const struct vpa_cache *cache, const char *ns, const char *name);
bool vpa_cache_is_unknown(const struct vpa_cache *cache, const char *ns, const char *name);
size_t vpa_cache_count(const struct vpa_cache *cache); /* known and unknown */
/* Why an object is unknown, NULL for a known one. */
const char *vpa_cache_reason(const void *object);
/* The object itself when it is known; else, with keeps_last, its last known version, which lives as
 * long as the object does. NULL: there was none. */
const void *vpa_cache_last(const void *object);

/* Gives the taker all that has come, and forgets it. */
void vpa_cache_take(struct vpa_cache *cache);

enum vpa_cache_part { VPA_CACHE_KNOWN, VPA_CACHE_UNKNOWN, VPA_CACHE_ALL };
struct vpa_cache_list { /* ordered by namespace, then name; each held until the release */
    const void **objects;
    size_t count;
};
void vpa_cache_list(const struct vpa_cache *cache, enum vpa_cache_part part,
                    struct vpa_cache_list *out);
void vpa_cache_list_release(struct vpa_cache_list *list);
#define vpa_auto_cache_list __attribute__((cleanup(vpa_cache_list_release)))

/* A cache that was not shared is from now on. */
void vpa_cache_share(struct vpa_cache *cache);
/* Of a shared cache: objects by kind->hash, known and unknown; borrowed, to be copied. */
const struct vpa_shared_map *vpa_cache_map(const struct vpa_cache *cache);
/* By key, in a copy of the map of a kind without a hash: known or unknown, NULL when it is not
 * there. Borrowed from the copy. */
const void *vpa_cache_map_find(const struct vpa_shared_map *map, const char *ns, const char *name);
/* The object of an entry. */
const void *vpa_cache_object(const struct vpa_shared_item *item);

#endif
