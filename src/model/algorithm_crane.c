/*
 * Crane's algorithm, learning from the live samples (specification crane.md 10, mode live).
 *
 * Crane asks Prometheus for a week of samples and builds a histogram of them, every time. Here the
 * week is kept: seven histograms per resource, each of a seventh of the history length (a day), in
 * a ring. The oldest goes as a whole, so the window is between six and seven sevenths long; an
 * estimate adds the seven up. All samples count with the weight of their value (crane.h).
 *
 * Of OOM kills the largest within its history counts. Later smaller ones matter once it has aged,
 * so records are kept whose memory falls as their time rises; anything else is outdone for good.
 *
 * Crane has one value per container. The bounds are the same chain with the percentiles of bounds
 * and VPA's confidence factors, so that the updater acts alike for both algorithms.
 */
#include <stdlib.h>
#include <string.h>

#include "crane_private.h"

/* ---- state ---- */

static void *make(const void *prepared, vpa_time now)
{
    const struct crane_method *p = prepared;
    struct crane_state *s = vpa_xcalloc(1, sizeof(*s));

    (void)now;
    for (size_t kind = 0; kind < VPA_KINDS; kind++) {
        for (size_t i = 0; i < CRANE_SLOTS; i++)
            vpa_histogram_init(&s->slots[kind][i].h, &p->resources[kind].predictor.options);
    }
    s->first_sample = VPA_TIME_UNSET;
    s->last_sample = VPA_TIME_UNSET;
    return s;
}

static void drop(void *state)
{
    struct crane_state *s = state;

    for (size_t kind = 0; kind < VPA_KINDS; kind++) {
        for (size_t i = 0; i < CRANE_SLOTS; i++)
            vpa_histogram_release(&s->slots[kind][i].h);
    }
    free(s);
}

int64_t crane_slot_number(const struct crane_resource *r, vpa_time t)
{
    vpa_time n = t / r->slot - (t % r->slot < 0);

    return n < 0 ? 0 : n > INT64_MAX - CRANE_SLOTS ? INT64_MAX - CRANE_SLOTS : (int64_t)n;
}

bool crane_is_used(const struct crane_slot *slot)
{
    return slot->h.span > 0;
}

/* The slot of that number, emptied when it held an older one; NULL: the ring has gone on. */
struct crane_slot *crane_get_slot(struct crane_state *s, enum vpa_kind kind, int64_t number)
{
    struct crane_slot *slot = &s->slots[kind][number % CRANE_SLOTS];

    if (crane_is_used(slot) && slot->number > number)
        return NULL;
    if (crane_is_used(slot) && slot->number < number)
        vpa_histogram_clear(&slot->h);
    slot->number = number;
    return slot;
}

static void note_cpu(struct crane_state *s, vpa_time t)
{
    if (vpa_time_is_unset(s->first_sample) || t < s->first_sample)
        s->first_sample = t;
    if (t > s->last_sample)
        s->last_sample = t;
    if (s->sample_count < INT64_MAX)
        s->sample_count++;
}

/* Keeps times rising and bytes falling: what is neither newer nor larger says nothing. */
void crane_note_kill(struct crane_state *s, struct crane_kill kill)
{
    size_t at = 0, kept = 0;

    while (at < s->kill_count && s->kills[at].t <= kill.t)
        at++;
    if (at < s->kill_count && s->kills[at].bytes >= kill.bytes)
        return;
    while (kept < at && s->kills[kept].bytes > kill.bytes)
        kept++;
    if (kept == CRANE_KILLS_MAX)
        kept--; /* a container that is killed that often has larger ones before it */
    size_t rest = s->kill_count - at;
    if (kept + 1 + rest > CRANE_KILLS_MAX)
        rest = CRANE_KILLS_MAX - kept - 1;
    memmove(&s->kills[kept + 1], &s->kills[at], rest * sizeof(kill));
    s->kills[kept] = kill;
    s->kill_count = kept + 1 + rest;
}

static bool add(void *state, const void *prepared, const struct vpa_usage *usage)
{
    const struct crane_method *p = prepared;
    struct crane_state *s = state;
    enum vpa_kind kind = usage->type == VPA_USAGE_CPU ? VPA_KIND_CPU : VPA_KIND_MEMORY;
    const struct crane_resource *r = &p->resources[kind];

    if (usage->type == VPA_USAGE_OOM) {
        crane_note_kill(s, (struct crane_kill){usage->t, usage->amount});
        return true;
    }
    struct crane_slot *slot = crane_get_slot(s, kind, crane_slot_number(r, usage->t));
    if (!slot)
        return false;
    vpa_crane_predictor_add(&r->predictor, &slot->h,
                            kind == VPA_KIND_CPU ? vpa_amount_to_cores(usage->amount)
                                                 : vpa_amount_to_bytes(usage->amount));
    if (kind == VPA_KIND_CPU)
        note_cpu(s, usage->t);
    return true;
}

static void take_kills(void *state, const void *other)
{
    const struct crane_state *from = other;

    for (size_t i = 0; i < from->kill_count; i++)
        crane_note_kill(state, from->kills[i]);
}

static void merge(void *state, const void *prepared, void *other)
{
    struct crane_state *s = state;
    const struct crane_state *from = other;

    (void)prepared;
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        for (size_t i = 0; i < CRANE_SLOTS; i++) {
            const struct crane_slot *source = &from->slots[kind][i];
            struct crane_slot *slot =
                crane_is_used(source) ? crane_get_slot(s, kind, source->number) : NULL;
            if (slot)
                vpa_histogram_merge(&slot->h, &source->h);
        }
    }
    take_kills(s, from);
    if (from->sample_count > 0 &&
        (vpa_time_is_unset(s->first_sample) || from->first_sample < s->first_sample))
        s->first_sample = from->first_sample;
    if (from->last_sample > s->last_sample)
        s->last_sample = from->last_sample;
    if (__builtin_add_overflow(s->sample_count, from->sample_count, &s->sample_count))
        s->sample_count = INT64_MAX;
}

/* Whether the slot is within the window that ends now. */
static bool counts(const struct crane_slot *slot, const struct crane_resource *r, vpa_time now)
{
    return crane_is_used(slot) && slot->number > crane_slot_number(r, now) - CRANE_SLOTS;
}

static void age(void *state, const void *prepared, vpa_time now)
{
    const struct crane_method *p = prepared;
    struct crane_state *s = state;
    size_t gone = 0;

    for (size_t kind = 0; kind < VPA_KINDS; kind++) {
        for (size_t i = 0; i < CRANE_SLOTS; i++) {
            if (!counts(&s->slots[kind][i], &p->resources[kind], now))
                vpa_histogram_clear(&s->slots[kind][i].h);
        }
    }
    while (gone < s->kill_count && vpa_time_sub(now, s->kills[gone].t) > p->oom_history)
        gone++;
    memmove(s->kills, &s->kills[gone], (s->kill_count - gone) * sizeof(s->kills[0]));
    s->kill_count -= gone;
}

static bool is_empty(const void *state)
{
    const struct crane_state *s = state;

    for (size_t kind = 0; kind < VPA_KINDS; kind++) {
        for (size_t i = 0; i < CRANE_SLOTS; i++) {
            if (crane_is_used(&s->slots[kind][i]))
                return false;
        }
    }
    return s->kill_count == 0;
}

/* ---- estimate ---- */

static double history_percentile(const void *ctx, enum vpa_kind kind, double p)
{
    (void)ctx;
    (void)kind;
    (void)p;
    return 0.0; /* only the confidence is asked for */
}

static double confidence_of(const struct crane_state *s, enum vpa_kind kind)
{
    struct vpa_history history = {s, history_percentile, s->first_sample, s->last_sample,
                                  s->sample_count};
    struct vpa_estimator e;

    vpa_estimator_init(&e);
    return vpa_estimator_confidence(&e, &history, kind);
}

/* False without a sample in the window. */
static bool estimate_kind(const struct crane_state *s, const struct crane_method *p,
                          enum vpa_kind kind, vpa_time now, struct vpa_estimate *out)
{
    const struct crane_resource *r = &p->resources[kind];
    double confidence = confidence_of(s, kind);
    struct vpa_histogram sum;

    vpa_histogram_init(&sum, &r->predictor.options);
    for (size_t i = 0; i < CRANE_SLOTS; i++) {
        if (counts(&s->slots[kind][i], r, now))
            vpa_histogram_merge(&sum, &s->slots[kind][i].h);
    }
    bool known = !vpa_histogram_is_empty(&sum);
    for (enum vpa_bound bound = VPA_TARGET; known && bound < VPA_BOUNDS; bound++) {
        struct vpa_crane_predictor predictor = r->predictor;
        predictor.percentile = r->bound[bound];
        double x = vpa_crane_predictor_value(&predictor, &sum) *
                   vpa_estimator_confidence_factor(bound, confidence);
        out->bound[bound].value[kind] =
            kind == VPA_KIND_CPU ? vpa_amount_from_cores(x) : vpa_amount_from_bytes(x);
    }
    vpa_histogram_release(&sum);
    return known;
}

static vpa_amount need_after_kills(const struct crane_state *s, const struct crane_method *p,
                                   vpa_time now)
{
    for (size_t i = 0; p->oom_protection && i < s->kill_count; i++) {
        if (vpa_time_sub(now, s->kills[i].t) <= p->oom_history)
            return vpa_crane_oom_need(s->kills[i].bytes, p->oom_ratio);
    }
    return 0;
}

static void raise_to_size(const struct crane_method *p, struct vpa_amounts *target)
{
    vpa_auto_arena arena = {0};
    struct vpa_quantity cpu, bytes;

    if (!p->use_sizes ||
        !vpa_crane_sizes_match(&p->sizes, target->value[VPA_KIND_CPU],
                               target->value[VPA_KIND_MEMORY], &arena, &cpu, &bytes))
        return;
    target->value[VPA_KIND_CPU] = vpa_quantity_milli_value(&cpu);
    target->value[VPA_KIND_MEMORY] = vpa_quantity_value(&bytes);
}

static bool estimate(const void *state, const void *prepared, const struct vpa_question *question,
                     struct vpa_estimate *out)
{
    const struct crane_method *p = prepared;
    const struct crane_state *s = state;
    struct vpa_amounts *target = &out->bound[VPA_TARGET];
    struct vpa_amounts *lower = &out->bound[VPA_LOWER_BOUND];

    if (vpa_time_sub(question->now, s->first_sample) < p->cooldown ||
        !estimate_kind(s, p, VPA_KIND_CPU, question->now, out) ||
        !estimate_kind(s, p, VPA_KIND_MEMORY, question->now, out) ||
        target->value[VPA_KIND_MEMORY] <= 0)
        return false;
    target->value[VPA_KIND_MEMORY] =
        vpa_amount_max(target->value[VPA_KIND_MEMORY], need_after_kills(s, p, question->now));
    for (size_t kind = 0; kind < VPA_KINDS; kind++) {
        if (lower->value[kind] > target->value[kind])
            lower->value[kind] = target->value[kind];
    }
    raise_to_size(p, target);
    return true;
}

/* ---- the algorithm ---- */

const struct vpa_algorithm vpa_algorithm_crane = {
    .name = "crane",
    .version = 1,
    .parameters = crane_parameters,
    .parameter_count = CRANE_PARAMETERS,
    .prepare = crane_prepare,
    .discard = crane_discard,
    .memory = crane_memory,
    .make = make,
    .drop = drop,
    .add = add,
    .merge = merge,
    .take_kills = take_kills,
    .age = age,
    .is_empty = is_empty,
    .estimate = estimate,
    .save = crane_save,
    .load = crane_load,
};
