/*
 * Texts of strangers on a terminal: names, annotations and messages come from anybody who may
 * create an object, so nothing that a terminal acts upon may be left in them, and columns are made
 * by what a text takes on the screen.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/buf.h"

/* Appends the text with everything but printable characters escaped as in Go: control characters,
 * escape sequences, direction marks, broken UTF-8. NULL is "". */
void cli_put_safe(struct vpa_buf *out, const char *text);
/* Columns that a printable text takes: 2 for wide characters, 0 for combining ones. */
size_t cli_text_width(const char *text);
/* The text as a child of an HTML element or the value of a quoted attribute. */
void cli_put_html(struct vpa_buf *out, const char *text);
/* One field of a CSV line (RFC 4180), quoted where it must be; a text that a spreadsheet would take
 * for a formula gets a ' in front. */
void cli_put_csv(struct vpa_buf *out, const char *text);
/* JSON text, in whose strings stands as \uXXXX what a terminal would act upon. */
void cli_put_json(struct vpa_buf *out, const char *json, size_t len);
/* JSON text as YAML: the same document in block style, its strings escaped likewise. Returns -1
 * when it is not JSON. */
int cli_put_yaml(struct vpa_buf *out, const char *json, size_t len);

enum cli_color { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW };
/* The text, escaped, in that colour when color is true. */
void cli_put_colored(struct vpa_buf *out, bool color, enum cli_color how, const char *text);

#endif
