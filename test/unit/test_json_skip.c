/* Where a value ends: looked for in blocks, compared with one byte after the other. */
#include <check.h>
#include <string.h>

#include "../../src/json/skip.h"
#include "suite.h"
#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/random.h"

/* What skip.h promises, byte by byte. */
static size_t end_by_bytes(struct json_skip *s, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (s->in_string) {
            if (s->escaped)
                s->escaped = false;
            else if (c == '\\')
                s->escaped = true;
            else if (c == '"')
                s->in_string = false;
        } else if (c == '"') {
            s->in_string = true;
        } else if (c == '{' || c == '[') {
            s->depth++;
        } else if ((c == '}' || c == ']') && s->depth > 0) {
            s->depth--;
        }
        bool plain = !strchr("\"{}[]", c);
        if (!plain && json_skip_complete(s))
            return i + 1;
    }
    return len;
}

static void ck_same(const char *text, size_t len, size_t piece)
{
    struct json_skip whole = {0}, pieces = {0};
    size_t expected = end_by_bytes(&whole, text, len), at = 0;

    /* The pieces are copies of their own size: a byte behind them is an error of the sanitizer. */
    do {
        size_t n = len - at < piece ? len - at : piece;
        vpa_auto_free char *copy = vpa_xmalloc(n);
        memcpy(copy, text + at, n);
        size_t moved = (size_t)(json_skip_value(&pieces, copy, copy + n) - copy);
        at += moved;
        if (moved < n)
            break;
    } while (at < len && !json_skip_complete(&pieces));
    ck_assert_msg(at == expected, "%zu instead of %zu, pieces of %zu: %s", at, expected, piece,
                  text);
    ck_assert_uint_eq(pieces.depth, whole.depth);
    ck_assert_int_eq(pieces.in_string, whole.in_string);
    ck_assert_int_eq(pieces.escaped, whole.escaped);
}

static size_t below(struct vpa_random *random, uint64_t limit)
{
    return (size_t)(vpa_random_next(random) % limit);
}

/* Bytes that mean something, and some that nearly do. `rare`: one in so many is a backslash. */
static void random_text(struct vpa_buf *text, struct vpa_random *random, uint64_t rare)
{
    static const char bytes[] = "\"\"{}[]{}:, ax;z|~\x7b\xfb\xdb\xfd\xa2\xdc";
    size_t len = below(random, 400) + 1;

    vpa_buf_clear(text);
    vpa_buf_append(text, "{", 1);
    while (text->len < len) {
        if (below(random, rare) == 0)
            vpa_buf_append(text, "\\", 1);
        else if (below(random, 3) == 0)
            vpa_buf_append(text, "xxxxxxxxxxxxxxxxxxxx", below(random, 20));
        else
            vpa_buf_append(text, bytes + below(random, sizeof(bytes) - 1), 1);
    }
}

TEST_TIMES(blocks_end_where_bytes_do, 3) {
    static const uint64_t rare[] = {1000000, 200, 7};
    static const size_t pieces[] = {1, 63, 64, 65, 200, 1000};
    struct vpa_random random;
    struct vpa_buf text;

    vpa_random_init(&random, (uint64_t)_i);
    vpa_buf_init(&text, 1000);
    for (size_t i = 0; i < 1000; i++) {
        random_text(&text, &random, rare[_i]);
        for (size_t k = 0; k < VPA_COUNT(pieces); k++)
            ck_same(vpa_buf_text(&text), text.len, pieces[k]);
    }
    vpa_buf_release(&text);
}

/* The closing bracket and the quotes around it at each place of a block. */
TEST(each_place_of_a_block) {
    char text[300];

    for (size_t at = 1; at < 200; at++) {
        memset(text, 'x', sizeof(text));
        memcpy(text, "[", 1);
        memcpy(text + at, "\"}]\"]", 5);
        ck_same(text, sizeof(text), sizeof(text));
        memcpy(text + at, "\\\"]\"]", 5);
        ck_same(text, sizeof(text), sizeof(text));
    }
}

int main(void)
{
    return run_tests_within(60, "json_skip", NULL, NULL);
}
