/* The recommender's exposition after passes. Cases are scenario cases whose passes carry lines. */
#include "recommender_process.h"

static void run(struct golden_case *c)
{
    world_run_case(c, false);
}

static void invariant(struct golden_case *c)
{
    world_run_case(c, true);
}

extern const struct golden_set golden_set_recommender_metrics;
const struct golden_set golden_set_recommender_metrics = {
    .name = "recommender_metrics", .run = run, .invariant = invariant};
