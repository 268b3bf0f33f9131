/* The configuration inside a cluster: what is trusted, and what becomes of its token. */
#include "config_fixture.h"

#include "captured_log.h"
#include "vpa/net/tls.h"

TEST(in_cluster) {
    ck_assert_ptr_null(vpa_kube_config_in_cluster("", "443", temp_folder(), &err));
    ck_assert_str_eq(err.text,
                     "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
                     "KUBERNETES_SERVICE_PORT must be defined");
    ck_assert_ptr_null(vpa_kube_config_in_cluster("h", NULL, temp_folder(), &err));
    ck_assert_ptr_null(vpa_kube_config_in_cluster("h", "1", temp_folder(), &err));
    ck_assert_ptr_nonnull(strstr(err.text, "token"));
    temp_put("token", " \n");
    ck_assert_ptr_null(vpa_kube_config_in_cluster("h", "1", temp_folder(), &err));
    ck_assert_ptr_nonnull(strstr(err.text, "read empty token from file"));
    temp_put("token", "tok\n");
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("::1", "6443", temp_folder(), &err);
    ck_assert_str_eq(vpa_kube_config_server(config), "https://[::1]:6443");
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer tok");
    vpa_kube_config_free(config);
}

TEST(tokens_are_read_again) {
    const int64_t s = VPA_SECOND;

    temp_put("token", "one");
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", temp_folder(), &err);
    temp_put("token", "two");
    ck_assert_str_eq(header(config, 100 * s, "Authorization"), "Bearer one");
    ck_assert_str_eq(header(config, 149 * s, "Authorization"), "Bearer one");
    ck_assert_str_eq(header(config, 150 * s, "Authorization"), "Bearer two");
    temp_put("token", "three");
    ck_assert_str_eq(header(config, 199 * s, "Authorization"), "Bearer two");
    ck_assert_str_eq(header(config, 200 * s, "Authorization"), "Bearer three");
    temp_put("token", "");
    ck_assert_str_eq(header(config, 300 * s, "Authorization"), "Bearer three"); /* kept */
    temp_put("token", "four");
    ck_assert_str_eq(header(config, 301 * s, "Authorization"), "Bearer four");
    vpa_kube_config_free(config);
    /* inline and file: inline until the first re-read */
    temp_put("token", "fromfile");
    config = load(CONTEXT CLUSTER("") USER("    token: inline\n    tokenFile: token\n"));
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer inline");
    ck_assert_str_eq(header(config, 60 * s, "Authorization"), "Bearer fromfile");
    vpa_kube_config_free(config);
    /* never readable: the request fails */
    const struct vpa_header *headers;
    size_t count;
    config = load(CONTEXT CLUSTER("") USER("    tokenFile: missing\n"));
    ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), -1);
    vpa_kube_config_free(config);
}

/* The file has a new one, for instance of a service account that was made again. */
TEST(a_token_that_was_refused_is_read_again) {
    const int64_t s = VPA_SECOND;

    temp_put("token", "one");
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", temp_folder(), &err);
    ck_assert_str_eq(header(config, 100 * s, "Authorization"), "Bearer one");
    temp_put("token", "two");
    ck_assert_str_eq(header(config, 101 * s, "Authorization"), "Bearer one");
    vpa_kube_config_unauthorized(config);
    ck_assert_str_eq(header(config, 102 * s, "Authorization"), "Bearer two");
    temp_put("token", "three"); /* not for every request that is refused */
    vpa_kube_config_unauthorized(config);
    ck_assert_str_eq(header(config, 103 * s - 1, "Authorization"), "Bearer two");
    ck_assert_str_eq(header(config, 103 * s, "Authorization"), "Bearer three");
    temp_put("token", ""); /* it is being written */
    vpa_kube_config_unauthorized(config);
    ck_assert_str_eq(header(config, 105 * s, "Authorization"), "Bearer three");
    temp_put("token", "four");
    ck_assert_str_eq(header(config, 106 * s, "Authorization"), "Bearer four");
    temp_put("token", "five");
    ck_assert_str_eq(header(config, 155 * s, "Authorization"), "Bearer four");
    ck_assert_str_eq(header(config, 156 * s, "Authorization"), "Bearer five");
    vpa_kube_config_free(config);
}

/* Every request asks for its headers. */
TEST(a_token_that_cannot_be_read_is_told_once) {
    const int64_t s = VPA_SECOND;

    temp_put("token", "one");
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", temp_folder(), &err);
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer one");
    temp_put("token", "");
    capture_log(0);
    for (int i = 0; i < 1000; i++)
        ck_assert_str_eq(header(config, 100 * s + i * s / 10, "Authorization"), "Bearer one");
    ck_assert_uint_eq(logged("Unable to rotate token"), 1);
    temp_put("token", "two");
    ck_assert_str_eq(header(config, 201 * s, "Authorization"), "Bearer two");
    temp_put("token", "");
    for (int i = 0; i < 1000; i++)
        ck_assert_str_eq(header(config, 300 * s + i * s / 10, "Authorization"), "Bearer two");
    ck_assert_uint_eq(logged("Unable to rotate token"), 2);
    vpa_kube_config_free(config);
}

/* The cluster's own CA where there is one that can be read; else the roots of the system, which is
 * said. */
static const struct {
    const char *pem; /* NULL: no file; "": a CA that was just made */
    bool used;
} authorities[] = {{"", true}, {"no PEM", false}, {NULL, false}};

TEST_EACH(the_clusters_own_ca_is_trusted, authorities) {
    const char *path = temp_path("ca.crt");
    struct vpa_http_client_options o;
    struct vpa_tls_pair ca = {0};
    const char *pem = authorities[_i].pem;

    capture_log(0);
    temp_put("token", "tok");
    ck_assert_int_eq(
        vpa_tls_create_ca("kubernetes", vpa_time_from_unix(1772366400, 0), VPA_HOUR, &ca, &err), 0);
    if (pem)
        temp_put("ca.crt", *pem ? pem : ca.cert_pem);
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", temp_folder(), &err);
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

TEST_EACH(a_token_is_one_word, tokens) {
    const struct vpa_header *headers;
    size_t count;

    temp_put("token", tokens[_i].text);
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", temp_folder(), &err);
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

TEST_EACH(a_server_is_where_it_is_said_to_be, servers) {
    struct vpa_kube_config *config = vpa_kube_config_plain(servers[_i].text);

    ck_assert_str_eq(vpa_kube_config_server(config), servers[_i].server);
    vpa_kube_config_free(config);
}

int main(void)
{
    return run_tests("config_cluster", temp_folder_make, temp_folder_remove);
}
