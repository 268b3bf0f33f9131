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

static int read_open(struct cli *cli, const struct vpa_aggregation *aggregation,
                     const struct vpa_checkpoint *checkpoint, const char *text,
                     struct vpa_open_intervals *out, struct vpa_error *err)
{
    const struct vpa_checkpoint_status *status = &checkpoint->status;

    if (vpa_open_intervals_decode(&cli->arena, text, out, err) < 0)
        return -1;
    if (out->history != vpa_histogram_checkpoint_hash(&status->memory))
        return vpa_fail(err, VPA_INVALID, "another recommender has gone on with it");
    for (size_t i = 0; i < out->count; i++)
        if (vpa_aggregate_check_interval(aggregation, &out->items[i], status->last_update, err) < 0)
            return -1;
    return 0;
}

int cli_stored_load(struct cli *cli, const struct vpa_aggregation *aggregation,
                    const struct vpa_checkpoint *checkpoint, struct vpa_aggregate *out,
                    struct vpa_error *err)
{
    const char *text = vpa_labels_get(&checkpoint->meta.annotations, VPA_OPEN_INTERVALS_ANNOTATION);
    struct vpa_open_intervals open = {0};
    struct vpa_error why;

    vpa_aggregate_init(out, aggregation, VPA_TIME_UNSET);
    if (vpa_aggregate_load(out, &checkpoint->status, err) < 0)
        return -1;
    if (text && read_open(cli, aggregation, checkpoint, text, &open, &why) < 0) {
        cli_note(cli, "checkpoint %s: the memory of the running interval is missing: %s",
                 checkpoint->meta.name, why.text);
        return 0;
    }
    for (size_t i = 0; i < open.count; i++)
        vpa_aggregate_add_memory(out, open.items[i].end,
                                 vpa_amount_max(open.items[i].usage, open.items[i].oom));
    return 0;
}

const char *cli_stored_algorithm(const struct vpa_checkpoint *checkpoint)
{
    return checkpoint->status.version + strlen(CHECKPOINT_STATE_VERSION);
}
