/*
 * The Secret that holds the managed certificates, shared by all replicas. Writes name the version
 * they rest on: of two replicas that change it at once one gets VPA_CONFLICT and reads what
 * the other wrote.
 *
 * Members: ca.crt, ca.key, next-ca.crt, next-ca.key, previous-ca.crt, tls.crt, tls.key. The Secret
 * is mounted nowhere. The manifests create it empty, so that no right to create Secrets is needed.
 */
#ifndef VPA_DAEMON_CERTIFICATE_STORE_H
#define VPA_DAEMON_CERTIFICATE_STORE_H

#include "vpa/daemon/certificates.h"
#include "vpa/kube/client.h"

/* Of each call. Whoever looks after certificates has other work to do, and looks again soon: no
 * call is repeated inside, or waits for the rate limit. */
#define VPA_CERTIFICATE_STORE_TIMEOUT (5 * VPA_SECOND)

struct vpa_certificate_store {
    struct vpa_kube_client *client; /* borrowed */
    const char *ns;                 /* borrowed */
    const char *name;               /* borrowed */
    char *version;                  /* of what was read last, "" when there was no Secret */
};
void vpa_certificate_store_release(struct vpa_certificate_store *store);

/* Replaces *set. A Secret that is not there, or empty, is an empty set; a member that cannot be
 * decoded is as good as absent. Pumps the loop. */
int vpa_certificate_store_read(struct vpa_certificate_store *store, struct vpa_certificates *set,
                               struct vpa_error *err) VPA_MUST_CHECK;
/* VPA_CONFLICT: somebody else has written since; read again. Pumps the loop. */
int vpa_certificate_store_write(struct vpa_certificate_store *store,
                                const struct vpa_certificates *set,
                                struct vpa_error *err) VPA_MUST_CHECK;

#endif
