/*
 * Set priority (and the file eviction_requirements of the set restriction, which has its form): the
 * update priority of pods, who is updated, in which order, and which boosts have expired.
 */
#include "updater_priority.h"

static void run(struct golden_case *c)
{
    updater_priority_case(c);
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
      "admitted"}},
    {"updater.md 16.3",
     {"pods[*].processed", "pods[*].resourceDiff", "pods[*].hex", "pods[*].outsideRecommendedRange",
      "pods[*].scaleUp", "pods[*].decision", "order", "admitted"}},
    {NULL, {NULL}},
};

const struct golden_set golden_set_priority = {
    .name = "priority", .run = run, .invariant = invariant, .licences = licences};
