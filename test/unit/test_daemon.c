/*
 * Bad starts of the three daemons: one frame, so one exit status and one line, in the format asked
 * for. And a good start of a daemon that is a table of ours.
 */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/daemon.h"
#include "vpa/daemon/ledger_page.h"
#include "vpa/net/loop.h"

#define ARGUMENTS_MAX 8
#define OUTPUT_MAX ((size_t)1 << 20)

/* PLUMB_BIN is the folder of the programs under test. */
static const char *const programs[] = {PLUMB_BIN "/vpa-recommender", PLUMB_BIN "/vpa-updater",
                                       PLUMB_BIN "/vpa-admission-controller"};
enum { RECOMMENDER = 1, UPDATER = 2, ADMISSION = 4, ELECTING = 3, ALL = 7 };

#define BURST                                                                                      \
    "burst is required to be greater than 0 when RateLimiter is not set and QPS is set to "        \
    "greater "                                                                                     \
    "than 0"
#define EXCLUSIVE                                                                                  \
    "--vpa-object-namespace and --ignored-vpa-object-namespaces are mutually exclusive and can't " \
    "be set together."
#define NO_FILE "Failed to build kubeconfig from file: open /nonexistent: No such file or directory"

/* The last line that comes of a start with these arguments; %s would be its place in a source. */
static const struct {
    const char *name;
    int daemons;
    const char *arguments[4];
    int exit_status;
    const char *begin, *end; /* of the line */
} starts[] = {
    {"wrong flag", ALL, {"--no-such"}, 2, "unknown flag: --no-such", ""},
    {"wrong value", ALL, {"-v=x"}, 2, "invalid argument \"x\" for \"-v, --v\" flag", ""},
    {"format", ALL, {"--logging-format=xml"}, 2, "E", "--logging-format must be text or json\""},
    {"namespaces",
     ALL,
     {"--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"},
     1,
     "E",
     "\"" EXCLUSIVE "\""},
    {"namespaces in json",
     ALL,
     {"--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b", "--logging-format=json"},
     1,
     "{\"ts\":",
     "\"msg\":\"" EXCLUSIVE "\"}"},
    {"burst below one", ALL, {"--kube-api-burst=0.5"}, 2, "E", "\"" BURST "\""},
    {"burst in json",
     ALL,
     {"--kube-api-burst=0", "--logging-format=json"},
     2,
     "{\"ts\":",
     "\"msg\":\"" BURST "\"}"},
    {"burst far below zero", ALL, {"--kube-api-burst=-1e19"}, 2, "E", "\"" BURST "\""},
    {"burst is no number", ALL, {"--kube-api-burst=NaN"}, 2, "E", "\"" BURST "\""},
    {"burst without a limit", ALL, {"--kube-api-burst=0", "--kube-api-qps=-1"}, 255, "F", NO_FILE},
    {"burst beyond 64 bits", ALL, {"--kube-api-burst=1e19"}, 255, "F", NO_FILE},
    {"endless burst", ALL, {"--kube-api-burst=inf"}, 255, "F", NO_FILE},
    {"no kubeconfig", ALL, {0}, 255, "F", NO_FILE},
    {"no kubeconfig in json",
     ALL,
     {"--logging-format=json"},
     255,
     "{\"ts\":",
     "\"msg\":\"" NO_FILE "\"}"},
    {"no cluster",
     ALL,
     {"--kubeconfig="},
     255,
     "F",
     "Failed to create config: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST "
     "and "
     "KUBERNETES_SERVICE_PORT must be defined"},
    {"address",
     ALL,
     {"--address=nowhere"},
     1,
     "E",
     "\"Failed to start metrics\" err=\"address \\\"nowhere\\\": expected host:port\""},
    {"lock",
     ELECTING,
     {"--leader-elect", "--leader-elect-resource-lock=x"},
     1,
     "E",
     "\"Unable to create leader election lock: Invalid lock-type x\""},
    {"lease",
     ELECTING,
     {"--leader-elect", "--leader-elect-lease-duration=5s"},
     2,
     "E",
     "\"leaseDuration must be greater than renewDeadline\""},
    {"election off", ELECTING, {"--leader-elect-resource-lock=x"}, 255, "F", NO_FILE},
    {"longest interval", RECOMMENDER, {"--recommender-interval=2562047h"}, 255, "F", NO_FILE},
    {"longest interval", UPDATER, {"--updater-interval=2562047h"}, 255, "F", NO_FILE},
    {"interval",
     RECOMMENDER,
     {"--recommender-interval=0s"},
     1,
     "E",
     "\"--recommender-interval must be positive.\""},
    {"lease timeout",
     UPDATER,
     {"--admission-controller-status-lease-timeout=0s", "--logging-format=json"},
     1,
     "{\"ts\":",
     "\"msg\":\"--admission-controller-status-lease-timeout must be positive.\"}"},
    {"port", ADMISSION, {"--port=70000"}, 1, "E", "\"--port must be between 0 and 65535.\""},
};

static void become(const char *program, const char *const *arguments, int out)
{
    char *argv[ARGUMENTS_MAX] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "-v=0",
                                 (char *)(uintptr_t) "--address=127.0.0.1:0",
                                 (char *)(uintptr_t) "--kubeconfig=/nonexistent"};

    for (size_t i = 0; i < 4 && arguments[i]; i++)
        argv[4 + i] = (char *)(uintptr_t)arguments[i];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, STDERR_FILENO);
    execv(program, argv);
    _exit(127);
}

/* The exit status, with all of standard error in *text (heap). */
static int run(const char *program, const char *const *arguments, char **text)
{
    vpa_auto_buf all = VPA_BUF(OUTPUT_MAX);
    int ends[2], status;

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0)
        become(program, arguments, ends[1]);
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], vpa_buf_reserve(&all, 4096), 4096)) > 0;)
        vpa_buf_advance(&all, (size_t)n);
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    vpa_buf_puts(&all, "");
    *text = vpa_buf_take(&all);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The last line; its number in *count. */
static const char *last_line(char *text, size_t *count)
{
    const char *line = text;

    *count = 0;
    for (char *end = strchr(text, '\n'); end; end = strchr(end + 1, '\n')) {
        ++*count;
        *end = '\0';
        if (end[1])
            line = end + 1;
    }
    return line;
}

START_TEST(ends_with_one_line)
{
    for (size_t i = 0; i < VPA_COUNT(programs); i++) {
        vpa_auto_free char *text = NULL;
        size_t lines;

        if (!(starts[_i].daemons & 1 << i))
            continue;
        int status = run(programs[i], starts[_i].arguments, &text);
        const char *line = last_line(text, &lines);
        ck_assert_msg(status == starts[_i].exit_status, "%s: %s: status %d, %s", programs[i],
                      starts[_i].name, status, line);
        ck_assert_msg(vpa_str_starts_with(line, starts[_i].begin) &&
                          vpa_str_ends_with(line, starts[_i].end),
                      "%s: %s: %s", programs[i], starts[_i].name, line);
        ck_assert_msg(lines == 1 || _i < 2, "%s: %s: %zu lines", programs[i], starts[_i].name,
                      lines); /* wrong usage shows the flags first */
    }
}
END_TEST

/* A clock that is not there is none to go by. */
START_TEST(a_missing_clock_is_told)
{
    setenv(VPA_SIMULATED_CLOCK_ENV, "/nonexistent", 1);
    for (size_t i = 0; i < VPA_COUNT(programs); i++) {
        vpa_auto_free char *text = NULL;
        size_t lines;

        ck_assert_int_eq(run(programs[i], (const char *const[4]){0}, &text), 1);
        ck_assert_msg(strstr(last_line(text, &lines), "/nonexistent") != NULL, "%s", text);
        ck_assert_uint_eq(lines, 1);
    }
    unsetenv(VPA_SIMULATED_CLOCK_ENV);
}
END_TEST

/* An address that can be read, a CA that cannot: no client can be made. */
START_TEST(a_bad_ca_is_told_alike)
{
    static const char kubeconfig[] =
        "{current-context: c, contexts: [{name: c, context: {cluster: k}}],\n"
        " clusters: [{name: k, cluster: {server: 'https://127.0.0.1:1',\n"
        "   certificate-authority-data: bm8gY2VydGlmaWNhdGU=}}]}\n";
    char path[] = "/tmp/plumb-kubeconfig-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_eq(write(fd, kubeconfig, strlen(kubeconfig)), (ssize_t)strlen(kubeconfig));
    close(fd);
    vpa_auto_free char *argument = vpa_xprintf("--kubeconfig=%s", path);
    for (size_t i = 0; i < VPA_COUNT(programs); i++) {
        vpa_auto_free char *text = NULL;
        size_t lines;

        ck_assert_int_eq(run(programs[i], (const char *const[4]){argument}, &text), 2);
        ck_assert_msg(vpa_str_ends_with(last_line(text, &lines),
                                        "\"Cannot make a client of the API server\" err=\"CA "
                                        "data: no usable certificate: no start line\""),
                      "%s", text);
        ck_assert_uint_eq(lines, 1);
    }
    unlink(path);
}
END_TEST

/* Every flag with its value, before anything else. */
START_TEST(tells_its_flags)
{
    for (size_t i = 0; i < VPA_COUNT(programs); i++) {
        vpa_auto_free char *text = NULL;

        ck_assert_int_eq(run(programs[i], (const char *const[4]){"-v=2"}, &text), 255);
        const char *flag = strstr(text, "FLAG: --kubeconfig=\"/nonexistent\"");
        const char *title = strstr(text, "Vertical Pod Autoscaler ");
        ck_assert_msg(flag && title && flag < title, "%s", programs[i]);
    }
}
END_TEST

/* ---- a daemon of our own ---- */

static struct daemon_config {
    struct vpa_common_flags common;
    struct vpa_ledger_flags ledger;
} config;
static const struct vpa_flag rows[] = {
    VPA_COMMON_FLAGS(struct daemon_config, common, "127.0.0.1:0"),
    VPA_LEDGER_FLAGS(struct daemon_config, ledger),
};
static int worked;

static int check(void *settings, struct vpa_arena *storage, int *exit_status, struct vpa_error *err)
{
    ck_assert_ptr_eq(settings, &config);
    (void)storage;
    return vpa_daemon_check(&config.common, NULL, exit_status, err);
}

static struct vpa_metric first = VPA_COUNTER("vpa_test_first_total", "The first.");
static struct vpa_metric second = VPA_COUNTER("vpa_test_second_total", "The second.");
static struct vpa_metric *const metrics[] = {&first, &second};

static bool shadow;

/* Those of the daemon and those that all have. A shadow leads nobody, and says what it is. */
static void check_metrics(struct vpa_process *process)
{
    const char *const lines[] = {
        "\nvpa_test_first_total 0\n",
        "\nvpa_test_second_total 0\n",
        shadow ? "\nvpa_build_info{component=\"vpa-test\",shadow=\"true\",version="
               : "\nvpa_build_info{component=\"vpa-test\",shadow=\"false\",version=",
        "\nprocess_start_time_seconds ",
        "\nvpa_cache_in_step_timestamp_seconds{resource=\"jobs\"} 0\n",
        "\nvpa_cache_in_step_timestamp_seconds{resource=\"things\"} 0\n",
        "\nvpa_unusable_objects_total{resource=\"things\"} 0\n",
        "\nvpa_unknown_objects{resource=\"things\"} 0\n",
        shadow ? "\nvpa_leader 0\n" : "\nvpa_leader 1\n"};
    const struct vpa_server_request request = {.method = "GET", .path = "/metrics", .query = ""};
    struct vpa_server_response response = {0};

    vpa_observe_answer(process->observe, &request, &response);
    for (size_t i = 0; i < VPA_COUNT(lines); i++)
        ck_assert_msg(strstr(response.body, lines[i]) != NULL, "%s in %s", lines[i], response.body);
    free(response.body);
}

/* The status line that the plain listener has for that path. */
static void check_page(const struct vpa_process *process, const char *path, const char *status)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)vpa_observe_port(process->observe)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    vpa_auto_free char *request = vpa_xprintf("GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char answer[64] = "";

    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
    ck_assert_int_gt(read(fd, answer, sizeof(answer) - 1), 0);
    ck_assert_msg(strstr(answer, status) != NULL, "%s: %s", path, answer);
    close(fd);
}

static uint64_t hash_before; /* of a text, with the seed that was there before */

static int work(const void *settings, struct vpa_process *process)
{
    ck_assert_ptr_eq(settings, &config);
    worked++;
    ck_assert_uint_ne(vpa_hash_bytes("x", 1), hash_before); /* nobody knows the seed */
    check_metrics(process);
    check_page(process, VPA_DECISIONS_PATH, " 200 ");
    vpa_observe_serve(process->observe, VPA_DECISIONS_PATH, NULL, NULL); /* as for one that waits */
    check_page(process, VPA_DECISIONS_PATH, " 503 ");
    check_page(process, "/mine", " 503 "); /* that this work should serve, and has not yet */
    check_page(process, "/other", " 404 ");
    ck_assert(!vpa_loop_is_stopping(process->loop));
    ck_assert(process->observe && process->ledger && process->leases);
    ck_assert(process->clients[0] && process->clients[1] && !process->clients[2]);
    ck_assert_ptr_ne(process->clients[0], process->clients[1]);
    ck_assert(!process->elector && !process->standby && vpa_process_leads(process));
    ck_assert_str_ne(process->host_name, "");
    return 7;
}

/* With an address and without an election the work begins at once, whether or not anybody answers
 * there, and says how the process ends. */
START_TEST(works_with_what_was_made)
{
    static const char kubeconfig[] =
        "{current-context: c, contexts: [{name: c, context: {cluster: k}}],\n"
        " clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]}\n";
    static const char *const caches[] = {"things", NULL};
    const struct vpa_daemon daemon = {
        .program = "vpa-test",
        .title = "Test",
        .page = {"/mine", &config.ledger.serve},
        .flags = {.rows = rows, .count = VPA_COUNT(rows), .values = &config},
        .common = &config.common,
        .ledger = &config.ledger,
        .metrics = metrics,
        .metric_count = VPA_COUNT(metrics),
        .caches = caches,
        .client_count = 2,
        .shadow = &shadow,
        .check = check,
        .run = work,
    };
    char path[] = "/tmp/plumb-kubeconfig-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_eq(write(fd, kubeconfig, strlen(kubeconfig)), (ssize_t)strlen(kubeconfig));
    close(fd);
    vpa_auto_free char *argument = vpa_xprintf("--kubeconfig=%s", path);
    char *const argv[] = {(char *)(uintptr_t) "vpa-test", argument, NULL};
    shadow = _i == 1;
    hash_before = vpa_hash_bytes("x", 1);
    ck_assert_int_eq(vpa_daemon_main(&daemon, 2, argv), 7);
    ck_assert_int_eq(worked, 1);
    unlink(path);
}
END_TEST

static int refuse(void *settings, struct vpa_arena *storage, int *exit_status,
                  struct vpa_error *err)
{
    ck_assert_ptr_eq(settings, &config);
    (void)storage;
    *exit_status = 5;
    return vpa_fail(err, VPA_INVALID, "refused");
}

/* Nothing is begun, and each step has its exit status. */
static const struct {
    const char *argument;
    bool refused; /* by the check */
    int exit_status;
} bad_starts[] = {
    {"--help", false, 0},
    {"--no-such", false, 2},
    {"--logging-format=xml", false, 2},
    {"--v=0", true, 5},
    {"--ledger-file-size=-1", false, 1},
    {"--address=nowhere", false, 1},
    {"--kubeconfig=/nonexistent", false, 255},
};

START_TEST(a_bad_start_begins_nothing)
{
    static const char *const caches[] = {NULL};
    const struct vpa_daemon daemon = {
        .program = "vpa-test",
        .title = "Test",
        .flags = {.rows = rows, .count = VPA_COUNT(rows), .values = &config},
        .common = &config.common,
        .ledger = &config.ledger,
        .caches = caches,
        .client_count = 2,
        .check = bad_starts[_i].refused ? refuse : check,
        .run = work,
    };
    char *const argv[] = {(char *)(uintptr_t) "vpa-test",
                          (char *)(uintptr_t)bad_starts[_i].argument, NULL};

    worked = 0;
    ck_assert_int_eq(vpa_daemon_main(&daemon, 2, argv), bad_starts[_i].exit_status);
    ck_assert_int_eq(worked, 0);
}
END_TEST

START_TEST(names_itself_as_go_programs_do)
{
    static const struct {
        const char *machine, *architecture;
    } machines[] = {
        {"x86_64", "amd64"}, {"aarch64", "arm64"},   {"armv7l", "arm"},      {"i686", "386"},
        {"s390x", "s390x"},  {"ppc64le", "ppc64le"}, {"riscv64", "riscv64"},
    };

    for (size_t i = 0; i < VPA_COUNT(machines); i++)
        ck_assert_str_eq(vpa_daemon_architecture(machines[i].machine), machines[i].architecture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("daemon");
    TCase *c = tcase_create("daemon");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, ends_with_one_line, 0, VPA_COUNT(starts));
    tcase_add_test(c, a_missing_clock_is_told);
    tcase_add_test(c, a_bad_ca_is_told_alike);
    tcase_add_test(c, tells_its_flags);
    tcase_add_loop_test(c, works_with_what_was_made, 0, 2);
    tcase_add_loop_test(c, a_bad_start_begins_nothing, 0, VPA_COUNT(bad_starts));
    tcase_add_test(c, names_itself_as_go_programs_do);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
