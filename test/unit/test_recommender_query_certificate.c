/*
 * The managed certificate of the recommendation API, on the simulator with the Secret and the
 * APIService, and a clock that the test turns.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../recommender/api_meters.h"
#include "../../recommender/query_certificate.h"
#include "certificate_objects.h"
#include "client_fixture.h"
#include "suite.h"
#include "captured_log.h"
#include "vpa/daemon/ca_bundle.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"

#define NAME "recommendation.ns.svc"
#define EVENTS_PATH "/api/v1/namespaces/default/events"
#define DAY (24 * VPA_HOUR)

/* ---- replicas ---- */

static vpa_duration lifetime;
static struct vpa_events *events;

struct replica {
    struct query_certificate *c;
    bool leads;
    char *served; /* NULL: nothing yet */
};

static bool may_write(void *ctx)
{
    return ((struct replica *)ctx)->leads;
}

static struct replica make_replica(void)
{
    return (struct replica){.leads = true};
}

static void start(struct replica *r)
{
    r->c = query_certificate_new(&(struct query_certificate_options){.client = client,
                                                                     .ns = "ns",
                                                                     .secret = "certificates",
                                                                     .service = "recommendation",
                                                                     .lifetime = lifetime,
                                                                     .may_write = may_write,
                                                                     .ctx = r,
                                                                     .events = events});
}

static void stop(struct replica *r)
{
    query_certificate_free(r->c);
    free(r->served);
}

/* What is due is done; whether another pair is served then. */
static bool work(struct replica *r)
{
    if (!query_certificate_is_due(r->c))
        return false;
    query_certificate_work(r->c);
    const struct vpa_tls_pair *next = query_certificate_next(r->c, r->served);
    if (!next)
        return false;
    free(r->served);
    r->served = vpa_xstrdup(next->cert_pem);
    return true;
}

static void work_for(struct replica *r, vpa_duration duration)
{
    int64_t end = vpa_loop_monotonic(loop) + duration;

    while (vpa_loop_monotonic(loop) < end) {
        (void)work(r);
        vpa_loop_pump(loop, VPA_SECOND);
    }
}

static bool is_taken(const struct replica *r, const char *by)
{
    return vpa_tls_verify(r->served, by, NAME, vpa_loop_now(loop), NULL) == 0;
}

static bool is_taken_now(const struct replica *r)
{
    vpa_auto_free char *by = live_bundle(sim);

    return r->served && *by && is_taken(r, by);
}

static void setup(void)
{
    start_client(NULL, 1780000000, 1);
    put_secret(sim, "null");
    put_service(sim, "", "");
    lifetime = 90 * DAY;
    events = vpa_events_new(
        &(struct vpa_events_options){.client = client, .component = "vpa-recommender"});
    vpa_loop_pump(loop, VPA_HOUR); /* its monotonic time is not 0 */
}

static void teardown(void)
{
    ck_assert_int_eq(written(sim, SECRET_PATH, 409), 0);
    vpa_events_free(events);
    stop_client();
}

static int secret_writes(void)
{
    return written(sim, SECRET_PATH, 200);
}

static int service_writes(void)
{
    return written(sim, API_SERVICE_PATH, 200);
}

static int events_written(void)
{
    return (int)sim_cluster_asked(sim, "POST", EVENTS_PATH);
}

static void answer(const char *method, const char *path, int code)
{
    sim_cluster_answer(sim, &(struct sim_answer){.method = method,
                                                 .path = path,
                                                 .how = SIM_PATH_HOLDS,
                                                 .code = code,
                                                 .message = "no right"});
}

/* Of a family with one label, or with none (NULL). */
static double counted(const char *family, const char *label)
{
    for (size_t i = 0; i < API_METERS; i++)
        if (strcmp(api_meters[i]->name, family) == 0)
            return label ? vpa_metric_value(api_meters[i], label) : vpa_metric_value(api_meters[i]);
    ck_abort_msg("%s", family);
}

static double failed(const char *step)
{
    return counted("vpa_recommender_self_test_failures_total", step);
}

/* ---- tests ---- */

TEST(the_leader_writes_and_the_others_take_it) {
    struct replica first = make_replica(), other = make_replica();

    other.leads = false;
    start(&first);
    start(&other);
    ck_assert(!work(&other));
    ck_assert_int_eq(secret_writes() + service_writes(), 0);
    ck_assert(work(&first));
    ck_assert_int_eq(secret_writes(), 1);
    ck_assert_int_eq(service_writes(), 1);
    ck_assert(is_taken_now(&first));
    work_for(&other, 6 * VPA_SECOND);
    ck_assert_str_eq(other.served, first.served);
    work_for(&first, VPA_HOUR);
    work_for(&other, VPA_HOUR);
    ck_assert_int_eq(secret_writes(), 1);
    ck_assert_int_eq(service_writes(), 1);
    ck_assert_ptr_null(strstr(sim_cluster_write(sim, API_SERVICE_PATH, SIM_LAST)->body,
                              "service"));                             /* nothing but the bundle */
    ck_assert_ptr_null(query_certificate_next(first.c, first.served)); /* it is served already */
    stop(&first);
    stop(&other);
}

TEST(who_comes_to_lead_goes_on) {
    struct replica r = make_replica();

    r.leads = false;
    start(&r);
    work_for(&r, VPA_MINUTE);
    ck_assert_ptr_null(r.served);
    r.leads = true;
    work_for(&r, 6 * VPA_SECOND);
    ck_assert(is_taken_now(&r));
    stop(&r);
}

/* Two rotations, the other replica leading in between: at no time is there a caBundle, the one of
 * half an hour ago included, that does not take what a replica serves. */
TEST(every_bundle_takes_what_is_served) {
    struct replica replicas[2] = {make_replica(), make_replica()};
    vpa_auto_free char *before = NULL;

    lifetime = 9 * DAY;
    replicas[1].leads = false;
    for (int i = 0; i < 2; i++)
        start(&replicas[i]);
    for (int i = 0; i < 2; i++)
        work_for(&replicas[i], 6 * VPA_SECOND);
    for (int step = 0; step < 13 * 24 * 2; step++) {
        vpa_loop_pump(loop, 30 * VPA_MINUTE);
        if (step == 6 * 24 * 2 + 5) /* in the middle of a rotation */
            for (int i = 0; i < 2; i++)
                replicas[i].leads = !replicas[i].leads;
        for (int i = 0; i < 2; i++) {
            (void)work(&replicas[i]);
            ck_assert_msg(is_taken_now(&replicas[i]), "step %d", step);
            ck_assert_msg(!before || is_taken(&replicas[i], before), "step %d", step);
        }
        free(before);
        before = live_bundle(sim);
    }
    ck_assert_int_eq(secret_writes(), 1 + 2 * 3);
    ck_assert_int_eq(service_writes(), 1 + 2 * 3);
    static const char steps[] = "vpa_recommender_certificate_steps_total";
    ck_assert_double_eq(counted(steps, "created"), 1);
    ck_assert_double_eq(counted(steps, "promoted"), 2);
    ck_assert_double_eq(counted(steps, "retired"), 2);
    ck_assert_int_eq(events_written(), 0);
    for (int i = 0; i < 2; i++)
        stop(&replicas[i]);
}

#define WRONG "is not as it should be"

TEST_TIMES(what_an_injector_owns_is_left_to_it, 3) {
    static const char *const owners[] = {"cert-manager.io/inject-ca-from",
                                         "cert-manager.io/inject-ca-from-secret",
                                         "cert-manager.io/inject-apiserver-ca"};
    vpa_auto_free char *annotation = vpa_xprintf("\"%s\":\"x\"", owners[_i]);
    struct replica r = make_replica();

    capture_log(0);
    put_service(sim, annotation, "dGhlaXJz");
    start(&r);
    work_for(&r, VPA_HOUR);
    ck_assert_int_eq(service_writes(), 0);
    ck_assert_uint_eq(logged(WRONG), 1);
    ck_assert_uint_eq(logged(owners[_i]), 1);
    put_service(sim, "", NULL);
    work_for(&r, 11 * VPA_SECOND);
    ck_assert_int_eq(service_writes(), 1);
    work_for(&r, 11 * VPA_SECOND);
    ck_assert_uint_eq(logged("is right again"), 1);
    stop(&r);
}

/* What cannot be read or written is said once, nobody is served what is not stored, and all is well
 * as soon as it can. */
TEST_TIMES(late_objects_and_rights_are_waited_for, 2) {
    struct replica r = make_replica();

    capture_log(0);
    if (_i == 0)
        (void)sim_cluster_delete(sim, "apiregistration.k8s.io/v1", "APIService", "",
                                 API_SERVICE_NAME);
    if (_i == 1) {
        answer("GET", "/", 403);
        answer("PATCH", "/", 403);
    }
    start(&r);
    work_for(&r, 10 * VPA_MINUTE);
    ck_assert_int_eq(service_writes(), 0);
    ck_assert_int_eq(secret_writes(), _i == 0);
    ck_assert_int_eq(r.served != NULL, _i == 0); /* from the Secret */
    ck_assert_uint_eq(logged(WRONG), 1);
    ck_assert_uint_eq(logged("Cannot keep the certificates"), (size_t)_i);
    ck_assert_int_eq(events_written(), 1 + _i); /* each reason once */
    ck_assert_ptr_nonnull(
        strstr(sim_cluster_write(sim, EVENTS_PATH, SIM_LAST)->body, "\"type\":\"Warning\""));
    ck_assert_ptr_nonnull(
        strstr(sim_cluster_write(sim, EVENTS_PATH, SIM_LAST)->body, "\"kind\":\"APIService\""));
    ck_assert_ptr_nonnull(
        strstr(sim_cluster_write(sim, EVENTS_PATH, SIM_LAST)->body, API_SERVICE_NAME));
    ck_assert_ptr_nonnull(strstr(sim_cluster_write(sim, EVENTS_PATH, SIM_LAST)->body,
                                 _i ? "CertificatesNotKept" : "CABundleFaulty"));
    ck_assert_double_ge(failed("registration"), 59); /* each look */
    ck_assert_int_eq(failed("secret") > 0, _i);
    sim_cluster_unscript(sim);
    put_service(sim, "", NULL);
    work_for(&r, 11 * VPA_SECOND);
    ck_assert_int_eq(service_writes(), 1);
    ck_assert(is_taken_now(&r));
    stop(&r);
}

/* What a stop breaks off is no failure of anybody. */
TEST_TIMES(a_stop_is_no_failure, 2) {
    struct replica r = make_replica();

    capture_log(0);
    start(&r);
    if (_i)
        ck_assert(work(&r));
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert(query_certificate_is_due(r.c));
    answer("GET", API_SERVICE_PATH, 404); /* whatever is answered by then */
    vpa_loop_stop(loop);
    query_certificate_work(r.c);
    ck_assert_double_eq(failed("registration"), 0);
    ck_assert_double_eq(failed("secret"), 0);
    ck_assert_uint_eq(logged(WRONG), 0);
    ck_assert_uint_eq(logged("Cannot keep the certificates"), 0);
    vpa_loop_resume(loop);
    sim_cluster_unscript(sim);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(events_written(), 0);
    stop(&r);
}

/* Whoever keeps undoing it is answered once a minute. */
TEST_TIMES(a_bundle_that_is_undone_is_written_again, 3) {
    static const char *const undone[] = {"", "bm9uc2Vuc2U=", "!"};
    struct replica r = make_replica();

    start(&r);
    work_for(&r, VPA_MINUTE + VPA_SECOND);
    ck_assert_int_eq(service_writes(), 1);
    for (int i = 0; i < 600; i++) {
        put_service(sim, "", undone[_i]);
        work_for(&r, VPA_SECOND);
    }
    ck_assert_int_ge(service_writes(), 10);
    ck_assert_int_le(service_writes(), 12);
    ck_assert_int_eq(secret_writes(), 1);
    ck_assert_double_eq(counted("vpa_recommender_registration_repairs_total", "caBundle"),
                        service_writes() - 1);
    stop(&r);
}

/* Each time that it goes wrong is told, though it is the same that is wrong. */
TEST(what_was_right_meanwhile_is_told_again) {
    struct replica r = make_replica();
    struct vpa_events *unused = events;

    events = NULL;
    capture_log(0);
    start(&r);
    for (size_t i = 1; i <= 3; i++) {
        answer("GET", API_SERVICE_PATH, 404);
        work_for(&r, 3 * VPA_MINUTE);
        ck_assert_uint_eq(logged(WRONG), i);
        sim_cluster_unscript(sim);
        work_for(&r, 3 * VPA_MINUTE);
    }
    ck_assert_uint_eq(logged(WRONG), 3);
    stop(&r);
    events = unused;
}

/* Somebody else writes between the look and the write. */
static int overtake(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)r;
    if (strcmp(q->method, "PATCH") == 0 && strcmp(q->path, API_SERVICE_PATH) == 0 &&
        (*(int *)ctx)++ == 0)
        put_service(sim, "", NULL);
    return 0;
}

TEST(who_is_overtaken_looks_again) {
    int patches = 0;
    struct replica r = make_replica();

    capture_log(0);
    sim_cluster_hook(sim, overtake, &patches);
    start(&r);
    work_for(&r, 11 * VPA_SECOND);
    ck_assert_int_eq(written(sim, API_SERVICE_PATH, 409), 1);
    ck_assert_int_eq(service_writes(), 1);
    ck_assert_uint_eq(logged(WRONG), 0);
    stop(&r);
}

/* The next look comes soon enough; the recommender's pass is not to wait for it. */
TEST(a_busy_server_is_not_asked_again_at_once) {
    struct replica r = make_replica();

    sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                 .path = API_SERVICE_PATH,
                                                 .code = 429,
                                                 .retry = true,
                                                 .retry_after = 1});
    start(&r);
    int64_t begin = vpa_loop_monotonic(loop);
    ck_assert(!work(&r));
    ck_assert_int_eq(vpa_loop_monotonic(loop), begin);
    ck_assert_uint_eq(sim_cluster_asked(sim, "GET", API_SERVICE_PATH), 1);
    sim_cluster_unscript(sim);
    work_for(&r, 11 * VPA_SECOND);
    ck_assert(is_taken_now(&r));
    stop(&r);
}

/* A bundle that never follows: the old pair is served as long as API servers take it. */
TEST(a_pair_that_nobody_trusts_waits) {
    struct replica r = make_replica();

    start(&r);
    ck_assert(work(&r));
    put_service(sim, "\"cert-manager.io/inject-ca-from\":\"x\"", NULL);
    for (int day = 0; day < 89; day++) {
        vpa_loop_pump(loop, DAY);
        (void)work(&r);
        ck_assert_msg(is_taken_now(&r), "day %d", day);
    }
    stop(&r);
}

/* Whatever somebody puts in the Secret, nothing but a pair is served, and it is made anew. */
TEST_TIMES(damage_is_repaired, 4) {
    static const char *const damages[] = {"{}", "{\"tls.crt\":\"bm9uc2Vuc2U=\",\"tls.key\":\"!\"}",
                                          "{\"ca.crt\":1}", "null"};
    struct replica r = make_replica(), other = make_replica();

    other.leads = false;
    start(&r);
    start(&other);
    ck_assert(work(&r));
    ck_assert(work(&other));
    put_secret(sim, damages[_i]);
    work_for(&r, 2 * VPA_MINUTE);
    work_for(&other, VPA_SECOND);
    ck_assert_int_eq(secret_writes(), 2);
    ck_assert(is_taken_now(&r));
    ck_assert_str_eq(other.served, r.served);
    stop(&r);
    stop(&other);
}

int main(void)
{
    return run_tests_within(120, "recommender_query_certificate", setup, teardown);
}
