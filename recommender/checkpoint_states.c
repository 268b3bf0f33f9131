/*
 * States of algorithms as checkpoints: names and texts. Reading and writing objects is that of the
 * other checkpoints (checkpoints.c, checkpoint_writer.c).
 */
#include "checkpoint_states.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"

static const char *algorithm_of(const struct vpa_known *known)
{
    return vpa_algorithm_name(vpa_method_algorithm(vpa_knowledge_method(known->knowledge)));
}

bool checkpoint_state_is(const char *version)
{
    return vpa_str_starts_with(vpa_or_empty(version), CHECKPOINT_STATE_VERSION);
}

char *checkpoint_state_container(const struct vpa_known *known)
{
    return vpa_xjoin(known->container, '.', algorithm_of(known));
}

char *checkpoint_state_plain(const char *container)
{
    return vpa_xstrndup(container, strcspn(container, "."));
}

struct vpa_method *checkpoint_state_method(const struct algorithms *algorithms, const char *version)
{
    return algorithms_method(algorithms, version + strlen(CHECKPOINT_STATE_VERSION));
}

/* Asked for each checkpoint, of which a VPA may have as many as it has learned of containers. */
bool checkpoint_state_is_learned(const struct vpa_autoscaler *v, const char *container)
{
    const char *dot = strrchr(container, '.');
    vpa_auto_free char *plain = dot ? vpa_xstrndup(container, (size_t)(dot - container)) : NULL;

    return dot && vpa_autoscaler_has_learned(v, plain, dot + 1);
}

char *checkpoint_state_text(const struct vpa_known *known, vpa_time now)
{
    struct vpa_buf text;
    struct vpa_json_writer w;

    vpa_buf_init(&text, CHECKPOINT_STATE_MAX);
    vpa_json_writer_init(&w, &text);
    vpa_knowledge_save(known->knowledge, now, &w);
    if (!vpa_buf_failed(&text))
        return vpa_buf_take(&text);
    vpa_buf_release(&text);
    return NULL;
}

void checkpoint_state_status(const struct vpa_known *known, vpa_time now, struct vpa_arena *arena,
                             struct vpa_checkpoint_status *out)
{
    *out = (struct vpa_checkpoint_status){
        .last_update = now,
        .version = vpa_arena_printf(arena, CHECKPOINT_STATE_VERSION "%s", algorithm_of(known)),
        .first_sample_start = VPA_TIME_UNSET,
        .last_sample_start = vpa_knowledge_last_sample(known->knowledge),
        .total_samples_count = vpa_knowledge_sample_count(known->knowledge),
    };
}

bool checkpoint_state_is_readable(const struct algorithms *algorithms,
                                  const struct checkpoint_state *state, vpa_time now)
{
    struct vpa_method *m = checkpoint_state_method(algorithms, state->version);
    const char *text = vpa_or_empty(state->text);
    vpa_auto_arena arena = {0};
    const struct vpa_json *stored;

    if (!m || vpa_json_parse(&arena, text, strlen(text), &stored, NULL) < 0)
        return false;
    struct vpa_knowledge *k = vpa_knowledge_load(m, stored, now, NULL);

    vpa_knowledge_free(k);
    return k != NULL;
}

int checkpoint_state_load(const struct algorithms *algorithms, struct vpa_autoscaler *v,
                          const struct checkpoint_state *state, vpa_time now, struct vpa_error *err)
{
    const char *text = state->text;
    struct vpa_method *m = checkpoint_state_method(algorithms, state->version);
    vpa_auto_free char *plain = checkpoint_state_plain(state->container);
    vpa_auto_arena arena = {0};
    const struct vpa_json *stored;

    if (!m)
        return 0;
    if (!text)
        return vpa_fail(err, VPA_INVALID, "annotation " CHECKPOINT_STATE_ANNOTATION " is missing");
    if (vpa_json_parse(&arena, text, strlen(text), &stored, err) < 0)
        return vpa_wrap(err, "annotation " CHECKPOINT_STATE_ANNOTATION);
    if (vpa_autoscaler_load_knowledge(v, m, plain, stored, now, err) < 0)
        return -1;
    return 1;
}
