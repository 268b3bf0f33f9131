/* Proportional limits, boundary requests and the scaling below them. */
#include <string.h>

#include "golden.h"
#include "policy_cases.h"
#include "vpa/policy/scaling.h"

static const char *const formats[] = {"DecimalSI", "BinarySI", "DecimalExponent"};

/* Upstream's value is an artefact of 64-bit overflow; ours must at least not turn the sign around.
 */
static bool is_overflow(const struct golden_case *c)
{
    bool overflow = false;

    return vpa_json_bool(GOLDEN_OUT(c, "overflow"), &overflow) && overflow;
}

/* What an artefact still has: the form of its parts. */
static void compare_artefact(struct golden_case *c)
{
    static const char *const format_choices[] = {"DecimalSI", "BinarySI", "DecimalExponent", NULL};
    static const char *const kind_choices[] = {"ok", "capped", NULL};
    const char *text = vpa_json_string(GOLDEN_OUT(c, "string"));
    struct vpa_quantity q;
    bool zero;

    golden_marker(c, "overflow");
    golden_exempt(c, vpa_json_count(c->out) - 1);
    golden_compared(c, GOLDEN_OUT(c, "string"));
    golden_compared(c, GOLDEN_OUT(c, "zero"));
    golden_compared(c, GOLDEN_OUT(c, "limits"));
    golden_compared(c, GOLDEN_OUT(c, "annotations"));
    if (text && vpa_quantity_parse(c->arena, text, &q, NULL) < 0)
        golden_difference(c, "string", "a quantity", text);
    if (text && GOLDEN_OUT(c, "zero") &&
        (!vpa_json_bool(GOLDEN_OUT(c, "zero"), &zero) || zero != vpa_quantity_is_zero(&q)))
        golden_difference(c, "zero", "of the quantity", "another");
    if (text)
        golden_one_of(c, "format", GOLDEN_OUT(c, "format"), format_choices);
    if (strcmp(c->file, "scale") == 0)
        golden_one_of(c, "kind", GOLDEN_OUT(c, "kind"), kind_choices);
    vpa_json_foreach (format, GOLDEN_OUT(c, "formats"))
        golden_one_of(c, "formats", format, format_choices);
}

static void check_sign(struct golden_case *c, const char *label, const struct vpa_quantity *q)
{
    if (vpa_quantity_sign(q) < 0 && !strstr(c->line, "\"-"))
        golden_unexpected(c, label, vpa_quantity_text(c->arena, q));
}

/* null: zero in the usual format of the resource; *absent tells. */
static struct vpa_quantity read_quantity(struct golden_case *c, const char *name, bool *absent)
{
    struct vpa_quantity q = vpa_quantity_units(
        0, strcmp(golden_in_text(c, "resource"), VPA_MEMORY) == 0 ? VPA_BINARY_SI : VPA_DECIMAL_SI);
    const char *text = vpa_json_string(GOLDEN_IN(c, name));
    struct vpa_error err;

    *absent = !text;
    if (text && vpa_quantity_parse(c->arena, text, &q, &err) < 0)
        golden_difference(c, "input", "readable", err.text);
    return q;
}

static void run_scale(struct golden_case *c)
{
    static const char *const kinds[] = {"ok", "capped", "zero base"};
    const char *rounding = golden_in_text(c, "rounding");
    enum vpa_scale_rounding r = strcmp(rounding, "up") == 0     ? VPA_SCALE_UP
                                : strcmp(rounding, "down") == 0 ? VPA_SCALE_DOWN
                                                                : VPA_SCALE_NONE;
    bool absent;
    struct vpa_quantity q = read_quantity(c, "quantity", &absent);
    struct vpa_quantity base = read_quantity(c, "base", &absent);
    struct vpa_quantity result = read_quantity(c, "result", &absent);
    struct vpa_quantity got;
    enum vpa_scale_kind kind =
        vpa_scale_quantity(golden_in_text(c, "resource"), &q, &base, &result, r, &got);

    golden_marker(c, "panic");
    if (GOLDEN_OUT(c, "panic")) {
        if (kind != VPA_SCALE_ZERO_BASE)
            golden_unexpected(c, "kind", kinds[kind]);
        return;
    }
    if (is_overflow(c)) {
        compare_artefact(c);
        check_sign(c, "string", &got);
        return;
    }
    golden_text(c, "string", GOLDEN_OUT(c, "string"), vpa_quantity_text(c->arena, &got));
    golden_text(c, "format", GOLDEN_OUT(c, "format"), formats[got.format]);
    golden_text(c, "kind", GOLDEN_OUT(c, "kind"), kinds[kind]);
}

static void run_boundary(struct golden_case *c)
{
    static const char *const zero_formats[] = {"DecimalSI", "BinarySI", "DecimalExponent", "",
                                               NULL};
    bool no_request, no_limit, no_edge, no_default;
    struct vpa_quantity request = read_quantity(c, "request", &no_request);
    struct vpa_quantity limit = read_quantity(c, "limit", &no_limit);
    struct vpa_quantity edge = read_quantity(c, "boundary", &no_edge);
    struct vpa_quantity fallback = read_quantity(c, "default", &no_default);
    struct vpa_quantity got = vpa_scale_boundary(
        golden_in_text(c, "resource"), no_request ? NULL : &request, no_limit ? NULL : &limit,
        no_edge ? NULL : &edge, no_default ? NULL : &fallback);

    if (is_overflow(c)) {
        compare_artefact(c);
        check_sign(c, "string", &got);
        return;
    }
    golden_text(c, "string", GOLDEN_OUT(c, "string"), vpa_quantity_text(c->arena, &got));
    golden_bool(c, "zero", GOLDEN_OUT(c, "zero"), vpa_quantity_is_zero(&got));
    if (vpa_quantity_is_zero(&got)) /* of zero the format does not show */
        golden_one_of(c, "format", GOLDEN_OUT(c, "format"), zero_formats);
    else
        golden_text(c, "format", GOLDEN_OUT(c, "format"), formats[got.format]);
}

static void run_proportional(struct golden_case *c)
{
    struct vpa_resource_list limits, requests, target, fallback;

    if (!policy_read_list(c, GOLDEN_IN(c, "limit"), &limits) ||
        !policy_read_list(c, GOLDEN_IN(c, "request"), &requests) ||
        !policy_read_list(c, GOLDEN_IN(c, "recommendation"), &target) ||
        !policy_read_list(c, GOLDEN_IN(c, "default"), &fallback))
        return;
    struct vpa_scaled_limits got =
        vpa_scale_limits(c->arena, &limits, &requests, &target, &fallback);

    if (is_overflow(c)) {
        compare_artefact(c);
        for (size_t i = 0; i < got.limits.count; i++)
            check_sign(c, got.limits.items[i].name, &got.limits.items[i].quantity);
        return;
    }
    golden_json(c, "limits", GOLDEN_OUT(c, "limits"),
                got.limits.present ? policy_list_text(c, &got.limits) : "null");
    golden_count(c, "formats", GOLDEN_OUT(c, "formats"), got.limits.count);
    if (!GOLDEN_OUT(c, "annotations"))
        golden_difference(c, "annotations", "a list", "absent");
    golden_count(c, "annotations", GOLDEN_OUT(c, "annotations"), got.note_count);
    for (size_t i = 0; i < got.limits.count; i++) {
        const char *name = got.limits.items[i].name;
        golden_text(c, golden_label(c, "formats.%s", name),
                    vpa_json_find(GOLDEN_OUT(c, "formats"), name),
                    formats[got.limits.items[i].quantity.format]);
    }
    size_t i = 0;
    vpa_json_foreach (want, GOLDEN_OUT(c, "annotations")) {
        golden_text(c, golden_label(c, "annotations[%zu]", i), want,
                    i < got.note_count ? got.notes[i] : NULL);
        i++;
    }
    for (; i < got.note_count; i++)
        golden_unexpected(c, golden_label(c, "annotations[%zu]", i), got.notes[i]);
}

static void run(struct golden_case *c)
{
    if (strcmp(c->file, "proportional") == 0)
        run_proportional(c);
    else if (strcmp(c->file, "boundary") == 0)
        run_boundary(c);
    else
        run_scale(c);
}

const struct golden_set golden_set_limit_scaling = {.name = "limit_scaling", .run = run};
