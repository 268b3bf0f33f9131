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

#define OWN_MAX 12

/* What is not in the daemon's table, as it is at this moment. */
static size_t fill_own(struct vpa_metrics *metrics, struct vpa_metric own[OWN_MAX])
{
    struct vpa_process_stats p = {0};
    size_t n = 0;

    own[n] = (struct vpa_metric)VPA_GAUGE("promhttp_metric_handler_requests_in_flight",
                                          "Scrapes being served.");
    vpa_metric_set(&own[n++], atomic_load(&metrics->requests_in_flight));
    own[n] = (struct vpa_metric)VPA_COUNTER("promhttp_metric_handler_requests_total",
                                            "Scrapes by HTTP status code.", "code");
    vpa_metric_add(&own[n], (double)atomic_load(&metrics->requests_ok), "200");
    vpa_metric_add(&own[n], (double)atomic_load(&metrics->requests_failed), "500");
    vpa_metric_add(&own[n++], (double)atomic_load(&metrics->requests_busy), "503");
    if (!metrics->process)
        return n;
    metrics->process(&p);
    const struct {
        struct vpa_metric metric;
        double value; /* negative: not known */
    } process[] = {
        {VPA_COUNTER("process_cpu_seconds_total", "User and system CPU time in seconds."),
         p.cpu_seconds},
        {VPA_GAUGE("process_max_fds", "Most open file descriptors."), p.max_fds},
        {VPA_COUNTER("process_network_receive_bytes_total", "Bytes received over the network."),
         p.network_receive_bytes},
        {VPA_COUNTER("process_network_transmit_bytes_total", "Bytes sent over the network."),
         p.network_transmit_bytes},
        {VPA_GAUGE("process_open_fds", "Open file descriptors."), p.open_fds},
        {VPA_GAUGE("process_resident_memory_bytes", "Resident memory in bytes."), p.resident_bytes},
        {VPA_GAUGE("process_start_time_seconds",
                   "Start of the process, seconds since the Unix epoch."),
         p.start_seconds},
        {VPA_GAUGE("process_virtual_memory_bytes", "Virtual memory in bytes."), p.virtual_bytes},
        {VPA_GAUGE("process_virtual_memory_max_bytes", "Most virtual memory in bytes."),
         p.virtual_max_bytes},
    };
    for (size_t i = 0; i < VPA_COUNT(process); i++) {
        if (process[i].value < 0)
            continue;
        own[n] = process[i].metric;
        vpa_metric_set(&own[n++], process[i].value);
    }
    return n;
}

/* ---- the page ---- */

static int by_name(const void *a, const void *b)
{
    const struct vpa_metric *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

void vpa_metrics_write(struct vpa_metrics *metrics, enum vpa_exposition format,
                       const char *const *names, size_t name_count, struct vpa_buf *out)
{
    struct vpa_metric own[OWN_MAX];
    size_t own_count = fill_own(metrics, own), count = metrics->count + own_count;
    vpa_auto_free struct vpa_metric **families = vpa_xcalloc(count, sizeof(struct vpa_metric *));

    for (size_t i = 0; i < count; i++)
        families[i] = i < own_count ? &own[i] : metrics->table[i - own_count];
    qsort(families, count, sizeof(struct vpa_metric *), by_name);
    for (size_t i = 0; i < count; i++)
        if (name_count == 0 || vpa_str_is_in(families[i]->name, names, name_count))
            put_metric(out, format, families[i]);
    for (size_t i = 0; i < own_count; i++)
        vpa_metric_reset(&own[i]);
    if (format == VPA_EXPOSITION_OPENMETRICS)
        vpa_buf_puts(out, "# EOF\n");
}
