/*
 * What the updater knows of the cluster: VPAs, live pods, LimitRanges and the panic ConfigMap, each
 * in a watch cache (vpa/kube/cache.h). Objects are immutable; a change makes another one. What is
 * read while the store is pinned stays valid until it is let go, so a pass may borrow it although
 * it pumps the loop.
 *
 *     updater_store_pin(store);
 *     const struct vpa_pod **pods = updater_store_pods(store, &count);
 *     ...
 *     free(pods);
 *     updater_store_unpin(store);
 *
 * Objects that cannot be read or decoded are unknown (U21): they are never among the known ones,
 * and their last version is gone. What that keeps a pass from doing is in unknown.h.
 */
#ifndef UPDATER_STORE_H
#define UPDATER_STORE_H

#include "vpa/api/limit_range.h"
#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/kube/cache.h"
#include "vpa/kube/client.h"

/* A pass reads each part once. */
#define STORE_HELD_MAX 8

/* Written by store.c alone; the updater reads it. */
struct store {
    struct vpa_cache *vpas; /* of what is there; vpa_cache_find() has none that is unknown */
    struct vpa_cache *pods;
    struct vpa_cache *limit_ranges;
    struct vpa_cache *panic;
    char *panic_ns;
    uint64_t pod_changes; /* events of pods that were replaced or removed */
    uint64_t vpas_gone;   /* how many have gone so far */
    struct vpa_cache_list held[STORE_HELD_MAX];
    size_t held_count;
};

/* ns: restricts VPAs, pods and LimitRanges; "" for all. panic_ns: where the panic ConfigMap is
 * looked for. */
struct store *updater_store_new(struct vpa_kube_client *client, const char *ns,
                                const char *panic_ns);
void updater_store_free(struct store *store); /* NULL is allowed */
void updater_store_start(struct store *store);
/* Waits until VPAs, pods and LimitRanges are in step, and for a few seconds for the panic
 * ConfigMap, which we may not be allowed to read. */
int updater_store_wait(struct store *store, struct vpa_loop *loop, vpa_duration timeout,
                       struct vpa_error *err) VPA_MUST_CHECK;
/* VPAs, pods and LimitRanges have been listed to the end at least once. */
bool updater_store_is_synced(const struct store *store);
/* How long before `now` (monotonic) all of it was certain to be in step: the age of the oldest
 * cache, whose resource *what names. The panic ConfigMap counts once it has been read at all.
 * INT64_MAX before the first lists have come to their end. */
vpa_duration updater_store_age(const struct store *store, int64_t now, const char **what);
bool updater_store_panic(const struct store *store);

/* The pod as the last event had it, NULL when it is gone; borrowed until the loop is pumped. */
const struct vpa_pod *updater_store_find_pod(const struct store *store, const char *ns,
                                             const char *name);

void updater_store_pin(struct store *store);
void updater_store_unpin(struct store *store);
/* Heap arrays of borrowed objects, ordered by namespace, then name; the caller frees the array.
 * Only while pinned, and each at most once for it. */
const struct vpa_object **updater_store_vpas(struct store *store, size_t *count);
const struct vpa_pod **updater_store_pods(struct store *store, size_t *count);
/* Unknown ones are there as well, with their error. */
const struct vpa_limit_range **updater_store_limit_ranges(struct store *store, size_t *count);
/* Unknown VPAs: namespace, name and, when it can be told, target_ref (present). Without one, any
 * pod of the namespace may be governed by it. */
const struct vpa_object **updater_store_unknown_vpas(struct store *store, size_t *count);
/* Unknown pods: metadata as far as it can be decoded, namespace and name in any case; owner_count 0
 * when the owner cannot be told. */
const struct vpa_pod **updater_store_unknown_pods(struct store *store, size_t *count);

#endif
