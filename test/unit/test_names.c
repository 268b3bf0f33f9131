/* Elements are found by name, with an index as without one. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "vpa/api/names.h"

#define ITEMS_MAX 64

struct item {
    const char *name;
    int number;
};

static struct vpa_arena arena;
static struct item items[ITEMS_MAX];

/* n items in no order, whose names come in threes. */
static void fill(size_t n)
{
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){vpa_arena_printf(&arena, "n%zu", i * 7 % n / 3), (int)i};
}

static size_t expect_first(size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(items[i].name, name) == 0)
            return i;
    return n;
}

static size_t expect_last(size_t n, const char *name)
{
    for (size_t i = n; i > 0; i--)
        if (strcmp(items[i - 1].name, name) == 0)
            return i - 1;
    return n;
}

TEST_TIMES(finds_first_and_last, ITEMS_MAX) {
    size_t n = (size_t)_i;
    const uint32_t *index;
    char name[8];

    fill(n);
    index = vpa_names_index(&arena, items, n, sizeof(items[0]));
    ck_assert((index != NULL) == (n > VPA_NAMES_FEW));
    for (size_t i = 0; i <= n; i++) { /* the last name is nobody's */
        snprintf(name, sizeof(name), "n%zu", i);
        ck_assert_uint_eq(vpa_names_first(index, items, n, sizeof(items[0]), name),
                          expect_first(n, name));
        ck_assert_uint_eq(vpa_names_last(index, items, n, sizeof(items[0]), name),
                          expect_last(n, name));
    }
    ck_assert_uint_eq(vpa_names_first(index, items, n, sizeof(items[0]), "a"), n);
    ck_assert_uint_eq(vpa_names_last(index, items, n, sizeof(items[0]), "z"), n);
    vpa_arena_release(&arena);
}

int main(void)
{
    return run_tests("names", NULL, NULL);
}
