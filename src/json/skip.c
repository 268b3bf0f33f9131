/*
 * Inside of a value 64 bytes are looked at together (block.h): what is a string in them follows
 * from the quotes alone, as long as there is no backslash, and most blocks hold too few closing
 * brackets to end the value. Everything else goes from mark to mark.
 */
#include "skip.h"

#include "block.h"
#include "bytes.h"

/* The next quote or backslash. */
static const char *find_string_mark(const char *p, const char *end)
{
    for (; end - p >= 8; p += 8) {
        uint64_t word = json_bytes_load(p);
        uint64_t found = json_bytes_equal(word, '"') | json_bytes_equal(word, '\\');

        if (found)
            return p + json_bytes_first(found);
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Past the quote that ends the string. */
static const char *skip_string(struct json_skip *s, const char *p, const char *end)
{
    while (p < end) {
        if (s->escaped) {
            s->escaped = false;
            p++;
            continue;
        }
        p = find_string_mark(p, end);
        if (p == end)
            return p;
        if (*p++ == '"') {
            s->in_string = false;
            return p;
        }
        s->escaped = true;
    }
    return p;
}

/* Past the next quote, or the bracket that closes the value. */
static const char *skip_marks(struct json_skip *s, const char *p, const char *end)
{
    enum { PLAIN, STRING, OPENS, CLOSES };
    static const unsigned char kinds[256] = {
        ['"'] = STRING, ['{'] = OPENS, ['['] = OPENS, ['}'] = CLOSES, [']'] = CLOSES,
    };

    while (p < end) {
        unsigned char kind = kinds[(unsigned char)*p++];

        if (kind == PLAIN)
            continue;
        if (kind == OPENS) {
            s->depth++;
            continue;
        }
        s->in_string = kind == STRING;
        s->depth -= kind == CLOSES && s->depth > 0;
        if (s->in_string || s->depth == 0)
            return p;
    }
    return p;
}

/* Bit i says whether there is an odd number of bits up to and with bit i. */
static uint64_t parity_of_prefixes(uint64_t bits)
{
    for (unsigned by = 1; by < 64; by *= 2)
        bits ^= bits << by;
    return bits;
}

/* Inline: not every x86-64 has an instruction for it, and the compiler's function has a table. */
static inline size_t count_bits(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (size_t)(bits * JSON_BYTES_EACH(1) >> 56);
}

/* Past the bracket that closes the value, or the block. */
static const char *skip_brackets(struct json_skip *s, const char *p, uint64_t opens,
                                 uint64_t closes)
{
    size_t closed = count_bits(closes);

    if (closed < s->depth) {
        s->depth += count_bits(opens) - closed;
        return p + JSON_BLOCK;
    }
    for (uint64_t left = opens | closes; left; left &= left - 1) {
        if (opens & left & -left)
            s->depth++;
        else if (--s->depth == 0)
            return p + __builtin_ctzll(left) + 1;
    }
    return p + JSON_BLOCK;
}

/* What strings and brackets make of the next block; not of a string that is the value. */
static inline bool is_for_blocks(const struct json_skip *s, const char *p, const char *end)
{
    return end - p >= JSON_BLOCK && (s->depth > 0 || (!s->in_string && (*p == '{' || *p == '[')));
}

/* NULL: not to be done so. */
static const char *skip_block(struct json_skip *s, const char *p)
{
    struct json_block block;

    if (s->escaped || !json_block_read(p, &block) || block.backslashes)
        return NULL;
    /* From an opening quote to the byte before the closing one. */
    uint64_t strings = parity_of_prefixes(block.quotes) ^ (s->in_string ? UINT64_MAX : 0);
    s->in_string = false; /* where the value ends */
    p = skip_brackets(s, p, block.opens & ~strings, block.closes & ~strings);
    s->in_string = s->depth > 0 && strings >> 63;
    return p;
}

static const char *skip_by_marks(struct json_skip *s, const char *p, const char *end)
{
    do
        p = s->in_string ? skip_string(s, p, end) : skip_marks(s, p, end);
    while (p < end && !json_skip_complete(s));
    return p;
}

const char *json_skip_value(struct json_skip *s, const char *p, const char *end)
{
    struct json_skip now = *s; /* in registers */

    do {
        bool block = is_for_blocks(&now, p, end);
        const char *next = block ? skip_block(&now, p) : NULL;

        p = next ? next : skip_by_marks(&now, p, block ? p + JSON_BLOCK : end);
    } while (p < end && !json_skip_complete(&now));
    *s = now;
    return p;
}
