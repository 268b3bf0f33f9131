/*
 * AdmissionReview v1: requests read, answers written byte for byte as upstream writes them
 * (specification admission.md 5), and base64.
 */
#ifndef VPA_API_REVIEW_H
#define VPA_API_REVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/api/status.h"
#include "vpa/base/buf.h"
#include "vpa/json/json.h"

/* Longest uid; an API server's has 36 bytes. */
#define VPA_REVIEW_UID_MAX 256

struct vpa_review_request {
    const char *uid; /* texts: "" when absent */
    const char *group;
    const char *version;
    const char *resource;
    const char *request_kind; /* requestKind.kind */
    const char *name;
    const char *ns;
    const char *operation;
    bool dry_run;                      /* nothing will be stored */
    const struct vpa_json *object;     /* borrowed from the document; NULL for absent and null */
    const struct vpa_json *old_object; /* the same */
};

/* root: the parsed body. VPA_INVALID for a wrong type anywhere in the fields of a review (also
 * those that are not used) and for a longer uid, VPA_NOT_FOUND when there is no request in it.
 * Texts borrow from the document. */
int vpa_review_decode(const struct vpa_json *root, struct vpa_review_request *out,
                      struct vpa_error *err) VPA_MUST_CHECK;

struct vpa_review_response {
    const char *uid;
    bool allowed;
    const struct vpa_status *status; /* of a denial, else NULL */
    const char *patch;               /* JSON Patch text, written as base64; NULL for none */
    size_t patch_len;
    const char *const *warnings;
    size_t warning_count;
};
/* Appends the whole AdmissionReview. */
void vpa_review_encode(struct vpa_buf *out, const struct vpa_review_response *response);

/* Standard alphabet with padding. */
void vpa_base64_encode(struct vpa_buf *out, const void *bytes, size_t len);
/* White space (line breaks of PEM-like texts) is skipped; anything else but correct base64 is
 * VPA_INVALID. */
int vpa_base64_decode(struct vpa_buf *out, const char *text, size_t len,
                      struct vpa_error *err) VPA_MUST_CHECK;

#endif
