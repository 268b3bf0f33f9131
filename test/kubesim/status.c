/* Status objects: every refusal of the API server has this form. */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void write_status(struct ctx *c, int code, const char *reason, struct jv *details,
                         const char *message)
{
    struct jv *s = jv_obj(c->a);

    jv_set_str(c->a, s, "kind", "Status");
    jv_set_str(c->a, s, "apiVersion", "v1");
    jv_set(c->a, s, "metadata", jv_obj(c->a));
    jv_set_str(c->a, s, "status", "Failure");
    jv_set_str(c->a, s, "message", message);
    if (reason)
        jv_set_str(c->a, s, "reason", reason);
    if (details)
        jv_set(c->a, s, "details", details);
    jv_set_int(c->a, s, "code", code);
    answer_json(c, code, s);
}

int fail_details(struct ctx *c, int code, const char *reason, struct jv *details,
                 const char *message)
{
    write_status(c, code, reason, details, message);
    return -1;
}

int fail(struct ctx *c, int code, const char *reason, const char *fmt, ...)
{
    char text[8192];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    write_status(c, code, reason, NULL, text);
    return -1;
}

static struct jv *object_details(struct ctx *c, const struct restype *t, const char *name)
{
    struct jv *d = jv_obj(c->a);

    if (name && *name)
        jv_set_str(c->a, d, "name", name);
    if (*t->group)
        jv_set_str(c->a, d, "group", t->group);
    jv_set_str(c->a, d, "kind", t->plural);
    return d;
}

int fail_object(struct ctx *c, int code, const char *reason, const char *fmt, ...)
{
    char text[8192];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    write_status(c, code, reason, object_details(c, c->type, c->name), text);
    return -1;
}

int fail_not_found(struct ctx *c, const struct restype *t, const char *name)
{
    write_status(c, 404, "NotFound", object_details(c, t, name),
                 vpa_arena_printf(c->a, "%s \"%s\" not found", type_qualified(c->a, t), name));
    return -1;
}

int fail_conflict(struct ctx *c)
{
    return fail_object(
        c, 409, "Conflict",
        "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please "
        "apply your changes to the latest version and try again",
        type_qualified(c->a, c->type), c->name);
}

void field_error(struct ctx *c, struct field_errors *errors, const char *reason, const char *field,
                 const char *fmt, ...)
{
    char text[8192];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    VPA_ARENA_GROW(c->a, errors->items, errors->count, errors->capacity);
    errors->items[errors->count++] =
        (struct field_error){reason, vpa_arena_strdup(c->a, text), vpa_arena_strdup(c->a, field)};
}

/* "field: message", or "[a, b]" with equal texts once. */
static void join_errors(struct ctx *c, struct vpa_buf *out, const struct field_errors *errors)
{
    struct strings texts = {0};

    for (size_t i = 0; i < errors->count; i++) {
        const char *text =
            vpa_arena_printf(c->a, "%s: %s", errors->items[i].field, errors->items[i].message);
        if (!strings_has(&texts, text))
            strings_add(c->a, &texts, text);
    }
    if (texts.count > 1)
        vpa_buf_putc(out, '[');
    for (size_t i = 0; i < texts.count; i++)
        vpa_buf_printf(out, "%s%s", i ? ", " : "", texts.items[i]);
    if (texts.count > 1)
        vpa_buf_putc(out, ']');
}

int fail_invalid(struct ctx *c, const char *group, const char *kind, const char *name,
                 const struct field_errors *errors)
{
    struct jv *details = jv_obj(c->a);
    struct jv *causes = jv_arr(c->a);
    vpa_auto_buf message = VPA_BUF(1 << 20);

    vpa_buf_printf(&message, "%s%s%s \"%s\" is invalid: ", kind, *group ? "." : "", group, name);
    join_errors(c, &message, errors);
    if (*name)
        jv_set_str(c->a, details, "name", name);
    if (*group)
        jv_set_str(c->a, details, "group", group);
    if (*kind)
        jv_set_str(c->a, details, "kind", kind);
    for (size_t i = 0; i < errors->count; i++) {
        struct jv *cause = jv_obj(c->a);
        jv_set_str(c->a, cause, "reason", errors->items[i].reason);
        jv_set_str(c->a, cause, "message", errors->items[i].message);
        jv_set_str(c->a, cause, "field", errors->items[i].field);
        jv_push(c->a, causes, cause);
    }
    jv_set(c->a, details, "causes", causes);
    return fail_details(c, 422, "Invalid", details, vpa_buf_text(&message));
}

int fail_type_invalid(struct ctx *c, const char *name, const struct field_errors *errors)
{
    return fail_invalid(c, c->type->as ? "" : c->type->group, c->type->kind, name, errors);
}

void answer_json(struct ctx *c, int code, const struct jv *body)
{
    c->res->status = code;
    c->res->content_type = "application/json";
    vpa_buf_clear(&c->res->body);
    jv_write(&c->res->body, body);
    vpa_buf_putc(&c->res->body, '\n');
}

void answer_success(struct ctx *c, int code, const char *name, const char *uid)
{
    struct jv *s = jv_obj(c->a);

    jv_set_str(c->a, s, "kind", "Status");
    jv_set_str(c->a, s, "apiVersion", "v1");
    jv_set(c->a, s, "metadata", jv_obj(c->a));
    jv_set_str(c->a, s, "status", "Success");
    if (name) {
        struct jv *details = object_details(c, c->type, name);
        jv_set_str(c->a, details, "uid", uid);
        jv_set(c->a, s, "details", details);
    }
    if (code == 201)
        jv_set_int(c->a, s, "code", 201);
    answer_json(c, code, s);
}

void answer_text(struct ctx *c, int code, const char *text)
{
    c->res->status = code;
    c->res->content_type = "text/plain; charset=utf-8";
    vpa_buf_clear(&c->res->body);
    vpa_buf_puts(&c->res->body, text);
}

int answer_404_text(struct ctx *c)
{
    answer_text(c, 404, "404 page not found\n");
    return -1;
}
