/* Set updater_pass: whole passes of the updater, every write, event and metric. */
#include "updater_flow.h"

static void run(struct golden_case *c)
{
    updater_flow_case(c);
}

static void invariant(struct golden_case *c)
{
    updater_flow_invariant(c);
}

const struct golden_set golden_set_updater_pass = {
    .name = "updater_pass", .run = run, .invariant = invariant};
