/*
 * Whether a caller may ask: what the API server's answers are taken for, and how many are
 * remembered. It is simulated; who asks runs on a thread of its own while the loop turns here.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../../recommender/access.h"
#include "captured_log.h"
#include "client_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"

static struct access *access_;

static size_t reviews(void)
{
    return sim_cluster_asked(sim, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews");
}

static void answer_reviews(int code, const char *body)
{
    sim_cluster_answer(sim, &(struct sim_answer){.method = "POST",
                                                 .path = "/subjectaccessreviews",
                                                 .code = code,
                                                 .body = body,
                                                 .message = "refused"});
}

static void setup(void)
{
    start_client(NULL, 1780000000, 1);
    access_ = access_new(loop, client);
}

static void teardown(void)
{
    access_free(access_);
    access_free(NULL);
    stop_client();
}

/* Who asks in so many namespaces, from the first on. */
struct asker {
    pthread_t thread;
    atomic_bool over;
    int first, count;
    enum access_verdict last;
};

static void *run_asker(void *ctx)
{
    static const struct caller caller = {.user = "alice", .uid = ""};
    struct asker *asker = ctx;
    char ns[16];

    for (int i = 0; i < asker->count; i++) {
        snprintf(ns, sizeof(ns), "n%d", asker->first + i);
        asker->last = access_ask(access_, &caller, ns);
    }
    atomic_store(&asker->over, true);
    return NULL;
}

static enum access_verdict ask(int first, int count)
{
    struct asker asker = {.first = first, .count = count};

    ck_assert_int_eq(pthread_create(&asker.thread, NULL, run_asker, &asker), 0);
    while (!atomic_load(&asker.over))
        vpa_loop_poll(loop);
    pthread_join(asker.thread, NULL);
    return asker.last;
}

static const struct {
    int status;
    const char *answer;
    enum access_verdict verdict;
} answers[] = {
    {201, "{\"status\":{\"allowed\":true}}", ACCESS_ALLOWED},
    {201, "{\"status\":{\"allowed\":true,\"denied\":false}}", ACCESS_ALLOWED},
    {201, "{\"status\":{\"allowed\":false}}", ACCESS_DENIED},
    {201, "{\"status\":{\"allowed\":true,\"denied\":true}}", ACCESS_DENIED},
    {201, "{\"status\":{\"allowed\":false,\"denied\":true}}", ACCESS_DENIED},
    {201, "{\"status\":{}}", ACCESS_UNKNOWN},
    {201, "{\"status\":{\"allowed\":\"true\"}}", ACCESS_UNKNOWN},
    {201, "{", ACCESS_UNKNOWN},
    {403, NULL, ACCESS_UNKNOWN},
    {500, NULL, ACCESS_UNKNOWN},
};

/* What says something is remembered, what does not is asked again; its failure is told once. */
TEST_EACH(answers_are_taken_for_what_they_say, answers) {
    bool known = answers[_i].verdict != ACCESS_UNKNOWN;

    capture_log(0);
    answer_reviews(answers[_i].status, answers[_i].answer);
    for (size_t i = 1; i <= 3; i++) {
        ck_assert_int_eq(ask(1, 1), answers[_i].verdict);
        ck_assert_uint_eq(reviews(), known ? 1 : i);
    }
    ck_assert_uint_eq(logged("Cannot ask whether a recommendation query is allowed"),
                      answers[_i].status >= 400 ? 1 : 0);
}

/* Each namespace is a question of its own; of so many answers the next question forgets all. */
TEST(answers_are_bounded) {
    ck_assert_int_eq(ask(0, ACCESS_ANSWERS_MAX), ACCESS_ALLOWED);
    ck_assert_uint_eq(reviews(), ACCESS_ANSWERS_MAX);
    ck_assert_int_eq(ask(0, ACCESS_ANSWERS_MAX), ACCESS_ALLOWED);
    ck_assert_uint_eq(reviews(), ACCESS_ANSWERS_MAX);
    ck_assert_int_eq(ask(ACCESS_ANSWERS_MAX, 1), ACCESS_ALLOWED);
    ck_assert_uint_eq(reviews(), ACCESS_ANSWERS_MAX + 1);
    ck_assert_int_eq(ask(ACCESS_ANSWERS_MAX, 1), ACCESS_ALLOWED);
    ck_assert_uint_eq(reviews(), ACCESS_ANSWERS_MAX + 1);
    ck_assert_int_eq(ask(0, 1), ACCESS_ALLOWED);
    ck_assert_uint_eq(reviews(), ACCESS_ANSWERS_MAX + 2);
}

/* A stop says nothing of whoever waits, and waits for nobody. */
TEST(a_stop_answers_nobody) {
    struct asker asker = {.first = 1, .count = 1, .last = ACCESS_ALLOWED};

    access_stop(access_);
    run_asker(&asker); /* the loop does not turn meanwhile */
    ck_assert_int_eq(asker.last, ACCESS_UNKNOWN);
    ck_assert_uint_eq(reviews(), 0);
}

/* What is too long is no question. */
TEST(questions_are_bounded) {
    vpa_auto_free char *user = vpa_xcalloc(1, ACCESS_QUESTION_MAX + 1);
    struct caller caller = {.user = user, .uid = ""};

    memset(user, 'x', ACCESS_QUESTION_MAX);
    ck_assert_int_eq(access_ask(access_, &caller, "n"), ACCESS_UNKNOWN);
    ck_assert_uint_eq(reviews(), 0);
}

/* The whole question; values of one key stand together, whatever stood between them. */
#define REVIEW(spec)                                                                               \
    "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{" spec \
    ",\"resourceAttributes\":{\"namespace\":\"ns\",\"verb\":\"create\",\"group\":"                 \
    "\"recommendation.autoscaling.k8s.io\",\"version\":\"v1alpha1\",\"resource\":"                 \
    "\"recommendationqueries\"}}}"

TEST(the_question_says_all_of_the_caller) {
    const char *groups[] = {"g", "h"};
    struct caller_extra extras[] = {{"k", "1"}, {"l", "2"}, {"k", "3"}, {"m", "4"}, {"l", "5"}};
    struct caller caller = {.user = "alice",
                            .uid = "7",
                            .groups = groups,
                            .group_count = VPA_COUNT(groups),
                            .extras = extras,
                            .extra_count = VPA_COUNT(extras)};
    vpa_auto_buf text = VPA_BUF(4096);

    access_encode(&caller, "ns", &text);
    ck_assert_str_eq(vpa_buf_text(&text),
                     REVIEW("\"user\":\"alice\",\"uid\":\"7\",\"groups\":[\"g\",\"h\"],\"extra\":{"
                            "\"k\":[\"1\",\"3\"],\"l\":[\"2\",\"5\"],\"m\":[\"4\"]}"));
    vpa_buf_clear(&text);
    access_encode(&(struct caller){.user = "bob", .uid = ""}, "ns", &text);
    ck_assert_str_eq(vpa_buf_text(&text), REVIEW("\"user\":\"bob\",\"groups\":[]"));
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* It is a question in the form of a write: a standby may ask it, and a shadow means it. */
TEST_TIMES(who_may_not_write_may_ask, 2) {
    struct vpa_error err;
    struct vpa_kube_client *reader =
        vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = loop,
                                                              .transport = transport,
                                                              .random = &rnd,
                                                              .user_agent = "test",
                                                              .qps = -1,
                                                              .may_write = never,
                                                              .dry_run = _i == 1},
                            &err);
    struct access *usual = access_;

    access_ = access_new(loop, reader);
    ck_assert_int_eq(ask(1, 1), ACCESS_ALLOWED);
    ck_assert_uint_eq(reviews(), 1);
    access_free(access_);
    vpa_kube_client_free(reader);
    access_ = usual;
}

int main(void)
{
    return run_tests_within(60, "recommender_access", setup, teardown);
}
