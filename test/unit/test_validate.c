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

TEST_EACH(interval_texts, intervals) {
    struct vpa_validate_options options = {.per_vpa_config = intervals[_i].gate};
    const char *object = vpa_arena_printf(
        &arena,
        "{\"spec\":{" TARGET ",\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"a\","
        "%s}]}}}",
        intervals[_i].policy);

    ck_assert_str_eq(findings_of(object, NULL, &options), intervals[_i].findings);
}

#define CRANE "crane.vpa.autoscaling.k8s.io/"

static const struct {
    const char *annotations; /* members */
    const char *old;
    const char *findings;
} parameters[] = {
    {"\"" CRANE "cpu-request-percentile\":\"0.9\"", "", ""},
    {"\"" CRANE "cpu-model-history-length\":\"7d\"", "", ""},
    {"\"" CRANE "specification-config\":\"1c1g\"", "", ""},
    {"\"" CRANE "cpu-request-percentile\":\"9\"", "",
     "metadata.annotations[" CRANE "cpu-request-percentile]: Invalid value: \"9\": "
     "cpu-request-percentile: 9 is not within 0 to 1"},
    {"\"" CRANE "specification-config\":\"1c\"", "",
     "metadata.annotations[" CRANE "specification-config]: Invalid value: \"1c\": "
     "specification-config: specification 1c format error"},
    {"\"" CRANE "oom-protection\":\"maybe\"", "",
     "metadata.annotations[" CRANE "oom-protection]: Invalid value: \"maybe\": "
     "oom-protection: \"maybe\" is neither true nor false"},
    {"\"autopilot-ml.vpa.autoscaling.k8s.io/cost\":\"distances\"", "", ""},
    {"\"autopilot-ml.vpa.autoscaling.k8s.io/cost\":\"money\"", "",
     "metadata.annotations[autopilot-ml.vpa.autoscaling.k8s.io/cost]: Invalid value: \"money\": "
     "cost: \"money\" is not one of counts|distances"},
    /* What is stored may stay, and nothing is said of what is not ours. */
    {"\"" CRANE "oom-protection\":\"maybe\"", "\"" CRANE "oom-protection\":\"maybe\"", ""},
    {"\"vpa.vpa.autoscaling.k8s.io/x\":\"1\",\"team.vpa.autoscaling.k8s.io/x\":\"1\"", "", ""},
    {"\"crane.example.org/x\":\"1\",\"crane\":\"1\"", "", ""},
};

TEST_EACH(parameters_of_algorithms, parameters) {
    static const char text[] = "{\"metadata\":{\"annotations\":{%s}},\"spec\":{" TARGET "}}";

    ck_assert_str_eq(findings_of(vpa_arena_printf(&arena, text, parameters[_i].annotations),
                                 vpa_arena_printf(&arena, text, parameters[_i].old), &all_on),
                     parameters[_i].findings);
}

TEST(unknown_parameters_are_told_with_those_there_are) {
    const char *told = findings_of("{\"metadata\":{\"annotations\":{\"" CRANE
                                   "percentile\":\"1\"}},\"spec\":{" TARGET "}}",
                                   NULL, &all_on);

    ck_assert_msg(strstr(told, "percentile: no such parameter of algorithm crane, which has: "
                               "cpu-sample-interval, "),
                  "%s", told);
}

TEST(an_old_interval_unlocks) {
    const char *object = "{\"spec\":{" TARGET ",\"resourcePolicy\":{\"containerPolicies\":[{"
                         "\"containerName\":\"a\",\"memoryAggregationInterval\":\"1h\"}]}}}";
    const struct vpa_validate_options off = {0};

    ck_assert_str_eq(findings_of(object, object, &off), "");
}

/* Every rule, kept and broken: members of the spec beside the target, the old object's, what is
 * found. */
#define POLICY(text)                                                                               \
    "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"a\"" text "}]}"
#define UPDATE(text) "\"updatePolicy\":{" text "}"
#define BOOST(text) "\"startupBoost\":{\"cpu\":{" text "}}"
#define OFF_BOOST                                                                                  \
    "Forbidden: in order to use startupBoost, you must enable feature gate CPUStartupBoost in "    \
    "the "                                                                                         \
    "admission-controller args"
#define OFF_IN_PLACE                                                                               \
    "Forbidden: in order to use UpdateMode InPlace, you must enable feature gate InPlace in the "  \
    "admission-controller args"
#define OFF_PER_VPA "Forbidden: not supported when feature flag PerVPAConfig is disabled"

static const struct {
    const char *name, *spec, *old;
    bool gates;
    const char *findings;
} rules[] = {
    {"modes", UPDATE("\"updateMode\":\"Initial\""), NULL, false, ""},
    {"mode missing", UPDATE(""), NULL, true,
     "spec.updatePolicy.updateMode: Required value: updateMode is required if UpdatePolicy is "
     "used"},
    {"mode unknown", UPDATE("\"updateMode\":\"auto\""), NULL, true,
     "spec.updatePolicy.updateMode: Unsupported value: \"auto\": supported values: \"InPlace\", "
     "\"InPlaceOrRecreate\", \"Initial\", \"Off\", \"Recreate\""},
    {"mode InPlace", UPDATE("\"updateMode\":\"InPlace\""), NULL, true, ""},
    {"mode InPlace without the gate", UPDATE("\"updateMode\":\"InPlace\""),
     UPDATE("\"updateMode\":\"Off\""), false, "spec.updatePolicy.updateMode: " OFF_IN_PLACE},
    {"mode InPlace as before", UPDATE("\"updateMode\":\"InPlace\""),
     UPDATE("\"updateMode\":\"InPlace\""), false, ""},
    {"replicas", UPDATE("\"updateMode\":\"Off\",\"minReplicas\":1"), NULL, false, ""},
    {"no replicas", UPDATE("\"updateMode\":\"Off\",\"minReplicas\":0"), NULL, false,
     "spec.updatePolicy.minReplicas: Invalid value: 0: minReplicas has to be positive"},
    {"OOM time", UPDATE("\"updateMode\":\"Off\",\"evictAfterOOMSeconds\":1"), NULL, true, ""},
    {"OOM time of nothing", UPDATE("\"updateMode\":\"Off\",\"evictAfterOOMSeconds\":0"), NULL, true,
     "spec.updatePolicy.evictAfterOOMSeconds: Invalid value: 0: must be greater than or equal to "
     "1"},
    {"OOM time without the gate", UPDATE("\"updateMode\":\"Off\",\"evictAfterOOMSeconds\":9"), NULL,
     false, "spec.updatePolicy.evictAfterOOMSeconds: " OFF_PER_VPA},
    {"OOM time as before", UPDATE("\"updateMode\":\"Off\",\"evictAfterOOMSeconds\":9"),
     UPDATE("\"updateMode\":\"Off\",\"evictAfterOOMSeconds\":8"), false, ""},
    {"boost", BOOST("\"type\":\"Factor\",\"factor\":1"), NULL, true, ""},
    {"boost without the gate", BOOST("\"type\":\"Factor\",\"factor\":1"), NULL, false,
     "spec.startupBoost: " OFF_BOOST},
    {"boost as before", BOOST("\"type\":\"Factor\",\"factor\":1"),
     BOOST("\"type\":\"Factor\",\"factor\":3"), false, ""},
    {"boost where a container had one", BOOST("\"type\":\"Factor\",\"factor\":1"),
     POLICY("," BOOST("\"type\":\"Factor\",\"factor\":3")), false, ""},
    {"empty boost", "\"startupBoost\":{}", NULL, true, ""},
    {"boost without type", BOOST("\"factor\":1"), NULL, true,
     "spec.startupBoost.cpu.type: Required value: must be either Factor or Quantity"},
    {"boost of unknown type", BOOST("\"type\":\"Percent\""), NULL, true,
     "spec.startupBoost.cpu.type: Unsupported value: \"Percent\": supported values: \"Factor\", "
     "\"Quantity\""},
    {"factor missing", BOOST("\"type\":\"Factor\""), NULL, true,
     "spec.startupBoost.cpu.factor: Required value: required when type is Factor"},
    {"factor below one", BOOST("\"type\":\"Factor\",\"factor\":0"), NULL, true,
     "spec.startupBoost.cpu.factor: Invalid value: 0: must be >= 1 for type Factor"},
    {"boost by quantity", BOOST("\"type\":\"Quantity\",\"quantity\":\"5m\""), NULL, true, ""},
    {"quantity missing", BOOST("\"type\":\"Quantity\""), NULL, true,
     "spec.startupBoost.cpu.quantity: Required value: required when type is Quantity"},
    {"quantity too fine", BOOST("\"type\":\"Quantity\",\"quantity\":\"5u\""), NULL, true,
     "spec.startupBoost.cpu.quantity: Invalid value: \"5u\": must be a whole number of milli CPUs"},
    {"bounds",
     POLICY(",\"minAllowed\":{\"cpu\":\"1\",\"memory\":\"1\",\"x\":\"1m\"},"
            "\"maxAllowed\":{\"cpu\":\"1\",\"memory\":\"2\"}"),
     NULL, false, ""},
    {"bounds too fine",
     POLICY(",\"minAllowed\":{\"cpu\":\"1u\"},\"maxAllowed\":{\"memory\":\"1m\"}"), NULL, false,
     P0 ".minAllowed[cpu]: Invalid value: \"1u\": must be a whole number of milli CPUs\n" P0
        ".maxAllowed[memory]: Invalid value: \"1m\": must be a whole number of bytes"},
    {"bounds crossed", POLICY(",\"minAllowed\":{\"cpu\":\"2\"},\"maxAllowed\":{\"cpu\":\"1\"}"),
     NULL, false,
     P0 ".maxAllowed[cpu]: Invalid value: \"1\": max resource for cpu is lower than min of \"2\""},
    {"mode of a container", POLICY(",\"mode\":\"Auto\""), NULL, false, ""},
    {"container off", POLICY(",\"mode\":\"Off\",\"controlledValues\":\"RequestsOnly\""), NULL,
     false, ""},
    {"container off and controlled",
     POLICY(",\"mode\":\"Off\",\"controlledValues\":\"RequestsAndLimits\""), NULL, false,
     P0
     ".controlledValues: Forbidden: controlledValues shouldn't be specified if container scaling "
     "mode is off"},
    {"unknown mode of a container", POLICY(",\"mode\":\"On\""), NULL, false,
     P0 ".mode: Unsupported value: \"On\": supported values: \"Auto\", \"Off\""},
    {"controlled resources", POLICY(",\"controlledResources\":[\"cpu\",\"memory\"]"), NULL, false,
     ""},
    {"per VPA settings",
     POLICY(
         ",\"oomBumpUpRatio\":\"1\",\"oomMinBumpUp\":\"0\",\"memoryAggregationIntervalSeconds\":1,"
         "\"memoryAggregationIntervalCount\":1"),
     NULL, true, ""},
    {"per VPA settings out of range",
     POLICY(",\"oomBumpUpRatio\":\"999m\",\"oomMinBumpUp\":\"-1\","
            "\"memoryAggregationIntervalSeconds\":0,\"memoryAggregationIntervalCount\":0"),
     NULL, true,
     P0
     ".oomBumpUpRatio: Invalid value: 0.999: must be greater than or equal to 1.0\n" P0
     ".oomMinBumpUp: Invalid value: -1: must be greater than or equal to 0\n" P0
     ".memoryAggregationIntervalSeconds: Invalid value: 0: must be greater than or equal to 1\n" P0
     ".memoryAggregationIntervalCount: Invalid value: 0: must be greater than or equal to 1"},
    {"ratio of a million below zero", POLICY(",\"oomBumpUpRatio\":\"-1000000\""), NULL, true,
     P0 ".oomBumpUpRatio: Invalid value: -1e+06: must be greater than or equal to 1.0"},
    {"ratio with seven digits", POLICY(",\"oomBumpUpRatio\":\"-1234567\""), NULL, true,
     P0 ".oomBumpUpRatio: Invalid value: -1.234567e+06: must be greater than or equal to 1.0"},
    {"ratio with zeros at its end", POLICY(",\"oomBumpUpRatio\":\"-21000000\""), NULL, true,
     P0 ".oomBumpUpRatio: Invalid value: -2.1e+07: must be greater than or equal to 1.0"},
    {"per VPA settings without the gate",
     POLICY(",\"oomBumpUpRatio\":\"1\",\"oomMinBumpUp\":\"0\""), POLICY(""), false,
     P0 ".oomBumpUpRatio: " OFF_PER_VPA "\n" P0 ".oomMinBumpUp: " OFF_PER_VPA},
    {"unlocked by an old ratio", POLICY(",\"oomMinBumpUp\":\"0\""),
     POLICY(",\"oomBumpUpRatio\":\"1\""), false, ""},
    {"unlocked by an old bump", POLICY(",\"oomMinBumpUp\":\"0\""),
     POLICY(",\"oomMinBumpUp\":\"1\""), false, ""},
    {"unlocked by an old interval", POLICY(",\"oomMinBumpUp\":\"0\""),
     POLICY(",\"memoryAggregationIntervalSeconds\":5"), false, ""},
    {"unlocked by an old count", POLICY(",\"oomMinBumpUp\":\"0\""),
     POLICY(",\"memoryAggregationIntervalCount\":5"), false, ""},
};

TEST_EACH(rules_of_the_object, rules) {
    const struct vpa_validate_options options = {rules[_i].gates, rules[_i].gates, rules[_i].gates};
    const char *object = vpa_arena_printf(&arena, "{\"spec\":{" TARGET ",%s}}", rules[_i].spec);
    const char *old = rules[_i].old
                          ? vpa_arena_printf(&arena, "{\"spec\":{" TARGET ",%s}}", rules[_i].old)
                          : NULL;
    const char *found = findings_of(object, old, &options);

    ck_assert_msg(strcmp(found, rules[_i].findings) == 0, "%s: %s", rules[_i].name, found);
}

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

TEST_EACH(exactly_one_target, targets) {
    const char *object = vpa_arena_printf(&arena, "{\"spec\":{%s}}", targets[_i].spec);

    ck_assert_str_eq(findings_of(object, NULL, &all_on), targets[_i].findings);
}

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

TEST(reviews) {
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

/* Go's decoder reads in the order of the document, remembers the first member of a wrong type, and
 * ends at the first bad quantity. */
#define NO_SUFFIX "unable to parse quantity's suffix"
#define NO_NUMBER                                                                                  \
    "quantities must match the regular expression "                                                \
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define BOUNDS(MEMBERS)                                                                            \
    "\"spec\":{" TARGET                                                                            \
    ",\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"c\"," MEMBERS "}]}}"
#define WITH_META(MEMBERS) "\"metadata\":{" MEMBERS "},\"spec\":{" TARGET "}"
static const struct {
    const char *object, *text; /* NULL: allowed */
} decoded[] = {
    {BOUNDS("\"maxAllowed\":{\"cpu\":\"1K\"},\"minAllowed\":{\"cpu\":\"x\"}"), NO_SUFFIX},
    {BOUNDS("\"minAllowed\":{\"cpu\":\"x\"},\"maxAllowed\":{\"cpu\":\"1K\"}"), NO_NUMBER},
    {BOUNDS("\"mode\":5,\"minAllowed\":{\"cpu\":\"1K\"}"), NO_SUFFIX},
    {"\"kind\":5," BOUNDS("\"oomMinBumpUp\":\"1K\",\"oomBumpUpRatio\":\"x\""), NO_SUFFIX},
    {"\"status\":{\"recommendation\":{\"containerRecommendations\":[{\"target\":{\"cpu\":\"1K\"}}]}"
     "}"
     "," BOUNDS("\"minAllowed\":{\"cpu\":\"x\"}"),
     NO_SUFFIX},
    {"\"spec\":{\"startupBoost\":{\"cpu\":{\"quantity\":\"1K\"}},\"updatePolicy\":{\"minReplicas\":"
     "\"2\"}}",
     NO_SUFFIX},
    {"\"spec\":{\"updatePolicy\":{\"updateMode\":false}}",
     "spec.updatePolicy.updateMode: string expected, got boolean (in YAML, quote it: \"Off\")"},
    {"\"kind\":5," WITH_META(""), "kind: expected string, found number"},
    {"\"APIVERSION\":{}," WITH_META(""), "apiVersion: expected string, found object"},
    {WITH_META("\"finalizers\":\"x\",\"selfLink\":1"),
     "metadata: finalizers: expected array, found string"},
    {WITH_META("\"managedFields\":[null,{\"time\":\"\"},{\"time\":5}]"),
     "metadata: managedFields: [1]: time: parsing time \"\": not an RFC 3339 time"},
    {WITH_META("\"ownerReferences\":[{\"blockOwnerDeletion\":\"x\"}]"),
     "metadata: ownerReferences: [0]: blockOwnerDeletion: expected boolean, found string"},
    {"\"other\":5," WITH_META("\"other\":5,\"managedFields\":[{\"time\":null,\"fieldsV1\":[]}]"),
     NULL},
};

TEST_EACH(tells_the_mistake_that_a_decoder_finds, decoded) {
    struct vpa_validation v = review(vpa_arena_printf(
        &arena, "{\"request\":{\"operation\":\"CREATE\",\"object\":{%s}}}", decoded[_i].object));

    ck_assert_msg(v.allowed == !decoded[_i].text, "%s", decoded[_i].object);
    if (v.allowed)
        return;
    ck_assert_uint_eq(v.status.cause_count, 1);
    ck_assert_str_eq(v.status.causes[0].reason, "InternalError");
    ck_assert_str_eq(v.status.causes[0].message,
                     vpa_arena_printf(&arena, "Internal error: %s", decoded[_i].text));
}

/* What the old object controls already may stay, be it the only one; nothing else may come. */
TEST(what_was_controlled_may_stay) {
    static const struct {
        const char *old, *new;
        bool refused;
    } changes[] = {
        {"\"gpu\"", "\"gpu\"", false},
        {"\"a\",\"gpu\"", "\"gpu\"", false},
        {"\"gpu\"", "\"disk\"", true},
        {"", "\"gpu\"", true},
    };
    const char form[] = "{\"spec\":{" TARGET ",\"resourcePolicy\":{\"containerPolicies\":[{"
                        "\"containerName\":\"c\",\"controlledResources\":[%s]}]}}}";

    for (size_t i = 0; i < VPA_COUNT(changes); i++) {
        const char *old = vpa_arena_printf(&arena, form, changes[i].old);
        const char *new = vpa_arena_printf(&arena, form, changes[i].new);
        const char *text = findings_of(new, old, &all_on);

        ck_assert_msg((strstr(text, "Unsupported value") != NULL) == changes[i].refused, "%s: %s",
                      changes[i].new, text);
    }
}

TEST(many_findings) {
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

/* "{...},{...}", count times; # becomes the place. */
static const char *repeated(size_t count, const char *pattern)
{
    vpa_auto_buf buf = VPA_BUF(1 << 22);

    for (size_t i = 0; i < count; i++) {
        if (i)
            vpa_buf_putc(&buf, ',');
        for (const char *c = pattern; *c; c++) {
            if (*c == '#')
                vpa_buf_put_uint(&buf, i);
            else
                vpa_buf_putc(&buf, *c);
        }
    }
    return vpa_arena_strdup(&arena, vpa_buf_text(&buf));
}

static const struct vpa_json *vpa_with(const char *policies)
{
    return json_of(vpa_arena_printf(
        &arena, "{\"spec\":{" TARGET ",\"resourcePolicy\":{\"containerPolicies\":[%s]}}}",
        policies));
}

static struct vpa_validation review_policies(const char *operation, const char *policies,
                                             const char *old)
{
    struct vpa_review_request request = {
        .operation = operation,
        .name = "v",
        .group = "g",
        .request_kind = "VPA",
        .object = vpa_with(policies),
        .old_object = old ? vpa_with(old) : NULL,
    };
    struct vpa_validation result;

    vpa_validate_review(&arena, &request, &all_on, &result);
    return result;
}

TEST(names_a_hundred_causes) {
    struct vpa_validation at_most = review_policies("CREATE", repeated(VPA_CAUSES_MAX, "{}"), NULL);
    struct vpa_validation more =
        review_policies("CREATE", repeated(VPA_CAUSES_MAX + 25, "{}"), NULL);

    ck_assert(!at_most.allowed && !more.allowed);
    ck_assert_uint_eq(at_most.status.cause_count, VPA_CAUSES_MAX);
    ck_assert_uint_eq(more.status.cause_count, VPA_CAUSES_MAX);
    ck_assert_ptr_null(strstr(at_most.status.message, " more]"));
    ck_assert_ptr_nonnull(strstr(more.status.message, "Required value, and 25 more]"));
}

/* Each kind of mistake that an object can have many of is counted the same way. */
static const char *const many_mistakes[] = {
    "{\"containerName\":\"c\",\"controlledResources\":[%s]}",
    "{\"containerName\":\"c\",\"minAllowed\":{%s}}",
    "{\"containerName\":\"c\",\"minAllowed\":{%s},\"maxAllowed\":{%s}}",
};
static const char *const mistakes[][2] = {
    {"\"r#\"", NULL},
    {"\"cpu\":\"1u\"", NULL},
    {"\"r#\":\"2\"", "\"r#\":\"1\""},
};

TEST_EACH(counts_every_mistake, mistakes) {
    const char *first = repeated(_i == 1 ? 1 : 130, mistakes[_i][0]);
    const char *second = mistakes[_i][1] ? repeated(130, mistakes[_i][1]) : "";
    vpa_auto_buf policy = VPA_BUF(1 << 20);

    for (const char *c = many_mistakes[_i], *text = first; *c; c++) {
        if (*c != '%') {
            vpa_buf_putc(&policy, *c);
            continue;
        }
        vpa_buf_puts(&policy, text);
        text = second;
        c++;
    }
    const char *all = _i == 1 ? repeated(130, vpa_buf_text(&policy)) : vpa_buf_text(&policy);
    struct vpa_validation got = review_policies("CREATE", all, NULL);

    ck_assert_uint_eq(got.status.cause_count, VPA_CAUSES_MAX);
    ck_assert_msg(strstr(got.status.message, ", and 30 more]") != NULL, "%s", got.status.message);
}

TEST(warns_a_hundred_times) {
    const char *policy = vpa_arena_printf(
        &arena, "{\"containerName\":\"c\",\"controlledResources\":[%s]}", repeated(130, "\"r#\""));
    struct vpa_validation got = review_policies("UPDATE", policy, policy);

    ck_assert(got.allowed);
    ck_assert_uint_eq(got.warning_count, VPA_WARNINGS_MAX);
    for (size_t i = 0; i < got.warning_count; i++) { /* each is told, in their order */
        const char *name = vpa_arena_printf(&arena, "\"r%zu\"", i);
        ck_assert_msg(strstr(got.warnings[i], name) != NULL, "%s", got.warnings[i]);
    }
}

TEST(refuses_lists_that_are_too_long) {
    static const char policy[] = "{\"containerName\":\"c#\"}";
    const char *longest = repeated(VPA_LIST_MAX, policy);
    const char *too_long = repeated(VPA_LIST_MAX + 1, policy);
    struct vpa_validation refused = review_policies("CREATE", too_long, NULL);

    ck_assert(review_policies("CREATE", longest, NULL).allowed);
    ck_assert(!refused.allowed);
    ck_assert_str_eq(refused.status.message,
                     "VPA.g \"v\" is invalid: spec.resourcePolicy.containerPolicies: Too many: "
                     "4097: must have at most 4096 items");
    ck_assert_str_eq(refused.status.causes[0].reason, "FieldValueTooMany");
    /* What is stored and too long may be made shorter, but not kept. */
    ck_assert(review_policies("UPDATE", longest, too_long).allowed);
    ck_assert(!review_policies("UPDATE", too_long, too_long).allowed);
}

#define BAD_AMOUNT                                                                                 \
    "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"c\",\"minAllowed\":{"         \
    "\"cpu\":\"1e1.5\"}}]}"
#define GOING "\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
#define CHANGE(meta, spec, old_meta, old_spec)                                                     \
    "{\"request\":{\"operation\":\"UPDATE\",\"object\":{" meta "\"spec\":{" spec                   \
    "}},\"oldObject\":{" old_meta "\"spec\":{" old_spec "}}}}"

/* Whoever takes its finalizers away writes the whole of it; what it says counts no more. */
TEST(what_is_being_deleted_passes) {
    struct vpa_validation v = review(CHANGE(GOING, "", GOING, ""));

    ck_assert(v.allowed && v.patch == NULL);
    ck_assert(review(CHANGE(GOING, BAD_AMOUNT, GOING, BAD_AMOUNT)).allowed);
    ck_assert(!review(CHANGE(GOING, "", "", "")).allowed); /* who says so is not the server */
}

int main(void)
{
    return run_tests("validate", NULL, release_arena);
}
