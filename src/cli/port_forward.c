#include "port_forward.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vpa/base/str.h"
#include "vpa/net/monotonic.h"

#define OUTPUT_MAX ((size_t)16 << 10)
#define READY "Forwarding from 127.0.0.1:"
#define WORDS_MAX 12
#define END_STEPS 100 /* of 10 ms each, until it is killed */
#define END_STEP_NS 10000000

struct cli_forward {
    pid_t pid;
    int out; /* its standard output and error; -1: closed */
    int port;
};

int cli_forward_port(const struct cli_forward *forward)
{
    return forward->port;
}

int cli_forward_port_of(const char *line)
{
    char *end;
    long port;

    if (!vpa_str_starts_with(line, READY))
        return 0;
    port = strtol(line + strlen(READY), &end, 10);
    return end != line + strlen(READY) && vpa_str_starts_with(end, " -> ") && port > 0 &&
                   port < 65536
               ? (int)port
               : 0;
}

/* Heap, NULL when it is nowhere on PATH. */
static char *find_kubectl(void)
{
    const char *rest = getenv("PATH");
    struct vpa_slice folder;

    while (vpa_str_split(&rest, ':', &folder)) {
        char *path = vpa_xprintf("%.*s/kubectl", (int)folder.len, folder.ptr);

        if (folder.len && path[0] == '/' && access(path, X_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

/* ---- the child ---- */

/* Between fork and exec: only what a signal handler may call. */
static void become(const char *program, char *const *words, int out, pid_t parent)
{
    int null = open("/dev/null", O_RDONLY);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 &&
        dup2(out, 2) == 2)
        execv(program, words);
    _exit(127);
}

static int start(struct cli_forward *forward, const char *program, char *const *words,
                 struct vpa_error *err)
{
    pid_t parent = getpid();
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return vpa_fail(err, VPA_RETRY, "pipe: %s", strerror(errno));
    forward->pid = fork();
    if (forward->pid == 0)
        become(program, words, pipes[1], parent);
    close(pipes[1]);
    if (forward->pid < 0) {
        close(pipes[0]);
        return vpa_fail(err, VPA_RETRY, "%s cannot be started: %s", program, strerror(errno));
    }
    forward->out = pipes[0];
    return 0;
}

static void add_option(char **words, size_t *count, const char *name, const char *value)
{
    if (value && *value)
        words[(*count)++] = vpa_xprintf("--%s=%s", name, value);
}

/* It reads the files that this command read. The context is named, because the current one may have
 * been changed since; where the cluster is that of the pod, no file is to name another one. */
static void add_cluster(const struct cli *cli, char **words, size_t *count)
{
    const char *context =
        cli->config ? vpa_kube_config_context(cli->config) : cli_option(cli, "context");
    bool in_pod = cli->config && !*context;

    add_option(words, count, "kubeconfig", in_pod ? "/dev/null" : cli_option(cli, "kubeconfig"));
    add_option(words, count, "context", context);
}

/* Heap texts behind each other, NULL at the end. */
static void make_words(const struct cli *cli, const char *ns, const char *target, int port,
                       char **words)
{
    size_t count = 0;

    words[count++] = vpa_xstrdup("kubectl");
    words[count++] = vpa_xstrdup("port-forward");
    add_cluster(cli, words, &count);
    words[count++] = vpa_xprintf("--namespace=%s", ns);
    words[count++] = vpa_xstrdup("--address=127.0.0.1");
    words[count++] = vpa_xstrdup("--");
    words[count++] = vpa_xstrdup(target);
    words[count++] = vpa_xprintf(":%d", port);
    words[count] = NULL;
}

/* ---- until it is ready ---- */

/* The port as soon as a whole line of the output names it. */
static int ready_port(const char *text)
{
    const char *rest = text, *end;
    int port = 0;

    for (; port == 0 && (end = strchr(rest, '\n')) != NULL; rest = end + 1)
        port = cli_forward_port_of(rest);
    return port;
}

/* The last line that says something: earlier ones are warnings. */
static int gave_up(const char *text, struct vpa_error *err)
{
    const char *rest = text;
    struct vpa_slice line, last = {"it said nothing", 15};

    while (vpa_str_split(&rest, '\n', &line))
        if (line.len)
            last = line;
    return vpa_fail(err, VPA_RETRY, "kubectl port-forward ended: %.*s",
                    (int)(last.len < 300 ? last.len : 300), last.ptr);
}

static int wait_ready(struct cli_forward *forward, struct vpa_error *err)
{
    int64_t deadline = vpa_monotonic_read() + CLI_FORWARD_SECONDS * VPA_SECOND;
    vpa_auto_buf text = VPA_BUF(OUTPUT_MAX);

    while ((forward->port = ready_port(vpa_buf_text(&text))) == 0) {
        struct pollfd p = {.fd = forward->out, .events = POLLIN};
        int64_t left = deadline - vpa_monotonic_read();
        char chunk[1024];
        ssize_t n;

        if (left <= 0 || vpa_buf_failed(&text))
            return vpa_fail(err, VPA_RETRY, "kubectl port-forward was not ready within %d s",
                            CLI_FORWARD_SECONDS);
        if (poll(&p, 1, (int)(left / VPA_MILLISECOND) + 1) <= 0)
            continue;
        n = read(forward->out, chunk, sizeof(chunk));
        if (n == 0)
            return gave_up(vpa_buf_text(&text), err);
        if (n > 0)
            vpa_buf_append(&text, chunk, (size_t)n);
    }
    return 0;
}

/* ---- life ---- */

struct cli_forward *cli_forward_open(const struct cli *cli, const char *ns, const char *target,
                                     int port, struct vpa_error *err)
{
    struct cli_forward *forward;
    vpa_auto_free char *program = find_kubectl();
    char *words[WORDS_MAX];
    int status;

    if (!program) {
        vpa_error_set(err, VPA_NOT_FOUND, "kubectl is not on PATH");
        return NULL;
    }
    forward = vpa_xcalloc(1, sizeof(*forward));
    forward->out = -1;
    make_words(cli, ns, target, port, words);
    status = start(forward, program, words, err);
    for (size_t i = 0; words[i]; i++)
        free(words[i]);
    if (status == 0 && wait_ready(forward, err) == 0)
        return forward;
    cli_forward_close(forward);
    return NULL;
}

void cli_forward_close(struct cli_forward *forward)
{
    const struct timespec step = {0, END_STEP_NS};
    int status;

    if (!forward)
        return;
    if (forward->out >= 0)
        close(forward->out);
    if (forward->pid > 0) {
        kill(forward->pid, SIGTERM);
        for (int i = 0; i < END_STEPS && waitpid(forward->pid, &status, WNOHANG) == 0; i++)
            nanosleep(&step, NULL);
        /* Once it was waited for there is no such child, and both calls say so. */
        if (waitpid(forward->pid, &status, WNOHANG) == 0) {
            kill(forward->pid, SIGKILL);
            waitpid(forward->pid, &status, 0);
        }
    }
    free(forward);
}
