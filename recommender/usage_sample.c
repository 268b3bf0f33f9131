#include "usage_sample.h"

#include <stdlib.h>

#include "vpa/base/log.h"

static void report(const struct usage_sample *s, enum vpa_kind kind, const struct vpa_error *err)
{
    VPA_V(3, "Error adding metric sample", VPA_KV("namespace", s->ns), VPA_KV("pod", s->pod),
          VPA_KV("container", s->container), VPA_KV("resource", vpa_kind_name(kind)),
          VPA_KERR(err));
}

#define PATIENCE_MIN (2 * VPA_MINUTE)
#define PATIENCE_MAX (5 * VPA_MINUTE)

vpa_duration usage_patience(vpa_duration interval)
{
    if (interval < PATIENCE_MIN)
        return PATIENCE_MIN;
    return interval < PATIENCE_MAX ? interval : PATIENCE_MAX;
}

void usage_memory_release(struct usage_memory *memory)
{
    free(memory->cut.ns);
    free(memory->cut.vpa);
    free(memory->cut.pod);
    VPA_TABLE_RELEASE(&memory->failing, free);
}

vpa_time usage_time(vpa_time dated, vpa_time now)
{
    return vpa_time_sub(dated, now) > USAGE_AHEAD ? now : dated;
}

void usage_add(const struct usage_options *options, const struct usage_sample *sample, vpa_time now)
{
    const struct usage_sample *s = sample;
    vpa_time time = usage_time(s->time, now);
    struct vpa_sample_target to;
    struct vpa_error err;

    if (vpa_cluster_container(options->cluster,
                              &(struct vpa_container_name){s->ns, s->pod, s->container}, now, &to,
                              &err) < 0) {
        /* The memory saver tracks only some pods: samples of the others find none. */
        if (err.code == VPA_NOT_FOUND && !options->config->memory_saver)
            failures_add(&options->memory->unknown, s->ns, s->pod, &err);
        return;
    }
    if (to.init)
        return;
    if (vpa_cluster_add_sample(&to, VPA_KIND_CPU, time, s->cpu_millis, now, &err) < 0)
        report(s, VPA_KIND_CPU, &err);
    if (!s->lacks_memory &&
        vpa_cluster_add_sample(&to, VPA_KIND_MEMORY, time, s->memory_bytes, now, &err) < 0)
        report(s, VPA_KIND_MEMORY, &err);
}
