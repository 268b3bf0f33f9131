#include "borrowed.h"

void lender_init(struct lender *lender)
{
    vpa_arena_init(&lender->arena, BORROWED_ROOM);
    lender->begin = vpa_arena_alloc(&lender->arena, 1);
}

bool borrows(const void *memory, size_t size, const struct lender *lender)
{
    const char *bytes = memory;

    for (size_t at = 0; at + sizeof(uintptr_t) <= size; at += sizeof(uintptr_t)) {
        uintptr_t word;

        memcpy(&word, bytes + at, sizeof(word));
        if (word >= (uintptr_t)lender->begin && word < (uintptr_t)lender->begin + BORROWED_ROOM &&
            (word & 0xff) > 1)
            return true;
    }
    return false;
}

bool lender_borrows(const struct lender *copy, const struct lender *from)
{
    return borrows(copy->begin, copy->arena.used, from);
}
