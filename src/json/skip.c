#include "skip.h"

static const char *skip_string(struct json_skip *s, const char *p, const char *end)
{
    while (p < end && s->in_string) {
        if (s->escaped) {
            s->escaped = false;
            p++;
            continue;
        }
        while (p < end && *p != '"' && *p != '\\')
            p++;
        if (p == end)
            return p;
        s->escaped = *p == '\\';
        s->in_string = s->escaped;
        p++;
    }
    return p;
}

/* Past the next quote or bracket. */
static const char *skip_mark(struct json_skip *s, const char *p, const char *end)
{
    enum { PLAIN, STRING, OPENS, CLOSES };
    static const unsigned char kinds[256] = {
        ['"'] = STRING, ['{'] = OPENS, ['['] = OPENS, ['}'] = CLOSES, [']'] = CLOSES,
    };

    while (p < end && kinds[(unsigned char)*p] == PLAIN)
        p++;
    if (p == end)
        return p;
    unsigned char kind = kinds[(unsigned char)*p];
    s->in_string = kind == STRING;
    s->depth += kind == OPENS;
    s->depth -= kind == CLOSES && s->depth > 0;
    return p + 1;
}

const char *json_skip_value(struct json_skip *s, const char *p, const char *end)
{
    do
        p = s->in_string ? skip_string(s, p, end) : skip_mark(s, p, end);
    while (p < end && !json_skip_complete(s));
    return p;
}
