/*
 * What is known about each stored checkpoint: the object that holds it and what was written last.
 *
 * The name of an object is <vpa>-<container>, so two pairs can ask for the same one ("a-b" and "c",
 * "a" and "b-c"). The pair that has the object on the API server, by its spec, keeps it; the other
 * one gets a name with a hash behind it. Objects are always recognised by their spec.
 *
 * Tens of thousands of these exist: an object is remembered by two hashes, and an entry has no text
 * but its key.
 */
#ifndef RECOMMENDER_CHECKPOINT_NAMES_H
#define RECOMMENDER_CHECKPOINT_NAMES_H

#include "vpa/base/table.h"
#include "vpa/base/time.h"
#include "vpa/model/cluster.h"

/* Longest name of an object. */
#define CHECKPOINT_NAME_MAX 253
/* Behind the name of a checkpoint that was kept aside. */
#define CHECKPOINT_UNREADABLE_SUFFIX "-unreadable"
/* On such an object: when it was kept, RFC 3339. Objects with it are never loaded. */
#define CHECKPOINT_UNREADABLE_ANNOTATION "vpa.autoscaling.k8s.io/unreadable-since"
/* And these, as a text, where they are no JSON and can be no member. */
#define CHECKPOINT_UNREADABLE_SPEC_ANNOTATION "vpa.autoscaling.k8s.io/unreadable-spec"
#define CHECKPOINT_UNREADABLE_STATUS_ANNOTATION "vpa.autoscaling.k8s.io/unreadable-status"

struct checkpoint_entry { /* of one (VPA, container) */
    char *key;            /* namespace, VPA, container; see checkpoint_entry_container */
    char *other_name;     /* of the object; NULL: <vpa>-<container> */
    char *unreadable;     /* name of the stored object that could not be loaded, until it is kept
                             aside; whatever it holds is read again then */
    uint64_t content;     /* hash of the status that was written last */
    uint64_t intervals;   /* and of the open intervals; 0: none by this process */
    uint64_t target;      /* and of the history's target; 0: none by this process */
    int64_t due;          /* Unix seconds: written again then, changed or not */
    int64_t turn;         /* Unix seconds: while a standby is in step, not written before */
    int64_t retry;        /* Unix seconds: refused as invalid, not created before; 0: it was not */
    uint32_t tried;       /* the last round of writing that came to it; 0: none yet */
    bool named : 1;       /* the name was decided on */
    bool written : 1;     /* by this process */
    bool refused : 1;     /* the name is too long, and that was said */
    bool annotated : 1;   /* the object has annotations */
    bool shortened : 1;   /* not all of them, and that was said */
};
struct checkpoint_object {
    uint64_t name;  /* hash of namespace and name */
    uint64_t owner; /* hash of the key, but for its lowest bit: whether there are annotations */
};
struct checkpoint_names {
    struct vpa_table entries;          /* key -> struct checkpoint_entry */
    struct checkpoint_object *objects; /* open addressing; a slot with both hashes 0 is free */
    size_t object_count;
    size_t object_capacity; /* power of two */
};

void checkpoint_names_release(struct checkpoint_names *names);
/* The object exists and belongs to that pair; the first owner that is named counts. */
void checkpoint_names_found(struct checkpoint_names *names, const char *ns, const char *object,
                            const char *vpa, const char *container, bool annotated);
/* The object exists and is a copy that was kept aside: nobody's. */
void checkpoint_names_found_copy(struct checkpoint_names *names, const char *ns,
                                 const char *object);
/* Name for the copy of an object; heap text. It is never that of somebody's checkpoint, nor longer
 * than CHECKPOINT_NAME_MAX. */
char *checkpoint_names_of_copy(const struct checkpoint_names *names, const char *ns,
                               const char *object);
/* Takes over from `from` which objects exist: after a whole new list of them. Names that were
 * decided on stay taken, but for those of objects that belong to others by now. */
void checkpoint_names_take_objects(struct checkpoint_names *names, struct checkpoint_names *from);
/* Entry of the pair, made when new. */
struct checkpoint_entry *checkpoint_names_entry(struct checkpoint_names *names, const char *ns,
                                                const char *vpa, const char *container);
const char *checkpoint_entry_container(const struct checkpoint_entry *entry);
/* Name of the object, decided on at the first call; heap text that the caller frees. */
char *checkpoint_names_assign(struct checkpoint_names *names, struct checkpoint_entry *entry);
/* Drops the entries of VPAs that left the model or await their history: what this process wrote for
 * them before says nothing about what is stored now. And those of containers whose history is gone;
 * one that waits to be kept aside stays. */
void checkpoint_names_prune(struct checkpoint_names *names, const struct vpa_cluster *cluster,
                            vpa_time now);

#endif
