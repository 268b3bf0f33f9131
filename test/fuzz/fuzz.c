#include "fuzz.h"

const char *fuzz_text(struct vpa_arena *arena, const uint8_t *data, size_t size)
{
    const char *bytes = size ? (const char *)data : "";

    return vpa_arena_strndup(arena, bytes, strnlen(bytes, size));
}
