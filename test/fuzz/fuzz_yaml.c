/* YAML: what is read is JSON, and JSON without repeated names reads as YAML. */
#include "fuzz.h"
#include "vpa/json/json_writer.h"
#include "vpa/json/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const struct vpa_json *root, *again, *const *all;
    struct vpa_error err;
    size_t count;

    if (vpa_yaml_parse(&arena, (const char *)data, size, &root, &err) == 0) {
        struct vpa_json_writer w;
        struct vpa_buf buf;

        vpa_buf_init(&buf, 1 << 26);
        vpa_json_writer_init(&w, &buf);
        vpa_json_put_node(&w, root);
        FUZZ_CHECK(!vpa_buf_failed(&buf));
        FUZZ_CHECK(vpa_json_parse(&arena, buf.data, buf.len, &again, &err) == 0);
        FUZZ_CHECK(vpa_json_equal(root, again));
        vpa_buf_release(&buf);
        FUZZ_CHECK(vpa_yaml_parse_all(&arena, (const char *)data, size, &all, &count, &err) == 0);
        FUZZ_CHECK(count <= 1);
    } else {
        FUZZ_CHECK(err.text[0]);
    }
    vpa_arena_release(&arena);
    return 0;
}
