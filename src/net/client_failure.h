/* What libcurl's errors mean to those who asked. */
#ifndef VPA_NET_CLIENT_FAILURE_H
#define VPA_NET_CLIENT_FAILURE_H

#include <curl/curl.h>

#include "vpa/net/transport.h"

/* os_errno: CURLINFO_OS_ERRNO of the transfer. */
enum vpa_transport_failure client_failure_of(CURLcode code, long os_errno);
/* Whether it may be the connection alone: the server may never have seen the request. */
bool client_failure_is_lost(CURLcode code);
/* What a request that was sent came to is not known where libcurl could not repeat it by itself:
 * it says only why, that nobody listens any more, say. Nor is it where there is an answer that
 * nobody can read. */
enum vpa_transport_failure client_failure_in_doubt(enum vpa_transport_failure failure);

#endif
