/* The number by which a decision names the limits of a namespace that it rested on. */
#include "policy_fixtures.h"
#include "vpa/policy/decision.h"

/* Ledgers of earlier versions are replayed: what a number stands for stays. */
TEST(the_number_of_limits_stays) {
    struct vpa_resource cpu = {"cpu", vpa_quantity_milli(1500)};
    const struct vpa_namespace_limits none = {0}, some = {.pod = {.min = {&cpu, 1, true}}};

    ck_assert_uint_eq(vpa_namespace_limits_hash(&none), 1357280397);
    ck_assert_uint_eq(vpa_namespace_limits_hash(&some), 3976953994);
}

static struct vpa_resource_list *list_of(struct vpa_namespace_limits *limits, int i)
{
    struct vpa_limit_item *item = i < 3 ? &limits->container : &limits->pod;

    return i % 3 == 0 ? &item->max : i % 3 == 1 ? &item->min : &item->defaults;
}

/* Each of the six lists makes another number. */
TEST(every_list_counts) {
    struct vpa_resource cpu = {"cpu", vpa_quantity_milli(1500)};
    uint32_t numbers[6];

    for (int i = 0; i < 6; i++) {
        struct vpa_namespace_limits limits = {0};

        *list_of(&limits, i) = (struct vpa_resource_list){&cpu, 1, true};
        numbers[i] = vpa_namespace_limits_hash(&limits);
        for (int k = 0; k < i; k++)
            ck_assert_uint_ne(numbers[k], numbers[i]);
    }
}

int main(void)
{
    return run_tests("namespace_limits", NULL, NULL);
}
