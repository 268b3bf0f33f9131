/*
 * Bodies in the server's protobuf form, for the handful of kinds that kubectl 1.32 and later posts
 * so: create namespace, configmap, secret, serviceaccount, deployment and token, auth can-i, auth
 * whoami. A body is "k8s\0" and an Unknown {1 typeMeta {1 apiVersion, 2 kind}, 2 raw}; raw is the
 * object. What a table does not list is dropped; kinds without a table stay unsupported.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

enum pb_type {
    PB_STRING,
    PB_INT,
    PB_BOOL,
    PB_MESSAGE,
    PB_MAP,
    PB_BYTES,
    PB_BYTES_MAP,
    PB_QUANTITY_MAP
};
struct pb_field {
    uint32_t number;
    const char *name;
    enum pb_type type;
    bool repeated;
    const struct pb_field *of; /* of messages; ends with number 0 */
};
#define PB_END                                                                                     \
    {                                                                                              \
        0, NULL, PB_STRING, false, NULL                                                            \
    }

static const struct pb_field object_meta[] = {{1, "name", PB_STRING, false, NULL},
                                              {2, "generateName", PB_STRING, false, NULL},
                                              {3, "namespace", PB_STRING, false, NULL},
                                              {5, "uid", PB_STRING, false, NULL},
                                              {6, "resourceVersion", PB_STRING, false, NULL},
                                              {11, "labels", PB_MAP, false, NULL},
                                              {12, "annotations", PB_MAP, false, NULL},
                                              {14, "finalizers", PB_STRING, true, NULL},
                                              PB_END};
static const struct pb_field only_meta[] = {{1, "metadata", PB_MESSAGE, false, object_meta},
                                            PB_END};
static const struct pb_field config_map[] = {{1, "metadata", PB_MESSAGE, false, object_meta},
                                             {2, "data", PB_MAP, false, NULL},
                                             {3, "binaryData", PB_BYTES_MAP, false, NULL},
                                             {4, "immutable", PB_BOOL, false, NULL},
                                             PB_END};
static const struct pb_field secret[] = {{1, "metadata", PB_MESSAGE, false, object_meta},
                                         {2, "data", PB_BYTES_MAP, false, NULL},
                                         {3, "type", PB_STRING, false, NULL},
                                         {4, "stringData", PB_MAP, false, NULL},
                                         PB_END};
static const struct pb_field requirements[] = {{1, "limits", PB_QUANTITY_MAP, false, NULL},
                                               {2, "requests", PB_QUANTITY_MAP, false, NULL},
                                               PB_END};
static const struct pb_field env_var[] = {
    {1, "name", PB_STRING, false, NULL}, {2, "value", PB_STRING, false, NULL}, PB_END};
static const struct pb_field port[] = {{1, "name", PB_STRING, false, NULL},
                                       {3, "containerPort", PB_INT, false, NULL},
                                       {4, "protocol", PB_STRING, false, NULL},
                                       PB_END};
static const struct pb_field container[] = {{1, "name", PB_STRING, false, NULL},
                                            {2, "image", PB_STRING, false, NULL},
                                            {3, "command", PB_STRING, true, NULL},
                                            {4, "args", PB_STRING, true, NULL},
                                            {6, "ports", PB_MESSAGE, true, port},
                                            {7, "env", PB_MESSAGE, true, env_var},
                                            {8, "resources", PB_MESSAGE, false, requirements},
                                            PB_END};
static const struct pb_field pod_spec[] = {{2, "containers", PB_MESSAGE, true, container},
                                           {3, "restartPolicy", PB_STRING, false, NULL},
                                           {8, "serviceAccountName", PB_STRING, false, NULL},
                                           {10, "nodeName", PB_STRING, false, NULL},
                                           PB_END};
static const struct pb_field pod_template[] = {{1, "metadata", PB_MESSAGE, false, object_meta},
                                               {2, "spec", PB_MESSAGE, false, pod_spec},
                                               PB_END};
static const struct pb_field label_selector[] = {{1, "matchLabels", PB_MAP, false, NULL}, PB_END};
static const struct pb_field deployment_spec[] = {
    {1, "replicas", PB_INT, false, NULL},
    {2, "selector", PB_MESSAGE, false, label_selector},
    {3, "template", PB_MESSAGE, false, pod_template},
    PB_END};
static const struct pb_field deployment[] = {{1, "metadata", PB_MESSAGE, false, object_meta},
                                             {2, "spec", PB_MESSAGE, false, deployment_spec},
                                             PB_END};
static const struct pb_field resource_attributes[] = {
    {1, "namespace", PB_STRING, false, NULL}, {2, "verb", PB_STRING, false, NULL},
    {3, "group", PB_STRING, false, NULL},     {4, "version", PB_STRING, false, NULL},
    {5, "resource", PB_STRING, false, NULL},  {6, "subresource", PB_STRING, false, NULL},
    {7, "name", PB_STRING, false, NULL},      PB_END};
static const struct pb_field path_attributes[] = {
    {1, "path", PB_STRING, false, NULL}, {2, "verb", PB_STRING, false, NULL}, PB_END};
static const struct pb_field access_spec[] = {
    {1, "resourceAttributes", PB_MESSAGE, false, resource_attributes},
    {2, "nonResourceAttributes", PB_MESSAGE, false, path_attributes},
    PB_END};
static const struct pb_field access_review[] = {{1, "metadata", PB_MESSAGE, false, object_meta},
                                                {2, "spec", PB_MESSAGE, false, access_spec},
                                                PB_END};
static const struct pb_field token_spec[] = {
    {1, "audiences", PB_STRING, true, NULL}, {4, "expirationSeconds", PB_INT, false, NULL}, PB_END};
static const struct pb_field token_request[] = {{1, "metadata", PB_MESSAGE, false, object_meta},
                                                {2, "spec", PB_MESSAGE, false, token_spec},
                                                PB_END};

static const struct {
    const char *kind;
    const struct pb_field *fields;
} kinds[] = {{"Namespace", only_meta},        {"ServiceAccount", only_meta},
             {"ConfigMap", config_map},       {"Secret", secret},
             {"Deployment", deployment},      {"SelfSubjectReview", only_meta},
             {"TokenRequest", token_request}, {"SelfSubjectAccessReview", access_review}};

struct pb {
    struct vpa_arena *a;
    const unsigned char *at, *end;
    bool broken;
    unsigned depth;
};

static uint64_t varint(struct pb *p)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64 && p->at < p->end; shift += 7) {
        unsigned char c = *p->at++;
        v |= (uint64_t)(c & 127) << shift;
        if (!(c & 128))
            return v;
    }
    p->broken = true;
    return 0;
}

/* The bytes of a field with a length. */
static struct pb piece(struct pb *p)
{
    uint64_t len = varint(p);
    struct pb out = {.a = p->a, .depth = p->depth + 1};

    if (p->broken || len > (uint64_t)(p->end - p->at) || p->depth > 30) {
        p->broken = true;
        return out;
    }
    out.at = p->at;
    out.end = p->at + len;
    p->at += len;
    return out;
}

static void skip(struct pb *p, unsigned wire)
{
    if (wire == 0)
        (void)varint(p);
    else if (wire == 2)
        (void)piece(p);
    else if ((wire == 5 || wire == 1) && p->end - p->at >= (wire == 5 ? 4 : 8))
        p->at += wire == 5 ? 4 : 8;
    else
        p->broken = true;
}

static struct jv *text_value(const struct pb *p)
{
    return jv_str(
        p->a, p->at ? vpa_arena_strndup(p->a, (const char *)p->at, (size_t)(p->end - p->at)) : "");
}

static struct jv *base64_value(const struct pb *p)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = p->at ? (size_t)(p->end - p->at) : 0, n = 0;
    char *out = vpa_arena_alloc(p->a, len * 4 / 3 + 5);

    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)p->at[i] << 16 | (i + 1 < len ? (unsigned)p->at[i + 1] << 8 : 0u) |
                     (i + 2 < len ? p->at[i + 2] : 0u);
        out[n++] = digits[v >> 18 & 63];
        out[n++] = digits[v >> 12 & 63];
        out[n++] = i + 1 < len ? digits[v >> 6 & 63] : '=';
        out[n++] = i + 2 < len ? digits[v & 63] : '=';
    }
    out[n] = 0;
    return jv_str(p->a, out);
}

/* An entry {1 key, 2 value}; quantities are messages {1 string}. */
static void map_entry(struct pb *p, struct jv *map, enum pb_type type)
{
    const char *key = "";
    struct jv *value = jv_str(p->a, "");

    while (p->at < p->end && !p->broken) {
        uint64_t tag = varint(p);
        struct pb inner;
        if (tag == (1u << 3 | 2)) {
            inner = piece(p);
            key = text_value(&inner)->text;
        } else if (tag == (2u << 3 | 2)) {
            inner = piece(p);
            if (type == PB_QUANTITY_MAP && inner.at < inner.end && varint(&inner) == (1u << 3 | 2))
                inner = piece(&inner);
            value = type == PB_BYTES_MAP ? base64_value(&inner) : text_value(&inner);
        } else {
            skip(p, (unsigned)(tag & 7));
        }
    }
    jv_set(p->a, map, key, value);
}

static struct jv *message(struct pb *p, const struct pb_field *fields)
{
    struct jv *object = jv_obj(p->a);

    while (p->at < p->end && !p->broken) {
        uint64_t tag = varint(p);
        const struct pb_field *f = fields;
        struct jv *value = NULL;
        while (f->number && f->number != tag >> 3)
            f++;
        bool number = f->type == PB_INT || f->type == PB_BOOL;
        if (!f->number || (tag & 7) != (number ? 0u : 2u)) {
            skip(p, (unsigned)(tag & 7));
            continue;
        }
        if (number) {
            uint64_t n = varint(p);
            value = f->type == PB_INT ? jv_int(p->a, (int64_t)n) : jv_bool(p->a, n != 0);
        } else {
            struct pb inner = piece(p);
            if (f->type == PB_MAP || f->type == PB_BYTES_MAP || f->type == PB_QUANTITY_MAP) {
                map_entry(&inner, jv_ensure(p->a, object, f->name), f->type);
                continue;
            }
            value = f->type == PB_MESSAGE ? message(&inner, f->of)
                    : f->type == PB_BYTES ? base64_value(&inner)
                                          : text_value(&inner);
            p->broken = p->broken || inner.broken;
        }
        if (!f->repeated) { /* unset members are written as empty ones */
            bool empty =
                (f->type == PB_STRING && !*value->text) || (f->type == PB_MESSAGE && !value->count);
            if (!empty || !strcmp(f->name, "metadata"))
                jv_set(p->a, object, f->name, value);
            continue;
        }
        if (!jv_get(object, f->name))
            jv_set(p->a, object, f->name, jv_arr(p->a));
        jv_push(p->a, jv_get(object, f->name), value);
    }
    return object;
}

bool protobuf_read(struct vpa_arena *a, const char *body, size_t len, struct jv **out)
{
    static const struct pb_field type_meta[] = {
        {1, "apiVersion", PB_STRING, false, NULL}, {2, "kind", PB_STRING, false, NULL}, PB_END};
    struct pb p = {.a = a,
                   .at = (const unsigned char *)body + 4,
                   .end = (const unsigned char *)body + len},
              raw = {.a = a};
    struct jv *types = NULL;

    if (len < 4 || memcmp(body, "k8s", 4) != 0)
        return false;
    while (p.at < p.end && !p.broken) {
        uint64_t tag = varint(&p);
        if (tag == (1u << 3 | 2)) {
            struct pb inner = piece(&p);
            types = message(&inner, type_meta);
        } else if (tag == (2u << 3 | 2)) {
            raw = piece(&p);
        } else {
            skip(&p, (unsigned)(tag & 7));
        }
    }
    for (size_t i = 0; !p.broken && types && i < VPA_COUNT(kinds); i++) {
        if (strcmp(kinds[i].kind, jv_text_at(types, "kind")) != 0)
            continue;
        struct jv *object = message(&raw, kinds[i].fields);
        jv_put_first(a, object, "apiVersion", jv_get(types, "apiVersion"));
        jv_put_first(a, object, "kind", jv_get(types, "kind"));
        *out = object;
        return !raw.broken;
    }
    return false;
}
