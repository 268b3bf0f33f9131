/*
 * The admission controller put together: watches feed the snapshot builder, the listener answers
 * from its snapshots, the registration and the status lease tell the cluster about it.
 *
 *     struct admission *a = admission_new(&options);
 *     int status = admission_run(a);      // until the loop is stopped
 *     admission_free(a);
 *
 * Everything but the answers runs on the loop. What has to wait for an answer of the API server is
 * done by admission_run itself; timers only say that it is due.
 */
#ifndef ADMISSION_ADMISSION_H
#define ADMISSION_ADMISSION_H

#include "config.h"
#include "server.h"
#include "vpa/kube/client.h"
#include "vpa/daemon/observe.h"

struct admission_options {
    const struct admission_config *config; /* borrowed */
    struct vpa_loop *loop;                 /* borrowed */
    struct vpa_kube_client *client;        /* borrowed */
    const char *ns;              /* our namespace: $NAMESPACE, "" when not set; borrowed */
    const char *host_name;       /* holder of the status lease; borrowed */
    bool unbound;                /* no listener: answers only through server_answer */
    struct vpa_ledger *ledger;   /* borrowed; NULL: nothing is written down */
    struct vpa_observe *observe; /* told how to ask for health; borrowed, NULL: nobody asks */
};

struct admission;
struct admission *admission_new(const struct admission_options *options);
/* Requests in hand are finished. NULL is allowed. */
void admission_free(struct admission *admission);

/* Starts the watches and waits for the first lists; -1 with VPA_CANCELLED when the loop was
 * stopped. */
int admission_sync(struct admission *admission, struct vpa_error *err) VPA_MUST_CHECK;
/* Loads the certificate and opens the port. VPA_RETRY: the port cannot be bound. */
int admission_listen(struct admission *admission, struct vpa_error *err) VPA_MUST_CHECK;
/* Both, and then serves until the loop is stopped. The exit status: 0 after a stop, 1 or 255
 * (upstream's "fatal") after a failure, which has been logged. */
int admission_run(struct admission *admission);

/* The listener; NULL before admission_listen. */
struct server *admission_server(struct admission *admission);
/* For tests that look at single answers. */
struct snapshot_cell *admission_cell(struct admission *admission);

#endif
