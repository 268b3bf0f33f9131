/*
 * Schemas of objects, one form for built-in kinds (written in a small language, schema_builtin.c)
 * and for custom resources (their openAPIV3Schema, schema_crd.c). They drive: unknown fields, wrong
 * types, nulls, canonical quantities and times, merge keys of strategic merge patches, ownership of
 * server-side apply, and the OpenAPI documents.
 */
#ifndef KUBESIM_SCHEMA_H
#define KUBESIM_SCHEMA_H

#include "jv.h"

enum schema_type {
    S_ANY,
    S_OBJECT, /* fields and/or values */
    S_ARRAY,
    S_STRING,
    S_INT32,
    S_INT64,
    S_NUMBER,
    S_BOOL,
    S_INT_OR_STRING,
    S_QUANTITY,
    S_TIME,
    S_MICRO_TIME,
};
struct schema;
struct schema_field {
    const char *name;
    const struct schema *schema;
};
#define SCHEMA_KEYS_MAX 3
struct schema {
    enum schema_type type;
    const char *name; /* Go type name of a built-in object */
    struct schema_field *fields;
    size_t field_count;
    size_t field_capacity;
    const struct schema *items;  /* of arrays */
    const struct schema *values; /* of maps */
    const char
        *keys[SCHEMA_KEYS_MAX]; /* list is a map with these keys; [0] is the strategic merge key */
    bool set;                   /* list is a set of scalars */
    bool atomic;                /* map or object owned as a whole */
    bool replaced;              /* and replaced by strategic merge patches */
    bool preserve;              /* x-kubernetes-preserve-unknown-fields */
    bool nullable;
    bool embedded;           /* apiVersion, kind, metadata are known here */
    bool omitted;            /* a text: a member of a structure that goes when it is empty */
    bool resource_list;      /* quantities are rounded up to a milli */
    const struct jv *raw;    /* custom resources: the constraints */
    const struct jv *preset; /* default */
};

const struct schema *schema_field(const struct schema *s, const char *name);
/* Whether the segment "f:name" of a set of fields is a field of a structure, not a key of a map. */
bool schema_field_is_named(const struct schema *s, const char *segment);
/* The schema of the built-in type of that Go name; NULL when there is none. */
const struct schema *schema_builtin(const char *name);
void schema_builtin_init(void);
void schema_builtin_release(void);
/* From openAPIV3Schema; everything lives in the arena. */
const struct schema *schema_from_crd(struct vpa_arena *a, const struct jv *openapi);

/* What reading a body found. */
struct decode_notes {
    struct strings unknown; /* unknown field "spec.x" */
    const char *type_error; /* first wrong type, in Go's words, or NULL */
    const char *mistyped;   /* first value that the schema does not allow, not only Go's type */
};
/* Brings a value into stored form: unknown members out (noted), nulls out, quantities and times
 * canonical, defaults of custom resources in. crd: wrong types are left for validation. */
void schema_decode(struct vpa_arena *a, const struct schema *s, struct jv *v, bool crd,
                   struct decode_notes *notes);
/* Takes out the empty texts that Go leaves out of what it writes. */
void schema_drop_empty(const struct schema *s, struct jv *v);
void schema_apply_defaults(struct vpa_arena *a, const struct schema *s, struct jv *v);
/* Equal as the server compares typed objects: quantities by value, absent lists and maps as empty
 * ones. */
bool schema_equal(struct vpa_arena *a, const struct schema *s, const struct jv *x,
                  const struct jv *y);
/* The JSON schema (OpenAPI v3) of a built-in type by its parts; $ref for named ones. */
void schema_write_openapi(struct vpa_buf *buf, const struct schema *s, bool top);
/* Calls for each named type, for the components of an OpenAPI document. */
void schema_each_builtin(void (*visit)(void *ctx, const struct schema *s), void *ctx);

#endif
