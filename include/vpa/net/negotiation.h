/*
 * Which form of an answer a client asked for (RFC 9110, section 12.5), and compressed answers.
 */
#ifndef VPA_NET_NEGOTIATION_H
#define VPA_NET_NEGOTIATION_H

#include <stdbool.h>
#include <stddef.h>

/* The weight that the header (Accept, Accept-Encoding; NULL: absent) gives to name, as it is
 * written there, without case: 0 to 1, 1 without a weight, 0 for one that cannot be read. -1: it
 * does not name it. Wildcards are names too. Parameters other than q do not count. */
double vpa_negotiation_weight(const char *header, const char *name);

/* Whether an answer may be compressed: gzip is named with a weight above 0. */
bool vpa_gzip_is_accepted(const char *accept_encoding);
/* The gzip form (RFC 1952) of len bytes, heap; false when zlib has no memory. The same bytes for
 * the same input: no name, no time. */
bool vpa_gzip(const char *data, size_t len, char **out, size_t *out_len);

#endif
