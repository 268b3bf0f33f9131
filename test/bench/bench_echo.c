/*
 * What the machine takes before any daemon does: two processes, one TCP connection over loopback,
 * as many bytes each way as a review and its answer, nothing computed and nothing encrypted.
 *
 *     bench_echo [ROUNDS]
 *     taskset -c 0 bench_echo        # both on one processor
 *
 * On a virtual machine with idle processors most of a round trip is the waking of the other
 * processor, and the kernel charges it to the process that sends. The figures of the daemons on an
 * idle machine contain that; this program says how much it is.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define QUESTION 3000
#define ANSWER 1400
#define ROUNDS 20000

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int fail(const char *what)
{
    perror(what);
    return -1;
}

/* A socket connected to another on the same machine; -1 when that cannot be had. */
static int connected_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int at_once = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *)&address, len) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&address, &len) != 0)
        return fail("bench_echo: listen");
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (ends[0] < 0 || connect(ends[0], (struct sockaddr *)&address, len) != 0)
        return fail("bench_echo: connect");
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
    if (ends[1] < 0)
        return fail("bench_echo: accept");
    for (int i = 0; i < 2; i++)
        if (setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)) != 0)
            return fail("bench_echo: TCP_NODELAY");
    return 0;
}

static int put(int fd, size_t wanted)
{
    static const char zeros[QUESTION];

    return send(fd, zeros, wanted, MSG_NOSIGNAL) == (ssize_t)wanted ? 0 : -1;
}

static int take(int fd, size_t wanted)
{
    char buffer[QUESTION];

    while (wanted > 0) {
        ssize_t n = recv(fd, buffer, wanted, 0);
        if (n <= 0)
            return -1;
        wanted -= (size_t)n;
    }
    return 0;
}

static int answer(int fd, int rounds)
{
    for (int i = 0; i < rounds; i++)
        if (take(fd, QUESTION) != 0 || put(fd, ANSWER) != 0)
            return fail("bench_echo: answer");
    printf("answering: %.1f us CPU each\n",
           seconds(CLOCK_PROCESS_CPUTIME_ID) / (double)rounds * 1e6);
    return 0;
}

static int ask(int fd, int rounds)
{
    double start = seconds(CLOCK_MONOTONIC);

    for (int i = 0; i < rounds; i++)
        if (put(fd, QUESTION) != 0 || take(fd, ANSWER) != 0)
            return fail("bench_echo: ask");
    printf("round trip: %.1f us\n", (seconds(CLOCK_MONOTONIC) - start) / (double)rounds * 1e6);
    return 0;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    int ends[2], status;

    if (rounds < 1) {
        fprintf(stderr, "usage: bench_echo [ROUNDS]\n");
        return 2;
    }
    if (connected_pair(ends) != 0)
        return 1;
    pid_t child = fork();
    if (child < 0) {
        perror("bench_echo: fork");
        return 1;
    }
    close(ends[child == 0 ? 0 : 1]);
    if (child == 0) {
        status = answer(ends[1], rounds);
        fflush(stdout);
        _exit(status != 0);
    }
    int rc = ask(ends[0], rounds);
    close(ends[0]);
    waitpid(child, &status, 0);
    return rc != 0 || status != 0;
}
