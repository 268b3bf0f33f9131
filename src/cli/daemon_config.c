#include "daemon_config.h"

#include <assert.h>
#include <string.h>

#include "lists.h"
#include "vpa/base/flags.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

#define FLAGS_MAX 256
#define ARGUMENT_MAX ((size_t)1 << 20)
#define ENVIRONMENT_MAX ((size_t)1 << 20)

const char *const cli_daemon_names[CLI_DAEMONS] = {"vpa-recommender", "vpa-updater",
                                                   "vpa-admission-controller"};

static const struct {
    const char *name;   /* of the container in its Deployment */
    const char *option; /* NULL: there is none */
} daemons[CLI_DAEMONS] = {
    {"recommender", "recommender-flags"},
    {"updater", "updater-flags"},
    {"admission-controller", NULL},
};

enum cli_daemon cli_daemon_of(const struct vpa_json *container)
{
    const char *image = vpa_json_text(container, "image");
    enum cli_daemon which = CLI_RECOMMENDER;

    while (which < CLI_DAEMONS && !strstr(image, cli_daemon_names[which]))
        which++;
    return which;
}

/* ---- flags ---- */

struct words {
    char *items[FLAGS_MAX + 2];
    int count;
};

static void add_word(struct cli *cli, struct words *words, const char *text, size_t len)
{
    if (words->count <= FLAGS_MAX)
        words->items[words->count++] = vpa_arena_strndup(&cli->arena, text, len);
}

/* The variables of a container whose values are known here. */
struct environment {
    struct vpa_arena *arena;
    struct vpa_table values; /* by name */
    size_t left;             /* bytes for further values: each may repeat those before it */
};

static const char *value_of(const struct environment *env, struct vpa_slice name)
{
    vpa_auto_free char *key = vpa_xstrndup(name.ptr, name.len);

    return vpa_table_find(&env->values, key);
}

/* What follows a dollar, as the kubelet writes it: $(NAME) is the value of a variable and stays
 * where there is none, $$ is a dollar. How much of the text that was. */
static size_t put_dollar(struct vpa_buf *out, const char *text, const struct environment *env)
{
    const char *end = text[1] == '(' ? strchr(text, ')') : NULL;
    const char *value =
        end ? value_of(env, (struct vpa_slice){text + 2, (size_t)(end - text - 2)}) : NULL;

    if (value) {
        vpa_buf_puts(out, value);
        return (size_t)(end - text) + 1;
    }
    vpa_buf_putc(out, '$');
    return text[1] == '$' ? 2 : 1;
}

static void put_expanded(struct vpa_buf *out, const char *text, const struct environment *env)
{
    while (*text) {
        size_t plain = strcspn(text, "$");

        vpa_buf_append(out, text, plain);
        text += plain;
        if (*text)
            text += put_dollar(out, text, env);
    }
}

/* NULL: it is not known here, or too long. */
static const char *value_in(struct environment *env, const struct vpa_json *variable,
                            const char *ns)
{
    const char *field = vpa_json_text(variable, "valueFrom.fieldRef.fieldPath");
    vpa_auto_buf value = VPA_BUF(env->left);

    if (strcmp(field, "metadata.namespace") == 0)
        return ns;
    if (vpa_json_find(variable, "valueFrom"))
        return NULL;
    put_expanded(&value, vpa_json_text(variable, "value"), env);
    if (vpa_buf_failed(&value))
        return NULL;
    env->left -= value.len;
    return vpa_arena_strdup(env->arena, vpa_buf_text(&value));
}

/* As the kubelet does: a value is expanded with the variables before it, and of two of a name the
 * last one counts. */
static void read_environment(struct environment *env, const struct vpa_json *container,
                             const char *ns)
{
    vpa_json_foreach (variable, vpa_json_find(container, "env")) {
        const char *name = vpa_json_text(variable, "name");
        const char *value = value_in(env, variable, ns);

        if (value)
            vpa_table_put(&env->values, vpa_arena_strdup(env->arena, name),
                          (void *)(uintptr_t)value);
        else
            vpa_table_remove(&env->values, name);
    }
}

static void add_expanded(struct cli *cli, struct words *words, const char *text,
                         const struct environment *env)
{
    vpa_auto_buf out = VPA_BUF(ARGUMENT_MAX);

    put_expanded(&out, text, env);
    add_word(cli, words, vpa_buf_text(&out), out.len);
}

/* All of them: a value may be a word of its own, and other words are passed over. */
static void take_arguments(struct cli *cli, struct words *words, const struct environment *env,
                           const struct vpa_json *list)
{
    vpa_json_foreach (word, list) {
        const char *text = vpa_json_string(word);

        if (text)
            add_expanded(cli, words, text, env);
    }
}

static struct vpa_flags flags_of(struct cli_config *config)
{
    if (config->which == CLI_RECOMMENDER)
        return recommender_flags(&config->recommender);
    if (config->which == CLI_UPDATER)
        return (struct vpa_flags){updater_flag_rows, updater_flag_count, &config->updater};
    return (struct vpa_flags){admission_flag_rows, admission_flag_count, &config->admission};
}

/* words: the first one stands for the name of the program. */
static int parse(struct cli *cli, enum cli_daemon which, const struct words *words,
                 struct cli_config *out, struct vpa_error *err)
{
    out->which = which;

    const struct vpa_flags flags = flags_of(out);
    int status = vpa_flags_parse(&flags, &cli->arena, words->count, words->items, err);

    if (status < 0)
        vpa_flags_preset(&flags);
    return status;
}

int cli_config_of(struct cli *cli, enum cli_daemon which, const struct vpa_json *deployment,
                  const struct vpa_json *container, struct cli_config *out, struct vpa_error *err)
{
    struct environment env = {.arena = &cli->arena, .left = ENVIRONMENT_MAX};
    struct words words = {.count = 0};

    read_environment(&env, container, vpa_json_text(deployment, "metadata.namespace"));
    add_word(cli, &words, "", 0);
    take_arguments(cli, &words, &env, vpa_json_find(container, "command"));
    take_arguments(cli, &words, &env, vpa_json_find(container, "args"));
    vpa_table_release(&env.values);
    return parse(cli, which, &words, out, err);
}

static int read_option(struct cli *cli, enum cli_daemon which, const char *text,
                       struct cli_config *out, struct vpa_error *err)
{
    struct words words = {.count = 0};
    struct vpa_slice piece;

    add_word(cli, &words, "", 0);
    while (vpa_str_split(&text, ' ', &piece))
        if (piece.len)
            add_word(cli, &words, piece.ptr, piece.len);
    return parse(cli, which, &words, out, err);
}

void cli_note_config(struct cli *cli, enum cli_daemon which, const struct vpa_error *err)
{
    cli_note(cli, "the flags of the %s cannot be read (%s); its defaults are assumed",
             daemons[which].name, err->text);
}

bool cli_config_is_shadow(const struct cli_config *config)
{
    return config->which == CLI_RECOMMENDER ? config->recommender.shadow
           : config->which == CLI_UPDATER   ? config->updater.shadow
                                            : config->admission.shadow;
}

/* ---- Deployments ---- */

struct search {
    struct cli *cli;
    enum cli_daemon which;
    struct cli_config *out;
    struct cli_installed *at;
    bool found;
    struct vpa_error unreadable; /* its flags, VPA_OK: they are in *out */
};

static const char *copy_of(struct cli *cli, const struct vpa_json *object, const char *path)
{
    return vpa_arena_strdup(&cli->arena, vpa_or_empty(vpa_json_string(vpa_json_at(object, path))));
}

/* own: in the daemon's own Deployment, where an image may have any name. */
static bool is_daemon(enum cli_daemon which, const struct vpa_json *container, bool own)
{
    const char *name = vpa_json_string(vpa_json_find(container, "name"));

    assert(which < CLI_DAEMONS);
    return cli_daemon_of(container) == which ||
           (own &&
            (vpa_str_eq(name, daemons[which].name) || vpa_str_eq(name, cli_daemon_names[which])));
}

static void take_daemon(struct search *s, const struct vpa_json *deployment, bool own)
{
    struct cli_config config;

    vpa_json_foreach (container, vpa_json_at(deployment, "spec.template.spec.containers")) {
        struct vpa_error err;

        if (s->found || !is_daemon(s->which, container, own))
            continue;
        if (cli_config_of(s->cli, s->which, deployment, container, &config, &err) < 0)
            s->unreadable = err;
        if (cli_config_is_shadow(&config))
            continue;
        *s->out = config;
        s->found = true;
    }
}

static void note_readiness(struct cli_installed *at, const struct vpa_json *deployment)
{
    int64_t ready = 0;

    (void)vpa_json_int64(vpa_json_at(deployment, "status.readyReplicas"), &ready);
    at->found = true;
    at->idle = vpa_json_find(deployment, "status") && ready == 0;
}

static int on_deployment(void *ctx, const struct vpa_json *deployment, struct vpa_error *err)
{
    struct search *s = ctx;

    (void)err;
    if (s->found)
        return 0;
    take_daemon(s, deployment, false);
    if (!s->found)
        return 0;
    *s->at = (struct cli_installed){.ns = copy_of(s->cli, deployment, "metadata.namespace"),
                                    .name = copy_of(s->cli, deployment, "metadata.name")};
    note_readiness(s->at, deployment);
    return 0;
}

/* The Deployments of kube-system, and unless *found by then, of all namespaces: a release of the
 * chart calls its Deployments as it likes, and runs where it likes. */
static void search_daemons(struct cli *cli, cli_object_fn deployment, void *ctx, const bool *found)
{
    static const char *const places[] = {CLI_KUBE_SYSTEM, ""};
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

    *s->at = (struct cli_installed){.ns = CLI_KUBE_SYSTEM, .name = cli_daemon_names[s->which]};
    if (cli_get(s->cli, &cli_deployments, s->at->ns, s->at->name, &deployment, err) == 0) {
        take_daemon(s, deployment, true);
        if (s->found)
            note_readiness(s->at, deployment);
        vpa_fail(err, VPA_NOT_FOUND, "%s runs no such container that acts", s->at->name);
    }
    return s->found || (err->code == VPA_NOT_FOUND && search_deployment(s));
}

/* given: its flags are known without it. */
static void note_unknown(struct cli *cli, const char *name, bool given, const struct vpa_error *err)
{
    if (!given)
        cli_note(cli, "the flags of the %s are not known (%s); its defaults are assumed", name,
                 err->text);
    else if (err->code != VPA_NOT_FOUND)
        cli_note(cli, "where the %s runs is not known (%s); " CLI_KUBE_SYSTEM " is assumed", name,
                 err->text);
}

void cli_config_read(struct cli *cli, enum cli_daemon which, struct cli_config *out,
                     struct cli_installed *at)
{
    struct cli_installed place;
    struct search search = {cli, which, out, at ? at : &place, .found = false};
    const char *given = daemons[which].option ? cli_option(cli, daemons[which].option) : NULL;
    struct vpa_error err;

    if ((at || !given) && !find_deployment(&search, &err))
        note_unknown(cli, daemons[which].name, given != NULL, &err);
    if (!given && search.unreadable.code != VPA_OK)
        cli_note_config(cli, which, &search.unreadable);
    if ((given || !search.found) && read_option(cli, which, vpa_or_empty(given), out, &err) < 0)
        cli_note_config(cli, which, &err);
}

struct installation {
    struct cli *cli;
    const char *ns; /* NULL: none yet */
    bool acts;      /* an updater or a webhook runs there */
};

static int on_installed(void *ctx, const struct vpa_json *deployment, struct vpa_error *err)
{
    struct installation *i = ctx;
    struct cli_config config;

    (void)err;
    vpa_json_foreach (container, vpa_json_at(deployment, "spec.template.spec.containers")) {
        enum cli_daemon which = cli_daemon_of(container);
        struct vpa_error ignored;

        if (i->acts || which == CLI_DAEMONS || (i->ns && which == CLI_RECOMMENDER) ||
            (cli_config_of(i->cli, which, deployment, container, &config, &ignored) == 0 &&
             cli_config_is_shadow(&config)))
            continue;
        i->ns = copy_of(i->cli, deployment, "metadata.namespace");
        i->acts = which != CLI_RECOMMENDER;
    }
    return 0;
}

/* A recommender of its own, for VPAs that name it, may stand anywhere. */
const char *cli_installation(struct cli *cli)
{
    struct installation i = {cli, NULL, false};

    search_daemons(cli, on_installed, &i, &i.acts);
    return i.ns ? i.ns : CLI_KUBE_SYSTEM;
}
