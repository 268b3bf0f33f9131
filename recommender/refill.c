/*
 * Filling from Prometheus.
 *
 * When a VPA was filled is remembered by its key; entries of VPAs that are gone, or not in the mode
 * any more, go with the pass that finds none. What was filled for another VPA of that name, another
 * target or by other parameters counts for nothing. A connection lives for one pass.
 *
 * Passes are everybody's: what one may spend here is bounded, and a server that does not answer is
 * left alone for a while, whosever turn it is. So turns go round the namespaces: next is the one
 * that was asked for longest ago, and of its VPAs the one that waits longest. A VPA that is new
 * counts as just asked for, so that nobody comes first by making them anew.
 *
 * And a fill may only add: what lacks a resource, or a part of the time that is known, is that of a
 * server that has lost something.
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
#define SHORTER_BY 7 /* a fill may lack that part of what an algorithm remembers */

struct filled { /* a VPA */
    char *key;
    int64_t due;    /* monotonic: a clock that is set changes no period */
    int failures;   /* in a row, up to REFILL_DOUBLINGS */
    uint64_t asked; /* the turn in which it was asked for last, or was new */
    uint32_t what;  /* is filled; a hash */
    bool seen;      /* in this pass */
};
struct refill {
    struct refill_options options;
    struct vpa_table vpas; /* key to struct filled */
    struct prom_plan plan; /* of the pass, and so is what follows down to the deadline */
    struct vpa_transport *transport;
    struct failures not_taken;
    int64_t deadline;    /* monotonic, and so is what follows */
    int64_t quiet_until; /* the server did not answer */
    uint64_t turns;
};

struct refill *refill_new(const struct refill_options *options)
{
    struct refill *r = vpa_xcalloc(1, sizeof(*r));

    r->options = *options;
    r->not_taken.message = "Prometheus has less of the history of a VPA than is known, which stays";
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
    vpa_time first; /* of the samples that were taken; unset: none was */
    vpa_time since; /* that was asked for */
    vpa_time until; /* that was asked for; what comes later is no past */
};

static int on_series(void *ctx, const struct prom_series *series, struct vpa_error *err)
{
    struct taking *t = ctx;

    (void)err;
    t->series++;
    for (size_t i = 0; i < series->count; i++) {
        const struct prom_sample *sample = &series->samples[i];
        vpa_time at = (vpa_time)sample->millis * VPA_MILLISECOND;
        bool cpu = t->kind == VPA_KIND_CPU;

        if (isfinite(sample->value) && sample->value >= 0.0 && at <= t->until &&
            vpa_knowledge_add(
                t->knowledge,
                &(struct vpa_usage){.type = cpu ? VPA_USAGE_CPU : VPA_USAGE_MEMORY,
                                    .t = at,
                                    .replica = t->series,
                                    .amount = cpu ? vpa_amount_from_cores(sample->value)
                                                  : vpa_amount_from_bytes(sample->value)}) &&
            (vpa_time_is_unset(t->first) || at < t->first))
            t->first = at;
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

/* A question may take what the pass has left. */
static int limit_time(struct refill *r, struct vpa_error *err)
{
    vpa_duration left = r->deadline - vpa_loop_monotonic(r->options.loop);

    if (left <= 0)
        return vpa_fail(err, VPA_RETRY, "the answers of Prometheus take too long");
    r->plan.timeout = r->plan.timeout < left ? r->plan.timeout : left;
    return 0;
}

static int fill_kind(struct refill *r, const struct vpa_autoscaler *v, const char *container,
                     struct taking *taking, struct vpa_error *err)
{
    const struct vpa_target_ref *target = &vpa_autoscaler_object(v)->target_ref;
    const struct vpa_parameters *p = vpa_method_parameters(vpa_knowledge_method(taking->knowledge));
    bool cpu = taking->kind == VPA_KIND_CPU;
    vpa_time now = vpa_loop_now(r->options.loop);
    vpa_auto_buf query = VPA_BUF(QUERY_MAX);

    vpa_crane_query(&query, taking->kind, vpa_or_empty(target->kind), vpa_or_empty(target->name),
                    vpa_autoscaler_ns(v), container);
    if (vpa_buf_failed(&query))
        return vpa_fail(err, VPA_INVALID, "a name is too long for a query");
    struct vpa_crane_predictor window = {
        .interval = duration_of(p, cpu ? "cpu-sample-interval" : "mem-sample-interval"),
        .history_length =
            duration_of(p, cpu ? "cpu-model-history-length" : "mem-model-history-length"),
    };
    struct vpa_crane_window w = vpa_crane_predictor_window(&window, now);
    struct prom_range range = {vpa_buf_text(&query), w.start, w.end, w.step};
    taking->since = w.start;
    taking->until = w.end;
    if (limit_time(r, err) < 0)
        return -1;
    return prom_fetch_range(r->options.loop, r->transport, &r->plan, &range,
                            cpu ? PROM_CPU : PROM_MEMORY, &(struct prom_taker){on_series, taking},
                            err);
}

/* ---- one VPA ---- */

/* Whether what was taken covers what is known of that time; err says why not. Each kind has a
 * length of its own. */
static bool reaches_back(const struct taking *t, const struct vpa_known *known,
                         struct vpa_error *err)
{
    const char *kind = vpa_kind_name(t->kind);
    vpa_time since = vpa_knowledge_first_sample(known->knowledge);
    vpa_time least = vpa_time_add(since > t->since ? since : t->since,
                                  vpa_time_sub(t->until, t->since) / SHORTER_BY);

    if (vpa_time_is_unset(t->first)) {
        vpa_fail(err, VPA_INVALID, "container %s: no %s", known->container, kind);
        return false;
    }
    if (!vpa_time_is_unset(since) && t->first > least) {
        vpa_fail(err, VPA_INVALID, "container %s: %s of %lld minutes", known->container, kind,
                 (long long)(vpa_time_sub(t->until, t->first) / VPA_MINUTE));
        return false;
    }
    return true;
}

/* The samples of both kinds. *covers: they are all of what is known; why, if not. */
static int fill_kinds(struct refill *r, const struct vpa_autoscaler *v,
                      const struct vpa_known *known, struct vpa_knowledge *k, bool *covers,
                      struct vpa_error *why, struct vpa_error *err)
{
    *covers = true;
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        struct taking taking = {.knowledge = k, .kind = kind, .first = VPA_TIME_UNSET};

        if (fill_kind(r, v, known->container, &taking, err) < 0)
            return -1;
        *covers = *covers && reaches_back(&taking, known, why);
    }
    return 0;
}

/* What Prometheus knows less of stays as it is. */
static int fill_container(struct refill *r, struct vpa_autoscaler *v, const struct vpa_known *known,
                          struct vpa_error *err)
{
    struct vpa_method *m = vpa_method_ref((struct vpa_method *)vpa_autoscaler_method(v));
    struct vpa_knowledge *k = vpa_knowledge_new(m, vpa_loop_now(r->options.loop));
    struct vpa_error why;
    bool covers;

    vpa_method_unref(m);
    int filled = fill_kinds(r, v, known, k, &covers, &why, err);
    if (filled == 0 && !covers)
        failures_add(&r->not_taken, vpa_autoscaler_ns(v), vpa_autoscaler_name(v), &why);
    if (filled < 0 || !covers || !vpa_autoscaler_replace_knowledge(v, known->container, k))
        vpa_knowledge_free(k);
    return filled;
}

static int fill_vpa(struct refill *r, struct vpa_autoscaler *v, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    struct vpa_known *known;
    size_t count = vpa_autoscaler_knowledge(v, &arena, &known);

    for (size_t i = 0; i < count; i++) {
        if (fill_container(r, v, &known[i], err) < 0)
            return -1;
    }
    return 0;
}

static uint32_t mix(uint32_t hash, const char *text)
{
    return vpa_hash_stable_add(hash, vpa_hash_stable(text));
}

/* Which VPA, of what, and how. */
static uint32_t what_of(const struct vpa_autoscaler *v, const struct vpa_parameters *p)
{
    const struct vpa_object *object = vpa_autoscaler_object(v);
    vpa_auto_buf target = VPA_BUF(VPA_OBJECT_TARGET_MAX);
    size_t count;
    const struct vpa_parameter *parameters = vpa_algorithm_parameters(p->algorithm, &count);

    vpa_object_target(object, &target);
    uint32_t hash = mix(vpa_hash_stable(vpa_or_empty(object->meta.uid)), vpa_buf_text(&target));
    for (size_t i = 0; i < count; i++)
        hash = mix(hash, vpa_parameters_text(p, parameters[i].key));
    return hash;
}

/* The entry of a VPA in mode history, or NULL; made when it is new, and then due. One that has
 * changed is due as well, but has had its turns. */
static struct filled *entry_of(struct refill *r, const struct vpa_autoscaler *v)
{
    const struct vpa_method *m = vpa_autoscaler_method(v);
    const char *mode = m ? vpa_parameters_text(vpa_method_parameters(m), "mode") : NULL;

    if (!vpa_str_eq(mode, "history") || !vpa_autoscaler_object(v)->target_ref.present)
        return NULL;
    vpa_auto_free char *key = vpa_xjoin(vpa_autoscaler_ns(v), '/', vpa_autoscaler_name(v));
    struct filled *f = vpa_table_find(&r->vpas, key);
    bool is_new = !f;
    if (is_new) {
        f = vpa_xcalloc(1, sizeof(*f));
        f->key = VPA_STEAL(key);
        f->asked = r->turns;
        vpa_table_put(&r->vpas, f->key, f);
    }
    uint32_t what = what_of(v, vpa_method_parameters(m));
    if (is_new || what != f->what) {
        f->due = vpa_loop_monotonic(r->options.loop);
        f->failures = 0;
        f->what = what;
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

    if (!filled)
        period = (vpa_duration)REFILL_RETRY << f->failures;
    f->due = vpa_loop_monotonic(r->options.loop) + period;
    f->failures = filled ? 0 : f->failures + (f->failures < REFILL_DOUBLINGS);
    if (!filled && err.code == VPA_RETRY)
        r->quiet_until = vpa_loop_monotonic(r->options.loop) + REFILL_RETRY;
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

static bool may_ask(const struct refill *r)
{
    int64_t now = vpa_loop_monotonic(r->options.loop);

    return now >= r->quiet_until && now < r->deadline && !vpa_loop_is_stopping(r->options.loop);
}

/* ---- whose turn it is ---- */

struct waiting { /* a VPA that is due; they are ordered by namespace and name */
    struct vpa_autoscaler *vpa;
    struct filled *filled; /* NULL: it had its turn */
    size_t ns;
};
struct queue {
    struct waiting *items;
    size_t count, capacity;
    uint64_t *asked; /* by namespace: the last turn of one of its VPAs */
};

static bool is_due(const struct refill *r, const struct vpa_autoscaler *v, const struct filled *f)
{
    vpa_auto_arena arena = {0};
    struct vpa_known *known;

    /* Before the first samples there is nothing to fill. */
    return vpa_loop_monotonic(r->options.loop) >= f->due &&
           vpa_autoscaler_knowledge(v, &arena, &known) > 0;
}

static void fill_queue(struct refill *r, struct queue *q)
{
    size_t count, ns = 0;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(r->options.cluster, &count);

    q->asked = vpa_xcalloc(count + 1, sizeof(*q->asked));
    for (size_t i = 0; i < count; i++) {
        struct filled *f = entry_of(r, vpas[i]);

        ns += i > 0 && strcmp(vpa_autoscaler_ns(vpas[i - 1]), vpa_autoscaler_ns(vpas[i])) != 0;
        if (!f)
            continue;
        q->asked[ns] = f->asked > q->asked[ns] ? f->asked : q->asked[ns];
        if (!is_due(r, vpas[i], f))
            continue;
        VPA_GROW(q->items, q->count, q->capacity);
        q->items[q->count++] = (struct waiting){vpas[i], f, ns};
    }
}

static bool is_before(const struct queue *q, const struct waiting *a, const struct waiting *b)
{
    if (a->ns != b->ns)
        return q->asked[a->ns] < q->asked[b->ns];
    return a->filled->due < b->filled->due;
}

/* NULL: all had their turn. */
static struct waiting *next_of(const struct queue *q)
{
    struct waiting *next = NULL;

    for (size_t i = 0; i < q->count; i++) {
        if (q->items[i].filled && (!next || is_before(q, &q->items[i], next)))
            next = &q->items[i];
    }
    return next;
}

void refill_pass(struct refill *r)
{
    struct failures failures = {.message = "Cannot read the history of a VPA from Prometheus"};
    struct queue queue = {0};
    struct waiting *next;

    if (!r->options.connect)
        return;
    r->deadline = vpa_loop_monotonic(r->options.loop) + REFILL_PATIENCE;
    fill_queue(r, &queue);
    for (size_t begun = 0; begun < REFILL_VPAS_MAX && may_ask(r); begun++) {
        next = next_of(&queue);
        if (!next)
            break;
        struct filled *f = VPA_STEAL(next->filled);
        f->asked = queue.asked[next->ns] = ++r->turns;
        fill_due(r, next->vpa, f, &failures);
    }
    free(queue.items);
    free(queue.asked);
    close_connection(r);
    forget_unseen(r);
    failures_report(&r->not_taken);
    if (!vpa_loop_is_stopping(r->options.loop))
        failures_report(&failures);
}
