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
    struct prom_sample *samples;
    size_t count = 0;

    if (!vpa_json_is_object(node))
        return vpa_fail(err, VPA_INVALID, "series is %s, not an object", vpa_json_type_name(node));
    if (vpa_labels_decode(arena, vpa_json_find(node, "metric"), &out->labels, err) < 0)
        return vpa_wrap(err, "metric");
    if (!vpa_json_is_null(values) && !vpa_json_is_array(values))
        return vpa_fail(err, VPA_INVALID, "values is %s, not an array", vpa_json_type_name(values));
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

/* ---- the list in the text ---- */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* p stands on the first quote. */
static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\')
            p++;
    return p < end ? p + 1 : end;
}

/* Behind the value that begins at p. */
static const char *skip_value(const char *p, const char *end)
{
    size_t depth = 0;

    while (p < end) {
        char c = *p;

        if (c == '"') {
            p = skip_string(p, end);
        } else if (c == '{' || c == '[') {
            depth++;
            p++;
        } else if (c == '}' || c == ']') {
            if (depth == 0)
                return p;
            depth--;
            p++;
        } else if (depth == 0 &&
                   (c == ',' || c == ':' || c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
            return p;
        } else {
            p++;
            continue;
        }
        if (depth == 0)
            return p;
    }
    return end;
}

/* Value of the last member of that name in the object that begins at p, or NULL. */
static const char *find_member(const char *p, const char *end, const char *name)
{
    const char *found = NULL;
    size_t name_len = strlen(name);

    if (!p || p == end || *p != '{')
        return NULL;
    for (p = skip_space(p + 1, end); p < end && *p == '"';) {
        const char *key = p + 1;
        const char *key_end = skip_string(p, end);
        const char *value = skip_space(key_end, end);

        if (value == end || *value != ':')
            return NULL;
        value = skip_space(value + 1, end);
        if ((size_t)(key_end - key) == name_len + 1 && memcmp(key, name, name_len) == 0)
            found = value;
        p = skip_space(skip_value(value, end), end);
        if (p < end && *p == ',')
            p = skip_space(p + 1, end);
    }
    return found && found < end ? found : NULL;
}

struct list_text { /* "[...]" of data.result */
    const char *begin;
    const char *end;
};

static bool find_list(const char *body, size_t len, struct list_text *out)
{
    const char *end = body + len;
    const char *data = find_member(skip_space(body, end), end, "data");
    const char *result = find_member(data, end, "result");

    if (!result || *result != '[')
        return false;
    *out = (struct list_text){result, skip_value(result, end)};
    return true;
}

/* ---- the envelope ---- */

/* Longest text without a list. */
#define ENVELOPE_MAX ((size_t)1 << 20)

/* The document with an empty list in the place of the real one. */
static int parse_without_list(struct vpa_arena *arena, const char *body, size_t len,
                              const struct list_text *list, const struct vpa_json **root,
                              struct vpa_error *err)
{
    vpa_auto_buf text = VPA_BUF(ENVELOPE_MAX);
    struct vpa_error e;

    if (list->begin) {
        vpa_buf_append(&text, body, (size_t)(list->begin - body));
        vpa_buf_puts(&text, "[]");
        vpa_buf_append(&text, list->end, (size_t)(body + len - list->end));
    } else {
        vpa_buf_append(&text, body, len);
    }
    if (vpa_buf_failed(&text))
        return vpa_fail(err, VPA_LIMIT,
                        "bad_response: answer without a list of series is too long");
    if (vpa_json_parse(arena, vpa_buf_text(&text), text.len, root, &e) < 0)
        return vpa_fail(err, VPA_INVALID, "bad_response: %s", e.text);
    if (!vpa_json_is_object(*root))
        return vpa_fail(err, VPA_INVALID, "bad_response: body is %s, not an object",
                        vpa_json_type_name(*root));
    return 0;
}

static int check_envelope(int status, const struct vpa_json *root, const struct vpa_json **data,
                          struct vpa_error *err)
{
    const char *word = vpa_json_text(root, "status");

    if (strcmp(word, "error") == 0)
        return vpa_fail(err, VPA_INVALID, "%s: %s", vpa_json_text(root, "errorType"),
                        vpa_json_text(root, "error"));
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

/* Finds the list of series; -1 when the answer as a whole cannot be used. */
static int open_answer(enum prom_kind kind, int status, const char *body, size_t len,
                       struct list_text *list, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root = NULL;
    const struct vpa_json *data = NULL;

    if (check_status(status, err) < 0)
        return vpa_wrap(err, "cannot get timeseries for %s", prom_kind_name(kind));
    if (status == 204)
        return vpa_fail(err, VPA_INVALID, "cannot get timeseries for %s: no content",
                        prom_kind_name(kind));
    *list = (struct list_text){0};
    find_list(body, len, list);
    if (parse_without_list(&arena, body, len, list, &root, err) < 0 ||
        check_envelope(status, root, &data, err) < 0)
        return vpa_wrap(err, "cannot get timeseries for %s", prom_kind_name(kind));

    const char *type = vpa_json_text(data, "resultType");
    if (go_type_of(type))
        return vpa_fail(err, VPA_INVALID, "expected query to return a matrix; got result type %s",
                        go_type_of(type));
    if (strcmp(type, "matrix") != 0)
        return vpa_fail(err, VPA_INVALID,
                        "cannot get timeseries for %s: unexpected value type \"%s\"",
                        prom_kind_name(kind), type);
    if (!list->begin)
        return vpa_fail(err, VPA_INVALID,
                        "cannot get timeseries for %s: result is %s, not an array",
                        prom_kind_name(kind), vpa_json_type_name(vpa_json_find(data, "result")));
    return 0;
}

const char *prom_answer_warning(struct vpa_arena *arena, const char *body, size_t len)
{
    const struct vpa_json *root = NULL;
    struct list_text list = {0};

    find_list(body, len, &list);
    if (parse_without_list(arena, body, len, &list, &root, NULL) < 0)
        return NULL;
    return vpa_json_string(vpa_json_first(vpa_json_find(root, "warnings")));
}

/* ---- the series ---- */

static int take_series(struct vpa_arena *scratch, enum prom_kind kind, const char *text, size_t len,
                       prom_series_fn on_series, void *ctx, struct vpa_error *err)
{
    const struct vpa_json *node = NULL;
    struct prom_series series = {0};
    struct vpa_error e;

    if (vpa_json_parse(scratch, text, len, &node, &e) < 0)
        return vpa_fail(err, VPA_INVALID, "cannot get timeseries for %s: bad_response: %s",
                        prom_kind_name(kind), e.text);
    if (parse_series(scratch, node, &series, err) < 0)
        return vpa_wrap(err, "cannot get timeseries for %s", prom_kind_name(kind));
    return on_series(ctx, &series, err);
}

int prom_parse_answer(enum prom_kind kind, int status, const char *body, size_t len,
                      prom_series_fn on_series, void *ctx, struct vpa_error *err)
{
    vpa_auto_arena scratch = {0};
    struct list_text list;

    if (open_answer(kind, status, body, len, &list, err) < 0)
        return -1;
    const char *p = skip_space(list.begin + 1, list.end);
    bool more = p < list.end && *p != ']';
    while (more) {
        const char *next = skip_value(p, list.end);

        if (take_series(&scratch, kind, p, (size_t)(next - p), on_series, ctx, err) < 0)
            return -1;
        vpa_arena_clear(&scratch);
        p = skip_space(next, list.end);
        more = p < list.end && *p == ',';
        if (more)
            p = skip_space(p + 1, list.end);
    }
    if (p + 1 != list.end || *p != ']')
        return vpa_fail(
            err, VPA_INVALID,
            "cannot get timeseries for %s: bad_response: the list of series does not end",
            prom_kind_name(kind));
    return 0;
}
