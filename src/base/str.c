/* String helpers and the intern pool; see the header. */
#include "vpa/base/str.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/pointer_set.h"
#include "vpa/base/table.h"

bool vpa_str_eq(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool vpa_str_is_in(const char *text, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (vpa_str_eq(text, texts[i]))
            return true;
    return false;
}

int vpa_str_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool vpa_str_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool vpa_str_ends_with(const char *text, const char *suffix)
{
    size_t len = strlen(text), tail = strlen(suffix);

    return len >= tail && memcmp(text + len - tail, suffix, tail) == 0;
}

bool vpa_str_split(const char **rest, char separator, struct vpa_slice *piece)
{
    if (!*rest)
        return false;
    const char *end = strchr(*rest, separator);
    piece->ptr = *rest;
    piece->len = end ? (size_t)(end - *rest) : strlen(*rest);
    *rest = end ? end + 1 : NULL;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct vpa_slice vpa_slice_trim(struct vpa_slice s)
{
    while (s.len && is_space(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

bool vpa_slice_eq(struct vpa_slice s, const char *text)
{
    return strlen(text) == s.len && memcmp(s.ptr, text, s.len) == 0;
}

static int not_a_number(const char *text, const char *what, struct vpa_error *err)
{
    vpa_auto_buf quoted = VPA_BUF(512);

    vpa_quote_go(&quoted, text);
    return vpa_fail(err, VPA_INVALID, "%s: %s", vpa_buf_text(&quoted), what);
}

/* strtoll and strtoull would take leading white space and signs that we do not. */
int vpa_parse_uint64(const char *text, uint64_t *out, struct vpa_error *err)
{
    uint64_t n = 0;

    if (!*text)
        return not_a_number(text, "not a whole number", err);
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9')
            return not_a_number(text, "not a whole number", err);
        if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
            return not_a_number(text, "number out of range", err);
    }
    *out = n;
    return 0;
}

int vpa_parse_int64(const char *text, int64_t *out, struct vpa_error *err)
{
    bool negative = text[0] == '-';
    uint64_t n;

    if (negative && (text[1] < '0' || text[1] > '9'))
        return not_a_number(text, "not a whole number", err);
    if (vpa_parse_uint64(negative ? text + 1 : text, &n, err) < 0)
        return -1;
    if (n > (uint64_t)INT64_MAX + negative)
        return not_a_number(text, "number out of range", err);
    *out = negative ? (int64_t)(0 - n) : (int64_t)n;
    return 0;
}

size_t vpa_utf8_decode(const char *text, uint32_t *rune)
{
    const unsigned char *p = (const unsigned char *)text;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80       ? 1
                 : p[0] >> 5 == 6  ? 2
                 : p[0] >> 4 == 14 ? 3
                 : p[0] >> 3 == 30 ? 4
                                   : 0;

    if (len <= 1) {
        *rune = p[0];
        return len;
    }
    uint32_t r = p[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        r = r << 6 | (p[i] & 0x3f);
    }
    if (r < smallest[len] || r > 0x10ffff || (r >= 0xd800 && r <= 0xdfff))
        return 0;
    *rune = r;
    return len;
}

/*
 * Go prints what unicode.IsPrint accepts and escapes the rest. Its tables are large; of the
 * characters that occur in names and texts only controls, separators, surrogates and noncharacters
 * are not printable.
 */
static bool is_printable(uint32_t r)
{
    if (r < 0x20 || (r >= 0x7f && r <= 0xa0) || r == 0xad)
        return false;
    if ((r >= 0x2000 && r <= 0x200f) || (r >= 0x2028 && r <= 0x202f) ||
        (r >= 0x205f && r <= 0x206f))
        return false;
    if (r == 0x1680 || r == 0x3000 || r == 0xfeff || (r >= 0xfff0 && r <= 0xfffb))
        return false;
    if ((r >= 0xe000 && r <= 0xf8ff) || (r & 0xfffe) == 0xfffe || r >= 0xe0000)
        return false;
    return true;
}

/* One code point that is not plain ASCII, or one byte that is not a character; its length. */
static size_t put_rune(struct vpa_buf *buf, const char *p)
{
    uint32_t rune;
    size_t len = vpa_utf8_decode(p, &rune);

    if (!len) {
        vpa_buf_printf(buf, "\\x%02x", (unsigned char)*p);
        return 1;
    }
    if (rune >= 7 && rune <= 13) {
        vpa_buf_putc(buf, '\\');
        vpa_buf_putc(buf, "abtnvfr"[rune - 7]); /* \\a is 7, \\r is 13 */
    } else if (is_printable(rune)) {
        vpa_buf_append(buf, p, len);
    } else if (rune < 0x20 || rune == 0x7f) {
        vpa_buf_printf(buf, "\\x%02x", (unsigned)rune);
    } else if (rune < 0x10000) {
        vpa_buf_printf(buf, "\\u%04x", (unsigned)rune);
    } else {
        vpa_buf_printf(buf, "\\U%08x", (unsigned)rune);
    }
    return len;
}

static void escape(struct vpa_buf *buf, const char *text, const char *end, bool quoted)
{
    for (const char *p = text; p < end;) {
        const char *run = p;

        while (p < end && *p >= ' ' && *p < 0x7f && !(quoted && (*p == '"' || *p == '\\')))
            p++;
        vpa_buf_append(buf, run, (size_t)(p - run));
        if (p == end)
            return;
        if (*p == '"' || *p == '\\') {
            vpa_buf_putc(buf, '\\');
            vpa_buf_putc(buf, *p++);
        } else {
            p += put_rune(buf, p);
        }
    }
}

void vpa_quote_go(struct vpa_buf *buf, const char *text)
{
    vpa_buf_putc(buf, '"');
    escape(buf, text, text + strlen(text), true);
    vpa_buf_putc(buf, '"');
}

void vpa_escape_go(struct vpa_buf *buf, const char *text, size_t len)
{
    escape(buf, text, text + len, false);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

char *vpa_url_decode(const char *text, size_t len, bool plus)
{
    char *out = vpa_xmalloc(len + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        int high = i + 2 < len ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;

        if (text[i] == '%' && low >= 0) {
            out[n++] = (char)(high * 16 + low);
            i += 2;
        } else {
            out[n++] = plus && text[i] == '+' ? ' ' : text[i];
        }
    }
    out[n] = '\0';
    return out;
}

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_label(const char *p, size_t len)
{
    if (!len || !is_lower_alnum(p[0]) || !is_lower_alnum(p[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_lower_alnum(p[i]) && p[i] != '-')
            return false;
    return true;
}

bool vpa_is_dns1123_label(const char *text)
{
    size_t len = strlen(text);

    return len <= 63 && is_label(text, len);
}

bool vpa_is_dns1123_subdomain(const char *text)
{
    const char *rest = text;
    struct vpa_slice part;

    if (strlen(text) > 253)
        return false;
    while (vpa_str_split(&rest, '.', &part))
        if (!is_label(part.ptr, part.len))
            return false;
    return true;
}

/* An interned string: hash and count stand before the text that callers see. */
struct interned {
    struct vpa_hashed hashed;
    uint32_t references;
    char text[];
};

struct vpa_intern_pool {
    struct vpa_pointer_set strings;
};

struct vpa_intern_pool *vpa_intern_pool_new(void)
{
    return vpa_xcalloc(1, sizeof(struct vpa_intern_pool));
}

void vpa_intern_pool_free(struct vpa_intern_pool *pool)
{
    struct vpa_hashed *string;

    if (!pool)
        return;
    for (size_t i = 0; (string = vpa_pointer_set_next(&pool->strings, &i));)
        free(string);
    vpa_pointer_set_release(&pool->strings);
    free(pool);
}

static bool is_text(const struct vpa_hashed *object, const void *key)
{
    return strcmp(((const struct interned *)object)->text, key) == 0;
}

static uint32_t hash_of(const char *text, size_t len)
{
    uint64_t hash = vpa_hash_bytes(text, len);

    return (uint32_t)(hash ^ hash >> 32);
}

const char *vpa_intern_find(const struct vpa_intern_pool *pool, const char *text)
{
    const struct vpa_hashed *found =
        vpa_pointer_set_find(&pool->strings, hash_of(text, strlen(text)), is_text, text);

    return found ? ((const struct interned *)found)->text : NULL;
}

const char *vpa_intern(struct vpa_intern_pool *pool, const char *text)
{
    size_t len = strlen(text);
    uint32_t hash = hash_of(text, len);
    struct interned *s =
        (struct interned *)vpa_pointer_set_find(&pool->strings, hash, is_text, text);

    if (!s) {
        s = vpa_xmalloc(sizeof(*s) + len + 1);
        s->hashed.hash = hash;
        s->references = 0;
        memcpy(s->text, text, len + 1);
        vpa_pointer_set_add(&pool->strings, &s->hashed);
    }
    s->references++;
    return s->text;
}

void vpa_unintern(struct vpa_intern_pool *pool, const char *interned)
{
    if (!interned)
        return;
    struct interned *s = (struct interned *)(interned - offsetof(struct interned, text));
    assert(s->references > 0);
    if (--s->references == 0) {
        vpa_pointer_set_remove(&pool->strings, &s->hashed);
        free(s);
    }
}

size_t vpa_intern_count(const struct vpa_intern_pool *pool)
{
    return pool->strings.count;
}
