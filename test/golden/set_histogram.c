/*
 * Set histogram: operation sequences on plain and decaying histograms, in bits.
 */
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "histogram_compare.h"
#include "histogram_text.h"
#include "vpa/base/str.h"
#include "vpa/model/aggregate.h"

#define HISTOGRAMS_MAX 32

struct named {
    const char *name;
    struct vpa_decay decay; /* of a plain histogram only .h is used */
};

struct bench { /* the work bench of one case */
    struct golden_case *c;
    struct vpa_histogram_options options;
    struct vpa_aggregation defaults;
    bool decaying;
    vpa_duration half_life;
    struct named items[HISTOGRAMS_MAX];
    size_t count;
};

static double read_double(const struct vpa_json *node)
{
    double x = 0.0;

    golden_read_double(node, &x);
    return x;
}

static int read_options(struct bench *b, const struct vpa_json *node, struct vpa_error *err)
{
    const char *kind = golden_text_of(node, "kind");

    vpa_aggregation_init(&b->defaults);
    if (strcmp(kind, "linear") == 0)
        return vpa_histogram_options_init_linear(&b->options, golden_double_of(node, "max"),
                                                 golden_double_of(node, "size"),
                                                 golden_double_of(node, "epsilon"), err);
    if (strcmp(kind, "exponential") == 0)
        return vpa_histogram_options_init_exponential(
            &b->options, golden_double_of(node, "max"), golden_double_of(node, "first"),
            golden_double_of(node, "ratio"), golden_double_of(node, "epsilon"), err);
    const struct vpa_histogram_options *own =
        strcmp(kind, "cpu") == 0 ? &b->defaults.cpu_options : &b->defaults.memory_options;
    return vpa_histogram_options_init_exponential(&b->options, own->max, own->first, own->ratio,
                                                  own->epsilon, err);
}

static void release(struct bench *b)
{
    for (size_t i = 0; i < b->count; i++)
        vpa_histogram_release(&b->items[i].decay.h);
    vpa_histogram_options_release(&b->options);
    vpa_aggregation_release(&b->defaults);
}

/* Cases with a single histogram do not name it. */
static struct vpa_decay *get(struct bench *b, const char *name)
{
    name = name ? name : "h";
    for (size_t i = 0; i < b->count; i++) {
        if (strcmp(b->items[i].name, name) == 0)
            return &b->items[i].decay;
    }
    if (b->count == HISTOGRAMS_MAX)
        abort();
    struct named *n = &b->items[b->count++];
    n->name = name;
    vpa_decay_init(&n->decay, &b->options, b->decaying ? b->half_life : VPA_HOUR);
    return &n->decay;
}

/* ---- checkpoints ---- */

static const char *save(struct bench *b, const struct vpa_decay *d)
{
    struct vpa_histogram_checkpoint checkpoint;
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(1 << 20);

    vpa_decay_save(d, b->c->arena, &checkpoint);
    vpa_json_writer_init(&w, &text);
    vpa_histogram_checkpoint_encode(&w, &checkpoint);
    return golden_label(b->c, "%s", vpa_buf_text(&text));
}

static int decode(struct bench *b, const char *text, struct vpa_histogram_checkpoint *out,
                  struct vpa_error *err)
{
    const struct vpa_json *root;

    if (vpa_json_parse(b->c->arena, text, strlen(text), &root, err) < 0)
        return -1;
    return vpa_histogram_checkpoint_decode(b->c->arena, root, out, err);
}

static int load(struct bench *b, struct vpa_decay *d,
                const struct vpa_histogram_checkpoint *checkpoint, struct vpa_error *err)
{
    if (b->decaying)
        return vpa_decay_load(d, checkpoint, err);
    return vpa_histogram_load(&d->h, checkpoint->buckets, checkpoint->bucket_count,
                              checkpoint->total_weight, err);
}

/* ---- operations ---- */

static void add(struct bench *b, struct vpa_decay *d, double v, double w, vpa_time t)
{
    if (b->decaying)
        vpa_decay_add(d, v, w, t);
    else
        vpa_histogram_add(&d->h, v, w);
}

static void series(struct bench *b, struct vpa_decay *d, const struct vpa_json *op)
{
    const struct vpa_json *pattern = vpa_json_find(op, "pattern");
    size_t length = vpa_json_count(pattern);
    double *values = vpa_arena_alloc(b->c->arena, (length + 1) * sizeof(double));
    int64_t n = golden_int_of(op, "n");
    int64_t step = golden_int_of(op, "step");
    size_t i = 0;

    vpa_json_foreach (value, pattern)
        values[i++] = read_double(value);
    for (int64_t k = 0; k < n; k++)
        add(b, d, values[(size_t)k % length], golden_double_of(op, "w"),
            golden_time_of(vpa_json_find(op, "t0")) + (vpa_time)k * step);
}

static void merge(struct bench *b, const char *label, struct vpa_decay *d,
                  const struct vpa_json *op, const struct vpa_json *want)
{
    struct vpa_decay *from = get(b, golden_text_of(op, "from"));

    if (b->decaying)
        vpa_decay_merge(d, from);
    else
        vpa_histogram_merge(&d->h, &from->h);
    compare_state(b->c, golden_label(b->c, "%s.from_after", label),
                  vpa_json_find(want, "from_after"), from, b->decaying);
}

static void load_step(struct bench *b, const char *label, struct vpa_decay *d,
                      const struct vpa_json *op, const struct vpa_json *want)
{
    const char *text = golden_text_of(op, "checkpoint");
    struct vpa_histogram_checkpoint checkpoint;
    struct vpa_error err = {0};
    const char *error = NULL;

    if (decode(b, text, &checkpoint, &err) < 0 || load(b, d, &checkpoint, &err) < 0)
        error = err.text;
    golden_text(b->c, golden_label(b->c, "%s.error", label), vpa_json_find(want, "error"), error);
}

/* The first line of a decaying histogram has a Go-specific form. */
static const char *without_first_line(const char *text)
{
    const char *end = strchr(text, '\n');

    return end ? end + 1 : text;
}

static void dump(struct bench *b, const char *label, const struct vpa_decay *d,
                 const struct vpa_json *want)
{
    const char *wanted = golden_text_of(want, "string");
    vpa_auto_buf text = VPA_BUF(1 << 16);
    const char *got;

    if (b->decaying)
        decay_format(d, &text);
    else
        histogram_format(&d->h, &text);
    got = vpa_buf_text(&text);
    golden_compared(b->c, vpa_json_find(want, "string"));
    if (b->decaying && wanted) {
        got = without_first_line(got);
        wanted = without_first_line(wanted);
    }
    if (!wanted || strcmp(wanted, got) != 0)
        golden_difference(b->c, golden_label(b->c, "%s.string", label), wanted, got);
}

static void step(struct bench *b, const char *label, const struct vpa_json *op,
                 const struct vpa_json *want)
{
    const char *name = golden_text_of(op, "op");
    struct vpa_decay *d = get(b, golden_text_of(op, "h"));
    vpa_time t = golden_time_of(vpa_json_find(op, "t"));

    if (strcmp(name, "add") == 0) {
        add(b, d, golden_double_of(op, "v"), golden_double_of(op, "w"), t);
    } else if (strcmp(name, "subtract") == 0) {
        if (b->decaying)
            vpa_decay_subtract(d, golden_double_of(op, "v"), golden_double_of(op, "w"), t);
        else
            vpa_histogram_subtract(&d->h, golden_double_of(op, "v"), golden_double_of(op, "w"));
    } else if (strcmp(name, "series") == 0) {
        series(b, d, op);
    } else if (strcmp(name, "merge") == 0) {
        merge(b, label, d, op, want);
    } else if (strcmp(name, "load") == 0) {
        load_step(b, label, d, op, want);
    } else if (strcmp(name, "save") == 0) {
        golden_text(b->c, golden_label(b->c, "%s.checkpoint", label),
                    vpa_json_find(want, "checkpoint"), save(b, d));
    } else if (strcmp(name, "string") == 0) {
        dump(b, label, d, want);
    } else if (strcmp(name, "equals") == 0) {
        const struct vpa_decay *other = get(b, golden_text_of(op, "other"));
        golden_bool(b->c, golden_label(b->c, "%s.equals", label), vpa_json_find(want, "equals"),
                    b->decaying ? decay_equal(d, other) : histogram_equal(&d->h, &other->h));
    } else {
        golden_skip(b->c, "unknown operation %s", name);
    }
}

static void run_operations(struct bench *b)
{
    static const double final_percentiles[] = {0.0, 0.1, 0.5, 0.9, 0.95, 1.0};
    struct golden_case *c = b->c;
    double p[16];
    size_t p_count = 0;
    size_t i = 0;

    vpa_json_foreach (value, GOLDEN_IN(c, "percentiles")) {
        if (p_count < VPA_COUNT(p))
            p[p_count++] = read_double(value);
    }
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "steps"));
    vpa_json_foreach (op, GOLDEN_IN(c, "ops")) {
        const char *label = golden_label(c, "steps[%zu]", i++);
        const struct vpa_decay *d = get(b, golden_text_of(op, "h"));

        step(b, label, op, want);
        compare_state(b->c, label, want, d, b->decaying);
        compare_percentiles(c, golden_label(c, "%s.p", label), vpa_json_find(want, "p"), p, p_count,
                            &d->h);
        want = want ? vpa_json_next(want) : NULL;
    }
    vpa_json_foreach (expected, GOLDEN_OUT(c, "final")) {
        const char *label = golden_label(c, "final.%s", vpa_json_name(expected));
        const struct vpa_decay *d = get(b, vpa_json_name(expected));

        compare_state(b->c, label, expected, d, b->decaying);
        compare_percentiles(c, golden_label(c, "%s.p", label), vpa_json_find(expected, "p"),
                            final_percentiles, VPA_COUNT(final_percentiles), &d->h);
        compare_weights(b->c, golden_label(b->c, "%s.weights", label),
                        vpa_json_find(expected, "weights"), &d->h);
    }
}

static void run_load(struct bench *b)
{
    static const double percentiles[] = {0.0, 0.5, 0.9, 1.0};
    struct golden_case *c = b->c;
    struct vpa_histogram_checkpoint checkpoint;
    struct vpa_decay *d = get(b, "h");
    struct vpa_error err = {0};
    bool decode_error = false;
    const char *error = NULL;

    vpa_json_foreach (op, GOLDEN_IN(c, "before"))
        step(b, "before", op, NULL);
    vpa_json_bool(GOLDEN_OUT(c, "decode_error"), &decode_error);
    if (decode(b, golden_in_text(c, "checkpoint"), &checkpoint, &err) < 0) {
        golden_bool(c, "decode_error", GOLDEN_OUT(c, "decode_error"), true);
        return;
    }
    if (decode_error) {
        golden_difference(c, "decode_error", "true", "false");
        return;
    }
    if (load(b, d, &checkpoint, &err) < 0)
        error = err.text;
    golden_text(c, "error", GOLDEN_OUT(c, "error"), error);
    compare_state(b->c, "state", c->out, d, b->decaying);
    compare_percentiles(c, "state.p", GOLDEN_OUT(c, "p"), percentiles, VPA_COUNT(percentiles),
                        &d->h);
    compare_weights(c, "state.weights", GOLDEN_OUT(c, "weights"), &d->h);
    golden_text(c, "saved_again", GOLDEN_OUT(c, "saved_again"), save(b, d));
}

static void run_options(struct bench *b)
{
    struct golden_case *c = b->c;
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "starts"));
    size_t i = 0;

    golden_text(c, "error", GOLDEN_OUT(c, "error"), NULL);
    golden_int(c, "num_buckets", GOLDEN_OUT(c, "num_buckets"), b->options.buckets);
    golden_double(c, "epsilon", GOLDEN_OUT(c, "epsilon"), b->options.epsilon);
    for (uint32_t k = 0; k < b->options.buckets; k++, want = want ? vpa_json_next(want) : NULL)
        golden_double(c, golden_label(c, "starts[%u]", k), want,
                      vpa_histogram_bucket_start(&b->options, k));
    want = vpa_json_first(GOLDEN_OUT(c, "buckets"));
    vpa_json_foreach (value, GOLDEN_IN(c, "find")) {
        golden_int(c, golden_label(c, "buckets[%zu]", i++), want,
                   vpa_histogram_find_bucket(&b->options, read_double(value)));
        want = want ? vpa_json_next(want) : NULL;
    }
}

static void run(struct golden_case *c)
{
    struct bench b = {.c = c};
    struct vpa_error err = {0};
    int64_t half_life = 0;

    b.decaying = golden_read_int(GOLDEN_IN(c, "half_life"), &half_life) && half_life > 0;
    b.half_life = half_life;
    if (read_options(&b, GOLDEN_IN(c, "options"), &err) < 0)
        golden_text(c, "error", GOLDEN_OUT(c, "error"), err.text);
    else if (strcmp(c->file, "options") == 0)
        run_options(&b);
    else if (strcmp(c->file, "load") == 0)
        run_load(&b);
    else
        run_operations(&b);
    release(&b);
}

/* What the library of the reference says of a checkpoint that it cannot decode. */
static const char *const information[] = {"text", NULL};

const struct golden_set golden_set_histogram = {
    .name = "histogram", .run = run, .information = information};
