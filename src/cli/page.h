/*
 * The style and the script of the page, from page/ at build time; NUL-terminated.
 */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

extern const char cli_page_style[];  /* page/report.css */
extern const char cli_page_script[]; /* page/report.js */

struct cli_world;
struct vpa_buf;
/* The pictures of past.h, where it was asked. */
void cli_page_put_past(const struct cli_world *world, struct vpa_buf *out);

#endif
