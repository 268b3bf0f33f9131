#include "admission_fixture.h"

void fixture_serve(void *ctx, const struct vpa_memory_request *request,
                   struct vpa_memory_reply *reply)
{
    struct fixture *f = ctx;
    const char *items = "";

    if (vpa_memory_query(request, "watch")) {
        struct vpa_memory_stream *stream = vpa_memory_reply_stream(reply, 200, NULL, NULL);
        if (vpa_str_ends_with(request->path, "/statefulsets"))
            f->stateful_set_watch = stream;
        return;
    }
    if (strstr(request->path, "/leases")) {
        if (strcmp(request->method, "GET") != 0)
            f->lease_writes++;
        if (strcmp(request->method, "GET") == 0 && !f->lease_writes)
            vpa_memory_reply_status(reply, 404, "NotFound", "no lease");
        else
            vpa_memory_reply_json(
                reply, 200, "{\"metadata\":{\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{}}");
        return;
    }
    if (strstr(request->path, "/mutatingwebhookconfigurations/") &&
        strcmp(request->method, "GET") == 0) {
        f->webhook_reads++;
        if (!f->registration || !*f->registration)
            vpa_memory_reply_status(reply, f->registration ? 404 : 403,
                                    f->registration ? "NotFound" : "Forbidden", "no registration");
        else
            vpa_memory_reply_json(reply, 200, f->registration);
        return;
    }
    if (vpa_str_ends_with(request->path, "/verticalpodautoscalers"))
        items = vpa_or_empty(f->vpas);
    else if (vpa_str_ends_with(request->path, "/limitranges"))
        items = vpa_or_empty(f->limit_ranges);
    else if (vpa_str_ends_with(request->path, "/configmaps"))
        items = vpa_or_empty(f->config_maps);
    else if (vpa_str_ends_with(request->path, "/statefulsets"))
        items = vpa_or_empty(f->stateful_sets);
    if (vpa_str_ends_with(request->path, "/configmaps"))
        vpa_memory_reply_delay(reply, f->config_maps_delay);
    vpa_memory_reply_json(
        reply, 200,
        fixture_json(&f->arena,
                     vpa_arena_printf(&f->arena,
                                      "{'metadata':{'resourceVersion':'1'},'items':[%s]}", items)));
}

void fixture_quiet(void)
{
    struct vpa_error err;
    FILE *null = fopen("/dev/null", "w");
    const struct vpa_log_options options = {.fd = fileno(null)};

    ck_assert_int_eq(vpa_log_configure(&options, &err), 0);
}

void fixture_start(struct fixture *f, bool real)
{
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &f->config};
    struct vpa_error err;

    fixture_quiet();
    vpa_flags_preset(&flags);
    f->config.register_webhook = false;
    f->config.port = 0;
    f->clock =
        real ? vpa_clock_new_real() : vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));
    f->loop = vpa_loop_new(f->clock);
    f->transport = vpa_memory_transport_new(f->loop, fixture_serve, f);
    f->client = vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = f->loop,
                                                                      .transport = f->transport,
                                                                      .random = &f->random,
                                                                      .user_agent = "test",
                                                                      .qps = -1},
                                    &err);
}

void fixture_daemon(struct fixture *f, bool unbound)
{
    if (!f->ledger) /* one for all that this fixture makes */
        f->ledger = vpa_ledger_new(&f->config.ledger);
    f->admission = admission_new(&(struct admission_options){.config = &f->config,
                                                             .loop = f->loop,
                                                             .client = f->client,
                                                             .ns = "kube-system",
                                                             .host_name = "test",
                                                             .unbound = unbound,
                                                             .ledger = f->ledger,
                                                             .observe = f->observe});
}

void fixture_stop(struct fixture *f)
{
    admission_free(f->admission);
    vpa_ledger_free(f->ledger);
    vpa_kube_client_free(f->client);
    vpa_transport_free(f->transport);
    vpa_loop_free(f->loop);
    vpa_clock_free(f->clock);
    vpa_arena_release(&f->arena);
}
