/*
 * The MutatingWebhookConfiguration that sends reviews to us: registered at start, its CA bundle
 * kept up to date (specification admission.md 4.4 and 6).
 */
#ifndef ADMISSION_WEBHOOK_H
#define ADMISSION_WEBHOOK_H

#include "config.h"
#include "vpa/kube/client.h"

#define WEBHOOK_CONFIG_NAME "vpa-webhook-config"
#define WEBHOOK_NAME "vpa.k8s.io"
/* Between the opening of the port and the registration. */
#define WEBHOOK_REGISTRATION_DELAY (10 * VPA_SECOND)

/* The CA file as a heap string, NULL (and a log line) when it cannot be read. */
char *webhook_read_ca(const char *path);
/* The object to register. ns: of the service; ca: PEM text or NULL. A malformed --webhook-labels is
 * logged and sets no labels. */
void webhook_encode(const struct admission_config *config, const char *ns, const char *ca,
                    struct vpa_buf *out);
/* Deletes the object if it is there and creates it anew. Pumps the loop. Another replica that was
 * faster (AlreadyExists) is success. */
int webhook_register(struct vpa_kube_client *client, const struct admission_config *config,
                     const char *ns, const char *ca, struct vpa_error *err) VPA_MUST_CHECK;
/* Puts the CA file into the registered object if it differs. Pumps the loop; an empty or unreadable
 * file is passed over. Everything worth knowing is logged, the error as well; -1: worth another
 * try. */
int webhook_reload_ca(struct vpa_kube_client *client, const char *path);

#endif
