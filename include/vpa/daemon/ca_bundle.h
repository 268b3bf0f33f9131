/*
 * The caBundle by which API servers trust a listener of ours, in a MutatingWebhookConfiguration or
 * an APIService: base64 of PEM certificates, and who fills it in.
 *
 *     if (*vpa_ca_bundle_injector(object)) ...                    // not ours to write
 *     const char *pem = vpa_ca_bundle_decode(&arena, base64);
 */
#ifndef VPA_DAEMON_CA_BUNDLE_H
#define VPA_DAEMON_CA_BUNDLE_H

#include "vpa/json/json.h"

#define VPA_CA_BUNDLE_MAX ((size_t)1 << 20) /* of the decoded text */

/* The annotation by which cert-manager's injector fills the object's caBundle in, "" for nobody.
 * Static text. */
const char *vpa_ca_bundle_injector(const struct vpa_json *object);
/* The PEM text in the arena. What is not base64 has no certificate in it: "unreadable". */
const char *vpa_ca_bundle_decode(struct vpa_arena *arena, const char *base64);

#endif
