/*
 * The first rule of the updater that leaves a pod alone, with the values that it compared. The
 * rules are asked in the updater's order with the updater's functions.
 */
#ifndef CLI_VERDICT_H
#define CLI_VERDICT_H

#include "../../updater/work.h"

enum cli_action {
    CLI_ACTION_NONE,
    CLI_ACTION_EVICT,
    CLI_ACTION_RESIZE,
    CLI_ACTION_UNBOOST, /* a resize that ends a startup boost */
};
const char *cli_action_name(enum cli_action action); /* "nothing", "evict", ... */

/* About one pod that a VPA controls. */
struct cli_verdict {
    const char *ns, *pod;
    const char *vpa; /* the VPA that controls it */
    enum cli_action action;
    const char *rule;   /* the first rule that stops it, "min-replicas"; "" when it would act */
    const char *why;    /* that rule with its values, or why the pod is to be changed */
    const char *patch;  /* of a resize: the JSON Patch; NULL otherwise */
    const char *paused; /* what the condition of an open breaker says; NULL: none */
    bool eligible;      /* every rule before the turn of the pod lets it pass */
    bool refused;       /* the eviction would be answered with a refusal */
    double diff;        /* priority */
};

/* Fills rule, why, eligible and diff; texts live in the arena. w: right before its list is made. */
void cli_verdict_of(struct vpa_arena *arena, const struct work *w, size_t pod,
                    struct cli_verdict *out);

#endif
