/* Patches: the first line is the document, the rest the patch; a result is JSON, a failure leaves
 * the buffer as it was. */
#include "fuzz.h"
#include "vpa/json/json_patch.h"

static void apply(struct vpa_arena *arena, const struct vpa_json *document,
                  const struct vpa_json *patch)
{
    const struct vpa_json *result;
    struct vpa_error err;
    struct vpa_buf out;

    vpa_buf_init(&out, 1 << 16);
    if (vpa_json_patch_apply(document, patch, &out, &err) == 0)
        FUZZ_CHECK(vpa_json_parse(arena, out.data, out.len, &result, &err) == 0);
    else
        FUZZ_CHECK(out.len == 0 && err.text[0]);
    vpa_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line_end = size ? memchr(data, '\n', size) : NULL;
    struct vpa_arena arena = {0};
    const struct vpa_json *document, *patch;
    struct vpa_error err;

    if (line_end &&
        vpa_json_parse(&arena, (const char *)data, (size_t)(line_end - data), &document, &err) ==
            0 &&
        vpa_json_parse(&arena, (const char *)line_end + 1, size - (size_t)(line_end - data) - 1,
                       &patch, &err) == 0) {
        apply(&arena, document, patch);
        vpa_json_foreach (op, patch) {
            const char *path = vpa_json_string(vpa_json_find(op, "path"));
            if (path)
                (void)vpa_json_pointer_find(document, path);
        }
    }
    vpa_arena_release(&arena);
    return 0;
}
