/*
 * The updater's parts and its ticker.
 *
 * The ticker behaves as upstream's: passes start at multiples of the interval; while one runs at
 * most one start is remembered, the others are dropped.
 */
#include "updater.h"

#include <stdlib.h>
#include <string.h>

#include "note.h"
#include "prove.h"
#include "run.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/kube/reflector.h"
#include "vpa/daemon/observe.h"
#include "vpa/daemon/status_lease.h"

#define COMPONENT "vpa-updater"

struct updater {
    struct pass_env env;
    struct vpa_timer *ticker;
    int64_t next_tick; /* monotonic */
    void (*on_pass)(void *ctx);
    void *ctx;
};

static void on_tick(void *ctx)
{
    struct updater *u = ctx;
    vpa_duration interval = u->env.config->interval;

    updater_pass(u);
    if (u->on_pass)
        u->on_pass(u->ctx);
    if (vpa_loop_is_stopping(u->env.loop))
        return;

    int64_t now = vpa_loop_monotonic(u->env.loop);

    u->next_tick += interval;
    vpa_timer_start_at(u->ticker, u->next_tick > now ? u->next_tick : now);
    if (u->next_tick < now) /* late by more than one interval: those between are dropped */
        u->next_tick += (now - u->next_tick) / interval * interval;
}

struct updater *updater_new(const struct updater_options *options)
{
    struct updater *u = vpa_xcalloc(1, sizeof(*u));
    struct vpa_kube_client *client = options->client;
    const char *ns = options->config->common.vpa_object_namespace;

    u->on_pass = options->on_pass;
    u->ctx = options->ctx;
    u->env.requests_max = options->requests_max;
    u->env.ledger = options->ledger;
    u->env.may_act = options->may_act;
    u->env.may_act_ctx = options->ctx;
    u->env.memory = vpa_update_memory_new();
    if (!vpa_str_eq(options->config->prove_evictions, "off"))
        u->env.prove = updater_prove_new(options->config);
    u->env.loop = options->loop;
    updater_env_configure(&u->env, options->config);
    u->env.all_proven = options->config->shadow; /* the evicted pod is still there */
    u->env.client = client;
    u->env.events = vpa_events_new(&(struct vpa_events_options){
        .client = options->events_client ? options->events_client : client,
        .component = COMPONENT});
    u->env.owners = vpa_owners_new(&(struct vpa_owners_options){.client = client, .ns = ns});
    u->env.store = updater_store_new(client, ns, vpa_status_lease_namespace(""));
    u->ticker = vpa_timer_new(u->env.loop, on_tick, u);
    return u;
}

void updater_free(struct updater *u)
{
    if (!u)
        return;
    vpa_timer_free(u->ticker);
    updater_store_free(u->env.store);
    vpa_owners_free(u->env.owners);
    vpa_events_free(u->env.events);
    vpa_update_memory_free(u->env.memory);
    updater_prove_free(u->env.prove);
    updater_notes_free(&u->env);
    free(u);
}

void updater_start(struct updater *u)
{
    updater_store_start(u->env.store);
    vpa_owners_start(u->env.owners);
}

int updater_wait(struct updater *u, vpa_duration timeout, struct vpa_error *err)
{
    if (updater_store_wait(u->env.store, u->env.loop, timeout, err) < 0)
        return -1;
    return vpa_owners_wait(u->env.owners, timeout, err);
}

bool updater_is_ready(void *ctx, struct vpa_buf *why)
{
    const struct updater *u = ctx;
    const char *which = "", *owners = "";
    int64_t now = vpa_loop_monotonic(u->env.loop);
    vpa_duration age = updater_store_age(u->env.store, now, &which);
    vpa_duration of_owners = vpa_owners_age(u->env.owners, now, &owners);

    return vpa_observe_is_fresh(which, age, why) && vpa_observe_is_fresh(owners, of_owners, why);
}

void updater_run(struct updater *u)
{
    u->next_tick = vpa_loop_monotonic(u->env.loop) + u->env.config->interval;
    vpa_timer_start_at(u->ticker, u->next_tick);
}

void updater_pass(struct updater *u)
{
    updater_pass_run(&u->env);
}

void updater_flush(struct updater *u, vpa_duration timeout)
{
    vpa_events_flush(u->env.events, timeout);
}

struct pass_env *updater_env(struct updater *u)
{
    return &u->env;
}
