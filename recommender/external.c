/*
 * Usage from external metrics: one query per pod and metric.
 *
 * The labels of a query are the VPA's selector plus pod=<name>. The values of one pod are put
 * together by the metric label that names the container; a resource whose metric is not configured
 * counts as 0, as upstream has it, and so does CPU of which the answer has no item. Memory without
 * an item has no sample: one of 0 would hide all peaks of its interval (U50). Samples are kept
 * until all are there. A query that fails is that of its namespace, of which no more is asked in
 * this pass: selectors are their owners', and one that the server cannot use takes nothing from
 * others. When nobody's query succeeds the reading has failed, and so it ends when failures have
 * taken as long as a reading may: namespaces that failed in the last hour are asked behind all
 * others, those first that did so longest ago. What takes too long though it succeeds ends as
 * well, and the next reading begins behind the pod that was the last. A pod whose name is too long
 * for a label value, or whose query is too long for a request, cannot be asked for at all: it goes
 * without usage, the others do not suffer (U18).
 */
#include "external.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/api/metrics_api.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

#define EXTERNAL_GROUP_VERSION "external.metrics.k8s.io/v1beta1"
#define LABEL_VALUE_MAX 63
#define LOST_MAX (2 * VPA_MINUTE)
#define FAILING_FOR VPA_HOUR

struct sample_list { /* samples and their texts live in the arena */
    struct vpa_arena arena;
    struct usage_sample **items;
    size_t count;
    size_t capacity;
    struct vpa_table containers; /* samples of the pod under way, by container */
    size_t unaskable;            /* pods */
    struct failures failures;    /* one for each namespace */
    vpa_duration lost;           /* the time that they took */
    size_t answered;             /* pods */
    int64_t deadline;            /* monotonic */
    bool cut;                    /* it came */
};

/* selector AND pod=<name>, as text; requirements stay sorted by key. False: it is too long. */
static bool query_selector(struct vpa_arena *arena, const struct vpa_selector *selector,
                           const char *pod, const char **out)
{
    size_t count = selector ? selector->count : 0;
    struct vpa_requirement *items = vpa_arena_alloc(arena, (count + 1) * sizeof *items);
    const char **value = vpa_arena_alloc(arena, sizeof *value);
    size_t at = 0;
    vpa_auto_buf text = VPA_BUF(VPA_KUBE_PATH_MAX);

    *value = pod;
    while (at < count && strcmp(selector->items[at].key, "pod") <= 0)
        at++;
    for (size_t i = 0; i < count; i++)
        items[i < at ? i : i + 1] = selector->items[i];
    items[at] = (struct vpa_requirement){
        .key = "pod", .op = VPA_SELECT_EQUALS, .values = value, .value_count = 1};

    struct vpa_selector both = {.items = items, .count = count + 1};
    vpa_selector_format(&both, &text);
    *out = vpa_arena_strdup(arena, vpa_buf_text(&text));
    return !vpa_buf_failed(&text);
}

struct query {
    const char *ns;
    const char *pod;
    const char *selector;
    size_t first; /* where the pod's samples begin */
};

/* Sample of the pod's container; a new one has zero for both resources, or lacks memory that is
 * asked for. An answer may name any number of containers. */
static struct usage_sample *sample_of(const struct recommender_config *config,
                                      struct sample_list *list, const struct query *q,
                                      const char *container)
{
    struct usage_sample *s = vpa_table_find(&list->containers, container);

    if (s)
        return s;
    s = vpa_arena_alloc(&list->arena, sizeof(*s));
    *s = (struct usage_sample){.ns = q->ns,
                               .pod = q->pod,
                               .container = vpa_arena_strdup(&list->arena, container),
                               .time = VPA_TIME_UNSET,
                               .lacks_memory = *config->external_memory_metric != '\0'};
    vpa_table_put(&list->containers, s->container, s);
    VPA_GROW(list->items, list->count, list->capacity);
    list->items[list->count++] = s;
    return s;
}

/* False: it is too long. What was cut off would ask about other pods too. */
static bool query_path(struct vpa_buf *path, const struct query *q, const char *metric)
{
    vpa_buf_init(path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(path, EXTERNAL_GROUP_VERSION, q->ns, metric, NULL, NULL);
    vpa_kube_query(path, "labelSelector", q->selector);
    return !vpa_buf_failed(path);
}

static bool is_askable(const struct usage_options *o, const struct query *q)
{
    const char *const metrics[] = {o->config->external_cpu_metric,
                                   o->config->external_memory_metric};
    bool askable = true;

    for (size_t i = 0; i < VPA_COUNT(metrics) && askable; i++) {
        vpa_auto_buf path = {0};

        askable = query_path(&path, q, metrics[i]);
    }
    return askable;
}

static int read_metric(const struct usage_options *o, const struct query *q, const char *metric,
                       enum vpa_kind kind, struct sample_list *list, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    vpa_auto_buf path = {0};
    const struct vpa_json *root = NULL;
    const struct vpa_external_metric *items = NULL;
    size_t count = 0;

    (void)query_path(&path, q, metric);
    if (vpa_kube_get_json(o->client, vpa_buf_text(&path), &arena, &root, err) < 0 ||
        vpa_external_metrics_decode(&arena, root, &items, &count, err) < 0)
        return vpa_wrap(err, "external metric %s of pod %s/%s", metric, q->ns, q->pod);

    for (size_t i = 0; i < count; i++) {
        const char *container = vpa_json_string(
            vpa_json_find(items[i].labels, o->config->prometheus.container_name_label));

        if (!container)
            continue;
        struct usage_sample *s = sample_of(o->config, list, q, container);
        if (kind == VPA_KIND_CPU)
            s->cpu_millis = vpa_quantity_milli_value(&items[i].value);
        else
            s->memory_bytes = vpa_quantity_value(&items[i].value);
        s->lacks_memory = s->lacks_memory && kind == VPA_KIND_CPU;
    }
    /* The time of the pod is that of the first item of the metric asked last. */
    for (size_t i = q->first; count > 0 && i < list->count; i++)
        list->items[i]->time = items[0].timestamp;
    return 0;
}

static int read_pod(const struct usage_options *o, const struct vpa_autoscaler *v, const char *pod,
                    struct sample_list *list, struct vpa_error *err)
{
    const char *cpu = o->config->external_cpu_metric;
    const char *memory = o->config->external_memory_metric;
    struct query q = {.ns = vpa_autoscaler_ns(v),
                      .pod = vpa_arena_strdup(&list->arena, pod),
                      .first = list->count};

    if (strlen(pod) > LABEL_VALUE_MAX ||
        !query_selector(&list->arena, vpa_autoscaler_selector(v), pod, &q.selector) ||
        !is_askable(o, &q)) {
        list->unaskable++;
        VPA_V(4,
              "Cannot ask for external metrics of a pod: its name is no label value, or the "
              "selector of its VPA is too long",
              VPA_KV("namespace", q.ns), VPA_KV("pod", pod), VPA_KV("vpa", vpa_autoscaler_name(v)));
        return 0;
    }
    int result = *cpu ? read_metric(o, &q, cpu, VPA_KIND_CPU, list, err) : 0;
    if (result == 0 && *memory)
        result = read_metric(o, &q, memory, VPA_KIND_MEMORY, list, err);
    vpa_table_release(&list->containers);
    return result;
}

/* False: the loop is stopping, or a query has failed; what the pod has of it is dropped. */
static bool take_pod(const struct usage_options *o, const struct vpa_autoscaler *v, const char *pod,
                     struct sample_list *list)
{
    struct vpa_loop *loop = vpa_kube_client_loop(o->client);
    int64_t begin = vpa_loop_monotonic(loop);
    size_t count = list->count, unaskable = list->unaskable;
    struct vpa_error err;

    if (read_pod(o, v, pod, list, &err) == 0) {
        list->answered += list->unaskable == unaskable;
        return true;
    }
    list->count = count;
    list->lost += vpa_loop_monotonic(loop) - begin;
    failures_add(&list->failures, vpa_autoscaler_ns(v), pod, &err);
    return false;
}

/* ---- where a reading ends that takes too long ---- */

static void set_cut(struct usage_memory *memory, const struct vpa_autoscaler *v, const char *pod)
{
    free(memory->cut.ns);
    free(memory->cut.vpa);
    free(memory->cut.pod);
    memory->cut.ns = v ? vpa_xstrdup(vpa_autoscaler_ns(v)) : NULL;
    memory->cut.vpa = v ? vpa_xstrdup(vpa_autoscaler_name(v)) : NULL;
    memory->cut.pod = v ? vpa_xstrdup(pod) : NULL;
}

/* The VPA in which the last reading ended; NULL: in none that is there. */
static const struct vpa_autoscaler *cut_vpa(const struct usage_options *o)
{
    const struct usage_memory *m = o->memory;

    return m->cut.ns ? vpa_cluster_find_vpa(o->cluster, m->cut.ns, m->cut.vpa) : NULL;
}

static bool is_late(const struct usage_options *o, struct sample_list *list)
{
    list->cut = vpa_loop_monotonic(vpa_kube_client_loop(o->client)) > list->deadline;
    return list->cut;
}

static bool take_vpa(const struct usage_options *o, struct vpa_autoscaler *v, const char *behind,
                     struct sample_list *list)
{
    size_t count = 0;
    bool good = true;

    if (vpa_autoscaler_pod_count(v) == 0)
        return true;
    vpa_auto_free const char **pods = vpa_autoscaler_pods(v, &count);
    for (size_t i = 0; good && i < count; i++) {
        if (behind && strcmp(pods[i], behind) <= 0)
            continue;
        if (is_late(o, list))
            break;
        good = take_pod(o, v, pods[i], list);
        set_cut(o->memory, v, pods[i]);
    }
    return good;
}

/* ---- who is asked first ---- */

struct failing {   /* in memory->failing, under its name */
    int64_t since; /* monotonic, the last time */
    char ns[];
};

static void note_failing(struct usage_memory *memory, const char *ns, int64_t now)
{
    struct failing *failing = vpa_table_find(&memory->failing, ns);

    if (!failing) {
        size_t size = strlen(ns) + 1;

        failing = vpa_xmalloc(sizeof(*failing) + size);
        memcpy(failing->ns, ns, size);
        vpa_table_put(&memory->failing, failing->ns, failing);
    }
    failing->since = now;
}

static void forget_failing(struct usage_memory *memory, int64_t now)
{
    void *value;

    for (size_t i = 0; vpa_table_next(&memory->failing, &i, NULL, &value);) {
        struct failing *failing = value;

        if (now - failing->since < FAILING_FOR)
            continue;
        vpa_table_remove(&memory->failing, failing->ns);
        free(failing);
    }
}

struct turn {
    struct vpa_autoscaler *v;
    int64_t failed; /* its namespace, monotonic; INT64_MIN: not in the last hour */
    size_t order;   /* from the VPA on in which the last reading ended */
};

static int compare_turns(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;

    if (x->failed != y->failed)
        return x->failed < y->failed ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* VPAs of a namespace follow each other, but where the last reading ended; heap array. */
static struct turn *list_turns(const struct usage_options *o, size_t *count)
{
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(o->cluster, count);
    struct turn *turns = vpa_xreallocarray(NULL, *count + 1, sizeof(*turns));
    const struct vpa_autoscaler *cut = cut_vpa(o);
    size_t first = cut ? vpa_autoscaler_place(cut) : 0;

    forget_failing(o->memory, vpa_loop_monotonic(vpa_kube_client_loop(o->client)));
    for (size_t i = 0; i < *count; i++) {
        const struct failing *failing =
            vpa_table_find(&o->memory->failing, vpa_autoscaler_ns(vpas[i]));

        turns[i] = (struct turn){vpas[i], failing ? failing->since : INT64_MIN,
                                 i < first ? i + *count : i};
    }
    qsort(turns, *count, sizeof(*turns), compare_turns);
    return turns;
}

/* Whether somebody was not asked. */
static bool ask_all(const struct usage_options *o, struct sample_list *list)
{
    struct vpa_loop *loop = vpa_kube_client_loop(o->client);
    const struct vpa_autoscaler *cut = cut_vpa(o);
    vpa_auto_free char *behind = cut ? vpa_xstrdup(o->memory->cut.pod) : NULL;
    const char *failed = NULL;
    size_t count;
    vpa_auto_free struct turn *turns = list_turns(o, &count);

    for (size_t i = 0; i < count; i++) {
        const char *ns = vpa_autoscaler_ns(turns[i].v);

        if (failed && strcmp(failed, ns) == 0)
            continue;
        if (list->lost > LOST_MAX)
            return true;
        failed = take_vpa(o, turns[i].v, turns[i].v == cut ? behind : NULL, list) ? NULL : ns;
        if (list->cut || (failed && vpa_loop_is_stopping(loop)))
            break;
        if (failed)
            note_failing(o->memory, ns, vpa_loop_monotonic(loop));
    }
    return list->cut;
}

/* -1: nobody was answered. 1: given up, so that somebody was not asked. */
static int read_all(const struct usage_options *o, struct sample_list *list, struct vpa_error *err)
{
    struct vpa_loop *loop = vpa_kube_client_loop(o->client);

    list->deadline = vpa_loop_monotonic(loop) + usage_patience(o->config->interval);
    bool gives_up = ask_all(o, list);
    if (!list->cut)
        set_cut(o->memory, NULL, NULL);
    else
        VPA_WARN("Reading external metrics takes too long; the other pods have their turn in the "
                 "next pass",
                 VPA_KV("pods", (int64_t)list->answered));
    if (list->failures.count == 0 || (list->answered > 0 && !vpa_loop_is_stopping(loop)))
        return gives_up;
    *err = list->failures.err;
    return -1;
}

/* One line when their number changes, not one for each in every pass. */
static void report_unaskable(struct usage_memory *memory, size_t count)
{
    if (count > 0 && count != memory->unaskable)
        VPA_WARN("Cannot ask for external metrics of pods whose names are no label values (longer "
                 "than 63 characters), or whose VPA's selector is longer than a request; --v=4 "
                 "names them",
                 VPA_KV("pods", (int64_t)count));
    memory->unaskable = count;
}

int usage_collect_external(const struct usage_options *options, vpa_time now, struct vpa_error *err)
{
    struct sample_list list = {
        .failures = {.message = "Cannot read external metrics of a namespace; the rest of it goes "
                                "without usage in this pass"}};
    int result = read_all(options, &list, err);

    for (size_t i = 0; result >= 0 && i < list.count; i++)
        usage_add(options, list.items[i], now);
    if (result >= 0)
        report_unaskable(options->memory, list.unaskable);
    if (result >= 0)
        failures_report(&list.failures);
    free(list.failures.first);
    free(list.items);
    vpa_arena_release(&list.arena);
    return result;
}
