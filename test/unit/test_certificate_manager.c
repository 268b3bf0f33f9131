/* Replicas that keep their certificates in one Secret, in the simulator. */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

#include "certificate_objects.h"
#include "client_fixture.h"
#include "vpa/base/str.h"
#include "vpa/daemon/certificate_manager.h"
#include "vpa/daemon/certificate_store.h"
#include "vpa/net/tls.h"

#define PATH "/api/v1/namespaces/ns/secrets"
#define DAY (24 * VPA_HOUR)

static int failures, new_failures; /* that were told to who asked for it */
static const char *live;           /* caBundle of the registration */
static const char *host;           /* a name besides those of the service */

static size_t reads(void)
{
    return sim_cluster_asked(sim, "GET", SECRET_PATH);
}

static int written_with(int code)
{
    return written(sim, PATH, code) + written(sim, SECRET_PATH, code);
}

static int writes(void)
{
    const struct sim_asked *w;

    for (size_t i = 0; (w = sim_cluster_write(sim, PATH, i)); i++)
        ck_assert(vpa_str_starts_with(w->body,
                                      "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{"));
    return written_with(200) + written_with(201);
}

/* So many looks at the Secret are refused. */
static void refuse(unsigned times)
{
    sim_cluster_answer(
        sim,
        &(struct sim_answer){
            .method = "GET", .path = SECRET_PATH, .times = times, .code = 403, .message = "no"});
}

/* None is answered in time. */
static void hang(void)
{
    sim_cluster_answer(
        sim, &(struct sim_answer){.method = "GET", .path = SECRET_PATH, .delay = VPA_HOUR});
}

static const char *registered_bundle(void *ctx)
{
    (void)ctx;
    return live;
}

static void on_failure(void *ctx, const struct vpa_error *err, bool is_new)
{
    (void)ctx;
    ck_assert_str_ne(err->text, "");
    failures++;
    new_failures += is_new;
}

static struct vpa_certificate_manager *replica(void)
{
    return vpa_certificate_manager_new(
        &(struct vpa_certificate_manager_options){.client = client,
                                                  .ns = "ns",
                                                  .secret = "certificates",
                                                  .ca_name = "ca",
                                                  .service = "listener",
                                                  .host = host,
                                                  .lifetime = 90 * DAY,
                                                  .step_line = "Certificates of the listener",
                                                  .failure_line = "Cannot keep them",
                                                  .on_failure = on_failure,
                                                  .live_bundle = registered_bundle});
}

static void setup(void)
{
    start_client(NULL, 1780000000, 1);
    live = "";
}

static void prepare(struct vpa_certificate_manager *m)
{
    struct vpa_error err;

    ck_assert_int_eq(vpa_certificate_manager_prepare(m, &err), 0);
}

/* Both find nothing and both create; one of them is told so and takes the other's. */
static struct vpa_certificate_manager *second;

static void start_second(void *ctx)
{
    (void)ctx;
    prepare(second);
}

TEST_TIMES(two_that_start_at_once_have_one_ca, 2) {
    struct vpa_certificate_manager *first = replica();

    second = replica();
    if (_i) /* no Secret, or the empty one of the manifests */
        put_secret(sim, "null");
    vpa_loop_post(loop, start_second, NULL);
    prepare(first);
    ck_assert_int_eq(written_with(409), 1);
    ck_assert_int_eq(writes(), 1);
    ck_assert_str_eq(vpa_certificate_manager_bundle(first), vpa_certificate_manager_bundle(second));
    ck_assert_str_eq(vpa_certificate_manager_served(first)->key_pem,
                     vpa_certificate_manager_served(second)->key_pem);
    vpa_certificate_manager_free(first);
    vpa_certificate_manager_free(second);
}

/* What is stored is what a replica that comes later serves; looking at it writes nothing. */
TEST(later_replicas_take_what_is_there) {
    struct vpa_certificate_manager *first = replica(), *late = replica();

    prepare(first);
    prepare(late);
    ck_assert_int_eq(writes(), 1);
    ck_assert_uint_eq(reads(), 2);
    ck_assert_str_eq(vpa_certificate_manager_bundle(first), vpa_certificate_manager_bundle(late));
    for (size_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(reads(), 2 + i);
        vpa_loop_pump(loop, VPA_HOUR);
        ck_assert(vpa_certificate_manager_is_due(late));
        ck_assert(!vpa_certificate_manager_work(late));
    }
    ck_assert_int_eq(writes(), 1);
    vpa_certificate_manager_free(first);
    vpa_certificate_manager_free(late);
}

/* A CA changes only when the registration names the next one; then the others follow. */
TEST(rotates_with_the_registration) {
    struct vpa_certificate_manager *m = replica(), *other = replica();

    prepare(m);
    prepare(other);
    vpa_auto_free char *before = vpa_xstrdup(vpa_certificate_manager_bundle(m));
    vpa_auto_free char *served = vpa_xstrdup(vpa_certificate_manager_served(m)->cert_pem);
    vpa_loop_pump(loop, 60 * DAY + VPA_HOUR);
    ck_assert(vpa_certificate_manager_work(m));
    ck_assert(vpa_str_starts_with(vpa_certificate_manager_bundle(m), before));
    ck_assert_str_eq(vpa_certificate_manager_served(m)->cert_pem, served);
    vpa_loop_pump(loop, 2 * DAY);
    ck_assert(!vpa_certificate_manager_work(m)); /* not named yet */
    vpa_auto_free char *both = vpa_xstrdup(vpa_certificate_manager_bundle(m));
    live = both;
    ck_assert(vpa_certificate_manager_work(m));
    ck_assert_str_ne(vpa_certificate_manager_served(m)->cert_pem, served);
    ck_assert_int_eq(writes(), 3);
    ck_assert(vpa_certificate_manager_work(other));
    ck_assert_str_eq(vpa_certificate_manager_served(other)->cert_pem,
                     vpa_certificate_manager_served(m)->cert_pem);
    ck_assert_int_eq(writes(), 3);
    vpa_loop_pump(loop, DAY + VPA_HOUR);
    ck_assert(vpa_certificate_manager_work(m));
    ck_assert(strstr(vpa_certificate_manager_bundle(m), before) == NULL);
    vpa_certificate_manager_free(m);
    vpa_certificate_manager_free(other);
}

/* By whatever name an API server calls, ours is the certificate for it. */
TEST_TIMES(is_called_by_every_name_of_the_service, 2) {
    static const char *const called[] = {"listener.ns.svc", "listener.ns", "listener",
                                         "webhook.example"};
    struct vpa_certificate_manager *m;

    host = _i == 1 ? "webhook.example" : NULL;
    m = replica();
    prepare(m);
    for (size_t i = 0; i < VPA_COUNT(called); i++)
        ck_assert_msg((vpa_tls_verify(vpa_certificate_manager_served(m)->cert_pem,
                                      vpa_certificate_manager_bundle(m), called[i],
                                      vpa_loop_now(loop), NULL) == 0) == (i < 3 || host),
                      "%s", called[i]);
    vpa_certificate_manager_free(m);
}

/* Rights that come late are waited for. */
TEST(waits_for_its_rights) {
    struct vpa_certificate_manager *m = replica();

    refuse(3);
    prepare(m);
    ck_assert_int_eq(writes(), 1);
    vpa_certificate_manager_free(m);
}

/* A Secret that somebody emptied, or filled with nonsense, is made anew; the CA that was served
 * until then is not known from it, but nothing breaks. */
TEST_TIMES(damage_is_repaired, 4) {
    static const char *const damages[] = {"{}", "{\"ca.crt\":\"bm9uc2Vuc2U=\",\"ca.key\":\"!\"}",
                                          "{\"ca.crt\":1}", "null"};
    struct vpa_certificate_manager *m = replica();

    prepare(m);
    put_secret(sim, damages[_i]);
    ck_assert(vpa_certificate_manager_work(m));
    ck_assert_int_eq(writes(), 2);
    ck_assert_ptr_nonnull(vpa_certificate_manager_served(m)->key_pem);
    vpa_certificate_manager_free(m);
}

static void stop_loop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

/* As often as it happens, and as new once; a stop is no failure, and success ends it. */
TEST(failures_are_told) {
    struct vpa_certificate_manager *m = replica();

    prepare(m);
    ck_assert_int_eq(failures, 0);
    for (int i = 1; i <= 3; i++) {
        refuse(1);
        ck_assert(!vpa_certificate_manager_work(m));
        ck_assert_int_eq(failures, i);
        ck_assert_int_eq(new_failures, 1);
    }
    ck_assert(!vpa_certificate_manager_work(m)); /* nothing has changed */
    refuse(1);
    ck_assert(!vpa_certificate_manager_work(m));
    ck_assert_int_eq(new_failures, 2);
    hang();
    vpa_loop_post(loop, stop_loop, NULL);
    ck_assert(!vpa_certificate_manager_work(m));
    ck_assert_int_eq(failures, 4);
    vpa_loop_resume(loop);
    vpa_certificate_manager_free(m);
}

/* Whoever asks has other work to do. */
TEST(a_server_that_hangs_is_not_waited_for) {
    struct vpa_certificate_manager *m = replica();

    prepare(m);
    hang();
    int64_t begin = vpa_loop_monotonic(loop);
    ck_assert(!vpa_certificate_manager_work(m));
    ck_assert_int_eq(vpa_loop_monotonic(loop) - begin, VPA_CERTIFICATE_STORE_TIMEOUT);
    ck_assert_ptr_nonnull(vpa_certificate_manager_served(m)->key_pem);
    vpa_certificate_manager_free(m);
}

/* A server that asks for patience is asked again later, not waited for. */
TEST(a_server_that_asks_to_wait_is_not_waited_for) {
    struct vpa_certificate_manager *m = replica();

    prepare(m);
    sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                 .path = SECRET_PATH,
                                                 .code = 429,
                                                 .message = "too many requests",
                                                 .retry = true,
                                                 .retry_after = 30});
    int64_t begin = vpa_loop_monotonic(loop);
    ck_assert(!vpa_certificate_manager_work(m));
    ck_assert_int_eq(vpa_loop_monotonic(loop), begin);
    vpa_certificate_manager_free(m);
}

int main(void)
{
    return run_tests("certificate_manager", setup, stop_client);
}
