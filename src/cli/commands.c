/*
 * Every command there is, in the order of the help.
 */
#include "cli.h"
#include "lab.h"

const struct cli_command *const cli_commands[] = {
    &cli_why,    &cli_show,   &cli_report,     &cli_top, &cli_dash,    &cli_diff, &cli_create,
    &cli_shadow, &cli_doctor, &cli_completion, &cli_lab, &cli_version, NULL,
};
