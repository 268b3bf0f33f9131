/*
 * Collecting the history.
 *
 * Series become samples of (namespace, pod, container); several series of one container are put
 * together. Label series give a pod its labels: the one whose last sample is the latest wins, the
 * first one on a tie. Upstream keeps CPU and memory in one list; they meet nowhere in the model, so
 * there are two here and the sort is a merge sort: it is stable, and the lists usually are in order
 * already.
 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/model/cluster_past.h"

/* Between namespace and name in keys: no JSON text of a label is likely to hold it, and if one
 * does, two pods share their samples; nothing breaks. */
#define KEY_SEPARATOR "\x01"

void history_init(struct history *history, const struct prom_plan *plan)
{
    *history = (struct history){.plan = plan};
}

/* Calls fn for the sample lists of all containers of all pods. */
static void each_list(struct history *history, void (*fn)(struct history_list *list))
{
    size_t i = 0;
    void *pod;

    while (vpa_table_next(&history->pods, &i, NULL, &pod)) {
        size_t j = 0;
        void *item;

        while (vpa_table_next(&((struct history_pod *)pod)->containers, &j, NULL, &item)) {
            struct history_container *container = item;

            fn(&container->cpu);
            fn(&container->memory);
        }
    }
}

static void free_list(struct history_list *list)
{
    free(list->items);
}

void history_release(struct history *history)
{
    size_t i = 0;
    void *pod;

    each_list(history, free_list);
    while (vpa_table_next(&history->pods, &i, NULL, &pod))
        vpa_table_release(&((struct history_pod *)pod)->containers);
    vpa_table_release(&history->pods);
    vpa_arena_release(&history->arena);
    *history = (struct history){0};
}

static struct history_pod *pod_at(struct history *h, const char *ns, const char *name)
{
    vpa_auto_free char *key = vpa_xprintf("%s" KEY_SEPARATOR "%s", ns, name);
    struct history_pod *pod = vpa_table_find(&h->pods, key);

    if (!pod) {
        pod = vpa_arena_zalloc(&h->arena, sizeof *pod);
        pod->ns = vpa_arena_strdup(&h->arena, ns);
        pod->name = vpa_arena_strdup(&h->arena, name);
        pod->last_seen = VPA_TIME_UNSET;
        vpa_table_put(&h->pods, vpa_arena_strdup(&h->arena, key), pod);
    }
    return pod;
}

static struct history_container *container_at(struct history *h, struct history_pod *pod,
                                              const char *name)
{
    struct history_container *c = vpa_table_find(&pod->containers, name);

    if (!c) {
        c = vpa_arena_zalloc(&h->arena, sizeof *c);
        c->name = vpa_arena_strdup(&h->arena, name);
        vpa_table_put(&pod->containers, c->name, c);
    }
    return c;
}

/* Most containers have one series: no room is kept for more. */
static void make_room(struct history_list *list, size_t more)
{
    size_t wanted = list->count + more;

    if (wanted <= list->capacity)
        return;
    if (list->capacity > 0 && wanted < 2 * list->capacity)
        wanted = 2 * list->capacity;
    list->items = vpa_xreallocarray(list->items, wanted, sizeof(*list->items));
    list->capacity = wanted;
}

static int add_usage(struct history *h, enum prom_kind kind, const struct prom_series *series,
                     struct vpa_error *err)
{
    const struct prom_options *o = h->plan->options;
    const char *ns = vpa_labels_get(&series->labels, o->container_namespace_label);
    const char *pod_name = vpa_labels_get(&series->labels, o->container_pod_name_label);
    const char *name = vpa_labels_get(&series->labels, o->container_name_label);

    if (!ns || !pod_name || !name) {
        vpa_auto_buf metric = VPA_BUF(VPA_ERROR_TEXT_MAX);

        prom_format_metric(&series->labels, &metric);
        return vpa_fail(err, VPA_INVALID, "cannot get container ID from labels: %s",
                        vpa_buf_text(&metric));
    }
    struct history_container *c = container_at(h, pod_at(h, ns, pod_name), name);
    struct history_list *list = kind == PROM_CPU ? &c->cpu : &c->memory;
    make_room(list, series->count);
    for (size_t i = 0; i < series->count; i++) {
        double value = series->samples[i].value;

        list->items[list->count++] = (struct history_sample){
            series->samples[i].millis,
            kind == PROM_CPU ? vpa_amount_from_cores(value) : vpa_amount_from_bytes(value)};
    }
    return 0;
}

/* The labels that begin with the prefix, without it. An empty prefix takes none (upstream: trimming
 * nothing changes nothing). */
static struct vpa_labels pod_labels(struct history *h, const struct vpa_labels *metric)
{
    const char *prefix = h->plan->options->pod_label_prefix;
    size_t prefix_len = strlen(prefix);
    struct vpa_label *items = vpa_arena_alloc(&h->arena, (metric->count + 1) * sizeof *items);
    size_t count = 0;

    for (size_t i = 0; prefix_len > 0 && i < metric->count; i++) {
        if (!vpa_str_starts_with(metric->items[i].key, prefix))
            continue;
        items[count].key = vpa_arena_strdup(&h->arena, metric->items[i].key + prefix_len);
        items[count].value = vpa_arena_strdup(&h->arena, metric->items[i].value);
        count++;
    }
    return (struct vpa_labels){.items = items, .count = count, .present = true};
}

static int add_labels(struct history *h, const struct prom_series *series, struct vpa_error *err)
{
    const struct prom_options *o = h->plan->options;
    const char *ns = vpa_labels_get(&series->labels, o->pod_namespace_label);
    const char *name = vpa_labels_get(&series->labels, o->pod_name_label);

    if (!ns || !name) {
        vpa_auto_buf metric = VPA_BUF(VPA_ERROR_TEXT_MAX);

        prom_format_metric(&series->labels, &metric);
        return vpa_fail(err, VPA_INVALID, "cannot get container ID from labels %s: no %s label",
                        vpa_buf_text(&metric), !ns ? o->pod_namespace_label : o->pod_name_label);
    }
    if (series->count == 0) /* upstream crashes here */
        return 0;

    vpa_time last = (vpa_time)series->samples[series->count - 1].millis * VPA_MILLISECOND;
    struct history_pod *pod = pod_at(h, ns, name);
    if (last > pod->last_seen) {
        pod->last_seen = last;
        pod->labels = pod_labels(h, &series->labels);
    }
    return 0;
}

int history_add(void *adding, const struct prom_series *series, struct vpa_error *err)
{
    const struct history_adding *a = adding;

    if (a->kind == PROM_LABELS)
        return add_labels(a->history, series, err);
    return add_usage(a->history, a->kind, series, err);
}

/* Merges the sorted halves [0, middle) and [middle, count) of items into out. */
static void merge(const struct history_sample *items, size_t middle, size_t count,
                  struct history_sample *out)
{
    size_t a = 0;
    size_t b = middle;

    for (size_t i = 0; i < count; i++)
        out[i] = a < middle && (b == count || items[a].millis <= items[b].millis) ? items[a++]
                                                                                  : items[b++];
}

static void sort_list(struct history_list *list)
{
    bool sorted = true;

    for (size_t i = 0; i + 1 < list->count; i++)
        if (list->items[i + 1].millis < list->items[i].millis)
            sorted = false;
    if (sorted)
        return;

    struct history_sample *from = list->items;
    struct history_sample *to = vpa_xreallocarray(NULL, list->count, sizeof *to);
    for (size_t width = 1; width < list->count; width *= 2) {
        for (size_t i = 0; i < list->count; i += 2 * width) {
            size_t left = list->count - i;

            merge(from + i, width < left ? width : left, 2 * width < left ? 2 * width : left,
                  to + i);
        }
        struct history_sample *swap = from;
        from = to;
        to = swap;
    }
    free(to);
    list->items = from;
    list->capacity = list->count;
}

void history_finish(struct history *history)
{
    each_list(history, sort_list);
}

struct history_pod **history_pods(const struct history *history)
{
    return (struct history_pod **)vpa_table_sorted(&history->pods);
}

struct history_container **history_containers(const struct history_pod *pod)
{
    return (struct history_container **)vpa_table_sorted(&pod->containers);
}

static void count_list(struct history_size *size, const struct history_list *list, size_t *count)
{
    *count += list->count;
    if (list->count == 0) /* they are in order */
        return;
    vpa_time first = (vpa_time)list->items[0].millis * VPA_MILLISECOND;
    if (vpa_time_is_unset(size->oldest) || first < size->oldest)
        size->oldest = first;
}

struct history_size history_size(const struct history *history)
{
    struct history_size size = {.oldest = VPA_TIME_UNSET};
    size_t i = 0;
    void *pod;

    while (vpa_table_next(&history->pods, &i, NULL, &pod)) {
        size_t j = 0;
        void *item;

        while (vpa_table_next(&((struct history_pod *)pod)->containers, &j, NULL, &item)) {
            const struct history_container *container = item;

            size.containers++;
            count_list(&size, &container->cpu, &size.cpu);
            count_list(&size, &container->memory, &size.memory);
        }
    }
    return size;
}

struct destination {
    struct vpa_cluster *cluster;
    const struct history_pod *pod;
    vpa_time now;
};

static void feed_list(const struct destination *to, const struct vpa_sample_target *container,
                      enum vpa_kind kind, const struct history_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        vpa_time t = (vpa_time)list->items[i].millis * VPA_MILLISECOND;
        struct vpa_error err;

        if (vpa_cluster_add_sample(container, kind, t, list->items[i].amount, to->now, &err) < 0)
            VPA_V(3, "Error adding metric sample from history", VPA_KV("namespace", to->pod->ns),
                  VPA_KV("pod", to->pod->name), VPA_KV("resource", vpa_kind_name(kind)),
                  VPA_KERR(&err));
    }
}

static int feed_container(const struct destination *to, const struct history_container *c,
                          struct vpa_error *err)
{
    const struct vpa_container_name name = {to->pod->ns, to->pod->name, c->name};
    struct vpa_sample_target target;

    if (vpa_cluster_put_container(to->cluster, name.ns, name.pod, name.container, to->now, err) <
            0 ||
        vpa_cluster_container(to->cluster, &name, to->now, &target, err) < 0)
        return -1;
    feed_list(to, &target, VPA_KIND_CPU, &c->cpu);
    feed_list(to, &target, VPA_KIND_MEMORY, &c->memory);
    return 0;
}

static void feed_pod(const struct destination *to)
{
    const struct history_pod *pod = to->pod;
    vpa_auto_free struct history_container **containers = history_containers(pod);
    struct vpa_error err;

    vpa_cluster_put_bare_pod(to->cluster, pod->ns, pod->name, &pod->labels, VPA_PHASE_UNKNOWN,
                             to->now);
    for (size_t i = 0; i < pod->containers.count; i++) {
        const struct history_container *c = containers[i];

        if (feed_container(to, c, &err) < 0)
            VPA_ERROR("Failed to add container from history", VPA_KV("namespace", pod->ns),
                      VPA_KV("pod", pod->name), VPA_KV("container", c->name), VPA_KERR(&err));
    }
    vpa_cluster_mark_pod_deleted(to->cluster, pod->ns, pod->name);
}

void history_feed(const struct history *history, struct vpa_cluster *cluster, vpa_time now)
{
    vpa_auto_free struct history_pod **pods = history_pods(history);

    for (size_t i = 0; i < history->pods.count; i++)
        feed_pod(&(struct destination){cluster, pods[i], now});
}

/* ---- late ---- */

static void feed_past(struct vpa_past *past, enum vpa_kind kind, const struct history_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        vpa_time t = (vpa_time)list->items[i].millis * VPA_MILLISECOND;

        if (!vpa_past_add(past, kind, t, list->items[i].amount))
            VPA_V(3, "Error adding metric sample from history", VPA_KV("namespace", past->name.ns),
                  VPA_KV("pod", past->name.pod), VPA_KV("resource", vpa_kind_name(kind)));
    }
}

static void feed_pod_late(const struct destination *to)
{
    const struct history_pod *pod = to->pod;
    vpa_auto_free struct history_container **containers = history_containers(pod);

    for (size_t i = 0; i < pod->containers.count; i++) {
        const struct vpa_container_name name = {pod->ns, pod->name, containers[i]->name};
        struct vpa_past past;

        vpa_cluster_begin_past(to->cluster, &name, &pod->labels, to->now, &past);
        feed_past(&past, VPA_KIND_CPU, &containers[i]->cpu);
        feed_past(&past, VPA_KIND_MEMORY, &containers[i]->memory);
        vpa_cluster_end_past(&past);
    }
}

void history_feed_late(const struct history *history, struct vpa_cluster *cluster, vpa_time now)
{
    vpa_auto_free struct history_pod **pods = history_pods(history);

    for (size_t i = 0; i < history->pods.count; i++)
        feed_pod_late(&(struct destination){cluster, pods[i], now});
}
