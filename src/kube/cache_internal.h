/*
 * The parts of a watch cache:
 *   cache.c         items, what the reflector brings, what readers get
 *   cache_taken.c   a cache that holds only what has come since it was emptied
 *   cache_kinds.c   kinds that several daemons keep
 */
#ifndef VPA_KUBE_CACHE_INTERNAL_H
#define VPA_KUBE_CACHE_INTERNAL_H

#include "vpa/base/buf.h"
#include "vpa/base/table.h"
#include "vpa/kube/cache.h"

#define KEY_SEPARATOR "\x01"

/* The object follows it, aligned as the arena aligns. */
struct item {
    _Alignas(16) struct vpa_shared_item shared; /* first, see item_of_shared */
    struct vpa_arena_chunk *chunk;              /* of the arena in which all of it lives */
    const char *key;
    const char *reason;  /* NULL unless unknown */
    struct item *before; /* of an unknown one: the last known version; of a cache that is taken: the
                          * version that came before */
    unsigned round;      /* loop: the list that saw it last */
    bool gone;           /* deleted; of a cache that is taken */
    bool bare;           /* that it is gone is all: no object follows */
};

struct vpa_cache {
    const struct vpa_cache_kind *kind;
    void *ctx;
    void (*changed)(void *ctx, const void *before, const void *after);
    struct vpa_reflector *reflector;
    struct vpa_loop *loop;
    struct vpa_table items;              /* key -> struct item, with a reference each */
    const struct vpa_cache_taker *taker; /* NULL: objects stay */
    struct vpa_buf names;                /* of the list under way: "ns\0name\0"... */
    struct vpa_buf listed;               /* of the newest whole list, until it is taken */
    bool has_list;
    bool keeps_last;
    bool shared; /* there is a map */
    struct vpa_shared_map map;
    size_t unknown;           /* of the items */
    struct vpa_arena scratch; /* of read */
    struct vpa_arena trial;   /* of the first run of make */
    unsigned round;
};

/* What an item is made of. */
struct source {
    const void *draft;                      /* for make; of a known object */
    const struct vpa_unusable_object *what; /* of an unknown one */
    bool gone;                              /* only its key */
    const char *ns, *name;
};

static inline void *cache_object_of(struct item *item)
{
    return item + 1;
}

/* Of a cache that is taken. */
void taken_begin_list(struct vpa_cache *c);
void taken_end_list(struct vpa_cache *c);
void taken_listed(struct vpa_cache *c, const char *ns, const char *name);
/* A version, an unknown one, or that it is gone. */
void taken_put(struct vpa_cache *c, struct item *item);
void taken_release(struct vpa_cache *c);

#endif
