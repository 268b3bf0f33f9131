/*
 * Where a JSON value ends, told from its strings and the balance of its brackets alone: what is
 * between may be anything. The text may come in pieces.
 */
#ifndef JSON_SKIP_H
#define JSON_SKIP_H

#include <stdbool.h>
#include <stddef.h>

struct json_skip { /* zeroed before the first byte of a string, an array or an object */
    size_t depth;  /* open brackets */
    bool in_string;
    bool escaped;
};

/* Moves past the rest of the value; returns where it ends, or `end`. */
const char *json_skip_value(struct json_skip *s, const char *p, const char *end);

static inline bool json_skip_complete(const struct json_skip *s)
{
    return s->depth == 0 && !s->in_string;
}

#endif
