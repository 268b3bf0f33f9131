/*
 * Asking the recommender: what its answers are taken for, and that nobody waits for one that is
 * away. The recommender is in memory, the pauses run on a clock of the test; those that ask run on
 * threads of their own while the loop turns here.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdatomic.h>
#include <string.h>

#include "objects.h"
#include "suite.h"

#include "../../admission/adviser.h"
#include "../../admission/meters.h"
#include "captured_log.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/daemon/clock.h"

#define GOOD                                                                                       \
    "{\"status\":{\"recommendation\":{\"containerRecommendations\":[{\"name\":\"app\",\"target\":" \
    "{\"requests\":{\"cpu\":\"587m\",\"memory\":\"250Mi\"}},\"minRecommended\":{\"requests\":"     \
    "{\"cpu\":\"540m\"}}},{\"name\":\"log\",\"target\":{\"requests\":{\"cpu\":\"1\"}}}]}}}"
#define PATIENT VPA_HOUR
#define IMPATIENT VPA_MILLISECOND

static struct vpa_clock *clock_;
static struct vpa_loop *loop;
static struct adviser *adviser;
static struct vpa_arena arena;
static int64_t now;

/* The recommender. */
static int status;
static const char *text;
static bool hangs, resets;
static int served;
static char question[4096];

static int64_t monotonic(void)
{
    return now;
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    served++;
    ck_assert_str_eq(q->method, "POST");
    ck_assert_str_eq(q->path, ADVISER_PATH);
    ck_assert_str_eq(vpa_memory_header(q, "content-type"), "application/json");
    snprintf(question, sizeof(question), "%s", q->body);
    vpa_memory_reply_json(r, status, text);
    if (hangs)
        vpa_memory_reply_delay(r, VPA_HOUR);
    if (resets)
        vpa_memory_reply_fail(r, VPA_TRANSPORT_RESET);
}

static void make(vpa_duration timeout)
{
    adviser = adviser_new(
        &(struct adviser_options){.loop = loop,
                                  .transport = vpa_memory_transport_new(loop, serve, NULL),
                                  .timeout = timeout,
                                  .monotonic = monotonic});
}

static void setup(void)
{
    clock_ = vpa_clock_new_manual(vpa_time_from_unix(1772366400, 0));
    loop = vpa_loop_new(clock_);
    vpa_arena_init(&arena, 0);
    status = 200;
    text = GOOD;
    hangs = resets = false;
    served = 0;
    now = VPA_HOUR;
}

static void teardown(void)
{
    adviser_free(adviser);
    adviser_free(NULL);
    vpa_loop_free(loop);
    vpa_clock_free(clock_);
    vpa_arena_release(&arena);
    for (size_t i = 0; i < admission_metric_count; i++)
        vpa_metric_reset(admission_metrics[i]);
}

static double counted(const char *result)
{
    for (size_t i = 0; i < admission_metric_count; i++)
        if (strstr(admission_metrics[i]->name, "recommendation_queries_total"))
            return vpa_metric_value(admission_metrics[i], result);
    return -1;
}

struct asker {
    pthread_t thread;
    atomic_bool over;
    bool answered;
    struct vpa_recommendation rec;
    struct vpa_arena arena;
};

static void *run_asker(void *ctx)
{
    struct asker *asker = ctx;
    const struct vpa_json *pod = objects_json(
        &asker->arena, "{'metadata':{'generateName':'web-'},'spec':{'containers':[{'n':1e-1}]}}");

    asker->answered = adviser_ask(adviser, &asker->arena, "ns", pod, &asker->rec);
    atomic_store(&asker->over, true);
    return NULL;
}

/* From a thread, while the loop turns. The caller releases the arena. */
static void ask(struct asker *asker)
{
    *asker = (struct asker){0};
    ck_assert_int_eq(pthread_create(&asker->thread, NULL, run_asker, asker), 0);
    while (!atomic_load(&asker->over))
        vpa_loop_poll(loop);
    pthread_join(asker->thread, NULL);
}

static bool is_answered(void)
{
    struct asker asker;

    ask(&asker);
    vpa_arena_release(&asker.arena);
    return asker.answered;
}

/* On the loop's own thread: whoever waits here waits until the time-out. */
static bool ask_here(void)
{
    struct vpa_recommendation rec;

    return adviser_ask(adviser, &arena, "ns", objects_json(&arena, "{}"), &rec);
}

static void turn(void)
{
    while (vpa_loop_poll(loop))
        ;
}

TEST(takes_the_recommendation) {
    struct asker asker;
    const struct vpa_container_recommendation *app, *log;

    make(PATIENT);
    ask(&asker);
    ck_assert(asker.answered);
    app = vpa_recommendation_find(&asker.rec, "app");
    log = vpa_recommendation_find(&asker.rec, "log");
    ck_assert_int_eq(vpa_quantity_milli_value(vpa_resource_find(&app->target, "cpu")), 587);
    ck_assert_int_eq(vpa_quantity_milli_value(vpa_resource_find(&app->lower_bound, "cpu")), 540);
    ck_assert_uint_eq(app->upper_bound.count, 0);
    ck_assert(vpa_resource_list_equal(&app->uncapped_target, &app->target));
    ck_assert_uint_eq(app->uncapped_target.count, 2);
    ck_assert_int_eq(vpa_quantity_milli_value(vpa_resource_find(&log->target, "cpu")), 1000);
    ck_assert_str_eq(question,
                     "{\"apiVersion\":\"recommendation.autoscaling.k8s.io/v1alpha1\",\"kind\":"
                     "\"RecommendationQuery\",\"metadata\":{\"namespace\":\"ns\"},\"spec\":{\"pod\""
                     ":{\"metadata\":{\"generateName\":\"web-\"},\"spec\":{\"containers\":[{\"n\":"
                     "1e-1}]}}}}");
    ck_assert_double_eq(counted("Recommendation"), 1);
    vpa_arena_release(&asker.arena);
}

/* What a recommender that is there says instead; the next one is asked again. */
static const struct {
    int status;
    const char *text, *result;
} answers[] = {
    {200, "{\"status\":{\"error\":\"no VerticalPodAutoscaler matches pod a/b\"}}",
     "NoRecommendation"},
    {400, "{}", "Refused"},
    {404, "404 page not found", "Refused"},
    {200, "{", "Garbled"},
    {200, "{}", "Garbled"},
    {200, "{\"status\":{\"recommendation\":{\"containerRecommendations\":[]}}}", "Garbled"},
    {200, "{\"status\":{\"recommendation\":{\"containerRecommendations\":[7]}}}", "Garbled"},
    {200,
     "{\"status\":{\"recommendation\":{\"containerRecommendations\":[{\"name\":\"a\",\"target\":{"
     "\"requests\":{\"cpu\":\"x\"}}}]}}}",
     "Garbled"},
};

TEST_EACH(other_answers_are_no_recommendation, answers) {
    make(PATIENT);
    status = answers[_i].status;
    text = answers[_i].text;
    ck_assert(!is_answered());
    ck_assert_double_eq(counted(answers[_i].result), 1);
    status = 200;
    text = GOOD;
    ck_assert(is_answered());
}

static void fail_by(int kind)
{
    hangs = kind == 0;
    resets = kind == 1;
    status = kind == 2 ? 503 : kind == 3 ? 500 : 200;
    /* A patient one would wait for the hanging one for ever. */
    make(hangs ? IMPATIENT : PATIENT);
}

/* 0: hangs, 1: resets, 2: 503, 3: 500. The first one pays; nobody waits until a try is answered. */
TEST_TIMES(nobody_waits_twice, 4) {
    static const char *const reasons[] = {"no answer in time", "connection reset",
                                          "an answer of 5xx", "an answer of 5xx"};

    capture_log(0);
    fail_by(_i);
    ck_assert(!is_answered());
    turn();
    ck_assert_uint_eq(logged("The recommender does not answer"), 1);
    ck_assert_uint_eq(logged(reasons[_i]), 1);

    int before = served; /* a hanging one is given up, perhaps before it was sent */
    ck_assert_double_eq(counted("Failed"), 1);
    for (int i = 0; i < 3; i++)
        ck_assert(!ask_here());
    turn();
    ck_assert_int_eq(served, before);
    ck_assert_double_eq(counted("NotAsked"), 3);

    now += ADVISER_PAUSE;
    hangs = resets = false;
    status = 200;
    ck_assert(!ask_here()); /* the try: asked, and not waited for */
    ck_assert(!ask_here());
    turn();
    ck_assert_int_eq(served, before + 1);
    ck_assert_double_eq(counted("NotAsked"), 5);
    if (_i > 0) /* one millisecond may be too short for the answer */
        ck_assert(is_answered());
}

TEST(pauses_grow_while_it_is_away) {
    vpa_duration pause = ADVISER_PAUSE;

    fail_by(1);
    ck_assert(!is_answered());
    for (int tries = 1; tries <= 8; tries++) {
        now += pause - 1;
        ck_assert(!ask_here());
        turn();
        ck_assert_int_eq(served, tries);
        now += 1;
        ck_assert(!ask_here());
        turn();
        ck_assert_int_eq(served, tries + 1);
        pause = pause < ADVISER_PAUSE_MAX / 2 ? 2 * pause : ADVISER_PAUSE_MAX;
    }
    ck_assert_int_eq(pause, ADVISER_PAUSE_MAX);
}

/* teardown() frees it while questions are queued and under way. */
TEST(ends_with_questions_under_way) {
    fail_by(0);
    ck_assert(!is_answered());
    now += ADVISER_PAUSE;
    ck_assert(!ask_here());
}

/* Several at a time, and none of them twice. */
TEST(each_question_is_sent_once) {
    struct asker askers[3] = {{0}};

    hangs = true;
    make(PATIENT);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_create(&askers[i].thread, NULL, run_asker, &askers[i]), 0);
        while (served <= i)
            vpa_loop_poll(loop);
        turn();
        ck_assert_int_eq(served, i + 1);
    }
    adviser_stop(adviser);
    for (int i = 0; i < 3; i++) {
        pthread_join(askers[i].thread, NULL);
        vpa_arena_release(&askers[i].arena);
    }
}

/* So many may wait at once; a further one goes on with what is stored, and breaks nothing off. The
 * one that waited longest may be answered first, or last. */
TEST(only_so_many_wait_at_once) {
    struct asker askers[ADVISER_ASKED_MAX] = {{0}};

    hangs = true;
    make(2 * PATIENT);
    for (int i = 0; i < ADVISER_ASKED_MAX; i++) {
        ck_assert_int_eq(pthread_create(&askers[i].thread, NULL, run_asker, &askers[i]), 0);
        while (served <= i)
            vpa_loop_poll(loop);
    }
    ck_assert(!ask_here());
    ck_assert_double_eq(counted("Busy"), 1);
    ck_assert_double_eq(counted("NotAsked"), 0);
    turn();
    ck_assert_int_eq(served, ADVISER_ASKED_MAX);
    vpa_loop_pump(loop, VPA_HOUR);
    for (int i = 0; i < ADVISER_ASKED_MAX; i++) {
        pthread_join(askers[i].thread, NULL);
        ck_assert(askers[i].answered);
        vpa_arena_release(&askers[i].arena);
    }
    hangs = false;
    ck_assert(is_answered()); /* there is room again */
}

TEST(a_stop_ends_the_waiting) {
    struct asker asker = {0};

    hangs = true;
    make(PATIENT);
    ck_assert_int_eq(pthread_create(&asker.thread, NULL, run_asker, &asker), 0);
    while (served == 0)
        vpa_loop_poll(loop);
    adviser_stop(adviser);
    pthread_join(asker.thread, NULL);
    ck_assert(!asker.answered);
    ck_assert(!ask_here());
    ck_assert_int_eq(served, 1);
    vpa_arena_release(&asker.arena);
}

TEST(a_pod_that_is_too_long_is_not_asked_for) {
    size_t len = ADVISER_BODY_MAX + 16;
    char *pod = vpa_arena_alloc(&arena, len + 1);
    struct vpa_recommendation rec;

    make(PATIENT);
    memset(pod, 'x', len);
    memcpy(pod, "{\"a\":\"", 6);
    memcpy(pod + len - 2, "\"}", 3);
    ck_assert(!adviser_ask(adviser, &arena, "ns", objects_json(&arena, pod), &rec));
    ck_assert_double_eq(counted("TooLong"), 1);
    ck_assert_int_eq(served, 0);
}

int main(void)
{
    return run_tests("admission_adviser", setup, teardown);
}
