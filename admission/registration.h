/*
 * Follows the live registration: what the API server would do with a new pod now. It is watched by
 * name where our role allows that, else read again every few seconds (upstream's roles have no
 * `watch`); where it may not be read at all (upstream's chart with a registration of its own) that
 * is said once, and asked again every minute. Where others have made it, and nobody has told us its
 * name, none of the default name is none that is missing: that is said once, too.
 *
 *     struct registration *r = registration_new(&options);
 *     registration_start(r);
 *     if (registration_state(r) == REGISTRATION_PRESENT)
 *         ... registration_view(r)->host ...
 */
#ifndef ADMISSION_REGISTRATION_H
#define ADMISSION_REGISTRATION_H

#include "registration_view.h"
#include "vpa/kube/client.h"

/* What was last heard longer ago than this is not known any more; a watch that is silent for
 * VPA_REFLECTOR_SILENCE is opened anew before. */
#define REGISTRATION_AGE_MAX (90 * VPA_SECOND)
#define REGISTRATION_POLL (5 * VPA_SECOND)

enum registration_state {
    REGISTRATION_UNKNOWN,   /* not read yet, or too long ago */
    REGISTRATION_FORBIDDEN, /* we may not read it */
    REGISTRATION_ELSEWHERE, /* none has had the default name, and nobody has said that it has */
    REGISTRATION_ABSENT,
    REGISTRATION_PRESENT,
};

struct registration_options {
    struct vpa_kube_client *client;    /* borrowed */
    struct registration_wanted wanted; /* what it points to is borrowed */
    /* Something is different now; on the loop, only to take note. */
    void (*changed)(void *ctx);
    void *ctx;
};

struct registration;
struct registration *registration_new(const struct registration_options *options);
void registration_start(struct registration *r);
void registration_free(struct registration *r); /* NULL is allowed */
/* Reads it now, where it is not watched: somebody has just written it. */
void registration_refresh(struct registration *r);
enum registration_state registration_state(const struct registration *r);
/* It cannot be seen, and nobody is at fault: that the webhook answers is all that can be asked for,
 * as upstream does (docs/compatibility.md, U13). */
bool registration_is_out_of_sight(const struct registration *r);
/* Of a registration that is PRESENT; borrowed until the loop turns. */
const struct registration_view *registration_view(const struct registration *r);

#endif
