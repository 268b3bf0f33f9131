/*
 * What would have happened to one container under a VPA object over a recorded history: `lab
 * replay`. The recommendation is the recommender's (algorithm and annotations of the object,
 * rendering, the container policy), what follows from it the updater's (vpa_priority_admit on
 * a pod of that container), both with their default flags.
 *
 * The pod begins with the first recommendation there is. With an update mode that acts on running
 * pods its requests change when the updater would act: in place the pod stays, otherwise a new one
 * begins. Its memory limit is its request, so a peak above it is a kill; with Off and Initial
 * nothing is enforced. One container, one replica, no LimitRange, budgets that allow everything.
 */
#ifndef CLI_LAB_STORY_H
#define CLI_LAB_STORY_H

#include "lab_trace.h"
#include "vpa/api/vpa.h"
#include "vpa/model/estimator.h"

enum lab_event { LAB_QUIET = 0, LAB_OOM = 1, LAB_EVICTED = 2, LAB_RESIZED = 4, LAB_STARTED = 8 };

/* One window. Cores and bytes; NaN: not known, none. */
struct lab_moment {
    int64_t second;
    unsigned events;         /* enum lab_event */
    double usage[VPA_KINDS]; /* mean of CPU, peak of memory */
    double bound[VPA_BOUNDS][VPA_KINDS];
    double request[VPA_KINDS]; /* in force during the window */
};
struct lab_story {
    const char *name; /* of the VPA */
    const char *algorithm;
    const char *mode;
    const char *container;
    struct lab_moment *moments; /* owned */
    size_t count;
    size_t events[3]; /* OOMs, evictions, resizes */
};
void lab_story_release(struct lab_story *s);
/* The container NULL: the first that the policies of the object name, else "app". Borrows the
 * object and the name. VPA_INVALID: an algorithm that is not there, a wrong annotation, a policy of
 * mode Off. */
int lab_story_tell(const struct vpa_object *vpa, const char *container, const struct lab_trace *t,
                   struct lab_story *out, struct vpa_error *err) VPA_MUST_CHECK;
/* What the object says about that container and the story leaves out: "minReplicas, startupBoost";
 * nothing: "". */
void lab_story_left_out(const struct vpa_object *vpa, const char *container, struct vpa_buf *out);
/* A picture of it: usage, target, bounds, requests, kills and changes, for CPU and for memory. */
void lab_story_draw(const struct lab_story *s, struct vpa_buf *svg);

#endif
