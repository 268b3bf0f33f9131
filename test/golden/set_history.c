/* Start-up from a scripted Prometheus: requests, and the passes that follow. */
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
    if (process_start(&process, &world, 0, false, &err) == 0) {
        golden_text(c, "run_error", GOLDEN_OUT(c, "run_error"), NULL);
        /* Where the reference crashes there are no passes to compare with. */
        if (!GOLDEN_OUT(c, "crash"))
            world_run_steps(&world, &process);
    } else {
        golden_text(c, "run_error", GOLDEN_OUT(c, "run_error"), err.text);
    }
    world_compare_requests(&world);
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

extern const struct golden_set golden_set_history;
const struct golden_set golden_set_history = {
    .name = "history", .run = run, .invariant = invariant};
