/* Selectors: a text that parses is printed as a text that parses to the same; the detour of a Scale
 * selects the same objects. */
#include "fuzz.h"
#include "vpa/api/labels.h"

static const char *printed(struct vpa_arena *arena, const struct vpa_selector *selector)
{
    struct vpa_buf buf;
    const char *text;

    vpa_buf_init(&buf, 1 << 24);
    vpa_selector_format(selector, &buf);
    text = vpa_arena_strdup(arena, vpa_buf_text(&buf));
    vpa_buf_release(&buf);
    return text;
}

static void fuzz_text_form(struct vpa_arena *arena, const char *text)
{
    const struct vpa_label label = {"a", "b"};
    const struct vpa_labels labels = {.items = &label, .count = 1, .present = true};
    struct vpa_selector selector, again, scale;
    struct vpa_error err;

    if (vpa_selector_parse(arena, text, &selector, &err) < 0) {
        FUZZ_CHECK(err.code == VPA_INVALID && err.text[0]);
        return;
    }
    FUZZ_CHECK(vpa_selector_parse(arena, printed(arena, &selector), &again, &err) == 0);
    FUZZ_CHECK(strcmp(printed(arena, &selector), printed(arena, &again)) == 0);
    FUZZ_CHECK(vpa_selector_matches(&selector, &labels) == vpa_selector_matches(&again, &labels));
    again = vpa_selector_copy(arena, &selector);
    FUZZ_CHECK(strcmp(printed(arena, &selector), printed(arena, &again)) == 0);
    if (vpa_selector_parse_scale(arena, text, &scale, &err) == 0)
        FUZZ_CHECK(scale.count <= selector.count);
}

static void fuzz_structured_form(struct vpa_arena *arena, const char *text)
{
    const struct vpa_json *root;
    struct vpa_selector selector, again;
    struct vpa_labels labels;
    struct vpa_error err;

    if (vpa_json_parse(arena, text, strlen(text), &root, &err) < 0)
        return;
    if (vpa_selector_decode(arena, root, &selector, &err) == 0 && !selector.nothing)
        FUZZ_CHECK(vpa_selector_parse(arena, printed(arena, &selector), &again, &err) == 0);
    if (vpa_labels_decode(arena, root, &labels, &err) == 0 &&
        vpa_selector_from_labels(arena, &labels, &selector, &err) == 0)
        FUZZ_CHECK(vpa_selector_matches(&selector, &labels) != selector.nothing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const char *text = fuzz_text(&arena, data, size);

    fuzz_text_form(&arena, text);
    fuzz_structured_form(&arena, text);
    vpa_arena_release(&arena);
    return 0;
}
