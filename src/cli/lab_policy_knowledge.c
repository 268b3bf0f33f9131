/*
 * Any algorithm of libvpa on one container, through the interface that the recommender uses
 * (model/algorithm.h). Samples are what the Metrics API gives: whole millicores, rounded up; of
 * memory the peak of the window.
 */
#include <assert.h>
#include <math.h>

#include "lab_policy_ops.h"
#include "vpa/base/mem.h"
#include "vpa/model/algorithm.h"
#include "vpa/model/window_signal.h"

struct knowledge_run {
    struct vpa_method *method;
    struct vpa_knowledge *knowledge;
    int64_t window;
    int64_t samples; /* of CPU in it */
    bool has_cpu;
    bool has_memory;
};

static void *create(const struct lab_policy *policy)
{
    const struct lab_knowledge_config *c = policy->config;
    struct knowledge_run *r = vpa_xcalloc(1, sizeof(*r));
    struct vpa_parameters parameters;

    vpa_parameters_init(&parameters, vpa_algorithm_find(c->algorithm));
    bool set = !c->key || vpa_parameters_set(&parameters, c->key, c->value, NULL) == 0;
    assert(set && "the parameters of the table are right");
    (void)set;
    r->method = vpa_method_new(&parameters, NULL);
    assert(r->method);
    r->knowledge = vpa_knowledge_new(r->method, VPA_TIME_UNSET);
    vpa_parameters_release(&parameters);
    return r;
}

static void destroy(void *state)
{
    struct knowledge_run *r = state;

    vpa_knowledge_free(r->knowledge);
    vpa_method_unref(r->method);
    vpa_free_indirect(&r);
}

static void add(struct knowledge_run *r, enum vpa_usage_type type, int64_t second, double amount)
{
    struct vpa_usage usage = {
        .type = type,
        .t = vpa_time_from_unix(second, 0),
        .amount = vpa_amount_from_double(amount),
    };

    vpa_knowledge_add(r->knowledge, &usage);
}

/* Samples of a window come one second after the other. */
static void cpu(void *state, int64_t window, double cores)
{
    struct knowledge_run *r = state;

    if (window != r->window)
        r->samples = 0;
    r->window = window;
    r->has_cpu = true;
    if (r->samples < VPA_WINDOW_SECONDS)
        add(r, VPA_USAGE_CPU, window + r->samples++, ceil(cores * 1000.0));
}

static void memory(void *state, int64_t window, double peak, bool oom)
{
    struct knowledge_run *r = state;

    r->has_memory = true;
    add(r, VPA_USAGE_MEMORY_PEAK, window + VPA_WINDOW_SECONDS - 1, peak);
    if (oom)
        add(r, VPA_USAGE_OOM, window + VPA_WINDOW_SECONDS - 1, peak);
}

static void close_window(void *state, int64_t window)
{
    struct knowledge_run *r = state;

    /* Crane says nothing of a container whose memory it does not know, and many traces have none:
     * there it is told of a byte. */
    if (!r->has_memory)
        add(r, VPA_USAGE_MEMORY_PEAK, window + VPA_WINDOW_SECONDS - 1, 1.0);
    vpa_knowledge_age(r->knowledge, vpa_time_from_unix(window + VPA_WINDOW_SECONDS, 0));
}

static void answer(void *state, int64_t second, struct lab_allocation *out)
{
    struct knowledge_run *r = state;
    struct vpa_question question = {.now = vpa_time_from_unix(second, 0), .containers = 1};
    struct vpa_estimate estimate;

    if (!vpa_knowledge_estimate(r->knowledge, &question, &estimate))
        return;
    const struct vpa_amounts *target = &estimate.bound[VPA_TARGET];
    if (r->has_cpu)
        out->cpu = vpa_amount_to_cores(target->value[VPA_KIND_CPU]);
    if (r->has_memory)
        out->memory = vpa_amount_to_bytes(target->value[VPA_KIND_MEMORY]);
}

const struct lab_policy_ops lab_knowledge_ops = {
    .create = create,
    .destroy = destroy,
    .cpu = cpu,
    .memory = memory,
    .close = close_window,
    .answer = answer,
};
