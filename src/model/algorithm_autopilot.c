/*
 * Autopilot's moving windows as one algorithm among the others (model/algorithm.h): which statistic
 * follows from the class of the workload, as in the paper (Rzadca et al., EuroSys 2020, section
 * 3.2.1; docs/algorithms.md). All replicas of a container share one history.
 *
 * Windows close when a sample of a later one comes, or a pass. The paper has no bounds: they are a
 * band around the limit, as plumb's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm_private.h"
#include "stored.h"
#include "vpa/base/str.h"
#include "vpa/model/window_signal.h"

#define LOWER_SHARE 0.9
#define UPPER_SHARE 1.25
#define HOLD_SECONDS 3600
#define FORGET_SECONDS (8 * 24 * 3600)
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
    struct vpa_buckets cpu_buckets;
    struct vpa_buckets memory_buckets;
    struct vpa_signal_rule rules[VPA_KINDS];
    vpa_duration memory;
};

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
    vpa_buckets_init(&p->cpu_buckets, 0.001, 1000.0);
    vpa_buckets_init(&p->memory_buckets, 1048576.0, 1e12);
    *cpu = (struct vpa_signal_rule){
        .buckets = &p->cpu_buckets,
        .half_life = v[CPU_HALF_LIFE].duration,
        .span_seconds = v[SPAN].duration / VPA_SECOND,
        .margin = v[MARGIN].number,
        .hold_seconds = HOLD_SECONDS,
    };
    *bytes = *cpu;
    bytes->buckets = &p->memory_buckets;
    bytes->half_life = v[MEMORY_HALF_LIFE].duration;
    choose_cpu(cpu, v[CLASS].text);
    choose_memory(bytes, v[TOLERANCE].text);
    p->memory = v[SPAN].duration;
    return p;
}

static vpa_duration memory(const void *prepared)
{
    return ((const struct prepared *)prepared)->memory;
}

struct state {
    struct vpa_window_signal signals[VPA_KINDS];
    struct vpa_oom_floor floor;
    double memory_peak; /* of the open window; all its replicas together */
    bool has_peak;
    int64_t window; /* the open one; 0: none yet */
    int64_t born;   /* the first one */
    int64_t last;   /* of the newest sample */
};

static void init(struct state *s, const struct prepared *p)
{
    *s = (struct state){0};
    for (size_t kind = 0; kind < VPA_KINDS; kind++)
        vpa_window_signal_init(&s->signals[kind], &p->rules[kind]);
    vpa_oom_floor_init(&s->floor);
}

static void release(struct state *s)
{
    for (size_t kind = 0; kind < VPA_KINDS; kind++)
        vpa_window_signal_release(&s->signals[kind]);
}

static void *make(const void *prepared, vpa_time now)
{
    struct state *s = vpa_xcalloc(1, sizeof(*s));

    (void)now;
    init(s, prepared);
    return s;
}

static void drop(void *state)
{
    release(state);
    free(state);
}

/* Closes the open window; of memory only one that had a sample. */
static void advance(struct state *s, int64_t window)
{
    if (s->window && window <= s->window)
        return;
    if (s->window) {
        vpa_window_signal_close(&s->signals[VPA_KIND_CPU], s->window);
        if (s->has_peak) {
            vpa_window_signal_add(&s->signals[VPA_KIND_MEMORY], s->window, s->memory_peak);
            vpa_window_signal_close(&s->signals[VPA_KIND_MEMORY], s->window);
        }
    }
    s->has_peak = false;
    s->memory_peak = 0.0;
    s->window = window;
}

static bool add(void *state, const void *prepared, const struct vpa_usage *usage)
{
    struct state *s = state;
    int64_t window = vpa_window_of(usage->t);

    (void)prepared;
    if (!s->window)
        s->born = window;
    advance(s, window);
    s->last = window > s->last ? window : s->last;
    if (usage->type == VPA_USAGE_CPU) {
        vpa_window_signal_add(&s->signals[VPA_KIND_CPU], s->window,
                              vpa_amount_to_cores(usage->amount));
        return true;
    }
    double bytes = vpa_amount_to_bytes(usage->amount);
    if (usage->type == VPA_USAGE_OOM)
        vpa_oom_floor_hit(&s->floor, s->window + VPA_WINDOW_SECONDS, bytes);
    if (!s->has_peak || bytes > s->memory_peak)
        s->memory_peak = bytes;
    s->has_peak = true;
    return true;
}

static void merge(void *state, const void *prepared, void *other)
{
    struct state *s = state;
    const struct state *from = other;

    (void)prepared;
    if (!from->window)
        return;
    for (size_t kind = 0; kind < VPA_KINDS; kind++)
        vpa_window_signal_merge(&s->signals[kind], &from->signals[kind]);
    if (from->floor.until > s->floor.until)
        s->floor.until = from->floor.until;
    if (from->floor.value > s->floor.value)
        s->floor.value = from->floor.value;
    if (from->has_peak && from->memory_peak > s->memory_peak)
        s->memory_peak = from->memory_peak;
    s->has_peak = s->has_peak || from->has_peak;
    s->born = s->window && s->born < from->born ? s->born : from->born;
    s->window = s->window > from->window ? s->window : from->window;
    s->last = s->last > from->last ? s->last : from->last;
}

static void age(void *state, const void *prepared, vpa_time now)
{
    struct state *s = state;
    int64_t window = vpa_window_of(now);

    if (s->window && window - s->last > FORGET_SECONDS) {
        release(s);
        init(s, prepared);
    }
    if (s->window)
        advance(s, window);
}

static bool is_empty(const void *state)
{
    return ((const struct state *)state)->window == 0;
}

static void set_bounds(const struct state *s, enum vpa_kind kind, double amount,
                       struct vpa_estimate *out)
{
    int64_t seconds = s->window > s->born ? s->window - s->born : 0;
    double days = (double)(seconds + VPA_WINDOW_SECONDS) / 86400.0;
    double lower = LOWER_SHARE * vpa_estimator_confidence_factor(VPA_LOWER_BOUND, days);
    double upper = UPPER_SHARE * vpa_estimator_confidence_factor(VPA_UPPER_BOUND, days);

    out->bound[VPA_TARGET].value[kind] = vpa_amount_from_double(amount);
    out->bound[VPA_LOWER_BOUND].value[kind] = vpa_amount_from_double(amount * lower);
    out->bound[VPA_UPPER_BOUND].value[kind] = vpa_amount_from_double(ceil(amount * upper));
}

static bool estimate(const void *state, const void *prepared, const struct vpa_question *question,
                     struct vpa_estimate *out)
{
    const struct state *s = state;
    double cores = vpa_window_signal_limit(&s->signals[VPA_KIND_CPU]);
    double bytes = vpa_window_signal_limit(&s->signals[VPA_KIND_MEMORY]);
    double floor = vpa_oom_floor_at(&s->floor, vpa_time_unix_nanos(question->now) / VPA_SECOND);

    (void)prepared;
    if (cores <= 0.0 || bytes <= 0.0)
        return false;
    set_bounds(s, VPA_KIND_CPU, ceil(cores * 1000.0 - 1e-6), out);
    set_bounds(s, VPA_KIND_MEMORY, ceil(bytes > floor ? bytes : floor), out);
    return true;
}

/* ---- stored form ---- */

static void save_signal(const struct vpa_window_signal *g, const char *name,
                        struct vpa_json_writer *w)
{
    vpa_json_key(w, name);
    vpa_json_open_object(w);
    vpa_json_member_bool(w, "known", g->known);
    vpa_stored_put_histogram(w, "histogram", &g->histogram);
    vpa_stored_put_max(w, "top", &g->top);
    vpa_stored_put_max(w, "held", &g->held);
    vpa_stored_put_number(w, "average", g->average);
    vpa_stored_put_number(w, "averageWeight", g->total_weight);
    vpa_json_member_int(w, "averageWindow", g->last_window);
    vpa_stored_put_number(w, "openSum", g->open_sum);
    vpa_stored_put_number(w, "openPeak", g->open_peak);
    vpa_json_member_int(w, "openCount", g->open_count);
    vpa_json_close_object(w);
}

static void save(const void *state, const void *prepared, vpa_time now, struct vpa_json_writer *w)
{
    const struct state *s = state;

    (void)prepared;
    (void)now;
    vpa_json_open_object(w);
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
        save_signal(&s->signals[kind], vpa_kind_name(kind), w);
    vpa_stored_put_number(w, "floor", s->floor.value);
    vpa_json_member_int(w, "floorSince",
                        s->floor.until ? s->floor.until - s->floor.keep_seconds : 0);
    vpa_stored_put_number(w, "peak", s->has_peak ? s->memory_peak : 0.0);
    vpa_json_member_int(w, "window", s->window);
    vpa_json_member_int(w, "born", s->born);
    vpa_json_member_int(w, "last", s->last);
    vpa_json_close_object(w);
}

static int load_signal(struct vpa_window_signal *g, const struct vpa_json *stored, vpa_time now,
                       struct vpa_error *err)
{
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
    g->open_count = open_count < 1e6 ? (uint32_t)open_count : 0;
    if (!vpa_json_bool(vpa_json_find(stored, "known"), &g->known))
        g->known = false;
    return 0;
}

static int load(void *state, const void *prepared, const struct vpa_json *stored, int version,
                vpa_time now, struct vpa_error *err)
{
    struct state *s = state;

    (void)prepared;
    (void)version;
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        const struct vpa_json *signal = vpa_json_find(stored, vpa_kind_name(kind));
        if (load_signal(&s->signals[kind], signal, now, err) < 0)
            return vpa_wrap(err, "%s", vpa_kind_name(kind));
    }
    if (vpa_stored_amount(stored, "floor", &s->floor.value, err) < 0 ||
        vpa_stored_second(stored, "floorSince", now, &s->floor.until, err) < 0 ||
        vpa_stored_amount(stored, "peak", &s->memory_peak, err) < 0 ||
        vpa_stored_second(stored, "window", now, &s->window, err) < 0 ||
        vpa_stored_second(stored, "born", now, &s->born, err) < 0 ||
        vpa_stored_second(stored, "last", now, &s->last, err) < 0)
        return -1;
    s->floor.until += s->floor.until ? s->floor.keep_seconds : 0;
    s->has_peak = s->memory_peak > 0.0;
    return 0;
}

const struct vpa_algorithm vpa_algorithm_autopilot = {
    .name = "autopilot",
    .version = 1,
    .parameters = parameters,
    .parameter_count = VPA_COUNT(parameters),
    .prepare = prepare,
    .discard = free,
    .memory = memory,
    .make = make,
    .drop = drop,
    .add = add,
    .merge = merge,
    .age = age,
    .is_empty = is_empty,
    .estimate = estimate,
    .save = save,
    .load = load,
};
