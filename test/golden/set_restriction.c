/*
 * Set restriction: replica groups, disruption budgets, evictions and resizes, step by step on the
 * groups of one pass.
 */
#include <string.h>

#include "updater_case.h"
#include "updater_priority.h"
#include "updater_steps.h"

static void run(struct golden_case *c)
{
    if (strcmp(c->file, "eviction_requirements") == 0)
        updater_priority_case(c);
    else
        updater_steps_case(c);
}

static void undone(struct golden_case *c)
{
    updater_case_undone(c, run);
}

static void invariant(struct golden_case *c)
{
    if (strcmp(c->file, "eviction_requirements") == 0)
        updater_priority_invariant(c);
    else
        updater_steps_invariant(c);
}

const struct golden_set golden_set_restriction = {.name = "restriction",
                                                  .run = run,
                                                  .invariant = invariant,
                                                  .undone = undone,
                                                  .licences = updater_licences,
                                                  .touches = updater_case_touches};
