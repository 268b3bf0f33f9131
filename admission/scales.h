/*
 * Scales of the custom targets that VPAs name: all are asked for once before the webhook says that
 * it is ready, and kept known from then on.
 *
 *     struct scales *scales = scales_new(loop, owners, vpas);
 *     scales_begin_round(scales);                  // once the VPAs are there
 *     if (!scales_were_asked(scales)) ...          // not ready
 *     scales_follow(scales, vpa);                  // of each that comes or changes
 */
#ifndef ADMISSION_SCALES_H
#define ADMISSION_SCALES_H

#include "vpa/api/vpa.h"
#include "vpa/kube/cache.h"
#include "vpa/kube/owner.h"

/* The longest that the first round keeps a webhook from being ready, and for how long without any
 * answer: whoever names a target whose server hangs keeps nobody waiting for more. */
#define SCALES_PATIENCE VPA_MINUTE
#define SCALES_STALL (5 * VPA_SECOND)

struct scales;
/* All borrowed. */
struct scales *scales_new(struct vpa_loop *loop, struct vpa_owners *owners, struct vpa_cache *vpas);
void scales_free(struct scales *scales); /* NULL is allowed */
/* From now on the targets of all VPAs are looked at: what is known is kept, the others are asked
 * for, in turns. */
void scales_begin_round(struct scales *scales);
/* Whether each target of the first round has been asked for, or patience is over. */
bool scales_were_asked(const struct scales *scales);
/* ctx: the scales. The target of that VPA is to be known soon and to stay fresh. */
void scales_follow(void *ctx, const struct vpa_object *vpa);

#endif
