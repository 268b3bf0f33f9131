/*
 * A few texts out of JSON that cannot be parsed: the name of an object that is too long, the uid of
 * a review that is nested too deeply.
 *
 *     if (vpa_json_parse(&arena, text, len, &root, err) < 0)
 *         name = vpa_json_peek(&arena, text, len, "metadata.name");
 *
 * Only strings and the balance of brackets are looked at, so that nothing between the outermost
 * bracket and the text asked for needs to be right, and the end may be missing. What is found was
 * written by whoever wrote the rest: good enough for a log line, the key of a cache or an echo,
 * never for a decision about the object's content.
 */
#ifndef VPA_JSON_JSON_PEEK_H
#define VPA_JSON_JSON_PEEK_H

#include <stddef.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

/* The string at a dotted path of members of the object that the text begins with, in the arena;
 * NULL when there is none. Members are found by their exact name, written without escapes; of
 * repeated ones the last counts. Time is linear in len. */
const char *vpa_json_peek(struct vpa_arena *arena, const char *text, size_t len, const char *path);
/* The source of the value there, of whatever kind; ptr is NULL when there is none. */
struct vpa_slice vpa_json_peek_source(const char *text, size_t len, const char *path);

#endif
