/*
 * Slim copies of VPA objects: what the recommender reads, and no more.
 *
 * Ten thousand VPAs are kept between passes. Well-known words (kinds, modes, condition types) are
 * not copied, and equal container policies, which usually come from one template, are kept once.
 */
#ifndef RECOMMENDER_SLIM_H
#define RECOMMENDER_SLIM_H

#include "vpa/api/vpa.h"
#include "vpa/base/table.h"

struct slim_policy { /* shared by reference count */
    size_t references;
    char *key; /* JSON text of the policy */
    struct vpa_arena arena;
    struct vpa_resource_policy policy;
};
struct slim_pool {             /* zeroed means empty */
    struct vpa_table policies; /* JSON text -> struct slim_policy */
};
void slim_pool_release(struct slim_pool *pool); /* after all copies */

/* Between the parts of a key; sorts below every character of a name. */
#define SLIM_KEY_SEPARATOR '\x01'

struct slim_vpa {
    struct vpa_arena arena;
    char *key; /* namespace, separator, name; in the arena */
    struct vpa_object object;
    struct slim_policy *policy; /* NULL: none */
};
/* source: the object as it came. VPA_INVALID when it cannot be decoded. scratch is cleared. */
int slim_vpa_decode(struct slim_pool *pool, struct vpa_arena *scratch,
                    const struct vpa_json *source, struct slim_vpa *out,
                    struct vpa_error *err) VPA_MUST_CHECK;
void slim_vpa_release(struct slim_pool *pool, struct slim_vpa *vpa);

#endif
