/*
 * Which OOM kills are new.
 *
 * The status of a pod does not say "a kill happened" but shows the present state of each container
 * and the end of its previous instance. Comparing two versions finds two patterns: a container that
 * now is terminated by an OOM kill, and one that was running, is running again and lost the
 * instance between. Waiting (crash loop) to running repeats what was counted before, so it does not
 * count.
 *
 * Watches repeat themselves: after a reconnection old versions may come again. An instance of a
 * container is known by the number of restarts before it and by its end, both of which only grow
 * within one pod, so two numbers per container tell what was counted already.
 */
#include "vpa/model/oom.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"

#define OOM_KILLED "OOMKilled"
#define RESTARTS_MAX ((1u << 28) - 1)

/* ---- queue ---- */

void vpa_oom_queue_init(struct vpa_oom_queue *q)
{
    *q = (struct vpa_oom_queue){0};
}

void vpa_oom_queue_release(struct vpa_oom_queue *q)
{
    free(q->items);
    vpa_table_release(&q->shares);
    vpa_arena_release(&q->texts);
    vpa_seen_events_release(&q->seen);
    *q = (struct vpa_oom_queue){0};
}

void vpa_oom_queue_clear(struct vpa_oom_queue *q)
{
    q->count = 0;
    q->dropped = 0;
    q->most = 0;
    vpa_table_release(&q->shares);
    vpa_arena_clear(&q->texts);
}

struct share { /* of a namespace */
    const char *ns;
    size_t count;
};

static struct share *share_of(struct vpa_oom_queue *q, const char *ns)
{
    struct share *share = vpa_table_find(&q->shares, ns);

    if (!share) {
        share = vpa_arena_zalloc(&q->texts, sizeof(*share));
        share->ns = vpa_arena_strdup(&q->texts, ns);
        vpa_table_put(&q->shares, share->ns, share);
    }
    return share;
}

static void drop_newest(struct vpa_oom_queue *q, struct share *share)
{
    size_t i = q->count - 1;

    while (q->items[i].ns != share->ns)
        i--;
    q->count--;
    memmove(&q->items[i], &q->items[i + 1], (q->count - i) * sizeof(*q->items));
    share->count--;
}

/* Whoever may write events fills the queue with those of his namespace: a full one takes room from
 * the namespace that has most. `most` is as much at least as any has, so that the flood itself is
 * turned away without a search. */
static bool has_room(struct vpa_oom_queue *q, const struct share *share)
{
    struct share *largest;

    if (q->count < VPA_OOM_QUEUE_MAX)
        return true;
    q->dropped++;
    if (share->count + 1 >= q->most)
        return false;
    largest = VPA_TABLE_MOST(&q->shares, struct share, count);
    q->most = largest->count;
    if (share->count + 1 >= q->most)
        return false;
    drop_newest(q, largest);
    return true;
}

struct vpa_oom *vpa_oom_queue_push(struct vpa_oom_queue *q, vpa_time t, vpa_amount memory,
                                   const char *ns, const char *pod, const char *container)
{
    struct share *share = share_of(q, ns);

    if (!has_room(q, share))
        return NULL;
    VPA_GROW(q->items, q->count, q->capacity);
    q->items[q->count++] = (struct vpa_oom){
        .time = t,
        .memory = memory,
        .ns = share->ns,
        .pod = vpa_arena_strdup(&q->texts, pod),
        .container = vpa_arena_strdup(&q->texts, container),
    };
    share->count++;
    q->most = share->count > q->most ? share->count : q->most;
    return &q->items[q->count - 1];
}

/* ---- pod status ---- */

void vpa_oom_memory_init(struct vpa_oom_memory *m)
{
    *m = (struct vpa_oom_memory){.counted_finish = INT64_MIN, .counted_instance = -1};
}

vpa_amount vpa_oom_memory_request(const struct vpa_pod *pod, const char *container,
                                  bool *from_status)
{
    const struct vpa_container_status *status = vpa_pod_status(pod, container);
    struct vpa_resources resources = vpa_pod_effective_resources(pod, container);
    const struct vpa_quantity *memory = vpa_resource_find(&resources.requests, VPA_MEMORY);

    *from_status = status && status->resources.present;
    return memory ? vpa_quantity_value(memory) : 0;
}

static bool is_oom(const struct vpa_container_termination *t)
{
    return t->present && vpa_str_eq(t->reason, OOM_KILLED);
}

/* True once per instance. */
static bool count_instance(struct vpa_oom_memory *m, int32_t instance, vpa_time finished_at)
{
    int64_t finish = vpa_time_unix_nanos(finished_at);

    if (instance <= m->counted_instance && finish <= m->counted_finish)
        return false;
    m->counted_instance = instance;
    m->counted_finish = finish;
    return true;
}

static uint32_t saturate_restarts(int32_t count)
{
    if (count < 0)
        return 0;
    return (uint32_t)count > RESTARTS_MAX ? RESTARTS_MAX : (uint32_t)count;
}

static void remember(struct vpa_oom_memory *m, const struct vpa_pod *pod, const char *container,
                     const struct vpa_container_status *status)
{
    bool from_status;

    m->request = vpa_oom_memory_request(pod, container, &from_status);
    m->from_status = from_status;
    m->known = status != NULL;
    if (status) {
        m->restart_count = saturate_restarts(status->restart_count) & RESTARTS_MAX;
        m->running = status->running;
        m->terminated = status->terminated.present;
    }
}

bool vpa_oom_observe_container(struct vpa_oom_memory *m, const struct vpa_pod *pod,
                               const char *container, bool new_uid, vpa_time *t, vpa_amount *memory)
{
    const struct vpa_container_status *status = vpa_pod_status(pod, container);
    struct vpa_oom_memory old = *m;

    if (new_uid) {
        m->counted_finish = INT64_MIN;
        m->counted_instance = -1;
    }
    remember(m, pod, container, status);
    if (!status || !old.known)
        return false;

    bool restarted = m->restart_count > old.restart_count;
    if (is_oom(&status->terminated) && (!old.terminated || restarted)) {
        *t = status->terminated.finished_at;
        *memory = m->request;
        return count_instance(m, (int32_t)m->restart_count, *t);
    }
    if (status->running && old.running && restarted && is_oom(&status->last_terminated)) {
        *t = status->last_terminated.finished_at;
        *memory = old.request;
        return count_instance(m, (int32_t)m->restart_count - 1, *t);
    }
    return false;
}

static bool same_end(const struct vpa_container_termination *a,
                     const struct vpa_container_termination *b)
{
    return a->present == b->present && is_oom(a) == is_oom(b) && a->finished_at == b->finished_at;
}

bool vpa_oom_may_differ(const struct vpa_pod *before, const struct vpa_pod *after)
{
    if (!vpa_str_eq(before->meta.uid, after->meta.uid) ||
        before->status_count != after->status_count)
        return true;
    for (size_t i = 0; i < after->status_count; i++) {
        const struct vpa_container_status *b = &after->statuses[i];
        const struct vpa_container_status *a = &before->statuses[i];

        if (!vpa_str_eq(a->name, b->name) || a->restart_count != b->restart_count ||
            a->running != b->running || !same_end(&a->terminated, &b->terminated) ||
            !same_end(&a->last_terminated, &b->last_terminated))
            return true;
    }
    return false;
}

/* ---- eviction events ---- */

/* Events without a UID cannot be told apart and are new. */
static bool is_new(struct vpa_oom_queue *q, const struct vpa_event *event)
{
    const char *uid = vpa_or_empty(event->meta.uid);

    return uid[0] == '\0' || vpa_seen_events_add(&q->seen, vpa_or_empty(event->involved_ns), uid);
}

/* Pieces of a comma list; an absent annotation is an empty list. */
static size_t list_length(const char *text)
{
    struct vpa_slice piece;
    size_t n = 0;

    while (vpa_str_split(&text, ',', &piece))
        n++;
    return n;
}

/* One container of the event. */
static int observe_usage(struct vpa_oom_queue *q, const struct vpa_event *event,
                         struct vpa_slice container, struct vpa_slice usage, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    struct vpa_quantity quantity;

    if (vpa_quantity_parse(&arena, vpa_arena_strndup(&arena, usage.ptr, usage.len), &quantity,
                           err) < 0)
        return vpa_wrap(err, "eviction of pod %s/%s: usage of container %.*s", event->involved_ns,
                        event->involved_name, (int)container.len, container.ptr);
    struct vpa_oom *oom = vpa_oom_queue_push(
        q, event->meta.creation, vpa_quantity_value(&quantity), event->involved_ns,
        event->involved_name, vpa_arena_strndup(&arena, container.ptr, container.len));
    if (oom)
        oom->is_eviction = true;
    return 0;
}

size_t vpa_oom_observe_event(struct vpa_oom_queue *q, const struct vpa_event *event,
                             struct vpa_error *err)
{
    const struct vpa_labels *annotations = &event->meta.annotations;
    const char *containers = vpa_labels_get(annotations, "offending_containers");
    const char *usages = vpa_labels_get(annotations, "offending_containers_usage");
    const char *resources = vpa_labels_get(annotations, "starved_resource");
    struct vpa_slice container;
    struct vpa_slice usage;
    struct vpa_slice resource;
    size_t queued = 0;

    if (!vpa_str_eq(event->reason, "Evicted") || !vpa_str_eq(event->involved_kind, "Pod"))
        return 0;
    if (list_length(containers) != list_length(usages) ||
        list_length(containers) != list_length(resources))
        return 0;
    if (!is_new(q, event))
        return 0;
    while (vpa_str_split(&containers, ',', &container) && vpa_str_split(&usages, ',', &usage) &&
           vpa_str_split(&resources, ',', &resource)) {
        if (vpa_slice_eq(resource, VPA_MEMORY) &&
            observe_usage(q, event, container, usage, err) == 0)
            queued++;
    }
    return queued;
}
