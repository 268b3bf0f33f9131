#include "autopilot.h"

#include <math.h>
#include <stdlib.h>

#include "stored.h"
#include "vpa/model/window_signal.h"

/* Of silence, even where a statistic is of less than that: a job may come seldom. */
#define FORGET_SECONDS (8 * 24 * 3600)

struct state {
    const struct vpa_autopilot_signal *ops;
    void *signals[VPA_KINDS];
    struct vpa_oom_floor floor;
    double memory_peak; /* of the open window; all its replicas together */
    bool has_peak;
    int64_t window; /* the open one; 0: none yet */
    int64_t born;   /* the first one */
    int64_t last;   /* of the newest sample */
};

void vpa_autopilot_init(struct vpa_autopilot *p, const struct vpa_autopilot_signal *signal)
{
    p->signal = signal;
    vpa_buckets_init(&p->buckets[VPA_KIND_CPU], 0.001, 1000.0);
    vpa_buckets_init(&p->buckets[VPA_KIND_MEMORY], 1048576.0, 1e12);
}

vpa_duration vpa_autopilot_memory(const void *prepared)
{
    (void)prepared;
    return FORGET_SECONDS * VPA_SECOND;
}

static void init(struct state *s, const struct vpa_autopilot *p)
{
    *s = (struct state){.ops = p->signal};
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        s->signals[kind] = vpa_xcalloc(1, p->signal->size);
        p->signal->init(s->signals[kind], p, kind);
    }
    vpa_oom_floor_init(&s->floor);
}

static void release(struct state *s)
{
    for (size_t kind = 0; kind < VPA_KINDS; kind++) {
        s->ops->release(s->signals[kind]);
        free(s->signals[kind]);
    }
}

void *vpa_autopilot_make(const void *prepared, vpa_time now)
{
    struct state *s = vpa_xcalloc(1, sizeof(*s));

    (void)now;
    init(s, prepared);
    return s;
}

void vpa_autopilot_drop(void *state)
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
        s->ops->close(s->signals[VPA_KIND_CPU], s->window);
        if (s->has_peak) {
            s->ops->add(s->signals[VPA_KIND_MEMORY], s->window, s->memory_peak);
            s->ops->close(s->signals[VPA_KIND_MEMORY], s->window);
        }
    }
    s->has_peak = false;
    s->memory_peak = 0.0;
    s->window = window;
}

bool vpa_autopilot_add(void *state, const void *prepared, const struct vpa_usage *usage)
{
    struct state *s = state;
    int64_t window = vpa_window_of(usage->t);

    (void)prepared;
    if (!s->window)
        s->born = window;
    advance(s, window);
    s->last = window > s->last ? window : s->last;
    if (usage->type == VPA_USAGE_CPU) {
        s->ops->add(s->signals[VPA_KIND_CPU], s->window, vpa_amount_to_cores(usage->amount));
        return true;
    }
    double bytes = vpa_amount_to_bytes(usage->amount);
    if (usage->type == VPA_USAGE_OOM) {
        vpa_oom_floor_hit(&s->floor, s->window + VPA_WINDOW_SECONDS, bytes);
        bytes = s->ops->learns_floor ? s->floor.value : bytes;
    }
    if (!s->has_peak || bytes > s->memory_peak)
        s->memory_peak = bytes;
    s->has_peak = true;
    return true;
}

void vpa_autopilot_merge(void *state, const void *prepared, void *other)
{
    struct state *s = state;
    const struct state *from = other;

    (void)prepared;
    if (!from->window)
        return;
    for (size_t kind = 0; kind < VPA_KINDS; kind++)
        s->ops->merge(s->signals[kind], from->signals[kind]);
    vpa_oom_floor_merge(&s->floor, &from->floor);
    if (from->has_peak && from->memory_peak > s->memory_peak)
        s->memory_peak = from->memory_peak;
    s->has_peak = s->has_peak || from->has_peak;
    s->born = s->window && s->born < from->born ? s->born : from->born;
    s->window = s->window > from->window ? s->window : from->window;
    s->last = s->last > from->last ? s->last : from->last;
}

void vpa_autopilot_age(void *state, const void *prepared, vpa_time now)
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

bool vpa_autopilot_is_empty(const void *state)
{
    return ((const struct state *)state)->window == 0;
}

/* Whole millicores and bytes, rounded up: a container of less than a millicore needs one. */
bool vpa_autopilot_estimate(const void *state, const void *prepared,
                            const struct vpa_question *question, struct vpa_estimate *out)
{
    const struct state *s = state;
    double cores = s->ops->limit(s->signals[VPA_KIND_CPU]);
    double bytes = s->ops->limit(s->signals[VPA_KIND_MEMORY]);
    double floor = vpa_oom_floor_at(&s->floor, vpa_time_unix_nanos(question->now) / VPA_SECOND);
    int64_t seen = s->window - s->born;

    (void)prepared;
    if (cores <= 0.0 || bytes <= 0.0)
        return false;
    double millis = ceil(cores * 1000.0 - 1e-6);
    vpa_band_set(out, seen, VPA_KIND_CPU, millis > 1.0 ? millis : 1.0);
    vpa_band_set(out, seen, VPA_KIND_MEMORY, ceil(bytes > floor ? bytes : floor));
    return true;
}

/* ---- stored form ---- */

void vpa_autopilot_save(const void *state, const void *prepared, vpa_time now,
                        struct vpa_json_writer *w)
{
    const struct state *s = state;

    (void)prepared;
    (void)now;
    vpa_json_open_object(w);
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        vpa_json_member_object(w, vpa_kind_name(kind));
        s->ops->save(s->signals[kind], w);
        vpa_json_close_object(w);
    }
    vpa_stored_put_number(w, "floor", s->floor.value);
    vpa_json_member_int(w, "floorSince",
                        s->floor.until ? s->floor.until - s->floor.keep_seconds : 0);
    vpa_stored_put_number(w, "peak", s->has_peak ? s->memory_peak : 0.0);
    vpa_json_member_int(w, "window", s->window);
    vpa_json_member_int(w, "born", s->born);
    vpa_json_member_int(w, "last", s->last);
    vpa_json_close_object(w);
}

int vpa_autopilot_load(void *state, const void *prepared, const struct vpa_json *stored,
                       vpa_time now, struct vpa_error *err)
{
    struct state *s = state;

    (void)prepared;
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        const struct vpa_json *signal = vpa_json_find(stored, vpa_kind_name(kind));
        if (s->ops->load(s->signals[kind], signal, now, err) < 0)
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
