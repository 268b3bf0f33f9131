#include "daemon_config.h"

#include <string.h>

#include "lists.h"
#include "vpa/base/flags.h"
#include "vpa/base/str.h"

#define FLAGS_MAX 256
#define ARGUMENT_MAX ((size_t)1 << 20)
#define KUBE_SYSTEM "kube-system"

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
    const char *name;   /* "updater": of the container in its Deployment */
    const char *option; /* "updater-flags"; NULL: there is none */
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

/* own: in the daemon's own Deployment, where an image may have any name. */
static bool is_daemon(const struct daemon *daemon, const struct vpa_json *container, bool own)
{
    const char *name = vpa_json_string(vpa_json_find(container, "name"));

    return cli_daemon_of(container) == daemon->which ||
           (own &&
            (vpa_str_eq(name, daemon->name) || vpa_str_eq(name, cli_daemon_names[daemon->which])));
}

/* A container of a Deployment of that namespace. */
struct placed {
    const struct vpa_json *container;
    const char *ns;
};

/* Of an environment variable; NULL: there is none of that name, or it is not known here. */
static const char *value_of(const struct placed *in, struct vpa_slice name)
{
    vpa_json_foreach (variable, vpa_json_find(in->container, "env")) {
        const char *called = vpa_json_text(variable, "name");
        const char *field = vpa_json_text(variable, "valueFrom.fieldRef.fieldPath");

        if (strlen(called) != name.len || memcmp(called, name.ptr, name.len) != 0)
            continue;
        return strcmp(field, "metadata.namespace") == 0
                   ? in->ns
                   : vpa_json_string(vpa_json_find(variable, "value"));
    }
    return NULL;
}

/* What follows a dollar, as the kubelet writes it: $(NAME) is the value of a variable and stays
 * where there is none, $$ is a dollar. How much of the text that was. */
static size_t put_expanded(struct vpa_buf *out, const char *text, const struct placed *in)
{
    const char *end = text[1] == '(' ? strchr(text, ')') : NULL;
    const char *value =
        end ? value_of(in, (struct vpa_slice){text + 2, (size_t)(end - text - 2)}) : NULL;

    if (value) {
        vpa_buf_puts(out, value);
        return (size_t)(end - text) + 1;
    }
    vpa_buf_putc(out, '$');
    return text[1] == '$' ? 2 : 1;
}

static void add_expanded(struct cli *cli, struct words *words, const char *text,
                         const struct placed *in)
{
    vpa_auto_buf out = VPA_BUF(ARGUMENT_MAX);

    while (*text) {
        size_t plain = strcspn(text, "$");

        vpa_buf_append(&out, text, plain);
        text += plain;
        if (*text)
            text += put_expanded(&out, text, in);
    }
    add_word(cli, words, vpa_buf_text(&out), out.len);
}

/* All of them: a value may be a word of its own, and other words are passed over. */
static void take_arguments(struct cli *cli, struct words *words, const struct placed *in,
                           const char *member)
{
    vpa_json_foreach (word, vpa_json_find(in->container, member)) {
        const char *text = vpa_json_string(word);

        if (text)
            add_expanded(cli, words, text, in);
    }
}

static void take_container(struct cli *cli, struct words *words, const struct placed *in)
{
    take_arguments(cli, words, in, "command");
    take_arguments(cli, words, in, "args");
}

static bool is_shadow(struct cli *cli, enum cli_daemon which, const struct vpa_json *container);

struct search {
    struct cli *cli;
    const struct daemon *daemon;
    struct words *words;
    struct cli_installed *at;
    bool found;
};

static const char *copy_of(struct cli *cli, const struct vpa_json *object, const char *path)
{
    return vpa_arena_strdup(&cli->arena, vpa_or_empty(vpa_json_string(vpa_json_at(object, path))));
}

static const char *namespace_of(const struct vpa_json *deployment)
{
    return vpa_json_text(deployment, "metadata.namespace");
}

static void take_daemon(struct search *s, const struct vpa_json *deployment, bool own)
{
    vpa_json_foreach (container, vpa_json_at(deployment, "spec.template.spec.containers")) {
        if (s->found || !is_daemon(s->daemon, container, own) ||
            is_shadow(s->cli, s->daemon->which, container))
            continue;
        take_container(s->cli, s->words, &(struct placed){container, namespace_of(deployment)});
        s->found = true;
    }
}

static int on_deployment(void *ctx, const struct vpa_json *deployment, struct vpa_error *err)
{
    struct search *s = ctx;

    (void)err;
    if (s->found)
        return 0;
    take_daemon(s, deployment, false);
    if (s->found)
        *s->at = (struct cli_installed){copy_of(s->cli, deployment, "metadata.namespace"),
                                        copy_of(s->cli, deployment, "metadata.name")};
    return 0;
}

/* The Deployments of kube-system, and unless *found by then, of all namespaces: a release of the
 * chart calls its Deployments as it likes, and runs where it likes. */
static void search_daemons(struct cli *cli, cli_object_fn deployment, void *ctx, const bool *found)
{
    static const char *const places[] = {KUBE_SYSTEM, ""};
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(places) && !*found; i++)
        if (cli_list(cli, &cli_deployments, places[i], deployment, ctx, &err) < 0)
            cli_note_list(cli, &cli_deployments, places[i], &err);
}

static bool search_deployment(struct search *s)
{
    search_daemons(s->cli, on_deployment, s, &s->found);
    return s->found;
}

/* Of the manifests, until another one is found. */
static bool find_deployment(struct search *s, struct vpa_error *err)
{
    const struct vpa_json *deployment;

    *s->at = (struct cli_installed){KUBE_SYSTEM, cli_daemon_names[s->daemon->which]};
    if (cli_get(s->cli, &cli_deployments, s->at->ns, s->at->name, &deployment, err) == 0) {
        take_daemon(s, deployment, true);
        vpa_fail(err, VPA_NOT_FOUND, "%s runs no such container that acts", s->at->name);
    }
    return s->found || (err->code == VPA_NOT_FOUND && search_deployment(s));
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

/* given: its flags are known without it. */
static void note_unknown(struct cli *cli, const struct daemon *daemon, bool given,
                         const struct vpa_error *err)
{
    if (!given)
        cli_note(cli, "the flags of the %s are not known (%s); its defaults are assumed",
                 daemon->name, err->text);
    else if (err->code != VPA_NOT_FOUND)
        cli_note(cli, "where the %s runs is not known (%s); " KUBE_SYSTEM " is assumed",
                 daemon->name, err->text);
}

/* at: where it runs; NULL: that is not wanted, and given flags need no Deployment. */
static void read_flags(struct cli *cli, const struct daemon *daemon, const struct vpa_flags *flags,
                       struct cli_installed *at)
{
    struct words words;
    struct cli_installed place;
    struct search search = {cli, daemon, &words, at ? at : &place, false};
    const char *rest = daemon->option ? cli_option(cli, daemon->option) : NULL;
    struct vpa_slice piece;
    struct vpa_error err;

    begin(cli, daemon, &words);
    if ((at || !rest) && !find_deployment(&search, &err))
        note_unknown(cli, daemon, rest != NULL, &err);
    if (rest)
        begin(cli, daemon, &words);
    while (rest && vpa_str_split(&rest, ' ', &piece))
        if (piece.len)
            add_word(cli, &words, piece.ptr, piece.len);
    parse(cli, daemon, &words, flags);
}

static void read_container(struct cli *cli, const struct daemon *daemon,
                           const struct vpa_json *deployment, const struct vpa_json *container,
                           const struct vpa_flags *flags)
{
    struct words words;

    begin(cli, daemon, &words);
    take_container(cli, &words, &(struct placed){container, namespace_of(deployment)});
    parse(cli, daemon, &words, flags);
}

struct installation {
    struct cli *cli;
    const char *ns;
    bool found;
};

static int on_installed(void *ctx, const struct vpa_json *deployment, struct vpa_error *err)
{
    struct installation *i = ctx;

    (void)err;
    vpa_json_foreach (container, vpa_json_at(deployment, "spec.template.spec.containers")) {
        if (i->found || cli_daemon_of(container) == CLI_DAEMONS || cli_is_shadow(i->cli, container))
            continue;
        i->ns = copy_of(i->cli, deployment, "metadata.namespace");
        i->found = true;
    }
    return 0;
}

const char *cli_installation(struct cli *cli)
{
    struct installation i = {cli, KUBE_SYSTEM, false};

    search_daemons(cli, on_installed, &i, &i.found);
    return i.ns;
}

static const struct daemon updater = {CLI_UPDATER, "updater", "updater-flags"};
static const struct daemon recommender = {CLI_RECOMMENDER, "recommender", "recommender-flags"};
static const struct daemon admission = {CLI_ADMISSION_CONTROLLER, "admission-controller", NULL};

void cli_updater_config(struct cli *cli, struct updater_config *out, struct cli_installed *at)
{
    read_flags(cli, &updater, &(struct vpa_flags){updater_flag_rows, updater_flag_count, out}, at);
}

void cli_recommender_config(struct cli *cli, struct recommender_config *out)
{
    const struct vpa_flags flags = recommender_flags(out);

    read_flags(cli, &recommender, &flags, NULL);
}

void cli_admission_config(struct cli *cli, struct admission_config *out, struct cli_installed *at)
{
    read_flags(cli, &admission, &(struct vpa_flags){admission_flag_rows, admission_flag_count, out},
               at);
}

void cli_updater_config_of(struct cli *cli, const struct vpa_json *deployment,
                           const struct vpa_json *container, struct updater_config *out)
{
    read_container(cli, &updater, deployment, container,
                   &(struct vpa_flags){updater_flag_rows, updater_flag_count, out});
}

void cli_recommender_config_of(struct cli *cli, const struct vpa_json *deployment,
                               const struct vpa_json *container, struct recommender_config *out)
{
    const struct vpa_flags flags = recommender_flags(out);

    read_container(cli, &recommender, deployment, container, &flags);
}

/* Without a note: whose flags cannot be read is told where they are needed. */
static bool can_read(struct cli *cli, const struct daemon *daemon, const struct vpa_json *container,
                     const struct vpa_flags *flags)
{
    struct words words;
    struct vpa_error err;

    begin(cli, daemon, &words);
    take_container(cli, &words, &(struct placed){container, ""});
    return vpa_flags_parse(flags, &cli->arena, words.count, words.items, &err) == 0;
}

static bool is_shadow(struct cli *cli, enum cli_daemon which, const struct vpa_json *container)
{
    struct recommender_config of_recommender;
    struct updater_config of_updater;
    struct admission_config of_admission;
    const struct vpa_flags recommenders = recommender_flags(&of_recommender);
    const struct vpa_flags updaters = {updater_flag_rows, updater_flag_count, &of_updater};
    const struct vpa_flags webhooks = {admission_flag_rows, admission_flag_count, &of_admission};

    switch (which) {
    case CLI_RECOMMENDER:
        return can_read(cli, &recommender, container, &recommenders) && of_recommender.shadow;
    case CLI_UPDATER:
        return can_read(cli, &updater, container, &updaters) && of_updater.shadow;
    case CLI_ADMISSION_CONTROLLER:
        return can_read(cli, &admission, container, &webhooks) && of_admission.shadow;
    case CLI_DAEMONS:
        break;
    }
    return false;
}

bool cli_is_shadow(struct cli *cli, const struct vpa_json *container)
{
    return is_shadow(cli, cli_daemon_of(container), container);
}
