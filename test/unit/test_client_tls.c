/* Certificate files of the HTTP client in rotation: missing, empty, half written, mismatched, new.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "captured_log.h"
#include "suite.h"
#include "temp_folder.h"
#include "../../src/net/client_tls.h"
#include "vpa/base/mem.h"
#include "vpa/net/tls.h"

#define NOW vpa_time_from_unix(1767225600, 0)

static const char *ca_path, *cert_path, *key_path;
static struct vpa_tls_pair ca, other_ca, pair, other;
static struct vpa_error err;

static void setup(void)
{
    static const char *const names[] = {"x"};

    temp_folder_make();
    ck_assert_int_eq(vpa_tls_create_ca("a", NOW, VPA_HOUR, &ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_ca("b", NOW, VPA_HOUR, &other_ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 1, true, NOW, VPA_HOUR, &pair, &err),
                     0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 1, true, NOW, VPA_HOUR, &other, &err),
                     0);
    ca_path = temp_put("ca", ca.cert_pem);
    cert_path = temp_put("cert", pair.cert_pem);
    key_path = temp_put("key", pair.key_pem);
}

static void teardown(void)
{
    temp_folder_remove();
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&other_ca);
    vpa_tls_pair_release(&pair);
    vpa_tls_pair_release(&other);
}

TEST(files_are_read_again) {
    const struct client_tls_sources o = {
        .ca.path = ca_path, .cert.path = cert_path, .key.path = key_path};
    struct client_tls tls = {0};
    const int64_t step = CLIENT_TLS_RELOAD;

    ck_assert_int_eq(client_tls_load(&tls, &o, 0, &err), 0);
    temp_put("ca", other_ca.cert_pem);
    client_tls_refresh(&tls, step - 1);
    ck_assert_str_eq(tls.ca.pem, ca.cert_pem);
    client_tls_refresh(&tls, step);
    ck_assert_str_eq(tls.ca.pem, other_ca.cert_pem);
    static const char *const bad[] = {"", "junk", "-----BEGIN CERTIFICATE-----\nMII"};
    for (size_t i = 0; i < VPA_COUNT(bad); i++) {
        temp_put("ca", bad[i]);
        client_tls_refresh(&tls, (2 + (int64_t)i) * step);
        ck_assert_str_eq(tls.ca.pem, other_ca.cert_pem);
    }
    unlink(ca_path);
    client_tls_refresh(&tls, 10 * step);
    ck_assert_str_eq(tls.ca.pem, other_ca.cert_pem);
    /* half a rotation: the new certificate with the old key */
    temp_put("cert", other.cert_pem);
    client_tls_refresh(&tls, 11 * step);
    ck_assert_str_eq(tls.cert.pem, pair.cert_pem);
    temp_put("key", other.key_pem);
    client_tls_refresh(&tls, 12 * step);
    ck_assert_str_eq(tls.cert.pem, other.cert_pem);
    ck_assert_str_eq(tls.key.pem, other.key_pem);
    client_tls_set_certificate(&tls, pair.cert_pem, pair.key_pem);
    client_tls_refresh(&tls, 13 * step); /* no longer a file */
    ck_assert_str_eq(tls.cert.pem, pair.cert_pem);
    client_tls_release(&tls);
}

/* The file holds that text at the next look: what is used then, and how many warnings there are. */
static void look_at(struct client_tls *tls, const char *text, const char *used, size_t warnings)
{
    temp_put("ca", text);
    forget_log();
    client_tls_refresh(tls, tls->checked + CLIENT_TLS_RELOAD);
    ck_assert_str_eq(tls->ca.pem, used);
    ck_assert_uint_eq(tls->ca.len, strlen(used));
    ck_assert_uint_eq(logged("the last one is used on"), warnings);
}

/* Whatever of a bundle cannot be read, the second or the first. */
#define BLOCK(TEXT) "-----BEGIN CERTIFICATE-----\n" TEXT "\n-----END CERTIFICATE-----\n"
static const struct {
    const char *before, *behind;
    int of_another; /* bytes */
} parts[] = {
    {"", "", 100},          /* cut off */
    {"", "", 15},           /* in its first line */
    {"", BLOCK("TUlJ"), 0}, /* no certificate */
    {"", BLOCK("%%"), 0},   /* no base64 */
    {BLOCK("TUlJ"), "", 0},
};

/* At the start what can be read is used. An older one stays until the new one is the same at two
 * looks: before it may be in the middle of being written. Each text is refused aloud once. */
TEST_EACH(a_bundle_of_which_a_part_cannot_be_read, parts) {
    const struct client_tls_sources o = {.ca.path = ca_path};
    struct client_tls tls = {0}, old = {0};
    vpa_auto_free char *damaged =
        vpa_xprintf("%s%s%s%.*s", parts[_i].before, ca.cert_pem, parts[_i].behind,
                    parts[_i].of_another, other_ca.cert_pem);
    vpa_auto_free char *grown = vpa_xprintf("%s\n", damaged);
    vpa_auto_free char *whole = vpa_xprintf("# ours\n%s%s", ca.cert_pem, other_ca.cert_pem);

    temp_put("ca", other_ca.cert_pem);
    ck_assert_int_eq(client_tls_load(&old, &o, 0, &err), 0);
    temp_put("ca", damaged);
    ck_assert_int_eq(client_tls_load(&tls, &o, 0, &err), 0);
    ck_assert_str_eq(tls.ca.pem, ca.cert_pem);
    ck_assert_uint_eq(tls.ca.len, strlen(ca.cert_pem));
    capture_log(0);
    for (int look = 1; look <= 3; look++)
        client_tls_refresh(&tls, look * CLIENT_TLS_RELOAD);
    ck_assert_str_eq(logged_text(), "");
    ck_assert_str_eq(tls.ca.pem, ca.cert_pem);
    look_at(&old, damaged, other_ca.cert_pem, 1);
    look_at(&old, grown, other_ca.cert_pem, 1);
    look_at(&old, other_ca.cert_pem, other_ca.cert_pem, 0);
    look_at(&old, grown, other_ca.cert_pem, 1);
    look_at(&old, grown, ca.cert_pem, 0);
    look_at(&old, grown, ca.cert_pem, 0);
    look_at(&old, whole, whole, 0);
    look_at(&tls, whole, whole, 0);
    client_tls_release(&tls);
    client_tls_release(&old);
}

/* Without any certificate it is refused at each look, and aloud once. */
TEST(a_file_of_no_use_is_never_taken) {
    const struct client_tls_sources o = {.ca.path = ca_path};
    struct client_tls tls = {0};

    ck_assert_int_eq(client_tls_load(&tls, &o, 0, &err), 0);
    capture_log(0);
    look_at(&tls, "junk", ca.cert_pem, 1);
    look_at(&tls, "junk", ca.cert_pem, 0);
    look_at(&tls, "junk", ca.cert_pem, 0);
    look_at(&tls, BLOCK("TUlJ"), ca.cert_pem, 1);
    client_tls_release(&tls);
}

/* PEM begins lines, so an authority that is commented out is none. */
static const char *const prose[] = {"# ", "#", " ", "off: ", "\t"};

TEST_EACH(what_does_not_begin_a_line_is_prose, prose) {
    vpa_auto_free char *off = vpa_xprintf("%s%s", prose[_i], other_ca.cert_pem);
    vpa_auto_free char *around = vpa_xprintf("%s%s%s", off, ca.cert_pem, off);
    vpa_auto_free char *broken = vpa_xprintf("%s%s" BLOCK("%%%%"), ca.cert_pem, prose[_i]);

    ck_assert_int_lt(vpa_tls_check_ca(off, &err), 0);
    ck_assert(vpa_tls_is_whole(around));
    ck_assert(vpa_tls_is_whole(broken));
    vpa_auto_free char *readable = vpa_tls_readable(around);
    ck_assert_str_eq(readable, ca.cert_pem);
}

/* Blocks of other kinds are nobody's concern. */
TEST(a_bundle_with_more_than_certificates) {
    vpa_auto_free char *both = vpa_xprintf("%s%s", ca.key_pem, ca.cert_pem);
    const struct client_tls_sources o = {.ca.data = both};
    struct client_tls tls = {0};

    ck_assert_int_eq(client_tls_load(&tls, &o, 0, &err), 0);
    ck_assert_str_eq(tls.ca.pem, both);
    client_tls_release(&tls);
}

TEST(data_wins_over_files) {
    const struct client_tls_sources o = {.ca = {.path = "/nonexistent", .data = ca.cert_pem}};
    struct client_tls tls = {0};

    ck_assert_int_eq(client_tls_load(&tls, &o, 0, &err), 0);
    client_tls_refresh(&tls, VPA_HOUR);
    ck_assert_str_eq(tls.ca.pem, ca.cert_pem);
    client_tls_release(&tls);
}

int main(void)
{
    return run_tests("client_tls", setup, teardown);
}
