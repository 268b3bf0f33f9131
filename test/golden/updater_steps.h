/* Cases that look at one VPA inside a pass: steps (set restriction) and decisions (set inplace). */
#ifndef UPDATER_STEPS_H
#define UPDATER_STEPS_H

#include "golden.h"

void updater_steps_case(struct golden_case *c);
void updater_decide_case(struct golden_case *c);
/* What our decisions promise where the reference does something else, for the case that ran last.
 */
void updater_steps_invariant(struct golden_case *c);

#endif
