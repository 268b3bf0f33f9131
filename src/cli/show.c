/*
 * `show`: what the recommender has learned about the containers of a VPA, as pictures: the decaying
 * histograms of the checkpoints with the percentiles, margin, bounds and confidence that make the
 * recommendation.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../recommender/recommender.h"
#include "daemon_config.h"
#include "output.h"
#include "stored.h"
#include "workloads.h"
#include "vpa/base/str.h"
#include "vpa/model/aggregate.h"
#include "vpa/model/estimator.h"
#include "vpa/model/recommend.h"

#define ROWS 16
#define BAR 40
#define TEXT_MAX ((size_t)4 << 20)

/* As pictures show them: from the lowest percentile on. */
static const enum vpa_bound order[] = {VPA_LOWER_BOUND, VPA_TARGET, VPA_UPPER_BOUND};

struct row {
    double from, to;
    double share; /* of the total weight */
};
/* One resource of one container. */
struct picture {
    const char *container;
    enum vpa_kind kind;
    struct row rows[ROWS];
    size_t row_count;
    double percentile[VPA_BOUNDS]; /* of usage, those that the bounds are made of */
    double confidence;
    int64_t samples;
    const struct vpa_quantity *target, *lower, *upper; /* of the status; NULL: none */
};
struct show {
    struct cli *cli;
    const struct vpa_object *vpa;
    const char *algorithm;   /* another one that has stored a state; NULL: none */
    struct vpa_error unread; /* why a checkpoint, or a half of one, cannot be read; else VPA_OK */
    struct vpa_aggregation aggregation;
    struct vpa_estimator estimator;
    struct picture *items;
    size_t count, capacity;
};

/* ---- from the checkpoint ---- */

static void fill_rows(struct picture *p, const struct vpa_histogram *h)
{
    const struct vpa_histogram_options *o = h->options;
    uint32_t buckets = h->max - h->min + 1;
    uint32_t per_row = (buckets + ROWS - 1) / ROWS;

    for (uint32_t b = h->min; b <= h->max; b += per_row) {
        struct row *row = &p->rows[p->row_count++];
        uint32_t end = b + per_row > h->max + 1 ? h->max + 1 : b + per_row;

        *row = (struct row){.from = vpa_histogram_bucket_start(o, b)};
        row->to = vpa_histogram_bucket_start(o, end < o->buckets ? end : o->buckets - 1);
        for (uint32_t i = b; i < end; i++)
            row->share += vpa_histogram_weight(h, i) / h->total;
    }
}

static const struct vpa_quantity *of_status(const struct show *s, const char *container,
                                            enum vpa_kind kind, size_t which)
{
    const struct vpa_container_recommendation *rec =
        vpa_recommendation_find(&s->vpa->recommendation, container);
    const struct vpa_resource_list *lists[] = {
        rec ? &rec->target : NULL, rec ? &rec->lower_bound : NULL, rec ? &rec->upper_bound : NULL};

    return lists[which] ? vpa_resource_find(lists[which], vpa_kind_name(kind)) : NULL;
}

static void add_picture(struct show *s, const char *container, enum vpa_kind kind,
                        const struct vpa_aggregate *a)
{
    const struct vpa_histogram *h = kind == VPA_KIND_CPU ? &a->cpu.h : &a->memory.h;
    struct vpa_history history = vpa_aggregate_history(a);
    struct picture *p;

    if (vpa_histogram_is_empty(h))
        return;
    VPA_GROW(s->items, s->count, s->capacity);
    p = &s->items[s->count++];
    *p = (struct picture){.container = container, .kind = kind, .samples = history.sample_count};
    fill_rows(p, h);
    for (size_t i = 0; i < VPA_BOUNDS; i++)
        p->percentile[i] = vpa_histogram_percentile(h, s->estimator.percentile[i][kind]);
    p->confidence = vpa_estimator_confidence(&s->estimator, &history, kind);
    p->target = of_status(s, container, kind, 0);
    p->lower = of_status(s, container, kind, 1);
    p->upper = of_status(s, container, kind, 2);
}

/* What is left of it without the other resource. */
static struct vpa_checkpoint half_of(const struct vpa_checkpoint *checkpoint, enum vpa_kind kind)
{
    struct vpa_checkpoint half = *checkpoint;

    if (kind == VPA_KIND_CPU) {
        half.status.memory = (struct vpa_histogram_checkpoint){0};
        half.meta.annotations = (struct vpa_labels){0}; /* memory of the running interval */
    } else {
        half.status.cpu = (struct vpa_histogram_checkpoint){0};
    }
    return half;
}

static void add_pictures(struct show *s, const struct vpa_checkpoint *checkpoint)
{
    struct vpa_aggregate a;
    struct vpa_error err;

    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        const struct vpa_checkpoint half = half_of(checkpoint, kind);

        if (cli_stored_load(s->cli, &s->aggregation, &half, &a, &err) == 0) {
            add_picture(s, checkpoint->container_name, kind, &a);
        } else {
            cli_note(s->cli, "the %s histogram of %s cannot be read: %s", vpa_kind_name(kind),
                     checkpoint->container_name, err.text);
            s->unread = err;
        }
        vpa_aggregate_release(&a);
    }
}

static int read_checkpoint(struct show *s, const struct vpa_json *object, struct vpa_error *err)
{
    const char *of = vpa_json_string(vpa_json_at(object, "spec.vpaObjectName"));
    struct vpa_checkpoint *checkpoint = vpa_arena_zalloc(&s->cli->arena, sizeof(*checkpoint));
    enum cli_stored kind;

    if (!vpa_str_eq(of, s->vpa->meta.name))
        return 0;
    if (cli_stored_decode(&s->cli->arena, object, &kind, checkpoint, err) < 0)
        return -1;
    if (kind == CLI_STORED_OTHER)
        return vpa_fail(err, VPA_INVALID, "unsupported checkpoint version %.60s",
                        checkpoint->status.version);
    if (kind == CLI_STORED_STATE)
        s->algorithm = cli_stored_algorithm(checkpoint);
    if (kind == CLI_STORED_HISTORY)
        add_pictures(s, checkpoint);
    return 0;
}

static int on_checkpoint(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct show *s = ctx;
    int status = read_checkpoint(s, object, err);

    if (status < 0)
        s->unread = *err;
    return status;
}

/* ---- as text ---- */

static const char *amount_text(struct vpa_arena *arena, enum vpa_kind kind, double x)
{
    if (kind == VPA_KIND_CPU)
        return vpa_arena_printf(arena, x >= 10 ? "%.1f" : "%.3f", x);
    return vpa_arena_printf(arena, "%.1fMi", x / (1 << 20));
}

static double value_of(enum vpa_kind kind, const struct vpa_quantity *q)
{
    if (!q)
        return -1;
    return kind == VPA_KIND_CPU ? (double)vpa_quantity_milli_value(q) / 1000
                                : (double)vpa_quantity_value(q);
}

static const char *quantity_text(struct vpa_arena *arena, const struct vpa_quantity *q)
{
    return q ? vpa_quantity_text(arena, q) : "-";
}

/* "p90" of the percentile that a bound is made of. */
static const char *percentile_name(const struct show *s, enum vpa_bound bound, enum vpa_kind kind)
{
    return vpa_arena_printf(&s->cli->arena, "p%.4g", s->estimator.percentile[bound][kind] * 100);
}

static void put_mark(struct vpa_buf *out, const struct picture *p, const struct row *row,
                     const char *name, double at)
{
    bool last = row == &p->rows[p->row_count - 1];

    if (at >= 0 && (at > row->from || row == p->rows) && (at <= row->to || last))
        vpa_buf_printf(out, " < %s", name);
}

static void put_marks(const struct show *s, struct vpa_buf *out, const struct picture *p,
                      const struct row *row)
{
    for (size_t i = 0; i < VPA_COUNT(order); i++)
        put_mark(out, p, row, percentile_name(s, order[i], p->kind), p->percentile[order[i]]);
    put_mark(out, p, row, "lower bound", value_of(p->kind, p->lower));
    put_mark(out, p, row, "target", value_of(p->kind, p->target));
    put_mark(out, p, row, "upper bound", value_of(p->kind, p->upper));
}

static void put_bar(struct vpa_buf *out, double share, double largest)
{
    int eighths = (int)lround(share / largest * BAR * 8);
    int width = 0;

    for (; eighths >= 8; eighths -= 8, width++)
        vpa_buf_puts(out, "\xe2\x96\x88");
    if (eighths > 0) {
        vpa_buf_printf(out, "\xe2\x96%c", 0x90 - eighths); /* U+2588 to U+258F: narrower blocks */
        width++;
    }
    for (; width < BAR; width++)
        vpa_buf_putc(out, ' ');
}

static double largest_share(const struct picture *p)
{
    double largest = 0;

    for (size_t i = 0; i < p->row_count; i++)
        largest = fmax(largest, p->rows[i].share);
    return largest > 0 ? largest : 1;
}

static const char *half_life_text(const struct show *s, enum vpa_kind kind)
{
    char text[VPA_DURATION_TEXT_MAX];

    vpa_duration_format(kind == VPA_KIND_CPU ? s->aggregation.cpu_half_life
                                             : s->aggregation.memory_half_life,
                        text);
    return vpa_arena_strdup(&s->cli->arena, text);
}

static void print_picture(struct show *s, const struct picture *p)
{
    struct vpa_arena *arena = &s->cli->arena;
    struct vpa_buf *out = &s->cli->out;
    double largest = largest_share(p);

    cli_put_colored(
        out, s->cli->color, CLI_BOLD,
        vpa_arena_printf(arena, "Container %s, %s", p->container, vpa_kind_name(p->kind)));
    vpa_buf_printf(out, "\n  target %s, bounds %s to %s;", quantity_text(arena, p->target),
                   quantity_text(arena, p->lower), quantity_text(arena, p->upper));
    for (size_t i = 0; i < VPA_COUNT(order); i++)
        vpa_buf_printf(out, "%s %s %s", i ? "," : "", percentile_name(s, order[i], p->kind),
                       amount_text(arena, p->kind, p->percentile[order[i]]));
    vpa_buf_printf(out,
                   "\n  margin %.4g%%, half-life %s, confidence %.2f (days of history), %lld "
                   "samples\n",
                   s->estimator.margin * 100, half_life_text(s, p->kind), p->confidence,
                   (long long)p->samples);
    for (size_t i = 0; i < p->row_count; i++) {
        vpa_buf_printf(out, "  %10s ", amount_text(arena, p->kind, p->rows[i].to));
        put_bar(out, p->rows[i].share, largest);
        vpa_buf_printf(out, " %5.1f%%", p->rows[i].share * 100);
        put_marks(s, out, p, &p->rows[i]);
        vpa_buf_putc(out, '\n');
    }
}

/* ---- as a drawing ---- */

static void draw_picture(struct show *s, const struct picture *p, size_t index, struct vpa_buf *svg)
{
    double largest = largest_share(p);
    size_t top = 20 + index * (ROWS * 18 + 70);

    vpa_buf_printf(svg, "<text class=\"head\" x=\"10\" y=\"%zu\">", top);
    cli_put_html(svg, p->container);
    vpa_buf_printf(svg, ", %s: target %s, bounds %s to %s</text>\n", vpa_kind_name(p->kind),
                   quantity_text(&s->cli->arena, p->target),
                   quantity_text(&s->cli->arena, p->lower),
                   quantity_text(&s->cli->arena, p->upper));
    for (size_t i = 0; i < p->row_count; i++) {
        size_t y = top + 14 + i * 18;

        vpa_buf_printf(svg,
                       "<text class=\"at\" x=\"90\" y=\"%zu\">%s</text>"
                       "<rect x=\"100\" y=\"%zu\" width=\"%.1f\" height=\"14\"/>"
                       "<text x=\"%.1f\" y=\"%zu\">%.1f%%",
                       y + 12, amount_text(&s->cli->arena, p->kind, p->rows[i].to), y,
                       p->rows[i].share / largest * 300, p->rows[i].share / largest * 300 + 106,
                       y + 12, p->rows[i].share * 100);

        vpa_auto_buf marks = VPA_BUF(VPA_ERROR_TEXT_MAX);

        put_marks(s, &marks, p, &p->rows[i]);
        cli_put_html(svg, vpa_buf_text(&marks));
        vpa_buf_puts(svg, "</text>\n");
    }
}

static int write_drawing(struct show *s, const char *path, struct vpa_error *err)
{
    vpa_auto_buf svg = VPA_BUF(TEXT_MAX);
    size_t height = 20 + s->count * (ROWS * 18 + 70);

    vpa_buf_printf(&svg,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 %zu\" role=\"img\">"
                   "<style>text{font:12px sans-serif;fill:#222}.head{font-weight:bold}.at{text-"
                   "anchor:end}rect{fill:#4477aa}svg{background:#fff}@media(prefers-color-scheme:"
                   "dark){text{fill:#ddd}svg{background:#111}}</style>\n",
                   height);
    for (size_t i = 0; i < s->count; i++)
        draw_picture(s, &s->items[i], i, &svg);
    vpa_buf_puts(&svg, "</svg>\n");
    return cli_write_file(path, &svg, err);
}

/* ---- the command ---- */

/* Two bounds may be made of one percentile. */
static bool is_named_before(const struct show *s, enum vpa_kind kind, size_t i)
{
    assert(i < VPA_COUNT(order));
    const char *name = percentile_name(s, order[i], kind);

    for (size_t k = 0; k < i; k++)
        if (strcmp(percentile_name(s, order[k], kind), name) == 0)
            return true;
    return false;
}

static void json_settings(const struct show *s, struct vpa_json_writer *w, const struct picture *p)
{
    vpa_json_member_double(w, "margin", s->estimator.margin);
    vpa_json_member_string(w, "half_life", half_life_text(s, p->kind));
    vpa_json_member_object(w, "percentiles");
    for (size_t i = 0; i < VPA_COUNT(order); i++)
        if (!is_named_before(s, p->kind, i))
            vpa_json_member_double(w, percentile_name(s, order[i], p->kind),
                                   p->percentile[order[i]]);
    vpa_json_close_object(w);
}

static void json_bounds(struct vpa_json_writer *w, const struct picture *p)
{
    const struct {
        const char *name;
        const struct vpa_quantity *value;
    } bounds[] = {{"target", p->target}, {"lower_bound", p->lower}, {"upper_bound", p->upper}};

    for (size_t i = 0; i < VPA_COUNT(bounds); i++)
        if (bounds[i].value)
            vpa_json_member_quantity(w, bounds[i].name, bounds[i].value);
}

static void json_picture(const struct show *s, struct vpa_json_writer *w, const struct picture *p)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "container", p->container);
    vpa_json_member_string(w, "resource", vpa_kind_name(p->kind));
    vpa_json_member_double(w, "confidence", p->confidence);
    vpa_json_member_int(w, "samples", p->samples);
    json_bounds(w, p);
    json_settings(s, w, p);
    vpa_json_member_array(w, "histogram");
    for (size_t i = 0; i < p->row_count; i++) {
        vpa_json_open_object(w);
        vpa_json_member_double(w, "to", p->rows[i].to);
        vpa_json_member_double(w, "share", p->rows[i].share);
        vpa_json_close_object(w);
    }
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

static void print_json(struct show *s)
{
    struct vpa_json_writer w;
    struct cli_json json;

    cli_json_begin(&json, &w);
    vpa_json_member_string(&w, "vpa", s->vpa->meta.name);
    vpa_json_member_array(&w, "pictures");
    for (size_t i = 0; i < s->count; i++)
        json_picture(s, &w, &s->items[i]);
    vpa_json_close_array(&w);
    cli_json_end(s->cli, &json);
}

static int show_vpa(struct show *s, struct vpa_error *err)
{
    const char *svg = cli_option(s->cli, "svg");

    if (cli_list(s->cli, &cli_checkpoints, s->cli->ns, on_checkpoint, s, err) < 0)
        return -1;
    if (s->count == 0 && s->algorithm)
        return vpa_fail(err, VPA_NOT_FOUND,
                        "VPA %s has what the algorithm %.60s has learned, which is no histogram; "
                        "\"kubectl vpa lab checkpoint\" says what that recommends",
                        s->vpa->meta.name, s->algorithm);
    if (s->count == 0 && s->unread.code != VPA_OK) {
        *err = s->unread;
        return vpa_wrap(err, "what was learned for VPA %s cannot be read", s->vpa->meta.name);
    }
    if (s->count == 0)
        return vpa_fail(err, VPA_NOT_FOUND, "VPA %s has no checkpoint yet", s->vpa->meta.name);
    if (svg && write_drawing(s, svg, err) < 0)
        return -1;
    if (cli_is_json(s->cli))
        print_json(s);
    else
        for (size_t i = 0; i < s->count; i++)
            print_picture(s, &s->items[i]);
    return 0;
}

static int run(struct cli *cli)
{
    static const struct cli_kind kind = {.group_version = VPA_GROUP_VERSION,
                                         .resource = "verticalpodautoscalers"};
    struct vpa_object vpa;
    struct show s = {.cli = cli, .vpa = &vpa};
    struct cli_config config;
    const struct vpa_json *object;
    struct vpa_error err;
    int status;

    if (cli_connect(cli, &err) < 0 ||
        cli_get(cli, &kind, cli->ns, cli->args[0], &object, &err) < 0 ||
        vpa_object_decode(&cli->arena, object, &vpa, &err) < 0)
        return cli_complain(cli, &err);
    cli_config_read(cli, CLI_RECOMMENDER, &config, NULL);
    recommender_aggregation(&config.recommender, &s.aggregation);
    s.estimator = config.recommender.estimator;
    status = show_vpa(&s, &err);
    vpa_aggregation_release(&s.aggregation);
    free(s.items);
    return status < 0 ? cli_complain(cli, &err) : CLI_OK;
}

static const struct cli_option options[] = {
    {"svg", 0, "FILE", "Writes the pictures into a file as well"},
    {"recommender-flags", 0, "TEXT",
     "Flags of the recommender, instead of those of its Deployment"},
};

const struct cli_command cli_show = {
    .name = "show",
    .summary = "What was learned about the containers of a VPA, as pictures",
    .arguments = "VPA",
    .min_args = 1,
    .max_args = 1,
    .details =
        "Histograms come from the checkpoints; percentiles, margin, half-life and confidence "
        "are those of\nthe recommender's Deployment, or of --recommender-flags.",
    .example = "  # In the terminal, and for a page\n  kubectl vpa show web -n shop --svg web.svg",
    .options = options,
    .option_count = VPA_COUNT(options),
    .forms = CLI_FORMS_BUT_CSV,
    .named = true,
    .run = run,
};
