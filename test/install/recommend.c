/* A program of somebody else's: from samples to a recommendation with the installed library. */
#include <stdio.h>

#include <vpa/model/estimator.h>

int main(void)
{
    struct vpa_aggregation settings;
    struct vpa_aggregate usage;
    struct vpa_estimator estimator;
    struct vpa_estimate estimate;
    const vpa_time start = 1700000000 * VPA_SECOND;

    vpa_aggregation_init(&settings);
    vpa_aggregate_init(&usage, &settings, start);
    for (int minute = 0; minute < 24 * 60; minute++)
        vpa_aggregate_add_cpu(&usage, start + minute * VPA_MINUTE, 200 + minute % 100);
    vpa_aggregate_add_memory(&usage, start + 24 * VPA_HOUR, 512 << 20);
    vpa_estimator_init(&estimator);
    const struct vpa_history history = vpa_aggregate_history(&usage);
    const struct vpa_amounts minimum = vpa_estimator_minimum(&estimator, 1);
    vpa_estimator_estimate(&estimator, &history, &minimum, &estimate);
    const struct vpa_amounts *target = &estimate.bound[VPA_TARGET];
    printf("cpu %lldm, memory %lldMi\n", (long long)target->value[VPA_KIND_CPU],
           (long long)(target->value[VPA_KIND_MEMORY] >> 20));
    vpa_aggregate_release(&usage);
    vpa_aggregation_release(&settings);
    return 0;
}
