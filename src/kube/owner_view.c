/*
 * A view: copies of the caches' maps and references to the scales of one moment. Taking one after
 * nothing changed gives the same view again. Of the scales there may be thousands, and controllers
 * change all the time: views between which no scale changed have one array of them together.
 */
#include <stdlib.h>
#include <string.h>

#include "owner_internal.h"
#include "vpa/base/str.h"

struct scale_array { /* immutable */
    atomic_uint refs;
    struct owner_scale **items; /* by key */
    size_t count;
};

struct vpa_owner_view {
    atomic_uint refs;
    struct vpa_shared_map entries[VPA_KIND_COUNT];
    struct scale_array *scales;
    struct owner_wanted *wanted;
};

static struct scale_array *scale_array_new(const struct vpa_table *scales)
{
    struct scale_array *a = vpa_xcalloc(1, sizeof(*a));

    atomic_init(&a->refs, 1);
    a->items = (struct owner_scale **)vpa_table_sorted(scales);
    a->count = scales->count;
    for (size_t i = 0; i < a->count; i++)
        owner_scale_ref(a->items[i]);
    return a;
}

static struct scale_array *scale_array_ref(struct scale_array *a)
{
    atomic_fetch_add(&a->refs, 1);
    return a;
}

static void scale_array_unref(struct scale_array *a)
{
    if (atomic_fetch_sub(&a->refs, 1) != 1)
        return;
    for (size_t i = 0; i < a->count; i++)
        owner_scale_unref(a->items[i]);
    free(a->items);
    free(a);
}

struct vpa_owner_view *vpa_owner_view_ref(struct vpa_owner_view *view)
{
    atomic_fetch_add(&view->refs, 1);
    return view;
}

void vpa_owner_view_unref(struct vpa_owner_view *view)
{
    if (!view || atomic_fetch_sub(&view->refs, 1) != 1)
        return;
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++)
        vpa_shared_map_release(&view->entries[kind]);
    scale_array_unref(view->scales);
    owner_wanted_unref(view->wanted);
    free(view);
}

struct vpa_owner_view *vpa_owners_view(struct vpa_owners *o)
{
    if (o->view && !o->changed && !o->scales_changed)
        return vpa_owner_view_ref(o->view);
    struct vpa_owner_view *view = vpa_xcalloc(1, sizeof(*view));
    atomic_init(&view->refs, 1);
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++) {
        vpa_cache_share(o->store.feeds[kind].cache);
        vpa_shared_map_copy(&view->entries[kind], vpa_cache_map(o->store.feeds[kind].cache));
    }
    view->scales = o->view && !o->scales_changed ? scale_array_ref(o->view->scales)
                                                 : scale_array_new(&o->scales);
    view->wanted = o->wanted;
    atomic_fetch_add(&o->wanted->refs, 1);
    o->changed = o->scales_changed = false;
    vpa_owner_view_unref(o->view);
    o->view = vpa_owner_view_ref(view);
    return view;
}

static const struct owner_entry *view_entry(void *ctx, enum vpa_controller_kind kind,
                                            const char *ns, const char *name)
{
    const struct vpa_owner_view *view = ctx;
    const void *object = vpa_cache_map_find(&view->entries[kind], ns, name);

    return object && !vpa_cache_reason(object) ? object : NULL;
}

static const struct owner_scale *view_scale(void *ctx, const struct vpa_controller_key *key,
                                            struct vpa_error *err)
{
    const struct vpa_owner_view *view = ctx;
    const struct scale_array *scales = view->scales;
    vpa_auto_buf text = VPA_BUF(VPA_KUBE_PATH_MAX);

    owner_scale_key(&text, key);
    if (!vpa_buf_failed(&text)) {
        const char *wanted = vpa_buf_text(&text);
        size_t at = VPA_LOWER_BOUND(i, scales->count, strcmp(scales->items[i]->key, wanted) < 0);

        if (at < scales->count && strcmp(scales->items[at]->key, wanted) == 0) {
            atomic_store(&scales->items[at]->read, true);
            return scales->items[at];
        }
        owner_wanted_add(view->wanted, key, true);
    }
    vpa_fail(err, VPA_RETRY, "scale of %s %s/%s is not known yet", key->kind, key->ns, key->name);
    return NULL;
}

int vpa_owner_view_topmost(const struct vpa_owner_view *view, const struct vpa_controller_key *key,
                           struct vpa_arena *arena, bool *found, struct vpa_controller_key *top,
                           struct vpa_error *err)
{
    const struct owner_source source = {(void *)(uintptr_t)view, view_entry, view_scale};

    return owner_walk(&source, key, arena, found, top, err);
}

int vpa_owner_view_selector(const struct vpa_owner_view *view,
                            const struct vpa_controller_key *target,
                            const struct vpa_selector **out, struct vpa_error *err)
{
    const struct owner_source source = {(void *)(uintptr_t)view, view_entry, view_scale};

    return owner_selector(&source, target, out, err);
}
