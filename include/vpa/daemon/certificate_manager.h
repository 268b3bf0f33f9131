/*
 * Keeps the certificates of a listener in a Secret, in step with the other replicas, and rotates
 * them (certificates.h).
 *
 *     struct vpa_certificate_manager *m = vpa_certificate_manager_new(&options);
 *     if (vpa_certificate_manager_prepare(m, &err) < 0) ...   // stopped; it waits for a pair
 *     ... vpa_certificate_manager_served(m), vpa_certificate_manager_bundle(m)
 *     if (vpa_certificate_manager_is_due(m) && vpa_certificate_manager_work(m))
 *         ...                                                 // something is different now
 */
#ifndef VPA_DAEMON_CERTIFICATE_MANAGER_H
#define VPA_DAEMON_CERTIFICATE_MANAGER_H

#include "vpa/daemon/certificates.h"
#include "vpa/kube/client.h"

/* Shorter lives leave replicas and API servers no time to hear of a change. */
#define VPA_CERTIFICATE_LIFETIME_MIN (10 * VPA_MINUTE)

struct vpa_certificate_manager_options {
    struct vpa_kube_client *client; /* borrowed */
    const char *ns;                 /* of Secret and service; borrowed */
    const char *secret;             /* borrowed */
    const char *ca_name;            /* borrowed */
    const char *service; /* copied; the listener is SERVICE.NS.svc, SERVICE.NS and SERVICE */
    const char *host;    /* copied; another name, before these; NULL: none */
    vpa_duration lifetime;
    /* Lines of the log: a step was taken; it cannot be done. Borrowed. */
    const char *step_line, *failure_line;
    /* The caBundle by which API servers judge now (PEM, "" when it cannot be told), borrowed until
     * the loop turns. NULL: nothing is known. */
    const char *(*live_bundle)(void *ctx);
    /* Whether this replica may write; one that may not takes what the others have stored. NULL:
     * always. */
    bool (*may_write)(void *ctx);
    /* Told of each step that was stored, and of each look that failed; is_new: not the reason of
     * the look before. They only count or enqueue. NULL: nobody. */
    void (*on_step)(void *ctx, enum vpa_certificates_step step);
    void (*on_failure)(void *ctx, const struct vpa_error *err, bool is_new);
    void *ctx;
};

struct vpa_certificate_manager;
struct vpa_certificate_manager *
vpa_certificate_manager_new(const struct vpa_certificate_manager_options *options);
void vpa_certificate_manager_free(struct vpa_certificate_manager *manager); /* NULL is allowed */
/* Reads or makes the certificates, however long that takes; each new reason why it cannot is said.
 * -1 with VPA_CANCELLED when the loop was stopped. */
int vpa_certificate_manager_prepare(struct vpa_certificate_manager *manager,
                                    struct vpa_error *err) VPA_MUST_CHECK;
/* What to serve; borrowed until the next work. */
const struct vpa_tls_pair *
vpa_certificate_manager_served(const struct vpa_certificate_manager *manager);
/* What caBundle should be; borrowed likewise. */
const char *vpa_certificate_manager_bundle(const struct vpa_certificate_manager *manager);

/* Time to look, or vpa_certificate_manager_look was called. */
bool vpa_certificate_manager_is_due(const struct vpa_certificate_manager *manager);
void vpa_certificate_manager_look(struct vpa_certificate_manager *manager);
/* Whether the last work found in the Secret what is known here: else another replica may have
 * written something else. */
bool vpa_certificate_manager_is_current(const struct vpa_certificate_manager *manager);
/* Reads the Secret and takes the steps that are due. True when pair or bundle differ from before.
 * Pumps the loop. */
bool vpa_certificate_manager_work(struct vpa_certificate_manager *manager);

#endif
