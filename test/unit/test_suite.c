/* What a program whose tests do not run says of itself. */
#include <stdio.h>

#include "suite.h"

static int begun, ended;

static void begin(void)
{
    begun++;
}

static void end(void)
{
    ended++;
}

static void runs_between(int _i)
{
    (void)_i;
    ck_assert_int_eq(begun, 1);
    ck_assert_int_eq(ended, 0);
}

static int failures;

static void expect(const char *what, int status)
{
    static const struct suite_options options = {.begin = begin, .end = end};

    begun = ended = 0;
    if (run_tests_with(what, &options) == status && begun == ended)
        return;
    fprintf(stderr, "%s: not %d\n", what, status);
    failures++;
}

int main(void)
{
    static const TTest first = {"first", runs_between, __FILE__, 1};
    static const TTest other = {"other", NULL, __FILE__, 2};
    static const TTest last = {"last", runs_between, __FILE__, 3};
    static const TTest stranger = {"stranger", runs_between, "elsewhere.c", 4};
    static struct suite_entry entries[] = {{.test = &first, .end = 1},
                                           {.test = &other},
                                           {.test = &last},
                                           {.test = &stranger, .end = 1}};

    expect("no entry", EXIT_FAILURE);
    suite_register(&entries[1]);
    expect("a case without tests", EXIT_FAILURE);
    suite_register(&entries[0]);
    expect("one test", EXIT_SUCCESS);
    suite_register(&entries[2]);
    expect("a test without a run", EXIT_FAILURE);
    entries[2].end = 1;
    expect("two cases, one beginning", EXIT_SUCCESS);
    suite_register(&entries[3]);
    expect("two files", EXIT_FAILURE);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
