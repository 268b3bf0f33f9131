#include "policy_fixtures.h"

char *fixture_json(struct vpa_arena *arena, const char *text)
{
    char *copy = vpa_arena_strdup(arena, text);

    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    return copy;
}

const struct vpa_json *fixture_parse(struct vpa_arena *arena, const char *text)
{
    const char *json = fixture_json(arena, text);
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    if (vpa_json_parse(arena, json, strlen(json), &root, &err) < 0)
        ck_abort_msg("%s: %s", json, err.text);
    return root;
}

struct vpa_object fixture_vpa(struct vpa_arena *arena, const char *text)
{
    struct vpa_object vpa;
    struct vpa_error err;

    if (vpa_object_decode(arena, fixture_parse(arena, text), &vpa, &err) < 0)
        ck_abort_msg("%s: %s", text, err.text);
    return vpa;
}

struct vpa_pod fixture_pod(struct vpa_arena *arena, const char *text)
{
    struct vpa_pod pod;
    struct vpa_error err;

    if (vpa_pod_decode(arena, fixture_parse(arena, text), &pod, &err) < 0)
        ck_abort_msg("%s: %s", text, err.text);
    return pod;
}

struct vpa_resource_list fixture_list(struct vpa_arena *arena, const char *text)
{
    struct vpa_resource_list list;
    struct vpa_error err;

    if (vpa_resource_list_decode(arena, fixture_parse(arena, text), &list, &err) < 0)
        ck_abort_msg("%s: %s", text, err.text);
    return list;
}

struct vpa_namespace_limits fixture_limits(struct vpa_arena *arena, const char *items)
{
    struct vpa_namespace_limits limits = {0};
    struct vpa_limit_range range;
    const struct vpa_limit_range *ranges[] = {&range};
    struct vpa_error err;

    if (!items || !items[0])
        return limits;
    const char *text = vpa_arena_printf(
        arena, "{'metadata':{'name':'lr','namespace':'ns'},'spec':{'limits':[%s]}}", items);
    if (vpa_limit_range_decode(arena, fixture_parse(arena, text), &range, &err) < 0)
        ck_abort_msg("%s: %s", text, err.text);
    vpa_namespace_limits_fold(arena, ranges, 1, &limits);
    return limits;
}

struct vpa_quantity fixture_quantity(struct vpa_arena *arena, const char *text)
{
    struct vpa_quantity q = {0};
    struct vpa_error err;

    if (text && vpa_quantity_parse(arena, text, &q, &err) < 0)
        ck_abort_msg("%s: %s", text, err.text);
    return q;
}

const char *fixture_list_text(struct vpa_arena *arena, const struct vpa_resource_list *list)
{
    const char *text = "";

    if (!list->present && !list->count)
        return "-";
    for (size_t i = 0; i < list->count; i++)
        text = vpa_arena_printf(arena, "%s%s%s=%s", text, i ? " " : "", list->items[i].name,
                                vpa_quantity_text(arena, &list->items[i].quantity));
    return text;
}
