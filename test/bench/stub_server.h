/*
 * A stand-in for an API server in a process of its own, with a real one's weight on the wire: TLS
 * on a loopback socket, HTTP/2 and HTTP/1.1 as the client chooses, answers above 128 KiB compressed
 * for those who accept it, watches held open. What is served is the benchmark's business.
 *
 *     static void prepare(void) { stub_make_pages("/pods", count, put_pod); }
 *     struct stub stub;
 *     stub_start(&stub, prepare, dispatch);
 *     ...             // a client of https://127.0.0.1:<stub.port> that trusts stub.ca
 *     stub_stop(&stub);
 *
 * One thread, no checks: a benchmark's client is trusted, and what it sends is what it measures.
 * Processes share nothing but what the benchmark maps itself and the counter below.
 */
#ifndef BENCH_STUB_SERVER_H
#define BENCH_STUB_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vpa/base/buf.h"

#define STUB_TEXT_MAX ((size_t)1 << 31)

struct stub_call; /* a request that waits for its answer */

struct stub_request { /* valid during the call */
    const char *method;
    const char *target; /* with its query */
    const char *body;   /* a string; "" without */
};
typedef void (*stub_dispatch_fn)(struct stub_call *call, const struct stub_request *request);

struct stub {
    pid_t pid;
    int port;
    char *ca;                       /* PEM */
    atomic_uint_fast64_t *received; /* bytes that came over its sockets, TLS included */
};
/* Comes back when prepare, in the stub's process, is done; exits when there is no socket. */
void stub_start(struct stub *stub, void (*prepare)(void), stub_dispatch_fn dispatch);
void stub_stop(struct stub *stub);

/* Exactly one of these two, before dispatch comes back. */
void stub_answer(struct stub_call *call, int code, const char *body, size_t len);
/* The answer is a watch of that collection (a constant). */
void stub_start_watch(struct stub_call *call, const char *collection);

/* Value of a number in the query ("limit="), 0 without. */
size_t stub_parameter(const char *target, const char *name);

/* Writes element i of a collection. */
typedef void (*stub_put_fn)(struct vpa_buf *b, size_t i);
/* A list of the elements from..to (at most count) of a collection of count. */
void stub_put_page(struct vpa_buf *b, size_t from, size_t to, size_t count, stub_put_fn put);
/* Pages of a collection that does not change are made and compressed once, before the clock starts;
 * the collection is known by a part of its path, which must be a constant. */
void stub_make_pages(const char *collection, size_t count, stub_put_fn put);
/* The page asked for: a prepared one, or made now. */
void stub_answer_list(struct stub_call *call, const char *target, size_t count, stub_put_fn put);

/* An event to all who watch the collection; object is JSON. */
void stub_send_event(const char *collection, const char *type, const char *object);
/* resourceVersion of everything from now on; grows with each call. */
size_t stub_next_version(void);
size_t stub_version(void);

#endif
