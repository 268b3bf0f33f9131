/* A case of the form of the set priority. */
#ifndef UPDATER_PRIORITY_H
#define UPDATER_PRIORITY_H

#include "golden.h"

void updater_priority_case(struct golden_case *c);

#endif
