/* Kubernetes client over the in-memory transport: which request is sent, when, and which again. */
#include "scripted_client.h"

static const struct {
    const char *name;
    enum vpa_kube_verb verb;
    int status, retry_after;
    enum vpa_transport_failure failure;
    int until;
    int want_requests; /* 0 with rc 0: just one more than until */
    int64_t want_seconds;
    int rc;
    int max_age; /* seconds */
} repeats[] = {
    {"429 with Retry-After", VPA_KUBE_CREATE, 429, 3, 0, 2, 3, 6, 0},
    {"503 with Retry-After", VPA_KUBE_GET, 503, 1, 0, 1, 2, 1, 0},
    {"500 with Retry-After 0", VPA_KUBE_UPDATE, 500, 0, 0, 1, 2, 0, 0},
    {"503 without", VPA_KUBE_GET, 503, -1, 0, 100, 1, 0, -1},
    {"a longer pause is cut to a minute", VPA_KUBE_GET, 503, 86400, 0, 1, 2, 60, 0},
    {"two minutes of pauses altogether", VPA_KUBE_GET, 503, 50, 0, 100, 3, 100, -1},
    {"no pause beyond the call's time", VPA_KUBE_CREATE, 429, 3, 0, 100, 1, 0, -1, 3},
    {"pauses within the call's time", VPA_KUBE_CREATE, 429, 3, 0, 100, 4, 9, -1, 10},
    {"404 with Retry-After is final", VPA_KUBE_GET, 404, 1, 0, 100, 1, 0, -1},
    {"ten repeats at most", VPA_KUBE_GET, 429, 2, 0, 100, 11, 20, -1},
    {"reset on a read", VPA_KUBE_GET, 0, -1, VPA_TRANSPORT_RESET, 2, 3, 2, 0},
    {"EOF on a list", VPA_KUBE_LIST, 0, -1, VPA_TRANSPORT_EOF, 1, 2, 1, 0},
    {"reset on a write", VPA_KUBE_CREATE, 0, -1, VPA_TRANSPORT_RESET, 100, 1, 0, -1},
    {"refused", VPA_KUBE_GET, 0, -1, VPA_TRANSPORT_REFUSED, 100, 1, 0, -1},
};

/* Which lost connections are tried again once, after a second: those of reads; a watch also after a
 * time-out. Nothing of a write that may have happened. */
TEST_RANGE(repeats_after_lost_connections, VPA_TRANSPORT_REFUSED, VPA_TRANSPORT_STOPPED) {
    static const enum vpa_kube_verb verbs_tried[] = {VPA_KUBE_GET, VPA_KUBE_LIST, VPA_KUBE_WATCH,
                                                     VPA_KUBE_CREATE, VPA_KUBE_DELETE};
    enum vpa_transport_failure failure = (enum vpa_transport_failure)_i;

    for (size_t i = 0; i < VPA_COUNT(verbs_tried); i++) {
        enum vpa_kube_verb verb = verbs_tried[i];
        const struct vpa_kube_call call = {.verb = verb, .path = "/api/v1/x"};
        bool lost = failure == VPA_TRANSPORT_RESET || failure == VPA_TRANSPORT_EOF;
        bool again =
            i < 3 && (lost || (verb == VPA_KUBE_WATCH && failure == VPA_TRANSPORT_TIMEOUT));
        int64_t begin = vpa_loop_monotonic(loop);
        struct vpa_error err;

        seen = 0;
        script.failure = failure;
        script.until = 1;
        ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), again ? 0 : -1);
        ck_assert_int_eq(seen, again ? 2 : 1);
        ck_assert(vpa_loop_monotonic(loop) - begin == (again ? VPA_SECOND : 0));
    }
}

/* Which answers with Retry-After are: 429 and all from 500 on. */
static const struct {
    int status;
    bool again;
} asking[] = {{400, false}, {428, false}, {429, true}, {430, false}, {499, false},
              {500, true},  {501, true},  {503, true}, {599, true}};
TEST_EACH(repeats_when_asked_to, asking) {
    const struct vpa_kube_call call = {.verb = VPA_KUBE_CREATE, .path = "/api/v1/x"};
    struct vpa_error err;

    script.status = asking[_i].status;
    script.message = "scripted";
    script.retry_after = 7;
    script.until = 1;
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), asking[_i].again ? 0 : -1);
    ck_assert_int_eq(seen, asking[_i].again ? 2 : 1);
    ck_assert(vpa_loop_monotonic(loop) == (asking[_i].again ? 7 * VPA_SECOND : 0));
    ck_assert_uint_eq(vpa_kube_client_in_flight(client), 0);
}

TEST_EACH(repeats_requests, repeats) {
    const struct vpa_kube_call call = {
        .verb = repeats[_i].verb, .path = "/api/v1/x", .max_age = repeats[_i].max_age * VPA_SECOND};
    struct vpa_error err;

    script.status = repeats[_i].status;
    script.message = repeats[_i].status ? "scripted" : NULL;
    script.retry_after = repeats[_i].retry_after;
    script.failure = repeats[_i].failure;
    script.until = repeats[_i].until;
    ck_assert_msg(vpa_kube_do(client, &call, NULL, NULL, &err) == repeats[_i].rc, "%s",
                  repeats[_i].name);
    ck_assert_msg(seen == repeats[_i].want_requests, "%s: %d requests", repeats[_i].name, seen);
    ck_assert_msg(vpa_loop_monotonic(loop) == repeats[_i].want_seconds * VPA_SECOND, "%s: %f s",
                  repeats[_i].name, (double)vpa_loop_monotonic(loop) / 1e9);
    if (repeats[_i].rc < 0 && (repeats[_i].failure || repeats[_i].max_age))
        ck_assert_int_eq(err.code, VPA_RETRY);
    ck_assert_int_eq(answered + unanswered, seen);
    if (repeats[_i].failure)
        ck_assert_int_eq(unanswered, repeats[_i].rc < 0 ? seen : seen - 1);
    else
        ck_assert_int_eq(unanswered, 0);
}

static bool is_first(void *ctx)
{
    (void)ctx;
    return seen == 0;
}

/* What the last answer says of a change holds for the last try alone. */
static const struct {
    enum vpa_kube_verb verb;
    int status;
    const char *reason;
    int then;
    bool one_try, only_asks;
    bool unanswered;
} tries[] = {
    {VPA_KUBE_CREATE, 504, "Timeout", 404, false, false, true},
    {VPA_KUBE_PATCH_JSON, 502, "", 422, false, false, true},
    {VPA_KUBE_CREATE, 500, "", 409, false, false, true},
    {VPA_KUBE_CREATE, 504, "Timeout", 0, true, false, true},
    {VPA_KUBE_CREATE, 504, "Timeout", 504, false, false, true},
    {VPA_KUBE_CREATE, 500, "InternalError", 409, false, false, false},
    {VPA_KUBE_CREATE, 503, "ServiceUnavailable", 404, false, false, false},
    {VPA_KUBE_CREATE, 429, "TooManyRequests", 404, false, false, false},
    {VPA_KUBE_CREATE, 504, "Timeout", 404, false, true, false},
    {VPA_KUBE_GET, 504, "Timeout", 404, false, false, false},
    {VPA_KUBE_CREATE, 504, "Timeout", 0, false, false, false}, /* it is done in the end */
};

TEST_EACH(an_earlier_try_may_have_been_carried_out, tries) {
    const struct vpa_kube_call call = {.verb = tries[_i].verb,
                                       .path = "/api/v1/x",
                                       .only_asks = tries[_i].only_asks,
                                       .wanted = tries[_i].one_try ? is_first : NULL};
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result;
    struct vpa_error err;
    bool good = !tries[_i].then && !tries[_i].one_try;

    script.status = tries[_i].status;
    script.reason = tries[_i].reason;
    script.message = "scripted";
    script.retry_after = 1;
    script.until = 1;
    script.then = tries[_i].then;
    ck_assert_int_eq(vpa_kube_do(client, &call, &arena, &result, &err), good ? 0 : -1);
    ck_assert_int_eq(seen, tries[_i].one_try ? 1 : 2);
    ck_assert_int_eq(result.unanswered, tries[_i].unanswered);
}

TEST(times_out) {
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_UPDATE, .path = "/x", .timeout = 10 * VPA_SECOND};
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result;
    struct vpa_error err;

    script.delay = 12 * VPA_SECOND;
    ck_assert_int_eq(vpa_kube_do(client, &call, &arena, &result, &err), -1);
    ck_assert_int_eq(err.code, VPA_RETRY);
    ck_assert_int_eq(result.failure, VPA_TRANSPORT_TIMEOUT);
    ck_assert(vpa_kube_is_retryable(&result));
    ck_assert_ptr_nonnull(strstr(err.text, "PUT /x: timeout"));
    ck_assert(vpa_loop_monotonic(loop) == 10 * VPA_SECOND);
}

TEST(an_attempt_ends_with_the_calls_time) {
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_UPDATE, .path = "/x", .max_age = 5 * VPA_SECOND};
    struct vpa_error err;

    script.delay = 12 * VPA_SECOND;
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "PUT /x: timeout"));
    ck_assert(vpa_loop_monotonic(loop) == 5 * VPA_SECOND);
}

TEST(a_call_that_would_wait_too_long_takes_no_token) {
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_CREATE, .path = "/x?y", .max_age = 1500 * VPA_MILLISECOND};
    int done = 0;

    make_client(1, 1);
    for (int i = 0; i < 10; i++)
        vpa_kube_start(client, &call, keep_err, &done);
    vpa_loop_poll(loop);
    ck_assert_int_eq(done, 9); /* one was sent, one waits */
    ck_assert_int_eq(last_err.code, VPA_CANCELLED);
    ck_assert_str_eq(last_err.text,
                     "POST /x: not sent: the rate limit would hold it longer than it may wait");
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(done, 10);
    ck_assert_int_eq(seen, 2);
    vpa_loop_pump(loop, VPA_SECOND); /* the tokens of those that were dropped are there */
    vpa_kube_start(client, &call, keep_err, &done);
    ck_assert_int_eq(seen, 3);
}

/* The process stands still and wakes: timers run late. */
static void stand_still(void *ctx)
{
    (void)ctx;
    vpa_clock_advance(clk, 40 * VPA_SECOND);
}

TEST_TIMES(an_old_decision_is_never_sent, 2) {
    const struct vpa_kube_call call = {
        .verb = _i ? VPA_KUBE_CREATE : VPA_KUBE_GET, .path = "/x?y", .max_age = 30 * VPA_SECOND};
    int done = 0;

    make_client(1, 1);
    vpa_kube_start(client, &call, keep_err, &done);
    vpa_kube_start(client, &call, keep_err, &done);
    vpa_loop_post(loop, stand_still, NULL);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(done, 2);
    ck_assert_int_eq(seen, 1);
    ck_assert_int_eq(last_err.code, VPA_CANCELLED);
    ck_assert_str_eq(last_err.text, _i ? "POST /x: not sent: what it rests on is older than 30s"
                                       : "GET /x: not sent: what it rests on is older than 30s");
}

TEST_TIMES(says_what_may_be_sent_again, 2) {
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_PATCH_JSON, .path = "/x", .repeatable = _i == 1};

    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, NULL), 0);
    ck_assert_int_eq(last_repeatable, _i == 1);
}

static int done_count;

static void on_done(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    (void)ctx;
    (void)result;
    ck_assert_ptr_null(err);
    done_count++;
}

static bool all_done(void *ctx)
{
    return done_count == *(int *)ctx;
}

TEST(limits_the_rate) {
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/x"};
    const struct vpa_kube_call free_call = {.verb = VPA_KUBE_GET, .path = "/x", .unlimited = true};
    int want = 21;

    make_client(10, 5);
    done_count = 0;
    for (int i = 0; i < 20; i++)
        vpa_kube_start(client, &call, on_done, NULL);
    vpa_kube_start(client, &free_call, on_done, NULL);
    ck_assert_int_eq(seen, 6);
    ck_assert_int_eq(vpa_loop_wait(loop, all_done, &want, VPA_HOUR, NULL), 0);
    ck_assert(vpa_loop_monotonic(loop) == 1500 * VPA_MILLISECOND);
    ck_assert(seen_at[20] - seen_at[19] == 100 * VPA_MILLISECOND);
}

/* A repetition takes its token once, when its pause is over: one comes every two seconds. */
TEST(a_repetition_takes_one_token) {
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/x"};
    struct vpa_error err;

    make_client(0.5, 1);
    script.status = 503;
    script.message = "scripted";
    script.retry_after = 1;
    script.until = 2;
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), 0);
    ck_assert_int_eq(seen, 3);
    ck_assert(seen_at[1] == 2 * VPA_SECOND);
    ck_assert(seen_at[2] == 4 * VPA_SECOND);
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), 0);
    ck_assert(seen_at[3] == 6 * VPA_SECOND);
}

int main(void)
{
    return run_tests("client_tries", setup, teardown);
}
