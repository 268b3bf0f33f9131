/*
 * Whether a URL can be used, as Go's net/url sees it: what upstream takes from flags ends its
 * process at the start when it does not parse, with the texts of url.Parse.
 *
 *     if (vpa_url_check("http://prom:abc", &err) < 0) ...
 *         // parse "http://prom:abc": invalid port ":abc" after host
 *
 * What has no scheme is a path and parses, and so does what has no slash behind its scheme.
 */
#ifndef VPA_BASE_URL_H
#define VPA_BASE_URL_H

#include "vpa/base/error.h"

/* VPA_INVALID with Go's text, but for the userinfo, as vpa_url_shown has it (of addresses in
 * brackets that are none of IPv6 only the gist). */
int vpa_url_check(const char *url, struct vpa_error *err) VPA_MUST_CHECK;
/* For logs: xxxxx in the place of user and password, and of all up to the last @. Heap. */
char *vpa_url_shown(const char *url) __attribute__((returns_nonnull));

#endif
