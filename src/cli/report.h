/*
 * The rows of cli/world.h as a table and as a page.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "table.h"
#include "world.h"

/* A table with the columns of `report`, filled with the rows; it goes with the world. */
void cli_report_table(struct cli *cli, struct cli_world *world, struct cli_table *out);
/* One page that needs nothing but itself. live: it asks its own address for a newer one. */
void cli_report_page(struct cli *cli, const struct cli_world *world, bool live,
                     struct vpa_buf *out);

#endif
