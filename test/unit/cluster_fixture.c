#include "cluster_fixture.h"

struct vpa_aggregation global;
struct vpa_arena arena;
struct vpa_cluster *c;
vpa_time now;

static void start(bool memory_saver)
{
    struct vpa_cluster_options options = {.aggregation = &global, .memory_saver = memory_saver};

    vpa_aggregation_init(&global);
    vpa_arena_init(&arena, 0);
    now = at("2026-01-15T13:00:00Z");
    c = vpa_cluster_new(&options);
}

void setup(void)
{
    start(false);
}

void setup_saver(void)
{
    start(true);
}

void teardown(void)
{
    vpa_cluster_free(c);
    vpa_aggregation_release(&global);
    vpa_arena_release(&arena);
}

struct vpa_autoscaler *put_vpa(const char *name, const char *selector)
{
    return vpa_cluster_put_vpa(c, simple_vpa(&arena, name),
                               selector ? selector_of(&arena, selector) : NULL, NULL, now);
}

void put_pod(const char *name, const char *labels)
{
    vpa_cluster_put_pod(c, simple_pod(&arena, name, labels), NULL, now);
}

int sample(const char *pod, enum vpa_kind kind, vpa_time t, vpa_amount amount)
{
    struct vpa_error err;

    return add_sample(c, CONTAINER("ns", pod, "app"), kind, t, amount, now, &err);
}

struct vpa_pod *pod_with_status(const char *uid, const char *status)
{
    return pod_of(&arena, vpa_arena_printf(
                              &arena,
                              "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"uid\":\"%s\"},"
                              "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{"
                              "\"requests\":{\"memory\":\"100Mi\"}}}]},\"status\":{"
                              "\"containerStatuses\":[{\"name\":\"app\",%s}]}}",
                              uid, status));
}
