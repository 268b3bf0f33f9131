/*
 * Memory with a chosen lifetime. Out of memory aborts with a message, so no allocation returns
 * NULL.
 *
 * Local: released at every return, unless ownership leaves.
 *
 *     vpa_auto_free char *text = vpa_xstrdup("x");
 *     return VPA_STEAL(text);
 *
 * Arena: everything that dies together.
 *
 *     struct vpa_arena arena;
 *     vpa_arena_init(&arena, 0);
 *     char *name = vpa_arena_printf(&arena, "%s-%s", a, b);
 *     vpa_arena_release(&arena);
 */
#ifndef VPA_BASE_MEM_H
#define VPA_BASE_MEM_H

#include <stddef.h>

#include "vpa/base/error.h"

void *vpa_xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *vpa_xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *vpa_xrealloc(void *old, size_t size) __attribute__((returns_nonnull));
/* Aborts when count * size overflows. */
void *vpa_xreallocarray(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
char *vpa_xstrdup(const char *text) __attribute__((returns_nonnull));
/* At most len bytes of the text, in len + 1 bytes of memory. */
char *vpa_xstrndup(const char *text, size_t len) __attribute__((returns_nonnull));
/* Both with the separator between them: keys like "namespace/name" without a format to read. */
char *vpa_xjoin(const char *a, char separator, const char *b) __attribute__((returns_nonnull));
char *vpa_xprintf(const char *fmt, ...) VPA_PRINTF(1, 2) __attribute__((returns_nonnull));

/* Frees *pointer_to_pointer and sets it to NULL; the cleanup of vpa_auto_free. */
void vpa_free_indirect(void *pointer_to_pointer);
#define vpa_auto_free __attribute__((cleanup(vpa_free_indirect)))

void vpa_free_secret(char *text); /* overwrites it before; NULL is allowed */
/* A copy of text, NULL for NULL, takes the place of the heap string at *slot; text may be it. */
void vpa_replace_text(char **slot, const char *text);

/* Ownership leaves a local variable: yields its value and sets it to NULL. */
#define VPA_STEAL(p)                                                                               \
    __extension__({                                                                                \
        __typeof__(p) vpa_stolen_ = (p);                                                           \
        (p) = NULL;                                                                                \
        vpa_stolen_;                                                                               \
    })

/* Makes room for one more element in a heap array {items, count, capacity}; growth doubles. */
#define VPA_GROW(items, count, capacity) VPA_GROW_FROM(4, items, count, capacity)
#define VPA_GROW_FROM(first, items, count, capacity)                                               \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            (capacity) = (capacity) ? (capacity)*2 : (first);                                      \
            (items) = vpa_xreallocarray((items), (size_t)(capacity), sizeof(*(items)));            \
        }                                                                                          \
    } while (0)

/* Where the first element is that is not below, of `count` in order, which may be none: IS_BELOW is
 * an expression over the index AT.
 *     VPA_LOWER_BOUND(i, list->count, strcmp(list->items[i].name, name) < 0) */
#define VPA_LOWER_BOUND(AT, count, IS_BELOW)                                                       \
    __extension__({                                                                                \
        size_t vpa_low_ = 0, vpa_high_ = (count);                                                  \
        while (vpa_low_ < vpa_high_) {                                                             \
            size_t AT = vpa_low_ + (vpa_high_ - vpa_low_) / 2;                                     \
            if (IS_BELOW)                                                                          \
                vpa_low_ = AT + 1;                                                                 \
            else                                                                                   \
                vpa_high_ = AT;                                                                    \
        }                                                                                          \
        vpa_low_;                                                                                  \
    })

#define VPA_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Arena: chunked bump allocator, 16-byte aligned but for texts, which are packed; no free of single
 * items. A zeroed struct is a valid empty arena with the default chunk. Chunks double up to 64 KiB;
 * larger items get a chunk of their own, up to 4 GiB.
 */
struct vpa_arena_chunk;
struct vpa_arena {
    struct vpa_arena_chunk *chunk; /* newest first */
    size_t next_size;              /* size of the next chunk */
    size_t used;                   /* bytes handed out and lost to alignment */
};

/* first_chunk: bytes of the first chunk, 0 for the default of 1 KiB. Nothing is allocated yet. */
void vpa_arena_init(struct vpa_arena *arena, size_t first_chunk);
void *vpa_arena_alloc(struct vpa_arena *arena, size_t size) __attribute__((returns_nonnull));
void *vpa_arena_zalloc(struct vpa_arena *arena, size_t size) __attribute__((returns_nonnull));
char *vpa_arena_strdup(struct vpa_arena *arena, const char *text) __attribute__((returns_nonnull));
char *vpa_arena_strndup(struct vpa_arena *arena, const char *text, size_t len)
    __attribute__((returns_nonnull));
/* The text itself when it is in the arena already, as the texts of a document parsed into it are,
 * otherwise a copy. Looks at the newest chunks only: a copy too many does no harm. */
const char *vpa_arena_keep(struct vpa_arena *arena, const char *text)
    __attribute__((returns_nonnull));
char *vpa_arena_printf(struct vpa_arena *arena, const char *fmt, ...) VPA_PRINTF(2, 3)
    __attribute__((returns_nonnull));
/* As VPA_GROW, of an array in the arena, where the old one stays until the end. */
#define VPA_ARENA_GROW(arena, items, count, capacity)                                              \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            (capacity) = (capacity) ? (capacity)*2 : 4;                                            \
            (items) = vpa_arena_enlarge((arena), (items), (count) * sizeof(*(items)),              \
                                        (capacity) * sizeof(*(items)));                            \
        }                                                                                          \
    } while (0)
/* A copy of the first bytes of an item, in more room. */
void *vpa_arena_enlarge(struct vpa_arena *arena, const void *old, size_t bytes, size_t room)
    __attribute__((returns_nonnull));
/* Drops all items and keeps the largest chunk, ready for the next request. */
void vpa_arena_clear(struct vpa_arena *arena);
/* Clears it; what it holds beyond a MiB goes back to the heap. */
void vpa_arena_clear_small(struct vpa_arena *arena);
void vpa_arena_release(struct vpa_arena *arena);
#define vpa_auto_arena __attribute__((cleanup(vpa_arena_release))) struct vpa_arena

#endif
