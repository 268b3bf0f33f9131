/* Recommendations: policies, rendering of amounts (E20 to E22), integer CPU. */
#include "cluster_fixture.h"
#include "vpa/model/recommend.h"

static struct vpa_estimator estimator;
static struct vpa_rendering rendering;

static void setup_estimator(void)
{
    setup();
    now = at("2026-01-15T14:00:00Z");
    vpa_estimator_init(&estimator);
    vpa_rendering_init(&rendering);
}

static const char *encode(const struct vpa_recommendation *rec)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(1 << 16);

    vpa_json_writer_init(&w, &text);
    vpa_recommendation_encode(&w, rec);
    return vpa_arena_strdup(&arena, vpa_buf_text(&text));
}

static const char *recommend_for(const char *policies)
{
    struct vpa_object *object = vpa_of(
        &arena, vpa_arena_printf(&arena,
                                 "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"v\"},\"spec\":{"
                                 "\"resourcePolicy\":{\"containerPolicies\":[%s]}}}",
                                 policies));
    struct vpa_pod *pod = pod_of(
        &arena,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"labels\":{\"app\":\"web\"}},\"spec\":"
        "{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}");

    struct vpa_autoscaler *v =
        vpa_cluster_put_vpa(c, object, selector_of(&arena, "app=web"), NULL, now);
    struct vpa_estimates estimates;

    vpa_cluster_put_pod(c, pod, NULL, now);
    vpa_estimate(c, v, &estimator, now, &arena, &estimates);
    struct vpa_recommendation rec = vpa_render(&estimates, &rendering, &arena);
    ck_assert(rec.present);
    return encode(&rec);
}

#define ALL(cpu, memory)                                                                           \
    "\"target\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"},\"lowerBound\":{\"cpu\":\"" cpu    \
    "\",\"memory\":\"" memory "\"},\"upperBound\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory       \
    "\"},\"uncappedTarget\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}}"
#define LIST(items) "{\"containerRecommendations\":[" items "]}"
#define NAMED(name) "{\"containerName\":\"" name "\","

static const struct {
    const char *name, *policies, *text;
} policies[] = {
    {"none", "", LIST(NAMED("a") ALL("12m", "125Mi") "," NAMED("b") ALL("12m", "125Mi"))},
    {"off by name", "{\"containerName\":\"a\",\"mode\":\"Off\"}",
     LIST(NAMED("b") ALL("25m", "250Mi"))},
    {"off for all", "{\"containerName\":\"*\",\"mode\":\"Off\"}", "{}"},
    {"auto against off",
     "{\"containerName\":\"*\",\"mode\":\"Off\"},{\"containerName\":\"b\",\"mode\":\"Auto\"}",
     LIST(NAMED("b") ALL("25m", "250Mi"))},
    {"only memory of one, nothing of the other",
     "{\"containerName\":\"a\",\"controlledResources\":[\"memory\"]},{\"containerName\":\"b\","
     "\"controlledResources\":[\"disk\"]}",
     LIST(NAMED(
         "a") "\"target\":{\"memory\":\"125Mi\"},\"lowerBound\":{\"memory\":\"125Mi\"},"
              "\"upperBound\":{\"memory\":\"125Mi\"},\"uncappedTarget\":{\"memory\":\"125Mi\"}}"
              "," NAMED("b") "\"target\":{}}")},
};

TEST_EACH(policies_choose_containers_and_resources, policies) {
    ck_assert_str_eq(recommend_for(policies[_i].policies), policies[_i].text);
}

static const struct {
    enum vpa_kind kind;
    vpa_amount amount;
    int64_t factor;
    bool humanize;
    const char *text;
} amounts[] = {
    {VPA_KIND_CPU, 25, 1, false, "25m"},
    {VPA_KIND_CPU, 1000, 1, false, "1"},
    {VPA_KIND_CPU, 0, 10, false, "0"},
    {VPA_KIND_CPU, 1168, 10, false, "1170m"},
    {VPA_KIND_CPU, 1000, 3, false, "1002m"},
    {VPA_KIND_CPU, 25, 50, false, "50m"},
    {VPA_KIND_CPU, 25, 0, false, "25m"},
    {VPA_KIND_CPU, 25, -4, false, "25m"},
    {VPA_KIND_MEMORY, 262144000, 1, false, "250Mi"},
    {VPA_KIND_MEMORY, 65536000, 1, false, "64000Ki"},
    {VPA_KIND_MEMORY, 380258472, 1, false, "380258472"},
    {VPA_KIND_MEMORY, 1000, 1, false, "1k"},
    {VPA_KIND_MEMORY, 839500000, 134217728, false, "896Mi"},
    {VPA_KIND_MEMORY, 380258472, 1048576, false, "363Mi"},
    {VPA_KIND_MEMORY, VPA_AMOUNT_MAX, INT64_MAX, false, "9223372036854775807"},
    {VPA_KIND_MEMORY, INT64_MAX, 1000, false, "9223372036854775807"},
    {VPA_KIND_MEMORY, 839500000, 1, true, "839500431360m"},
    {VPA_KIND_MEMORY, 4992073454, 1, true, "4992899481600m"},
    {VPA_KIND_MEMORY, 0, 1, true, "0"},
};

TEST_EACH(amounts_become_quantities, amounts) {
    struct vpa_rendering r = {.humanize_memory = amounts[_i].humanize,
                              .round_cpu_millicores = amounts[_i].factor,
                              .round_memory_bytes = amounts[_i].factor};
    struct vpa_quantity q = vpa_render_amount(amounts[_i].kind, amounts[_i].amount, &r, &arena);

    ck_assert_str_eq(vpa_quantity_text(&arena, &q), amounts[_i].text);
}

static const struct {
    vpa_amount bytes;
    const char *text;
} humanized[] = {
    {0, "0"},
    {1023, "1023"},
    {1024, "1.00Ki"},
    {1537, "1.50Ki"},
    {1050000, "1.00Mi"},
    {4992073454, "4.65Gi"},
    {1099511627776, "1.00Ti"},
    {-5, "-5"},
};

TEST_EACH(bytes_for_people, humanized) {
    vpa_auto_buf text = VPA_BUF(64);

    vpa_render_humanized(humanized[_i].bytes, &text);
    ck_assert_str_eq(vpa_buf_text(&text), humanized[_i].text);
}

static const struct {
    const char *annotations, *cpu;
} integers[] = {
    {"{\"vpa-post-processor.kubernetes.io/app_integerCPU\":\"true\"}", "1"},
    {"{\"vpa-post-processor.kubernetes.io/app_integerCPU\":\"True\"}", "587m"},
    {"{\"vpa-post-processor.kubernetes.io/ap_integerCPU\":\"true\"}", "587m"},
    {"{\"vpa-post-processor.kubernetes.io/appx_integerCPU\":\"true\"}", "587m"},
    {"{\"vpa-post-processor.kubernetes.io/_integerCPU\":\"true\"}", "587m"},
    {"{\"vpa-post-processor.kubernetes.io/app_integerMemory\":\"true\"}", "587m"},
    {"{\"vpa-post-processor.kubernetes.io/app_integercpu\":\"true\"}", "587m"},
    {"{\"xpa-post-processor.kubernetes.io/app_integerCPU\":\"true\"}", "587m"},
    {"{\"other/app_integerCPU\":\"true\"}", "587m"},
    {"{}", "587m"},
};

TEST_EACH(integer_cpu_by_annotation, integers) {
    struct vpa_recommendation rec;
    struct vpa_labels annotations;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_recommendation_decode(
            &arena,
            json(&arena, "{\"containerRecommendations\":[{\"containerName\":\"app\","
                         "\"target\":{\"cpu\":\"587m\",\"memory\":\"5\"},\"lowerBound\":{"
                         "\"cpu\":\"587m\"},\"upperBound\":{\"cpu\":\"587m\"},"
                         "\"uncappedTarget\":{\"cpu\":\"587m\"}},{\"containerName\":\"\","
                         "\"target\":{\"cpu\":\"1m\"}}]}"),
            &rec, &err),
        0);
    ck_assert_int_eq(
        vpa_labels_decode(&arena, json(&arena, integers[_i].annotations), &annotations, &err), 0);
    vpa_recommend_integer_cpu(&rec, &annotations, &arena);
    ck_assert_str_eq(
        encode(&rec),
        vpa_arena_printf(
            &arena,
            "{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{\"cpu\":"
            "\"%s\",\"memory\":\"5\"},\"lowerBound\":{\"cpu\":\"%s\"},\"upperBound\":{\"cpu\":"
            "\"%s\"},\"uncappedTarget\":{\"cpu\":\"%s\"}},{\"target\":"
            "{\"cpu\":\"1m\"}}]}",
            integers[_i].cpu, integers[_i].cpu, integers[_i].cpu, integers[_i].cpu));
}

int main(void)
{
    return run_tests("recommend", setup_estimator, teardown);
}
