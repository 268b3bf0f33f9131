/*
 * The marker of a boost.
 *
 * Whoever may write a pod may write its markers, and of any length. So a marker is read in time and
 * memory that grow with its text: all quantities are found first, then sorted once.
 */
#include "vpa/policy/boost_marker.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "vpa/json/json_decode.h"
#include "vpa/json/json_writer.h"

/* ---- written ---- */

static void put_cpu_and_memory(struct vpa_json_writer *w, const char *name,
                               const struct vpa_resource_list *list)
{
    static const char *const kept[] = {VPA_CPU, VPA_MEMORY};

    vpa_json_member_object(w, name);
    for (size_t i = 0; i < VPA_COUNT(kept); i++) {
        const struct vpa_quantity *q = vpa_resource_find(list, kept[i]);
        if (!q)
            continue;
        vpa_json_member_quantity(w, kept[i], q);
    }
    vpa_json_close_object(w);
}

void vpa_boost_marker_format(const struct vpa_container *container, struct vpa_buf *out)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    put_cpu_and_memory(&w, "requests", &container->resources.requests);
    put_cpu_and_memory(&w, "limits", &container->resources.limits);
    vpa_json_close_object(&w);
}

/* ---- read ---- */

/* Go's decoder fills one map from all members "requests", in any case of letters and repeated ones
 * included: of a resource that comes several times the last one counts. */
struct found {
    struct vpa_resource resource; /* the name is borrowed from the document */
    size_t order;
};

static bool is_named(const struct vpa_json *member, const char *name)
{
    return strcasecmp(vpa_json_name(member), name) == 0;
}

static int count_quantities(const struct vpa_json *root, const char *name, size_t *count,
                            struct vpa_error *err)
{
    *count = 0;
    vpa_json_foreach (member, root) {
        if (!is_named(member, name) || vpa_json_is_null(member))
            continue;
        if (!vpa_json_is_object(member))
            return vpa_fail(err, VPA_INVALID, "expected an object, found %s",
                            vpa_json_type_name(member));
        *count += vpa_json_count(member);
    }
    if (*count > VPA_JSON_LIST_MAX)
        return vpa_fail(err, VPA_INVALID, "%zu resources, at most %d are read", *count,
                        VPA_JSON_LIST_MAX);
    return 0;
}

static int find_quantities(struct vpa_arena *arena, const struct vpa_json *object,
                           struct found *found, size_t *count, struct vpa_error *err)
{
    vpa_json_foreach (member, object) {
        struct found *f = &found[*count];

        if (vpa_quantity_decode(arena, member, &f->resource.quantity, err) < 0)
            return vpa_wrap(err, "%s", vpa_json_name(member));
        f->resource.name = vpa_json_name(member);
        f->order = (*count)++;
    }
    return 0;
}

static int compare_found(const void *pa, const void *pb)
{
    const struct found *a = pa, *b = pb;
    int order = vpa_resource_name_cmp(a->resource.name, b->resource.name);

    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

/* Sorted: the last one of each name. */
static void keep_last(struct vpa_arena *arena, const struct found *found, size_t count,
                      struct vpa_resource_list *out)
{
    *out = (struct vpa_resource_list){.present = true};
    out->items = vpa_arena_alloc(arena, (count + 1) * sizeof(*out->items));
    for (size_t i = 0; i < count; i++) {
        const struct vpa_resource *r = &found[i].resource;

        if (i + 1 < count && strcmp(found[i + 1].resource.name, r->name) == 0)
            continue;
        out->items[out->count].name = vpa_arena_strdup(arena, r->name);
        out->items[out->count++].quantity = r->quantity;
    }
}

static int read_list(struct vpa_arena *arena, const struct vpa_json *root, const char *name,
                     struct vpa_resource_list *out, struct vpa_error *err)
{
    size_t total, count = 0;

    if (count_quantities(root, name, &total, err) < 0)
        return vpa_wrap(err, "boost marker: %s", name);

    vpa_auto_free struct found *found = vpa_xcalloc(total + 1, sizeof(*found));

    vpa_json_foreach (member, root) {
        if (is_named(member, name) && find_quantities(arena, member, found, &count, err) < 0)
            return vpa_wrap(err, "boost marker: %s", name);
    }
    qsort(found, count, sizeof(*found), compare_found);
    keep_last(arena, found, count, out);
    return 0;
}

int vpa_boost_marker_parse(struct vpa_arena *arena, const char *text, struct vpa_resources *out,
                           struct vpa_error *err)
{
    const struct vpa_json *root;
    struct vpa_resources found = {.present = true};

    if (vpa_json_parse_repeated(arena, text, strlen(text), &root, err) < 0)
        return vpa_wrap(err, "boost marker");
    if (!vpa_json_is_null(root) && !vpa_json_is_object(root))
        return vpa_fail(err, VPA_INVALID, "boost marker: expected an object, found %s",
                        vpa_json_type_name(root));
    if (read_list(arena, root, "requests", &found.requests, err) < 0 ||
        read_list(arena, root, "limits", &found.limits, err) < 0)
        return -1;
    *out = found;
    return 0;
}

/* ---- found ---- */

const char *vpa_boost_marker_container(const char *key)
{
    const size_t len = sizeof(VPA_BOOST_ANNOTATION_PREFIX) - 1;

    return strncmp(key, VPA_BOOST_ANNOTATION_PREFIX, len) == 0 ? key + len : NULL;
}

const char *vpa_boost_marker_find(const struct vpa_labels *annotations, const char *container)
{
    vpa_auto_free char *key = vpa_xprintf("%s%s", VPA_BOOST_ANNOTATION_PREFIX, container);

    return vpa_labels_get(annotations, key);
}

bool vpa_boost_marked(const struct vpa_labels *annotations)
{
    for (size_t i = 0; i < annotations->count; i++) {
        if (vpa_boost_marker_container(annotations->items[i].key))
            return true;
    }
    return false;
}
