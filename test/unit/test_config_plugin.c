/* Credentials that a program gives (exec plugins). */
#include "config_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "vpa/base/buf.h"
#include "vpa/base/file.h"
#include "vpa/daemon/clock.h"
#include "vpa/net/tls.h"

#define EXEC_USER                                                                                  \
    USER("    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: ./plugin\n" \
         "      interactiveMode: IfAvailable\n      provideClusterInfo: true\n      args: [a, 'b " \
         "c']\n"                                                                                   \
         "      env: [{name: GREETING, value: hi}]\n      installHint: install it\n")
#define ANSWER(status)                                                                             \
    "echo "                                                                                        \
    "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"                 \
    "v1\",\"status\":" status "}'\n"

static struct vpa_kube_config *with_plugin(const char *script)
{
    const char *path = temp_path("plugin");
    vpa_auto_free char *text = vpa_xprintf("#!/bin/sh\n%s", script);

    temp_put("plugin", text);
    chmod(path, 0755);
    return load(CONTEXT CLUSTER("") EXEC_USER);
}

TEST(exec_plugin) {
    struct vpa_kube_config *config =
        with_plugin("echo \"$1|$2|$GREETING|$KUBERNETES_EXEC_INFO\" >> $(dirname $0)/log\n" ANSWER(
            "{\"token\":\"plugged\"}"));
    const char *log = temp_path("log");
    vpa_auto_free char *text = NULL;
    size_t len;

    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer plugged");
    ck_assert_str_eq(header(config, VPA_HOUR, "Authorization"),
                     "Bearer plugged"); /* cached for ever */
    ck_assert_int_eq(vpa_read_file(log, 10000, &text, &len, &err), 0);
    ck_assert_str_eq(text, "a|b c|hi|{\"kind\":\"ExecCredential\",\"apiVersion\":"
                           "\"client.authentication.k8s.io/v1\",\"spec\":{\"cluster\":{\"server\":"
                           "\"https://host:6443\"},\"interactive\":false}}\n");
    vpa_kube_config_unauthorized(config); /* asked anew after a 401, but not for every request */
    ck_assert_str_eq(header(config, 9 * VPA_SECOND, "Authorization"), "Bearer plugged");
    free(VPA_STEAL(text));
    ck_assert_int_eq(vpa_read_file(log, 10000, &text, &len, &err), 0);
    ck_assert_int_eq(strchr(text, '\n') == strrchr(text, '\n'), 1);
    ck_assert_str_eq(header(config, 20 * VPA_SECOND, "Authorization"), "Bearer plugged");
    free(VPA_STEAL(text));
    ck_assert_int_eq(vpa_read_file(log, 10000, &text, &len, &err), 0);
    ck_assert_int_eq(strchr(text, '\n') == strrchr(text, '\n'), 0);
    vpa_kube_config_free(config);
}

/* The clock goes ahead by that with each look at it. */
static int haste_s;

int clock_gettime(clockid_t id, struct timespec *out)
{
    static int ahead_s;
    int rc = (int)syscall(SYS_clock_gettime, id, out);

    ahead_s += haste_s;
    out->tv_sec += ahead_s;
    return rc;
}

/* Its token says whether it is told that somebody is there, and what it reads. */
static struct vpa_kube_config *with_asking_plugin(const char *mode)
{
    vpa_auto_free char *text =
        vpa_xprintf(CONTEXT CLUSTER("") USER("    exec:\n      apiVersion: %s\n      command: "
                                             "./plugin\n      interactiveMode: %s\n"),
                    "client.authentication.k8s.io/v1", mode);

    temp_put("plugin",
             "#!/bin/sh\nread -r line\ntold=$(echo $KUBERNETES_EXEC_INFO | grep -o "
             "'interactive\":[a-z]*')\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
             "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"'${told#*:}' '$line'\"}}'\n");
    chmod(temp_path("plugin"), 0755);
    return load(text);
}

/* Standard input is a terminal where somebody has typed "me", or a pipe with the same; the end that
 * is to be closed. */
static int type_something(bool terminal)
{
    int ends[2];

    if (terminal) {
        ends[1] = posix_openpt(O_RDWR | O_NOCTTY);
        ck_assert_int_eq(grantpt(ends[1]) | unlockpt(ends[1]), 0);
        ends[0] = open(ptsname(ends[1]), O_RDWR | O_NOCTTY);
    } else {
        ck_assert_int_eq(pipe(ends), 0);
    }
    ck_assert_int_eq(dup2(ends[0], 0), 0);
    close(ends[0]);
    ck_assert_int_eq(write(ends[1], "me\n", 3), 3);
    return ends[1];
}

#define NO_MODE "exec plugin cannot support interactive mode: "

enum { DAEMON, COMMAND, LEAVES };

static const struct {
    const char *mode;
    int who;
    bool terminal;
    const char *token, *error; /* NULL: none */
} places[] = {
    {"Never", COMMAND, true, "Bearer false ", NULL},
    {"IfAvailable", COMMAND, true, "Bearer true me", NULL},
    {"Always", COMMAND, true, "Bearer true me", NULL},
    {"Never", COMMAND, false, "Bearer false ", NULL},
    {"IfAvailable", COMMAND, false, "Bearer false ", NULL},
    {"Always", COMMAND, false, NULL, NO_MODE "standard input is not a terminal"},
    {"Never", DAEMON, true, "Bearer false ", NULL},
    {"IfAvailable", DAEMON, true, "Bearer false ", NULL},
    {"Always", DAEMON, true, NULL, NO_MODE "a daemon runs no plugin of interactiveMode Always"},
    {"Always", DAEMON, false, NULL, NO_MODE "a daemon runs no plugin of interactiveMode Always"},
    {"Never", LEAVES, true, "Bearer false ", NULL},
    {"IfAvailable", LEAVES, true, "Bearer false ", NULL},
    {"Always", LEAVES, true, NULL, NO_MODE "this command lets a plugin ask only at its start"},
};

static void sit_down(struct vpa_kube_config *config, int who)
{
    if (who != DAEMON)
        vpa_kube_config_use_terminal(config);
    if (who == LEAVES)
        vpa_kube_config_leave_terminal(config);
}

TEST_EACH(plugins_ask_a_person_at_a_terminal, places) {
    struct vpa_kube_config *config = with_asking_plugin(places[_i].mode);
    int typing = type_something(places[_i].terminal);
    const struct vpa_header *headers;
    size_t count;

    sit_down(config, places[_i].who);
    if (places[_i].token) {
        ck_assert_str_eq(header(config, 0, "Authorization"), places[_i].token);
    } else {
        ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), -1);
        ck_assert_msg(strstr(err.text, places[_i].error) != NULL, "%s", err.text);
    }
    close(typing);
    vpa_kube_config_free(config);
}

/* A login takes its time, in a browser as well, where the plugin reads nothing here. */
TEST_EACH(persons_have_time, places) {
    struct vpa_kube_config *config = with_asking_plugin(places[_i].mode);
    bool hurried = places[_i].who != COMMAND || !places[_i].terminal;
    int typing = type_something(places[_i].terminal);
    const struct vpa_header *headers;
    size_t count;

    sit_down(config, places[_i].who);
    haste_s = 61;
    ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), hurried ? -1 : 0);
    haste_s = 0;
    if (places[_i].token && hurried)
        ck_assert_msg(strstr(err.text, "within 60 s") != NULL, "%s", err.text);
    close(typing);
    vpa_kube_config_free(config);
}

/* The plugin's variables stand in place of ours of the same name; all others it has as they are,
 * each once. */
TEST(plugins_have_our_environment_and_their_own) {
    vpa_auto_free char *path = vpa_xprintf("PATH=%s", getenv("PATH"));
    const char *const ours[] = {"FAREWELL=bye", /* as long as the plugin's */
                                "GREETING=ours",
                                "GREETINGS=longer",
                                "GREET=shorter",
                                path,
                                "KUBERNETES_EXEC_INFO=stale",
                                NULL};
    char **before = environ;

    environ = (char **)(uintptr_t)ours;
    struct vpa_kube_config *config =
        with_plugin("for name in GREETING FAREWELL GREETINGS GREET KUBERNETES_EXEC_INFO; do\n"
                    "  tr '\\0' '\\n' < /proc/$$/environ | grep \"^$name=\" | cut -c1-25\n"
                    "done > $(dirname $0)/log\n" ANSWER("{\"token\":\"plugged\"}"));
    const char *log = temp_path("log");
    vpa_auto_free char *text = NULL;
    size_t len;

    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer plugged");
    environ = before;
    ck_assert_int_eq(vpa_read_file(log, 10000, &text, &len, &err), 0);
    ck_assert_str_eq(text, "GREETING=hi\nFAREWELL=bye\nGREETINGS=longer\nGREET=shorter\n"
                           "KUBERNETES_EXEC_INFO={\"ki\n");
    vpa_kube_config_free(config);
}

/* A daemon blocks signals that it reads elsewhere and ignores some; a plugin must be able to end by
 * them. */
TEST(plugins_get_every_signal) {
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    struct vpa_kube_config *config = with_plugin(
        "blocked=$(sed -n 's/^SigBlk:[^0-9a-f]*//p' /proc/self/status)\n"
        "ignored=$(sed -n 's/^SigIgn:.*\\(.......\\)$/\\1/p' /proc/self/status)\n"
        "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
        "\"status\":{\"token\":\"'$blocked-$ignored'\"}}'\n");
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer 0000000000000000-0000000");
    vpa_kube_config_free(config);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* One that asks for something gets its end instead of an answer, wherever our input comes from. */
TEST(plugins_read_nothing) {
    struct vpa_kube_config *config =
        with_plugin("read -r line && echo '{}' && exit\n" ANSWER("{\"token\":\"plugged\"}"));
    int ends[2], before = dup(0);

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "secret\n", 7), 7);
    dup2(ends[0], 0);
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer plugged");
    dup2(before, 0);
    close(before);
    close(ends[0]);
    close(ends[1]);
    vpa_kube_config_free(config);
}

static const struct {
    const char *script, *error;
} failing[] = {
    {"exit 3\n", "getting credentials: exec: %s/./plugin: failed with exit code 3"},
    {"kill -9 $$\n", "getting credentials: exec: %s/./plugin: ended by signal 9"},
    {"echo junk\n", "getting credentials: exec: %s/./plugin: "},
    {"echo '{}'\n",
     "getting credentials: exec: %s/./plugin: the plugin did not answer with an ExecCredential"},
    {ANSWER("{}"),
     "getting credentials: exec: %s/./plugin: the plugin did not return a token or cert/key pair"},
    {ANSWER("{\"clientKeyData\":\"x\"}"),
     "getting credentials: exec: %s/./plugin: the plugin returned only one"},
    {ANSWER("{\"token\":\"x\",\"expirationTimestamp\":\"soon\"}"),
     "getting credentials: exec: %s/./plugin: expirationTimestamp"},
    {ANSWER("{\"token\":\"a\\\\nb\"}"),
     "getting credentials: exec: %s/./plugin: the plugin returned a token with a line end"},
    {ANSWER("{\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\"}"),
     "getting credentials: exec: %s/./plugin: the plugin's certificate: "},
    {"yes | head -c 2000000\n", "getting credentials: exec: %s/./plugin: output longer than"},
};

TEST_EACH(failing_plugins, failing) {
    struct vpa_kube_config *config = with_plugin(failing[_i].script);
    const struct vpa_header *headers;
    size_t count;
    char want[256];

    snprintf(want, sizeof(want), "%.*s%s%s", (int)strcspn(failing[_i].error, "%"),
             failing[_i].error, temp_folder(), strstr(failing[_i].error, "%s") + 2);
    ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), -1);
    ck_assert_msg(vpa_str_starts_with(err.text, want), "%s", err.text);
    vpa_kube_config_free(config);
}

/* The loop stands still while a plugin runs: a slow one is left in peace afterwards. */
TEST(the_pause_begins_behind_a_slow_plugin) {
    static const struct {
        int64_t at;
        const char *runs;
    } steps[] = {{0, "x"}, {10 * VPA_SECOND, "x"}, {VPA_MINUTE, "xx"}};
    struct vpa_kube_config *config =
        with_plugin("printf x >> $(dirname $0)/log\nsleep 1\nexit 1\n");
    const char *log = temp_path("log");
    const struct vpa_header *headers;
    size_t count, len;

    for (size_t i = 0; i < VPA_COUNT(steps); i++) {
        vpa_auto_free char *text = NULL;

        ck_assert_int_eq(vpa_kube_config_headers(config, steps[i].at, &headers, &count, &err), -1);
        ck_assert_int_eq(vpa_read_file(log, 10000, &text, &len, &err), 0);
        ck_assert_str_eq(text, steps[i].runs);
    }
    vpa_kube_config_free(config);
}

/* Whoever started us may have SIGCHLD ignored: then nobody hears how a plugin has ended. */
TEST(plugins_run_where_nobody_waits_for_children) {
    struct vpa_kube_config *config = with_plugin(ANSWER("{\"token\":\"plugged\"}"));

    signal(SIGCHLD, SIG_IGN);
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer plugged");
    vpa_kube_config_free(config);
}

TEST(missing_plugin_gives_its_hint) {
    struct vpa_kube_config *config = load(CONTEXT CLUSTER("") EXEC_USER);
    const struct vpa_header *headers;
    size_t count;

    ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "No such file or directory. install it"));
    vpa_kube_config_free(config);
}

TEST(credentials_are_kept_until_they_expire) {
    struct vpa_kube_config *config = with_plugin(
        ANSWER("{\"token\":\"t'$$'\",\"expirationTimestamp\":\"2999-01-01T00:00:00Z\"}"));
    char first[64];

    snprintf(first, sizeof(first), "%s", header(config, 0, "Authorization"));
    ck_assert_str_eq(first, header(config, VPA_HOUR, "Authorization"));
    vpa_kube_config_free(config);
}

TEST(expired_credentials_are_fetched_again) {
    struct vpa_kube_config *config = with_plugin(
        ANSWER("{\"token\":\"t'$$'\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"}"));
    char first[64];

    snprintf(first, sizeof(first), "%s", header(config, 0, "Authorization"));
    ck_assert_str_eq(first, header(config, 9 * VPA_SECOND, "Authorization"));
    ck_assert_str_ne(first, header(config, 20 * VPA_SECOND, "Authorization"));
    vpa_kube_config_free(config);
}

/* PEM in a text of JSON that the shell's echo prints; heap. */
static char *echoed(const char *pem)
{
    struct vpa_buf out;

    vpa_buf_init(&out, 1 << 16);
    for (; *pem; pem++)
        vpa_buf_printf(&out, *pem == '\n' ? "\\\\n" : "%c", *pem);
    return vpa_buf_take(&out);
}

/* A plugin that answers with a certificate; heap. */
static char *certificate_script(void)
{
    const char *name = "client";
    struct vpa_tls_pair ca = {0}, pair = {0};
    vpa_time now = vpa_time_from_unix(1772366400, 0);

    ck_assert_int_eq(vpa_tls_create_ca("ca", now, VPA_HOUR, &ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, &name, 1, true, now, VPA_HOUR, &pair, &err),
                     0);
    vpa_auto_free char *cert = echoed(pair.cert_pem), *key = echoed(pair.key_pem);
    char *script = vpa_xprintf(
        ANSWER("{\"clientCertificateData\":\"%s\",\"clientKeyData\":\"%s\"}"), cert, key);
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&pair);
    return script;
}

/* A certificate goes to the client that there is, a token to none. */
TEST_TIMES(a_plugin_may_stand_before_a_client_or_not, 2) {
    const char *wanted = _i == 0 ? "" : "Bearer t";
    struct vpa_clock *clock = vpa_clock_new_real();
    struct vpa_loop *loop = vpa_loop_new(clock);
    vpa_auto_free char *script =
        _i == 0 ? certificate_script() : vpa_xstrdup(ANSWER("{\"token\":\"t\"}"));
    struct vpa_kube_config *config = with_plugin(script);

    ck_assert_str_eq(header(config, 0, "Authorization"), wanted);
    struct vpa_transport *transport = vpa_kube_connect(loop, config, &err);
    ck_assert_msg(transport != NULL, "%s", err.text);
    vpa_kube_config_unauthorized(config);
    ck_assert_str_eq(header(config, 10 * VPA_SECOND, "Authorization"), wanted);
    vpa_transport_free(transport);
    vpa_kube_config_free(config);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
}

TEST(other_credentials_win_over_plugins) {
    struct vpa_kube_config *config = load(
        CONTEXT CLUSTER("") USER("    token: t\n    exec: {apiVersion: "
                                 "client.authentication.k8s.io/v1beta1, command: /bin/false}\n"));

    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer t");
    vpa_kube_config_free(config);
}

int main(void)
{
    return run_tests("config_plugin", temp_folder_make, temp_folder_remove);
}
