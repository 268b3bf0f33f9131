/*
 * The picture of a replay: two panels, CPU above memory, time to the right. Usage is a filled curve
 * (of the windows of a pixel the largest), the band is from the lower to the upper bound, the thin
 * line the target, the thick one what was requested; kills are red, changes grey ticks.
 */
#include <inttypes.h>
#include <math.h>

#include "lab_story.h"
#include "text.h"

#define WIDTH 1000
#define PANEL 220
#define LEFT 90
#define TOP 46
#define GAP 40
#define HEIGHT (TOP + 2 * PANEL + GAP + 60)
#define GRID_LINES 4
#define HEADROOM 1.15 /* above the largest usage and request */

struct panel {
    const struct lab_story *story;
    enum vpa_kind kind;
    double top; /* the value at the upper edge */
    int y;      /* of it */
};

static double larger(double a, double b)
{
    return b > a ? b : a; /* a NaN b is none */
}

static double x_of(const struct lab_story *s, size_t i)
{
    double span = (double)(s->moments[s->count - 1].second - s->moments[0].second);

    return LEFT + (double)(s->moments[i].second - s->moments[0].second) / (span > 0 ? span : 1) *
                      (WIDTH - LEFT - 10);
}

static double y_of(const struct panel *p, double value)
{
    double share = value / p->top;

    return p->y + PANEL - (share > 1.0 ? 1.0 : share) * PANEL;
}

static void scale(struct panel *p)
{
    for (size_t i = 0; i < p->story->count; i++) {
        const struct lab_moment *m = &p->story->moments[i];
        p->top = larger(larger(p->top, m->usage[p->kind]), m->request[p->kind]);
    }
    p->top = p->top > 0.0 ? p->top * HEADROOM : 1.0;
}

static void put_amount(struct vpa_buf *svg, enum vpa_kind kind, double value)
{
    if (kind == VPA_KIND_CPU)
        vpa_buf_printf(svg, "%.3g cores", value);
    else
        vpa_buf_printf(svg, "%.4g MiB", value / 1048576.0);
}

static void draw_grid(const struct panel *p, struct vpa_buf *svg)
{
    for (int i = 0; i <= GRID_LINES; i++) {
        double value = p->top * i / GRID_LINES;
        vpa_buf_printf(svg, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
                       LEFT, WIDTH - 10, y_of(p, value), y_of(p, value));
        vpa_buf_printf(svg, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6,
                       y_of(p, value) + 4);
        put_amount(svg, p->kind, value);
        vpa_buf_puts(svg, "</text>\n");
    }
}

static double value_of(const struct lab_moment *m, enum vpa_kind kind, int what)
{
    return what < VPA_BOUNDS ? m->bound[what][kind] : m->request[kind];
}

/* A step line of a bound, or (VPA_BOUNDS) of the request; only where it changes. */
static void draw_steps(const struct panel *p, int what, const char *class, struct vpa_buf *svg)
{
    double before = NAN;

    vpa_buf_printf(svg, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < p->story->count; i++) {
        double value = value_of(&p->story->moments[i], p->kind, what);
        if (isnan(value) || (value == before && i + 1 < p->story->count))
            continue;
        if (isnan(before))
            vpa_buf_printf(svg, "M%.1f %.1f", x_of(p->story, i), y_of(p, value));
        else
            vpa_buf_printf(svg, "H%.1fV%.1f", x_of(p->story, i), y_of(p, value));
        before = value;
    }
    vpa_buf_puts(svg, "\"/>\n");
}

/* Whether a bound begins to have its value with this moment. */
static bool begins(const struct panel *p, size_t i, enum vpa_bound bound)
{
    double value = p->story->moments[i].bound[bound][p->kind];

    return !isnan(value) && (i == 0 || i + 1 == p->story->count ||
                             value != p->story->moments[i - 1].bound[bound][p->kind]);
}

/* The area between the bounds: along the upper one to the right, along the lower one back. */
static void draw_band(const struct panel *p, struct vpa_buf *svg)
{
    const struct lab_story *s = p->story;
    bool drawn = false;

    vpa_buf_puts(svg, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < s->count; i++) {
        double value = s->moments[i].bound[VPA_UPPER_BOUND][p->kind];
        if (!begins(p, i, VPA_UPPER_BOUND))
            continue;
        if (drawn)
            vpa_buf_printf(svg, "H%.1fV%.1f", x_of(s, i), y_of(p, value));
        else
            vpa_buf_printf(svg, "M%.1f %.1f", x_of(s, i), y_of(p, value));
        drawn = true;
    }
    for (size_t i = s->count; drawn && i-- > 0;)
        if (begins(p, i, VPA_LOWER_BOUND))
            vpa_buf_printf(svg, "V%.1fH%.1f",
                           y_of(p, s->moments[i].bound[VPA_LOWER_BOUND][p->kind]), x_of(s, i));
    vpa_buf_puts(svg, "\"/>\n");
}

/* One bar for each pixel: the largest usage in it. */
static void draw_usage(const struct panel *p, struct vpa_buf *svg)
{
    const struct lab_story *s = p->story;
    size_t next;

    vpa_buf_puts(svg, "<path class=\"usage\" d=\"");
    for (size_t i = 0; i < s->count; i = next) {
        int column = (int)x_of(s, i);
        double largest = NAN;
        for (next = i; next < s->count && (int)x_of(s, next) == column; next++)
            largest = isnan(largest) ? s->moments[next].usage[p->kind]
                                     : larger(largest, s->moments[next].usage[p->kind]);
        if (!isnan(largest))
            vpa_buf_printf(svg, "M%d %dV%.1f", column, p->y + PANEL, y_of(p, largest));
    }
    vpa_buf_puts(svg, "\"/>\n");
}

static void draw_events(const struct panel *p, struct vpa_buf *svg)
{
    const struct lab_story *s = p->story;

    for (size_t i = 0; i < s->count; i++) {
        unsigned events = s->moments[i].events;
        if (events & (LAB_EVICTED | LAB_RESIZED))
            vpa_buf_printf(svg, "<path class=\"change\" d=\"M%.1f %dv6\"/>", x_of(s, i),
                           p->y + PANEL);
        if ((events & LAB_OOM) && p->kind == VPA_KIND_MEMORY)
            vpa_buf_printf(svg, "<circle class=\"oom\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>",
                           x_of(s, i), y_of(p, s->moments[i].request[p->kind]));
    }
    vpa_buf_putc(svg, '\n');
}

static void draw_panel(const struct lab_story *s, enum vpa_kind kind, struct vpa_buf *svg)
{
    struct panel p = {.story = s, .kind = kind, .y = TOP + (int)kind * (PANEL + GAP)};

    scale(&p);
    draw_band(&p, svg);
    draw_usage(&p, svg);
    draw_grid(&p, svg);
    draw_steps(&p, VPA_TARGET, "target", svg);
    draw_steps(&p, VPA_BOUNDS, "request", svg);
    draw_events(&p, svg);
}

static void draw_title(const struct lab_story *s, struct vpa_buf *svg)
{
    char first[VPA_TIME_TEXT_MAX], last[VPA_TIME_TEXT_MAX];

    vpa_time_format(vpa_time_from_unix(s->moments[0].second, 0), first);
    vpa_time_format(vpa_time_from_unix(s->moments[s->count - 1].second, 0), last);
    vpa_buf_printf(svg, "<text class=\"title\" x=\"%d\" y=\"20\">", LEFT);
    cli_put_html(svg, s->name);
    vpa_buf_puts(svg, " / ");
    cli_put_html(svg, s->container);
    vpa_buf_printf(svg, ": algorithm %s, mode ", s->algorithm);
    cli_put_html(svg, s->mode);
    vpa_buf_printf(svg,
                   "</text><text x=\"%d\" y=\"36\">%s to %s: %zu OOMs, %zu evictions, %zu "
                   "resizes</text>\n",
                   LEFT, first, last, s->events[0], s->events[1], s->events[2]);
    vpa_buf_printf(svg,
                   "<text x=\"%d\" y=\"%d\"><tspan fill=\"#7aa6d8\">usage</tspan> (largest of a "
                   "pixel)  <tspan fill=\"#2c7a3f\">target</tspan>  <tspan fill=\"#7fbf7f\">"
                   "bounds</tspan>  <tspan fill=\"#111\">request</tspan>  <tspan "
                   "fill=\"#c62828\">OOM</tspan>  <tspan fill=\"#777\">| change</tspan></text>\n",
                   LEFT, HEIGHT - 20);
}

void lab_story_draw(const struct lab_story *s, struct vpa_buf *svg)
{
    vpa_buf_printf(svg,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n<style>text{font:12px sans-serif;fill:#333}"
                   ".title{font-weight:bold;font-size:14px}.grid{stroke:#ddd}"
                   ".usage{stroke:#7aa6d8;fill:none}.band{fill:#dff0df;stroke:none}"
                   ".target{stroke:#2c7a3f;fill:none}.request{stroke:#111;fill:none;"
                   "stroke-width:2}.change{stroke:#777}.oom{fill:#c62828}</style>\n"
                   "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                   WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    if (s->count) {
        draw_title(s, svg);
        for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
            draw_panel(s, kind, svg);
    }
    vpa_buf_puts(svg, "</svg>\n");
}
