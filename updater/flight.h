/*
 * The requests of a pass that are under way. Answers come in on the loop and are only noted there;
 * the pass deals with them when it gets to it, in the order in which they came.
 *
 *     flight_begin(pass, &a->flight);             // sent
 *     flight_answered(pass, &a->flight);          // in the callback: the answer is noted
 *     updater_pass_settle(pass);                  // calls a->flight.finish, which frees it
 */
#ifndef UPDATER_FLIGHT_H
#define UPDATER_FLIGHT_H

#include "pass.h"

struct flight {
    struct flight *next, *previous;
    struct vpa_kube_request *request;      /* under way; set by the owner */
    void (*finish)(struct flight *flight); /* deals with the answer and frees */
    void (*drop)(struct flight *flight);   /* frees; the request was cancelled */
};
void updater_flight_begin(struct pass *pass, struct flight *flight);
void updater_flight_answered(struct pass *pass, struct flight *flight);

/* Takes a token, waiting for it when the deadline allows that. A limiter that gives up does so for
 * the rest of the pass: its next token comes behind the deadline. */
enum pass_token {
    PASS_TOKEN_REFUSED,
    PASS_TOKEN_TAKEN,
    PASS_TOKEN_TAKEN_LATE, /* after a wait: the loop was pumped, answers were dealt with */
};
enum pass_token updater_pass_take_token(struct pass *pass, struct vpa_rate *rate);
/* Deals with the answers that came in. */
void updater_pass_settle(struct pass *pass);
/* Waits until nothing is under way; when the pass is stopped, not for long. */
void updater_pass_drain(struct pass *pass);
/* Waits until an answer came in and deals with it, or until the pass is stopped. */
void updater_pass_wait(struct pass *pass);

#endif
