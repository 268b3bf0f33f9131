/* Start-up from a scripted Prometheus: requests, and the passes that follow. */
#include "recommender_process.h"

static void run(struct golden_case *c)
{
    world_run_case(c, false);
}

static void invariant(struct golden_case *c)
{
    world_run_case(c, true);
}

/* How the reference ends. */
static const char *const information[] = {"crash", NULL};

extern const struct golden_set golden_set_history;
const struct golden_set golden_set_history = {
    .name = "history", .run = run, .invariant = invariant, .information = information};
