/*
 * A table as kubectl prints them: columns as wide as their widest cell, three blanks between them,
 * nothing but text. Cells are escaped (text.h); an empty one shows as "<none>" only where the
 * caller says so.
 *
 *     struct cli_table table;
 *     cli_table_init(&table, &cli->arena, columns, VPA_COUNT(columns));
 *     cli_table_cell(&table, pod->meta.name);
 *     cli_table_color(&table, CLI_RED, "no");
 *     cli_table_print(&table, cli->format == CLI_WIDE, cli->color, &cli->out);
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "text.h"
#include "vpa/base/mem.h"

struct cli_column {
    const char *title;
    bool right; /* numbers */
    bool wide;  /* with -o wide only */
};
struct cli_cell {
    const char *text;
    enum cli_color color;
};
struct cli_table {
    struct vpa_arena *arena;
    const struct cli_column *columns;
    size_t column_count;
    struct cli_cell *cells; /* row by row; heap */
    size_t cell_count, capacity;
};

void cli_table_init(struct cli_table *table, struct vpa_arena *arena,
                    const struct cli_column *columns, size_t count);
void cli_table_release(struct cli_table *table);
#define cli_auto_table __attribute__((cleanup(cli_table_release))) struct cli_table
/* The next cell, row after row; the text is copied. */
void cli_table_cell(struct cli_table *table, const char *text);
void cli_table_color(struct cli_table *table, enum cli_color color, const char *text);
void cli_table_printf(struct cli_table *table, const char *fmt, ...) VPA_PRINTF(2, 3);
void cli_table_print(const struct cli_table *table, bool wide, bool color, struct vpa_buf *out);
/* The rows as an array of objects, columns by title in lower case, for JSON and YAML. */
void cli_table_json(const struct cli_table *table, struct vpa_buf *out);
/* RFC 4180 with a line of titles. */
void cli_table_csv(const struct cli_table *table, struct vpa_buf *out);

#endif
