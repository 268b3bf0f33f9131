/*
 * The connections of one listener, counted in front of libmicrohttpd: what each of them waits for,
 * how long it may, and which one goes when there is no room for another.
 *
 *     struct connections *c = connections_new(&limits, drop, server);
 *     if (!connections_add(c, fd, address, CONNECTION_HANDSHAKE, now)) close(fd);
 *     connections_start(c, fd, now);                        // libmicrohttpd serves it
 *     connections_turn(c, fd, CONNECTION_BODY, 0, now);     // its head was read
 *     if (!connections_take_room(c, fd, bytes, now)) refuse();  // its answer is made
 *     connections_sweep(c, now);                            // every second: who is overdue goes
 *     connections_remove(c, fd);                            // right before the descriptor closes
 *
 * A connection is dropped by drop(), which shuts the socket down; libmicrohttpd then finds its end
 * and closes it in its own time. Until then it is still counted, against twice the maximum, so that
 * libmicrohttpd never holds more than that.
 *
 * What an answer holds until it is read is counted, too. One that needs room has it at the cost of
 * others: see connections_take_room().
 *
 * Any thread may call; `now` is monotonic. Descriptors are the names: the kernel gives one again
 * only after it was closed.
 */
#ifndef NET_CONNECTIONS_H
#define NET_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "vpa/base/time.h"

enum connection_phase {
    CONNECTION_HANDSHAKE, /* of TLS, not finished */
    CONNECTION_HEAD,      /* has asked nothing yet, or the head of a request is not complete */
    CONNECTION_IDLE,      /* was answered and is kept for another request */
    CONNECTION_BODY,      /* a request whose body is coming */
    CONNECTION_WORK,      /* a request in our hands: never dropped */
    CONNECTION_ANSWER,    /* an answer that is being read */
};

struct connection_limits {
    unsigned max;
    vpa_duration handshake, head, idle;
    vpa_duration transfer; /* of bodies and answers, longer by what their bytes need at the rate */
    int64_t rate;          /* bytes per second that a peer must keep up with on average */
    size_t answers_max;    /* bytes that answers hold */
};

struct connections;
/* drop is called with a lock held: it may only shut the socket down. */
struct connections *connections_new(const struct connection_limits *limits,
                                    void (*drop)(void *ctx, int fd), void *ctx);
void connections_free(struct connections *connections); /* NULL is allowed */

/* Takes one more in, at the cost of another if it must; false: there is no room, close it. */
bool connections_add(struct connections *connections, int fd, const struct sockaddr *peer,
                     enum connection_phase phase, int64_t now);
/* It is served from now on, and may be dropped. */
void connections_start(struct connections *connections, int fd, int64_t now);
/* A phase begins; bytes: of the answer, when that is known. */
void connections_turn(struct connections *connections, int fd, enum connection_phase phase,
                      size_t bytes, int64_t now);
/* Its answer, which was made (CONNECTION_WORK), will hold so many bytes until it is read: until a
 * phase begins that is not CONNECTION_ANSWER, or the connection ends. All answers together hold
 * answers_max, and those of connections that are dropped as much again until they are closed. Where
 * that is not enough others are dropped: those that have waited longest for their readers, if for
 * more than a second, then those of the address that holds most, if that is more than this one
 * would. False: there is no room. One longer than answers_max has it when no other is held. */
bool connections_take_room(struct connections *connections, int fd, size_t bytes, int64_t now);
/* More of a body came. */
void connections_count(struct connections *connections, int fd, size_t bytes);
/* The phase in which it ended. */
enum connection_phase connections_remove(struct connections *connections, int fd);

/* Drops those whose time is over; true while there are any connections at all. */
bool connections_sweep(struct connections *connections, int64_t now);
/* Nothing new is wanted any more: drops everybody but requests that come, are worked on or answered
 * without dawdling. */
void connections_hurry(struct connections *connections, int64_t now);
/* Drops the one that is missed least, for the sake of its descriptor; false when none may go. */
bool connections_make_room(struct connections *connections, int64_t now);

#endif
