/*
 * Where the quotes, backslashes and brackets of 64 bytes stand. Bit i is byte i.
 *
 * block_sse2.c looks at sixteen bytes at once, block_none.c, for other processors than x86-64, at
 * none: whoever asks goes byte by byte then.
 */
#ifndef JSON_BLOCK_H
#define JSON_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define JSON_BLOCK 64

struct json_block {
    uint64_t quotes;
    uint64_t backslashes;
    uint64_t opens; /* '{' and '[' */
    uint64_t closes;
};

/* Of JSON_BLOCK bytes at p. False: this processor cannot. */
bool json_block_read(const char *p, struct json_block *block);

#endif
