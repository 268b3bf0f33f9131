/*
 * The exposition of metrics, in two formats: Prometheus' text and OpenMetrics 1.0.
 *
 * OpenMetrics wants counters to end in _total. Some of upstream's do not, and a name that depended
 * on the format would break whoever asks for it: such a counter keeps its name and is of type
 * unknown there.
 */
#include "vpa/base/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "metrics_private.h"
#include "vpa/base/math.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define BOUND_TEXT_MAX (VPA_DOUBLE_TEXT_MAX + 2)
#define TOTAL "_total"

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
    size_t n = metric_label_order(m, order);

    if (n == 0 && !bound)
        return;
    vpa_buf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(key, "\x1f");
        vpa_buf_printf(out, "%s%s=\"", i ? "," : "", m->labels[order[i]]);
        put_escaped(out, key, len, true);
        vpa_buf_putc(out, '"');
        key += len + (key[len] == METRIC_SEPARATOR);
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

/* OpenMetrics wants the bound 1 as 1.0. */
static void format_bound(enum vpa_exposition format, double bound, char text[BOUND_TEXT_MAX])
{
    vpa_double_format_go(bound, text);
    if (format == VPA_EXPOSITION_OPENMETRICS && !strpbrk(text, ".e"))
        memcpy(text + strlen(text), ".0", sizeof(".0"));
}

static void put_series(struct vpa_buf *out, enum vpa_exposition format, const struct vpa_metric *m,
                       const struct metric_series *s)
{
    char bound[BOUND_TEXT_MAX];
    uint64_t cumulated = 0;

    if (m->kind != VPA_METRIC_HISTOGRAM) {
        put_sample(out, m, "", s->key, NULL, s->value);
        return;
    }
    for (size_t i = 0; i < m->bound_count; i++) {
        cumulated += s->buckets[i];
        format_bound(format, m->bounds[i], bound);
        put_sample(out, m, "_bucket", s->key, bound, (double)cumulated);
    }
    put_sample(out, m, "_bucket", s->key, "+Inf", (double)s->count);
    put_sample(out, m, "_sum", s->key, NULL, s->value);
    put_sample(out, m, "_count", s->key, NULL, (double)s->count);
}

static void put_head(struct vpa_buf *out, enum vpa_exposition format, const char *name,
                     const char *help, enum vpa_metric_kind kind)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    bool open = format == VPA_EXPOSITION_OPENMETRICS;
    const char *type = kinds[kind];
    int len = (int)strlen(name);

    if (open && kind == VPA_METRIC_COUNTER) {
        if (vpa_str_ends_with(name, TOTAL))
            len -= (int)strlen(TOTAL);
        else
            type = "unknown";
    }
    vpa_buf_printf(out, "# HELP %.*s ", len, name);
    put_escaped(out, help, strlen(help), open);
    vpa_buf_printf(out, "\n# TYPE %.*s %s\n", len, name, type);
}

static void put_metric(struct vpa_buf *out, enum vpa_exposition format, struct vpa_metric *m)
{
    metric_lock(m);
    if (metric_label_count(m) == 0 && m->series.count == 0)
        metric_series_get(m, NULL);
    if (m->series.count) {
        put_head(out, format, m->name, m->help, m->kind);
        vpa_auto_free struct metric_series **sorted =
            (struct metric_series **)vpa_table_sorted(&m->series);
        for (size_t i = 0; i < m->series.count; i++)
            put_series(out, format, m, sorted[i]);
    }
    metric_unlock(m);
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

static void put_extra(struct vpa_buf *out, enum vpa_exposition format, struct vpa_metrics *metrics,
                      const struct extra *e)
{
    put_head(out, format, e->name, e->help, e->kind);
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

void vpa_metrics_write(struct vpa_metrics *metrics, enum vpa_exposition format,
                       const char *const *names, size_t name_count, struct vpa_buf *out)
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
            put_metric(out, format, families[i].metric);
        else
            put_extra(out, format, metrics, families[i].extra);
    }
    if (format == VPA_EXPOSITION_OPENMETRICS)
        vpa_buf_puts(out, "# EOF\n");
}
