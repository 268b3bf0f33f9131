/*
 * The entries of metadata.managedFields: a manager owns what it applied or changed; fields that are
 * changed or removed leave the others' sets. A manager has an entry for each operation ("Apply",
 * "Update") and subresource ("" for none).
 */
#ifndef KUBESIM_MANAGERS_H
#define KUBESIM_MANAGERS_H

#include "sim.h"

struct jv *managers_find(const struct jv *list, const char *manager, const char *operation,
                         const char *sub);
/* Replaces or adds the entry of the request's manager. */
void managers_put(struct ctx *c, struct jv *list, const char *operation, const char *sub,
                  struct jv *set);
/* Of two entries of one manager the server, which keeps them in a map, reads the last. */
void managers_drop_doubles(struct jv *list);
void managers_drop_empty(struct jv *list);

/* All that can be owned of a new object: not what it has only because its structure in the server
 * has no pointer. */
struct jv *managers_all(struct ctx *c, const struct jv *now);

#endif
