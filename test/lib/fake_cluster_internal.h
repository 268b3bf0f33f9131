/*
 * Between the parts of the API server in memory:
 *   fake_store.c    objects, watches and scales, and how a change alters them
 *   fake_usage.c    metrics and external metrics of a step
 *   fake_cluster.c  requests to answers, faults, records
 */
#ifndef FAKE_CLUSTER_INTERNAL_H
#define FAKE_CLUSTER_INTERNAL_H

#include "fake_cluster.h"

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define FAKE_TEXT_MAX ((size_t)64 << 20)
#define FAKE_LOG_MAX 20000 /* events a watch can go back */

struct fake_resource { /* what the server knows */
    const char *group; /* "" core */
    const char *version;
    const char *plural;
    const char *kind;
    bool namespaced;
    bool scale;
};

struct fake_object {
    char *key; /* resource index, namespace, name */
    const struct fake_resource *resource;
    struct vpa_arena arena;
    const struct vpa_json *root;
    char *text;
    const char *ns;
    const char *name;
};
struct fake_log_entry {
    uint64_t version;
    const struct fake_resource *resource;
    char *ns;
    const char *type;
    char *text;
};
struct fake_watch {
    struct fake_cluster *cluster;
    struct vpa_memory_stream *stream;
    const struct fake_resource *resource;
    char *ns;
    struct fake_watch *next;
};

struct fake_slow_answer;
struct fake_cluster {
    struct vpa_loop *loop;
    struct vpa_arena arena; /* lives as long as the cluster */
    struct fake_resource *resources;
    size_t resource_count;
    struct vpa_table objects;
    struct vpa_table scales; /* "group|plural|ns|name" -> JSON text */
    struct fake_log_entry *log;
    size_t log_count, log_capacity;
    struct fake_watch *watches;
    struct fake_slow_answer *slow;
    uint64_t version;
    const struct vpa_json *step;
    size_t index;
    vpa_time pass_begin;
    unsigned fault_uses[32];
    struct vpa_arena record; /* of one pass */
    struct fake_write *writes;
    size_t write_count, write_capacity;
    struct fake_list reads;
};

struct fake_exchange {
    struct fake_cluster *f;
    const struct vpa_memory_request *q;
    struct vpa_memory_reply *r;
    const char *group;
    const char *version;
    const char *ns;
    const char *plural;
    const char *name;
    const char *sub;
    const struct fake_resource *resource;
    bool answered_later;
};

/* ---- fake_store.c ---- */

const char *fake_text_at(const struct vpa_json *node, const char *path); /* "" when absent */
void fake_store_init(struct fake_cluster *f, const struct vpa_json *crds);
void fake_store_release(struct fake_cluster *f);
const struct fake_resource *fake_resource_of_plural(const struct fake_cluster *f, const char *group,
                                                    const char *version, const char *plural);
bool fake_is_selected(const struct fake_object *o);
void fake_replace(struct fake_cluster *f, struct fake_object *before, struct fake_object *after);
struct fake_object *fake_make_object(struct fake_cluster *f, const struct fake_resource *r,
                                     const struct vpa_json *given, const struct fake_object *before,
                                     const struct vpa_json *status, const char *ns);
struct fake_object *fake_find_object(const struct fake_cluster *f, const struct fake_resource *r,
                                     const char *ns, const char *name);
char *fake_scale_key(const char *group, const char *plural, const char *ns, const char *name);

/* ---- fake_usage.c ---- */

void fake_usage_release(struct fake_cluster *f);
int fake_serve_metrics(struct fake_exchange *x);
int fake_serve_external(struct fake_exchange *x);

/* ---- fake_cluster.c ---- */

int fake_reply_json(struct fake_exchange *x, int code, const char *json);
int64_t fake_latency_of(struct fake_exchange *x);

#endif
