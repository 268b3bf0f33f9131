/*
 * Owners: the label selector of a target, the topmost well-known or scalable controller of an
 * object, and the configured replicas (api.md 4 and 6.3, recommender.md 15.2 and 15.3,
 * admission.md 9.3 to 9.6 of the specification).
 *
 * The seven well-known kinds (DaemonSet, Deployment, ReplicaSet, StatefulSet,
 * ReplicationController, Job, CronJob) are kept by reflectors, only owner, selector and replicas of
 * each, a few hundred bytes. Other kinds are asked through their scale subresource; answers of the
 * walk are cached: refreshed after 10 to 20 minutes, dropped an hour after the last read, negative
 * ones asked again in the next pass (U19, docs/compatibility.md).
 *
 * Two ways to ask:
 *
 *     struct vpa_owners       on the loop; may ask the API server, pumping the loop
 *     struct vpa_owner_view   immutable, shared with other threads, never asks: what it does not
 *                             know is "not known yet" (VPA_RETRY), noted for the loop, and known
 *                             soon after
 */
#ifndef VPA_KUBE_OWNER_H
#define VPA_KUBE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/api/labels.h"
#include "vpa/api/vpa.h"
#include "vpa/kube/client.h"
#include "vpa/kube/discovery.h"

#define VPA_OWNER_CHAIN_MAX 64                    /* longer chains count as a cycle */
#define VPA_OWNER_SCALE_MAX 16384                 /* scale answers remembered */
#define VPA_OWNER_SCALE_REFRESH (10 * VPA_MINUTE) /* times uniform [1, 2) */
#define VPA_OWNER_SCALE_UNREAD VPA_HOUR
#define VPA_OWNER_FETCHES_MAX 8 /* scales asked for at a time in the background */
#define VPA_OWNER_AGAIN_MAX 256 /* of a namespace, that wait to be asked for again */

/* Identity of a controller; texts are borrowed or in the arena given. */
struct vpa_controller_key {
    const char *ns;
    const char *kind;
    const char *name;
    const char *api_version;
};
/* Both borrow; ns is that of the object that has the owner. */
struct vpa_controller_key vpa_controller_key_of_owner(const char *ns,
                                                      const struct vpa_owner_reference *owner);
struct vpa_controller_key vpa_controller_key_of_target(const struct vpa_object *vpa);
bool vpa_controller_key_equal(const struct vpa_controller_key *a,
                              const struct vpa_controller_key *b);
/* One of the seven, by kind alone. */
bool vpa_is_well_known_kind(const char *kind);

struct vpa_owners_options {
    struct vpa_kube_client *client; /* borrowed */
    const char *ns;                 /* restricts the caches, NULL or "": all namespaces */
};
struct vpa_owners;
struct vpa_owners *vpa_owners_new(const struct vpa_owners_options *options);
void vpa_owners_start(struct vpa_owners *owners);
void vpa_owners_free(struct vpa_owners *owners); /* NULL is allowed */
bool vpa_owners_is_synced(const struct vpa_owners *owners);
/* The largest age of the caches (vpa_cache_age) and whose it is: "replicasets". */
vpa_duration vpa_owners_age(const struct vpa_owners *owners, int64_t now, const char **which);
/* Waits, pumping the loop; the error names the kind that is not in step. timeout 0: no limit. */
int vpa_owners_wait(struct vpa_owners *owners, vpa_duration timeout, struct vpa_error *err);
/* A new pass of the daemon: negative answers are asked again when needed. */
void vpa_owners_begin_pass(struct vpa_owners *owners);
struct vpa_discovery *vpa_owners_discovery(struct vpa_owners *owners);

/* The selector of a target; api.md 6.3 has the error texts. That of a scale target is asked for
 * each time, pumping the loop, as upstream does and the golden vectors demand: a target that breaks
 * shows in the conditions of the next pass. */
int vpa_owners_selector(struct vpa_owners *owners, const struct vpa_controller_key *target,
                        struct vpa_arena *arena, struct vpa_selector *out,
                        struct vpa_error *err) VPA_MUST_CHECK;
/* From now on a good answer to that question which is at most this old is taken instead of asking
 * again: for who writes nothing. 0, as at first: none is. */
void vpa_owners_remember_targets(struct vpa_owners *owners, vpa_duration age);
/* Walks from key to the topmost well-known or scalable controller. 0: *found tells whether there is
 * one and *top is it, its texts in the arena. -1: error texts of api.md 6.3. VPA_NOT_FOUND: the
 * caches do not have a controller of a well-known kind, perhaps not yet; VPA_RETRY: a scale is not
 * known yet; VPA_NOT_OURS: the walk ended at a Node. */
int vpa_owners_topmost(struct vpa_owners *owners, const struct vpa_controller_key *key,
                       struct vpa_arena *arena, bool *found, struct vpa_controller_key *top,
                       struct vpa_error *err) VPA_MUST_CHECK;
/* Whether a failed walk ended at a Node, which callers that look up pods pass over in silence. */
bool vpa_owner_is_node_error(const struct vpa_error *err);

/* Configured replicas of a controller: spec.replicas of the four kinds that have it,
 * spec.parallelism for a Job, status.numberReady for a DaemonSet; other kinds by the
 * cached scale (U8). false: not known. */
bool vpa_owners_replicas(struct vpa_owners *owners, const struct vpa_controller_key *key,
                         int32_t *replicas);
/* The same, for what hangs on it: a scale that was read longer ago than that is read anew, pumping
 * the loop. */
bool vpa_owners_replicas_within(struct vpa_owners *owners, const struct vpa_controller_key *key,
                                vpa_duration age, int32_t *replicas);
/* Pods that the controller is to have: the same number, but status.desiredNumberScheduled for a
 * DaemonSet, whose other number falls with each pod that is missing. */
bool vpa_owners_wanted(struct vpa_owners *owners, const struct vpa_controller_key *key,
                       int32_t *wanted);
/* Whether a scale that is asked for has told a number once, though it may not be known now. */
bool vpa_owners_has_said(const struct vpa_owners *owners, const struct vpa_controller_key *key);

/*
 * View. Shards are shared between views, so taking one after few changes is cheap. Reference
 * counted; ref, unref and look-ups from any thread.
 */
struct vpa_owner_view;
/* A reference to the current state; the caller unrefs it. Loop thread only. */
struct vpa_owner_view *vpa_owners_view(struct vpa_owners *owners);
struct vpa_owner_view *vpa_owner_view_ref(struct vpa_owner_view *view);
void vpa_owner_view_unref(struct vpa_owner_view *view); /* NULL is allowed */
int vpa_owner_view_topmost(const struct vpa_owner_view *view, const struct vpa_controller_key *key,
                           struct vpa_arena *arena, bool *found, struct vpa_controller_key *top,
                           struct vpa_error *err) VPA_MUST_CHECK;
/* The selector borrows from the view. */
int vpa_owner_view_selector(const struct vpa_owner_view *view,
                            const struct vpa_controller_key *target,
                            const struct vpa_selector **out, struct vpa_error *err) VPA_MUST_CHECK;
/* Called on the loop whenever a new view would differ from the last one taken. */
void vpa_owners_on_change(struct vpa_owners *owners, void (*fn)(void *ctx), void *ctx);
/* Has the scale of this target fetched in the background and kept fresh (30 s), for the next views.
 */
void vpa_owners_follow_target(struct vpa_owners *owners, const struct vpa_controller_key *target);
/* Counts as a reading of the scale of this target: what nobody reads for VPA_OWNER_SCALE_UNREAD is
 * forgotten, and the first pod after a quiet hour would find nothing. True: it was asked for
 * before, with whatever answer, or never is. False: it is going to be, unless too many wait; then
 * the caller comes again. */
bool vpa_owners_keep_target(struct vpa_owners *owners, const struct vpa_controller_key *target);
/* How many scales are remembered, with whatever answer. */
size_t vpa_owners_scale_count(const struct vpa_owners *owners);

#endif
