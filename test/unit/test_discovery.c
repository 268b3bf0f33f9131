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

/* A version that the server names twice is asked once. */
START_TEST(versions_are_asked_once)
{
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    widgets_version = 2;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_int_eq(discovery_gets, 3);
    ck_assert_str_eq(m[0].version, "v2");
}
END_TEST

/* A group that cannot be read is an error, a version of it is left out. */
START_TEST(broken_answers)
{
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    widgets_version = 5;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "discovery of group example.com: "));
    widgets_version = 4;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(m[0].version, "v1");
}
END_TEST

static int told[3];

static void on_read(void *ctx, const struct vpa_error *why)
{
    ck_assert_ptr_null(why);
    (*(int *)ctx)++;
}

/* Several wait for one reading; who does not wait any more is not told, wherever it stood. */
START_TEST(those_who_wait_are_told)
{
    struct vpa_discovery *d = vpa_owners_discovery(owners);

    for (size_t gone = 0; gone < 3; gone++) {
        struct vpa_discovery_wait waits[3];

        memset(told, 0, sizeof(told));
        for (size_t i = 0; i < 3; i++) {
            waits[i] = (struct vpa_discovery_wait){.fn = on_read, .ctx = &told[i]};
            vpa_discovery_read(d, "example.com", &waits[i]);
        }
        vpa_discovery_unwait(&waits[gone]);
        vpa_discovery_unwait(&waits[gone]); /* of no effect */
        vpa_loop_pump(loop, VPA_SECOND);
        for (size_t i = 0; i < 3; i++)
            ck_assert_int_eq(told[i], i != gone);
    }
}
END_TEST

/* A list of a kind is found by the kind. */
START_TEST(lists_are_known_by_their_kind)
{
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "WidgetList", &m, &count, &err), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(m[0].kind, "Widget");
    ck_assert_str_eq(m[0].resource, "widgetlists");
    ck_assert_str_eq(m[0].version, "v1");
    ck_assert(m[0].namespaced);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "WidgetLis", &m, &count, &err), -1);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "WidgesList", &m, &count, &err), -1);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "List", &m, &count, &err), -1);
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
    tcase_add_test(c, versions_are_asked_once);
    tcase_add_test(c, broken_answers);
    tcase_add_test(c, those_who_wait_are_told);
    tcase_add_test(c, lists_are_known_by_their_kind);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
