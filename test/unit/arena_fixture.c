#include "arena_fixture.h"

struct vpa_arena arena;

void setup(void)
{
    vpa_arena_init(&arena, 0);
}

void teardown(void)
{
    vpa_arena_release(&arena);
}
