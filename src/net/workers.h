/*
 * Threads for work that must not keep a server's own threads from their other connections.
 *
 *     struct workers *w = workers_new(2);
 *     workers_give(w, &job->work);      // job->work.run(&job->work, false) on one of them
 *     workers_stop(w);                  // run(..., true) for those that have not begun
 *     workers_free(w);
 */
#ifndef NET_WORKERS_H
#define NET_WORKERS_H

#include <stdbool.h>

struct workers;

struct work { /* part of the job, which must live until run was called */
    void (*run)(struct work *work, bool cancelled);
    struct work *next; /* private */
};

/* NULL when a thread cannot be had. */
struct workers *workers_new(unsigned threads);
/* First come, first served. Any thread may call. After the stop it is cancelled at once. */
void workers_give(struct workers *workers, struct work *work);
/* Cancels what waits, at once, and then waits for what is under way. Twice, or NULL, is allowed. */
void workers_stop(struct workers *workers);
/* Stops; nobody gives any more. NULL is allowed. */
void workers_free(struct workers *workers);

#endif
