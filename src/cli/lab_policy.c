#include "lab_policy.h"

#include <math.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/model/window_signal.h"

#define NAMES_MAX 1024

static const struct lab_policy policies[] = {
    /* VPA's default, in place */
    {"vpa", &lab_vpa_ops, NULL, &(struct lab_vpa_config){0.9, false}},
    /* Plumb, risk middle */
    {"plumb", &lab_learners_ops, &lab_plumb_learner, &(struct lab_plumb_config){VPA_PLUMB_MIDDLE}},
    /* Plumb, risk lean */
    {"plumb-lean", &lab_learners_ops, &lab_plumb_learner,
     &(struct lab_plumb_config){VPA_PLUMB_LEAN}},
    /* Plumb, risk safe */
    {"plumb-safe", &lab_learners_ops, &lab_plumb_learner,
     &(struct lab_plumb_config){VPA_PLUMB_SAFE}},
    /* VPA without its minimum of 25 millicores and 250 MiB */
    {"vpa-no-minimum", &lab_vpa_ops, NULL, &(struct lab_vpa_config){0.9, true}},
    /* VPA at the 95th percentile */
    {"vpa-p95", &lab_vpa_ops, NULL, &(struct lab_vpa_config){0.95, false}},
    /* VPA at the 99th percentile */
    {"vpa-p99", &lab_vpa_ops, NULL, &(struct lab_vpa_config){0.99, false}},
    /* Crane's algorithm, live */
    {"crane", &lab_knowledge_ops, NULL, &(struct lab_knowledge_config){.algorithm = "crane"}},
    /* Autopilot: S_avg, memory S_p98 */
    {"autopilot-avg", &lab_learners_ops, &lab_window_learner,
     &(struct lab_window_config){.average = true, .percentile = {0.0, 0.98}}},
    /* Autopilot: S_p90, memory max(S_p60, S_max/2) */
    {"autopilot-p90", &lab_learners_ops, &lab_window_learner,
     &(struct lab_window_config){.percentile = {0.9, 0.6}, .max_share = {0.0, 0.5}}},
    /* Autopilot: S_p95, memory S_p98 */
    {"autopilot-p95", &lab_learners_ops, &lab_window_learner,
     &(struct lab_window_config){.percentile = {0.95, 0.98}}},
    /* Autopilot: S_max of 7 days */
    {"autopilot-max", &lab_learners_ops, &lab_window_learner,
     &(struct lab_window_config){.max_share = {1.0, 1.0}}},
    /* Autopilot: arg-min over models, counting */
    {"autopilot-ml-counts", &lab_learners_ops, &lab_argmin_learner,
     &(struct lab_argmin_config){.distances = false}},
    /* Autopilot: arg-min over models, distances */
    {"autopilot-ml-distances", &lab_learners_ops, &lab_argmin_learner,
     &(struct lab_argmin_config){.distances = true}},
};

const struct lab_policy *lab_policy_at(size_t i)
{
    return i < VPA_COUNT(policies) ? &policies[i] : NULL;
}

const struct lab_policy *lab_policy_find(const char *name)
{
    for (size_t i = 0; i < VPA_COUNT(policies); i++)
        if (strcmp(policies[i].name, name) == 0)
            return &policies[i];
    return NULL;
}

int lab_policy_get(const char *name, const struct lab_policy **out, struct vpa_error *err)
{
    vpa_auto_buf names = VPA_BUF(NAMES_MAX);

    *out = lab_policy_find(name);
    if (*out)
        return 0;
    for (size_t i = 0; lab_policy_at(i); i++)
        vpa_buf_printf(&names, "%s%s", i ? ", " : "", lab_policy_name(lab_policy_at(i)));
    return vpa_fail(err, VPA_INVALID, "no policy \"%.60s\"; there are %s", name,
                    vpa_buf_text(&names));
}

const char *lab_policy_name(const struct lab_policy *policy)
{
    return policy->name;
}

bool lab_policy_estimator(const struct lab_policy *policy, struct vpa_estimator *out)
{
    if (policy->ops != &lab_vpa_ops)
        return false;
    lab_vpa_estimator(policy->config, out);
    return true;
}

struct lab_run {
    const struct lab_policy_ops *ops;
    void *state;
    int64_t window; /* the open one */
    bool open;
    bool oom;
    double peak;  /* memory of the window; NaN: none seen */
    double limit; /* that a kill of the window hit */
};

struct lab_run *lab_run_new(const struct lab_policy *policy)
{
    struct lab_run *run = vpa_xcalloc(1, sizeof(*run));

    run->ops = policy->ops;
    run->state = policy->ops->create(policy);
    run->peak = NAN;
    return run;
}

void lab_run_free(struct lab_run *run)
{
    if (!run)
        return;
    run->ops->destroy(run->state);
    vpa_free_indirect(&run);
}

static void close_window(struct lab_run *run)
{
    if (run->oom)
        run->ops->memory(run->state, run->window, run->limit, true);
    else if (!isnan(run->peak))
        run->ops->memory(run->state, run->window, run->peak, false);
    run->ops->close(run->state, run->window);
    run->open = false;
    run->oom = false;
    run->peak = NAN;
}

/* Times lead to their window; the one before is closed. */
static void enter(struct lab_run *run, int64_t second)
{
    int64_t window = vpa_window_of(vpa_time_from_unix(second, 0));

    if (run->open && window > run->window)
        close_window(run);
    if (!run->open)
        run->window = window;
    run->open = true;
}

void lab_run_recommend(struct lab_run *run, int64_t second, struct lab_allocation *out)
{
    enter(run, second);
    *out = (struct lab_allocation){NAN, NAN};
    run->ops->answer(run->state, second, out);
}

void lab_run_sample(struct lab_run *run, int64_t second, double cpu, double memory)
{
    enter(run, second);
    if (!isnan(cpu))
        run->ops->cpu(run->state, run->window, cpu);
    if (!isnan(memory) && !(run->peak >= memory))
        run->peak = memory;
}

void lab_run_oom(struct lab_run *run, int64_t second, double limit)
{
    enter(run, second);
    run->limit = run->oom && run->limit > limit ? run->limit : limit;
    run->oom = true;
}

void lab_run_trace(const struct lab_policy *policy, const struct lab_trace *t, double *cpu,
                   double *memory)
{
    struct lab_run *run = lab_run_new(policy);

    for (size_t w = 0; w < t->windows; w++) {
        struct lab_allocation a;
        double peak = t->memory ? t->memory[w] : NAN;
        bool oom;
        lab_run_recommend(run, t->start[w], &a);
        cpu[w] = a.cpu;
        memory[w] = a.memory;
        oom = w >= t->first && peak > a.memory;
        for (size_t i = t->cpu_from[w]; i < t->cpu_from[w + 1]; i++)
            lab_run_sample(run, t->start[w], t->cpu[i], NAN);
        lab_run_sample(run, t->start[w], NAN, oom ? a.memory : peak);
        if (oom)
            lab_run_oom(run, t->start[w] + LAB_WINDOW_SECONDS - 1, a.memory);
    }
    lab_run_free(run);
}
