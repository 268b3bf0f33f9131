#include "block.h"

#include <emmintrin.h>

/* A bit for each byte of v that is c. */
static uint64_t find(__m128i v, char c)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)));
}

static void read_sixteen(const char *p, struct json_block *block, unsigned at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(p + at));
    __m128i brackets = _mm_or_si128(bytes, _mm_set1_epi8(0x20)); /* '{' of '[', '}' of ']' */

    block->quotes |= find(bytes, '"') << at;
    block->backslashes |= find(bytes, '\\') << at;
    block->opens |= find(brackets, '{') << at;
    block->closes |= find(brackets, '}') << at;
}

bool json_block_read(const char *p, struct json_block *block)
{
    *block = (struct json_block){0};
    read_sixteen(p, block, 0);
    read_sixteen(p, block, 16);
    read_sixteen(p, block, 32);
    read_sixteen(p, block, 48);
    return true;
}
