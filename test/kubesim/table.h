/* The cells of a Table's row, and how old things are in them. */
#ifndef KUBESIM_TABLE_H
#define KUBESIM_TABLE_H

#include "sim.h"

struct row {
    struct vpa_buf *buf;
    struct vpa_arena *a;
    const struct jv *o; /* the object */
    vpa_time now;
    bool any; /* a cell is there already */
};
void cell_text(struct row *r, const char *text);
void cell_int(struct row *r, int64_t n);
/* The text at the path, or another one where there is none. */
void cell_path(struct row *r, const char *path, const char *absent);
/* "5m20s": since a time, RFC 3339; since the object was created. */
const char *age_text(struct vpa_arena *a, vpa_time now, const char *since);
const char *age_of(struct vpa_arena *a, vpa_time now, const struct jv *object);

/* table_pod.c: the cells, and the conditions of the row of a pod that has ended (NULL: none). */
void pod_row(struct row *r);
const char *pod_row_conditions(const struct jv *pod);

#endif
