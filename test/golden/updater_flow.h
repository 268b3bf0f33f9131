/* Cases of the form of the set updater_pass: objects in, passes with all that was sent out. */
#ifndef UPDATER_FLOW_H
#define UPDATER_FLOW_H

#include "golden.h"

void updater_flow_case(struct golden_case *c);
/* What our decisions promise where the reference does something else, for the case that ran last.
 */
void updater_flow_invariant(struct golden_case *c);

#endif
