/*
 * Workloads that a VPA may target, as the API server gives them.
 */
#ifndef CLI_WORKLOADS_H
#define CLI_WORKLOADS_H

#include "cli.h"
#include "lists.h"
#include "vpa/api/vpa.h"
#include "vpa/base/table.h"
#include "vpa/policy/match.h"

struct cli_workload { /* borrowed for the call */
    const char *ns, *kind, *api_version, *name;
    bool owned; /* a controller made it; only known of those of a list */
    const struct vpa_json *object;
};
typedef void (*cli_workload_fn)(void *ctx, const struct cli_workload *workload);
/* Deployments, StatefulSets, DaemonSets, ReplicationControllers and CronJobs, in that order.
 * labels: a selector, or NULL. Kinds that cannot be listed are noted; false: there are some. */
bool cli_workloads_list(struct cli *cli, const char *ns, const char *labels, cli_workload_fn visit,
                        void *ctx);
/* "deploy", "deployments", "Deployment": the kind, or NULL. */
const char *cli_workload_kind(const char *text);
/* "deploy/web": kind and name, in the arena. */
int cli_workload_parse(struct cli *cli, const char *word, struct cli_workload *out,
                       struct vpa_error *err) VPA_MUST_CHECK;
/* Its object, in the arena, of the command's namespace. */
int cli_workload_get(struct cli *cli, struct cli_workload *workload,
                     struct vpa_error *err) VPA_MUST_CHECK;
/* The member that holds the pod's template. */
const struct vpa_json *cli_workload_template(const struct vpa_json *object);

/* All VPAs of a namespace by "namespace/kind/name" of their targets, the one that counts first, and
 * by "namespace/name" in names. */
struct cli_vpas {
    struct vpa_arena arena; /* of the objects: commands that go on read them again and again */
    struct vpa_table by_target, by_name;
    struct vpa_candidate *selecting; /* those that choose pods by labels; heap */
    size_t selecting_count, selecting_room;
    struct vpa_match_index *by_labels; /* of them */
};
int cli_vpas_read(struct cli *cli, const char *ns, struct cli_vpas *out,
                  struct vpa_error *err) VPA_MUST_CHECK;
void cli_vpas_release(struct cli_vpas *vpas);
const struct vpa_object *cli_vpas_find(const struct cli_vpas *vpas, const char *ns,
                                       const char *kind, const char *name);
/* The VPA of a pod with these labels under that controller: the one of the target, or one that
 * selects the pod, whichever is stronger (vpa/policy/match.h). */
const struct vpa_object *cli_vpas_of_pod(const struct cli_vpas *vpas, const char *ns,
                                         const char *kind, const char *name,
                                         const struct vpa_labels *labels);

#endif
