/*
 * Autopilot's moving windows as one algorithm among the others (model/algorithm.h): which statistic
 * follows from the class of the workload, as in the paper (Rzadca et al., EuroSys 2020, section
 * 3.2.1; docs/algorithms.md). What is around the statistic stands in autopilot.h.
 */
#include <math.h>
#include <stdlib.h>

#include "autopilot.h"
#include "stored.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"
#include "vpa/model/window_signal.h"

#define HOLD_SECONDS 3600
#define OPEN_MOST 1e6 /* samples of a window */
#define ROUNDING 1e-6 /* of a sum of them */
#define SECONDS_OF_A_MONTH (30.0 * 24 * 3600)

enum { CLASS, TOLERANCE, CPU_HALF_LIFE, MEMORY_HALF_LIFE, SPAN, MARGIN };
#define TIME(KEY, PRESET, HELP)                                                                    \
    {                                                                                              \
        .key = KEY, .type = VPA_PARAMETER_DURATION, .preset = PRESET, .least = 300,                \
        .most = SECONDS_OF_A_MONTH, .help = HELP                                                   \
    }
static const struct vpa_parameter parameters[] = {
    [CLASS] = {.key = "class",
               .type = VPA_PARAMETER_TEXT,
               .preset = "latency",
               .choices = "batch|serving|latency|peak",
               .help = "CPU: mean, 90th or 95th percentile of the load, or maximum"},
    [TOLERANCE] = {.key = "oom-tolerance",
                   .type = VPA_PARAMETER_TEXT,
                   .preset = "low",
                   .choices = "high|middle|low",
                   .help = "Memory: 98th percentile, max(60th, half the maximum), or maximum"},
    [CPU_HALF_LIFE] = TIME("cpu-half-life", "12h",
                           "Time in which a CPU sample loses half its "
                           "weight"),
    [MEMORY_HALF_LIFE] =
        TIME("memory-half-life", "48h", "Time in which a memory peak loses half its weight"),
    [SPAN] = TIME("max-span", "7d", "How long a maximum counts"),
    [MARGIN] = {.key = "margin-fraction",
                .type = VPA_PARAMETER_NUMBER,
                .preset = "0.15",
                .most = 10,
                .help = "Part of the statistic added as a margin"},
};

struct prepared {
    struct vpa_autopilot common;
    struct vpa_signal_rule rules[VPA_KINDS];
};

/* ---- the signal: a statistic of windows ---- */

static void init(void *signal, const struct vpa_autopilot *prepared, enum vpa_kind kind)
{
    vpa_window_signal_init(signal, &((const struct prepared *)(const void *)prepared)->rules[kind]);
}

static void release(void *signal)
{
    vpa_window_signal_release(signal);
}

static void add(void *signal, int64_t window, double value)
{
    vpa_window_signal_add(signal, window, value);
}

static void close_window(void *signal, int64_t window)
{
    vpa_window_signal_close(signal, window);
}

static void merge(void *signal, const void *other)
{
    vpa_window_signal_merge(signal, other);
}

static double limit(const void *signal)
{
    return vpa_window_signal_limit(signal);
}

static void save(const void *signal, struct vpa_json_writer *w)
{
    const struct vpa_window_signal *g = signal;

    vpa_json_member_bool(w, "known", g->known);
    vpa_stored_put_histogram(w, "histogram", &g->histogram, g->last_window);
    vpa_stored_put_max(w, "top", &g->top);
    vpa_stored_put_max(w, "held", &g->held);
    vpa_stored_put_number(w, "average", g->average);
    vpa_stored_put_number(w, "averageWeight", g->total_weight);
    vpa_json_member_int(w, "averageWindow", g->last_window);
    vpa_stored_put_number(w, "openSum", g->open_sum);
    vpa_stored_put_number(w, "openPeak", g->open_peak);
    vpa_json_member_int(w, "openCount", g->open_count);
}

/* What all windows weigh that there can be, at the time of the last. */
static double most_weight(const struct vpa_window_signal *g)
{
    double half_life = (double)g->rule.half_life / (double)VPA_SECOND;

    return 1.0 / (1.0 - vpa_exp2(-VPA_WINDOW_SECONDS / half_life));
}

/* More than that says more than it knows: nothing would move it. */
static void bound_average(struct vpa_window_signal *g)
{
    double most = most_weight(g);

    if (g->total_weight > most)
        g->total_weight = most;
}

/* One that cannot be is begun anew: no mean is beyond the largest. */
static void bound_open(struct vpa_window_signal *g, double count)
{
    double least = g->open_peak, most = g->open_peak * count;

    if (count >= 1.0 && count < OPEN_MOST && count == floor(count) &&
        g->open_sum >= least * (1.0 - ROUNDING) && g->open_sum <= most * (1.0 + ROUNDING)) {
        g->open_count = (uint32_t)count;
        return;
    }
    g->open_sum = 0.0;
    g->open_peak = 0.0;
}

/* The largest value within the span, or more: a bucket that weighs more than one sample of that age
 * may have had several of before. */
static double largest(const struct vpa_window_signal *g)
{
    const struct vpa_load_histogram *h = &g->histogram;
    vpa_time oldest = vpa_time_from_unix(g->last_window - g->rule.span_seconds, 0);
    double least = vpa_exp2((double)vpa_time_sub(oldest, h->ref) / (double)h->half_life);

    for (uint32_t i = h->span; i-- > 0;) {
        if (h->weights[i] > least)
            return h->buckets->ends[h->base + i];
    }
    return 0.0;
}

/* Programs of before kept what their choice read, and another choice found nothing. What is missing
 * begins with what the rest tells: the windows up to a maximum had no more than that, and where
 * there is only the mean, they had that. */
static void seed(struct vpa_window_signal *g)
{
    struct vpa_recent_max *top = &g->top;
    struct vpa_load_histogram *h = &g->histogram;
    bool lacks_histogram = vpa_load_histogram_is_empty(h);
    double most = most_weight(g);
    bool lacks_top = !top->count || top->items[top->count - 1].second < g->last_window;

    if (g->total_weight <= 0.0)
        return;
    if (lacks_top)
        vpa_recent_max_push(top, g->last_window,
                            lacks_histogram ? vpa_buckets_round_up(h->buckets, g->average)
                                            : largest(g));
    for (size_t i = 0; lacks_histogram && i < top->count; i++) {
        const struct vpa_recent_value *v = &top->items[i];
        double windows =
            i ? (double)(v->second - v[-1].second) / VPA_WINDOW_SECONDS : g->total_weight;

        windows = windows < most ? windows : most;
        vpa_load_histogram_add(h, v->value, windows, vpa_time_from_unix(v->second, 0));
    }
}

static int load(void *signal, const struct vpa_json *stored, vpa_time now, struct vpa_error *err)
{
    struct vpa_window_signal *g = signal;
    double open_count;

    if (vpa_stored_histogram(stored, "histogram", now, &g->histogram, err) < 0 ||
        vpa_stored_max(stored, "top", now, &g->top, err) < 0 ||
        vpa_stored_max(stored, "held", now, &g->held, err) < 0 ||
        vpa_stored_amount(stored, "average", &g->average, err) < 0 ||
        vpa_stored_amount(stored, "averageWeight", &g->total_weight, err) < 0 ||
        vpa_stored_second(stored, "averageWindow", now, &g->last_window, err) < 0 ||
        vpa_stored_amount(stored, "openSum", &g->open_sum, err) < 0 ||
        vpa_stored_amount(stored, "openPeak", &g->open_peak, err) < 0 ||
        vpa_stored_amount(stored, "openCount", &open_count, err) < 0)
        return -1;
    bound_average(g);
    bound_open(g, open_count);
    seed(g);
    if (!vpa_json_bool(vpa_json_find(stored, "known"), &g->known))
        g->known = false;
    return 0;
}

const struct vpa_autopilot_signal vpa_autopilot_windows = {
    .size = sizeof(struct vpa_window_signal),
    .init = init,
    .release = release,
    .add = add,
    .close = close_window,
    .merge = merge,
    .limit = limit,
    .save = save,
    .load = load,
};

/* ---- the method ---- */

static void choose_cpu(struct vpa_signal_rule *rule, const char *class)
{
    rule->average = vpa_str_eq(class, "batch");
    if (vpa_str_eq(class, "serving"))
        rule->percentile = 0.90;
    else if (vpa_str_eq(class, "latency"))
        rule->percentile = 0.95;
    else if (vpa_str_eq(class, "peak"))
        rule->max_share = 1.0;
}

static void choose_memory(struct vpa_signal_rule *rule, const char *tolerance)
{
    if (vpa_str_eq(tolerance, "high"))
        rule->percentile = 0.98;
    else if (vpa_str_eq(tolerance, "middle"))
        rule->percentile = 0.60;
    if (!vpa_str_eq(tolerance, "high"))
        rule->max_share = vpa_str_eq(tolerance, "middle") ? 0.5 : 1.0;
}

static void *prepare(const struct vpa_parameter_value *v, struct vpa_error *err)
{
    struct prepared *p = vpa_xcalloc(1, sizeof(*p));
    struct vpa_signal_rule *cpu = &p->rules[VPA_KIND_CPU];
    struct vpa_signal_rule *bytes = &p->rules[VPA_KIND_MEMORY];

    (void)err; /* the values do not depend on each other */
    vpa_autopilot_init(&p->common, &vpa_autopilot_windows);
    *cpu = (struct vpa_signal_rule){
        .buckets = &p->common.buckets[VPA_KIND_CPU],
        .half_life = v[CPU_HALF_LIFE].duration,
        .span_seconds = v[SPAN].duration / VPA_SECOND,
        .margin = v[MARGIN].number,
        .hold_seconds = HOLD_SECONDS,
    };
    *bytes = *cpu;
    bytes->buckets = &p->common.buckets[VPA_KIND_MEMORY];
    bytes->half_life = v[MEMORY_HALF_LIFE].duration;
    choose_cpu(cpu, v[CLASS].text);
    choose_memory(bytes, v[TOLERANCE].text);
    return p;
}

const struct vpa_algorithm vpa_algorithm_autopilot = {
    .name = "autopilot",
    .parameters = parameters,
    .parameter_count = VPA_COUNT(parameters),
    .prepare = prepare,
    VPA_AUTOPILOT_FUNCTIONS,
};
