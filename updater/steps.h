/*
 * One VPA, step by step: a work runs until it needs an answer, and goes on there when it is stepped
 * again.
 */
#ifndef UPDATER_STEPS_H
#define UPDATER_STEPS_H

#include "work.h"

enum work_step {
    WORK_STEP_BLOCKED, /* goes on when an answer has come in */
    WORK_STEP_FINISHED,
    WORK_STEP_ABORT, /* its limiter gave up, or the pass is stopped: it ends */
};
/* Runs the work until it is blocked, done, or has to end. */
enum work_step updater_work_step(struct work *w);

#endif
