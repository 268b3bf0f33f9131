/*
 * JSON reader. A document lives in an arena and dies with it. Strict: RFC 8259, bounded depth, one
 * value. The source text of numbers is kept, because a quantity given as a JSON number behaves as
 * its text does.
 *
 *     const struct vpa_json *root;
 *     if (vpa_json_parse(&arena, body, len, &root, err) < 0) ...
 *     const char *name = vpa_json_string(vpa_json_at(root, "metadata.name"));
 *     vpa_json_foreach(item, vpa_json_find(root, "items")) ...
 *
 * Threads may parse at the same time, each into an arena of its own; a finished document may be
 * read by any number of threads.
 *
 * "\u0000" is read as U+FFFD, the replacement character. It is legal JSON and anybody may store it
 * in an annotation or an environment variable, but no text that a decision reads can hold it:
 * names, kinds, labels and quantities are refused by the API server then. Texts with a length
 * instead would put a length beside every text of every object, and one forgotten strcmp() would
 * take "web\u0000x" for "web"; U+FFFD makes it another text everywhere.
 *
 * Member names are case-sensitive; of a repeated member the last one counts. All functions take
 * NULL for "absent" and answer as for an absent value, so look-ups chain without checks.
 */
#ifndef VPA_JSON_JSON_H
#define VPA_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/error.h"
#include "vpa/base/mem.h"

#define VPA_JSON_DEPTH_MAX 1000
/* Values of a folded document. Those come from anybody who can reach the webhook, and "[1,1,..."
 * would take forty times its length; what an API server sends has a value in ten bytes or more. */
#define VPA_JSON_FOLDED_VALUES_MAX ((size_t)1000 * 1000)

struct vpa_json; /* a node; borrowed from the arena */

enum vpa_json_type {
    VPA_JSON_ABSENT, /* the node pointer is NULL */
    VPA_JSON_NULL,
    VPA_JSON_BOOL,
    VPA_JSON_NUMBER,
    VPA_JSON_STRING,
    VPA_JSON_ARRAY,
    VPA_JSON_OBJECT,
};

/* text need not be NUL-terminated; it may be freed afterwards. Errors name line and column:
 * VPA_INVALID for what is not JSON, VPA_LIMIT for what is more than we read. */
int vpa_json_parse(struct vpa_arena *arena, const char *text, size_t len,
                   const struct vpa_json **root, struct vpa_error *err) VPA_MUST_CHECK;

/* The same without what nobody reads and much of it: a member with one of the names `left_out`
 * (NULL at the end) whose value is an array or an object is passed over wherever it stands, as if
 * it were absent. Only its strings and brackets are looked at: what is in it may be no JSON. */
int vpa_json_parse_without(struct vpa_arena *arena, const char *text, size_t len,
                           const char *const *left_out, const struct vpa_json **root,
                           struct vpa_error *err) VPA_MUST_CHECK;

/* The same for documents that upstream reads with Go's decoder: members are found by any letter
 * case of their name, and of several the last counts, but repeated objects of the very same name
 * become one with the members of both. Iterating gives the names as they are. */
int vpa_json_parse_folded(struct vpa_arena *arena, const char *text, size_t len,
                          const struct vpa_json **root, struct vpa_error *err) VPA_MUST_CHECK;
/* The same, but repeated members stay, for readers that walk the members and add them up. */
int vpa_json_parse_repeated(struct vpa_arena *arena, const char *text, size_t len,
                            const struct vpa_json **root, struct vpa_error *err) VPA_MUST_CHECK;

enum vpa_json_type vpa_json_type(const struct vpa_json *node);
const char *vpa_json_type_name(const struct vpa_json *node);     /* "string", "absent", ... */
static inline bool vpa_json_is_null(const struct vpa_json *node) /* absent or null */
{
    return vpa_json_type(node) <= VPA_JSON_NULL;
}
bool vpa_json_is_object(const struct vpa_json *node);
bool vpa_json_is_array(const struct vpa_json *node);

/* Member of an object, NULL when absent or not an object. */
const struct vpa_json *vpa_json_find(const struct vpa_json *object, const char *name);
/* Dotted path of members, for names without dots: "spec.template.metadata". */
const struct vpa_json *vpa_json_at(const struct vpa_json *object, const char *path);
/* The same; *blocker becomes what stands in the way and is neither an object nor null, or NULL. */
const struct vpa_json *vpa_json_walk(const struct vpa_json *object, const char *path,
                                     const struct vpa_json **blocker);

/* Children of an array or object in source order. */
const struct vpa_json *vpa_json_first(const struct vpa_json *node);
const struct vpa_json *vpa_json_next(const struct vpa_json *child);
#define vpa_json_foreach(child, parent)                                                            \
    for (const struct vpa_json *child = vpa_json_first(parent); child; child = vpa_json_next(child))
const char *vpa_json_name(const struct vpa_json *child); /* member name; NULL for array elements */
size_t vpa_json_name_length(const struct vpa_json *child); /* of it; 0 for array elements */
size_t vpa_json_count(const struct vpa_json *node);        /* children; 0 for others */

/* NULL unless it is a string. */
const char *vpa_json_string(const struct vpa_json *node);
/* The string at a path of vpa_json_at; "" when there is none. */
const char *vpa_json_text(const struct vpa_json *object, const char *path);
/* Whether the source text of a string held an escape: quantities do not interpret escapes. */
bool vpa_json_string_escaped(const struct vpa_json *node);
/* The source text of a number, NULL otherwise: "1e3", "12345678901234567890". */
const char *vpa_json_number_text(const struct vpa_json *node);
/* True and *out set when the node is of that kind and in range; an integer needs an integer text
 * (as Go's decoder: "1.0" and "1e2" are not integers). */
bool vpa_json_bool(const struct vpa_json *node, bool *out);
bool vpa_json_int64(const struct vpa_json *node, int64_t *out);
bool vpa_json_int32(const struct vpa_json *node, int32_t *out);
bool vpa_json_double(const struct vpa_json *node, double *out);

/* Deep equality: objects without order, numbers by value, names by the case of every letter, in
 * folded documents too. */
bool vpa_json_equal(const struct vpa_json *a, const struct vpa_json *b);

#endif
