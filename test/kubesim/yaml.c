/*
 * YAML to JSON values by the rules of YAML 1.1 that the server follows: plain yes, no, on, off, y,
 * n are booleans, also as keys. libvpa's reader serves kubeconfig files and follows the core
 * schema; the difference is why there are two.
 */
#include "jv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct loader {
    struct vpa_arena *a;
    yaml_parser_t *parser;
    struct vpa_error *err;
    struct anchor {
        const char *name;
        struct jv *value;
        struct anchor *next;
    } * anchors;
    unsigned depth;
};

static int next_event(struct loader *l, yaml_event_t *event)
{
    if (!yaml_parser_parse(l->parser, event))
        return vpa_fail(l->err, VPA_INVALID, "yaml: line %zu: %s", l->parser->problem_mark.line + 1,
                        l->parser->problem ? l->parser->problem : "syntax");
    return 0;
}

static bool one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(text, *words))
            return true;
    return false;
}

static bool is_number(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    bool digits = false;

    if (!isdigit((unsigned char)*p) && !(*p == '.' && isdigit((unsigned char)p[1])))
        return false;
    if (*p == '0' && isdigit((unsigned char)p[1]))
        return false; /* octal: kept as text, which nobody here writes */
    for (; isdigit((unsigned char)*p); p++)
        digits = true;
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++)
            digits = true;
    if (digits && (*p == 'e' || *p == 'E')) {
        p += 1 + (p[1] == '+' || p[1] == '-');
        if (!isdigit((unsigned char)*p))
            return false;
        while (isdigit((unsigned char)*p))
            p++;
    }
    return digits && !*p;
}

static struct jv *plain_scalar(struct vpa_arena *a, const char *text)
{
    static const char *const yes[] = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                      "True", "TRUE", "on",  "On",  "ON",  NULL};
    static const char *const no[] = {"n",     "N",     "no",  "No",  "NO",  "false",
                                     "False", "FALSE", "off", "Off", "OFF", NULL};
    static const char *const none[] = {"", "~", "null", "Null", "NULL", NULL};

    if (one_of(text, yes))
        return jv_bool(a, true);
    if (one_of(text, no))
        return jv_bool(a, false);
    if (one_of(text, none))
        return jv_null(a);
    if (is_number(text)) {
        const char *t = text + (*text == '+');
        return jv_number(a, *t == '.' ? vpa_arena_printf(a, "0%s", t) : t);
    }
    return jv_str(a, text);
}

static int load_value(struct loader *l, yaml_event_t *event, struct jv **out);

static void remember(struct loader *l, const yaml_char_t *name, struct jv *value)
{
    if (!name)
        return;
    struct anchor *anchor = vpa_arena_alloc(l->a, sizeof(*anchor));
    *anchor = (struct anchor){vpa_arena_strdup(l->a, (const char *)name), value, l->anchors};
    l->anchors = anchor;
}

static const char *key_text(const struct jv *key)
{
    switch (key->type) {
    case JV_BOOL:
        return key->boolean ? "true" : "false";
    case JV_NULL:
        return "null";
    case JV_STR:
    case JV_NUM:
        return key->text;
    default:
        return NULL;
    }
}

static int load_mapping(struct loader *l, struct jv *object)
{
    for (;;) {
        yaml_event_t event;
        struct jv *key, *value;

        if (next_event(l, &event) < 0)
            return -1;
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return 0;
        }
        if (load_value(l, &event, &key) < 0 || next_event(l, &event) < 0 ||
            load_value(l, &event, &value) < 0)
            return -1;
        const char *name = key_text(key);
        if (!name)
            return vpa_fail(l->err, VPA_INVALID, "yaml: a mapping key must be a scalar");
        if (!strcmp(name, "<<") && value->type == JV_OBJ) {
            jv_each (m, value)
                if (!jv_get(object, m->name))
                    jv_set(l->a, object, m->name, m->value);
            continue;
        }
        jv_set(l->a, object, name, value);
    }
}

static int load_sequence(struct loader *l, struct jv *array)
{
    for (;;) {
        yaml_event_t event;
        struct jv *value;

        if (next_event(l, &event) < 0)
            return -1;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return 0;
        }
        if (load_value(l, &event, &value) < 0)
            return -1;
        jv_push(l->a, array, value);
    }
}

/* Consumes the event. */
static int load_value(struct loader *l, yaml_event_t *event, struct jv **out)
{
    int rc = 0;

    if (++l->depth > 100) {
        yaml_event_delete(event);
        return vpa_fail(l->err, VPA_LIMIT, "yaml: nested too deeply");
    }
    switch (event->type) {
    case YAML_SCALAR_EVENT: {
        const char *text = (const char *)event->data.scalar.value;
        bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !event->data.scalar.tag;
        *out = plain ? plain_scalar(l->a, text) : jv_str(l->a, text);
        remember(l, event->data.scalar.anchor, *out);
        yaml_event_delete(event);
        break;
    }
    case YAML_MAPPING_START_EVENT:
        *out = jv_obj(l->a);
        remember(l, event->data.mapping_start.anchor, *out);
        yaml_event_delete(event);
        rc = load_mapping(l, *out);
        break;
    case YAML_SEQUENCE_START_EVENT:
        *out = jv_arr(l->a);
        remember(l, event->data.sequence_start.anchor, *out);
        yaml_event_delete(event);
        rc = load_sequence(l, *out);
        break;
    case YAML_ALIAS_EVENT: {
        struct anchor *anchor = l->anchors;
        while (anchor && strcmp(anchor->name, (const char *)event->data.alias.anchor) != 0)
            anchor = anchor->next;
        yaml_event_delete(event);
        if (!anchor)
            return vpa_fail(l->err, VPA_INVALID, "yaml: unknown anchor");
        *out = jv_clone(l->a, anchor->value);
        break;
    }
    default:
        yaml_event_delete(event);
        rc = vpa_fail(l->err, VPA_INVALID, "yaml: value expected");
    }
    l->depth--;
    return rc;
}

static int load_stream(struct loader *l, struct jv ***documents, size_t *count)
{
    size_t capacity = 0, n = 0;
    struct jv **list = NULL;

    for (;;) {
        yaml_event_t event;
        struct jv *value;

        if (next_event(l, &event) < 0) {
            free(list);
            return -1;
        }
        yaml_event_type_t type = event.type;
        if (type == YAML_STREAM_END_EVENT) {
            yaml_event_delete(&event);
            break;
        }
        if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_START_EVENT ||
            type == YAML_DOCUMENT_END_EVENT) {
            yaml_event_delete(&event);
            l->anchors = NULL;
            continue;
        }
        if (load_value(l, &event, &value) < 0) {
            free(list);
            return -1;
        }
        if (value->type == JV_NULL)
            continue;
        VPA_GROW(list, n, capacity);
        list[n++] = value;
    }
    *documents = vpa_arena_alloc(l->a, (n + 1) * sizeof(**documents));
    if (n)
        memcpy(*documents, list, n * sizeof(**documents));
    free(list);
    *count = n;
    return 0;
}

int jv_parse_yaml(struct vpa_arena *a, const char *text, size_t len, struct jv **documents[],
                  size_t *count, struct vpa_error *err)
{
    yaml_parser_t parser;
    struct loader l = {.a = a, .parser = &parser, .err = err};

    *count = 0;
    if (!yaml_parser_initialize(&parser))
        return vpa_fail(err, VPA_INVALID, "yaml: no parser");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    int rc = load_stream(&l, documents, count);
    yaml_parser_delete(&parser);
    return rc;
}
