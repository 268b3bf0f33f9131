#include "json_helper.h"

struct vpa_arena arena;

const struct vpa_json *json_of(const char *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    if (vpa_json_parse(&arena, text, strlen(text), &root, &err) < 0)
        ck_abort_msg("%s: %s", text, err.text);
    return root;
}

const char *text_of(const struct vpa_json *node)
{
    struct vpa_json_writer w;
    struct vpa_buf buf;
    const char *text;

    vpa_buf_init(&buf, 1 << 20);
    vpa_json_writer_init(&w, &buf);
    vpa_json_put_node(&w, node);
    ck_assert(vpa_json_writer_done(&w));
    text = vpa_arena_strdup(&arena, vpa_buf_text(&buf));
    vpa_buf_release(&buf);
    return text;
}

void release_arena(void)
{
    vpa_arena_release(&arena);
}
