/*
 * What fails for many objects of one pass, usually for one reason: a right is missing, the API
 * server is away. The log gets one line per pass with the number and the first one, and at --v=5 a
 * line for each.
 *
 *     struct failures failures = {.message = "Cannot update VPA"};
 *     failures_add(&failures, "shop", "web", &err);
 *     failures_report(&failures);
 */
#ifndef RECOMMENDER_FAILURES_H
#define RECOMMENDER_FAILURES_H

#include <stddef.h>

#include "vpa/base/error.h"

struct failures {        /* zeroed but for the message */
    const char *message; /* constant text */
    size_t count;
    char *first; /* namespace/name */
    struct vpa_error err;
};
void failures_add(struct failures *failures, const char *ns, const char *name,
                  const struct vpa_error *err);
/* Writes the line, if there is something to say, and begins anew. */
void failures_report(struct failures *failures);

#endif
