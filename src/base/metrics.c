/*
 * Metrics and their exposition.
 *
 * A metric owns a hash table from joined label values ("3\x1fRecreate") to series. Values are
 * joined in the alphabetical order of the label names: sorting the keys then gives the order in
 * which the reference client prints, and the braces can be printed straight from the key.
 *
 * The webhook's thread counts while the loop serves /metrics, so each metric has a spin lock. It is
 * held for one look-up and addition, or while one family is printed.
 */
#include "vpa/base/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define SEPARATOR '\x1f'

struct series {
    double value; /* counter, gauge; sum of a histogram */
    uint64_t count;
    uint64_t *buckets; /* bound_count of them, not cumulated */
    char key[];
};

/* ---- locks ---- */

static void lock(struct vpa_metric *m)
{
    while (atomic_flag_test_and_set_explicit(&m->lock, memory_order_acquire))
        ;
}

static void unlock(struct vpa_metric *m)
{
    atomic_flag_clear_explicit(&m->lock, memory_order_release);
}

/* ---- series ---- */

static size_t label_count(const struct vpa_metric *m)
{
    size_t n = 0;

    while (n < VPA_METRIC_LABELS_MAX && m->labels[n])
        n++;
    return n;
}

/* order[i] is the index of the i-th label by name. */
static size_t label_order(const struct vpa_metric *m, size_t order[VPA_METRIC_LABELS_MAX])
{
    size_t n = label_count(m);

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

static void join_values(const struct vpa_metric *m, const char *const *values,
                        char key[VPA_METRIC_VALUES_MAX])
{
    size_t order[VPA_METRIC_LABELS_MAX], len = 0;
    size_t n = label_order(m, order);

    for (size_t i = 0; i < n; i++) {
        const char *value = values[order[i]];
        assert(value && "a value for every label");
        if (i && len < VPA_METRIC_VALUES_MAX - 1)
            key[len++] = SEPARATOR;
        size_t room = VPA_METRIC_VALUES_MAX - 1 - len;
        size_t take = strnlen(value, room);
        memcpy(key + len, value, take);
        len += take;
    }
    key[len] = '\0';
}

static struct series *new_series(const struct vpa_metric *m, const char *key)
{
    size_t len = strlen(key) + 1;
    struct series *s = vpa_xcalloc(1, sizeof(*s) + len);

    memcpy(s->key, key, len);
    if (m->bound_count)
        s->buckets = vpa_xcalloc(m->bound_count, sizeof(*s->buckets));
    return s;
}

/* Under the lock; NULL when there are too many already. */
static struct series *get_series(struct vpa_metric *m, const char *const *values)
{
    char key[VPA_METRIC_VALUES_MAX];

    join_values(m, values, key);
    struct series *s = vpa_table_find(&m->series, key);
    if (s || m->series.count >= VPA_METRIC_SERIES_MAX)
        return s;
    s = new_series(m, key);
    vpa_table_put(&m->series, s->key, s);
    return s;
}

void vpa_metric_add_to(struct vpa_metric *metric, double delta, const char *const *values)
{
    lock(metric);
    struct series *s = get_series(metric, values);
    if (s)
        s->value += delta;
    unlock(metric);
}

void vpa_metric_set_to(struct vpa_metric *metric, double x, const char *const *values)
{
    lock(metric);
    struct series *s = get_series(metric, values);
    if (s)
        s->value = x;
    unlock(metric);
}

/* The first bucket whose bound is not below x; bound_count for +Inf (and NaN). */
static size_t bucket_of(const struct vpa_metric *m, double x)
{
    size_t low = 0, high = m->bound_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (x <= m->bounds[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void vpa_metric_observe_in(struct vpa_metric *metric, double x, const char *const *values)
{
    lock(metric);
    struct series *s = get_series(metric, values);
    if (s) {
        size_t bucket = bucket_of(metric, x);
        if (bucket < metric->bound_count)
            s->buckets[bucket]++;
        s->count++;
        s->value += x;
    }
    unlock(metric);
}

static struct series *find_series(struct vpa_metric *m, const char *const *values)
{
    char key[VPA_METRIC_VALUES_MAX];

    join_values(m, values, key);
    return vpa_table_find(&m->series, key);
}

double vpa_metric_value_of(struct vpa_metric *metric, const char *const *values)
{
    double value = 0;

    lock(metric);
    const struct series *s = find_series(metric, values);
    if (s)
        value = metric->kind == VPA_METRIC_HISTOGRAM ? (double)s->count : s->value;
    unlock(metric);
    return value;
}

double vpa_metric_sum_of(struct vpa_metric *metric, const char *const *values)
{
    double sum = 0;

    lock(metric);
    const struct series *s = find_series(metric, values);
    if (s)
        sum = s->value;
    unlock(metric);
    return sum;
}

void vpa_metric_reset(struct vpa_metric *metric)
{
    const char *key;
    void *value;

    lock(metric);
    for (size_t i = 0; vpa_table_next(&metric->series, &i, &key, &value);) {
        struct series *s = value;
        vpa_table_remove(&metric->series, s->key);
        free(s->buckets);
        free(s);
    }
    vpa_table_release(&metric->series);
    metric->series = (struct vpa_table){0};
    unlock(metric);
}

/* ---- exposition ---- */

static void put_number(struct vpa_buf *out, double x)
{
    char text[VPA_DOUBLE_TEXT_MAX];

    vpa_double_format_go(x, text);
    vpa_buf_puts(out, text);
}

/* In label values a quote is escaped too, in help texts it is not. */
static void put_escaped(struct vpa_buf *out, const char *text, size_t len, bool quote)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\')
            vpa_buf_puts(out, "\\\\");
        else if (text[i] == '\n')
            vpa_buf_puts(out, "\\n");
        else if (text[i] == '"' && quote)
            vpa_buf_puts(out, "\\\"");
        else
            vpa_buf_putc(out, text[i]);
    }
}

/* {a="1",b="2"} with le="bound" as the last one unless bound is NULL. */
static void put_labels(struct vpa_buf *out, const struct vpa_metric *m, const char *key,
                       const char *bound)
{
    size_t order[VPA_METRIC_LABELS_MAX];
    size_t n = label_order(m, order);

    if (n == 0 && !bound)
        return;
    vpa_buf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(key, "\x1f");
        vpa_buf_printf(out, "%s%s=\"", i ? "," : "", m->labels[order[i]]);
        put_escaped(out, key, len, true);
        vpa_buf_putc(out, '"');
        key += len + (key[len] == SEPARATOR);
    }
    if (bound)
        vpa_buf_printf(out, "%sle=\"%s\"", n ? "," : "", bound);
    vpa_buf_putc(out, '}');
}

static void put_sample(struct vpa_buf *out, const struct vpa_metric *m, const char *suffix,
                       const char *key, const char *bound, double x)
{
    vpa_buf_puts(out, m->name);
    vpa_buf_puts(out, suffix);
    put_labels(out, m, key, bound);
    vpa_buf_putc(out, ' ');
    put_number(out, x);
    vpa_buf_putc(out, '\n');
}

static void put_series(struct vpa_buf *out, const struct vpa_metric *m, const struct series *s)
{
    char bound[VPA_DOUBLE_TEXT_MAX];
    uint64_t cumulated = 0;

    if (m->kind != VPA_METRIC_HISTOGRAM) {
        put_sample(out, m, "", s->key, NULL, s->value);
        return;
    }
    for (size_t i = 0; i < m->bound_count; i++) {
        cumulated += s->buckets[i];
        vpa_double_format_go(m->bounds[i], bound);
        put_sample(out, m, "_bucket", s->key, bound, (double)cumulated);
    }
    put_sample(out, m, "_bucket", s->key, "+Inf", (double)s->count);
    put_sample(out, m, "_sum", s->key, NULL, s->value);
    put_sample(out, m, "_count", s->key, NULL, (double)s->count);
}

static void put_head(struct vpa_buf *out, const char *name, const char *help,
                     enum vpa_metric_kind kind)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};

    vpa_buf_printf(out, "# HELP %s ", name);
    put_escaped(out, help, strlen(help), false);
    vpa_buf_printf(out, "\n# TYPE %s %s\n", name, kinds[kind]);
}

static void put_metric(struct vpa_buf *out, struct vpa_metric *m)
{
    lock(m);
    if (label_count(m) == 0 && m->series.count == 0)
        get_series(m, NULL);
    if (m->series.count) {
        put_head(out, m->name, m->help, m->kind);
        vpa_auto_free struct series **sorted = (struct series **)vpa_table_sorted(&m->series);
        for (size_t i = 0; i < m->series.count; i++)
            put_series(out, m, sorted[i]);
    }
    unlock(m);
}

/* ---- families of the process ---- */

/* A family that is not in the daemon's table, by its value at this moment. */
struct extra {
    const char *name, *help;
    enum vpa_metric_kind kind;
    double value; /* negative: not known */
};

static void put_requests(struct vpa_buf *out, struct vpa_metrics *metrics)
{
    const struct {
        int code;
        uint64_t count;
    } answers[] = {{200, atomic_load(&metrics->requests_ok)},
                   {500, atomic_load(&metrics->requests_failed)},
                   {503, atomic_load(&metrics->requests_busy)}};

    for (size_t i = 0; i < VPA_COUNT(answers); i++)
        vpa_buf_printf(out, "promhttp_metric_handler_requests_total{code=\"%d\"} %llu\n",
                       answers[i].code, (unsigned long long)answers[i].count);
}

static void put_extra(struct vpa_buf *out, struct vpa_metrics *metrics, const struct extra *e)
{
    put_head(out, e->name, e->help, e->kind);
    if (strcmp(e->name, "promhttp_metric_handler_requests_total") == 0) {
        put_requests(out, metrics);
        return;
    }
    vpa_buf_printf(out, "%s ", e->name);
    put_number(out, e->value);
    vpa_buf_putc(out, '\n');
}

#define EXTRAS_MAX 12

static size_t fill_extras(struct vpa_metrics *metrics, struct extra extras[EXTRAS_MAX])
{
    struct vpa_process_stats p = {0};
    size_t n = 0;

    extras[n++] =
        (struct extra){"promhttp_metric_handler_requests_in_flight", "Scrapes being served.",
                       VPA_METRIC_GAUGE, atomic_load(&metrics->requests_in_flight)};
    extras[n++] = (struct extra){"promhttp_metric_handler_requests_total",
                                 "Scrapes by HTTP status code.", VPA_METRIC_COUNTER, 0};
    if (!metrics->process)
        return n;
    metrics->process(&p);
    const struct extra process[] = {
        {"process_cpu_seconds_total", "User and system CPU time in seconds.", VPA_METRIC_COUNTER,
         p.cpu_seconds},
        {"process_max_fds", "Most open file descriptors.", VPA_METRIC_GAUGE, p.max_fds},
        {"process_network_receive_bytes_total", "Bytes received over the network.",
         VPA_METRIC_COUNTER, p.network_receive_bytes},
        {"process_network_transmit_bytes_total", "Bytes sent over the network.", VPA_METRIC_COUNTER,
         p.network_transmit_bytes},
        {"process_open_fds", "Open file descriptors.", VPA_METRIC_GAUGE, p.open_fds},
        {"process_resident_memory_bytes", "Resident memory in bytes.", VPA_METRIC_GAUGE,
         p.resident_bytes},
        {"process_start_time_seconds", "Start of the process, seconds since the Unix epoch.",
         VPA_METRIC_GAUGE, p.start_seconds},
        {"process_virtual_memory_bytes", "Virtual memory in bytes.", VPA_METRIC_GAUGE,
         p.virtual_bytes},
        {"process_virtual_memory_max_bytes", "Most virtual memory in bytes.", VPA_METRIC_GAUGE,
         p.virtual_max_bytes},
    };
    for (size_t i = 0; i < VPA_COUNT(process); i++)
        if (process[i].value >= 0)
            extras[n++] = process[i];
    return n;
}

/* ---- the page ---- */

struct family {
    const char *name;
    struct vpa_metric *metric; /* or */
    const struct extra *extra;
};

static int compare_families(const void *a, const void *b)
{
    const struct family *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static bool wanted(const char *name, const char *const *names, size_t name_count)
{
    for (size_t i = 0; i < name_count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return name_count == 0;
}

void vpa_metrics_write(struct vpa_metrics *metrics, const char *const *names, size_t name_count,
                       struct vpa_buf *out)
{
    struct extra extras[EXTRAS_MAX];
    size_t extra_count = fill_extras(metrics, extras), count = 0;
    vpa_auto_free struct family *families =
        vpa_xcalloc(metrics->count + extra_count, sizeof(*families));

    for (size_t i = 0; i < metrics->count; i++)
        families[count++] =
            (struct family){.name = metrics->table[i]->name, .metric = metrics->table[i]};
    for (size_t i = 0; i < extra_count; i++)
        families[count++] = (struct family){.name = extras[i].name, .extra = &extras[i]};
    qsort(families, count, sizeof(*families), compare_families);
    for (size_t i = 0; i < count; i++) {
        if (!wanted(families[i].name, names, name_count))
            continue;
        if (families[i].metric)
            put_metric(out, families[i].metric);
        else
            put_extra(out, metrics, families[i].extra);
    }
}

void vpa_metrics_release(struct vpa_metrics *metrics)
{
    for (size_t i = 0; i < metrics->count; i++)
        vpa_metric_reset(metrics->table[i]);
}
