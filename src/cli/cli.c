/*
 * The life of the program: the command, the cluster where it asks for one, the answer.
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/seed.h"

#define HELP_MAX ((size_t)64 << 10)
/* A person waits: requests need not be spread as those of a daemon. */
#define CLIENT_QPS 200
#define CLIENT_BURST 400

void cli_init(struct cli *cli)
{
    *cli = (struct cli){.ns = ""};
    vpa_buf_init(&cli->out, CLI_OUT_MAX);
}

void cli_release(struct cli *cli)
{
    vpa_kube_client_free(cli->client);
    vpa_transport_free(cli->transport);
    if (cli->config) { /* otherwise clock and loop are borrowed */
        vpa_kube_config_free(cli->config);
        vpa_loop_free(cli->loop);
        vpa_clock_free(cli->clock);
    }
    vpa_buf_release(&cli->out);
    vpa_arena_release(&cli->arena);
}

const struct cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

vpa_time cli_now(const struct cli *cli)
{
    return vpa_loop_now(cli->loop);
}

static void add_note(struct cli *cli, size_t room, const char *fmt, va_list args) VPA_PRINTF(3, 0);
static void add_note(struct cli *cli, size_t room, const char *fmt, va_list args)
{
    vpa_auto_buf text = VPA_BUF(VPA_ERROR_TEXT_MAX);

    vpa_buf_vprintf(&text, fmt, args);
    for (size_t i = 0; i < cli->note_count; i++)
        if (strcmp(cli->notes[i], vpa_buf_text(&text)) == 0)
            return;
    if (cli->note_count < room)
        cli->notes[cli->note_count++] = vpa_arena_strdup(&cli->arena, vpa_buf_text(&text));
    else
        cli->notes_dropped++;
}

void cli_note(struct cli *cli, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_note(cli, CLI_NOTES_MAX, fmt, args);
    va_end(args);
}

void cli_note_failure(struct cli *cli, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_note(cli, CLI_NOTES_MAX + CLI_NOTES_RESERVE, fmt, args);
    va_end(args);
}

const char *cli_note_at(struct cli *cli, size_t i)
{
    if (i < cli->note_count)
        return cli->notes[i];
    if (i > cli->note_count || cli->notes_dropped == 0)
        return NULL;
    return vpa_arena_printf(&cli->arena, "%zu further notes", cli->notes_dropped);
}

void cli_notes_clear(struct cli *cli)
{
    cli->note_count = cli->notes_dropped = 0;
    cli->lacks = false;
    cli->silence = 0;
}

enum cli_status cli_status_of_answer(const struct cli *cli)
{
    return cli->lacks ? CLI_FAILED : CLI_OK;
}

static void say(const char *what, const char *text)
{
    vpa_auto_buf safe = VPA_BUF(8 * VPA_ERROR_TEXT_MAX);

    cli_put_safe(&safe, text);
    fprintf(stderr, "%s: %s\n", what, vpa_buf_text(&safe));
}

int cli_complain(const struct cli *cli, const struct vpa_error *err)
{
    (void)cli;
    say("error", err->text);
    return CLI_FAILED;
}

int cli_complain_of_usage(const struct cli *cli, const struct vpa_error *err)
{
    cli_complain(cli, err);
    return CLI_USAGE;
}

int cli_write_file(const char *path, const struct vpa_buf *text, struct vpa_error *err)
{
    FILE *file = vpa_buf_failed(text) ? NULL : fopen(path, "we");
    bool written;

    if (!file)
        return vpa_fail(err, VPA_INVALID, "open %s: %s", path,
                        vpa_buf_failed(text) ? "the text is too long" : strerror(errno));
    written = fwrite(vpa_buf_text(text), 1, text->len, file) == text->len;
    if (fclose(file) != 0 || !written)
        return vpa_fail(err, VPA_INVALID, "write %s: %s", path, strerror(errno));
    return 0;
}

/* ---- the cluster ---- */

/* The files of a list as KUBECONFIG has it. */
static struct vpa_kube_config *load_list(struct cli *cli, const char *list, const char *context,
                                         struct vpa_error *err)
{
    const char **paths = vpa_arena_alloc(&cli->arena, (strlen(list) + 1) * sizeof(*paths));
    const char *rest = list;
    struct vpa_slice path;
    size_t count = 0;

    while (vpa_str_split(&rest, ':', &path))
        if (path.len)
            paths[count++] = vpa_arena_printf(&cli->arena, "%.*s", (int)path.len, path.ptr);
    return vpa_kube_config_load_merged(paths, count, context, err);
}

static struct vpa_kube_config *load_config(struct cli *cli, struct vpa_error *err)
{
    const char *context = cli->context ? cli->context : cli_option(cli, "context");
    const char *given = cli_option(cli, "kubeconfig");
    const char *list = getenv("KUBECONFIG");
    const char *home = getenv("HOME");
    const char *path;

    if (given && *given)
        return vpa_kube_config_load_context(given, context, err);
    if (list && *list)
        return load_list(cli, list, context, err);
    path = vpa_arena_printf(&cli->arena, "%s/.kube/config", vpa_or_empty(home));
    return vpa_kube_config_load_merged(&path, home && *home, context, err);
}

static int make_client(struct cli *cli, struct vpa_error *err)
{
    cli->client = vpa_kube_client_new(
        &(struct vpa_kube_client_options){.loop = cli->loop,
                                          .transport = cli->transport,
                                          .config = cli->config,
                                          .random = &cli->random,
                                          .user_agent = "kubectl-vpa/" PLUMB_VERSION,
                                          .qps = CLIENT_QPS,
                                          .burst = CLIENT_BURST},
        err);
    return cli->client ? 0 : -1;
}

static void choose_namespace(struct cli *cli)
{
    const char *given = cli_option(cli, "namespace");
    const char *found = cli->config ? vpa_kube_config_namespace(cli->config) : "";

    if (cli->config && !*found) /* as kubectl: also where the context is that of a file */
        found = vpa_kube_pod_namespace(&cli->arena, VPA_SERVICE_ACCOUNT_DIR);
    if (cli->all_namespaces)
        cli->ns = "";
    else if (given && *given)
        cli->ns = given;
    else
        cli->ns = *found ? found : "default";
}

int cli_use_transport(struct cli *cli, struct vpa_clock *clock, struct vpa_loop *loop,
                      struct vpa_transport *transport, struct vpa_error *err)
{
    vpa_random_init(&cli->random, 1);
    cli->clock = clock;
    cli->loop = loop;
    cli->transport = transport;
    choose_namespace(cli);
    return make_client(cli, err);
}

int cli_connect(struct cli *cli, struct vpa_error *err)
{
    if (cli->client)
        return 0;
    cli->config = load_config(cli, err);
    if (!cli->config)
        return -1;
    vpa_kube_config_use_terminal(cli->config);
    vpa_random_init(&cli->random, vpa_seed_from_kernel());
    vpa_hash_seed(vpa_random_next(&cli->random));
    cli->clock = vpa_clock_new_from_env(err);
    if (!cli->clock)
        return -1;
    cli->loop = vpa_loop_new(cli->clock);
    cli->transport = vpa_kube_connect(cli->loop, cli->config, err);
    if (!cli->transport)
        return -1;
    choose_namespace(cli);
    return make_client(cli, err);
}

void cli_leave_terminal(struct cli *cli)
{
    if (cli->config)
        vpa_kube_config_leave_terminal(cli->config);
}

/* ---- the program ---- */

static int usage(const char *text)
{
    say("error", text);
    return CLI_USAGE;
}

static int print(const struct vpa_buf *text)
{
    if (fwrite(vpa_buf_text(text), 1, text->len, stdout) == text->len && fflush(stdout) == 0)
        return 0;
    say("error", "the answer cannot be written to standard output");
    return -1;
}

static int print_help(const struct cli_command *command)
{
    vpa_auto_buf text = VPA_BUF(HELP_MAX);

    cli_help(command, &text);
    return print(&text) < 0 ? CLI_FAILED : CLI_OK;
}

static int write_answer(struct cli *cli)
{
    const char *note;

    for (size_t i = 0; (note = cli_note_at(cli, i)) != NULL; i++)
        say("note", note);
    if (vpa_buf_failed(&cli->out)) {
        say("error", "the answer is longer than 256 MiB; ask for one namespace");
        return -1;
    }
    return print(&cli->out);
}

static int run_command(struct cli *cli, int argc, char *const *argv)
{
    struct vpa_error err;
    bool help = false;

    cli->argc = argc;
    cli->argv = argv;
    if (cli->command->raw)
        cli->args = NULL;
    else if (cli_parse(cli, argc, argv, &help, &err) < 0)
        return usage(err.text);
    if (help)
        return print_help(cli->command);
    cli->color = !cli_option(cli, "no-color") && !getenv("NO_COLOR") && isatty(STDOUT_FILENO) &&
                 !vpa_str_eq(getenv("TERM"), "dumb");

    int status = cli->command->run(cli);

    return write_answer(cli) < 0 && status == CLI_OK ? CLI_FAILED : status;
}

static bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The library's log is for daemons: what a person has to know comes back as an error or a note. */
static void quiet_log(void)
{
    const struct vpa_log_options options = {.least = VPA_LOG_FATAL, .fd = STDERR_FILENO};

    (void)vpa_log_configure(&options, NULL);
}

int cli_main(int argc, char *const *argv)
{
    struct cli cli;
    int status;

    if (argc < 2 || is_help(argv[1])) {
        const struct cli_command *about = argc > 2 ? cli_command_find(argv[2]) : NULL;

        status = print_help(about);
        return argc < 2 ? CLI_USAGE : status;
    }
    cli_init(&cli);
    cli.command = cli_command_find(argv[1]);
    if (cli.command) {
        quiet_log();
        status = run_command(&cli, argc - 2, argv + 2);
    } else {
        vpa_auto_free char *text =
            vpa_xprintf("unknown command \"%.60s\"; \"kubectl vpa --help\" lists them", argv[1]);
        status = usage(text);
    }
    cli_release(&cli);
    return status;
}
