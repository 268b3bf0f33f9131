/*
 * Whether a copy still refers to what it was copied from.
 *
 * A copy that begins with a struct assignment keeps every pointer that nobody thought of, and a
 * test that looks at known fields does not see the new one. So the copy's memory is read word by
 * word: no word may be an address inside the arenas of the source. A word that only looks like one
 * is not a worry: the addresses of an arena of a megabyte are rare among texts and numbers.
 */
#ifndef TEST_BORROWED_H
#define TEST_BORROWED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "vpa/base/mem.h"

/* Room for all that a test decodes, so that an arena is one chunk with known ends. */
#define BORROWED_ROOM ((size_t)1 << 20)

struct lender {
    struct vpa_arena arena;
    const char *begin;
};

static inline void lender_init(struct lender *lender)
{
    vpa_arena_init(&lender->arena, BORROWED_ROOM);
    lender->begin = vpa_arena_alloc(&lender->arena, 1);
}

/* Whether a word of the memory is an address of the lender's. */
static inline bool borrows(const void *memory, size_t size, const struct lender *lender)
{
    const char *bytes = memory;

    for (size_t at = 0; at + sizeof(uintptr_t) <= size; at += sizeof(uintptr_t)) {
        uintptr_t word;

        memcpy(&word, bytes + at, sizeof(word));
        if (word >= (uintptr_t)lender->begin && word < (uintptr_t)lender->begin + BORROWED_ROOM)
            return true;
    }
    return false;
}

/* All that was handed out of an arena of one chunk. */
static inline bool lender_borrows(const struct lender *copy, const struct lender *from)
{
    return borrows(copy->begin, copy->arena.used, from);
}

#endif
