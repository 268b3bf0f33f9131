/*
 * The parts of a URL in the order in which Go looks at them, so that the first thing that is wrong
 * is the one that Go tells:
 *
 *     scheme://user:password@host:port/path?query#fragment
 *
 * A query is never looked at, nor is what follows a scheme without a slash; the fragment comes
 * last.
 */
#include "vpa/base/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define WHY_MAX 512

/* Where an escape stands says which ones there may be. */
enum place { PLACE_ANY, PLACE_HOST, PLACE_ZONE };

static struct vpa_slice from(struct vpa_slice s, size_t skip)
{
    return (struct vpa_slice){s.ptr + skip, s.len - skip};
}

/* len: not there. */
static size_t first_of(struct vpa_slice s, char c)
{
    const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

    return at ? (size_t)(at - s.ptr) : s.len;
}

static size_t last_of(struct vpa_slice s, char c)
{
    const char *at = s.len ? memrchr(s.ptr, c, s.len) : NULL;

    return at ? (size_t)(at - s.ptr) : s.len;
}

static bool starts_with(struct vpa_slice s, const char *text)
{
    return s.len >= strlen(text) && memcmp(s.ptr, text, strlen(text)) == 0;
}

/* Appends "<before><quoted piece><after>". False, so that a check can end with it. */
static bool refuse(struct vpa_buf *why, const char *before, struct vpa_slice piece,
                   const char *after)
{
    vpa_auto_free char *text = vpa_xstrndup(piece.ptr, piece.len);

    vpa_buf_puts(why, before);
    vpa_quote_go(why, text);
    vpa_buf_puts(why, after);
    return false;
}

static bool refuse_plainly(struct vpa_buf *why, const char *text)
{
    vpa_buf_puts(why, text);
    return false;
}

/* ---- characters and escapes ---- */

static bool is_host_character(unsigned char c)
{
    return c != '\0' && c < 0x80 && (isalnum(c) || strchr("-_.~!$&'()*+,;=:[]<>\"", c));
}

static unsigned char hex_value(char c)
{
    return (unsigned char)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* A host escapes only what is not ASCII, a zone what it may hold anyway. */
static bool may_escape(enum place place, struct vpa_slice escape)
{
    unsigned char c = (unsigned char)(hex_value(escape.ptr[1]) << 4 | hex_value(escape.ptr[2]));

    if (place == PLACE_ANY || starts_with(escape, "%25"))
        return true;
    return place == PLACE_HOST ? c >= 0x80 : c == ' ' || is_host_character(c);
}

static bool check_escapes(struct vpa_slice s, enum place place, struct vpa_buf *why)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        struct vpa_slice rest = from(s, i), escape = {rest.ptr, rest.len < 3 ? rest.len : 3};

        if (c == '%') {
            if (escape.len < 3 || !isxdigit((unsigned char)escape.ptr[1]) ||
                !isxdigit((unsigned char)escape.ptr[2]) || !may_escape(place, escape))
                return refuse(why, "invalid URL escape ", escape, "");
            i += 2;
        } else if (place != PLACE_ANY && c < 0x80 && !is_host_character(c)) {
            return refuse(why, "invalid character ", (struct vpa_slice){rest.ptr, 1},
                          " in host name");
        }
    }
    return true;
}

/* ---- the host ---- */

/* "" or a colon and digits, maybe none. */
static bool check_port(struct vpa_slice s, struct vpa_buf *why)
{
    bool valid = s.len == 0 || s.ptr[0] == ':';

    for (size_t i = 1; i < s.len; i++)
        valid = valid && isdigit((unsigned char)s.ptr[i]);
    return valid || refuse(why, "invalid port ", s, " after host");
}

static bool is_ipv6(const char *text)
{
    size_t len = strcspn(text, "%");
    vpa_auto_free char *address = vpa_xstrndup(text, len);
    struct in6_addr ignored;

    return inet_pton(AF_INET6, address, &ignored) == 1 && (text[len] == '\0' || text[len + 1]);
}

static bool check_ip(struct vpa_slice s, struct vpa_buf *why)
{
    vpa_auto_free char *text = vpa_url_decode(s.ptr, s.len, false);
    struct in_addr ignored;

    if (is_ipv6(text))
        return true;
    if (inet_pton(AF_INET, text, &ignored) == 1)
        return refuse_plainly(why, "invalid IP-literal");
    return refuse(why, "invalid host: ParseAddr(", (struct vpa_slice){text, strlen(text)},
                  "): unable to parse IP");
}

/* "[fe80::1%25en0]:80" */
static bool check_literal(struct vpa_slice s, struct vpa_buf *why)
{
    size_t close = last_of(s, ']');

    if (close == s.len)
        return refuse_plainly(why, "missing ']' in host");
    struct vpa_slice name = {s.ptr + 1, close - 1};
    const char *percent = memmem(name.ptr, name.len, "%25", 3);
    size_t zone = percent ? (size_t)(percent - name.ptr) : name.len;

    return check_port(from(s, close + 1), why) &&
           check_escapes((struct vpa_slice){name.ptr, zone}, PLACE_HOST, why) &&
           check_escapes(from(name, zone), PLACE_ZONE, why) && check_ip(name, why);
}

static bool check_host(struct vpa_slice scheme, struct vpa_slice s, struct vpa_buf *why)
{
    size_t open = last_of(s, '[');
    bool is_http = (scheme.len == 4 && strncasecmp(scheme.ptr, "http", 4) == 0) ||
                   (scheme.len == 5 && strncasecmp(scheme.ptr, "https", 5) == 0);

    if (open < s.len)
        return open > 0 ? refuse_plainly(why, "invalid IP-literal") : check_literal(s, why);
    /* Databases have several hosts with ports. */
    size_t colon = is_http ? first_of(s, ':') : last_of(s, ':');

    return check_port(from(s, colon), why) && check_escapes(s, PLACE_HOST, why);
}

static bool check_user(struct vpa_slice s, struct vpa_buf *why)
{
    size_t colon = first_of(s, ':');

    for (size_t i = 0; i < s.len; i++) {
        if (!isalnum((unsigned char)s.ptr[i]) && !strchr("-._:~!$&'()*+,;=%@", s.ptr[i]))
            return refuse_plainly(why, "net/url: invalid userinfo");
    }
    return check_escapes((struct vpa_slice){s.ptr, colon}, PLACE_ANY, why) &&
           check_escapes(from(s, colon), PLACE_ANY, why);
}

static bool check_authority(struct vpa_slice scheme, struct vpa_slice s, struct vpa_buf *why)
{
    size_t at = last_of(s, '@');

    if (at == s.len)
        return check_host(scheme, s, why);
    return check_host(scheme, from(s, at + 1), why) &&
           check_user((struct vpa_slice){s.ptr, at}, why);
}

/* ---- the whole ---- */

/* Its length with the colon; 0: there is none. */
static size_t scheme_length(struct vpa_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c == ':')
            return i + 1;
        if (!isalpha(c) && !(i > 0 && (isdigit(c) || strchr("+-.", c))))
            return 0;
    }
    return 0;
}

/* From behind the scheme to the query. */
static bool check_rest(struct vpa_slice scheme, struct vpa_slice s, struct vpa_buf *why)
{
    if (!starts_with(s, "/")) {
        struct vpa_slice segment = {s.ptr, first_of(s, '/')};

        if (scheme.len > 0)
            return true;
        if (first_of(segment, ':') < segment.len)
            return refuse_plainly(why, "first path segment in URL cannot contain colon");
    }
    if (starts_with(s, "//") && (scheme.len > 0 || !starts_with(s, "///"))) {
        s = from(s, 2);
        size_t end = first_of(s, '/');
        if (!check_authority(scheme, (struct vpa_slice){s.ptr, end}, why))
            return false;
        s = from(s, end);
    }
    return check_escapes(s, PLACE_ANY, why);
}

/* Without the fragment. */
static bool check(struct vpa_slice s, struct vpa_buf *why)
{
    size_t scheme = scheme_length(s);

    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
            return refuse_plainly(why, "net/url: invalid control character in URL");
    }
    if (scheme == 1)
        return refuse_plainly(why, "missing protocol scheme");
    struct vpa_slice rest = from(s, scheme);

    rest.len = first_of(rest, '?');
    return check_rest((struct vpa_slice){s.ptr, scheme ? scheme - 1 : 0}, rest, why);
}

/* The first bytes of a URL. In a password there may be what ends a host. */
static char *shown(const char *url, size_t len)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme && scheme < url + len ? scheme + strlen("://") : url;
    const char *at = strrchr(host, '@');

    if (!at)
        return vpa_xstrndup(url, len);
    size_t rest = at < url + len ? (size_t)(url + len - at) : 0;

    return vpa_xprintf("%.*sxxxxx%.*s", (int)(host - url), url, (int)rest, at);
}

char *vpa_url_shown(const char *url)
{
    return shown(url, strlen(url));
}

int vpa_url_check(const char *url, struct vpa_error *err)
{
    vpa_auto_buf why = VPA_BUF(WHY_MAX), quoted = VPA_BUF(VPA_ERROR_TEXT_MAX);
    size_t len = strcspn(url, "#");
    vpa_auto_free char *main = vpa_xstrndup(url, len);
    bool is_main = !check((struct vpa_slice){main, len}, &why);

    if (!is_main &&
        (!url[len] ||
         check_escapes((struct vpa_slice){url + len + 1, strlen(url + len + 1)}, PLACE_ANY, &why)))
        return 0;
    vpa_auto_free char *told = shown(url, is_main ? len : strlen(url));

    vpa_quote_go(&quoted, told);
    return vpa_fail(err, VPA_INVALID, "parse %s: %s", vpa_buf_text(&quoted), vpa_buf_text(&why));
}
