#include "output.h"

void cli_json_begin(struct cli_json *json, struct vpa_json_writer *w)
{
    vpa_buf_init(&json->text, CLI_OUT_MAX);
    json->w = w;
    vpa_json_writer_init(w, &json->text);
    vpa_json_open_object(w);
}

void cli_json_end(struct cli *cli, struct cli_json *json)
{
    const char *note;

    if (cli->note_count > 0) {
        vpa_json_member_array(json->w, "notes");
        for (size_t i = 0; (note = cli_note_at(cli, i)) != NULL; i++)
            vpa_json_put_string(json->w, note);
        vpa_json_close_array(json->w);
    }
    vpa_json_close_object(json->w);
    if (vpa_buf_failed(&json->text)) {
        cli->out.failed = true;
    } else if (cli->format == CLI_YAML) {
        (void)cli_put_yaml(&cli->out, vpa_buf_text(&json->text), json->text.len);
    } else {
        cli_put_json(&cli->out, vpa_buf_text(&json->text), json->text.len);
        vpa_buf_putc(&cli->out, '\n');
    }
    vpa_buf_release(&json->text);
}

void cli_print_table(struct cli *cli, const struct cli_table *table, const char *name)
{
    struct vpa_json_writer w;
    struct cli_json json;
    vpa_auto_buf rows = VPA_BUF(CLI_OUT_MAX);

    if (cli->format == CLI_CSV) {
        cli_table_csv(table, &cli->out);
        return;
    }
    if (!cli_is_json(cli)) {
        cli_table_print(table, cli->format == CLI_WIDE, cli->color, &cli->out);
        return;
    }
    cli_table_json(table, &rows);
    cli_json_begin(&json, &w);
    vpa_json_member_raw(&w, name, vpa_buf_text(&rows), rows.len);
    cli_json_end(cli, &json);
}
