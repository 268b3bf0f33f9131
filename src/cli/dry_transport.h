/*
 * A transport that lets nothing through but reads: what a daemon's code would write is shown to a
 * callback, which answers in the server's place. So the code of a daemon can be run against a live
 * cluster to see what it would do.
 *
 *     reads    go to the real transport. A list that is refused is answered as an empty one, and
 *              told: a watch cache would ask for it for ever
 *     watches  are not sent; they stay open and silent
 *     writes   are answered by the callback
 */
#ifndef CLI_DRY_TRANSPORT_H
#define CLI_DRY_TRANSPORT_H

#include "cli.h"

struct cli_dry_handler {
    void *ctx;
    /* The HTTP status of the answer to a write; a success has the body "{}", a failure *body, which
     * must live until the loop has run. */
    int (*on_write)(void *ctx, const char *method, const char *target, const char *body,
                    const char **answer);
    /* Whether a list shall be taken for empty without asking; NULL: none. */
    bool (*hides)(void *ctx, const char *target);
    /* A list could not be read: "pods", and the status (0: no answer) with what the server says. */
    void (*on_refused)(void *ctx, const char *resource, int status, const char *message);
};

/* The transport with a client on it; zeroed: none. */
struct cli_dry {
    struct vpa_transport *transport;
    struct vpa_kube_client *client;
};

/* Beside the connection of the command, which it borrows. */
int cli_dry_connect(struct cli *cli, const struct cli_dry_handler *handler, struct cli_dry *out,
                    struct vpa_error *err) VPA_MUST_CHECK;
void cli_dry_release(struct cli_dry *dry);

#endif
