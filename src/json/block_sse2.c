#include "block.h"

#include <emmintrin.h>

/* A bit for each byte of v that is c. */
static uint64_t find(__m128i v, char c)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)));
}

bool json_block_read(const char *p, struct json_block *block)
{
    const __m128i lower_case = _mm_set1_epi8(0x20); /* makes '{' of '[', '}' of ']' */

    *block = (struct json_block){0};
    for (unsigned at = 0; at < JSON_BLOCK; at += sizeof(__m128i)) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(p + at));
        __m128i brackets = _mm_or_si128(bytes, lower_case);

        block->quotes |= find(bytes, '"') << at;
        block->backslashes |= find(bytes, '\\') << at;
        block->opens |= find(brackets, '{') << at;
        block->closes |= find(brackets, '}') << at;
    }
    return true;
}
