/*
 * Plumb's own policy as one algorithm among the others (model/algorithm.h): the parts are
 * plumb_cpu.h and plumb_memory.h, one of each for all replicas of a container together.
 *
 * Windows close when a sample of a later one comes, or when what is known ages. The target has its
 * hysteresis by itself; the bounds are a band around it, so that the updater acts at once when a
 * request is more than a tenth too small, and when it is a quarter too large once enough is known
 * (VPA's confidence factors of the time it was seen widen the band before).
 */
#include <math.h>
#include <stdlib.h>

#include "algorithm_private.h"
#include "stored.h"
#include "vpa/base/str.h"
#include "vpa/model/plumb.h"
#include "vpa/model/window_signal.h"

#define FORGET_SECONDS (8 * 24 * 3600)

enum { RISK };
static const struct vpa_parameter parameters[] = {
    [RISK] = {.key = "risk",
              .type = VPA_PARAMETER_TEXT,
              .preset = "middle",
              .choices = "lean|middle|safe",
              .help = "How much want is risked to reserve less"},
};

static void *prepare(const struct vpa_parameter_value *values, struct vpa_error *err)
{
    struct vpa_plumb_options *o = vpa_xcalloc(1, sizeof(*o));
    enum vpa_plumb_risk risk = VPA_PLUMB_LEAN;

    (void)err; /* choices are checked before */
    while (risk < VPA_PLUMB_SAFE && !vpa_str_eq(vpa_plumb_risk_name(risk), values[RISK].text))
        risk++;
    vpa_plumb_options_init(o, risk);
    return o;
}

static vpa_duration memory(const void *prepared)
{
    (void)prepared;
    return FORGET_SECONDS * VPA_SECOND;
}

struct state {
    struct vpa_plumb_cpu cpu;
    struct vpa_plumb_memory memory;
    int64_t born; /* window of the first CPU sample */
    int64_t last; /* of the newest sample of any kind */
};

static void *make(const void *prepared, vpa_time now)
{
    const struct vpa_plumb_options *o = prepared;
    struct state *s = vpa_xcalloc(1, sizeof(*s));

    (void)now;
    vpa_plumb_cpu_init(&s->cpu, &o->cpu);
    vpa_plumb_memory_init(&s->memory, &o->memory);
    return s;
}

static void drop(void *state)
{
    struct state *s = state;

    vpa_plumb_cpu_release(&s->cpu);
    vpa_plumb_memory_release(&s->memory);
    free(s);
}

static bool add(void *state, const void *prepared, const struct vpa_usage *usage)
{
    struct state *s = state;
    int64_t window = vpa_window_of(usage->t);
    double bytes = vpa_amount_to_bytes(usage->amount);

    (void)prepared;
    s->last = window > s->last ? window : s->last;
    switch (usage->type) {
    case VPA_USAGE_CPU:
        s->born = s->cpu.known && s->born < window ? s->born : window;
        vpa_plumb_cpu_add(&s->cpu, window, vpa_amount_to_cores(usage->amount));
        break;
    case VPA_USAGE_MEMORY:
    case VPA_USAGE_MEMORY_PEAK:
        vpa_plumb_memory_add(&s->memory, window, bytes);
        break;
    case VPA_USAGE_OOM:
        vpa_plumb_memory_oom(&s->memory, window, bytes);
        break;
    }
    return true;
}

static void merge(void *state, const void *prepared, void *other)
{
    struct state *s = state;
    const struct state *from = other;

    (void)prepared;
    if (from->cpu.known)
        s->born = s->cpu.known && s->born < from->born ? s->born : from->born;
    s->last = from->last > s->last ? from->last : s->last;
    vpa_plumb_cpu_merge(&s->cpu, &from->cpu);
    vpa_plumb_memory_merge(&s->memory, &from->memory);
}

static void clear(struct state *s, const struct vpa_plumb_options *o)
{
    vpa_plumb_cpu_release(&s->cpu);
    vpa_plumb_memory_release(&s->memory);
    *s = (struct state){0};
    vpa_plumb_cpu_init(&s->cpu, &o->cpu);
    vpa_plumb_memory_init(&s->memory, &o->memory);
}

static void age(void *state, const void *prepared, vpa_time now)
{
    struct state *s = state;
    int64_t window = vpa_window_of(now);

    if (window - s->last > FORGET_SECONDS)
        clear(s, prepared);
    vpa_plumb_cpu_advance(&s->cpu, window);
    vpa_plumb_memory_advance(&s->memory, window);
}

static bool is_empty(const void *state)
{
    const struct state *s = state;

    return !s->cpu.known && !s->memory.known;
}

/* Whole millicores and bytes, rounded up: a container of less than a millicore needs one. */
static bool estimate(const void *state, const void *prepared, const struct vpa_question *question,
                     struct vpa_estimate *out)
{
    const struct state *s = state;
    double cores = vpa_plumb_cpu_target(&s->cpu);
    double bytes =
        vpa_plumb_memory_target(&s->memory, vpa_time_unix_nanos(question->now) / VPA_SECOND);
    int64_t seen = s->cpu.window - s->born;

    (void)prepared;
    if (cores <= 0.0 || bytes <= 0.0)
        return false;
    vpa_band_set(out, seen, VPA_KIND_CPU, ceil(cores * 1000.0 - 1e-6));
    vpa_band_set(out, seen, VPA_KIND_MEMORY, ceil(bytes));
    return true;
}

/* ---- stored form ---- */

static void save_memory(const struct vpa_plumb_memory *m, struct vpa_json_writer *w)
{
    vpa_json_member_object(w, "memory");
    vpa_stored_put_max(w, "peaks", &m->peaks);
    vpa_stored_put_max(w, "day", &m->day);
    vpa_stored_put_max(w, "held", &m->held);
    vpa_json_member_array(w, "days");
    for (size_t i = 0; i < VPA_PLUMB_HOURS; i++) {
        vpa_json_open_array(w);
        vpa_json_put_int(w, m->days[i].hour);
        vpa_json_put_double(w, m->days[i].peak);
        vpa_json_close_array(w);
    }
    vpa_json_close_array(w);
    vpa_stored_put_number(w, "target", m->target);
    vpa_stored_put_number(w, "open", m->has_peak ? m->open_peak : 0.0);
    vpa_json_member_int(w, "window", m->window);
    vpa_json_member_int(w, "born", m->born);
    if (m->kills) {
        vpa_stored_put_number(w, "bump", m->bump);
        vpa_json_member_int(w, "bumpSince", m->bump_until - 86400);
        vpa_json_member_int(w, "kills", m->kills);
    }
    vpa_json_close_object(w);
}

static void save(const void *state, const void *prepared, vpa_time now, struct vpa_json_writer *w)
{
    const struct state *s = state;

    (void)prepared;
    (void)now;
    vpa_json_open_object(w);
    vpa_json_member_int(w, "last", s->last);
    if (s->cpu.known) {
        vpa_json_member_object(w, "cpu");
        vpa_stored_put_histogram(w, "recent", &s->cpu.recent, s->last);
        vpa_stored_put_histogram(w, "steady", &s->cpu.steady, s->last);
        vpa_stored_put_max(w, "held", &s->cpu.held);
        vpa_stored_put_number(w, "target", s->cpu.target);
        vpa_json_member_int(w, "window", s->cpu.window);
        vpa_json_member_int(w, "born", s->born);
        vpa_json_close_object(w);
    }
    if (s->memory.known)
        save_memory(&s->memory, w);
    vpa_json_close_object(w);
}

static int load_cpu(struct state *s, const struct vpa_json *stored, vpa_time now,
                    struct vpa_error *err)
{
    if (vpa_json_is_null(stored))
        return 0;
    if (vpa_stored_histogram(stored, "recent", now, &s->cpu.recent, err) < 0 ||
        vpa_stored_histogram(stored, "steady", now, &s->cpu.steady, err) < 0 ||
        vpa_stored_max(stored, "held", now, &s->cpu.held, err) < 0 ||
        vpa_stored_amount(stored, "target", &s->cpu.target, err) < 0 ||
        vpa_stored_second(stored, "window", now, &s->cpu.window, err) < 0 ||
        vpa_stored_second(stored, "born", now, &s->born, err) < 0)
        return vpa_wrap(err, "cpu");
    if (vpa_load_histogram_is_empty(&s->cpu.recent) || vpa_load_histogram_is_empty(&s->cpu.steady))
        return vpa_fail(err, VPA_INVALID, "cpu: a histogram is missing");
    s->cpu.known = true;
    return 0;
}

static int load_days(struct vpa_plumb_memory *m, const struct vpa_json *stored, vpa_time now,
                     struct vpa_error *err)
{
    int64_t last = vpa_time_unix_nanos(now) / VPA_SECOND / 3600 + 1;

    vpa_json_foreach (pair, stored) {
        const struct vpa_json *node = vpa_json_first(pair);
        int64_t hour;
        double peak;
        if (!node || !vpa_json_int64(node, &hour) || hour < 0 || hour > last ||
            !vpa_json_double(vpa_json_next(node), &peak) || !(peak >= 0.0) || peak > 1e18)
            return vpa_fail(err, VPA_INVALID, "days: expected pairs of an hour and bytes");
        m->days[hour % VPA_PLUMB_HOURS].hour = hour;
        m->days[hour % VPA_PLUMB_HOURS].peak = peak;
    }
    return 0;
}

static int load_memory(struct vpa_plumb_memory *m, const struct vpa_json *stored, vpa_time now,
                       struct vpa_error *err)
{
    double kills;

    if (vpa_json_is_null(stored))
        return 0;
    if (vpa_stored_max(stored, "peaks", now, &m->peaks, err) < 0 ||
        vpa_stored_max(stored, "day", now, &m->day, err) < 0 ||
        vpa_stored_max(stored, "held", now, &m->held, err) < 0 ||
        load_days(m, vpa_json_find(stored, "days"), now, err) < 0 ||
        vpa_stored_amount(stored, "target", &m->target, err) < 0 ||
        vpa_stored_amount(stored, "open", &m->open_peak, err) < 0 ||
        vpa_stored_second(stored, "window", now, &m->window, err) < 0 ||
        vpa_stored_second(stored, "born", now, &m->born, err) < 0 ||
        vpa_stored_amount(stored, "bump", &m->bump, err) < 0 ||
        vpa_stored_second(stored, "bumpSince", now, &m->bump_until, err) < 0 ||
        vpa_stored_amount(stored, "kills", &kills, err) < 0)
        return vpa_wrap(err, "memory");
    m->kills = kills > VPA_PLUMB_KILLS_MAX ? VPA_PLUMB_KILLS_MAX : (unsigned)kills;
    m->bump_until = m->kills ? m->bump_until + 86400 : 0;
    m->bump = m->kills ? m->bump : 0.0;
    m->has_peak = m->open_peak > 0.0;
    m->known = true;
    return 0;
}

static int load(void *state, const void *prepared, const struct vpa_json *stored, vpa_time now,
                struct vpa_error *err)
{
    struct state *s = state;

    (void)prepared;
    if (vpa_stored_second(stored, "last", now, &s->last, err) < 0 ||
        load_cpu(s, vpa_json_find(stored, "cpu"), now, err) < 0)
        return -1;
    return load_memory(&s->memory, vpa_json_find(stored, "memory"), now, err);
}

const struct vpa_algorithm vpa_algorithm_plumb = {
    .name = "plumb",
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
