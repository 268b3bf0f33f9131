/* A case of the form of the set priority. */
#ifndef UPDATER_PRIORITY_H
#define UPDATER_PRIORITY_H

#include "golden.h"

void updater_priority_case(struct golden_case *c);
/* What the decisions promise of the case that ran last. */
void updater_priority_invariant(struct golden_case *c);

#endif
