#include "client_redirect.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "vpa/base/mem.h"

bool client_redirect_is(int status)
{
    return (status >= 301 && status <= 303) || status == 307 || status == 308;
}

/* Owned by the caller (curl_url_cleanup); NULL when it is no URL. */
static CURLU *parse(const char *text)
{
    CURLU *url = curl_url();

    if (curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) ==
        CURLUE_OK)
        return url;
    curl_url_cleanup(url);
    return NULL;
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *x = NULL, *y = NULL;
    bool same = curl_url_get(a, part, &x, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(b, part, &y, CURLU_DEFAULT_PORT) == CURLUE_OK && strcasecmp(x, y) == 0;

    curl_free(x);
    curl_free(y);
    return same;
}

static bool same_server(CURLU *a, CURLU *b)
{
    return a && b && same_part(a, b, CURLUPART_SCHEME) && same_part(a, b, CURLUPART_HOST) &&
           same_part(a, b, CURLUPART_PORT);
}

static void copy_part(CURLU *to, CURLU *from, CURLUPart part)
{
    char *text = NULL;

    curl_url_get(from, part, &text, 0);
    curl_url_set(to, part, text, 0);
    curl_free(text);
}

static char *text_of(CURLU *url)
{
    char *text = NULL, *copy = NULL;

    if (curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK)
        copy = vpa_xstrdup(text);
    curl_free(text);
    return copy;
}

char *client_redirect_within(const char *base, const char *host, const char *to)
{
    vpa_auto_free char *other =
        vpa_xprintf("%.*s://%s", (int)strcspn(base, ":"), base, host ? host : "");
    CURLU *server = parse(base), *alias = host ? parse(other) : NULL, *place = parse(to);
    char *url = NULL;

    if (same_server(server, place) || same_server(alias, place)) {
        copy_part(server, place, CURLUPART_PATH);
        copy_part(server, place, CURLUPART_QUERY);
        url = text_of(server);
    }
    curl_url_cleanup(server);
    curl_url_cleanup(alias);
    curl_url_cleanup(place);
    return url;
}

char *client_redirect_refused(const char *within, const char *method, int followed)
{
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return vpa_xprintf("of a %s", method);
    if (!within)
        return vpa_xstrdup("to another server");
    return followed >= CLIENT_REDIRECTS_MAX ? vpa_xstrdup("after ten others") : NULL;
}

char *client_redirect_shown(const char *to)
{
    static const CURLUPart hidden[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS,
                                       CURLUPART_QUERY, CURLUPART_FRAGMENT};
    CURLU *place = parse(to);
    char *text = NULL;

    for (size_t i = 0; place && i < VPA_COUNT(hidden); i++)
        curl_url_set(place, hidden[i], NULL, 0);
    if (place)
        text = text_of(place);
    curl_url_cleanup(place);
    return text ? text : vpa_xstrdup("a text that is no URL");
}
