/* Which pods a VPA is about, and whether its target has a controller. */
#include "../../recommender/target.h"
#include "owner_fixture.h"

static struct vpa_object about(const char *kind, const char *name, const char *version)
{
    return (struct vpa_object){
        .meta = {.ns = "n", .name = "v"},
        .target_ref = {.present = true, .api_version = version, .kind = kind, .name = name},
    };
}

/* Targets in the fixture's cluster. message: begin and end; NULL: it is resolved. */
static const struct {
    const char *kind, *name, *version;
    bool has_controller;
    const char *begin, *end;
} targets[] = {
    {"Deployment", "web", "apps/v1", true, NULL, NULL},
    {"Widget", "w", "example.com/v1", true, NULL, NULL},
    {"ReplicaSet", "web-1", "apps/v1", true, "The target apps/v1.ReplicaSet/web-1 has a parent",
     "topmost well-known or scalable controller"},
    {"Deployment", "managed", "apps/v1", true, "The target apps/v1.Deployment/managed has a parent",
     "topmost well-known or scalable controller"},
    {"Deployment", "none", "apps/v1", false, "Cannot read targetRef. Reason: ", "does not exist"},
    {"ReplicaSet", "lost-1", "apps/v1", false,
     "Error checking if target apps/v1.ReplicaSet/lost-1 is a topmost",
     "Deployment n/lost does not exist"},
    {"Widget", "missing", "example.com/v1", false, "Cannot read targetRef. Reason: ", "not found"},
};

START_TEST(a_target_is_resolved_when_it_is_topmost)
{
    struct vpa_object vpa = about(targets[_i].kind, targets[_i].name, targets[_i].version);
    vpa_auto_arena arena = {0};
    struct target target;

    synced();
    target_resolve(owners, &vpa, &arena, &target);
    ck_assert_int_eq(target.resolved, !targets[_i].begin);
    if (target.resolved) {
        ck_assert_ptr_null(target.unsupported);
        ck_assert_uint_gt(target.selector.count, 0);
        return;
    }
    ck_assert_msg(vpa_str_starts_with(target.unsupported, targets[_i].begin) &&
                      strstr(target.unsupported, targets[_i].end) != NULL,
                  "%s", target.unsupported);
}
END_TEST

START_TEST(a_controller_stands_at_the_top_of_the_target)
{
    struct vpa_object vpa = about(targets[_i].kind, targets[_i].name, targets[_i].version);

    synced();
    ck_assert_int_eq(target_has_controller(owners, &vpa), targets[_i].has_controller);
    vpa.target_ref.present = false;
    ck_assert(!target_has_controller(owners, &vpa));
}
END_TEST

/* Nobody has made the object of a target that can be asked for and is not there. */
START_TEST(a_walk_that_ends_at_nothing_finds_no_controller)
{
    struct vpa_object vpa = about("Widget", "w", "example.com/v1");
    vpa_auto_arena arena = {0};
    struct target target;

    synced();
    target_resolve(owners, &vpa, &arena, &target);
    ck_assert(target.resolved);
    ck_assert(target_has_controller(owners, &vpa));
    drop_widget("w");
    vpa_loop_pump(loop, VPA_HOUR);
    vpa_owners_begin_pass(owners);
    ck_assert(!target_has_controller(owners, &vpa));
}
END_TEST

/* Deployments without pods cost nothing, and their owners are called as one likes. */
START_TEST(owners_of_groups_that_are_not_there_keep_nobody_waiting)
{
    for (int i = 0; i < 500; i++) {
        vpa_auto_free char *deployment =
            vpa_xprintf(DEPLOYMENT("d%d", OWNER("g%d.io/v1", "Flow", "f"), APP), i, i);
        sim_cluster_put_text(sim, deployment);
    }
    synced();
    for (int pass = 1; pass <= 2; pass++) {
        for (int i = 0; i < 500; i++) {
            vpa_auto_free char *name = vpa_xprintf("d%d", i);
            vpa_auto_free char *end = vpa_xprintf("kind \"Flow\" in group \"g%d.io\"", i);
            struct vpa_object vpa = about("Deployment", name, "apps/v1");
            vpa_auto_arena arena = {0};
            struct target target;

            target_resolve(owners, &vpa, &arena, &target);
            ck_assert_msg(strstr(target.unsupported, end) != NULL, "%s", target.unsupported);
        }
        ck_assert_int_eq(discovery_gets(), 5 * pass);
        vpa_owners_begin_pass(owners);
    }
}
END_TEST

START_TEST(a_vpa_without_a_target_goes_by_its_selector)
{
    struct vpa_object vpa = {.meta = {.ns = "n", .name = "v"}, .has_selector = true};
    vpa_auto_arena arena = {0};
    struct target target;

    synced();
    target_resolve(owners, &vpa, &arena, &target);
    ck_assert(target.resolved);
    ck_assert_ptr_null(target.unsupported);
    vpa.selector_error = "odd";
    target_resolve(owners, &vpa, &arena, &target);
    ck_assert(!target.resolved);
    ck_assert_str_eq(target.unsupported, "Cannot read selector. Reason: odd");
    vpa = (struct vpa_object){.meta = {.ns = "n", .name = "v"}};
    target_resolve(owners, &vpa, &arena, &target);
    ck_assert(!target.resolved);
    ck_assert(vpa_str_starts_with(target.unsupported, "Cannot read targetRef. Reason: targetRef "
                                                      "not defined."));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_target");
    TCase *c = tcase_create("target");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, a_target_is_resolved_when_it_is_topmost, 0, (int)VPA_COUNT(targets));
    tcase_add_loop_test(c, a_controller_stands_at_the_top_of_the_target, 0,
                        (int)VPA_COUNT(targets));
    tcase_add_test(c, a_walk_that_ends_at_nothing_finds_no_controller);
    tcase_add_test(c, owners_of_groups_that_are_not_there_keep_nobody_waiting);
    tcase_add_test(c, a_vpa_without_a_target_goes_by_its_selector);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
