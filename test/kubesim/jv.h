/*
 * A JSON value that can be changed: what an API server needs for patches, defaults and pruning, and
 * what libvpa's reader (immutable, for clients) is not. Values live in an arena; strings are
 * borrowed from it. Members keep their order; of a repeated member the last one counts and the path
 * is reported.
 */
#ifndef KUBESIM_JV_H
#define KUBESIM_JV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/error.h"
#include "vpa/base/mem.h"

enum jv_type { JV_NULL, JV_BOOL, JV_NUM, JV_STR, JV_ARR, JV_OBJ };

struct jv_member {
    const char *name; /* NULL inside arrays */
    struct jv *value;
};
struct jv {
    enum jv_type type;
    bool boolean; /* of a text: it was written otherwise than the server writes it */
    uint32_t count;
    uint32_t capacity;
    const char *text; /* string, or the source text of a number */
    struct jv_member *items;
};

/* A growing list of strings in an arena: warnings, duplicate fields. */
struct strings {
    const char **items;
    size_t count;
    size_t capacity;
};
void strings_add(struct vpa_arena *a, struct strings *list, const char *text);
void strings_addf(struct vpa_arena *a, struct strings *list, const char *fmt, ...) VPA_PRINTF(3, 4);
bool strings_has(const struct strings *list, const char *text);

/* duplicates (may be NULL) receives the dotted paths of repeated members. */
int jv_parse(struct vpa_arena *a, const char *text, size_t len, struct jv **out,
             struct strings *duplicates, struct vpa_error *err) VPA_MUST_CHECK;
/* One YAML document (YAML 1.1 rules for plain scalars) or JSON; next receives the offset behind it.
 */
int jv_parse_yaml(struct vpa_arena *a, const char *text, size_t len, struct jv **documents[],
                  size_t *count, struct vpa_error *err) VPA_MUST_CHECK;

/* For the readers: an empty value, a member or element at the end, a member by a name of that
 * length. */
struct jv *jv_new(struct vpa_arena *a, enum jv_type type);
void jv_append(struct vpa_arena *a, struct jv *v, const char *name, struct jv *value);
struct jv_member *jv_find_n(const struct jv *obj, const char *name, size_t len);

struct jv *jv_null(struct vpa_arena *a);
struct jv *jv_bool(struct vpa_arena *a, bool b);
struct jv *jv_int(struct vpa_arena *a, int64_t n);
struct jv *jv_number(struct vpa_arena *a, const char *text);
struct jv *jv_str(struct vpa_arena *a, const char *text); /* copies; NULL gives null */
struct jv *jv_strf(struct vpa_arena *a, const char *fmt, ...) VPA_PRINTF(2, 3);
struct jv *jv_arr(struct vpa_arena *a);
struct jv *jv_obj(struct vpa_arena *a);
struct jv *jv_clone(struct vpa_arena *a, const struct jv *v);
/* A value from JSON text known to be right (constants of the program). */
struct jv *jv_lit(struct vpa_arena *a, const char *json);

struct jv *jv_get(const struct jv *obj, const char *name);      /* NULL when absent or no object */
struct jv *jv_at(const struct jv *v, const char *dotted);       /* "metadata.name" */
const char *jv_text(const struct jv *v);                        /* NULL unless a string */
const char *jv_text_at(const struct jv *v, const char *dotted); /* "" unless a string */
int64_t jv_int_at(const struct jv *v, const char *dotted, int64_t preset);
bool jv_bool_at(const struct jv *v, const char *dotted, bool preset);
bool jv_is_int(const struct jv *v, int64_t *out); /* number with an integral value in range */
double jv_double(const struct jv *v);
static inline bool jv_is(const struct jv *v, enum jv_type type)
{
    return v && v->type == type;
}
static inline bool jv_missing(const struct jv *v) /* absent or null */
{
    return !v || v->type == JV_NULL;
}
static inline size_t jv_len(const struct jv *v)
{
    return v && (v->type == JV_ARR || v->type == JV_OBJ) ? v->count : 0;
}
/* Children of an array or object. */
#define jv_each(m, v)                                                                              \
    for (struct jv_member *m = (v) ? (v)->items : NULL, *m##_end = m ? m + jv_len(v) : NULL;       \
         m != m##_end; m++)

void jv_set(struct vpa_arena *a, struct jv *obj, const char *name, struct jv *value);
void jv_set_str(struct vpa_arena *a, struct jv *obj, const char *name, const char *text);
void jv_set_int(struct vpa_arena *a, struct jv *obj, const char *name, int64_t n);
void jv_set_bool(struct vpa_arena *a, struct jv *obj, const char *name, bool b);
void jv_put_first(struct vpa_arena *a, struct jv *obj, const char *name, struct jv *value);
bool jv_del(struct jv *obj, const char *name);
void jv_push(struct vpa_arena *a, struct jv *arr, struct jv *value);
void jv_insert(struct vpa_arena *a, struct jv *arr, size_t at, struct jv *value);
void jv_remove_at(struct jv *arr, size_t at);
/* The object at the dotted path, made where absent (or not an object). */
struct jv *jv_ensure(struct vpa_arena *a, struct jv *obj, const char *dotted);
/* Sets where absent. */
void jv_default(struct vpa_arena *a, struct jv *obj, const char *name, const char *json);
/* The same for a text that is missing or empty: Go's strings that are no pointers. */
void jv_default_text(struct vpa_arena *a, struct jv *obj, const char *name, const char *text);

bool jv_equal(const struct jv *x,
              const struct jv *y); /* order of members ignored, numbers by value */
/* RFC 6901 plus the two additions of the contract: [key=value] and a last #. NULL when it leads
 * nowhere; # is answered from the arena. */
struct jv *jv_pointer(struct vpa_arena *a, const struct jv *v, const char *pointer);

void jv_write(struct vpa_buf *buf, const struct jv *v);
void jv_write_string(struct vpa_buf *buf, const char *text);
char *jv_dump(struct vpa_arena *a, const struct jv *v);
/* Members sorted by name at every level, for texts that must not depend on order. */
void jv_write_sorted(struct vpa_buf *buf, const struct jv *v);

#endif
