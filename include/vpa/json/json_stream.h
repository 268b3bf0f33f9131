/*
 * Splits streams of JSON into single objects without holding the whole text: the pages of a LIST
 * (the elements of the top-level member "items") and the events of a WATCH (one object after
 * another). A list of 100,000 pods so costs the memory of one item.
 *
 *     s = vpa_json_stream_new(VPA_STREAM_LIST, 8 << 20, &(struct vpa_json_stream_handler){
 *         .ctx = ctx, .on_object = on_object, .on_head = on_head, .on_long = on_long});
 *
 *     while ((n = read(fd, chunk, sizeof chunk)) > 0)
 *         if (vpa_json_stream_feed(s, chunk, n, err) < 0) ...
 *
 *     if (vpa_json_stream_finish(s, err) < 0) ... // truncated text is an error
 */
#ifndef VPA_JSON_JSON_STREAM_H
#define VPA_JSON_JSON_STREAM_H

#include <stddef.h>

#include "vpa/base/error.h"

enum vpa_stream_kind {
    VPA_STREAM_LIST,   /* one object; each element of "items" is given, the rest is the head */
    VPA_STREAM_VALUES, /* objects one after the other, white space between */
};

/* One object as text, from '{' to the bracket that balances it, not yet parsed; borrowed for the
 * call. -1 (with err) ends the stream. */
typedef int (*vpa_stream_object_fn)(void *ctx, const char *json, size_t len, struct vpa_error *err);

struct vpa_json_stream_handler {
    void *ctx;
    vpa_stream_object_fn on_object;
    /* Lists, may be NULL: called at finish with the list object without its items:
     * {"kind":..,"metadata":{..},"items":[]}. */
    vpa_stream_object_fn on_head;
    /* An object that is longer than the maximum, as soon as that shows: its first object_max bytes.
     * The rest is passed over without being held, and the stream goes on behind it. NULL: it ends
     * the stream with VPA_LIMIT. */
    vpa_stream_object_fn on_long;
};

struct vpa_json_stream;
/* object_max: longest single object in bytes, and longest head. */
struct vpa_json_stream *vpa_json_stream_new(enum vpa_stream_kind kind, size_t object_max,
                                            const struct vpa_json_stream_handler *handler);
void vpa_json_stream_free(struct vpa_json_stream *s);
int vpa_json_stream_feed(struct vpa_json_stream *s, const char *bytes, size_t len,
                         struct vpa_error *err) VPA_MUST_CHECK;
/* The end of the text: VPA_INVALID when it stops inside a value, or when a list has no "items": an
 * object of another kind is no empty list. */
int vpa_json_stream_finish(struct vpa_json_stream *s, struct vpa_error *err) VPA_MUST_CHECK;

#endif
