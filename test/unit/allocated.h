/* How much of the heap is in use. */
#ifndef TEST_ALLOCATED_H
#define TEST_ALLOCATED_H

#include <malloc.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
size_t __sanitizer_get_current_allocated_bytes(void);
#define BLOCK 0 /* as asked for */
static inline size_t allocated(void)
{
    return __sanitizer_get_current_allocated_bytes();
}
#else
#define BLOCK 8 /* what the C library adds, for sizes that are 8 more than a multiple of 16 */
static inline size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}
#endif

#endif
