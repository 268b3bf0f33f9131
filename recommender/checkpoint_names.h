/*
 * What is known about each stored checkpoint: the object that holds it and what was written last.
 *
 * The name of an object is <vpa>-<container>, so two pairs can ask for the same one ("a-b" and "c", "a" and
 * "b-c"). The pair that has the object on the API server, by its spec, keeps it; the other one gets a name
 * with a hash behind it. Objects are always recognised by their spec.
 */
#ifndef RECOMMENDER_CHECKPOINT_NAMES_H
#define RECOMMENDER_CHECKPOINT_NAMES_H

#include "vpa/base/table.h"
#include "vpa/base/time.h"
#include "vpa/model/cluster.h"

/* Behind the name of a checkpoint that was kept aside. */
#define CHECKPOINT_UNREADABLE_SUFFIX "-unreadable"
/* On such an object: when it was kept, RFC 3339. Objects with it are never loaded. */
#define CHECKPOINT_UNREADABLE_ANNOTATION "vpa.autoscaling.k8s.io/unreadable-since"

struct checkpoint_entry { /* of one (VPA, container) */
    char *key;            /* checkpoint_key */
    const char *ns;
    const char *vpa;
    const char *container;
    char *name;         /* of the object; NULL until the first write */
    bool written;       /* by this process */
    uint64_t content;   /* hash of what was written last */
    vpa_time due;       /* written again then, changed or not */
    char *unreadable;   /* source of the stored object that could not be loaded, until it is kept aside */
};
struct checkpoint_names {
    struct vpa_table entries; /* key -> struct checkpoint_entry */
    struct vpa_table objects; /* namespace and object name -> key of its owner (heap text) */
};

void checkpoint_names_release(struct checkpoint_names *names);
/* The object exists and belongs to that pair. */
void checkpoint_names_found(struct checkpoint_names *names, const char *ns, const char *object,
                            const char *vpa, const char *container);
/* Forgets which objects exist (before a new list of them). */
void checkpoint_names_clear_objects(struct checkpoint_names *names);
/* Entry of the pair, made when new. */
struct checkpoint_entry *checkpoint_names_entry(struct checkpoint_names *names, const char *ns,
                                                const char *vpa, const char *container);
/* Decides on entry->name. */
void checkpoint_names_assign(struct checkpoint_names *names, struct checkpoint_entry *entry);
/* Drops the entries of VPAs that left the model. */
void checkpoint_names_prune(struct checkpoint_names *names, const struct vpa_cluster *cluster);

#endif
