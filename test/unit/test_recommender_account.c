/*
 * What the recommender writes into its ledger: the first recommendation, what changes it by a tenth
 * or more, and conditions; nothing while nothing changes.
 */
#include "recommender_fixture.h"

#include "../../recommender/account.h"

static int64_t read_until; /* number of the last entry that was read */

static const struct vpa_json *read_new(void)
{
    vpa_auto_free char *since = vpa_xprintf("%lld", (long long)read_until);
    const struct vpa_ledger_query query = {.since = since};
    vpa_auto_buf out = VPA_BUF(2 * VPA_LEDGER_PAGE_MAX);
    struct vpa_error err;

    ck_assert_int_eq(vpa_ledger_read(ledger, &query, &out, &err), 0);
    const struct vpa_json *page = json(vpa_arena_strdup(&arena, vpa_buf_text(&out)));

    ck_assert(vpa_json_int64(vpa_json_find(page, "next"), &read_until));
    return vpa_json_find(page, "decisions");
}

static const struct vpa_json *the_only_new(void)
{
    const struct vpa_json *list = read_new();

    ck_assert_uint_eq(vpa_json_count(list), 1);
    return vpa_json_first(list);
}

static void begin(void)
{
    setup();
    read_until = 0;
    ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = VPA_LEDGER_MEMORY});
    start(NULL);
}

static void end(void)
{
    teardown();
    vpa_ledger_free(ledger);
    ledger = NULL;
}

/* The part of the old target by which it has moved. */
static double moved_by(const struct vpa_json *e, const char *what)
{
    char from[32] = "", to[32] = "";
    struct vpa_quantity a, b;
    const char *why = strstr(fake_text_at(e, "why"), what);

    if (!why || sscanf(why + strlen(what), "%31s -> %31[^;:, ]", from, to) != 2)
        return 0;
    ck_assert_int_eq(vpa_quantity_parse(&arena, from, &a, NULL), 0);
    ck_assert_int_eq(vpa_quantity_parse(&arena, to, &b, NULL), 0);
    double old = (double)vpa_quantity_milli_value(&a), new = (double)vpa_quantity_milli_value(&b);

    return (new > old ? new - old : old - new) / old;
}

TEST(writes_down_what_changes) {
    const struct vpa_json *e;

    pass(USAGE("1", "1Gi"));
    e = the_only_new();
    ck_assert_str_eq(fake_text_at(e, "decision"), "recommend");
    ck_assert_str_eq(fake_text_at(e, "rule"), "first");
    ck_assert_str_eq(fake_text_at(e, "namespace"), "shop");
    ck_assert_str_eq(fake_text_at(e, "vpa"), "web");
    ck_assert_str_eq(fake_text_at(e, "pod"), "");
    ck_assert_ptr_nonnull(strstr(fake_text_at(e, "why"), "cpu target none -> "));
    ck_assert_ptr_nonnull(strstr(fake_text_at(e, "why"), "RecommendationProvided is True"));
    ck_assert_ptr_nonnull(vpa_json_at(e, "inputs.recommendation"));
    for (int i = 0; i < 20; i++)
        pass(USAGE("1", "1Gi"));
    ck_assert_uint_eq(vpa_json_count(read_new()), 0);

    for (int i = 0; i < 40; i++)
        pass(USAGE("8", "1Gi"));
    for (int i = 0; i < 40; i++) { /* by a fiftieth each */
        vpa_auto_free char *usage = vpa_xprintf(USAGE("8", "%dMi"), 1024 + 20 * i);

        pass(usage);
    }
    vpa_json_foreach (moved, read_new()) {
        ck_assert_str_eq(fake_text_at(moved, "rule"), "a target moved by a tenth or more");
        ck_assert_msg(moved_by(moved, "cpu target ") >= 0.1 ||
                          moved_by(moved, "memory target ") >= 0.1,
                      "%s", fake_text_at(moved, "why"));
        e = moved;
    }
    ck_assert_str_eq(fake_text_at(e, "rule"), "a target moved by a tenth or more");
}

TEST(writes_down_conditions) {
    const struct vpa_json *e;

    pass(USAGE("1", "1Gi"));
    (void)read_new();
    end_watches("pods");
    change("{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":"
           "\"web-1\"}}");
    pass("{\"usage\":[]}");
    pass("{\"usage\":[]}");
    e = the_only_new();
    ck_assert_str_eq(fake_text_at(e, "rule"), "its conditions changed");
    ck_assert_ptr_nonnull(strstr(fake_text_at(e, "why"), "NoPodsMatched is True"));
    change(POD("web-2"));
    pass("{\"usage\":[]}");
    e = the_only_new();
    ck_assert_str_eq(fake_text_at(e, "rule"), "its conditions changed");
    ck_assert_ptr_null(strstr(fake_text_at(e, "why"), "NoPodsMatched is True"));
}

static void change_condition(const char *type, const char *status, const char *reason,
                             const char *message)
{
    vpa_auto_free char *text = vpa_xprintf(
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
              "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"creationTimestamp\":"
              "\"2026-01-15T10:00:00Z\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\","
              "\"kind\":\"Deployment\",\"name\":\"web\"}},\"status\":{\"conditions\":[{"
              "\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"%s\",\"message\":\"%s\"}]}}"),
        type, status, reason, message);

    change(text);
    pass(USAGE("1", "1Gi"));
}

/* Each part of a condition that somebody else sets. */
TEST(every_part_of_a_condition_counts) {
    static const char *const parts[][4] = {{"Other", "True", "Because", "so it is"},
                                           {"Another", "True", "Because", "so it is"},
                                           {"Another", "False", "Because", "so it is"},
                                           {"Another", "False", "Therefore", "so it is"},
                                           {"Another", "False", "Therefore", "so it was"}};

    for (size_t i = 0; i < VPA_COUNT(parts); i++) {
        change_condition(parts[i][0], parts[i][1], parts[i][2], parts[i][3]);
        const struct vpa_json *e = the_only_new();
        ck_assert_str_eq(fake_text_at(e, "rule"), i ? "its conditions changed" : "first");
        change_condition(parts[i][0], parts[i][1], parts[i][2], parts[i][3]);
        ck_assert_uint_eq(vpa_json_count(read_new()), 0);
    }
}

static void cap(const char *cpu)
{
    vpa_auto_free char *text = vpa_xprintf(
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
              "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"creationTimestamp\":"
              "\"2026-01-15T10:00:00Z\"},\"spec\":{\"resourcePolicy\":{\"containerPolicies\":[{"
              "\"containerName\":\"*\",\"maxAllowed\":{\"cpu\":\"%s\"}}]},\"targetRef\":{"
              "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}}"),
        cpu);

    change(text);
    pass(USAGE("8", "1Gi"));
}

/* Of the old target: a tenth of it more, and a tenth of it less. */
TEST(a_target_moves_by_a_tenth_of_what_it_was) {
    static const struct {
        const char *cpu;
        bool moved;
    } caps[] = {{"1000m", true},  {"1099m", false}, {"1100m", true},
                {"1209m", false}, {"1210m", true},  {"1100m", false},
                {"1089m", true},  {"982m", false},  {"981m", true}};

    for (size_t i = 0; i < VPA_COUNT(caps); i++) {
        cap(caps[i].cpu);
        const struct vpa_json *list = read_new();
        ck_assert_msg(vpa_json_count(list) == (caps[i].moved ? 1 : 0), "%s: %s", caps[i].cpu,
                      fake_text_at(vpa_json_first(list), "why"));
    }
}

/* ---- without the recommender ---- */

struct told {
    struct vpa_object vpa;
    struct vpa_rendering rendering;
    struct vpa_estimates estimates;
    void *noted;
};

/* What the ledger gets of targets as a VPA's status has them; 0 conditions. */
static void tell(struct told *t, const char *containers)
{
    const struct vpa_object_status status = {.condition_count = 0};
    const struct vpa_resource_list no_max = {.count = 0};
    const struct vpa_recommendation_facts facts = {.vpa = &t->vpa,
                                                   .estimates = &t->estimates,
                                                   .rendering = &t->rendering,
                                                   .global_max = &no_max};
    struct vpa_recommendation rec;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_recommendation_decode(
            &arena,
            json(vpa_arena_printf(&arena, "{\"containerRecommendations\":[%s]}", containers)), &rec,
            &err),
        0);
    account_tell(ledger, &t->noted, &facts, &rec, &status, vpa_loop_now(loop));
}

#define OF(name, cpu) "{\"containerName\":\"" name "\",\"target\":{\"cpu\":\"" cpu "\"}}"

/* Others than before have no old target, whatever amounts they have. */
TEST(other_containers_are_told) {
    static const struct {
        const char *containers, *decision, *rule, *why;
    } steps[] = {
        {OF("a", "1"), "recommend", "first", "cpu target none -> 1"},
        {OF("a", "1"), NULL, NULL, NULL},
        {OF("a", "2"), "recommend", "a target moved by a tenth or more", "cpu target 1 -> 2"},
        {OF("b", "2"), "recommend", "its containers changed", "cpu target none -> 2"},
        {OF("b", "2") "," OF("c", "2"), "recommend", "its containers changed",
         "container b: cpu target none -> 2; container c: cpu target none -> 2"},
        {OF("b", "2") "," OF("c", "3"), "recommend", "a target moved by a tenth or more",
         "container c: cpu target 2 -> 3"},
        {"", "recommend nothing", "its containers changed", ""},
        {"", NULL, NULL, NULL},
    };
    struct told t = {.vpa = {.meta = {.ns = "shop", .name = "web"}}};

    for (size_t i = 0; i < VPA_COUNT(steps); i++) {
        tell(&t, steps[i].containers);
        if (!steps[i].decision) {
            ck_assert_uint_eq(vpa_json_count(read_new()), 0);
            continue;
        }
        const struct vpa_json *e = the_only_new();
        ck_assert_str_eq(fake_text_at(e, "decision"), steps[i].decision);
        ck_assert_str_eq(fake_text_at(e, "rule"), steps[i].rule);
        ck_assert_str_eq(fake_text_at(e, "why"), steps[i].why);
        ck_assert_str_eq(fake_text_at(e, "vpa"), "web");
        ck_assert_ptr_nonnull(vpa_json_at(e, "inputs"));
    }
    free(t.noted);
}

int main(void)
{
    return run_tests_within(60, "recommender_account", begin, end);
}
