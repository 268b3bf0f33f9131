/*
 * HTTP over real loopback sockets: our client, our server with a handler that says what it saw, and
 * raw peers that do nothing.
 */
#ifndef TEST_HTTP_FIXTURE_H
#define TEST_HTTP_FIXTURE_H

#include <check.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"
#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/net/http_client.h"
#include "vpa/net/http_server.h"

extern struct vpa_clock *clk;
extern struct vpa_loop *loop;
extern struct vpa_error err;

void setup(void);
void teardown(void);

/* One request, answered into here */
struct got_state {
    int status;
    enum vpa_transport_failure failure;
    char error[256];
    char body[1024];
    size_t body_len;
    char type[64];
    int retry_after;
    bool done;
    int heads;
    size_t streamed;
    bool refuse;
};
extern struct got_state got;

void on_head(void *ctx, int status);
int on_data(void *ctx, const char *bytes, size_t len);
void on_done(void *ctx, const struct vpa_http_result *result);
void fetch_with(struct vpa_transport *t, const struct vpa_http_request *request, bool stream);
void fetch(struct vpa_transport *t, const char *method, const char *target, const char *body);

/* The handler of our server: says what it saw. */

void handle(void *ctx, const struct vpa_server_request *q, struct vpa_server_response *r);
struct vpa_http_server *serve(unsigned threads, const struct vpa_server_tls *tls);
struct vpa_transport *connect_to(int port, const struct vpa_http_client_options *base);
void exchange_some(struct vpa_transport *t);

/* Peers that do nothing */

void connect_raw(int fd, int port);
int64_t read_clock(clockid_t id);
/* The share of a processor that this process uses while nobody sends anything. */
double share_of_processor(void);

#endif
