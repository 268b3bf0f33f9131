/*
 * Feeds the model from the API server: VPAs and their targets, pods, out-of-memory kills.
 *
 * Watches keep caches (vpa/kube/cache.h); the pass takes over what they hold when it begins, so
 * what comes and goes between two passes leaves no trace but out-of-memory kills. Nothing else
 * touches the model. One exception keeps start-up small: the first list of pods goes straight into
 * it.
 *
 *     struct feeder *f = feeder_new(&options);
 *     feeder_start(f); feeder_wait(f, &err);
 *     // per pass
 *     feeder_begin_pass(f);
 *     feeder_load_vpas(f, now); feeder_load_pods(f, now);
 *     ... usage ...
 *     feeder_record_ooms(f, now); feeder_remove_deleted_pods(f);
 *     feeder_end_pass(f);
 */
#ifndef RECOMMENDER_FEEDER_H
#define RECOMMENDER_FEEDER_H

#include "config.h"

#include "vpa/kube/client.h"
#include "vpa/kube/owner.h"
#include "vpa/model/cluster.h"
#include "vpa/net/loop.h"
#include "vpa/policy/match.h"

struct feeder_options { /* all borrowed */
    struct vpa_loop *loop;
    struct vpa_kube_client *client;
    const struct recommender_config *config;
    struct vpa_cluster *cluster;
    const struct algorithms *algorithms;
    const bool *standby; /* while it is true nothing is written; NULL: never */
};
struct feeder;
struct feeder *feeder_new(const struct feeder_options *options);
void feeder_free(struct feeder *f); /* NULL is ignored */

/* Starts the caches but for pods, which come after the history so that live pods win over old ones.
 */
void feeder_start(struct feeder *f);
void feeder_start_pods(struct feeder *f);
/* Until everything started is in step, pumping the loop; -1 only when the loop is stopped. */
int feeder_wait(struct feeder *f, struct vpa_error *err) VPA_MUST_CHECK;

/* While a pass runs nothing but the pass touches the model. May be nested. */
void feeder_begin_pass(struct feeder *f);
void feeder_end_pass(struct feeder *f);

/* VPAs of this recommender with their targets into the model; those gone or of others out of it. */
void feeder_load_vpas(struct feeder *f, vpa_time now);
void feeder_load_pods(struct feeder *f, vpa_time now);
void feeder_record_ooms(struct feeder *f, vpa_time now);
void feeder_remove_deleted_pods(struct feeder *f);
/* Any VPA of that name on the API server, also of other recommenders and in ignored namespaces. */
bool feeder_has_vpa(const struct feeder *f, const char *ns, const char *name);
/* False while its newest version does not decode: it gets no status then, because nobody knows what
 * it says, and everything learned for it stays. */
bool feeder_knows_vpa(const struct feeder *f, const char *ns, const char *name);
/* The newest version of a VPA of the pass, borrowed until the loop is pumped. NULL: it is not there
 * any more as the same object and with the same target. A pass waits for answers, and what it
 * learned says nothing to another one that has the name by now. */
const struct vpa_object *feeder_newest_vpa(const struct feeder *f, const struct vpa_object *object);
/* How old the oldest cache is, and which one that is (vpa_reflector_age). */
vpa_duration feeder_age(const struct feeder *f, const char **which);
/* Whether VPAs and pods are being watched at this moment; what does not depend on it is told in
 * recommender.c. */
bool feeder_is_in_step(const struct feeder *f);
/* The VPAs of other recommenders as of feeder_load_vpas, ordered by namespace and name, until the
 * next. A selector is given where it is known without asking the API server; arrays and selectors
 * are in the arena. */
const struct vpa_candidate *feeder_foreign_vpas(struct feeder *f, struct vpa_arena *arena,
                                                size_t *count);
struct vpa_owners *feeder_owners(struct feeder *f);

#endif
