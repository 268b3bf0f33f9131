#include "checkpoint_identity.h"

#include "checkpoint_names.h"

#include "vpa/json/json_peek.h"

static struct checkpoint_identity identity_of(const struct vpa_json *item)
{
    return (struct checkpoint_identity){
        .ns = vpa_json_text(item, "metadata.namespace"),
        .name = vpa_json_text(item, "metadata.name"),
        .vpa = vpa_json_text(item, "spec.vpaObjectName"),
        .container = vpa_json_text(item, "spec.containerName"),
        .annotations = vpa_json_at(item, "metadata.annotations"),
    };
}

static const char *peek(struct vpa_arena *arena, struct vpa_slice text, const char *path)
{
    return vpa_or_empty(vpa_json_peek(arena, text.ptr, text.len, path));
}

static struct checkpoint_identity identity_in(struct vpa_arena *arena, struct vpa_slice text)
{
    struct vpa_slice source = vpa_json_peek_source(text.ptr, text.len, "metadata.annotations");
    const struct vpa_json *annotations = NULL;

    if (source.ptr && vpa_json_parse(arena, source.ptr, source.len, &annotations, NULL) < 0)
        annotations = NULL;
    return (struct checkpoint_identity){
        .ns = peek(arena, text, "metadata.namespace"),
        .name = peek(arena, text, "metadata.name"),
        .vpa = peek(arena, text, "spec.vpaObjectName"),
        .container = peek(arena, text, "spec.containerName"),
        .annotations = annotations,
    };
}

struct checkpoint_identity checkpoint_identity(struct vpa_arena *arena, const struct vpa_json *item,
                                               struct vpa_slice text)
{
    struct checkpoint_identity id = item ? identity_of(item) : identity_in(arena, text);

    id.unreadable_since =
        vpa_json_string(vpa_json_find(id.annotations, CHECKPOINT_UNREADABLE_ANNOTATION));
    return id;
}
