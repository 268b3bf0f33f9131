#include "vpa/json/json_peek.h"

#include <string.h>

#include "skip.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && is_space(*p))
        p++;
    return p;
}

/* A value of any kind at p, perhaps cut off. */
static struct vpa_slice value_at(const char *p, const char *end)
{
    const char *start = p;

    if (p < end && (*p == '"' || *p == '{' || *p == '[')) {
        struct json_skip skip = {0};

        p = json_skip_value(&skip, p, end);
    } else {
        while (p < end && *p != ',' && *p != '}' && *p != ']')
            p++;
    }
    return (struct vpa_slice){start, (size_t)(p - start)};
}

/* The last member of that name; its ptr is NULL when there is none. */
static struct vpa_slice member(struct vpa_slice object, const char *name, size_t name_len)
{
    const char *end = object.ptr + object.len, *p;
    struct vpa_slice found = {NULL, 0};

    if (object.len == 0 || *object.ptr != '{')
        return found;
    for (p = skip_space(object.ptr + 1, end); p < end && *p == '"'; p = skip_space(p, end)) {
        struct vpa_slice key = value_at(p, end);

        p = skip_space(key.ptr + key.len, end);
        if (p == end || *p != ':')
            break;
        struct vpa_slice value = value_at(skip_space(p + 1, end), end);
        if (key.len == name_len + 2 && memcmp(key.ptr + 1, name, name_len) == 0)
            found = value;
        p = skip_space(value.ptr + value.len, end);
        if (p == end || *p != ',')
            break;
        p++;
    }
    return found;
}

struct vpa_slice vpa_json_peek_source(const char *text, size_t len, const char *path)
{
    const char *start = skip_space(text, text + len);
    struct vpa_slice value = {start, len - (size_t)(start - text)};

    for (size_t name_len; value.ptr && *path; path += name_len + (path[name_len] == '.')) {
        name_len = strcspn(path, ".");
        value = member(value, path, name_len);
    }
    return value;
}

const char *vpa_json_peek(struct vpa_arena *arena, const char *text, size_t len, const char *path)
{
    struct vpa_slice value = vpa_json_peek_source(text, len, path);
    const struct vpa_json *node;

    if (!value.ptr || vpa_json_parse(arena, value.ptr, value.len, &node, NULL) < 0)
        return NULL;
    return vpa_json_string(node);
}
