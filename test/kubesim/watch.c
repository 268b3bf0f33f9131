/*
 * Watches. A watch is a cursor in the log of its collection: reading it waits for events behind the
 * cursor, filters them (an object that leaves the selector is DELETED as it last matched, one that
 * enters it is ADDED) and writes one JSON line each. Initial events come from a snapshot; bookmarks
 * tell the version reached.
 */
#include "sim.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

struct watch {
    struct sim *sim;
    struct restype *type;
    struct collection *store;
    struct selector *selector;
    struct output_choice form;
    const char *ns;
    uint64_t cursor;
    struct version **initial;
    size_t initial_count;
    size_t initial_next;
    bool mark_end; /* the bookmark behind the initial events is due */
    bool bookmarks;
    bool columns_sent;
    bool last_bookmark_sent;
    bool ended;
    int64_t deadline; /* real milliseconds */
    int64_t length;
    int64_t next_bookmark;
    unsigned jumps; /* of the clock, when the last bookmark was due */
    bool waiting;   /* for something to happen: all else is sent */
    struct watch *next;
    struct vpa_buf out;
    size_t out_at;
    struct fault_plan fault;
    size_t sent;
    struct vpa_arena scratch;
};

#define EVENT_OUT_MAX (64u << 20)

static void write_event(struct watch *w, const char *type, const struct version *v, uint64_t rv)
{
    struct vpa_buf *b = &w->out;

    for (int times = w->fault.duplicate ? 2 : 1; times; times--) {
        vpa_buf_printf(b, "{\"type\":\"%s\",\"object\":", type);
        if (w->form.form == OUT_TABLE) {
            const char *version =
                vpa_arena_printf(&w->scratch, "%llu", (unsigned long long)(rv ? rv : v->rv));
            table_begin(b, w->sim, w->type, version, NULL, -1, !w->columns_sent);
            table_row(b, w->sim, &w->scratch, w->type, v, rv, w->form.include);
            table_end(b);
            w->columns_sent = true;
        } else if (w->form.form == OUT_METADATA) {
            write_metadata(b, &w->scratch, w->type, v, rv);
        } else {
            write_object(b, &w->scratch, w->type, v, true, rv);
        }
        vpa_buf_puts(b, "}\n");
    }
}

static void write_bookmark(struct watch *w, bool end_of_initial)
{
    vpa_buf_printf(
        &w->out,
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{"
        "\"resourceVersion\":\"%llu\",\"creationTimestamp\":null%s}}}\n",
        w->type->kind, type_api_version(&w->scratch, w->type), (unsigned long long)w->cursor,
        end_of_initial ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
}

static void write_expired(struct watch *w, uint64_t rv, uint64_t oldest)
{
    vpa_buf_printf(
        &w->out,
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
        "\"status\":\"Failure\",\"message\":\"too old resource version: %llu (%llu)\","
        "\"reason\":\"Expired\",\"code\":410}}\n",
        (unsigned long long)rv, (unsigned long long)oldest);
    w->ended = true;
}

static bool in_scope(const struct watch *w, const struct version *v)
{
    return !*w->ns || !strcmp(w->ns, v->ns);
}

static void write_change(struct watch *w, const struct event *e)
{
    if (!in_scope(w, e->now))
        return;
    bool now = e->type != EVENT_DELETED && selector_matches(w->selector, e->now);
    bool before = e->prev && selector_matches(w->selector, e->prev);

    if (now)
        write_event(w, before ? "MODIFIED" : "ADDED", e->now, 0);
    else if (before)
        write_event(w, "DELETED", e->type == EVENT_DELETED ? e->now : e->prev, e->rv);
}

/* Real milliseconds. Clients wait for bookmarks in virtual time, and those of a real server come
 * within the minute. */
static int64_t bookmark_interval(const struct sim *sim)
{
    double rate = sim->now ? 1.0 : sim_rate(sim);
    double wait = sim->opt.bookmark_seconds * 750.0 / (rate > 1.0 ? rate : 1.0);

    return wait > 40.0 ? (int64_t)wait : 40;
}

/* Fills the output with what is there; true when something was written or the end was reached. */
static bool fill(struct watch *w)
{
    while (w->initial_next < w->initial_count && w->out.len < 256 * 1024) {
        struct version *v = w->initial[w->initial_next++];
        if (selector_matches(w->selector, v))
            write_event(w, "ADDED", v, 0);
    }
    if (w->initial_next < w->initial_count)
        return true;
    if (w->mark_end) {
        w->mark_end = false;
        write_bookmark(w, true);
    }
    if (w->cursor < w->store->floor) {
        write_expired(w, w->cursor, w->sim->store.rv);
        return true;
    }
    for (size_t i = store_event_after(w->store, w->cursor); i < w->store->log_count; i++) {
        const struct event *e = store_event(w->store, i);
        write_change(w, e);
        w->cursor = e->rv;
        if (w->out.len > 256 * 1024)
            break;
        if (w->fault.gone && w->out.len) {
            write_expired(w, w->cursor, w->sim->store.rv);
            break;
        }
    }
    int64_t now = sim_millis(w->sim);
    if (w->bookmarks && (now >= w->next_bookmark || w->jumps != w->sim->jumps)) {
        if (w->cursor < w->sim->store.rv &&
            store_event_after(w->store, w->cursor) == w->store->log_count)
            w->cursor = w->sim->store.rv;
        write_bookmark(w, false);
        w->next_bookmark = now + bookmark_interval(w->sim);
        w->jumps = w->sim->jumps;
    }
    if (w->bookmarks && !w->last_bookmark_sent && w->length > 60000 && now >= w->deadline - 1500) {
        if (store_event_after(w->store, w->cursor) == w->store->log_count)
            w->cursor = w->sim->store.rv;
        write_bookmark(w, false);
        w->last_bookmark_sent = true;
    }
    if (now >= w->deadline)
        w->ended = true;
    return w->out.len || w->ended;
}

static void wait_for_change(struct watch *w)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t wait = w->deadline - real_millis();

    if (wait > 500)
        wait = 500; /* also the time in which a vanished client is noticed */
    if (wait > bookmark_interval(w->sim) / 2)
        wait = bookmark_interval(w->sim) / 2;
    if (wait < 1)
        wait = 1;
    until.tv_nsec += wait % 1000 * 1000000;
    until.tv_sec += wait / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    w->waiting = true;
    pthread_cond_timedwait(&w->store->changed, &w->sim->store.lock, &until);
    w->waiting = false;
}

static bool is_quiet(const struct watch *w)
{
    return w->ended || (w->waiting && (!w->bookmarks || w->jumps == w->sim->jumps) &&
                        store_event_after(w->store, w->cursor) == w->store->log_count);
}

bool watches_are_quiet(const struct sim *sim)
{
    for (const struct watch *w = sim->watches; w; w = w->next)
        if (!is_quiet(w))
            return false;
    return true;
}

static bool client_gone(int fd)
{
    char byte;
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLRDHUP};

    if (fd < 0 || poll(&p, 1, 0) <= 0)
        return false;
    if (p.revents & (POLLHUP | POLLERR | POLLRDHUP))
        return true;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

ssize_t watch_read(struct watch *w, char *out, size_t max, int fd)
{
    if (w->out_at == w->out.len) {
        vpa_buf_clear(&w->out);
        w->out_at = 0;
        if (w->ended)
            return 0;
        pthread_mutex_lock(&w->sim->store.lock);
        while (!fill(w)) {
            wait_for_change(w);
            if (atomic_load(&w->sim->stopping) || client_gone(fd)) {
                w->ended = true;
                break;
            }
        }
        pthread_mutex_unlock(&w->sim->store.lock);
        vpa_arena_clear(&w->scratch);
        if (!w->out.len)
            return 0;
    }
    size_t n = w->out.len - w->out_at;
    if (n > max)
        n = max;
    if (w->fault.cut_after >= 0) {
        if (w->sent >= (size_t)w->fault.cut_after)
            return w->fault.reset ? -2 : -1;
        if (n > (size_t)w->fault.cut_after - w->sent)
            n = (size_t)w->fault.cut_after - w->sent;
    }
    memcpy(out, w->out.data + w->out_at, n);
    w->out_at += n;
    w->sent += n;
    return (ssize_t)n;
}

bool watch_take(struct watch *w, struct vpa_buf *out)
{
    pthread_mutex_lock(&w->sim->store.lock);
    while (!w->ended && fill(w)) {
        vpa_buf_append(out, w->out.data, w->out.len);
        vpa_buf_clear(&w->out);
    }
    pthread_mutex_unlock(&w->sim->store.lock);
    vpa_arena_clear(&w->scratch);
    return !w->ended;
}

static void unlink_watch(struct watch *w)
{
    struct watch **at = &w->sim->watches;

    pthread_mutex_lock(&w->sim->store.lock);
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    pthread_mutex_unlock(&w->sim->store.lock);
}

void watch_free(struct watch *w)
{
    unlink_watch(w);
    for (size_t i = 0; i < w->initial_count; i++)
        version_unref(w->initial[i]);
    free(w->initial);
    vpa_buf_release(&w->out);
    vpa_arena_release(&w->scratch);
    free(w);
}

/* ---- opening ---- */

struct watch_options {
    const char *rv;
    bool initial;
    bool mark_end;
    bool bookmarks;
    int64_t seconds;
};

static int refuse(struct ctx *c, bool unsupported)
{
    struct field_errors e = {0};

    field_error(
        c, &e, "FieldValueForbidden", "resourceVersionMatch",
        "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (unsupported)
        field_error(c, &e, "FieldValueNotSupported", "resourceVersionMatch",
                    "Unsupported value: \"%s\": supported values: \"NotOlderThan\"",
                    query_get(c, "resourceVersionMatch"));
    return fail_invalid(c, "meta.k8s.io", "ListOptions", "", &e);
}

static int read_watch_options(struct ctx *c, struct watch_options *o)
{
    const char *rv = query_get(c, "resourceVersion"), *match = query_get(c, "resourceVersionMatch"),
               *seconds = query_get(c, "timeoutSeconds"), *send = query_get(c, "sendInitialEvents");
    struct field_errors e = {0};
    char *end;

    o->rv = rv ? rv : "";
    o->seconds = 1800 + sim_millis(c->sim) % 1800;
    if (seconds && *seconds) {
        o->seconds = strtoll(seconds, &end, 10);
        if (*end)
            return fail(c, 400, "BadRequest", "strconv.ParseInt: parsing \"%s\": invalid syntax",
                        seconds);
    }
    if (send && *send) {
        if (!match || strcmp(match, "NotOlderThan") != 0)
            return refuse(c, match && *match);
    } else if (match && *match) {
        field_error(c, &e, "FieldValueForbidden", "resourceVersionMatch",
                    "Forbidden: resourceVersionMatch is forbidden for watch unless "
                    "sendInitialEvents is provided");
        return fail_invalid(c, "meta.k8s.io", "ListOptions", "", &e);
    }
    if (o->rv[strspn(o->rv, "0123456789")])
        return fail(c, 500, NULL,
                    "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": "
                    "invalid syntax",
                    o->rv, o->rv);
    o->bookmarks = query_flag(c, "allowWatchBookmarks");
    bool from_now = !*o->rv || !strcmp(o->rv, "0");
    o->initial = (send && query_flag(c, "sendInitialEvents")) || (!(send && *send) && from_now);
    o->mark_end = o->initial && o->bookmarks;
    return 0;
}

int handle_watch(struct ctx *c)
{
    struct watch_options o = {0};
    struct selector *selector;
    struct output_choice form;

    if (choose_output(c, false, &form) < 0 || selector_read(c, &selector) < 0 ||
        read_watch_options(c, &o) < 0)
        return -1;
    struct fault_plan fault;
    faults_plan(c->sim, c->req, true, &fault);
    if (fault.status)
        return fail_injected(c, &fault);
    struct watch *w = vpa_xcalloc(1, sizeof(*w));
    w->sim = c->sim;
    w->type = c->type;
    w->store = c->type->store;
    w->selector = selector;
    w->form = form;
    w->ns = c->ns;
    w->bookmarks = o.bookmarks;
    w->length = o.seconds * 1000;
    w->deadline = sim_millis(w->sim) + w->length;
    w->next_bookmark = sim_millis(w->sim) + bookmark_interval(w->sim);
    w->mark_end = o.mark_end;
    w->jumps = c->sim->jumps;
    w->next = c->sim->watches;
    c->sim->watches = w;
    w->fault = fault;
    vpa_buf_init(&w->out, EVENT_OUT_MAX);
    if (o.initial) {
        w->cursor = c->sim->store.rv;
        if (store_snapshot(w->store, w->ns, 0, &w->initial, &w->initial_count) < 0)
            abort(); /* the present is never forgotten */
    } else {
        w->cursor = !*o.rv || !strcmp(o.rv, "0") ? c->sim->store.rv : strtoull(o.rv, NULL, 10);
    }
    c->res->status = 200;
    c->res->content_type = "application/json";
    c->res->watch = w;
    return 0;
}
