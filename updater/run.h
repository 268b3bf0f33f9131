/*
 * The pass from beginning to end: status lease, selection, works, metrics.
 */
#ifndef UPDATER_RUN_H
#define UPDATER_RUN_H

#include "env.h"

void updater_pass_run(struct pass_env *env);

#endif
