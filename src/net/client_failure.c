#include "client_failure.h"

#include <errno.h>

static bool is_reset(long os_errno)
{
    return os_errno == ECONNRESET || os_errno == EPIPE;
}

enum vpa_transport_failure client_failure_of(CURLcode code, long os_errno)
{
    switch (code) {
    case CURLE_OK:
        return VPA_TRANSPORT_OK;
    case CURLE_COULDNT_CONNECT:
        return os_errno == ECONNREFUSED ? VPA_TRANSPORT_REFUSED : VPA_TRANSPORT_OTHER;
    case CURLE_RECV_ERROR:
        /* OpenSSL 3 calls a peer that closes without a TLS goodbye an error as well. */
        return is_reset(os_errno) ? VPA_TRANSPORT_RESET : VPA_TRANSPORT_EOF;
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return VPA_TRANSPORT_RESET;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_WEIRD_SERVER_REPLY:
        return VPA_TRANSPORT_EOF;
    case CURLE_OPERATION_TIMEDOUT:
        return VPA_TRANSPORT_TIMEOUT;
    case CURLE_SSL_CONNECT_ERROR: /* a server that ends in a handshake says nothing about TLS */
        return is_reset(os_errno) ? VPA_TRANSPORT_RESET : VPA_TRANSPORT_TLS;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
        return VPA_TRANSPORT_TLS;
    default:
        return VPA_TRANSPORT_OTHER;
    }
}

bool client_failure_is_lost(CURLcode code)
{
    return code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_GOT_NOTHING ||
           code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_PARTIAL_FILE;
}

enum vpa_transport_failure client_failure_in_doubt(enum vpa_transport_failure failure)
{
    switch (failure) {
    case VPA_TRANSPORT_REFUSED:
    case VPA_TRANSPORT_TLS:
    case VPA_TRANSPORT_OTHER:
        return VPA_TRANSPORT_RESET;
    default:
        return failure;
    }
}
