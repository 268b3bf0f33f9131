/*
 * Label selectors: structured form, text form, and plain maps.
 */
#include <string.h>

#include "golden.h"
#include "vpa/api/labels.h"

static bool read_labels(struct golden_case *c, const struct vpa_json *node, struct vpa_labels *out)
{
    struct vpa_error err;

    if (vpa_labels_decode(c->arena, node, out, &err) == 0)
        return true;
    golden_difference(c, "labels", "readable", err.text);
    return false;
}

static void compare_selector(struct golden_case *c, const struct vpa_selector *selector)
{
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "matches"));
    vpa_auto_buf text = VPA_BUF(1 << 20);
    size_t i = 0;

    vpa_selector_format(selector, &text);
    golden_text(c, "string", GOLDEN_OUT(c, "string"), vpa_buf_text(&text));
    golden_bool(c, "empty", GOLDEN_OUT(c, "empty"), !selector->nothing && selector->count == 0);
    if (GOLDEN_OUT(c, "selectable") || strcmp(c->file, "set") != 0)
        golden_bool(c, "selectable", GOLDEN_OUT(c, "selectable"), !selector->nothing);
    if (GOLDEN_OUT(c, "requirements") || strcmp(c->file, "set") != 0)
        golden_int(c, "requirements", GOLDEN_OUT(c, "requirements"), (int64_t)selector->count);
    vpa_json_foreach (node, GOLDEN_IN(c, "labels")) {
        struct vpa_labels labels;
        if (read_labels(c, node, &labels))
            golden_bool(c, golden_label(c, "matches[%zu]", i), want,
                        vpa_selector_matches(selector, &labels));
        want = want ? vpa_json_next(want) : NULL;
        i++;
    }
}

static int make_selector(struct golden_case *c, struct vpa_selector *out, struct vpa_error *err)
{
    if (strcmp(c->file, "structured") == 0)
        return vpa_selector_decode(c->arena, GOLDEN_IN(c, "selector"), out, err);
    if (strcmp(c->file, "text") == 0)
        return vpa_selector_parse(c->arena, golden_in_text(c, "text"), out, err);

    struct vpa_labels set;
    vpa_auto_buf key = VPA_BUF(1 << 20);
    if (!read_labels(c, GOLDEN_IN(c, "set"), &set))
        return -1;
    vpa_labels_key(&set, &key);
    if (GOLDEN_OUT(c, "set_string"))
        golden_text(c, "set_string", GOLDEN_OUT(c, "set_string"), vpa_buf_text(&key));
    return vpa_selector_from_labels(c->arena, &set, out, err);
}

static void run(struct golden_case *c)
{
    const struct vpa_json *want_error = GOLDEN_OUT(c, "error");
    struct vpa_selector selector;
    struct vpa_error err;

    if (make_selector(c, &selector, &err) < 0) {
        if (vpa_json_type(want_error) != VPA_JSON_BOOL) /* true: one of several texts */
            golden_text(c, "error", want_error, err.text);
        return;
    }
    golden_text(c, "error", want_error, NULL);
    compare_selector(c, &selector);
}

const struct golden_set golden_set_selector = {.name = "selector", .run = run};
