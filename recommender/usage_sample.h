/* A container's usage into the model, whatever API told it: usage.c, external.c. */
#ifndef RECOMMENDER_USAGE_SAMPLE_H
#define RECOMMENDER_USAGE_SAMPLE_H

#include "config.h"
#include "failures.h"

#include "vpa/base/table.h"
#include "vpa/kube/client.h"
#include "vpa/model/cluster.h"

struct usage_memory {         /* from pass to pass; zeroed at first */
    size_t unaskable;         /* pods that cannot be asked for, in the last reading */
    struct failures unknown;  /* containers, of the reading under way */
    struct vpa_table failing; /* namespaces whose external metrics failed in the last hour */
    struct {                  /* the last pod that was asked for before time was up */
        char *ns, *vpa, *pod; /* NULL: the last reading came to its end */
    } cut;
};
/* How long a reading may take. One that is not there within an interval comes too late; but a
 * server that is only slow may take two minutes, for which health bears with us. */
vpa_duration usage_patience(vpa_duration interval);
void usage_memory_release(struct usage_memory *memory);

struct usage_options { /* all borrowed */
    struct vpa_kube_client *client;
    const struct recommender_config *config;
    struct vpa_cluster *cluster;
    struct usage_memory *memory;
};

struct usage_sample {
    const char *ns;
    const char *pod;
    const char *container;
    vpa_time time;
    vpa_amount cpu_millis;
    vpa_amount memory_bytes;
    bool lacks_memory; /* it was not told: there is no sample of it */
};
/* When something happened that a node has dated: its clock may be wrong. A time that has not come
 * yet outweighs all others, doubled with each half-life until then, and what comes after it is
 * refused; so one more than an hour ahead is now. */
#define USAGE_AHEAD VPA_HOUR
vpa_time usage_time(vpa_time dated, vpa_time now);

/* Adds it to the container's history. A container that nobody knows is noted in memory->unknown,
 * what the model refuses is logged at --v=3; an init container has no usage. */
void usage_add(const struct usage_options *options, const struct usage_sample *sample,
               vpa_time now);

#endif
