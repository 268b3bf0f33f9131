/*
 * The writer knows only its depth and whether a comma is due.
 */
#include "vpa/json/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/str.h"

/* ---- text ---- */

/* Bytes that go into a string as they are; the rest is escaped or checked as UTF-8. */
static const bool plain[256] = {
    [0x20] = true, [0x21] = true,          [0x23 ... 0x25] = true, [0x27 ... 0x3b] = true,
    [0x3d] = true, [0x3f ... 0x5b] = true, [0x5d ... 0x7f] = true,
};

/* Writes the escape of what stands at p; returns the bytes consumed. */
static size_t escape_one(struct vpa_buf *buf, const unsigned char *p)
{
    static const char hex[] = "0123456789abcdef";
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: byte, letter */

    if (*p >= 0x80) {
        uint32_t rune;
        size_t len = vpa_utf8_decode((const char *)p, &rune);

        if (len == 0) {
            vpa_buf_puts(buf, "\\ufffd");
            return 1;
        }
        if (rune == 0x2028 || rune == 0x2029)
            vpa_buf_puts(buf, rune == 0x2028 ? "\\u2028" : "\\u2029");
        else
            vpa_buf_append(buf, p, len);
        return len;
    }
    for (const char *pair = shorts; *pair; pair += 2) {
        if ((unsigned char)*pair == *p) {
            vpa_buf_putc(buf, '\\');
            vpa_buf_putc(buf, pair[1]);
            return 1;
        }
    }
    const char escape[] = {'\\', 'u', '0', '0', hex[*p >> 4], hex[*p & 15]};

    vpa_buf_append(buf, escape, sizeof(escape));
    return 1;
}

void vpa_json_escape(struct vpa_buf *buf, const char *text)
{
    const unsigned char *p = (const unsigned char *)text, *run;

    while (plain[*p])
        p++;
    if (*p == '\0') { /* as nearly always */
        size_t len = (size_t)(p - (const unsigned char *)text);
        char *room = vpa_buf_reserve(buf, len + 2);
        if (room) {
            room[0] = '"';
            memcpy(room + 1, text, len);
            room[len + 1] = '"';
            vpa_buf_advance(buf, len + 2);
        }
        return;
    }
    p = (const unsigned char *)text;
    vpa_buf_putc(buf, '"');
    for (;;) {
        run = p;
        while (plain[*p])
            p++;
        vpa_buf_append(buf, run, (size_t)(p - run));
        if (*p == '\0')
            break;
        p += escape_one(buf, p);
    }
    vpa_buf_putc(buf, '"');
}

/* ---- doubles ---- */

void vpa_json_format_double(struct vpa_buf *buf, double x)
{
    char text[VPA_DOUBLE_TEXT_MAX];

    assert(isfinite(x));
    vpa_double_format_json(x, text);
    vpa_buf_puts(buf, text);
}

/* ---- structure ---- */

void vpa_json_writer_init(struct vpa_json_writer *w, struct vpa_buf *buf)
{
    w->buf = buf;
    w->depth = 0;
    w->have_key = false;
    w->need_comma = false;
}

bool vpa_json_writer_done(const struct vpa_json_writer *w)
{
    return w->depth == 0 && w->need_comma;
}

/* What goes before any value. */
static void begin_value(struct vpa_json_writer *w)
{
    if (w->depth > 0 && w->is_object[w->depth - 1]) {
        assert(w->have_key);
        w->have_key = false;
        return;
    }
    assert(w->depth > 0 || !w->need_comma); /* one outermost value */
    if (w->need_comma)
        vpa_buf_putc(w->buf, ',');
}

static void open_container(struct vpa_json_writer *w, bool object)
{
    begin_value(w);
    assert(w->depth < VPA_JSON_WRITER_DEPTH);
    w->is_object[w->depth++] = object;
    w->need_comma = false;
    vpa_buf_putc(w->buf, object ? '{' : '[');
}

static void close_container(struct vpa_json_writer *w, bool object)
{
    assert(w->depth > 0 && w->is_object[w->depth - 1] == object && !w->have_key);
    w->depth--;
    w->need_comma = true;
    vpa_buf_putc(w->buf, object ? '}' : ']');
}

void vpa_json_open_object(struct vpa_json_writer *w)
{
    open_container(w, true);
}

void vpa_json_close_object(struct vpa_json_writer *w)
{
    close_container(w, true);
}

void vpa_json_open_array(struct vpa_json_writer *w)
{
    open_container(w, false);
}

void vpa_json_close_array(struct vpa_json_writer *w)
{
    close_container(w, false);
}

void vpa_json_key(struct vpa_json_writer *w, const char *name)
{
    assert(w->depth > 0 && w->is_object[w->depth - 1] && !w->have_key);
    if (w->need_comma)
        vpa_buf_putc(w->buf, ',');
    vpa_json_escape(w->buf, name);
    vpa_buf_putc(w->buf, ':');
    w->have_key = true;
}

/* ---- values ---- */

void vpa_json_put_raw(struct vpa_json_writer *w, const char *json, size_t len)
{
    begin_value(w);
    vpa_buf_append(w->buf, json, len);
    w->need_comma = true;
}

void vpa_json_put_string(struct vpa_json_writer *w, const char *text)
{
    if (!text) {
        vpa_json_put_null(w);
        return;
    }
    begin_value(w);
    vpa_json_escape(w->buf, text);
    w->need_comma = true;
}

void vpa_json_put_int(struct vpa_json_writer *w, int64_t n)
{
    begin_value(w);
    if (n < 0)
        vpa_buf_putc(w->buf, '-');
    vpa_buf_put_uint(w->buf, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
    w->need_comma = true;
}

void vpa_json_put_uint(struct vpa_json_writer *w, uint64_t n)
{
    begin_value(w);
    vpa_buf_put_uint(w->buf, n);
    w->need_comma = true;
}

void vpa_json_put_double(struct vpa_json_writer *w, double x)
{
    begin_value(w);
    vpa_json_format_double(w->buf, x);
    w->need_comma = true;
}

void vpa_json_put_bool(struct vpa_json_writer *w, bool b)
{
    vpa_json_put_raw(w, b ? "true" : "false", b ? 4 : 5);
}

void vpa_json_put_null(struct vpa_json_writer *w)
{
    vpa_json_put_raw(w, "null", 4);
}

void vpa_json_put_quantity(struct vpa_json_writer *w, const struct vpa_quantity *q)
{
    begin_value(w);
    vpa_buf_putc(w->buf, '"');
    vpa_quantity_format_text(q, w->buf); /* digits, letters, signs and points: nothing to escape */
    vpa_buf_putc(w->buf, '"');
    w->need_comma = true;
}

static void put_time(struct vpa_json_writer *w, vpa_time t, void (*format)(vpa_time t, char *out))
{
    char text[VPA_TIME_TEXT_MAX];

    if (vpa_time_is_unset(t)) {
        vpa_json_put_null(w);
        return;
    }
    format(t, text);
    vpa_json_put_string(w, text);
}

void vpa_json_put_time(struct vpa_json_writer *w, vpa_time t)
{
    put_time(w, t, vpa_time_format);
}

void vpa_json_put_micro_time(struct vpa_json_writer *w, vpa_time t)
{
    put_time(w, t, vpa_time_format_micro);
}

static void put_children(struct vpa_json_writer *w, const struct vpa_json *node)
{
    vpa_json_foreach (child, node) {
        if (vpa_json_name(child))
            vpa_json_key(w, vpa_json_name(child));
        vpa_json_put_node(w, child);
    }
}

void vpa_json_put_node(struct vpa_json_writer *w, const struct vpa_json *node)
{
    const char *text = vpa_json_number_text(node);
    bool b = false;

    switch (vpa_json_type(node)) {
    case VPA_JSON_BOOL:
        (void)vpa_json_bool(node, &b);
        vpa_json_put_bool(w, b);
        break;
    case VPA_JSON_NUMBER:
        vpa_json_put_raw(w, text, strlen(text));
        break;
    case VPA_JSON_STRING:
        vpa_json_put_string(w, vpa_json_string(node));
        break;
    case VPA_JSON_ARRAY:
        vpa_json_open_array(w);
        put_children(w, node);
        vpa_json_close_array(w);
        break;
    case VPA_JSON_OBJECT:
        vpa_json_open_object(w);
        put_children(w, node);
        vpa_json_close_object(w);
        break;
    default:
        vpa_json_put_null(w);
        break;
    }
}

/* A member with one value. */
#define MEMBER(FUNCTION, PUT, TYPE)                                                                \
    void FUNCTION(struct vpa_json_writer *w, const char *name, TYPE value)                         \
    {                                                                                              \
        vpa_json_key(w, name);                                                                     \
        PUT(w, value);                                                                             \
    }

MEMBER(vpa_json_member_string, vpa_json_put_string, const char *)
MEMBER(vpa_json_member_int, vpa_json_put_int, int64_t)
MEMBER(vpa_json_member_bool, vpa_json_put_bool, bool)
MEMBER(vpa_json_member_double, vpa_json_put_double, double)
MEMBER(vpa_json_member_quantity, vpa_json_put_quantity, const struct vpa_quantity *)
MEMBER(vpa_json_member_time, vpa_json_put_time, vpa_time)
MEMBER(vpa_json_member_micro_time, vpa_json_put_micro_time, vpa_time)
MEMBER(vpa_json_member_node, vpa_json_put_node, const struct vpa_json *)

void vpa_json_member_raw(struct vpa_json_writer *w, const char *name, const char *json, size_t len)
{
    vpa_json_key(w, name);
    vpa_json_put_raw(w, json, len);
}

void vpa_json_member_object(struct vpa_json_writer *w, const char *name)
{
    vpa_json_key(w, name);
    vpa_json_open_object(w);
}

void vpa_json_member_array(struct vpa_json_writer *w, const char *name)
{
    vpa_json_key(w, name);
    vpa_json_open_array(w);
}

void vpa_json_member_string_opt(struct vpa_json_writer *w, const char *name, const char *text)
{
    if (text && *text)
        vpa_json_member_string(w, name, text);
}

void vpa_json_member_int_opt(struct vpa_json_writer *w, const char *name, int64_t n)
{
    if (n != 0)
        vpa_json_member_int(w, name, n);
}
