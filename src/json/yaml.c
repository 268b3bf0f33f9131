/*
 * YAML events become JSON text, and the JSON reader does the rest. Plain scalars are resolved as
 * the Kubernetes tools do (YAML 1.1 core: the words yes, no, on and off are booleans, 010 is
 * octal); quoted ones are strings whatever they look like. An alias is the JSON text of its anchor
 * once more. What aliases repeat is bounded, and merge keys are refused, so a small text cannot
 * mean a large one.
 */
#include "vpa/json/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "vpa/base/buf.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/json/json_writer.h"

/* The JSON text of an anchor's value, which is complete. */
struct anchor {
    size_t start, len;
    char name[];
};

struct reader {
    yaml_parser_t parser;
    struct vpa_table anchors; /* of this document, by name */
    size_t repeated;          /* bytes of JSON that its aliases stand for */
    struct vpa_arena *arena;
    struct vpa_error *err;
};

static int fail_at(struct reader *r, const yaml_mark_t *mark, const char *what)
{
    return vpa_fail(r->err, VPA_INVALID, "line %zu: %s", mark->line + 1, what);
}

static int next_event(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return 0;
    return fail_at(r, &r->parser.problem_mark,
                   r->parser.problem ? r->parser.problem : "not understood");
}

/* ---- scalars ---- */

/* The base of an integer's digits; *p moves behind its prefix. */
static unsigned take_base(const char **p)
{
    if (**p != '0' || (*p)[1] == '\0')
        return 10;
    switch (*++*p) {
    case 'x':
        ++*p;
        return 16;
    case 'b':
        ++*p;
        return 2;
    case 'o':
        ++*p;
        return 8;
    default:
        return 8;
    }
}

/* "0x1f", "0o17", "017", "0b11", "1_000", each with a sign; false when it is no 64-bit integer. */
static bool put_integer(struct vpa_json_writer *w, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    bool negative = *text == '-';
    const char *p = text + (*text == '-' || *text == '+');
    uint64_t n = 0, limit = negative ? (uint64_t)1 << 63 : UINT64_MAX;
    unsigned base = take_base(&p);

    if (*p == '\0' || *p == '_')
        return false;
    for (; *p; p++) {
        const char *at = memchr(digits, *p >= 'A' && *p <= 'F' ? *p + 32 : *p, base);

        if (*p == '_')
            continue;
        if (!at || n > (limit - (uint64_t)(at - digits)) / base)
            return false;
        n = n * base + (uint64_t)(at - digits);
    }
    if (negative)
        vpa_json_put_int(w, (int64_t)(0 - n));
    else
        vpa_json_put_uint(w, n);
    return true;
}

/* The YAML 1.1 pattern [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool looks_like_float(const char *p)
{
    size_t before, after = 0;

    p += *p == '-' || *p == '+';
    before = strspn(p, "0123456789");
    p += before;
    if (*p == '.') {
        after = strspn(++p, "0123456789");
        p += after;
    }
    if (before + after == 0)
        return false;
    if (*p == 'e' || *p == 'E') {
        p += p[1] == '-' || p[1] == '+' ? 2 : 1;
        after = strspn(p, "0123456789");
        if (after == 0)
            return false;
        p += after;
    }
    return *p == '\0';
}

/* 1: written, 0: not a float, -1: a float that JSON cannot hold. */
static int put_float(struct vpa_json_writer *w, const char *text)
{
    static const char *const endless[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf", "+.INF",
                                          "-.inf", "-.Inf", "-.INF", ".nan",  ".NaN",  ".NAN"};
    double x;

    if (vpa_str_is_in(text, endless, VPA_COUNT(endless)))
        return -1;
    if (!looks_like_float(text))
        return 0;
    x = strtod(text, NULL);
    if (isinf(x))
        return -1;
    vpa_json_put_double(w, x);
    return 1;
}

static int put_plain(struct reader *r, struct vpa_json_writer *w, const yaml_event_t *event,
                     const char *text)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                      "on",   "On",   "ON",   "y",   "Y"};
    static const char *const no[] = {"false", "False", "FALSE", "no", "No", "NO",
                                     "off",   "Off",   "OFF",   "n",  "N"};
    int written;

    if (vpa_str_is_in(text, nulls, VPA_COUNT(nulls))) {
        vpa_json_put_null(w);
    } else if (vpa_str_is_in(text, yes, VPA_COUNT(yes)) || vpa_str_is_in(text, no, VPA_COUNT(no))) {
        vpa_json_put_bool(w, vpa_str_is_in(text, yes, VPA_COUNT(yes)));
    } else if (!put_integer(w, text)) {
        written = put_float(w, text);
        if (written < 0)
            return fail_at(r, &event->start_mark, "number that JSON cannot hold");
        if (written == 0)
            vpa_json_put_string(w, text);
    }
    return 0;
}

/* The text of a scalar (libyaml terminates it); NULL when it holds a NUL of its own. */
static const char *scalar_text(struct reader *r, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    if (!memchr(text, '\0', event->data.scalar.length))
        return text;
    fail_at(r, &event->start_mark, "NUL in a string");
    return NULL;
}

static int put_scalar(struct reader *r, struct vpa_json_writer *w, const yaml_event_t *event)
{
    const char *text = scalar_text(r, event);
    const char *tag = (const char *)event->data.scalar.tag;

    if (!text)
        return -1;
    if (tag && strcmp(tag, YAML_STR_TAG) != 0)
        return fail_at(r, &event->start_mark, "tags are not supported");
    if (!tag && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return put_plain(r, w, event, text);
    vpa_json_put_string(w, text);
    return 0;
}

/* ---- anchors ---- */

static const char *anchor_of(const yaml_event_t *event)
{
    const yaml_char_t *name = event->type == YAML_SCALAR_EVENT ? event->data.scalar.anchor
                              : event->type == YAML_SEQUENCE_START_EVENT
                                  ? event->data.sequence_start.anchor
                                  : event->data.mapping_start.anchor;

    return (const char *)name;
}

/* A value that was written from start on; a name that is there already means the later one. */
static void keep_anchor(struct reader *r, const struct vpa_buf *text, size_t start,
                        const char *name)
{
    struct anchor *anchor = VPA_TABLE_MAKE(&r->anchors, name, struct anchor, name);

    if (vpa_buf_failed(text))
        return;
    if (text->data[start] == ',')
        start++;
    anchor->start = start;
    anchor->len = text->len - start;
}

static int put_alias(struct reader *r, struct vpa_json_writer *w, const yaml_event_t *event)
{
    const struct anchor *anchor =
        vpa_table_find(&r->anchors, (const char *)event->data.alias.anchor);
    vpa_auto_free char *copy = NULL; /* the text may move while it grows */

    if (!anchor)
        return fail_at(r, &event->start_mark, "alias without an anchor before it");
    r->repeated += anchor->len;
    if (r->repeated > VPA_YAML_REPEATED_MAX)
        return fail_at(r, &event->start_mark, "aliases repeat too much");
    if (vpa_buf_failed(w->buf))
        return 0;
    copy = vpa_xstrndup(w->buf->data + anchor->start, anchor->len);
    vpa_json_put_raw(w, copy, anchor->len);
    return 0;
}

/* ---- structure ---- */

static int put_value(struct reader *r, struct vpa_json_writer *w, const yaml_event_t *event);

static int put_key(struct reader *r, struct vpa_json_writer *w, const yaml_event_t *event)
{
    const char *name;

    if (event->type != YAML_SCALAR_EVENT)
        return fail_at(r, &event->start_mark, "a key must be a scalar");
    if (event->data.scalar.anchor || event->data.scalar.tag)
        return fail_at(r, &event->start_mark, "anchors and tags are not supported");
    name = scalar_text(r, event);
    if (!name)
        return -1;
    if (strcmp(name, "<<") == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return fail_at(r, &event->start_mark, "merge keys are not supported");
    vpa_json_key(w, name);
    return 0;
}

/* Up to the end of a sequence, or of a mapping: there each value has a key before it. */
static int put_members(struct reader *r, struct vpa_json_writer *w, bool keyed)
{
    int result = 0;

    for (bool key = keyed; result == 0; key = keyed && !key) {
        yaml_event_t event;

        if (next_event(r, &event) < 0)
            return -1;
        bool ends = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        if (!ends)
            result = key ? put_key(r, w, &event) : put_value(r, w, &event);
        yaml_event_delete(&event);
        if (ends)
            return 0;
    }
    return -1;
}

static int put_structure(struct reader *r, struct vpa_json_writer *w, const yaml_event_t *event)
{
    bool keyed = event->type == YAML_MAPPING_START_EVENT;

    if (keyed ? event->data.mapping_start.tag : event->data.sequence_start.tag)
        return fail_at(r, &event->start_mark, "tags are not supported");
    if (keyed)
        vpa_json_open_object(w);
    else
        vpa_json_open_array(w);
    if (put_members(r, w, keyed) < 0)
        return -1;
    if (keyed)
        vpa_json_close_object(w);
    else
        vpa_json_close_array(w);
    return 0;
}

static int put_value(struct reader *r, struct vpa_json_writer *w, const yaml_event_t *event)
{
    size_t start = w->buf->len;
    const char *anchor;

    if (w->depth == VPA_JSON_DEPTH_MAX)
        return fail_at(r, &event->start_mark, "nested too deeply");
    if (event->type == YAML_ALIAS_EVENT)
        return put_alias(r, w, event);
    if ((event->type == YAML_SCALAR_EVENT ? put_scalar : put_structure)(r, w, event) < 0)
        return -1;
    anchor = anchor_of(event);
    if (anchor)
        keep_anchor(r, w->buf, start, anchor);
    return 0;
}

/* Behind the start of a document: its value, parsed, and its end. */
static int read_document(struct reader *r, const struct vpa_json **root)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = {0};
    yaml_event_t event;
    int result;

    vpa_buf_init(&text, 8 * (size_t)VPA_YAML_MAX);
    vpa_json_writer_init(&w, &text);
    if (next_event(r, &event) < 0)
        return -1;
    result = put_value(r, &w, &event);
    VPA_TABLE_RELEASE(&r->anchors, free);
    yaml_event_delete(&event);
    if (result < 0 || next_event(r, &event) < 0)
        return -1;
    yaml_event_delete(&event); /* the document's end */
    if (vpa_buf_failed(&text))
        return vpa_fail(r->err, VPA_LIMIT, "document too large");
    return vpa_json_parse(r->arena, text.data, text.len, root, r->err);
}

struct documents {
    const struct vpa_json **items;
    size_t count;
    size_t capacity;
};

static int read_stream(struct reader *r, struct documents *documents)
{
    for (;;) {
        yaml_event_t event;
        yaml_event_type_t type;
        const struct vpa_json *root;

        if (next_event(r, &event) < 0)
            return -1;
        type = event.type;
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT)
            return 0;
        if (type != YAML_DOCUMENT_START_EVENT)
            continue; /* the stream's start */
        if (read_document(r, &root) < 0)
            return -1;
        VPA_GROW(documents->items, documents->count, documents->capacity);
        documents->items[documents->count++] = root;
    }
}

/* The documents in a heap array, which is the caller's to free, also on failure. */
static int read_all(struct vpa_arena *arena, const char *text, size_t len,
                    struct documents *documents, struct vpa_error *err)
{
    struct reader r = {.arena = arena, .err = err};
    int result;

    if (len > VPA_YAML_MAX)
        return vpa_fail(err, VPA_LIMIT, "longer than %d bytes", VPA_YAML_MAX);
    if (!yaml_parser_initialize(&r.parser))
        abort(); /* out of memory */
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    result = read_stream(&r, documents);
    yaml_parser_delete(&r.parser);
    return result;
}

int vpa_yaml_parse(struct vpa_arena *arena, const char *text, size_t len,
                   const struct vpa_json **root, struct vpa_error *err)
{
    struct documents documents = {0};
    int result = read_all(arena, text, len, &documents, err);

    if (result == 0 && documents.count > 1)
        result = vpa_fail(err, VPA_INVALID, "one document expected, got %zu", documents.count);
    else if (result == 0 && documents.count == 0)
        result = vpa_json_parse(arena, "null", 4, root, err);
    else if (result == 0)
        *root = documents.items[0];
    free(documents.items);
    return result;
}

int vpa_yaml_parse_all(struct vpa_arena *arena, const char *text, size_t len,
                       const struct vpa_json *const **roots, size_t *count, struct vpa_error *err)
{
    struct documents documents = {0};
    const struct vpa_json **kept = NULL;
    size_t n = 0;

    if (read_all(arena, text, len, &documents, err) < 0) {
        free(documents.items);
        return -1;
    }
    if (documents.count)
        kept = vpa_arena_alloc(arena, documents.count * sizeof(*kept));
    for (size_t i = 0; i < documents.count; i++)
        if (!vpa_json_is_null(documents.items[i]))
            kept[n++] = documents.items[i];
    free(documents.items);
    *roots = kept;
    *count = n;
    return 0;
}
