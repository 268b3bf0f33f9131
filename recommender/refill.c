/*
 * Filling from Prometheus.
 *
 * When a VPA was filled is remembered by its key; entries of VPAs that are gone, or not in the mode
 * any more, go with the pass that finds none. A connection lives for one pass.
 */
#include "refill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "failures.h"
#include "prom_client.h"

#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/model/crane.h"

#define QUERY_MAX ((size_t)16 << 10)

struct filled { /* a VPA */
    char *key;
    vpa_time due;
    bool seen; /* in this pass */
};
struct refill {
    struct refill_options options;
    struct vpa_table vpas; /* key to struct filled */
    struct prom_plan plan; /* of the pass, and so is the transport */
    struct vpa_transport *transport;
};

struct refill *refill_new(const struct refill_options *options)
{
    struct refill *r = vpa_xcalloc(1, sizeof(*r));

    r->options = *options;
    return r;
}

static void free_filled(struct refill *r, struct filled *f)
{
    vpa_table_remove(&r->vpas, f->key);
    free(f->key);
    free(f);
}

void refill_free(struct refill *r)
{
    void *value;

    for (size_t i = 0; r && vpa_table_next(&r->vpas, &i, NULL, &value);)
        free_filled(r, value);
    if (r)
        vpa_table_release(&r->vpas);
    free(r);
}

/* ---- one query ---- */

struct taking {
    struct vpa_knowledge *knowledge;
    enum vpa_kind kind;
    uint64_t series;
};

static int on_series(void *ctx, const struct prom_series *series, struct vpa_error *err)
{
    struct taking *t = ctx;

    (void)err;
    t->series++;
    for (size_t i = 0; i < series->count; i++) {
        const struct prom_sample *sample = &series->samples[i];
        bool cpu = t->kind == VPA_KIND_CPU;

        if (isfinite(sample->value) && sample->value >= 0.0)
            vpa_knowledge_add(
                t->knowledge,
                &(struct vpa_usage){.type = cpu ? VPA_USAGE_CPU : VPA_USAGE_MEMORY,
                                    .t = (vpa_time)sample->millis * VPA_MILLISECOND,
                                    .replica = t->series,
                                    .amount = cpu ? vpa_amount_from_cores(sample->value)
                                                  : vpa_amount_from_bytes(sample->value)});
    }
    return 0;
}

/* The parameter as a duration; it was checked when it was set. */
static vpa_duration duration_of(const struct vpa_parameters *p, const char *key)
{
    const char *text = vpa_parameters_text(p, key);
    vpa_duration d = 0;

    return text && vpa_crane_parse_duration(text, &d, NULL) == 0 ? d : 0;
}

static int fill_kind(struct refill *r, const struct vpa_autoscaler *v, const char *container,
                     struct taking *taking, struct vpa_error *err)
{
    const struct vpa_target_ref *target = &vpa_autoscaler_object(v)->target_ref;
    const struct vpa_parameters *p = vpa_method_parameters(vpa_knowledge_method(taking->knowledge));
    bool cpu = taking->kind == VPA_KIND_CPU;
    vpa_time now = vpa_loop_now(r->options.loop);
    vpa_auto_buf query = {0};

    vpa_buf_init(&query, QUERY_MAX);
    vpa_crane_query(&query, taking->kind, vpa_or_empty(target->kind), vpa_or_empty(target->name),
                    vpa_autoscaler_ns(v), container);
    struct vpa_crane_predictor window = {
        .interval = duration_of(p, cpu ? "cpu-sample-interval" : "mem-sample-interval"),
        .history_length =
            duration_of(p, cpu ? "cpu-model-history-length" : "mem-model-history-length"),
    };
    struct vpa_crane_window w = vpa_crane_predictor_window(&window, now);
    struct prom_range range = {vpa_buf_text(&query), w.start, w.end, w.step};
    return prom_fetch_range(r->options.loop, r->transport, &r->plan, &range,
                            cpu ? PROM_CPU : PROM_MEMORY, &(struct prom_taker){on_series, taking},
                            err);
}

/* ---- one VPA ---- */

static int fill_container(struct refill *r, struct vpa_autoscaler *v, const char *container,
                          struct vpa_error *err)
{
    struct vpa_method *m = vpa_method_ref((struct vpa_method *)vpa_autoscaler_method(v));
    struct vpa_knowledge *k = vpa_knowledge_new(m, vpa_loop_now(r->options.loop));
    int result = 0;

    vpa_method_unref(m);
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS && result == 0; kind++)
        result = fill_kind(r, v, container, &(struct taking){.knowledge = k, .kind = kind}, err);
    /* What Prometheus knows nothing of stays as it is. */
    if (result < 0 || vpa_knowledge_sample_count(k) == 0 ||
        !vpa_autoscaler_replace_knowledge(v, container, k))
        vpa_knowledge_free(k);
    return result;
}

static int fill_vpa(struct refill *r, struct vpa_autoscaler *v, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    struct vpa_known *known;
    size_t count = vpa_autoscaler_knowledge(v, &arena, &known);

    for (size_t i = 0; i < count; i++) {
        if (fill_container(r, v, known[i].container, err) < 0)
            return -1;
    }
    return 0;
}

/* The entry of a VPA in mode history, or NULL; made when it is new, and then due. */
static struct filled *entry_of(struct refill *r, const struct vpa_autoscaler *v)
{
    const struct vpa_method *m = vpa_autoscaler_method(v);
    const char *mode = m ? vpa_parameters_text(vpa_method_parameters(m), "mode") : NULL;

    if (!vpa_str_eq(mode, "history") || !vpa_autoscaler_object(v)->target_ref.present)
        return NULL;
    vpa_auto_free char *key = vpa_xjoin(vpa_autoscaler_ns(v), '/', vpa_autoscaler_name(v));
    struct filled *f = vpa_table_find(&r->vpas, key);
    if (!f) {
        f = vpa_xcalloc(1, sizeof(*f));
        f->key = VPA_STEAL(key);
        f->due = VPA_TIME_UNSET;
        vpa_table_put(&r->vpas, f->key, f);
    }
    f->seen = true;
    return f;
}

/* ---- the pass ---- */

static bool open_connection(struct refill *r, struct vpa_error *err)
{
    if (r->transport)
        return true;
    if (prom_plan_init(&r->plan, &r->options.config->prometheus, err) < 0)
        return false;
    r->transport = r->options.connect(
        r->options.connect_ctx,
        &(struct vpa_http_client_options){.base_url = r->plan.origin,
                                          .insecure = r->options.config->prometheus.insecure},
        err);
    if (!r->transport)
        prom_plan_release(&r->plan);
    return r->transport != NULL;
}

static void close_connection(struct refill *r)
{
    if (!r->transport)
        return;
    vpa_transport_free(r->transport);
    r->transport = NULL;
    prom_plan_release(&r->plan);
}

static void fill_due(struct refill *r, struct vpa_autoscaler *v, struct filled *f,
                     struct failures *failures)
{
    vpa_duration period =
        duration_of(vpa_method_parameters(vpa_autoscaler_method(v)), "history-period");
    struct vpa_error err;
    bool filled = open_connection(r, &err) && fill_vpa(r, v, &err) == 0;

    f->due = vpa_time_add(vpa_loop_now(r->options.loop), filled ? period : REFILL_RETRY);
    if (!filled)
        failures_add(failures, vpa_autoscaler_ns(v), vpa_autoscaler_name(v), &err);
}

static void forget_unseen(struct refill *r)
{
    void *value;

    for (size_t i = 0; vpa_table_next(&r->vpas, &i, NULL, &value);) {
        struct filled *f = value;
        if (!f->seen)
            free_filled(r, f);
        else
            f->seen = false;
    }
}

void refill_pass(struct refill *r)
{
    struct failures failures = {.message = "Cannot read the history of a VPA from Prometheus"};
    size_t count, begun = 0;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(r->options.cluster, &count);

    for (size_t i = 0; i < count && r->options.connect; i++) {
        struct filled *f = entry_of(r, vpas[i]);
        vpa_auto_arena arena = {0};
        struct vpa_known *known;

        /* Before the first samples there is nothing to fill. */
        if (!f || vpa_loop_now(r->options.loop) < f->due || begun == REFILL_VPAS_MAX ||
            vpa_loop_is_stopping(r->options.loop) ||
            vpa_autoscaler_knowledge(vpas[i], &arena, &known) == 0)
            continue;
        begun++;
        fill_due(r, vpas[i], f, &failures);
    }
    close_connection(r);
    forget_unseen(r);
    if (!vpa_loop_is_stopping(r->options.loop))
        failures_report(&failures);
}
