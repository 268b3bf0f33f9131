/*
 * The MutatingWebhookConfiguration that sends reviews to us: registered at start, its CA bundle
 * kept up to date (specification admission.md 4.4 and 6).
 */
#ifndef ADMISSION_WEBHOOK_H
#define ADMISSION_WEBHOOK_H

#include "registration_view.h"
#include "vpa/json/json_patch.h"
#include "vpa/kube/client.h"
#include "webhook_object.h"

/* Between the opening of the port and the registration. */
#define WEBHOOK_REGISTRATION_DELAY (10 * VPA_SECOND)

/* The CA file as a heap string, NULL (and a log line) when it cannot be read. */
char *webhook_read_ca(const char *path);
/* Makes the object as our flags and our CA want it: patched, or deleted and created anew. One that
 * is so already stays, and so does one that Helm made, which is said. Pumps the loop. Another
 * replica that registers it first (AlreadyExists) is success, but what an older one puts back after
 * we have deleted it is not left. VPA_RETRY: worth another try later, no answer among others. */
int webhook_register(struct vpa_kube_client *client, const struct admission_config *config,
                     const char *ns, const char *ca, struct vpa_error *err) VPA_MUST_CHECK;
/* Puts the CA file into the registered object if it differs. Pumps the loop; an empty or unreadable
 * file is passed over. Everything worth knowing is logged, the error as well; -1: worth another
 * try. */
int webhook_reload_ca(struct vpa_kube_client *client, const struct admission_config *config);
/* One call about the object of that name (NULL: the collection). VPA_CONFLICT also when a JSON
 * Patch tests what is not so any more, VPA_RETRY also when the server does not see who we are
 * (401), so that VPA_DENIED speaks of our rights, or of a method that is not let through (405,
 * 415); VPA_DENIED instead of VPA_RETRY for a creation that was answered. Pumps the loop. */
int webhook_call(struct vpa_kube_client *client, enum vpa_kube_verb verb, const char *name,
                 const struct vpa_buf *body, struct vpa_error *err) VPA_MUST_CHECK;
/* Writes webhooks and labels as our flags want them over what was seen; labels of others stay, and
 * so does what they leave out. ca: PEM text; NULL: the caBundle that is there stays, to the byte.
 * Fails as webhook_call does. */
int webhook_write_over(struct vpa_kube_client *client, const struct registration_wanted *wanted,
                       const struct registration_view *view, const char *ca,
                       struct vpa_error *err) VPA_MUST_CHECK;
/* Begins a JSON Patch that holds for what was seen only. */
void webhook_patch_begin(struct vpa_json_patch *patch, const struct registration_view *view,
                         struct vpa_buf *body);
/* Path of the object, of the collection for NULL; path is initialised. */
void webhook_path(struct vpa_buf *path, const char *name);

#endif
