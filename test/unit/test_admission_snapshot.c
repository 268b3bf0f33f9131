#include "policy_fixtures.h"

#include "snapshot.h"

#define VPA(name, target)                                                                          \
    "{'metadata':{'name':'" name                                                                   \
    "','namespace':'ns'},'spec':{'targetRef':{'kind':'Deployment','name':'" target "'}}}"
#define RANGE(name, cpu)                                                                           \
    "{'metadata':{'name':'" name                                                                   \
    "','namespace':'ns'},'spec':{'limits':[{'type':'Container','max':{"                            \
    "'cpu':'" cpu "'}}]}}"

static struct vpa_arena arena;
static struct snapshot_builder *builder;
static int changes;

static void on_change(void *ctx)
{
    (void)ctx;
    changes++;
}

static void setup(void)
{
    builder = snapshot_builder_new();
    snapshot_builder_on_change(builder, on_change, NULL);
}

static void teardown(void)
{
    snapshot_builder_free(builder);
    snapshot_builder_free(NULL);
    vpa_arena_release(&arena);
}

static int vpa_event(enum vpa_reflector_event event, const char *text)
{
    struct vpa_error err;

    return snapshot_builder_vpa(builder, event, fixture_parse(&arena, text), &err);
}

static int range_event(enum vpa_reflector_event event, const char *text)
{
    struct vpa_error err;

    return snapshot_builder_limit_range(builder, event, fixture_parse(&arena, text), &err);
}

static void join_name(void *ctx, const struct vpa_object *vpa)
{
    const char **names = ctx;

    *names = vpa_arena_printf(&arena, "%s%s ", *names, vpa->meta.name);
}

/* The names under a target in the newest snapshot. */
static const char *names_of(const char *kind, const char *name)
{
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    const char *names = "";

    snapshot_vpas(s, "ns", kind, name, join_name, &names);
    snapshot_unref(s);
    return names;
}

static const char *max_cpu(void)
{
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    const struct vpa_namespace_limits *limits = snapshot_limits(s, "ns");
    const char *text = limits ? fixture_list_text(&arena, &limits->container.max) : "none";

    snapshot_unref(s);
    return text;
}

START_TEST(nothing_shows_before_publishing)
{
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("a", "web")), 0);
    ck_assert_int_gt(changes, 0);
    ck_assert_str_eq(names_of("Deployment", "web"), "");
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("Deployment", "web"), "a ");
    ck_assert_str_eq(names_of("Deployment", "other"), "");
    ck_assert_uint_eq(snapshot_builder_vpa_count(builder), 1);
}
END_TEST

START_TEST(old_snapshots_stay_as_they_were)
{
    const char *names = "";

    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("a", "web")), 0);
    snapshot_builder_publish(builder, NULL);
    struct snapshot *old = snapshot_acquire(snapshot_builder_cell(builder));
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_MODIFIED, VPA("a", "db")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("Deployment", "web"), "");
    ck_assert_str_eq(names_of("Deployment", "db"), "a ");
    snapshot_vpas(old, "ns", "Deployment", "web", join_name, &names);
    ck_assert_str_eq(names, "a ");
    snapshot_unref(old);
    snapshot_unref(NULL);
}
END_TEST

START_TEST(lists_drop_what_they_do_not_have)
{
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("a", "web")), 0);
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("b", "web")), 0);
    snapshot_builder_begin_vpas(builder);
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_LISTED, VPA("b", "web")), 0);
    snapshot_builder_end_vpas(builder);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("Deployment", "web"), "b ");
}
END_TEST

START_TEST(undecodable_objects_are_skipped_and_dropped)
{
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("a", "web")), 0);
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_MODIFIED,
                               "{'metadata':{'name':'a','namespace':'ns'},'spec':{'targetRef':5}}"),
                     -1);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("Deployment", "web"), "");
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_DELETED, VPA("a", "web")), 0);
}
END_TEST

START_TEST(selectors_without_target_are_kept_apart)
{
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED,
                               "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{"
                               "'matchLabels':{'a':'b'}}}}"),
                     0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("", ""), "s ");
}
END_TEST

static const char *limits_error(void)
{
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    const struct vpa_namespace_limits *limits = snapshot_limits(s, "ns");
    const char *text =
        limits && limits->error ? vpa_arena_strdup(&arena, limits->error) : "no error";

    snapshot_unref(s);
    return text;
}

#define UNREADABLE_RANGE(name)                                                                     \
    "{'metadata':{'name':'" name "','namespace':'ns'},'spec':{'limits':5}}"
#define UNREADABLE(name) "LimitRange ns/" name ": spec.limits: array expected, got number"

/* Bounds that nobody knows are not taken for none: the reason stays until the object is readable
 * again, or gone. */
START_TEST(unreadable_limit_ranges_leave_their_error)
{
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, RANGE("a", "2")), 0);
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, UNREADABLE_RANGE("c")), -1);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(limits_error(), UNREADABLE("c"));
    ck_assert_str_eq(max_cpu(), "cpu=2");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_MODIFIED, UNREADABLE_RANGE("a")), -1);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(limits_error(), UNREADABLE("a"));
    ck_assert_str_eq(max_cpu(), "-");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_MODIFIED, RANGE("a", "3")), 0);
    ck_assert_int_eq(range_event(VPA_REFLECTOR_DELETED, UNREADABLE_RANGE("c")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(limits_error(), "no error");
    ck_assert_str_eq(max_cpu(), "cpu=3");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, UNREADABLE_RANGE("b")), -1);
    snapshot_builder_begin_limit_ranges(builder);
    snapshot_builder_end_limit_ranges(builder);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "none");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, "{'metadata':5}"), -1); /* whose? */
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(limits_error(), "no error");
}
END_TEST

START_TEST(limit_ranges_fold_per_namespace)
{
    ck_assert_str_eq(max_cpu(), "none");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, RANGE("a", "2")), 0);
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, RANGE("b", "1")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "cpu=1");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_MODIFIED, RANGE("b", "3")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "cpu=2");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_DELETED, RANGE("a", "2")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "cpu=3");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_MODIFIED,
                                 "{'metadata':{'name':'b','namespace':'ns'},'spec':{'limits':5}}"),
                     -1);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "-");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_DELETED, RANGE("b", "2")), 0);
    snapshot_builder_begin_limit_ranges(builder);
    ck_assert_int_eq(range_event(VPA_REFLECTOR_LISTED, RANGE("c", "5")), 0);
    snapshot_builder_end_limit_ranges(builder);
    snapshot_builder_begin_limit_ranges(builder);
    snapshot_builder_end_limit_ranges(builder);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "none");
}
END_TEST

static bool panicking(void)
{
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    bool panic = snapshot_is_panic(s);

    snapshot_unref(s);
    return panic;
}

static void panic_event(enum vpa_reflector_event event, const char *name)
{
    struct vpa_error err;
    const struct vpa_json *object =
        fixture_parse(&arena, vpa_arena_printf(&arena, "{'metadata':{'name':'%s'}}", name));

    ck_assert_int_eq(snapshot_builder_panic(builder, event, object, &err), 0);
    snapshot_builder_publish(builder, NULL);
}

START_TEST(panic_follows_its_config_map)
{
    panic_event(VPA_REFLECTOR_ADDED, "other");
    ck_assert(!panicking());
    panic_event(VPA_REFLECTOR_ADDED, "vpa-panic");
    ck_assert(panicking());
    panic_event(VPA_REFLECTOR_DELETED, "vpa-panic");
    ck_assert(!panicking());
    panic_event(VPA_REFLECTOR_ADDED, "vpa-panic");
    snapshot_builder_begin_panic(builder);
    snapshot_builder_end_panic(builder);
    snapshot_builder_publish(builder, NULL);
    ck_assert(!panicking());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission_snapshot");
    TCase *tc = tcase_create("snapshot");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nothing_shows_before_publishing);
    tcase_add_test(tc, old_snapshots_stay_as_they_were);
    tcase_add_test(tc, lists_drop_what_they_do_not_have);
    tcase_add_test(tc, undecodable_objects_are_skipped_and_dropped);
    tcase_add_test(tc, selectors_without_target_are_kept_apart);
    tcase_add_test(tc, limit_ranges_fold_per_namespace);
    tcase_add_test(tc, unreadable_limit_ranges_leave_their_error);
    tcase_add_test(tc, panic_follows_its_config_map);
    suite_add_tcase(suite, tc);
    return fixture_run(suite);
}
