/* The webhook on lists, watches and reviews: any review is answered with a well-formed one. */
#include "world.h"

#include "admission.h"
#include "vpa/api/review.h"

static void review(struct admission *admission, const struct world_line *line)
{
    struct vpa_server_response response = {0};
    struct vpa_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error err;
    const struct vpa_server_request request = {
        .method = "POST", .path = "/", .query = "", .body = line->text, .body_len = line->len};

    server_answer(admission_server(admission), &request, "application/json", &response);
    FUZZ_CHECK(response.status == 200);
    FUZZ_CHECK(vpa_json_parse(&arena, response.body, response.body_len, &root, &err) == 0);
    const struct vpa_json *answer = vpa_json_find(root, "response");
    FUZZ_CHECK(vpa_json_is_object(answer) && vpa_json_find(answer, "allowed"));
    free(response.body);
    vpa_arena_release(&arena);
}

static void run(struct world *w, struct admission *admission)
{
    struct vpa_error err;

    if (admission_sync(admission, &err) < 0 || admission_listen(admission, &err) < 0)
        return;
    for (size_t at = 0; world_tell(w, &at) && !vpa_loop_is_stopping(w->loop); at++) {
        vpa_loop_pump(w->loop, w->lines[at].what == 'R' ? VPA_SECOND : VPA_MINUTE);
        if (w->lines[at].what == 'R')
            review(admission, &w->lines[at]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct admission_config config;
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};
    struct world w;

    vpa_flags_preset(&flags);
    config.register_webhook = false;
    world_start(&w, data, size);
    struct admission *admission = admission_new(&(struct admission_options){.config = &config,
                                                                            .loop = w.loop,
                                                                            .client = w.client,
                                                                            .ns = "kube-system",
                                                                            .host_name = "fuzz",
                                                                            .unbound = true});
    run(&w, admission);
    admission_free(admission);
    world_stop(&w);
    return 0;
}
