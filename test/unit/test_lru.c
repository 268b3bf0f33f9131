/* Bounded memory by use: who goes first, and when. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/kube/lru.h"
#include "suite.h"

#define LIMIT 3
#define IDLE 10

struct value {
    struct lru_node node; /* first */
    int number;
};

static struct lru lru;
static int freed;

static void free_value(struct lru_node *node)
{
    freed++;
    free(node);
}

static void setup(void)
{
    lru_init(&lru, LIMIT, IDLE, free_value);
    freed = 0;
}

static void teardown(void)
{
    lru_release(&lru);
}

static void add(const char *key, int number)
{
    struct value *v = lru_add(&lru, key, sizeof(*v));

    ck_assert_int_eq(v->number, 0);
    v->number = number;
}

/* 0: it is not there. Counts as a use. */
static int find(const char *key)
{
    const struct value *v = lru_find(&lru, key);

    return v ? v->number : 0;
}

TEST(what_was_added_is_found) {
    char key[] = "a"; /* is copied */

    ck_assert_int_eq(find("a"), 0);
    add(key, 1);
    key[0] = 'x';
    add("b", 2);
    ck_assert_int_eq(find("a"), 1);
    ck_assert_int_eq(find("b"), 2);
    ck_assert_int_eq(find("c"), 0);
}

TEST(as_many_as_the_limit_are_kept) {
    add("a", 1);
    add("b", 2);
    add("c", 3);
    ck_assert_int_eq(freed, 0);
    add("d", 4);
    ck_assert_int_eq(freed, 1);
    ck_assert_int_eq(find("a"), 0);
    ck_assert_int_eq(find("b"), 2);
    ck_assert_int_eq(find("c"), 3);
    ck_assert_int_eq(find("d"), 4);
}

/* Wherever it stands in the order. */
TEST_TIMES(the_least_recently_used_goes_first, 3) {
    static const char *const order[][2] = {{"a", "b"}, {"b", "a"}, {"c", "a"}}; /* used, gone */

    add("a", 1);
    add("b", 2);
    add("c", 3);
    ck_assert_int_ne(find(order[_i][0]), 0);
    add("d", 4);
    ck_assert_int_eq(find(order[_i][1]), 0);
    ck_assert_int_ne(find(order[_i][0]), 0);
    ck_assert_int_eq(find("d"), 4);
    add("e", 5);
    add("f", 6);
    ck_assert_int_eq(find("d"), 4);
    ck_assert_int_eq(freed, 3);
}

TEST(what_was_not_used_for_longer_goes) {
    add("a", 1); /* at 0 */
    lru_advance(&lru, 4);
    add("b", 2); /* at 4 */
    lru_advance(&lru, IDLE);
    ck_assert_int_eq(freed, 0);
    lru_advance(&lru, IDLE + 1);
    ck_assert_int_eq(freed, 1);
    lru_advance(&lru, 4 + IDLE);
    ck_assert_int_eq(freed, 1);
    ck_assert_int_eq(find("b"), 2); /* used at 14 */
    lru_advance(&lru, 14 + IDLE);
    ck_assert_int_eq(freed, 1);
    lru_advance(&lru, 14 + IDLE + 1);
    ck_assert_int_eq(freed, 2);
    ck_assert_int_eq(find("b"), 0);
    add("a", 3);
    ck_assert_int_eq(find("a"), 3);
}

TEST(a_use_puts_it_behind_the_others) {
    add("a", 1);
    lru_advance(&lru, 1);
    add("b", 2);
    lru_advance(&lru, 2);
    ck_assert_int_eq(find("a"), 1);
    lru_advance(&lru, 1 + IDLE + 1);
    ck_assert_int_eq(freed, 1);
    ck_assert_int_eq(find("b"), 0);
    ck_assert_int_eq(find("a"), 1);
}

TEST(all_go_at_the_end) {
    add("a", 1);
    add("b", 2);
    lru_release(&lru);
    ck_assert_int_eq(freed, 2);
    setup();
    add("a", 1);
    ck_assert_int_eq(find("a"), 1);
}

int main(void)
{
    return run_tests("lru", setup, teardown);
}
