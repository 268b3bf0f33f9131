/* The writer of the simulated clock's file (vpa/daemon/clock.h). */
#ifndef TEST_CLOCK_FILE_H
#define TEST_CLOCK_FILE_H

#include "vpa/daemon/clock.h"

/* New parameters in one consistent step. Virtual time must not run backwards. */
void vpa_clock_file_write(struct vpa_clock_file *file, int64_t virtual_base_ns,
                          int64_t monotonic_base_ns, double rate);

#endif
