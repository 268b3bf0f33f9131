/*
 * What the webhook knows when it answers: VPAs, LimitRanges, owners and the panic switch, as an
 * immutable, reference-counted snapshot. The loop feeds a builder from its watches and publishes;
 * requests take the newest snapshot and keep it while they answer.
 *
 *     struct snapshot_builder *b = snapshot_builder_new(&options); // loop thread
 *     snapshot_builder_start(b);
 *     snapshot_builder_publish(b, owners_view);                    // loop thread, after a change
 *
 *     struct snapshot *s = snapshot_acquire(snapshot_builder_cell(b));   // any thread
 *     ... snapshot_vpas(s, ...) ...
 *     snapshot_unref(s);
 *
 * Memory: about 2 KiB per VPA with two containers; LimitRanges are kept folded, one item per
 * namespace.
 */
#ifndef ADMISSION_SNAPSHOT_H
#define ADMISSION_SNAPSHOT_H

#include "vpa/api/vpa.h"
#include "vpa/kube/cache.h"
#include "vpa/kube/owner.h"
#include "vpa/policy/capping.h"
#include "vpa/policy/match.h"

struct snapshot;
struct snapshot_cell; /* where the newest one is found */

/* The newest published snapshot, never NULL; the caller unrefs it. */
struct snapshot *snapshot_acquire(struct snapshot_cell *cell);
void snapshot_unref(struct snapshot *snapshot);
/* Waits until a newer one than `old` is published, at most that long (real time). Gives up the
 * reference to old and returns one to the newest, which may be old itself. */
struct snapshot *snapshot_wait(struct snapshot_cell *cell, struct snapshot *old,
                               vpa_duration timeout);

bool snapshot_is_panic(const struct snapshot *snapshot);
/* LimitRanges of the namespace folded, or NULL for none. Borrowed. */
const struct vpa_namespace_limits *snapshot_limits(const struct snapshot *snapshot, const char *ns);
/* Owners of pods; borrowed, NULL before the first view. */
const struct vpa_owner_view *snapshot_owners(const struct snapshot *snapshot);
/* Calls visit for each known VPA whose target is that controller, and with the empty kind and name
 * for each VPA of the namespace that selects by labels; borrowed from the snapshot. */
void snapshot_vpas(const struct snapshot *snapshot, const char *ns, const char *kind,
                   const char *name, void (*visit)(void *ctx, const struct vpa_object *vpa),
                   void *ctx);

/* The same for each known VPA of the namespace that has a target, whichever; in no order. */
void snapshot_targeting_vpas(const struct snapshot *snapshot, const char *ns,
                             void (*visit)(void *ctx, const struct vpa_object *vpa), void *ctx);

/* Whether the namespace has any VPA, known or not. */
bool snapshot_has_vpas(const struct snapshot *snapshot, const char *ns);

/* An unknown VPA (vpa/kube/cache.h) with that target, or with the empty kind and name one whose
 * target cannot be told; NULL when there is none. Nothing may be decided about the pods that it
 * governs, or may govern: those of the target, or all of the namespace. */
const struct vpa_object *snapshot_unknown_vpa(const struct snapshot *snapshot, const char *ns,
                                              const char *kind, const char *name);

struct snapshot_options {           /* texts are copied */
    struct vpa_kube_client *client; /* borrowed; NULL: only what the handlers of the caches get */
    const char *ns;                 /* restricts VPAs and LimitRanges; "" for all */
    const char *panic_ns;           /* where the panic ConfigMap is looked for */
};
struct snapshot_builder;
struct snapshot_builder *snapshot_builder_new(const struct snapshot_options *options);
void snapshot_builder_free(
    struct snapshot_builder *builder); /* NULL is allowed; not while requests run */
void snapshot_builder_start(struct snapshot_builder *builder);
struct snapshot_cell *snapshot_builder_cell(struct snapshot_builder *builder);

/* The watch caches, for waiting and asking; borrowed. A LimitRange that cannot be decoded leaves
 * its error in the limits of its namespace until it is replaced or deleted: pods there are admitted
 * without a patch, logged and counted (docs/compatibility.md, U9). */
struct vpa_cache *snapshot_builder_vpas(struct snapshot_builder *builder);
struct vpa_cache *snapshot_builder_limit_ranges(struct snapshot_builder *builder);
struct vpa_cache *snapshot_builder_panic(struct snapshot_builder *builder);

/* Called on the loop for each VPA that came or changed; for following scale targets. */
void snapshot_builder_on_vpa(struct snapshot_builder *builder,
                             void (*fn)(void *ctx, const struct vpa_object *vpa), void *ctx);
/* Called whenever something changed that is not published yet. */
void snapshot_builder_on_change(struct snapshot_builder *builder, void (*fn)(void *ctx), void *ctx);

/* Makes the present state the newest snapshot. Takes the reference of owners (may be NULL). */
void snapshot_builder_publish(struct snapshot_builder *builder, struct vpa_owner_view *owners);

#endif
