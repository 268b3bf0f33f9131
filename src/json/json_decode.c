/*
 * A row's path may lead through objects (a.b.c). Its kind selects the reader; null, absent and a
 * wrong type are three cases. Error texts name the path from the outside in, with indices of
 * arrays.
 */
#include "vpa/json/json_decode.h"

#include <stdio.h>
#include <string.h>

#include "vpa/base/str.h"

/* Puts a piece of path before the text: "spec" + "." + "name: string expected". */
static int under(struct vpa_error *err, const char *piece, const char *separator)
{
    char inner[VPA_ERROR_TEXT_MAX];

    if (!err)
        return -1;
    memcpy(inner, err->text, sizeof(inner));
    return vpa_fail(err, err->code, "%s%s%s", piece, separator, inner);
}

static int under_index(struct vpa_error *err, size_t index, const char *separator)
{
    char piece[32];

    snprintf(piece, sizeof(piece), "[%zu]", index);
    return under(err, piece, separator);
}

/* The text of an error inside a node begins with a path when the node could have members. */
static const char *separator_below(const struct vpa_json *node)
{
    return vpa_json_is_null(node) || vpa_json_is_object(node) ? "." : ": ";
}

int vpa_json_wrong_type(const struct vpa_json *node, const char *expected, struct vpa_error *err)
{
    bool value;

    if (strcmp(expected, "string") == 0 && vpa_json_bool(node, &value))
        return vpa_fail(err, VPA_INVALID,
                        "string expected, got boolean (in YAML, quote it: \"%s\")",
                        value ? "On" : "Off");
    return vpa_fail(err, VPA_INVALID, "%s expected, got %s", expected, vpa_json_type_name(node));
}

/* ---- arrays ---- */

int vpa_json_decode_array(struct vpa_arena *arena, const struct vpa_json *array,
                          const struct vpa_json_shape *shape, const void **items, size_t *count,
                          struct vpa_error *err)
{
    size_t n = vpa_json_count(array), i = 0;
    char *all;

    if (!vpa_json_is_null(array) && !vpa_json_is_array(array))
        return vpa_json_wrong_type(array, "array", err);
    all = n ? vpa_arena_alloc(arena, n * shape->size) : NULL;
    vpa_json_foreach (child, array) {
        if (vpa_json_decode(arena, child, shape, all + i * shape->size, err) < 0)
            return under_index(err, i, separator_below(child));
        i++;
    }
    *items = all;
    *count = n;
    return 0;
}

static int decode_strings(struct vpa_arena *arena, const struct vpa_json *array,
                          const char *const **items, size_t *count, struct vpa_error *err)
{
    size_t n = vpa_json_count(array), i = 0;
    const char **all;

    if (!vpa_json_is_null(array) && !vpa_json_is_array(array))
        return vpa_json_wrong_type(array, "array", err);
    all = n ? vpa_arena_alloc(arena, n * sizeof(*all)) : NULL;
    vpa_json_foreach (child, array) {
        if (!vpa_json_is_null(child) && !vpa_json_string(child)) {
            vpa_json_wrong_type(child, "string", err);
            return under_index(err, i, ": ");
        }
        all[i++] = vpa_arena_keep(arena, vpa_or_empty(vpa_json_string(child)));
    }
    *items = all;
    *count = n;
    return 0;
}

/* ---- scalars ---- */

static int decode_string(struct vpa_arena *arena, const struct vpa_json *node, unsigned flags,
                         const char **out, struct vpa_error *err)
{
    const char *text = vpa_json_string(node);

    if (!text && !vpa_json_is_null(node))
        return vpa_json_wrong_type(node, "string", err);
    if (!text)
        *out = flags & VPA_JSON_NULLABLE ? NULL : "";
    else if (flags & VPA_JSON_BORROW)
        *out = text;
    else
        *out = *text ? vpa_arena_keep(arena, text) : "";
    return 0;
}

static int decode_time(const struct vpa_json *node, bool micro, vpa_time *out,
                       struct vpa_error *err)
{
    const char *text = vpa_json_string(node);

    if (vpa_json_is_null(node)) {
        *out = VPA_TIME_UNSET;
        return 0;
    }
    if (!text)
        return vpa_json_wrong_type(node, "time", err);
    return micro ? vpa_time_parse_micro(text, out, err) : vpa_time_parse(text, out, err);
}

/* Numbers and booleans: the default is all zero bytes. */
static int decode_plain(const struct vpa_json *node, enum vpa_json_kind kind, void *out,
                        struct vpa_error *err)
{
    bool null = vpa_json_is_null(node);

    switch (kind) {
    case VPA_JSON_KIND_BOOL:
        *(bool *)out = false;
        if (!null && !vpa_json_bool(node, out))
            return vpa_json_wrong_type(node, "boolean", err);
        return 0;
    case VPA_JSON_KIND_INT32:
        *(int32_t *)out = 0;
        if (null || vpa_json_int32(node, out))
            return 0;
        break;
    case VPA_JSON_KIND_INT64:
        *(int64_t *)out = 0;
        if (null || vpa_json_int64(node, out))
            return 0;
        break;
    default:
        *(double *)out = 0;
        if (null || vpa_json_double(node, out))
            return 0;
        break;
    }
    if (vpa_json_type(node) == VPA_JSON_NUMBER)
        return vpa_fail(err, VPA_INVALID, "number %s does not fit", vpa_json_number_text(node));
    return vpa_json_wrong_type(node, kind == VPA_JSON_KIND_DOUBLE ? "number" : "integer", err);
}

/* ---- objects ---- */

int vpa_json_check_length(const struct vpa_json *list, struct vpa_error *err)
{
    size_t count = vpa_json_count(list);

    if (count <= VPA_JSON_LIST_MAX)
        return 0;
    return vpa_fail(err, VPA_INVALID, "%zu elements, at most %d are read", count,
                    VPA_JSON_LIST_MAX);
}

/* The struct member is a pointer to the element type, so it is written as bytes. */
static int decode_array_field(struct vpa_arena *arena, const struct vpa_json *node,
                              const struct vpa_json_shape *shape, void *out, size_t *count,
                              struct vpa_error *err)
{
    const void *items;

    if (vpa_json_decode_array(arena, node, shape, &items, count, err) < 0)
        return -1;
    memcpy(out, &items, sizeof(items));
    return 0;
}

static bool is_list(const struct vpa_json_field *field)
{
    return field->kind == VPA_JSON_KIND_ARRAY || field->kind == VPA_JSON_KIND_STRINGS;
}

static bool is_bounded(const struct vpa_json_field *field)
{
    return is_list(field) && !(field->flags & VPA_JSON_LONG);
}

static int decode_value(struct vpa_arena *arena, const struct vpa_json *node,
                        const struct vpa_json_field *field, char *base, struct vpa_error *err)
{
    void *out = base + field->offset;
    void *extra = field->extra == VPA_JSON_NO_OFFSET ? NULL : base + field->extra;

    if (is_bounded(field) && vpa_json_check_length(node, err) < 0)
        return -1;
    switch ((enum vpa_json_kind)field->kind) {
    case VPA_JSON_KIND_STRING:
        return decode_string(arena, node, field->flags, out, err);
    case VPA_JSON_KIND_STRINGS:
        return decode_strings(arena, node, out, extra, err);
    case VPA_JSON_KIND_TIME:
    case VPA_JSON_KIND_MICRO_TIME:
        return decode_time(node, field->kind == VPA_JSON_KIND_MICRO_TIME, out, err);
    case VPA_JSON_KIND_OBJECT:
        return vpa_json_decode(arena, node, field->shape, out, err);
    case VPA_JSON_KIND_ARRAY:
        return decode_array_field(arena, node, field->shape, out, extra, err);
    case VPA_JSON_KIND_PRESENT:
        *(bool *)out = !vpa_json_is_null(node);
        return 0;
    case VPA_JSON_KIND_CUSTOM:
        return field->custom(arena, node, out, err);
    default:
        if (extra)
            *(bool *)extra = !vpa_json_is_null(node);
        return decode_plain(node, (enum vpa_json_kind)field->kind, out, err);
    }
}

static const char *separator_of(const struct vpa_json_field *field, const struct vpa_json *node)
{
    if (field->kind == VPA_JSON_KIND_OBJECT)
        return separator_below(node);
    if (is_list(field))
        return vpa_json_is_array(node) &&
                       !(is_bounded(field) && vpa_json_check_length(node, NULL) < 0)
                   ? ""
                   : ": ";
    return ": ";
}

int vpa_json_decode(struct vpa_arena *arena, const struct vpa_json *object,
                    const struct vpa_json_shape *shape, void *out, struct vpa_error *err)
{
    if (!vpa_json_is_null(object) && !vpa_json_is_object(object))
        return vpa_json_wrong_type(object, "object", err);
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct vpa_json_field *field = &shape->fields[i];
        const struct vpa_json *blocker, *node = vpa_json_walk(object, field->path, &blocker);

        if (blocker) {
            vpa_json_wrong_type(blocker, "object", err);
            return under(err, field->path, ": ");
        }
        if ((field->flags & VPA_JSON_REQUIRED) && vpa_json_is_null(node))
            return vpa_fail(err, VPA_INVALID, "%s: required, but %s", field->path,
                            vpa_json_type_name(node));
        if (decode_value(arena, node, field, out, err) < 0)
            return under(err, field->path, separator_of(field, node));
    }
    return 0;
}

int vpa_json_decode_object(struct vpa_arena *arena, const struct vpa_json *object,
                           const struct vpa_json_shape *shape, void *out, struct vpa_error *err)
{
    if (!vpa_json_is_object(object))
        return vpa_json_wrong_type(object, "object", err);
    return vpa_json_decode(arena, object, shape, out, err);
}
