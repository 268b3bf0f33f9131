/*
 * A clock that stands still while code runs; the loop moves it to the next timer when nothing else
 * is ready. So a whole daemon runs in virtual time without waiting.
 *
 *     struct vpa_clock *clock = vpa_clock_new_manual(start);
 *     struct vpa_loop *loop = vpa_loop_new(clock);
 *     vpa_clock_advance(clock, VPA_MINUTE);
 *     vpa_clock_free(clock);
 */
#ifndef TEST_MANUAL_CLOCK_H
#define TEST_MANUAL_CLOCK_H

#include "vpa/daemon/clock.h"

struct vpa_clock *vpa_clock_new_manual(vpa_time start);
/* Forward by d; another clock than a manual one must not be given. */
void vpa_clock_advance(struct vpa_clock *clock, vpa_duration d);
/* As somebody sets the time of day: a manual clock too; monotonic time does not notice. */
void vpa_clock_set(struct vpa_clock *clock, vpa_duration forward);

#endif
