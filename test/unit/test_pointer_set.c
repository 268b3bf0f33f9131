/* The hash set of pointers: against a plain array, through growth, removal and moves. */
#include <check.h>
#include <stdlib.h>

#include "suite.h"
#include "vpa/base/pointer_set.h"

struct item {
    struct vpa_hashed hashed;
    int value;
};

static bool item_is(const struct vpa_hashed *object, const void *key)
{
    return ((const struct item *)object)->value == *(const int *)key;
}

static struct item *find(const struct vpa_pointer_set *set, int value, uint32_t hash)
{
    return (struct item *)vpa_pointer_set_find(set, hash, item_is, &value);
}

static uint32_t hash_of(int value, unsigned spread)
{
    return (uint32_t)value % spread; /* many collisions */
}

TEST(empty_set_finds_nothing) {
    struct vpa_pointer_set set = {0};
    size_t i = 0;

    ck_assert_ptr_null(find(&set, 1, 1));
    ck_assert_ptr_null(vpa_pointer_set_next(&set, &i));
    vpa_pointer_set_release(&set);
}

/* Three quarters are used at most; half full of objects it doubles, else only tombstones go. */
TEST(grows_as_it_fills) {
    static const size_t capacities[][2] = {{1, 16}, {12, 16}, {13, 32}, {24, 32}, {25, 64}};
    struct item items[40];
    struct vpa_pointer_set set = {0};
    size_t count = 0;

    for (int i = 0; i < 40; i++)
        items[i] = (struct item){{(uint32_t)i}, i};
    for (size_t c = 0; c < sizeof(capacities) / sizeof(capacities[0]); c++) {
        while (count < capacities[c][0])
            vpa_pointer_set_add(&set, &items[count++].hashed);
        ck_assert_uint_eq(set.capacity, capacities[c][1]);
        ck_assert_uint_eq(set.used, count);
    }
    vpa_pointer_set_release(&set);
    for (size_t left = 10; left <= 11; left++) {
        for (int i = 0; i < 12; i++)
            vpa_pointer_set_add(&set, &items[i].hashed);
        for (size_t i = left; i < 12; i++)
            vpa_pointer_set_remove(&set, &items[i].hashed);
        ck_assert_uint_eq(set.used, 12);
        vpa_pointer_set_add(&set, &items[12].hashed);
        ck_assert_uint_eq(set.capacity, left == 11 ? 32 : 16);
        ck_assert_uint_eq(set.used, left + 1);
        ck_assert_uint_eq(set.count, left + 1);
        for (int i = 0; i < (int)left; i++)
            ck_assert_ptr_eq(find(&set, i, (uint32_t)i), &items[i]);
        ck_assert_ptr_eq(find(&set, 12, 12), &items[12]);
        vpa_pointer_set_release(&set);
    }
}

static const unsigned spreads[] = {1, 7, 1000};

TEST_TIMES(behaves_like_an_array, 3) {
    unsigned spread = spreads[_i];
    struct item items[300];
    bool present[300] = {false};
    struct vpa_pointer_set set = {0};
    unsigned random = 12345;
    size_t count = 0;

    for (int i = 0; i < 300; i++)
        items[i] = (struct item){{hash_of(i, spread)}, i};
    for (int step = 0; step < 5000; step++) {
        random = random * 1103515245u + 12345u;
        int n = (int)(random >> 8) % 300;
        if (present[n])
            vpa_pointer_set_remove(&set, &items[n].hashed);
        else
            vpa_pointer_set_add(&set, &items[n].hashed);
        present[n] = !present[n];
        count += present[n] ? 1 : (size_t)-1;
        ck_assert_uint_eq(set.count, count);
        if (step % 50 == 0) {
            for (int i = 0; i < 300; i++)
                ck_assert_ptr_eq(find(&set, i, hash_of(i, spread)), present[i] ? &items[i] : NULL);
        }
    }
    size_t seen = 0;
    for (size_t i = 0; vpa_pointer_set_next(&set, &i);)
        seen++;
    ck_assert_uint_eq(seen, count);
    vpa_pointer_set_release(&set);
}

TEST(removing_while_iterating_visits_all) {
    struct item items[100];
    struct vpa_pointer_set set = {0};
    struct vpa_hashed *object;
    size_t seen = 0;

    for (int i = 0; i < 100; i++) {
        items[i] = (struct item){{(uint32_t)i * 2654435761u}, i};
        vpa_pointer_set_add(&set, &items[i].hashed);
    }
    for (size_t i = 0; (object = vpa_pointer_set_next(&set, &i)); seen++)
        vpa_pointer_set_remove(&set, object);
    ck_assert_uint_eq(seen, 100);
    ck_assert_uint_eq(set.count, 0);
    vpa_pointer_set_release(&set);
}

TEST(replace_follows_a_move) {
    struct item a = {{5}, 1}, b = {{5}, 2}, moved = {{5}, 2};
    struct vpa_pointer_set set = {0};

    vpa_pointer_set_add(&set, &a.hashed);
    vpa_pointer_set_add(&set, &b.hashed);
    vpa_pointer_set_replace(&set, 5, &b.hashed, &moved.hashed);
    ck_assert_ptr_eq(find(&set, 2, 5), &moved);
    ck_assert_ptr_eq(find(&set, 1, 5), &a);
    ck_assert_uint_eq(set.count, 2);
    vpa_pointer_set_release(&set);
}

int main(void)
{
    return run_tests("pointer_set", NULL, NULL);
}
