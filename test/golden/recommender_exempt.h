/*
 * Which differences from the reference a decision explains, where no list of deviations does: for
 * vectors other than ours, and for U16 to U19 and U25, which came after the tags (README of the
 * golden vectors).
 *
 * A difference is explained for one VPA at a time, and only when the VPA shows the cause.
 * Everything else must still equal the reference.
 */
#ifndef RECOMMENDER_EXEMPT_H
#define RECOMMENDER_EXEMPT_H

#include <stdbool.h>

#include "golden.h"

#include "vpa/base/table.h"

struct exemptions {
    struct golden_case *c;
    bool active;
    bool any_vpa;       /* the cause is not tied to a VPA */
    bool by_containers; /* U3, 8.2: histories live on, so containers stay in a recommendation */
    struct vpa_table touched;       /* namespace/name of VPAs; keys live in the case's arena */
    struct vpa_table collected;     /* paths of checkpoints deleted by age; as keys above */
    struct vpa_table containers[2]; /* VPA -> names in its last status: expected, written */
};

/* invariant: judge a tagged case by its decisions. Otherwise only U17 to U19, U25 and age (U2)
 * count, in untagged cases that are not listed as deviations. */
void exemptions_init(struct exemptions *e, struct golden_case *c, bool invariant);
void exemptions_release(struct exemptions *e);
/* A body that was written or expected, and the end of those of a pass: notes the VPAs that show a
 * cause. */
void exemptions_note(struct exemptions *e, const char *path, const char *body, bool written);
void exemptions_noted(struct exemptions *e);
/* Whether a difference in this write is explained. */
bool exemptions_explain(const struct exemptions *e, const char *path, const char *body);

#endif
