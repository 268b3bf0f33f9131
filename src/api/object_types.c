/*
 * A walk over a document beside a table of types. Members mostly come in the order of the table
 * (API servers write Go structures), so the search for a name starts behind the last one found and
 * usually ends there. No two names of a table differ in letter case alone, so a name that is there
 * as it is written needs no look at the others.
 */
#include "vpa/api/object_types.h"

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

#include "object_type_tables.h"

/* Each function below gives one of enum vpa_types: what is told in err by then, and needs the names
 * of the members above it. */
struct walk {
    struct vpa_arena *arena;
    bool first_ends; /* nothing is looked at behind the first mistake */
    bool told;       /* a member of a wrong type */
    struct vpa_error *err;
};

static enum vpa_types check_object(struct walk *w, const struct vpa_json *node,
                                   const struct field *fields);

static enum vpa_types wrong(struct walk *w, const struct vpa_json *node, const char *want)
{
    if (w->told)
        return VPA_TYPES_RIGHT;
    w->told = true;
    vpa_fail(w->err, VPA_INVALID, "expected %s, found %s", want, vpa_json_type_name(node));
    return VPA_TYPES_WRONG;
}

static bool ends(const struct walk *w, enum vpa_types types)
{
    return types == VPA_TYPES_MALFORMED || (types == VPA_TYPES_WRONG && w->first_ends);
}

static bool is_int(const struct vpa_json *node, enum type type)
{
    int64_t wide;
    int32_t narrow;

    return type == INT64 ? vpa_json_int64(node, &wide) : vpa_json_int32(node, &narrow);
}

static enum vpa_types check_int(struct walk *w, const struct vpa_json *node, enum type type)
{
    if (is_int(node, type))
        return VPA_TYPES_RIGHT;
    return wrong(w, node, type == INT64 ? "64-bit integer" : "32-bit integer");
}

/* As check_scalar of a quantity: Go's decoder leaves both to the type. */
static enum vpa_types check_time(struct walk *w, const struct vpa_json *node)
{
    const char *text = vpa_json_string(node);
    vpa_time t;

    if (text)
        return vpa_time_parse(text, &t, w->err) < 0 ? VPA_TYPES_MALFORMED : VPA_TYPES_RIGHT;
    vpa_fail(w->err, VPA_INVALID, "expected time, found %s", vpa_json_type_name(node));
    return VPA_TYPES_MALFORMED;
}

static enum vpa_types check_scalar(struct walk *w, const struct vpa_json *node, enum type type)
{
    struct vpa_quantity q;
    bool b;

    switch (type) {
    case STRING:
        return vpa_json_string(node) ? VPA_TYPES_RIGHT : wrong(w, node, "string");
    case BOOL:
        return vpa_json_bool(node, &b) ? VPA_TYPES_RIGHT : wrong(w, node, "boolean");
    case INT32:
    case INT64:
        return check_int(w, node, type);
    case QUANTITY:
        return vpa_quantity_decode(w->arena, node, &q, w->err) < 0 ? VPA_TYPES_MALFORMED
                                                                   : VPA_TYPES_RIGHT;
    case INT_OR_STRING:
        return vpa_json_string(node) ? VPA_TYPES_RIGHT : check_int(w, node, INT32);
    case TIME:
        return check_time(w, node);
    default:
        return VPA_TYPES_RIGHT;
    }
}

/* The children of an array or object, all of one type. */
static enum vpa_types check_children(struct walk *w, const struct vpa_json *node, bool array,
                                     enum type type, const struct field *fields)
{
    enum vpa_types all = VPA_TYPES_RIGHT;
    size_t i = 0;

    if (array ? !vpa_json_is_array(node) : !vpa_json_is_object(node))
        return wrong(w, node, array ? "array" : "object");
    vpa_json_foreach (child, node) {
        enum vpa_types types = vpa_json_is_null(child) ? VPA_TYPES_RIGHT
                               : type == OBJECT        ? check_object(w, child, fields)
                                                       : check_scalar(w, child, type);
        if (types && array)
            vpa_wrap(w->err, "[%zu]", i);
        else if (types)
            vpa_wrap(w->err, "%s", vpa_json_name(child));
        if (ends(w, types))
            return types;
        all = types ? types : all;
        i++;
    }
    return all;
}

static enum vpa_types check_member(struct walk *w, const struct vpa_json *node,
                                   const struct field *field)
{
    if (vpa_json_is_null(node))
        return VPA_TYPES_RIGHT;
    switch (field->type) {
    case OBJECT:
        return check_object(w, node, field->fields);
    case LIST:
        return check_children(w, node, true, OBJECT, field->fields);
    case STRINGS:
        return check_children(w, node, true, STRING, NULL);
    case INT32S:
        return check_children(w, node, true, INT32, NULL);
    case INT64S:
        return check_children(w, node, true, INT64, NULL);
    case STRING_MAP:
        return check_children(w, node, false, STRING, NULL);
    case QUANTITY_MAP:
        return check_children(w, node, false, QUANTITY, NULL);
    default:
        return check_scalar(w, node, field->type);
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
static enum vpa_types check_object(struct walk *w, const struct vpa_json *node,
                                   const struct field *fields)
{
    const struct field *next = fields;
    enum vpa_types all = VPA_TYPES_RIGHT;

    if (!vpa_json_is_object(node))
        return wrong(w, node, "object");
    vpa_json_foreach (member, node) {
        const struct field *field =
            find_field(fields, &next, vpa_json_name(member), vpa_json_name_length(member));
        enum vpa_types types = field ? check_member(w, member, field) : VPA_TYPES_RIGHT;
        if (types)
            vpa_wrap(w->err, "%s", field->name);
        if (ends(w, types))
            return types;
        all = types ? types : all;
    }
    return all;
}

int vpa_pod_check_types(struct vpa_arena *arena, const struct vpa_json *pod, struct vpa_error *err)
{
    struct walk w = {.arena = arena, .first_ends = true, .err = err};

    return check_object(&w, pod, pod_fields) == VPA_TYPES_RIGHT ? 0 : -1;
}

int vpa_response_check_types(struct vpa_arena *arena, const struct vpa_json *response,
                             struct vpa_error *err)
{
    struct walk w = {.arena = arena, .first_ends = true, .err = err};

    return check_object(&w, response, response_fields) == VPA_TYPES_RIGHT ? 0 : -1;
}

enum vpa_types vpa_object_check_types(struct vpa_arena *arena, const struct vpa_json *vpa,
                                      struct vpa_error *err)
{
    struct walk w = {.arena = arena, .err = err};

    return check_object(&w, vpa, vpa_fields);
}
