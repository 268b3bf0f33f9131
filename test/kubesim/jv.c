/* Reading, building and writing of changeable JSON values: see jv.h. */
#include "jv.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JV_DEPTH_MAX 128

void strings_add(struct vpa_arena *a, struct strings *list, const char *text)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 4;
        const char **items = vpa_arena_alloc(a, capacity * sizeof(*items));
        if (list->count)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = text;
}

void strings_addf(struct vpa_arena *a, struct strings *list, const char *fmt, ...)
{
    char text[2048];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    strings_add(a, list, vpa_arena_strdup(a, text));
}

bool strings_has(const struct strings *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], text))
            return true;
    return false;
}

/* ---- building ---- */

static struct jv *new_value(struct vpa_arena *a, enum jv_type type)
{
    struct jv *v = vpa_arena_zalloc(a, sizeof(*v));
    v->type = type;
    return v;
}

struct jv *jv_null(struct vpa_arena *a)
{
    return new_value(a, JV_NULL);
}

struct jv *jv_bool(struct vpa_arena *a, bool b)
{
    struct jv *v = new_value(a, JV_BOOL);
    v->boolean = b;
    return v;
}

struct jv *jv_number(struct vpa_arena *a, const char *text)
{
    struct jv *v = new_value(a, JV_NUM);
    v->text = vpa_arena_strdup(a, text);
    return v;
}

struct jv *jv_int(struct vpa_arena *a, int64_t n)
{
    struct jv *v = new_value(a, JV_NUM);
    v->text = vpa_arena_printf(a, "%lld", (long long)n);
    return v;
}

struct jv *jv_str(struct vpa_arena *a, const char *text)
{
    if (!text)
        return jv_null(a);
    struct jv *v = new_value(a, JV_STR);
    v->text = vpa_arena_strdup(a, text);
    return v;
}

struct jv *jv_strf(struct vpa_arena *a, const char *fmt, ...)
{
    char text[4096];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return jv_str(a, text);
}

struct jv *jv_arr(struct vpa_arena *a)
{
    return new_value(a, JV_ARR);
}

struct jv *jv_obj(struct vpa_arena *a)
{
    return new_value(a, JV_OBJ);
}

static void append(struct vpa_arena *a, struct jv *v, const char *name, struct jv *value)
{
    if (v->count == v->capacity) {
        uint32_t capacity = v->capacity ? 2 * v->capacity : 4;
        struct jv_member *items = vpa_arena_alloc(a, capacity * sizeof(*items));
        if (v->count)
            memcpy(items, v->items, v->count * sizeof(*items));
        v->items = items;
        v->capacity = capacity;
    }
    v->items[v->count++] = (struct jv_member){name, value};
}

struct jv *jv_clone(struct vpa_arena *a, const struct jv *v)
{
    struct jv *copy = new_value(a, v->type);

    copy->boolean = v->boolean;
    if (v->text)
        copy->text = vpa_arena_strdup(a, v->text);
    if (v->count) {
        copy->items = vpa_arena_alloc(a, v->count * sizeof(*copy->items));
        copy->count = copy->capacity = v->count;
        for (uint32_t i = 0; i < v->count; i++)
            copy->items[i] = (struct jv_member){
                v->items[i].name ? vpa_arena_strdup(a, v->items[i].name) : NULL,
                jv_clone(a, v->items[i].value)};
    }
    return copy;
}

struct jv *jv_lit(struct vpa_arena *a, const char *json)
{
    struct jv *v = NULL;
    struct vpa_error err;

    if (jv_parse(a, json, strlen(json), &v, NULL, &err) < 0) {
        fprintf(stderr, "kubesim: bad literal %s: %s\n", json, err.text);
        abort();
    }
    return v;
}

/* ---- access ---- */

static struct jv_member *find_n(const struct jv *obj, const char *name, size_t len)
{
    if (!obj || obj->type != JV_OBJ)
        return NULL;
    for (uint32_t i = 0; i < obj->count; i++)
        if (!strncmp(obj->items[i].name, name, len) && !obj->items[i].name[len])
            return &obj->items[i];
    return NULL;
}

struct jv *jv_get(const struct jv *obj, const char *name)
{
    struct jv_member *m = find_n(obj, name, strlen(name));
    return m ? m->value : NULL;
}

struct jv *jv_at(const struct jv *v, const char *dotted)
{
    const struct jv *at = v;

    while (*dotted) {
        size_t len = strcspn(dotted, ".");
        struct jv_member *m = find_n(at, dotted, len);
        if (!m)
            return NULL;
        at = m->value;
        dotted += len + (dotted[len] == '.');
    }
    return (struct jv *)(uintptr_t)at;
}

const char *jv_text(const struct jv *v)
{
    return v && v->type == JV_STR ? v->text : NULL;
}

const char *jv_text_at(const struct jv *v, const char *dotted)
{
    const char *text = jv_text(jv_at(v, dotted));
    return text ? text : "";
}

bool jv_is_int(const struct jv *v, int64_t *out)
{
    if (!v || v->type != JV_NUM)
        return false;
    char *end;
    errno = 0;
    long long n = strtoll(v->text, &end, 10);
    if (!*end && !errno) {
        *out = n;
        return true;
    }
    double d = strtod(v->text, &end);
    if (*end || d != (double)(int64_t)d || d >= 9.2e18 || d <= -9.2e18)
        return false;
    *out = (int64_t)d;
    return true;
}

int64_t jv_int_at(const struct jv *v, const char *dotted, int64_t preset)
{
    int64_t n;
    return jv_is_int(jv_at(v, dotted), &n) ? n : preset;
}

bool jv_bool_at(const struct jv *v, const char *dotted, bool preset)
{
    const struct jv *b = jv_at(v, dotted);
    return b && b->type == JV_BOOL ? b->boolean : preset;
}

double jv_double(const struct jv *v)
{
    return v && v->type == JV_NUM ? strtod(v->text, NULL) : 0;
}

/* ---- change ---- */

void jv_set(struct vpa_arena *a, struct jv *obj, const char *name, struct jv *value)
{
    struct jv_member *m = find_n(obj, name, strlen(name));

    if (m)
        m->value = value;
    else
        append(a, obj, vpa_arena_strdup(a, name), value);
}

void jv_set_str(struct vpa_arena *a, struct jv *obj, const char *name, const char *text)
{
    jv_set(a, obj, name, jv_str(a, text));
}

void jv_set_int(struct vpa_arena *a, struct jv *obj, const char *name, int64_t n)
{
    jv_set(a, obj, name, jv_int(a, n));
}

void jv_set_bool(struct vpa_arena *a, struct jv *obj, const char *name, bool b)
{
    jv_set(a, obj, name, jv_bool(a, b));
}

void jv_put_first(struct vpa_arena *a, struct jv *obj, const char *name, struct jv *value)
{
    jv_del(obj, name);
    append(a, obj, NULL, NULL);
    memmove(obj->items + 1, obj->items, (obj->count - 1) * sizeof(*obj->items));
    obj->items[0] = (struct jv_member){vpa_arena_strdup(a, name), value};
}

bool jv_del(struct jv *obj, const char *name)
{
    struct jv_member *m = find_n(obj, name, strlen(name));

    if (!m)
        return false;
    jv_remove_at(obj, (size_t)(m - obj->items));
    return true;
}

void jv_push(struct vpa_arena *a, struct jv *arr, struct jv *value)
{
    append(a, arr, NULL, value);
}

void jv_insert(struct vpa_arena *a, struct jv *arr, size_t at, struct jv *value)
{
    append(a, arr, NULL, NULL);
    memmove(arr->items + at + 1, arr->items + at, (arr->count - 1 - at) * sizeof(*arr->items));
    arr->items[at] = (struct jv_member){NULL, value};
}

void jv_remove_at(struct jv *arr, size_t at)
{
    memmove(arr->items + at, arr->items + at + 1, (arr->count - at - 1) * sizeof(*arr->items));
    arr->count--;
}

struct jv *jv_ensure(struct vpa_arena *a, struct jv *obj, const char *dotted)
{
    while (*dotted) {
        size_t len = strcspn(dotted, ".");
        struct jv_member *m = find_n(obj, dotted, len);
        if (!m) {
            append(a, obj, vpa_arena_strndup(a, dotted, len), jv_obj(a));
            m = &obj->items[obj->count - 1];
        } else if (m->value->type != JV_OBJ) {
            m->value = jv_obj(a);
        }
        obj = m->value;
        dotted += len + (dotted[len] == '.');
    }
    return obj;
}

void jv_default(struct vpa_arena *a, struct jv *obj, const char *name, const char *json)
{
    if (jv_missing(jv_get(obj, name)))
        jv_set(a, obj, name, jv_lit(a, json));
}

/* ---- comparing and pointing ---- */

bool jv_equal(const struct jv *x, const struct jv *y)
{
    if (!x || !y)
        return x == y;
    if (x->type != y->type)
        return false;
    switch (x->type) {
    case JV_NULL:
        return true;
    case JV_BOOL:
        return x->boolean == y->boolean;
    case JV_STR:
        return !strcmp(x->text, y->text);
    case JV_NUM:
        return !strcmp(x->text, y->text) || jv_double(x) == jv_double(y);
    case JV_ARR:
        if (x->count != y->count)
            return false;
        for (uint32_t i = 0; i < x->count; i++)
            if (!jv_equal(x->items[i].value, y->items[i].value))
                return false;
        return true;
    case JV_OBJ:
        if (x->count != y->count)
            return false;
        for (uint32_t i = 0; i < x->count; i++) {
            const char *name = x->items[i].name;
            const struct jv *other =
                !strcmp(name, y->items[i].name) ? y->items[i].value : jv_get(y, name);
            if (!jv_equal(x->items[i].value, other))
                return false;
        }
        return true;
    }
    return false;
}

static const char *unescape_segment(struct vpa_arena *a, const char *at, size_t len)
{
    char *out = vpa_arena_alloc(a, len + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (at[i] == '~' && i + 1 < len) {
            i++;
            out[n++] = at[i] == '1' ? '/' : '~';
        } else {
            out[n++] = at[i];
        }
    }
    out[n] = 0;
    return out;
}

static struct jv *step(struct vpa_arena *a, const struct jv *v, const char *segment)
{
    if (!strcmp(segment, "#") && v->type == JV_ARR)
        return jv_int(a, v->count);
    if (v->type == JV_OBJ)
        return jv_get(v, segment);
    if (v->type != JV_ARR)
        return NULL;
    if (*segment == '[') {
        char *key = vpa_arena_strdup(a, segment + 1);
        char *value = strchr(key, '=');
        size_t len = strlen(key);
        if (!value || key[len - 1] != ']')
            return NULL;
        key[len - 1] = 0;
        *value++ = 0;
        jv_each(m, v)
        {
            const char *text = jv_text(jv_get(m->value, key));
            if (text && !strcmp(text, value))
                return m->value;
        }
        return NULL;
    }
    char *end;
    unsigned long i = strtoul(segment, &end, 10);
    return *segment && !*end && i < v->count ? v->items[i].value : NULL;
}

struct jv *jv_pointer(struct vpa_arena *a, const struct jv *v, const char *pointer)
{
    const struct jv *at = v;

    while (at && *pointer == '/') {
        pointer++;
        size_t len = *pointer == '[' ? strcspn(pointer, "]") + 1 : strcspn(pointer, "/");
        at = step(a, at, unescape_segment(a, pointer, len));
        pointer += len;
    }
    return (struct jv *)(uintptr_t)at;
}

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
    vpa_auto_buf buf = {0};
    vpa_buf_init(&buf, 64u << 20);
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
    while (p->at < p->end &&
           (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
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
    struct jv *v = new_value(p->a, JV_NUM);
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
    vpa_auto_buf path = {0};
    vpa_buf_init(&path, 8192);
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
    struct jv *obj = new_value(p->a, JV_OBJ);

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
        struct jv_member *old = find_n(obj, name, strlen(name));
        if (old) {
            old->value = value;
            if (p->duplicates)
                note_duplicate(p, name);
        } else {
            append(p->a, obj, name, value);
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
    struct jv *arr = new_value(p->a, JV_ARR);

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
        append(p->a, arr, NULL, value);
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
        const char *text;
        rc = parse_string(p, &text);
        if (rc == 0) {
            *out = new_value(p->a, JV_STR);
            (*out)->text = text;
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
    struct parser p = {.a = a, .start = text, .at = text, .end = text + len,
                       .duplicates = duplicates, .err = err};
    struct jv *v = NULL;

    if (parse_value(&p, &v) < 0)
        return -1;
    skip_space(&p);
    if (p.at < p.end)
        return bad(&p, "after top-level value");
    *out = v;
    return 0;
}
