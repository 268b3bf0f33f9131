/*
 * Crane's evaluation of a workload, container by container: CPU before memory, the last error ends
 * it.
 */
#include "crane_workload.h"

#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define OOM_WINDOW (168 * VPA_HOUR) /* fixed, whatever oom-history-length says */
#define RESULT_TEXT_MAX ((size_t)4 << 20)

/* ---- configuration ---- */

static const char *find_text(const struct vpa_labels *labels, const char *key)
{
    for (size_t i = 0; labels && i < labels->count; i++) {
        if (strcmp(labels->items[i].key, key) == 0)
            return labels->items[i].value;
    }
    return NULL;
}

static const char *text_of(const struct vpa_crane_recommender *r, const char *key,
                           const char *preset)
{
    const char *text = find_text(r->rule, key);

    if (!text)
        text = find_text(r->config, key);
    return text ? text : preset;
}

static int read_bool(const char *text, bool *out, struct vpa_error *err)
{
    static const char *const words[] = {"1", "t", "T", "TRUE",  "true",  "True",
                                        "0", "f", "F", "FALSE", "false", "False"};

    for (size_t i = 0; i < VPA_COUNT(words); i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i < VPA_COUNT(words) / 2;
            return 0;
        }
    }
    return vpa_fail(err, VPA_INVALID, "strconv.ParseBool: parsing \"%.64s\": invalid syntax", text);
}

static int read_double(const char *text, double *out, struct vpa_error *err)
{
    struct vpa_error reason;

    if (vpa_double_parse(text, out, &reason) == 0)
        return 0;
    return vpa_fail(err, VPA_INVALID, "strconv.ParseFloat: parsing \"%.64s\": %s", text,
                    reason.text);
}

int vpa_crane_recommender_init(struct vpa_crane_recommender *r, const struct vpa_labels *config,
                               const struct vpa_labels *rule, struct vpa_error *err)
{
    struct vpa_crane_recommender made = {.config = config, .rule = rule};
    vpa_duration unused;

    if (read_bool(text_of(&made, "specification", "false"), &made.use_sizes, err) < 0 ||
        read_bool(text_of(&made, "oom-protection", "true"), &made.oom_protection, err) < 0 ||
        vpa_duration_parse(text_of(&made, "oom-history-length", "168h"), &unused, err) < 0 ||
        read_double(text_of(&made, "oom-bump-ratio", "1.2"), &made.oom_ratio, err) < 0 ||
        read_bool(text_of(&made, "history-completion-check", "false"), &made.completion_check,
                  err) < 0)
        return -1;
    if (vpa_crane_sizes_parse(text_of(&made, "specification-config", VPA_CRANE_SIZES_PRESET),
                              &made.sizes, err) < 0)
        return -1;
    *r = made;
    return 0;
}

void vpa_crane_recommender_release(struct vpa_crane_recommender *r)
{
    vpa_crane_sizes_release(&r->sizes);
}

static struct vpa_crane_config config_of(const struct vpa_crane_recommender *r, enum vpa_kind kind)
{
#define KEYS(PREFIX, BUCKET, MAX)                                                                  \
    {                                                                                              \
        .percentile = text_of(r, PREFIX "request-percentile", "0.99"),                             \
        .margin = text_of(r, PREFIX "request-margin-fraction", "0.15"),                            \
        .utilization = text_of(r, PREFIX "target-utilization", "1.0"),                             \
        .interval = text_of(r, PREFIX "sample-interval", "1m"),                                    \
        .history_length = text_of(r, PREFIX "model-history-length", "168h"),                       \
        .bucket_size = text_of(r, PREFIX "histogram-bucket-size", BUCKET),                         \
        .max_value = text_of(r, PREFIX "histogram-max-value", MAX),                                \
    }
    if (kind == VPA_KIND_CPU)
        return (struct vpa_crane_config)KEYS("cpu-", "0.1", "100");
    return (struct vpa_crane_config)KEYS("mem-", "104857600", "104857600000");
#undef KEYS
}

/* ---- one resource of one container ---- */

struct evaluation {
    const struct vpa_crane_recommender *r;
    const struct vpa_crane_workload *w;
    const struct vpa_crane_source *source;
    const struct vpa_crane_oom *kills;
    size_t kill_count;
    vpa_time now;
    struct vpa_arena *arena;
};

struct filling {
    const struct vpa_crane_predictor *predictor;
    struct vpa_histogram *h;
};

static void take_sample(void *ctx, double value)
{
    const struct filling *f = ctx;

    vpa_crane_predictor_add(f->predictor, f->h, value);
}

static int predict(const struct evaluation *e, const struct vpa_crane_container *container,
                   enum vpa_kind kind, const struct vpa_crane_predictor *p, double *out,
                   struct vpa_error *err)
{
    struct vpa_crane_window window = vpa_crane_predictor_window(p, e->now);
    struct vpa_histogram h;
    vpa_auto_buf query = VPA_BUF(RESULT_TEXT_MAX);

    vpa_crane_query(&query, kind, e->w->kind, e->w->name, e->w->ns, container->name);
    vpa_histogram_init(&h, &p->options);
    int result = e->source->history(e->source->ctx, vpa_buf_text(&query), &window, take_sample,
                                    &(struct filling){p, &h}, err);
    *out = vpa_crane_predictor_value(p, &h);
    vpa_histogram_release(&h);
    return result;
}

/* The days with data are counted in the prediction, which has one. */
static int check_complete(const struct evaluation *e, const struct vpa_crane_predictor *p,
                          struct vpa_error *err)
{
    if (!e->r->completion_check || p->history_length / (24 * VPA_HOUR) <= 2)
        return 0;
    return vpa_fail(err, VPA_INVALID, "history incomplete");
}

static int compute(const struct evaluation *e, const struct vpa_crane_container *container,
                   enum vpa_kind kind, double *out, struct vpa_error *err)
{
    struct vpa_crane_config config = config_of(e->r, kind);
    struct vpa_crane_predictor p;

    if (vpa_crane_predictor_init(&p, &config, err) < 0)
        return -1;
    int result = predict(e, container, kind, &p, out, err);
    if (result == 0)
        result = check_complete(e, &p, err);
    vpa_crane_predictor_release(&p);
    return result;
}

static int64_t protect(const struct evaluation *e, const char *container, int64_t bytes)
{
    for (size_t i = 0; e->r->oom_protection && i < e->kill_count; i++) {
        const struct vpa_crane_oom *kill = &e->kills[i];

        if (!vpa_str_starts_with(kill->pod, e->w->name) || strcmp(kill->ns, e->w->ns) != 0 ||
            strcmp(kill->container, container) != 0)
            continue;
        int64_t need = vpa_crane_oom_need(vpa_quantity_value(&kill->memory), e->r->oom_ratio);
        return vpa_time_sub(e->now, kill->t) <= OOM_WINDOW && need > bytes ? need : bytes;
    }
    return bytes;
}

static int recommend(const struct evaluation *e, const struct vpa_crane_container *container,
                     struct vpa_crane_container *out, struct vpa_error *err)
{
    double cores, memory;
    struct vpa_quantity cpu_size, memory_size;

    if (compute(e, container, VPA_KIND_CPU, &cores, err) < 0 ||
        compute(e, container, VPA_KIND_MEMORY, &memory, err) < 0)
        return -1;
    int64_t millis = vpa_trunc_int64(cores * 1000.0), bytes = vpa_trunc_int64(memory);
    if (bytes <= 0)
        return vpa_fail(err, VPA_INVALID, "no enough metrics");
    bytes = protect(e, container->name, bytes);
    *out = (struct vpa_crane_container){container->name, vpa_quantity_milli(millis),
                                        vpa_quantity_units(bytes, VPA_BINARY_SI)};
    if (e->r->use_sizes &&
        vpa_crane_sizes_match(&e->r->sizes, millis, bytes, e->arena, &cpu_size, &memory_size)) {
        out->cpu = cpu_size;
        out->memory = memory_size;
    }
    return 0;
}

/* ---- texts ---- */

static const char *encode_patch(struct vpa_arena *arena,
                                const struct vpa_crane_container *containers, size_t count)
{
    static const char *const path[] = {"spec", "template", "spec"};
    vpa_auto_buf text = VPA_BUF(RESULT_TEXT_MAX);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    for (size_t i = 0; i < VPA_COUNT(path); i++) {
        vpa_json_member_object(&w, path[i]);
    }
    vpa_json_key(&w, "containers");
    if (count == 0)
        vpa_json_put_null(&w);
    else
        vpa_json_open_array(&w);
    for (size_t i = 0; i < count; i++) {
        vpa_json_open_object(&w);
        vpa_json_member_string(&w, "name", containers[i].name);
        vpa_json_member_object(&w, "resources");
        vpa_json_member_object(&w, "requests");
        vpa_json_member_string(&w, VPA_CPU, vpa_quantity_text(arena, &containers[i].cpu));
        vpa_json_member_string(&w, VPA_MEMORY, vpa_quantity_text(arena, &containers[i].memory));
        for (size_t n = 0; n < 3; n++)
            vpa_json_close_object(&w);
    }
    if (count > 0)
        vpa_json_close_array(&w);
    for (size_t i = 0; i <= VPA_COUNT(path); i++)
        vpa_json_close_object(&w);
    return vpa_arena_strdup(arena, vpa_buf_text(&text));
}

/* A plain scalar, quoted when YAML would read it as a number. */
static void put_scalar(struct vpa_buf *out, const char *text)
{
    const char *quote = strspn(text, "+-.0123456789") == strlen(text) ? "\"" : "";

    vpa_buf_printf(out, "%s%s%s", quote, text, quote);
}

static const char *encode_value(struct vpa_arena *arena,
                                const struct vpa_crane_container *containers, size_t count)
{
    vpa_auto_buf text = VPA_BUF(RESULT_TEXT_MAX);

    vpa_buf_puts(&text, count ? "resourceRequest:\n  containers:\n" : "resourceRequest: {}\n");
    for (size_t i = 0; i < count; i++) {
        vpa_buf_puts(&text, "  - containerName: ");
        put_scalar(&text, containers[i].name);
        vpa_buf_puts(&text, "\n    target:\n      cpu: ");
        put_scalar(&text, vpa_quantity_text(arena, &containers[i].cpu));
        vpa_buf_puts(&text, "\n      memory: ");
        put_scalar(&text, vpa_quantity_text(arena, &containers[i].memory));
        vpa_buf_putc(&text, '\n');
    }
    return vpa_arena_strdup(arena, vpa_buf_text(&text));
}

int vpa_crane_evaluate(const struct vpa_crane_recommender *r, const struct vpa_crane_workload *w,
                       const struct vpa_crane_source *source, struct vpa_arena *arena,
                       struct vpa_crane_result *out, struct vpa_error *err)
{
    struct evaluation e = {.r = r, .w = w, .source = source, .now = w->now, .arena = arena};
    size_t count = w->container_count;
    struct vpa_crane_container *targets = vpa_arena_alloc(arena, (count + 1) * sizeof(*targets));

    if (r->oom_protection && source->oom_records(source->ctx, &e.kills, &e.kill_count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (recommend(&e, &w->containers[i], &targets[i], err) < 0)
            return -1;
    }
    /* The source compares quantities by their inner form, which is never the same for parsed and
     * computed ones. */
    *out = (struct vpa_crane_result){
        .value = encode_value(arena, targets, count),
        .recommended = encode_patch(arena, targets, count),
        .current = encode_patch(arena, w->containers, count),
        .action = count ? "Patch" : "None",
    };
    return 0;
}
