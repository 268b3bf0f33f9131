#include "vpa/base/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_private.h"
#include "vpa/base/mem.h"

/* ---- locks ---- */

void metric_lock(struct vpa_metric *m)
{
    while (atomic_flag_test_and_set_explicit(&m->lock, memory_order_acquire))
        ;
}

void metric_unlock(struct vpa_metric *m)
{
    atomic_flag_clear_explicit(&m->lock, memory_order_release);
}

/* ---- series ---- */

size_t metric_label_count(const struct vpa_metric *m)
{
    size_t n = 0;

    while (n < VPA_METRIC_LABELS_MAX && m->labels[n])
        n++;
    return n;
}

size_t metric_label_order(const struct vpa_metric *m, size_t order[VPA_METRIC_LABELS_MAX])
{
    size_t n = metric_label_count(m);

    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        while (at > 0 && strcmp(m->labels[order[at - 1]], m->labels[i]) > 0) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    return n;
}

static void remember_order(struct vpa_metric *m)
{
    size_t order[VPA_METRIC_LABELS_MAX];
    size_t n = metric_label_order(m, order);

    for (size_t i = 0; i < n; i++)
        m->order[i] = (unsigned char)(order[i] + 1);
}

/* Under the lock. */
static void join_values(struct vpa_metric *m, const char *const *values,
                        char key[VPA_METRIC_VALUES_MAX])
{
    size_t len = 0;

    if (m->order[0] == 0)
        remember_order(m);
    for (size_t i = 0; i < VPA_METRIC_LABELS_MAX && m->order[i] > 0; i++) {
        const char *value = values[m->order[i] - 1];
        assert(value && "a value for every label");
        if (i && len < VPA_METRIC_VALUES_MAX - 1)
            key[len++] = METRIC_SEPARATOR;
        size_t room = VPA_METRIC_VALUES_MAX - 1 - len;
        size_t take = strnlen(value, room);
        memcpy(key + len, value, take);
        len += take;
    }
    key[len] = '\0';
}

static struct metric_series *new_series(const struct vpa_metric *m, const char *key)
{
    size_t len = strlen(key) + 1;
    struct metric_series *s = vpa_xcalloc(1, sizeof(*s) + len);

    memcpy(s->key, key, len);
    if (m->bound_count)
        s->buckets = vpa_xcalloc(m->bound_count, sizeof(*s->buckets));
    return s;
}

struct metric_series *metric_series_get(struct vpa_metric *m, const char *const *values)
{
    char key[VPA_METRIC_VALUES_MAX];

    join_values(m, values, key);
    struct metric_series *s = vpa_table_find(&m->series, key);
    if (s || m->series.count >= VPA_METRIC_SERIES_MAX)
        return s;
    s = new_series(m, key);
    vpa_table_put(&m->series, s->key, s);
    return s;
}

void vpa_metric_add_to(struct vpa_metric *metric, double delta, const char *const *values)
{
    metric_lock(metric);
    struct metric_series *s = metric_series_get(metric, values);
    if (s)
        s->value += delta;
    metric_unlock(metric);
}

void vpa_metric_start(struct vpa_metric *metric, const char *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        vpa_metric_add(metric, 0, values[i]);
}

void vpa_metric_set_to(struct vpa_metric *metric, double x, const char *const *values)
{
    metric_lock(metric);
    struct metric_series *s = metric_series_get(metric, values);
    if (s)
        s->value = x;
    metric_unlock(metric);
}

/* The first bucket whose bound is not below x; bound_count for +Inf (and NaN). */
static size_t bucket_of(const struct vpa_metric *m, double x)
{
    return VPA_LOWER_BOUND(i, m->bound_count, !(x <= m->bounds[i]));
}

void vpa_metric_observe_in(struct vpa_metric *metric, double x, const char *const *values)
{
    metric_lock(metric);
    struct metric_series *s = metric_series_get(metric, values);
    if (s) {
        size_t bucket = bucket_of(metric, x);
        if (bucket < metric->bound_count)
            s->buckets[bucket]++;
        s->count++;
        s->value += x;
    }
    metric_unlock(metric);
}

static struct metric_series *find_series(struct vpa_metric *m, const char *const *values)
{
    char key[VPA_METRIC_VALUES_MAX];

    join_values(m, values, key);
    return vpa_table_find(&m->series, key);
}

double vpa_metric_value_of(struct vpa_metric *metric, const char *const *values)
{
    double value = 0;

    metric_lock(metric);
    const struct metric_series *s = find_series(metric, values);
    if (s)
        value = metric->kind == VPA_METRIC_HISTOGRAM ? (double)s->count : s->value;
    metric_unlock(metric);
    return value;
}

double vpa_metric_sum_of(struct vpa_metric *metric, const char *const *values)
{
    double sum = 0;

    metric_lock(metric);
    const struct metric_series *s = find_series(metric, values);
    if (s)
        sum = s->value;
    metric_unlock(metric);
    return sum;
}

bool vpa_metric_remove_from(struct vpa_metric *metric, const char *const *values)
{
    metric_lock(metric);
    struct metric_series *s = find_series(metric, values);
    if (s)
        vpa_table_remove(&metric->series, s->key);
    metric_unlock(metric);
    if (s)
        free(s->buckets);
    free(s);
    return s != NULL;
}

size_t vpa_metric_series(struct vpa_metric *metric)
{
    metric_lock(metric);
    size_t count = metric->series.count;
    metric_unlock(metric);
    return count;
}

/* Takes the key apart. */
static void split_key(const struct vpa_metric *m, char *key,
                      const char *values[VPA_METRIC_LABELS_MAX])
{
    size_t count = metric_label_count(m);

    for (size_t i = 0; i < count; i++) {
        char *end = strchr(key, METRIC_SEPARATOR);

        values[m->order[i] - 1] = key;
        if (!end)
            end = key + strlen(key); /* the rest of one that was cut */
        key = *end ? end + 1 : end;
        *end = '\0';
    }
}

static void drop_series(struct vpa_metric *m, struct metric_series *s)
{
    vpa_table_remove(&m->series, s->key);
    free(s->buckets);
    free(s);
}

void vpa_metric_sweep(struct vpa_metric *metric,
                      bool (*keep)(void *ctx, const char *const *values, size_t count), void *ctx)
{
    size_t count = metric_label_count(metric);
    void *value;

    metric_lock(metric);
    for (size_t i = 0; vpa_table_next(&metric->series, &i, NULL, &value);) {
        struct metric_series *s = value;
        const char *values[VPA_METRIC_LABELS_MAX];
        char key[VPA_METRIC_VALUES_MAX];

        memcpy(key, s->key, strlen(s->key) + 1);
        split_key(metric, key, values);
        if (!keep(ctx, values, count))
            drop_series(metric, s);
    }
    metric_unlock(metric);
}

void vpa_metric_reset(struct vpa_metric *metric)
{
    void *value;

    metric_lock(metric);
    for (size_t i = 0; vpa_table_next(&metric->series, &i, NULL, &value);)
        drop_series(metric, value);
    vpa_table_release(&metric->series);
    metric->series = (struct vpa_table){0};
    metric_unlock(metric);
}

void vpa_metrics_release(struct vpa_metrics *metrics)
{
    for (size_t i = 0; i < metrics->count; i++)
        vpa_metric_reset(metrics->table[i]);
}
