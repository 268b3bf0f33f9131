/*
 * What the files of updater_world.h share.
 *
 *     updater_world.c          objects, life, the updater's memory
 *     updater_world_server.c   what the server does otherwise than the simulator: patches, faults
 *     updater_world_record.c   what was sent, as the vectors tell it
 */
#ifndef UPDATER_WORLD_PARTS_H
#define UPDATER_WORLD_PARTS_H

#include "sim_cluster.h"
#include "updater_world.h"
#include "vpa/base/random.h"

#define WORLD_TEXT_MAX ((size_t)64 << 20)

struct object { /* a pod */
    const char *ns;
    const char *name;
    const char *uid;
    const char *json;   /* as the caches have it */
    const char *server; /* as the API server has it: patched */
};

struct world {
    struct golden_case *c;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_random random;
    struct vpa_kube_client *client;
    struct updater_config config;
    struct updater *updater;
    struct sim_cluster *sim;
    struct vpa_table pods; /* "ns/name" */
    const struct vpa_json *scales;
    struct vpa_table recorded_events; /* path of an event -> its JSON */
    struct vpa_table event_counts;    /* object, reason and message, whole and upstream's part */
    struct text_list calls;
    struct text_list events;
    struct text_list whole_events;
    struct text_list scale_reads;
    int64_t lease_reads;
    int64_t began;
    bool plain_events;
    bool all_pods;
    size_t useless_resizes;
    struct look { /* passes and steps: when the updater looked at its pods */
        vpa_time from, till;
    } * looks;
    size_t look_count, look_capacity;
};

/* Texts live in the arena of the case. */
const char *world_node_text(struct golden_case *c, const struct vpa_json *node);
const struct vpa_json *world_parse(struct golden_case *c, const char *text);

/* The simulator with what the vectors' server did otherwise, and the record; ctx is the world. */
void world_serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *reply);
int world_serve_first(void *ctx, const struct vpa_memory_request *q,
                      struct vpa_memory_reply *reply);
void world_serve_kinds(struct world *world);

void world_record(struct world *world, struct text_list *list, const struct vpa_memory_request *q,
                  int status, const char *transport);
void world_record_scale(struct world *world, const char *path, int status);
void world_record_event(struct world *world, const struct vpa_memory_request *q, int status);

#endif
