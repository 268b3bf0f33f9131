/*
 * The real paths, once each: the daemons' own code on an API server in memory that holds a world.
 */
#ifndef HOSTILE_PATHS_H
#define HOSTILE_PATHS_H

#include "count.h"
#include "world.h"

struct path {
    const char *name;
    /* Counts what the daemon does, not what the test sets up. */
    void (*run)(const struct world *world, struct count *count);
};
/* The path of that name, or NULL. */
const struct path *path_find(const char *name);

#endif
