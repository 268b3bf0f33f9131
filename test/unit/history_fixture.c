#include <check.h>

#include "history_fixture.h"

struct vpa_aggregation global;
struct vpa_arena arena;
struct vpa_cluster *c;
struct vpa_autoscaler *v;
vpa_time now;

void setup(void)
{
    struct vpa_cluster_options options = {.aggregation = &global};

    vpa_aggregation_init(&global);
    vpa_arena_init(&arena, 0);
    now = at("2026-01-15T14:00:00Z");
    c = vpa_cluster_new(&options);
    v = vpa_cluster_put_vpa(c, simple_vpa(&arena, "v"), selector_of(&arena, "app=web"), NULL, now);
}

void teardown(void)
{
    vpa_cluster_free(c);
    vpa_aggregation_release(&global);
    vpa_arena_release(&arena);
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
