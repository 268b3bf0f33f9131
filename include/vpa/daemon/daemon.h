/*
 * The frame of a daemon, from the command line to the exit status. A daemon is a table: its flags,
 * its metrics, a check of its own settings, and its work.
 *
 *     static int run(const void *settings, struct vpa_process *process)
 *     {
 *         ... until the loop is stopped ...
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         static struct updater_config config;
 *         const struct vpa_daemon daemon = {
 *             .program = "vpa-updater",
 *             .title = "Vertical Pod Autoscaler Updater",
 *             .flags = {.rows = updater_flag_rows, ..., .values = &config},
 *             .common = &config.common,
 *             .leader = &config.leader,
 *             .run = run,
 *         };
 *         return vpa_daemon_main(&daemon, argc, argv);
 *     }
 *
 * Order of start: flags, log, checks, signals, the plain listener (probes pass while the rest
 * waits), the API server's address and credentials, clients, the Lease when electing, the ledger of
 * decisions with its page, the work; a
 * standby (--standby) begins the work without the Lease. One line tells why a start ended:
 *
 *     exit status  why
 *               0  stopped by SIGTERM or SIGINT, or --help
 *               1  settings that contradict each other, the listener, the work
 *               2  wrong usage, also of --logging-format, request rate and times of the Lease; a CA
 *                  that is none
 *             255  the API server's address or credentials cannot be read, leadership was lost
 *                  (upstream's fatal log lines)
 */
#ifndef VPA_DAEMON_DAEMON_H
#define VPA_DAEMON_DAEMON_H

#include "vpa/base/metrics.h"
#include "vpa/daemon/common_flags.h"
#include "vpa/daemon/leader.h"
#include "vpa/daemon/ledger.h"
#include "vpa/daemon/observe.h"
#include "vpa/kube/client.h"

#define VPA_EXIT_USAGE 2
#define VPA_EXIT_FATAL 255
#define VPA_DAEMON_CLIENTS_MAX 4

/* What a daemon's work finds made; borrowed for its time. */
struct vpa_process {
    struct vpa_loop *loop; /* stopped by signals and by the end of leadership */
    struct vpa_observe *observe;
    struct vpa_kube_client *clients[VPA_DAEMON_CLIENTS_MAX]; /* as many as the daemon asks for */
    struct vpa_kube_client *leases; /* for Leases alone: never fenced, its own rate limit */
    struct vpa_elector *elector;    /* NULL: not electing */
    /* Another one leads, as far as is known: nothing may be changed yet. It becomes false once,
     * when this process leads; who loses the lead ends. */
    bool standby;
    const char *host_name;
    struct vpa_ledger *ledger; /* of decisions */
};

struct vpa_daemon {
    const char *program; /* "vpa-updater": the User-Agent */
    const char *title;   /* of the first log line */
    struct {             /* what else it shows, for example the flag that names this instance */
        const char *key; /* NULL: nothing */
        const char *const *value;
    } instance;
    struct {              /* a page of its own on the plain listener, which the work serves */
        const char *path; /* NULL: none */
        const bool *wanted;
    } page;
    struct vpa_flags flags;                /* their values are the daemon's settings */
    const struct vpa_common_flags *common; /* inside the values of the flags */
    const struct vpa_leader_flags *leader; /* likewise; NULL: never elects */
    const struct vpa_ledger_flags *ledger; /* likewise; always there */
    /* Likewise; beside another installation: no election, and every write is a dry run. */
    const bool *shadow;
    struct vpa_metric *const *metrics;
    size_t metric_count;
    /* Gives the daemon's own families their first series, with 0: an alert on an increase would not
     * see the first event otherwise. Before anybody can read them; NULL: there are none. */
    void (*start_metrics)(void);
    /* Resources that it keeps caches of beside those of the well-known controllers, NULL behind the
     * last: their series are there from the start as well. */
    const char *const *caches;
    /* Clients of the API server, each with the rate limit of the flags for itself. */
    size_t client_count;
    /* Whether objects that cannot be used get a Warning event, which takes the right to write them
     * in every namespace. */
    bool tells_of_unusable;
    /* Of passes: healthy while one ended within the last five. NULL: nobody arms the check. */
    const vpa_duration *interval;
    /* Of all settings, vpa_daemon_check included; the error is the line to log. Texts that are read
     * live in the arena. */
    int (*check)(void *settings, struct vpa_arena *arena, int *exit_status, struct vpa_error *err);
    /* The work, until the loop is stopped; the exit status. It logs its failures itself. */
    int (*run)(const void *settings, struct vpa_process *process);
};

/* The whole life of the process; main returns what it returns. */
int vpa_daemon_main(const struct vpa_daemon *daemon, int argc, char *const *argv);

/* The checks after parsing that daemons share; leader NULL: never elects. On failure *exit_status
 * is that of the process. */
int vpa_daemon_check(const struct vpa_common_flags *common, const struct vpa_leader_flags *leader,
                     int *exit_status, struct vpa_error *err) VPA_MUST_CHECK;

/* Whether this process may change anything now: it leads, or nobody is elected. While the Lease is
 * in doubt it may not, although the end of leadership comes later. Every write of the clients is
 * asked this right before its bytes go out. ctx is the struct vpa_process. */
bool vpa_process_leads(void *ctx);

/* The metrics that every daemon has beside its own: what is running, whether it leads, requests to
 * the API server, caches. NULL behind the last. For docs/metrics.md. */
const struct vpa_metric *vpa_daemon_metric(size_t i);

/* Go's name of the machine that uname names: x86_64 is amd64. */
const char *vpa_daemon_architecture(const char *machine);

#endif
