/*
 * Checkpoints: the histories stored on the API server, one object per VPA and container
 * (recommender.md 4 and 14, api.md 7 of the specification).
 *
 * Differences from upstream (docs/compatibility.md): unchanged content is written only once per
 * --checkpoint-max-age (U5); two containers whose objects would have the same name do not share one
 * (U4); what cannot be read is kept aside before it is overwritten (U16); a history is loaded
 * whenever a VPA becomes ours, if it is of the target that the VPA names (U25,
 * VPA_HISTORY_TARGET_ANNOTATION); the memory peaks of open intervals outlive a restart
 * (VPA_OPEN_INTERVALS_ANNOTATION).
 */
#ifndef RECOMMENDER_CHECKPOINTS_H
#define RECOMMENDER_CHECKPOINTS_H

#include "config.h"
#include "feeder.h"

#include "vpa/kube/client.h"
#include "vpa/kube/events.h"
#include "vpa/model/cluster.h"

#define CHECKPOINT_TIMEOUT VPA_MINUTE /* of one call, waiting for the rate limit included */

struct checkpoints_options { /* all borrowed */
    struct vpa_loop *loop;
    struct vpa_kube_client *reader; /* lists */
    struct vpa_kube_client *writer;
    struct vpa_events *events;
    const struct recommender_config *config;
    const struct algorithms *algorithms;
    struct vpa_cluster *cluster;
    struct feeder *feeder;
};
struct checkpoints;
/* The clock of the garbage collection starts now. */
struct checkpoints *checkpoints_new(const struct checkpoints_options *options);
void checkpoints_free(struct checkpoints *c); /* NULL is ignored */

/* Reads all checkpoints into the VPAs of the model, pumping the loop; the pods must be in the
 * model, so that those with an open interval go on with it. VPA_CANCELLED when the loop was
 * stopped; other failures leave some unread: the caller tries again, because writing before
 * everything was read would lose histories. What is read again takes the place of what was. */
int checkpoints_load(struct checkpoints *c, struct vpa_error *err) VPA_MUST_CHECK;

/* The same for VPAs that became this recommender's since, whatever they were before: new, another
 * recommender's, or not decodable. Before the samples of the pass. False: what could not be listed
 * is tried again in the next pass. */
bool checkpoints_load_new(struct checkpoints *c);
/* To it all VPAs are new: what is stored knows more than the model. */
void checkpoints_expect_all(struct checkpoints *c);
/* A standby, after the samples of the pass. The leader may have made its pass first, so that what
 * checkpoints_load_new() has just read holds samples that the standby then counted too. What
 * reaches that far is read again: what the standby has counted itself is left out this time. */
void checkpoints_load_again(struct checkpoints *c);

/* Writes what changed, the VPAs that had their turn longest ago first, until the deadline; at most
 * --update-worker-count calls are under way, and each worker finishes at least one VPA, or a
 * hundred containers of it. by_turns: a standby knows as much, so each checkpoint waits for its
 * turn, once per --checkpoint-interval. */
void checkpoints_write(struct checkpoints *c, vpa_time deadline, bool by_turns);
/* The same, of all, what was written longest ago first; what is under way at the deadline is left
 * there. */
void checkpoints_flush(struct checkpoints *c, vpa_time deadline);

/* Deletes the checkpoints of VPAs that are gone, once per --checkpoints-gc-interval. only_look:
 * what is stored is read as often, and nothing is deleted. by: the time that tells what is old. */
void checkpoints_collect_garbage(struct checkpoints *c, vpa_time by, bool only_look);
/* The next collection comes at once: somebody else wrote until now. */
void checkpoints_look_again(struct checkpoints *c);

#endif
