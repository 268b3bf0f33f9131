/* AdmissionReviews, statuses, base64. */
#include "json_helper.h"

#include "vpa/api/review.h"

static const char full[] =
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
    "v1\",\"request\":{\"uid\":\"u\","
    "\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"resource\":{\"group\":\"g\","
    "\"version\":\"v1\",\"resource\":\"pods\"},\"requestKind\":{\"kind\":\"K\"},\"name\":\"n\","
    "\"namespace\":\"ns\",\"operation\":\"CREATE\",\"userInfo\":{\"username\":\"me\",\"groups\":"
    "[\"a\",null],\"extra\":{\"k\":[\"v\"],\"l\":null}},\"object\":{\"a\":1},\"oldObject\":null,"
    "\"dryRun\":false}}";

TEST(decodes) {
    struct vpa_review_request request;
    struct vpa_error err;

    ck_assert_int_eq(vpa_review_decode(json_of(full), &request, &err), 0);
    ck_assert_str_eq(request.uid, "u");
    ck_assert_str_eq(request.group, "g");
    ck_assert_str_eq(request.version, "v1");
    ck_assert_str_eq(request.resource, "pods");
    ck_assert_str_eq(request.request_kind, "K");
    ck_assert_str_eq(request.name, "n");
    ck_assert_str_eq(request.ns, "ns");
    ck_assert_str_eq(request.operation, "CREATE");
    ck_assert_str_eq(text_of(request.object), "{\"a\":1}");
    ck_assert_ptr_null(request.old_object);
    ck_assert(!request.dry_run);
    ck_assert_int_eq(vpa_review_decode(json_of("{\"request\":{\"dryRun\":true}}"), &request, &err),
                     0);
    ck_assert(request.dry_run);
    ck_assert_int_eq(vpa_review_decode(json_of("{\"request\":{}}"), &request, &err), 0);
    ck_assert(!request.dry_run);
    ck_assert_str_eq(request.uid, "");
    ck_assert_str_eq(request.request_kind, "");
    ck_assert_ptr_null(request.object);
}

static const struct {
    const char *text;
    enum vpa_code code;
} bad[] = {
    {"null", VPA_NOT_FOUND},
    {"{}", VPA_NOT_FOUND},
    {"{\"request\":null}", VPA_NOT_FOUND},
    {"[]", VPA_INVALID},
    {"{\"kind\":5}", VPA_INVALID},
    {"{\"request\":5}", VPA_INVALID},
    {"{\"request\":{\"uid\":5}}", VPA_INVALID},
    {"{\"request\":{\"operation\":5}}", VPA_INVALID},
    {"{\"request\":{\"resource\":\"pods\"}}", VPA_INVALID},
    {"{\"request\":{\"kind\":{\"group\":1}}}", VPA_INVALID},
    {"{\"request\":{\"dryRun\":\"no\"}}", VPA_INVALID},
    {"{\"request\":{\"userInfo\":{\"groups\":\"a\"}}}", VPA_INVALID},
    {"{\"request\":{\"userInfo\":{\"groups\":[1]}}}", VPA_INVALID},
    {"{\"request\":{\"userInfo\":{\"extra\":[]}}}", VPA_INVALID},
    {"{\"request\":{\"userInfo\":{\"extra\":{\"a\":\"b\"}}}}", VPA_INVALID},
    {"{\"request\":{\"subResource\":{}}}", VPA_INVALID},
    {"{\"request\":{},\"response\":5}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"uid\":5}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"patchType\":[]}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"allowed\":\"yes\"}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"patch\":5}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"patch\":\"!\"}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"warnings\":5}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"status\":5}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"status\":{\"code\":\"5\"}}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"status\":{\"kind\":5}}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"status\":{\"metadata\":{\"continue\":5}}}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"status\":{\"metadata\":{\"remainingItemCount\":\"5\"}}}}",
     VPA_INVALID},
    {"{\"request\":{},\"response\":{\"status\":{\"details\":{\"causes\":[{\"field\":5}]}}}}",
     VPA_INVALID},
    {"{\"request\":{},\"response\":{\"status\":{\"details\":{\"retryAfterSeconds\":\"\"}}}}",
     VPA_INVALID},
    {"{\"request\":{},\"response\":{\"auditAnnotations\":[]}}", VPA_INVALID},
    {"{\"request\":{},\"response\":{\"auditAnnotations\":{\"a\":5}}}", VPA_INVALID},
};

TEST_EACH(refuses, bad) {
    struct vpa_review_request request;
    struct vpa_error err;

    ck_assert_int_lt(vpa_review_decode(json_of(bad[_i].text), &request, &err), 0);
    ck_assert_int_eq(err.code, bad[_i].code);
}

TEST(ignores_a_good_response) {
    struct vpa_review_request request;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_review_decode(json_of("{\"request\":{\"uid\":\"u\"},\"response\":{\"uid\":\"x\","
                                  "\"allowed\":true,\"patch\":\"W10=\",\"patchType\":null,"
                                  "\"status\":{\"metadata\":{},\"code\":4,\"details\":null},"
                                  "\"auditAnnotations\":{\"a\":\"b\"},\"warnings\":[\"w\"]}}"),
                          &request, &err),
        0);
    ck_assert_str_eq(request.uid, "u");
    ck_assert_int_eq(vpa_review_decode(json_of("{\"request\":{},\"response\":{}}"), &request, &err),
                     0);
}

TEST(encodes) {
    static const char *const warnings[] = {"w<1>", "w2"};
    const struct vpa_status_cause causes[] = {{"R", "M", "F"}, {"", "", ""}};
    const struct vpa_status status = {.status = "Failure",
                                      .message = "no",
                                      .reason = "Invalid",
                                      .code = 422,
                                      .has_details = true,
                                      .details_name = "n",
                                      .details_group = "g",
                                      .details_kind = "",
                                      .details_uid = "",
                                      .causes = causes,
                                      .cause_count = 2};
    struct vpa_buf buf;

    vpa_buf_init(&buf, 4096);
    vpa_review_encode(&buf, &(struct vpa_review_response){.uid = "u", .allowed = true});
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
                     "\"response\":{\"uid\":\"u\",\"allowed\":true}}");
    vpa_buf_clear(&buf);
    vpa_review_encode(&buf, &(struct vpa_review_response){.allowed = true,
                                                          .patch = "[]",
                                                          .patch_len = 2,
                                                          .warnings = warnings,
                                                          .warning_count = 2});
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
                     "\"response\":{\"uid\":\"\",\"allowed\":true,\"patch\":\"W10=\","
                     "\"patchType\":\"JSONPatch\",\"warnings\":[\"w\\u003c1\\u003e\",\"w2\"]}}");
    vpa_buf_clear(&buf);
    vpa_review_encode(&buf, &(struct vpa_review_response){.uid = "u", .status = &status});
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
                     "\"response\":{\"uid\":\"u\",\"allowed\":false,\"status\":{\"metadata\":{},"
                     "\"status\":\"Failure\",\"message\":\"no\",\"reason\":\"Invalid\",\"details\":"
                     "{\"name\":\"n\",\"group\":\"g\",\"causes\":[{\"reason\":\"R\",\"message\":"
                     "\"M\",\"field\":\"F\"},{}]},\"code\":422}}}");
    vpa_buf_release(&buf);
}

TEST(statuses_round_trip) {
    const char *text =
        "{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"m\",\"reason\":\"TooManyRequests\",\"details\":{\"name\":\"n\",\"group\":"
        "\"g\",\"kind\":\"k\",\"uid\":\"u\",\"causes\":[{\"reason\":\"r\",\"message\":\"x\","
        "\"field\":\"f\"}],\"retryAfterSeconds\":3},\"code\":429}";
    struct vpa_status status;
    struct vpa_error err;
    struct vpa_json_writer w;
    struct vpa_buf buf;

    ck_assert_int_eq(vpa_status_decode(&arena, json_of(text), &status, &err), 0);
    ck_assert(status.code == 429 && status.retry_after_seconds == 3 && status.cause_count == 1);
    vpa_buf_init(&buf, 4096);
    vpa_json_writer_init(&w, &buf);
    vpa_status_encode(&w, &status);
    ck_assert_str_eq(vpa_buf_text(&buf) + 1, text + strlen("{\"kind\":\"Status\","));
    vpa_buf_clear(&buf);
    ck_assert_int_eq(vpa_status_decode(&arena, json_of("{\"kind\":\"Status\"}"), &status, &err), 0);
    vpa_json_writer_init(&w, &buf);
    vpa_status_encode(&w, &status);
    ck_assert_str_eq(vpa_buf_text(&buf), "{\"metadata\":{}}");
    vpa_buf_release(&buf);
    ck_assert_int_lt(vpa_status_decode(&arena, json_of("{\"kind\":\"Pod\"}"), &status, &err), 0);
    ck_assert_int_lt(vpa_status_decode(&arena, json_of("{}"), &status, &err), 0);
    ck_assert_int_lt(
        vpa_status_decode(&arena, json_of("{\"kind\":\"Status\",\"code\":\"x\"}"), &status, &err),
        0);
}

static const struct {
    const char *plain, *encoded;
} pairs[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xff\xfe\xfd", "//79"},
    {"\xfb\xef\xbe", "++++"},
};

TEST_EACH(base64_both_ways, pairs) {
    struct vpa_buf buf;
    struct vpa_error err;

    vpa_buf_init(&buf, 100);
    vpa_base64_encode(&buf, pairs[_i].plain, strlen(pairs[_i].plain));
    ck_assert_str_eq(vpa_buf_text(&buf), pairs[_i].encoded);
    vpa_buf_clear(&buf);
    ck_assert_int_eq(vpa_base64_decode(&buf, pairs[_i].encoded, strlen(pairs[_i].encoded), &err),
                     0);
    ck_assert_str_eq(vpa_buf_text(&buf), pairs[_i].plain);
    vpa_buf_release(&buf);
}

static const char *const bad_base64[] = {
    "Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zg==Zg==", "Zm9v!", "Zm-v", "=Zg=", "Zm9vZ",
};

TEST_EACH(refuses_base64, bad_base64) {
    struct vpa_buf buf;
    struct vpa_error err;

    vpa_buf_init(&buf, 100);
    vpa_buf_puts(&buf, "#");
    ck_assert_int_lt(vpa_base64_decode(&buf, bad_base64[_i], strlen(bad_base64[_i]), &err), 0);
    ck_assert_str_eq(vpa_buf_text(&buf), "#");
    ck_assert_int_lt(vpa_base64_decode(&buf, "Zm\0v", 4, &err), 0);
    vpa_buf_release(&buf);
}

TEST(base64_edges) {
    struct vpa_buf buf;
    struct vpa_error err;

    vpa_buf_init(&buf, 100);
    ck_assert_int_eq(vpa_base64_decode(&buf, " Zm\r\n9v\tYg=\n=\n", 14, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&buf), "foob");
    vpa_buf_release(&buf);
    vpa_buf_init(&buf, 3);
    vpa_base64_encode(&buf, "foo", 3);
    ck_assert(vpa_buf_failed(&buf));
    vpa_buf_release(&buf);
}

int main(void)
{
    return run_tests("review", NULL, release_arena);
}
