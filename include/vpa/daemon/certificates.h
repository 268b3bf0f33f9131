/*
 * The certificates that a daemon makes for its listener and keeps: a CA, a pair that it has signed,
 * and during a change of the CA the one that comes or the one that goes. A value and its rules;
 * where it is stored is certificate_store.h. Clients are API servers, which trust what a caBundle
 * says: that of the webhook's registration, or that of an APIService.
 *
 *     enum vpa_certificates_step step;
 *     do {
 *         if (vpa_certificates_advance(&set, &terms, now, trusted, &step, &err) < 0) ...
 *     } while (step != VPA_CERTIFICATES_KEPT);
 *
 * With L the lifetime of both, and S = L / 90 (at least a minute) the time in which every replica
 * and every API server has heard of a change:
 *
 *     0                CREATED     CA and pair
 *     2/3 L            ANNOUNCED   the next CA; caBundle holds both
 *     2/3 L + S        PROMOTED    it signs a new pair; caBundle holds both. Waits until the live
 *                                  caBundle holds it, as long as the old CA lasts
 *     2/3 L + 2 S      RETIRED     the old CA is forgotten
 *
 * So a pair never meets a client that trusts only the other CA, and one that cannot be renewed has
 * a third of its life left to be noticed. A pair that does not do any more (other names, damaged)
 * is RENEWED at once, and so is one whose own two thirds are over while its CA stays.
 */
#ifndef VPA_DAEMON_CERTIFICATES_H
#define VPA_DAEMON_CERTIFICATES_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/error.h"
#include "vpa/net/tls.h"

struct vpa_certificates { /* heap PEM texts, NULL: none; zeroed is empty */
    struct vpa_tls_pair ca;
    struct vpa_tls_pair next_ca;
    char *previous_ca; /* its key is not kept */
    struct vpa_tls_pair served;
};
void vpa_certificates_release(struct vpa_certificates *set); /* wipes the keys */

struct vpa_certificate_terms {
    const char *ca_name;
    const char *const *names; /* of the listener; names[0] is the one that is registered */
    size_t name_count;
    vpa_duration lifetime;
};
/* How long a change takes to be known everywhere: S. */
vpa_duration vpa_certificates_settling(const struct vpa_certificate_terms *terms);

enum vpa_certificates_step {
    VPA_CERTIFICATES_KEPT,
    VPA_CERTIFICATES_CREATED,
    VPA_CERTIFICATES_ANNOUNCED,
    VPA_CERTIFICATES_PROMOTED,
    VPA_CERTIFICATES_RENEWED,
    VPA_CERTIFICATES_RETIRED,
};
const char *vpa_certificates_step_name(enum vpa_certificates_step step);

/* Takes the one step that is due at `now`. next_is_trusted: the live caBundle holds the next CA.
 * On failure nothing has changed. */
int vpa_certificates_advance(struct vpa_certificates *set,
                             const struct vpa_certificate_terms *terms, vpa_time now,
                             bool next_is_trusted, enum vpa_certificates_step *step,
                             struct vpa_error *err) VPA_MUST_CHECK;
/* What caBundle should be: all CAs of the set, in a fixed order; heap. */
char *vpa_certificates_bundle(const struct vpa_certificates *set);

#endif
