/*
 * The words of a command line, and the help that is made from the same tables.
 */
#include <string.h>

#include "cli.h"
#include "vpa/base/str.h"

#define CHOICES_MAX 256

static const struct cli_option global_options[] = {
    {"kubeconfig", 0, "FILE", "The kubeconfig; default $KUBECONFIG, then ~/.kube/config"},
    {"context", 0, "NAME", "The context of the kubeconfig; default its current one"},
    {"namespace", 'n', "NAME", "The namespace; default that of the context"},
    {"all-namespaces", 'A', NULL, "All namespaces"},
    {"output", 'o', "FORM", "table, wide, json, yaml or csv"},
    {"no-color", 0, NULL, "No colours, also on a terminal"},
    {"help", 'h', NULL, "This page"},
};
#define GLOBALS VPA_COUNT(global_options)

const struct cli_option *cli_global_options(size_t *count)
{
    *count = GLOBALS;
    return global_options;
}

static size_t option_count(const struct cli *cli)
{
    return GLOBALS + cli->command->option_count;
}

static const struct cli_option *option_at(const struct cli *cli, size_t i)
{
    return i < GLOBALS ? &global_options[i] : &cli->command->options[i - GLOBALS];
}

const char *cli_option(const struct cli *cli, const char *name)
{
    for (size_t i = 0; i < option_count(cli); i++)
        if (strcmp(option_at(cli, i)->name, name) == 0)
            return cli->values[i];
    return NULL;
}

int cli_choose(const struct cli *cli, const char *option, const char *const *names, size_t *choice,
               struct vpa_error *err)
{
    const char *given = cli_option(cli, option);
    vpa_auto_buf all = VPA_BUF(CHOICES_MAX);

    for (size_t i = 0; given && names[i]; i++) {
        if (strcmp(given, names[i]) == 0) {
            *choice = i;
            return 0;
        }
        vpa_buf_printf(&all, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    return given ? vpa_fail(err, VPA_INVALID, "--%s %.60s is not one of %s", option, given,
                            vpa_buf_text(&all))
                 : 0;
}

struct words {
    char *const *items;
    int count, next;
};

/* The option that a word names; *value is what follows its "=", or NULL. */
static size_t find_option(const struct cli *cli, const char *word, const char **value)
{
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    size_t len = is_long ? strcspn(name, "=") : 1;

    *value = NULL;
    if (is_long && name[len] == '=')
        *value = name + len + 1;
    else if (!is_long && name[1])
        *value = name + 1 + (name[1] == '=');
    for (size_t i = 0; i < option_count(cli); i++) {
        const struct cli_option *option = option_at(cli, i);

        if (is_long ? strlen(option->name) == len && strncmp(option->name, name, len) == 0
                    : option->letter && option->letter == name[0])
            return i;
    }
    return SIZE_MAX;
}

static int take_option(struct cli *cli, struct words *words, const char *word,
                       struct vpa_error *err)
{
    const char *value;
    size_t i = find_option(cli, word, &value);

    if (i == SIZE_MAX)
        return vpa_fail(err, VPA_INVALID,
                        "unknown option %.100s; \"kubectl vpa %s --help\" lists "
                        "those that there are",
                        word, cli->command->name);

    const struct cli_option *option = option_at(cli, i);

    if (!option->value) {
        if (value && strcmp(value, "true") != 0)
            return vpa_fail(err, VPA_INVALID, "option --%s takes no value", option->name);
        cli->values[i] = "";
        return 0;
    }
    if (!value && words->next == words->count)
        return vpa_fail(err, VPA_INVALID, "option --%s needs a value: %s", option->name,
                        option->value);
    cli->values[i] = value ? value : words->items[words->next++];
    return 0;
}

static int read_format(struct cli *cli, struct vpa_error *err)
{
    static const char *const names[] = {"table", "wide", "json", "yaml", "csv", NULL};
    size_t form = CLI_TABLE;

    if (cli_choose(cli, "output", names, &form, err) < 0)
        return -1;
    if (cli->command->forms && !(cli->command->forms & CLI_FORM(form)))
        return vpa_fail(err, VPA_INVALID, "\"%s\" has no form %s", cli->command->name, names[form]);
    cli->format = (enum cli_format)form;
    return 0;
}

static int check_words(const struct cli *cli, struct vpa_error *err)
{
    const struct cli_command *c = cli->command;

    if (cli->arg_count < c->min_args)
        return vpa_fail(err, VPA_INVALID, "\"%s\" needs %s", c->name, c->arguments);
    if (cli->arg_count > c->max_args)
        return vpa_fail(err, VPA_INVALID, "\"%s\" takes no further word: %.100s", c->name,
                        cli->args[c->max_args]);
    if (cli_option(cli, "namespace") && cli_option(cli, "all-namespaces"))
        return vpa_fail(err, VPA_INVALID, "--namespace and --all-namespaces exclude each other");
    if (c->named && cli->arg_count > 0 && cli->all_namespaces)
        return vpa_fail(err, VPA_INVALID, "a name needs one namespace; name it with -n");
    return 0;
}

int cli_parse(struct cli *cli, int argc, char *const *argv, bool *help, struct vpa_error *err)
{
    struct words words = {argv, argc, 0};
    bool only_words = false;

    cli->args = vpa_arena_zalloc(&cli->arena, ((size_t)argc + 1) * sizeof(*cli->args));
    while (words.next < words.count) {
        const char *word = words.items[words.next++];

        if (!only_words && strcmp(word, "--") == 0)
            only_words = true;
        else if (only_words || word[0] != '-' || word[1] == '\0')
            cli->args[cli->arg_count++] = word;
        else if (take_option(cli, &words, word, err) < 0)
            return -1;
    }
    *help = cli_option(cli, "help") != NULL;
    if (*help)
        return 0;
    if (read_format(cli, err) < 0)
        return -1;
    cli->all_namespaces = cli_option(cli, "all-namespaces") != NULL;
    return check_words(cli, err);
}

/* ---- help ---- */

static void put_options(const struct cli_option *options, size_t count, struct vpa_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct cli_option *o = &options[i];
        size_t from = out->len;

        vpa_buf_puts(out, "  ");
        if (o->letter)
            vpa_buf_printf(out, "-%c, ", o->letter);
        vpa_buf_printf(out, "--%s%s%s", o->name, o->value ? " " : "", vpa_or_empty(o->value));
        while (out->len - from < 34)
            vpa_buf_putc(out, ' ');
        vpa_buf_printf(out, " %s\n", o->help);
    }
}

static void put_commands(struct vpa_buf *out)
{
    vpa_buf_puts(out, "kubectl vpa answers what the vertical pod autoscaler does to pods, and "
                      "why.\n\nUsage: kubectl vpa COMMAND [OPTION...]\n\nCommands:\n");
    for (size_t i = 0; cli_commands[i]; i++)
        vpa_buf_printf(out, "  %-12s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    vpa_buf_puts(out, "\n\"kubectl vpa COMMAND --help\" tells more, with an example.\n\nExample:\n"
                      "  # Why a pod has the requests that it has, and what comes next\n"
                      "  kubectl vpa why web-5d4f8\n");
}

void cli_help(const struct cli_command *command, struct vpa_buf *out)
{
    if (!command) {
        put_commands(out);
        return;
    }
    vpa_buf_printf(out, "%s.\n\nUsage: kubectl vpa %s%s%s [OPTION...]\n", command->summary,
                   command->name, command->arguments[0] ? " " : "", command->arguments);
    if (command->details)
        vpa_buf_printf(out, "\n%s\n", command->details);
    vpa_buf_printf(out, "\nExample:\n%s\n\n", command->example);
    if (command->option_count) {
        vpa_buf_puts(out, "Options:\n");
        put_options(command->options, command->option_count, out);
        vpa_buf_putc(out, '\n');
    }
    vpa_buf_puts(out, "Options of every command:\n");
    put_options(global_options, GLOBALS, out);
}
