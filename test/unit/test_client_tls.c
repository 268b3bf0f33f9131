/* Certificate files of the HTTP client in rotation: missing, empty, half written, mismatched, new.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"
#include "../../src/net/client_tls.h"
#include "vpa/base/mem.h"
#include "vpa/net/tls.h"

#define NOW vpa_time_from_unix(1767225600, 0)

static char dir[64], ca_path[96], cert_path[96], key_path[96];
static struct vpa_tls_pair ca, other_ca, pair, other;
static struct vpa_error err;

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void setup(void)
{
    static const char *const names[] = {"x"};

    snprintf(dir, sizeof(dir), "/tmp/plumb-tls-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(ca_path, sizeof(ca_path), "%s/ca", dir);
    snprintf(cert_path, sizeof(cert_path), "%s/cert", dir);
    snprintf(key_path, sizeof(key_path), "%s/key", dir);
    ck_assert_int_eq(vpa_tls_create_ca("a", NOW, VPA_HOUR, &ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_ca("b", NOW, VPA_HOUR, &other_ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 1, true, NOW, VPA_HOUR, &pair, &err),
                     0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 1, true, NOW, VPA_HOUR, &other, &err),
                     0);
    put(ca_path, ca.cert_pem);
    put(cert_path, pair.cert_pem);
    put(key_path, pair.key_pem);
}

static void teardown(void)
{
    unlink(ca_path);
    unlink(cert_path);
    unlink(key_path);
    rmdir(dir);
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&other_ca);
    vpa_tls_pair_release(&pair);
    vpa_tls_pair_release(&other);
}

START_TEST(files_are_read_again)
{
    const struct client_tls_sources o = {
        .ca.path = ca_path, .cert.path = cert_path, .key.path = key_path};
    struct client_tls tls = {0};
    const int64_t step = CLIENT_TLS_RELOAD;

    ck_assert_int_eq(client_tls_load(&tls, &o, 0, &err), 0);
    put(ca_path, other_ca.cert_pem);
    client_tls_refresh(&tls, step - 1);
    ck_assert_str_eq(tls.ca.pem, ca.cert_pem);
    client_tls_refresh(&tls, step);
    ck_assert_str_eq(tls.ca.pem, other_ca.cert_pem);
    static const char *const bad[] = {"", "junk", "-----BEGIN CERTIFICATE-----\nMII"};
    for (size_t i = 0; i < VPA_COUNT(bad); i++) {
        put(ca_path, bad[i]);
        client_tls_refresh(&tls, (2 + (int64_t)i) * step);
        ck_assert_str_eq(tls.ca.pem, other_ca.cert_pem);
    }
    unlink(ca_path);
    client_tls_refresh(&tls, 10 * step);
    ck_assert_str_eq(tls.ca.pem, other_ca.cert_pem);
    /* half a rotation: the new certificate with the old key */
    put(cert_path, other.cert_pem);
    client_tls_refresh(&tls, 11 * step);
    ck_assert_str_eq(tls.cert.pem, pair.cert_pem);
    put(key_path, other.key_pem);
    client_tls_refresh(&tls, 12 * step);
    ck_assert_str_eq(tls.cert.pem, other.cert_pem);
    ck_assert_str_eq(tls.key.pem, other.key_pem);
    client_tls_set_certificate(&tls, pair.cert_pem, pair.key_pem);
    client_tls_refresh(&tls, 13 * step); /* no longer a file */
    ck_assert_str_eq(tls.cert.pem, pair.cert_pem);
    client_tls_release(&tls);
}
END_TEST

START_TEST(data_wins_over_files)
{
    const struct client_tls_sources o = {.ca = {.path = "/nonexistent", .data = ca.cert_pem}};
    struct client_tls tls = {0};

    ck_assert_int_eq(client_tls_load(&tls, &o, 0, &err), 0);
    client_tls_refresh(&tls, VPA_HOUR);
    ck_assert_str_eq(tls.ca.pem, ca.cert_pem);
    client_tls_release(&tls);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client_tls");
    TCase *c = tcase_create("client_tls");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, files_are_read_again);
    tcase_add_test(c, data_wins_over_files);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
