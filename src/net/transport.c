#include "vpa/net/transport.h"

#include "vpa/base/mem.h"

const char *vpa_transport_failure_name(enum vpa_transport_failure failure)
{
    static const char *const names[] = {
        [VPA_TRANSPORT_OK] = "ok",
        [VPA_TRANSPORT_REFUSED] = "connection refused",
        [VPA_TRANSPORT_RESET] = "connection reset",
        [VPA_TRANSPORT_EOF] = "unexpected EOF",
        [VPA_TRANSPORT_TIMEOUT] = "timeout",
        [VPA_TRANSPORT_TLS] = "TLS failure",
        [VPA_TRANSPORT_LIMIT] = "answer too long",
        [VPA_TRANSPORT_STOPPED] = "stopped by the reader",
        [VPA_TRANSPORT_UNSENT] = "not sent",
        [VPA_TRANSPORT_OTHER] = "network failure",
    };

    return (unsigned)failure < VPA_COUNT(names) ? names[failure] : "network failure";
}
