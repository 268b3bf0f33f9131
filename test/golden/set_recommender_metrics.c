/* The recommender's exposition after passes. Cases are scenario cases whose passes carry lines. */
#include "golden.h"
#include "recommender_process.h"

#include "../../recommender/metrics.h"

static void run_as(struct golden_case *c, bool invariant)
{
    struct world world;
    struct process process;
    struct vpa_error err;

    recommender_metrics_reset();
    world_init(&world, c, invariant);
    if (process_start(&process, &world, 0, false, &err) == 0)
        world_run_steps(&world, &process);
    else
        golden_unexpected(c, "start", err.text);
    process_stop(&process);
    world_release(&world);
}

static void run(struct golden_case *c)
{
    run_as(c, false);
}

static void invariant(struct golden_case *c)
{
    run_as(c, true);
}

extern const struct golden_set golden_set_recommender_metrics;
const struct golden_set golden_set_recommender_metrics = {
    .name = "recommender_metrics", .run = run, .invariant = invariant};
