/*
 * Set gomath: elementary functions, amounts and the texts of doubles, compared by their bits.
 */
#include <math.h>
#include <string.h>

#include "golden.h"
#include "vpa/base/math.h"
#include "vpa/model/amount.h"

static double bits(struct golden_case *c, const char *name)
{
    double x = 0;

    if (!golden_read_bits(GOLDEN_IN(c, name), &x))
        golden_difference(c, name, "16 hex digits", "something else");
    return x;
}

static void run_round(struct golden_case *c)
{
    double x = bits(c, "x");

    golden_bits(c, "floor", GOLDEN_OUT(c, "floor"), floor(x));
    golden_bits(c, "ceil", GOLDEN_OUT(c, "ceil"), ceil(x));
    golden_int(c, "hround", GOLDEN_OUT(c, "hround"), vpa_hround(x));
    golden_int(c, "trunc", GOLDEN_OUT(c, "trunc"), vpa_trunc_int64(x));
}

static void run_amount(struct golden_case *c)
{
    double x = bits(c, "x");

    golden_int(c, "to_amount", GOLDEN_OUT(c, "to_amount"), vpa_amount_from_double(x));
    golden_int(c, "cpu_from_cores", GOLDEN_OUT(c, "cpu_from_cores"), vpa_amount_from_cores(x));
    golden_int(c, "mem_from_bytes", GOLDEN_OUT(c, "mem_from_bytes"), vpa_amount_from_bytes(x));
}

static void run_json_double(struct golden_case *c)
{
    char text[VPA_DOUBLE_TEXT_MAX];
    double x = bits(c, "bits");

    vpa_double_format_json(x, text);
    golden_text(c, "text", GOLDEN_OUT(c, "text"), text);
}

/* As a field of an object is decoded: null leaves 0, anything but a number is an error. */
static void run_parse_double(struct golden_case *c)
{
    const char *text = golden_in_text(c, "text");
    const struct vpa_json *node;
    struct vpa_error err;
    double x = 0;
    bool ok = vpa_json_parse(c->arena, text, strlen(text), &node, &err) == 0 &&
              (vpa_json_is_null(node) || vpa_json_double(node, &x));

    golden_marker(c, "error");
    if (GOLDEN_OUT(c, "error")) {
        if (ok)
            golden_difference(c, "error", "an error", golden_label(c, "%a", x));
        return;
    }
    if (!ok)
        golden_difference(c, "error", "none", "an error");
    else
        golden_bits(c, "bits", GOLDEN_OUT(c, "bits"), x);
}

/*
 * Vectors of exp are for information: the product calls no exp, and the reference's last digit
 * depends on the processor. The C library must agree up to that digit, which at least shows that
 * they are read right.
 */
static void run_exp(struct golden_case *c)
{
    double want = 0, x = bits(c, "x");

    golden_read_bits(GOLDEN_OUT(c, "bits"), &want);
    golden_compared(c, GOLDEN_OUT(c, "bits"));
    double got = exp(x);
    if (got != nextafter(want, 0) && got != nextafter(want, INFINITY))
        golden_bits(c, "bits", GOLDEN_OUT(c, "bits"), got);
}

static void run(struct golden_case *c)
{
    const struct vpa_json *want = GOLDEN_OUT(c, "bits");

    if (strcmp(c->file, "pow") == 0)
        golden_bits(c, "bits", want, vpa_pow(bits(c, "x"), vpa_trunc_int64(bits(c, "y"))));
    else if (strcmp(c->file, "exp2") == 0)
        golden_bits(c, "bits", want, vpa_exp2(bits(c, "x")));
    else if (strcmp(c->file, "log") == 0)
        golden_bits(c, "bits", want, vpa_log(bits(c, "x")));
    else if (strcmp(c->file, "logb") == 0)
        golden_bits(c, "bits", want, vpa_log_base(bits(c, "base"), bits(c, "x")));
    else if (strcmp(c->file, "ldexp") == 0)
        golden_bits(c, "bits", want, vpa_ldexp(bits(c, "x"), golden_in_int(c, "e")));
    else if (strcmp(c->file, "round") == 0)
        run_round(c);
    else if (strcmp(c->file, "amount") == 0)
        run_amount(c);
    else if (strcmp(c->file, "scale") == 0)
        golden_int(c, "scaled", GOLDEN_OUT(c, "scaled"),
                   vpa_amount_scale(golden_in_int(c, "amount"), bits(c, "factor")));
    else if (strcmp(c->file, "json_double") == 0)
        run_json_double(c);
    else if (strcmp(c->file, "parse_double") == 0)
        run_parse_double(c);
    else if (strcmp(c->file, "exp") == 0)
        run_exp(c);
    else
        golden_skip(c, "unknown file %s", c->file);
}

const struct golden_set golden_set_gomath = {.name = "gomath", .run = run};
