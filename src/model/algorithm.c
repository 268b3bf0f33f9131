/*
 * Algorithms by name, and the knowledge that any of them gathers: what is common to all.
 *
 * A knowledge is an opaque state of its algorithm under a method, with two facts that every caller
 * wants (the newest sample, how many). Its stored form wraps the state in an object that says whose
 * it is, so that a state is never read by an algorithm or a version that does not understand it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm_private.h"
#include "vpa/base/str.h"
#include "vpa/model/window_signal.h"

/* How far the clock of who stored a state may be ahead. */
#define CLOCKS_APART (24 * VPA_HOUR)
/* Later than any clock, and a number of nanoseconds in 64 bits. */
#define ANY_SECOND 9000000000

/* The registry, VPA's own first. */
static const struct vpa_algorithm *const algorithms[] = {
    &vpa_algorithm_vpa,          &vpa_algorithm_crane, &vpa_algorithm_autopilot,
    &vpa_algorithm_autopilot_ml, &vpa_algorithm_plumb,
};

struct vpa_method {
    const struct vpa_algorithm *algorithm;
    struct vpa_parameters parameters;
    void *prepared;
    size_t references;
};

struct vpa_knowledge {
    struct vpa_method *method;
    void *state;
    vpa_time first_sample;
    vpa_time last_sample;
    vpa_time stored_until; /* the last sample when it was stored; unset: it was not */
    int64_t samples;
};

/* ---- algorithms ---- */

const struct vpa_algorithm *const *vpa_algorithms(size_t *count)
{
    *count = VPA_COUNT(algorithms);
    return algorithms;
}

const struct vpa_algorithm *vpa_algorithm_find(const char *name)
{
    for (size_t i = 0; i < VPA_COUNT(algorithms); i++) {
        if (strcmp(algorithms[i]->name, name) == 0)
            return algorithms[i];
    }
    return NULL;
}

const char *vpa_algorithm_name(const struct vpa_algorithm *a)
{
    return a->name;
}

const struct vpa_parameter *vpa_algorithm_parameters(const struct vpa_algorithm *a, size_t *count)
{
    *count = a->parameter_count;
    return a->parameters;
}

/* ---- methods ---- */

struct vpa_method *vpa_method_new(const struct vpa_parameters *p, struct vpa_error *err)
{
    void *prepared = p->algorithm->prepare(p->values, err);

    if (!prepared) {
        vpa_error_wrap(err, "algorithm %s", p->algorithm->name);
        return NULL;
    }
    struct vpa_method *m = vpa_xcalloc(1, sizeof(*m));
    m->algorithm = p->algorithm;
    vpa_parameters_copy(&m->parameters, p);
    m->prepared = prepared;
    m->references = 1;
    return m;
}

struct vpa_method *vpa_method_ref(struct vpa_method *m)
{
    m->references++;
    return m;
}

void vpa_method_unref(struct vpa_method *m)
{
    if (!m || --m->references)
        return;
    m->algorithm->discard(m->prepared);
    vpa_parameters_release(&m->parameters);
    free(m);
}

const struct vpa_algorithm *vpa_method_algorithm(const struct vpa_method *m)
{
    return m->algorithm;
}

const struct vpa_parameters *vpa_method_parameters(const struct vpa_method *m)
{
    return &m->parameters;
}

vpa_duration vpa_method_memory(const struct vpa_method *m)
{
    return m->algorithm->memory(m->prepared);
}

/* ---- knowledge ---- */

struct vpa_knowledge *vpa_knowledge_new(struct vpa_method *m, vpa_time now)
{
    struct vpa_knowledge *k = vpa_xcalloc(1, sizeof(*k));

    k->method = vpa_method_ref(m);
    k->state = m->algorithm->make(m->prepared, now);
    k->first_sample = VPA_TIME_UNSET;
    k->last_sample = VPA_TIME_UNSET;
    k->stored_until = VPA_TIME_UNSET;
    return k;
}

void vpa_knowledge_free(struct vpa_knowledge *k)
{
    if (!k)
        return;
    k->method->algorithm->drop(k->state);
    vpa_method_unref(k->method);
    free(k);
}

const struct vpa_method *vpa_knowledge_method(const struct vpa_knowledge *k)
{
    return k->method;
}

/* Saturated: a stored count may say anything. */
static int64_t add_counts(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* A new process is told again of the evictions of the last hour. */
static bool is_known_kill(const struct vpa_knowledge *k, const struct vpa_usage *usage)
{
    return usage->type == VPA_USAGE_OOM && !vpa_time_is_unset(k->stored_until) &&
           usage->t <= k->stored_until;
}

bool vpa_knowledge_add(struct vpa_knowledge *k, const struct vpa_usage *usage)
{
    const struct vpa_method *m = k->method;
    struct vpa_usage taken = *usage;

    if (is_known_kill(k, usage))
        return false;
    /* More is not stored, so that it could be added, and the state never be read again. */
    if (taken.amount > VPA_AMOUNT_MAX)
        taken.amount = VPA_AMOUNT_MAX;
    if (taken.amount < 0 || !m->algorithm->add(k->state, m->prepared, &taken))
        return false;
    if (taken.t > k->last_sample)
        k->last_sample = taken.t;
    if (vpa_time_is_unset(k->first_sample) || taken.t < k->first_sample)
        k->first_sample = taken.t;
    if (taken.type == VPA_USAGE_CPU)
        k->samples = add_counts(k->samples, 1);
    return true;
}

void vpa_knowledge_merge(struct vpa_knowledge *k, struct vpa_knowledge *other)
{
    k->method->algorithm->merge(k->state, k->method->prepared, other->state);
    if (other->last_sample > k->last_sample)
        k->last_sample = other->last_sample;
    if (vpa_time_is_unset(k->first_sample) ||
        (!vpa_time_is_unset(other->first_sample) && other->first_sample < k->first_sample))
        k->first_sample = other->first_sample;
    k->samples = add_counts(k->samples, other->samples);
}

void vpa_knowledge_take_kills(struct vpa_knowledge *k, const struct vpa_knowledge *other)
{
    if (k->method->algorithm->take_kills)
        k->method->algorithm->take_kills(k->state, other->state);
}

void vpa_knowledge_age(struct vpa_knowledge *k, vpa_time now)
{
    if (k->method->algorithm->age)
        k->method->algorithm->age(k->state, k->method->prepared, now);
}

bool vpa_knowledge_estimate(const struct vpa_knowledge *k, const struct vpa_question *question,
                            struct vpa_estimate *out)
{
    const struct vpa_method *m = k->method;
    struct vpa_estimate estimate;

    if (!m->algorithm->estimate(k->state, m->prepared, question, &estimate))
        return false;
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        vpa_amount target = estimate.bound[VPA_TARGET].value[kind];
        vpa_amount *lower = &estimate.bound[VPA_LOWER_BOUND].value[kind];
        vpa_amount *upper = &estimate.bound[VPA_UPPER_BOUND].value[kind];

        /* VPA's own bounds are upstream's, whatever order its flags bring them in. */
        if (m->algorithm == &vpa_algorithm_vpa)
            continue;
        *lower = vpa_amount_max(*lower < target ? *lower : target, 0);
        *upper = vpa_amount_max(*upper, target);
    }
    *out = estimate;
    return true;
}

#define LOWER_SHARE 0.9
#define UPPER_SHARE 1.25

void vpa_band_set(struct vpa_estimate *out, int64_t seconds, enum vpa_kind kind, double amount)
{
    double days = (double)((seconds > 0 ? seconds : 0) + VPA_WINDOW_SECONDS) / 86400.0;
    double lower = LOWER_SHARE * vpa_estimator_confidence_factor(VPA_LOWER_BOUND, days);
    double upper = UPPER_SHARE * vpa_estimator_confidence_factor(VPA_UPPER_BOUND, days);

    out->bound[VPA_TARGET].value[kind] = vpa_amount_from_double(amount);
    out->bound[VPA_LOWER_BOUND].value[kind] = vpa_amount_from_double(amount * lower);
    out->bound[VPA_UPPER_BOUND].value[kind] = vpa_amount_from_double(ceil(amount * upper));
}

bool vpa_knowledge_is_empty(const struct vpa_knowledge *k)
{
    return k->method->algorithm->is_empty(k->state);
}

vpa_time vpa_knowledge_first_sample(const struct vpa_knowledge *k)
{
    return k->first_sample;
}

vpa_time vpa_knowledge_last_sample(const struct vpa_knowledge *k)
{
    return k->last_sample;
}

int64_t vpa_knowledge_sample_count(const struct vpa_knowledge *k)
{
    return k->samples;
}

/* ---- stored form ---- */

void vpa_knowledge_save(const struct vpa_knowledge *k, vpa_time now, struct vpa_json_writer *w)
{
    const struct vpa_algorithm *a = k->method->algorithm;

    vpa_json_open_object(w);
    vpa_json_member_string(w, "algorithm", a->name);
    vpa_json_member_int(w, "version", a->version);
    vpa_json_member_micro_time(w, "firstSample", k->first_sample);
    vpa_json_member_micro_time(w, "lastSample", k->last_sample);
    vpa_json_member_int(w, "samples", k->samples);
    vpa_json_key(w, "state");
    a->save(k->state, k->method->prepared, now, w);
    vpa_json_close_object(w);
}

int vpa_stored_number(const struct vpa_json *object, const char *name, double *out,
                      struct vpa_error *err)
{
    const struct vpa_json *node = vpa_json_find(object, name);
    double x = 0.0;

    if (!vpa_json_is_null(node) && (!vpa_json_double(node, &x) || !isfinite(x)))
        return vpa_fail(err, VPA_INVALID, "%s is not a number", name);
    *out = x;
    return 0;
}

int vpa_stored_time(const struct vpa_json *object, const char *name, vpa_time *out,
                    struct vpa_error *err)
{
    const struct vpa_json *node = vpa_json_find(object, name);
    const char *text = vpa_json_string(node);
    vpa_time t = VPA_TIME_UNSET;

    if (!vpa_json_is_null(node) &&
        (!text || (vpa_time_parse(text, &t, NULL) < 0 && vpa_time_parse_micro(text, &t, NULL) < 0)))
        return vpa_fail(err, VPA_INVALID, "%s is not a time", name);
    *out = t;
    return 0;
}

static int check_version(const struct vpa_algorithm *a, const struct vpa_json *stored,
                         struct vpa_error *err)
{
    const char *name = vpa_json_string(vpa_json_find(stored, "algorithm"));
    int32_t n = 0;

    if (!vpa_str_eq(name, a->name))
        return vpa_fail(err, VPA_INVALID, "state of algorithm \"%.32s\", not of %s",
                        vpa_or_empty(name), a->name);
    vpa_json_int32(vpa_json_find(stored, "version"), &n); /* else it stays 0 */
    if (n < 1 || n > a->version)
        return vpa_fail(err, VPA_INVALID, "version %ld of the state is not known, only 1 to %d",
                        (long)n, a->version);
    return 0;
}

static int read_facts(struct vpa_knowledge *k, const struct vpa_json *stored, vpa_time now,
                      struct vpa_error *err)
{
    const struct vpa_json *samples = vpa_json_find(stored, "samples");

    if (vpa_stored_time(stored, "firstSample", &k->first_sample, err) < 0 ||
        vpa_stored_time(stored, "lastSample", &k->last_sample, err) < 0)
        return -1;
    if (k->last_sample > now + CLOCKS_APART) /* it would never be old */
        return vpa_fail(err, VPA_INVALID, "lastSample is later than now");
    if (!vpa_json_is_null(samples) && (!vpa_json_int64(samples, &k->samples) || k->samples < 0))
        return vpa_fail(err, VPA_INVALID, "samples is not a count");
    return 0;
}

/* latest: what is stored is of no later time. */
static struct vpa_knowledge *load(struct vpa_method *m, const struct vpa_json *stored, vpa_time now,
                                  vpa_time latest, struct vpa_error *err)
{
    const struct vpa_algorithm *a = m->algorithm;

    if (check_version(a, stored, err) < 0)
        return NULL;
    struct vpa_knowledge *k = vpa_knowledge_new(m, now);
    if (read_facts(k, stored, latest, err) < 0 ||
        a->load(k->state, m->prepared, vpa_json_find(stored, "state"), latest, err) < 0) {
        vpa_knowledge_free(k);
        return NULL;
    }
    return k;
}

struct vpa_knowledge *vpa_knowledge_load(struct vpa_method *m, const struct vpa_json *stored,
                                         vpa_time now, struct vpa_error *err)
{
    struct vpa_knowledge *k = load(m, stored, now, now, err);

    if (k)
        k->stored_until = k->last_sample;
    return k;
}

struct vpa_knowledge *vpa_knowledge_convert(const struct vpa_knowledge *k, struct vpa_method *m,
                                            vpa_time now)
{
    vpa_auto_arena arena = {0};
    vpa_auto_buf text = VPA_BUF(VPA_KNOWLEDGE_TEXT_MAX);
    struct vpa_json_writer w;
    const struct vpa_json *root;
    struct vpa_knowledge *converted = NULL;

    vpa_json_writer_init(&w, &text);
    vpa_knowledge_save(k, now, &w);
    /* Of the future there is nothing in it, whatever the clock says. */
    if (vpa_json_parse(&arena, vpa_buf_text(&text), text.len, &root, NULL) == 0)
        converted = load(m, root, now, vpa_time_from_unix(ANY_SECOND, 0), NULL);
    return converted ? converted : vpa_knowledge_new(m, now);
}
