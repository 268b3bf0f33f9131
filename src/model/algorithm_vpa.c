/*
 * VPA's own algorithm as one among the others: an aggregate, the interval states of its replicas,
 * and the estimator, which is all of upstream's recommender (recommender.md of the specification).
 *
 * The recommender itself keeps the aggregates of this algorithm in the cluster model, where pods of
 * equal labels share them; this file serves those who replay usage through any algorithm. Numbers
 * are the same to the last digit: it is the same code.
 *
 * The stored form is the status of a checkpoint, whose weights are whole numbers, and the open
 * intervals of the replicas.
 */
#include <stdlib.h>
#include <string.h>

#include "algorithm_private.h"
#include "vpa/base/str.h"
#include "vpa/model/container.h"

enum {
    CPU_TARGET,
    CPU_LOWER,
    CPU_UPPER,
    MEMORY_TARGET,
    MEMORY_LOWER,
    MEMORY_UPPER,
    MARGIN,
    MIN_CPU,
    MIN_MEMORY,
    CPU_CONFIDENCE,
    MEMORY_CONFIDENCE,
    CPU_HALF_LIFE,
    MEMORY_HALF_LIFE,
    INTERVAL,
    INTERVAL_COUNT,
    OOM_RATIO,
    OOM_BYTES,
};

#define PERCENTILE(KEY, PRESET, HELP)                                                              \
    {                                                                                              \
        .key = KEY, .type = VPA_PARAMETER_NUMBER, .preset = PRESET, .least = 0, .most = 1,         \
        .help = HELP                                                                               \
    }
#define NUMBER(KEY, PRESET, MOST, HELP)                                                            \
    {                                                                                              \
        .key = KEY, .type = VPA_PARAMETER_NUMBER, .preset = PRESET, .least = 0, .most = MOST,      \
        .help = HELP                                                                               \
    }
#define SECONDS_OF_A_YEAR (365.0 * 24 * 3600)
#define TIME(KEY, PRESET, HELP) TIME_UP_TO(SECONDS_OF_A_YEAR, KEY, PRESET, HELP)
#define TIME_UP_TO(MOST, KEY, PRESET, HELP)                                                        \
    {                                                                                              \
        .key = KEY, .type = VPA_PARAMETER_DURATION, .preset = PRESET, .least = 1, .most = MOST,    \
        .help = HELP                                                                               \
    }
/* Policies of VPA objects may have all that their fields hold. */
#define ANY_THOUSANDTHS 1e16
#define ANY_SECONDS 1e10

/* Keys and presets of the recommender's flags. */
static const struct vpa_parameter parameters[] = {
    [CPU_TARGET] = PERCENTILE("target-cpu-percentile", "0.9", "CPU usage percentile of the target"),
    [CPU_LOWER] = PERCENTILE("recommendation-lower-bound-cpu-percentile", "0.5",
                             "CPU usage percentile of the lower bound"),
    [CPU_UPPER] = PERCENTILE("recommendation-upper-bound-cpu-percentile", "0.95",
                             "CPU usage percentile of the upper bound"),
    [MEMORY_TARGET] =
        PERCENTILE("target-memory-percentile", "0.9", "Memory peak percentile of the target"),
    [MEMORY_LOWER] = PERCENTILE("recommendation-lower-bound-memory-percentile", "0.5",
                                "Memory peak percentile of the lower bound"),
    [MEMORY_UPPER] = PERCENTILE("recommendation-upper-bound-memory-percentile", "0.95",
                                "Memory peak percentile of the upper bound"),
    [MARGIN] = NUMBER("recommendation-margin-fraction", "0.15", 100,
                      "Part of usage added as the safety margin"),
    [MIN_CPU] = NUMBER("pod-recommendation-min-cpu-millicores", "25", 1e9,
                       "Least CPU of a pod, shared evenly by its containers"),
    [MIN_MEMORY] = NUMBER("pod-recommendation-min-memory-mb", "250", 1e9,
                          "Least memory of a pod in MiB, shared evenly by its containers"),
    [CPU_CONFIDENCE] = TIME("confidence-interval-cpu", "24h",
                            "Time scale of the confidence multiplier of CPU bounds"),
    [MEMORY_CONFIDENCE] = TIME("confidence-interval-memory", "24h",
                               "Time scale of the confidence multiplier of memory bounds"),
    [CPU_HALF_LIFE] = TIME("cpu-histogram-decay-half-life", "24h",
                           "Time in which a CPU sample loses half of its weight"),
    [MEMORY_HALF_LIFE] = TIME("memory-histogram-decay-half-life", "24h",
                              "Time in which a memory sample loses half of its weight"),
    [INTERVAL] = TIME_UP_TO(ANY_SECONDS, "memory-aggregation-interval", "24h",
                            "Time in which only the peak of memory counts"),
    [INTERVAL_COUNT] = NUMBER("memory-aggregation-interval-count", "8", 1000,
                              "Number of such intervals after which an idle aggregate expires"),
    [OOM_RATIO] =
        NUMBER("oom-bump-up-ratio", "1.2", ANY_THOUSANDTHS, "Factor on memory after an OOM"),
    [OOM_BYTES] = NUMBER("oom-min-bump-up-bytes", "104857600", ANY_THOUSANDTHS,
                         "Bytes added at least after an OOM"),
};

/* ---- method ---- */

struct prepared {
    struct vpa_aggregation aggregation;
    struct vpa_estimator estimator;
};

static void *prepare(const struct vpa_parameter_value *v, struct vpa_error *err)
{
    struct prepared *p = vpa_xcalloc(1, sizeof(*p));
    struct vpa_aggregation *a = &p->aggregation;

    (void)err; /* the values do not depend on each other */
    vpa_aggregation_init(a);
    a->cpu_half_life = v[CPU_HALF_LIFE].duration;
    a->memory_half_life = v[MEMORY_HALF_LIFE].duration;
    a->memory_interval = v[INTERVAL].duration;
    a->memory_interval_count = (int64_t)v[INTERVAL_COUNT].number;
    a->oom_bump_up_ratio = v[OOM_RATIO].number;
    a->oom_min_bump_up = v[OOM_BYTES].number;
    p->estimator = (struct vpa_estimator){
        .percentile = {[VPA_TARGET] = {v[CPU_TARGET].number, v[MEMORY_TARGET].number},
                       [VPA_LOWER_BOUND] = {v[CPU_LOWER].number, v[MEMORY_LOWER].number},
                       [VPA_UPPER_BOUND] = {v[CPU_UPPER].number, v[MEMORY_UPPER].number}},
        .margin = v[MARGIN].number,
        .min_cpu_millicores = v[MIN_CPU].number,
        .min_memory_mb = v[MIN_MEMORY].number,
        .confidence_interval = {v[CPU_CONFIDENCE].duration, v[MEMORY_CONFIDENCE].duration},
    };
    return p;
}

static void discard(void *prepared)
{
    struct prepared *p = prepared;

    vpa_aggregation_release(&p->aggregation);
    free(p);
}

static vpa_duration memory(const void *prepared)
{
    const struct prepared *p = prepared;
    vpa_duration window;

    if (__builtin_mul_overflow(p->aggregation.memory_interval, p->aggregation.memory_interval_count,
                               &window))
        return INT64_MAX;
    return window;
}

/* ---- state ---- */

struct replica {
    uint64_t id;
    struct vpa_container_state state;
};
struct state {
    struct vpa_aggregate aggregate;
    struct replica *replicas; /* by id */
    size_t count;
    size_t capacity;
};

static void *make(const void *prepared, vpa_time now)
{
    const struct prepared *p = prepared;
    struct state *s = vpa_xcalloc(1, sizeof(*s));

    vpa_aggregate_init(&s->aggregate, &p->aggregation, now);
    return s;
}

static void drop(void *state)
{
    struct state *s = state;

    vpa_aggregate_release(&s->aggregate);
    free(s->replicas);
    free(s);
}

static vpa_time last_heard(const struct replica *r)
{
    vpa_time cpu = vpa_container_time(&r->state, VPA_LAST_CPU);
    vpa_time bytes = vpa_container_time(&r->state, VPA_LAST_MEMORY);

    return cpu > bytes ? cpu : bytes;
}

static void forget_silent(struct state *s)
{
    size_t oldest = 0;

    for (size_t i = 1; i < s->count; i++) {
        if (last_heard(&s->replicas[i]) < last_heard(&s->replicas[oldest]))
            oldest = i;
    }
    s->count--;
    memmove(&s->replicas[oldest], &s->replicas[oldest + 1],
            (s->count - oldest) * sizeof(*s->replicas));
}

/* Where the replica is, or would be. */
static size_t place_of(const struct state *s, uint64_t id)
{
    return VPA_LOWER_BOUND(i, s->count, s->replicas[i].id < id);
}

static struct replica *get_replica(struct state *s, uint64_t id)
{
    size_t at = place_of(s, id);

    if (at < s->count && s->replicas[at].id == id)
        return &s->replicas[at];
    if (s->count == VPA_REPLICAS_MAX) {
        forget_silent(s);
        at = place_of(s, id);
    }
    VPA_GROW(s->replicas, s->count, s->capacity);
    memmove(&s->replicas[at + 1], &s->replicas[at], (s->count - at) * sizeof(*s->replicas));
    s->count++;
    s->replicas[at].id = id;
    vpa_container_state_init(&s->replicas[at].state);
    return &s->replicas[at];
}

static bool add(void *state, const void *prepared, const struct vpa_usage *usage)
{
    struct state *s = state;
    struct replica *r = get_replica(s, usage->replica);

    (void)prepared;
    switch (usage->type) {
    case VPA_USAGE_CPU:
        return vpa_container_add_cpu(&r->state, &s->aggregate, usage->t, usage->amount, NULL);
    case VPA_USAGE_MEMORY:
    case VPA_USAGE_MEMORY_PEAK:
        return vpa_container_add_memory(&r->state, &s->aggregate, usage->t, usage->amount, NULL);
    case VPA_USAGE_OOM:
        break;
    }
    return vpa_container_record_oom(&r->state, &s->aggregate, usage->t, usage->amount, NULL,
                                    NULL) == 0;
}

static void merge(void *state, const void *prepared, void *other)
{
    struct state *s = state;
    struct state *from = other;

    (void)prepared;
    vpa_aggregate_merge(&s->aggregate, &from->aggregate);
    if (from->aggregate.last_peak > s->aggregate.last_peak)
        s->aggregate.last_peak = from->aggregate.last_peak;
    for (size_t i = 0; i < from->count; i++) {
        struct replica *r = get_replica(s, from->replicas[i].id);
        if (last_heard(r) < last_heard(&from->replicas[i]))
            r->state = from->replicas[i].state;
    }
}

static bool is_empty(const void *state)
{
    const struct state *s = state;

    return vpa_aggregate_is_empty(&s->aggregate) && vpa_time_is_unset(s->aggregate.last_peak);
}

static bool estimate(const void *state, const void *prepared, const struct vpa_question *question,
                     struct vpa_estimate *out)
{
    const struct state *s = state;
    const struct prepared *p = prepared;

    if (is_empty(s))
        return false;
    struct vpa_history history = vpa_aggregate_history(&s->aggregate);
    struct vpa_amounts minimum = vpa_estimator_minimum(&p->estimator, question->containers);
    vpa_estimator_estimate(&p->estimator, &history, &minimum, out);
    return true;
}

/* ---- stored form ---- */

static void save_replica(const struct replica *r, vpa_time now, struct vpa_json_writer *w)
{
    vpa_time end;
    vpa_amount peak;

    if (!vpa_container_open_peak(&r->state, now, &end, &peak))
        return;
    vpa_json_open_object(w);
    vpa_json_member_int(w, "replica", (int64_t)r->id);
    vpa_json_member_micro_time(w, "end", end);
    vpa_json_member_int(w, "usage", r->state.memory_peak);
    vpa_json_member_int(w, "oom", r->state.oom_peak);
    vpa_json_close_object(w);
}

/* Without the peaks of open intervals: loading adds them again. */
static void save(const void *state, const void *prepared, vpa_time now, struct vpa_json_writer *w)
{
    const struct prepared *p = prepared;
    const struct state *s = state;
    struct vpa_aggregate closed;
    struct vpa_checkpoint_status status;
    vpa_auto_arena arena = {0};
    vpa_time end;
    vpa_amount peak;

    vpa_aggregate_init(&closed, &p->aggregation, now);
    struct vpa_aggregate copied = s->aggregate; /* the fresh one is shifted, not the copy */
    vpa_aggregate_merge(&closed, &copied);
    for (size_t i = 0; i < s->count; i++) {
        if (vpa_container_open_peak(&s->replicas[i].state, now, &end, &peak))
            vpa_aggregate_subtract_memory(&closed, end, peak);
    }
    vpa_aggregate_save(&closed, now, &arena, &status);
    vpa_json_open_object(w);
    vpa_json_key(w, "status");
    vpa_checkpoint_status_encode(w, &status);
    vpa_json_member_array(w, "open");
    for (size_t i = 0; i < s->count; i++)
        save_replica(&s->replicas[i], now, w);
    vpa_json_close_array(w);
    vpa_json_close_object(w);
    vpa_aggregate_release(&closed);
}

static int resume(struct state *s, const struct prepared *p, const struct vpa_json *stored,
                  vpa_time now, struct vpa_error *err)
{
    struct vpa_open_interval interval = {0};
    int64_t id;

    if (!vpa_json_int64(vpa_json_find(stored, "replica"), &id) ||
        !vpa_json_int64(vpa_json_find(stored, "usage"), &interval.usage) ||
        !vpa_json_int64(vpa_json_find(stored, "oom"), &interval.oom) || interval.usage < 0 ||
        interval.oom < 0)
        return vpa_fail(err, VPA_INVALID, "open: replica, usage and oom are to be whole numbers");
    if (vpa_stored_time(stored, "end", &interval.end, err) < 0 ||
        vpa_aggregate_check_interval(&p->aggregation, &interval, now, err) < 0)
        return -1;
    vpa_container_resume(&get_replica(s, (uint64_t)id)->state, &s->aggregate, &interval, now);
    return 0;
}

static int load(void *state, const void *prepared, const struct vpa_json *stored, vpa_time now,
                struct vpa_error *err)
{
    const struct prepared *p = prepared;
    struct state *s = state;
    struct vpa_checkpoint checkpoint;
    vpa_auto_arena arena = {0};

    if (vpa_checkpoint_decode(&arena, stored, &checkpoint, err) < 0 ||
        vpa_aggregate_check_stored(&p->aggregation, &checkpoint.status, now, err) < 0 ||
        vpa_aggregate_load(&s->aggregate, &checkpoint.status, err) < 0)
        return -1;
    s->aggregate.last_peak = checkpoint.status.memory.reference;
    vpa_json_foreach (interval, vpa_json_find(stored, "open")) {
        if (resume(s, p, interval, now, err) < 0)
            return -1;
    }
    return 0;
}

const struct vpa_algorithm vpa_algorithm_vpa = {
    .name = VPA_ALGORITHM_VPA,
    .version = 1,
    .parameters = parameters,
    .parameter_count = VPA_COUNT(parameters),
    .prepare = prepare,
    .discard = discard,
    .memory = memory,
    .make = make,
    .drop = drop,
    .add = add,
    .merge = merge,
    .is_empty = is_empty,
    .estimate = estimate,
    .save = save,
    .load = load,
};
