/*
 * What the TLS session of a server's connection writes to its socket. Two records can be told to
 * leave together: the head of an answer and its body, which libmicrohttpd sends one by one. Each
 * would wake the peer, and costs a system call.
 */
#ifndef NET_SERVER_PUSH_H
#define NET_SERVER_PUSH_H

#include <gnutls/gnutls.h>
#include <sys/types.h>

struct server_push;
struct server_push *server_push_new(int fd);
void server_push_free(struct server_push *push); /* NULL is allowed */

/* The next record waits for the one after it, which must come. */
void server_push_join(struct server_push *push);

/* A gnutls_vec_push_func. What it takes it has sent, but for a record that waits: that of the next
 * call is taken only when the other has gone. So whoever sends the last one is told, as without us,
 * when the socket is full. */
ssize_t server_push_send(gnutls_transport_ptr_t push, const giovec_t *pieces, int count);

#endif
