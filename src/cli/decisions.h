/*
 * What the updater wrote down about pods and their VPA: the newest entries of its ledger, read from
 * /decisions (docs/guide/decisions.md). The page answers callers of loopback, so it is read there:
 * at the address of a `kubectl port-forward` that the user opened, or of one that is opened for the
 * time of the answer (port_forward.h).
 *
 *     struct cli_decisions found;
 *     struct cli_decisions_query query = {.ns = "shop", .vpa = "web", .updater = at, ...};
 *     cli_decisions_about(cli, &query, &found);
 *     for (size_t i = 0; i < found.count; i++) ... found.items[i].why
 *
 * Bounded in time and size whatever answers; texts are those of the ledger, for the caller to
 * escape where he prints them. Everything lives in the arena of the command.
 */
#ifndef CLI_DECISIONS_H
#define CLI_DECISIONS_H

#include "cli.h"
#include "daemon_config.h"

/* The newest so many are kept. */
#define CLI_DECISIONS_MAX 20

struct cli_decision {
    int64_t seq;
    vpa_time at; /* unset when it is not a time */
    const char *vpa, *pod;
    const char *decision; /* "evict", "resize", "pause evictions", ... */
    const char *rule, *why;
};
struct cli_decisions {
    struct cli_decision items[CLI_DECISIONS_MAX]; /* newest first */
    size_t count;
    size_t left_out;     /* older ones */
    const char *missing; /* why they are not known, for people; NULL: they are */
};
struct cli_decisions_query {
    const char *ns;
    const char *vpa; /* "": entries of the pods alone */
    const char *const *pods;
    size_t pod_count;
    /* For a port-forward: the updater's Deployment, the port of its --address, and the Lease that
     * the one who leads holds ("": any replica). */
    struct cli_installed updater;
    int port;
    const char *lease_ns, *lease;
};

/* Never fails: what cannot be read is out->missing. The option --decisions-from says where from. */
void cli_decisions_about(struct cli *cli, const struct cli_decisions_query *query,
                         struct cli_decisions *out);

/* The parts, for tests. */

/* One page of the ledger: entries about the pods or the VPA go to `out`, which keeps the newest of
 * all pages; *next is the `since` of the next page, *more whether there is one. VPA_INVALID: it is
 * no such page. */
int cli_decisions_take(struct vpa_arena *arena, const char *text, size_t len,
                       const struct cli_decisions_query *query, struct cli_decisions *out,
                       int64_t *next, bool *more, struct vpa_error *err) VPA_MUST_CHECK;
/* "http://127.0.0.1:8943", also with a path behind it: the part before the path, in the arena.
 * VPA_INVALID when it is not plain HTTP to a loopback address, which is where the page trusts. */
int cli_decisions_origin(struct vpa_arena *arena, const char *url, const char **origin,
                         struct vpa_error *err) VPA_MUST_CHECK;
/* All pages of an origin. */
int cli_decisions_read(struct cli *cli, const char *origin, const struct cli_decisions_query *query,
                       struct cli_decisions *out, struct vpa_error *err) VPA_MUST_CHECK;

/* The option of commands that tell them. */
#define CLI_DECISIONS_OPTION                                                                       \
    {                                                                                              \
        "decisions-from", 0, "URL",                                                                \
            "The updater's address on loopback, or \"none\"; "                                     \
            "default through kubectl port-forward"                                                 \
    }

#endif
