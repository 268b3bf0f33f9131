/*
 * A fast stand-in for an API server in a process of its own: HTTP/1.1 on a loopback socket, answers
 * from prepared texts, watches held open. What is served is the benchmark's business; the loop, the
 * reading of requests, pages of lists and watch events are here.
 *
 *     stub_make_pages("/pods", count, put_pod);
 *     int listener = stub_listen(&port);
 *     stub_serve(listener, dispatch, NULL);          // does not return
 *
 * One thread, no TLS, no compression, no checks: a benchmark's client is trusted, and what it sends
 * is what it measures. Several processes do not share anything but what the benchmark maps itself.
 */
#ifndef BENCH_STUB_SERVER_H
#define BENCH_STUB_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/buf.h"

#define STUB_TEXT_MAX ((size_t)1 << 30)

struct stub_connection;

struct stub_request { /* valid during the call */
    const char *method;
    const char *target; /* with its query */
    const char *body;   /* a string; "" without */
};
typedef void (*stub_dispatch_fn)(void *ctx, struct stub_connection *c,
                                 const struct stub_request *request);

/* A listening loopback socket; exits the process when there is none. */
int stub_listen(int *port);
/* Answers until it is killed. */
_Noreturn void stub_serve(int listener, stub_dispatch_fn dispatch, void *ctx);

void stub_answer(struct stub_connection *c, int code, const char *body, size_t len);
/* Value of a number in the query ("limit="), 0 without. */
size_t stub_parameter(const char *target, const char *name);

/* Writes element i of a collection. */
typedef void (*stub_put_fn)(struct vpa_buf *b, size_t i);
/* Pages of a collection that does not change are made once, before the clock starts; the collection
 * is known by a part of its path, which must be a constant. */
void stub_make_pages(const char *collection, size_t count, stub_put_fn put);
/* The page asked for: a prepared one, or made now. */
void stub_answer_list(struct stub_connection *c, const char *target, size_t count, stub_put_fn put);

/* The connection becomes a watch of that collection (a constant). */
void stub_start_watch(struct stub_connection *c, const char *collection);
/* An event to all who watch the collection; object is JSON. */
void stub_send_event(const char *collection, const char *type, const char *object);
/* resourceVersion of everything from now on; grows with each call. */
size_t stub_next_version(void);
size_t stub_version(void);

#endif
