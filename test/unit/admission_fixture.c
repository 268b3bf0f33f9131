#include "admission_fixture.h"

#include "vpa/json/json_writer.h"
#include "webhook.h"

void fixture_put(struct fixture *f, const char *api_version, const char *kind, const char *items)
{
    const struct vpa_json *list =
        fixture_parse(&f->arena, vpa_arena_printf(&f->arena, "[%s]", vpa_or_empty(items)));

    vpa_json_foreach (item, list) {
        vpa_auto_buf text = VPA_BUF(1 << 20);
        struct vpa_json_writer w;

        vpa_json_writer_init(&w, &text);
        vpa_json_put_node(&w, item);
        sim_cluster_put_text(f->sim, vpa_arena_printf(&f->arena,
                                                      "{\"apiVersion\":\"%s\",\"kind\":\"%s\",%s",
                                                      api_version, kind, vpa_buf_text(&text) + 1));
    }
}

void fixture_register(struct fixture *f, const char *ca)
{
    vpa_auto_buf text = VPA_BUF(1 << 20);

    webhook_encode(&f->config, "kube-system", ca, &text);
    sim_cluster_unscript(f->sim);
    sim_cluster_put_text(f->sim, vpa_buf_text(&text));
}

size_t fixture_lease_writes(const struct fixture *f)
{
    return sim_cluster_asked(f->sim, "POST", "/leases") +
           sim_cluster_asked(f->sim, "PUT", "/vpa-admission-controller");
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
    f->sim = sim_cluster_new(f->loop);
    fixture_put(f, "autoscaling.k8s.io/v1", "VerticalPodAutoscaler", f->vpas);
    fixture_put(f, "v1", "LimitRange", f->limit_ranges);
    fixture_put(f, "v1", "ConfigMap", f->config_maps);
    fixture_put(f, "apps/v1", "StatefulSet", f->stateful_sets);
    sim_cluster_answer(f->sim, &(struct sim_answer){.method = "GET",
                                                    .path = "/mutatingwebhookconfigurations/",
                                                    .how = SIM_PATH_HOLDS,
                                                    .code = 403,
                                                    .message = "no right"});
    f->transport = vpa_memory_transport_new(f->loop, sim_cluster_serve, f->sim);
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
    sim_cluster_free(f->sim);
    vpa_loop_free(f->loop);
    vpa_clock_free(f->clock);
    vpa_arena_release(&f->arena);
}
