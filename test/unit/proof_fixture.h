/* The updater's fixture for what it learns from its actions, which it proves. */
#ifndef PROOF_FIXTURE_H
#define PROOF_FIXTURE_H

#include "updater_fixture.h"

/* Starts the updater, which proves what it does. */
void learn(void);
/* Another process takes over, with the cluster as it is. */
void restart(void);
/* Passes a minute apart, as the ticker makes them. */
void pass_for(int minutes);
/* The last conditions that were written; "" for none. */
const char *condition(void);
/* Counters and gauges of the first VPA. */
double failed_proofs(const char *reason);
double paused(const char *scope);

#endif
