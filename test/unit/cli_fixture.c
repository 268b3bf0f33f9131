#include "cli_fixture.h"

struct cli cli;

void start_cli(vpa_memory_serve_fn serve, const char *name)
{
    cli_init(&cli);
    if (name)
        cli.command = cli_command_find(name);
    start_client(serve, 1772366400, 3); /* 2026-03-01T12:00:00Z */
    cli.loop = loop;
    cli.client = client;
}

void stop_cli(void)
{
    stop_client();
    cli.client = NULL;
    cli.transport = NULL;
    cli_release(&cli);
}
