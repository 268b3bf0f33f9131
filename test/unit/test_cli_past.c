/* What algorithms learn from the history of several pods. */
#include <check.h>
#include <stdlib.h>

#include "past.h"
#include "suite.h"

#define HOURS 96
#define START ((int64_t)1768478400)

static const char *const names[] = {"vpa", "crane", "autopilot", "autopilot-ml", "plumb"};

static struct history_sample samples[2][VPA_KINDS][HOURS];
static struct history_list lists[2][VPA_KINDS];

/* Large on the first day, and small since. */
static void setup(void)
{
    for (int pod = 0; pod < 2; pod++)
        for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
            for (int i = 0; i < HOURS; i++) {
                int64_t size = i < 24 ? 10 : 1;

                samples[pod][kind][i] =
                    (struct history_sample){(START + 3600 * i) * 1000,
                                            kind == VPA_KIND_CPU ? size * 100 : size * (100 << 20)};
            }
            lists[pod][kind] = (struct history_list){samples[pod][kind], HOURS, HOURS};
        }
}

static struct vpa_knowledge *knowledge_of(const char *algorithm)
{
    struct vpa_parameters parameters;

    vpa_parameters_init(&parameters, vpa_algorithm_find(algorithm));
    struct vpa_method *m = vpa_method_new(&parameters, NULL);
    struct vpa_knowledge *k = vpa_knowledge_new(m, vpa_time_from_unix(START, 0));
    vpa_parameters_release(&parameters);
    vpa_method_unref(m);
    return k;
}

/* As live samples come: of all pods at once. */
static void teach_live(struct vpa_knowledge *k)
{
    for (int i = 0; i < HOURS; i++)
        for (uint64_t pod = 0; pod < 2; pod++)
            for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
                vpa_knowledge_add(
                    k, &(struct vpa_usage){.type = kind == VPA_KIND_CPU ? VPA_USAGE_CPU
                                                                        : VPA_USAGE_MEMORY,
                                           .t = vpa_time_from_unix(START + 3600 * i, 0),
                                           .replica = pod,
                                           .amount = samples[pod][kind][i].amount});
}

static struct vpa_amounts target_of(struct vpa_knowledge *k)
{
    struct vpa_question question = {vpa_time_from_unix(START + 3600 * (HOURS + 1), 0), 1};
    struct vpa_estimate estimate;

    vpa_knowledge_age(k, question.now);
    ck_assert(vpa_knowledge_estimate(k, &question, &estimate));
    vpa_knowledge_free(k);
    return estimate.bound[VPA_TARGET];
}

TEST_EACH(pods_teach_as_live_samples_do, names) {
    struct vpa_knowledge *live = knowledge_of(names[_i]), *past = knowledge_of(names[_i]);
    struct cli_past_series series[4];

    for (size_t i = 0; i < 4; i++)
        series[i] = (struct cli_past_series){i % 2 ? VPA_KIND_MEMORY : VPA_KIND_CPU, i / 2,
                                             &lists[i / 2][i % 2]};
    teach_live(live);
    cli_past_teach(past, series, 4);
    struct vpa_amounts expected = target_of(live), got = target_of(past);
    ck_assert_int_eq(got.value[VPA_KIND_CPU], expected.value[VPA_KIND_CPU]);
    ck_assert_int_eq(got.value[VPA_KIND_MEMORY], expected.value[VPA_KIND_MEMORY]);
}

int main(void)
{
    return run_tests("cli past", setup, NULL);
}
