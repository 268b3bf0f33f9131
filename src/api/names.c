#include "vpa/api/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct named {
    const char *name;
    uint32_t position;
};

static const char *name_at(const void *items, size_t size, size_t position)
{
    const char *name;

    memcpy(&name, (const char *)items + position * size, sizeof(name));
    return name;
}

/* Equal names stay in the order of the array. */
static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : (x->position > y->position) - (x->position < y->position);
}

const uint32_t *vpa_names_index(struct vpa_arena *arena, const void *items, size_t count,
                                size_t size)
{
    if (count <= VPA_NAMES_FEW)
        return NULL;

    uint32_t *index = vpa_arena_alloc(arena, count * sizeof(*index));
    vpa_auto_free struct named *sorted = vpa_xreallocarray(NULL, count, sizeof(*sorted));

    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct named){name_at(items, size, i), (uint32_t)i};
    qsort(sorted, count, sizeof(*sorted), compare_named);
    for (size_t i = 0; i < count; i++)
        index[i] = sorted[i].position;
    return index;
}

/* How many names of the index are below the name, or, with equal ones counted in, not above it. */
static size_t rank(const uint32_t *index, const void *items, size_t count, size_t size,
                   const char *name, bool with_equal)
{
    return VPA_LOWER_BOUND(i, count,
                           strcmp(name_at(items, size, index[i]), name) < (with_equal ? 1 : 0));
}

size_t vpa_names_first(const uint32_t *index, const void *items, size_t count, size_t size,
                       const char *name)
{
    if (index) {
        size_t at = rank(index, items, count, size, name, false);
        bool found = at < count && strcmp(name_at(items, size, index[at]), name) == 0;
        return found ? index[at] : count;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(name_at(items, size, i), name) == 0)
            return i;
    return count;
}

size_t vpa_names_last(const uint32_t *index, const void *items, size_t count, size_t size,
                      const char *name)
{
    if (index) {
        size_t behind = rank(index, items, count, size, name, true);
        bool found = behind > 0 && strcmp(name_at(items, size, index[behind - 1]), name) == 0;
        return found ? index[behind - 1] : count;
    }
    for (size_t i = count; i > 0; i--)
        if (strcmp(name_at(items, size, i - 1), name) == 0)
            return i - 1;
    return count;
}
