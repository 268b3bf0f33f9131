#include "skip.h"

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

const char *json_skip_value(struct json_skip *s, const char *p, const char *end)
{
    struct json_skip now = *s; /* in registers */

    do
        p = now.in_string ? skip_string(&now, p, end) : skip_marks(&now, p, end);
    while (p < end && !json_skip_complete(&now));
    *s = now;
    return p;
}
