/*
 * A small cluster in which one thing is long: what a tenant could store to make the suite work.
 *
 * Namespace "n" has one ReplicaSet "rs", its pods, and a VPA with a recommendation. A field names
 * what becomes n long; everything else stays small. All is JSON text, as an API server would send
 * it.
 */
#ifndef HOSTILE_WORLD_H
#define HOSTILE_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/buf.h"

struct world {
    struct vpa_buf vpas; /* items of the lists, with commas between them */
    struct vpa_buf pods;
    struct vpa_buf replica_sets;
    struct vpa_buf limit_ranges;
    struct vpa_buf checkpoints;
    struct vpa_buf usage;
    struct vpa_buf vpa; /* the first of each list alone, for reviews */
    struct vpa_buf pod;
    size_t largest;    /* bytes of the largest object */
    size_t copies;     /* stored objects of that size, about */
    bool memory_saver; /* the recommender's flag */
};

/* False for an unknown field. n: how long. The world is released by world_release. */
bool world_build(struct world *world, const char *field, size_t n);
void world_release(struct world *world);
/* The i-th field's name, NULL behind the last. */
const char *world_field(size_t i);
/* What grows is the number of objects: the largest object says nothing then. */
bool world_field_counts_objects(size_t i);

#endif
