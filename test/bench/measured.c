#include "measured.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vpa/api/review.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define ARGUMENTS_MAX 32
#define TOKEN_LENGTH 1000

int64_t measured_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool measured_kubeconfig_write(struct measured_kubeconfig *file, const struct stub *stub)
{
    vpa_auto_buf ca = VPA_BUF(65536);
    char token[TOKEN_LENGTH + 1];

    *file = (struct measured_kubeconfig){"/tmp/plumb-bench-XXXXXX"};

    int fd = mkstemp(file->path);

    if (fd < 0)
        return false;
    vpa_base64_encode(&ca, stub->ca, strlen(stub->ca));
    memset(token, 'e', TOKEN_LENGTH);
    token[TOKEN_LENGTH] = '\0';
    dprintf(fd,
            "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: "
            "https://127.0.0.1:%d\n    certificate-authority-data: %s\n"
            "contexts:\n- name: c\n  context:\n    cluster: c\n    user: u\nusers:\n- name: u\n  "
            "user:\n    token: %s\n"
            "current-context: c\n",
            stub->port, vpa_buf_text(&ca), token);
    close(fd);
    return true;
}

pid_t measured_start(const char *program, const struct measured_kubeconfig *file,
                     const char *const *arguments)
{
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    if (len < 0)
        return -1;
    self[len] = '\0';

    vpa_auto_free char *folder = vpa_xstrndup(self, (size_t)(strrchr(self, '/') - self));
    vpa_auto_free char *path = vpa_xjoin(folder, '/', program);
    vpa_auto_free char *config = vpa_xprintf("--kubeconfig=%s", file->path);
    const char *argv[ARGUMENTS_MAX] = {path, config};
    size_t count = 2;

    while (*arguments && count < ARGUMENTS_MAX - 2)
        argv[count++] = *arguments++;
    if (getenv("BENCH_LOG"))
        argv[count] = getenv("BENCH_LOG");

    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);

        if (!getenv("BENCH_LOG"))
            dup2(null, STDERR_FILENO);
        execv(path, (char *const *)(void *)argv);
        _exit(127);
    }
    return pid;
}

int measured_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(fd, (struct sockaddr *)&address, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        exit(1);
    close(fd);
    return ntohs(address.sin_port);
}

void measured_wait_for_port(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};

    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        int rc = connect(fd, (struct sockaddr *)&address, sizeof address);

        close(fd);
        if (rc == 0)
            return;
        usleep(1000);
    }
}

struct measured_usage measured_usage_of(pid_t pid)
{
    struct measured_usage u = {0};
    struct timespec t;
    clockid_t clock;
    char path[64];
    char line[4096];

    if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0)
        u.cpu_s = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        double kib;

        if (sscanf(line, "VmRSS: %lf", &kib) == 1)
            u.resident_mib = kib / 1024;
        if (sscanf(line, "VmHWM: %lf", &kib) == 1)
            u.peak_mib = kib / 1024;
    }
    if (f)
        fclose(f);
    return u;
}

int measured_stop(pid_t pid, double *seconds)
{
    int64_t begin = measured_now_ns();
    int status = 0;

    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    *seconds = (double)(measured_now_ns() - begin) / 1e9;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
