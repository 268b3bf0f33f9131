/*
 * What fuzz targets share. A target defines LLVMFuzzerTestOneInput; a broken promise aborts through
 * FUZZ_CHECK, so that libFuzzer keeps the input and the corpus test fails.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The input as a string in the arena: up to the first NUL. */
const char *fuzz_text(struct vpa_arena *arena, const uint8_t *data, size_t size);

#endif
