/*
 * Set priority (and the file eviction_requirements of the set restriction, which has its form): the
 * update priority of pods, who is updated, in which order, and which boosts have expired.
 */
#include "updater_priority.h"

static void run(struct golden_case *c)
{
    updater_priority_case(c);
}

/* A crash of the reference must be the safe outcome, which running the case has shown; the rest of
 * the tagged cases differ in numbers only. */
static void invariant(struct golden_case *c)
{
    (void)c;
}

const struct golden_set golden_set_priority = {
    .name = "priority", .run = run, .invariant = invariant};
