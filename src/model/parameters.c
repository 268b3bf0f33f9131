/*
 * Values of parameters: from texts, checked against the table of their algorithm.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm_private.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"

/* Longest list of keys in an error. */
#define KEYS_TEXT_MAX 900

/* ---- one value ---- */

/* A Go duration, or whole days with a sign: 7d, -1d, 007d. */
static int parse_days(const char *text, vpa_duration *out, struct vpa_error *err)
{
    size_t len = strlen(text);
    int64_t days;

    if (len < 2 || text[len - 1] != 'd')
        return vpa_duration_parse(text, out, err);
    vpa_auto_free char *number = vpa_xstrndup(text, len - 1);
    const char *digits = *number == '+' ? number + 1 : number;
    if (vpa_parse_int64(digits, &days, err) < 0)
        return -1;
    if (__builtin_mul_overflow(days, 24 * VPA_HOUR, out))
        return vpa_fail(err, VPA_INVALID, "duration \"%s\" is too long", text);
    return 0;
}

static int check_range(const struct vpa_parameter *p, double x, const char *text,
                       struct vpa_error *err)
{
    char least[VPA_DOUBLE_TEXT_MAX], most[VPA_DOUBLE_TEXT_MAX];
    const char *unit = p->type == VPA_PARAMETER_DURATION ? " seconds" : "";

    if (x >= p->least && x <= p->most)
        return 0;
    vpa_double_format_json(p->least, least);
    vpa_double_format_json(p->most, most);
    return vpa_fail(err, VPA_INVALID, "%s: %.64s is not within %s to %s%s", p->key, text, least,
                    most, unit);
}

static int read_number(const struct vpa_parameter *p, const char *text,
                       struct vpa_parameter_value *out, struct vpa_error *err)
{
    if (vpa_double_parse(text, &out->number, NULL) < 0 || !isfinite(out->number))
        return vpa_fail(err, VPA_INVALID, "%s: \"%.64s\" is not a number", p->key, text);
    return check_range(p, out->number, text, err);
}

static int read_duration(const struct vpa_parameter *p, const char *text,
                         struct vpa_parameter_value *out, struct vpa_error *err)
{
    if (parse_days(text, &out->duration, NULL) < 0)
        return vpa_fail(err, VPA_INVALID,
                        "%s: \"%.64s\" is not a duration; write 1h30m, or whole days as 7d", p->key,
                        text);
    out->number = (double)out->duration / (double)VPA_SECOND;
    return check_range(p, out->number, text, err);
}

static int read_bool(const struct vpa_parameter *p, const char *text,
                     struct vpa_parameter_value *out, struct vpa_error *err)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return vpa_fail(err, VPA_INVALID, "%s: \"%.64s\" is neither true nor false", p->key, text);
    out->number = text[0] == 't';
    return 0;
}

static int read_text(const struct vpa_parameter *p, const char *text, struct vpa_error *err)
{
    const char *rest = p->choices;
    struct vpa_slice choice;

    if (p->check && p->check(text, err) < 0)
        return vpa_wrap(err, "%s", p->key);
    if (!p->choices)
        return 0;
    while (vpa_str_split(&rest, '|', &choice))
        if (vpa_slice_eq(choice, text))
            return 0;
    return vpa_fail(err, VPA_INVALID, "%s: \"%.64s\" is not one of %s", p->key, text, p->choices);
}

static int read_value(const struct vpa_parameter *p, const char *text,
                      struct vpa_parameter_value *out, struct vpa_error *err)
{
    if (strlen(text) > VPA_PARAMETER_TEXT_MAX)
        return vpa_fail(err, VPA_INVALID, "%s: longer than %d bytes", p->key,
                        VPA_PARAMETER_TEXT_MAX);
    switch (p->type) {
    case VPA_PARAMETER_NUMBER:
        return read_number(p, text, out, err);
    case VPA_PARAMETER_DURATION:
        return read_duration(p, text, out, err);
    case VPA_PARAMETER_BOOL:
        return read_bool(p, text, out, err);
    case VPA_PARAMETER_TEXT:
        break;
    }
    return read_text(p, text, err);
}

/* ---- all values ---- */

void vpa_parameters_init(struct vpa_parameters *p, const struct vpa_algorithm *a)
{
    p->algorithm = a;
    p->values = vpa_xcalloc(a->parameter_count + 1, sizeof(*p->values));
    for (size_t i = 0; i < a->parameter_count; i++) {
        int rc = read_value(&a->parameters[i], a->parameters[i].preset, &p->values[i], NULL);
        (void)rc; /* presets are constants, which a test reads */
        p->values[i].text = vpa_xstrdup(a->parameters[i].preset);
    }
}

void vpa_parameters_release(struct vpa_parameters *p)
{
    for (size_t i = 0; p->values && i < p->algorithm->parameter_count; i++)
        free(p->values[i].text);
    free(p->values);
    *p = (struct vpa_parameters){0};
}

void vpa_parameters_copy(struct vpa_parameters *p, const struct vpa_parameters *from)
{
    size_t count = from->algorithm->parameter_count;

    p->algorithm = from->algorithm;
    p->values = vpa_xcalloc(count + 1, sizeof(*p->values));
    for (size_t i = 0; i < count; i++) {
        p->values[i] = from->values[i];
        p->values[i].text = vpa_xstrdup(from->values[i].text);
    }
}

static size_t find_key(const struct vpa_algorithm *a, const char *key)
{
    size_t i = 0;

    while (i < a->parameter_count && strcmp(a->parameters[i].key, key) != 0)
        i++;
    return i;
}

static int fail_unknown(const struct vpa_algorithm *a, const char *key, struct vpa_error *err)
{
    vpa_auto_buf keys = VPA_BUF(KEYS_TEXT_MAX);

    for (size_t i = 0; i < a->parameter_count; i++)
        vpa_buf_printf(&keys, "%s%s", i ? ", " : "", a->parameters[i].key);
    return vpa_fail(err, VPA_NOT_FOUND, "%.64s: no such parameter of algorithm %s, which has: %s",
                    key, a->name, a->parameter_count ? vpa_buf_text(&keys) : "none");
}

int vpa_parameters_set(struct vpa_parameters *p, const char *key, const char *text,
                       struct vpa_error *err)
{
    const struct vpa_algorithm *a = p->algorithm;
    struct vpa_parameter_value value = {0};
    size_t i = find_key(a, key);

    if (i == a->parameter_count)
        return fail_unknown(a, key, err);
    if (read_value(&a->parameters[i], text, &value, err) < 0)
        return -1;
    value.text = vpa_xstrdup(text);
    free(p->values[i].text);
    p->values[i] = value;
    return 0;
}

const char *vpa_parameter_of_annotation(const struct vpa_algorithm *a, const char *annotation)
{
    size_t prefix = strlen(a->name);

    if (strncmp(annotation, a->name, prefix) != 0 ||
        !vpa_str_starts_with(annotation + prefix, VPA_PARAMETER_ANNOTATION_SUFFIX))
        return NULL;
    return annotation + prefix + strlen(VPA_PARAMETER_ANNOTATION_SUFFIX);
}

int vpa_parameters_annotate(struct vpa_parameters *p, const struct vpa_labels *annotations,
                            struct vpa_error *err)
{
    int result = 0;

    for (size_t i = 0; i < annotations->count; i++) {
        const struct vpa_label *a = &annotations->items[i];
        const char *key = vpa_parameter_of_annotation(p->algorithm, a->key);
        struct vpa_error wrong;

        if (!key || vpa_parameters_set(p, key, a->value, &wrong) == 0 || result < 0)
            continue;
        result = vpa_fail(err, VPA_INVALID, "annotation %s" VPA_PARAMETER_ANNOTATION_SUFFIX "%s",
                          p->algorithm->name, wrong.text);
    }
    return result;
}

const char *vpa_parameters_text(const struct vpa_parameters *p, const char *key)
{
    size_t i = find_key(p->algorithm, key);

    return i == p->algorithm->parameter_count ? NULL : p->values[i].text;
}

bool vpa_parameters_equal(const struct vpa_parameters *a, const struct vpa_parameters *b)
{
    if (a->algorithm != b->algorithm)
        return false;
    for (size_t i = 0; i < a->algorithm->parameter_count; i++) {
        if (strcmp(a->values[i].text, b->values[i].text) != 0)
            return false;
    }
    return true;
}
