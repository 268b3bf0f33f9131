/*
 * Whether the API server can use the webhook (docs/compatibility.md, U13 and U24). Every half
 * interval, at least every five seconds, the webhook is called as the API server calls it: a new
 * connection to its own TLS port by the name that the registration gives, a certificate that the
 * registration's caBundle vouches for, the review of a sample pod, and an answer within five
 * seconds that allows it.
 *
 * What the registration says is asked through `trust` before each test. If that cannot be right
 * (no registration, another CA, a certificate that expires) the test has failed at that step;
 * the listener is asked all the same, without looking at its certificate, so that liveness rests on
 * the listener alone: a restart repairs no registration.
 */
#ifndef ADMISSION_SELF_TEST_H
#define ADMISSION_SELF_TEST_H

#include <stdbool.h>

#include "vpa/base/buf.h"
#include "vpa/net/loop.h"

/* So many failures in a row, half a minute, mean that the listener is not coming back by itself. */
#define SELF_TEST_FAILURES_MAX 6

/* Where a test failed; the label of vpa_admission_controller_self_test_failures_total. */
enum self_test_step {
    SELF_TEST_REGISTRATION, /* not there, not ours to rely on, or not as it should be */
    SELF_TEST_CHAIN,        /* its caBundle does not vouch for our certificate and name */
    SELF_TEST_VALIDITY,     /* the certificate ends soon */
    SELF_TEST_HANDSHAKE,    /* no connection to the own port, or no TLS as verified */
    SELF_TEST_ANSWER,       /* the sample pod was not answered as it must be */
};

struct self_test_trust { /* texts are borrowed until the next call */
    bool verify;         /* false: the registration cannot be read, the certificate is not judged */
    const char *name;    /* SERVICE.NAMESPACE.svc, or the host of the URL */
    const char *ca_pem;  /* "": the anchors of the system */
};

struct self_test_options {
    struct vpa_loop *loop; /* borrowed */
    int port;
    vpa_duration interval; /* how long a success counts */
    /* Fills *trust, or -1: the test fails at *step for that reason. VPA_CANCELLED: too early to
     * tell, which is not worth a line. NULL: certificates are not judged. */
    int (*trust)(void *ctx, struct self_test_trust *trust, enum self_test_step *step,
                 struct vpa_error *err);
    void *ctx;
};

struct self_test;
struct vpa_transport;
struct self_test *self_test_new(const struct self_test_options *options);
/* The same over a transport, which becomes the test's own and is used for every test. */
struct self_test *self_test_new_over(const struct self_test_options *options,
                                     struct vpa_transport *transport);
void self_test_start(struct self_test *test); /* the first one at once */
void self_test_now(struct self_test *test);   /* the next one at once: something has changed */
void self_test_free(struct self_test *test);  /* NULL is allowed */
/* A success lies no longer back than the interval, and what the registration says was right when it
 * was last asked. ctx is the self-test. */
bool self_test_is_healthy(void *ctx);
/* The same with its reason, for readiness. */
bool self_test_is_ready(void *ctx, struct vpa_buf *why);
/* Fewer than SELF_TEST_FAILURES_MAX failures of the listener in a row, for liveness: restarting may
 * help. Failures, not time: whoever was frozen for a minute is not broken. */
bool self_test_is_alive(void *ctx, struct vpa_buf *why);

#endif
