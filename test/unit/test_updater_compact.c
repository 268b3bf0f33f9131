/* Compact pods keep what decisions read, and only that. */
#include <check.h>
#include <stdlib.h>

#include "borrowed.h"
#include "suite.h"
#include "../../updater/compact.h"
#include "objects.h"
#include "vpa/base/mem.h"

#define FULL                                                                                       \
    "{'metadata':{'name':'p','namespace':'n','uid':'u','resourceVersion':'7','generateName':'g-'," \
    "'labels':{'app':'a','tier':'b'},'annotations':{'x':'y','vpaObservedContainers':'c',"          \
    "'vpaCpuStartupBoost/c':'{}'},'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet'," \
    "'name':'rs','uid':'ru','controller':true}]},'spec':{'nodeName':'node','initContainers':[{"    \
    "'name':'i'}],'containers':[{'name':'c','resources':{'requests':{'cpu':'100m','memory':"       \
    "'1e3','x/y':'123456789012345678901234567890'},'limits':{}},'resizePolicy':[{"                 \
    "'resourceName':'cpu','restartPolicy':'RestartContainer'}]}]},'status':{'phase':'Running',"    \
    "'startTime':'2026-03-01T11:00:00Z','conditions':[{'type':'Ready','status':'True',"            \
    "'lastTransitionTime':'2026-03-01T11:01:00Z','message':'long text'},{'type':'Initialized',"    \
    "'status':'True'},{'type':'PodResizePending','status':'True','reason':'Deferred'}],"           \
    "'containerStatuses':[{'name':'c','restartCount':3,'resources':{'requests':{'cpu':'90m'}},"    \
    "'lastState':{'terminated':{'reason':'OOMKilled','startedAt':'2026-03-01T10:00:00Z',"          \
    "'finishedAt':'2026-03-01T10:01:00Z'}}},{'name':'d'}]}}"

static struct vpa_arena arena;

static struct lender packed;

static const struct vpa_pod *pack(const struct vpa_pod *from)
{
    struct vpa_pod *pod = vpa_arena_zalloc(&packed.arena, sizeof(*pod));

    updater_pod_pack(&packed.arena, from, pod);
    return pod;
}

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    lender_init(&packed);
}

static void teardown(void)
{
    vpa_arena_release(&packed.arena);
    vpa_arena_release(&arena);
}

START_TEST(keeps_what_matters)
{
    struct vpa_pod *from = objects_pod(&arena, FULL);
    const struct vpa_pod *pod = pack(from);

    vpa_arena_release(&arena); /* the copy stands alone */
    ck_assert_str_eq(pod->meta.name, "p");
    ck_assert_str_eq(pod->meta.ns, "n");
    ck_assert_str_eq(pod->meta.uid, "u");
    ck_assert_str_eq(pod->meta.resource_version, "7");
    ck_assert_str_eq(vpa_labels_get(&pod->meta.labels, "tier"), "b");
    ck_assert_str_eq(pod->meta.owners[0].name, "rs");
    ck_assert(pod->meta.owners[0].controller);
    ck_assert_str_eq(pod->phase, "Running");
    ck_assert_uint_eq(pod->container_count, 1);
    ck_assert_str_eq(pod->containers[0].resize_policy[0].restart_policy, "RestartContainer");
    ck_assert_int_eq(vpa_quantity_milli_value(
                         vpa_resource_find(&pod->containers[0].resources.requests, VPA_CPU)),
                     100);
    ck_assert_int_eq(
        vpa_quantity_value(vpa_resource_find(&pod->containers[0].resources.requests, VPA_MEMORY)),
        1000);
    ck_assert(pod->containers[0].resources.limits.present);
    ck_assert_uint_eq(pod->containers[0].resources.limits.count, 0);

    struct vpa_resources in_force = vpa_pod_effective_resources(pod, "c");

    ck_assert_int_eq(vpa_quantity_milli_value(vpa_resource_find(&in_force.requests, VPA_CPU)), 90);
    ck_assert_uint_eq(pod->status_count, 2);
    ck_assert_str_eq(pod->statuses[0].last_terminated.reason, "OOMKilled");
    ck_assert_str_eq(vpa_pod_condition(pod, "PodResizePending")->reason, "Deferred");
}
END_TEST

START_TEST(drops_the_rest)
{
    const struct vpa_pod *pod = pack(objects_pod(&arena, FULL));

    ck_assert_uint_eq(pod->meta.annotations.count, 2);
    ck_assert_ptr_null(vpa_labels_get(&pod->meta.annotations, "x"));
    ck_assert_uint_eq(pod->condition_count, 2);
    ck_assert_uint_eq(pod->init_container_count, 0);
}
END_TEST

START_TEST(keeps_big_numbers)
{
    const struct vpa_pod *pod = pack(objects_pod(&arena, FULL));
    const struct vpa_quantity *q = vpa_resource_find(&pod->containers[0].resources.requests, "x/y");
    struct vpa_quantity want;
    struct vpa_error err;

    ck_assert_int_eq(vpa_quantity_parse(&arena, "123456789012345678901234567890", &want, &err), 0);
    ck_assert_int_eq(vpa_quantity_cmp(q, &want), 0);
}
END_TEST

START_TEST(tells_absent_from_empty)
{
    const struct vpa_pod *bare = pack(objects_pod(&arena, "{'metadata':{'name':'p'}}"));
    const struct vpa_pod *empty =
        pack(objects_pod(&arena, "{'metadata':{'name':'p','annotations':{}}}"));

    ck_assert(!bare->meta.annotations.present);
    ck_assert(empty->meta.annotations.present);
    ck_assert_uint_eq(bare->container_count, 0);
}
END_TEST

static void clear_padding(const struct vpa_pod *pod)
{
    CLEAR_PADDING(&pod->meta, owner_count);
    CLEAR_PADDING(pod, condition_count);
    CLEAR_BETWEEN(pod, qos_class, start_time);
    for (size_t i = 0; i < pod->condition_count; i++)
        CLEAR_PADDING(&pod->conditions[i], observed_generation);
    for (size_t i = 0; i < pod->status_count; i++) {
        CLEAR_PADDING(&pod->statuses[i], allocated);
        CLEAR_PADDING(&pod->statuses[i].terminated, exit_code);
        CLEAR_PADDING(&pod->statuses[i].last_terminated, exit_code);
    }
}

START_TEST(borrows_nothing)
{
    struct lender whole;

    lender_init(&whole);
    clear_padding(pack(objects_pod(&whole.arena, FULL)));
    ck_assert(!lender_borrows(&packed, &whole));
    vpa_arena_release(&whole.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("updater_compact");
    TCase *tc = tcase_create("compact");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, keeps_what_matters);
    tcase_add_test(tc, drops_the_rest);
    tcase_add_test(tc, keeps_big_numbers);
    tcase_add_test(tc, tells_absent_from_empty);
    tcase_add_test(tc, borrows_nothing);
    suite_add_tcase(suite, tc);

    return run_suite(suite);
}
