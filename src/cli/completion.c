/*
 * `completion`: scripts for three shells, made from the tables of commands and options. kubectl
 * itself completes plugins through a program kubectl_complete-vpa; the script of bash says how.
 */
#include <string.h>

#include "cli.h"

static void put_words(struct vpa_buf *out, const struct cli_command *command)
{
    size_t count;
    const struct cli_option *shared = cli_global_options(&count);

    for (size_t i = 0; i < command->option_count; i++)
        vpa_buf_printf(out, " --%s", command->options[i].name);
    for (size_t i = 0; i < count; i++)
        vpa_buf_printf(out, " --%s", shared[i].name);
}

static void put_names(struct vpa_buf *out)
{
    for (size_t i = 0; cli_commands[i]; i++)
        vpa_buf_printf(out, "%s%s", i ? " " : "", cli_commands[i]->name);
}

/* The words are found by the first command on the line, so that the same function serves
 * kubectl-vpa and a program kubectl_complete-vpa. */
static void put_bash(struct vpa_buf *out)
{
    vpa_buf_puts(out, "# source <(kubectl vpa completion bash)\n"
                      "# For \"kubectl vpa <TAB>\": save as kubectl_complete-vpa on the PATH, with "
                      "the line\n#   _kubectl_vpa_words \"$@\"\n_kubectl_vpa_words() {\n"
                      "    case \"$1\" in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        vpa_buf_printf(out, "    %s) echo \"", cli_commands[i]->name);
        put_words(out, cli_commands[i]);
        vpa_buf_puts(out, "\" | tr ' ' '\\n' ;;\n");
    }
    vpa_buf_puts(out, "    *) echo \"");
    put_names(out);
    vpa_buf_puts(out, "\" | tr ' ' '\\n' ;;\n    esac\n}\n"
                      "_kubectl_vpa() {\n"
                      "    local command=\n"
                      "    [ \"$COMP_CWORD\" -gt 1 ] && command=${COMP_WORDS[1]}\n"
                      "    COMPREPLY=($(compgen -W \"$(_kubectl_vpa_words \"$command\")\" -- "
                      "\"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
                      "complete -F _kubectl_vpa kubectl-vpa\n");
}

static void put_quoted(struct vpa_buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            vpa_buf_puts(out, "'\\'");
        vpa_buf_putc(out, *text);
    }
}

static void put_zsh(struct vpa_buf *out)
{
    vpa_buf_puts(out, "#compdef kubectl-vpa\n# source <(kubectl vpa completion zsh)\n"
                      "_kubectl_vpa() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        vpa_buf_printf(out, "        '%s:", cli_commands[i]->name);
        put_quoted(out, cli_commands[i]->summary);
        vpa_buf_puts(out, "'\n");
    }
    vpa_buf_puts(out, "    )\n    if (( CURRENT == 2 )); then\n"
                      "        _describe command commands\n        return\n    fi\n"
                      "    case \"${words[2]}\" in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        vpa_buf_printf(out, "    %s) compadd --", cli_commands[i]->name);
        put_words(out, cli_commands[i]);
        vpa_buf_puts(out, " ;;\n");
    }
    vpa_buf_puts(out, "    esac\n}\ncompdef _kubectl_vpa kubectl-vpa\n");
}

static void put_fish_option(struct vpa_buf *out, const char *command,
                            const struct cli_option *option)
{
    vpa_buf_puts(out, "complete -c kubectl-vpa");
    if (command)
        vpa_buf_printf(out, " -n '__fish_seen_subcommand_from %s'", command);
    vpa_buf_printf(out, " -l %s", option->name);
    if (option->letter)
        vpa_buf_printf(out, " -s %c", option->letter);
    vpa_buf_printf(out, "%s -d '", option->value ? " -r" : "");
    put_quoted(out, option->help);
    vpa_buf_puts(out, "'\n");
}

static void put_fish(struct vpa_buf *out)
{
    size_t count;
    const struct cli_option *shared = cli_global_options(&count);

    vpa_buf_puts(out, "# kubectl vpa completion fish | source\ncomplete -c kubectl-vpa -f\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        vpa_buf_printf(out, "complete -c kubectl-vpa -n __fish_use_subcommand -a %s -d '",
                       cli_commands[i]->name);
        put_quoted(out, cli_commands[i]->summary);
        vpa_buf_puts(out, "'\n");
        for (size_t o = 0; o < cli_commands[i]->option_count; o++)
            put_fish_option(out, cli_commands[i]->name, &cli_commands[i]->options[o]);
    }
    for (size_t o = 0; o < count; o++)
        put_fish_option(out, NULL, &shared[o]);
}

static int run(struct cli *cli)
{
    static const struct {
        const char *name;
        void (*put)(struct vpa_buf *out);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(shells); i++)
        if (strcmp(cli->args[0], shells[i].name) == 0) {
            shells[i].put(&cli->out);
            return CLI_OK;
        }
    vpa_error_set(&err, VPA_INVALID,
                  "no completion for \"%.60s\"; there is one for bash, zsh and "
                  "fish",
                  cli->args[0]);
    return cli_complain_of_usage(cli, &err);
}

const struct cli_command cli_completion = {
    .name = "completion",
    .summary = "A script that completes commands and options in a shell",
    .arguments = "bash|zsh|fish",
    .min_args = 1,
    .max_args = 1,
    .example = "  # In this shell\n  source <(kubectl vpa completion bash)",
    .forms = CLI_FORM(CLI_TABLE),
    .run = run,
};
