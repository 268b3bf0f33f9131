/*
 * Whether the webhook answers on its own TLS port (docs/compatibility.md, U13): a review is posted
 * there on a new connection every half interval, at least every five seconds, and the answer must
 * carry its uid within five seconds.
 */
#ifndef ADMISSION_SELF_TEST_H
#define ADMISSION_SELF_TEST_H

#include <stdbool.h>

#include "vpa/base/buf.h"
#include "vpa/net/loop.h"

/* So many failures in a row, half a minute, mean that the listener is not coming back by itself. */
#define SELF_TEST_FAILURES_MAX 6

struct self_test;
struct vpa_transport;
/* interval: how long a success counts. NULL with err when no client can be made. */
struct self_test *self_test_new(struct vpa_loop *loop, int port, vpa_duration interval,
                                struct vpa_error *err);
/* The same over a transport, which becomes the test's own. */
struct self_test *self_test_new_over(struct vpa_loop *loop, struct vpa_transport *transport,
                                     vpa_duration interval);
void self_test_start(struct self_test *test); /* the first one at once */
void self_test_free(struct self_test *test);  /* NULL is allowed */
/* A success lies no longer back than the interval. ctx is the self-test. */
bool self_test_is_healthy(void *ctx);
/* The same with its reason, for readiness. */
bool self_test_is_ready(void *ctx, struct vpa_buf *why);
/* Fewer than SELF_TEST_FAILURES_MAX failures in a row, for liveness: restarting may help. Failures,
 * not time: whoever was frozen for a minute is not broken. */
bool self_test_is_alive(void *ctx, struct vpa_buf *why);

#endif
