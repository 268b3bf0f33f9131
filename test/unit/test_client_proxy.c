/* Which proxy a request takes: that of the caller, or what the environment says, as with Go. */
#include "http_fixture.h"

#include "../../src/net/client_proxy.h"

/* Not those of whoever runs the tests. */
static void clear_environment(void)
{
    static const char *const names[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
                                        "ALL_PROXY",  "all_proxy",  "NO_PROXY",    "no_proxy"};

    for (size_t i = 0; i < VPA_COUNT(names); i++)
        unsetenv(names[i]);
}

/* "NAME=VALUE NAME=VALUE"; commas in values. */
static void set_environment(const char *text)
{
    vpa_auto_free char *copy = vpa_xstrdup(text);

    clear_environment();
    for (char *at = copy; *at;) {
        size_t len = strcspn(at, " ");
        char *next = at + len + (at[len] == ' ');

        at[len] = '\0';
        char *value = strchr(at, '=');
        *value++ = '\0';
        setenv(at, value, 1);
        at = next;
    }
}

#define API "https://api.example.com:6443"
#define P "HTTPS_PROXY=http://p:1 "

static const struct {
    const char *environment, *url, *proxy;
} choices[] = {
    {"", API, ""},
    {"HTTPS_PROXY=http://p:1", API, "http://p:1"},
    {"https_proxy=p:1", API, "p:1"},
    {"https_proxy=http://q:1 HTTPS_PROXY=http://p:1", API, "http://p:1"},
    {"https_proxy=http://q:1 HTTPS_PROXY=", API, "http://q:1"},
    {"HTTP_PROXY=http://p:1 http_proxy=http://q:1", API, ""},
    {"HTTP_PROXY=http://p:1 http_proxy=http://q:1", "http://api", "http://p:1"},
    {"http_proxy=http://q:1 HTTPS_PROXY=http://p:1", "http://api", "http://q:1"},
    {"ALL_PROXY=http://p:1 all_proxy=http://p:1", API, ""},
    {"ALL_PROXY=http://p:1 all_proxy=http://p:1", "http://api", ""},
    /* this machine */
    {P, "https://localhost:1", ""},
    {P, "https://127.0.0.9:1", ""},
    {P, "https://[::1]:1", ""},
    {P, "https://[::2]:1", "http://p:1"},
    {P, "https://128.0.0.1:1", "http://p:1"},
    {P, "https://localhosts:1", "http://p:1"},
    /* NO_PROXY */
    {P "NO_PROXY=*", API, ""},
    {P "no_proxy=*", API, ""},
    {P "no_proxy=* NO_PROXY=x", API, "http://p:1"},
    {P "NO_PROXY=x,\t*\t,y", API, ""},
    {P "NO_PROXY=,,x", API, "http://p:1"},
    {P "NO_PROXY=api.example.com", API, ""},
    {P "NO_PROXY=API.Example.com", API, ""},
    {P "NO_PROXY=example.com", API, ""},
    {P "NO_PROXY=.example.com", API, ""},
    {P "NO_PROXY=*.example.com", API, ""},
    {P "NO_PROXY=.api.example.com,*.api.example.com", API, "http://p:1"},
    {P "NO_PROXY=ample.com,www.api.example.com,com.", API, "http://p:1"},
    {P "NO_PROXY=example.com:6443", API, ""},
    {P "NO_PROXY=example.com:443,:6443", API, "http://p:1"},
    {P "NO_PROXY=api:443", "https://api", ""},
    {P "NO_PROXY=10.0.0.1", "https://10.0.0.1", ""},
    {P "NO_PROXY=10.0.0.1:443", "https://10.0.0.1", ""},
    {P "NO_PROXY=10.0.0.1:6443,10.0.0.2", "https://10.0.0.1", "http://p:1"},
    {P "NO_PROXY=10.0.0.0/8", "https://10.200.0.1", ""},
    {P "NO_PROXY=10.0.0.0/9", "https://10.200.0.1", "http://p:1"},
    {P "NO_PROXY=10.192.0.0/10", "https://10.200.0.1", ""},
    {P "NO_PROXY=10.0.0.0/33,10.0.0.0/,10.0.0.0/-1,10.0.0.0/8x", "https://10.0.0.0", "http://p:1"},
    {P "NO_PROXY=10.0.0.0/8", API, "http://p:1"},
    {P "NO_PROXY=0.0.0.0/0", "https://10.200.0.1", ""},
    {P "NO_PROXY=0.0.0.0/0", "https://[fd00::1]", "http://p:1"},
    {P "NO_PROXY=::/0", "https://10.0.0.1", "http://p:1"},
    {P "NO_PROXY=::/0", "https://[fd00::1]", ""},
    {P "NO_PROXY=fd00::/8", "https://[fd12::1]:6443", ""},
    {P "NO_PROXY=fd00::/16", "https://[fd12::1]:6443", "http://p:1"},
    {P "NO_PROXY=fd12::1", "https://[fd12:0::1]:6443", ""},
    {P "NO_PROXY=[fd12::1]:6443", "https://[fd12::1]:6443", ""},
    {P "NO_PROXY=[fd12::1]:443,[,[]:6443,[fd12::1", "https://[fd12::1]:6443", "http://p:1"},
};

TEST_EACH(the_environment_is_read_as_go_reads_it, choices) {
    set_environment(choices[_i].environment);
    vpa_auto_free char *proxy = client_proxy_of_environment(choices[_i].url);
    ck_assert_str_eq(proxy, choices[_i].proxy);
}

/* Whoever looks the server's name up: the proxy, as with Go. */
static const struct {
    const char *environment, *given, *proxy;
} names[] = {
    {"", "socks5://p:1", "socks5h://p:1"},
    {"", "SOCKS5://u:x@p", "socks5h://u:x@p"},
    {"", "socks5h://p:1", "socks5h://p:1"},
    {"", "https://socks5://p:1", "https://socks5://p:1"},
    {"", "http://p:1", "http://p:1"},
    {"", NULL, ""},
    {"HTTPS_PROXY=socks5://p:1", NULL, "socks5h://p:1"},
    {"https_proxy=Socks5://p:1", NULL, "socks5h://p:1"},
    {"HTTPS_PROXY=socks5://p:1", "http://q:1", "http://q:1"},
    {"HTTPS_PROXY=socks5://p:1", "", ""},
    {"HTTPS_PROXY=socks5://p:1 NO_PROXY=.example.com", NULL, ""},
};

TEST_EACH(the_proxy_looks_names_up, names) {
    set_environment(names[_i].environment);
    vpa_auto_free char *proxy = client_proxy_to_use(names[_i].given, API);
    ck_assert_str_eq(proxy, names[_i].proxy);
}

/* What the environment says (%d: the port of a proxy), the caller's proxy, and whether the request
 * for a host that nobody knows gets to it. */
static const struct {
    const char *environment, *proxy;
    bool arrives;
} ways[] = {
    {"", "http://127.0.0.1:%d", true},
    {"NO_PROXY=* no_proxy=*", "http://127.0.0.1:%d", true},
    {"HTTP_PROXY=http://127.0.0.1:1", "http://127.0.0.1:%d", true},
    {"HTTP_PROXY=http://127.0.0.1:%d", NULL, true},
    {"http_proxy=http://127.0.0.1:%d", NULL, true},
    {"HTTP_PROXY=http://127.0.0.1:%d NO_PROXY=.invalid", NULL, false},
    {"HTTP_PROXY=http://127.0.0.1:%d no_proxy=.invalid NO_PROXY=x", NULL, true},
    {"HTTP_PROXY=http://127.0.0.1:%d", "", false},
    {"ALL_PROXY=http://127.0.0.1:%d all_proxy=http://127.0.0.1:%d", NULL, false},
};

static char *with_port(const char *text, int port)
{
    vpa_auto_buf out = VPA_BUF(1024);

    for (const char *at; (at = strstr(text, "%d")); text = at + 2)
        vpa_buf_printf(&out, "%.*s%d", (int)(at - text), text, port);
    vpa_buf_puts(&out, text);
    return vpa_xstrdup(vpa_buf_text(&out));
}

TEST_CASE(requests, setup, teardown);

TEST_EACH(requests_take_that_way, ways) {
    struct vpa_http_server *server = serve(0, NULL);
    int port = vpa_http_server_port(server);
    vpa_auto_free char *environment = with_port(ways[_i].environment, port);
    vpa_auto_free char *proxy = ways[_i].proxy ? with_port(ways[_i].proxy, port) : NULL;
    const struct vpa_http_client_options options = {.base_url = "http://api.invalid",
                                                    .proxy = proxy};

    set_environment(environment);
    struct vpa_transport *t = vpa_http_client_new(loop, &options, &err);
    fetch(t, "GET", "/x", NULL);
    ck_assert_msg((got.status != 0) == ways[_i].arrives, "%d %s", got.status, got.error);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}

int main(void)
{
    return run_tests_within(60, "client_proxy", NULL, NULL);
}
