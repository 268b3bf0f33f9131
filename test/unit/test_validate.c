/* Validation of VPA objects beyond what the vectors of set `admission_vpas` hold: our own rules. */
#include "json_helper.h"

#include "vpa/policy/validate.h"

#define TARGET "\"targetRef\":{\"kind\":\"Deployment\",\"name\":\"web\"}"

static const struct vpa_validate_options all_on = {true, true, true};

/* Messages of the causes, "field: message", one per line. */
static const char *findings_of(const char *object, const char *old,
                               const struct vpa_validate_options *options)
{
    struct vpa_findings findings = {.arena = &arena};
    struct vpa_object vpa, before = {0};
    struct vpa_error err;
    struct vpa_buf buf;
    const char *text;

    if (vpa_object_decode(&arena, json_of(object), &vpa, &err) < 0 ||
        (old && vpa_object_decode(&arena, json_of(old), &before, &err) < 0))
        ck_abort_msg("%s", err.text);
    vpa_validate(&vpa, &before, options, &findings);
    vpa_buf_init(&buf, 1 << 16);
    for (size_t i = 0; i < findings.cause_count; i++)
        vpa_buf_printf(&buf, "%s%s: %s", i ? "\n" : "", findings.causes[i].field,
                       findings.causes[i].message);
    for (size_t i = 0; i < findings.warning_count; i++)
        vpa_buf_printf(&buf, "\nwarning: %s", findings.warnings[i]);
    text = vpa_arena_strdup(&arena, vpa_buf_text(&buf));
    vpa_buf_release(&buf);
    return text;
}

#define P0 "spec.resourcePolicy.containerPolicies[0]"
#define INTERVAL P0 ".memoryAggregationInterval: "

static const struct {
    const char *policy; /* members of one container policy */
    bool gate;
    const char *findings;
} intervals[] = {
    {"\"memoryAggregationInterval\":\"12h\"", true, ""},
    {"\"memoryAggregationInterval\":\"1s\"", true, ""},
    {"\"memoryAggregationInterval\":\"1h\",\"memoryAggregationIntervalSeconds\":3600", true, ""},
    {"\"memoryAggregationInterval\":\"1h\",\"memoryAggregationIntervalSeconds\":60", true,
     INTERVAL "Invalid value: \"1h\": must be the same as memoryAggregationIntervalSeconds when "
              "both are specified"},
    {"\"memoryAggregationInterval\":\"\"", true,
     INTERVAL "Invalid value: \"\": time: invalid duration \"\""},
    {"\"memoryAggregationInterval\":\"1d\"", true,
     INTERVAL "Invalid value: \"1d\": time: unknown unit \"d\" in duration \"1d\""},
    {"\"memoryAggregationInterval\":\"0\"", true,
     INTERVAL "Invalid value: \"0\": must be a whole number of seconds, at least 1s"},
    {"\"memoryAggregationInterval\":\"-1h\"", true,
     INTERVAL "Invalid value: \"-1h\": must be a whole number of seconds, at least 1s"},
    {"\"memoryAggregationInterval\":\"1500ms\"", true,
     INTERVAL "Invalid value: \"1500ms\": must be a whole number of seconds, at least 1s"},
    {"\"memoryAggregationInterval\":\"1h\"", false,
     INTERVAL "Forbidden: not supported when feature flag PerVPAConfig is disabled"},
};

START_TEST(interval_texts)
{
    struct vpa_validate_options options = {.per_vpa_config = intervals[_i].gate};
    const char *object = vpa_arena_printf(
        &arena,
        "{\"spec\":{" TARGET ",\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"a\","
        "%s}]}}}",
        intervals[_i].policy);

    ck_assert_str_eq(findings_of(object, NULL, &options), intervals[_i].findings);
}
END_TEST

START_TEST(an_old_interval_unlocks)
{
    const char *object = "{\"spec\":{" TARGET ",\"resourcePolicy\":{\"containerPolicies\":[{"
                         "\"containerName\":\"a\",\"memoryAggregationInterval\":\"1h\"}]}}}";
    const struct vpa_validate_options off = {0};

    ck_assert_str_eq(findings_of(object, object, &off), "");
}
END_TEST

static const struct {
    const char *spec, *findings;
} targets[] = {
    {TARGET, ""},
    {"\"selector\":{}", ""},
    {"\"x\":1", "spec.targetRef: Required value: either targetRef or selector must be specified"},
    {"\"targetRef\":null,\"selector\":null",
     "spec.targetRef: Required value: either targetRef or selector must be specified"},
    {"\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Has\"}]}",
     "spec.selector: Invalid value: \"Has\" is not a valid label selector operator"},
    {TARGET ",\"selector\":{\"matchLabels\":{\"a\":\"b\"}}",
     "spec.selector: Forbidden: may not be specified together with targetRef"},
};

START_TEST(exactly_one_target)
{
    const char *object = vpa_arena_printf(&arena, "{\"spec\":{%s}}", targets[_i].spec);

    ck_assert_str_eq(findings_of(object, NULL, &all_on), targets[_i].findings);
}
END_TEST

/* A review from text; the response as text. */
static struct vpa_validation review(const char *request_text)
{
    struct vpa_review_request request;
    struct vpa_validation validation;
    struct vpa_error err;

    ck_assert_int_eq(vpa_review_decode(json_of(request_text), &request, &err), 0);
    vpa_validate_review(&arena, &request, &all_on, &validation);
    return validation;
}

START_TEST(reviews)
{
    struct vpa_validation v;

    v = review("{\"request\":{\"operation\":\"CREATE\",\"object\":{\"spec\":{" TARGET "}}}}");
    ck_assert(v.allowed && v.warning_count == 0);
    ck_assert_str_eq(v.patch, VPA_DEFAULT_POLICY_PATCH);
    v = review("{\"request\":{\"operation\":\"CREATE\",\"object\":{\"spec\":{" TARGET
               ",\"updatePolicy\":{\"updateMode\":\"Auto\"}}}}}");
    ck_assert(v.allowed && v.patch == NULL && v.warning_count == 1);
    v = review("{\"request\":{\"operation\":\"UPDATE\",\"object\":{\"spec\":{" TARGET "}}}}");
    ck_assert(!v.allowed);
    ck_assert_str_eq(v.status.message,
                     " \"\" is invalid: .: Internal error: unexpected end of JSON input");
    v = review("{\"request\":{\"operation\":\"CREATE\",\"name\":\"n\",\"requestKind\":{\"kind\":"
               "\"K\"},\"resource\":{\"group\":\"g\"},\"object\":{\"spec\":{" TARGET
               ",\"recommenders\":[{},{},{}]}}}}");
    ck_assert(!v.allowed && v.status.cause_count == 1 && v.status.code == 422);
    ck_assert_str_eq(v.status.message, "K.g \"n\" is invalid: spec.recommenders: Too many: 3: "
                                       "must have at most 1 item");
}
END_TEST

START_TEST(many_findings)
{
    struct vpa_buf buf;
    const char *text;

    vpa_buf_init(&buf, 1 << 16);
    vpa_buf_puts(&buf, "{\"spec\":{" TARGET ",\"resourcePolicy\":{\"containerPolicies\":[");
    for (int i = 0; i < 9; i++)
        vpa_buf_printf(&buf, "%s{\"mode\":\"x\",\"controlledResources\":[\"gpu\",\"disk\"]}",
                       i ? "," : "");
    vpa_buf_puts(&buf, "]}}}");
    text = findings_of(vpa_buf_text(&buf),
                       "{\"spec\":{\"resourcePolicy\":{\"containerPolicies\":[{},"
                       "{\"controlledResources\":[\"x\",\"gpu\"]}]}}}",
                       &all_on);
    size_t lines = 1;
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    ck_assert_uint_eq(lines, 9 * 4); /* name, mode, disk; a warning for gpu */
    vpa_buf_release(&buf);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, interval_texts, 0, VPA_COUNT(intervals));
    tcase_add_test(tc, an_old_interval_unlocks);
    tcase_add_loop_test(tc, exactly_one_target, 0, VPA_COUNT(targets));
    tcase_add_test(tc, reviews);
    tcase_add_test(tc, many_findings);
}

int main(void)
{
    return run_suite("validate", add);
}
