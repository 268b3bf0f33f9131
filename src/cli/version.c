/*
 * `version`: of the command, of the server, of the daemons that are installed.
 */

#include "daemon_config.h"
#include "lists.h"
#include "output.h"
#include "vpa/base/str.h"

static const char *server_version(struct cli *cli, struct vpa_error *err)
{
    const struct vpa_json *root;

    if (vpa_kube_get_json(cli->client, "/version", &cli->arena, &root, err) < 0)
        return NULL;
    return vpa_json_text(root, "gitVersion");
}

struct images {
    struct cli *cli;
    struct cli_table *table;
    bool found;
};

static int on_deployment(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct images *images = ctx;

    (void)err;
    vpa_json_foreach (container, vpa_json_at(object, "spec.template.spec.containers")) {
        if (cli_daemon_of(container) == CLI_DAEMONS)
            continue;
        images->found = true;
        cli_table_cell(images->table, vpa_arena_printf(&images->cli->arena, "%s/%s",
                                                       vpa_json_text(object, "metadata.namespace"),
                                                       vpa_json_text(object, "metadata.name")));
        cli_table_cell(images->table, vpa_json_string(vpa_json_find(container, "image")));
    }
    return 0;
}

/* Those of kube-system where one may not list them all. */
static void list_daemons(struct images *images)
{
    static const char *const places[] = {"", "kube-system"};
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(places) && !images->found; i++) {
        if (cli_list(images->cli, &cli_deployments, places[i], on_deployment, images, &err) == 0)
            return;
        cli_note_list(images->cli, &cli_deployments, places[i], &err);
    }
}

static int run(struct cli *cli)
{
    static const struct cli_column columns[] = {{"COMPONENT"}, {"VERSION"}};
    cli_auto_table table = {0};
    struct images images = {cli, &table, false};
    struct vpa_error err;
    const char *server = NULL;

    cli_table_init(&table, &cli->arena, columns, VPA_COUNT(columns));
    cli_table_cell(&table, "kubectl-vpa");
    cli_table_cell(&table, PLUMB_VERSION);
    if (!cli_option(cli, "client")) {
        if (cli_connect(cli, &err) < 0 || !(server = server_version(cli, &err))) {
            cli_print_table(cli, &table, "components");
            return cli_complain(cli, &err);
        }
        cli_table_cell(&table, "kubernetes");
        cli_table_cell(&table, server);
        list_daemons(&images);
    }
    cli_print_table(cli, &table, "components");
    return CLI_OK;
}

static const struct cli_option options[] = {
    {"client", 0, NULL, "Only that of the command; asks no server"},
};

const struct cli_command cli_version = {
    .name = "version",
    .summary = "Versions of the command, the server and the installed daemons",
    .arguments = "",
    .example = "  # Which images run in the cluster\n  kubectl vpa version",
    .options = options,
    .option_count = VPA_COUNT(options),
    .run = run,
};
