/*
 * `doctor`: one function per thing that can be wrong with an installation. Each adds findings;
 * what it may not look at is noted, not guessed.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli.h"
#include "daemon_config.h"
#include "vpa/api/labels.h"
#include "vpa/json/json.h"

enum doctor_level { DOCTOR_ERROR, DOCTOR_WARNING, DOCTOR_OK };
struct doctor_finding {
    enum doctor_level level;
    const char *check;   /* "webhook-ca" */
    const char *subject; /* "MutatingWebhookConfiguration vpa-webhook-config" */
    const char *text;    /* what is wrong, or how it was found in order */
    const char *advice;  /* what to do; "" when it is in order */
};
struct doctor_lease {
    const char *ns, *name; /* name NULL: not known */
};
/* A Deployment. */
struct doctor_neighbour {
    const struct doctor_neighbour *next;
    const char *ns, *name;
    struct cli_config config;
};
struct doctor_namespace {
    struct doctor_namespace *next;
    const char *name;
};
/* What the Deployments call things; until one is seen, the names of the manifests count. */
struct doctor_names {
    const char *accounts[CLI_DAEMONS];       /* NULL: not known */
    struct cli_config *configs[CLI_DAEMONS]; /* NULL: not known */
    bool seen[CLI_DAEMONS];
    bool all_seen;                           /* of others there are no Deployments */
    struct doctor_lease leader[CLI_DAEMONS]; /* of one that was seen, name NULL: it elects none */
    struct doctor_lease status;              /* which the updater reads */
};
struct doctor {
    struct cli *cli;
    struct doctor_finding *items; /* heap */
    size_t count, capacity;
    const char *ns; /* of the installation; NULL: the check of the daemons finds it */
    bool of_chart;  /* Helm manages a Deployment of it */
    bool is_plumb;  /* its webhook is ours, or nothing says that it is another's */
    bool webhook_found;
    const struct vpa_selector *called_in; /* namespaces that the webhook is called for; NULL: all */
    struct doctor_namespace *uncalled;    /* it is not, though no flag leaves them out */
    bool may_be_panic;                    /* the panic button is pressed, or cannot be looked at */
    int64_t minor;                        /* of the server, 0: not known */
    struct doctor_names names;
    const struct doctor_neighbour *neighbours;   /* shadows, and those of other namespaces */
    const struct doctor_neighbour *recommenders; /* no shadows; wherever they are */
};

/* Texts are copied into the arena of the command. */
void doctor_add(struct doctor *d, enum doctor_level level, const char *check, const char *subject,
                const char *advice, const char *fmt, ...) VPA_PRINTF(6, 7);
/* An object of kind GROUP_VERSION RESOURCE, NULL when there is none or it cannot be read, which is
 * noted unless it does not exist. *missing may be NULL. */
const struct vpa_json *doctor_get(struct doctor *d, const char *group_version, const char *ns,
                                  const char *resource, const char *name, bool *missing);

/* What to do for a part that is missing: by the chart, by the manifests as they are, or by an
 * overlay of them, which alone puts them into another namespace. */
const char *doctor_apply(const struct doctor *d, const char *chart, const char *manifests);
/* Whether it may be there: it changes nothing, serves other VPAs than this installation, or does
 * what this one leaves to others. */
bool doctor_is_apart(const struct doctor *d, const struct doctor_neighbour *neighbour);
/* Whether the installation does without it: there is a recommender, and no Deployment runs that. */
bool doctor_leaves_out(const struct doctor *d, enum cli_daemon daemon);
/* Whether the updater, if there is one, changes nothing without the webhook's Lease. */
bool doctor_reads_status(const struct doctor *d);
/* The Lease by which the webhook tells the updater that it works. */
struct doctor_lease doctor_status_lease(const struct doctor *d);

/* In the order in which they are made: the daemons' Deployments tell how things are called that
 * the later checks look at. */
void doctor_check_crds(struct doctor *d);
void doctor_check_daemons(struct doctor *d);
void doctor_check_leases(struct doctor *d);
void doctor_check_panic(struct doctor *d);
void doctor_check_webhook(struct doctor *d);
void doctor_check_reach(struct doctor *d);
void doctor_check_rights(struct doctor *d);
void doctor_check_metrics(struct doctor *d);
void doctor_check_objects(struct doctor *d);

#endif
