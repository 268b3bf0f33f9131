/*
 * Mutations of what a case expects, to see whether the runner notices (golden --mutate).
 *
 * One mutation changes one leaf: its value, its presence, or a neighbour that should not be there.
 * A leaf is a scalar or an empty array or object. What is chosen depends only on the numbers drawn,
 * so that a seed always makes the same mutations.
 */
#ifndef GOLDEN_MUTATE_H
#define GOLDEN_MUTATE_H

#include <stdint.h>

#include "vpa/base/mem.h"
#include "vpa/json/json.h"

/* A sequence of numbers; any state will do for a start. */
struct golden_dice {
    uint64_t state;
};
uint64_t golden_roll(struct golden_dice *dice);
/* Below count, which must not be 0. */
size_t golden_roll_below(struct golden_dice *dice, size_t count);

struct golden_mutation {
    const struct vpa_json *leaf; /* NULL: there is no leaf to change */
    const char *path;            /* "passes[0].calls[1].body" below the root of the choice */
    enum { GOLDEN_CHANGED, GOLDEN_REMOVED, GOLDEN_ADDED } kind;
    uint64_t draw; /* decides what a changed leaf becomes */
};

const char *golden_mutation_name(const struct golden_mutation *m);
/* Chooses a leaf below the node (not the node itself). */
struct golden_mutation golden_mutation_choose(struct vpa_arena *arena, const struct vpa_json *node,
                                              struct golden_dice *dice);
/* The document as text, with the mutation done to it; NULL when it cannot be written. */
char *golden_mutation_apply(struct vpa_arena *arena, const struct vpa_json *document,
                            const struct golden_mutation *m);

#endif
