/*
 * All containers of a cluster or namespace as rows: what they request, use, and are recommended.
 * Pods of one workload are one row per container; amounts are sums over its pods.
 */
#ifndef CLI_WORLD_H
#define CLI_WORLD_H

#include "cli.h"
#include "vpa/base/table.h"

enum { CLI_CPU, CLI_MEMORY, CLI_RESOURCES }; /* millicores, bytes */

struct vpa_knowledge;
struct cli_row {
    const char *ns, *kind, *workload; /* kind "Pod" for pods without a controller */
    const char *container;            /* "" in sums */
    const char *vpa, *mode;           /* "" without a VPA */
    int64_t pods;
    int64_t request[CLI_RESOURCES];
    int64_t usage[CLI_RESOURCES];
    int64_t target[CLI_RESOURCES];
    int64_t saves[CLI_RESOURCES]; /* requested beyond the target */
    int64_t lacks[CLI_RESOURCES]; /* recommended beyond what is requested */
    bool recommended;
    bool measured;
    const char *algorithm;           /* that found the target, where it is not the VPA's; or NULL */
    double *past[CLI_RESOURCES];     /* sums over pods at the world's points; NULL: not known */
    struct vpa_knowledge *knowledge; /* while past.h learns */
    bool below; /* a request is below its lower bound, or memory in use above its request */
};
enum cli_group { CLI_BY_CONTAINER, CLI_BY_WORKLOAD, CLI_BY_NAMESPACE };
extern const char *const cli_group_names[]; /* ends with NULL, as the next one */

struct cli_owner {
    const char *kind, *name;
};
struct cli_world {
    struct vpa_arena arena;
    struct vpa_table owners; /* "ns/kind/name" of ReplicaSets and Jobs -> their struct cli_owner */
    struct vpa_table pods;   /* "ns/pod" -> the workload, where past.h will ask */
    vpa_time past_from;      /* of the rows' past */
    size_t past_points;      /* 0: nothing was asked */
    struct cli_row **rows;   /* heap; ordered by namespace, workload, container */
    size_t count;
};
/* Reads pods, VPAs, ReplicaSets, Jobs and usage of a namespace ("" for all). What may not be read
 * is noted. */
int cli_world_read(struct cli *cli, const char *ns, struct cli_world *out,
                   struct vpa_error *err) VPA_MUST_CHECK;
/* The option --prometheus: past.h will ask whose pods are whose. */
bool cli_world_wants_past(const struct cli *cli);
void cli_world_release(struct cli_world *world);
/* Sums over rows, which are ordered by name, in the same order; a pod counts once. The rows of
 * `out` live in its own arena. */
void cli_world_group(const struct cli_world *world, enum cli_group group, struct cli_world *out);

enum cli_order { CLI_ORDER_NAME, CLI_ORDER_WASTE, CLI_ORDER_RISK };
extern const char *const cli_order_names[];
void cli_world_sort(struct cli_world *world, enum cli_order order);

bool cli_row_same_workload(const struct cli_row *a, const struct cli_row *b);

/* "1.5", "250m"; "1.2Gi". Appended. */
void cli_put_amount(struct vpa_buf *out, int resource, int64_t amount);

#endif
