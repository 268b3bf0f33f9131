/* Texts of strangers as kubectl-vpa prints them: nothing that a terminal or a browser acts upon is
 * left, and JSON that becomes YAML says the same. */
#include <ctype.h>

#include "fuzz.h"
#include "text.h"
#include "vpa/base/mem.h"
#include "vpa/json/json_writer.h"
#include "vpa/json/yaml.h"

#define TEXT_MAX ((size_t)64 << 20)

static void check_texts(const char *text)
{
    struct vpa_buf out;

    vpa_buf_init(&out, TEXT_MAX);
    cli_put_safe(&out, text);
    for (size_t i = 0; i < out.len; i++)
        FUZZ_CHECK((unsigned char)out.data[i] >= 0x20 && out.data[i] != 0x7f);
    (void)cli_text_width(vpa_buf_text(&out));
    (void)cli_text_width(text);
    vpa_buf_clear(&out);
    cli_put_html(&out, text);
    for (size_t i = 0; i < out.len; i++)
        FUZZ_CHECK(!strchr("<>\"'", out.data[i]));
    vpa_buf_clear(&out);
    cli_put_csv(&out, text);
    FUZZ_CHECK(out.len == 0 || out.data[0] == '"' || !strpbrk(vpa_buf_text(&out), ",\r\n\""));
    vpa_buf_release(&out);
}

/* As a writer writes it: what is no UTF-8 becomes U+FFFD, of repeated names the last counts. */
static const struct vpa_json *written(struct vpa_arena *arena, const struct vpa_json *root)
{
    const struct vpa_json *again;
    struct vpa_json_writer w;
    struct vpa_buf text;
    struct vpa_error err;

    vpa_buf_init(&text, TEXT_MAX);
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, root);
    FUZZ_CHECK(vpa_json_parse(arena, text.data, text.len, &again, &err) == 0);
    vpa_buf_release(&text);
    return again;
}

/* Bytes that are no UTF-8 are replaced on both ways, one for one or many for one. */
static bool is_ascii(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] >= 0x80)
            return false;
    return true;
}

static void check_yaml(const char *text, size_t size)
{
    struct vpa_arena arena = {0};
    const struct vpa_json *root, *again;
    struct vpa_buf out;
    struct vpa_error err;

    vpa_buf_init(&out, TEXT_MAX);
    if (vpa_json_parse(&arena, text, size, &root, &err) == 0) {
        FUZZ_CHECK(cli_put_yaml(&out, text, size) == 0);
        /* Names that repeat are no YAML. */
        if (vpa_yaml_parse(&arena, vpa_buf_text(&out), out.len, &again, &err) == 0)
            FUZZ_CHECK(!is_ascii(text, size) || vpa_json_equal(written(&arena, root), again));
    } else {
        FUZZ_CHECK(cli_put_yaml(&out, text, size) < 0);
    }
    vpa_buf_release(&out);
    vpa_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = vpa_xstrndup((const char *)data, size);

    check_texts(text);
    check_yaml((const char *)data, size);
    free(text);
    return 0;
}
