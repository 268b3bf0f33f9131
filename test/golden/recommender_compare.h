/*
 * Comparing what a pass wrote with what the reference wrote (README of the set
 * recommender_scenario).
 */
#ifndef RECOMMENDER_COMPARE_H
#define RECOMMENDER_COMPARE_H

#include "recommender_process.h"

struct pass_totals {
    int64_t status_patches;
    int64_t checkpoint_patches;
    int64_t creates;
    int64_t deletes;
};

/* Adds the writes of the pass just made. */
void compare_count(const struct world *w, struct pass_totals *totals);
/* Which pass of the case: step, its index, and the number of the pass in it. */
struct pass_place {
    const struct vpa_json *step;
    size_t index;
    int64_t number;
};
/* want: the pass of the case; NULL: there is none, which is a difference. */
void compare_pass(struct world *w, const struct vpa_json *want, const struct pass_place *place);
void compare_totals(struct world *w, size_t step, const struct pass_totals *totals);
/* Lines of the exposition. */
void compare_exposition(struct world *w, const struct vpa_json *want, const char *what,
                        const char *label);

#endif
