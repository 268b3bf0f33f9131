/* The recommender on lists, watches, usage and checkpoints of an API server that says anything. */
#include "world.h"

#include "recommender.h"
#include "metrics.h"

static const char *no_env(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return NULL;
}

static void run(struct world *w, struct recommender *r)
{
    struct vpa_error err;

    if (recommender_start(r, &err) < 0 || recommender_load_history(r, &err) < 0)
        return;
    recommender_pass(r);
    for (size_t at = 0; world_tell(w, &at) && !vpa_loop_is_stopping(w->loop); at++) {
        vpa_loop_pump(w->loop, VPA_MINUTE);
        recommender_pass(r);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recommender_config config;
    const struct vpa_flags flags = recommender_flags(&config);
    struct vpa_arena arena = {0};
    struct vpa_error err;
    struct world w;
    int status;

    vpa_flags_preset(&flags);
    FUZZ_CHECK(recommender_config_check(&config, no_env, NULL, &arena, &status, &err) == 0);
    world_start(&w, data, size);
    struct recommender *r = recommender_new(&(struct recommender_options){.loop = w.loop,
                                                                          .config = &config,
                                                                          .client = w.client,
                                                                          .writer = w.client,
                                                                          .metrics = w.client});
    run(&w, r);
    recommender_free(r);
    world_stop(&w);
    recommender_metrics_reset();
    vpa_arena_release(&arena);
    return 0;
}
