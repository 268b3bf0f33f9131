/* Discovery: when a group is read, how often, and what is made of it. */
#include "owner_fixture.h"

START_TEST(discovery_is_asked_again)
{
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    group_known = false;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    group_known = true;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), -1);
    vpa_discovery_begin_pass(d);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_uint_eq(count, 1); /* the same plural in two versions */
    ck_assert_str_eq(m[0].version, "v1");
    ck_assert_str_eq(m[0].resource, "widgets");
    int before = discovery_gets;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "widget", &m, &count, &err), 0);
    ck_assert_int_eq(discovery_gets, before);
    widgets_version = 2;
    vpa_loop_pump(loop, 5 * VPA_MINUTE);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_str_eq(m[0].version, "v2");
    ck_assert(vpa_discovery_has_subresource(d, "v1", "pods/resize"));
    ck_assert(!vpa_discovery_has_subresource(d, "v1", "pods/scale"));
    ck_assert(vpa_discovery_has_subresource(d, "example.com/v2", "widgets/scale"));
    ck_assert(!vpa_discovery_has_subresource(d, "nowhere.io/v2", "widgets/scale"));
}
END_TEST

/* What a server calls a version goes into paths. */
START_TEST(odd_versions_are_left_out)
{
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    widgets_version = 3;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_str_eq(m[0].version, "v1");
    ck_assert_int_eq(discovery_gets, 2);
}
END_TEST

START_TEST(discovery_is_read_once_for_all)
{
    synced();
    every_widget = true;
    follow_many(8);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(scale_gets, 8);
    ck_assert_int_eq(discovery_gets, 3); /* the group and its two versions */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("discovery");
    TCase *c = tcase_create("discovery");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, discovery_is_read_once_for_all);
    tcase_add_test(c, discovery_is_asked_again);
    tcase_add_test(c, odd_versions_are_left_out);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
