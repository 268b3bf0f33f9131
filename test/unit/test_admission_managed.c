/*
 * The webhook with certificates of its own (--manage-certificates), on the simulator in virtual
 * time: what the Secret, the registration and the listener hold in each minute of a rotation.
 */
#include <arpa/inet.h>
#include <check.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admission.h"
#include "captured_log.h"
#include "client_fixture.h"
#include "meters.h"
#include "server.h"
#include "suite.h"
#include "vpa/base/str.h"
#include "vpa/daemon/ca_bundle.h"
#include "vpa/daemon/observe.h"
#include "vpa/net/tls.h"
#include "temp_folder.h"
#include "webhook_object.h"

#define NS "kube-system"
#define HOST "vpa-webhook.kube-system.svc"
#define PAIRS_MAX 8

static struct vpa_arena arena;
static struct admission_config config;
static struct admission *admission;
static struct vpa_timer *ticker;

static int minute, last_minute;            /* since the start */
static int denied_from, denied_to;         /* minutes in which nobody may write the registration */
static int unreadable_from, unreadable_to; /* in which nobody may read the Secret */
static struct vpa_tls_pair theirs;         /* the CA that another replica has written, or nothing */
static struct {
    char *chain;
    int64_t not_after; /* Unix seconds */
} pairs[PAIRS_MAX];    /* that were in the Secret, oldest first */
static size_t pair_count;
static int served_since[PAIRS_MAX]; /* the minute in which it was first seen served */
static size_t served_count;

static void on_minute(void *ctx);

static void setup(void)
{
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};

    capture_log(0);
    vpa_flags_preset(&flags);
    config.port = 0;
    config.manage_certificates = true;
    config.certificate_lifetime = 90 * VPA_MINUTE; /* so that a minute settles a change */
    config.status_lease_update_interval = VPA_MINUTE;
    start_client(NULL, 1780000000, 1);
    sim_cluster_put_text(
        sim, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" NS "\"}}");
    sim_cluster_put_text(
        sim, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"" NS
             "\",\"name\":\"vpa-webhook-certificates\"}}");
    admission = admission_new(&(struct admission_options){
        .config = &config, .loop = loop, .client = client, .ns = NS, .host_name = "test"});
    ticker = vpa_timer_new(loop, on_minute, NULL);
    minute = 0;
    denied_from = denied_to = unreadable_from = unreadable_to = 0;
    pair_count = served_count = 0;
}

static void teardown(void)
{
    vpa_timer_free(ticker);
    admission_free(admission);
    stop_client();
    for (size_t i = 0; i < pair_count; i++)
        free(pairs[i].chain);
    vpa_tls_pair_release(&theirs);
    vpa_arena_release(&arena);
}

/* ---- what there is ---- */

static const struct vpa_json *registration(void)
{
    return sim_cluster_find(sim, &arena, "admissionregistration.k8s.io/v1",
                            "MutatingWebhookConfiguration", "", config.webhook_config_name);
}

/* The live caBundle as PEM. */
static const char *live(void)
{
    const struct vpa_json *hook = vpa_json_first(vpa_json_find(registration(), "webhooks"));

    return vpa_ca_bundle_decode(
        &arena, vpa_or_empty(vpa_json_string(vpa_json_at(hook, "clientConfig.caBundle"))));
}

static void note_stored(void)
{
    const struct vpa_json *secret =
        sim_cluster_find(sim, &arena, "v1", "Secret", NS, config.certificate_secret);
    const struct vpa_json *data = vpa_json_find(secret, "data");
    const char *base64 = vpa_or_empty(vpa_json_string(vpa_json_find(data, "tls.crt")));
    const char *chain = vpa_ca_bundle_decode(&arena, base64);
    struct vpa_tls_info info;
    struct vpa_error err;

    if (!*chain || (pair_count > 0 && strcmp(pairs[pair_count - 1].chain, chain) == 0))
        return;
    ck_assert_uint_lt(pair_count, PAIRS_MAX);
    ck_assert_int_eq(vpa_tls_describe(chain, &info, &err), 0);
    pairs[pair_count].chain = vpa_xstrdup(chain);
    pairs[pair_count++].not_after = (int64_t)(info.not_after / VPA_SECOND);
}

/* What new connections get, by the time at which it ends. */
static size_t served(void)
{
    int64_t not_after = 0;

    for (size_t i = 0; i < admission_metric_count; i++)
        if (strstr(admission_metrics[i]->name, "certificate_expiry_seconds"))
            not_after = (int64_t)vpa_metric_value(admission_metrics[i]);
    for (size_t i = 0; i < pair_count; i++)
        if (pairs[i].not_after == not_after)
            return i;
    ck_abort_msg("minute %d: a pair is served that was never stored", minute);
}

/* Another replica has made a CA anew, and has told the API server of it. */
static void put_theirs(void)
{
    vpa_auto_buf text = VPA_BUF(WEBHOOK_BODY_MAX);
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_tls_create_ca("vpa-webhook-ca", vpa_loop_now(loop), VPA_HOUR, &theirs, &err), 0);
    webhook_encode(&config, NS, theirs.cert_pem, &text);
    sim_cluster_put_text(sim, vpa_buf_text(&text));
}

static void change_rights(void)
{
    if (minute == denied_from)
        sim_cluster_answer(sim, &(struct sim_answer){.method = "PATCH",
                                                     .path = "/vpa-webhook-config",
                                                     .code = 403,
                                                     .message = "no right"});
    if (minute == unreadable_from)
        sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                     .path = "/vpa-webhook-certificates",
                                                     .code = 503,
                                                     .message = "not now"});
    if (minute == denied_to || minute == unreadable_to)
        sim_cluster_unscript(sim);
    if (minute == unreadable_from + 1 && unreadable_from)
        put_theirs();
}

/* A minute is over: whoever is called by the live caBundle is taken. */
static void on_minute(void *ctx)
{
    struct vpa_error err = {0};

    (void)ctx;
    note_stored();
    if (++minute == last_minute)
        vpa_loop_stop(loop);
    change_rights();
    vpa_timer_start(ticker, VPA_MINUTE);
    if (minute < 2 || theirs.cert_pem)
        return;
    size_t now = served();
    while (served_count <= now)
        served_since[served_count++] = minute;
    ck_assert_msg(vpa_tls_verify(pairs[now].chain, live(), HOST, vpa_loop_now(loop), &err) == 0,
                  "minute %d, pair %zu: %s", minute, now, err.text);
    vpa_arena_clear(&arena);
}

static void run_for(int minutes)
{
    last_minute = minutes;
    vpa_timer_start(ticker, VPA_MINUTE);
    ck_assert_int_eq(admission_run(admission), 0);
    vpa_loop_resume(loop);
}

/* ---- tests ---- */

/* Two thirds of a life, a minute until the next CA is known, and the pair that it has signed is
 * served; so again and again, and the API server takes each. */
TEST(pairs_are_changed_in_time) {
    run_for(130);
    ck_assert_uint_eq(pair_count, 3);
    ck_assert_uint_eq(served_count, 3);
    for (int i = 1; i < 3; i++)
        ck_assert_msg(abs(served_since[i] - 61 * i) <= 4, "%d: minute %d", i, served_since[i]);
    ck_assert_uint_eq(logged("Cannot keep the certificates of the webhook"), 0);
    ck_assert_uint_eq(logged("Failed to reload certificate"), 0);
}

/* A caBundle that does not follow: the API server would refuse what the next CA signs, so the old
 * pair is served until it follows. */
TEST(a_pair_waits_for_the_registration) {
    denied_from = 50;
    denied_to = 75;
    run_for(85);
    ck_assert_uint_eq(served_count, 2);
    ck_assert_int_ge(served_since[1], 75);
    ck_assert_ptr_nonnull(strstr(live(), "BEGIN CERTIFICATE"));
}

/* While the Secret cannot be read nobody knows whose CA is the right one: what the registration has
 * came out of it later than what we have. */
TEST(who_cannot_read_the_keys_leaves_the_bundle_alone) {
    unreadable_from = 5;
    run_for(20);
    ck_assert_str_eq(live(), theirs.cert_pem);
}

/* As soon as it can be read it decides. */
TEST(who_can_read_the_keys_again_repairs_the_bundle) {
    unreadable_from = 5;
    unreadable_to = 10;
    run_for(20);
    ck_assert_str_ne(live(), theirs.cert_pem);
    ck_assert_int_eq(vpa_tls_verify(pairs[0].chain, live(), HOST, vpa_loop_now(loop), NULL), 0);
}

/* ---- ready or not ---- */

static struct vpa_observe *observe;
static int ready[8]; /* the answer to the probe in each minute */

/* Somebody has pods refused, with a registration that is ours else. */
static bool by_hand;

static void put_refusing(void)
{
    struct admission_config refusing = config;
    vpa_auto_buf text = VPA_BUF(WEBHOOK_BODY_MAX);

    refusing.webhook_failure_policy_fail = true;
    webhook_encode(&refusing, NS, live(), &text);
    sim_cluster_put_text(sim, vpa_buf_text(&text));
}

static void on_probe(void *ctx)
{
    const struct vpa_server_request request = {.method = "GET", .path = "/readyz", .query = ""};
    struct vpa_server_response response = {0};

    vpa_observe_answer(observe, &request, &response);
    free(response.body);
    ready[minute] = response.status;
    if (minute == 1 && by_hand)
        put_refusing();
    if (minute == 2) {
        sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                     .path = "/verticalpodautoscalers",
                                                     .code = 500,
                                                     .message = "not now"});
        sim_cluster_end_watches(sim, "verticalpodautoscalers", false);
    }
    vpa_timer_start(*(struct vpa_timer **)ctx, VPA_MINUTE);
}

/* Where pods are admitted as they are while nobody is ready, a webhook that is behind is taken
 * away; where they are refused, one that has been ready once is better than none. */
TEST_TIMES(a_webhook_that_must_answer_is_not_taken_away, 3) {
    struct vpa_timer *timer = vpa_timer_new(loop, on_probe, &timer);
    bool must = _i > 0;
    struct vpa_error err;

    config.webhook_failure_policy_fail = _i == 1;
    by_hand = _i == 2;
    observe = vpa_observe_new(loop, &(struct vpa_observe_options){.address = "127.0.0.1:0"}, &err);
    admission_free(admission);
    admission = admission_new(&(struct admission_options){.config = &config,
                                                          .loop = loop,
                                                          .client = client,
                                                          .ns = NS,
                                                          .host_name = "test",
                                                          .observe = observe});
    vpa_timer_start(timer, 30 * VPA_SECOND);
    run_for(7);
    ck_assert_int_eq(ready[2], 200);
    ck_assert_int_eq(ready[5], must ? 200 : 503);
    vpa_timer_free(timer);
    admission_free(admission);
    admission = NULL;
    vpa_observe_free(observe);
}

/* ---- the end ---- */

static int answered;
static bool impatient; /* told to stop once more */

/* What the listener answers on a connection that its client would keep. */
static void on_knock(void *ctx)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: " HOST "\r\n\r\n";
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)server_port(admission_server(admission))),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *tls = SSL_new(context);
    char answer[1024] = "";

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    SSL_set_fd(tls, fd);
    ck_assert_int_eq(SSL_connect(tls), 1);
    ck_assert_int_eq(SSL_write(tls, ask, sizeof(ask) - 1), sizeof(ask) - 1);
    ck_assert_int_gt(SSL_read(tls, answer, sizeof(answer) - 1), 0);
    ck_assert_ptr_nonnull(strstr(answer, "Connection: close")); /* the next one goes elsewhere */
    answered++;
    SSL_free(tls);
    SSL_CTX_free(context);
    close(fd);
    if (impatient)
        vpa_loop_stop(loop);
    vpa_timer_start(*(struct vpa_timer **)ctx, VPA_SECOND);
}

/* Nobody is to evict for a webhook that is gone. */
static void expect_lease_taken_back(void)
{
    const struct vpa_json *lease = sim_cluster_find(sim, &arena, "coordination.k8s.io/v1", "Lease",
                                                    NS, "vpa-admission-controller");

    ck_assert_str_eq(vpa_or_empty(vpa_json_string(vpa_json_at(lease, "spec.renewTime"))),
                     "1970-01-01T00:00:00.000000Z");
}

/* API servers hear only after a while that it goes; who tells it twice does not want to wait. */
TEST_TIMES(who_is_still_sent_here_after_a_stop_is_answered, 2) {
    struct vpa_timer *timer = vpa_timer_new(loop, on_knock, &timer);

    answered = 0;
    impatient = _i == 1;
    vpa_timer_start(timer, 2 * VPA_MINUTE + 700 * VPA_MILLISECOND);
    run_for(2);
    ck_assert_int_eq(answered, impatient ? 1 : 2);
    expect_lease_taken_back();
    vpa_timer_free(timer);
}

static char farewell[128];

static void on_farewell(void *ctx)
{
    const struct vpa_server_request request = {.method = "GET", .path = "/readyz", .query = ""};
    struct vpa_server_response response = {0};

    (void)ctx;
    vpa_observe_answer(observe, &request, &response);
    snprintf(farewell, sizeof(farewell), "%d %.*s", response.status, (int)response.body_len,
             response.body);
    free(response.body);
}

/* It answers to the last, and says that nobody else is to be sent here, even where a webhook that
 * is behind stays. */
TEST_TIMES(who_was_told_to_stop_is_not_ready, 2) {
    struct vpa_timer *timer = vpa_timer_new(loop, on_farewell, NULL);
    struct vpa_error err;

    config.webhook_failure_policy_fail = _i == 1;
    observe = vpa_observe_new(loop, &(struct vpa_observe_options){.address = "127.0.0.1:0"}, &err);
    admission_free(admission);
    admission = admission_new(&(struct admission_options){.config = &config,
                                                          .loop = loop,
                                                          .client = client,
                                                          .ns = NS,
                                                          .host_name = "test",
                                                          .observe = observe});
    vpa_timer_start(timer, 2 * VPA_MINUTE + 700 * VPA_MILLISECOND);
    run_for(2);
    ck_assert_str_eq(farewell, "503 Not ready: the webhook is stopping\n");
    vpa_timer_free(timer);
    admission_free(admission);
    admission = NULL;
    vpa_observe_free(observe);
}

/* Files that somebody else writes, and a listener that opens with them. */
TEST(a_given_pair_is_served) {
    const char *const names[] = {HOST};
    struct vpa_tls_pair ca, pair;
    struct vpa_error err;

    temp_folder_make();
    ck_assert_int_eq(vpa_tls_create_ca("ca", vpa_loop_now(loop), VPA_HOUR, &ca, &err), 0);
    ck_assert_int_eq(
        vpa_tls_create_certificate(&ca, names, 1, false, vpa_loop_now(loop), VPA_HOUR, &pair, &err),
        0);
    config.manage_certificates = config.register_webhook = false;
    config.tls_cert_file = temp_put("cert", pair.cert_pem);
    config.tls_private_key = temp_put("key", pair.key_pem);
    admission_free(admission);
    admission = admission_new(&(struct admission_options){
        .config = &config, .loop = loop, .client = client, .ns = NS, .host_name = "test"});
    run_for(1);
    ck_assert_uint_eq(logged("Serving the webhook"), 1);
    temp_folder_remove();
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&pair);
}

int main(void)
{
    return run_tests_within(120, "admission_managed", setup, teardown);
}
