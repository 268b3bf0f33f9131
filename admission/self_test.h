/*
 * Whether the webhook answers on its own TLS port (docs/compatibility.md, U13): a review
 * is posted there on a new connection every half interval, and the answer must carry its uid.
 */
#ifndef ADMISSION_SELF_TEST_H
#define ADMISSION_SELF_TEST_H

#include <stdbool.h>

#include "vpa/net/loop.h"

struct self_test;
/* interval: how long a success counts. NULL with err when no client can be made. */
struct self_test *self_test_new(struct vpa_loop *loop, int port, vpa_duration interval,
                                struct vpa_error *err);
void self_test_start(struct self_test *test); /* the first one at once */
void self_test_free(struct self_test *test);  /* NULL is allowed */
/* A success lies no longer back than the interval. ctx is the self-test. */
bool self_test_is_healthy(void *ctx);

#endif
