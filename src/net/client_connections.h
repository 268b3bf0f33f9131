/*
 * The connections of an HTTP client: which exchanges may share one, and which one is dead.
 * client_connections.c says what libcurl does by itself and what it must be kept from.
 */
#ifndef VPA_NET_CLIENT_CONNECTIONS_H
#define VPA_NET_CLIENT_CONNECTIONS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "vpa/base/time.h"

struct client_connections;
struct client_connection;

struct client_connections *client_connections_new(void);
/* Closes all. No handle that was set up here may be left. */
void client_connections_free(struct client_connections *cs);
/* Where this handle finds and leaves connections; a watch has one of its own. */
void client_connections_set_up(struct client_connections *cs, CURL *easy, bool watch);

enum client_connection_fit {
    CONNECTION_FITS,
    CONNECTION_BUSY, /* HTTP/1.1 with an exchange under way: another, new one is needed */
    CONNECTION_DEAD, /* given up: libcurl has not noticed yet */
};
/* libcurl is about to write a request onto the connection with that local port. Unless it fits,
 * nothing is taken and the request must not be written. */
enum client_connection_fit client_connections_take(struct client_connections *cs, CURL *easy,
                                                   int local_port,
                                                   struct client_connection **taken);
/* -1: libcurl has closed it. */
int client_connections_socket(const struct client_connection *connection);
/* The exchange has ended, or will be written anew. NULL is allowed. */
void client_connections_leave(struct client_connection *connection);
/* An exchange there has timed out after waiting so long for a byte: given up, with all that is on
 * it, when nothing at all arrived there during the second half of that time. True when it was. NULL
 * is allowed. */
bool client_connections_judge(struct client_connection *connection, vpa_duration waited);

#endif
