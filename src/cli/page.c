/*
 * The page of `report` and `dash`: rows are in it as they are, so it can be read without its
 * script, which sorts and filters.
 */
#include "page.h"

#include <math.h>

#include "report.h"
#include "text.h"
#include "vpa/base/str.h"

#define LIVE_SECONDS 15
#define BAR_WIDTH 600.0
#define BARS_SHOWN 8 /* namespaces, those with the most to save first */

struct heading {
    const char *title;
    const char *classes;
};
static const struct heading headings[] = {
    {"Namespace", ""},
    {"Workload", ""},
    {"Container", ""},
    {"Pods", "r wide"},
    {"VPA", "wide"},
    {"Mode", "wide"},
    {"CPU used", "r wide"},
    {"CPU", "r"},
    {"CPU target", "r wide"},
    {"CPU saves", "r"},
    {"CPU lacks", "r"},
    {"Memory used", "r wide"},
    {"Memory", "r"},
    {"Memory target", "r wide"},
    {"Memory saves", "r"},
    {"Memory lacks", "r"},
    {"Risk", ""},
};

static void put_head(struct cli *cli, bool live, struct vpa_buf *out)
{
    char when[VPA_TIME_TEXT_MAX];

    vpa_time_format(cli_now(cli), when);
    vpa_buf_puts(out, "<!doctype html>\n<html lang=\"en\"");
    if (live)
        vpa_buf_printf(out, " data-live=\"%d\"", LIVE_SECONDS);
    vpa_buf_printf(out,
                   "><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                   "content=\"width=device-width, initial-scale=1\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "style-src 'unsafe-inline'; script-src 'unsafe-inline'%s\">\n"
                   "<meta name=\"referrer\" content=\"no-referrer\"><link rel=\"icon\" "
                   "href=\"data:,\">\n<title>Vertical pod autoscaling</title>\n<style>\n%s</style>"
                   "<script>document.documentElement.classList.add(\"js\")</script></"
                   "head>\n<body><a class=\"skip\" href=\"#rows\">To the containers</a>\n<main>\n"
                   "<h1>Vertical pod autoscaling</h1>\n<p>As of <span id=\"when\">%s</span>. <span "
                   "id=\"live\" role=\"status\"></span></p>\n",
                   live ? "; connect-src 'self'; img-src data:" : "; img-src data:", cli_page_style,
                   when);
}

static void put_notes(struct cli *cli, struct vpa_buf *out)
{
    const char *note;

    /* Also without notes: a live page puts the next one's in its place. */
    if (cli->note_count == 0) {
        vpa_buf_puts(out, "<div id=\"notes\"></div>\n");
        return;
    }
    vpa_buf_puts(out, "<div id=\"notes\" class=\"notes\"><p>What this page lacks:</p><ul>");
    for (size_t i = 0; (note = cli_note_at(cli, i)) != NULL; i++) {
        vpa_buf_puts(out, "<li>");
        cli_put_html(out, note);
        vpa_buf_puts(out, "</li>");
    }
    vpa_buf_puts(out, "</ul></div>\n");
}

/* ---- sums ---- */

static void put_bar(struct vpa_buf *out, const char *classes, int y, double width)
{
    vpa_buf_printf(out, "<rect class=\"%s\" y=\"%d\" width=\"%.1f\" height=\"8\"/>", classes, y,
                   width);
}

static void put_amount_text(struct vpa_buf *out, const char *what, int resource, int64_t amount)
{
    vpa_buf_printf(out, "%s ", what);
    cli_put_amount(out, resource, amount);
}

static void put_sum(struct vpa_buf *out, const struct cli_row *row, int resource, double largest)
{
    double scale = largest > 0 ? BAR_WIDTH / largest : 0;

    vpa_buf_puts(out, "<div class=\"n\">");
    cli_put_html(out, row->ns);
    vpa_buf_printf(out,
                   "</div><svg viewBox=\"0 0 %.0f 26\" preserveAspectRatio=\"none\" "
                   "role=\"img\"><title>",
                   BAR_WIDTH);
    cli_put_html(out, row->ns);
    vpa_buf_puts(out, ": ");
    put_amount_text(out, "requested", resource, row->request[resource]);
    put_amount_text(out, ", recommended", resource, row->target[resource]);
    put_amount_text(out, ", used", resource, row->usage[resource]);
    vpa_buf_puts(out, "</title>");
    put_bar(out, "asked", 0, (double)row->request[resource] * scale);
    put_bar(out, "target", 9, (double)row->target[resource] * scale);
    put_bar(out, "used", 18, (double)row->usage[resource] * scale);
    vpa_buf_puts(out, "</svg>\n");
}

/* The first of them, and the others where one asks for them. */
static void put_bars(struct vpa_buf *out, const struct cli_world *sums, int resource,
                     double largest)
{
    for (size_t i = 0; i < sums->count; i++) {
        if (i == BARS_SHOWN)
            vpa_buf_printf(out, "</div><details><summary>%zu more</summary><div class=\"bars\">\n",
                           sums->count - i);
        put_sum(out, sums->rows[i], resource, largest);
    }
    vpa_buf_puts(out, sums->count > BARS_SHOWN ? "</div></details>\n" : "</div>\n");
}

static void put_sums(const struct cli_world *world, struct vpa_buf *out)
{
    static const char *const titles[] = {"CPU by namespace", "Memory by namespace"};
    struct cli_world sums;

    cli_world_group(world, CLI_BY_NAMESPACE, &sums);
    cli_world_sort(&sums, CLI_ORDER_WASTE);
    vpa_buf_puts(out, "<section id=\"sums\"><p class=\"key\"><i class=\"asked\"></i>requested<i "
                      "class=\"target\"></i>recommended<i class=\"used\"></i>used</p>\n");
    for (int r = 0; r < CLI_RESOURCES; r++) {
        double largest = 0;

        for (size_t i = 0; i < sums.count; i++)
            largest =
                fmax(largest,
                     fmax((double)sums.rows[i]->request[r],
                          fmax((double)sums.rows[i]->target[r], (double)sums.rows[i]->usage[r])));
        vpa_buf_printf(out, "<h2>%s</h2><div class=\"bars\">\n", titles[r]);
        put_bars(out, &sums, r, largest);
    }
    vpa_buf_puts(out, "</section>\n");
    cli_world_release(&sums);
}

/* ---- rows ---- */

static void put_name(struct vpa_buf *out, const char *classes, const char *prefix, const char *text)
{
    vpa_buf_printf(out, "<td class=\"name %s\">", classes);
    cli_put_html(out, prefix);
    cli_put_html(out, text);
    vpa_buf_puts(out, "</td>");
}

static void put_number(struct vpa_buf *out, const char *classes, int resource, int64_t amount,
                       bool known)
{
    vpa_buf_printf(out, "<td class=\"r %s\" data-v=\"%lld\">", classes,
                   known ? (long long)amount : -1LL);
    if (known)
        cli_put_amount(out, resource, amount);
    else
        vpa_buf_puts(out, "\xe2\x80\x93");
    vpa_buf_puts(out, "</td>");
}

static void put_row(struct vpa_buf *out, const struct cli_row *row)
{
    bool saves = row->saves[CLI_CPU] > 0 || row->saves[CLI_MEMORY] > 0;
    vpa_auto_buf kind = VPA_BUF(VPA_ERROR_TEXT_MAX);

    vpa_buf_printf(&kind, "%.200s/", row->kind);
    vpa_buf_printf(out, "<tr data-risk=\"%d\" data-waste=\"%d\" data-bare=\"%d\">", row->below,
                   saves, !*row->vpa);
    put_name(out, "", "", row->ns);
    put_name(out, "", vpa_buf_text(&kind), row->workload);
    put_name(out, "", "", row->container);
    vpa_buf_printf(out, "<td class=\"r wide\" data-v=\"%lld\">%lld</td>", (long long)row->pods,
                   (long long)row->pods);
    put_name(out, "wide", "", *row->vpa ? row->vpa : "\xe2\x80\x93");
    put_name(out, "wide", "", *row->mode ? row->mode : "\xe2\x80\x93");
    for (int r = 0; r < CLI_RESOURCES; r++) {
        put_number(out, "wide", r, row->usage[r], row->measured);
        put_number(out, "", r, row->request[r], true);
        put_number(out, "wide", r, row->target[r], row->recommended);
        put_number(out, row->saves[r] ? "good" : "", r, row->saves[r], row->recommended);
        put_number(out, row->lacks[r] ? "warn" : "", r, row->lacks[r], row->recommended);
    }
    vpa_buf_puts(out, row->below ? "<td class=\"bad\">below</td></tr>\n" : "<td></td></tr>\n");
}

static void put_rows(const struct cli_world *world, struct vpa_buf *out)
{
    vpa_buf_puts(
        out, "<h2>Containers</h2><div class=\"tools\"><label>Filter by name<input id=\"filter\" "
             "type=\"search\" autocomplete=\"off\"></label>\n<label>Show<select id=\"only\">"
             "<option value=\"\">all</option><option value=\"waste\">what would be saved"
             "</option><option value=\"risk\">what is at risk</option><option value=\"bare\">"
             "what has no VPA</option></select></label>\n<output id=\"count\" "
             "aria-live=\"polite\"></output></div>\n<div class=\"wrap\" tabindex=\"0\" "
             "role=\"region\" aria-label=\"Containers\"><table id=\"rows\"><caption>Sums over "
             "the pods of a workload. Saves: requested beyond the target. Lacks: recommended "
             "beyond what is requested.</caption>\n<thead><tr>");
    for (size_t i = 0; i < VPA_COUNT(headings); i++)
        vpa_buf_printf(out,
                       "<th scope=\"col\" class=\"%s\"><button type=\"button\">%s</button></th>",
                       headings[i].classes, headings[i].title);
    vpa_buf_puts(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < world->count; i++)
        put_row(out, world->rows[i]);
    vpa_buf_puts(out, "</tbody></table></div>\n<button id=\"more\" type=\"button\" hidden>Show "
                      "more</button>\n");
}

void cli_report_page(struct cli *cli, const struct cli_world *world, bool live, struct vpa_buf *out)
{
    put_head(cli, live, out);
    put_notes(cli, out);
    put_sums(world, out);
    put_rows(world, out);
    cli_page_put_past(world, out);
    vpa_buf_printf(out, "</main>\n<script>\n%s</script></body></html>\n", cli_page_script);
}
