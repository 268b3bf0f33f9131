#include "daemon_config.h"

#include <string.h>

#include "lists.h"
#include "vpa/base/flags.h"
#include "vpa/base/str.h"

#define FLAGS_MAX 256

struct words {
    char *items[FLAGS_MAX + 2];
    int count;
};

static void add_word(struct cli *cli, struct words *words, const char *text, size_t len)
{
    if (words->count <= FLAGS_MAX)
        words->items[words->count++] = vpa_arena_strndup(&cli->arena, text, len);
}

struct daemon {
    enum cli_daemon which;
    const char *name;   /* "updater" */
    const char *option; /* "updater-flags" */
};

const char *const cli_daemon_names[CLI_DAEMONS] = {"vpa-recommender", "vpa-updater",
                                                   "vpa-admission-controller"};

enum cli_daemon cli_daemon_of(const struct vpa_json *container)
{
    const char *image = vpa_json_text(container, "image");
    enum cli_daemon which = CLI_RECOMMENDER;

    while (which < CLI_DAEMONS && !strstr(image, cli_daemon_names[which]))
        which++;
    return which;
}

/* In the daemon's own Deployment, where an image may have any name. */
static bool is_daemon(const struct daemon *daemon, const struct vpa_json *container)
{
    const char *name = vpa_json_string(vpa_json_find(container, "name"));

    return cli_daemon_of(container) == daemon->which || vpa_str_eq(name, daemon->name) ||
           vpa_str_eq(name, cli_daemon_names[daemon->which]);
}

/* All of them: a value may be a word of its own, and other words are passed over. */
static void take_arguments(struct cli *cli, struct words *words, const struct vpa_json *list)
{
    vpa_json_foreach (word, list) {
        const char *text = vpa_json_string(word);

        if (text)
            add_word(cli, words, text, strlen(text));
    }
}

static void take_container(struct cli *cli, struct words *words, const struct vpa_json *container)
{
    take_arguments(cli, words, vpa_json_find(container, "command"));
    take_arguments(cli, words, vpa_json_find(container, "args"));
}

struct search {
    struct cli *cli;
    const struct daemon *daemon;
    struct words *words;
    bool found;
};

static int on_deployment(void *ctx, const struct vpa_json *deployment, struct vpa_error *err)
{
    struct search *s = ctx;

    (void)err;
    vpa_json_foreach (container, vpa_json_at(deployment, "spec.template.spec.containers")) {
        if (s->found || cli_daemon_of(container) != s->daemon->which)
            continue;
        take_container(s->cli, s->words, container);
        s->found = true;
    }
    return 0;
}

/* A release of the chart calls its Deployments as it likes, and runs where it likes. */
static bool search_deployment(struct cli *cli, const struct daemon *daemon, struct words *words)
{
    static const char *const places[] = {"kube-system", ""};
    struct search s = {cli, daemon, words, false};
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(places) && !s.found; i++)
        if (cli_list(cli, &cli_deployments, places[i], on_deployment, &s, &err) < 0)
            cli_note_list(cli, &cli_deployments, places[i], &err);
    return s.found;
}

static void read_deployment(struct cli *cli, const struct daemon *daemon, struct words *words)
{
    const struct vpa_json *deployment;
    struct vpa_error err;

    if (cli_get(cli, &cli_deployments, "kube-system", cli_daemon_names[daemon->which], &deployment,
                &err) < 0) {
        if (err.code != VPA_NOT_FOUND || !search_deployment(cli, daemon, words))
            cli_note(cli, "the flags of the %s are not known (%s); its defaults are assumed",
                     daemon->name, err.text);
        return;
    }
    vpa_json_foreach (container, vpa_json_at(deployment, "spec.template.spec.containers")) {
        if (is_daemon(daemon, container))
            take_container(cli, words, container);
    }
}

static void begin(struct cli *cli, const struct daemon *daemon, struct words *words)
{
    words->count = 0;
    add_word(cli, words, daemon->name, strlen(daemon->name));
}

static void parse(struct cli *cli, const struct daemon *daemon, struct words *words,
                  const struct vpa_flags *flags)
{
    struct vpa_error err;

    if (vpa_flags_parse(flags, &cli->arena, words->count, words->items, &err) == 0)
        return;
    cli_note(cli, "the flags of the %s cannot be read (%s); its defaults are assumed", daemon->name,
             err.text);
    vpa_flags_preset(flags);
}

static void read_flags(struct cli *cli, const struct daemon *daemon, const struct vpa_flags *flags)
{
    struct words words;
    const char *rest = cli_option(cli, daemon->option);
    struct vpa_slice piece;

    begin(cli, daemon, &words);
    if (!rest)
        read_deployment(cli, daemon, &words);
    while (rest && vpa_str_split(&rest, ' ', &piece))
        if (piece.len)
            add_word(cli, &words, piece.ptr, piece.len);
    parse(cli, daemon, &words, flags);
}

static void read_container(struct cli *cli, const struct daemon *daemon,
                           const struct vpa_json *container, const struct vpa_flags *flags)
{
    struct words words;

    begin(cli, daemon, &words);
    take_container(cli, &words, container);
    parse(cli, daemon, &words, flags);
}

static const struct daemon updater = {CLI_UPDATER, "updater", "updater-flags"};
static const struct daemon recommender = {CLI_RECOMMENDER, "recommender", "recommender-flags"};

void cli_updater_config(struct cli *cli, struct updater_config *out)
{
    read_flags(cli, &updater, &(struct vpa_flags){updater_flag_rows, updater_flag_count, out});
}

void cli_recommender_config(struct cli *cli, struct recommender_config *out)
{
    const struct vpa_flags flags = recommender_flags(out);

    read_flags(cli, &recommender, &flags);
}

void cli_updater_config_of(struct cli *cli, const struct vpa_json *container,
                           struct updater_config *out)
{
    read_container(cli, &updater, container,
                   &(struct vpa_flags){updater_flag_rows, updater_flag_count, out});
}

void cli_recommender_config_of(struct cli *cli, const struct vpa_json *container,
                               struct recommender_config *out)
{
    const struct vpa_flags flags = recommender_flags(out);

    read_container(cli, &recommender, container, &flags);
}
