/* The updater on lists and watches of an API server that says anything: what it evicts and resizes
 * carries what the decision rested on. */
#include "world.h"

#include "updater.h"

static void run(struct world *w, struct updater *u)
{
    struct vpa_error err;

    updater_start(u);
    if (updater_wait(u, 2 * VPA_MINUTE, &err) < 0)
        return;
    while (vpa_loop_poll(w->loop))
        ;
    updater_pass(u);
    for (size_t at = 0; world_tell(w, &at) && !vpa_loop_is_stopping(w->loop); at++) {
        vpa_loop_pump(w->loop, VPA_MINUTE);
        updater_pass(u);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct updater_config config;
    const struct vpa_flags flags = {
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &config};
    struct world w;

    vpa_flags_preset(&flags);
    config.use_admission_status = false;
    config.min_replicas = 1;
    world_start(&w, data, size);
    struct updater *u = updater_new(
        &(struct updater_options){.loop = w.loop, .client = w.client, .config = &config});
    run(&w, u);
    updater_free(u);
    world_stop(&w);
    return 0;
}
