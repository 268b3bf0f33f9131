/*
 * PodDisruptionBudgets as the API server counts them when a pod is evicted, for those who want to
 * know its answer without asking for it.
 */
#ifndef CLI_BUDGETS_H
#define CLI_BUDGETS_H

#include "cli.h"
#include "lists.h"
#include "vpa/api/pod.h"

struct cli_budget {
    const char *ns, *name;
    struct vpa_selector selector;
    int64_t allowed; /* status.disruptionsAllowed, less what was taken since */
    int64_t healthy, wanted;
    bool always_allow_unhealthy;
    bool stale; /* its controller has not seen the last change */
};
struct cli_budgets {
    struct cli_budget *items; /* heap; texts in the arena of the command */
    size_t count, capacity;
};

extern const struct cli_kind cli_disruption_budgets;
/* Reads those of a namespace. What cannot be read is noted; -1 only when no server answers. */
int cli_budgets_read(struct cli *cli, const char *ns, struct cli_budgets *out,
                     struct vpa_error *err) VPA_MUST_CHECK;
void cli_budgets_release(struct cli_budgets *budgets);
/* Whether the server would let the pod go; takes its share then. *by: the budget that does not. */
bool cli_budgets_take(struct cli_budgets *budgets, const struct vpa_pod *pod,
                      const struct cli_budget **by);

#endif
