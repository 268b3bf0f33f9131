/*
 * The end of every test program: runs the suite, frees it, and says how it went.
 */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>
#include <stdlib.h>

/* The status of main: EXIT_SUCCESS when all passed. CK_VERBOSITY decides what is printed. */
int run_suite(Suite *suite);

#endif
