#include "policy_fixtures.h"

#include "vpa/policy/scaling.h"

/* Rows of admission.md 11.9: limit, request, target, default; NULL is absent. */
static const struct limit_row {
    const char *name;
    const char *resource;
    const char *limit, *request, *target, *fallback;
    const char *want; /* NULL: no limit */
    const char *note; /* part of it */
} limit_rows[] = {
    {"ratio kept", "cpu", "2", "1", "10", NULL, "20", NULL},
    {"default stands in", "cpu", NULL, "1", "10", "2", "20", NULL},
    {"zero limit counts as absent", "cpu", "0", "1", "10", "2", "20", NULL},
    {"no limit at all", "cpu", NULL, "1", "10", NULL, NULL, "originalLimit"},
    {"no request", "cpu", "2", NULL, "10", NULL, "10", NULL},
    {"no target", "cpu", NULL, "1", "0", "2", NULL, "recommendedRequest"},
    {"request equals limit", "cpu", "1", "1", "10", NULL, "10", NULL},
    {"rounded down", "cpu", "2", "1.50", "1", NULL, "1333m", NULL},
    {"cpu beyond int64", "cpu", "10G", "1m", "10G", NULL, "9223372036854775807m", "capping limit"},
    {"cpu below int64", "cpu", "10G", "1m", "-10G", NULL, "9223372036854775807m", "capping limit"},
    {"the least cpu is compared exactly", "cpu", "-10P", "-20P", "10", NULL, "10", NULL},
    {"memory rounded down", "memory", "200", "150", "100", NULL, "133", NULL},
    {"memory beyond int64", "memory", "10G", "1m", "10G", NULL, "9223372036854775807",
     "capping limit"},
    {"binary format is kept", "memory", "250Mi", "100Mi", "262144k", NULL, "625Mi", NULL},
    {"memory far below zero, equal", "memory", "-10Pi", "-10Pi", "5", NULL, "5", NULL},
    {"memory far below zero, not equal", "memory", "-20Pi", "-10Pi", "5Pi", NULL, "10Pi", NULL},
    {"memory beyond milli range is compared exactly", "memory", "20Pi", "10Pi", "5Pi", NULL, "10Pi",
     NULL},
};

TEST_EACH(limits_follow_requests, limit_rows) {
    const struct limit_row *row = &limit_rows[_i];
    vpa_auto_arena arena = {0};
    struct vpa_quantity limit = fixture_quantity(&arena, row->limit);
    struct vpa_quantity request = fixture_quantity(&arena, row->request);
    struct vpa_quantity target = fixture_quantity(&arena, row->target);
    struct vpa_quantity fallback = fixture_quantity(&arena, row->fallback);
    struct vpa_scaled_limit got =
        vpa_scale_limit(row->resource, row->limit ? &limit : NULL, row->request ? &request : NULL,
                        row->target ? &target : NULL, row->fallback ? &fallback : NULL);

    ck_assert_msg(got.present == (row->want != NULL), "%s: present %d", row->name, got.present);
    if (row->want)
        ck_assert_str_eq(vpa_quantity_text(&arena, &got.limit), row->want);
    if (row->note)
        ck_assert_msg(got.note && strstr(got.note, row->note), "%s: note %s", row->name, got.note);
    else
        ck_assert_msg(!got.note, "%s: note %s", row->name, got.note);
}

TEST(phrases_go_when_no_resource_has_a_limit) {
    vpa_auto_arena arena = {0};
    struct vpa_resource_list none = {0};
    struct vpa_resource_list target = fixture_list(&arena, "{'cpu':'1','memory':'1Gi'}");
    struct vpa_resource_list cpu = fixture_list(&arena, "{'cpu':'1'}");

    struct vpa_scaled_limits got = vpa_scale_limits(&arena, &none, &none, &target, NULL);
    ck_assert(!got.limits.present);
    ck_assert_uint_eq(got.note_count, 0);

    got = vpa_scale_limits(&arena, &cpu, &cpu, &target, NULL);
    ck_assert_str_eq(fixture_list_text(&arena, &got.limits), "cpu=1");
    ck_assert_uint_eq(got.note_count, 1);
}

static const struct scale_row {
    const char *name;
    const char *resource;
    const char *quantity, *base, *result;
    enum vpa_scale_rounding rounding;
    const char *want;
    enum vpa_scale_kind kind;
} scale_rows[] = {
    {"cpu down", "cpu", "1", "3", "1", VPA_SCALE_DOWN, "333m", VPA_SCALE_OK},
    {"cpu up", "cpu", "1", "3", "1", VPA_SCALE_UP, "334m", VPA_SCALE_OK},
    {"cpu exact is not rounded up", "cpu", "3", "3", "1", VPA_SCALE_UP, "1", VPA_SCALE_OK},
    {"memory never rounds up", "memory", "1Gi", "3Gi", "4Gi", VPA_SCALE_UP, "1431655765",
     VPA_SCALE_OK},
    {"memory of nothing goes below", "memory", "1", "3", "1", VPA_SCALE_DOWN, "-1", VPA_SCALE_OK},
    {"negative quotients are floored", "cpu", "-1", "3", "1", VPA_SCALE_NONE, "-334m",
     VPA_SCALE_OK},
    {"negative base", "cpu", "1", "-3", "1", VPA_SCALE_NONE, "-333m", VPA_SCALE_OK},
    {"negative by negative", "cpu", "-7", "-3", "1", VPA_SCALE_NONE, "2334m", VPA_SCALE_OK},
    {"far below zero", "memory", "-4Ei", "1", "4Ei", VPA_SCALE_NONE, "9223372036854775807",
     VPA_SCALE_CAPPED},
    {"zero base", "memory", "5", "0", "1", VPA_SCALE_NONE, "5", VPA_SCALE_ZERO_BASE},
    {"saturated", "memory", "4Ei", "1", "4Ei", VPA_SCALE_NONE, "9223372036854775807",
     VPA_SCALE_CAPPED},
};

TEST_EACH(quantities_scale, scale_rows) {
    const struct scale_row *row = &scale_rows[_i];
    vpa_auto_arena arena = {0};
    struct vpa_quantity q = fixture_quantity(&arena, row->quantity);
    struct vpa_quantity base = fixture_quantity(&arena, row->base);
    struct vpa_quantity result = fixture_quantity(&arena, row->result);
    struct vpa_quantity got;
    enum vpa_scale_kind kind =
        vpa_scale_quantity(row->resource, &q, &base, &result, row->rounding, &got);

    ck_assert_msg(kind == row->kind, "%s: kind %d", row->name, (int)kind);
    ck_assert_str_eq(vpa_quantity_text(&arena, &got), row->want);
}

TEST(boundary_keeps_the_ratio) {
    vpa_auto_arena arena = {0};
    struct vpa_quantity request = fixture_quantity(&arena, "100m");
    struct vpa_quantity limit = fixture_quantity(&arena, "150m");
    struct vpa_quantity edge = fixture_quantity(&arena, "300m");

    struct vpa_quantity got = vpa_scale_boundary(VPA_CPU, &request, &limit, &edge, NULL);
    ck_assert_str_eq(vpa_quantity_text(&arena, &got), "200m");
    got = vpa_scale_boundary(VPA_CPU, NULL, &limit, &edge, NULL);
    ck_assert_str_eq(vpa_quantity_text(&arena, &got), "300m");
    got = vpa_scale_boundary(VPA_CPU, &request, NULL, &edge, NULL);
    ck_assert(vpa_quantity_is_zero(&got));
    got = vpa_scale_boundary(VPA_CPU, &request, NULL, &edge, &limit);
    ck_assert_str_eq(vpa_quantity_text(&arena, &got), "200m");
}

int main(void)
{
    return run_tests("scaling", NULL, NULL);
}
