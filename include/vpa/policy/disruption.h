/*
 * Disruption budget: how many pods of a replica group may be down or in resize at once. Source:
 * specification updater.md 8 and 12.1; DECISIONS U8 (owner kinds without a known replica count).
 *
 * A budget is built once per VPA and pass from the live pods that the VPA controls, and dies with
 * the pass. Several requests may be in flight: an action is counted when it is sent (reserve) and
 * given back when it fails (give_back), so that a budget is never exceeded, whatever the answers.
 *
 *     struct vpa_disruption *d = vpa_disruption_new(vpa, pods, count, replicas, ctx, &options);
 *     struct vpa_replica_group *group = vpa_disruption_group(d, i);
 *     if (vpa_group_disruptable(group)) ...
 *     vpa_disruption_free(d);
 */
#ifndef VPA_POLICY_DISRUPTION_H
#define VPA_POLICY_DISRUPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/policy/update_memory.h"

struct vpa_disruption_options {
    int64_t min_replicas;      /* --min-replicas */
    double tolerance;          /* --eviction-tolerance */
    bool in_place_skip_budget; /* --in-place-skip-disruption-budget */
    /* What is known of evictions; NULL: nothing. An evicted pod counts as gone from then on,
     * however alive it looks; a live count that stands in for a configured one, and the count of
     * those that are ready in a DaemonSet, are without it until it is replaced: it is added. */
    const struct vpa_update_memory *memory;
    /* Pods that the owner has beside those given, and of which nobody knows what they say (U21):
     * they count as not available. NULL: none. */
    int64_t (*unknown)(void *ctx, const char *ns, const char *kind, const char *name);
};

/* Pods with one immediate owner. Field by field readable; changed only through the functions below.
 */
struct vpa_replica_group {
    const char *ns;
    const char *kind; /* of the first owner reference with controller: true */
    const char *name;
    const char *api_version;
    int64_t configured;
    int64_t running; /* live pods that are neither Pending nor evicted, nor starting for us */
    int64_t pending;
    int64_t tolerance; /* pods that may be missing */
    int64_t evicted;   /* of this pass, requests in flight included; pending pods do not count */
    int64_t in_place_started;
    int64_t in_flight; /* reserved, not yet answered: a refusal now may turn into consent later */
    vpa_time newest;   /* creation of its newest pod */
    bool live_count;   /* nobody has configured a number: `configured` counts the pods */
    bool closed;       /* its number cannot be read any more: nobody may be disturbed */
    bool below_min;    /* too few live pods: nobody may be evicted, not even a pending pod (U26) */
    /* UID of a pod that may have been disturbed or not, nobody has said: no other may be, as long
     * as the group lives. Borrowed from the pods; NULL: none. */
    const char *in_doubt;
};

enum vpa_replica_source {
    VPA_REPLICAS_KNOWN,   /* *count is the configured number */
    VPA_REPLICAS_MISSING, /* object missing, no count, or 0: the group may not be touched */
    VPA_REPLICAS_UNKNOWN, /* nothing known of this kind: the live count stands in (U8) */
};
/* Looks up the configured replicas of an owner: spec.replicas of ReplicationController, ReplicaSet,
 * StatefulSet; status.numberReady of DaemonSet; the scale subresource of other kinds. Not called
 * for Job. */
typedef enum vpa_replica_source (*vpa_replicas_fn)(void *ctx, const char *ns, const char *kind,
                                                   const char *api_version, const char *name,
                                                   int64_t *count);

struct vpa_disruption;
/* pods: live pods of the VPA, in order; borrowed until free, like the VPA. */
struct vpa_disruption *vpa_disruption_new(const struct vpa_object *vpa,
                                          const struct vpa_pod *const *pods, size_t count,
                                          vpa_replicas_fn replicas, void *ctx,
                                          const struct vpa_disruption_options *options);
void vpa_disruption_free(struct vpa_disruption *d);
/* Group of pods[i], or NULL when it has none (discarded group, no controlling owner). */
struct vpa_replica_group *vpa_disruption_group(struct vpa_disruption *d, size_t i);
/* Live pods of the owner of pods[i] that were not evicted, -1 without a controlling owner; and how
 * many there have to be. */
int64_t vpa_disruption_live(const struct vpa_disruption *d, size_t i);
int64_t vpa_disruption_required(const struct vpa_disruption *d);

/* The number of replicas was read anew, or could not be (known false). */
void vpa_group_confirm(struct vpa_replica_group *group, bool known, int64_t configured,
                       double tolerance);
/* A pod of the group went by itself. */
void vpa_group_lost(struct vpa_replica_group *group, const struct vpa_pod *pod,
                    const struct vpa_update_memory *memory);
/* Whether one more running pod may be disturbed (updater.md 8.2). */
bool vpa_group_disruptable(const struct vpa_replica_group *group);

/* Whether pods are missing in it, or do not run yet. */
bool vpa_group_is_short(const struct vpa_replica_group *group);

/* An eviction (of a pod that is pending or not) or a resize is sent; it succeeded; it failed. */
void vpa_group_reserve_eviction(struct vpa_replica_group *group, bool pod_pending);
void vpa_group_reserve_resize(struct vpa_replica_group *group);
void vpa_group_settle(struct vpa_replica_group *group);
void vpa_group_give_back_eviction(struct vpa_replica_group *group, bool pod_pending);
void vpa_group_give_back_resize(struct vpa_replica_group *group);
/* It failed without an answer, and was given back: it may have been carried out. */
void vpa_group_doubt(struct vpa_replica_group *group, const struct vpa_pod *pod);

#endif
