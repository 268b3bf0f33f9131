#include "table.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>

#include "vpa/base/buf.h"
#include "vpa/json/json_writer.h"

#define GAP 3
#define CELL_MAX ((size_t)64 << 10)

void cli_table_init(struct cli_table *table, struct vpa_arena *arena,
                    const struct cli_column *columns, size_t count)
{
    *table = (struct cli_table){.arena = arena, .columns = columns, .column_count = count};
}

void cli_table_release(struct cli_table *table)
{
    free(table->cells);
    table->cells = NULL;
    table->cell_count = table->capacity = 0;
}

void cli_table_color(struct cli_table *table, enum cli_color color, const char *text)
{
    vpa_auto_buf safe = VPA_BUF(CELL_MAX);

    cli_put_safe(&safe, text);
    VPA_GROW(table->cells, table->cell_count, table->capacity);
    table->cells[table->cell_count++] =
        (struct cli_cell){vpa_arena_strdup(table->arena, vpa_buf_text(&safe)), color};
}

void cli_table_cell(struct cli_table *table, const char *text)
{
    cli_table_color(table, CLI_PLAIN, text);
}

void cli_table_printf(struct cli_table *table, const char *fmt, ...)
{
    vpa_auto_buf text = VPA_BUF(CELL_MAX);
    va_list args;

    va_start(args, fmt);
    vpa_buf_vprintf(&text, fmt, args);
    va_end(args);
    cli_table_cell(table, vpa_buf_text(&text));
}

static void pad(struct vpa_buf *out, size_t blanks)
{
    while (blanks-- > 0)
        vpa_buf_putc(out, ' ');
}

static bool shows(const struct cli_table *table, size_t column, bool wide)
{
    return wide || !table->columns[column].wide;
}

/* The column of a cell. */
static size_t column_of(const struct cli_table *table, size_t cell)
{
    assert(table->column_count > 0);
    return cell % table->column_count;
}

static bool ends_row(const struct cli_table *table, size_t cell)
{
    return column_of(table, cell) + 1 == table->column_count;
}

static size_t *measure(const struct cli_table *table)
{
    size_t *widths = vpa_xcalloc(table->column_count, sizeof(*widths));

    for (size_t c = 0; c < table->column_count; c++)
        widths[c] = cli_text_width(table->columns[c].title);
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = cli_text_width(table->cells[i].text);

        if (width > widths[column_of(table, i)])
            widths[column_of(table, i)] = width;
    }
    return widths;
}

static size_t last_shown(const struct cli_table *table, bool wide)
{
    size_t last = 0;

    for (size_t c = 0; c < table->column_count; c++)
        if (shows(table, c, wide))
            last = c;
    return last;
}

/* Nothing but blanks behind the last text. */
static void end_line(struct vpa_buf *out)
{
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        vpa_buf_truncate(out, out->len - 1);
    vpa_buf_putc(out, '\n');
}

static void print_cell(const struct cli_table *table, size_t c, const struct cli_cell *cell,
                       size_t width, bool last, bool color, struct vpa_buf *out)
{
    size_t used = cli_text_width(cell->text);

    if (table->columns[c].right)
        pad(out, width - used);
    cli_put_colored(out, color, cell->color, cell->text);
    if (last)
        end_line(out);
    else
        pad(out, GAP + (table->columns[c].right ? 0 : width - used));
}

void cli_table_print(const struct cli_table *table, bool wide, bool color, struct vpa_buf *out)
{
    vpa_auto_free size_t *widths = measure(table);
    size_t last = last_shown(table, wide);

    for (size_t c = 0; c < table->column_count; c++)
        if (shows(table, c, wide))
            print_cell(table, c, &(struct cli_cell){table->columns[c].title, CLI_BOLD}, widths[c],
                       c == last, color, out);
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t c = column_of(table, i);

        if (shows(table, c, wide))
            print_cell(table, c, &table->cells[i], widths[c], c == last, color, out);
    }
}

static void put_key(struct vpa_json_writer *w, const char *title)
{
    char key[64];
    size_t n = 0;

    for (; title[n] && n < sizeof(key) - 1; n++)
        key[n] = isalnum((unsigned char)title[n]) ? (char)tolower((unsigned char)title[n]) : '_';
    key[n] = '\0';
    vpa_json_key(w, key);
}

void cli_table_json(const struct cli_table *table, struct vpa_buf *out)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_array(&w);
    for (size_t i = 0; i < table->cell_count; i++) {
        if (column_of(table, i) == 0)
            vpa_json_open_object(&w);
        put_key(&w, table->columns[column_of(table, i)].title);
        vpa_json_put_string(&w, table->cells[i].text);
        if (ends_row(table, i))
            vpa_json_close_object(&w);
    }
    vpa_json_close_array(&w);
}

void cli_table_csv(const struct cli_table *table, struct vpa_buf *out)
{
    for (size_t c = 0; c < table->column_count; c++) {
        cli_put_csv(out, table->columns[c].title);
        vpa_buf_puts(out, c + 1 == table->column_count ? "\r\n" : ",");
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        cli_put_csv(out, table->cells[i].text);
        vpa_buf_puts(out, ends_row(table, i) ? "\r\n" : ",");
    }
}
