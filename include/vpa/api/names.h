/*
 * Elements found by their names in arrays that a tenant can make long.
 *
 * Policies, recommendations, containers and statuses are asked for by container name, once per
 * container: reading the array from its front each time would cost the square of its length. The
 * index is the positions in the order of the names. Arrays of a few elements, which nearly all are,
 * have none (NULL) and are read from the front.
 *
 *     policy.by_name = vpa_names_index(arena, policy.containers, policy.container_count,
 *                                      sizeof(*policy.containers));
 *
 * An element begins with its name, a const char * that is never NULL.
 */
#ifndef VPA_API_NAMES_H
#define VPA_API_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "vpa/base/mem.h"

/* Arrays up to this length need no index. */
#define VPA_NAMES_FEW 8

/* Valid while the array and its names are. NULL: too few elements. */
const uint32_t *vpa_names_index(struct vpa_arena *arena, const void *items, size_t count,
                                size_t size);
/* Position of the first, or of the last, element of that name; count when there is none. index: of
 * this array, or NULL. */
size_t vpa_names_first(const uint32_t *index, const void *items, size_t count, size_t size,
                       const char *name);
size_t vpa_names_last(const uint32_t *index, const void *items, size_t count, size_t size,
                      const char *name);

#endif
