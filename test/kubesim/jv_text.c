/* Reading and writing of the text of changeable JSON values: see jv.h. */
#include "jv.h"

#include <stdlib.h>
#include <string.h>

#define JV_DEPTH_MAX 128

/* ---- writing ---- */

void jv_write_string(struct vpa_buf *buf, const char *text)
{
    const char *start = text;

    vpa_buf_putc(buf, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        vpa_buf_append(buf, start, (size_t)(text - start));
        start = text + 1;
        switch (c) {
        case '"':
            vpa_buf_puts(buf, "\\\"");
            break;
        case '\\':
            vpa_buf_puts(buf, "\\\\");
            break;
        case '\n':
            vpa_buf_puts(buf, "\\n");
            break;
        case '\t':
            vpa_buf_puts(buf, "\\t");
            break;
        case '\r':
            vpa_buf_puts(buf, "\\r");
            break;
        default:
            vpa_buf_printf(buf, "\\u%04x", c);
        }
    }
    vpa_buf_append(buf, start, (size_t)(text - start));
    vpa_buf_putc(buf, '"');
}

static int by_name(const void *x, const void *y)
{
    return strcmp((*(struct jv_member *const *)x)->name, (*(struct jv_member *const *)y)->name);
}

static void write_value(struct vpa_buf *buf, const struct jv *v, bool sorted)
{
    switch (v->type) {
    case JV_NULL:
        vpa_buf_puts(buf, "null");
        break;
    case JV_BOOL:
        vpa_buf_puts(buf, v->boolean ? "true" : "false");
        break;
    case JV_NUM:
        vpa_buf_puts(buf, v->text);
        break;
    case JV_STR:
        jv_write_string(buf, v->text);
        break;
    case JV_ARR:
        vpa_buf_putc(buf, '[');
        for (uint32_t i = 0; i < v->count; i++) {
            if (i)
                vpa_buf_putc(buf, ',');
            write_value(buf, v->items[i].value, sorted);
        }
        vpa_buf_putc(buf, ']');
        break;
    case JV_OBJ: {
        struct jv_member **order = NULL;
        if (sorted && v->count) {
            order = vpa_xmalloc(v->count * sizeof(struct jv_member *));
            for (uint32_t i = 0; i < v->count; i++)
                order[i] = &v->items[i];
            qsort(order, v->count, sizeof(struct jv_member *), by_name);
        }
        vpa_buf_putc(buf, '{');
        for (uint32_t i = 0; i < v->count; i++) {
            const struct jv_member *m = order ? order[i] : &v->items[i];
            if (i)
                vpa_buf_putc(buf, ',');
            jv_write_string(buf, m->name);
            vpa_buf_putc(buf, ':');
            write_value(buf, m->value, sorted);
        }
        vpa_buf_putc(buf, '}');
        free(order);
        break;
    }
    }
}

void jv_write(struct vpa_buf *buf, const struct jv *v)
{
    write_value(buf, v, false);
}

void jv_write_sorted(struct vpa_buf *buf, const struct jv *v)
{
    write_value(buf, v, true);
}

char *jv_dump(struct vpa_arena *a, const struct jv *v)
{
    vpa_auto_buf buf = VPA_BUF(64u << 20);
    jv_write(&buf, v);
    return vpa_arena_strdup(a, vpa_buf_text(&buf));
}

/* ---- parsing ---- */

struct parser {
    struct vpa_arena *a;
    const char *start;
    const char *at;
    const char *end;
    unsigned depth;
    struct strings *duplicates;
    const char *path[JV_DEPTH_MAX + 1];
    struct vpa_error *err;
};

static int bad(struct parser *p, const char *what)
{
    if (p->at >= p->end)
        return vpa_fail(p->err, VPA_INVALID, "unexpected end of JSON input");
    return vpa_fail(p->err, VPA_INVALID, "invalid character '%c' %s (offset %zu)", *p->at, what,
                    (size_t)(p->at - p->start));
}

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

static int hex4(const char *s)
{
    int n = 0;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        n = n * 16 + d;
    }
    return n;
}

static size_t put_utf8(char *out, unsigned c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

static int parse_escape(struct parser *p, char *out, size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *hit;

    if (p->at >= p->end)
        return bad(p, "");
    if (*p->at == 'u') {
        if (p->end - p->at < 5)
            return bad(p, "in \\u hexadecimal character escape");
        int c = hex4(p->at + 1);
        if (c < 0)
            return bad(p, "in \\u hexadecimal character escape");
        p->at += 5;
        unsigned code = (unsigned)c;
        if (c >= 0xd800 && c < 0xdc00 && p->end - p->at >= 6 && p->at[0] == '\\' &&
            p->at[1] == 'u') {
            int low = hex4(p->at + 2);
            if (low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + (((unsigned)c - 0xd800) << 10) + ((unsigned)low - 0xdc00);
                p->at += 6;
            }
        }
        if (code >= 0xd800 && code < 0xe000)
            code = 0xfffd;
        if (!code)
            return vpa_fail(p->err, VPA_INVALID, "NUL in a string is not supported");
        *n += put_utf8(out + *n, code);
        return 0;
    }
    hit = strchr(from, *p->at);
    if (!hit || !*p->at)
        return bad(p, "in string escape code");
    out[(*n)++] = to[hit - from];
    p->at++;
    return 0;
}

static int parse_string(struct parser *p, const char **out)
{
    const char *start = ++p->at;

    while (p->at < p->end && *p->at != '"' && *p->at != '\\' && (unsigned char)*p->at >= 0x20)
        p->at++;
    if (p->at < p->end && *p->at == '"') {
        *out = vpa_arena_strndup(p->a, start, (size_t)(p->at - start));
        p->at++;
        return 0;
    }
    const char *close = p->at;
    while (close < p->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    if (close >= p->end) {
        p->at = p->end;
        return bad(p, "");
    }
    char *text = vpa_arena_alloc(p->a, (size_t)(close - start) + 4);
    size_t n = (size_t)(p->at - start);
    memcpy(text, start, n);
    while (p->at < p->end && *p->at != '"') {
        if ((unsigned char)*p->at < 0x20)
            return bad(p, "in string literal");
        if (*p->at != '\\') {
            text[n++] = *p->at++;
            continue;
        }
        p->at++;
        if (parse_escape(p, text, &n) < 0)
            return -1;
    }
    if (p->at >= p->end)
        return bad(p, "");
    p->at++;
    text[n] = 0;
    *out = text;
    return 0;
}

/* Whether the server would write the text otherwise than it stands there. */
static bool written_otherwise(const char *text, const char *source, size_t len)
{
    vpa_auto_buf buf = {0};

    if (strpbrk(text, "<>&"))
        return true; /* escaped there */
    if (!memchr(source, '\\', len))
        return false;
    vpa_buf_init(&buf, 2 * len + 16);
    jv_write_string(&buf, text);
    return buf.len != len || memcmp(vpa_buf_text(&buf), source, len) != 0;
}

static int parse_number(struct parser *p, struct jv **out)
{
    const char *start = p->at;

    if (p->at < p->end && *p->at == '-')
        p->at++;
    if (p->at >= p->end || *p->at < '0' || *p->at > '9')
        return bad(p, "in numeric literal");
    if (*p->at == '0')
        p->at++;
    else
        while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
            p->at++;
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        if (p->at >= p->end || *p->at < '0' || *p->at > '9')
            return bad(p, "after decimal point in numeric literal");
        while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
            p->at++;
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
            p->at++;
        if (p->at >= p->end || *p->at < '0' || *p->at > '9')
            return bad(p, "in exponent of numeric literal");
        while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
            p->at++;
    }
    struct jv *v = jv_new(p->a, JV_NUM);
    v->text = vpa_arena_strndup(p->a, start, (size_t)(p->at - start));
    *out = v;
    return 0;
}

static int parse_word(struct parser *p, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0)
        return bad(p, "looking for beginning of value");
    p->at += len;
    return 0;
}

static void note_duplicate(struct parser *p, const char *name)
{
    vpa_auto_buf path = VPA_BUF(8192);
    for (unsigned i = 1; i < p->depth; i++)
        if (p->path[i])
            vpa_buf_printf(&path, "%s%s", path.len && p->path[i][0] != '[' ? "." : "", p->path[i]);
    vpa_buf_printf(&path, "%s%s", path.len ? "." : "", name);
    const char *text = vpa_arena_strdup(p->a, vpa_buf_text(&path));
    if (!strings_has(p->duplicates, text))
        strings_add(p->a, p->duplicates, text);
}

static int parse_value(struct parser *p, struct jv **out);

static int parse_object(struct parser *p, struct jv **out)
{
    struct jv *obj = jv_new(p->a, JV_OBJ);

    p->at++;
    skip_space(p);
    if (p->at < p->end && *p->at == '}') {
        p->at++;
        *out = obj;
        return 0;
    }
    for (;;) {
        const char *name;
        struct jv *value;

        skip_space(p);
        if (p->at >= p->end || *p->at != '"')
            return bad(p, "looking for beginning of object key string");
        if (parse_string(p, &name) < 0)
            return -1;
        skip_space(p);
        if (p->at >= p->end || *p->at != ':')
            return bad(p, "after object key");
        p->at++;
        p->path[p->depth] = name;
        if (parse_value(p, &value) < 0)
            return -1;
        struct jv_member *old = jv_find_n(obj, name, strlen(name));
        if (old) {
            old->value = value;
            if (p->duplicates)
                note_duplicate(p, name);
        } else {
            jv_append(p->a, obj, name, value);
        }
        skip_space(p);
        if (p->at < p->end && *p->at == ',') {
            p->at++;
            continue;
        }
        if (p->at < p->end && *p->at == '}') {
            p->at++;
            *out = obj;
            return 0;
        }
        return bad(p, "after object key:value pair");
    }
}

static int parse_array(struct parser *p, struct jv **out)
{
    struct jv *arr = jv_new(p->a, JV_ARR);

    p->at++;
    skip_space(p);
    if (p->at < p->end && *p->at == ']') {
        p->at++;
        *out = arr;
        return 0;
    }
    for (;;) {
        struct jv *value;

        p->path[p->depth] = p->duplicates ? vpa_arena_printf(p->a, "[%u]", arr->count) : NULL;
        if (parse_value(p, &value) < 0)
            return -1;
        jv_append(p->a, arr, NULL, value);
        skip_space(p);
        if (p->at < p->end && *p->at == ',') {
            p->at++;
            continue;
        }
        if (p->at < p->end && *p->at == ']') {
            p->at++;
            *out = arr;
            return 0;
        }
        return bad(p, "after array element");
    }
}

static int parse_value(struct parser *p, struct jv **out)
{
    int rc = 0;

    skip_space(p);
    if (p->at >= p->end)
        return bad(p, "");
    if (p->depth >= JV_DEPTH_MAX)
        return vpa_fail(p->err, VPA_LIMIT, "nested deeper than %d", JV_DEPTH_MAX);
    p->depth++;
    switch (*p->at) {
    case '{':
        rc = parse_object(p, out);
        break;
    case '[':
        rc = parse_array(p, out);
        break;
    case '"': {
        const char *text, *start = p->at;
        rc = parse_string(p, &text);
        if (rc == 0) {
            *out = jv_new(p->a, JV_STR);
            (*out)->text = text;
            (*out)->boolean = written_otherwise(text, start, (size_t)(p->at - start));
        }
        break;
    }
    case 't':
        rc = parse_word(p, "true");
        *out = jv_bool(p->a, true);
        break;
    case 'f':
        rc = parse_word(p, "false");
        *out = jv_bool(p->a, false);
        break;
    case 'n':
        rc = parse_word(p, "null");
        *out = jv_null(p->a);
        break;
    default:
        rc = *p->at == '-' || (*p->at >= '0' && *p->at <= '9')
                 ? parse_number(p, out)
                 : bad(p, "looking for beginning of value");
    }
    p->depth--;
    return rc;
}

int jv_parse(struct vpa_arena *a, const char *text, size_t len, struct jv **out,
             struct strings *duplicates, struct vpa_error *err)
{
    struct parser p = {
        .a = a, .start = text, .at = text, .end = text + len, .duplicates = duplicates, .err = err};
    struct jv *v = NULL;

    if (parse_value(&p, &v) < 0)
        return -1;
    skip_space(&p);
    if (p.at < p.end)
        return bad(&p, "after top-level value");
    *out = v;
    return 0;
}
