/*
 * What the recommender keeps of each pod and of each VPA, in bytes, while they use VPA's own
 * algorithm: ten thousand pods more or less make these figures megabytes.
 */
#include <malloc.h>
#include <string.h>

#include "allocated.h"
#include "cluster_fixture.h"
#include "suite.h"

#include "../../recommender/account.h"
#include "../../recommender/checkpoint_names.h"
#include "../../recommender/slim.h"

#include "vpa/model/cluster_notes.h"

#define PODS 3000 /* an index of 4,096 places: 8 bytes each */

/* 40 of its own, 96 of the container, 32 of the name; the index. */
TEST(a_pod) {
    struct vpa_arena pod = {0};
    size_t before, bytes;
    char name[32];

    put_vpa("v", "app=web");
    put_pod("web-01234-7d4b9c6f5d-0123-first", "{\"app\":\"web\"}"); /* the group, the aggregate */
    before = allocated();
    for (int i = 0; i < PODS; i++) {
        ck_assert_int_eq(snprintf(name, sizeof(name), "web-01234-7d4b9c6f5d-0123-%05d", i), 31);
        vpa_arena_clear(&pod);
        vpa_cluster_put_pod(c, simple_pod(&pod, name, "{\"app\":\"web\"}"), NULL, now);
    }
    vpa_arena_release(&pod);
    bytes = (allocated() - before) / PODS;
    ck_assert_uint_ge(bytes, 168);
    ck_assert_uint_le(bytes, 168 + BLOCK + 8 * 4096 / PODS + 1);
}

/* What the ledger was told of it last: 16 and 16 per container. */
TEST(a_note) {
    struct vpa_ledger *ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = 1 << 20});
    const struct vpa_object vpa = {.meta = {.ns = "shop", .name = "web"}};
    const struct vpa_estimates estimates = {0};
    const struct vpa_rendering rendering = {0};
    const struct vpa_resource_list no_max = {0};
    const struct vpa_recommendation_facts facts = {
        .vpa = &vpa, .estimates = &estimates, .rendering = &rendering, .global_max = &no_max};
    struct vpa_container_recommendation containers[] = {{.container_name = "app"},
                                                        {.container_name = "sidecar"}};
    const struct vpa_recommendation rec = {.containers = containers, .container_count = 2};
    const struct vpa_object_status status = {0};
    struct vpa_autoscaler *v = put_vpa("v", "app=web");
    size_t first, second;

    ck_assert_ptr_null(*vpa_autoscaler_note(v));
    account_tell(NULL, vpa_autoscaler_note(v), &facts, &rec, &status, now);
    ck_assert_ptr_null(*vpa_autoscaler_note(v)); /* without a ledger nothing */
    account_tell(ledger, vpa_autoscaler_note(v), &facts, &rec, &status, now);
    first = malloc_usable_size(*vpa_autoscaler_note(v));
    ck_assert_uint_ge(first, 48);
    ck_assert_uint_le(first, 56);
    second = vpa_ledger_size(ledger);
    account_tell(ledger, vpa_autoscaler_note(v), &facts, &rec, &status, now);
    ck_assert_uint_eq(vpa_ledger_size(ledger), second);
    vpa_ledger_free(ledger);
}

/* The object as decoded; its texts come on top. */
TEST(a_vpa) {
    ck_assert_uint_le(sizeof(struct slim_vpa), 416);
}

/* A day of a VPA whose pods have containers that nobody else has, as those of a build. */
static void build_for_a_day(struct checkpoint_names *names, struct vpa_autoscaler *v, int day)
{
    struct vpa_arena texts = {0};
    struct vpa_error err;
    const char *container = vpa_arena_printf(&texts, "step-%04d", day);
    const char *text = vpa_arena_printf(&texts,
                                        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p-%04d\","
                                        "\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":["
                                        "{\"name\":\"%s\"}]}}",
                                        day, container);
    vpa_cluster_put_pod(c, pod_of(&texts, text), NULL, now);
    ck_assert_int_eq(add_sample(c,
                                CONTAINER("ns", vpa_arena_printf(&texts, "p-%04d", day), container),
                                VPA_KIND_CPU, now, 100, now, &err),
                     0);
    free(checkpoint_names_assign(
        names, checkpoint_names_entry(names, "ns", vpa_autoscaler_name(v), container)));
    vpa_cluster_remove_pod(c, "ns", vpa_arena_printf(&texts, "p-%04d", day));
    now = vpa_time_add(now, 24 * VPA_HOUR);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    checkpoint_names_prune(names, c, now);
    struct checkpoint_names listed = {0}; /* all objects are gone */
    checkpoint_names_take_objects(names, &listed);
    vpa_arena_release(&texts);
}

#define DAYS 1200
#define DAYS_TO_SETTLE 200

/* What was written of a container is forgotten with its history. */
TEST(containers_that_come_and_go) {
    struct checkpoint_names names = {0};
    struct vpa_autoscaler *v = put_vpa("v", "app=web");
    size_t before = 0;

    checkpoint_names_entry(&names, "ns", "v", "lost")->unreadable = vpa_xstrdup("{}");
    for (int day = 0; day < DAYS; day++) {
        if (day == DAYS_TO_SETTLE)
            before = allocated();
        build_for_a_day(&names, v, day);
    }
    /* Not even the smallest block for each day; the C library keeps some back for later. */
    ck_assert_uint_lt(allocated(), before + (size_t)(DAYS - DAYS_TO_SETTLE) * 16);
    /* What is to be kept aside is remembered until it was. */
    ck_assert_str_eq(checkpoint_names_entry(&names, "ns", "v", "lost")->unreadable, "{}");
    checkpoint_names_release(&names);
}

int main(void)
{
    return run_tests("recommender_footprint", setup, teardown);
}
