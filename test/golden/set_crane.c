/*
 * Set crane: Crane's percentile predictor, its evaluation of workloads, sizes, OOM records,
 * durations and signals.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "vpa/base/str.h"
#include "crane_signal.h"
#include "crane_workload.h"

/* ---- readers ---- */

static double number(const struct vpa_json *node)
{
    double x = 0.0;

    if (!vpa_json_double(node, &x))
        golden_read_double(node, &x);
    return x;
}

/* A time of day, RFC 3339. */
static vpa_time time_of(const struct vpa_json *node)
{
    vpa_time t = VPA_TIME_UNSET;
    const char *text = vpa_json_string(node);

    if (text && vpa_time_parse(text, &t, NULL) < 0)
        t = VPA_TIME_UNSET;
    return t;
}

static const char *time_text(struct golden_case *c, vpa_time t)
{
    char text[VPA_TIME_TEXT_MAX];

    vpa_time_format(t, text);
    return vpa_arena_strdup(c->arena, text);
}

static const char *duration_text(struct golden_case *c, vpa_duration d)
{
    char text[VPA_DURATION_TEXT_MAX];

    vpa_duration_format(d, text);
    return vpa_arena_strdup(c->arena, text);
}

static struct vpa_quantity quantity(struct golden_case *c, const char *text)
{
    struct vpa_quantity q = vpa_quantity_units(0, VPA_DECIMAL_SI);

    if (text && vpa_quantity_parse(c->arena, text, &q, NULL) < 0)
        abort();
    return q;
}

/* Calls take with every sample of a list of series: numbers, and pairs [value, times]. */
static void each_sample(const struct vpa_json *list, void (*take)(void *ctx, double x), void *ctx)
{
    vpa_json_foreach (series, list) {
        vpa_json_foreach (entry, series) {
            const struct vpa_json *first = vpa_json_first(entry);
            int64_t times = 1;

            if (first)
                vpa_json_int64(vpa_json_next(first), &times);
            for (int64_t i = 0; i < times; i++)
                take(ctx, number(first ? first : entry));
        }
    }
}

static struct vpa_labels labels(struct golden_case *c, const struct vpa_json *object)
{
    size_t count = vpa_json_count(object);
    struct vpa_label *items = vpa_arena_alloc(c->arena, (count + 1) * sizeof(*items));
    size_t n = 0;

    vpa_json_foreach (member, object)
        items[n++] = (struct vpa_label){vpa_json_name(member), vpa_json_string(member)};
    return (struct vpa_labels){.items = items, .count = n, .present = true};
}

static void compare_window(struct golden_case *c, const char *label, const struct vpa_json *want,
                           const struct vpa_crane_window *got)
{
    golden_text(c, golden_label(c, "%s.start", label), vpa_json_find(want, "start"),
                time_text(c, got->start));
    golden_text(c, golden_label(c, "%s.end", label), vpa_json_find(want, "end"),
                time_text(c, got->end));
    golden_text(c, golden_label(c, "%s.step", label), vpa_json_find(want, "step"),
                duration_text(c, got->step));
}

/* ---- percentile ---- */

struct filling {
    const struct vpa_crane_predictor *predictor;
    struct vpa_histogram h;
};

static void fill(void *ctx, double x)
{
    struct filling *f = ctx;

    vpa_crane_predictor_add(f->predictor, &f->h, x);
}

static void run_percentile(struct golden_case *c)
{
    const struct vpa_json *in = GOLDEN_IN(c, "config");
    const struct vpa_json *histogram = vpa_json_find(in, "histogram");
    struct vpa_crane_config config = {
        .percentile = golden_text_of(in, "percentile"),
        .margin = golden_text_of(in, "marginFraction"),
        .utilization = golden_text_of(in, "targetUtilization"),
        .min_weight = golden_text_of(in, "minSampleWeight"),
        .interval = golden_text_of(in, "sampleInterval"),
        .history_length = golden_text_of(in, "historyLength"),
        .bucket_size = golden_text_of(histogram, "bucketSize"),
        .max_value = golden_text_of(histogram, "maxValue"),
        .first_size = golden_text_of(histogram, "firstBucketSize"),
        .growth = golden_text_of(histogram, "bucketSizeGrowthRatio"),
        .epsilon = golden_text_of(histogram, "epsilon"),
        .half_life = golden_text_of(histogram, "halfLife"),
    };
    struct vpa_crane_predictor p;
    struct vpa_error err = {0};

    if (vpa_crane_predictor_init(&p, &config, &err) < 0) {
        golden_text(c, "error", GOLDEN_OUT(c, "error"), err.text);
        return;
    }
    golden_text(c, "error", GOLDEN_OUT(c, "error"), NULL);
    struct filling f = {.predictor = &p};
    vpa_histogram_init(&f.h, &p.options);
    each_sample(GOLDEN_IN(c, "series"), fill, &f);
    double value = vpa_crane_predictor_value(&p, &f.h);
    if (isinf(value)) {
        golden_text(c, "hex", GOLDEN_OUT(c, "hex"), value > 0.0 ? "+Inf" : "-Inf");
        golden_text(c, "value", GOLDEN_OUT(c, "value"), value > 0.0 ? "+Inf" : "-Inf");
    } else {
        golden_double(c, "hex", GOLDEN_OUT(c, "hex"), value);
        golden_double(c, "value", GOLDEN_OUT(c, "value"), value);
    }
    struct vpa_crane_window window = vpa_crane_predictor_window(&p, time_of(GOLDEN_IN(c, "now")));
    compare_window(c, "window", GOLDEN_OUT(c, "window"), &window);
    vpa_histogram_release(&f.h);
    vpa_crane_predictor_release(&p);
}

/* ---- workloads ---- */

struct world {
    struct golden_case *c;
    const struct vpa_json *next_query;
    size_t queries;
};

/* "<container>/cpu" of the query's own text. */
static const char *series_key(struct golden_case *c, const char *query)
{
    const char *name = strstr(query, "container=\"");
    bool cpu = vpa_str_starts_with(query, "irate(");

    name += strlen("container=\"");
    return golden_label(c, "%.*s/%s", (int)strcspn(name, "\""), name, cpu ? "cpu" : "memory");
}

static int history(void *ctx, const char *query, const struct vpa_crane_window *window,
                   void (*take)(void *take_ctx, double value), void *take_ctx,
                   struct vpa_error *err)
{
    struct world *w = ctx;
    struct golden_case *c = w->c;
    const char *label = golden_label(c, "queries[%zu]", w->queries++);
    const char *key = series_key(c, query);
    bool failing = false;

    golden_text(c, golden_label(c, "%s.query", label), vpa_json_find(w->next_query, "query"),
                query);
    compare_window(c, label, w->next_query, window);
    w->next_query = w->next_query ? vpa_json_next(w->next_query) : NULL;
    vpa_json_bool(vpa_json_find(GOLDEN_IN(c, "failing"), key), &failing);
    if (failing)
        return vpa_fail(err, VPA_RETRY, "query failed");
    each_sample(vpa_json_find(GOLDEN_IN(c, "series"), key), take, take_ctx);
    return 0;
}

static struct vpa_crane_oom *read_records(struct golden_case *c, const struct vpa_json *list)
{
    struct vpa_crane_oom *items =
        vpa_arena_alloc(c->arena, (vpa_json_count(list) + 1) * sizeof(*items));
    size_t n = 0;

    vpa_json_foreach (record, list)
        items[n++] = (struct vpa_crane_oom){
            .ns = golden_text_of(record, "namespace"),
            .pod = golden_text_of(record, "pod"),
            .container = golden_text_of(record, "container"),
            .memory = quantity(c, golden_text_of(record, "memory")),
            .t = time_of(vpa_json_find(record, "oomAt")),
        };
    return items;
}

static int oom_records(void *ctx, const struct vpa_crane_oom **items, size_t *count,
                       struct vpa_error *err)
{
    struct world *w = ctx;
    bool fails = false;

    vpa_json_bool(GOLDEN_IN(w->c, "oomRecordsError"), &fails);
    if (fails)
        return vpa_fail(err, VPA_RETRY, "no records");
    *items = read_records(w->c, GOLDEN_IN(w->c, "oomRecords"));
    *count = vpa_json_count(GOLDEN_IN(w->c, "oomRecords"));
    return 0;
}

static struct vpa_crane_workload read_workload(struct golden_case *c)
{
    const struct vpa_json *in = GOLDEN_IN(c, "workload"), *list = GOLDEN_IN(c, "containers");
    struct vpa_crane_container *items =
        vpa_arena_alloc(c->arena, (vpa_json_count(list) + 1) * sizeof(*items));
    size_t n = 0;

    vpa_json_foreach (container, list) {
        const struct vpa_json *requests = vpa_json_find(container, "requests");
        items[n++] = (struct vpa_crane_container){
            .name = golden_text_of(container, "name"),
            .cpu = quantity(c, golden_text_of(requests, "cpu")),
            .memory = quantity(c, golden_text_of(requests, "memory")),
        };
    }
    return (struct vpa_crane_workload){.kind = golden_text_of(in, "kind"),
                                       .name = golden_text_of(in, "name"),
                                       .ns = golden_text_of(in, "namespace"),
                                       .containers = items,
                                       .container_count = n,
                                       .now = time_of(GOLDEN_IN(c, "now"))};
}

static void evaluate(struct golden_case *c, const struct vpa_crane_recommender *r)
{
    struct world world = {.c = c, .next_query = vpa_json_first(GOLDEN_OUT(c, "queries"))};
    struct vpa_crane_source source = {&world, history, oom_records};
    struct vpa_crane_workload workload = read_workload(c);
    struct vpa_crane_result result = {0};
    struct vpa_error err = {0};
    bool failed = vpa_crane_evaluate(r, &workload, &source, c->arena, &result, &err) < 0;

    if (failed || GOLDEN_OUT(c, "error"))
        golden_bool(c, "error", GOLDEN_OUT(c, "error"), failed);
    golden_text(c, "why", GOLDEN_OUT(c, "why"), failed ? err.text : NULL);
    golden_count(c, "queries", GOLDEN_OUT(c, "queries"), world.queries);
    golden_text(c, "value", GOLDEN_OUT(c, "value"), result.value);
    golden_text(c, "recommendedInfo", GOLDEN_OUT(c, "recommendedInfo"), result.recommended);
    golden_text(c, "currentInfo", GOLDEN_OUT(c, "currentInfo"), result.current);
    golden_text(c, "action", GOLDEN_OUT(c, "action"), result.action);
}

static void run_resource(struct golden_case *c)
{
    struct vpa_labels config = labels(c, GOLDEN_IN(c, "config"));
    struct vpa_labels rule = labels(c, GOLDEN_IN(c, "ruleConfig"));
    struct vpa_crane_recommender r;
    struct vpa_error err = {0};

    if (vpa_crane_recommender_init(&r, &config, &rule, &err) < 0) {
        golden_text(c, "createError", GOLDEN_OUT(c, "createError"), err.text);
        return;
    }
    golden_text(c, "createError", GOLDEN_OUT(c, "createError"), NULL);
    evaluate(c, &r);
    vpa_crane_recommender_release(&r);
}

/* ---- sizes ---- */

static void run_sizes(struct golden_case *c)
{
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "list"));
    struct vpa_crane_sizes sizes;
    struct vpa_error err = {0};

    if (vpa_crane_sizes_parse(golden_in_text(c, "text"), &sizes, &err) < 0) {
        golden_text(c, "error", GOLDEN_OUT(c, "error"), err.text);
        return;
    }
    golden_text(c, "error", GOLDEN_OUT(c, "error"), NULL);
    golden_count(c, "list", GOLDEN_OUT(c, "list"), sizes.count);
    for (size_t i = 0; i < sizes.count && want; i++, want = vpa_json_next(want)) {
        const struct vpa_json *cores = vpa_json_first(want);
        golden_double(c, golden_label(c, "list[%zu].cores", i), cores, sizes.items[i].cores);
        golden_double(c, golden_label(c, "list[%zu].gib", i), vpa_json_next(cores),
                      sizes.items[i].gib);
    }
    vpa_crane_sizes_release(&sizes);
}

static void run_match(struct golden_case *c)
{
    const char *text = golden_in_text(c, "specification");
    struct vpa_crane_sizes sizes;
    struct vpa_quantity cpu, memory;
    struct vpa_error err = {0};

    if (strcmp(text, "default") == 0)
        text = VPA_CRANE_SIZES_PRESET;
    if (vpa_crane_sizes_parse(text, &sizes, &err) < 0) {
        golden_unexpected(c, "error", err.text);
        return;
    }
    bool used = vpa_crane_sizes_match(&sizes, golden_in_int(c, "milliCPU"),
                                      golden_in_int(c, "bytes"), c->arena, &cpu, &memory);
    golden_bool(c, "used", GOLDEN_OUT(c, "used"), used);
    golden_text(c, "cpu", GOLDEN_OUT(c, "cpu"), vpa_quantity_text(c->arena, &cpu));
    golden_text(c, "memory", GOLDEN_OUT(c, "memory"), vpa_quantity_text(c->arena, &memory));
    vpa_crane_sizes_release(&sizes);
}

/* ---- durations, OOM records ---- */

static void run_duration(struct golden_case *c)
{
    vpa_duration d = 0;
    struct vpa_error err;
    bool failed = vpa_crane_parse_duration(golden_in_text(c, "text"), &d, &err) < 0;

    if (failed || GOLDEN_OUT(c, "error"))
        golden_bool(c, "error", GOLDEN_OUT(c, "error"), failed);
    else
        golden_text(c, "nanoseconds", GOLDEN_OUT(c, "nanoseconds"),
                    golden_label(c, "%lld", (long long)d));
}

static void compare_records(struct golden_case *c, const char *label, const struct vpa_json *want,
                            const struct vpa_crane_oom *items, size_t count)
{
    const struct vpa_json *record = vpa_json_first(want);

    golden_count(c, label, want, count);
    for (size_t i = 0; i < count && record; i++, record = vpa_json_next(record)) {
        const char *at = golden_label(c, "%s[%zu]", label, i);
        golden_text(c, golden_label(c, "%s.namespace", at), vpa_json_find(record, "namespace"),
                    items[i].ns);
        golden_text(c, golden_label(c, "%s.pod", at), vpa_json_find(record, "pod"), items[i].pod);
        golden_text(c, golden_label(c, "%s.container", at), vpa_json_find(record, "container"),
                    items[i].container);
        golden_text(c, golden_label(c, "%s.memory", at), vpa_json_find(record, "memory"),
                    vpa_quantity_text(c->arena, &items[i].memory));
        golden_text(c, golden_label(c, "%s.oomAt", at), vpa_json_find(record, "oomAt"),
                    time_text(c, items[i].t));
    }
}

static void run_recorder(struct golden_case *c)
{
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "steps"));
    struct vpa_crane_oom_records records;
    size_t i = 0;

    vpa_crane_oom_records_init(&records);
    vpa_json_foreach (node, GOLDEN_IN(c, "pods")) {
        const char *label = golden_label(c, "steps[%zu]", i++);
        struct vpa_pod pod;
        struct vpa_error err;
        size_t seen_count, writes = records.writes;

        if (vpa_pod_decode(c->arena, node, &pod, &err) < 0) {
            golden_unexpected(c, label, err.text);
            break;
        }
        const struct vpa_crane_oom *seen = vpa_crane_oom_of_pod(c->arena, &pod, &seen_count);
        vpa_crane_oom_records_observe(&records, &pod);
        compare_records(c, golden_label(c, "%s.seen", label), vpa_json_find(want, "seen"), seen,
                        seen_count);
        compare_records(c, golden_label(c, "%s.records", label), vpa_json_find(want, "records"),
                        records.items, records.count);
        golden_int(c, golden_label(c, "%s.writes", label), vpa_json_find(want, "writes"),
                   (int64_t)(records.writes - writes));
        golden_text(c, golden_label(c, "%s.stored", label), vpa_json_find(want, "stored"),
                    records.text);
        want = want ? vpa_json_next(want) : NULL;
    }
    golden_count(c, "steps", GOLDEN_OUT(c, "steps"), i);
    vpa_crane_oom_records_release(&records);
}

static void run_trim(struct golden_case *c)
{
    const struct vpa_json *in = GOLDEN_IN(c, "records");
    struct vpa_crane_oom *items = read_records(c, in);
    size_t left = vpa_crane_oom_trim(items, vpa_json_count(in), (size_t)golden_in_int(c, "max"));

    compare_records(c, "records", GOLDEN_OUT(c, "records"), items, left);
}

/* ---- signals ---- */

#define TOLERANCE 1e-9 /* of sums of a few hundred products: README of the vectors */

static void compare_samples(struct golden_case *c, const char *label, const struct vpa_json *want,
                            const double *got, size_t count, double tolerance)
{
    size_t i = 0;

    golden_count(c, label, want, count);
    vpa_json_foreach (node, want) {
        double x = number(node);

        golden_compared(c, node);
        if (i < count && !(fabs(got[i] - x) <= tolerance * fabs(x)))
            golden_difference(c, golden_label(c, "%s[%zu]", label, i), golden_label(c, "%.17g", x),
                              golden_label(c, "%.17g", got[i]));
        i++;
    }
}

static void run_signal(struct golden_case *c)
{
    const struct vpa_json *in = GOLDEN_IN(c, "samples");
    double *samples = vpa_arena_alloc(c->arena, (vpa_json_count(in) + 1) * sizeof(*samples));
    struct vpa_crane_signal all = {samples, 0,
                                   golden_in_int(c, "sampleIntervalSeconds") * VPA_SECOND};
    struct vpa_random random;
    size_t days, weeks;

    vpa_json_foreach (node, in)
        samples[all.count++] = number(node);
    struct vpa_crane_signal whole = vpa_crane_signal_tail(&all, 24 * VPA_HOUR, &days);
    struct vpa_crane_signal long_ones = vpa_crane_signal_tail(&all, 168 * VPA_HOUR, &weeks);
    size_t period = (size_t)(24 * VPA_HOUR / all.step);
    double *day = vpa_arena_alloc(c->arena, period * sizeof(*day));
    double margin = golden_double_of(c->in, "marginFraction");

    vpa_json_double(GOLDEN_IN(c, "marginFraction"), &margin);
    golden_int(c, "days", GOLDEN_OUT(c, "days"), (int64_t)days);
    vpa_crane_signal_largest(&whole, period, margin, day);
    compare_samples(c, "maxValue", GOLDEN_OUT(c, "maxValue"), day, period, 0.0);
    struct vpa_crane_fft options = {.margin = margin,
                                    .min_items = (size_t)golden_in_int(c, "minNumOfSpectrumItems")};
    vpa_json_double(GOLDEN_IN(c, "lowAmplitudeThreshold"), &options.low_amplitude);
    vpa_crane_signal_smooth(&whole, period, &options, day);
    compare_samples(c, "fft", GOLDEN_OUT(c, "fft"), day, period, TOLERANCE);
    if (!GOLDEN_OUT(c, "periodSeconds")) /* pure noise: random */
        return;
    vpa_random_init(&random, 1);
    vpa_duration found = vpa_crane_signal_period(weeks > 1 ? &long_ones : &whole, &random);
    golden_json(c, "periodSeconds", GOLDEN_OUT(c, "periodSeconds"),
                found ? golden_label(c, "%lld", (long long)(found / VPA_SECOND)) : "null");
}

static void run(struct golden_case *c)
{
    static const struct {
        const char *file;
        void (*run)(struct golden_case *c);
    } files[] = {
        {"percentile", run_percentile},
        {"resource", run_resource},
        {"specification_parse", run_sizes},
        {"specification_match", run_match},
        {"duration", run_duration},
        {"oom_recorder", run_recorder},
        {"oom_trim", run_trim},
        {"dsp", run_signal},
    };

    for (size_t i = 0; i < VPA_COUNT(files); i++) {
        if (strcmp(files[i].file, c->file) == 0) {
            files[i].run(c);
            return;
        }
    }
    golden_skip(c, "unknown file %s", c->file);
}

const struct golden_set golden_set_crane = {.name = "crane", .run = run};
