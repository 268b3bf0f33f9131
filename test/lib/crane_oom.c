/*
 * Crane's recorder of OOM kills: what a pod shows, one record per container of a pod, the text of
 * its ConfigMap.
 */
#include "crane_oom.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define KILLED "OOMKilled"
#define RECORDS_TEXT_MAX ((size_t)8 << 20)

static bool was_killed(const struct vpa_container_status *status)
{
    return status->last_terminated.present && vpa_str_eq(status->last_terminated.reason, KILLED);
}

/* Some container was restarted after it was killed; then all of them are looked at. */
static bool shows_kill(const struct vpa_pod *pod)
{
    for (size_t i = 0; i < pod->status_count; i++) {
        if (pod->statuses[i].restart_count > 0 && was_killed(&pod->statuses[i]))
            return true;
    }
    return false;
}

static const struct vpa_quantity *memory_request(const struct vpa_pod *pod, const char *container)
{
    for (size_t i = 0; i < pod->container_count; i++) {
        if (vpa_str_eq(pod->containers[i].name, container))
            return vpa_resource_find(&pod->containers[i].resources.requests, VPA_MEMORY);
    }
    return NULL;
}

struct vpa_crane_oom *vpa_crane_oom_of_pod(struct vpa_arena *arena, const struct vpa_pod *pod,
                                           size_t *count)
{
    struct vpa_crane_oom *items = vpa_arena_alloc(arena, (pod->status_count + 1) * sizeof(*items));

    *count = 0;
    for (size_t i = 0; i < pod->status_count && shows_kill(pod); i++) {
        const struct vpa_container_status *status = &pod->statuses[i];
        const struct vpa_quantity *memory = memory_request(pod, status->name);

        if (was_killed(status) && memory)
            items[(*count)++] = (struct vpa_crane_oom){
                .ns = vpa_arena_strdup(arena, vpa_or_empty(pod->meta.ns)),
                .pod = vpa_arena_strdup(arena, vpa_or_empty(pod->meta.name)),
                .container = vpa_arena_strdup(arena, vpa_or_empty(status->name)),
                .memory = vpa_quantity_copy(arena, memory),
                .t = status->last_terminated.finished_at,
            };
    }
    return items;
}

void vpa_crane_oom_records_init(struct vpa_crane_oom_records *r)
{
    *r = (struct vpa_crane_oom_records){0};
}

void vpa_crane_oom_records_release(struct vpa_crane_oom_records *r)
{
    free(r->items);
    vpa_arena_release(&r->arena);
    *r = (struct vpa_crane_oom_records){0};
}

static void encode(struct vpa_crane_oom_records *r)
{
    vpa_auto_buf text = VPA_BUF(RECORDS_TEXT_MAX);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &text);
    vpa_json_open_array(&w);
    for (size_t i = 0; i < r->count; i++) {
        const struct vpa_crane_oom *item = &r->items[i];

        vpa_json_open_object(&w);
        vpa_json_member_string(&w, "Namespace", item->ns);
        vpa_json_member_string(&w, "Pod", item->pod);
        vpa_json_member_string(&w, "Container", item->container);
        vpa_json_member_quantity(&w, "Memory", &item->memory);
        vpa_json_member_time(&w, "OOMAt", item->t);
        vpa_json_close_object(&w);
    }
    vpa_json_close_array(&w);
    r->text = vpa_arena_strdup(&r->arena, vpa_buf_text(&text));
    r->writes++;
}

static struct vpa_crane_oom *find_record(const struct vpa_crane_oom_records *r,
                                         const struct vpa_crane_oom *kill)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->items[i].pod, kill->pod) == 0 &&
            strcmp(r->items[i].container, kill->container) == 0 &&
            strcmp(r->items[i].ns, kill->ns) == 0)
            return &r->items[i];
    }
    return NULL;
}

void vpa_crane_oom_records_observe(struct vpa_crane_oom_records *r, const struct vpa_pod *pod)
{
    size_t count;
    const struct vpa_crane_oom *kills = vpa_crane_oom_of_pod(&r->arena, pod, &count);

    for (size_t i = 0; i < count; i++) {
        struct vpa_crane_oom *known = find_record(r, &kills[i]);

        if (!known) {
            VPA_GROW(r->items, r->count, r->capacity);
            r->items[r->count++] = kills[i];
            encode(r);
        } else if (vpa_quantity_value(&kills[i].memory) > vpa_quantity_value(&known->memory)) {
            known->memory = kills[i].memory;
            known->t = kills[i].t;
        }
    }
}

static int compare_kills(const void *a, const void *b)
{
    vpa_time x = ((const struct vpa_crane_oom *)a)->t, y = ((const struct vpa_crane_oom *)b)->t;

    return (x > y) - (x < y);
}

size_t vpa_crane_oom_trim(struct vpa_crane_oom *items, size_t count, size_t most)
{
    if (count <= most)
        return count;
    qsort(items, count, sizeof(*items), compare_kills);
    memmove(items, items + (count - most), most * sizeof(*items));
    return most;
}
