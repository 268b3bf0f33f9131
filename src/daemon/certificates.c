/*
 * When a certificate was made stands in it: its begin and the slack that every certificate of ours
 * begins before its time. So nothing but the certificates needs to be stored, and replicas that
 * read the same set decide the same.
 */
#include "vpa/daemon/certificates.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define SETTLING_PARTS 90
#define SETTLING_MIN VPA_MINUTE

void vpa_certificates_release(struct vpa_certificates *set)
{
    vpa_tls_pair_release(&set->ca);
    vpa_tls_pair_release(&set->next_ca);
    vpa_tls_pair_release(&set->served);
    free(set->previous_ca);
    *set = (struct vpa_certificates){0};
}

vpa_duration vpa_certificates_settling(const struct vpa_certificate_terms *terms)
{
    vpa_duration part = terms->lifetime / SETTLING_PARTS;

    return part > SETTLING_MIN ? part : SETTLING_MIN;
}

const char *vpa_certificates_step_name(enum vpa_certificates_step step)
{
    static const char *const names[] = {"kept",     "created", "announced",
                                        "promoted", "renewed", "retired"};

    return names[step];
}

char *vpa_certificates_bundle(const struct vpa_certificates *set)
{
    return vpa_xprintf("%s%s%s", vpa_or_empty(set->ca.cert_pem),
                       vpa_or_empty(set->next_ca.cert_pem), vpa_or_empty(set->previous_ca));
}

/* ---- times ---- */

static vpa_time made(const char *cert_pem)
{
    struct vpa_tls_info info;

    if (vpa_tls_describe(cert_pem, &info, NULL) < 0)
        return VPA_TIME_UNSET;
    return vpa_time_add(info.not_before, VPA_TLS_CLOCK_SLACK);
}

/* Long ago for what is no certificate. */
static vpa_time ends(const char *cert_pem)
{
    struct vpa_tls_info info;

    return !cert_pem || vpa_tls_describe(cert_pem, &info, NULL) < 0 ? 0 : info.not_after;
}

static bool is_older_than(const char *cert_pem, vpa_duration age, vpa_time now)
{
    return now >= vpa_time_add(made(cert_pem), age);
}

/* A pair that belongs together, has begun and has not ended. One that was made by a clock far ahead
 * of ours has not begun: nothing that it signs is worth anything. */
static bool is_usable(const struct vpa_tls_pair *pair, vpa_time now)
{
    struct vpa_tls_info info;

    return vpa_tls_check_pair(pair->cert_pem, pair->key_pem, &info, NULL) == 0 &&
           info.not_before <= now && info.not_after > now;
}

static int check_names(const struct vpa_certificates *set,
                       const struct vpa_certificate_terms *terms, vpa_time now,
                       struct vpa_error *err)
{
    for (size_t i = 0; i < terms->name_count; i++)
        if (vpa_tls_verify(set->served.cert_pem, set->ca.cert_pem, terms->names[i], now, err) < 0)
            return -1;
    return 0;
}

static bool serves_all_names(const struct vpa_certificates *set,
                             const struct vpa_certificate_terms *terms, vpa_time now)
{
    return is_usable(&set->served, now) && check_names(set, terms, now, NULL) == 0;
}

/* ---- steps ---- */

/* A pair of this CA, which does not outlive it. */
static int sign(const struct vpa_tls_pair *ca, const struct vpa_certificate_terms *terms,
                vpa_time now, struct vpa_tls_pair *out, struct vpa_error *err)
{
    vpa_duration left = vpa_time_sub(ends(ca->cert_pem), now);

    return vpa_tls_create_certificate(ca, terms->names, terms->name_count, false, now,
                                      left < terms->lifetime ? left : terms->lifetime, out, err);
}

/* What it signs is taken by who trusts it. A server's certificate with its key is no CA: had it
 * taken the place of ours, nobody would know ours any more. */
static bool is_ca(const struct vpa_tls_pair *ca, const struct vpa_certificate_terms *terms,
                  vpa_time now)
{
    struct vpa_tls_pair trial = {0};
    bool taken = is_usable(ca, now) && sign(ca, terms, now, &trial, NULL) == 0 &&
                 vpa_tls_verify(trial.cert_pem, ca->cert_pem, terms->names[0], now, NULL) == 0;

    vpa_tls_pair_release(&trial);
    return taken;
}

static int renew(struct vpa_certificates *set, const struct vpa_certificate_terms *terms,
                 vpa_time now, struct vpa_error *err)
{
    struct vpa_tls_pair pair = {0};

    if (sign(&set->ca, terms, now, &pair, err) < 0)
        return -1;
    vpa_tls_pair_release(&set->served);
    set->served = pair;
    return 0;
}

/* ca becomes the one that signs; the one before is trusted a little longer. */
static int change_ca(struct vpa_certificates *set, struct vpa_tls_pair *ca,
                     const struct vpa_certificate_terms *terms, vpa_time now, struct vpa_error *err)
{
    struct vpa_tls_pair pair = {0};

    if (sign(ca, terms, now, &pair, err) < 0)
        return -1;
    free(set->previous_ca);
    set->previous_ca = ends(set->ca.cert_pem) > now ? vpa_xstrdup(set->ca.cert_pem) : NULL;
    vpa_tls_pair_release(&set->ca);
    vpa_tls_pair_release(&set->served);
    set->ca = *ca;
    *ca = (struct vpa_tls_pair){0};
    set->served = pair;
    return 0;
}

static int create(struct vpa_certificates *set, const struct vpa_certificate_terms *terms,
                  vpa_time now, struct vpa_error *err)
{
    struct vpa_tls_pair ca = {0};

    if (vpa_tls_create_ca(terms->ca_name, now, terms->lifetime, &ca, err) < 0)
        return -1;
    int result = change_ca(set, &ca, terms, now, err);
    vpa_tls_pair_release(&ca);
    if (result < 0)
        return -1;
    vpa_tls_pair_release(&set->next_ca);
    return check_names(set, terms, now, err); /* where even this one does not do, none would */
}

static int announce(struct vpa_certificates *set, const struct vpa_certificate_terms *terms,
                    vpa_time now, struct vpa_error *err)
{
    struct vpa_tls_pair ca = {0};

    if (vpa_tls_create_ca(terms->ca_name, now, terms->lifetime, &ca, err) < 0)
        return -1;
    vpa_tls_pair_release(&set->next_ca);
    set->next_ca = ca;
    return 0;
}

/* ---- which one is due ---- */

static bool may_promote(const struct vpa_certificates *set,
                        const struct vpa_certificate_terms *terms, vpa_time now,
                        bool next_is_trusted)
{
    vpa_duration settling = vpa_certificates_settling(terms);

    if (now >= vpa_time_add(ends(set->ca.cert_pem), -settling))
        return true; /* nothing is left to be lost */
    return next_is_trusted && is_older_than(set->next_ca.cert_pem, settling, now);
}

static enum vpa_certificates_step due(const struct vpa_certificates *set,
                                      const struct vpa_certificate_terms *terms, vpa_time now,
                                      bool next_is_trusted)
{
    vpa_duration two_thirds = terms->lifetime / 3 * 2;
    bool has_next = is_ca(&set->next_ca, terms, now);

    if (!is_usable(&set->ca, now))
        return has_next ? VPA_CERTIFICATES_PROMOTED : VPA_CERTIFICATES_CREATED;
    if (!serves_all_names(set, terms, now))
        return VPA_CERTIFICATES_RENEWED;
    if (set->previous_ca &&
        is_older_than(set->served.cert_pem, vpa_certificates_settling(terms), now))
        return VPA_CERTIFICATES_RETIRED;
    if (!has_next && is_older_than(set->ca.cert_pem, two_thirds, now))
        return VPA_CERTIFICATES_ANNOUNCED;
    if (has_next)
        return may_promote(set, terms, now, next_is_trusted) ? VPA_CERTIFICATES_PROMOTED
                                                             : VPA_CERTIFICATES_KEPT;
    return is_older_than(set->served.cert_pem, two_thirds, now) ? VPA_CERTIFICATES_RENEWED
                                                                : VPA_CERTIFICATES_KEPT;
}

int vpa_certificates_advance(struct vpa_certificates *set,
                             const struct vpa_certificate_terms *terms, vpa_time now,
                             bool next_is_trusted, enum vpa_certificates_step *step,
                             struct vpa_error *err)
{
    enum vpa_certificates_step next = due(set, terms, now, next_is_trusted);
    int result = 0;

    switch (next) {
    case VPA_CERTIFICATES_KEPT:
        break;
    case VPA_CERTIFICATES_CREATED:
        result = create(set, terms, now, err);
        break;
    case VPA_CERTIFICATES_ANNOUNCED:
        result = announce(set, terms, now, err);
        break;
    case VPA_CERTIFICATES_PROMOTED:
        result = change_ca(set, &set->next_ca, terms, now, err);
        break;
    case VPA_CERTIFICATES_RENEWED:
        if (renew(set, terms, now, NULL) < 0 || !serves_all_names(set, terms, now)) {
            next = VPA_CERTIFICATES_CREATED; /* what signs is no CA, or none of ours */
            result = create(set, terms, now, err);
        }
        break;
    case VPA_CERTIFICATES_RETIRED:
        free(set->previous_ca);
        set->previous_ca = NULL;
        break;
    }
    if (result == 0)
        *step = next;
    return result;
}
