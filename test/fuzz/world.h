/*
 * A whole daemon in front of an API server whose every word is the input.
 *
 * The input is a story in lines; a line is a letter, the collection, a blank and JSON (or what was
 * JSON once):
 *
 *     Lpods {"metadata":...}     an item of the list
 *     Wpods {"type":...}         a frame of the watch, sent when the story gets there
 *     R {"request":...}          a review (the webhook)
 *     .                          a minute, and a pass
 *
 * Collections are named by the last part of their path, usage is "usage". Lists are what all L
 * lines say, in whatever order. A daemon may skip and complain as it likes; it must live, its
 * writes must be well-formed, and they must be about objects that the server has spoken of.
 */
#ifndef WORLD_H
#define WORLD_H

#include <fcntl.h>

#include "fuzz.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/base/buf.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json.h"
#include "vpa/kube/client.h"

#define WORLD_START 1772366400 /* 2026-03-01T12:00:00Z */
#define WORLD_TEXT_MAX ((size_t)4 << 20)
/* Requests after which a story is over: a server that never says anything useful is asked for
 * ever. */
#define WORLD_REQUESTS_MAX 400

struct world_line {
    char what;      /* L W R . */
    const char *of; /* collection */
    const char *text;
    size_t len;
};

struct world {
    struct vpa_arena arena;
    struct world_line *lines;
    size_t count, capacity;
    struct {
        const char *of;
        struct vpa_memory_stream *stream;
    } watches[16];
    size_t watch_count;
    size_t requests, writes;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_random random;
    struct vpa_kube_client *client;
};

/* ---- the server ---- */

/* The frames of the watches that stand before the next "." or "R"; *at moves behind them. False at
 * the end of the story. */
bool world_tell(struct world *w, size_t *at);

/* ---- life ---- */

void world_start(struct world *w, const uint8_t *data, size_t size);
void world_stop(struct world *w);

#endif
