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
    struct vpa_limit_range *decoded =
        vpa_arena_alloc(c->arena, (total + 1) * sizeof(*decoded));
    const struct vpa_limit_range **kept = vpa_arena_alloc(c->arena, (total + 1) * sizeof(*kept));
    size_t count = 0;
    struct vpa_error err;

    vpa_json_foreach(node, ranges)
    {
        struct vpa_limit_range *range = &decoded[count];
        if (vpa_limit_range_decode(c->arena, node, range, &err) < 0)
            return unreadable(c, &err);
        if (strcmp(range->meta.ns, ns) == 0)
            kept[count++] = range;
    }
    vpa_namespace_limits_fold(c->arena, kept, count, out);
    return true;
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
        vpa_json_key(&w, notes[i].container);
        vpa_json_open_array(&w);
        for (size_t j = 0; j < notes[i].count; j++)
            vpa_json_put_string(&w, notes[i].items[j]);
        vpa_json_close_array(&w);
    }
    vpa_json_close_object(&w);
    return take_text(c, &buf);
}
