/* What the works of one pass share. */
#include "pass.h"

#include <stdlib.h>
#include <string.h>

#include "unknown.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/decision.h"

void updater_pass_init(struct pass *pass, struct pass_env *env)
{
    *pass = (struct pass){
        .doing = "beginning",
        .env = env,
        .deadline = vpa_loop_monotonic(env->loop) + env->config->interval,
    };
    pass->finished_tail = &pass->finished;
    updater_store_pin(env->store);
    pass->limit_ranges = updater_store_limit_ranges(env->store, &pass->limit_range_count);
    pass->unknown = updater_unknown_new(env->store);
}

void updater_pass_release(struct pass *pass)
{
    updater_unknown_free(pass->unknown);
    free(pass->limit_ranges);
    vpa_table_release(&pass->limits);
    vpa_arena_release(&pass->scratch);
    vpa_arena_release(&pass->arena);
    updater_store_unpin(pass->env->store);
}

/* The first LimitRange of the namespace or of one behind it; they are in the order of namespaces.
 */
static size_t first_limit_range(const struct pass *pass, const char *ns)
{
    return VPA_LOWER_BOUND(i, pass->limit_range_count,
                           strcmp(pass->limit_ranges[i]->meta.ns, ns) < 0);
}

const struct vpa_namespace_limits *updater_pass_limits(struct pass *pass, const char *ns)
{
    struct vpa_namespace_limits *limits = vpa_table_find(&pass->limits, ns);
    size_t first, end;

    if (limits)
        return limits;
    first = end = first_limit_range(pass, ns);
    while (end < pass->limit_range_count && vpa_str_eq(pass->limit_ranges[end]->meta.ns, ns))
        end++;
    limits = vpa_arena_zalloc(&pass->arena, sizeof(*limits));
    vpa_namespace_limits_fold(&pass->arena, pass->limit_ranges + first, end - first, limits);
    vpa_table_put(&pass->limits, vpa_arena_strdup(&pass->arena, ns), limits);
    return limits;
}

struct vpa_recommendation updater_pass_wanted(struct pass *pass, const struct vpa_object *vpa,
                                              const struct vpa_pod *pod, bool evicts)
{
    const struct vpa_decision_facts facts = {
        .pod = pod,
        .vpa = vpa,
        .limits = updater_pass_limits(pass, pod->meta.ns),
        .options = &pass->env->priority,
        .evicts = evicts,
    };
    struct vpa_decision decision;
    struct vpa_error err;

    vpa_arena_clear(&pass->scratch);
    if (vpa_decision_wanted(&pass->scratch, &facts, &decision, &err) < 0)
        return (struct vpa_recommendation){.present = false};
    return decision.wanted;
}

bool updater_pass_has_room(const struct pass *pass)
{
    return pass->in_flight < pass->env->requests_max;
}

bool updater_pass_is_late(const struct pass *pass)
{
    return vpa_loop_monotonic(pass->env->loop) >= pass->deadline;
}
