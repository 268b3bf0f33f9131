/*
 * A server with bad manners, for tests of the HTTP client: HTTP/2 and HTTP/1.1 over TLS (ALPN
 * decides), a thread per connection, everything scripted by the request:
 *
 *     GET /x              200 "ok"
 *     GET /x?goaway       answered; GOAWAY names this stream as the last, the connection is closed
 *                         when all is answered
 *     GET /x?refuse       RST_STREAM REFUSED_STREAM     (these six only so often, then answered:
 *     GET /x?reset        RST_STREAM INTERNAL_ERROR      once, or n times: /x?close=2)
 *     GET /x?close        the connection is closed without an answer
 *     GET /x?disown       GOAWAY that names no stream, the connection is closed
 *     GET /x?cut          200 and "{}\n", then the connection is closed in the middle of the body
 *     GET /x?die          as close, and nobody listens any more
 *     GET /x?mute         as close, and later connections end in their handshake
 *     GET /x?silent       never answered; others on the connection are
 *     GET /x?freeze       nothing is read or sent on this connection any more
 *     GET /x?drip         200, then a byte of body every 5 ms, without end
 *     GET /x?watch        200 and "{}\n", left open
 *     GET /x?last         answered, then the connection is closed as an idle one is
 */
#ifndef TEST_ROUGH_SERVER_H
#define TEST_ROUGH_SERVER_H

#include <stdbool.h>

#include "vpa/net/tls.h"

struct rough_server;
struct rough_server *rough_server_new(const struct vpa_tls_pair *pair);
void rough_server_free(struct rough_server *server);
int rough_server_port(const struct rough_server *server);
/* All connections stand still, new ones too: they are accepted, and that is all. */
void rough_server_freeze(struct rough_server *server, bool frozen);
/* The next so many connections get HTTP/1.1, whatever they offer. */
void rough_server_downgrade(struct rough_server *server, unsigned connections);

/* How often that request, "POST /x?close", was read. */
unsigned rough_server_seen(struct rough_server *server, const char *request);
unsigned rough_server_connections(struct rough_server *server);
/* Requests that came on an HTTP/1.1 connection while another was not answered there. */
unsigned rough_server_strays(struct rough_server *server);

#endif
