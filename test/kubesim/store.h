/*
 * What the simulator remembers: per resource a sorted array of object versions and a log of what
 * happened, under one global counter, the resourceVersion.
 *
 * A version is immutable and reference counted: its JSON text (without apiVersion and kind, which
 * belong to the version a client asks through), its labels and the values of the resource's field
 * selectors. The log keeps both the new and the previous version of each event: watches need both
 * for selector transitions, and lists at an older version are made by undoing events. Versions
 * below `floor` are forgotten (compaction); the log is bounded by `history_max` events per
 * collection.
 *
 * One mutex guards everything here; functions are called with it held unless they say otherwise.
 */
#ifndef KUBESIM_STORE_H
#define KUBESIM_STORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "jv.h"

struct label {
    const char *key;
    const char *value;
};
struct version {
    atomic_uint refs;
    uint64_t rv;
    const char *ns;
    const char *name;
    const char *uid;
    const char *json; /* {"metadata":... */
    size_t len;
    size_t rv_at; /* where the digits of metadata.resourceVersion are */
    size_t rv_len;
    struct label *labels;
    size_t label_count;
    const char **fields; /* parallel to collection->fields */
    const char *owner;   /* uid of the controlling owner, "" without */
    bool deleting;
    bool unsettled; /* the next write stores it anew even when it changes nothing */
};
enum event_type { EVENT_ADDED, EVENT_MODIFIED, EVENT_DELETED };
struct event {
    uint64_t rv;
    enum event_type type;
    struct version *now;  /* DELETED: the last state, with the version of the deletion */
    struct version *prev; /* NULL for ADDED */
};
struct collection {
    char *group;
    char *plural;
    const char *const *fields; /* paths of field selectors, NULL-terminated; borrowed */
    size_t field_count;
    struct version **items;
    size_t count;
    size_t capacity;
    struct event *log;
    size_t log_first; /* ring */
    size_t log_count;
    size_t log_capacity;
    uint64_t floor; /* events with rv <= floor are forgotten */
    size_t bytes;
    pthread_cond_t changed;
    struct collection *next;
};
struct store {
    pthread_mutex_t lock;
    uint64_t rv;
    size_t history_max;
    struct collection *collections;
    pthread_cond_t any; /* anything changed: for the controllers */
    bool stopping;
};

void store_init(struct store *s, size_t history_max);
void store_release(struct store *s);
/* Found or made. fields is borrowed. */
struct collection *store_collection(struct store *s, const char *group, const char *plural,
                                    const char *const *fields);
struct version *store_find(const struct collection *c, const char *ns, const char *name);
/* Index of the first item not before (ns, name). */
size_t store_lower(const struct collection *c, const char *ns, const char *name);
/* object holds metadata with name and namespace; the version is filled into it. Returns the
 * version, borrowed. */
struct version *store_put(struct store *s, struct collection *c, struct vpa_arena *a,
                          struct jv *object);
/* The event carries `last` (the final state) when given, else the stored one. */
void store_delete(struct store *s, struct collection *c, struct vpa_arena *a, struct version *v,
                  struct jv *last);
/* The items of ns ("" all) as they were at rv (0 now), each with a reference; heap array. -1 when
 * that is forgotten. */
int store_snapshot(const struct collection *c, const char *ns, uint64_t rv, struct version ***out,
                   size_t *count);
/* The first event behind rv, as an index for store_event; log_count when there is none. */
size_t store_event_after(const struct collection *c, uint64_t rv);
static inline const struct event *store_event(const struct collection *c, size_t i)
{
    return &c->log[(c->log_first + i) % c->log_capacity];
}
void store_compact(struct store *s);
struct jv *version_parse(struct vpa_arena *a, const struct version *v);
static inline struct version *version_ref(struct version *v)
{
    atomic_fetch_add(&v->refs, 1);
    return v;
}
void version_unref(struct version *v); /* needs no lock */

#endif
