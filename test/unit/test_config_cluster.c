/* The configuration inside a cluster: whose certificates are trusted, and what a token may be. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "captured_log.h"
#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/kube/config.h"
#include "vpa/net/tls.h"

static char dir[64];
static struct vpa_error err;

static void setup(void)
{
    snprintf(dir, sizeof(dir), "/tmp/plumb-cluster-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void put_file(const char *name, const char *text)
{
    vpa_auto_free char *path = vpa_xjoin(dir, '/', name);
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void teardown(void)
{
    static const char *const names[] = {"token", "ca.crt"};

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        vpa_auto_free char *path = vpa_xjoin(dir, '/', names[i]);
        unlink(path);
    }
    rmdir(dir);
}

/* The cluster's own CA where there is one that can be read; else the roots of the system, which is
 * said. */
static const struct {
    const char *pem; /* NULL: no file; "": a CA that was just made */
    bool used;
} authorities[] = {{"", true}, {"no PEM", false}, {NULL, false}};

START_TEST(the_clusters_own_ca_is_trusted)
{
    vpa_auto_free char *path = vpa_xjoin(dir, '/', "ca.crt");
    struct vpa_http_client_options o;
    struct vpa_tls_pair ca = {0};
    const char *pem = authorities[_i].pem;

    capture_log(0);
    put_file("token", "tok");
    ck_assert_int_eq(
        vpa_tls_create_ca("kubernetes", vpa_time_from_unix(1772366400, 0), VPA_HOUR, &ca, &err), 0);
    if (pem)
        put_file("ca.crt", *pem ? pem : ca.cert_pem);
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", dir, &err);
    ck_assert_ptr_nonnull(config);
    vpa_kube_config_client_options(config, &o);
    if (authorities[_i].used)
        ck_assert_str_eq(vpa_or_empty(o.ca_file), path);
    else
        ck_assert_ptr_null(o.ca_file);
    ck_assert_ptr_null(o.ca_data);
    ck_assert(!o.insecure);
    ck_assert_uint_eq(logged("Expected to load root CA config"), !authorities[_i].used);
    vpa_kube_config_free(config);
    vpa_tls_pair_release(&ca);
}
END_TEST

/* What cannot stand in a header is none; blanks around it are nobody's. */
static const struct {
    const char *text, *header; /* NULL: refused */
} tokens[] = {
    {"tok", "Bearer tok"},
    {" \ttok\r\n", "Bearer tok"},
    {"a.b-c_d~e+f/g=", "Bearer a.b-c_d~e+f/g="},
    {"two words", NULL},
    {"two\nlines", NULL},
    {"tok\x01", NULL},
    {"\xc3\xa9t\xc3\xa9", NULL},
};

START_TEST(a_token_is_one_word)
{
    const struct vpa_header *headers;
    size_t count;

    put_file("token", tokens[_i].text);
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", dir, &err);
    if (tokens[_i].header) {
        ck_assert_msg(config != NULL, "%s", err.text);
        ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), 0);
        ck_assert_uint_eq(count, 1);
        ck_assert_str_eq(headers[0].name, "Authorization");
        ck_assert_str_eq(headers[0].value, tokens[_i].header);
    } else {
        ck_assert_ptr_null(config);
        ck_assert_msg(strstr(err.text, "holds no token") != NULL, "%s", err.text);
        ck_assert_ptr_null(strstr(err.text, tokens[_i].text)); /* it may be a secret */
    }
    vpa_kube_config_free(config);
}
END_TEST

/* Of --master: what is written is where it goes; without a scheme it is plain. */
static const struct {
    const char *text, *server;
} servers[] = {
    {"https://host:6443", "https://host:6443"},
    {"https://host:6443///", "https://host:6443"},
    {"http://host/", "http://host"},
    {"host:8080", "http://host:8080"},
    {"http://", "http://"},
    {"a b", "a b"},
};

START_TEST(a_server_is_where_it_is_said_to_be)
{
    struct vpa_kube_config *config = vpa_kube_config_plain(servers[_i].text);

    ck_assert_str_eq(vpa_kube_config_server(config), servers[_i].server);
    vpa_kube_config_free(config);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_cluster");
    TCase *c = tcase_create("config");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, the_clusters_own_ca_is_trusted, 0, (int)VPA_COUNT(authorities));
    tcase_add_loop_test(c, a_token_is_one_word, 0, (int)VPA_COUNT(tokens));
    tcase_add_loop_test(c, a_server_is_where_it_is_said_to_be, 0, (int)VPA_COUNT(servers));
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
