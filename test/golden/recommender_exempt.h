/*
 * Which differences from the reference a decision explains in what a recommender writes, where no
 * list of deviations does: for vectors other than ours, and for decisions that came after the tags.
 *
 * A difference is explained for one VPA, from the pass on in which its cause shows, and in the
 * fields that the cause can reach:
 *
 *     U2, U25   a VPA without its target for a moment, that comes while the process runs, or names
 *               another target, when there is a history of it: everything that history decides
 *     U3        aggregates live longer, those of any VPA with a history: the same
 *     8.2       containers that only one side recommends for: the same
 *     U4        VPAs whose checkpoints can share a name: the same, and whose histogram it is
 *     S7        a policy that changes and had settings of its own: the same
 *     U19       a scale that comes or goes: the same, for the VPAs of its namespace
 *     U18       a pod that external metrics cannot be asked about: the same, for all VPAs
 *     U17       an event watch that ends, for the namespaces that have events: memory
 *     U12       the condition TargetConflict, which is left out of what we wrote
 *
 * Everything else must equal the reference, and what the reference wrote there must be a write of
 * the recommender's (recommender_form.h).
 */
#ifndef RECOMMENDER_EXEMPT_H
#define RECOMMENDER_EXEMPT_H

#include <stdbool.h>

#include "golden.h"

#include "vpa/base/table.h"

enum exempt { EXEMPT_NOTHING, EXEMPT_MEMORY, EXEMPT_HISTORY, EXEMPT_SHARED };

struct exemptions {
    struct golden_case *c;
    bool active;
    bool tagged;                /* the case is judged by its tags, too */
    bool by_containers;         /* 8.2 */
    bool reads;                 /* scales come and go: what is asked for differs, too (U19) */
    bool capped;                /* by a flag */
    bool prometheus;            /* every VPA has a history */
    bool external;              /* metrics of pods are asked for one by one (U18) */
    enum exempt everywhere;     /* of any VPA (U18) */
    size_t leaves;              /* explained differences, each leaf of a document one */
    struct vpa_table vpas;      /* namespace/name -> struct exempt_vpa */
    struct vpa_table spaces;    /* namespace -> struct exempt_vpa, for all its VPAs */
    struct vpa_table events;    /* namespaces that have events */
    struct vpa_table collected; /* paths of checkpoints deleted by age (U2) */
};

/* tagged: judge a tagged case by its decisions. Otherwise only those without a tag count, in cases
 * that are not listed as deviations. */
void exemptions_init(struct exemptions *e, struct golden_case *c, bool tagged);
void exemptions_release(struct exemptions *e);
/* A change of the case's objects; running: a process was there to see it. */
void exemptions_change(struct exemptions *e, const struct vpa_json *change, bool running);
/* A body that was written or expected, and the end of those of a pass: notes the VPAs that show a
 * cause. */
void exemptions_note(struct exemptions *e, const char *path, const char *body, bool written);
void exemptions_noted(struct exemptions *e);
/* What may differ in this write. */
enum exempt exemptions_explain(const struct exemptions *e, const char *path, const char *body);
/* Of the VPA of a status: metadata.generation as it was applied last, 0 when unknown; whether
 * anything caps its recommendation. */
int64_t exemptions_generation(const struct exemptions *e, const char *path);
bool exemptions_is_capped(const struct exemptions *e, const char *path);
/* Whether the path is that of a checkpoint that went by age, which the reference keeps for ever. */
bool exemptions_is_collected(const struct exemptions *e, const char *path);
/* U12: whether our status of that path is our last one but for its condition. */
bool exemptions_repeats(const struct exemptions *e, const char *path);
/* At the end: a decision shows in more than one figure, so a single leaf is none. */
void exemptions_check(struct exemptions *e);
/* A status of ours without U12's condition. */
const char *exemptions_without_conflict(struct golden_case *c, const char *body);

#endif
