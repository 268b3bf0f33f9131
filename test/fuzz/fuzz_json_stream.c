/* The splitter: the first byte chooses the kind and the size of the chunks; any chunking gives the
 * same objects, the same head and the same verdict. */
#include "fuzz.h"
#include "vpa/base/buf.h"
#include "vpa/json/json_stream.h"

#define OBJECT_MAX 256

static int take(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    (void)err;
    FUZZ_CHECK(len >= 2 && json[0] == '{'); /* balanced; the rest is for the parser to judge */
    vpa_buf_append(ctx, json, len);
    vpa_buf_putc(ctx, '\n');
    return 0;
}

/* Exactly the longest that is held. */
static int take_long(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    FUZZ_CHECK(len == OBJECT_MAX);
    return take(ctx, json, len, err);
}

static int run(const uint8_t *data, size_t size, enum vpa_stream_kind kind, size_t chunk,
               struct vpa_buf *out)
{
    const struct vpa_json_stream_handler handler = {
        .ctx = out, .on_object = take, .on_head = take, .on_long = take_long};
    struct vpa_json_stream *s = vpa_json_stream_new(kind, OBJECT_MAX, &handler);
    struct vpa_error err;
    int result = 0;

    for (size_t at = 0; at < size && result == 0; at += chunk) {
        size_t len = size - at < chunk ? size - at : chunk;
        vpa_auto_free void *copy = vpa_xmalloc(len); /* exact bounds for the sanitizer */
        memcpy(copy, data + at, len);
        result = vpa_json_stream_feed(s, copy, len, &err);
    }
    if (result == 0)
        result = vpa_json_stream_finish(s, &err);
    vpa_json_stream_free(s);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_buf whole, pieces;
    enum vpa_stream_kind kind;
    int first, second;

    if (size == 0)
        return 0;
    kind = data[0] & 1 ? VPA_STREAM_LIST : VPA_STREAM_VALUES;
    vpa_buf_init(&whole, 1 << 24);
    vpa_buf_init(&pieces, 1 << 24);
    first = run(data + 1, size - 1, kind, size, &whole);
    second = run(data + 1, size - 1, kind, (size_t)(data[0] >> 1) % 17 + 1, &pieces);
    FUZZ_CHECK(first == second);
    FUZZ_CHECK(strcmp(vpa_buf_text(&whole), vpa_buf_text(&pieces)) == 0);
    vpa_buf_release(&whole);
    vpa_buf_release(&pieces);
    return 0;
}
