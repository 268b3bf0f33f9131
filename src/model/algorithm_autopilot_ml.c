/*
 * Autopilot's second recommender as one algorithm among the others (model/algorithm.h): an ensemble
 * of models of which the cheapest is followed (Rzadca et al., EuroSys 2020, section 3.2.2;
 * vpa/model/argmin.h, docs/algorithms.md). What is around it stands in autopilot.h.
 *
 * It has a name of its own instead of being a choice of `autopilot`, because what the two learn has
 * nothing in common: a VPA that goes from one to the other and back finds what each has learned.
 *
 * The stored form of a resource holds, beside the models, the shares of time in the buckets from
 * the first to the last that ever held something, decay by decay, with seven digits:
 *
 *     {"closed": windows, "lastWindow": seconds, "first": bucket, "pasts": [[..] x 4],
 *      "picks": [bucket x 4], "costs": [..], "limits": [bucket ..], "best": model, "limit": bucket,
 *      "held": [[second, value] ..], "open": [[bucket, samples] ..]}
 */
#include <math.h>
#include <stdlib.h>

#include "autopilot.h"
#include "stored.h"
#include "vpa/base/str.h"
#include "vpa/model/argmin.h"

#define CLOSED_MOST 1000000000 /* windows; more of them fill a memory no better */
#define OPEN_MOST 1e6          /* samples of a window */
#define SHARES_OFF 0.01        /* by how much the shares of a past may miss 1: digits and merges */

enum { COST, CPU_OVER, MEMORY_OVER };
#define WEIGHT(KEY, HELP)                                                                          \
    {                                                                                              \
        .key = KEY, .type = VPA_PARAMETER_NUMBER, .preset = "0", .most = 1e6, .help = HELP         \
    }
static const struct vpa_parameter parameters[] = {
    [COST] = {.key = "cost",
              .type = VPA_PARAMETER_TEXT,
              .preset = "counts",
              .choices = "counts|distances",
              .help = "What a limit costs: samples above and below it counted, or their distances"},
    [CPU_OVER] = WEIGHT("cpu-overrun-weight",
                        "What CPU usage above a limit costs, where as much below it costs 1; 0 "
                        "stands for 20 (counts) or 80 (distances)"),
    [MEMORY_OVER] = WEIGHT("memory-overrun-weight",
                           "What a memory peak above a limit costs, where as much below it costs "
                           "1; 0 stands for 300"),
};

struct prepared {
    struct vpa_autopilot common;
    struct vpa_argmin_rule rules[VPA_KINDS];
};

/* ---- the signal: the limit of the cheapest model ---- */

static void init(void *signal, const struct vpa_autopilot *prepared, enum vpa_kind kind)
{
    vpa_argmin_init(signal, &((const struct prepared *)(const void *)prepared)->rules[kind]);
}

static void release(void *signal)
{
    vpa_argmin_release(signal);
}

static void add(void *signal, int64_t window, double value)
{
    (void)window;
    vpa_argmin_add(signal, value);
}

static void close_window(void *signal, int64_t window)
{
    vpa_argmin_close(signal, window);
}

static void merge(void *signal, const void *other)
{
    vpa_argmin_merge(signal, other);
}

static double limit(const void *signal)
{
    return vpa_argmin_limit(signal);
}

/* ---- stored form ---- */

static void save_past(const struct vpa_argmin *a, size_t decay, struct vpa_json_writer *w)
{
    double past[VPA_BUCKETS_MAX];
    vpa_auto_buf text = VPA_BUF(VPA_BUCKETS_MAX * 24);

    vpa_argmin_past(a, decay, past);
    for (uint32_t i = a->first; i <= a->last; i++)
        vpa_buf_printf(&text, "%c%.7g", i > a->first ? ',' : '[', past[i]);
    vpa_buf_putc(&text, ']');
    vpa_json_put_raw(w, vpa_buf_text(&text), text.len);
}

static void save_models(const struct vpa_argmin *a, struct vpa_json_writer *w)
{
    vpa_json_member_array(w, "costs");
    for (size_t i = 0; i < VPA_ARGMIN_DECAYS * a->rule.margin_count; i++)
        vpa_json_put_double(w, a->models[i / a->rule.margin_count][i % a->rule.margin_count].cost);
    vpa_json_close_array(w);
    vpa_json_member_array(w, "limits");
    for (size_t i = 0; i < VPA_ARGMIN_DECAYS * a->rule.margin_count; i++)
        vpa_json_put_int(w, a->models[i / a->rule.margin_count][i % a->rule.margin_count].limit);
    vpa_json_close_array(w);
}

static void save_known(const struct vpa_argmin *a, struct vpa_json_writer *w)
{
    vpa_json_member_int(w, "closed", a->closed < CLOSED_MOST ? a->closed : CLOSED_MOST);
    vpa_json_member_int(w, "lastWindow", a->last_window);
    vpa_json_member_int(w, "first", a->first);
    vpa_json_member_array(w, "pasts");
    for (size_t k = 0; k < VPA_ARGMIN_DECAYS; k++)
        save_past(a, k, w);
    vpa_json_close_array(w);
    vpa_json_member_array(w, "picks");
    for (size_t k = 0; k < VPA_ARGMIN_DECAYS; k++)
        vpa_json_put_int(w, a->picks[k]);
    vpa_json_close_array(w);
    save_models(a, w);
    vpa_json_member_int(w, "best", (int64_t)a->best);
    vpa_json_member_int(w, "limit", a->limit);
    vpa_stored_put_max(w, "held", &a->held);
}

static void save(const void *signal, struct vpa_json_writer *w)
{
    const struct vpa_argmin *a = signal;

    if (a->known)
        save_known(a, w);
    vpa_json_member_array(w, "open");
    for (uint32_t i = 0; i < a->column_count; i++) {
        if (a->columns[i].open <= 0.0)
            continue;
        vpa_json_open_array(w);
        vpa_json_put_int(w, a->columns[i].bucket);
        vpa_json_put_double(w, a->columns[i].open);
        vpa_json_close_array(w);
    }
    vpa_json_close_array(w);
}

/* A whole number from 0 to below an end. */
static int read_whole(const struct vpa_json *node, const char *name, double end, uint32_t *out,
                      struct vpa_error *err)
{
    double x;

    if (!vpa_json_double(node, &x) || !(x >= 0.0) || !(x < end) || x != floor(x))
        return vpa_fail(err, VPA_INVALID, "%s: expected whole numbers from 0 to below %.0f", name,
                        end);
    *out = (uint32_t)x;
    return 0;
}

static int read_member(const struct vpa_json *stored, const char *name, double end, uint32_t *out,
                       struct vpa_error *err)
{
    return read_whole(vpa_json_find(stored, name), name, end, out, err);
}

static void cover(struct vpa_argmin *a, uint32_t bucket)
{
    a->first = bucket < a->first ? bucket : a->first;
    a->last = bucket > a->last ? bucket : a->last;
}

static int load_past(struct vpa_argmin *a, size_t decay, const struct vpa_json *stored,
                     uint32_t bucket, struct vpa_error *err)
{
    double sum = 0.0;

    vpa_json_foreach (node, stored) {
        double share;
        if (bucket >= a->rule.buckets->count)
            return vpa_fail(err, VPA_INVALID, "pasts: there is no bucket %u", bucket);
        if (!vpa_json_double(node, &share) || !(share >= 0.0) || share > 1.0 + SHARES_OFF)
            return vpa_fail(err, VPA_INVALID, "pasts: bucket %u has an impossible share", bucket);
        cover(a, bucket);
        if (share > 0.0)
            vpa_argmin_column(a, bucket)->past[decay] = share;
        bucket++;
        sum += share;
    }
    if (!(fabs(sum - 1.0) <= SHARES_OFF))
        return vpa_fail(err, VPA_INVALID, "pasts: the shares of one are %.7g together, not 1", sum);
    for (uint32_t i = 0; i < a->column_count; i++)
        a->columns[i].past[decay] /= sum;
    return 0;
}

static int load_pasts(struct vpa_argmin *a, const struct vpa_json *stored, struct vpa_error *err)
{
    const struct vpa_json *pasts = vpa_json_find(stored, "pasts");
    size_t decay = 0;
    uint32_t first;

    if (read_member(stored, "first", a->rule.buckets->count, &first, err) < 0)
        return -1;
    if (vpa_json_count(pasts) != VPA_ARGMIN_DECAYS)
        return vpa_fail(err, VPA_INVALID, "pasts: expected %d of them", VPA_ARGMIN_DECAYS);
    vpa_json_foreach (past, pasts) {
        if (load_past(a, decay++, past, first, err) < 0)
            return -1;
    }
    return 0;
}

static int load_models(struct vpa_argmin *a, const struct vpa_json *stored, struct vpa_error *err)
{
    const struct vpa_json *costs = vpa_json_find(stored, "costs");
    const struct vpa_json *limits = vpa_json_find(stored, "limits");
    const struct vpa_json *limit_node = vpa_json_first(limits);
    size_t per_decay = a->rule.margin_count, i = 0;

    if (vpa_json_count(costs) != VPA_ARGMIN_DECAYS * per_decay ||
        vpa_json_count(limits) != VPA_ARGMIN_DECAYS * per_decay)
        return vpa_fail(err, VPA_INVALID, "costs and limits: expected %zu of each",
                        VPA_ARGMIN_DECAYS * per_decay);
    vpa_json_foreach (node, costs) {
        struct vpa_argmin_model *m = &a->models[i / per_decay][i % per_decay];
        if (!vpa_json_double(node, &m->cost) || !(fabs(m->cost) <= 1e18))
            return vpa_fail(err, VPA_INVALID, "costs: expected numbers");
        if (read_whole(limit_node, "limits", a->rule.buckets->count, &m->limit, err) < 0)
            return -1;
        limit_node = vpa_json_next(limit_node);
        i++;
    }
    return 0;
}

static int load_picks(struct vpa_argmin *a, const struct vpa_json *stored, struct vpa_error *err)
{
    const struct vpa_json *picks = vpa_json_find(stored, "picks");
    size_t k = 0;

    if (vpa_json_count(picks) != VPA_ARGMIN_DECAYS)
        return vpa_fail(err, VPA_INVALID, "picks: expected %d of them", VPA_ARGMIN_DECAYS);
    vpa_json_foreach (node, picks) {
        if (read_whole(node, "picks", a->rule.buckets->count, &a->picks[k++], err) < 0)
            return -1;
    }
    return 0;
}

static int load_known(struct vpa_argmin *a, const struct vpa_json *stored, vpa_time now,
                      struct vpa_error *err)
{
    uint32_t closed, best;

    if (read_member(stored, "closed", CLOSED_MOST + 1.0, &closed, err) < 0 ||
        vpa_stored_second(stored, "lastWindow", now, &a->last_window, err) < 0 ||
        load_pasts(a, stored, err) < 0 || load_picks(a, stored, err) < 0 ||
        load_models(a, stored, err) < 0 ||
        read_member(stored, "best", (double)(VPA_ARGMIN_DECAYS * a->rule.margin_count), &best,
                    err) < 0 ||
        read_member(stored, "limit", a->rule.buckets->count, &a->limit, err) < 0 ||
        vpa_stored_max(stored, "held", now, &a->held, err) < 0)
        return -1;
    if (!closed)
        return vpa_fail(err, VPA_INVALID, "closed: a past without a window");
    a->closed = closed;
    a->best = best;
    a->known = true;
    return 0;
}

/* An open window that cannot be is begun anew. */
static int load_open(struct vpa_argmin *a, const struct vpa_json *stored, struct vpa_error *err)
{
    double sum = 0.0;

    vpa_json_foreach (pair, vpa_json_find(stored, "open")) {
        const struct vpa_json *node = vpa_json_first(pair);
        uint32_t bucket, samples;
        if (!node)
            return vpa_fail(err, VPA_INVALID, "open: expected pairs of a bucket and samples");
        if (read_whole(node, "open", a->rule.buckets->count, &bucket, err) < 0 ||
            read_whole(vpa_json_next(node), "open", OPEN_MOST, &samples, err) < 0)
            return -1;
        struct vpa_argmin_column *column = vpa_argmin_column(a, bucket);
        sum += samples - column->open;
        column->open = samples;
    }
    if (sum < OPEN_MOST)
        a->open_count = (uint32_t)sum;
    for (uint32_t i = 0; sum >= OPEN_MOST && i < a->column_count; i++)
        a->columns[i].open = 0.0;
    return 0;
}

static int load(void *signal, const struct vpa_json *stored, vpa_time now, struct vpa_error *err)
{
    struct vpa_argmin *a = signal;

    if (!vpa_json_is_null(vpa_json_find(stored, "pasts")) && load_known(a, stored, now, err) < 0)
        return -1;
    return load_open(a, stored, err);
}

const struct vpa_autopilot_signal vpa_autopilot_ensemble = {
    .size = sizeof(struct vpa_argmin),
    .init = init,
    .release = release,
    .add = add,
    .close = close_window,
    .merge = merge,
    .limit = limit,
    .save = save,
    .load = load,
    .learns_floor = true,
};

/* ---- the method ---- */

static void *prepare(const struct vpa_parameter_value *v, struct vpa_error *err)
{
    static const size_t weights[VPA_KINDS] = {CPU_OVER, MEMORY_OVER};
    struct prepared *p = vpa_xcalloc(1, sizeof(*p));

    (void)err; /* the values do not depend on each other */
    vpa_autopilot_init(&p->common, &vpa_autopilot_ensemble);
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        struct vpa_argmin_rule *rule = &p->rules[kind];
        vpa_argmin_preset(rule, &p->common.buckets[kind], kind,
                          vpa_str_eq(v[COST].text, "distances"));
        if (v[weights[kind]].number > 0.0)
            rule->w_over = v[weights[kind]].number;
    }
    return p;
}

const struct vpa_algorithm vpa_algorithm_autopilot_ml = {
    .name = "autopilot-ml",
    .parameters = parameters,
    .parameter_count = VPA_COUNT(parameters),
    .prepare = prepare,
    VPA_AUTOPILOT_FUNCTIONS,
};
