/* The daemon with its real listener: TLS, certificates, self-test, status lease, start-up errors.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admission_fixture.h"
#include "file_watch.h"
#include "temp_folder.h"
#include "meters.h"
#include "vpa/daemon/ca_bundle.h"
#include "vpa/net/http_client.h"
#include "vpa/net/tls.h"

static struct fixture f;
static struct vpa_tls_pair ca, first, second;

static void write_text(const char *name, const char *text)
{
    /* As a Secret is updated: another file takes the name. */
    ck_assert_int_eq(rename(temp_put("new", text), temp_path(name)), 0);
}

static void make_pair(struct vpa_tls_pair *pair)
{
    static const char *const names[] = {"vpa-webhook.kube-system.svc", "127.0.0.1"};
    struct vpa_error err;

    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 2, false, vpa_clock_now(f.clock),
                                                24 * VPA_HOUR, pair, &err),
                     0);
}

static void setup(void)
{
    struct vpa_error err;

    f = (struct fixture){0};
    temp_folder_make();
    fixture_start(&f, true);
    ck_assert_int_eq(vpa_tls_create_ca("ca", vpa_clock_now(f.clock), 24 * VPA_HOUR, &ca, &err), 0);
    make_pair(&first);
    make_pair(&second);
    write_text("cert.pem", first.cert_pem);
    write_text("key.pem", first.key_pem);
    f.config.tls_cert_file = temp_path("cert.pem");
    f.config.tls_private_key = temp_path("key.pem");
    f.config.reload_cert = true;
    f.config.status_lease_update_interval = VPA_SECOND;
    fixture_daemon(&f, false);
}

static void teardown(void)
{
    temp_folder_remove();
    fixture_stop(&f);
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&first);
    vpa_tls_pair_release(&second);
}

struct exchange {
    bool done;
    int status;
    char *body;
};

static void on_done(void *ctx, const struct vpa_http_result *result)
{
    struct exchange *x = ctx;

    x->done = true;
    x->status = result->status;
    x->body = vpa_xstrdup(result->body);
}

static bool is_done(void *ctx)
{
    return ((struct exchange *)ctx)->done;
}

/* One request on a connection of its own whose certificate must come from our CA. */
static int post(const char *content_type, const char *body, size_t len, const char **answer)
{
    vpa_auto_free char *url =
        vpa_xprintf("https://127.0.0.1:%d", server_port(admission_server(f.admission)));
    const struct vpa_http_client_options options = {
        .base_url = url, .ca_data = ca.cert_pem, .proxy = "", .no_http2 = true};
    const struct vpa_header headers[] = {{"Content-Type", content_type}};
    const struct vpa_http_request request = {.method = "POST",
                                             .target = "/?timeout=30s",
                                             .headers = headers,
                                             .header_count = 1,
                                             .body = body,
                                             .body_len = len};
    struct exchange x = {0};
    const struct vpa_http_handler handler = {.ctx = &x, .on_done = on_done};
    struct vpa_error err;
    struct vpa_transport *t = vpa_http_client_new(f.loop, &options, &err);

    ck_assert_ptr_nonnull(t);
    vpa_transport_start(t, &request, &handler);
    ck_assert_int_eq(vpa_loop_wait(f.loop, is_done, &x, 20 * VPA_SECOND, &err), 0);
    vpa_transport_free(t);
    *answer = vpa_arena_strdup(&f.arena, x.body);
    free(x.body);
    return x.status;
}

static void start(void)
{
    struct vpa_error err;

    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    if (admission_listen(f.admission, &err) < 0)
        ck_abort_msg("%s", err.text);
}

TEST(serves_over_tls) {
    static const char review[] = "{\"request\":{\"uid\":\"u\",\"requestKind\":{\"kind\":\"Pod\"}}}";
    const char *answer;

    start();
    ck_assert_int_eq(post("application/json", review, strlen(review), &answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\"uid\":\"u\",\"allowed\":true"));
    ck_assert_int_eq(post("text/plain", review, strlen(review), &answer), 200);
    ck_assert_str_eq(answer, "");
}

static void on_late_owner(void *ctx)
{
    (void)ctx;
    fixture_put(&f, "apps/v1", "StatefulSet",
                "{'metadata':{'name':'web','namespace':'ns'},'spec':{'selector':{'matchLabels':{"
                "'app':'web'}}}}");
}

/* The pod is there before its owner has come over the watch: the request waits for it a little. */
TEST(late_owners_are_waited_for) {
    struct vpa_timer *timer = vpa_timer_new(f.loop, on_late_owner, NULL);
    const char *review, *answer;
    const struct vpa_json *root;
    struct vpa_error err;

    fixture_put(&f, "autoscaling.k8s.io/v1", "VerticalPodAutoscaler",
                "{'metadata':{'name':'v','namespace':'ns'},'spec':{'targetRef':{'kind':"
                "'StatefulSet','name':'web','apiVersion':'apps/v1'}}}");
    start();
    vpa_loop_pump(f.loop, 50 * VPA_MILLISECOND); /* the watches are open */
    review = fixture_json(
        &f.arena,
        "{'request':{'uid':'u','namespace':'ns','resource':{'group':'','version':'v1','resource':"
        "'pods'},'requestKind':{'kind':'Pod'},'object':{'metadata':{'generateName':'w-',"
        "'namespace':'ns','labels':{'app':'web'},'ownerReferences':[{'kind':'StatefulSet','name':"
        "'web','apiVersion':'apps/"
        "v1','controller':true}]},'spec':{'containers':[{'name':'c'}]}}}}");
    vpa_timer_start(timer, 15 * VPA_MILLISECOND);
    ck_assert_int_eq(post("application/json", review, strlen(review), &answer), 200);
    ck_assert_msg(strstr(answer, "\"patch\"") != NULL, "%s", answer);
    ck_assert_int_eq(vpa_json_parse(&f.arena, answer, strlen(answer), &root, &err), 0);
    vpa_timer_free(timer);
}

TEST(bodies_are_bounded) {
    vpa_auto_free char *body = vpa_xcalloc(1, VPA_SERVER_BODY_MAX + 2);
    const char *answer;

    start();
    memset(body, ' ', VPA_SERVER_BODY_MAX + 1);
    ck_assert_int_eq(post("application/json", body, VPA_SERVER_BODY_MAX + 1, &answer), 413);
    ck_assert_str_eq(answer, "request payload too large\n");
    ck_assert_int_eq(post("application/json", body, VPA_SERVER_BODY_MAX, &answer), 200);
}

/* The steps of a life, one after the other on a timer, while admission_run is running. */
struct script {
    int step;
    struct vpa_timer *timer;
    int waits;
};

static void first_fingerprint(char out[65], const struct vpa_tls_pair *pair)
{
    struct vpa_tls_info info;
    struct vpa_error err;

    ck_assert_int_eq(vpa_tls_check_pair(pair->cert_pem, pair->key_pem, &info, &err), 0);
    memcpy(out, info.fingerprint, sizeof(info.fingerprint));
}

/* Fingerprint of what the listener serves now, asked with the tool that any operator has. */
static bool serves(const struct vpa_tls_pair *pair)
{
    vpa_auto_free char *command = vpa_xprintf(
        "openssl s_client -connect 127.0.0.1:%d </dev/null 2>/dev/null | openssl x509 -noout "
        "-fingerprint -sha256 2>/dev/null | cut -d= -f2 | tr -d ':\\n' | tr A-F a-f",
        server_port(admission_server(f.admission)));
    char want[65], got[65] = "";
    FILE *out = popen(command, "r");

    first_fingerprint(want, pair);
    ck_assert_ptr_nonnull(out);
    size_t n = fread(got, 1, sizeof(got) - 1, out);
    pclose(out);
    return n == 64 && strcmp(want, got) == 0;
}

/* Whether the step must wait: on a busy machine the lease may be written late. */
static bool too_early(struct script *s, size_t lease_writes)
{
    if (fixture_lease_writes(&f) >= lease_writes || s->waits++ > 200)
        return false;
    vpa_timer_start(s->timer, 100 * VPA_MILLISECOND);
    return true;
}

static void on_step(void *ctx)
{
    struct script *s = ctx;

    switch (s->step) {
    case 0: /* a half-finished update: the certificate without its key */
        if (too_early(s, 1))
            return;
        write_text("cert.pem", second.cert_pem);
        break;
    case 1:
        write_text("key.pem", second.key_pem);
        break;
    case 2: /* nonsense never replaces a good pair */
        write_text("cert.pem", "nonsense");
        break;
    default: /* and the webhook goes on answering its own test */
        if (!too_early(s, 3))
            vpa_loop_stop(f.loop);
        return;
    }
    s->step++;
    vpa_timer_start(s->timer, 1300 * VPA_MILLISECOND);
}

TEST(certificates_are_reloaded_and_the_lease_is_renewed) {
    struct script script = {0};

    script.timer = vpa_timer_new(f.loop, on_step, &script);
    vpa_timer_start(script.timer, 2500 * VPA_MILLISECOND);
    ck_assert_int_eq(admission_run(f.admission), 0);
    ck_assert_uint_ge(fixture_lease_writes(&f), 3);
    vpa_loop_resume(f.loop);
    vpa_timer_free(script.timer);
}

/* No descriptor is free when the pair changes, and the API server answers the change of the CA with
 * nonsense; nothing changes again. */
static struct rlimit usual;

static void on_bad_moment(void *ctx)
{
    struct script *s = ctx;
    struct rlimit none = {.rlim_cur = 3};

    switch (s->step++) {
    case 0:
        write_text("cert.pem", second.cert_pem);
        write_text("key.pem", second.key_pem);
        write_text("ca.pem", first.cert_pem);
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
        none.rlim_max = usual.rlim_max;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
        vpa_timer_start(s->timer, 1300 * VPA_MILLISECOND);
        return;
    case 1:
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
        ck_assert(!serves(&second));
        write_text("ca.pem", ca.cert_pem);
        vpa_timer_start(s->timer, 100 * VPA_MILLISECOND);
        return;
    default: /* the limit of the test is the limit of its patience */
        if (sim_cluster_asked(f.sim, "GET", f.config.webhook_config_name) >= 3 &&
            serves(&second)) /* one of them by who follows it */
            vpa_loop_stop(f.loop);
        else
            vpa_timer_start(s->timer, 100 * VPA_MILLISECOND);
    }
}

TEST(failed_reloads_are_tried_again) {
    struct script script = {0};

    write_text("ca.pem", ca.cert_pem);
    f.config.client_ca_file = temp_path("ca.pem");
    f.config.register_webhook = true;
    script.timer = vpa_timer_new(f.loop, on_bad_moment, &script);
    vpa_timer_start(script.timer, 500 * VPA_MILLISECOND);
    ck_assert_int_eq(admission_run(f.admission), 0);
    vpa_loop_resume(f.loop);
    vpa_timer_free(script.timer);
}

/* ---- a CA that is being written ---- */

static const char *live_bundle(void)
{
    const struct vpa_json *object =
        sim_cluster_find(f.sim, &f.arena, "admissionregistration.k8s.io/v1",
                         "MutatingWebhookConfiguration", "", f.config.webhook_config_name);
    const struct vpa_json *hook = vpa_json_first(vpa_json_find(object, "webhooks"));

    return vpa_ca_bundle_decode(
        &f.arena, vpa_or_empty(vpa_json_string(vpa_json_at(hook, "clientConfig.caBundle"))));
}

static const char *both; /* the CA, and another one */

static void on_written(void *ctx)
{
    struct script *s = ctx;

    switch (s->step) {
    case 0:
        if (s->waits++ < 200 && !sim_cluster_asked(f.sim, "GET", f.config.webhook_config_name))
            break;
        write_text("ca.pem", vpa_arena_printf(&f.arena, "%.200s", ca.cert_pem));
        s->step++;
        vpa_timer_start(s->timer, 3 * VPA_SECOND);
        return;
    case 1:
        ck_assert_str_eq(live_bundle(), ca.cert_pem);
        write_text("ca.pem", both);
        s->step++;
        break;
    default:
        if (s->waits++ > 400 || strcmp(live_bundle(), both) == 0)
            vpa_loop_stop(f.loop);
    }
    vpa_timer_start(s->timer, 100 * VPA_MILLISECOND);
}

/* While the API server takes what is served it is not told of a CA by which it would not. */
TEST(a_ca_that_does_not_vouch_for_us_waits) {
    struct script script = {0};
    struct vpa_tls_pair other;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_tls_create_ca("other", vpa_clock_now(f.clock), 24 * VPA_HOUR, &other, &err), 0);
    both = vpa_arena_printf(&f.arena, "%s%s", other.cert_pem, ca.cert_pem);
    vpa_tls_pair_release(&other);
    write_text("ca.pem", ca.cert_pem);
    f.config.client_ca_file = temp_path("ca.pem");
    f.config.register_webhook = true;
    fixture_register(&f, ca.cert_pem);
    script.timer = vpa_timer_new(f.loop, on_written, &script);
    vpa_timer_start(script.timer, VPA_SECOND);
    ck_assert_int_eq(admission_run(f.admission), 0);
    ck_assert_str_eq(live_bundle(), both);
    vpa_loop_resume(f.loop);
    vpa_timer_free(script.timer);
}

/* The pair changes in the moment before it is looked at for the first time. */
static bool changes_now;

int stat(const char *path, struct stat *out)
{
    if (changes_now) {
        changes_now = false;
        write_text("cert.pem", second.cert_pem);
        write_text("key.pem", second.key_pem);
    }
    return fstatat(AT_FDCWD, path, out, 0);
}

static void on_served(void *ctx)
{
    struct script *s = ctx;

    if (serves(&second) || s->waits++ == 30)
        vpa_loop_stop(f.loop);
    else
        vpa_timer_start(s->timer, 100 * VPA_MILLISECOND);
}

TEST(a_change_while_it_starts_is_not_missed) {
    struct script script = {0};

    changes_now = true;
    script.timer = vpa_timer_new(f.loop, on_served, &script);
    vpa_timer_start(script.timer, 100 * VPA_MILLISECOND);
    ck_assert_int_eq(admission_run(f.admission), 0);
    ck_assert(!changes_now);
    ck_assert_int_lt(script.waits, 30);
    vpa_loop_resume(f.loop);
    vpa_timer_free(script.timer);
}

static void stop_loop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(f.loop);
}

struct rotation {
    bool answer;
    pthread_t thread;
};

/* The loop must go on accepting while somebody connects, so the question is asked from a thread. */
static void *ask_in_thread(void *ctx)
{
    struct rotation *r = ctx;

    r->answer = serves(&second);
    vpa_loop_post(f.loop, stop_loop, NULL);
    return NULL;
}

TEST(the_new_certificate_is_served) {
    struct rotation r = {0};
    struct vpa_error err;

    start();
    ck_assert_int_eq(
        server_reload(admission_server(f.admission), second.cert_pem, first.key_pem, &err), -1);
    ck_assert_int_eq(
        server_reload(admission_server(f.admission), second.cert_pem, second.key_pem, &err), 0);
    ck_assert_int_eq(pthread_create(&r.thread, NULL, ask_in_thread, &r), 0);
    vpa_loop_pump(f.loop, 20 * VPA_SECOND);
    pthread_join(r.thread, NULL);
    ck_assert(r.answer);
    vpa_loop_resume(f.loop);
}

/* What a probe is answered. */
static int probe(struct vpa_observe *observe, const char *path, char text[256])
{
    const struct vpa_server_request request = {.method = "GET", .path = path, .query = ""};
    struct vpa_server_response response = {0};

    vpa_observe_answer(observe, &request, &response);
    snprintf(text, 256, "%s", response.body);
    free(response.body);
    return response.status;
}

struct health {
    struct vpa_observe *observe;
    const char *path;
    int status;
};

static bool has_status(void *ctx)
{
    const struct health *h = ctx;
    char text[256];

    return probe(h->observe, h->path, text) == h->status;
}

static void until(struct vpa_observe *observe, const char *path, int status)
{
    struct health h = {observe, path, status};
    struct vpa_error err;
    char text[256];

    if (vpa_loop_wait(f.loop, has_status, &h, 30 * VPA_SECOND, &err) < 0)
        ck_abort_msg("%s stays %d: %s", path, probe(observe, path, text), text);
}

/* Ready when the listener has answered; not alive when it does not answer any more. */
TEST(health_tells_the_truth) {
    const struct vpa_observe_options options = {.address = "127.0.0.1:0"};
    struct rlimit none = {.rlim_cur = 3};
    struct vpa_error err;
    char text[256];

    f.observe = vpa_observe_new(f.loop, &options, &err);
    admission_free(f.admission);
    fixture_daemon(&f, false);
    ck_assert_int_eq(probe(f.observe, "/readyz", text), 503);
    ck_assert_str_eq(text, "Not ready: the caches are not filled yet\n");
    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    ck_assert_int_eq(probe(f.observe, "/readyz", text), 503);
    ck_assert_str_eq(text, "Not ready: the webhook's port is not open yet\n");
    ck_assert_int_eq(admission_listen(f.admission, &err), 0);
    ck_assert_int_eq(probe(f.observe, "/readyz", text), 503);
    ck_assert_str_eq(text, "Not ready: the webhook has not proven itself in the last 1s\n");
    ck_assert_int_eq(probe(f.observe, "/health-check", text), 200);
    until(f.observe, "/readyz", 200);

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none.rlim_max = usual.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    until(f.observe, "/health-check", 500);
    ck_assert_int_eq(probe(f.observe, "/health-check", text), 500);
    ck_assert_str_eq(text, "Error: the webhook's own listener did not answer 6 tests in a row\n");
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
    until(f.observe, "/readyz", 200);

    admission_free(f.admission);
    f.admission = NULL;
    ck_assert_int_eq(probe(f.observe, "/readyz", text), 200); /* asks nobody who is gone */
    vpa_observe_free(f.observe);
}

/* The certificate that is served, valid for so long from then on. */
static void serve_certificate(vpa_duration from_now, vpa_duration lifetime)
{
    static const char *const names[] = {"vpa-webhook.kube-system.svc"};
    struct vpa_tls_pair pair;
    struct vpa_error err;

    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 1, false,
                                                vpa_time_add(vpa_clock_now(f.clock), from_now),
                                                lifetime, &pair, &err),
                     0);
    write_text("cert.pem", pair.cert_pem);
    write_text("key.pem", pair.key_pem);
    vpa_tls_pair_release(&pair);
}

enum proof_case { RIGHT, GONE, UNNAMED, OTHER_CA, NO_CA, OTHER_NAME, EXPIRED, EXPIRES, FORBIDDEN };
static const struct proof_row {
    const char *name;
    enum proof_case how;
    bool renewed;
} proofs[] = {
    {"all is right", RIGHT, true},
    {"the registration may not be read", FORBIDDEN, true},
    {"no registration of the name that was given", GONE, false},
    {"none of the default name, and none was given", UNNAMED, true},
    {"a caBundle of another CA", OTHER_CA, false},
    {"no caBundle", NO_CA, false},
    {"another service", OTHER_NAME, false},
    {"a certificate that has ended", EXPIRED, false},
    {"a certificate that ends in a minute", EXPIRES, false},
};

static void set_scene(enum proof_case how)
{
    struct vpa_tls_pair other;
    struct vpa_error err;

    ck_assert_int_eq(vpa_tls_create_ca("ca", vpa_clock_now(f.clock), 24 * VPA_HOUR, &other, &err),
                     0);
    if (how == OTHER_NAME)
        f.config.webhook_service = "elsewhere";
    if (how == GONE)
        f.config.webhook_config_name = "vpa-webhook-config";
    if (how == GONE || how == UNNAMED)
        sim_cluster_unscript(f.sim);
    else if (how != FORBIDDEN)
        fixture_register(&f, how == OTHER_CA ? other.cert_pem : how == NO_CA ? NULL : ca.cert_pem);
    serve_certificate(how == EXPIRED ? -2 * VPA_HOUR : 0, how == EXPIRES ? VPA_MINUTE : VPA_HOUR);
    vpa_tls_pair_release(&other);
}

/* Until the Lease was written, or so many tests have failed that it would have been. */
static void on_look(void *ctx)
{
    double failed = 0;

    for (size_t i = 0; i < admission_metric_count; i++)
        if (strstr(admission_metrics[i]->name, "self_test_failures"))
            failed = vpa_metric_value(admission_metrics[i], "registration") +
                     vpa_metric_value(admission_metrics[i], "chain") +
                     vpa_metric_value(admission_metrics[i], "validity");
    if (fixture_lease_writes(&f) > 0 || failed > 6)
        vpa_loop_stop(f.loop);
    vpa_timer_start(*(struct vpa_timer **)ctx, 100 * VPA_MILLISECOND);
}

/* The Lease means that the API server can use the webhook (U24). */
TEST_EACH(the_lease_rests_on_the_proof, proofs) {
    const struct proof_row *row = &proofs[_i];
    struct vpa_timer *timer = vpa_timer_new(f.loop, on_look, &timer);

    admission_free(f.admission);
    f.config.status_lease_update_interval = 3 * VPA_SECOND; /* as long a success may take */
    fixture_daemon(&f, false);
    set_scene(row->how);
    vpa_timer_start(timer, 0);
    ck_assert_int_eq(admission_run(f.admission), 0);
    ck_assert_msg((fixture_lease_writes(&f) > 0) == row->renewed, "%s", row->name);
    vpa_loop_resume(f.loop);
    vpa_timer_free(timer);
}

static const struct start_row {
    const char *name;
    const char *cert, *key; /* contents; NULL: no such file */
    const char *min_version;
    int status;
} starts[] = {
    {"no certificate", NULL, "x", "tls1_2", 255},
    {"no key", "x", NULL, "tls1_2", 255},
    {"no PEM", "x", "y", "tls1_2", 255},
    {"unknown version", "x", "y", "tls1_1", 255},
};

TEST_EACH(start_up_errors, starts) {
    const struct start_row *row = &starts[_i];

    unlink(f.config.tls_cert_file);
    unlink(f.config.tls_private_key);
    if (row->cert)
        write_text("cert.pem", row->cert);
    if (row->key)
        write_text("key.pem", row->key);
    f.config.min_tls_version = row->min_version;
    ck_assert_int_eq(admission_run(f.admission), row->status);
}

TEST(a_taken_port_is_an_error) {
    struct admission *other;

    start();
    f.config.port = server_port(admission_server(f.admission));
    other = f.admission;
    fixture_daemon(&f, false);
    ck_assert_int_eq(admission_run(f.admission), 1);
    admission_free(other);
}

TEST(files_are_watched) {
    struct file_watch watch;
    struct vpa_error err;

    ck_assert_int_eq(file_watch_init(&watch, temp_path("absent"), &err), -1);
    ck_assert_int_eq(file_watch_init(&watch, temp_path("cert.pem"), &err), 0);
    ck_assert(!file_watch_changed(&watch));
    write_text("cert.pem", first.cert_pem);
    ck_assert(file_watch_changed(&watch));
    ck_assert(!file_watch_changed(&watch));
    ck_assert_int_eq(unlink(temp_path("cert.pem")), 0);
    ck_assert(file_watch_changed(&watch));
    ck_assert(!file_watch_changed(&watch));
    write_text("cert.pem", first.cert_pem);
    ck_assert(file_watch_changed(&watch));
    FILE *same = fopen(temp_path("cert.pem"), "a"); /* no other file takes the name */
    ck_assert_ptr_nonnull(same);
    fputs("more", same);
    fclose(same);
    ck_assert(file_watch_changed(&watch));
    ck_assert(!file_watch_changed(&watch));
}

TEST(flags_are_checked) {
    enum vpa_tls_version version;
    struct vpa_error err;
    int status = 0;

    ck_assert_int_eq(admission_config_check(&f.config, &status, &err), 0);
    f.config.port = 65536;
    ck_assert_int_eq(admission_config_check(&f.config, &status, &err), -1);
    ck_assert_int_eq(status, 1);
    f.config.port = 0;
    f.config.status_lease_update_interval = 0;
    ck_assert_int_eq(admission_config_check(&f.config, &status, &err), -1);
    ck_assert_str_eq(err.text, "--status-lease-update-interval must be positive.");
    f.config.status_lease_update_interval = VPA_SECOND;
    f.config.certificate_lifetime = 10 * VPA_MINUTE - 1;
    ck_assert_int_eq(admission_config_check(&f.config, &status, &err), -1);
    ck_assert_str_eq(err.text, "--certificate-lifetime must be at least 10m0s.");
    f.config.certificate_lifetime = VPA_HOUR;
    f.config.shadow = true;
    ck_assert_int_eq(admission_config_check(&f.config, &status, &err), 0);
    f.config.manage_certificates = true;
    ck_assert_int_eq(admission_config_check(&f.config, &status, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "which --shadow does not write"));
    f.config.min_tls_version = "";
    ck_assert_int_eq(admission_config_tls_version(&f.config, &version, &err), 0);
    f.config.min_tls_version = "tls1_3";
    ck_assert_int_eq(admission_config_tls_version(&f.config, &version, &err), 0);
    ck_assert_int_eq(version, VPA_TLS_1_3);
}

int main(void)
{
    return run_tests_within(60, "admission_daemon", setup, teardown);
}
