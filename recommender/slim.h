/*
 * Slim copies of VPA objects: what the recommender reads, and no more.
 *
 * Ten thousand VPAs are kept between passes. Well-known words (kinds, modes, condition types) are
 * not copied, and equal container policies, which usually come from one template, are kept once, in
 * a pool that belongs to the cache of these objects.
 */
#ifndef RECOMMENDER_SLIM_H
#define RECOMMENDER_SLIM_H

#include "vpa/api/vpa.h"
#include "vpa/base/table.h"
#include "vpa/kube/cache.h"

struct slim_policy {
    struct vpa_arena arena;
    struct vpa_resource_policy policy;
    const char *key; /* JSON text of the policy; in the arena */
    unsigned round;  /* of the sweep that saw it in use */
};
struct slim_pool {             /* zeroed means empty */
    struct vpa_table policies; /* JSON text -> struct slim_policy */
    unsigned round;
};
void slim_pool_release(struct slim_pool *pool); /* after all copies */
/* Forgets policies that no object of these lists has, nor its last known version. */
void slim_pool_sweep(struct slim_pool *pool, const struct vpa_cache_list *lists, size_t count);

struct slim_vpa {
    struct vpa_object object;
    struct slim_policy *policy; /* in the pool; NULL: none, or one too long to be shared */
};
/* struct slim_vpa; the context is the pool. Of unknown objects nothing is kept. */
extern const struct vpa_cache_kind slim_vpas;

#endif
