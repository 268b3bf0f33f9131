/* Allocation that aborts when memory is out, and the arena. */
#include "vpa/base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* write(2), because stdio may want memory itself. */
static _Noreturn void out_of_memory(void)
{
    static const char message[] = "out of memory\n";

    if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
        abort();
    abort();
}

void *vpa_xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    if (!p)
        out_of_memory();
    return p;
}

void *vpa_xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);

    if (!p)
        out_of_memory();
    return p;
}

void *vpa_xrealloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);

    if (!p)
        out_of_memory();
    return p;
}

void *vpa_xreallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory();
    return vpa_xrealloc(old, bytes);
}

char *vpa_xstrndup(const char *text, size_t len)
{
    char *copy = vpa_xmalloc(len + 1);
    size_t n = strnlen(text, len);

    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *vpa_xstrdup(const char *text)
{
    return vpa_xstrndup(text, strlen(text));
}

char *vpa_xjoin(const char *a, char separator, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    char *text = vpa_xmalloc(a_len + b_len + 2);
    char *end = mempcpy(text, a, a_len);

    *end = separator;
    memcpy(end + 1, b, b_len + 1);
    return text;
}

char *vpa_xprintf(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0 || !text)
        out_of_memory();
    return text;
}

void vpa_free_indirect(void *pointer_to_pointer)
{
    void **p = pointer_to_pointer;

    free(*p);
    *p = NULL;
}

void vpa_free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void vpa_replace_text(char **slot, const char *text)
{
    char *copy = text ? vpa_xstrdup(text) : NULL;

    free(*slot);
    *slot = copy;
}

#define ARENA_ALIGN ((size_t)16)
#define ARENA_KEEP ((size_t)1 << 20)
#define ARENA_FIRST_CHUNK ((size_t)1024)
#define ARENA_CHUNK_MAX ((size_t)64 * 1024)

/* Tens of thousands of small arenas live for long, so a chunk's head is kept small. */
struct vpa_arena_chunk {
    struct vpa_arena_chunk *older;
    uint32_t size; /* of the room behind this header, which begins 16-byte aligned */
    uint32_t used;
};
_Static_assert(sizeof(struct vpa_arena_chunk) % ARENA_ALIGN == 0, "the room is aligned");

void vpa_arena_init(struct vpa_arena *arena, size_t first_chunk)
{
    *arena = (struct vpa_arena){.next_size = first_chunk};
}

/* Rare, and kept out of take(), which documents call once per value. */
static __attribute__((noinline)) struct vpa_arena_chunk *add_chunk(struct vpa_arena *arena,
                                                                   size_t size)
{
    size_t want = arena->next_size ? arena->next_size : ARENA_FIRST_CHUNK;
    bool own = size > want;

    if (own)
        want = size;
    if (want > UINT32_MAX)
        out_of_memory();
    struct vpa_arena_chunk *chunk = vpa_xmalloc(sizeof(*chunk) + want);
    *chunk = (struct vpa_arena_chunk){.older = arena->chunk, .size = (uint32_t)want};
    if (own && arena->chunk) {
        /* A large item gets a chunk of its own behind the current one, whose room is not lost. */
        chunk->older = arena->chunk->older;
        arena->chunk->older = chunk;
    } else {
        arena->chunk = chunk;
        arena->next_size = want < ARENA_CHUNK_MAX / 2 ? want * 2 : ARENA_CHUNK_MAX;
    }
    return chunk;
}

/* align: a power of two up to ARENA_ALIGN. */
static inline void *take(struct vpa_arena *arena, size_t size, size_t align)
{
    struct vpa_arena_chunk *chunk = arena->chunk;
    size_t start = chunk ? (chunk->used + align - 1) & ~(align - 1) : 0;

    if (!chunk || start > chunk->size || chunk->size - start < size) {
        chunk = add_chunk(arena, size);
        start = 0;
    }
    arena->used += start + size - chunk->used;
    chunk->used = (uint32_t)(start + size);
    return (char *)(chunk + 1) + start;
}

void *vpa_arena_alloc(struct vpa_arena *arena, size_t size)
{
    return take(arena, size, ARENA_ALIGN);
}

void *vpa_arena_zalloc(struct vpa_arena *arena, size_t size)
{
    return memset(vpa_arena_alloc(arena, size), 0, size);
}

void *vpa_arena_enlarge(struct vpa_arena *arena, const void *old, size_t bytes, size_t room)
{
    void *items = vpa_arena_alloc(arena, room);

    return bytes ? memcpy(items, old, bytes) : items;
}

/* Two chunks: the current one, and the one of a large item behind it. */
const char *vpa_arena_keep(struct vpa_arena *arena, const char *text)
{
    const struct vpa_arena_chunk *chunk = arena->chunk;

    for (int i = 0; chunk && i < 2; i++, chunk = chunk->older)
        if ((uintptr_t)text - (uintptr_t)(chunk + 1) < chunk->used)
            return text;
    return vpa_arena_strdup(arena, text);
}

char *vpa_arena_strndup(struct vpa_arena *arena, const char *text, size_t len)
{
    if (len == SIZE_MAX)
        out_of_memory();
    char *copy = take(arena, len + 1, 1);

    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *vpa_arena_strdup(struct vpa_arena *arena, const char *text)
{
    return vpa_arena_strndup(arena, text, strlen(text));
}

char *vpa_arena_printf(struct vpa_arena *arena, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        out_of_memory();
    char *text = take(arena, (size_t)len + 1, 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return text;
}

void vpa_arena_clear(struct vpa_arena *arena)
{
    struct vpa_arena_chunk *largest = arena->chunk;

    for (struct vpa_arena_chunk *c = arena->chunk; c; c = c->older)
        if (c->size > largest->size && c->size <= ARENA_CHUNK_MAX)
            largest = c;
    for (struct vpa_arena_chunk *c = arena->chunk; c;) {
        struct vpa_arena_chunk *older = c->older;
        if (c != largest)
            free(c);
        c = older;
    }
    if (largest) {
        largest->older = NULL;
        largest->used = 0;
    }
    arena->chunk = largest;
    arena->used = 0;
}

void vpa_arena_clear_small(struct vpa_arena *arena)
{
    if (arena->used > ARENA_KEEP)
        vpa_arena_release(arena);
    else
        vpa_arena_clear(arena);
}

void vpa_arena_release(struct vpa_arena *arena)
{
    for (struct vpa_arena_chunk *c = arena->chunk; c;) {
        struct vpa_arena_chunk *older = c->older;
        free(c);
        c = older;
    }
    *arena = (struct vpa_arena){0};
}
