/*
 * Parameters of Crane's algorithm, and what is made of them once for all containers of a method.
 * Both resources have the same list, from their first parameter on.
 */
#include <stdlib.h>
#include <string.h>

#include "crane_private.h"

enum {
    CPU_INTERVAL,
    CPU_PERCENTILE,
    CPU_MARGIN,
    CPU_UTILIZATION,
    CPU_HISTORY,
    CPU_BUCKET,
    CPU_MAX,
    CPU_LOWER,
    CPU_UPPER,
    MEM_INTERVAL,
    MEM_PERCENTILE,
    MEM_MARGIN,
    MEM_UTILIZATION,
    MEM_HISTORY,
    MEM_BUCKET,
    MEM_MAX,
    MEM_LOWER,
    MEM_UPPER,
    SIZES,
    SIZES_LIST,
    OOM_PROTECTION,
    OOM_HISTORY,
    OOM_RATIO,
    COOLDOWN,
    MODE,
    PERIOD,
};

_Static_assert(PERIOD + 1 == CRANE_PARAMETERS, "as many as are declared");
#define NUMBER(KEY, PRESET, LEAST, MOST, HELP)                                                     \
    {                                                                                              \
        .key = KEY, .type = VPA_PARAMETER_NUMBER, .preset = PRESET, .least = LEAST, .most = MOST,  \
        .help = HELP                                                                               \
    }
#define TIME(KEY, PRESET, LEAST, HELP)                                                             \
    {                                                                                              \
        .key = KEY, .type = VPA_PARAMETER_DURATION, .preset = PRESET, .least = LEAST,              \
        .most = CRANE_HISTORY_MAX_S, .help = HELP                                                  \
    }
#define SWITCH(KEY, PRESET, HELP)                                                                  \
    {                                                                                              \
        .key = KEY, .type = VPA_PARAMETER_BOOL, .preset = PRESET, .help = HELP                     \
    }

static int check_sizes(const char *text, struct vpa_error *err)
{
    struct vpa_crane_sizes sizes;

    if (vpa_crane_sizes_parse(text, &sizes, err) < 0)
        return -1;
    vpa_crane_sizes_release(&sizes);
    return 0;
}

const struct vpa_parameter crane_parameters[CRANE_PARAMETERS] = {
    [CPU_INTERVAL] =
        TIME("cpu-sample-interval", "1m", 1, "Step of CPU history that is read from Prometheus"),
    [CPU_PERCENTILE] = NUMBER("cpu-request-percentile", "0.99", 0, 1,
                              "Percentile of the CPU load, not of the time"),
    [CPU_MARGIN] =
        NUMBER("cpu-request-margin-fraction", "0.15", 0, 100, "Part of CPU added as a margin"),
    [CPU_UTILIZATION] = NUMBER("cpu-target-utilization", "1.0", 0.01, 100,
                               "Part of the CPU request that is to be used"),
    [CPU_HISTORY] = TIME("cpu-model-history-length", "168h", 60, "How long CPU samples count"),
    [CPU_BUCKET] = NUMBER("cpu-histogram-bucket-size", "0.1", 1e-4, 1e3,
                          "Cores by which CPU recommendations differ"),
    [CPU_MAX] =
        NUMBER("cpu-histogram-max-value", "100", 1e-4, 1e6, "Cores above which CPU is not told"),
    [CPU_LOWER] =
        NUMBER("cpu-lower-bound-percentile", "0.5", 0, 1, "CPU percentile of the lower bound"),
    [CPU_UPPER] = NUMBER("cpu-upper-bound-percentile", "0.95", 0, 1,
                         "CPU percentile of the upper bound, if above that of the target"),
    [MEM_INTERVAL] =
        TIME("mem-sample-interval", "1m", 1, "Step of memory history that is read from Prometheus"),
    [MEM_PERCENTILE] = NUMBER("mem-request-percentile", "0.99", 0, 1,
                              "Percentile of the memory load, not of the time"),
    [MEM_MARGIN] =
        NUMBER("mem-request-margin-fraction", "0.15", 0, 100, "Part of memory added as a margin"),
    [MEM_UTILIZATION] = NUMBER("mem-target-utilization", "1.0", 0.01, 100,
                               "Part of the memory request that is to be used"),
    [MEM_HISTORY] = TIME("mem-model-history-length", "168h", 60, "How long memory samples count"),
    [MEM_BUCKET] = NUMBER("mem-histogram-bucket-size", "104857600", 1024, 1e12,
                          "Bytes by which memory recommendations differ"),
    [MEM_MAX] = NUMBER("mem-histogram-max-value", "104857600000", 1024, 1e15,
                       "Bytes above which memory is not told"),
    [MEM_LOWER] =
        NUMBER("mem-lower-bound-percentile", "0.5", 0, 1, "Memory percentile of the lower bound"),
    [MEM_UPPER] = NUMBER("mem-upper-bound-percentile", "0.95", 0, 1,
                         "Memory percentile of the upper bound, if above that of the target"),
    [SIZES] = SWITCH("specification", "false", "Raise targets to the sizes of a list"),
    [SIZES_LIST] = {.key = "specification-config",
                    .type = VPA_PARAMETER_TEXT,
                    .preset = VPA_CRANE_SIZES_PRESET,
                    .check = check_sizes,
                    .help = "That list: cores and GiB, as 0.5c1g,1c2g"},
    [OOM_PROTECTION] = SWITCH("oom-protection", "true", "Raise memory after an OOM kill"),
    [OOM_HISTORY] = TIME("oom-history-length", "168h", 1, "How long an OOM kill counts"),
    [OOM_RATIO] = NUMBER("oom-bump-ratio", "1.2", 0, 1000, "Factor on memory after an OOM kill"),
    [COOLDOWN] = TIME("creation-cooldown", "3m", 0,
                      "Time after the first sample in which nothing is recommended"),
    [MODE] = {.key = "mode",
              .type = VPA_PARAMETER_TEXT,
              .preset = "live",
              .choices = "live|history",
              .help = "Where samples come from: the metrics API, or besides that the whole history "
                      "from Prometheus once per period"},
    [PERIOD] = TIME("history-period", "24h", 60, "That period"),
};

/* ---- method ---- */

void crane_discard(void *prepared)
{
    struct crane_method *p = prepared;

    vpa_crane_sizes_release(&p->sizes);
    for (size_t kind = 0; kind < VPA_KINDS; kind++)
        vpa_crane_predictor_release(&p->resources[kind].predictor);
    free(p);
}

/* v: the values from the first of the resource on; both lists are alike. */
static int prepare_resource(struct crane_resource *r, enum vpa_kind kind,
                            const struct vpa_parameter_value *v, struct vpa_error *err)
{
    struct vpa_crane_config config = {
        .percentile = v[CPU_PERCENTILE].text,
        .margin = v[CPU_MARGIN].text,
        .utilization = v[CPU_UTILIZATION].text,
        .interval = v[CPU_INTERVAL].text,
        .history_length = v[CPU_HISTORY].text,
        .bucket_size = v[CPU_BUCKET].text,
        .max_value = v[CPU_MAX].text,
    };
    double target = v[CPU_PERCENTILE].number, upper = v[CPU_UPPER].number;

    if (v[CPU_MAX].number / v[CPU_BUCKET].number > CRANE_BUCKETS_MAX)
        return vpa_fail(err, VPA_INVALID,
                        "%s-histogram-max-value is more than %d times the bucket size",
                        kind == VPA_KIND_CPU ? "cpu" : "mem", CRANE_BUCKETS_MAX);
    if (vpa_crane_predictor_init(&r->predictor, &config, err) < 0)
        return -1;
    r->bound[VPA_TARGET] = target;
    r->bound[VPA_LOWER_BOUND] = v[CPU_LOWER].number;
    r->bound[VPA_UPPER_BOUND] = upper > target ? upper : target;
    /* Whole seconds: so they are stored. */
    r->slot = (v[CPU_HISTORY].duration / CRANE_SLOTS + VPA_SECOND - 1) / VPA_SECOND * VPA_SECOND;
    return 0;
}

void *crane_prepare(const struct vpa_parameter_value *v, struct vpa_error *err)
{
    struct crane_method *p = vpa_xcalloc(1, sizeof(*p));

    if (prepare_resource(&p->resources[VPA_KIND_CPU], VPA_KIND_CPU, v, err) < 0 ||
        prepare_resource(&p->resources[VPA_KIND_MEMORY], VPA_KIND_MEMORY, v + MEM_INTERVAL, err) <
            0 ||
        vpa_crane_sizes_parse(v[SIZES_LIST].text, &p->sizes, err) < 0) {
        crane_discard(p);
        return NULL;
    }
    p->use_sizes = v[SIZES].number != 0.0;
    p->oom_protection = v[OOM_PROTECTION].number != 0.0;
    p->oom_ratio = v[OOM_RATIO].number;
    p->oom_history = v[OOM_HISTORY].duration;
    p->cooldown = v[COOLDOWN].duration;
    return p;
}

vpa_duration crane_memory(const void *prepared)
{
    const struct crane_method *p = prepared;
    vpa_duration cpu = p->resources[VPA_KIND_CPU].predictor.history_length;
    vpa_duration bytes = p->resources[VPA_KIND_MEMORY].predictor.history_length;

    return cpu > bytes ? cpu : bytes;
}
