/*
 * A shadow: what it compares, what it tells, and that nothing is written.
 */
#include "recommender_fixture.h"

static const bool standing_by = true;

#define STATUS(cpu, memory)                                                                        \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"generation\":1,"                \
          "\"creationTimestamp\":\"2026-01-15T10:00:00Z\"},\"spec\":{\"targetRef\":{"              \
          "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}},\"status\":{"     \
          "\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\","          \
          "\"target\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}},"                           \
          "{\"containerName\":\"gone\",\"target\":{\"cpu\":\"1\"}}]}}}")

TEST(compares_with_the_other_and_writes_nothing) {
    vpa_auto_buf table = {0};
    struct shadow *shadow = shadow_new();
    struct vpa_error err;
    size_t writes;

    vpa_buf_init(&table, (size_t)1 << 16);
    shadow_write_table(shadow, &table);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&table), "shadow: 0 passes"));

    change(STATUS("1168m", "2Gi"));
    construct(NULL);
    recommender_free(recommender);
    recommender = recommender_new(&(struct recommender_options){.loop = loop,
                                                                .config = &config,
                                                                .client = client,
                                                                .writer = client,
                                                                .metrics = client,
                                                                .standby = &standing_by,
                                                                .shadow = shadow});
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
    for (int i = 0; i < 2; i++) {
        pass(USAGE("1", "1Gi"));
        fake_cluster_writes(server, &writes);
        ck_assert_uint_eq(writes, 0);
    }
    recommender_flush(recommender, VPA_SECOND);
    fake_cluster_writes(server, &writes);
    ck_assert_uint_eq(writes, 0);

    vpa_buf_clear(&table);
    shadow_write_table(shadow, &table);
    const char *text = vpa_buf_text(&table);
    ck_assert_msg(strstr(text, "shadow: 2 passes; in the last one 1 VPAs, 1 containers compared, 0 "
                               "recommended for by us alone, 1 by the other alone\n") != NULL,
                  "%s", text);
    ck_assert_msg(strstr(text, "target      cpu            1       ") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "shop/web app") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "lowerBound  cpu            0") != NULL, "%s", text);
    stop();
    shadow_free(shadow);
}

/* One container, target.cpu alone. */
static struct vpa_recommendation recommendation_of(const char *name, const char *cpu)
{
    struct vpa_recommendation rec;
    struct vpa_error err;
    const char *text = vpa_arena_printf(&arena,
                                        "{\"containerRecommendations\":[{\"containerName\":\"%s\","
                                        "\"target\":{\"cpu\":\"%s\"}}]}",
                                        name, cpu);

    ck_assert_int_eq(vpa_recommendation_decode(&arena, json(text), &rec, &err), 0);
    return rec;
}

/* Each bound is compared with the same one of the other. */
TEST_TIMES(bounds_are_not_mixed_up, 3) {
    static const char *const bounds[] = {"target", "lowerBound", "upperBound"};
    struct vpa_object object = {.meta = {.ns = "shop", .name = "web"}};
    struct vpa_recommendation ours;
    struct vpa_error err;
    vpa_auto_buf table = {0};
    struct shadow *shadow = shadow_new();
    const char text[] = "{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{"
                        "\"cpu\":\"%d\"},\"lowerBound\":{\"cpu\":\"%d\"},\"upperBound\":{"
                        "\"cpu\":\"%d\"}}]}";
#define DECODE(out, a, b, c)                                                                       \
    ck_assert_int_eq(vpa_recommendation_decode(                                                    \
                         &arena, json(vpa_arena_printf(&arena, text, a, b, c)), out, &err),        \
                     0)

    DECODE(&object.recommendation, 4, 2, 8);
    DECODE(&ours, _i == 0 ? 8 : 4, _i == 1 ? 4 : 2, _i == 2 ? 16 : 8);
    shadow_begin(shadow);
    shadow_compare(shadow, &object, &ours);
    shadow_end(shadow);
    vpa_buf_init(&table, (size_t)1 << 16);
    shadow_write_table(shadow, &table);
    for (int i = 0; i < 3; i++) {
        vpa_auto_free char *head = vpa_xprintf("%-12scpu     ", bounds[i]);
        const char *row = strstr(vpa_buf_text(&table), head);

        ck_assert_msg(row != NULL, "%s", vpa_buf_text(&table));
        ck_assert_msg(vpa_str_starts_with(row + strlen(head),
                                          i == _i
                                              ? "       1       0       0       0       0  +100.0 %"
                                              : "       1       1       1       1       1"),
                      "%s", row);
    }
    shadow_free(shadow);
}

/* The row of target and cpu: equal, within 1, 5 and 10 %. */
static const struct {
    const char *ours, *theirs;
    const char *row;
} distances[] = {
    {"100m", "100m", "       1       1       1       1       1"},
    {"1", "1000m", "       1       1       1       1       1"},
    {"101m", "100m", "       1       0       1       1       1"},
    {"95m", "100m", "       1       0       0       1       1"},
    {"109m", "100m", "       1       0       0       0       1"},
    {"2", "1", "       1       0       0       0       0  +100.0 %  shop/web app"},
    {"500m", "1", "       1       0       0       0       0  -50.0 %  shop/web app"},
    {"1", "0", "       0       0       0       0       0\n"},
};

TEST_EACH(counts_by_distance, distances) {
    const struct vpa_object object = {.meta = {.ns = "shop", .name = "web"},
                                      .recommendation =
                                          recommendation_of("app", distances[_i].theirs)};
    struct vpa_recommendation ours = recommendation_of("app", distances[_i].ours);
    vpa_auto_buf table = {0};
    struct shadow *shadow = shadow_new();

    shadow_begin(shadow);
    shadow_compare(shadow, &object, &ours);
    shadow_end(shadow);
    shadow_begin(shadow); /* one that does not end counts for nothing */
    shadow_compare(shadow, &object, &ours);
    vpa_buf_init(&table, (size_t)1 << 16);
    shadow_write_table(shadow, &table);
    const char *row = strstr(vpa_buf_text(&table), "target      cpu     ");
    ck_assert_ptr_nonnull(row);
    ck_assert_msg(vpa_str_starts_with(row + 20, distances[_i].row), "%s", row);
    shadow_free(shadow);
}

/* Whichever comes first, and in whichever direction it is. */
TEST_TIMES(the_farthest_is_named, 5) {
    static const struct {
        const char *first, *second; /* ours; theirs is 1 */
        const char *named;
    } cases[] = {
        {"2", "1100m", "+100.0 %  shop/a app"},   {"1100m", "2", "+100.0 %  shop/b app"},
        {"500m", "1100m", "-50.0 %  shop/a app"}, {"1100m", "500m", "-50.0 %  shop/b app"},
        {"1", "1", "+0.0 %  shop/a app"},
    };
    struct vpa_object a = {.meta = {.ns = "shop", .name = "a"}},
                      b = {.meta = {.ns = "shop", .name = "b"}};
    struct vpa_recommendation first = recommendation_of("app", cases[_i].first),
                              second = recommendation_of("app", cases[_i].second);
    struct shadow *shadow = shadow_new();
    vpa_auto_buf table = {0};

    a.recommendation = b.recommendation = recommendation_of("app", "1");
    shadow_begin(shadow);
    shadow_compare(shadow, &a, &first);
    shadow_compare(shadow, &b, &second);
    shadow_end(shadow);
    vpa_buf_init(&table, (size_t)1 << 16);
    shadow_write_table(shadow, &table);
    ck_assert_msg(strstr(vpa_buf_text(&table), cases[_i].named) != NULL, "%s",
                  vpa_buf_text(&table));
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&table), "target      cpu            2"));
    shadow_free(shadow);
}

int main(void)
{
    return run_tests("recommender_shadow", setup, teardown);
}
