/* Parameters of algorithms: texts, their length, days; whose they are. */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/model/algorithm.h"

static struct vpa_parameters p;
static struct vpa_error err;

static void setup(void)
{
    vpa_parameters_init(&p, vpa_algorithm_find("vpa"));
}

static void teardown(void)
{
    vpa_parameters_release(&p);
}

TEST(texts_have_an_end) {
    char text[VPA_PARAMETER_TEXT_MAX + 2] = "";

    memset(text, '0', VPA_PARAMETER_TEXT_MAX);
    text[1] = '.';
    ck_assert_int_eq(vpa_parameters_set(&p, "target-cpu-percentile", text, &err), 0);
    text[VPA_PARAMETER_TEXT_MAX] = '0';
    ck_assert_int_eq(vpa_parameters_set(&p, "target-cpu-percentile", text, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "target-cpu-percentile: longer than 4096 bytes"));
}

/* The presets of another algorithm are other parameters. */
TEST(parameters_are_of_an_algorithm) {
    size_t count;
    const struct vpa_algorithm *const *all = vpa_algorithms(&count);

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            struct vpa_parameters x, y;

            vpa_parameters_init(&x, all[i]);
            vpa_parameters_init(&y, all[k]);
            ck_assert_int_eq(vpa_parameters_equal(&x, &y), i == k);
            vpa_parameters_release(&x);
            vpa_parameters_release(&y);
        }
    }
}

static const struct {
    const char *text, *error; /* NULL: it is taken */
} days[] = {
    {"7d", NULL},
    {"+7d", NULL},
    {"36h", NULL},
    {"365d", NULL},
    {"366d", "is not within 1 to 31536000 seconds"},
    {"106751d", "is not within 1 to 31536000 seconds"}, /* as many as are counted */
    {"106752d", "is not a duration"},
    {"213504d", "is not a duration"}, /* which would begin anew */
    {"1.5d", "is not a duration"},
    {"xd", "is not a duration"},
    {"d", "is not a duration"},
    {"", "is not a duration"},
};

TEST_EACH(days_are_whole, days) {
    int rc = vpa_parameters_set(&p, "cpu-histogram-decay-half-life", days[_i].text, &err);

    ck_assert_int_eq(rc, days[_i].error ? -1 : 0);
    if (days[_i].error)
        ck_assert_msg(strstr(err.text, days[_i].error) != NULL, "%s", err.text);
}

int main(void)
{
    return run_tests("parameters", setup, teardown);
}
