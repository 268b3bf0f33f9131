/*
 * A walk over a document beside a table of types. Members mostly come in the order of the table
 * (API servers write Go structures), so the search for a name starts behind the last one found and
 * usually ends there. No two names of a table differ in letter case alone, so a name that is there
 * as it is written needs no look at the others.
 */
#include "vpa/api/pod_types.h"

#include <string.h>

#include "vpa/api/resources.h"
#include "vpa/base/str.h"
#include "vpa/base/time.h"

enum type {
    ANY,
    STRING,
    BOOL,
    INT32,
    INT64,
    QUANTITY,
    INT_OR_STRING,
    TIME,
    STRING_MAP,
    QUANTITY_MAP,
    STRINGS,
    INT32S,
    INT64S,
    OBJECT,
    LIST, /* of objects */
};
struct field {
    const char *name; /* NULL behind the last */
    size_t len;
    enum type type;
    const struct field *fields; /* of OBJECT and LIST */
};
#define FIELD(NAME, TYPE, FIELDS)                                                                  \
    {                                                                                              \
        NAME, sizeof(NAME) - 1, TYPE, FIELDS                                                       \
    }
#define FIELDS_END                                                                                 \
    {                                                                                              \
        NULL, 0, ANY, NULL                                                                         \
    }

#define ANY(NAME) FIELD(#NAME, ANY, NULL)
#define STRING(NAME) FIELD(#NAME, STRING, NULL)
#define BOOL(NAME) FIELD(#NAME, BOOL, NULL)
#define INT32(NAME) FIELD(#NAME, INT32, NULL)
#define INT64(NAME) FIELD(#NAME, INT64, NULL)
#define QUANTITY(NAME) FIELD(#NAME, QUANTITY, NULL)
#define INT_OR_STRING(NAME) FIELD(#NAME, INT_OR_STRING, NULL)
#define TIME(NAME) FIELD(#NAME, TIME, NULL)
#define STRING_MAP(NAME) FIELD(#NAME, STRING_MAP, NULL)
#define QUANTITY_MAP(NAME) FIELD(#NAME, QUANTITY_MAP, NULL)
#define STRINGS(NAME) FIELD(#NAME, STRINGS, NULL)
#define INT32S(NAME) FIELD(#NAME, INT32S, NULL)
#define INT64S(NAME) FIELD(#NAME, INT64S, NULL)
#define OBJECT(NAME, FIELDS) FIELD(#NAME, OBJECT, FIELDS)
#define LIST(NAME, FIELDS) FIELD(#NAME, LIST, FIELDS)
#define TABLE(NAME, ...) static const struct field NAME[] = {__VA_ARGS__, FIELDS_END}

#include "pod_type_tables.h"

static int check_object(struct vpa_arena *arena, const struct vpa_json *node,
                        const struct field *fields, struct vpa_error *err);

static int wrong(const struct vpa_json *node, const char *want, struct vpa_error *err)
{
    return vpa_fail(err, VPA_INVALID, "expected %s, found %s", want, vpa_json_type_name(node));
}

static int check_string(const struct vpa_json *node, struct vpa_error *err)
{
    return vpa_json_type(node) == VPA_JSON_STRING ? 0 : wrong(node, "string", err);
}

static int check_int(const struct vpa_json *node, enum type type, struct vpa_error *err)
{
    int64_t wide;
    int32_t narrow;

    if (type == INT64 ? vpa_json_int64(node, &wide) : vpa_json_int32(node, &narrow))
        return 0;
    return wrong(node, type == INT64 ? "64-bit integer" : "32-bit integer", err);
}

static int check_time(const struct vpa_json *node, struct vpa_error *err)
{
    const char *text = vpa_json_string(node);
    vpa_time t;

    if (!text)
        return wrong(node, "time", err);
    return vpa_time_parse(text, &t, err);
}

static int check_scalar(struct vpa_arena *arena, const struct vpa_json *node, enum type type,
                        struct vpa_error *err)
{
    struct vpa_quantity q;
    bool b;

    switch (type) {
    case STRING:
        return check_string(node, err);
    case BOOL:
        return vpa_json_bool(node, &b) ? 0 : wrong(node, "boolean", err);
    case INT32:
    case INT64:
        return check_int(node, type, err);
    case QUANTITY:
        return vpa_quantity_decode(arena, node, &q, err);
    case INT_OR_STRING:
        return vpa_json_string(node) ? 0 : check_int(node, INT32, err);
    case TIME:
        return check_time(node, err);
    default:
        return 0;
    }
}

/* The children of an array or object, all of one type. */
static int check_children(struct vpa_arena *arena, const struct vpa_json *node, bool array,
                          enum type type, const struct field *fields, struct vpa_error *err)
{
    size_t i = 0;

    if (array ? !vpa_json_is_array(node) : !vpa_json_is_object(node))
        return wrong(node, array ? "array" : "object", err);
    vpa_json_foreach (child, node) {
        int result = vpa_json_is_null(child) ? 0
                     : type == OBJECT        ? check_object(arena, child, fields, err)
                                             : check_scalar(arena, child, type, err);
        if (result < 0)
            return array ? vpa_wrap(err, "[%zu]", i) : vpa_wrap(err, "%s", vpa_json_name(child));
        i++;
    }
    return 0;
}

static int check_member(struct vpa_arena *arena, const struct vpa_json *node,
                        const struct field *field, struct vpa_error *err)
{
    if (vpa_json_is_null(node))
        return 0;
    switch (field->type) {
    case OBJECT:
        return check_object(arena, node, field->fields, err);
    case LIST:
        return check_children(arena, node, true, OBJECT, field->fields, err);
    case STRINGS:
        return check_children(arena, node, true, STRING, NULL, err);
    case INT32S:
        return check_children(arena, node, true, INT32, NULL, err);
    case INT64S:
        return check_children(arena, node, true, INT64, NULL, err);
    case STRING_MAP:
        return check_children(arena, node, false, STRING, NULL, err);
    case QUANTITY_MAP:
        return check_children(arena, node, false, QUANTITY, NULL, err);
    default:
        return check_scalar(arena, node, field->type, err);
    }
}

/* In the fields from the first one up to `end`, or to the last. */
static const struct field *find_exact(const struct field *first, const struct field *end,
                                      const char *name, size_t len)
{
    for (const struct field *f = first; f != end && f->name; f++)
        if (f->len == len && memcmp(f->name, name, len) == 0)
            return f;
    return NULL;
}

static const struct field *find_folded(const struct field *fields, const char *name, size_t len)
{
    for (const struct field *f = fields; f->name; f++)
        if (f->len == len && vpa_str_is_folded(f->name, name, len))
            return f;
    return NULL;
}

/* The field of that name, searched from *next on and around; NULL for an unknown name. */
static const struct field *find_field(const struct field *fields, const struct field **next,
                                      const char *name, size_t len)
{
    const struct field *found = find_exact(*next, NULL, name, len);

    if (!found)
        found = find_exact(fields, *next, name, len);
    if (!found)
        found = find_folded(fields, name, len);
    if (found)
        *next = found + 1;
    return found;
}

/* The depth of the walk is that of the table. */
static int check_object(struct vpa_arena *arena, const struct vpa_json *node,
                        const struct field *fields, struct vpa_error *err)
{
    const struct field *next = fields;

    if (!vpa_json_is_object(node))
        return wrong(node, "object", err);
    vpa_json_foreach (member, node) {
        const struct field *field =
            find_field(fields, &next, vpa_json_name(member), vpa_json_name_length(member));
        if (field && check_member(arena, member, field, err) < 0)
            return vpa_wrap(err, "%s", field->name);
    }
    return 0;
}

int vpa_pod_check_types(struct vpa_arena *arena, const struct vpa_json *pod, struct vpa_error *err)
{
    return check_object(arena, pod, pod_fields, err);
}
