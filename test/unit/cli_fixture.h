/* A command's surroundings around each test: its client talks to a server of the test. */
#ifndef TEST_CLI_FIXTURE_H
#define TEST_CLI_FIXTURE_H

#include "client_fixture.h"
#include "cli.h"

#define LIST(...) "{\"items\":[" __VA_ARGS__ "]}"

extern struct cli cli;

/* name: the command, or NULL. */
void start_cli(vpa_memory_serve_fn serve, const char *name);
void stop_cli(void);

#endif
