/*
 * Eight bytes of a text at once: which of them is one that is looked for.
 *
 *     uint64_t found = json_bytes_equal(json_bytes_load(p), '"');
 *     if (found)
 *         p += json_bytes_first(found);
 */
#ifndef JSON_BYTES_H
#define JSON_BYTES_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JSON_BYTES_EACH(b) (UINT64_C(0x0101010101010101) * (b))

/* p and the seven bytes behind it; the first one is the lowest of the word. */
static inline uint64_t json_bytes_load(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
    return le64toh(word);
}

/* The high bit of the lowest byte below `limit` (at most 0x80); bits of bytes above that one mean
 * nothing, here and below. */
static inline uint64_t json_bytes_below(uint64_t word, unsigned char limit)
{
    return (word - JSON_BYTES_EACH(limit)) & ~word & JSON_BYTES_EACH(0x80);
}

static inline uint64_t json_bytes_equal(uint64_t word, unsigned char byte)
{
    return json_bytes_below(word ^ JSON_BYTES_EACH(byte), 1);
}

/* Of bits that are not all 0. */
static inline size_t json_bytes_first(uint64_t found)
{
    return (size_t)__builtin_ctzll(found) / 8;
}

#endif
