#include "history_fixture.h"

struct vpa_autoscaler *v;

void setup_history(void)
{
    setup();
    now = at("2026-01-15T14:00:00Z");
    v = put_vpa("v", "app=web");
}

void put(const char *name, const char *labels, const char *container)
{
    struct vpa_labels decoded;
    struct vpa_error err;

    ck_assert_int_eq(vpa_labels_decode(&arena, json(&arena, labels), &decoded, &err), 0);
    vpa_cluster_put_bare_pod(c, "ns", name, &decoded, VPA_PHASE_RUNNING, now);
    ck_assert_int_eq(vpa_cluster_put_container(c, "ns", name, container, now, &err), 0);
}

void use(const char *pod, const char *container, enum vpa_kind kind, const char *when,
         vpa_amount amount)
{
    struct vpa_error err;

    ck_assert_int_eq(
        add_sample(c, CONTAINER("ns", pod, container), kind, at(when), amount, now, &err), 0);
}

/* Through their texts, as a restart does. */
static struct vpa_open_intervals copy_intervals(const struct vpa_open_intervals *open)
{
    struct vpa_open_intervals copy;
    vpa_auto_buf text = VPA_BUF(VPA_OPEN_INTERVALS_TEXT_MAX);
    struct vpa_error err;

    ck_assert_uint_eq(vpa_open_intervals_encode(&text, open), open->count);
    ck_assert_msg(vpa_open_intervals_decode(&arena, vpa_buf_text(&text), &copy, &err) == 0, "%s",
                  err.text);
    return copy;
}

void keep(void *ctx, const char *container, const struct vpa_checkpoint_status *status,
          const struct vpa_open_intervals *open)
{
    struct stored *stored = ctx;

    stored->open[stored->count] = copy_intervals(open);
    stored->name[stored->count] = vpa_arena_strdup(&arena, container);
    stored->text[stored->count++] = checkpoint_text(&arena, status);
}
