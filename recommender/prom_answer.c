/*
 * Prometheus answers.
 *
 * An answer is one JSON document {"status","data":{"resultType","result"},"errorType","error"}.
 * HTTP 400 and 422 carry such a document too, every other status outside 2xx is an error by itself.
 * Only a matrix is of use: a list of series, each a set of labels and pairs of time (a JSON number)
 * and value (a string, so that NaN and the infinities have a form).
 */
#include <ctype.h>
#include <string.h>

#include "prometheus.h"

#include "vpa/base/math.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"

void prom_format_metric(const struct vpa_labels *labels, struct vpa_buf *out)
{
    const char *name = vpa_labels_get(labels, "__name__");
    bool first = true;

    if (name)
        vpa_buf_puts(out, name);
    if (name && labels->count == 1)
        return;
    vpa_buf_putc(out, '{');
    for (size_t i = 0; i < labels->count; i++) {
        if (strcmp(labels->items[i].key, "__name__") == 0)
            continue;
        if (!first)
            vpa_buf_puts(out, ", ");
        first = false;
        vpa_buf_printf(out, "%s=", labels->items[i].key);
        vpa_quote_go(out, labels->items[i].value);
    }
    vpa_buf_putc(out, '}');
}

/* "-12.0345": whole milliseconds, further decimals cut. No exponent. */
static bool parse_millis(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    const char *p = text + (negative ? 1 : 0);
    int64_t whole = 0;
    int64_t fraction = 0;
    int digits = 0;

    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, *p - '0', &whole))
            return false;
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++)
            if (digits < 3) {
                fraction = fraction * 10 + (*p - '0');
                digits++;
            }
    if (*p != '\0')
        return false;
    for (; digits < 3; digits++)
        fraction *= 10;
    if (__builtin_mul_overflow(whole, 1000, &whole) ||
        __builtin_add_overflow(whole, fraction, &whole))
        return false;
    *out = negative ? -whole : whole;
    return true;
}

static int parse_sample(const struct vpa_json *node, struct prom_sample *out, struct vpa_error *err)
{
    if (!vpa_json_is_array(node) || vpa_json_count(node) != 2)
        return vpa_fail(err, VPA_INVALID, "sample is not a pair of time and value");

    const struct vpa_json *time = vpa_json_first(node);
    const struct vpa_json *value = vpa_json_next(time);
    const char *time_text = vpa_json_number_text(time);
    const char *value_text = vpa_json_string(value);
    if (!time_text || !parse_millis(time_text, &out->millis))
        return vpa_fail(err, VPA_INVALID, "invalid sample time");
    if (!value_text)
        return vpa_fail(err, VPA_INVALID, "sample value is %s, not a string",
                        vpa_json_type_name(value));
    if (vpa_double_parse(value_text, &out->value, err) < 0)
        return vpa_wrap(err, "sample value");
    return 0;
}

static int parse_series(struct vpa_arena *arena, const struct vpa_json *node,
                        struct prom_series *out, struct vpa_error *err)
{
    const struct vpa_json *values = vpa_json_find(node, "values");
    struct prom_sample *samples = NULL;
    size_t count = 0;

    if (!vpa_json_is_object(node))
        return vpa_fail(err, VPA_INVALID, "series is %s, not an object", vpa_json_type_name(node));
    if (vpa_labels_decode(arena, vpa_json_find(node, "metric"), &out->labels, err) < 0)
        return vpa_wrap(err, "metric");
    if (!vpa_json_is_null(values) && !vpa_json_is_array(values))
        return vpa_fail(err, VPA_INVALID, "values is %s, not an array", vpa_json_type_name(values));
    if (vpa_json_count(values) > 0)
        samples = vpa_arena_alloc(arena, vpa_json_count(values) * sizeof *samples);
    vpa_json_foreach (value, values)
        if (parse_sample(value, &samples[count++], err) < 0)
            return -1;
    out->samples = samples;
    out->count = count;
    return 0;
}

static int check_status(int status, struct vpa_error *err)
{
    if (status / 100 == 2 || status == 400 || status == 422)
        return 0;
    if (status / 100 == 4)
        return vpa_fail(err, VPA_INVALID, "client_error: client error: %d", status);
    if (status / 100 == 5)
        return vpa_fail(err, VPA_INVALID, "server_error: server error: %d", status);
    return vpa_fail(err, VPA_INVALID, "bad_response: bad response code %d", status);
}

/* Finds data of the envelope. */
static int parse_envelope(struct vpa_arena *arena, int status, const char *body, size_t len,
                          const struct vpa_json **data, struct vpa_error *err)
{
    const struct vpa_json *root;
    struct vpa_error e;

    if (status == 204)
        return vpa_fail(err, VPA_INVALID, "no content");
    if (vpa_json_parse(arena, body, len, &root, &e) < 0)
        return vpa_fail(err, VPA_INVALID, "bad_response: %s", e.text);
    if (!vpa_json_is_object(root))
        return vpa_fail(err, VPA_INVALID, "bad_response: body is %s, not an object",
                        vpa_json_type_name(root));

    const char *word = vpa_or_empty(vpa_json_string(vpa_json_find(root, "status")));
    if (strcmp(word, "error") == 0)
        return vpa_fail(err, VPA_INVALID, "%s: %s",
                        vpa_or_empty(vpa_json_string(vpa_json_find(root, "errorType"))),
                        vpa_or_empty(vpa_json_string(vpa_json_find(root, "error"))));
    if ((status == 400 || status == 422) && strcmp(word, "success") == 0)
        return vpa_fail(err, VPA_INVALID, "bad_response: inconsistent body for response code");
    *data = vpa_json_find(root, "data");
    if (!vpa_json_is_object(*data))
        return vpa_fail(err, VPA_INVALID, "data is %s, not an object", vpa_json_type_name(*data));
    return 0;
}

static const char *go_type_of(const char *result_type)
{
    if (strcmp(result_type, "vector") == 0)
        return "model.Vector";
    if (strcmp(result_type, "scalar") == 0)
        return "*model.Scalar";
    return NULL;
}

/* The list of series, or NULL with err when the answer as a whole cannot be used. */
static int find_result(struct vpa_arena *arena, enum prom_kind kind, int status, const char *body,
                       size_t len, const struct vpa_json **result, struct vpa_error *err)
{
    const struct vpa_json *data = NULL;

    if (check_status(status, err) < 0 || parse_envelope(arena, status, body, len, &data, err) < 0)
        return vpa_wrap(err, "cannot get timeseries for %s", prom_kind_name(kind));

    const char *type = vpa_or_empty(vpa_json_string(vpa_json_find(data, "resultType")));
    *result = vpa_json_find(data, "result");
    if (go_type_of(type))
        return vpa_fail(err, VPA_INVALID, "expected query to return a matrix; got result type %s",
                        go_type_of(type));
    if (strcmp(type, "matrix") != 0)
        return vpa_fail(err, VPA_INVALID,
                        "cannot get timeseries for %s: unexpected value type \"%s\"",
                        prom_kind_name(kind), type);
    if (!vpa_json_is_array(*result))
        return vpa_fail(err, VPA_INVALID,
                        "cannot get timeseries for %s: result is %s, not an array",
                        prom_kind_name(kind), vpa_json_type_name(*result));
    return 0;
}

int prom_parse_answer(enum prom_kind kind, int status, const char *body, size_t len,
                      prom_series_fn on_series, void *ctx, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    vpa_auto_arena scratch = {0};
    const struct vpa_json *result = NULL;

    if (find_result(&arena, kind, status, body, len, &result, err) < 0)
        return -1;
    vpa_json_foreach (node, result) {
        struct prom_series series = {0};

        if (parse_series(&scratch, node, &series, err) < 0)
            return vpa_wrap(err, "cannot get timeseries for %s", prom_kind_name(kind));
        if (on_series(ctx, &series, err) < 0)
            return -1;
        vpa_arena_clear(&scratch);
    }
    return 0;
}
