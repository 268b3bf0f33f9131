#include <check.h>
#include <stdlib.h>

#include "policy_fixtures.h"
#include "shared_map.h"

struct item {
    struct shared_item shared;
    int number;
};

static int destroyed;

static void destroy(struct shared_item *shared)
{
    destroyed++;
    free(shared);
}

static struct item *new_item(uint64_t hash, int number)
{
    struct item *item = vpa_xcalloc(1, sizeof(*item));

    shared_item_init(&item->shared, hash, destroy);
    item->number = number;
    return item;
}

static int sum_of(const struct shared_map *map, uint64_t hash)
{
    struct shared_item *item;
    size_t at = 0;
    int sum = 0;

    while ((item = shared_map_next(map, hash, &at)))
        sum += ((struct item *)item)->number;
    return sum;
}

START_TEST(copies_keep_what_they_had)
{
    struct shared_map now = {0}, before;
    struct item *a = new_item(7, 1), *b = new_item(7, 10), *c = new_item(8, 100);

    shared_map_add(&now, &a->shared);
    shared_map_add(&now, &c->shared);
    shared_map_copy(&before, &now);
    shared_map_add(&now, &b->shared);
    shared_map_remove(&now, &a->shared);

    ck_assert_int_eq(sum_of(&before, 7), 1);
    ck_assert_int_eq(sum_of(&now, 7), 10);
    ck_assert_int_eq(sum_of(&before, 8), 100);
    ck_assert_int_eq(sum_of(&now, 9), 0);

    shared_item_unref(&a->shared);
    shared_item_unref(&b->shared);
    shared_item_unref(&c->shared);
    ck_assert_int_eq(destroyed, 0);
    shared_map_release(&before);
    ck_assert_int_eq(destroyed, 1);
    shared_map_release(&now);
    ck_assert_int_eq(destroyed, 3);
}
END_TEST

START_TEST(hashes_of_one_shard_stay_apart)
{
    struct shared_map map = {0};
    struct item *a = new_item(5, 1), *b = new_item(6, 2); /* same upper half, same shard */

    shared_map_add(&map, &a->shared);
    shared_map_add(&map, &b->shared);
    ck_assert_int_eq(sum_of(&map, 5), 1);
    ck_assert_int_eq(sum_of(&map, 6), 2);
    shared_item_unref(&a->shared);
    shared_item_unref(&b->shared);
    shared_map_release(&map);
}
END_TEST

START_TEST(removing_what_is_not_there)
{
    struct shared_map map = {0};
    struct item *a = new_item(1, 1), *b = new_item(1, 2);

    shared_map_remove(&map, &a->shared);
    shared_map_add(&map, &a->shared);
    shared_map_remove(&map, &b->shared);
    ck_assert_int_eq(sum_of(&map, 1), 1);
    shared_item_unref(&a->shared);
    shared_item_unref(&b->shared);
    shared_item_unref(NULL);
    shared_map_release(&map);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission_shared_map");
    TCase *tc = tcase_create("shared_map");

    tcase_add_test(tc, copies_keep_what_they_had);
    tcase_add_test(tc, hashes_of_one_shard_stay_apart);
    tcase_add_test(tc, removing_what_is_not_there);
    suite_add_tcase(suite, tc);
    return fixture_run(suite);
}
