/*
 * Targets of containers that have no recommendation, from the usage that Prometheus has of them:
 * asked and read as the recommender does with --storage=prometheus, learned and answered by the
 * algorithms of libvpa (model/algorithm.h).
 *
 *     if (cli_world_wants_past(cli) && cli_past_read(cli, &world, &err) < 0) ...
 *
 * All pods of a workload teach one row: those that live, and those whose ReplicaSet or Job is still
 * known by the name it gave them. What the rows of world.h get: target, saves, lacks, and the
 * usage over time, as sums over pods. Saves and lacks compare the sums.
 *
 * Series have the labels namespace, pod and container and the job kubelet, as Prometheus' operator
 * writes them; other names by the flags of the recommender, in --recommender-flags.
 */
#ifndef CLI_PAST_H
#define CLI_PAST_H

#include "world.h"
#include "../../recommender/history.h"
#include "vpa/model/algorithm.h"

/* -1: the options are wrong, or Prometheus does not answer. What is known of no row is left out. */
int cli_past_read(struct cli *cli, struct cli_world *world, struct vpa_error *err) VPA_MUST_CHECK;

/* The samples of one container of a pod. */
struct cli_past_series {
    enum vpa_kind kind;
    uint64_t replica;
    const struct history_list *list;
};
/* In the order of their times, as live samples of all pods come: windows close for good. */
void cli_past_teach(struct vpa_knowledge *k, const struct cli_past_series *series, size_t count);

/* The options of commands that ask. */
#define CLI_PAST_OPTIONS                                                                           \
    {"prometheus", 0, "URL", "Also targets for what has none, from usage that Prometheus has"},    \
        {"algorithm", 0, "NAME", "How they are found: vpa (default), crane, plumb, ..."},          \
    {                                                                                              \
        "recommender-flags", 0, "TEXT",                                                            \
            "Flags of the recommender about Prometheus: --history-length=3d ..."                   \
    }

#endif
