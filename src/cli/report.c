/*
 * `report`: what would be saved and what is at risk.
 */
#include "report.h"

#include "output.h"
#include "past.h"
#include "vpa/base/str.h"

static void put_amount_cell(struct cli_table *table, bool raw, int resource, int64_t amount,
                            bool known, enum cli_color color)
{
    vpa_auto_buf text = VPA_BUF(64);

    if (known && raw)
        vpa_buf_printf(&text, "%lld", (long long)amount);
    else if (known)
        cli_put_amount(&text, resource, amount);
    cli_table_color(table, amount > 0 ? color : CLI_PLAIN,
                    known || raw ? vpa_buf_text(&text) : "-");
}

/* raw: millicores and bytes as whole numbers, for programs. */
static void put_row(struct cli_table *table, const struct cli_row *row, bool raw)
{
    cli_table_cell(table, row->ns);
    if (*row->kind)
        cli_table_printf(table, "%s/%s", row->kind, row->workload);
    else
        cli_table_cell(table, "");
    cli_table_cell(table, row->container);
    cli_table_printf(table, "%lld", (long long)row->pods);
    cli_table_cell(table, *row->vpa ? row->vpa : "-");
    cli_table_cell(table, *row->mode ? row->mode : "-");
    for (int i = 0; i < CLI_RESOURCES; i++) {
        put_amount_cell(table, raw, i, row->usage[i], row->measured, CLI_PLAIN);
        put_amount_cell(table, raw, i, row->request[i], true, CLI_PLAIN);
        put_amount_cell(table, raw, i, row->target[i], row->recommended, CLI_PLAIN);
        put_amount_cell(table, raw, i, row->saves[i], row->recommended, CLI_GREEN);
        put_amount_cell(table, raw, i, row->lacks[i], row->recommended, CLI_YELLOW);
    }
    cli_table_color(table, CLI_RED, row->below ? "below" : "");
    cli_table_cell(table, row->algorithm ? row->algorithm : row->recommended ? "status" : "-");
}

void cli_report_table(struct cli *cli, struct cli_world *world, struct cli_table *out)
{
    static const struct cli_column columns[] = {
        {"NAMESPACE"},
        {"WORKLOAD"},
        {"CONTAINER"},
        {"PODS", .right = true},
        {"VPA", .wide = true},
        {"MODE"},
        {"CPU-USED", .right = true},
        {"CPU", .right = true},
        {"CPU-TARGET", .right = true},
        {"CPU-SAVES", .right = true},
        {"CPU-LACKS", .right = true},
        {"MEM-USED", .right = true},
        {"MEM", .right = true},
        {"MEM-TARGET", .right = true},
        {"MEM-SAVES", .right = true},
        {"MEM-LACKS", .right = true},
        {"RISK"},
        {"BY", .wide = true},
    };

    cli_table_init(out, &world->arena, columns, VPA_COUNT(columns));
    for (size_t i = 0; i < world->count; i++)
        put_row(out, world->rows[i], cli->format == CLI_CSV);
}

static int write_page(struct cli *cli, const struct cli_world *world, const char *path,
                      struct vpa_error *err)
{
    vpa_auto_buf page = VPA_BUF(CLI_OUT_MAX);

    cli_report_page(cli, world, false, &page);
    return cli_write_file(path, &page, err);
}

/* ---- for programs ---- */

static void json_amounts(struct vpa_json_writer *w, const char *name, const int64_t *amounts)
{
    vpa_json_member_object(w, name);
    vpa_json_member_int(w, "cpu_millicores", amounts[CLI_CPU]);
    vpa_json_member_int(w, "memory_bytes", amounts[CLI_MEMORY]);
    vpa_json_close_object(w);
}

static void json_row(struct vpa_json_writer *w, const struct cli_row *row)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "namespace", row->ns);
    vpa_json_member_string_opt(w, "kind", row->kind);
    vpa_json_member_string_opt(w, "workload", row->workload);
    vpa_json_member_string_opt(w, "container", row->container);
    vpa_json_member_string_opt(w, "vpa", row->vpa);
    vpa_json_member_string_opt(w, "mode", row->mode);
    vpa_json_member_int(w, "pods", row->pods);
    json_amounts(w, "requested", row->request);
    if (row->measured)
        json_amounts(w, "used", row->usage);
    vpa_json_member_string_opt(w, "algorithm", row->algorithm);
    if (row->recommended) {
        json_amounts(w, "target", row->target);
        json_amounts(w, "saves", row->saves);
        json_amounts(w, "lacks", row->lacks);
    }
    vpa_json_member_bool(w, "at_risk", row->below);
    vpa_json_close_object(w);
}

static void print_rows(struct cli *cli, struct cli_world *world)
{
    cli_auto_table table = {0};
    struct vpa_json_writer w;
    struct cli_json json;

    if (!cli_is_json(cli)) {
        cli_report_table(cli, world, &table);
        cli_print_table(cli, &table, "rows");
        return;
    }
    cli_json_begin(&json, &w);
    vpa_json_member_array(&w, "rows");
    for (size_t i = 0; i < world->count; i++)
        json_row(&w, world->rows[i]);
    vpa_json_close_array(&w);
    cli_json_end(cli, &json);
}

static int report(struct cli *cli, enum cli_group group, enum cli_order order,
                  struct vpa_error *err)
{
    const char *html = cli_option(cli, "html");
    struct cli_world world, sums;
    int status = 0;

    if (cli_world_read(cli, cli->ns, &world, err) < 0)
        return -1;
    if (cli_world_wants_past(cli) && cli_past_read(cli, &world, err) < 0) {
        cli_world_release(&world);
        return -1;
    }
    if (html) {
        status = write_page(cli, &world, html, err);
    } else {
        cli_world_group(&world, group, &sums);
        cli_world_sort(&sums, order);
        print_rows(cli, &sums);
        cli_world_release(&sums);
    }
    cli_world_release(&world);
    return status;
}

static int run(struct cli *cli)
{
    size_t group = CLI_BY_CONTAINER, order = CLI_ORDER_NAME;
    struct vpa_error err;

    if (cli_choose(cli, "by", cli_group_names, &group, &err) < 0 ||
        cli_choose(cli, "sort", cli_order_names, &order, &err) < 0)
        return cli_complain_of_usage(cli, &err);
    if (cli_connect(cli, &err) < 0 ||
        report(cli, (enum cli_group)group, (enum cli_order)order, &err) < 0)
        return cli_complain(cli, &err);
    return (int)cli_status_of_answer(cli);
}

static const struct cli_option options[] = {
    {"by", 0, "container|workload|namespace", "What a row stands for"},
    {"sort", 0, "name|waste|risk", "The order of the rows"},
    {"html", 0, "FILE", "Writes a page that needs no network, instead of a table"},
    CLI_PAST_OPTIONS,
};

const struct cli_command cli_report = {
    .name = "report",
    .summary = "What would be saved and what is at risk",
    .arguments = "",
    .details = "Amounts are sums over the pods of a workload. SAVES: requested beyond the target. "
               "LACKS: recommended\nbeyond what is requested. RISK: a request is below its lower "
               "bound, or memory in use above its request.",
    .example = "  # The most wasteful workloads of all namespaces\n"
               "  kubectl vpa report -A --by workload --sort waste\n"
               "  # A page to hand on\n  kubectl vpa report -A --html report.html\n"
               "  # What a VPA would recommend where there is none, with usage over time\n"
               "  kubectl vpa report -n shop --prometheus http://127.0.0.1:9090 --algorithm plumb "
               "--html report.html",
    .options = options,
    .option_count = VPA_COUNT(options),
    .run = run,
};
