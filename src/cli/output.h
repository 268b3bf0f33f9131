/*
 * Answers as JSON and YAML: an object with what the command says and, last, the notes that narrow
 * it.
 *
 *     struct vpa_json_writer w;
 *     struct cli_json json;
 *     cli_json_begin(&json, &w);
 *     vpa_json_member_string(&w, "server", text);
 *     cli_json_end(cli, &json);          // to cli->out, in the form that was asked for
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli.h"
#include "table.h"
#include "vpa/json/json_writer.h"

struct cli_json {
    struct vpa_buf text;
    struct vpa_json_writer *w;
};
static inline bool cli_is_json(const struct cli *cli)
{
    return cli->format == CLI_JSON || cli->format == CLI_YAML;
}
void cli_json_begin(struct cli_json *json, struct vpa_json_writer *w);
void cli_json_end(struct cli *cli, struct cli_json *json);
/* The table in the form that was asked for; name: of the member that holds the rows. */
void cli_print_table(struct cli *cli, const struct cli_table *table, const char *name);

#endif
