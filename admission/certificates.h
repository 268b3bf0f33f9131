/*
 * The certificates that --manage-certificates keeps: a CA, a pair for the webhook that it has
 * signed, and during a change of the CA the one that comes or the one that goes. A value and its
 * rules; where it is stored is certificate_store.h.
 *
 *     enum certificates_step step;
 *     do {
 *         if (certificates_advance(&set, &terms, now, trusted, &step, &err) < 0) ...
 *     } while (step != CERTIFICATES_KEPT);
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
#ifndef ADMISSION_CERTIFICATES_H
#define ADMISSION_CERTIFICATES_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/error.h"
#include "vpa/net/tls.h"

struct certificates { /* heap PEM texts, NULL: none; zeroed is empty */
    struct vpa_tls_pair ca;
    struct vpa_tls_pair next_ca;
    char *previous_ca; /* its key is not kept */
    struct vpa_tls_pair served;
};
void certificates_release(struct certificates *set); /* wipes the keys */

struct certificate_terms {
    const char *const *names; /* of the webhook; names[0] is the one that is registered */
    size_t name_count;
    vpa_duration lifetime;
};
/* How long a change takes to be known everywhere: S. */
vpa_duration certificates_settling(const struct certificate_terms *terms);

enum certificates_step {
    CERTIFICATES_KEPT,
    CERTIFICATES_CREATED,
    CERTIFICATES_ANNOUNCED,
    CERTIFICATES_PROMOTED,
    CERTIFICATES_RENEWED,
    CERTIFICATES_RETIRED,
};
const char *certificates_step_name(enum certificates_step step);

/* Takes the one step that is due at `now`. next_is_trusted: the live caBundle holds the next CA.
 * On failure nothing has changed. */
int certificates_advance(struct certificates *set, const struct certificate_terms *terms,
                         vpa_time now, bool next_is_trusted, enum certificates_step *step,
                         struct vpa_error *err) VPA_MUST_CHECK;
/* What caBundle should be: all CAs of the set, in a fixed order; heap. */
char *certificates_bundle(const struct certificates *set);

#endif
