/*
 * Streaming JSON writer into a vpa_buf: no tree, no spaces, members in the order they are written.
 * Strings are escaped as Go's encoding/json does (<, >, & as \u003c ..., invalid UTF-8 as \ufffd).
 *
 *     struct vpa_json_writer w;
 *     vpa_json_writer_init(&w, &buf);
 *     vpa_json_open_object(&w);
 *     vpa_json_member_string(&w, "name", name);
 *     vpa_json_close_object(&w);
 *     assert(vpa_json_writer_done(&w));
 *
 * Misuse (a value without a key, a wrong close) is a programming error.
 */
#ifndef VPA_JSON_JSON_WRITER_H
#define VPA_JSON_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/quantity.h"
#include "vpa/base/time.h"
#include "vpa/json/json.h"

#define VPA_JSON_WRITER_DEPTH VPA_JSON_DEPTH_MAX

struct vpa_json_writer {
    struct vpa_buf *buf; /* borrowed; its limit is the limit of the text */
    unsigned depth;
    bool have_key;
    bool need_comma;
    bool is_object[VPA_JSON_WRITER_DEPTH];
};

void vpa_json_writer_init(struct vpa_json_writer *w, struct vpa_buf *buf);
bool vpa_json_writer_done(const struct vpa_json_writer *w); /* everything closed */
void vpa_json_open_object(struct vpa_json_writer *w);
void vpa_json_close_object(struct vpa_json_writer *w);
void vpa_json_open_array(struct vpa_json_writer *w);
void vpa_json_close_array(struct vpa_json_writer *w);
void vpa_json_key(struct vpa_json_writer *w, const char *name);
void vpa_json_put_string(struct vpa_json_writer *w, const char *text); /* NULL writes null */
void vpa_json_put_int(struct vpa_json_writer *w, int64_t n);
void vpa_json_put_uint(struct vpa_json_writer *w, uint64_t n);
/* Shortest text that reads back to the same double, as Go's encoding/json prints it. */
void vpa_json_put_double(struct vpa_json_writer *w, double x);
void vpa_json_put_bool(struct vpa_json_writer *w, bool b);
void vpa_json_put_null(struct vpa_json_writer *w);
void vpa_json_put_quantity(struct vpa_json_writer *w, const struct vpa_quantity *q);
void vpa_json_put_time(struct vpa_json_writer *w, vpa_time t);       /* null when unset */
void vpa_json_put_micro_time(struct vpa_json_writer *w, vpa_time t); /* null when unset */
/* A value that is JSON text already (trusted, complete). */
void vpa_json_put_raw(struct vpa_json_writer *w, const char *json, size_t len);
/* A parsed value, member order and number texts kept. */
void vpa_json_put_node(struct vpa_json_writer *w, const struct vpa_json *node);

/* Key and value in one call; the _opt forms write nothing when the text is NULL or empty, the
 * number 0. An object or array is opened: its members follow. */
void vpa_json_member_object(struct vpa_json_writer *w, const char *name);
void vpa_json_member_array(struct vpa_json_writer *w, const char *name);
void vpa_json_member_string(struct vpa_json_writer *w, const char *name, const char *value);
void vpa_json_member_string_opt(struct vpa_json_writer *w, const char *name, const char *text);
void vpa_json_member_int(struct vpa_json_writer *w, const char *name, int64_t value);
void vpa_json_member_int_opt(struct vpa_json_writer *w, const char *name, int64_t n);
void vpa_json_member_bool(struct vpa_json_writer *w, const char *name, bool value);
void vpa_json_member_double(struct vpa_json_writer *w, const char *name, double value);
void vpa_json_member_quantity(struct vpa_json_writer *w, const char *name,
                              const struct vpa_quantity *value);
void vpa_json_member_time(struct vpa_json_writer *w, const char *name, vpa_time value);
void vpa_json_member_micro_time(struct vpa_json_writer *w, const char *name, vpa_time value);
void vpa_json_member_node(struct vpa_json_writer *w, const char *name,
                          const struct vpa_json *value);
void vpa_json_member_raw(struct vpa_json_writer *w, const char *name, const char *json, size_t len);

/* The escaped string with its quotes, appended to any buffer. */
void vpa_json_escape(struct vpa_buf *buf, const char *text);
/* The double as put_double prints it, appended to any buffer. */
void vpa_json_format_double(struct vpa_buf *buf, double x);

#endif
