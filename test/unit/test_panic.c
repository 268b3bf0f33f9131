/* Whether the panic ConfigMap exists is waited for at a start, for a moment. */
#include "client_fixture.h"
#include "suite.h"
#include "vpa/daemon/panic.h"

static struct vpa_reflector *reflector;
static struct vpa_error err;

/* How much later lists are answered. */
static void delay(vpa_duration late)
{
    sim_cluster_answer(sim,
                       &(struct sim_answer){.method = "GET", .path = "/configmaps", .delay = late});
}

static int on_object(void *ctx, enum vpa_reflector_event event, const struct vpa_json *object,
                     struct vpa_error *why)
{
    (void)ctx;
    (void)event;
    (void)object;
    (void)why;
    return 0;
}

static void setup(void)
{
    start_client(NULL, 1772366400, 3);
    reflector =
        vpa_reflector_new(&(struct vpa_reflector_options){.client = client,
                                                          .name = "configmaps",
                                                          .path = "/api/v1/namespaces/n/configmaps",
                                                          .handler = {.object = on_object}});
    err = (struct vpa_error){0};
}

static void teardown(void)
{
    vpa_reflector_free(reflector);
    stop_client();
}

static void stop_loop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

/* How long that takes which answers after so long. */
static const struct {
    vpa_duration late, took;
} waits[] = {
    {0, 0},
    {4 * VPA_SECOND, 4 * VPA_SECOND},
    {VPA_HOUR, 5 * VPA_SECOND}, /* the start goes on without it */
};

TEST_EACH(a_start_waits_for_five_seconds, waits) {
    int64_t begin = vpa_loop_monotonic(loop);

    delay(waits[_i].late);
    vpa_reflector_start(reflector);
    ck_assert_int_eq(vpa_panic_wait(reflector, loop, &err), 0);
    ck_assert_int_eq(vpa_loop_monotonic(loop) - begin, waits[_i].took);
    ck_assert_str_eq(err.text, "");
}

TEST_TIMES(a_stop_ends_the_start, 2) {
    struct vpa_timer *timer = vpa_timer_new(loop, stop_loop, NULL);

    delay(VPA_HOUR);
    vpa_reflector_start(reflector);
    vpa_timer_start(timer, VPA_SECOND);
    ck_assert_int_eq(vpa_panic_wait(reflector, loop, _i ? &err : NULL), -1);
    if (_i)
        ck_assert_int_eq(err.code, VPA_CANCELLED);
    vpa_timer_free(timer);
}

int main(void)
{
    return run_tests("panic", setup, teardown);
}
