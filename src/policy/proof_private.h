/*
 * Between proof.c (asking, learning) and proof_records.c (what is kept).
 *
 * A record per VPA and way holds its breaker and the groups that are waiting or proven; it exists
 * only while one of them says something. Who has sent the pod on trial is kept with its group, so
 * that a trial that comes to nothing frees the breaker for the next one. What is kept of a
 * namespace lives as long as one of its records, or as the row of failures that it is part of.
 */
#ifndef POLICY_PROOF_PRIVATE_H
#define POLICY_PROOF_PRIVATE_H

#include "breaker.h"
#include "vpa/base/table.h"
#include "vpa/policy/proof.h"

struct trials {
    bool space, cluster;
};
struct group {
    bool waiting;         /* else proven */
    vpa_time sent;        /* what is waited for */
    uint64_t opening;     /* the trial of a breaker that had opened with it, or 0 */
    struct trials trials; /* of others */
    bool for_webhook;     /* that of a webhook which was away */
    vpa_time since;       /* proven */
    char key[];
};
/* Was the webhook away when this failed? */
struct question {
    bool open;
    bool holds; /* all, not the namespace alone */
    struct trials trials;
    vpa_time start;
    int64_t heard;
    vpa_duration pause; /* before it; 0: the breaker was closed */
    vpa_time retry_at;
    uint64_t opening;
};
struct space { /* a namespace */
    struct scope scope;
    unsigned row; /* of the cluster's failures that it is part of */
    size_t records;
    size_t questions;
    struct helper helper;
    char name[];
};
struct record {
    struct space *space;
    struct vpa_breaker breaker;
    struct question question;
    unsigned excuses; /* since its last good proof */
    vpa_time excused;
    vpa_time excusing; /* the start that was the last excuse */
    struct vpa_table groups;
    size_t waiting;  /* of the groups */
    vpa_time tried;  /* the last of them was sent */
    vpa_time proven; /* the last group that was, since its last failure; 0: none */
    unsigned row;    /* of the namespace's failures that this VPA is part of */
    bool lacking;    /* by one for want of values */
    char *vpa;
    char key[];
};
struct vpa_proof {
    struct vpa_table records; /* way and VPA */
    struct vpa_table spaces;  /* by namespace */
    struct scope cluster;
    vpa_duration patience;
    uint64_t openings;      /* of VPAs so far */
    struct helpers helpers; /* namespaces in which evictions have helped */
    bool watched;           /* the webhook's Lease is known: */
    vpa_time start;
    int64_t heard;
    size_t questions;  /* open ones */
    size_t holding;    /* of these, those that hold all */
    unsigned excuses;  /* starts that excused something since the last good proof */
    vpa_time excusing; /* the last of them */
    bool careful;      /* one pod in the whole cluster, until it is patched */
    bool trial;        /* that one is under way: */
    vpa_time tried;    /* since then */
};

/* NULL when nothing is kept. */
struct record *record_find(const struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way);
struct record *record_of(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way);
/* Of a VPA; NULL when nothing is kept of it. */
struct space *space_find(const struct vpa_proof *proof, const char *vpa);
struct group *group_of(struct record *r, const char *name);

/* Whether it is part of the cluster's row of failures; space: NULL is allowed. */
bool space_in_row(const struct vpa_proof *proof, const struct space *space);
bool group_is_proven(const struct group *g, vpa_time now); /* NULL is allowed */

/* The group is as if nothing had been sent. */
void record_drop_group(struct vpa_proof *proof, struct record *r, const char *name);
/* Its question is no question any more. */
void record_answer(struct vpa_proof *proof, struct record *r);
void record_close(struct vpa_proof *proof, struct record *r);
/* Closed, nothing sent, nothing proven. True when its breaker was open. */
bool record_reset(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way);
/* It is no part of its namespace's row any more if it failed for want of values. */
void record_forgive(struct record *r);

#endif
