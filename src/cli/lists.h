/*
 * Reading collections: pages of 500, each object as it arrives, so that a list of a hundred
 * thousand pods costs what is kept of them. Objects that cannot be read are passed over and noted.
 */
#ifndef CLI_LISTS_H
#define CLI_LISTS_H

#include "cli.h"
#include "vpa/json/json.h"

struct cli_kind {
    const char *group_version; /* "v1", "apps/v1" */
    const char *resource;      /* "pods" */
    const char *what_lacks;    /* what an answer lacks without it, for the note */
    const char *fields;        /* a field selector, or NULL */
    const char *labels;        /* a label selector, or NULL */
};
extern const struct cli_kind cli_deployments;

/* The object lives in an arena that is cleared after the call. -1: it cannot be used; it is noted
 * with err, and the list goes on. */
typedef int (*cli_object_fn)(void *ctx, const struct vpa_json *object, struct vpa_error *err);

/* ns "": all namespaces. A list whose continue token has expired begins anew, once: `object` is
 * told of nothing twice, since what was given is known by namespace and name. */
int cli_list(struct cli *cli, const struct cli_kind *kind, const char *ns, cli_object_fn object,
             void *ctx, struct vpa_error *err) VPA_MUST_CHECK;
/* Notes that the list failed and what the answer lacks for it: it is not whole, unless the
 * server serves no such list, or the list was for the settings of daemons, for which there are
 * defaults. */
void cli_note_list(struct cli *cli, const struct cli_kind *kind, const char *ns,
                   const struct vpa_error *err);

/* One object, in the arena of the command. */
int cli_get(struct cli *cli, const struct cli_kind *kind, const char *ns, const char *name,
            const struct vpa_json **object, struct vpa_error *err) VPA_MUST_CHECK;

#endif
