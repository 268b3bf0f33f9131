/* JSON patch (RFC 6902) and JSON merge patch (RFC 7386) on changeable values. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

/* ---- JSON patch ---- */

struct place {
    struct jv *parent;
    const char *key; /* unescaped last segment */
};

static const char *unescape(struct vpa_arena *a, const char *at, size_t len)
{
    char *out = vpa_arena_alloc(a, len + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (at[i] == '~' && i + 1 < len)
            out[n++] = at[++i] == '1' ? '/' : '~';
        else
            out[n++] = at[i];
    }
    out[n] = 0;
    return out;
}

static bool array_index(const struct jv *arr, const char *key, bool may_append, size_t *out)
{
    char *end;

    if (may_append && !strcmp(key, "-")) {
        *out = arr->count;
        return true;
    }
    if (*key < '0' || *key > '9')
        return false;
    unsigned long i = strtoul(key, &end, 10);
    if (*end || i > arr->count || (i == arr->count && !may_append))
        return false;
    *out = i;
    return true;
}

static struct jv *child(const struct jv *v, const char *key)
{
    size_t i;

    if (jv_is(v, JV_OBJ))
        return jv_get(v, key);
    if (jv_is(v, JV_ARR) && array_index(v, key, false, &i))
        return v->items[i].value;
    return NULL;
}

static int find_place(struct vpa_arena *a, struct jv *doc, const char *op, const char *path,
                      struct place *out, struct vpa_error *err)
{
    const char *at = path;
    struct jv *v = doc;

    if (*at != '/')
        return vpa_fail(err, VPA_INVALID,
                        "%s operation does not apply: doc is missing path: \"%s\": missing value",
                        op, path);
    for (;;) {
        at++;
        size_t len = strcspn(at, "/");
        const char *key = unescape(a, at, len);
        at += len;
        if (!*at) {
            if (!jv_is(v, JV_OBJ) && !jv_is(v, JV_ARR))
                return vpa_fail(
                    err, VPA_INVALID,
                    "%s operation does not apply: doc is missing path: %s: missing value", op,
                    path);
            *out = (struct place){v, key};
            return 0;
        }
        v = child(v, key);
        if (!v)
            return vpa_fail(err, VPA_INVALID,
                            "%s operation does not apply: doc is missing path: %s: missing value",
                            op, path);
    }
}

static int patch_add(struct vpa_arena *a, struct jv **doc, const char *path, struct jv *value,
                     struct vpa_error *err)
{
    struct place p;
    size_t i;

    if (!*path) {
        *doc = value;
        return 0;
    }
    if (find_place(a, *doc, "add", path, &p, err) < 0)
        return -1;
    if (p.parent->type == JV_OBJ) {
        jv_set(a, p.parent, p.key, value);
        return 0;
    }
    if (!array_index(p.parent, p.key, true, &i))
        return vpa_fail(err, VPA_INVALID,
                        "error in add for path: '%s': Unable to access invalid index: %s: invalid "
                        "index referenced",
                        path, p.key);
    jv_insert(a, p.parent, i, value);
    return 0;
}

static int patch_remove(struct vpa_arena *a, struct jv *doc, const char *path, struct jv **removed,
                        struct vpa_error *err)
{
    struct place p;
    size_t i;

    if (find_place(a, doc, "remove", path, &p, err) < 0)
        return -1;
    struct jv *old = child(p.parent, p.key);
    if (!old)
        return vpa_fail(
            err, VPA_INVALID,
            "error in remove for path: '%s': Unable to remove nonexistent key: %s: missing value",
            path, p.key);
    if (removed)
        *removed = old;
    if (p.parent->type == JV_OBJ)
        jv_del(p.parent, p.key);
    else if (array_index(p.parent, p.key, false, &i))
        jv_remove_at(p.parent, i);
    return 0;
}

static int patch_replace(struct vpa_arena *a, struct jv **doc, const char *path, struct jv *value,
                         struct vpa_error *err)
{
    struct place p;
    size_t i;

    if (!*path) {
        *doc = value;
        return 0;
    }
    if (find_place(a, *doc, "replace", path, &p, err) < 0)
        return -1;
    if (p.parent->type == JV_OBJ) { /* an absent member is added: what the server's library does */
        jv_set(a, p.parent, p.key, value);
        return 0;
    }
    if (!array_index(p.parent, p.key, false, &i))
        return vpa_fail(err, VPA_INVALID,
                        "replace operation does not apply: doc is missing key: %s: missing value",
                        path);
    p.parent->items[i].value = value;
    return 0;
}

static struct jv *look(struct vpa_arena *a, struct jv *doc, const char *path)
{
    struct place p;

    if (!*path)
        return doc;
    return find_place(a, doc, "test", path, &p, NULL) < 0 ? NULL : child(p.parent, p.key);
}

/* The server compares texts as they are written, escapes and all: equal texts are written alike
 * where both are plain, or both came with this patch. */
static bool written_alike(const struct jv *x, const struct jv *y)
{
    if (x->type == JV_STR)
        return x->boolean == y->boolean;
    for (size_t i = 0; x->type == JV_ARR && i < x->count; i++)
        if (!written_alike(x->items[i].value, y->items[i].value))
            return false;
    jv_each (m, x->type == JV_OBJ ? x : NULL)
        if (!written_alike(m->value, jv_get(y, m->name)))
            return false;
    return true;
}

/* A member that is absent is null; one of what is absent itself is not. */
static int patch_test(struct vpa_arena *a, struct jv *doc, const char *path, const struct jv *value,
                      struct vpa_error *err)
{
    const struct jv *there = look(a, doc, path);
    struct place p;

    if (!there && value->type == JV_NULL)
        return find_place(a, doc, "test", path, &p, err) < 0 || p.parent->type != JV_OBJ
                   ? vpa_fail(err, VPA_CONFLICT, "testing value %s failed: test failed", path)
                   : 0;
    if (!there || !jv_equal(there, value) || !written_alike(there, value))
        return vpa_fail(err, VPA_CONFLICT, "testing value %s failed: test failed", path);
    return 0;
}

static int patch_one(struct vpa_arena *a, struct jv **doc, const struct jv *op,
                     struct vpa_error *err)
{
    const char *name = jv_text_at(op, "op"), *path = jv_text(jv_get(op, "path")),
               *from = jv_text(jv_get(op, "from"));
    struct jv *value = jv_get(op, "value"), *moved = NULL;

    if (!path)
        return vpa_fail(err, VPA_INVALID, "%s operation: missing path", name);
    value = value ? jv_clone(a, value) : jv_null(a);
    if (!strcmp(name, "add"))
        return patch_add(a, doc, path, value, err);
    if (!strcmp(name, "remove"))
        return patch_remove(a, *doc, path, NULL, err);
    if (!strcmp(name, "replace"))
        return patch_replace(a, doc, path, value, err);
    if (!strcmp(name, "test")) {
        return patch_test(a, *doc, path, value, err);
    }
    if (!strcmp(name, "move") && from) {
        if (patch_remove(a, *doc, from, &moved, err) < 0)
            return -1;
        return patch_add(a, doc, path, moved, err);
    }
    if (!strcmp(name, "copy") && from) {
        struct jv *there = look(a, *doc, from);
        if (!there)
            return vpa_fail(
                err, VPA_INVALID,
                "copy operation does not apply: doc is missing from path: %s: missing value", from);
        return patch_add(a, doc, path, jv_clone(a, there), err);
    }
    return vpa_fail(err, VPA_INVALID, "Unexpected kind: %s", name);
}

/* However the text came: it is written as the server does it. */
static void write_as_stored(struct jv *v)
{
    if (v->type == JV_STR)
        v->boolean = false;
    jv_each (m, v->type >= JV_ARR ? v : NULL)
        write_as_stored(m->value);
}

int json_patch(struct vpa_arena *a, struct jv **doc, const struct jv *ops, struct vpa_error *err)
{
    write_as_stored(*doc);
    jv_each (m, ops)
        if (patch_one(a, doc, m->value, err) < 0)
            return -1;
    return 0;
}

/* ---- merge patch ---- */

struct jv *merge_patch(struct vpa_arena *a, struct jv *target, const struct jv *patch)
{
    if (patch->type != JV_OBJ)
        return jv_clone(a, patch);
    if (!target || target->type != JV_OBJ)
        target = jv_obj(a);
    jv_each (m, patch) {
        if (m->value->type == JV_NULL)
            jv_del(target, m->name);
        else
            jv_set(a, target, m->name, merge_patch(a, jv_get(target, m->name), m->value));
    }
    return target;
}
