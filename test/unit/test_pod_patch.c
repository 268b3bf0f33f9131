#include "policy_fixtures.h"

#include "vpa/json/json_patch.h"
#include "vpa/policy/pod_patch.h"

/*
 * The worked examples of admission.md 18. A patch is written as its operations, "path=value" each,
 * with
 * {} for an empty object and the common beginnings shortened: "A/" annotations, "0/" container 0.
 */
static const struct patch_row {
    const char *name;
    const char *containers;     /* JSON list of the pod's containers */
    const char *recommendation; /* JSON list; NULL: none */
    const char *spec;           /* members of the VPA's spec, "" for none */
    const char *limits;         /* items of a LimitRange, "" for none */
    bool gate;
    const char *cap;
    bool annotated;
    const char *want;
} rows[] = {
    {"E1 bare container", "{'name':'app'}",
     "{'containerName':'app','target':{'cpu':'250m','memory':'200Mi'}}", "", "", false, NULL, false,
     "A={}|0={}|0/requests={}|0/requests/cpu=250m|0/requests/memory=200Mi|"
     "A/vpaUpdates=Pod resources updated by web: container 0: cpu request, memory request|"
     "A/vpaObservedContainers=app"},
    {"E2 annotations exist",
     "{'name':'app','resources':{'requests':{'cpu':'100m','memory':'100Mi'}}}",
     "{'containerName':'app','target':{'cpu':'250m','memory':'200Mi'}}", "", "", false, NULL, true,
     "0/requests/cpu=250m|0/requests/memory=200Mi|"
     "A/vpaUpdates=Pod resources updated by web: container 0: cpu request, memory request|"
     "A/vpaObservedContainers=app"},
    {"E7 no recommendation",
     "{'name':'app','resources':{'requests':{'cpu':'100m','memory':'100Mi'}}}", NULL, "", "", false,
     NULL, false, "A={}|A/vpaObservedContainers=app"},
    {"E8 no recommendation, bare container", "{'name':'app'}", NULL, "", "", false, NULL, false,
     "A={}|0={}|A/vpaUpdates=Pod resources updated by web: container 0: |"
     "A/vpaObservedContainers=app"},
    {"E9 two containers",
     "{'name':'app','resources':{'requests':{'cpu':'100m'}}},{'name':'side','resources':{'requests'"
     ":{"
     "'cpu':'10m'}}}",
     "{'containerName':'app','target':{'cpu':'250m'}}", "", "", false, NULL, false,
     "A={}|0/requests/cpu=250m|A/vpaUpdates=Pod resources updated by web: container 0: cpu request|"
     "A/vpaObservedContainers=app, side"},
    {"devices stay claimed", "{'name':'app','resources':{'claims':[{'name':'gpu'}]}}",
     "{'containerName':'app','target':{'cpu':'250m'}}", "", "", false, NULL, true,
     "0/requests={}|0/requests/cpu=250m|"
     "A/vpaUpdates=Pod resources updated by web: container 0: cpu request|"
     "A/vpaObservedContainers=app"},
    {"devices stay claimed where nothing is recommended",
     "{'name':'app','resources':{'claims':[{'name':'gpu'}]}}", NULL, "", "", false, NULL, true,
     "A/vpaObservedContainers=app"},
    {"names are escaped", "{'name':'app','resources':{'requests':{'cpu':'1'}}}",
     "{'containerName':'app','target':{'a~b.com/r/n':'2'}}", "", "", false, NULL, true,
     "0/requests/a~0b.com~1r~1n=2|"
     "A/vpaUpdates=Pod resources updated by web: container 0: a~b.com/r/n request|"
     "A/vpaObservedContainers=app"},
    {"limits are created after requests", "{'name':'app','resources':{'requests':{'cpu':'2'}}}",
     "{'containerName':'app','target':{'cpu':'2'}}", "",
     "{'type':'Container','default':{'cpu':'2'}}", false, NULL, true,
     "0/requests/cpu=2|0/limits={}|0/limits/cpu=2|A/vpaUpdates=Pod resources updated by web: "
     "container "
     "0: memory: limit NOT set since originalLimit is nil or 0, cpu request, cpu limit|"
     "A/vpaObservedContainers=app"},
    {"no containers", "", NULL, "", "", false, NULL, true, "A/vpaObservedContainers="},
    {"two containers are told apart",
     "{'name':'a'},{'name':'b','resources':{'limits':{'cpu':'1'}}}",
     "{'containerName':'a','target':{'cpu':'1'}},{'containerName':'b','target':{'cpu':'2'}}", "",
     "", false, NULL, true,
     "0={}|0/requests={}|0/requests/cpu=1|1/requests={}|1/requests/cpu=2|1/limits/cpu=2|"
     "A/vpaUpdates=Pod resources updated by web: container 0: cpu request; container 1: memory: "
     "limit NOT set since originalLimit is nil or 0, cpu request, cpu limit|"
     "A/vpaObservedContainers=a, b"},
    {"of one name the second is boosted on top of the first",
     "{'name':'other'},{'name':'a','resources':{'requests':{'cpu':'1'}}},"
     "{'name':'a','resources':{'requests':{'cpu':'1'}}}",
     "{'containerName':'a','target':{'cpu':'1'}}",
     "'startupBoost':{'cpu':{'type':'Factor','factor':2}}", "", true, NULL, true,
     "A/vpaCpuStartupBoost~1other={\\\"requests\\\":{},\\\"limits\\\":{}}|0={}|0/requests={}|"
     "0/requests/cpu=0|A/vpaCpuStartupBoost~1a={\\\"requests\\\":{\\\"cpu\\\":\\\"1\\\"},"
     "\\\"limits\\\":{}}|1/requests/cpu=2|A/vpaCpuStartupBoost~1a={\\\"requests\\\":{\\\"cpu\\\":"
     "\\\"1\\\"},\\\"limits\\\":{}}|2/requests/cpu=4|A/vpaUpdates=Pod resources updated by web: "
     "container 0: cpu request; container 1: cpu request; container 2: cpu request|"
     "A/vpaObservedContainers=other, a, a"},
    {"a policy without mode", "{'name':'app','resources':{'requests':{'cpu':'1'}}}",
     "{'containerName':'app','target':{'cpu':'2'}}",
     "'resourcePolicy':{'containerPolicies':[{'containerName':'app'}]}", "", true, NULL, true,
     "0/requests/cpu=2|A/vpaUpdates=Pod resources updated by web: container 0: cpu request|"
     "A/vpaObservedContainers=app"},
    {"B1 factor at the VPA",
     "{'name':'app','resources':{'requests':{'cpu':'50m'},'limits':{'cpu':'100m'}}}",
     "{'containerName':'app','target':{'cpu':'100m'}}",
     "'startupBoost':{'cpu':{'type':'Factor','factor':2}}", "", true, NULL, true,
     "A/"
     "vpaCpuStartupBoost~1app={\\\"requests\\\":{\\\"cpu\\\":\\\"50m\\\"},\\\"limits\\\":{"
     "\\\"cpu\\\":"
     "\\\"100m\\\"}}|0/requests/cpu=200m|0/limits/cpu=400m|A/vpaUpdates=Pod resources updated by "
     "web: "
     "container 0: memory: limit NOT set since originalLimit is nil or 0, cpu request, cpu limit|"
     "A/vpaObservedContainers=app"},
    {"B4 mode Off, boosted", "{'name':'app','resources':{'requests':{'cpu':'100m'}}}",
     "{'containerName':'app','target':{'cpu':'1'}}",
     "'updatePolicy':{'updateMode':'Off'},'startupBoost':{'cpu':{'type':'Factor','factor':3}}", "",
     true, NULL, true,
     "A/vpaCpuStartupBoost~1app={\\\"requests\\\":{\\\"cpu\\\":\\\"100m\\\"},\\\"limits\\\":{}}|"
     "0/requests/cpu=300m|A/vpaUpdates=Pod resources updated by web: container 0: cpu request|"
     "A/vpaObservedContainers=app"},
    {"B7 mode Off, gate off", "{'name':'app','resources':{'requests':{'cpu':'100m'}}}",
     "{'containerName':'app','target':{'cpu':'1'}}",
     "'updatePolicy':{'updateMode':'Off'},'startupBoost':{'cpu':{'type':'Factor','factor':3}}", "",
     false, NULL, true, "A/vpaObservedContainers=app"},
    {"policy Off hides a stale recommendation with the gate on",
     "{'name':'app','resources':{'requests':{'cpu':'100m'}}}",
     "{'containerName':'app','target':{'cpu':'1'}}",
     "'resourcePolicy':{'containerPolicies':[{'containerName':'app','mode':'Off'}]}", "", true,
     NULL, true, "A/vpaObservedContainers=app"},
    {"S1 policy Off with a boost of its own",
     "{'name':'app','resources':{'requests':{'cpu':'100m','memory':'1Gi'}}}",
     "{'containerName':'app','target':{'cpu':'1','memory':'2Gi'}}",
     "'resourcePolicy':{'containerPolicies':[{'containerName':'app','mode':'Off','startupBoost':{'"
     "cpu':{"
     "'type':'Factor','factor':2}}}]}",
     "", true, NULL, true,
     "A/"
     "vpaCpuStartupBoost~1app={\\\"requests\\\":{\\\"cpu\\\":\\\"100m\\\",\\\"memory\\\":"
     "\\\"1Gi\\\"},"
     "\\\"limits\\\":{}}|0/requests/cpu=200m|"
     "A/vpaUpdates=Pod resources updated by web: container 0: cpu request|"
     "A/vpaObservedContainers=app"},
    {"containers of one name share their requests",
     "{'name':'app','resources':{'requests':{'cpu':'1'}}},{'name':'b','resources':{'requests':{'"
     "cpu':"
     "'1'}}},{'name':'app','resources':{'requests':{'cpu':'1'}}}",
     "{'containerName':'app','target':{'cpu':'1'}}",
     "'resourcePolicy':{'containerPolicies':[{'containerName':'app','mode':'Auto','startupBoost':{"
     "'cpu':{'type':'Factor','factor':2}}},{'containerName':'b','mode':'Off'}]}",
     "", true, NULL, true,
     "A/vpaCpuStartupBoost~1app={\\\"requests\\\":{\\\"cpu\\\":\\\"1\\\"},\\\"limits\\\":{}}|0/"
     "requests/cpu=2|"
     "A/vpaCpuStartupBoost~1app={\\\"requests\\\":{\\\"cpu\\\":\\\"1\\\"},\\\"limits\\\":{}}|2/"
     "requests/cpu=4|"
     "A/vpaUpdates=Pod resources updated by web: container 0: cpu request; container 2: cpu "
     "request|"
     "A/vpaObservedContainers=app, b, app"},
    {"S2 an unusable boost is none", "{'name':'app','resources':{'requests':{'cpu':'100m'}}}",
     "{'containerName':'app','target':{'cpu':'1'}}", "'startupBoost':{}", "", true, NULL, true,
     "0/requests/cpu=1|A/vpaUpdates=Pod resources updated by web: container 0: cpu request|"
     "A/vpaObservedContainers=app"},
    {"S4 a cap never lowers",
     "{'name':'app','resources':{'requests':{'cpu':'1'},'limits':{'cpu':'2'}}}",
     "{'containerName':'app','target':{'cpu':'2'}}",
     "'startupBoost':{'cpu':{'type':'Factor','factor':2}}", "", true, "1", true,
     "A/"
     "vpaCpuStartupBoost~1app={\\\"requests\\\":{\\\"cpu\\\":\\\"1\\\"},\\\"limits\\\":{"
     "\\\"cpu\\\":"
     "\\\"2\\\"}}|0/requests/cpu=2|0/limits/cpu=4|A/vpaUpdates=Pod resources updated by web: "
     "container 0: "
     "memory: limit NOT set since originalLimit is nil or 0, cpu request, cpu limit|"
     "A/vpaObservedContainers=app"},
};

static void shorten(struct vpa_buf *out, const char *path)
{
    static const char annotations[] = "/metadata/annotations";
    static const char containers[] = "/spec/containers/";

    if (strncmp(path, annotations, strlen(annotations)) == 0) {
        vpa_buf_printf(out, "A%s", path + strlen(annotations));
    } else if (strncmp(path, containers, strlen(containers)) == 0) {
        const char *rest = path + strlen(containers);
        vpa_buf_append(out, rest, 1);
        vpa_buf_puts(out, rest + 1 + strlen("/resources"));
    } else {
        vpa_buf_puts(out, path);
    }
}

static const char *summary(struct vpa_arena *arena, const struct vpa_buf *patch)
{
    const struct vpa_json *root;
    struct vpa_error err;
    struct vpa_buf out;

    vpa_buf_init(&out, 1 << 16);
    if (vpa_json_parse(arena, patch->data, patch->len, &root, &err) < 0)
        ck_abort_msg("%s", err.text);
    vpa_json_foreach (op, root) {
        const struct vpa_json *value = vpa_json_find(op, "value");
        ck_assert_str_eq(vpa_json_string(vpa_json_find(op, "op")), "add");
        if (out.len)
            vpa_buf_putc(&out, '|');
        shorten(&out, vpa_json_string(vpa_json_find(op, "path")));
        vpa_buf_putc(&out, '=');
        if (vpa_json_string(value)) {
            for (const char *p = vpa_json_string(value); *p; p++)
                vpa_buf_printf(&out, *p == '"' ? "\\%c" : "%c", *p);
        } else {
            vpa_buf_puts(&out, "{}");
        }
    }
    const char *text = vpa_arena_strdup(arena, vpa_buf_text(&out));
    vpa_buf_release(&out);
    return text;
}

static int unusable_boosts;

static void count_unusable(void *ctx, const char *container, const char *reason)
{
    (void)ctx;
    ck_assert_ptr_nonnull(container);
    ck_assert_ptr_nonnull(reason);
    unusable_boosts++;
}

static struct vpa_object the_vpa(struct vpa_arena *arena, const struct patch_row *row)
{
    return fixture_vpa(
        arena,
        vpa_arena_printf(
            arena, "{'metadata':{'name':'web','namespace':'ns'},'spec':{%s}%s%s%s}", row->spec,
            row->recommendation ? ",'status':{'recommendation':{'containerRecommendations':[" : "",
            row->recommendation ? row->recommendation : "", row->recommendation ? "]}}" : ""));
}

TEST_EACH(patches, rows) {
    const struct patch_row *row = &rows[_i];
    vpa_auto_arena arena = {0};
    struct vpa_object vpa = the_vpa(&arena, row);
    struct vpa_pod pod = fixture_pod(
        &arena,
        vpa_arena_printf(
            &arena, "{'metadata':{'name':'web-1','namespace':'ns'%s},'spec':{'containers':[%s]}}",
            row->annotated ? ",'annotations':{'a':'b'}" : "", row->containers));
    struct vpa_namespace_limits limits = fixture_limits(&arena, row->limits);
    struct vpa_pod_patch_options options = {.startup_boost = row->gate,
                                            .max_cpu_boost = fixture_quantity(&arena, row->cap),
                                            .on_unusable_boost = count_unusable};
    struct vpa_buf out;
    struct vpa_error err;

    unusable_boosts = 0;
    vpa_buf_init(&out, 1 << 16);
    ck_assert_int_eq(vpa_pod_patch(&arena, &pod, &vpa, &limits, &options, &out, &err), 0);
    ck_assert_str_eq(summary(&arena, &out), row->want);
    ck_assert_int_eq(unusable_boosts, strncmp(row->name, "S2", 2) == 0);
    vpa_buf_release(&out);
}

/* The pod as the patch makes it. */
static const struct vpa_json *patched(struct vpa_arena *arena, const struct patch_row *row,
                                      const struct vpa_json *document)
{
    struct vpa_object vpa = the_vpa(arena, row);
    struct vpa_namespace_limits limits = fixture_limits(arena, row->limits);
    const struct vpa_pod_patch_options options = {
        .startup_boost = row->gate, .max_cpu_boost = fixture_quantity(arena, row->cap)};
    vpa_auto_buf patch = VPA_BUF(1 << 16), result = VPA_BUF(1 << 16);
    const struct vpa_json *ops, *after;
    struct vpa_error err;
    struct vpa_pod pod;

    ck_assert_int_eq(vpa_pod_decode(arena, document, &pod, &err), 0);
    ck_assert_int_eq(vpa_pod_patch(arena, &pod, &vpa, &limits, &options, &patch, &err), 0);
    ck_assert_int_eq(vpa_json_parse(arena, patch.data, patch.len, &ops, &err), 0);
    ck_assert_int_eq(vpa_json_patch_apply(document, ops, &result, &err), 0);
    ck_assert_int_eq(vpa_json_parse(arena, result.data, result.len, &after, &err), 0);
    return after;
}

#define APP(resources) "{'name':'app','resources':{" resources "}}"
#define APP_TARGET "{'containerName':'app','target':{'cpu':'1','memory':'1Gi'}}"
#define BOOST(members) "'startupBoost':{'cpu':{" members "}}"
#define POLICY(members)                                                                            \
    "'resourcePolicy':{'containerPolicies':[{'containerName':'app'," members "}]}"
#define TRIPLE "'type':'Factor','factor':3"

static const struct patch_row repeated[] = {
    {.containers = APP("'requests':{'cpu':'100m'}"), .spec = BOOST(TRIPLE)},
    {.containers = APP("'requests':{'cpu':'100m'},'limits':{'cpu':'200m'}"),
     .spec = BOOST("'type':'Quantity','quantity':'500m'")},
    {.containers = APP(""), .spec = BOOST("'type':'Quantity','quantity':'500m'")},
    {.containers = APP("'requests':{'cpu':'100m'},'limits':{'cpu':'1'}"),
     .spec = POLICY("'controlledValues':'RequestsOnly'") "," BOOST(TRIPLE)},
    {.containers = APP("'requests':{'cpu':'100m'},'limits':{'cpu':'200m'}"),
     .spec = POLICY("'controlledValues':'RequestsOnly'") "," BOOST(TRIPLE)},
    {.containers = APP("'requests':{'cpu':'100m','memory':'1Gi'},'limits':{'cpu':'2'}"),
     .spec = POLICY("'mode':'Off'," BOOST(TRIPLE))},
    {.containers = APP("'requests':{'cpu':'100m','memory':'1Gi'},'limits':{'cpu':'2'}"),
     .recommendation = APP_TARGET,
     .spec = "'updatePolicy':{'updateMode':'Off'}," BOOST(TRIPLE)},
    {.containers = APP("'requests':{'cpu':'100m','memory':'1Mi'},'limits':{'cpu':'300m'}"),
     .recommendation = APP_TARGET,
     .spec = BOOST(TRIPLE)},
    {.containers = APP("'requests':{'cpu':'100m'}"), .cap = "250m", .spec = BOOST(TRIPLE)},
};

/* An API server may ask twice about a pod: of two registrations, or again behind another webhook.
 * And a pod may be a copy of one that was patched. What is boosted already stays as it is, and so
 * does what is remembered of its original resources. */
TEST_EACH(what_was_patched_is_not_boosted_again, repeated) {
    struct patch_row row = repeated[_i];
    vpa_auto_arena arena = {0};
    const struct vpa_json *pod = fixture_parse(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'web-1','namespace':'ns'},'spec':{"
                                 "'containers':[%s]}}",
                                 row.containers));

    row.limits = "";
    row.gate = true;

    const struct vpa_json *once = patched(&arena, &row, pod);
    const struct vpa_json *twice = patched(&arena, &row, once);

    ck_assert_ptr_nonnull(
        vpa_json_find(vpa_json_at(once, "metadata.annotations"), "vpaCpuStartupBoost/app"));
    ck_assert(vpa_json_equal(vpa_json_find(once, "spec"), vpa_json_find(twice, "spec")));
    ck_assert(vpa_json_equal(vpa_json_at(once, "metadata.annotations"),
                             vpa_json_at(twice, "metadata.annotations")));
}

/* The marker is of another pod, or was written by somebody: what the container has now is what it
 * had before. */
static const char *const foreign_markers[] = {
    "{'requests':{'cpu':'50m'}}", "{'requests':{'cpu':'100m'}}", "{}", "null", "no marker",
};

TEST_EACH(a_marker_that_does_not_fit_is_replaced, foreign_markers) {
    const struct patch_row row = {.gate = true, .spec = BOOST(TRIPLE), .limits = ""};
    vpa_auto_arena arena = {0};
    vpa_auto_buf marker = VPA_BUF(256);

    vpa_json_escape(&marker, fixture_json(&arena, foreign_markers[_i]));

    const struct vpa_json *pod = fixture_parse(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'web-1','namespace':'ns','annotations':{"
                                 "'vpaCpuStartupBoost/app':%s}},'spec':{'containers':[%s]}}",
                                 vpa_buf_text(&marker), APP("'requests':{'cpu':'200m'}")));
    const struct vpa_json *after = patched(&arena, &row, pod);
    const struct vpa_json *container = vpa_json_first(vpa_json_at(after, "spec.containers"));

    ck_assert_str_eq(vpa_json_string(vpa_json_at(container, "resources.requests.cpu")), "600m");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(vpa_json_at(after, "metadata.annotations"),
                                                   "vpaCpuStartupBoost/app")),
                     "{\"requests\":{\"cpu\":\"200m\"},\"limits\":{}}");
}

/* Not both containers can be boosted. The first one came boosted. */
static const struct {
    const char *spec;
    const char *marker;
    const char *recommendation;
    const char *cpu;
    bool marked; /* afterwards */
} left_out[] = {
    {BOOST(TRIPLE), "{'requests':{'cpu':'1'}}", APP_TARGET, "1", false},
    {BOOST(TRIPLE), "{'requests':{'cpu':'50m'}}", APP_TARGET, "1", false},
    {BOOST(TRIPLE), "{'requests':{'cpu':'1'}}", "", "3", true},
    {BOOST("'type':'Percent'"), "{'requests':{'cpu':'1'}}", APP_TARGET, "1", false},
};

TEST_EACH(what_is_not_boosted_any_more_is_not_marked, left_out) {
    const struct patch_row row = {.gate = true,
                                  .spec = left_out[_i].spec,
                                  .recommendation = left_out[_i].recommendation,
                                  .limits = ""};
    vpa_auto_arena arena = {0};
    vpa_auto_buf marker = VPA_BUF(256);

    vpa_json_escape(&marker, fixture_json(&arena, left_out[_i].marker));

    const struct vpa_json *pod = fixture_parse(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'web-1','namespace':'ns','annotations':{"
                                 "'vpaCpuStartupBoost/app':%s}},'spec':{'resources':{'requests':{"
                                 "'cpu':'5','memory':'1Gi'}},'containers':[%s,{'name':'other',"
                                 "'resources':{'requests':{'cpu':'1'}}}]}}",
                                 vpa_buf_text(&marker), APP("'requests':{'cpu':'3'}")));
    const struct vpa_json *after = patched(&arena, &row, pod);
    const struct vpa_json *annotations = vpa_json_at(after, "metadata.annotations");
    const struct vpa_json *container = vpa_json_first(vpa_json_at(after, "spec.containers"));

    ck_assert_str_eq(vpa_json_string(vpa_json_at(container, "resources.requests.cpu")),
                     left_out[_i].cpu);
    ck_assert_int_eq(vpa_json_find(annotations, "vpaCpuStartupBoost/app") != NULL,
                     left_out[_i].marked);
    ck_assert_ptr_null(vpa_json_find(annotations, "vpaCpuStartupBoost/other"));
}

/* A marker has cpu and memory, twice: what is longer than 4096 bytes was not written by us. */
TEST_TIMES(a_long_marker_is_not_read, 2) {
    const struct patch_row row = {.gate = true, .spec = BOOST(TRIPLE), .limits = ""};
    static const struct {
        int len;
        const char *want;
    } markers[] = {{4096, "300m"}, {4097, "900m"}};
    vpa_auto_arena arena = {0};
    vpa_auto_buf marker = VPA_BUF(2 * 4096);

    vpa_json_escape(&marker, vpa_arena_printf(&arena, "%-*s", markers[_i].len,
                                              "{\"requests\":{\"cpu\":\"100m\"}}"));

    const struct vpa_json *pod = fixture_parse(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'web-1','namespace':'ns','annotations':{"
                                 "'vpaCpuStartupBoost/app':%s}},'spec':{'containers':[%s]}}",
                                 vpa_buf_text(&marker), APP("'requests':{'cpu':'300m'}")));
    const struct vpa_json *after = patched(&arena, &row, pod);
    const struct vpa_json *container = vpa_json_first(vpa_json_at(after, "spec.containers"));

    ck_assert_str_eq(vpa_json_string(vpa_json_at(container, "resources.requests.cpu")),
                     markers[_i].want);
}

TEST(nobody_need_hear_of_an_unusable_boost) {
    vpa_auto_arena arena = {0};
    const struct patch_row row = {.spec = "'startupBoost':{'cpu':{'type':'Percent'}}"};
    struct vpa_object vpa = the_vpa(&arena, &row);
    struct vpa_pod pod =
        fixture_pod(&arena, "{'metadata':{'name':'web-1','namespace':'ns'},'spec':{"
                            "'containers':[{'name':'app','resources':{'requests':{"
                            "'cpu':'1'}}}]}}");
    const struct vpa_namespace_limits limits = {0};
    const struct vpa_pod_patch_options options = {.startup_boost = true};
    struct vpa_buf out;
    struct vpa_error err;

    vpa_buf_init(&out, 1 << 16);
    ck_assert_int_eq(vpa_pod_patch(&arena, &pod, &vpa, &limits, &options, &out, &err), 0);
    ck_assert_str_eq(summary(&arena, &out), "A={}|A/vpaObservedContainers=app");
    vpa_buf_release(&out);
}

/* The target is 1 CPU and 100Mi; limits follow the requests. */
static const struct {
    const char *resources, *want;
} changes[] = {
    {"{}", "cpu request none -> 1; memory request none -> 100Mi"},
    {"{'requests':{'cpu':'999m','memory':'100Mi'}}", "cpu request 999m -> 1"},
    {"{'requests':{'cpu':'1000m','memory':'104857600'}}", ""},
    {"{'requests':{'cpu':'1001m','memory':'100Mi'}}", "cpu request 1001m -> 1"},
    {"{'requests':{'cpu':'2','memory':'50Mi'},'limits':{'cpu':'2','memory':'50Mi'}}",
     "cpu request 2 -> 1; memory request 50Mi -> 100Mi; cpu limit 2 -> 1; memory limit 50Mi -> "
     "100Mi"},
};

TEST_EACH(tells_which_values_change, changes) {
    vpa_auto_arena arena = {0};
    const struct patch_row row = {
        .recommendation = "{'containerName':'app','target':{'cpu':'1','memory':'100Mi'}}",
        .spec = ""};
    struct vpa_object vpa = the_vpa(&arena, &row);
    struct vpa_pod pod = fixture_pod(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'web-1','namespace':'ns'},'spec':{"
                                 "'containers':[{'name':'app','resources':%s}]}}",
                                 changes[_i].resources));
    const struct vpa_namespace_limits limits = {0};
    vpa_auto_buf words = VPA_BUF(VPA_REASON_MAX), out = VPA_BUF(1 << 16);
    struct vpa_reason_phrases phrases = {.out = &words, .pod = &pod};
    const struct vpa_pod_patch_options options = {.changes = &phrases};
    struct vpa_error err;

    ck_assert_int_eq(vpa_pod_patch(&arena, &pod, &vpa, &limits, &options, &out, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&words), changes[_i].want);
}

/* A pod with an annotation of so many bytes, and one that is replaced. */
static const char *annotated(struct vpa_arena *arena, size_t filler)
{
    return vpa_arena_printf(arena,
                            "{'metadata':{'name':'web-1','namespace':'ns','annotations':{"
                            "'filler':'%.*s','vpaUpdates':'old'}},'spec':{'containers':[%s]}}",
                            (int)filler, vpa_arena_printf(arena, "%0*d", 1 << 18, 0),
                            APP("'requests':{'cpu':'100m'}"));
}

static size_t annotation_bytes(const struct vpa_json *pod)
{
    size_t sum = 0;

    vpa_json_foreach (annotation, vpa_json_at(pod, "metadata.annotations"))
        sum += strlen(vpa_json_name(annotation)) + strlen(vpa_json_string(annotation));
    return sum;
}

/* An API server takes 256 KiB of them, keys and values, and refuses the pod with more (U36). The
 * marker of a boost is left out before all else is. */
TEST_TIMES(annotations_stay_within_their_limit, 2) {
    const struct patch_row row = {
        .gate = _i == 1, .spec = BOOST(TRIPLE), .recommendation = APP_TARGET, .limits = ""};
    vpa_auto_arena arena = {0};
    const struct vpa_pod_patch_options options = {.startup_boost = row.gate,
                                                  .max_cpu_boost = fixture_quantity(&arena, NULL)};
    struct vpa_object vpa = the_vpa(&arena, &row);
    const struct vpa_json *after =
        patched(&arena, &row, fixture_parse(&arena, annotated(&arena, 0)));
    size_t room = (1 << 18) - annotation_bytes(after);
    struct vpa_error err = {0};

    for (size_t over = 0; over < 2; over++) {
        struct vpa_pod pod = fixture_pod(&arena, annotated(&arena, room + over));
        vpa_auto_buf out = VPA_BUF(1 << 16);

        ck_assert_int_eq(vpa_pod_patch(&arena, &pod, &vpa, NULL, &options, &out, &err),
                         over && !row.gate ? -1 : 0);
        ck_assert_int_eq(out.len == 0, over && !row.gate);
        ck_assert_int_eq(strstr(vpa_buf_text(&out), "vpaCpuStartupBoost") != NULL,
                         row.gate && !over);
    }
    if (!row.gate)
        ck_assert_str_eq(err.text, "failed to calculate resource patch for pod ns/web-1: its "
                                   "annotations would have 262145 bytes, more than 262144");
}

/* A name that does not fit is left out, and what is left would be another path, or text. */
static const struct {
    size_t container, resource; /* letters of the names */
    bool boost;
    int result;
} long_names[] = {
    {3, 4000, false, 0}, {3, 5000, false, -1}, {5000, 3, false, 0},
    {4000, 3, true, 0},  {5000, 3, true, 0},   {(1 << 20) + 1, 3, false, -1},
};

TEST_EACH(a_name_that_does_not_fit_changes_nothing, long_names) {
    vpa_auto_arena arena = {0};
    const char *container = vpa_arena_printf(&arena, "%0*d", (int)long_names[_i].container, 0);
    const char *resource = vpa_arena_printf(&arena, "%0*d", (int)long_names[_i].resource, 0);
    const struct patch_row row = {
        .gate = long_names[_i].boost,
        .spec = long_names[_i].boost ? BOOST(TRIPLE) : "",
        .recommendation = vpa_arena_printf(
            &arena, "{'containerName':'%s','target':{'cpu':'1','%s':'2'}}", container, resource),
        .limits = ""};
    struct vpa_object vpa = the_vpa(&arena, &row);
    struct vpa_pod pod = fixture_pod(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'web-1','namespace':'ns'},'spec':{"
                                 "'containers':[{'name':'%s','resources':{'requests':{'cpu':"
                                 "'100m'}}}]}}",
                                 container));
    const struct vpa_pod_patch_options options = {.startup_boost = row.gate,
                                                  .max_cpu_boost = fixture_quantity(&arena, NULL)};
    vpa_auto_buf out = VPA_BUF(1 << 22);
    struct vpa_error err = {0};
    int result = vpa_pod_patch(&arena, &pod, &vpa, NULL, &options, &out, &err);

    ck_assert_int_eq(result, long_names[_i].result);
    ck_assert_int_eq(out.len == 0, result < 0);
    if (result < 0)
        ck_assert_int_eq(err.code, VPA_LIMIT);
}

TEST(failure_leaves_nothing) {
    vpa_auto_arena arena = {0};
    struct vpa_object vpa = the_vpa(&arena, &rows[0]);
    struct vpa_pod pod = fixture_pod(
        &arena,
        "{'metadata':{'name':'web-1','namespace':'ns'},'spec':{'containers':[{'name':'app'}]}}");
    const struct vpa_namespace_limits limits = {.error = "oh no"};
    const struct vpa_pod_patch_options options = {0};
    struct vpa_buf out;
    struct vpa_error err;

    vpa_buf_init(&out, 1 << 16);
    ck_assert_int_eq(vpa_pod_patch(&arena, &pod, &vpa, &limits, &options, &out, &err), -1);
    ck_assert_str_eq(err.text,
                     "failed to calculate resource patch for pod ns/web-1: error obtaining "
                     "limit range: oh no");
    ck_assert_uint_eq(out.len, 0);
    vpa_buf_release(&out);
}

int main(void)
{
    return run_tests("pod_patch", NULL, NULL);
}
