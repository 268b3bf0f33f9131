#include "objects.h"

const struct vpa_json *objects_json(struct vpa_arena *arena, const char *text)
{
    char *json = vpa_arena_strdup(arena, text);
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    for (char *c = json; *c; c++) {
        if (*c == '\'')
            *c = '"';
    }
    if (vpa_json_parse(arena, json, strlen(json), &root, &err) < 0)
        ck_abort_msg("%s in %s", err.text, json);
    return root;
}

struct vpa_pod *objects_pod(struct vpa_arena *arena, const char *text)
{
    struct vpa_pod *pod = vpa_arena_zalloc(arena, sizeof(*pod));
    struct vpa_error err;

    if (vpa_pod_decode(arena, objects_json(arena, text), pod, &err) < 0)
        ck_abort_msg("%s in %s", err.text, text);
    return pod;
}

struct vpa_object *objects_vpa(struct vpa_arena *arena, const char *text)
{
    struct vpa_object *vpa = vpa_arena_zalloc(arena, sizeof(*vpa));
    struct vpa_error err;

    if (vpa_object_decode(arena, objects_json(arena, text), vpa, &err) < 0)
        ck_abort_msg("%s in %s", err.text, text);
    return vpa;
}
