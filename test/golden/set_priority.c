/*
 * Set priority (and the file eviction_requirements of the set restriction, which has its form): the
 * update priority of pods, who is updated, in which order, and which boosts have expired.
 */
#include "updater_case.h"
#include "updater_priority.h"

static void run(struct golden_case *c)
{
    updater_priority_case(c);
}

static void undone(struct golden_case *c)
{
    updater_case_undone(c, run);
}

/* A crash of the reference must be the safe outcome, which running the case has shown. */
static void invariant(struct golden_case *c)
{
    updater_priority_invariant(c);
}

static const struct golden_licence licences[] = {
    {"U1", {"pods[*].decision", "order", "admitted"}},
    {"updater.md 10.1",
     {"pods[*].resourceDiff", "pods[*].hex", "pods[*].scaleUp", "pods[*].decision", "order",
      "order[*", "admitted", "admitted[*"}},
    {NULL, {NULL}},
};

const struct golden_set golden_set_priority = {.name = "priority",
                                               .run = run,
                                               .invariant = invariant,
                                               .undone = undone,
                                               .undone_wholly = true,
                                               .licences = licences};
