/*
 * What the webhook would patch into a new pod like a given one: its own function
 * (admission/admit.h) answers a review of the pod that the controller's template would make today,
 * under the flags and the panic button of the installed admission controller (daemon_config.h).
 */
#ifndef CLI_PREVIEW_H
#define CLI_PREVIEW_H

#include "forecast.h"
#include "vpa/json/json.h"

struct cli_preview {
    const struct vpa_json *before; /* the pod as its controller would create it */
    const struct vpa_json *after;  /* with the patch; the same without one */
    const char *patch;             /* JSON Patch, or NULL */
    const char *why_not;           /* without a patch: why; "" when no VPA is concerned */
    bool from_template; /* false: the controller cannot be read, the pod itself stands in */
};
/* In the arena of the command. pod: as the API server gives it. */
int cli_preview(struct cli *cli, struct cli_forecast *forecast, const char *ns,
                const struct vpa_json *pod, struct cli_preview *out,
                struct vpa_error *err) VPA_MUST_CHECK;
/* Lines "-  path: value" and "+  path: value" of what differs between two documents. */
void cli_put_diff(struct vpa_buf *out, bool color, const struct vpa_json *before,
                  const struct vpa_json *after);

#endif
