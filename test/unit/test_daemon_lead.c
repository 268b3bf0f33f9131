/*
 * A daemon that is elected, on an API server of ours behind a real socket: when its work begins,
 * what it is told of leading and of losing, and what it leaves behind.
 */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/daemon.h"
#include "vpa/kube/reflector.h"
#include "vpa/net/http_server.h"
#include "vpa/net/loop.h"

#define PATIENCE VPA_MINUTE
#define OTHERS                                                                                     \
    "{\"metadata\":{\"name\":\"l\",\"namespace\":\"n\",\"resourceVersion\":\"9\"},\"spec\":{"      \
    "\"holderIdentity\":\"other\",\"leaseDurationSeconds\":3600,\"leaseTransitions\":1}}"

/* ---- the API server ---- */

static struct {
    pthread_mutex_t lock;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_http_server *http;
    char *lease; /* as it was written last; NULL: there is none */
    bool taken;  /* by another one, for an hour */
    pthread_cond_t given_back;
    int events;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .given_back = PTHREAD_COND_INITIALIZER};

static bool is_given_back(void)
{
    return server.lease && strstr(server.lease, "\"holderIdentity\":\"\"");
}

static void answer_lease(const struct vpa_server_request *q, struct vpa_server_response *r)
{
    bool reads = strcmp(q->method, "GET") == 0;

    if (server.taken && !reads) {
        vpa_server_reply_text(r, 409, "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
        return;
    }
    if (!reads) {
        free(server.lease);
        server.lease = vpa_xstrndup(q->body, q->body_len);
        if (is_given_back())
            pthread_cond_broadcast(&server.given_back);
    }
    if (server.taken)
        vpa_server_reply_text(r, 200, OTHERS);
    else if (server.lease)
        vpa_server_reply_text(r, 200, server.lease);
    else
        vpa_server_reply_text(r, 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\"}");
}

static void answer(void *ctx, const struct vpa_server_request *q, struct vpa_server_response *r)
{
    (void)ctx;
    pthread_mutex_lock(&server.lock);
    if (strstr(q->path, "/leases")) {
        answer_lease(q, r);
    } else {
        server.events += strcmp(q->method, "POST") == 0 && strstr(q->path, "/events") != NULL;
        vpa_server_reply_text(r, 201, "{}");
    }
    pthread_mutex_unlock(&server.lock);
}

static void take_lease(void)
{
    pthread_mutex_lock(&server.lock);
    server.taken = true;
    pthread_mutex_unlock(&server.lock);
}

static int events_of_server(void)
{
    pthread_mutex_lock(&server.lock);
    int events = server.events;
    pthread_mutex_unlock(&server.lock);
    return events;
}

/* ---- the daemon ---- */

static struct daemon_config {
    struct vpa_common_flags common;
    struct vpa_leader_flags leader;
    struct vpa_ledger_flags ledger;
    bool shadow;
} config;
static const struct vpa_flag rows[] = {
    VPA_COMMON_FLAGS(struct daemon_config, common, "127.0.0.1:0"),
    VPA_LEADER_FLAGS(struct daemon_config, leader, "l"),
    VPA_LEDGER_FLAGS(struct daemon_config, ledger),
    VPA_FLAG_BOOL("shadow", struct daemon_config, shadow, false, "Writes nothing"),
};
static char path[] = "/tmp/plumb-kubeconfig-XXXXXX";
static bool tells_of_unusable;
static int worked;

static int check(void *settings, struct vpa_arena *storage, int *exit_status, struct vpa_error *err)
{
    ck_assert_ptr_eq(settings, &config);
    (void)storage;
    return vpa_daemon_check(&config.common, &config.leader, exit_status, err);
}

static void setup(void)
{
    struct vpa_error err;
    int fd = mkstemp(path);

    server.clock = vpa_clock_new_from_env(&err);
    server.loop = vpa_loop_new(server.clock);
    server.http =
        vpa_http_server_new(server.loop,
                            &(struct vpa_http_server_options){
                                .address = "127.0.0.1:0", .handler = answer, .threads = 1},
                            &err);
    ck_assert_msg(server.http != NULL, "%s", err.text);
    vpa_auto_free char *text =
        vpa_xprintf("{current-context: c, contexts: [{name: c, context: {cluster: k}}],\n"
                    " clusters: [{name: k, cluster: {server: 'http://127.0.0.1:%d'}}]}\n",
                    vpa_http_server_port(server.http));
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void teardown(void)
{
    vpa_http_server_free(server.http);
    vpa_loop_free(server.loop);
    vpa_clock_free(server.clock);
    free(server.lease);
    unlink(path);
}

/* The exit status of a daemon with that work and up to two more flags. */
static int run_daemon(int (*work)(const void *settings, struct vpa_process *process),
                      const char *first, const char *second)
{
    static const char *const caches[] = {NULL};
    const struct vpa_daemon daemon = {
        .program = "vpa-test",
        .title = "Test",
        .flags = {.rows = rows, .count = VPA_COUNT(rows), .values = &config},
        .common = &config.common,
        .leader = &config.leader,
        .ledger = &config.ledger,
        .shadow = &config.shadow,
        .caches = caches,
        .client_count = 1,
        .tells_of_unusable = tells_of_unusable,
        .check = check,
        .run = work,
    };
    vpa_auto_free char *kubeconfig = vpa_xprintf("--kubeconfig=%s", path);
    char *const argv[] = {
        (char *)(uintptr_t) "vpa-test",
        kubeconfig,
        (char *)(uintptr_t) "-v=0",
        (char *)(uintptr_t) "--leader-elect-lease-duration=2s",
        (char *)(uintptr_t) "--leader-elect-renew-deadline=500ms",
        (char *)(uintptr_t) "--leader-elect-retry-period=20ms",
        (char *)(uintptr_t)first,
        (char *)(uintptr_t)second,
        NULL,
    };
    int count = 6 + (first != NULL) + (second != NULL);

    return vpa_daemon_main(&daemon, count, argv);
}

/* What /metrics says of leading. */
static bool shows_lead(struct vpa_process *process, const char *value)
{
    const struct vpa_server_request request = {.method = "GET", .path = "/metrics", .query = ""};
    struct vpa_server_response response = {0};
    vpa_auto_free char *line = vpa_xprintf("\nvpa_leader %s\n", value);

    vpa_observe_answer(process->observe, &request, &response);
    bool shown = strstr(response.body, line) != NULL;
    free(response.body);
    return shown;
}

static bool leads(void *ctx)
{
    return !((struct vpa_process *)ctx)->standby;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static bool an_event_came(void *ctx)
{
    (void)ctx;
    return events_of_server() > 0;
}

static void tell_of_a_pod(struct vpa_process *process)
{
    const struct vpa_unusable_object what = {
        .kind = "Pod", .ns = "n", .name = "p", .reason = "odd"};

    vpa_kube_client_tell_unusable(process->clients[0], "/api/v1/pods", "pods", &what);
}

/* ---- leading ---- */

static int lead_and_lose(const void *settings, struct vpa_process *process)
{
    struct vpa_error err;

    ck_assert_ptr_eq(settings, &config);
    worked++;
    ck_assert(process->standby && process->elector && !vpa_process_leads(process));
    ck_assert(!shows_lead(process, "1"));
    ck_assert_int_eq(vpa_loop_wait(process->loop, leads, process, PATIENCE, &err), 0);
    ck_assert(vpa_process_leads(process));
    ck_assert(shows_lead(process, "1"));
    take_lease();
    ck_assert_int_eq(vpa_loop_wait(process->loop, never, NULL, PATIENCE, &err), -1);
    ck_assert(vpa_loop_is_stopping(process->loop)); /* that was before the time was over */
    ck_assert(shows_lead(process, "0"));
    return 7;
}

/* Whatever the work says then. */
TEST(a_standby_leads_and_ends_when_it_has_lost) {
    ck_assert_int_eq(run_daemon(lead_and_lose, "--leader-elect", NULL), VPA_EXIT_FATAL);
    ck_assert_int_eq(worked, 1);
}

static int look_at_the_lead(const void *settings, struct vpa_process *process)
{
    ck_assert_ptr_eq(settings, &config);
    worked++;
    ck_assert(!process->standby && process->elector && vpa_process_leads(process));
    ck_assert(shows_lead(process, "1"));
    ck_assert_ptr_null(strstr(server.lease, "\"holderIdentity\":\"\""));
    return 7;
}

TEST(without_a_standby_the_work_begins_with_the_lead_and_gives_it_back) {
    ck_assert_int_eq(run_daemon(look_at_the_lead, "--leader-elect", "--standby=false"), 7);
    ck_assert_int_eq(worked, 1);
    ck_assert_msg(is_given_back(), "%s", server.lease);
}

/* The ledger's disk takes nothing until the Lease is given back. */
ssize_t write(int fd, const void *data, size_t len)
{
    if (vpa_str_starts_with(data, "{\"seq\"")) {
        pthread_mutex_lock(&server.lock);
        while (!is_given_back())
            pthread_cond_wait(&server.given_back, &server.lock);
        pthread_mutex_unlock(&server.lock);
    }
    return syscall(SYS_write, fd, data, len);
}

static int decide_something(const void *settings, struct vpa_process *process)
{
    struct vpa_error err;

    ck_assert_ptr_eq(settings, &config);
    ck_assert_int_eq(vpa_loop_wait(process->loop, leads, process, PATIENCE, &err), 0);
    vpa_ledger_record(process->ledger, &(struct vpa_ledger_entry){.decision = "evict"});
    return 0;
}

TEST(the_lease_does_not_wait_for_the_ledger) {
    char file[] = "/tmp/plumb-ledger-XXXXXX";

    close(mkstemp(file));
    vpa_auto_free char *flag = vpa_xprintf("--ledger-file=%s", file);
    ck_assert_int_eq(run_daemon(decide_something, "--leader-elect", flag), 0);
    ck_assert(is_given_back());
    unlink(file);
}

static int look_at_nobody(const void *settings, struct vpa_process *process)
{
    ck_assert_ptr_eq(settings, &config);
    worked++;
    ck_assert(!process->standby && !process->elector);
    ck_assert(shows_lead(process, config.shadow ? "0" : "1"));
    return 0;
}

TEST_TIMES(who_is_not_elected_leads_but_for_a_shadow, 3) {
    const char *shadow = _i ? "--shadow" : "--shadow=false";

    ck_assert_int_eq(run_daemon(look_at_nobody, shadow, _i == 2 ? "--leader-elect" : NULL), 0);
    ck_assert_int_eq(worked, 1);
    ck_assert_ptr_null(server.lease);
}

/* ---- objects that cannot be used ---- */

static int tell_then_lead(const void *settings, struct vpa_process *process)
{
    struct vpa_error err;

    ck_assert_ptr_eq(settings, &config);
    worked++;
    tell_of_a_pod(process);
    ck_assert_int_eq(vpa_loop_wait(process->loop, leads, process, PATIENCE, &err), 0);
    ck_assert_int_eq(vpa_loop_wait(process->loop, an_event_came, NULL, PATIENCE, &err), 0);
    return 0;
}

/* What a standby has seen is told once it leads. */
TEST_TIMES(what_cannot_be_used_is_told_by_who_leads, 2) {
    tells_of_unusable = true;
    ck_assert_int_eq(run_daemon(tell_then_lead, _i ? "--leader-elect" : NULL, NULL), 0);
    ck_assert_int_eq(worked, 1);
}

static int tell_and_end(const void *settings, struct vpa_process *process)
{
    ck_assert_ptr_eq(settings, &config);
    worked++;
    tell_of_a_pod(process);
    vpa_loop_pump(process->loop, 100 * VPA_MILLISECOND); /* would have been enough */
    return 0;
}

/* Neither a daemon that has no right to, nor a shadow. */
TEST_TIMES(others_tell_nothing, 2) {
    tells_of_unusable = _i == 1;
    ck_assert_int_eq(run_daemon(tell_and_end, _i ? "--shadow" : NULL, NULL), 0);
    ck_assert_int_eq(worked, 1);
    ck_assert_int_eq(events_of_server(), 0);
}

int main(void)
{
    return run_tests_within(60, "daemon_lead", setup, teardown);
}
