/*
 * The form of what a recommender writes, where a decision says that the values are others than the
 * reference's: which fields may differ, and what holds among the values of one write whatever the
 * history behind them is.
 */
#ifndef RECOMMENDER_FORM_H
#define RECOMMENDER_FORM_H

#include "recommender_exempt.h"

#include "vpa/base/time.h"

/* A write of the reference; body is what it sent. */
struct form_write {
    const char *label;
    const struct vpa_json *body;
    vpa_time began;     /* the pass */
    vpa_time at;        /* when it was sent */
    enum exempt fields; /* that may differ */
    bool is_status;     /* not a checkpoint */
    bool capped;        /* targets may be others than the uncapped ones */
    int64_t generation; /* of the VPA of a status */
};

/* Whether its values can be those of a recommender; differences are recorded. */
void form_check(struct golden_case *c, const struct form_write *w);
/* Compares it with ours in the fields that may not differ, and in what must hold between both. The
 * number of leaves that differ. */
size_t form_compare(struct golden_case *c, const struct form_write *w, const struct vpa_json *got);

#endif
