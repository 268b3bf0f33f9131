/*
 * The policy around two learners, one for CPU and one for memory, that know nothing of each other.
 */
#include "lab_policy_ops.h"
#include "vpa/base/mem.h"

struct learners_run {
    const struct lab_learner_ops *ops;
    void *learner[VPA_KINDS];
};

static void *create(const struct lab_policy *policy)
{
    struct learners_run *r = vpa_xcalloc(1, sizeof(*r));

    r->ops = policy->learner;
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
        r->learner[kind] = r->ops->create(policy->config, kind);
    return r;
}

static void destroy(void *state)
{
    struct learners_run *r = state;

    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
        r->ops->destroy(r->learner[kind]);
    vpa_free_indirect(&r);
}

static void cpu(void *state, int64_t window, double cores)
{
    struct learners_run *r = state;

    r->ops->add(r->learner[VPA_KIND_CPU], window, cores);
}

static void memory(void *state, int64_t window, double peak, bool oom)
{
    struct learners_run *r = state;

    if (oom)
        r->ops->kill(r->learner[VPA_KIND_MEMORY], window, peak);
    else
        r->ops->add(r->learner[VPA_KIND_MEMORY], window, peak);
}

static void close_window(void *state, int64_t window)
{
    struct learners_run *r = state;

    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
        r->ops->close(r->learner[kind], window);
}

static void answer(void *state, int64_t second, struct lab_allocation *out)
{
    struct learners_run *r = state;

    out->cpu = r->ops->limit(r->learner[VPA_KIND_CPU], second);
    out->memory = r->ops->limit(r->learner[VPA_KIND_MEMORY], second);
}

const struct lab_policy_ops lab_learners_ops = {
    .create = create,
    .destroy = destroy,
    .cpu = cpu,
    .memory = memory,
    .close = close_window,
    .answer = answer,
};
