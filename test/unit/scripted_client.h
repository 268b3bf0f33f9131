/* A Kubernetes client over a server in memory that answers by script and keeps what it saw. */
#ifndef TEST_SCRIPTED_CLIENT_H
#define TEST_SCRIPTED_CLIENT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/daemon/clock.h"
#include "vpa/kube/client.h"

extern struct vpa_clock *clk;
extern struct vpa_loop *loop;
extern struct vpa_transport *transport;
extern struct vpa_kube_client *client;

struct script {
    int status;
    int until; /* the script holds for so many requests, then this: */
    int then;  /* 0: 200 */
    int retry_after;
    enum vpa_transport_failure failure;
    const char *reason, *message, *text;
    size_t chunk;
    vpa_duration delay;
};
extern struct script script;
extern int seen;
extern int64_t seen_at[32];
extern bool last_repeatable;
extern char last_method[16], last_target[512], last_type[64], last_body[512], last_agent[64];
extern int answered, unanswered; /* attempts, as the client tells of them */
extern struct vpa_random rnd;
extern struct vpa_kube_config *config;

extern struct vpa_error last_err; /* of the last call that keep_err was told of */

/* ctx: an int, how many calls have ended. */
void keep_err(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err);
/* A new one in place of that before. */
void make_client(double qps, int64_t burst);
void setup(void);
void teardown(void);

#endif
