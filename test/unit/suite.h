/*
 * Tests that register themselves, and the end of every test program.
 *
 *     TEST(a_name_is_found) {
 *         ck_assert_ptr_nonnull(find("a"));
 *     }
 *
 *     TEST_EACH(refuses, bad) { // bad is an array; _i says which row
 *         ck_assert_ptr_null(find(bad[_i].name));
 *     }
 *
 *     int main(void)
 *     {
 *         return run_tests("names", setup, teardown);
 *     }
 *
 * The tests run in the order of their definition, each in a process of its own. That a test is
 * written is all there is to do: none is named a second time, so none can be forgotten.
 */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>
#include <signal.h>
#include <stdlib.h>

/* One run. */
#define TEST(name) TEST_RUNS(name, 0, 0, 1)
/* One run per row of an array: _i is its index. */
#define TEST_EACH(name, table) TEST_RUNS(name, 0, 0, sizeof(table) / sizeof((table)[0]))
/* n runs: _i counts from 0. */
#define TEST_TIMES(name, n) TEST_RUNS(name, 0, 0, n)
/* _i counts from first, and stops before end. */
#define TEST_RANGE(name, first, end) TEST_RUNS(name, 0, first, end)
/* n runs, each of which has to end in abort(). */
#define TEST_ABORTS(name, n) TEST_RUNS(name, SIGABRT, 0, n)

/* The tests below, up to the next such line, have this fixture instead of main's. */
#define TEST_CASE(name, setup, teardown)                                                           \
    SUITE_ENTRY(begin_case_##name, #name, NULL, 0, 0, 0, setup, teardown)                          \
    _Static_assert(1, "takes the semicolon")
/* A test from above once more, with the fixture of this case. */
#define TEST_AGAIN(name)                                                                           \
    SUITE_ENTRY(again_##name, #name, name, 0, 0, 1, NULL, NULL)                                    \
    _Static_assert(1, "takes the semicolon")

/*
 * Runs all tests of the program, with a fixture around each or NULL, and gives the status of main:
 * EXIT_SUCCESS when all passed. A test without a run, none at all, or some of a second file is a
 * failure. CK_VERBOSITY decides what is printed.
 */
int run_tests(const char *name, SFun setup, SFun teardown);

/* The same when a test may take so many seconds, instead of Check's four. */
int run_tests_within(double seconds, const char *name, SFun setup, SFun teardown);

struct suite_options {
    SFun setup, teardown; /* around each test, in its process */
    SFun begin, end;      /* around all of them, in the program's: without ck_assert */
    double timeout;       /* seconds of a test; 0: Check's */
};
int run_tests_with(const char *name, const struct suite_options *options);

/* Runs a suite that was made by hand, and frees it. Fails when a test registered itself: the suite
 * knows nothing of it. */
int run_suite(Suite *suite);

/* What the macros are made of */

struct suite_entry {
    const TTest *test; /* without a function: a case begins */
    int signal, first, end;
    SFun setup, teardown;
    struct suite_entry *next;
};
void suite_register(struct suite_entry *entry);

/* A bound need not be a constant: it is taken before main. */
#define SUITE_ENTRY(id, text, function, ends_by, from, to, before, after)                          \
    __attribute__((constructor)) static void register_##id(void)                                   \
    {                                                                                              \
        static const TTest test = {text, function, __FILE__, __LINE__};                            \
        static struct suite_entry entry = {.test = &test, .setup = before, .teardown = after};     \
        entry.signal = ends_by;                                                                    \
        entry.first = (int)(from);                                                                 \
        entry.end = (int)(to);                                                                     \
        suite_register(&entry);                                                                    \
    }
#define TEST_RUNS(name, signal, first, end)                                                        \
    static void name(int _i);                                                                      \
    SUITE_ENTRY(name, #name, name, signal, first, end, NULL, NULL)                                 \
    static void name(int _i CK_ATTRIBUTE_UNUSED)

#endif
