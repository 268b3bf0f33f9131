/*
 * The life of the webhook without a listener, second by second: when it registers itself, renews
 * its Lease, reads its files again, and what it asks of the API server meanwhile.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admission_fixture.h"
#include "temp_folder.h"
#include "file_watch.h"

#define NAME "vpa-webhook-config"

static struct fixture f;
static struct vpa_buf happened; /* "seconds METHOD name" each */
static int64_t began;           /* monotonic */
static const char *refused;     /* the method that is refused for the registration */
static bool away;               /* the API server, of whoever registers */
static FILE *log_file;

static void note(const char *what, const char *name)
{
    vpa_buf_printf(&happened, "%s%.1f %s %s", happened.len ? "|" : "",
                   (double)(vpa_loop_monotonic(f.loop) - began) / (double)VPA_SECOND, what, name);
}

static int listen_in(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    bool registration = strstr(q->path, "/mutatingwebhookconfigurations") != NULL;

    (void)ctx;
    if (registration)
        note(q->method, "registration");
    if (strstr(q->path, "/leases"))
        note(q->method, "lease");
    if (registration && away) {
        vpa_memory_reply_fail(reply, VPA_TRANSPORT_REFUSED);
        return 503;
    }
    if (!registration || !vpa_str_eq(q->method, refused))
        return 0;
    vpa_memory_reply_status(reply, 403, "Forbidden", "no");
    return 403;
}

static void setup(void)
{
    struct vpa_error err;

    f = (struct fixture){0};
    temp_folder_make();
    vpa_buf_init(&happened, 1 << 16);
    fixture_start(&f, false);
    sim_cluster_unscript(f.sim);
    sim_cluster_hook(f.sim, listen_in, NULL);
    refused = NULL;
    away = false;
    log_file = tmpfile();
    ck_assert_ptr_nonnull(log_file);
    ck_assert_int_eq(
        vpa_log_configure(&(struct vpa_log_options){.level = 2, .fd = fileno(log_file)}, &err), 0);
    f.config.tls_cert_file = temp_put("cert.pem", "cert");
    f.config.tls_private_key = temp_put("key.pem", "key");
    f.config.client_ca_file = temp_put("ca.pem", "-CA-");
    f.config.status_lease_update_interval = 10 * VPA_SECOND;
}

static void teardown(void)
{
    temp_folder_remove();
    fixture_stop(&f);
    vpa_buf_release(&happened);
    fclose(log_file);
}

static size_t lines_with(const char *text)
{
    static char content[1 << 16];
    size_t count = 0;

    rewind(log_file);
    content[fread(content, 1, sizeof(content) - 1, log_file)] = '\0';
    for (const char *at = content; (at = strstr(at, text)); at++)
        count++;
    return count;
}

/* What happens meanwhile, half a second past each second; after the last one the loop stops. */
struct script {
    struct vpa_timer *timer;
    void (*step)(int second);
    int second, last;
    size_t failures; /* lines of failed reloads so far */
};

static void on_half(void *ctx)
{
    struct script *s = ctx;
    size_t failures = lines_with("Failed to reload certificate");

    if (failures > s->failures)
        note("failed", "pair");
    s->failures = failures;
    if (s->step)
        s->step(s->second);
    if (s->second++ == s->last)
        vpa_loop_stop(f.loop);
    vpa_timer_start(s->timer, VPA_SECOND);
}

/* The status of a process that lives so long. */
static int live(int seconds, void (*step)(int second))
{
    struct script s = {.step = step, .last = seconds};

    fixture_daemon(&f, true);
    s.timer = vpa_timer_new(f.loop, on_half, &s);
    vpa_timer_start(s.timer, VPA_SECOND / 2);
    began = vpa_loop_monotonic(f.loop);
    int status = admission_run(f.admission);
    vpa_loop_resume(f.loop);
    vpa_timer_free(s.timer);
    return status;
}

/* ---- registration and Lease ---- */

/* The Lease is written an interval after the registration. */
#define FIRST "20.0 GET lease|20.0 POST lease"
#define RENEWED "20.0 GET lease|20.0 PUT lease"
static const struct {
    bool registers;
    const char *there; /* the CA of the registration; NULL: there is none */
    const char *refused;
    int status;
    const char *happened;
} lives[] = {
    {false, NULL, NULL, 0, "10.0 GET lease|10.0 POST lease|" RENEWED},
    {true, NULL, NULL, 0, "10.0 GET registration|10.0 POST registration|" FIRST},
    {true, "-CA-", NULL, 0, "10.0 GET registration|" FIRST},
    {true, "other", NULL, 0, "10.0 GET registration|10.0 PATCH registration|" FIRST},
    {true, NULL, "POST", 255, "10.0 GET registration|10.0 POST registration"},
};

TEST_EACH(registers_then_renews, lives) {
    f.config.register_webhook = lives[_i].registers;
    if (lives[_i].there)
        fixture_register(&f, lives[_i].there);
    refused = lives[_i].refused;
    ck_assert_int_eq(live(25, NULL), lives[_i].status);
    ck_assert_str_eq(vpa_buf_text(&happened), lives[_i].happened);
    ck_assert_uint_eq(lines_with("Cannot register the webhook"), lives[_i].status ? 1 : 0);
}

static void come_back(int second)
{
    away = second < 25;
}

/* Nobody calls a webhook through an API server that is away, and a restart would only take it from
 * those that another one sends. */
TEST(a_server_that_is_away_is_asked_again) {
    f.config.register_webhook = true;
    away = true;
    ck_assert_int_eq(live(41, come_back), 0);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&happened), "POST registration|"));
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&happened), "POST lease"));
    ck_assert_uint_eq(lines_with("The API server does not answer"), 1);
    ck_assert_uint_eq(lines_with("Cannot register the webhook"), 0);
}

/* While the caches fill, before it registers, and while it does. */
static const struct {
    const char *slow;
    int second;
    const char *happened;
} stops[] = {
    {"/verticalpodautoscalers", 9, ""},
    {"/statefulsets", 9, ""},
    {NULL, 9, ""},
    {"/" NAME, 10, "10.0 GET registration"},
};

TEST_EACH(a_stop_before_it_has_registered_is_no_failure, stops) {
    if (stops[_i].slow)
        sim_cluster_answer(f.sim, &(struct sim_answer){
                                      .method = "GET", .path = stops[_i].slow, .delay = VPA_HOUR});
    f.config.register_webhook = true;
    ck_assert_int_eq(live(stops[_i].second, NULL), 0);
    ck_assert_str_eq(vpa_buf_text(&happened), stops[_i].happened);
    ck_assert_uint_eq(lines_with("Cannot register the webhook"), 0);
    ck_assert_uint_eq(lines_with("Serving the webhook"), 0);
}

/* ---- files ---- */

static void lose_the_key(int second)
{
    if (second == 2)
        unlink(temp_path("key.pem"));
    if (second == 14)
        temp_put("key.pem", "another key");
    if (second == 20)
        temp_put("cert.pem", "another certificate");
}

/* What could not be read is tried again every five seconds, and at once when it changes; what was
 * read is not read again. */
TEST_TIMES(a_pair_that_is_gone_is_tried_again, 2) {
    f.config.reload_cert = _i == 0;
    ck_assert_int_eq(live(25, lose_the_key), 0);
    ck_assert_uint_eq(lines_with("Failed to reload certificate"), _i == 0 ? 3 : 0);
    ck_assert_uint_eq(lines_with("New certificate found, reloading"), _i == 0 ? 5 : 0);
    ck_assert_str_eq(vpa_buf_text(&happened),
                     _i == 0 ? "3.5 failed pair|8.5 failed pair|10.0 GET lease|10.0 POST "
                               "lease|13.5 failed pair|" RENEWED
                             : "10.0 GET lease|10.0 POST lease|" RENEWED);
}

static void change_the_ca(int second)
{
    if (second == 2)
        temp_put("ca.pem", "another CA");
    if (second == 5)
        refused = NULL;
}

/* A new CA is put into the registration as soon as that can be read. */
static const struct {
    bool registers, reloads, readable;
    const char *happened;
} cas[] = {
    {true, true, true, "3.0 GET registration|3.0 PATCH registration"},
    {true, true, false, "3.0 GET registration|8.0 GET registration|8.0 PATCH registration"},
    {true, false, true, ""},
    {false, true, true, ""},
};

TEST_EACH(a_new_ca_is_put_into_the_registration, cas) {
    f.config.register_webhook = cas[_i].registers;
    f.config.reload_cert = cas[_i].reloads;
    fixture_register(&f, "-CA-");
    refused = cas[_i].readable ? NULL : "GET";
    ck_assert_int_eq(live(9, change_the_ca), 0);
    ck_assert_str_eq(vpa_buf_text(&happened), cas[_i].happened);
}

/* A file of the same length, written in place: only its time tells, to the nanosecond. */
static const struct {
    struct timespec time;
    bool changed;
} touches[] = {
    {{1000, 500}, false},
    {{1000, 501}, true},
    {{1001, 500}, true},
    {{1001, 501}, true},
};

TEST_EACH(a_file_is_another_when, touches) {
    const struct timespec before[] = {touches[0].time, touches[0].time};
    const struct timespec after[] = {touches[_i].time, touches[_i].time};
    struct file_watch watch;
    struct vpa_error err;

    ck_assert_int_eq(utimensat(AT_FDCWD, temp_path("cert.pem"), before, 0), 0);
    ck_assert_int_eq(file_watch_init(&watch, temp_path("cert.pem"), &err), 0);
    ck_assert_int_eq(utimensat(AT_FDCWD, temp_path("cert.pem"), after, 0), 0);
    ck_assert_int_eq(file_watch_changed(&watch), touches[_i].changed);
    ck_assert(!file_watch_changed(&watch));
}

static const struct {
    const char *missing;
    bool registers;
    int status;
} absent[] = {
    {"cert.pem", false, 255},
    {"key.pem", false, 255},
    {"ca.pem", true, 255},
    {"ca.pem", false, 0},
};

TEST_EACH(what_is_to_be_watched_has_to_be_there, absent) {
    f.config.register_webhook = absent[_i].registers;
    f.config.reload_cert = true;
    unlink(temp_path(absent[_i].missing));
    ck_assert_int_eq(live(1, NULL), absent[_i].status);
    ck_assert_uint_eq(lines_with("Failed to start HTTPS server"), absent[_i].status ? 1 : 0);
}

int main(void)
{
    return run_tests("admission_serve", setup, teardown);
}
