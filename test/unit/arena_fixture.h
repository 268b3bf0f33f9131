/* An arena around each test. */
#ifndef TEST_ARENA_FIXTURE_H
#define TEST_ARENA_FIXTURE_H

#include "vpa/base/mem.h"

extern struct vpa_arena arena;

void setup(void);
void teardown(void);

#endif
