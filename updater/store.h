/*
 * What the updater knows of the cluster: VPAs, live pods, LimitRanges and the panic ConfigMap, kept
 * in step by reflectors. Objects are immutable; a change replaces the object. While the store is
 * pinned, replaced and removed objects stay valid, so a pass may borrow them although it pumps the
 * loop.
 *
 *     updater_store_pin(store);
 *     const struct vpa_pod **pods = updater_store_pods(store, &count);
 *     ...
 *     free(pods);
 *     updater_store_unpin(store);
 */
#ifndef UPDATER_STORE_H
#define UPDATER_STORE_H

#include "vpa/api/limit_range.h"
#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/kube/client.h"

struct store;

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
bool updater_store_panic(const struct store *store);

void updater_store_pin(struct store *store);
void updater_store_unpin(struct store *store);
/* Heap arrays of borrowed objects, ordered by namespace, then name; the caller frees the array. */
const struct vpa_object **updater_store_vpas(struct store *store, size_t *count);
const struct vpa_pod **updater_store_pods(struct store *store, size_t *count);
/* One that cannot be decoded is there as well, with its error. */
const struct vpa_limit_range **updater_store_limit_ranges(struct store *store, size_t *count);

#endif
