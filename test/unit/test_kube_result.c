/* What an answer that is no success means: its status, its code, and what may be done about it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "arena_fixture.h"
#include "suite.h"
#include "vpa/kube/client.h"

#define DEPLOYMENT "/apis/apps/v1/namespaces/ns/deployments/web"

/* ---- the code: what a caller can do ---- */

static const struct {
    int http;
    const char *reason; /* it decides where it is known */
    enum vpa_code code;
} codes[] = {
    {404, NULL, VPA_NOT_FOUND},
    {500, "NotFound", VPA_NOT_FOUND},
    {409, "", VPA_CONFLICT},
    {409, "AlreadyExists", VPA_CONFLICT},
    {500, "Conflict", VPA_CONFLICT},
    {410, NULL, VPA_GONE},
    {500, "Expired", VPA_GONE},
    {500, "Gone", VPA_GONE},
    {401, NULL, VPA_DENIED},
    {403, NULL, VPA_DENIED},
    {500, "Unauthorized", VPA_DENIED},
    {500, "Forbidden", VPA_DENIED},
    {429, NULL, VPA_RETRY},
    {499, NULL, VPA_INVALID},
    {500, NULL, VPA_RETRY},
    {503, NULL, VPA_RETRY},
    {400, "TooManyRequests", VPA_RETRY},
    {400, "InternalError", VPA_RETRY},
    {400, "ServiceUnavailable", VPA_RETRY},
    {400, "Timeout", VPA_RETRY},
    {400, "ServerTimeout", VPA_RETRY},
    {400, "Invalid", VPA_INVALID},
    {422, "Invalid", VPA_INVALID},
};

TEST_EACH(says_what_can_be_done, codes) {
    ck_assert_int_eq(vpa_kube_error_code(codes[_i].http, codes[_i].reason), codes[_i].code);
}

/* ---- questions ---- */

static const struct {
    int code;
    const char *reason;
    bool exists, expired;
} questions[] = {
    {409, "AlreadyExists", true, false}, {409, "Conflict", false, false}, {410, "", false, true},
    {500, "Expired", false, true},       {500, "Gone", false, true},      {500, "", false, false},
};

TEST_EACH(asks_by_reason_and_code, questions) {
    struct vpa_kube_status status = {.code = questions[_i].code, .reason = questions[_i].reason};

    ck_assert(vpa_kube_is_already_exists(&status) == questions[_i].exists);
    ck_assert(vpa_kube_is_expired(&status) == questions[_i].expired);
}

static const struct {
    int code;
    struct vpa_kube_status status;
    bool is_stale;
} answers[] = {
    {409, {.reason = "Conflict", .name = "p"}, true},
    {409, {.reason = "Conflict", .name = ""}, false},
    {409, {.reason = "AlreadyExists", .name = "p"}, false},
    {422, {.reason = "Invalid", .name = "", .has_details = true}, true},
    {422, {.reason = "Invalid", .name = ""}, false},
    {422, {.reason = "Invalid", .name = "p", .has_details = true}, false},
    {422, {.reason = "Invalid", .name = "", .has_details = true, .cause_count = 1}, false},
    {403, {.reason = "Forbidden", .name = "", .has_details = true}, false},
    {0, {.reason = "", .name = ""}, false},
};

TEST_EACH(tells_what_is_stale, answers) {
    struct vpa_kube_result result = {.status_code = answers[_i].code, .status = answers[_i].status};

    ck_assert(vpa_kube_is_stale(&result) == answers[_i].is_stale);
}

static const struct {
    enum vpa_transport_failure failure;
    int code;
    const char *reason;
    int in_details, in_header; /* suggested seconds */
    bool worth;
} attempts[] = {
    {VPA_TRANSPORT_RESET, 0, "", 0, -1, true},
    {VPA_TRANSPORT_EOF, 0, "", 0, -1, true},
    {VPA_TRANSPORT_TIMEOUT, 0, "", 0, -1, true},
    {VPA_TRANSPORT_TLS, 0, "", 0, -1, false},
    {VPA_TRANSPORT_REFUSED, 500, "", 0, -1, false}, /* the code of nobody's answer */
    {VPA_TRANSPORT_OK, 500, "", 0, -1, true},
    {VPA_TRANSPORT_OK, 500, "Unknown", 0, -1, false},
    {VPA_TRANSPORT_OK, 400, "InternalError", 0, -1, true},
    {VPA_TRANSPORT_OK, 504, "", 0, -1, true},
    {VPA_TRANSPORT_OK, 400, "Timeout", 0, -1, true},
    {VPA_TRANSPORT_OK, 400, "ServerTimeout", 0, -1, true},
    {VPA_TRANSPORT_OK, 400, "TooManyRequests", 0, -1, true},
    {VPA_TRANSPORT_OK, 429, "", 0, -1, true},
    {VPA_TRANSPORT_OK, 429, "Other", 0, -1, true},
    {VPA_TRANSPORT_OK, 503, "", 0, -1, false},
    {VPA_TRANSPORT_OK, 503, "", 1, -1, true},
    {VPA_TRANSPORT_OK, 503, "", 0, 1, true},
    {VPA_TRANSPORT_OK, 503, "", 0, 0, false},
    {VPA_TRANSPORT_OK, 404, "NotFound", 0, -1, false},
};

TEST_EACH(knows_what_to_try_again, attempts) {
    struct vpa_kube_result result = {
        .failure = attempts[_i].failure,
        .status = {.code = attempts[_i].code,
                   .reason = attempts[_i].reason,
                   .retry_after_seconds = attempts[_i].in_details},
        .retry_after = attempts[_i].in_header,
    };

    ck_assert(vpa_kube_is_retryable(&result) == attempts[_i].worth);
}

/* ---- the status ---- */

static struct vpa_kube_status decode(enum vpa_kube_verb verb, const char *path, int code,
                                     const char *body)
{
    struct vpa_kube_status status;

    vpa_kube_status_decode(&arena, verb, path, code, body, strlen(body), &status);
    return status;
}

static const struct {
    enum vpa_kube_verb verb;
    const char *path;
    int code;
    const char *body, *reason, *message;
} generic[] = {
    {VPA_KUBE_GET, DEPLOYMENT, 404, "nothing here", "NotFound",
     "the server could not find the requested resource (get deployments.apps web)"},
    {VPA_KUBE_GET, "/api/v1/namespaces/ns/pods?limit=5", 403, " no \n", "Forbidden",
     "no (get pods)"},
    {VPA_KUBE_CREATE, "/api/v1/namespaces/ns/pods", 409, "x", "AlreadyExists",
     "the server reported a conflict (post pods)"},
    {VPA_KUBE_DELETE, "/api/v1/nodes/n", 409, "x", "Conflict",
     "the server reported a conflict (delete nodes n)"},
    {VPA_KUBE_GET, DEPLOYMENT "/scale", 404, "x", "NotFound",
     "the server could not find the requested resource (get deployments web)"},
    {VPA_KUBE_GET, DEPLOYMENT "/status/a/b/c/d/e/f/g/h", 404, "x", "NotFound",
     "the server could not find the requested resource (get deployments.apps web)"},
    {VPA_KUBE_GET, "/apis/apps/v1/deployments", 406, "how", "NotAcceptable",
     "how (get deployments.apps)"},
    {VPA_KUBE_GET, "/api/v1/namespaces/ns", 404, "", "NotFound",
     "the server could not find the requested resource (get namespaces ns)"},
    {VPA_KUBE_CREATE, "/api/v1/namespaces/ns/pods", 400, "x", "BadRequest",
     "the server rejected our request for an unknown reason (post pods)"},
    {VPA_KUBE_GET, "/readyz", 504, "x", "Timeout",
     "the server was unable to return a response in the time allotted, but may still be processing "
     "the request"},
    {VPA_KUBE_GET, "/readyz", 500, "a \"b\"", "InternalError",
     "an error on the server (\"a \\\"b\\\"\") has prevented the request from succeeding"},
    {VPA_KUBE_GET, "/readyz", 503, "x", "ServiceUnavailable",
     "the server is currently unable to handle the request"},
    {VPA_KUBE_GET, "/readyz", 418, "x", "",
     "the server responded with the status code 418 but did not return more information"},
    {VPA_KUBE_GET, "/readyz", 502, "", "InternalError",
     "an error on the server (\"unknown\") has prevented the request from succeeding"},
};

TEST_EACH(makes_a_status_of_any_text, generic) {
    struct vpa_kube_status status =
        decode(generic[_i].verb, generic[_i].path, generic[_i].code, generic[_i].body);

    ck_assert_int_eq(status.code, generic[_i].code);
    ck_assert_str_eq(status.reason, generic[_i].reason);
    ck_assert_str_eq(status.message, generic[_i].message);
    ck_assert_uint_eq(status.cause_count, 1);
    ck_assert_str_eq(status.causes[0].reason, "UnexpectedServerResponse");
    ck_assert(vpa_kube_has_cause(&status, "UnexpectedServerResponse"));
    ck_assert(!vpa_kube_has_cause(&status, "Other"));
    ck_assert(!status.has_details);
}

TEST(keeps_the_status_of_the_server) {
    struct vpa_kube_status status =
        decode(VPA_KUBE_GET, DEPLOYMENT, 500,
               "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"code\":422,"
               "\"message\":\"bad\","
               "\"details\":{\"name\":\"w\",\"group\":\"apps\",\"kind\":\"deployments\",\"uid\":"
               "\"u\",\"causes\":[{\"reason\":\"A\"},{\"reason\":\"B\",\"field\":\"f\"}]}}");

    ck_assert_int_eq(status.code, 422);
    ck_assert_str_eq(status.reason, "Invalid");
    ck_assert_str_eq(status.message, "bad");
    ck_assert_str_eq(status.name, "w");
    ck_assert_str_eq(status.group, "apps");
    ck_assert_str_eq(status.kind, "deployments");
    ck_assert_str_eq(status.uid, "u");
    ck_assert(status.has_details);
    ck_assert_uint_eq(status.cause_count, 2);
    ck_assert(vpa_kube_has_cause(&status, "B"));
    ck_assert_str_eq(status.causes[1].field, "f");
}

/* Without a code or a message of its own; a success that came with a failure's code is none. */
TEST(fills_what_the_server_left_out) {
    struct vpa_kube_status status =
        decode(VPA_KUBE_GET, DEPLOYMENT, 409,
               "{\"kind\":\"Status\",\"status\":\"Failure\",\"details\":{}}");

    ck_assert_int_eq(status.code, 409);
    ck_assert_str_eq(status.message, "unknown");
    ck_assert_str_eq(status.reason, "");
    ck_assert(status.has_details);
    ck_assert_uint_eq(status.cause_count, 0);
    status = decode(VPA_KUBE_GET, DEPLOYMENT, 409, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    ck_assert_str_eq(status.reason, "Conflict");
}

/* What a proxy says may be a page: the first 2 KiB of it are told. */
TEST(long_texts_are_cut) {
    char *text = malloc(5000);

    memset(text, 'x', 4999);
    text[4999] = '\0';
    struct vpa_kube_status status = decode(VPA_KUBE_GET, "/readyz", 403, text);
    ck_assert_uint_eq(strlen(status.message), 2048);
    free(text);
}

int main(void)
{
    return run_tests("kube_result", setup, teardown);
}
