/*
 * A cluster in memory around a whole updater: its objects, an API server that accepts everything
 * unless a fault says otherwise and keeps what was sent, and a clock that moves only while the
 * updater waits.
 */
#ifndef UPDATER_WORLD_H
#define UPDATER_WORLD_H

#include "../../updater/updater.h"
#include "golden.h"
#include "updater_case.h"
#include "memory_transport.h"

struct world;

/* start: the instant at which the clock begins. The updater runs one request at a time. */
struct world *world_new(struct golden_case *c, vpa_time start);
void world_free(struct world *world);
/* Objects of the caches; before world_sync() or at any time after it. */
void world_put(struct world *world, const struct vpa_json *object);
void world_put_all(struct world *world, const struct vpa_json *objects);
/* "Kind namespace/name" */
void world_delete(struct world *world, const char *what);
/* Path to Scale object. */
void world_set_scales(struct world *world, const struct vpa_json *scales);
/* Answers other than the usual one; replaces the earlier ones. */
void world_set_faults(struct world *world, const struct vpa_json *faults);
/* Fills the caches of the updater. */
void world_sync(struct world *world);
/* Lets queued changes reach the updater, without moving the clock. */
void world_settle(struct world *world);
/* Moves the clock to that instant (not backwards). */
void world_wait_until(struct world *world, vpa_time t);

struct updater *world_updater(struct world *world);
struct pass_env *world_env(struct world *world);
struct vpa_loop *world_loop(struct world *world);

/* What was sent since the last world_begin(), as JSON text in the case's arena: writes, events (as
 * {"object","type","reason","message",...}, or as whole requests), scale reads. NULL for none where
 * `or_null`. */
void world_begin(struct world *world);
/* The same, but the server keeps what patches did to its objects. */
void world_begin_step(struct world *world);
const char *world_calls(struct world *world, bool or_null);
/* From here on events are told without their counts. */
void world_plain_events(struct world *world);
/* Pods are listed whatever their phase: the vectors give the policy what the daemon leaves out. */
void world_list_all_pods(struct world *world);
const char *world_events(struct world *world, bool whole, bool or_null);
const char *world_scale_reads(struct world *world);
int64_t world_lease_reads(const struct world *world);
/* Resizes since world_new() that changed nothing although no error was reported (U7). */
size_t world_useless_resizes(const struct world *world);
/* Time since world_begin(), or since world_begin_step(). */
vpa_duration world_took(struct world *world);
/* Timers of resizes of the pods that are there; want: namespace/name to time. */
void world_compare_first_seen(struct world *world, const char *label, const struct vpa_json *want);
/* Sets timers and infeasible records from a case. */
void world_set_memory(struct world *world, const struct vpa_json *first_seen,
                      const struct vpa_json *infeasible);

#endif
