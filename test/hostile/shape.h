/*
 * What is long in a world, and how everything else looks then.
 *
 *     struct shape shape;
 *     if (shape_init(&shape, "containers", 4000)) {
 *         ...
 *         shape_release(&shape);
 *     }
 */
#ifndef HOSTILE_SHAPE_H
#define HOSTILE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

/* All texts together: sixteen objects of the largest size that etcd takes. */
#define TEXT_MAX ((size_t)64 << 20)

#define SHAPE_TEXTS 15 /* of a shape, see below */

/* What an object has beyond the usual; texts with ' for ". NULL: nothing. */
struct shape {
    size_t vpas;
    size_t pods;
    size_t limit_ranges;
    size_t checkpoints, states;
    bool own_labels;    /* each pod has a label of its own */
    bool own_names;     /* each pod has containers of its own */
    bool other_names;   /* the checkpoints are all of one container */
    bool own_targets;   /* each VPA has a ReplicaSet of its own */
    bool own_selectors; /* the ReplicaSet of each VPA selects the label of one pod */
    bool selecting;     /* VPAs select pods themselves */
    bool elsewhere;     /* all VPAs but the first are in another namespace, with targets there; the
                        * first selects pods, of which nobody knows whose they are */
    bool memory_saver;  /* the recommender's flag */
    union {
        struct {
            const char *policies;    /* of the VPA */
            const char *spec;        /* members of the VPA's spec */
            const char *selector;    /* members of spec.selector, instead of the target */
            const char *recommended; /* containers */
            const char *conditions;  /* of the VPA */
            const char *vpa_meta;    /* members */
            const char *labels;      /* of the pods */
            const char *annotations; /* of the pods */
            const char *owners;      /* of the pods, before the ReplicaSet */
            const char *containers;  /* of the pods */
            const char *used;        /* containers in the metrics */
            const char *init;        /* containers */
            const char *statuses;    /* of the pods' containers */
            const char *pod_conditions;
            const char *limits; /* items of each LimitRange */
        };
        const char *texts[SHAPE_TEXTS];
    };
    char *owned[SHAPE_TEXTS]; /* those of the texts that are the shape's own */
};

/* False for an unknown field. n: how long. */
bool shape_init(struct shape *s, const char *field, size_t n);
void shape_release(struct shape *s);
/* The text with each <pattern> in it n times, its # replaced by 0, 1, ..., with commas between.
 * Heap text. */
char *expand(const char *text, size_t n);

#endif
