/* The environment of passes. */
#include "env.h"

void updater_env_configure(struct pass_env *env, const struct updater_config *config)
{
    const struct vpa_gates *gates = &config->common.gates;

    env->config = config;
    env->update = (struct vpa_update_options){
        .in_place_gate = gates->in_place,
        .boost_gate = gates->cpu_startup_boost,
        .in_place_skip_budget = config->in_place_skip_budget,
    };
    env->priority = (struct vpa_priority_options){
        .update_threshold = config->pod_update_threshold,
        .lifetime_threshold = config->lifetime_threshold,
        .oom_threshold = config->oom_threshold,
        .per_vpa_config = gates->per_vpa_config,
        .startup_boost = gates->cpu_startup_boost,
    };
    env->disruption = (struct vpa_disruption_options){
        .min_replicas = config->min_replicas,
        .tolerance = config->eviction_tolerance,
        .in_place_skip_budget = config->in_place_skip_budget,
        .memory = env->memory,
    };
    vpa_rate_init(&env->eviction_rate, config->eviction_rate_limit, config->eviction_rate_burst);
    vpa_rate_init(&env->in_place_rate, config->eviction_rate_limit, config->eviction_rate_burst);
    if (env->requests_max == 0)
        env->requests_max = PASS_REQUESTS_MAX;
    env->wall_ahead = vpa_time_unix_nanos(vpa_loop_now(env->loop)) - vpa_loop_monotonic(env->loop);
}

vpa_time updater_env_now(const struct pass_env *env)
{
    vpa_duration ahead = vpa_kube_client_ahead(env->client);

    return vpa_time_add(vpa_loop_now(env->loop), ahead > VPA_MINUTE ? -ahead : 0);
}

vpa_time updater_env_steady(const struct pass_env *env)
{
    return vpa_time_from_unix(0, vpa_loop_monotonic(env->loop) + env->wall_ahead);
}

const char *updater_env_stale_cache(const struct pass_env *env, vpa_duration *age)
{
    const char *which = "", *owners = "";
    int64_t now = vpa_loop_monotonic(env->loop);
    vpa_duration oldest = updater_store_age(env->store, now, &which);
    vpa_duration of_owners = vpa_owners_age(env->owners, now, &owners);

    *age = oldest > of_owners ? oldest : of_owners;
    if (*age <= UPDATER_CACHE_AGE_MAX)
        return NULL;
    return oldest > of_owners ? which : owners;
}

bool updater_env_boosts(const struct pass_env *env, const struct vpa_object *vpa)
{
    return env->update.boost_gate && vpa_object_has_startup_boost(vpa);
}

bool updater_env_is_stopped(const struct pass_env *env)
{
    vpa_duration age;

    return vpa_loop_is_stopping(env->loop) || updater_store_panic(env->store) ||
           updater_env_stale_cache(env, &age) || (env->may_act && !env->may_act(env->may_act_ctx));
}
