#include "suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct suite_entry *entries; /* by their lines */
static bool added;

/* Compilers emit constructors in an order of their own: what counts is the line. */
void suite_register(struct suite_entry *entry)
{
    struct suite_entry **at = &entries;

    while (*at && (*at)->test->line <= entry->test->line)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
}

static TCase *new_case(Suite *suite, const char *name, double timeout)
{
    TCase *tc = tcase_create(name);

    if (timeout > 0)
        tcase_set_timeout(tc, timeout);
    suite_add_tcase(suite, tc);
    return tc;
}

static bool complain(const struct suite_entry *e, const char *what)
{
    fprintf(stderr, "%s:%d: %s: %s\n", e->test->file, e->test->line, e->test->name, what);
    return false;
}

/* Whether each test that is written runs. */
static bool is_sound(const char *name)
{
    bool sound = true, any = false;

    for (const struct suite_entry *e = entries; e; e = e->next) {
        any |= e->test->fn != NULL;
        if (e->test->fn && e->end <= e->first)
            sound = complain(e, "has no run");
        if (strcmp(e->test->file, entries->test->file) != 0)
            sound = complain(e, "the tests of a program stand in one file");
    }
    if (!any)
        fprintf(stderr, "%s: no test\n", name);
    return sound && any;
}

int run_tests_with(const char *name, const struct suite_options *options)
{
    if (!is_sound(name))
        return EXIT_FAILURE;

    Suite *suite = suite_create(name);
    TCase *tc = new_case(suite, name, options->timeout);

    tcase_add_checked_fixture(tc, options->setup, options->teardown);
    for (const struct suite_entry *e = entries; e; e = e->next) {
        if (e->test->fn) {
            _tcase_add_test(tc, e->test, e->signal, 0, e->first, e->end);
        } else {
            tc = new_case(suite, e->test->name, options->timeout);
            tcase_add_checked_fixture(tc, e->setup, e->teardown);
        }
    }
    added = true;
    if (options->begin)
        options->begin();
    int status = run_suite(suite);
    if (options->end)
        options->end();
    return status;
}

int run_tests_within(double seconds, const char *name, SFun setup, SFun teardown)
{
    return run_tests_with(
        name, &(struct suite_options){.setup = setup, .teardown = teardown, .timeout = seconds});
}

int run_tests(const char *name, SFun setup, SFun teardown)
{
    return run_tests_within(0, name, setup, teardown);
}

int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (entries && !added) {
        fprintf(stderr, "%s:%d: registered, and not run: main has a suite of its own\n",
                entries->test->file, entries->test->line);
        return EXIT_FAILURE;
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
