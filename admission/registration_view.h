/*
 * What a MutatingWebhookConfiguration says about us: whom the API server will call, whose
 * certificate it trusts, whether pods come our way at all, and who owns what.
 *
 *     struct registration_view view = {0};
 *     registration_view_read(&view, object, &wanted);
 *     if (view.fault[0]) ...              // not as it should be
 *     registration_view_release(&view);
 *
 * Who owns what (docs/guide/certificates.md):
 *     object     we, when --register-webhook is set and no Helm release made it
 *     caBundle   cert-manager's injector, when one of its annotations is there; else we, when the
 *                object is ours or --manage-certificates is set
 */
#ifndef ADMISSION_REGISTRATION_VIEW_H
#define ADMISSION_REGISTRATION_VIEW_H

#include <stdbool.h>

#include "config.h"
#include "vpa/json/json.h"

struct registration_wanted { /* borrowed */
    const struct admission_config *config;
    const char *ns; /* of our service */
};

#define REGISTRATION_FAULTS_MAX 6
struct registration_view { /* texts never NULL once read; in the arena */
    struct vpa_arena arena;
    const char *resource_version;
    const char *host;      /* the name that the API server wants to see in the certificate */
    const char *ca;        /* PEM text of caBundle, "" without: the anchors of the system */
    const char *ca_base64; /* as it stands there, "" without */
    size_t index;          /* of our webhook among those of the object */
    bool object_is_ours;
    bool ca_is_ours;
    const char *ca_owner; /* annotation of an injector, "" */
    bool settings_differ; /* labels, failurePolicy, the namespaces that are left out or the like are
                            not those of our flags; of ours */
    bool namespaces_differ; /* those of the settings */
    /* namespaceSelector as it should be, with what others leave out; NULL: as our flags say. */
    const char *selector;
    bool others_leave_out; /* something, by that selector */
    bool has_labels;
    bool refuses;      /* failurePolicy is Fail: pods are refused while nobody answers */
    const char *fault; /* what is not as it should be, "" for nothing: "rules" */
    /* All of that, the first is fault; of an object of ours that has a webhook of our name. */
    const char *faults[REGISTRATION_FAULTS_MAX];
    size_t fault_count;
};

/* Replaces what the view held. An object without a webhook has that as its fault, and no host. */
void registration_view_read(struct registration_view *view, const struct vpa_json *object,
                            const struct registration_wanted *wanted);
void registration_view_release(struct registration_view *view);
/* The host of a URL, without port and path; [::1] loses its brackets. */
const char *registration_view_host_of(struct vpa_arena *arena, const char *url);
/* A Helm release made it. */
bool registration_view_is_helms(const struct vpa_json *object);

#endif
