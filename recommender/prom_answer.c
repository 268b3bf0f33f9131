/*
 * Prometheus answers.
 *
 * An answer is one JSON document {"status","data":{"resultType","result"},"errorType","error"}.
 * HTTP 400 and 422 carry such a document too, every other status outside 2xx is an error by itself.
 * Only a matrix is of use: a list of series, each a set of labels and pairs of time (a JSON number)
 * and value (a string, so that NaN and the infinities have a form). It is read series by series as
 * it comes, and a series sample by sample, so that no tree is made of either. What a series says is
 * held against the answer only after the answer was judged as a whole, since its status may come
 * last.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "prom_list.h"
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

/* ---- one series ---- */

struct samples {
    struct prom_sample *items; /* heap */
    size_t count;
    size_t capacity;
    struct vpa_arena scratch;
    bool failed;
    struct vpa_error err;
};

static int parse_text(struct vpa_arena *arena, const char *text, size_t len,
                      const struct vpa_json **node, struct vpa_error *err)
{
    struct vpa_error e;

    if (vpa_json_parse(arena, text, len, node, &e) < 0)
        return vpa_fail(err, VPA_INVALID, "bad_response: %s", e.text);
    return 0;
}

static bool on_sample(void *ctx, const char *text, size_t len)
{
    struct samples *s = ctx;
    const struct vpa_json *node = NULL;

    vpa_arena_clear(&s->scratch);
    VPA_GROW(s->items, s->count, s->capacity);
    s->failed = parse_text(&s->scratch, text, len, &node, &s->err) < 0 ||
                parse_sample(node, &s->items[s->count++], &s->err) < 0;
    return !s->failed;
}

/* The series but for its samples. */
static int parse_metric(struct vpa_arena *arena, const struct prom_list *list,
                        struct vpa_labels *labels, struct vpa_error *err)
{
    const struct vpa_json *node = NULL;

    if (parse_text(arena, vpa_buf_text(&list->around), list->around.len, &node, err) < 0)
        return -1;
    if (!vpa_json_is_object(node))
        return vpa_fail(err, VPA_INVALID, "series is %s, not an object", vpa_json_type_name(node));
    if (vpa_labels_decode(arena, vpa_json_find(node, "metric"), labels, err) < 0)
        return vpa_wrap(err, "metric");
    const struct vpa_json *values = vpa_json_find(node, "values");
    if (!vpa_json_is_null(values) && !vpa_json_is_array(values))
        return vpa_fail(err, VPA_INVALID, "values is %s, not an array", vpa_json_type_name(values));
    return 0;
}

/* What out has is the arena's and the samples'. */
static int parse_series(struct vpa_arena *arena, struct samples *samples, const char *text,
                        size_t len, struct prom_series *out, struct vpa_error *err)
{
    static const char *const path[] = {"values"};
    struct prom_list list;
    int result = -1;

    samples->count = 0;
    samples->failed = false;
    prom_list_init(&list, path, VPA_COUNT(path), len, on_sample, samples);
    if (prom_list_feed(&list, text, len) != PROM_LIST_FITS)
        vpa_fail(err, VPA_INVALID, "the labels of a series are too long");
    else
        result = parse_metric(arena, &list, &out->labels, err);
    if (result == 0 && samples->failed) {
        *err = samples->err;
        result = -1;
    } else if (result == 0 && list.damage) {
        result = vpa_fail(err, VPA_INVALID, "bad_response: the list of samples %s", list.damage);
    }
    prom_list_release(&list);
    out->samples = samples->items;
    out->count = samples->count;
    return result;
}

/* ---- the envelope ---- */

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

static int check_envelope(int status, const struct vpa_json *root, const struct vpa_json **data,
                          struct vpa_error *err)
{
    const char *word = vpa_json_text(root, "status");

    if (!vpa_json_is_object(root))
        return vpa_fail(err, VPA_INVALID, "bad_response: body is %s, not an object",
                        vpa_json_type_name(root));
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

/* -1 when the answer as a whole cannot be used. */
static int check_answer(const struct prom_list *list, enum prom_kind kind, int status,
                        struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root = NULL;
    const struct vpa_json *data = NULL;

    if (check_status(status, err) < 0)
        return vpa_wrap(err, "cannot get timeseries for %s", prom_kind_name(kind));
    if (status == 204)
        return vpa_fail(err, VPA_INVALID, "cannot get timeseries for %s: no content",
                        prom_kind_name(kind));
    if (parse_text(&arena, vpa_buf_text(&list->around), list->around.len, &root, err) < 0 ||
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
    const struct vpa_json *result = vpa_json_find(data, "result");
    if (!list->seen || !vpa_json_is_array(result))
        return vpa_fail(err, VPA_INVALID,
                        "cannot get timeseries for %s: result is %s, not an array",
                        prom_kind_name(kind), vpa_json_type_name(result));
    return 0;
}

/* ---- the answer ---- */

struct prom_reader {
    enum prom_kind kind;
    prom_series_fn on_series;
    void *ctx;
    size_t left; /* bytes that the answer may still have */
    struct prom_list list;
    struct samples samples; /* of the series in hand, as is: */
    struct vpa_arena scratch;
    bool failed; /* a series could not be taken; err says why */
    struct vpa_error err;
};

static int take_series(struct prom_reader *r, const char *text, size_t len)
{
    struct prom_series series = {0};

    vpa_arena_clear(&r->scratch);
    if (parse_series(&r->scratch, &r->samples, text, len, &series, &r->err) < 0)
        return vpa_wrap(&r->err, "cannot get timeseries for %s", prom_kind_name(r->kind));
    return r->on_series ? r->on_series(r->ctx, &series, &r->err) : 0;
}

static bool on_element(void *ctx, const char *text, size_t len)
{
    struct prom_reader *r = ctx;

    r->failed = take_series(r, text, len) < 0;
    return !r->failed;
}

struct prom_reader *prom_reader_new(enum prom_kind kind, size_t answer_max,
                                    prom_series_fn on_series, void *ctx)
{
    static const char *const path[] = {"data", "result"};
    struct prom_reader *r = vpa_xcalloc(1, sizeof(*r));

    r->kind = kind;
    r->on_series = on_series;
    r->ctx = ctx;
    r->left = answer_max;
    prom_list_init(&r->list, path, VPA_COUNT(path), PROM_SERIES_MAX, on_element, r);
    return r;
}

void prom_reader_free(struct prom_reader *r)
{
    if (!r)
        return;
    prom_list_release(&r->list);
    vpa_arena_release(&r->scratch);
    vpa_arena_release(&r->samples.scratch);
    free(r->samples.items);
    free(r);
}

int prom_reader_feed(struct prom_reader *r, const char *bytes, size_t len, struct vpa_error *err)
{
    static const char *const too_long[] = {
        [PROM_LIST_ELEMENT_LONG] = "a series is too long",
        [PROM_LIST_AROUND_LONG] = "answer without a list of series is too long",
    };

    if (len > r->left)
        return vpa_fail(err, VPA_LIMIT, "cannot get timeseries for %s: answer too long",
                        prom_kind_name(r->kind));
    r->left -= len;
    enum prom_list_fit fit = prom_list_feed(&r->list, bytes, len);
    if (fit != PROM_LIST_FITS)
        return vpa_fail(err, VPA_LIMIT, "cannot get timeseries for %s: bad_response: %s",
                        prom_kind_name(r->kind), too_long[fit]);
    return 0;
}

int prom_reader_finish(struct prom_reader *r, int status, struct vpa_error *err)
{
    if (check_answer(&r->list, r->kind, status, err) < 0)
        return -1;
    if (r->failed) {
        *err = r->err;
        return -1;
    }
    if (r->list.damage)
        return vpa_fail(err, VPA_INVALID,
                        "cannot get timeseries for %s: bad_response: the list of series %s",
                        prom_kind_name(r->kind), r->list.damage);
    return 0;
}

const char *prom_reader_warning(const struct prom_reader *r, struct vpa_arena *arena)
{
    const struct vpa_json *root = NULL;

    if (parse_text(arena, vpa_buf_text(&r->list.around), r->list.around.len, &root, NULL) < 0)
        return NULL;
    return vpa_json_string(vpa_json_first(vpa_json_find(root, "warnings")));
}

int prom_parse_answer(enum prom_kind kind, int status, const char *body, size_t len,
                      prom_series_fn on_series, void *ctx, struct vpa_error *err)
{
    struct prom_reader *r =
        prom_reader_new(kind, SIZE_MAX, status / 100 == 2 ? on_series : NULL, ctx);
    int result = prom_reader_feed(r, body, len, err);

    if (result == 0)
        result = prom_reader_finish(r, status, err);
    prom_reader_free(r);
    return result;
}
