/*
 * The plain listener of a daemon: metrics, health, readiness.
 *
 * A probe comes on the server's thread and is put to the loop with a posted call. There is one
 * thread, so there is one question at a time; when nobody answers it in time it is given up, and
 * the call, which may still come, answers whatever is asked by then.
 */
#include "vpa/daemon/observe.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/net/monotonic.h"
#include "vpa/net/negotiation.h"

/* Longest exposition; a metric has at most VPA_METRIC_SERIES_MAX series. */
#define EXPOSITION_MAX ((size_t)256 << 20)
#define NAMES_MAX 256
#define PROC_TEXT_MAX 4096
#define WHY_MAX 1024
#define HEALTH_PATH "/health-check"
#define READY_PATH "/readyz"

struct check {
    vpa_observe_fn fn; /* NULL: nothing to ask */
    void *ctx;
};

struct page {
    const char *path; /* NULL: none */
    bool expected;
    vpa_server_fn fn;
    void *ctx;
};

struct vpa_observe {
    struct vpa_loop *loop;
    struct vpa_http_server *server;
    struct vpa_metrics metrics;
    vpa_duration health_timeout;
    int64_t last_activity; /* monotonic */
    bool armed, unreachable;
    struct check alive, ready;

    vpa_duration probe_wait;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    const char *path; /* of the question */
    unsigned asked, answered;
    bool posted, stopping;
    struct vpa_server_response answer;

    pthread_mutex_t page_lock; /* of the further pages, held while one answers */
    struct page pages[VPA_OBSERVE_PAGES_MAX];
};

/* ---- process ---- */

static bool read_text(const char *path, char text[PROC_TEXT_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, PROC_TEXT_MAX - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return false;
    text[n] = '\0';
    return true;
}

/* Unix time of the boot, from the line "btime N" of /proc/stat. */
static double boot_seconds(void)
{
    FILE *file = fopen("/proc/stat", "re");
    char line[PROC_TEXT_MAX];
    double seconds = 0;

    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "btime ", 6) == 0)
            seconds = strtod(line + 6, NULL);
    }
    if (file)
        fclose(file);
    return seconds;
}

/* Fields of /proc/self/stat behind the program name: state is number 3 (proc(5)). */
static void read_stat(struct vpa_process_stats *stats)
{
    static const int utime = 14, stime = 15, starttime = 22, vsize = 23, rss = 24;
    char text[PROC_TEXT_MAX];
    double value[25] = {0};
    double ticks = (double)sysconf(_SC_CLK_TCK);
    char *rest;

    if (!read_text("/proc/self/stat", text))
        return;
    rest = strrchr(text, ')');
    if (!rest || strlen(rest) < 4)
        return;
    rest += 3; /* ") S" */
    for (int i = 4; i <= rss; i++)
        value[i] = strtod(rest, &rest);
    stats->cpu_seconds = (value[utime] + value[stime]) / ticks;
    stats->start_seconds = boot_seconds() + value[starttime] / ticks;
    stats->virtual_bytes = value[vsize];
    stats->resident_bytes = value[rss] * (double)sysconf(_SC_PAGESIZE);
}

static double limit_of(__rlimit_resource_t resource)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return 0;
    /* Upstream shows an unlimited value as the largest unsigned number. */
    return limit.rlim_cur == RLIM_INFINITY ? 18446744073709551615.0 : (double)limit.rlim_cur;
}

static double count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    double count = 0;

    if (!dir)
        return 0;
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count > 0 ? count - 1 : 0; /* without the one that reads */
}

void vpa_process_stats_read(struct vpa_process_stats *stats)
{
    *stats = (struct vpa_process_stats){.network_receive_bytes = -1, .network_transmit_bytes = -1};
    read_stat(stats);
    stats->open_fds = count_fds();
    stats->max_fds = limit_of(RLIMIT_NOFILE);
    stats->virtual_max_bytes = limit_of(RLIMIT_AS);
}

/* ---- answers ---- */

/* The name[] parameters. */
static size_t wanted_names(struct vpa_arena *arena, const char *query, const char *names[NAMES_MAX])
{
    const char *rest = query;
    struct vpa_slice piece;
    size_t count = 0;

    while (count < NAMES_MAX && vpa_str_split(&rest, '&', &piece)) {
        vpa_auto_free char *text = vpa_url_decode(piece.ptr, piece.len, true);

        if (vpa_str_starts_with(text, "name[]="))
            names[count++] = vpa_arena_strdup(arena, text + strlen("name[]="));
    }
    return count;
}

/* OpenMetrics for those who take nothing else. Prometheus itself names both and weighs OpenMetrics
 * more; it gets the text that upstream answers, so that series keep their labels (le="1", not
 * "1.0") when a cluster switches. */
static enum vpa_exposition format_for(const struct vpa_server_request *request)
{
    const char *accept = vpa_server_header(request, "Accept");

    return vpa_negotiation_weight(accept, "application/openmetrics-text") > 0 &&
                   vpa_negotiation_weight(accept, "text/plain") <= 0
               ? VPA_EXPOSITION_OPENMETRICS
               : VPA_EXPOSITION_TEXT;
}

static void compress(const struct vpa_server_request *request, struct vpa_server_response *response)
{
    char *packed;
    size_t len;

    if (!vpa_gzip_is_accepted(vpa_server_header(request, "Accept-Encoding")) ||
        !vpa_gzip(response->body, response->body_len, &packed, &len))
        return;
    free(response->body);
    response->body = packed;
    response->body_len = len;
    response->gzip = true;
}

static void answer_metrics(struct vpa_observe *o, const struct vpa_server_request *request,
                           struct vpa_server_response *response)
{
    vpa_auto_arena arena = {0};
    const char *names[NAMES_MAX];
    size_t count = wanted_names(&arena, request->query, names);
    enum vpa_exposition format = format_for(request);
    struct vpa_buf text;

    atomic_fetch_add(&o->metrics.requests_in_flight, 1);
    vpa_buf_init(&text, EXPOSITION_MAX);
    vpa_metrics_write(&o->metrics, format, count > 0 ? names : NULL, count, &text);
    if (vpa_buf_failed(&text)) {
        vpa_server_reply_text(response, 500, "exposition is too long\n");
        atomic_fetch_add(&o->metrics.requests_failed, 1);
    } else {
        response->status = 200;
        response->content_type =
            format == VPA_EXPOSITION_TEXT ? VPA_METRICS_CONTENT_TYPE : VPA_OPENMETRICS_CONTENT_TYPE;
        response->body_len = text.len;
        response->body = vpa_buf_take(&text);
        compress(request, response);
        atomic_fetch_add(&o->metrics.requests_ok, 1);
    }
    vpa_buf_release(&text);
    atomic_fetch_sub(&o->metrics.requests_in_flight, 1);
}

static bool holds(const struct check *check, struct vpa_buf *why)
{
    return !check->fn || check->fn(check->ctx, why);
}

static bool is_active(const struct vpa_observe *o, struct vpa_buf *why)
{
    vpa_duration idle = vpa_loop_monotonic(o->loop) - o->last_activity;
    char text[VPA_DURATION_TEXT_MAX];

    if (!o->armed || o->unreachable || idle <= o->health_timeout)
        return true;
    vpa_duration_format(idle, text);
    vpa_buf_printf(why, "last activity more than %s ago", text);
    return false;
}

static bool is_alive(const struct vpa_observe *o, struct vpa_buf *why)
{
    return is_active(o, why) && holds(&o->alive, why);
}

static bool is_ready(const struct vpa_observe *o, struct vpa_buf *why)
{
    return is_alive(o, why) && holds(&o->ready, why);
}

static void answer_check(const struct vpa_observe *o,
                         bool (*check)(const struct vpa_observe *, struct vpa_buf *why), int status,
                         const char *prefix, struct vpa_server_response *response)
{
    vpa_auto_buf why = VPA_BUF(WHY_MAX);

    if (check(o, &why)) {
        vpa_server_reply_text(response, 200, "OK");
        return;
    }
    vpa_auto_free char *body = vpa_xprintf("%s: %s\n", prefix, vpa_buf_text(&why));

    vpa_server_reply_text(response, status, body);
    response->nosniff = true;
}

void vpa_observe_answer(struct vpa_observe *o, const struct vpa_server_request *request,
                        struct vpa_server_response *response)
{
    if (vpa_str_eq(request->path, "/metrics")) {
        answer_metrics(o, request, response);
    } else if (vpa_str_eq(request->path, HEALTH_PATH)) {
        answer_check(o, is_alive, 500, "Error", response);
    } else if (vpa_str_eq(request->path, READY_PATH)) {
        answer_check(o, is_ready, 503, "Not ready", response);
    } else {
        vpa_server_reply_text(response, 404, "404 page not found\n");
        response->nosniff = true;
    }
}

/* ---- the server's thread and the loop ---- */

/* On the loop. */
static void on_asked(void *ctx)
{
    struct vpa_observe *o = ctx;
    struct vpa_server_response answer = {0};

    pthread_mutex_lock(&o->lock);
    const struct vpa_server_request request = {.method = "GET", .path = o->path, .query = ""};
    o->posted = false;
    vpa_observe_answer(o, &request, &answer);
    free(o->answer.body); /* of a question that was given up */
    o->answer = answer;
    o->answered = o->asked;
    pthread_cond_signal(&o->changed);
    pthread_mutex_unlock(&o->lock);
}

static bool ask_loop(struct vpa_observe *o, const char *path, struct vpa_server_response *response)
{
    const struct timespec until = vpa_monotonic_in(o->probe_wait);
    int rc = 0;

    pthread_mutex_lock(&o->lock);
    o->path = path;
    o->asked++;
    if (!o->posted)
        vpa_loop_post(o->loop, on_asked, o);
    o->posted = true;
    while (o->answered != o->asked && !o->stopping && rc == 0)
        rc = pthread_cond_timedwait(&o->changed, &o->lock, &until);
    bool answered = o->answered == o->asked;
    if (answered) {
        *response = o->answer;
        o->answer.body = NULL;
    }
    o->path = ""; /* path is the request's */
    pthread_mutex_unlock(&o->lock);
    return answered;
}

static void answer_expected(void *ctx, const struct vpa_server_request *request,
                            struct vpa_server_response *response)
{
    (void)ctx, (void)request;
    vpa_server_reply_text(response, 503,
                          "not now: this daemon starts, waits to lead, or ends; try again\n");
    response->nosniff = true;
}

/* The page of that path, else one that is free; NULL when there is neither. */
static struct page *find_page(struct vpa_observe *o, const char *path)
{
    struct page *free_one = NULL;

    for (size_t i = 0; i < VPA_COUNT(o->pages); i++) {
        if (o->pages[i].path && vpa_str_eq(o->pages[i].path, path))
            return &o->pages[i];
        if (!o->pages[i].path)
            free_one = &o->pages[i];
    }
    return free_one;
}

static bool answer_page(struct vpa_observe *o, const struct vpa_server_request *request,
                        struct vpa_server_response *response)
{
    pthread_mutex_lock(&o->page_lock);
    const struct page *page = find_page(o, request->path);
    bool there = page && page->path;
    if (there)
        page->fn(page->ctx, request, response);
    pthread_mutex_unlock(&o->page_lock);
    return there;
}

static void on_request(void *ctx, const struct vpa_server_request *request,
                       struct vpa_server_response *response)
{
    struct vpa_observe *o = ctx;

    if (answer_page(o, request, response))
        return;
    if (!vpa_str_eq(request->path, HEALTH_PATH) && !vpa_str_eq(request->path, READY_PATH)) {
        vpa_observe_answer(o, request, response);
    } else if (!ask_loop(o, request->path, response)) {
        vpa_server_reply_text(response, 500, "Error: the daemon's loop does not turn\n");
        response->nosniff = true;
    }
}

struct vpa_observe *vpa_observe_new(struct vpa_loop *loop,
                                    const struct vpa_observe_options *options,
                                    struct vpa_error *err)
{
    struct vpa_observe *o = vpa_xcalloc(1, sizeof(*o));
    struct vpa_http_server_options server = {
        .address = options->address,
        .handler = on_request,
        .ctx = o,
        .threads = 1,
    };

    o->loop = loop;
    o->metrics.table = options->metrics;
    o->metrics.count = options->metric_count;
    o->metrics.process = vpa_process_stats_read;
    o->health_timeout = options->health_timeout;
    o->last_activity = vpa_loop_monotonic(loop);
    o->probe_wait = options->probe_wait > 0 ? options->probe_wait : VPA_PROBE_WAIT;
    o->path = "";
    pthread_mutex_init(&o->lock, NULL);
    pthread_mutex_init(&o->page_lock, NULL);
    vpa_monotonic_cond_init(&o->changed);
    for (size_t i = 0; i < VPA_COUNT(o->pages); i++) {
        const char *path = options->expected[i];

        if (path)
            o->pages[i] = (struct page){path, true, answer_expected, NULL};
    }
    o->server = vpa_http_server_new(loop, &server, err);
    if (!o->server) {
        vpa_observe_free(o);
        return NULL;
    }
    return o;
}

void vpa_observe_free(struct vpa_observe *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->stopping = true; /* nobody waits for us any more */
    pthread_cond_signal(&o->changed);
    pthread_mutex_unlock(&o->lock);
    vpa_http_server_free(o->server);
    vpa_loop_unpost(o->loop, on_asked, o);
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
    pthread_mutex_destroy(&o->page_lock);
    free(o->answer.body);
    free(o);
}

int vpa_observe_port(const struct vpa_observe *o)
{
    return vpa_http_server_port(o->server);
}

void vpa_observe_on_alive(struct vpa_observe *o, vpa_observe_fn fn, void *ctx)
{
    o->alive = (struct check){fn, ctx};
}

void vpa_observe_serve(struct vpa_observe *o, const char *path, vpa_server_fn fn, void *ctx)
{
    pthread_mutex_lock(&o->page_lock);
    struct page *page = find_page(o, path);
    assert(page);
    if (fn)
        *page = (struct page){path, page->expected, fn, ctx};
    else
        *page = page->expected ? (struct page){page->path, true, answer_expected, NULL}
                               : (struct page){0};
    pthread_mutex_unlock(&o->page_lock);
}

void vpa_observe_on_ready(struct vpa_observe *o, vpa_observe_fn fn, void *ctx)
{
    o->ready = (struct check){fn, ctx};
}

bool vpa_observe_is_fresh(const char *which, vpa_duration age, struct vpa_buf *why)
{
    char text[VPA_DURATION_TEXT_MAX];

    if (age <= VPA_READY_CACHE_AGE_MAX)
        return true;
    vpa_duration_format(age, text);
    if (age == INT64_MAX)
        vpa_buf_printf(why, "the cache of %s is not filled yet", which);
    else
        vpa_buf_printf(why, "the cache of %s was in step %s ago", which, text);
    return false;
}

void vpa_observe_arm(struct vpa_observe *o)
{
    o->armed = true;
    o->last_activity = vpa_loop_monotonic(o->loop);
}

void vpa_observe_activity(struct vpa_observe *o)
{
    o->last_activity = vpa_loop_monotonic(o->loop);
}

void vpa_observe_unreachable(struct vpa_observe *o, bool unreachable)
{
    if (o->unreachable)
        vpa_observe_activity(o); /* until now there was nothing that could be done */
    o->unreachable = unreachable;
}
