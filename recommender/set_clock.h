/*
 * The time by which things are old. What is old enough is thrown away, and is gone then, so a clock
 * that somebody has set is not gone by until it is as it was, or for a day: meanwhile it is as late
 * as the clock says, or as it would have said, whichever is earlier. The monotonic clock tells. One
 * that was wrong from the start is ahead of the API server's, which counts then; one that agrees
 * with it is right.
 */
#ifndef RECOMMENDER_SET_CLOCK_H
#define RECOMMENDER_SET_CLOCK_H

#include <stdbool.h>

#include "vpa/net/loop.h"

/* Less is a correction. */
#define SET_CLOCK_BY VPA_HOUR
/* Whoever has not put it right by then has put it right before. */
#define SET_CLOCK_DOUBT (24 * VPA_HOUR)

struct set_clock { /* zeroed: not looked at yet */
    bool known;
    bool doubted;
    vpa_time offset; /* between the two clocks, when it was right */
    int64_t since;   /* monotonic: doubted */
    bool ahead;      /* of the API server's */
};
/* Once in a pass at least; the log tells of changes. ahead: of the API server, 0: not known. */
vpa_time set_clock_now(struct set_clock *clock, const struct vpa_loop *loop, vpa_duration ahead);
/* The clock, or the API server's while they differ by SET_CLOCK_BY: by it what others have dated is
 * of the past. */
vpa_time set_clock_of_server(const struct vpa_loop *loop, vpa_duration ahead);

#endif
