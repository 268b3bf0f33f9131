/*
 * How a standby and the leader know of each other: a Lease beside that of the leader.
 *
 * Both read the same samples, so the standby's model is as good as the leader's, from when it has
 * loaded checkpoints that lack nothing. While such a standby is there, the leader writes changed
 * checkpoints seldom; without one it writes them in every pass, because they are all that is left
 * of it. The Lease says which of the two it is:
 *
 *     standby starts      standby_claim()    its holder is this process, renewTime is empty: the
 *                                            leader writes every checkpoint from its next pass on
 *     has loaded them     standby_end_pass() after each pass, with the time of that pass
 *     leader, each pass   standby_is_in_step()
 *
 * A standby that could not read the usage knows less than the leader. It does not renew, so that
 * the leader writes every checkpoint from its STANDBY_SILENCE + 1st pass on, and when there is
 * usage again it does what one does that starts: claims, waits, loads, renews. When it has to lead
 * before that, it loads what the leader has stored meanwhile. That nothing failed says little: one
 * that was stopped, or whose pass took long, has missed the passes of the leader in between. So the
 * clock tells: an interval and a half since it began a pass with usage. One all of whose passes are
 * that slow loads again and again, and is never in step. Where the loading of a pass alone takes
 * that long, the third one in a row counts from its end: the samples of a few passes cost less than
 * a standby that never comes in step.
 *
 * The newest standby takes the Lease over, and the one before takes it back only when that one has
 * come to nothing: it leads by now, and so gave the Lease up, or was not seen to renew it in ten
 * passes. Clocks are never compared: a standby is there while renewTime changes. Where the Lease
 * may not be read (upstream's roles) there is no standby, as far as the leader knows; one line says
 * so. Every tenth pass asks again: an API server that has just started refuses everything for a
 * moment.
 */
#ifndef RECOMMENDER_STANDBY_H
#define RECOMMENDER_STANDBY_H

#include "vpa/kube/client.h"
#include "vpa/kube/elector.h"

/* Behind the name of the leader's Lease. */
#define STANDBY_SUFFIX "-standby"
/* Passes of the leader without a renewal after which the standby is gone. */
#define STANDBY_SILENCE 2
/* Passes of a displaced standby in which the newer one must have renewed: it may be loading. */
#define STANDBY_PATIENCE 10
/* Loads in a row: where one takes longer than an interval, none falls between two passes. */
#define STANDBY_LOADS 3

struct standby_options {            /* texts are copied */
    struct vpa_kube_client *client; /* borrowed; may write although this process does not lead */
    const char *ns;
    const char *leader;   /* name of the leader's Lease */
    const char *identity; /* of this process */
    /* Of this process; NULL: none. It yields until standby_claim() has found that nobody else was
     * in step: a leader that was killed and comes back at once has the stored checkpoints, a
     * standby has all that was learned since. */
    struct vpa_elector *elector;
};
struct standby;
/* interval: between two passes. */
struct standby *standby_new(const struct standby_options *options, vpa_duration interval);
void standby_free(struct standby *standby); /* NULL is ignored */

/* These pump the loop. What fails is logged. */

/* True: another standby may have been in step, so that the stored checkpoints may lack what the
 * leader has learned since; they are whole when it has made one more pass. */
bool standby_claim(struct standby *standby);
/* A standby's, after each pass. */
void standby_end_pass(struct standby *standby);
/* Once per pass. */
bool standby_is_in_step(struct standby *standby);

/* These do not pump. As the first thing of a pass; who leads misses nothing from then on. */
void standby_begin_pass(struct standby *standby, bool leads);
/* The pass under way, which began then (monotonic), could read the usage or not; to be told as soon
 * as that is known: the pass may end as the leader's. */
void standby_note_usage(struct standby *standby, int64_t begin, bool has_usage);
/* Whether the stored checkpoints hold usage that this process has missed, of all passes: they are
 * to be loaded, and nothing is to be written over them before. One that lacks samples all the same,
 * because its writes were refused, changes nothing where the model has counted as many. */
bool standby_is_to_load(const struct standby *standby, bool leads);
/* As they were then (monotonic): when the load began, as a standby's. It ends now. */
void standby_has_loaded(struct standby *standby, int64_t begin);
/* Behind the usage of a pass, from then on: what was loaded before it is read once more. */
void standby_has_loaded_twice(struct standby *standby, int64_t begin);
/* It leads, knows what was stored before, and what is stored from now on is its own. */
void standby_has_taken_over(struct standby *standby);

#endif
