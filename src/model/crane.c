/*
 * The percentile predictor of Crane, its durations and its queries.
 *
 * A histogram whose samples weigh their own value answers "below which size is 99 % of the load
 * served", so a rare but large peak counts more than long idle times. Weights and bucket ends are
 * those of the source to the last bit: linear buckets, division and multiplication by the bucket
 * size in doubles, the end of a bucket as its value.
 */
#include "vpa/model/crane.h"

#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/str.h"

#define PRESET_PERCENTILE 0.99
#define PRESET_MIN_WEIGHT 0.00001
#define PRESET_BUCKET 0.1
#define PRESET_MAX 100.0
#define PRESET_EPSILON 1e-10

/* ---- durations ---- */

int vpa_crane_parse_duration(const char *text, vpa_duration *out, struct vpa_error *err)
{
    size_t len = strlen(text);
    int64_t days;

    if (len < 2 || text[len - 1] != 'd')
        return vpa_duration_parse(text, out, err);
    vpa_auto_free char *number = vpa_xstrndup(text, len - 1);
    bool plus = number[0] == '+' && number[1] != '-';
    if (vpa_parse_int64(number + plus, &days, NULL) < 0)
        return vpa_duration_parse(text, out, err);
    *out = (vpa_duration)((uint64_t)days * (uint64_t)(24 * VPA_HOUR));
    return 0;
}

/* ---- predictor ---- */

static bool is_given(const char *text)
{
    return text && *text;
}

static int read_double(const char *text, double preset, double *out, struct vpa_error *err)
{
    struct vpa_error reason;

    *out = preset;
    if (!is_given(text) || vpa_double_parse(text, out, &reason) == 0)
        return 0;
    return vpa_fail(err, VPA_INVALID, "strconv.ParseFloat: parsing \"%.64s\": %s", text,
                    reason.text);
}

static int read_histogram(struct vpa_crane_predictor *p, const struct vpa_crane_config *c,
                          struct vpa_error *err)
{
    double size, most, first, growth, epsilon;
    vpa_duration half_life;

    if (is_given(c->half_life) && vpa_crane_parse_duration(c->half_life, &half_life, err) < 0)
        return -1;
    if (read_double(c->bucket_size, PRESET_BUCKET, &size, err) < 0 ||
        read_double(c->max_value, PRESET_MAX, &most, err) < 0 ||
        read_double(c->first_size, 0.0, &first, err) < 0 ||
        read_double(c->growth, 0.0, &growth, err) < 0 ||
        read_double(c->epsilon, PRESET_EPSILON, &epsilon, err) < 0)
        return -1;
    if (is_given(c->first_size) && is_given(c->growth) && is_given(c->max_value))
        return vpa_histogram_options_init_exponential(&p->options, most, first, 1.0 + growth,
                                                      epsilon, err);
    if (!is_given(c->bucket_size) || !is_given(c->max_value)) {
        size = PRESET_BUCKET;
        most = PRESET_MAX;
    }
    return vpa_histogram_options_init_linear(&p->options, most, size, epsilon, err);
}

int vpa_crane_predictor_init(struct vpa_crane_predictor *p, const struct vpa_crane_config *config,
                             struct vpa_error *err)
{
    struct vpa_crane_predictor made = {0};

    if (read_double(config->percentile, PRESET_PERCENTILE, &made.percentile, err) < 0 ||
        read_double(config->margin, 0.0, &made.margin, err) < 0 ||
        read_double(config->utilization, 1.0, &made.utilization, err) < 0 ||
        read_double(config->min_weight, PRESET_MIN_WEIGHT, &made.min_weight, err) < 0)
        return -1;
    if (vpa_crane_parse_duration(vpa_or_empty(config->interval), &made.interval, err) < 0 ||
        vpa_crane_parse_duration(vpa_or_empty(config->history_length), &made.history_length, err) <
            0)
        return -1;
    if (read_histogram(&made, config, err) < 0)
        return -1;
    *p = made;
    return 0;
}

void vpa_crane_predictor_release(struct vpa_crane_predictor *p)
{
    vpa_histogram_options_release(&p->options);
}

struct vpa_crane_window vpa_crane_predictor_window(const struct vpa_crane_predictor *p,
                                                   vpa_time now)
{
    vpa_time minutes = now / VPA_MINUTE - (now % VPA_MINUTE < 0);
    struct vpa_crane_window w = {.end = minutes * VPA_MINUTE, .step = p->interval};

    w.start = w.end - p->history_length;
    return w;
}

void vpa_crane_predictor_add(const struct vpa_crane_predictor *p, struct vpa_histogram *h,
                             double value)
{
    double weight = value > p->min_weight ? value : p->min_weight;

    /* The bucket is a conversion to 64 bits, which on the source's processor makes the smallest
     * number of what does not fit: it falls in the first bucket. */
    if (p->options.kind == VPA_HISTOGRAM_LINEAR &&
        vpa_trunc_int64(value / p->options.first) == INT64_MIN)
        value = 0.0;
    vpa_histogram_add(h, value, weight);
}

double vpa_crane_predictor_value(const struct vpa_crane_predictor *p, const struct vpa_histogram *h)
{
    double percentile = vpa_histogram_percentile(h, p->percentile);

    return percentile * (1.0 + p->margin) / p->utilization;
}

/* ---- OOM ---- */

int64_t vpa_crane_oom_need(int64_t bytes, double ratio)
{
    int64_t sum;
    vpa_amount product = vpa_amount_scale(bytes, ratio);

    if (__builtin_add_overflow(bytes, VPA_CRANE_OOM_MIN_BUMP, &sum))
        sum = INT64_MAX;
    return sum > product ? sum : product;
}

/* ---- queries ---- */

static const char *pod_suffix(const char *kind)
{
    static const struct {
        const char *kind, *suffix;
    } suffixes[] = {
        {"DaemonSet", "-[a-z0-9]{5}$"},
        {"ReplicaSet", "-[a-z0-9]+$"},
        {"Deployment", "-[a-z0-9]+-[a-z0-9]{5}$"},
        {"StatefulSet", "-[0-9]+$"},
    };

    for (size_t i = 0; i < VPA_COUNT(suffixes); i++) {
        if (strcmp(suffixes[i].kind, kind) == 0)
            return suffixes[i].suffix;
    }
    return "-.*";
}

/* Names are quoted: not all of them come from objects whose names were checked, and one that ends
 * its text asks for the usage of others. */
void vpa_crane_query(struct vpa_buf *out, enum vpa_kind kind, const char *workload_kind,
                     const char *name, const char *ns, const char *container)
{
    vpa_auto_free char *pods = vpa_xprintf("^%s%s", name, pod_suffix(workload_kind));
    bool cpu = kind == VPA_KIND_CPU;

    vpa_buf_printf(out, "%s{container!=\"POD\",namespace=",
                   cpu ? "irate(container_cpu_usage_seconds_total"
                       : "container_memory_working_set_bytes");
    vpa_quote_go(out, ns);
    vpa_buf_puts(out, ",pod=~");
    vpa_quote_go(out, pods);
    vpa_buf_puts(out, ",container=");
    vpa_quote_go(out, container);
    vpa_buf_printf(out, "}%s", cpu ? "[3m])" : "");
}
