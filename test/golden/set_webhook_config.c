/*
 * The registration of the webhook and the life of its CA bundle: the daemon runs on a manual clock
 * against an API server in memory; only its listener is left out. The CA file is a real one,
 * rewritten by a timer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "admission_case.h"
#include "memory_cluster.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define NOW 1780000000
#define COLLECTION "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
#define FIRST_WRITE (2 * VPA_SECOND + 500 * VPA_MILLISECOND)
#define WRITE_PERIOD (2 * VPA_SECOND)
#define RUN_TIME (15 * VPA_SECOND) /* past the delay of the registration */

struct life {
    struct golden_case *c;
    const char *dir;
    struct memory_cluster cluster;
    size_t seen; /* requests to the collection */
    const struct vpa_json *next_content;
    struct vpa_timer *timer;
    bool stopped;
};

/* How the case that ran last ended: still serving when it was stopped, and with status 0. */
static bool served_to_the_end;

static char dir[] = "/tmp/golden-webhook-XXXXXX";
static bool have_dir;

static const char *path_in(struct golden_case *c, const char *name)
{
    return golden_label(c, "%s/%s", dir, name);
}

static void begin(void)
{
    have_dir = mkdtemp(dir) != NULL;
}

static void end(void)
{
    static const char *const names[] = {"caCert.pem", "serverCert.pem", "serverKey.pem"};
    char path[128];

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

/* Written in place, not truncated first. */
static void write_file(const char *path, const char *text)
{
    const struct timespec tick = {0, 10 * 1000 * 1000}; /* so that the time of modification moves */
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    nanosleep(&tick, NULL);
    if (strcmp(text, "<truncate>") == 0) {
        if (ftruncate(fd, 0) < 0)
            perror(path);
    } else if (write(fd, text, strlen(text)) < 0) {
        perror(path);
    }
    close(fd);
}

/* ---- the API server ---- */

static void compare_request(struct life *life, const struct vpa_memory_request *request)
{
    struct golden_case *c = life->c;
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "requests"));
    size_t i = life->seen++;

    for (size_t skip = 0; want && skip < i; skip++)
        want = vpa_json_next(want);
    golden_text(c, golden_label(c, "requests[%zu].method", i), vpa_json_find(want, "method"),
                request->method);
    golden_text(c, golden_label(c, "requests[%zu].path", i), vpa_json_find(want, "path"),
                request->path);
    golden_json(c, golden_label(c, "requests[%zu].body", i), vpa_json_find(want, "body"),
                request->body_len ? request->body : NULL);
    bool patch = strcmp(request->method, "PATCH") == 0;
    if (patch || vpa_json_find(want, "bodyText"))
        golden_text(c, golden_label(c, "requests[%zu].bodyText", i),
                    vpa_json_find(want, "bodyText"), request->body);
    if (patch || vpa_json_find(want, "contentType"))
        golden_text(c, golden_label(c, "requests[%zu].contentType", i),
                    vpa_json_find(want, "contentType"), vpa_memory_header(request, "Content-Type"));
}

static int scripted_code(struct golden_case *c, const char *method)
{
    static const char *const names[][2] = {
        {"GET", "getCode"}, {"DELETE", "deleteCode"}, {"POST", "postCode"}, {"PATCH", "patchCode"}};
    int64_t code = 0;

    for (size_t i = 0; i < VPA_COUNT(names); i++)
        if (strcmp(names[i][0], method) == 0)
            (void)vpa_json_int64(GOLDEN_IN(c, names[i][1]), &code);
    if (!code && strcmp(method, "GET") == 0 && vpa_json_is_null(GOLDEN_IN(c, "existing")))
        code = 404;
    return (int)code;
}

static int serve(void *ctx, const struct vpa_memory_request *request,
                 struct vpa_memory_reply *reply)
{
    struct life *life = ctx;
    struct vpa_json_writer w;
    vpa_auto_buf body = VPA_BUF(1 << 20);

    if (!vpa_str_starts_with(request->path, COLLECTION))
        return 0;
    compare_request(life, request);
    int code = scripted_code(life->c, request->method);
    if (code) {
        vpa_memory_reply_status(reply, code, NULL,
                                golden_label(life->c, "scripted answer %d", code));
        return code;
    }
    vpa_json_writer_init(&w, &body);
    if (strcmp(request->method, "POST") == 0)
        vpa_buf_append(&body, request->body, request->body_len);
    else
        vpa_json_put_node(&w, GOLDEN_IN(life->c, "existing"));
    code = strcmp(request->method, "POST") == 0 ? 201 : 200;
    vpa_memory_reply_json(reply, code, vpa_buf_text(&body));
    return code;
}

/* ---- time ---- */

static void on_timer(void *ctx)
{
    struct life *life = ctx;

    if (!life->next_content) {
        life->stopped = true;
        vpa_loop_stop(life->cluster.loop);
        return;
    }
    write_file(path_in(life->c, "caCert.pem"), vpa_json_string(life->next_content));
    life->next_content = vpa_json_next(life->next_content);
    vpa_timer_start(life->timer, WRITE_PERIOD);
}

/* ---- the log ---- */

static const char *const interesting[] = {
    "Self registration as MutatingWebhook succeeded.",
    "New client CA found, reloading and patching webhook",
    "Successfully patched webhook with new client CA",
    "Client CA file is empty, skipping reload",
    "Client CA did not change, skipping patch",
    "Failed to reload client CA",
    "Unable to parse webhook labels",
    "Error reading certificate file",
    "--vpa-object-namespace and",
};

/* The folder's name as the vectors write it. */
static const char *with_dir_replaced(struct golden_case *c, const char *line)
{
    vpa_auto_buf out = VPA_BUF(1 << 16);
    const char *at;

    while ((at = strstr(line, dir))) {
        vpa_buf_append(&out, line, (size_t)(at - line));
        vpa_buf_puts(&out, "<dir>");
        line = at + strlen(dir);
    }
    vpa_buf_puts(&out, line);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&out));
}

/* Our messages are always quoted, and the kernel's texts start with a capital letter. */
static bool same_line(const char *want, const char *got)
{
    size_t len = strlen(got);

    if (strcasecmp(want, got) == 0)
        return true;
    return len > 2 && strlen(want) == len - 2 && strncmp(want, got + 1, len - 2) == 0;
}

static void compare_log(struct golden_case *c, char *text)
{
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "log"));
    size_t i = 0;

    if (!want)
        golden_compared(c, GOLDEN_OUT(c, "log")); /* no line may come */

    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        bool matters = false;
        for (size_t k = 0; k < VPA_COUNT(interesting); k++)
            matters = matters || vpa_str_starts_with(line + 1, interesting[k]);
        if (!matters)
            continue;
        const char *got = with_dir_replaced(c, line);
        const char *expected = vpa_json_string(want);
        golden_compared(c, want);
        if (!expected || !same_line(expected, got))
            golden_text(c, golden_label(c, "log[%zu]", i), want, got);
        i++;
        want = want ? vpa_json_next(want) : NULL;
    }
    for (; want; want = vpa_json_next(want))
        golden_text(c, golden_label(c, "log[%zu]", i++), want, NULL);
}

static void capture_log(int fd)
{
    struct vpa_error err;
    const struct vpa_log_options options = {.level = 4, .skip_headers = true, .fd = fd};

    if (vpa_log_configure(&options, &err) < 0)
        fprintf(stderr, "%s\n", err.text);
}

/* ---- a case ---- */

static bool parse_args(struct golden_case *c, struct admission_config *config, int *status)
{
    const char *const files[] = {
        golden_label(c, "--client-ca-file=%s", path_in(c, "caCert.pem")),
        golden_label(c, "--tls-cert-file=%s", path_in(c, "serverCert.pem")),
        golden_label(c, "--tls-private-key=%s", path_in(c, "serverKey.pem")),
        NULL,
    };
    struct vpa_error err;

    if (admission_case_config(c, files, NULL, config, &err) < 0) {
        *status = 2;
        return false;
    }
    if (admission_config_check(config, status, &err) == 0)
        return true;
    VPA_ERROR(err.text);
    return false;
}

static int live(struct life *life, const struct admission_config *config)
{
    const char *ns = vpa_json_string(vpa_json_at(life->c->in, "env.NAMESPACE"));

    memory_cluster_start(&life->cluster, vpa_time_from_unix(NOW, 0));
    life->timer = vpa_timer_new(life->cluster.loop, on_timer, life);
    life->next_content = vpa_json_first(GOLDEN_IN(life->c, "caFileAfter"));
    vpa_timer_start(life->timer, life->next_content ? FIRST_WRITE : RUN_TIME);
    struct admission *admission = admission_new(&(struct admission_options){
        .config = config,
        .loop = life->cluster.loop,
        .client = life->cluster.client,
        .ns = ns ? ns : "",
        .host_name = "golden",
        .unbound = true,
    });
    int status = admission_run(admission);
    admission_free(admission);
    vpa_timer_free(life->timer);
    memory_cluster_stop(&life->cluster);
    return status;
}

static void run(struct golden_case *c)
{
    struct life life = {.c = c, .cluster = {.serve = serve}};
    const char *ca = vpa_json_string(GOLDEN_IN(c, "caFile"));
    struct admission_config config;
    char *log = NULL;
    int status = 0;

    life.cluster.ctx = &life;
    if (!have_dir) {
        golden_skip(c, "no temporary folder can be made");
        return;
    }
    unlink(path_in(c, "caCert.pem"));
    if (ca)
        write_file(path_in(c, "caCert.pem"), ca);
    write_file(path_in(c, "serverCert.pem"), "not read");
    write_file(path_in(c, "serverKey.pem"), "not read");

    int fd = memfd_create("log", MFD_CLOEXEC);
    capture_log(fd);
    if (parse_args(c, &config, &status))
        status = live(&life, &config);
    capture_log(STDERR_FILENO);

    served_to_the_end = life.stopped && status == 0;
    if (GOLDEN_OUT(c, "exit"))
        golden_int(c, "exit", GOLDEN_OUT(c, "exit"), status);
    else
        golden_bool(c, "running", GOLDEN_OUT(c, "running"), served_to_the_end);
    golden_count(c, "requests", GOLDEN_OUT(c, "requests"), life.seen);

    off_t len = lseek(fd, 0, SEEK_END);
    log = vpa_arena_alloc(c->arena, (size_t)len + 1);
    log[pread(fd, log, (size_t)len, 0)] = '\0';
    close(fd);
    compare_log(c, log);
}

/* 19.20: an object that is there already is as good as one that was created: the same requests, and
 * the daemon serves on. */
static void invariant(struct golden_case *c)
{
    if (!served_to_the_end)
        golden_difference(c, "running", "true", "false");
    golden_int(c, "exit of the reference", GOLDEN_OUT(c, "exit"), 255);
}

static const struct golden_licence licences[] = {
    {"19.20", {"exit"}},
    {NULL, {NULL}},
};

const struct golden_set golden_set_webhook_config = {.name = "webhook_config",
                                                     .run = run,
                                                     .invariant = invariant,
                                                     .licences = licences,
                                                     .begin = begin,
                                                     .end = end};
