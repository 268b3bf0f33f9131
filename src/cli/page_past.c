/*
 * Usage against request over time, on the page of `report`: a picture for CPU and one for memory of
 * each container whose history is known.
 */
#include <math.h>

#include "page.h"
#include "report.h"
#include "text.h"
#include "vpa/base/str.h"

#define WIDTH 600.0
#define HEIGHT 60.0
/* Those that come first; a page of thousands of pictures is no page. */
#define SHOWN_MAX 200

struct picture {
    const struct cli_row *row;
    int resource;
    size_t points;
    double largest;
};

static double largest_of(const struct picture *p)
{
    double largest = fmax((double)p->row->request[p->resource],
                          p->row->recommended ? (double)p->row->target[p->resource] : 0);

    for (size_t i = 0; i < p->points; i++)
        largest = fmax(largest, p->row->past[p->resource][i]);
    return largest > 0 ? largest : 1;
}

static double height_of(const struct picture *p, double amount)
{
    return HEIGHT - amount / p->largest * (HEIGHT - 2) - 1;
}

static void put_level(struct vpa_buf *out, const struct picture *p, const char *classes,
                      int64_t amount)
{
    double y = height_of(p, (double)amount);

    vpa_buf_printf(out, "<line class=\"%s\" x1=\"0\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                   classes, WIDTH, y, y);
}

/* The sum drops to zero where nothing ran or was measured. */
static void put_usage(struct vpa_buf *out, const struct picture *p)
{
    double step = p->points > 1 ? WIDTH / (double)(p->points - 1) : 0;

    vpa_buf_puts(out, "<polyline class=\"used\" points=\"");
    for (size_t i = 0; i < p->points; i++)
        vpa_buf_printf(out, "%.1f,%.1f ", (double)i * step,
                       height_of(p, p->row->past[p->resource][i]));
    vpa_buf_puts(out, "\"/>");
}

static void put_amount(struct vpa_buf *out, const char *what, int resource, int64_t amount)
{
    vpa_buf_puts(out, what);
    cli_put_amount(out, resource, amount);
}

static void put_picture(struct vpa_buf *out, struct picture *p)
{
    static const char *const names[] = {"CPU", "memory"};
    double most = 0;

    for (size_t i = 0; i < p->points; i++)
        most = fmax(most, p->row->past[p->resource][i]);
    p->largest = largest_of(p);
    vpa_buf_printf(out,
                   "<svg viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\" role=\"img\">"
                   "<title>%s over time",
                   WIDTH, HEIGHT, names[p->resource]);
    put_amount(out, ": at most ", p->resource, (int64_t)fmin(most, 9e18));
    put_amount(out, ", requested ", p->resource, p->row->request[p->resource]);
    if (p->row->recommended)
        put_amount(out, ", recommended ", p->resource, p->row->target[p->resource]);
    vpa_buf_puts(out, "</title>");
    put_usage(out, p);
    put_level(out, p, "asked", p->row->request[p->resource]);
    if (p->row->recommended)
        put_level(out, p, "target", p->row->target[p->resource]);
    vpa_buf_puts(out, "</svg>");
}

static void put_row(struct vpa_buf *out, const struct cli_row *row, size_t points)
{
    vpa_buf_puts(out, "<div class=\"n\">");
    cli_put_html(out, row->ns);
    vpa_buf_puts(out, " / ");
    cli_put_html(out, row->workload);
    vpa_buf_puts(out, " / ");
    cli_put_html(out, row->container);
    if (row->algorithm)
        vpa_buf_printf(out, " (by %s)", row->algorithm);
    vpa_buf_puts(out, "</div><div class=\"past\">");
    for (int r = 0; r < CLI_RESOURCES; r++)
        if (row->past[r])
            put_picture(out, &(struct picture){.row = row, .resource = r, .points = points});
    vpa_buf_puts(out, "</div>\n");
}

void cli_page_put_past(const struct cli_world *world, struct vpa_buf *out)
{
    char from[VPA_TIME_TEXT_MAX];
    size_t shown = 0, left = 0;

    if (world->past_points == 0)
        return;
    vpa_time_format(world->past_from, from);
    vpa_buf_printf(out,
                   "<section id=\"past\"><h2>Usage against request over time</h2><p>CPU and "
                   "memory since %s, sums over pods.</p><div class=\"bars\">\n",
                   from);
    for (size_t i = 0; i < world->count; i++) {
        const struct cli_row *row = world->rows[i];

        if (!row->past[CLI_CPU] && !row->past[CLI_MEMORY])
            continue;
        if (shown < SHOWN_MAX) {
            put_row(out, row, world->past_points);
            shown++;
        } else {
            left++;
        }
    }
    vpa_buf_puts(out, "</div>\n");
    if (left)
        vpa_buf_printf(out, "<p>%zu more containers have a history; ask for one namespace.</p>\n",
                       left);
    if (shown == 0)
        vpa_buf_puts(out, "<p>Prometheus knows none of these containers.</p>\n");
    vpa_buf_puts(out, "</section>\n");
}
