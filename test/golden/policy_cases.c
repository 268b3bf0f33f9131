#include "policy_cases.h"

#include <string.h>

#include "vpa/api/limit_range.h"

#define TEXT_MAX (1 << 20)

static bool unreadable(struct golden_case *c, const struct vpa_error *err)
{
    golden_difference(c, "input", "readable", err->text);
    return false;
}

bool policy_read_vpa(struct golden_case *c, const struct vpa_json *node, struct vpa_object *out)
{
    struct vpa_error err;

    return vpa_object_decode(c->arena, node, out, &err) == 0 || unreadable(c, &err);
}

bool policy_read_pod(struct golden_case *c, const struct vpa_json *node, struct vpa_pod *out)
{
    struct vpa_error err;

    return vpa_pod_decode(c->arena, node, out, &err) == 0 || unreadable(c, &err);
}

bool policy_read_list(struct golden_case *c, const struct vpa_json *node,
                      struct vpa_resource_list *out)
{
    struct vpa_error err;

    return vpa_resource_list_decode(c->arena, node, out, &err) == 0 || unreadable(c, &err);
}

bool policy_read_limits(struct golden_case *c, const struct vpa_json *ranges, const char *ns,
                        struct vpa_namespace_limits *out)
{
    size_t total = vpa_json_count(ranges);
    struct vpa_limit_range *decoded = vpa_arena_alloc(c->arena, (total + 1) * sizeof(*decoded));
    const struct vpa_limit_range **kept = vpa_arena_alloc(c->arena, (total + 1) * sizeof(*kept));
    size_t count = 0;
    struct vpa_error err;

    vpa_json_foreach (node, ranges) {
        struct vpa_limit_range *range = &decoded[count];
        if (vpa_limit_range_decode(c->arena, node, range, &err) < 0)
            return unreadable(c, &err);
        if (strcmp(range->meta.ns, ns) == 0)
            kept[count++] = range;
    }
    vpa_namespace_limits_fold(c->arena, kept, count, out);
    return true;
}

bool policy_read_subject(struct golden_case *c, const struct vpa_json *ranges,
                         struct policy_subject *out)
{
    return policy_read_vpa(c, GOLDEN_IN(c, "vpa"), &out->vpa) &&
           policy_read_pod(c, GOLDEN_IN(c, "pod"), &out->pod) &&
           policy_read_limits(c, ranges, out->pod.meta.ns, &out->limits);
}

static const char *take_text(struct golden_case *c, struct vpa_buf *buf)
{
    const char *text = vpa_arena_strdup(c->arena, vpa_buf_text(buf));

    vpa_buf_release(buf);
    return text;
}

const char *policy_list_text(struct golden_case *c, const struct vpa_resource_list *list)
{
    struct vpa_json_writer w;
    struct vpa_buf buf;

    if (!list->present)
        return NULL;
    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_resource_list_encode(&w, list);
    return take_text(c, &buf);
}

const char *policy_recommendation_text(struct golden_case *c, const struct vpa_recommendation *rec)
{
    struct vpa_json_writer w;
    struct vpa_buf buf;

    if (!rec->present)
        return "null";
    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_recommendation_encode(&w, rec);
    return take_text(c, &buf);
}

const char *policy_notes_text(struct golden_case *c, const struct vpa_notes *notes, size_t count)
{
    struct vpa_json_writer w;
    struct vpa_buf buf;

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    for (size_t i = 0; i < count; i++) {
        if (!notes[i].count)
            continue;
        vpa_json_member_array(&w, notes[i].container);
        for (size_t j = 0; j < notes[i].count; j++)
            vpa_json_put_string(&w, notes[i].items[j]);
        vpa_json_close_array(&w);
    }
    vpa_json_close_object(&w);
    return take_text(c, &buf);
}

/* ---- updater.md 16.3 ---- */

#define FIELDS 3
static const char *const field_names[FIELDS] = {"target", "lowerBound", "upperBound"};

static const struct vpa_resource_list *field(const struct vpa_container_recommendation *r, size_t i)
{
    return i == 0 ? &r->target : i == 1 ? &r->lower_bound : &r->upper_bound;
}

/* Whether a key of that field may be there. */
static bool is_based(const struct vpa_object *vpa, const struct vpa_pod *pod, const char *container,
                     size_t which, const char *resource)
{
    const struct vpa_container_recommendation *raw =
        vpa_recommendation_find(&vpa->recommendation, container);
    struct vpa_resources now = vpa_pod_effective_resources(pod, container);

    return vpa_resource_find(raw ? field(raw, which) : &now.requests, resource) != NULL;
}

bool policy_reference_invents(const struct vpa_object *vpa, const struct vpa_pod *pod,
                              const struct vpa_recommendation *reference)
{
    for (size_t i = 0; i < reference->container_count; i++) {
        const struct vpa_container_recommendation *r = &reference->containers[i];
        for (size_t f = 0; f < FIELDS; f++)
            for (size_t k = 0; k < field(r, f)->count; k++)
                if (!is_based(vpa, pod, r->container_name, f, field(r, f)->items[k].name))
                    return true;
    }
    return false;
}

static void check_field(struct golden_case *c, const char *label,
                        const struct vpa_resource_list *want, const struct vpa_resource_list *got,
                        const char *resource, bool based)
{
    const struct vpa_quantity *a = vpa_resource_find(want, resource);
    const struct vpa_quantity *b = vpa_resource_find(got, resource);

    if (b && !based)
        golden_unexpected(c, label, vpa_quantity_text(c->arena, b));
    else if (based && (!a != !b || (a && vpa_quantity_cmp(a, b) != 0)))
        golden_difference(c, label, a ? vpa_quantity_text(c->arena, a) : "absent",
                          b ? vpa_quantity_text(c->arena, b) : "absent");
}

void policy_check_uninvented(struct golden_case *c, const struct vpa_object *vpa,
                             const struct vpa_pod *pod, const struct vpa_recommendation *reference,
                             const struct vpa_recommendation *got)
{
    static const char *const resources[] = {VPA_CPU, VPA_MEMORY};

    if (reference->container_count != got->container_count) {
        golden_difference(c, "16.3", golden_label(c, "%zu containers", reference->container_count),
                          golden_label(c, "%zu containers", got->container_count));
        return;
    }
    for (size_t i = 0; i < got->container_count; i++) {
        const struct vpa_container_recommendation *r = &reference->containers[i];
        const char *name = r->container_name;
        for (size_t f = 0; f < FIELDS; f++)
            for (size_t k = 0; k < VPA_COUNT(resources); k++)
                check_field(c, golden_label(c, "16.3 %s.%s.%s", name, field_names[f], resources[k]),
                            field(r, f), field(&got->containers[i], f), resources[k],
                            is_based(vpa, pod, name, f, resources[k]));
    }
}

struct vpa_recommendation policy_read_recommendation(struct golden_case *c,
                                                     const struct vpa_json *node)
{
    const char *text = vpa_json_string(node);
    struct vpa_recommendation rec = {0};
    struct vpa_error err;

    if (text && vpa_json_parse(c->arena, text, strlen(text), &node, &err) < 0)
        unreadable(c, &err);
    else if (node && vpa_recommendation_decode(c->arena, node, &rec, &err) < 0)
        unreadable(c, &err);
    return rec;
}
