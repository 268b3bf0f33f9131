#include "vpa/daemon/unusable.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/api/controller.h"
#include "vpa/base/str.h"
#include "vpa/kube/events.h"
#include "vpa/kube/reflector.h"

struct pending {
    struct vpa_arena arena;
    struct vpa_object_ref object;
    const char *reason;
    int64_t at; /* monotonic */
};
struct vpa_unusable {
    struct vpa_loop *loop;
    struct vpa_events *events;
    char *component;
    bool leading;
    struct pending pending[VPA_UNUSABLE_PENDING]; /* a ring */
    size_t next;
};

struct vpa_unusable *vpa_unusable_new(const struct vpa_unusable_options *options)
{
    struct vpa_unusable *u = vpa_xcalloc(1, sizeof(*u));

    u->loop = vpa_kube_client_loop(options->client);
    u->events = vpa_events_new(
        &(struct vpa_events_options){.client = options->client, .component = options->component});
    u->component = vpa_xstrdup(options->component);
    u->leading = options->leading;
    return u;
}

static void drop_pending(struct vpa_unusable *u)
{
    for (size_t i = 0; i < VPA_UNUSABLE_PENDING; i++) {
        vpa_arena_release(&u->pending[i].arena);
        u->pending[i] = (struct pending){0};
    }
}

void vpa_unusable_free(struct vpa_unusable *u)
{
    if (!u)
        return;
    drop_pending(u);
    vpa_events_free(u->events);
    free(u->component);
    free(u);
}

/* Items of lists do not say it. */
static const char *kind_of(const char *resource)
{
    static const struct {
        const char *resource, *kind;
    } others[] = {{"pods", "Pod"},
                  {"limitranges", "LimitRange"},
                  {"configmaps", "ConfigMap"},
                  {"verticalpodautoscalers", "VerticalPodAutoscaler"}};

    for (size_t i = 0; i < VPA_COUNT(others); i++)
        if (strcmp(resource, others[i].resource) == 0)
            return others[i].kind;
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++)
        if (strcmp(resource, vpa_controller_plural((enum vpa_controller_kind)kind)) == 0)
            return vpa_controller_kind_name((enum vpa_controller_kind)kind);
    return NULL;
}

static void record(struct vpa_unusable *u, const struct vpa_object_ref *object, const char *reason)
{
    vpa_auto_free char *message =
        vpa_xprintf("%s cannot use this object, and does nothing that would rest on it: %s",
                    u->component, reason);

    vpa_events_record_warning(u->events, object, VPA_UNUSABLE_REASON, message);
}

static const char *keep(struct vpa_arena *arena, const char *text)
{
    return vpa_arena_strdup(arena, vpa_or_empty(text));
}

static void postpone(struct vpa_unusable *u, const struct vpa_object_ref *object,
                     const char *reason)
{
    struct pending *p = &u->pending[u->next++ % VPA_UNUSABLE_PENDING];
    struct vpa_arena *arena = &p->arena;

    vpa_arena_clear(arena);
    p->object = (struct vpa_object_ref){.api_version = keep(arena, object->api_version),
                                        .kind = keep(arena, object->kind),
                                        .ns = keep(arena, object->ns),
                                        .name = keep(arena, object->name),
                                        .uid = keep(arena, object->uid)};
    p->reason = keep(arena, reason);
    p->at = vpa_loop_monotonic(u->loop);
}

void vpa_unusable_tell(void *ctx, const char *api_version, const char *resource,
                       const struct vpa_unusable_object *what)
{
    struct vpa_unusable *u = ctx;
    const struct vpa_object_ref object = {
        .api_version = api_version,
        .kind = kind_of(resource),
        .ns = what->ns,
        .name = what->name,
        .uid = vpa_json_string(vpa_json_at(what->object, "metadata.uid")),
    };

    if (!object.kind || !*what->ns)
        return;
    if (u->leading)
        record(u, &object, what->reason);
    else
        postpone(u, &object, what->reason);
}

void vpa_unusable_lead(struct vpa_unusable *u)
{
    u->leading = true;
    for (size_t i = 0; i < VPA_UNUSABLE_PENDING; i++) {
        const struct pending *p = &u->pending[(u->next + i) % VPA_UNUSABLE_PENDING];

        if (p->reason && vpa_loop_monotonic(u->loop) - p->at <= VPA_UNUSABLE_PATIENCE)
            record(u, &p->object, p->reason);
    }
    drop_pending(u);
}
