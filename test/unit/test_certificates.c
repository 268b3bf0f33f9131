/* The life of the managed certificates, on a clock that the test turns. */
#include "suite.h"

#include "vpa/daemon/certificates.h"
#include "vpa/base/mem.h"

#define START vpa_time_from_unix(1780000000, 0)
#define LIFETIME (90 * 24 * VPA_HOUR)
#define DAY (24 * VPA_HOUR)
#define NAME "vpa-webhook.kube-system.svc"

static const char *const names[] = {NAME, "vpa-webhook"};
static const struct vpa_certificate_terms terms = {
    .ca_name = "ca", .names = names, .name_count = 2, .lifetime = LIFETIME};
static struct vpa_certificates set;
static vpa_time now;
static bool trusted;

static void setup(void)
{
    now = START;
    trusted = true;
}

static void teardown(void)
{
    vpa_certificates_release(&set);
}

static enum vpa_certificates_step advance(void)
{
    enum vpa_certificates_step step = VPA_CERTIFICATES_KEPT;
    struct vpa_error err;

    if (vpa_certificates_advance(&set, &terms, now, trusted, &step, &err) < 0)
        ck_abort_msg("%s", err.text);
    return step;
}

/* Whether a client that trusts our bundle now takes what is served. */
static bool is_accepted(const char *bundle)
{
    return vpa_tls_verify(set.served.cert_pem, bundle, NAME, now, NULL) == 0;
}

/* Seven months, looked at every day: each step when it is due, and at no time is there a client
 * that trusts what the bundle was the day before and does not take what is served. */
TEST(three_rotations) {
    static const int expected[][2] = {
        {0, VPA_CERTIFICATES_CREATED},     {60, VPA_CERTIFICATES_ANNOUNCED},
        {61, VPA_CERTIFICATES_PROMOTED},   {62, VPA_CERTIFICATES_RETIRED},
        {120, VPA_CERTIFICATES_ANNOUNCED}, {121, VPA_CERTIFICATES_PROMOTED},
        {122, VPA_CERTIFICATES_RETIRED},   {180, VPA_CERTIFICATES_ANNOUNCED},
        {181, VPA_CERTIFICATES_PROMOTED},  {182, VPA_CERTIFICATES_RETIRED},
    };
    vpa_auto_free char *yesterdays = NULL;
    size_t seen = 0;

    for (int day = 0; day < 200; day++) {
        now = vpa_time_add(START, day * DAY);
        enum vpa_certificates_step step = advance();
        if (step != VPA_CERTIFICATES_KEPT) {
            ck_assert_uint_lt(seen, VPA_COUNT(expected));
            ck_assert_msg(expected[seen][1] == (int)step && expected[seen][0] == day, "day %d: %s",
                          day, vpa_certificates_step_name(step));
            seen++;
        }
        vpa_auto_free char *bundle = vpa_certificates_bundle(&set);
        ck_assert(is_accepted(bundle));
        ck_assert(!yesterdays || is_accepted(yesterdays));
        free(yesterdays);
        yesterdays = vpa_xstrdup(bundle);
    }
    ck_assert_uint_eq(seen, VPA_COUNT(expected));
}

/* A CA that the registration does not name yet signs nothing, as long as the old one lasts. */
TEST(untrusted_cas_wait) {
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    trusted = false;
    now = vpa_time_add(START, 61 * DAY);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_ANNOUNCED);
    now = vpa_time_add(START, 88 * DAY);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_KEPT);
    now = vpa_time_add(START, 89 * DAY + VPA_HOUR);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_PROMOTED);
    ck_assert_ptr_nonnull(set.previous_ca);
    ck_assert_ptr_null(set.next_ca.key_pem);
}

/* Asleep for so long that everything has ended: a new beginning. */
TEST(what_has_ended_is_made_anew) {
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    now = vpa_time_add(START, 100 * DAY);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    ck_assert_ptr_null(set.previous_ca);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_KEPT);
}

/* At its last second a CA is one no more: nothing is announced beside it. */
TEST(the_end_of_a_ca_belongs_to_what_follows) {
    struct vpa_tls_info info;

    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    ck_assert_int_eq(vpa_tls_check_pair(set.ca.cert_pem, set.ca.key_pem, &info, NULL), 0);
    now = info.not_after;
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    ck_assert_ptr_null(set.previous_ca);
}

/* And where one was announced, that takes its place. */
TEST(at_the_end_of_a_ca_the_next_one_signs) {
    struct vpa_tls_info info;

    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    ck_assert_int_eq(vpa_tls_check_pair(set.ca.cert_pem, set.ca.key_pem, &info, NULL), 0);
    trusted = false;
    now = vpa_time_add(START, 61 * DAY);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_ANNOUNCED);
    vpa_auto_free char *next = vpa_xstrdup(set.next_ca.cert_pem);
    now = info.not_after;
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_PROMOTED);
    ck_assert_str_eq(set.ca.cert_pem, next);
    ck_assert_ptr_null(set.previous_ca);
}

enum damage { NO_PAIR, OTHER_KEY, NO_PEM, OTHER_NAMES, OTHER_CA };
static const char *const damages[] = {"no pair", "another key", "no PEM", "other names",
                                      "a pair of another CA"};

static void do_damage(enum damage how)
{
    static const char *const elsewhere[] = {"elsewhere"};
    struct vpa_tls_pair ca = {0}, pair = {0};
    struct vpa_error err;

    ck_assert_int_eq(vpa_tls_create_ca("x", now, LIFETIME, &ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_certificate(how == OTHER_CA ? &ca : &set.ca,
                                                how == OTHER_NAMES ? elsewhere : names, 1, false,
                                                now, LIFETIME, &pair, &err),
                     0);
    if (how == OTHER_KEY) {
        free(set.served.key_pem);
        set.served.key_pem = VPA_STEAL(pair.key_pem);
    } else {
        vpa_tls_pair_release(&set.served);
        if (how == NO_PEM)
            set.served.cert_pem = vpa_xstrdup("nonsense");
        else if (how != NO_PAIR)
            set.served = pair;
        if (how != NO_PAIR && how != NO_PEM)
            pair = (struct vpa_tls_pair){0};
    }
    vpa_tls_pair_release(&pair);
    vpa_tls_pair_release(&ca);
}

TEST_EACH(damaged_pairs_are_renewed, damages) {
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    vpa_auto_free char *ca = vpa_xstrdup(set.ca.cert_pem);
    do_damage((enum damage)_i);
    ck_assert_msg(advance() == VPA_CERTIFICATES_RENEWED, "%s", damages[_i]);
    ck_assert_str_eq(set.ca.cert_pem, ca);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_KEPT);
}

/* A CA that signs no more (its key is lost, or nonsense) goes, but stays trusted where it can. */
TEST(damaged_cas_are_replaced) {
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    free(set.ca.key_pem);
    set.ca.key_pem = vpa_xstrdup("nonsense");
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_KEPT);
    vpa_auto_free char *bundle = vpa_certificates_bundle(&set);
    ck_assert(is_accepted(bundle));
}

/* Made by a clock that ran ahead: nobody takes them now, and what such a CA signs neither. */
TEST(what_has_not_begun_is_made_anew) {
    now = vpa_time_add(START, DAY);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    now = START;
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    ck_assert_ptr_nonnull(set.previous_ca); /* who has that clock still serves the old pair */
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_KEPT);
    vpa_auto_free char *bundle = vpa_certificates_bundle(&set);
    ck_assert(is_accepted(bundle));
}

/* A second makes the difference, at both ends. */
TEST(a_pair_counts_from_its_first_second_to_its_last) {
    struct vpa_tls_info info;

    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    ck_assert_int_eq(vpa_tls_describe(set.served.cert_pem, &info, NULL), 0);
    now = info.not_before;
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_KEPT);
    now = vpa_time_add(info.not_before, -VPA_SECOND);
    ck_assert_int_ne(advance(), VPA_CERTIFICATES_KEPT);
}

/* A certificate that is none of a CA, with its key: what it signs nobody takes. */
TEST(who_is_no_ca_is_replaced) {
    struct vpa_error err;

    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    struct vpa_tls_pair leaf = {0};
    ck_assert_int_eq(
        vpa_tls_create_certificate(&set.ca, names, 2, false, now, LIFETIME, &leaf, &err), 0);
    vpa_tls_pair_release(&set.ca);
    set.ca = leaf;
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_KEPT);
}

/* The same in the place of the next one: it is replaced while the one that signs is still there. */
TEST(who_is_no_ca_is_not_promoted) {
    struct vpa_error err;

    ck_assert_int_eq(advance(), VPA_CERTIFICATES_CREATED);
    vpa_auto_free char *ca = vpa_xstrdup(set.ca.cert_pem);
    now = vpa_time_add(START, 60 * DAY);
    ck_assert_int_eq(
        vpa_tls_create_certificate(&set.ca, names, 2, false, now, LIFETIME, &set.next_ca, &err), 0);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_ANNOUNCED);
    ck_assert_str_eq(set.ca.cert_pem, ca);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_KEPT);
    now = vpa_time_add(now, DAY);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_PROMOTED);
    ck_assert_str_eq(set.previous_ca, ca);
    ck_assert_int_eq(advance(), VPA_CERTIFICATES_KEPT);
}

/* A name that no certificate can prove. */
TEST(impossible_names_are_an_error) {
    static const char *const spaced[] = {"example.com "};
    const struct vpa_certificate_terms bad = {
        .ca_name = "ca", .names = spaced, .name_count = 1, .lifetime = LIFETIME};
    enum vpa_certificates_step step;
    struct vpa_error err;

    ck_assert_int_eq(vpa_certificates_advance(&set, &bad, now, true, &step, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "example.com "));
}

int main(void)
{
    return run_tests_within(60, "certificates", setup, teardown);
}
