/*
 * JSON objects to structs by tables: one row per member, so that a decoder reads like the format's
 * documentation.
 *
 *     static const struct vpa_json_field owner_fields[] = {
 *         VPA_JSON_STRING(struct owner, kind, "kind", VPA_JSON_REQUIRED),
 *         VPA_JSON_STRING(struct owner, name, "metadata.name", 0),
 *         VPA_JSON_INT32(struct owner, replicas, "spec.replicas", 0),
 *     };
 *     static const struct vpa_json_shape owner_shape = VPA_JSON_SHAPE(struct owner, owner_fields);
 *     if (vpa_json_decode(&arena, node, &owner_shape, &owner, err) < 0) ...
 *
 * Three cases are told apart: a value of the right type is stored; absent and null store the kind's
 * default (or are an error for VPA_JSON_REQUIRED); a wrong type is VPA_INVALID with the path in
 * front, for example `spec.containers[2].name: string expected, got number`. Unknown members are
 * ignored. All texts are copied into the arena, unless the document is in it too or VPA_JSON_BORROW
 * says that the document outlives the struct.
 */
#ifndef VPA_JSON_JSON_DECODE_H
#define VPA_JSON_JSON_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "vpa/base/time.h"
#include "vpa/json/json.h"

enum vpa_json_kind {
    VPA_JSON_KIND_STRING,     /* const char *; "" by default, NULL with VPA_JSON_NULLABLE */
    VPA_JSON_KIND_STRINGS,    /* const char *const *, count beside it */
    VPA_JSON_KIND_BOOL,       /* bool; false */
    VPA_JSON_KIND_INT32,      /* int32_t; 0 */
    VPA_JSON_KIND_INT64,      /* int64_t; 0 */
    VPA_JSON_KIND_DOUBLE,     /* double; 0 */
    VPA_JSON_KIND_TIME,       /* vpa_time; unset */
    VPA_JSON_KIND_MICRO_TIME, /* vpa_time with exactly six fraction digits; unset */
    VPA_JSON_KIND_OBJECT,     /* nested struct in place, decoded by its shape also when absent */
    VPA_JSON_KIND_ARRAY,      /* const struct *, count beside it; NULL */
    VPA_JSON_KIND_PRESENT,    /* bool: the member is there and not null, whatever its type */
    VPA_JSON_KIND_CUSTOM,     /* a function; called for absent and null too */
};

enum vpa_json_flag {
    VPA_JSON_REQUIRED = 1, /* absent and null are errors */
    VPA_JSON_NULLABLE = 2, /* strings: absent and null give NULL instead of "" */
    VPA_JSON_BORROW = 4,   /* strings: point into the document */
    VPA_JSON_LONG = 8,     /* arrays: of any length */
};

/* Most elements of an array in a table, unless it is VPA_JSON_LONG: whoever may write an object can
 * put half a million of {} into it, each of which becomes a struct (docs/limits.md). */
#define VPA_JSON_LIST_MAX 4096
/* VPA_INVALID for an array or object with more, for lists that no table describes. */
int vpa_json_check_length(const struct vpa_json *list, struct vpa_error *err) VPA_MUST_CHECK;

/* node: the member, NULL when absent. out: the struct member. The caller puts the path in front of
 * err. */
typedef int (*vpa_json_decode_fn)(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                                  struct vpa_error *err);

#define VPA_JSON_NO_OFFSET UINT16_MAX

struct vpa_json_shape;
struct vpa_json_field {
    const char *path; /* member name, or names joined by '.' */
    uint8_t kind;
    uint8_t flags;
    uint16_t offset;
    uint16_t extra; /* offset of the element count or of "present", or VPA_JSON_NO_OFFSET */
    const struct vpa_json_shape *shape;
    vpa_json_decode_fn custom;
};
struct vpa_json_shape {
    const struct vpa_json_field *fields;
    size_t field_count;
    size_t size; /* of the struct */
};

/* Fills *out, which need not be initialised; on failure its content is undefined. An absent or null
 * object gives all defaults (or the error of a required member). */
int vpa_json_decode(struct vpa_arena *arena, const struct vpa_json *object,
                    const struct vpa_json_shape *shape, void *out,
                    struct vpa_error *err) VPA_MUST_CHECK;
/* The same of an object that must be there: absent and null are wrong types too. */
int vpa_json_decode_object(struct vpa_arena *arena, const struct vpa_json *object,
                           const struct vpa_json_shape *shape, void *out,
                           struct vpa_error *err) VPA_MUST_CHECK;
/* An array of such objects; absent and null give 0 elements and *items NULL. */
int vpa_json_decode_array(struct vpa_arena *arena, const struct vpa_json *array,
                          const struct vpa_json_shape *shape, const void **items, size_t *count,
                          struct vpa_error *err) VPA_MUST_CHECK;
/* Sets err to "<expected> expected, got <type>"; returns -1. Where a text was expected and a
 * boolean is there, the error names YAML's trap: an unquoted Off, no or y is one. */
int vpa_json_wrong_type(const struct vpa_json *node, const char *expected, struct vpa_error *err);

#define VPA_JSON_SHAPE(S, FIELDS)                                                                  \
    {                                                                                              \
        .fields = (FIELDS), .field_count = VPA_COUNT(FIELDS), .size = sizeof(S)                    \
    }
/* A row; the compiler compares the member's type with the kind's. */
#define VPA_JSON_ROW_(S, MEMBER, TYPE, KIND, PATH, FLAGS, ...)                                     \
    {                                                                                              \
        .path = (PATH), .kind = (KIND), .flags = (FLAGS),                                          \
        .offset = (uint16_t)(offsetof(S, MEMBER) +                                                 \
                             0 * sizeof(struct {                                                   \
                                 _Static_assert(__builtin_types_compatible_p(                      \
                                                    __typeof__(((S *)0)->MEMBER), TYPE),           \
                                                "the member has another type");                    \
                                 char unused;                                                      \
                             })),                                                                  \
        __VA_ARGS__                                                                                \
    }
#define VPA_JSON_PLAIN_ .extra = VPA_JSON_NO_OFFSET
#define VPA_JSON_STRING(S, MEMBER, PATH, FLAGS)                                                    \
    VPA_JSON_ROW_(S, MEMBER, const char *, VPA_JSON_KIND_STRING, PATH, FLAGS, VPA_JSON_PLAIN_)
#define VPA_JSON_STRINGS(S, MEMBER, COUNT, PATH, FLAGS)                                            \
    VPA_JSON_ROW_(S, MEMBER, const char *const *, VPA_JSON_KIND_STRINGS, PATH, FLAGS,              \
                  .extra = (uint16_t)offsetof(S, COUNT))
#define VPA_JSON_FLAG(S, MEMBER, PATH, FLAGS)                                                      \
    VPA_JSON_ROW_(S, MEMBER, bool, VPA_JSON_KIND_BOOL, PATH, FLAGS, VPA_JSON_PLAIN_)
#define VPA_JSON_INT32(S, MEMBER, PATH, FLAGS)                                                     \
    VPA_JSON_ROW_(S, MEMBER, int32_t, VPA_JSON_KIND_INT32, PATH, FLAGS, VPA_JSON_PLAIN_)
#define VPA_JSON_INT64(S, MEMBER, PATH, FLAGS)                                                     \
    VPA_JSON_ROW_(S, MEMBER, int64_t, VPA_JSON_KIND_INT64, PATH, FLAGS, VPA_JSON_PLAIN_)
/* {bool present; int32_t value;} and its kin: PRESENT tells whether there was a value. */
#define VPA_JSON_OPT_INT32(S, MEMBER, PATH)                                                        \
    VPA_JSON_ROW_(S, MEMBER.value, int32_t, VPA_JSON_KIND_INT32, PATH, 0,                          \
                  .extra = (uint16_t)offsetof(S, MEMBER.present))
#define VPA_JSON_OPT_INT64(S, MEMBER, PATH)                                                        \
    VPA_JSON_ROW_(S, MEMBER.value, int64_t, VPA_JSON_KIND_INT64, PATH, 0,                          \
                  .extra = (uint16_t)offsetof(S, MEMBER.present))
#define VPA_JSON_DOUBLE(S, MEMBER, PATH, FLAGS)                                                    \
    VPA_JSON_ROW_(S, MEMBER, double, VPA_JSON_KIND_DOUBLE, PATH, FLAGS, VPA_JSON_PLAIN_)
#define VPA_JSON_TIME(S, MEMBER, PATH, FLAGS)                                                      \
    VPA_JSON_ROW_(S, MEMBER, vpa_time, VPA_JSON_KIND_TIME, PATH, FLAGS, VPA_JSON_PLAIN_)
#define VPA_JSON_MICRO_TIME(S, MEMBER, PATH, FLAGS)                                                \
    VPA_JSON_ROW_(S, MEMBER, vpa_time, VPA_JSON_KIND_MICRO_TIME, PATH, FLAGS, VPA_JSON_PLAIN_)
#define VPA_JSON_PRESENT(S, MEMBER, PATH)                                                          \
    VPA_JSON_ROW_(S, MEMBER, bool, VPA_JSON_KIND_PRESENT, PATH, 0, VPA_JSON_PLAIN_)
/* MEMBER is a struct with the given shape. */
#define VPA_JSON_NESTED(S, MEMBER, PATH, SHAPE, FLAGS)                                             \
    VPA_JSON_ROW_(S, MEMBER, __typeof__(((S *)0)->MEMBER), VPA_JSON_KIND_OBJECT, PATH, FLAGS,      \
                  .extra = VPA_JSON_NO_OFFSET, .shape = (SHAPE))
/* The members of the object at PATH go to the same struct: its SHAPE is one of S as well. */
#define VPA_JSON_INSIDE(PATH, SHAPE)                                                               \
    {                                                                                              \
        .path = (PATH), .kind = VPA_JSON_KIND_OBJECT, .extra = VPA_JSON_NO_OFFSET,                 \
        .shape = (SHAPE)                                                                           \
    }
/* MEMBER is a const struct pointer; SHAPE that of one element. */
#define VPA_JSON_ARRAY_OF(S, MEMBER, COUNT, PATH, SHAPE, FLAGS)                                    \
    VPA_JSON_ROW_(S, MEMBER, __typeof__(((S *)0)->MEMBER), VPA_JSON_KIND_ARRAY, PATH, FLAGS,       \
                  .extra = (uint16_t)offsetof(S, COUNT), .shape = (SHAPE))
#define VPA_JSON_CUSTOM(S, MEMBER, PATH, FUNCTION)                                                 \
    VPA_JSON_ROW_(S, MEMBER, __typeof__(((S *)0)->MEMBER), VPA_JSON_KIND_CUSTOM, PATH, 0,          \
                  .extra = VPA_JSON_NO_OFFSET, .custom = (FUNCTION))
/* Defines the FUNCTION of such a row: it calls DECODE, whose out is of the member's type. */
#define VPA_JSON_DECODER(FUNCTION, DECODE)                                                         \
    static inline int FUNCTION(struct vpa_arena *arena, const struct vpa_json *node, void *out,    \
                               struct vpa_error *err)                                              \
    {                                                                                              \
        return DECODE(arena, node, out, err);                                                      \
    }

#endif
