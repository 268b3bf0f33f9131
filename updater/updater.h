/*
 * The updater: caches, owners, events and memory put together, and the ticker that starts a pass
 * per interval.
 *
 *     struct updater *u = updater_new(&options);
 *     updater_start(u);                          // caches begin to fill
 *     if (updater_wait(u, 0, &err) < 0) ...      // VPAs, owners, LimitRanges are in step
 *     updater_run(u);                            // passes from now on, by timer
 *     vpa_loop_run(loop);
 *     updater_free(u);
 *
 * Several updaters may live in one process (tests); nothing is shared but the metrics.
 */
#ifndef UPDATER_UPDATER_H
#define UPDATER_UPDATER_H

#include "config.h"
#include "env.h"
#include "meters.h"
#include "vpa/kube/client.h"
#include "vpa/net/loop.h"

struct updater_options {
    struct vpa_loop *loop;                 /* borrowed, like the rest */
    struct vpa_kube_client *client;        /* of objects and changes */
    struct vpa_kube_client *events_client; /* NULL: the same; its limit must not slow evictions */
    const struct updater_config *config;
    size_t
        requests_max; /* under way at once; 0: PASS_REQUESTS_MAX; 1: strictly one after the other */
    void (*on_pass)(void *ctx); /* after each pass of the ticker; may be NULL */
    struct vpa_ledger *ledger;  /* NULL: nothing is written down */
    bool (*may_act)(void *ctx); /* asked before every change; NULL: always */
    void *ctx;
};

struct updater;
struct updater *updater_new(const struct updater_options *options);
void updater_free(struct updater *u); /* NULL is allowed */
void updater_start(struct updater *u);
/* Pumps the loop; the error names what is not in step. timeout 0: no limit. */
int updater_wait(struct updater *u, vpa_duration timeout, struct vpa_error *err) VPA_MUST_CHECK;
/* Whether its caches are filled and fresh. ctx is the updater. */
bool updater_is_ready(void *ctx, struct vpa_buf *why);
/* Starts the ticker: the first pass comes one interval from now. */
void updater_run(struct updater *u);
/* One pass, now. */
void updater_pass(struct updater *u);
/* Waits for events still to be written, at most so long. */
void updater_flush(struct updater *u, vpa_duration timeout);

/* For tests: what passes work with. */
struct pass_env *updater_env(struct updater *u);

#endif
