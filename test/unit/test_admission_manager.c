/* Replicas that keep their certificates in one Secret, on an API server in memory. */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

#include "manager.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/memory_transport.h"

#define PATH "/api/v1/namespaces/ns/secrets"
#define DAY (24 * VPA_HOUR)

static struct vpa_clock *clk;
static struct vpa_loop *loop;
static struct vpa_transport *transport;
static struct vpa_kube_client *client;
static struct vpa_random seed;
static struct admission_config config;
static char data[64 << 10]; /* member of the Secret, "" when there is none */
static int version;         /* 0: no Secret */
static int writes, conflicts, refusals;
static const char *live; /* caBundle of the registration */

static void reply_secret(struct vpa_memory_reply *reply, int code)
{
    vpa_auto_free char *text = vpa_xprintf("{\"metadata\":{\"resourceVersion\":\"%d\"}%s%s}",
                                           version, *data ? ",\"data\":" : "", data);

    vpa_memory_reply_json(reply, code, text);
}

static void store(const struct vpa_memory_request *request)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_json_writer w;
    vpa_auto_buf text = {0};
    struct vpa_error err;

    ck_assert_int_eq(vpa_json_parse(&arena, request->body, request->body_len, &root, &err), 0);
    vpa_buf_init(&text, sizeof(data) - 1);
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, vpa_json_find(root, "data"));
    snprintf(data, sizeof(data), "%s", vpa_buf_text(&text));
    version++;
    writes++;
}

static void serve(void *ctx, const struct vpa_memory_request *request,
                  struct vpa_memory_reply *reply)
{
    char rests_on[64];

    (void)ctx;
    snprintf(rests_on, sizeof(rests_on), "\"resourceVersion\":\"%d\"", version);
    if (refusals > 0) {
        refusals--;
        vpa_memory_reply_status(reply, 403, "Forbidden", "no right");
    } else if (strcmp(request->method, "GET") == 0 && version == 0) {
        vpa_memory_reply_status(reply, 404, "NotFound", "no secret");
    } else if (strcmp(request->method, "GET") == 0) {
        reply_secret(reply, 200);
    } else if (strcmp(request->method, "POST") == 0 ? version > 0
                                                    : !strstr(request->body, rests_on)) {
        conflicts++;
        vpa_memory_reply_status(reply, 409, "Conflict", "somebody was faster");
    } else {
        store(request);
        reply_secret(reply, 200);
    }
}

static const char *live_bundle(void *ctx)
{
    (void)ctx;
    return live;
}

static struct manager *replica(void)
{
    return manager_new(&(struct manager_options){
        .client = client, .config = &config, .ns = "ns", .live_bundle = live_bundle});
}

static void setup(void)
{
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};
    struct vpa_error err;

    vpa_flags_preset(&flags);
    clk = vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));
    loop = vpa_loop_new(clk);
    transport = vpa_memory_transport_new(loop, serve, NULL);
    client = vpa_kube_client_new(
        &(struct vpa_kube_client_options){
            .loop = loop, .transport = transport, .random = &seed, .user_agent = "test", .qps = -1},
        &err);
    live = "";
}

static void teardown(void)
{
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clk);
}

static void prepare(struct manager *m)
{
    struct vpa_error err;

    ck_assert_int_eq(manager_prepare(m, &err), 0);
}

/* Both find nothing and both create; one of them is told so and takes the other's. */
static struct manager *second;

static void start_second(void *ctx)
{
    (void)ctx;
    prepare(second);
}

START_TEST(two_that_start_at_once_have_one_ca)
{
    struct manager *first = replica();

    second = replica();
    version = _i; /* no Secret, or the empty one of the manifests */
    vpa_loop_post(loop, start_second, NULL);
    prepare(first);
    ck_assert_int_eq(conflicts, 1);
    ck_assert_int_eq(writes, 1);
    ck_assert_str_eq(manager_bundle(first), manager_bundle(second));
    ck_assert_str_eq(manager_served(first)->key_pem, manager_served(second)->key_pem);
    manager_free(first);
    manager_free(second);
}
END_TEST

/* What is stored is what a replica that comes later serves; looking at it writes nothing. */
START_TEST(later_replicas_take_what_is_there)
{
    struct manager *first = replica(), *late = replica();

    prepare(first);
    prepare(late);
    ck_assert_int_eq(writes, 1);
    ck_assert_str_eq(manager_bundle(first), manager_bundle(late));
    for (int i = 0; i < 10; i++) {
        vpa_loop_pump(loop, VPA_HOUR);
        ck_assert(manager_is_due(late));
        ck_assert(!manager_work(late));
    }
    ck_assert_int_eq(writes, 1);
    manager_free(first);
    manager_free(late);
}
END_TEST

/* A CA changes only when the registration names the next one; then the others follow. */
START_TEST(rotates_with_the_registration)
{
    struct manager *m = replica(), *other = replica();

    prepare(m);
    prepare(other);
    vpa_auto_free char *before = vpa_xstrdup(manager_bundle(m));
    vpa_auto_free char *served = vpa_xstrdup(manager_served(m)->cert_pem);
    vpa_loop_pump(loop, 60 * DAY + VPA_HOUR);
    ck_assert(manager_work(m));
    ck_assert(vpa_str_starts_with(manager_bundle(m), before));
    ck_assert_str_eq(manager_served(m)->cert_pem, served);
    vpa_loop_pump(loop, 2 * DAY);
    ck_assert(!manager_work(m)); /* not named yet */
    vpa_auto_free char *both = vpa_xstrdup(manager_bundle(m));
    live = both;
    ck_assert(manager_work(m));
    ck_assert_str_ne(manager_served(m)->cert_pem, served);
    ck_assert_int_eq(writes, 3);
    ck_assert(manager_work(other));
    ck_assert_str_eq(manager_served(other)->cert_pem, manager_served(m)->cert_pem);
    ck_assert_int_eq(writes, 3);
    vpa_loop_pump(loop, DAY + VPA_HOUR);
    ck_assert(manager_work(m));
    ck_assert(strstr(manager_bundle(m), before) == NULL);
    manager_free(m);
    manager_free(other);
}
END_TEST

/* Rights that come late are waited for. */
START_TEST(waits_for_its_rights)
{
    struct manager *m = replica();

    refusals = 3;
    prepare(m);
    ck_assert_int_eq(writes, 1);
    manager_free(m);
}
END_TEST

/* A Secret that somebody emptied, or filled with nonsense, is made anew; the CA that was served
 * until then is not known from it, but nothing breaks. */
START_TEST(damage_is_repaired)
{
    static const char *const damages[] = {"{}", "{\"ca.crt\":\"bm9uc2Vuc2U=\",\"ca.key\":\"!\"}",
                                          "{\"ca.crt\":1}", "null"};
    struct manager *m = replica();

    prepare(m);
    snprintf(data, sizeof(data), "%s", damages[_i]);
    version++;
    ck_assert(manager_work(m));
    ck_assert_int_eq(writes, 2);
    ck_assert_ptr_nonnull(manager_served(m)->key_pem);
    manager_free(m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission_manager");
    TCase *tc = tcase_create("manager");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, two_that_start_at_once_have_one_ca, 0, 2);
    tcase_add_test(tc, later_replicas_take_what_is_there);
    tcase_add_test(tc, rotates_with_the_registration);
    tcase_add_test(tc, waits_for_its_rights);
    tcase_add_loop_test(tc, damage_is_repaired, 0, 4);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
