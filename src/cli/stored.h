/*
 * Checkpoints as commands read them: which of them say what a recommender would load.
 */
#ifndef CLI_STORED_H
#define CLI_STORED_H

#include "lists.h"
#include "vpa/model/aggregate.h"

extern const struct cli_kind cli_checkpoints;

enum cli_stored {
    CLI_STORED_HISTORY, /* of VPA's own algorithm */
    CLI_STORED_STATE,   /* of another algorithm (recommender/checkpoint_states.h) */
    CLI_STORED_OTHER,   /* of a version that no recommender of this release reads */
    CLI_STORED_ASIDE,   /* a copy of what a recommender could not read; nobody loads it */
};
/* Into the arena. What is kept aside is not read any further. */
int cli_stored_decode(struct vpa_arena *arena, const struct vpa_json *object, enum cli_stored *kind,
                      struct vpa_checkpoint *out, struct vpa_error *err) VPA_MUST_CHECK;
/* A history with the memory peaks of intervals that were not over when it was stored; what is not
 * believed of them is noted. *out is to be released, whatever comes back. */
int cli_stored_load(struct cli *cli, const struct vpa_aggregation *aggregation,
                    const struct vpa_checkpoint *checkpoint, struct vpa_aggregate *out,
                    struct vpa_error *err) VPA_MUST_CHECK;
/* The name of the algorithm of a state. */
const char *cli_stored_algorithm(const struct vpa_checkpoint *checkpoint);

#endif
