#include "client_proxy.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

struct destination {
    char *host; /* without brackets */
    char *port;
    bool has_ip;
    struct in6_addr ip; /* IPv4 as ::ffff:a.b.c.d */
};

/* The first of two variables that says something. */
static const char *variable(const char *upper, const char *lower)
{
    const char *value = getenv(upper);

    return value && *value ? value : vpa_or_empty(getenv(lower));
}

/* *bits: of the address, as those of IPv6 count. */
static bool parse_ip(const char *text, struct in6_addr *out, int *bits)
{
    struct in_addr v4;

    *bits = 0;
    if (inet_pton(AF_INET6, text, out) == 1)
        return true;
    if (inet_pton(AF_INET, text, &v4) != 1)
        return false;
    *out = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(&out->s6_addr[12], &v4, sizeof(v4));
    *bits = 96;
    return true;
}

static bool same_network(const struct in6_addr *a, const struct in6_addr *b, int bits)
{
    int whole = bits / 8, rest = bits % 8;

    if (memcmp(a->s6_addr, b->s6_addr, (size_t)whole) != 0)
        return false;
    return rest == 0 || (a->s6_addr[whole] ^ b->s6_addr[whole]) >> (8 - rest) == 0;
}

static bool is_this_machine(const struct destination *d)
{
    struct in6_addr loopback4 = {.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 127}};

    if (!d->has_ip)
        return strcmp(d->host, "localhost") == 0;
    return IN6_IS_ADDR_LOOPBACK(&d->ip) || same_network(&d->ip, &loopback4, 96 + 8);
}

/* 10.0.0.0/8, fd00::/8. Returns whether the entry is a network. */
static bool match_network(const struct destination *d, const char *entry, bool *matches)
{
    const char *slash = strchr(entry, '/');
    struct in6_addr network;
    char *end;
    int base;

    if (!slash || slash[1] < '0' || slash[1] > '9')
        return false;
    vpa_auto_free char *address = vpa_xstrndup(entry, (size_t)(slash - entry));
    long bits = strtol(slash + 1, &end, 10);
    if (*end || !parse_ip(address, &network, &base) || bits > 128 - base)
        return false;
    *matches = d->has_ip && IN6_IS_ADDR_V4MAPPED(&d->ip) == (base == 96) &&
               same_network(&d->ip, &network, base + (int)bits);
    return true;
}

/* "host:port" and "[v6]:port" in place; what has no port, or is an IPv6 address, stays as it is. */
static char *split_port(char *entry, const char **port)
{
    char *colon = strrchr(entry, ':');
    size_t len;

    *port = "";
    if (!colon || (*entry != '[' && strchr(entry, ':') != colon))
        return entry;
    len = (size_t)(colon - entry);
    if (*entry == '[' && (len < 2 || entry[len - 1] != ']'))
        return entry;
    *port = colon + 1;
    *colon = '\0';
    if (*entry != '[')
        return entry;
    entry[len - 1] = '\0';
    return entry + 1;
}

/* "example.com" is that and all below it, ".example.com" and "*.example.com" what is below. */
static bool match_domain(const struct destination *d, const char *domain)
{
    bool below = *domain == '.' || vpa_str_starts_with(domain, "*.");
    const char *name = domain + (below ? 1 + (*domain == '*') : 0);
    size_t host_len = strlen(d->host), len = strlen(name);

    if (host_len == len)
        return !below && strcasecmp(d->host, name) == 0;
    return host_len > len && d->host[host_len - len - 1] == '.' &&
           strcasecmp(d->host + host_len - len, name) == 0;
}

static bool match_entry(const struct destination *d, char *entry)
{
    struct in6_addr ip;
    const char *port;
    bool matches;
    int bits;

    if (strcmp(entry, "*") == 0)
        return true;
    if (match_network(d, entry, &matches))
        return matches;
    entry = split_port(entry, &port);
    if (!*entry || (*port && strcmp(port, d->port) != 0))
        return false;
    if (parse_ip(entry, &ip, &bits))
        return d->has_ip && same_network(&d->ip, &ip, 128);
    return match_domain(d, entry);
}

static bool is_exempt(const struct destination *d, const char *list)
{
    vpa_auto_free char *copy = vpa_xstrdup(list);

    for (char *entry = copy, *next; entry; entry = next) {
        next = strchr(entry, ',');
        if (next)
            *next++ = '\0';
        entry += strspn(entry, " \t");
        entry[strcspn(entry, " \t")] = '\0';
        if (*entry && match_entry(d, entry))
            return true;
    }
    return false;
}

static void take_part(CURLU *url, CURLUPart part, char **out)
{
    char *text = NULL;

    if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) == CURLUE_OK)
        *out = vpa_xstrdup(text);
    else
        *out = vpa_xstrdup("");
    curl_free(text);
}

static void destination_of(const char *text, struct destination *d)
{
    CURLU *url = curl_url();
    size_t len;
    int bits;

    curl_url_set(url, CURLUPART_URL, text, 0);
    take_part(url, CURLUPART_HOST, &d->host);
    take_part(url, CURLUPART_PORT, &d->port);
    curl_url_cleanup(url);
    len = strlen(d->host);
    if (len > 2 && d->host[0] == '[') {
        memmove(d->host, d->host + 1, len - 2);
        d->host[len - 2] = '\0';
    }
    d->has_ip = parse_ip(d->host, &d->ip, &bits);
}

char *client_proxy_of_environment(const char *url)
{
    bool tls = strncasecmp(url, "https:", 6) == 0;
    const char *proxy =
        tls ? variable("HTTPS_PROXY", "https_proxy") : variable("HTTP_PROXY", "http_proxy");
    struct destination d;

    if (!*proxy)
        return vpa_xstrdup("");
    destination_of(url, &d);
    if (is_this_machine(&d) || is_exempt(&d, variable("NO_PROXY", "no_proxy")))
        proxy = "";
    free(d.host);
    free(d.port);
    return vpa_xstrdup(proxy);
}

char *client_proxy_to_use(const char *given, const char *url)
{
    static const char by_name[] = "socks5://";
    size_t len = strlen(by_name);
    vpa_auto_free char *proxy = given ? vpa_xstrdup(given) : client_proxy_of_environment(url);

    if (strncasecmp(proxy, by_name, len) == 0)
        return vpa_xprintf("socks5h://%s", proxy + len);
    return VPA_STEAL(proxy);
}
