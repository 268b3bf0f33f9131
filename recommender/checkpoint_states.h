/*
 * What algorithms other than VPA's own have learned, as checkpoints.
 *
 * VPA's own history of a container is its checkpoint in upstream's format v3, which nothing here
 * touches. The state of another algorithm is an object of the same kind beside it:
 *
 *     name                  web-app.crane        never upstream's: containers have no dot
 *     spec.vpaObjectName    web
 *     spec.containerName    app.crane            no container can have that name
 *     status.version        plumb-crane          upstream refuses what is not v3, and goes on
 *     annotation            vpa.autoscaling.k8s.io/algorithm-state: the state (model/algorithm.h)
 *
 * So owners, names, garbage and what is kept aside (U4, U16, U25) work as for any checkpoint.
 * States of algorithms that are not served, or not known to this version, are left alone.
 */
#ifndef RECOMMENDER_CHECKPOINT_STATES_H
#define RECOMMENDER_CHECKPOINT_STATES_H

#include "algorithms.h"

#include "vpa/api/checkpoint.h"

#define CHECKPOINT_STATE_ANNOTATION "vpa.autoscaling.k8s.io/algorithm-state"
/* The API server takes 256 KiB of annotations; the target stands beside it. */
#define CHECKPOINT_STATE_MAX ((size_t)250 << 10)
#define CHECKPOINT_STATE_VERSION "plumb-"

/* Whether the version is that of a state, of whatever algorithm. */
bool checkpoint_state_is(const char *version);
/* "app.crane"; heap text. */
char *checkpoint_state_container(const struct vpa_known *known);
/* "app" of "app.crane", and of "app"; heap text. */
char *checkpoint_state_plain(const char *container);
/* Of the algorithm that such a version names; NULL: it is not served. */
struct vpa_method *checkpoint_state_method(const struct algorithms *algorithms,
                                           const char *version);
/* Whether the VPA has learned what is stored under that name. */
bool checkpoint_state_is_learned(const struct vpa_autoscaler *v, const char *container);
/* The state as text, heap; NULL when it is longer than CHECKPOINT_STATE_MAX. */
char *checkpoint_state_text(const struct vpa_known *known, vpa_time now);
/* The status beside it; the version is in the arena. */
void checkpoint_state_status(const struct vpa_known *known, vpa_time now, struct vpa_arena *arena,
                             struct vpa_checkpoint_status *out);
/* What was stored, as texts of the object. */
struct checkpoint_state {
    const char *container; /* spec.containerName */
    const char *version;   /* one that checkpoint_state_is */
    const char *text;      /* of the annotation; NULL: it is missing */
};
/* Whether that could be done. */
bool checkpoint_state_is_readable(const struct algorithms *algorithms,
                                  const struct checkpoint_state *state, vpa_time now);
/* Gives the VPA what was stored. 1 when it was loaded; 0 when it is of an algorithm that is not
 * served; -1 when it cannot be read. */
int checkpoint_state_load(const struct algorithms *algorithms, struct vpa_autoscaler *v,
                          const struct checkpoint_state *state, vpa_time now,
                          struct vpa_error *err) VPA_MUST_CHECK;

#endif
