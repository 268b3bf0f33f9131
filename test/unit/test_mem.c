/* Arena and growth macros. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/mem.h"

TEST(arena_items_are_aligned_and_apart) {
    vpa_auto_arena arena = {0};
    char *last = NULL;

    for (size_t size = 1; size < 5000; size += 37) {
        char *p = vpa_arena_alloc(&arena, size);
        ck_assert_uint_eq((uintptr_t)p % 16, 0);
        memset(p, (int)(size & 0xff), size);
        if (last)
            ck_assert_int_eq(last[0], (char)((size - 37) & 0xff));
        last = p;
    }
}

TEST(large_item_keeps_the_room_of_the_current_chunk) {
    vpa_auto_arena arena = {0};

    vpa_arena_init(&arena, 256);
    char *a = vpa_arena_alloc(&arena, 16);
    vpa_arena_alloc(&arena, 100000);
    char *b = vpa_arena_alloc(&arena, 16);
    ck_assert_ptr_eq(a + 16, b);
}

TEST(clear_keeps_one_chunk_and_counts_from_zero) {
    vpa_auto_arena arena = {0};

    for (int i = 0; i < 100; i++)
        vpa_arena_alloc(&arena, 1000);
    ck_assert_uint_ge(arena.used, 100000);
    vpa_arena_clear(&arena);
    ck_assert_uint_eq(arena.used, 0);
    ck_assert_ptr_nonnull(arena.chunk);
    ck_assert_str_eq(vpa_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    vpa_arena_release(&arena);
    vpa_arena_clear(&arena);
    ck_assert_ptr_null(arena.chunk);
}

TEST(strings_are_copied) {
    vpa_auto_arena arena = {0};
    char text[] = "abcdef";
    char *copy = vpa_arena_strndup(&arena, text, 3);
    vpa_auto_free char *whole = vpa_xstrdup(text);
    vpa_auto_free char *joined = vpa_xjoin(text, '/', "");
    vpa_auto_free char *printed = vpa_xprintf("%s/%d", text, 3);

    text[0] = 'X';
    ck_assert_str_eq(copy, "abc");
    ck_assert_str_eq(whole, "abcdef");
    ck_assert_str_eq(joined, "abcdef/");
    ck_assert_str_eq(printed, "abcdef/3");
    ck_assert_int_eq(((char *)vpa_arena_zalloc(&arena, 8))[7], 0);
}

TEST(texts_of_the_arena_are_kept) {
    struct vpa_arena arena;
    char foreign[] = "foreign";

    vpa_arena_init(&arena, 64);
    ck_assert_str_eq(vpa_arena_keep(&arena, foreign), "foreign");
    ck_assert_ptr_ne(vpa_arena_keep(&arena, foreign), foreign);
    char *text = vpa_arena_strdup(&arena, "a longer text, part of which is kept");
    ck_assert_ptr_eq(vpa_arena_keep(&arena, text), text);
    ck_assert_ptr_eq(vpa_arena_keep(&arena, text + 9), text + 9);
    char *large = vpa_arena_alloc(&arena, 100000); /* a chunk of its own */
    memcpy(large + 99990, "end", 4);
    ck_assert_ptr_eq(vpa_arena_keep(&arena, large + 99990), large + 99990);
    ck_assert_ptr_eq(vpa_arena_keep(&arena, text), text);
    vpa_arena_release(&arena);
}

TEST(steal_moves_ownership) {
    char *a = vpa_xstrdup("x");
    vpa_auto_free char *b = VPA_STEAL(a);

    ck_assert_ptr_null(a);
    ck_assert_str_eq(b, "x");
}

TEST(grow_doubles) {
    int *items = NULL;
    size_t count = 0, capacity = 0;

    for (int i = 0; i < 9; i++) {
        VPA_GROW(items, count, capacity);
        items[count++] = i;
    }
    ck_assert_uint_eq(capacity, 16);
    ck_assert_int_eq(items[8], 8);
    free(items);
}

TEST_ABORTS(absurd_sizes_abort, 1) {
    vpa_xreallocarray(NULL, SIZE_MAX, 16);
}

/* A request whose size cannot even be computed ends the program. */
TEST_ABORTS(absurd_requests_abort, 2) {
    volatile size_t most = SIZE_MAX; /* so that the compiler does not see it */
    struct vpa_arena arena = {0};

    vpa_arena_alloc(&arena, _i == 0 ? most : most - 32);
}

TEST(nothing_is_something) {
    void *a = vpa_xmalloc(0), *b = vpa_xcalloc(0, 8), *c = vpa_xcalloc(8, 0);

    ck_assert(a != NULL && b != NULL && c != NULL);
    free(a);
    free(b);
    free(c);
}

TEST(a_text_is_replaced_also_by_itself) {
    char *slot = NULL;

    vpa_replace_text(&slot, "first");
    vpa_replace_text(&slot, slot + 2);
    ck_assert_str_eq(slot, "rst");
    vpa_replace_text(&slot, NULL);
    ck_assert_ptr_null(slot);
    vpa_free_secret(NULL);
    vpa_free_secret(vpa_xstrdup("secret"));
}

int main(void)
{
    return run_tests("mem", NULL, NULL);
}
