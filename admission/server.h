/*
 * The webhook's HTTPS listener: reads reviews, answers them from the newest snapshot, counts, and
 * can test itself through its own port (specification admission.md 4; docs/compatibility.md, U13).
 *
 * Requests run on the server's own threads, several at a time. What they share with the loop and
 * with each other is the snapshot cell, the options (constant), the metrics, and what is guarded by
 * a lock.
 */
#ifndef ADMISSION_SERVER_H
#define ADMISSION_SERVER_H

#include "admit.h"
#include "vpa/net/http_server.h"

/* Reviews posted to this path are answered but not counted. */
#define SERVER_SELF_TEST_PATH "/plumb-self-test"

struct server_options {
    struct vpa_loop *loop;      /* NULL: without a listener and a ledger */
    struct snapshot_cell *cell; /* borrowed */
    struct admit_options admit; /* explain follows the ledger */
    struct vpa_ledger *ledger;  /* borrowed; NULL: nothing is written down */
    int port;                   /* 0: any free one */
    const struct vpa_server_tls *tls;
};

struct server;
/* VPA_INVALID: certificate; VPA_RETRY: the port cannot be bound. */
struct server *server_new(const struct server_options *options, struct vpa_error *err);
/* Requests in hand are finished first. NULL is allowed. */
void server_free(struct server *server);
/* API servers go elsewhere after their next answer: it will soon be freed. */
void server_farewell(struct server *server);
int server_port(const struct server *server);
/* A new pair for new connections; a bad one changes nothing. */
int server_reload(struct server *server, const char *cert_pem, const char *key_pem,
                  struct vpa_error *err) VPA_MUST_CHECK;

/* The answer to one request, without the network: what the listener's thread calls. For tests and
 * benchmarks. content_type: the header, NULL when absent. */
void server_answer(struct server *server, const struct vpa_server_request *request,
                   const char *content_type, struct vpa_server_response *response);
/* What the listener calls when a TLS handshake did not come to its end: counted, and told once for
 * each reason. ctx: a struct server; reason is not copied. For tests, too. */
void server_handshake_failed(void *ctx, const char *reason);
/* A server without a listener, for the same. */
struct server *server_new_unbound(const struct server_options *options);

#endif
