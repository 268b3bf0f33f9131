/*
 * Where a redirect leads. It is followed within the server alone: libcurl takes every header of a
 * request along, and another server would get the token and whom to impersonate.
 */
#ifndef NET_CLIENT_REDIRECT_H
#define NET_CLIENT_REDIRECT_H

#include <stdbool.h>

#define CLIENT_REDIRECTS_MAX 10 /* of one request; as Go's */

bool client_redirect_is(int status);
/* base: the URL of the client; host: its Host header where that is another, or NULL; to: a whole
 * URL. What to ask for, at the server of base; NULL where it leads to another scheme, host or port.
 * On the heap. */
char *client_redirect_within(const char *base, const char *host, const char *to);
/* Why it is not followed, behind "a redirect", on the heap; NULL: it is. within: of
 * client_redirect_within(); followed: how many it was before. */
char *client_redirect_refused(const char *within, const char *method, int followed);
/* For messages: without user, password, query and fragment. On the heap. */
char *client_redirect_shown(const char *to) __attribute__((returns_nonnull));

#endif
