/*
 * The MutatingWebhookConfiguration that sends reviews to us, as it is registered (specification
 * admission.md 6).
 */
#ifndef ADMISSION_WEBHOOK_OBJECT_H
#define ADMISSION_WEBHOOK_OBJECT_H

#include "config.h"
#include "vpa/base/buf.h"

#define WEBHOOK_GROUP_VERSION "admissionregistration.k8s.io/v1"
#define WEBHOOK_NAME "vpa.k8s.io"
#define WEBHOOK_NAMESPACE_KEY "kubernetes.io/metadata.name"
#define WEBHOOK_BODY_MAX ((size_t)4 << 20)

/* ns: of the service; ca: PEM text or NULL. A malformed --webhook-labels is logged and sets no
 * labels. */
void webhook_encode(const struct admission_config *config, const char *ns, const char *ca,
                    struct vpa_buf *out);
/* The same with the text of caBundle as it is to stand there, "": none, and with that JSON text as
 * namespaceSelector, NULL: by our flags alone. */
void webhook_encode_bundle(const struct admission_config *config, const char *ns,
                           const char *bundle, const char *selector, struct vpa_buf *out);
/* The caBundle of a PEM text (NULL: none), base64. */
void webhook_encode_ca(const char *ca, struct vpa_buf *out);

#endif
