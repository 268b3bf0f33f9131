/*
 * Resource lists (name to quantity) and resource requirements.
 */
#ifndef VPA_API_RESOURCES_H
#define VPA_API_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/quantity.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"

#define VPA_CPU "cpu"
#define VPA_MEMORY "memory"

struct vpa_resource {
    const char *name;
    struct vpa_quantity quantity;
};
/* Order everywhere: cpu, memory, then the other names bytewise. */
struct vpa_resource_list {
    struct vpa_resource *items;
    size_t count;
    bool present; /* false: absent or null, which differs from {} in places */
};
struct vpa_resources {
    struct vpa_resource_list requests;
    struct vpa_resource_list limits;
    bool present; /* the resources object itself was there */
    bool others;  /* it says more than these two: claims */
};

/* NULL when the list has no such name. */
const struct vpa_quantity *vpa_resource_find(const struct vpa_resource_list *list,
                                             const char *name);
/* Sets (replacing or inserting in order); the list's items live in the arena. */
void vpa_resource_set(struct vpa_arena *arena, struct vpa_resource_list *list, const char *name,
                      struct vpa_quantity quantity);
void vpa_resource_remove(struct vpa_resource_list *list, const char *name);
struct vpa_resource_list vpa_resource_list_copy(struct vpa_arena *arena,
                                                const struct vpa_resource_list *list);
/* cpu before memory before the others bytewise: for sorting and merging by name. */
int vpa_resource_name_cmp(const char *a, const char *b);
/* Equal names with numerically equal quantities. */
bool vpa_resource_list_equal(const struct vpa_resource_list *a, const struct vpa_resource_list *b);

int vpa_resource_list_decode(struct vpa_arena *arena, const struct vpa_json *node,
                             struct vpa_resource_list *out, struct vpa_error *err) VPA_MUST_CHECK;
int vpa_resources_decode(struct vpa_arena *arena, const struct vpa_json *node,
                         struct vpa_resources *out, struct vpa_error *err) VPA_MUST_CHECK;
/* A quantity as JSON has it: a string (trimmed) or a number (its source text); null gives zero. */
int vpa_quantity_decode(struct vpa_arena *arena, const struct vpa_json *node,
                        struct vpa_quantity *out, struct vpa_error *err) VPA_MUST_CHECK;
/* {"cpu":"1","memory":"1Gi"}; member names sorted bytewise as Go's maps are. */
void vpa_resource_list_encode(struct vpa_json_writer *w, const struct vpa_resource_list *list);

#endif
