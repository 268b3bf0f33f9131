/*
 * A `kubectl port-forward` of our own, for the time of an answer. It is kubectl that asks the API
 * server, with the same kubeconfig and context as this command, so it may what the user may.
 *
 *     struct cli_forward *forward = cli_forward_open(cli, "kube-system", "pod/x", 8943, &err);
 *     ... http://127.0.0.1:cli_forward_port(forward) ...
 *     cli_forward_close(forward);
 *
 * The child listens on 127.0.0.1 alone, on a port that the kernel chooses. It is ended by close,
 * and by the kernel when this process ends in any other way.
 */
#ifndef CLI_PORT_FORWARD_H
#define CLI_PORT_FORWARD_H

#include "cli.h"

/* Real time until it has to be ready. */
#define CLI_FORWARD_SECONDS 5

struct cli_forward;
/* target: "deploy/vpa-updater", "pod/...". NULL with what kubectl said: VPA_NOT_FOUND when there is
 * no kubectl on PATH, VPA_RETRY when it gave up or was not ready in time. */
struct cli_forward *cli_forward_open(const struct cli *cli, const char *ns, const char *target,
                                     int port, struct vpa_error *err);
int cli_forward_port(const struct cli_forward *forward);
void cli_forward_close(struct cli_forward *forward); /* NULL is allowed */

/* The port of "Forwarding from 127.0.0.1:40001 -> 8943", 0 for any other line (for tests). */
int cli_forward_port_of(const char *line);

#endif
