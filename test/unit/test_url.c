/* What Go's url.Parse (1.26) says; the texts are its own. */
#include "vpa/base/url.h"

#include <check.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/mem.h"

#define ESCAPE(piece) "invalid URL escape \"" piece "\""
#define CHARACTER(piece) "invalid character \"" piece "\" in host name"
#define PORT(piece) "invalid port \"" piece "\" after host"
#define CONTROL "net/url: invalid control character in URL"
#define COLON "first path segment in URL cannot contain colon"
#define USERINFO "net/url: invalid userinfo"
#define LITERAL "invalid IP-literal"

static const struct {
    const char *url, *why; /* NULL: it parses */
} urls[] = {
    {"", NULL},
    {"*", NULL},
    {"http://prom", NULL},
    {"http://prom:9090/path?a=b#c", NULL},
    {"http://prom:", NULL},
    {"http://", NULL},
    {"http://u:p@ss:w@h", NULL},
    {"http://u%40:p%25@h", NULL},
    {"http://-._~!$&'()*+,;=@h", NULL},
    {"http://a\xc3\xa9%c3%a9", NULL},
    {"http://!$&'()*+,;=<>\"", NULL},
    {"http://a%25b", NULL},
    {"http://[::1]:80", NULL},
    {"http://[::ffff:1.2.3.4]", NULL},
    {"http://[fe80::1%25en0]", NULL},
    {"http://[fe80::1%25e%20n%41]", NULL},
    {"db://a:1,b:2", NULL},
    {"prom:abc", NULL}, /* a scheme without a slash behind it */
    {"a+-.9:%zz", NULL},
    {"http:/a:b", NULL},
    {"prom", NULL},
    {"prom/a:b", NULL},
    {"/a:b", NULL},
    {"///a b", NULL},
    {"//prom:80/a b", NULL},
    {"http://h?%zz", NULL},
    {"http://h/ ?a", NULL},

    {":a", "missing protocol scheme"},
    {"1a:b", COLON},
    {"a_b:c/d", COLON},
    {"http://a\nb", CONTROL},
    {":\x7f", CONTROL},
    {"http://h:abc", PORT(":abc")},
    {"HTTP://h:1:2", PORT(":1:2")},
    {"https://h:1:2", PORT(":1:2")},
    {"db://a:1:b", PORT(":b")},
    {"//h:x", PORT(":x")},
    {"http://[::1]80", PORT("80")},
    {"http://[::1]:8x", PORT(":8x")},
    {"http://[::1", "missing ']' in host"},
    {"http://a[::1]", LITERAL},
    {"http://[1.2.3.4]", LITERAL},
    {"http://[prom]", "invalid host: ParseAddr(\"prom\"): unable to parse IP"},
    {"http://[::1%25]", "invalid host: ParseAddr(\"::1%\"): unable to parse IP"},
    {"http://a b", CHARACTER(" ")},
    {"http://a\\b", CHARACTER("\\\\")},
    {"http://a%41", ESCAPE("%41")},
    {"http://a%7f", ESCAPE("%7f")},
    {"http://[::%41]", ESCAPE("%41")},
    {"http://[fe80::1%25%00]", ESCAPE("%00")},
    {"http://[fe80::1%25%80]", ESCAPE("%80")},
    {"http://[fe80::1%25 ]", CHARACTER(" ")},
    {"http://a%zz", ESCAPE("%zz")},
    {"http://h/%", ESCAPE("%")},
    {"http://h/%2", ESCAPE("%2")},
    {"http://h/%g0", ESCAPE("%g0")},
    {"http://u ser@h", USERINFO},
    {"http://u\xc3\xa9@h", USERINFO},
    {"http://u%zz@h", ESCAPE("%zz")},
    {"http://u:p%2@h", ESCAPE("%2")},
    {"http://u%:zz@h", ESCAPE("%")},
    {"http://u ser@h:x", PORT(":x")}, /* the host comes first */
};

/* The text before it, with what Go's %q makes of the URL. */
TEST_EACH(says_what_go_says, urls) {
    struct vpa_error err;
    int result = vpa_url_check(urls[_i].url, &err);

    if (!urls[_i].why) {
        ck_assert_msg(result == 0, "%s: %s", urls[_i].url, err.text);
        return;
    }
    ck_assert_int_eq(result, -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
    const char *why = strstr(err.text, "\": ");
    ck_assert_ptr_nonnull(why);
    ck_assert_str_eq(why + strlen("\": "), urls[_i].why);
}

/* The fragment is not told, unless it is what is wrong. */
TEST(names_what_was_parsed) {
    struct vpa_error err;

    ck_assert_int_eq(vpa_url_check("http://h:\xc3\xa9\"#frag", &err), -1);
    ck_assert_str_eq(err.text,
                     "parse \"http://h:\xc3\xa9\\\"\": invalid port \":\xc3\xa9\\\"\" after host");
    ck_assert_int_eq(vpa_url_check("http://h#a%zz", &err), -1);
    ck_assert_str_eq(err.text, "parse \"http://h#a%zz\": invalid URL escape \"%zz\"");
    ck_assert_int_eq(vpa_url_check("http://h\t#a", &err), -1);
    ck_assert_str_eq(err.text, "parse \"http://h\\t\": " CONTROL);
    ck_assert_int_eq(vpa_url_check("http://h#\t", &err), 0);
}

static const struct {
    const char *url, *shown;
} secrets[] = {
    {"http://h:1/p?q", "http://h:1/p?q"},          {"http://user:word@h:x/p", "http://xxxxx@h:x/p"},
    {"http://user:wo@rd@h:x", "http://xxxxx@h:x"}, {"http://user:wo/rd@h:x", "http://xxxxx@h:x"},
    {"http://user:wo#rd@h:x", "http://xxxxx@h:x"}, {"user:word@h:x", "xxxxx@h:x"},
};

TEST_EACH(a_password_is_not_shown, secrets) {
    vpa_auto_free char *shown = vpa_url_shown(secrets[_i].url);
    struct vpa_error err;

    ck_assert_str_eq(shown, secrets[_i].shown);
    if (vpa_url_check(secrets[_i].url, &err) < 0) {
        ck_assert_ptr_null(strstr(err.text, "word"));
        ck_assert_ptr_null(strstr(err.text, "user"));
        ck_assert_ptr_nonnull(strstr(err.text, "xxxxx"));
    }
}

int main(void)
{
    return run_tests("url", NULL, NULL);
}
