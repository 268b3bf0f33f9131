/*
 * Whether a copy still refers to what it was copied from.
 *
 * A copy that begins with a struct assignment keeps every pointer that nobody thought of, and a
 * test that looks at known fields does not see the new one. So the copy's memory is read word by
 * word: no word may be an address inside the arenas of the source. Texts and numbers hardly ever
 * look like one; padding does, since it holds what was there before. Whole words of padding are
 * cleared by the test, and a word whose lowest byte is 0 or 1 is taken for a bool with padding
 * behind it: of real addresses that hides one in 128.
 */
#ifndef TEST_BORROWED_H
#define TEST_BORROWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vpa/base/mem.h"

/* Room for all that a test decodes, so that an arena is one chunk with known ends. */
#define BORROWED_ROOM ((size_t)1 << 20)

struct lender {
    struct vpa_arena arena;
    const char *begin;
};

void lender_init(struct lender *lender);

/* Clears the padding behind the last member. */
#define CLEAR_PADDING(object, last)                                                                \
    memset((char *)(object) + offsetof(__typeof__(*(object)), last) + sizeof((object)->last), 0,   \
           sizeof(*(object)) - offsetof(__typeof__(*(object)), last) - sizeof((object)->last))
/* Clears the padding between two members that follow each other. */
#define CLEAR_BETWEEN(object, before, after)                                                       \
    memset((char *)(object) + offsetof(__typeof__(*(object)), before) + sizeof((object)->before),  \
           0,                                                                                      \
           offsetof(__typeof__(*(object)), after) - offsetof(__typeof__(*(object)), before) -      \
               sizeof((object)->before))

/* Whether a word of the memory is an address of the lender's. */
bool borrows(const void *memory, size_t size, const struct lender *lender);
/* All that was handed out of an arena of one chunk. */
bool lender_borrows(const struct lender *copy, const struct lender *from);

#endif
