/*
 * --manage-certificates: keeps the webhook's certificates in a Secret, in step with the other
 * replicas, and rotates them (certificates.h).
 *
 *     struct manager *m = manager_new(&options);
 *     if (manager_prepare(m, &err) < 0) ...    // stopped; waits until there is a pair otherwise
 *     ... manager_served(m), manager_bundle(m)
 *     if (manager_is_due(m) && manager_work(m)) ... // something is different now
 */
#ifndef ADMISSION_MANAGER_H
#define ADMISSION_MANAGER_H

#include "certificates.h"
#include "config.h"
#include "vpa/kube/client.h"

struct manager_options {
    struct vpa_kube_client *client;        /* borrowed */
    const struct admission_config *config; /* borrowed */
    const char *ns;                        /* of Secret and service; borrowed */
    /* caBundle of the registration as it is now (PEM, "" when it cannot be told), borrowed until
     * the loop turns. NULL: nothing is known. */
    const char *(*live_bundle)(void *ctx);
    void *ctx;
};

struct manager;
struct manager *manager_new(const struct manager_options *options);
void manager_free(struct manager *manager); /* NULL is allowed */
/* Reads or makes the certificates, however long that takes; each new reason why it cannot is said.
 * -1 with VPA_CANCELLED when the loop was stopped. */
int manager_prepare(struct manager *manager, struct vpa_error *err) VPA_MUST_CHECK;
/* What to serve; borrowed until the next work. */
const struct vpa_tls_pair *manager_served(const struct manager *manager);
/* What caBundle should be; borrowed likewise. */
const char *manager_bundle(const struct manager *manager);

/* Time to look, or manager_look was called. */
bool manager_is_due(const struct manager *manager);
void manager_look(struct manager *manager);
/* Reads the Secret and takes the steps that are due. True when pair or bundle differ from before.
 * Pumps the loop. */
bool manager_work(struct manager *manager);

#endif
