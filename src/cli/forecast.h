/*
 * What the updater would do in its next pass, found by letting it make one: its own code runs over
 * the live objects of a namespace behind a transport that sends nothing but reads
 * (dry_transport.h), and what it would send is noted. Evictions are answered as the API server
 * would for the PodDisruptionBudgets as they are.
 *
 * What only the running daemon knows is not in it: for how long it has watched a resize, which
 * resizes a node refused, which evicted pods it waits for, and its rate limit. Whether a namespace
 * or the cluster is paused is guessed from the conditions of VPAs: an eviction is told with a
 * "perhaps" then.
 *
 *     struct cli_forecast *forecast = cli_forecast_new(cli, "shop", &err);
 *     const struct cli_verdict *v = cli_forecast_find(forecast, "shop", "web-0");
 *     cli_forecast_free(forecast);
 */
#ifndef CLI_FORECAST_H
#define CLI_FORECAST_H

#include "../../updater/updater.h"
#include "budgets.h"
#include "cli.h"
#include "daemon_config.h"
#include "dry_transport.h"
#include "governors.h"
#include "verdict.h"

struct cli_forecast { /* for its readers; what is theirs is so until it is freed */
    struct cli *cli;
    struct vpa_arena arena;
    struct updater_config config; /* what the pass worked with */
    struct cli_installed at;      /* the updater */
    struct cli_dry dry;           /* its client sends nothing but reads, for code of the daemons */
    struct updater *updater;      /* updater_env() has the caches, for those who explain more */
    struct cli_budgets budgets;
    struct vpa_table verdicts; /* "namespace/pod" */
    struct vpa_error failure;  /* of a list without which nothing can be said */
    const char *standstill;    /* why no pass would do anything ("the webhook's Lease ...") */
    /* What it has read, ordered by namespace and name. */
    const struct vpa_object **vpas;
    const struct vpa_pod **pods;
    const struct vpa_limit_range **ranges;
    size_t vpa_count, pod_count, range_count;
    struct cli_governors *governors; /* over these VPAs and the controllers that it knows */
};

/* Runs one pass over the namespace ("" for all). The flags are those of the installed updater where
 * its Deployment can be read, or of the option --updater-flags; defaults otherwise, which is
 * noted. */
struct cli_forecast *cli_forecast_new(struct cli *cli, const char *ns, struct vpa_error *err);
void cli_forecast_free(struct cli_forecast *forecast); /* NULL is allowed */
/* NULL: no VPA that takes part in a pass controls it. */
const struct cli_verdict *cli_forecast_find(const struct cli_forecast *forecast, const char *ns,
                                            const char *pod);

/* NULL: the VPA has no condition of that type that is true. */
const struct vpa_condition *cli_true_condition(const struct vpa_object *vpa, const char *type);
/* That the panic button of the daemons in a namespace is pressed, in the arena of the command, or
 * NULL; what may not be looked for is noted. */
const char *cli_panic(struct cli *cli, const char *ns);

/* The option that commands with a forecast have. */
#define CLI_FORECAST_OPTION                                                                        \
    {                                                                                              \
        "updater-flags", 0, "TEXT", "Flags of the updater, instead of those of its Deployment"     \
    }

#endif
