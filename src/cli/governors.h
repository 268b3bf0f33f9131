/*
 * Which VPAs speak of which pods: by the topmost controller of the pods and the selector of its
 * target, as the daemons find it (vpa/kube/owner.h), or by labels.
 *
 *     struct cli_governors *g = cli_governors_read(cli, "shop", &err);
 *     cli_governors_top(g, &of_workload, &top);
 *     cli_governors_visit(g, &(struct cli_governed){"shop", &labels, &top}, false, on_vpa, ctx);
 *     cli_governors_free(g);
 *
 * Selectors and controllers are resolved once and remembered: those of custom resources are asked
 * of the API server one by one. Texts live in the arena of the command.
 */
#ifndef CLI_GOVERNORS_H
#define CLI_GOVERNORS_H

#include "cli.h"
#include "vpa/api/vpa.h"
#include "vpa/kube/owner.h"

enum cli_relation {
    CLI_GOVERNS,    /* its target is their controller or it selects them by labels, and it takes
                       these labels */
    CLI_UNRESOLVED, /* its target is their controller, whose selector cannot be had */
    CLI_MISSES,     /* its target is their controller, whose selector leaves these labels out */
    CLI_OVERLAPS,   /* its target is another controller, whose selector takes these labels as well:
                       it learns from these pods and changes none of them */
};
/* why: of CLI_UNRESOLVED, "" otherwise. */
typedef void (*cli_governor_fn)(void *ctx, const struct vpa_object *vpa, enum cli_relation relation,
                                const char *why);

struct cli_governors;
/* Over what a forecast has read; all is borrowed. */
struct cli_governors *cli_governors_new(struct cli *cli, struct vpa_owners *owners,
                                        const struct vpa_object *const *vpas, size_t count);
/* Reads VPAs and controllers of a namespace ("" for all). NULL: the VPAs cannot be read; what else
 * cannot is noted. A VPA that cannot be decoded stands with its name and target. */
struct cli_governors *cli_governors_read(struct cli *cli, const char *ns, struct vpa_error *err);
void cli_governors_free(struct cli_governors *governors); /* NULL is allowed */
const struct vpa_object *const *cli_governors_vpas(const struct cli_governors *governors,
                                                   size_t *count);

/* The topmost controller that a VPA can name, of this one upwards; the empty kind and name where
 * there is none, or it is not known, which is noted. */
void cli_governors_top(struct cli_governors *governors, const struct vpa_controller_key *from,
                       struct vpa_controller_key *top);
struct cli_governed { /* pods: of a namespace, with labels, under a topmost controller */
    const char *ns;
    const struct vpa_labels *labels;
    const struct vpa_controller_key *top;
};
/* Every VPA that speaks of those pods.
 * others: also those that overlap. */
void cli_governors_visit(struct cli_governors *governors, const struct cli_governed *pods,
                         bool others, cli_governor_fn visit, void *ctx);

#endif
