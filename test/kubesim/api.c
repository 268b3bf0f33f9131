/*
 * From a request to its handler: path, verb, authentication, authorization, options, dispatch.
 */
#include "sim.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_OUT_MAX (1u << 30)

void response_init(struct response *res)
{
    memset(res, 0, sizeof(*res));
    vpa_buf_init(&res->body, BODY_OUT_MAX);
    res->status = 200;
    res->content_type = "application/json";
}

void response_release(struct response *res)
{
    vpa_buf_release(&res->body);
    if (res->watch)
        watch_free(res->watch);
    res->watch = NULL;
}

void sim_lock(struct ctx *c)
{
    pthread_mutex_lock(&c->sim->store.lock);
    c->locked = true;
}

void sim_unlock(struct ctx *c)
{
    c->locked = false;
    pthread_mutex_unlock(&c->sim->store.lock);
}

/* ---- the query ---- */

static char *unescape(struct vpa_arena *a, const char *text, size_t len)
{
    char *out = vpa_arena_alloc(a, len + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && i + 2 < len + 0 && isxdigit((unsigned char)text[i + 1]) &&
            isxdigit((unsigned char)text[i + 2])) {
            char hex[3] = {text[i + 1], text[i + 2], 0};
            out[n++] = (char)strtol(hex, NULL, 16);
            i += 2;
        } else {
            out[n++] = text[i] == '+' ? ' ' : text[i];
        }
    }
    out[n] = 0;
    return out;
}

const char *query_get(struct ctx *c, const char *name)
{
    const char *at = c->req->query;
    size_t len = strlen(name);

    while (at && *at) {
        size_t part = strcspn(at, "&");
        if (!strncmp(at, name, len) && (at[len] == '=' || at[len] == '&' || !at[len]) &&
            len <= part) {
            if (at[len] != '=')
                return "";
            return unescape(c->a, at + len + 1, part - len - 1);
        }
        at += part + (at[part] == '&');
    }
    return NULL;
}

/* The forms that Go reads as true. */
static bool is_true(const char *text)
{
    static const char *const forms[] = {"1", "t", "T", "true", "TRUE", "True"};

    for (size_t i = 0; i < VPA_COUNT(forms); i++)
        if (!strcmp(text, forms[i]))
            return true;
    return false;
}

bool query_flag(struct ctx *c, const char *name)
{
    const char *v = query_get(c, name);
    return v && is_true(v);
}

/* ---- the path ---- */

#define SEGMENTS_MAX 12

static size_t split_path(struct ctx *c, const char **out)
{
    char *at = vpa_arena_strdup(c->a, c->req->path);
    size_t n = 0;

    while (*at && n < SEGMENTS_MAX) {
        at += strspn(at, "/");
        if (!*at)
            break;
        out[n++] = at;
        at += strcspn(at, "/");
        if (*at)
            *at++ = 0;
    }
    return n;
}

/* /api/v1/... and /apis/G/V/...; what is behind G/V is a resource. */
static void parse_path(struct ctx *c)
{
    const char *s[SEGMENTS_MAX];
    size_t n = split_path(c, s), i;
    bool watch = false;

    c->group = c->version = c->resource = c->ns = c->name = c->sub = "";
    if (n >= 3 && !strcmp(s[0], "api")) {
        c->version = s[1];
        i = 2;
    } else if (n >= 4 && !strcmp(s[0], "apis")) {
        c->group = s[1];
        c->version = s[2];
        i = 3;
    } else {
        return;
    }
    c->is_resource = true;
    if (!strcmp(s[i], "watch") && i + 1 < n) {
        watch = true;
        i++;
    }
    if (!strcmp(s[i], "namespaces") && i + 2 < n &&
        !(i + 3 == n && !*c->group &&
          (!strcmp(s[i + 2], "status") || !strcmp(s[i + 2], "finalize")))) {
        c->ns = s[i + 1];
        i += 2;
    }
    c->resource = s[i];
    if (i + 1 < n)
        c->name = s[i + 1];
    if (i + 2 < n)
        c->sub = s[i + 2];
    if (watch)
        c->verb = "watch";
}

static void choose_verb(struct ctx *c)
{
    const char *m = c->req->method;
    bool named = *c->name;

    if (!strcmp(m, "GET") || !strcmp(m, "HEAD")) {
        if (c->verb) /* /watch/ form */
            return;
        const char *watch = named ? NULL : query_get(c, "watch");
        bool wanted = watch && (is_true(watch) || !*watch);
        c->verb = named ? "get" : wanted ? "watch" : "list";
    } else if (!strcmp(m, "POST")) {
        c->verb = "create";
    } else if (!strcmp(m, "PUT")) {
        c->verb = "update";
    } else if (!strcmp(m, "PATCH")) {
        c->verb = "patch";
    } else if (!strcmp(m, "DELETE")) {
        c->verb = named ? "delete" : "deletecollection";
    } else {
        c->verb = "";
    }
    if (!c->is_resource) {
        char *lower = vpa_arena_strdup(c->a, m);
        for (char *p = lower; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        c->verb = lower;
    }
}

/* ---- options common to all writes ---- */

static const char *options_kind(const struct ctx *c)
{
    return !strcmp(c->verb, "create")   ? "CreateOptions"
           : !strcmp(c->verb, "update") ? "UpdateOptions"
           : !strcmp(c->verb, "patch")  ? "PatchOptions"
                                        : "DeleteOptions";
}

static int read_options(struct ctx *c)
{
    struct field_errors errors = {0};
    const char *dry = query_get(c, "dryRun");
    const char *validation = query_get(c, "fieldValidation");
    const char *manager = query_get(c, "fieldManager");
    bool apply = !strcmp(c->verb, "patch") && c->req->content_type &&
                 strstr(c->req->content_type, "apply-patch");

    c->field_validation = "Warn";
    if (!strcmp(c->verb, "get") || !strcmp(c->verb, "list") || !strcmp(c->verb, "watch"))
        return 0;
    if (!strcmp(c->verb, "patch") && !apply && query_get(c, "force"))
        field_error(c, &errors, "FieldValueForbidden", "force",
                    "Forbidden: may not be specified for non-apply patch");
    if (apply && (!manager || !*manager))
        field_error(c, &errors, "FieldValueRequired", "fieldManager",
                    "Required value: is required for apply patch");
    if (manager && strlen(manager) > 128)
        field_error(c, &errors, "FieldValueTooLong", "fieldManager",
                    "Too long: may not be more than 128 bytes");
    if (dry && strcmp(dry, "All") != 0)
        field_error(c, &errors, "FieldValueNotSupported", "dryRun",
                    "Unsupported value: [\"%s\"]: supported values: \"All\"", dry);
    c->dry_run = dry != NULL;
    if (validation && *validation) {
        if (strcmp(validation, "Strict") != 0 && strcmp(validation, "Warn") != 0 &&
            strcmp(validation, "Ignore") != 0)
            field_error(c, &errors, "FieldValueNotSupported", "fieldValidation",
                        "Unsupported value: \"%s\": supported values: \"\", \"Ignore\", "
                        "\"Strict\", \"Warn\"",
                        validation);
        c->field_validation = validation;
    }
    bool foreign = c->type && c->type->crd && !strcmp(c->verb, "patch") && c->req->content_type &&
                   strstr(c->req->content_type, "strategic-merge"); /* refused before options */
    if (errors.count && strncmp(c->verb, "delete", 6) != 0 && !foreign)
        return fail_invalid(c, "meta.k8s.io", options_kind(c), "", &errors);
    if (manager && *manager) {
        c->field_manager = manager;
    } else {
        const char *agent = c->req->user_agent ? c->req->user_agent : "";
        c->field_manager = vpa_arena_strndup(c->a, agent, strcspn(agent, "/"));
    }
    return 0;
}

/* ---- dispatch ---- */

static int method_not_allowed(struct ctx *c)
{
    return fail_details(c, 405, "MethodNotAllowed", jv_obj(c->a),
                        "the server does not allow this method on the requested resource");
}

static bool has_subresource(const struct ctx *c, const char *sub)
{
    const struct restype *t = c->type;
    bool pod = !strcmp(t->kind, "Pod") && !*t->group;

    if (!strcmp(sub, "status"))
        return t->flags & T_STATUS;
    if (!strcmp(sub, "scale"))
        return t->flags & T_SCALE;
    if (!strcmp(sub, "resize"))
        return pod && c->sim->opt.resize;
    if (!strcmp(sub, "eviction") || !strcmp(sub, "binding") || !strcmp(sub, "log"))
        return pod;
    if (!strcmp(sub, "token"))
        return !strcmp(t->kind, "ServiceAccount") && !*t->group;
    if (!strcmp(sub, "finalize"))
        return !strcmp(t->kind, "Namespace") && !*t->group;
    return false;
}

static int dispatch_sub(struct ctx *c)
{
    const char *v = c->verb;

    if (!has_subresource(c, c->sub) && c->type->crd &&
        (!strcmp(c->sub, "scale") || !strcmp(c->sub, "status")))
        return fail_not_found(c, c->type, c->name);
    if (!has_subresource(c, c->sub))
        return fail_details(c, 404, "NotFound", jv_obj(c->a),
                            "the server could not find the requested resource");
    if (!strcmp(c->sub, "eviction"))
        return !strcmp(v, "create") ? handle_eviction(c) : method_not_allowed(c);
    if (!strcmp(c->sub, "binding"))
        return !strcmp(v, "create") ? handle_binding(c) : method_not_allowed(c);
    if (!strcmp(c->sub, "token"))
        return !strcmp(v, "create") ? handle_token_request(c) : method_not_allowed(c);
    if (!strcmp(c->sub, "log"))
        return !strcmp(v, "get") ? handle_log(c) : method_not_allowed(c);
    if (strcmp(v, "get") != 0 && strcmp(v, "update") != 0 && strcmp(v, "patch") != 0)
        return method_not_allowed(c);
    if (!strcmp(c->sub, "scale"))
        return handle_scale(c);
    return !strcmp(v, "get")      ? handle_get(c)
           : !strcmp(v, "update") ? handle_update(c)
                                  : handle_patch(c);
}

static int dispatch_resource(struct ctx *c)
{
    const char *v = c->verb;

    if (*c->sub)
        return dispatch_sub(c);
    if (c->type->flags & T_CREATE_ONLY)
        return !strcmp(v, "create") && !*c->name ? handle_review(c) : method_not_allowed(c);
    if (!strcmp(v, "get"))
        return handle_get(c);
    if (!strcmp(v, "list"))
        return handle_list(c);
    if (!strcmp(v, "watch"))
        return handle_watch(c);
    if (!strcmp(v, "create"))
        return *c->name || ((c->type->flags & T_NAMESPACED) && !*c->ns) ? method_not_allowed(c)
                                                                        : handle_create(c);
    if (!strcmp(v, "delete"))
        return handle_delete(c);
    if (!strcmp(v, "deletecollection"))
        return handle_delete_collection(c);
    if (!*c->name)
        return method_not_allowed(c);
    return !strcmp(v, "update") ? handle_update(c) : handle_patch(c);
}

static int route(struct ctx *c)
{
    if (!strncmp(c->req->path, "/kubesim/", 9))
        return handle_control(c);
    parse_path(c);
    choose_verb(c);
    if (authenticate(c) < 0)
        return -1;
    if (authorize(c) < 0)
        return -1;
    int elsewhere = handle_proxy(c);
    if (!elsewhere)
        elsewhere = handle_generated_metrics(c);
    if (elsewhere)
        return elsewhere;
    if (!c->is_resource)
        return handle_nonresource(c);
    sim_lock(c);
    c->type = types_find(&c->sim->types, c->group, c->version, c->resource);
    if (!c->type) {
        bool known = types_has_group(&c->sim->types, c->group, c->version);
        return known ? fail_details(c, 404, "NotFound", jv_obj(c->a),
                                    "the server could not find the requested resource")
                     : answer_404_text(c);
    }
    if (*c->ns && !(c->type->flags & T_NAMESPACED) && strcmp(c->type->kind, "Namespace") != 0)
        return fail_details(c, 404, "NotFound", jv_obj(c->a),
                            "the server could not find the requested resource");
    if (read_options(c) < 0)
        return -1;
    return dispatch_resource(c);
}

void api_handle(struct sim *sim, const struct request *req, struct response *res,
                struct vpa_arena *a)
{
    struct ctx c = {.sim = sim, .req = req, .res = res, .a = a};

    (void)!route(&c);
    if (c.locked)
        sim_unlock(&c);
    count_request(sim, c.verb ? c.verb : "other",
                  c.is_resource ? vpa_arena_printf(a, "%s%s%s%s%s", c.resource, *c.group ? "." : "",
                                                   c.group, *c.sub ? "/" : "", c.sub)
                                : req->path,
                  req->user_agent ? req->user_agent : "", res->status, req->body_len,
                  res->body.len);
}

int api_call(struct sim *sim, struct vpa_arena *a, const char *who, const char *method,
             const char *path, const char *content_type, const struct jv *body, struct jv **out)
{
    struct user user = {.name = who,
                        .uid = "",
                        .groups = {"system:masters", "system:authenticated"},
                        .group_count = 2};
    const char *text = body ? jv_dump(a, body) : "";
    const char *query = strchr(path, '?');
    struct request req = {.method = method,
                          .path = query ? vpa_arena_strndup(a, path, (size_t)(query - path)) : path,
                          .query = query ? query + 1 : "",
                          .content_type = content_type ? content_type : "application/json",
                          .user_agent = "kubesim-controllers",
                          .body = text,
                          .body_len = strlen(text),
                          .as = &user};
    struct response res;

    response_init(&res);
    api_handle(sim, &req, &res, a);
    if (out && jv_parse(a, vpa_buf_text(&res.body), res.body.len, out, NULL, NULL) < 0)
        *out = jv_obj(a);
    int status = res.status;
    response_release(&res);
    return status;
}
