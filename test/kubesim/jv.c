/* Building, changing and comparing changeable JSON values: see jv.h. */
#include "jv.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strings_add(struct vpa_arena *a, struct strings *list, const char *text)
{
    VPA_ARENA_GROW(a, list->items, list->count, list->capacity);
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

struct jv *jv_new(struct vpa_arena *a, enum jv_type type)
{
    struct jv *v = vpa_arena_zalloc(a, sizeof(*v));
    v->type = type;
    return v;
}

struct jv *jv_null(struct vpa_arena *a)
{
    return jv_new(a, JV_NULL);
}

struct jv *jv_bool(struct vpa_arena *a, bool b)
{
    struct jv *v = jv_new(a, JV_BOOL);
    v->boolean = b;
    return v;
}

struct jv *jv_number(struct vpa_arena *a, const char *text)
{
    struct jv *v = jv_new(a, JV_NUM);
    v->text = vpa_arena_strdup(a, text);
    return v;
}

struct jv *jv_int(struct vpa_arena *a, int64_t n)
{
    struct jv *v = jv_new(a, JV_NUM);
    v->text = vpa_arena_printf(a, "%lld", (long long)n);
    return v;
}

struct jv *jv_str(struct vpa_arena *a, const char *text)
{
    if (!text)
        return jv_null(a);
    struct jv *v = jv_new(a, JV_STR);
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
    return jv_new(a, JV_ARR);
}

struct jv *jv_obj(struct vpa_arena *a)
{
    return jv_new(a, JV_OBJ);
}

void jv_append(struct vpa_arena *a, struct jv *v, const char *name, struct jv *value)
{
    VPA_ARENA_GROW(a, v->items, v->count, v->capacity);
    v->items[v->count++] = (struct jv_member){name, value};
}

struct jv *jv_clone(struct vpa_arena *a, const struct jv *v)
{
    struct jv *copy = jv_new(a, v->type);

    copy->boolean = v->boolean;
    if (v->text)
        copy->text = vpa_arena_strdup(a, v->text);
    if (v->count) {
        copy->items = vpa_arena_alloc(a, v->count * sizeof(*copy->items));
        copy->count = copy->capacity = v->count;
        for (uint32_t i = 0; i < v->count; i++)
            copy->items[i] =
                (struct jv_member){v->items[i].name ? vpa_arena_strdup(a, v->items[i].name) : NULL,
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

/* Objects may have tens of thousands of members, most of which differ soon: no call for each. */
static bool is_named(const struct jv_member *m, const char *name, size_t len)
{
    size_t i = 0;

    while (i < len && m->name[i] == name[i])
        i++;
    return i == len && !m->name[len];
}

struct jv_member *jv_find_n(const struct jv *obj, const char *name, size_t len)
{
    if (!obj || obj->type != JV_OBJ)
        return NULL;
    for (uint32_t i = 0; i < obj->count; i++)
        if (is_named(&obj->items[i], name, len))
            return &obj->items[i];
    return NULL;
}

struct jv *jv_get(const struct jv *obj, const char *name)
{
    struct jv_member *m = jv_find_n(obj, name, strlen(name));
    return m ? m->value : NULL;
}

struct jv *jv_at(const struct jv *v, const char *dotted)
{
    const struct jv *at = v;

    while (*dotted) {
        size_t len = strcspn(dotted, ".");
        struct jv_member *m = jv_find_n(at, dotted, len);
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
    struct jv_member *m = jv_find_n(obj, name, strlen(name));

    if (m)
        m->value = value;
    else
        jv_append(a, obj, vpa_arena_strdup(a, name), value);
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
    jv_append(a, obj, NULL, NULL);
    memmove(obj->items + 1, obj->items, (obj->count - 1) * sizeof(*obj->items));
    obj->items[0] = (struct jv_member){vpa_arena_strdup(a, name), value};
}

bool jv_del(struct jv *obj, const char *name)
{
    struct jv_member *m = jv_find_n(obj, name, strlen(name));

    if (!m)
        return false;
    jv_remove_at(obj, (size_t)(m - obj->items));
    return true;
}

void jv_push(struct vpa_arena *a, struct jv *arr, struct jv *value)
{
    jv_append(a, arr, NULL, value);
}

void jv_insert(struct vpa_arena *a, struct jv *arr, size_t at, struct jv *value)
{
    jv_append(a, arr, NULL, NULL);
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
        struct jv_member *m = jv_find_n(obj, dotted, len);
        if (!m) {
            jv_append(a, obj, vpa_arena_strndup(a, dotted, len), jv_obj(a));
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

void jv_default_text(struct vpa_arena *a, struct jv *obj, const char *name, const char *text)
{
    const struct jv *v = jv_get(obj, name);

    if (jv_missing(v) || (v->type == JV_STR && !*v->text))
        jv_set_str(a, obj, name, text);
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
        jv_each (m, v) {
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
