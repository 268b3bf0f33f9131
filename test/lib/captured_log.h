/*
 * What is logged, for tests to read.
 *
 *     capture_log(0);
 *     ...
 *     ck_assert_uint_eq(logged("refuses to have a condition"), 1);
 *
 * One per process: tests are processes of their own.
 */
#ifndef TEST_CAPTURED_LOG_H
#define TEST_CAPTURED_LOG_H

#include <stddef.h>

/* From here on the log's lines of that verbosity and below are kept. */
void capture_log(int level);
/* All lines since capture_log() or forget_log(); valid until the next call. */
const char *logged_text(void);
/* How often that is in them. */
size_t logged(const char *text);
void forget_log(void);

#endif
