/*
 * The transfers of a loop: a curl multi handle, and poll(2) for what it waits for.
 *
 * curl says which sockets it waits for, and is told which of them are ready. So a transfer costs
 * something when its own socket is ready or its own time has come: ten watches that say nothing
 * cost a request nothing. One thread owns it; only transfers_wake() may be called from others.
 */
#ifndef VPA_NET_TRANSFERS_H
#define VPA_NET_TRANSFERS_H

#include <curl/curl.h>
#include <poll.h>
#include <stddef.h>

struct transfers;
/* Without memory or descriptors the process ends. */
struct transfers *transfers_new(void);
/* Every handle must have been removed before. */
void transfers_free(struct transfers *t);

/* Handles are added and removed here, and finished ones read. */
CURLM *transfers_multi(struct transfers *t);

/* Begins what was added and goes on with what is due. */
void transfers_run(struct transfers *t);
/* How many were not over when curl was last called. */
int transfers_running(const struct transfers *t);

/* Waits until a socket, one of the count descriptors of `own` (a failure of poll(2) itself shows
 * in none of them), or transfers_wake() has something, until curl has something to do, or for so
 * many milliseconds. Goes on with the transfers whose sockets are ready. */
void transfers_wait(struct transfers *t, struct pollfd *own, size_t count, int timeout_ms);

/* What is written to this socket while curl goes on leaves the machine together, when curl has done
 * all it can. From curl's callbacks only. */
void transfers_hold(struct transfers *t, curl_socket_t fd);

/* Ends a wait, or the next one. From any thread. */
void transfers_wake(struct transfers *t);

#endif
