/*
 * Everything that a daemon has in common with the others, in the order in which it happens. Each
 * step logs why it failed and leaves the exit status; what was made is released in one place, in
 * the opposite order, whatever the step that failed.
 *
 * The Lease is given back when the work has ended, so that a successor never acts beside us, and
 * before anything is waited for that is not the API server, such as the ledger's disk.
 */
#include "vpa/daemon/daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "vpa/api/controller.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/table.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/ledger_page.h"
#include "vpa/daemon/seed.h"
#include "vpa/kube/reflector.h"
#include "vpa/daemon/unusable.h"

#define USAGE_MAX ((size_t)1 << 20)
#define HOST_NAME_SIZE 256
#define USER_AGENT_MAX 256
/* An unhealthy daemon missed so many passes. */
/* A request may wait for a minute before it is known that the API server is away. */
#define HEALTH_TIMEOUT_MIN (2 * VPA_MINUTE)
#define HEALTH_PASSES 5
#define HEALTH_TIMEOUT VPA_MINUTE
/* SIGTERM: the Lease is given back within this time, so that the whole ends within 5 s. */
#define RELEASE_TIMEOUT (3 * VPA_SECOND)

static struct vpa_metric build_info =
    VPA_GAUGE("vpa_build_info", "1; what is running.", "component", "version", "shadow");
static struct vpa_metric leader_gauge =
    VPA_GAUGE("vpa_leader", "1 while this replica leads or nobody is elected, else 0.");
static struct vpa_metric *const common_metrics[] = {&build_info,          &leader_gauge,
                                                    &vpa_kube_requests,   &vpa_unusable_objects,
                                                    &vpa_unknown_objects, &vpa_cache_in_step};

struct frame {
    const struct vpa_daemon *daemon;
    struct vpa_metric **metrics; /* the daemon's and those that all have */
    size_t metric_count;
    struct vpa_process process;
    struct vpa_arena arena;
    struct vpa_random random;
    struct vpa_kube_config *config;
    struct vpa_transport *transport;
    struct vpa_kube_client *events_client; /* of events on objects that cannot be used */
    struct vpa_unusable *unusable;
    char host_name[HOST_NAME_SIZE];
    char user_agent[USER_AGENT_MAX];
    int exit_status;
};

/* The log asks for the time without a context. Virtual time shows in it when the simulator gives
 * it. */
static struct vpa_clock *process_clock;

static int64_t log_now(void)
{
    return process_clock ? vpa_time_unix_nanos(vpa_clock_now(process_clock)) : 0;
}

static int give_up(struct frame *f, int exit_status, const char *message,
                   const struct vpa_error *err)
{
    VPA_ERROR(message, VPA_KERR(err));
    f->exit_status = exit_status;
    return -1;
}

/* The message is the error itself, as upstream words it. */
static int refuse(struct frame *f, int exit_status, const struct vpa_error *err)
{
    VPA_ERROR(err->text);
    f->exit_status = exit_status;
    return -1;
}

static int fatal(struct frame *f, const char *message)
{
    vpa_log_text(VPA_LOG_FATAL, __FILE__, __LINE__, message);
    f->exit_status = VPA_EXIT_FATAL;
    return -1;
}

/* ---- settings ---- */

int vpa_daemon_check(const struct vpa_common_flags *common, const struct vpa_leader_flags *leader,
                     int *exit_status, struct vpa_error *err)
{
    double qps;
    int burst;

    *exit_status = EXIT_FAILURE;
    if (vpa_common_flags_check(common, err) < 0)
        return -1;
    if (leader && vpa_leader_flags_check(leader, exit_status, err) < 0)
        return -1;
    *exit_status = VPA_EXIT_USAGE;
    return vpa_common_flags_rate(common, &qps, &burst, err);
}

static int check_settings(struct frame *f)
{
    struct vpa_error err;
    int status;

    if (f->daemon->check(f->daemon->flags.values, &f->arena, &status, &err) < 0)
        return refuse(f, status, &err);
    return vpa_ledger_flags_check(f->daemon->ledger, &err) < 0 ? refuse(f, EXIT_FAILURE, &err) : 0;
}

static void announce(const struct vpa_daemon *d)
{
    if (d->instance.key)
        VPA_V(1, d->title, VPA_KV("version", PLUMB_VERSION),
              VPA_KV(d->instance.key, *d->instance.value));
    else
        VPA_V(1, d->title, VPA_KV("version", PLUMB_VERSION));
}

static int set_up_log(struct frame *f)
{
    struct vpa_error err;

    process_clock = vpa_clock_new_from_env(&err);
    if (!process_clock)
        return refuse(f, EXIT_FAILURE, &err);
    if (vpa_common_flags_apply(f->daemon->common, log_now, &err) < 0)
        return refuse(f, VPA_EXIT_USAGE, &err);
    vpa_flags_log(&f->daemon->flags);
    announce(f->daemon);
    return 0;
}

static int read_flags(struct frame *f, int argc, char *const *argv)
{
    vpa_auto_buf text = VPA_BUF(USAGE_MAX);

    int status = vpa_flags_start(&f->daemon->flags, &f->arena, argc, argv, &text);
    if (status < 0)
        return 0;
    fputs(vpa_buf_text(&text), stderr);
    f->exit_status = status;
    return -1;
}

/* ---- identity ---- */

const char *vpa_daemon_architecture(const char *machine)
{
    static const struct {
        const char *prefix, *name;
    } known[] = {
        {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"arm", "arm"},
        {"i386", "386"},     {"i686", "386"},      {"loongarch64", "loong64"},
    };

    for (size_t i = 0; i < VPA_COUNT(known); i++)
        if (strncmp(machine, known[i].prefix, strlen(known[i].prefix)) == 0)
            return known[i].name;
    return machine;
}

static int find_identity(struct frame *f)
{
    struct utsname system;

    vpa_random_init(&f->random, vpa_seed_from_kernel());
    vpa_hash_seed(vpa_random_next(&f->random));
    if (uname(&system) < 0 || gethostname(f->host_name, sizeof(f->host_name) - 1) < 0) {
        VPA_ERROR("Unable to get hostname");
        f->exit_status = EXIT_FAILURE;
        return -1;
    }
    snprintf(f->user_agent, sizeof(f->user_agent), "%s/%s (linux/%s)", f->daemon->program,
             PLUMB_VERSION, vpa_daemon_architecture(system.machine));
    f->process.host_name = f->host_name;
    return 0;
}

/* ---- loop ---- */

static void on_signal(void *ctx, int signal_number)
{
    VPA_INFO("Stopping", VPA_KV("signal", signal_number == SIGTERM ? "SIGTERM" : "SIGINT"));
    vpa_loop_stop(ctx);
}

static vpa_duration health_timeout(const struct vpa_daemon *d)
{
    vpa_duration timeout;

    if (!d->interval)
        return HEALTH_TIMEOUT;
    if (__builtin_mul_overflow(*d->interval, HEALTH_PASSES, &timeout))
        return INT64_MAX;
    return timeout < HEALTH_TIMEOUT_MIN ? HEALTH_TIMEOUT_MIN : timeout;
}

static void start_cache(const char *resource)
{
    vpa_metric_set(&vpa_cache_in_step, 0, resource);
    vpa_metric_add(&vpa_unusable_objects, 0, resource);
    vpa_metric_add(&vpa_unknown_objects, 0, resource);
}

/* Which server will answer is not known yet: the first series of the requests names none. */
static void start_metrics(const struct vpa_daemon *d)
{
    vpa_metric_add(&vpa_kube_requests, 0, "200", "GET", "");
    for (enum vpa_controller_kind kind = 0; kind < VPA_KIND_COUNT; kind++)
        start_cache(vpa_controller_plural(kind));
    for (size_t i = 0; d->caches[i]; i++)
        start_cache(d->caches[i]);
    if (d->start_metrics)
        d->start_metrics();
}

static bool is_shadow(const struct frame *f)
{
    return f->daemon->shadow && *f->daemon->shadow;
}

static void gather_metrics(struct frame *f)
{
    const struct vpa_daemon *d = f->daemon;

    f->metrics = vpa_xcalloc(d->metric_count + VPA_COUNT(common_metrics), sizeof(*f->metrics));
    for (size_t i = 0; i < d->metric_count; i++)
        f->metrics[f->metric_count++] = d->metrics[i];
    for (size_t i = 0; i < VPA_COUNT(common_metrics); i++)
        f->metrics[f->metric_count++] = common_metrics[i];
    vpa_metric_set(&build_info, 1, d->program, PLUMB_VERSION, is_shadow(f) ? "true" : "false");
    start_metrics(d);
}

const struct vpa_metric *vpa_daemon_metric(size_t i)
{
    return i < VPA_COUNT(common_metrics) ? common_metrics[i] : NULL;
}

static int start_loop(struct frame *f)
{
    static const int signals[] = {SIGTERM, SIGINT};
    struct vpa_loop *loop = vpa_loop_new(process_clock);
    struct vpa_error err;

    f->process.loop = loop;
    if (vpa_loop_on_signals(loop, signals, VPA_COUNT(signals), on_signal, loop, &err) < 0)
        return give_up(f, EXIT_FAILURE, "Cannot watch signals", &err);
    gather_metrics(f);
    const struct vpa_daemon *d = f->daemon;
    const struct vpa_observe_options options = {
        .address = d->common->address,
        .metrics = f->metrics,
        .metric_count = f->metric_count,
        .health_timeout = health_timeout(d),
        .expected = {d->ledger->serve ? VPA_DECISIONS_PATH : NULL,
                     d->page.path && *d->page.wanted ? d->page.path : NULL},
    };
    f->process.observe = vpa_observe_new(loop, &options, &err);
    return f->process.observe ? 0 : give_up(f, EXIT_FAILURE, "Failed to start metrics", &err);
}

/* ---- API server ---- */

/* Nobody restarts a daemon because the API server is away. */
static void on_attempt(void *ctx, bool answered)
{
    vpa_observe_unreachable(ctx, !answered);
}

static void on_unusable(void *ctx, const char *api_version, const char *resource,
                        const struct vpa_unusable_object *what)
{
    struct frame *f = ctx;

    if (f->unusable)
        vpa_unusable_tell(f->unusable, api_version, resource, what);
}

/* may_write: NULL for the Lease itself, which is how this process comes to lead. */
static struct vpa_kube_client *new_client(struct frame *f, bool (*may_write)(void *ctx),
                                          struct vpa_error *err)
{
    double qps;
    int burst;

    if (vpa_common_flags_rate(f->daemon->common, &qps, &burst, err) < 0)
        return NULL;
    return vpa_kube_client_new(
        &(struct vpa_kube_client_options){
            .loop = f->process.loop,
            .transport = f->transport,
            .config = f->config,
            .random = &f->random,
            .user_agent = f->user_agent,
            .qps = qps,
            .burst = burst,
            .may_write = may_write,
            .may_write_ctx = &f->process,
            .dry_run = is_shadow(f),
            .on_attempt = on_attempt,
            .attempt_ctx = f->process.observe,
            .on_unusable = on_unusable,
            .unusable_ctx = f,
        },
        err);
}

static int make_clients(struct frame *f, struct vpa_error *err)
{
    for (size_t i = 0; i < f->daemon->client_count; i++) {
        f->process.clients[i] = new_client(f, vpa_process_leads, err);
        if (!f->process.clients[i])
            return -1;
    }
    f->process.leases = new_client(f, NULL, err);
    f->events_client = new_client(f, vpa_process_leads, err);
    return f->process.leases && f->events_client ? 0 : -1;
}

static int connect_server(struct frame *f)
{
    const char *path = f->daemon->common->kubeconfig;
    struct vpa_error err;

    f->config = vpa_kube_config_load(path, &err);
    if (!f->config) {
        (void)vpa_wrap(&err, "%s",
                       *path ? "Failed to build kubeconfig from file" : "Failed to create config");
        return fatal(f, err.text);
    }
    f->transport = vpa_kube_connect(f->process.loop, f->config, &err);
    if (!f->transport || make_clients(f, &err) < 0)
        return give_up(f, VPA_EXIT_USAGE, "Cannot make a client of the API server", &err);
    return 0;
}

/* ---- leadership ---- */

static void on_lost(void *ctx)
{
    struct frame *f = ctx;

    vpa_metric_set(&leader_gauge, 0);
    fatal(f, "lost master");
    vpa_loop_stop(f->process.loop);
}

bool vpa_process_leads(void *ctx)
{
    const struct vpa_process *process = ctx;

    return !process->elector || vpa_elector_is_leader(process->elector);
}

static void on_started(void *ctx)
{
    struct frame *f = ctx;

    if (f->process.standby)
        VPA_INFO("This replica leads now");
    f->process.standby = false;
    vpa_ledger_lead(f->process.ledger, true);
    if (f->unusable)
        vpa_unusable_lead(f->unusable);
    vpa_metric_set(&leader_gauge, 1);
}

/* Waits until this process leads, unless it may begin as a standby. */
static int become_leader(struct frame *f)
{
    const struct vpa_leader_flags *leader = f->daemon->leader;
    struct vpa_error err;

    if (f->daemon->tells_of_unusable && !is_shadow(f))
        f->unusable = vpa_unusable_new(&(struct vpa_unusable_options){
            .client = f->events_client,
            .component = f->daemon->program,
            .leading = !leader || !leader->elect,
        });
    if (is_shadow(f))
        VPA_INFO("Shadow: nothing is changed, writes are dry runs");
    if (!leader || !leader->elect || is_shadow(f)) {
        vpa_metric_set(&leader_gauge, !is_shadow(f));
        return 0;
    }
    f->process.elector = vpa_leader_elector_new(
        leader, &f->random,
        &(struct vpa_elector_options){
            .client = f->process.leases, .ctx = f, .on_started = on_started, .on_lost = on_lost},
        &err);
    if (!f->process.elector)
        return give_up(f, EXIT_FAILURE, "Unable to get hostname", &err);
    if (!leader->standby)
        return vpa_elector_campaign(f->process.elector);
    f->process.standby = true;
    vpa_elector_start(f->process.elector);
    return 0;
}

/* ---- life ---- */

static void work(struct frame *f)
{
    struct vpa_process *process = &f->process;

    process->ledger = vpa_ledger_new(f->daemon->ledger);
    vpa_ledger_lead(process->ledger, !process->standby);
    struct vpa_ledger_page *decisions = vpa_ledger_page_new_by_flags(
        f->daemon->ledger, process->observe, process->ledger, process->clients[0]);
    int status = f->daemon->run(f->daemon->flags.values, process);

    vpa_ledger_page_free(decisions);
    vpa_ledger_stop(process->ledger);
    if (f->exit_status == 0) /* leadership that was lost meanwhile says more */
        f->exit_status = status;
}

static void release(struct frame *f)
{
    struct vpa_metrics metrics = {.table = f->metrics, .count = f->metric_count};

    if (f->process.elector) {
        vpa_loop_resume(f->process.loop);
        vpa_elector_release(f->process.elector, RELEASE_TIMEOUT);
        vpa_elector_free(f->process.elector);
    }
    vpa_ledger_free(f->process.ledger); /* its disk has had that time */
    vpa_unusable_free(f->unusable);
    vpa_kube_client_free(f->events_client);
    vpa_kube_client_free(f->process.leases);
    for (size_t i = 0; i < f->daemon->client_count; i++)
        vpa_kube_client_free(f->process.clients[i]);
    vpa_transport_free(f->transport);
    vpa_kube_config_free(f->config);
    vpa_observe_free(f->process.observe);
    vpa_loop_free(f->process.loop);
    vpa_clock_free(VPA_STEAL(process_clock));
    vpa_metrics_release(&metrics);
    free(f->metrics);
    vpa_arena_release(&f->arena);
}

int vpa_daemon_main(const struct vpa_daemon *daemon, int argc, char *const *argv)
{
    struct frame f = {.daemon = daemon};

    if (read_flags(&f, argc, argv) == 0 && set_up_log(&f) == 0 && check_settings(&f) == 0 &&
        find_identity(&f) == 0 && start_loop(&f) == 0 && connect_server(&f) == 0 &&
        become_leader(&f) == 0)
        work(&f);
    release(&f);
    return f.exit_status;
}
