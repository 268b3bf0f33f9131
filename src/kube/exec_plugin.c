/*
 * Credential plugins: a program prints an ExecCredential on its standard output. It runs with a
 * closed standard input, no descriptor of ours but standard error, default signals, and a time
 * limit; while it runs the loop stands still, which happens at the start and when a credential has
 * expired. The command of a person at a terminal leaves it that terminal, and the time that a login
 * takes, as client-go does; Ctrl-C reaches the plugin too.
 */
#include "config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vpa/base/buf.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/monotonic.h"
#include "vpa/net/tls.h"

#define INFO_MAX ((size_t)1 << 20)
#define REAP_PAUSE_NS 5000000

void exec_credential_release(struct exec_credential *c)
{
    vpa_free_secret(c->token);
    free(c->cert_pem);
    vpa_free_secret(c->key_pem);
    *c = (struct exec_credential){0};
}

static bool has_person(const struct vpa_kube_config *config)
{
    return config->terminal == TERMINAL_USED && isatty(STDIN_FILENO);
}

static bool is_interactive(const struct vpa_kube_config *config)
{
    return config->exec->interactive != EXEC_NEVER && has_person(config);
}

/* KUBERNETES_EXEC_INFO */
static char *exec_info(const struct vpa_kube_config *config)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(INFO_MAX);

    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "ExecCredential");
    vpa_json_member_string(&w, "apiVersion", config->exec->api_version);
    vpa_json_member_object(&w, "spec");
    if (config->exec->provide_cluster_info) {
        vpa_json_member_object(&w, "cluster");
        vpa_json_member_string(&w, "server", config->http.base_url);
        vpa_json_member_string_opt(&w, "tls-server-name", config->http.server_name);
        if (config->http.insecure)
            vpa_json_member_bool(&w, "insecure-skip-tls-verify", true);
        vpa_json_member_string_opt(&w, "certificate-authority-data", config->ca_base64);
        vpa_json_member_string_opt(&w, "proxy-url", config->http.proxy);
        vpa_json_close_object(&w);
    }
    vpa_json_member_bool(&w, "interactive", is_interactive(config));
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    return vpa_xprintf("KUBERNETES_EXEC_INFO=%s", vpa_buf_text(&buf));
}

/* Our environment, the plugin's own variables over it, and the input object. */
static char **plugin_environment(const struct vpa_kube_config *config, struct vpa_arena *arena)
{
    const struct exec_plugin *plugin = config->exec;
    size_t count = 0, n = 0;

    while (environ[count])
        count++;
    char **out = vpa_arena_zalloc(arena, (count + plugin->env_count + 2) * sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        size_t name_len = strcspn(environ[i], "=");
        bool replaced = strncmp(environ[i], "KUBERNETES_EXEC_INFO=", 21) == 0;
        for (size_t k = 0; k < plugin->env_count && !replaced; k++)
            replaced = strlen(plugin->env[k].name) == name_len &&
                       strncmp(plugin->env[k].name, environ[i], name_len) == 0;
        if (!replaced)
            out[n++] = environ[i];
    }
    for (size_t k = 0; k < plugin->env_count; k++)
        out[n++] = vpa_arena_printf(arena, "%s=%s", plugin->env[k].name, plugin->env[k].value);
    vpa_auto_free char *info = exec_info(config);
    out[n++] = vpa_arena_strdup(arena, info);
    return out;
}

static int spawn(const struct vpa_kube_config *config, int out_fd, pid_t *pid)
{
    const struct exec_plugin *plugin = config->exec;
    vpa_auto_arena arena = {0};
    char **argv = vpa_arena_zalloc(&arena, (plugin->arg_count + 2) * sizeof(*argv));
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;

    argv[0] = vpa_arena_strdup(&arena, plugin->command);
    for (size_t i = 0; i < plugin->arg_count; i++)
        argv[i + 1] = vpa_arena_strdup(&arena, plugin->args[i]);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    if (!is_interactive(config))
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_init(&attributes);
    /* Who has left the terminal to another gives it no /dev/tty either. */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                 (config->terminal == TERMINAL_LEFT ? POSIX_SPAWN_SETSID : 0));
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int rc = posix_spawnp(pid, plugin->command, &actions, &attributes, argv,
                          plugin_environment(config, &arena));
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* Everything until the end of the output; -1 with err when too much or too late. The deadline
 * INT64_MAX never comes. */
static int read_output(int fd, int64_t deadline, struct vpa_buf *out, struct vpa_error *err)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = deadline - vpa_monotonic_read();
        int64_t pause = left < EXEC_TIMEOUT ? left : EXEC_TIMEOUT;
        char chunk[4096];

        if (left <= 0)
            return vpa_fail(err, VPA_RETRY, "no end of its output within %d s",
                            (int)(EXEC_TIMEOUT / VPA_SECOND));
        if (poll(&p, 1, (int)(pause / VPA_MILLISECOND) + 1) <= 0)
            continue;
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return vpa_fail(err, VPA_RETRY, "read: %s", strerror(errno));
        if (n > 0)
            vpa_buf_append(out, chunk, (size_t)n);
        explicit_bzero(chunk, sizeof(chunk));
        if (vpa_buf_failed(out))
            return vpa_fail(err, VPA_LIMIT, "output longer than %zu bytes", EXEC_OUTPUT_MAX);
    }
}

static int reap(pid_t pid, int64_t deadline, struct vpa_error *err)
{
    const struct timespec pause = {0, REAP_PAUSE_NS};
    int status;
    pid_t ended;

    while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
        if (vpa_monotonic_read() >= deadline) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return vpa_fail(err, VPA_RETRY, "still running after its output ended");
        }
        nanosleep(&pause, NULL);
    }
    if (ended < 0) /* SIGCHLD is ignored: nobody knows how it ended, and its output counts */
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return WIFEXITED(status)
               ? vpa_fail(err, VPA_RETRY, "failed with exit code %d", WEXITSTATUS(status))
               : vpa_fail(err, VPA_RETRY, "ended by signal %d", WTERMSIG(status));
}

static int run(const struct vpa_kube_config *config, struct vpa_buf *out, struct vpa_error *err)
{
    static const char *const nobody[] = {
        [TERMINAL_NONE] = "a daemon runs no plugin of interactiveMode Always",
        [TERMINAL_USED] = "standard input is not a terminal",
        [TERMINAL_LEFT] = "this command lets a plugin ask only at its start: start it again",
    };
    const char *hint = config->exec->install_hint;
    int64_t deadline = has_person(config) ? INT64_MAX : vpa_monotonic_read() + EXEC_TIMEOUT;
    int pipes[2];
    pid_t pid;

    if (config->exec->interactive == EXEC_ALWAYS && !is_interactive(config))
        return vpa_fail(err, VPA_INVALID, "exec plugin cannot support interactive mode: %s",
                        nobody[config->terminal]);
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return vpa_fail(err, VPA_RETRY, "pipe: %s", strerror(errno));
    int rc = spawn(config, pipes[1], &pid);
    close(pipes[1]);
    if (rc != 0) {
        close(pipes[0]);
        return vpa_fail(err, VPA_INVALID, "%s%s%s", strerror(rc), hint ? ". " : "",
                        vpa_or_empty(hint));
    }
    rc = read_output(pipes[0], deadline, out, err);
    close(pipes[0]);
    if (rc < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return -1;
    }
    return reap(pid, deadline, err);
}

static char *copy_text(const struct vpa_json *status, const char *name)
{
    const char *value = vpa_json_string(vpa_json_find(status, name));

    return value && *value ? vpa_xstrdup(value) : NULL;
}

int exec_credential_parse(const char *text, size_t len, const char *api_version,
                          struct exec_credential *out, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct exec_credential c = {0};

    if (vpa_json_parse(&arena, text, len, &root, err) < 0)
        return -1;
    if (!vpa_str_eq(vpa_json_string(vpa_json_find(root, "kind")), "ExecCredential") ||
        !vpa_str_eq(vpa_json_string(vpa_json_find(root, "apiVersion")), api_version))
        return vpa_fail(err, VPA_INVALID, "the plugin did not answer with an ExecCredential of %s",
                        api_version);
    const struct vpa_json *status = vpa_json_find(root, "status");
    const char *expiry = vpa_json_string(vpa_json_find(status, "expirationTimestamp"));
    if (expiry && vpa_time_parse(expiry, &c.expiry, err) < 0)
        return vpa_wrap(err, "expirationTimestamp");
    c.expires = expiry != NULL;
    c.token = copy_text(status, "token");
    c.cert_pem = copy_text(status, "clientCertificateData");
    c.key_pem = copy_text(status, "clientKeyData");
    if (c.cert_pem && c.key_pem && vpa_tls_check_pair(c.cert_pem, c.key_pem, NULL, err) < 0) {
        exec_credential_release(&c);
        return vpa_wrap(err, "the plugin's certificate");
    }
    const char *problem = NULL;
    if (!c.token && !c.cert_pem && !c.key_pem)
        problem = "the plugin did not return a token or cert/key pair";
    else if (!c.cert_pem != !c.key_pem)
        problem = "the plugin returned only one of certificate and key";
    else if (c.token && strpbrk(c.token, "\r\n"))
        problem = "the plugin returned a token with a line end";
    if (problem) {
        exec_credential_release(&c);
        return vpa_fail(err, VPA_INVALID, "%s", problem);
    }
    *out = c;
    return 0;
}

int exec_plugin_run(const struct vpa_kube_config *config, struct exec_credential *out,
                    struct vpa_error *err)
{
    vpa_auto_buf text = VPA_BUF(EXEC_OUTPUT_MAX);
    int rc;

    rc = run(config, &text, err);
    if (rc == 0)
        rc = exec_credential_parse(vpa_buf_text(&text), text.len, config->exec->api_version, out,
                                   err);
    if (text.data)
        explicit_bzero(text.data, text.len);
    return rc < 0 ? vpa_wrap(err, "exec: %s", config->exec->command) : 0;
}
