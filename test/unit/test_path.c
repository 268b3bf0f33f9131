/* Paths of the API server: whatever a name holds, it stays one segment. */
#include <check.h>

#include "suite.h"
#include "vpa/base/str.h"
#include "vpa/kube/client.h"

static const struct {
    const char *version, *ns, *resource, *name, *subresource;
    const char *path;
} paths[] = {
    {"v1", "n", "pods", "p", NULL, "/api/v1/namespaces/n/pods/p"},
    {"v1", "n", "pods", "p", "eviction", "/api/v1/namespaces/n/pods/p/eviction"},
    {"v1", "n", "pods", NULL, NULL, "/api/v1/namespaces/n/pods"},
    {"v1", NULL, "namespaces", "n", NULL, "/api/v1/namespaces/n"},
    {"v1", "", "pods", NULL, NULL, "/api/v1/pods"},
    {"apps/v1", "n", "deployments", "web", "scale",
     "/apis/apps/v1/namespaces/n/deployments/web/scale"},
    {"a.b-c.io/v1beta1", NULL, "things", NULL, NULL, "/apis/a.b-c.io/v1beta1/things"},
    {"apps/v1/x", NULL, "things", NULL, NULL, "/apis/apps/v1%2Fx/things"},
    {"v1", "n", "pods", ".", NULL, "/api/v1/namespaces/n/pods/%2E"},
    {"v1", "n", "pods", "..", NULL, "/api/v1/namespaces/n/pods/%2E%2E"},
    {"v1", "..", "pods", ".", "..", "/api/v1/namespaces/%2E%2E/pods/%2E/%2E%2E"},
    {"v1", "n", "pods", "...", NULL, "/api/v1/namespaces/n/pods/..."},
    {"v1", "n", "pods", ".x", NULL, "/api/v1/namespaces/n/pods/.x"},
    {"./..", NULL, "x", NULL, NULL, "/apis/%2E/%2E%2E/x"},
    {"v1", "n", "pods", "a/b?c#d%e f", NULL, "/api/v1/namespaces/n/pods/a%2Fb%3Fc%23d%25e%20f"},
    {"v1", "n", "pods", "aZ09-._~", NULL, "/api/v1/namespaces/n/pods/aZ09-._~"},
    {"v1", "n", "pods", "system:x@y", NULL, "/api/v1/namespaces/n/pods/system%3Ax%40y"},
    {"v1", "n", "pods", "\xc3\xa9\x7f\x01", NULL, "/api/v1/namespaces/n/pods/%C3%A9%7F%01"},
    {"v1", "n", "pods", "", NULL, "/api/v1/namespaces/n/pods/"},
};

TEST_EACH(names_are_segments, paths) {
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, paths[_i].version, paths[_i].ns, paths[_i].resource, paths[_i].name,
                  paths[_i].subresource);
    ck_assert_str_eq(vpa_buf_text(&path), paths[_i].path);
}

TEST(queries_are_joined) {
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_buf_puts(&path, "/x");
    vpa_kube_query(&path, "a&b", "c=d");
    ck_assert_str_eq(vpa_buf_text(&path), "/x?a%26b=c%3Dd");
    vpa_kube_query(&path, "e", "");
    vpa_kube_query(&path, "f", "?");
    ck_assert_str_eq(vpa_buf_text(&path), "/x?a%26b=c%3Dd&e=&f=%3F");
}

/* A path that does not fit is none. */
TEST(paths_are_bounded) {
    vpa_auto_free char *name = vpa_xcalloc(1, VPA_KUBE_PATH_MAX + 1);
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    for (size_t i = 0; i < VPA_KUBE_PATH_MAX; i++)
        name[i] = 'x';
    vpa_kube_path(&path, "v1", "n", "pods", name, NULL);
    ck_assert(vpa_buf_failed(&path));
}

int main(void)
{
    return run_tests("path", NULL, NULL);
}
