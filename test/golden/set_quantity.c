/*
 * Set quantity: parsing, canonical and remembered texts, arithmetic, comparison, JSON forms.
 */
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "vpa/api/resources.h"
#include "vpa/base/quantity.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

static const char *const format_names[] = {"DecimalSI", "BinarySI", "DecimalExponent"};

static enum vpa_quantity_format read_format(const char *name)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(name, format_names[i]) == 0)
            return (enum vpa_quantity_format)i;
    return VPA_DECIMAL_SI;
}

static const char *form_of(const struct vpa_quantity *q)
{
    return q->big ? "big" : "fast";
}

static const char *text_of(struct golden_case *c, const struct vpa_quantity *q)
{
    return vpa_quantity_text(c->arena, q);
}

static bool parse(struct golden_case *c, const char *text, struct vpa_quantity *q)
{
    struct vpa_error err;

    if (vpa_quantity_parse(c->arena, text, q, &err) == 0)
        return true;
    golden_difference(c, "error", "none", err.text);
    return false;
}

/* Whether out lists the number ("value", "milli") among those that upstream overflows or gets
 * wrong. */
static bool listed(const struct vpa_json *out, const char *list, const char *name)
{
    vpa_json_foreach (item, vpa_json_find(out, list)) {
        if (vpa_str_eq(vpa_json_string(item), name))
            return true;
    }
    return false;
}

/*
 * Whether upstream's thousandths are a number to follow. Beyond int64 they wrap there and saturate
 * here; those of negative numbers in the big form are garbage there. parse.jsonl lists both kinds
 * case by case, the other files do not.
 */
static bool milli_is_right(const struct vpa_quantity *q)
{
    int64_t milli = vpa_quantity_milli_value(q);

    return milli != INT64_MAX && milli != INT64_MIN && !(q->big && vpa_quantity_sign(q) < 0);
}

/* The lists themselves: they name numbers of the case, and what is beyond int64 saturates (U15). */
static void compare_number(struct golden_case *c, const char *name, int64_t got)
{
    const struct vpa_json *want = GOLDEN_OUT(c, name);
    bool overflow = listed(c->out, "overflow", name);
    int64_t theirs;

    if (!overflow && !listed(c->out, "wrong", name)) {
        golden_int(c, name, want, got);
        return;
    }
    golden_compared(c, want);
    golden_exempt(c, 1);
    if (!golden_read_int(want, &theirs))
        golden_difference(c, name, "a number", "none");
    if (overflow && got != INT64_MAX && got != INT64_MIN)
        golden_int(c, name, want, got);
}

static void compare_lists(struct golden_case *c)
{
    static const char *const names[] = {"value", "milli", NULL};

    vpa_json_foreach (name, GOLDEN_OUT(c, "overflow"))
        golden_one_of(c, "overflow", name, names);
    vpa_json_foreach (name, GOLDEN_OUT(c, "wrong"))
        golden_one_of(c, "wrong", name, names);
}

/* The reference's conversions that we have no use for: they must fit the amount as far as one can
 * see. */
static void compare_conversions(struct golden_case *c, const struct vpa_quantity *q)
{
    static const char *const doubles[] = {"approx", "float"};
    const struct vpa_json *whole = GOLDEN_OUT(c, "as_int64");
    struct vpa_quantity billions = *q;
    double x;

    for (size_t i = 0; i < VPA_COUNT(doubles); i++) {
        golden_compared(c, GOLDEN_OUT(c, doubles[i]));
        if (!golden_read_double(GOLDEN_OUT(c, doubles[i]), &x) ||
            (x > 0) - (x < 0) != vpa_quantity_sign(q))
            golden_difference(c, doubles[i], "a double of that sign", "another");
    }
    golden_compared(c, whole);
    if (!whole)
        golden_difference(c, "as_int64", "a number or null", "absent");
    else if (!vpa_json_is_null(whole))
        golden_int(c, "as_int64", whole, vpa_quantity_value(q));
    vpa_quantity_mul(c->arena, &billions, 1000 * 1000 * 1000);
    int64_t nano = vpa_quantity_value(&billions);
    bool fits = nano != INT64_MAX && nano != INT64_MIN;
    if (fits || GOLDEN_OUT(c, "nano"))
        golden_int(c, "nano", GOLDEN_OUT(c, "nano"), nano);
}

static void run_parse(struct golden_case *c)
{
    const char *text = golden_in_text(c, "text");
    struct vpa_quantity q;
    struct vpa_error err;
    vpa_auto_buf canonical = VPA_BUF(8192);

    if (vpa_quantity_parse(c->arena, text, &q, &err) < 0) {
        golden_text(c, "error", GOLDEN_OUT(c, "error"), err.text);
        return;
    }
    golden_text(c, "error", GOLDEN_OUT(c, "error"), NULL);
    golden_text(c, "string", GOLDEN_OUT(c, "string"), text_of(c, &q));
    vpa_quantity_canonical(&q, &canonical);
    golden_text(c, "canonical", GOLDEN_OUT(c, "canonical"), vpa_buf_text(&canonical));
    golden_text(c, "format", GOLDEN_OUT(c, "format"), format_names[q.format]);
    golden_text(c, "form", GOLDEN_OUT(c, "form"), form_of(&q));
    golden_int(c, "sign", GOLDEN_OUT(c, "sign"), vpa_quantity_sign(&q));
    compare_number(c, "value", vpa_quantity_value(&q));
    compare_number(c, "milli", vpa_quantity_milli_value(&q));
    golden_bool(c, "exact_unit", GOLDEN_OUT(c, "exact_unit"), vpa_quantity_is_whole(&q));
    golden_bool(c, "exact_milli", GOLDEN_OUT(c, "exact_milli"), vpa_quantity_is_whole_milli(&q));
    compare_lists(c);
    compare_conversions(c, &q);

    vpa_auto_buf json = VPA_BUF(8192);
    struct vpa_json_writer w;
    vpa_json_writer_init(&w, &json);
    vpa_json_put_quantity(&w, &q);
    golden_text(c, "json", GOLDEN_OUT(c, "json"), vpa_buf_text(&json));
}

static void compare_result(struct golden_case *c, const char *name, const struct vpa_quantity *q)
{
    const struct vpa_json *want = GOLDEN_OUT(c, name);

    golden_text(c, golden_label(c, "%s.string", name), vpa_json_find(want, "string"),
                text_of(c, q));
    golden_text(c, golden_label(c, "%s.format", name), vpa_json_find(want, "format"),
                format_names[q->format]);
    golden_text(c, golden_label(c, "%s.form", name), vpa_json_find(want, "form"), form_of(q));
}

static void run_pairs(struct golden_case *c)
{
    struct vpa_quantity a, b, sum, difference;

    if (!parse(c, golden_in_text(c, "a"), &a) || !parse(c, golden_in_text(c, "b"), &b))
        return;
    golden_int(c, "cmp", GOLDEN_OUT(c, "cmp"), vpa_quantity_cmp(&a, &b));
    golden_int(c, "cmp_reverse", GOLDEN_OUT(c, "cmp_reverse"), vpa_quantity_cmp(&b, &a));
    golden_text(c, "a_after_cmp", GOLDEN_OUT(c, "a_after_cmp"), text_of(c, &a));
    sum = difference = a;
    vpa_quantity_add(c->arena, &sum, &b);
    compare_result(c, "add", &sum);
    vpa_quantity_sub(c->arena, &difference, &b);
    compare_result(c, "sub", &difference);
}

static void run_sum(struct golden_case *c)
{
    struct vpa_quantity sum = {0}, term;

    vpa_json_foreach (text, GOLDEN_IN(c, "terms")) {
        if (!parse(c, vpa_or_empty(vpa_json_string(text)), &term))
            return;
        vpa_quantity_add(c->arena, &sum, &term);
    }
    golden_text(c, "string", GOLDEN_OUT(c, "string"), text_of(c, &sum));
    golden_text(c, "format", GOLDEN_OUT(c, "format"), format_names[sum.format]);
}

static void run_construct(struct golden_case *c)
{
    const char *ctor = golden_in_text(c, "ctor");
    const char *format_name = vpa_json_string(GOLDEN_IN(c, "format"));
    enum vpa_quantity_format format = read_format(vpa_or_empty(format_name));
    int64_t n = golden_in_int(c, "n");
    struct vpa_quantity q;

    if (strcmp(ctor, "unit") == 0)
        q = vpa_quantity_units(n, format);
    else if (strcmp(ctor, "milli") == 0)
        q = vpa_quantity_scaled(n, -3, format);
    else
        q = vpa_quantity_scaled(n, (int32_t)golden_in_int(c, "scale"), format);
    golden_text(c, "string", GOLDEN_OUT(c, "string"), text_of(c, &q));
    compare_number(c, "value", vpa_quantity_value(&q));
    compare_number(c, "milli", vpa_quantity_milli_value(&q));
    compare_lists(c);
}

static void run_ops(struct golden_case *c)
{
    struct vpa_quantity q, changed;

    if (!parse(c, golden_in_text(c, "text"), &q))
        return;
    golden_bool(c, "is_zero", GOLDEN_OUT(c, "is_zero"), vpa_quantity_is_zero(&q));
    changed = q;
    vpa_quantity_neg(c->arena, &changed);
    golden_text(c, "neg", GOLDEN_OUT(c, "neg"), text_of(c, &changed));
    if (milli_is_right(&q))
        golden_double(c, "per_vpa_double", GOLDEN_OUT(c, "per_vpa_double"),
                      (double)vpa_quantity_milli_value(&q) / 1000);
    golden_count(c, "cmp_int", GOLDEN_OUT(c, "cmp_int"), 6); /* what the reference was asked */
    golden_count(c, "mul", GOLDEN_OUT(c, "mul"), 7);
    golden_count(c, "round_up", GOLDEN_OUT(c, "round_up"), 2);
    vpa_json_foreach (want, GOLDEN_OUT(c, "cmp_int")) {
        const char *n = vpa_json_name(want);
        golden_int(c, golden_label(c, "cmp_int.%s", n), want,
                   vpa_quantity_cmp_int64(&q, strtoll(n, NULL, 10)));
    }
    vpa_json_foreach (want, GOLDEN_OUT(c, "mul")) {
        const char *n = vpa_json_name(want);
        changed = q;
        bool ok = vpa_quantity_mul(c->arena, &changed, strtoll(n, NULL, 10));
        golden_text(c, golden_label(c, "mul.%s.string", n), vpa_json_find(want, "string"),
                    text_of(c, &changed));
        golden_bool(c, golden_label(c, "mul.%s.ok", n), vpa_json_find(want, "ok"), ok);
    }
    vpa_json_foreach (want, GOLDEN_OUT(c, "round_up")) {
        const char *scale = vpa_json_name(want);
        changed = q;
        bool exact = vpa_quantity_round_up(c->arena, &changed, (int32_t)strtol(scale, NULL, 10));
        golden_text(c, golden_label(c, "round_up.%s.string", scale), vpa_json_find(want, "string"),
                    text_of(c, &changed));
        golden_bool(c, golden_label(c, "round_up.%s.exact", scale), vpa_json_find(want, "exact"),
                    exact);
    }
}

/* A quantity as the value of minAllowed.cpu in a VPA object; error texts are for information. */
static void run_json(struct golden_case *c)
{
    static const char *const no_formats[] = {"", NULL};
    static const char *const complaints[] = {"quantities must match the regular expression "
                                             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
                                             "unable to parse quantity's suffix",
                                             "unable to parse numeric part of quantity", NULL};
    const char *text = golden_in_text(c, "json");
    const struct vpa_json *node;
    struct vpa_resource_list list = {.present = true};
    struct vpa_quantity q;
    struct vpa_error err;
    vpa_auto_buf json = VPA_BUF(8192);
    struct vpa_json_writer w;

    if (vpa_json_parse(c->arena, text, strlen(text), &node, &err) < 0 ||
        vpa_quantity_decode(c->arena, node, &q, &err) < 0) {
        golden_bool(c, "error", GOLDEN_OUT(c, "error"), true);
        golden_one_of(c, "text", GOLDEN_OUT(c, "text"), complaints);
        return;
    }
    golden_text(c, "error", GOLDEN_OUT(c, "error"), NULL);
    if (vpa_json_is_null(node)) /* of null the reference keeps no format, which nothing shows */
        golden_one_of(c, "format", GOLDEN_OUT(c, "format"), no_formats);
    else
        golden_text(c, "format", GOLDEN_OUT(c, "format"), format_names[q.format]);
    golden_text(c, "string", GOLDEN_OUT(c, "string"), text_of(c, &q));
    if (milli_is_right(&q)) {
        compare_number(c, "milli", vpa_quantity_milli_value(&q));
    } else {
        golden_compared(c, GOLDEN_OUT(c, "milli"));
        golden_exempt(c, 1);
    }
    vpa_resource_set(c->arena, &list, VPA_CPU, q);
    vpa_json_writer_init(&w, &json);
    vpa_resource_list_encode(&w, &list);
    golden_text(c, "map_json", GOLDEN_OUT(c, "map_json"), vpa_buf_text(&json));
}

static void run(struct golden_case *c)
{
    static const struct {
        const char *file;
        void (*run)(struct golden_case *c);
    } files[] = {
        {"parse", run_parse},         {"pairs", run_pairs}, {"sum", run_sum},
        {"construct", run_construct}, {"ops", run_ops},     {"json", run_json},
    };

    for (size_t i = 0; i < VPA_COUNT(files); i++)
        if (strcmp(files[i].file, c->file) == 0) {
            files[i].run(c);
            return;
        }
    golden_skip(c, "unknown file %s", c->file);
}

/* Doubles of thousandths that are garbage there (milli_is_right). */
static const char *const information[] = {"per_vpa_double.num", "per_vpa_double.hex", NULL};

const struct golden_set golden_set_quantity = {
    .name = "quantity", .run = run, .information = information};
