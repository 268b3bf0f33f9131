/*
 * Access to the nodes that scan.c builds. struct vpa_json is never defined: a node pointer is a
 * cJSON pointer, and only the two files that include json_private.h know.
 */
#include "vpa/json/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_private.h"
#include "vpa/base/str.h"

/* ---- reading ---- */

static const cJSON *tree_of(const struct vpa_json *node)
{
    return (const cJSON *)(const void *)node;
}

static const struct vpa_json *node_of(const cJSON *item)
{
    return (const struct vpa_json *)(const void *)item;
}

enum vpa_json_type vpa_json_type(const struct vpa_json *node)
{
    if (!node)
        return VPA_JSON_ABSENT;
    switch (tree_of(node)->type & 0xff) {
    case cJSON_False:
    case cJSON_True:
        return VPA_JSON_BOOL;
    case cJSON_Number:
        return VPA_JSON_NUMBER;
    case cJSON_String:
        return VPA_JSON_STRING;
    case cJSON_Array:
        return VPA_JSON_ARRAY;
    case cJSON_Object:
        return VPA_JSON_OBJECT;
    default:
        return VPA_JSON_NULL;
    }
}

const char *vpa_json_type_name(const struct vpa_json *node)
{
    static const char *const names[] = {"absent", "null",  "boolean", "number",
                                        "string", "array", "object"};

    return names[vpa_json_type(node)];
}

bool vpa_json_is_object(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_OBJECT;
}

bool vpa_json_is_array(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_ARRAY;
}

static const cJSON *find_folded(const cJSON *object, const char *name, size_t len)
{
    const cJSON *found = NULL;

    for (const cJSON *child = object->child; child; child = child->next)
        if ((size_t)child->valueint == len && vpa_str_is_folded(child->string, name, len))
            found = child;
    return found;
}

static const cJSON *find_exact(const cJSON *object, const char *name, size_t len)
{
    for (const cJSON *child = object->child; child; child = child->next)
        if ((size_t)child->valueint == len && memcmp(child->string, name, len) == 0)
            return child;
    return NULL;
}

static const cJSON *find_member(const cJSON *object, const char *name, size_t len)
{
    return object->type & FOLDED ? find_folded(object, name, len) : find_exact(object, name, len);
}

const struct vpa_json *vpa_json_find(const struct vpa_json *object, const char *name)
{
    if (!vpa_json_is_object(object))
        return NULL;
    return node_of(find_member(tree_of(object), name, strlen(name)));
}

const struct vpa_json *vpa_json_walk(const struct vpa_json *object, const char *path,
                                     const struct vpa_json **blocker)
{
    *blocker = NULL;
    while (vpa_json_is_object(object)) {
        size_t len = 0;
        while (path[len] && path[len] != '.') /* names are short: quicker than a call */
            len++;
        object = node_of(find_member(tree_of(object), path, len));
        if (path[len] == '\0')
            return object;
        path += len + 1;
    }
    if (!vpa_json_is_null(object))
        *blocker = object;
    return NULL;
}

const struct vpa_json *vpa_json_at(const struct vpa_json *object, const char *path)
{
    const struct vpa_json *blocker;

    return vpa_json_walk(object, path, &blocker);
}

const struct vpa_json *vpa_json_first(const struct vpa_json *node)
{
    return node ? node_of(tree_of(node)->child) : NULL;
}

const struct vpa_json *vpa_json_next(const struct vpa_json *child)
{
    return child ? node_of(tree_of(child)->next) : NULL;
}

const char *vpa_json_name(const struct vpa_json *child)
{
    return child ? tree_of(child)->string : NULL;
}

size_t vpa_json_name_length(const struct vpa_json *child)
{
    return child ? (size_t)tree_of(child)->valueint : 0;
}

size_t vpa_json_count(const struct vpa_json *node)
{
    size_t count = 0;

    vpa_json_foreach (child, node)
        count++;
    return count;
}

const char *vpa_json_string(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_STRING ? tree_of(node)->valuestring : NULL;
}

const char *vpa_json_text(const struct vpa_json *object, const char *path)
{
    return vpa_or_empty(vpa_json_string(vpa_json_at(object, path)));
}

bool vpa_json_string_escaped(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_STRING && (tree_of(node)->type & ESCAPED);
}

const char *vpa_json_number_text(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_NUMBER ? tree_of(node)->valuestring : NULL;
}

bool vpa_json_bool(const struct vpa_json *node, bool *out)
{
    if (vpa_json_type(node) != VPA_JSON_BOOL)
        return false;
    *out = is_type(tree_of(node), cJSON_True);
    return true;
}

bool vpa_json_int64(const struct vpa_json *node, int64_t *out)
{
    const char *text = vpa_json_number_text(node);
    long long n;

    if (!text || strpbrk(text, ".eE"))
        return false;
    errno = 0;
    n = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return false;
    *out = n;
    return true;
}

bool vpa_json_int32(const struct vpa_json *node, int32_t *out)
{
    int64_t n;

    if (!vpa_json_int64(node, &n) || n < INT32_MIN || n > INT32_MAX)
        return false;
    *out = (int32_t)n;
    return true;
}

bool vpa_json_double(const struct vpa_json *node, double *out)
{
    const char *text = vpa_json_number_text(node);
    double x;

    if (!text)
        return false;
    x = strtod(text, NULL);
    if (isinf(x))
        return false;
    *out = x;
    return true;
}

/* ---- comparison ---- */

static bool numbers_equal(const struct vpa_json *a, const struct vpa_json *b)
{
    int64_t m, n;
    double x, y;

    if (strcmp(vpa_json_number_text(a), vpa_json_number_text(b)) == 0)
        return true;
    if (vpa_json_int64(a, &m) && vpa_json_int64(b, &n))
        return m == n;
    return vpa_json_double(a, &x) && vpa_json_double(b, &y) && x == y;
}

/* Every member of a is in b and equal there. By the exact name, also in folded documents: of "cpu"
 * and "CPU" in one object, vpa_json_find() would compare the last one with both. */
static bool members_within(const struct vpa_json *a, const struct vpa_json *b)
{
    vpa_json_foreach (member, a) {
        const cJSON *other =
            find_exact(tree_of(b), vpa_json_name(member), vpa_json_name_length(member));

        if (!vpa_json_equal(member, node_of(other)))
            return false;
    }
    return true;
}

static bool elements_equal(const struct vpa_json *a, const struct vpa_json *b)
{
    const struct vpa_json *x = vpa_json_first(a), *y = vpa_json_first(b);

    while (x && y) {
        if (!vpa_json_equal(x, y))
            return false;
        x = vpa_json_next(x);
        y = vpa_json_next(y);
    }
    return !x && !y;
}

bool vpa_json_equal(const struct vpa_json *a, const struct vpa_json *b)
{
    enum vpa_json_type type = vpa_json_type(a);
    bool p, q;

    if (type != vpa_json_type(b))
        return false;
    switch (type) {
    case VPA_JSON_BOOL:
        return vpa_json_bool(a, &p) && vpa_json_bool(b, &q) && p == q;
    case VPA_JSON_NUMBER:
        return numbers_equal(a, b);
    case VPA_JSON_STRING:
        return strcmp(vpa_json_string(a), vpa_json_string(b)) == 0;
    case VPA_JSON_ARRAY:
        return elements_equal(a, b);
    case VPA_JSON_OBJECT:
        return vpa_json_count(a) == vpa_json_count(b) && members_within(a, b);
    default:
        return true;
    }
}
