#include <check.h>
#include <stdlib.h>

#include "policy_fixtures.h"
#include "vpa/base/shared_map.h"

struct item {
    struct vpa_shared_item shared;
    int number;
};

static int destroyed;

static void destroy(struct vpa_shared_item *shared)
{
    destroyed++;
    free(shared);
}

static struct item *new_item(uint64_t hash, int number)
{
    struct item *item = vpa_xcalloc(1, sizeof(*item));

    vpa_shared_item_init(&item->shared, hash, destroy);
    item->number = number;
    return item;
}

static int sum_of(const struct vpa_shared_map *map, uint64_t hash)
{
    struct vpa_shared_item *item;
    size_t at = 0;
    int sum = 0;

    while ((item = vpa_shared_map_next(map, hash, &at)))
        sum += ((struct item *)item)->number;
    return sum;
}

TEST(copies_keep_what_they_had) {
    struct vpa_shared_map now = {0}, before;
    struct item *a = new_item(7, 1), *b = new_item(7, 10), *c = new_item(8, 100);

    vpa_shared_map_add(&now, &a->shared);
    vpa_shared_map_add(&now, &c->shared);
    vpa_shared_map_copy(&before, &now);
    vpa_shared_map_add(&now, &b->shared);
    vpa_shared_map_remove(&now, &a->shared);

    ck_assert_int_eq(sum_of(&before, 7), 1);
    ck_assert_int_eq(sum_of(&now, 7), 10);
    ck_assert_int_eq(sum_of(&before, 8), 100);
    ck_assert_int_eq(sum_of(&now, 9), 0);

    vpa_shared_item_unref(&a->shared);
    vpa_shared_item_unref(&b->shared);
    vpa_shared_item_unref(&c->shared);
    ck_assert_int_eq(destroyed, 0);
    vpa_shared_map_release(&before);
    ck_assert_int_eq(destroyed, 1);
    vpa_shared_map_release(&now);
    ck_assert_int_eq(destroyed, 3);
}

TEST(hashes_of_one_shard_stay_apart) {
    struct vpa_shared_map map = {0};
    struct item *a = new_item(5, 1), *b = new_item(6, 2); /* same upper half, same shard */

    vpa_shared_map_add(&map, &a->shared);
    vpa_shared_map_add(&map, &b->shared);
    ck_assert_int_eq(sum_of(&map, 5), 1);
    ck_assert_int_eq(sum_of(&map, 6), 2);
    vpa_shared_item_unref(&a->shared);
    vpa_shared_item_unref(&b->shared);
    vpa_shared_map_release(&map);
}

TEST(removing_what_is_not_there) {
    struct vpa_shared_map map = {0};
    struct item *a = new_item(1, 1), *b = new_item(1, 2);

    vpa_shared_map_remove(&map, &a->shared);
    vpa_shared_map_add(&map, &a->shared);
    vpa_shared_map_remove(&map, &b->shared);
    ck_assert_int_eq(sum_of(&map, 1), 1);
    vpa_shared_item_unref(&a->shared);
    vpa_shared_item_unref(&b->shared);
    vpa_shared_item_unref(NULL);
    vpa_shared_map_release(&map);
}

/* Many changes without a copy, then a copy that stays. */
TEST(grows_and_shrinks) {
    enum { COUNT = 1000 };
    struct vpa_shared_map map = {0}, copy;
    struct item *items[COUNT];

    for (int i = 0; i < COUNT; i++) {
        items[i] = new_item(3, i);
        vpa_shared_map_add(&map, &items[i]->shared);
        vpa_shared_item_unref(&items[i]->shared);
    }
    ck_assert_int_eq(sum_of(&map, 3), COUNT * (COUNT - 1) / 2);
    for (int i = 0; i < COUNT; i += 2)
        vpa_shared_map_remove(&map, &items[i]->shared);
    ck_assert_int_eq(destroyed, COUNT / 2);
    ck_assert_int_eq(sum_of(&map, 3), COUNT * COUNT / 4);
    vpa_shared_map_copy(&copy, &map);
    for (int i = 1; i < COUNT; i += 2)
        vpa_shared_map_remove(&map, &items[i]->shared);
    ck_assert_int_eq(sum_of(&map, 3), 0);
    ck_assert_int_eq(sum_of(&copy, 3), COUNT * COUNT / 4);
    ck_assert_int_eq(destroyed, COUNT / 2);
    vpa_shared_map_release(&copy);
    ck_assert_int_eq(destroyed, COUNT);
    vpa_shared_map_release(&map);
}

int main(void)
{
    return run_tests("shared_map", NULL, NULL);
}
