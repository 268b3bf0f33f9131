#include "stored.h"

#include <string.h>

#include "../../recommender/checkpoint_identity.h"
#include "../../recommender/checkpoint_states.h"

const struct cli_kind cli_checkpoints = {.group_version = VPA_GROUP_VERSION,
                                         .resource = "verticalpodautoscalercheckpoints",
                                         .what_lacks = "what was learned"};

int cli_stored_decode(struct vpa_arena *arena, const struct vpa_json *object, enum cli_stored *kind,
                      struct vpa_checkpoint *out, struct vpa_error *err)
{
    if (checkpoint_identity(arena, object, (struct vpa_slice){0}).unreadable_since) {
        *kind = CLI_STORED_ASIDE;
        return 0;
    }
    if (vpa_checkpoint_decode(arena, object, out, err) < 0)
        return -1;
    *kind = checkpoint_state_is(out->status.version)                   ? CLI_STORED_STATE
            : strcmp(out->status.version, VPA_CHECKPOINT_VERSION) == 0 ? CLI_STORED_HISTORY
                                                                       : CLI_STORED_OTHER;
    return 0;
}

const char *cli_stored_algorithm(const struct vpa_checkpoint *checkpoint)
{
    return checkpoint->status.version + strlen(CHECKPOINT_STATE_VERSION);
}
