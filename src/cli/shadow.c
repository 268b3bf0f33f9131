/*
 * `shadow`: how far apart two recommenders are, by what they have written into statuses: those of
 * another context against those of this one, or two VPAs of this cluster that target the same
 * workload.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "workloads.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"

struct comparison {
    struct cli *cli;
    struct cli_table table;
    double *distances; /* heap; |log2 of the quotient| of each pair of targets */
    size_t count, capacity;
    size_t alone; /* VPAs that have no counterpart, or no recommendation to compare */
};

static double number_of(const struct vpa_quantity *q)
{
    return (double)vpa_quantity_milli_value(q);
}

static void compare_resource(struct comparison *c, const struct vpa_object *vpa,
                             const char *container, const struct vpa_resource *here,
                             const struct vpa_quantity *there)
{
    struct vpa_arena *arena = &c->cli->arena;
    double ours = number_of(&here->quantity), theirs = number_of(there);
    double quotient = ours > 0 && theirs > 0 ? theirs / ours : 0;

    VPA_GROW(c->distances, c->count, c->capacity);
    c->distances[c->count++] = quotient > 0 ? fabs(log2(quotient)) : INFINITY;
    cli_table_cell(&c->table, vpa->meta.ns);
    cli_table_cell(&c->table, vpa->meta.name);
    cli_table_cell(&c->table, container);
    cli_table_cell(&c->table, here->name);
    cli_table_cell(&c->table, vpa_quantity_text(arena, &here->quantity));
    cli_table_cell(&c->table, vpa_quantity_text(arena, there));
    cli_table_color(&c->table, quotient > 1.5 || quotient < 0.67 ? CLI_YELLOW : CLI_PLAIN,
                    quotient > 0 ? vpa_arena_printf(arena, "%+.0f%%", (quotient - 1) * 100) : "-");
}

static void compare_vpas(struct comparison *c, const struct vpa_object *here,
                         const struct vpa_object *there)
{
    size_t before = c->count;

    for (size_t i = 0; there && i < here->recommendation.container_count; i++) {
        const struct vpa_container_recommendation *ours = &here->recommendation.containers[i];
        const struct vpa_container_recommendation *theirs =
            vpa_recommendation_find(&there->recommendation, ours->container_name);

        for (size_t r = 0; theirs && r < ours->target.count; r++) {
            const struct vpa_quantity *q =
                vpa_resource_find(&theirs->target, ours->target.items[r].name);

            if (q)
                compare_resource(c, here, ours->container_name, &ours->target.items[r], q);
        }
    }
    c->alone += c->count == before;
}

/* The VPA of the other set by the same name; of the same set, that which has the same target but
 * does not count for it. */
static void compare_all(struct comparison *c, const struct cli_vpas *here,
                        const struct cli_vpas *there)
{
    vpa_auto_free const struct vpa_object **vpas =
        (const struct vpa_object **)(void *)vpa_table_sorted(&here->by_name);

    for (size_t i = 0; i < here->by_name.count; i++) {
        const struct vpa_object *other;
        vpa_auto_free char *key = vpa_xjoin(vpas[i]->meta.ns, '/', vpas[i]->meta.name);

        if (there) {
            compare_vpas(c, vpas[i], vpa_table_find(&there->by_name, key));
            continue;
        }
        other = vpas[i]->target_ref.present
                    ? cli_vpas_find(here, vpas[i]->meta.ns, vpas[i]->target_ref.kind,
                                    vpas[i]->target_ref.name)
                    : NULL;
        if (other && other != vpas[i])
            compare_vpas(c, other, vpas[i]);
    }
}

static void sum_up(struct comparison *c)
{
    if (c->count == 0) {
        cli_note(c->cli, "there is nothing to compare");
        return;
    }
    qsort(c->distances, c->count, sizeof(*c->distances), vpa_double_compare);
    cli_note(c->cli,
             "%zu targets: half of them differ by %.0f%% or less, nine of ten by %.0f%%, the "
             "last by %.0f%%; %zu VPAs without a counterpart",
             c->count, (exp2(c->distances[c->count / 2]) - 1) * 100,
             (exp2(c->distances[c->count * 9 / 10]) - 1) * 100,
             (exp2(c->distances[c->count - 1]) - 1) * 100, c->alone);
}

/* Of another context of the kubeconfig, over a client of its own. */
static int read_other(struct cli *cli, struct cli *other, const char *context, struct cli_vpas *out,
                      struct vpa_error *err)
{
    cli_init(other);
    other->command = cli->command;
    memcpy(other->values, cli->values, sizeof(other->values));
    other->all_namespaces = cli->all_namespaces;
    other->context = context;
    if (cli_connect(other, err) < 0 || cli_vpas_read(other, cli->ns, out, err) < 0)
        return vpa_wrap(err, "context %s", context);
    return 0;
}

static int compare(struct cli *cli, struct vpa_error *err)
{
    static const struct cli_column columns[] = {{"NAMESPACE"},           {"VPA"},
                                                {"CONTAINER"},           {"RESOURCE"},
                                                {"HERE", .right = true}, {"THERE", .right = true},
                                                {"APART", .right = true}};
    const char *against = cli_option(cli, "against");
    struct comparison c = {.cli = cli};
    struct cli_vpas here = {.selecting = NULL}, there = {.selecting = NULL};
    struct cli other = {0};
    int status = cli_vpas_read(cli, cli->ns, &here, err);

    cli_table_init(&c.table, &cli->arena, columns, VPA_COUNT(columns));
    if (status == 0 && against)
        status = read_other(cli, &other, against, &there, err);
    if (status == 0) {
        compare_all(&c, &here, against ? &there : NULL);
        sum_up(&c);
        cli_print_table(cli, &c.table, "targets");
    }
    cli_vpas_release(&here);
    cli_vpas_release(&there);
    if (against && other.command)
        cli_release(&other);
    cli_table_release(&c.table);
    free(c.distances);
    return status;
}

static int run(struct cli *cli)
{
    struct vpa_error err;

    if (cli_connect(cli, &err) < 0 || compare(cli, &err) < 0)
        return cli_complain(cli, &err);
    return CLI_OK;
}

static const struct cli_option options[] = {
    {"against", 0, "CONTEXT", "Another context, whose VPAs of the same names are compared"},
};

const struct cli_command cli_shadow = {
    .name = "shadow",
    .summary = "How far apart the recommendations of two recommenders are",
    .arguments = "",
    .details =
        "Without --against, VPAs of this cluster that target the same workload are compared: "
        "the older one is\nHERE, the other one, of another recommender perhaps, is THERE. "
        "See also the guide on shadows, in which\na daemon itself compares.",
    .example = "  # This cluster's statuses against those of another installation\n"
               "  kubectl vpa shadow -A --against upstream",
    .options = options,
    .option_count = VPA_COUNT(options),
    .run = run,
};
