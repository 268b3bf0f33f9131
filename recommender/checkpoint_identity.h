/*
 * What an item of a list of checkpoints says about itself, also when the rest cannot be read.
 */
#ifndef RECOMMENDER_CHECKPOINT_IDENTITY_H
#define RECOMMENDER_CHECKPOINT_IDENTITY_H

#include "vpa/base/str.h"
#include "vpa/json/json.h"

struct checkpoint_identity { /* "" where there is nothing */
    const char *ns;
    const char *name;
    const char *vpa;
    const char *container;
    const struct vpa_json *annotations;
    const char *unreadable_since; /* NULL on ordinary checkpoints */
};

/* Borrowed from the item; where that is NULL, because its text cannot be parsed, in the arena. */
struct checkpoint_identity checkpoint_identity(struct vpa_arena *arena, const struct vpa_json *item,
                                               struct vpa_slice text);

#endif
