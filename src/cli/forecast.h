/*
 * What the updater would do in its next pass, found by letting it make one: its own code runs over
 * the live objects of a namespace behind a transport that sends nothing but reads
 * (dry_transport.h), and what it would send is noted. Evictions are answered as the API server
 * would for the PodDisruptionBudgets as they are.
 *
 * What only the running daemon knows is not in it: for how long it has watched a resize, which
 * resizes a node refused, which evicted pods it waits for, and its rate limit.
 *
 *     struct cli_forecast *forecast = cli_forecast_new(cli, "shop", &err);
 *     const struct cli_verdict *v = cli_forecast_find(forecast, "shop", "web-0");
 *     cli_forecast_free(forecast);
 */
#ifndef CLI_FORECAST_H
#define CLI_FORECAST_H

#include "../../updater/env.h"
#include "cli.h"
#include "daemon_config.h"
#include "governors.h"
#include "verdict.h"

struct cli_forecast;
/* Runs one pass over the namespace ("" for all). The flags are those of the installed updater where
 * its Deployment can be read, or of the option --updater-flags; defaults otherwise, which is
 * noted. */
struct cli_forecast *cli_forecast_new(struct cli *cli, const char *ns, struct vpa_error *err);
void cli_forecast_free(struct cli_forecast *forecast); /* NULL is allowed */
/* NULL: no VPA that takes part in a pass controls it. */
const struct cli_verdict *cli_forecast_find(const struct cli_forecast *forecast, const char *ns,
                                            const char *pod);
/* Why no pass would do anything at all ("the webhook's Lease ..."), or NULL. */
const char *cli_forecast_standstill(const struct cli_forecast *forecast);
/* That the panic button of the daemons in a namespace is pressed, in the arena of the command, or
 * NULL; what may not be looked for is noted. */
const char *cli_panic(struct cli *cli, const char *ns);
/* What the pass worked with: caches and settings, for those who explain more. */
struct pass_env *cli_forecast_env(struct cli_forecast *forecast);
const struct updater_config *cli_forecast_config(const struct cli_forecast *forecast);
/* The Deployment of the updater. */
const struct cli_installed *cli_forecast_updater(const struct cli_forecast *forecast);
/* What it has read, ordered by namespace and name; theirs until the forecast is freed. */
const struct vpa_object *const *cli_forecast_vpas(const struct cli_forecast *forecast,
                                                  size_t *count);
const struct vpa_pod *const *cli_forecast_pods(const struct cli_forecast *forecast, size_t *count);
const struct vpa_limit_range *const *cli_forecast_ranges(const struct cli_forecast *forecast,
                                                         size_t *count);
/* Over these VPAs and the controllers that it knows. */
struct cli_governors *cli_forecast_governors(struct cli_forecast *forecast);
/* A client that sends nothing but reads, for other code of the daemons. */
struct vpa_kube_client *cli_forecast_client(struct cli_forecast *forecast);

/* The option that commands with a forecast have. */
#define CLI_FORECAST_OPTION                                                                        \
    {                                                                                              \
        "updater-flags", 0, "TEXT", "Flags of the updater, instead of those of its Deployment"     \
    }

#endif
