/* What libcurl's errors mean. */
#include <check.h>
#include <errno.h>

#include "../../src/net/client_failure.h"
#include "suite.h"
#include "vpa/base/str.h"

static const struct row {
    CURLcode code;
    long os_errno;
    enum vpa_transport_failure failure;
} rows[] = {
    {CURLE_OK, 0, VPA_TRANSPORT_OK},
    {CURLE_COULDNT_CONNECT, ECONNREFUSED, VPA_TRANSPORT_REFUSED},
    {CURLE_COULDNT_CONNECT, EHOSTUNREACH, VPA_TRANSPORT_OTHER},
    {CURLE_COULDNT_RESOLVE_HOST, 0, VPA_TRANSPORT_OTHER},
    {CURLE_RECV_ERROR, ECONNRESET, VPA_TRANSPORT_RESET},
    {CURLE_RECV_ERROR, EPIPE, VPA_TRANSPORT_RESET},
    {CURLE_RECV_ERROR, 0, VPA_TRANSPORT_EOF},
    {CURLE_SEND_ERROR, 0, VPA_TRANSPORT_RESET},
    {CURLE_HTTP2, 0, VPA_TRANSPORT_RESET},
    {CURLE_HTTP2_STREAM, 0, VPA_TRANSPORT_RESET},
    {CURLE_GOT_NOTHING, 0, VPA_TRANSPORT_EOF},
    {CURLE_PARTIAL_FILE, 0, VPA_TRANSPORT_EOF},
    {CURLE_WEIRD_SERVER_REPLY, 0, VPA_TRANSPORT_EOF},
    {CURLE_OPERATION_TIMEDOUT, 0, VPA_TRANSPORT_TIMEOUT},
    {CURLE_SSL_CONNECT_ERROR, ECONNRESET, VPA_TRANSPORT_RESET},
    {CURLE_SSL_CONNECT_ERROR, EPIPE, VPA_TRANSPORT_RESET},
    {CURLE_SSL_CONNECT_ERROR, 0, VPA_TRANSPORT_TLS},
    {CURLE_PEER_FAILED_VERIFICATION, ECONNRESET, VPA_TRANSPORT_TLS},
    {CURLE_SSL_CERTPROBLEM, 0, VPA_TRANSPORT_TLS},
    {CURLE_SSL_CACERT_BADFILE, 0, VPA_TRANSPORT_TLS},
    {CURLE_SSL_ISSUER_ERROR, 0, VPA_TRANSPORT_TLS},
    {CURLE_SSL_CIPHER, 0, VPA_TRANSPORT_TLS},
    {CURLE_USE_SSL_FAILED, 0, VPA_TRANSPORT_TLS},
};

TEST_EACH(means, rows) {
    const struct row *row = &rows[_i];

    ck_assert_msg(client_failure_of(row->code, row->os_errno) == row->failure, "%s, errno %ld",
                  curl_easy_strerror(row->code), row->os_errno);
}

int main(void)
{
    return run_tests("client_failure", NULL, NULL);
}
