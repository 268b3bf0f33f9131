#include "lab_story.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/api/pod.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "vpa/model/algorithm.h"
#include "vpa/model/recommend.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/capping.h"
#include "vpa/policy/priority.h"

#define POD_TEXT_MAX 4096

struct telling {
    const struct vpa_object *vpa;
    const char *container;
    struct vpa_settings settings; /* of its policy */
    struct vpa_knowledge *knowledge;
    struct vpa_arena arena; /* of one window */
    struct vpa_recommendation capped;
    struct vpa_quantity request[VPA_KINDS]; /* their texts live in requests */
    bool requested[VPA_KINDS];              /* false: the policy does not control it */
    struct vpa_arena requests;
    bool started;
    bool acts;     /* the update mode changes running pods */
    bool in_place; /* without a restart */
    int64_t pod_start;
    int64_t container_start;
    int64_t kill; /* the last one; 0: none of this pod */
    int64_t killed_start;
};

void lab_story_release(struct lab_story *s)
{
    free(s->moments);
    *s = (struct lab_story){0};
}

/* ---- the recommendation ---- */

static void learn(struct telling *t, const struct lab_trace *trace, size_t w,
                  const struct lab_moment *m)
{
    struct vpa_usage usage = {.type = VPA_USAGE_CPU};
    int64_t at = trace->start[w];

    for (size_t i = trace->cpu_from[w]; i < trace->cpu_from[w + 1]; i++) {
        usage.t = vpa_time_from_unix(at++, 0);
        usage.amount = vpa_amount_from_double(ceil(trace->cpu[i] * 1000.0));
        vpa_knowledge_add(t->knowledge, &usage);
    }
    bool killed = m->events & LAB_OOM;
    double seen = killed ? m->request[VPA_KIND_MEMORY] : m->usage[VPA_KIND_MEMORY];
    if (isnan(seen))
        seen = 1.0; /* a trace without memory: algorithms that want to know some get a byte */
    usage.type = VPA_USAGE_MEMORY_PEAK;
    usage.t = vpa_time_from_unix(trace->start[w] + LAB_WINDOW_SECONDS - 1, 0);
    usage.amount = vpa_amount_from_double(seen);
    vpa_knowledge_add(t->knowledge, &usage);
    usage.type = VPA_USAGE_OOM;
    if (killed)
        vpa_knowledge_add(t->knowledge, &usage);
}

static bool controls(const struct vpa_settings *s, enum vpa_kind kind)
{
    for (size_t i = 0; i < s->controlled_count; i++)
        if (s->controlled[i] == kind)
            return true;
    return false;
}

/* False while nothing is recommended. */
static bool recommend(struct telling *t, vpa_time now)
{
    struct vpa_container_estimate item = {.container = t->container,
                                          .controlled = {controls(&t->settings, VPA_KIND_CPU),
                                                         controls(&t->settings, VPA_KIND_MEMORY)}};
    struct vpa_estimates estimates = {.items = &item, .count = 1};
    struct vpa_rendering rendering;

    vpa_knowledge_age(t->knowledge, now);
    if (!vpa_knowledge_estimate(t->knowledge, &(struct vpa_question){now, 1}, &item.estimate))
        return false;
    vpa_rendering_init(&rendering);
    struct vpa_recommendation rendered = vpa_render(&estimates, &rendering, &t->arena);
    t->capped = vpa_capping_policy(&t->arena, &rendered, &t->vpa->resource_policy, NULL);
    return t->capped.container_count == 1;
}

static double amount_of(const struct vpa_resource_list *list, enum vpa_kind kind)
{
    const struct vpa_quantity *q = vpa_resource_find(list, vpa_kind_name(kind));

    if (!q)
        return NAN;
    return kind == VPA_KIND_CPU ? (double)vpa_quantity_milli_value(q) / 1000.0
                                : (double)vpa_quantity_value(q);
}

static void note_bounds(const struct telling *t, struct lab_moment *m)
{
    const struct vpa_container_recommendation *c = &t->capped.containers[0];

    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        m->bound[VPA_TARGET][kind] = amount_of(&c->target, kind);
        m->bound[VPA_LOWER_BOUND][kind] = amount_of(&c->lower_bound, kind);
        m->bound[VPA_UPPER_BOUND][kind] = amount_of(&c->upper_bound, kind);
    }
}

/* ---- the pod ---- */

static void take_target(struct telling *t)
{
    const struct vpa_resource_list *target = &t->capped.containers[0].target;
    struct vpa_resource_list copy;

    vpa_arena_clear(&t->requests);
    copy = vpa_resource_list_copy(&t->requests, target);
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        const struct vpa_quantity *q = vpa_resource_find(&copy, vpa_kind_name(kind));
        t->requested[kind] = q != NULL;
        t->request[kind] = q ? *q : (struct vpa_quantity){0};
    }
}

static void put_time(struct vpa_buf *out, int64_t second)
{
    char text[VPA_TIME_TEXT_MAX];

    vpa_time_format(vpa_time_from_unix(second, 0), text);
    vpa_buf_printf(out, "\"%s\"", text);
}

/* The pod as the API server would show it, for the updater's own functions. */
static int make_pod(struct telling *t, struct vpa_pod *pod, struct vpa_error *err)
{
    vpa_auto_buf text = VPA_BUF(POD_TEXT_MAX);
    const struct vpa_json *root;

    vpa_buf_puts(&text, "{\"metadata\":{\"name\":\"pod\",\"namespace\":\"lab\"},\"spec\":{"
                        "\"containers\":[{\"name\":");
    vpa_json_escape(&text, t->container);
    vpa_buf_puts(&text, ",\"resources\":{\"requests\":{");
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        if (!t->requested[kind])
            continue;
        vpa_buf_printf(&text, "%s\"%s\":\"", kind && t->requested[0] ? "," : "",
                       vpa_kind_name(kind));
        vpa_quantity_format_text(&t->request[kind], &text);
        vpa_buf_putc(&text, '"');
    }
    vpa_buf_puts(&text, "}}}]},\"status\":{\"phase\":\"Running\",\"startTime\":");
    put_time(&text, t->pod_start);
    vpa_buf_puts(&text, ",\"containerStatuses\":[{\"name\":");
    vpa_json_escape(&text, t->container);
    vpa_buf_puts(&text, ",\"restartCount\":1,\"state\":{\"running\":{\"startedAt\":");
    put_time(&text, t->container_start);
    vpa_buf_puts(&text, "}}");
    if (t->kill) {
        vpa_buf_puts(&text, ",\"lastState\":{\"terminated\":{\"reason\":\"OOMKilled\","
                            "\"exitCode\":137,\"startedAt\":");
        put_time(&text, t->killed_start);
        vpa_buf_puts(&text, ",\"finishedAt\":");
        put_time(&text, t->kill);
        vpa_buf_puts(&text, "}}");
    }
    vpa_buf_puts(&text, "}]}}");
    if (vpa_json_parse(&t->arena, vpa_buf_text(&text), text.len, &root, err) < 0 ||
        vpa_pod_decode(&t->arena, root, pod, err) < 0)
        return vpa_wrap(err, "pod of container %.60s", t->container);
    return 0;
}

static void start_pod(struct telling *t, int64_t second)
{
    take_target(t);
    t->pod_start = second;
    t->container_start = second;
    t->kill = 0;
}

/* Acts as the updater would in a pass at this second. */
static int act(struct telling *t, int64_t second, struct lab_moment *m, struct vpa_error *err)
{
    static const struct vpa_priority_options options = {
        .update_threshold = 0.1,
        .lifetime_threshold = 12 * VPA_HOUR,
        .oom_threshold = 10 * VPA_MINUTE,
        .per_vpa_config = true,
    };
    struct vpa_priority priority;
    struct vpa_pod pod;

    if (make_pod(t, &pod, err) < 0)
        return -1;
    if (vpa_priority_admit(&pod, t->vpa, &t->capped, NULL, &options, vpa_time_from_unix(second, 0),
                           &priority) != VPA_ADMIT_ACCEPTED)
        return 0;
    if (t->in_place) {
        take_target(t);
        m->events |= LAB_RESIZED;
    } else {
        start_pod(t, second);
        m->events |= LAB_EVICTED;
    }
    return 0;
}

/* What was used in the window, and whether it was too much for the limit. */
static void use(struct telling *t, const struct lab_trace *trace, size_t w, struct lab_moment *m)
{
    double sum = 0.0;
    size_t count = trace->cpu_from[w + 1] - trace->cpu_from[w];

    for (size_t i = trace->cpu_from[w]; i < trace->cpu_from[w + 1]; i++)
        sum += trace->cpu[i];
    m->usage[VPA_KIND_CPU] = count ? sum / (double)count : NAN;
    m->usage[VPA_KIND_MEMORY] = trace->memory ? trace->memory[w] : NAN;
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        m->request[kind] = NAN;
        if (!t->started || !t->requested[kind])
            continue;
        m->request[kind] = kind == VPA_KIND_CPU
                               ? (double)vpa_quantity_milli_value(&t->request[kind]) / 1000.0
                               : (double)vpa_quantity_value(&t->request[kind]);
    }
    if (!t->acts || !(m->usage[VPA_KIND_MEMORY] > m->request[VPA_KIND_MEMORY]))
        return;
    m->events |= LAB_OOM;
    t->killed_start = t->container_start;
    t->kill = m->second + LAB_WINDOW_SECONDS - 1;
    t->container_start = t->kill + 1;
}

static int tell_window(struct telling *t, const struct lab_trace *trace, size_t w,
                       struct lab_moment *m, struct vpa_error *err)
{
    *m = (struct lab_moment){.second = trace->start[w]};
    for (size_t i = 0; i < VPA_BOUNDS * VPA_KINDS; i++)
        m->bound[i / VPA_KINDS][i % VPA_KINDS] = NAN;
    vpa_arena_clear(&t->arena);
    if (recommend(t, vpa_time_from_unix(m->second, 0))) {
        note_bounds(t, m);
        if (!t->started) {
            start_pod(t, m->second);
            t->started = true;
            m->events |= LAB_STARTED;
        } else if (t->acts && act(t, m->second, m, err) < 0) {
            return -1;
        }
    }
    use(t, trace, w, m);
    learn(t, trace, w, m);
    return 0;
}

static void count_events(struct lab_story *s)
{
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < VPA_COUNT(s->events); k++)
            s->events[k] += (s->moments[i].events >> k) & 1;
}

/* ---- the VPA object ---- */

/* What the policy says beside the flags, as parameters of VPA's own; other algorithms take nothing
 * from it. The count of intervals says when an idle history expires, and none here does. */
static int set_policy(struct vpa_parameters *p, const struct vpa_settings *s, struct vpa_error *err)
{
    char interval[VPA_DURATION_TEXT_MAX], ratio[VPA_DOUBLE_TEXT_MAX], bytes[VPA_DOUBLE_TEXT_MAX];
    const struct {
        const char *key, *text;
    } values[] = {{"memory-aggregation-interval", interval},
                  {"oom-bump-up-ratio", ratio},
                  {"oom-min-bump-up-bytes", bytes}};

    vpa_duration_format(s->memory_interval, interval);
    vpa_double_format_go(s->oom_bump_up_ratio, ratio);
    vpa_double_format_go(s->oom_min_bump_up, bytes);
    for (size_t i = 0; i < VPA_COUNT(values); i++)
        if (vpa_parameters_set(p, values[i].key, values[i].text, err) < 0)
            return vpa_wrap(err, "the container policy: %s", values[i].key);
    return 0;
}

static struct vpa_method *choose(const struct vpa_object *vpa, const struct vpa_settings *settings,
                                 struct vpa_error *err)
{
    const char *name = vpa->recommender_count ? vpa->recommenders[0] : VPA_ALGORITHM_VPA;
    const char *slash = strrchr(name, '/');
    const struct vpa_algorithm *algorithm;
    struct vpa_parameters p;
    struct vpa_method *m = NULL;

    if (slash)
        name = slash + 1;
    algorithm = vpa_algorithm_find(vpa_str_eq(name, "default") ? VPA_ALGORITHM_VPA : name);
    if (!algorithm) {
        vpa_error_set(err, VPA_INVALID, "spec.recommenders: no algorithm \"%.60s\" here", name);
        return NULL;
    }
    vpa_parameters_init(&p, algorithm);
    if ((!vpa_str_eq(vpa_algorithm_name(algorithm), VPA_ALGORITHM_VPA) ||
         set_policy(&p, settings, err) == 0) &&
        vpa_parameters_annotate(&p, &vpa->meta.annotations, err) == 0)
        m = vpa_method_new(&p, err);
    vpa_parameters_release(&p);
    return m;
}

static const char *container_of(const struct vpa_object *vpa, const char *given)
{
    for (size_t i = 0; !given && i < vpa->resource_policy.container_count; i++)
        if (!vpa_str_eq(vpa->resource_policy.containers[i].container_name, "*"))
            return vpa->resource_policy.containers[i].container_name;
    return given ? given : "app";
}

static void read_settings(const struct vpa_container_policy *policy, struct vpa_settings *out)
{
    struct vpa_aggregation defaults;

    vpa_aggregation_init(&defaults);
    vpa_settings_init(out, &defaults);
    vpa_settings_apply_policy(out, policy, defaults.per_vpa_config);
    vpa_aggregation_release(&defaults);
}

void lab_story_left_out(const struct vpa_object *vpa, const char *container, struct vpa_buf *out)
{
    const struct vpa_resource_policy *policies = &vpa->resource_policy;
    const char *name = container_of(vpa, container);
    const struct {
        const char *name;
        bool given;
    } parts[] = {
        {"minReplicas", vpa->min_replicas.present},
        {"evictionRequirements", vpa->has_eviction_requirements},
        {"startupBoost", vpa_boost_find(vpa, name) != NULL},
        {"controlledValues RequestsOnly",
         !vpa_str_eq(vpa_controlled_values(policies, name), "RequestsAndLimits")},
    };

    for (size_t i = 0; i < VPA_COUNT(parts); i++)
        if (parts[i].given)
            vpa_buf_printf(out, "%s%s", out->len ? ", " : "", parts[i].name);
}

int lab_story_tell(const struct vpa_object *vpa, const char *container, const struct lab_trace *t,
                   struct lab_story *out, struct vpa_error *err)
{
    const char *mode = vpa_object_mode(vpa);
    struct telling telling = {.vpa = vpa, .container = container_of(vpa, container)};
    struct vpa_method *method;
    int result = 0;

    if (vpa_policy_is_off(&vpa->resource_policy, telling.container))
        return vpa_fail(err, VPA_INVALID,
                        "the policy of container %.60s has mode Off: nothing is recommended for it",
                        telling.container);
    read_settings(vpa_policy_find(&vpa->resource_policy, telling.container), &telling.settings);
    method = choose(vpa, &telling.settings, err);
    if (!method)
        return -1;
    telling.acts = strcmp(mode, "Off") != 0 && strcmp(mode, "Initial") != 0;
    telling.in_place = vpa_str_starts_with(mode, "InPlace");
    telling.knowledge = vpa_knowledge_new(method, VPA_TIME_UNSET);
    *out = (struct lab_story){
        .name = vpa_or_empty(vpa->meta.name),
        .algorithm = vpa_algorithm_name(vpa_method_algorithm(method)),
        .mode = mode,
        .container = telling.container,
        .moments = vpa_xcalloc(t->windows, sizeof(*out->moments)),
    };
    for (; result == 0 && out->count < t->windows; out->count++)
        result = tell_window(&telling, t, out->count, &out->moments[out->count], err);
    count_events(out);
    vpa_knowledge_free(telling.knowledge);
    vpa_method_unref(method);
    vpa_arena_release(&telling.arena);
    vpa_arena_release(&telling.requests);
    if (result < 0)
        lab_story_release(out);
    return result;
}
