/* What is applied, put over what is there, and what is not applied any more, taken out of it. */
#ifndef KUBESIM_APPLY_MERGE_H
#define KUBESIM_APPLY_MERGE_H

#include "sim.h"

/* Merges a configuration over an object along the schema; changes the object. */
struct jv *apply_merge(struct ctx *c, struct jv *object, const struct jv *config);

/* What a manager applied before and does not apply now. */
struct apply_removal {
    struct vpa_arena *a;
    bool nulls; /* of what is empty now null is left: objects without types in the server */
    bool *lost; /* set where that null is among metadata, whose readers do not see it */
};
/*
 * Takes out of `v` what stands in `last` and nowhere in `kept`, the sets of all managers now. A
 * field that nobody owns any part of goes with all that it holds, also what nobody owned; one that
 * somebody owns stays, if only as null. top: v is a whole object.
 */
void apply_remove(const struct apply_removal *r, const struct schema *s, struct jv *v,
                  const struct jv *last, const struct jv *kept, bool top);

#endif
