/*
 * GET and LIST: representation (plain, Table, metadata only), paging with continue tokens, and
 * every form of resourceVersion and resourceVersionMatch.
 */
#include "sim.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- representation ---- */

static const char *media_param(struct ctx *c, const char *range, const char *name)
{
    const char *at = range;
    size_t len = strlen(name);

    while ((at = strchr(at, ';'))) {
        at += 1 + strspn(at + 1, " ");
        if (!strncmp(at, name, len) && at[len] == '=')
            return vpa_arena_strndup(c->a, at + len + 1, strcspn(at + len + 1, "; ,"));
    }
    return NULL;
}

static int consider(struct ctx *c, const char *range, bool list, struct output_choice *out,
                    bool *had_as)
{
    size_t len = strcspn(range, "; ");
    char *base = vpa_arena_strndup(c->a, range, len);
    const char *as = media_param(c, range, "as"), *v = media_param(c, range, "v"),
               *g = media_param(c, range, "g");
    bool json = !strcmp(base, "application/json") || !strcmp(base, "*/*") ||
                !strcmp(base, "application/*") || !strcmp(base, "application/yaml");

    if (!json)
        return 0;
    if (!as) {
        out->form = OUT_JSON;
        return 1;
    }
    *had_as = true;
    if (!v || !g || strcmp(g, "meta.k8s.io") != 0)
        return 0;
    if (!strcmp(as, "Table") && (!strcmp(v, "v1") || !strcmp(v, "v1beta1"))) {
        out->form = OUT_TABLE;
        return 1;
    }
    if (!strcmp(as, list ? "PartialObjectMetadataList" : "PartialObjectMetadata") &&
        !strcmp(v, "v1")) {
        out->form = OUT_METADATA;
        return 1;
    }
    return 0;
}

int choose_output(struct ctx *c, bool list, struct output_choice *out)
{
    const char *accept = c->req->accept;
    bool had_as = false;

    *out = (struct output_choice){OUT_JSON, query_get(c, "includeObject")};
    if (accept && *accept) {
        char *rest = vpa_arena_strdup(c->a, accept), *range;
        bool chosen = false;
        while (!chosen && (range = strsep(&rest, ","))) {
            range += strspn(range, " ");
            chosen = consider(c, range, list, out, &had_as);
        }
        if (!chosen && had_as)
            return fail(
                c, 406, "NotAcceptable",
                "only the following media types are accepted: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf");
        if (!chosen)
            return fail_details(
                c, 406, "NotAcceptable", jv_obj(c->a),
                "406: Not Acceptable\n\nAvailable representations: application/json, "
                "application/yaml, application/vnd.kubernetes.protobuf");
    }
    if (!out->include || !*out->include)
        out->include = "Metadata";
    if (out->form == OUT_TABLE && strcmp(out->include, "Metadata") != 0 &&
        strcmp(out->include, "Object") != 0 && strcmp(out->include, "None") != 0)
        return fail(c, 400, "BadRequest",
                    "Unable to convert to Table as requested: includeObject: Invalid value: "
                    "\"%s\": must be "
                    "'Metadata', 'Object', 'None', or empty",
                    out->include);
    return 0;
}

/* ---- events have two forms ---- */

static const char *const event_names[][2] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

static struct jv *rename_members(struct vpa_arena *a, struct jv *object, int from)
{
    struct jv *out = jv_obj(a);

    jv_each (m, object) {
        const char *name = m->name;
        for (size_t i = 0; i < VPA_COUNT(event_names); i++)
            if (!strcmp(name, event_names[i][from]))
                name = event_names[i][!from];
        jv_set(a, out, name, m->value);
    }
    return out;
}

struct jv *view_of(struct vpa_arena *a, const struct restype *t, struct jv *stored)
{
    return t->as ? rename_members(a, stored, 0) : stored;
}

struct jv *stored_of(struct vpa_arena *a, const struct restype *t, struct jv *object)
{
    return t->as ? rename_members(a, object, 1) : object;
}

/* ---- writing objects ---- */

void write_object(struct vpa_buf *buf, struct vpa_arena *a, const struct restype *t,
                  const struct version *v, bool with_kind, uint64_t rv)
{
    const char *json = v->json;
    size_t len = v->len, rv_at = v->rv_at, rv_len = v->rv_len;

    if (t->as) {
        json = jv_dump(a, view_of(a, t, version_parse(a, v)));
        len = strlen(json);
    }
    if (with_kind) {
        vpa_buf_puts(buf, "{\"kind\":\"");
        vpa_buf_puts(buf, t->kind);
        vpa_buf_puts(buf, "\",\"apiVersion\":\"");
        if (*t->group) {
            vpa_buf_puts(buf, t->group);
            vpa_buf_putc(buf, '/');
        }
        vpa_buf_puts(buf, t->version);
        vpa_buf_puts(buf, "\",");
    } else {
        vpa_buf_putc(buf, '{');
    }
    if (rv && rv != v->rv) {
        vpa_buf_append(buf, json + 1, rv_at - 1);
        vpa_buf_printf(buf, "%llu", (unsigned long long)rv);
        vpa_buf_append(buf, json + rv_at + rv_len, len - rv_at - rv_len);
    } else {
        vpa_buf_append(buf, json + 1, len - 1);
    }
}

/* Length of the metadata object at the front of a stored text. */
static size_t metadata_len(const char *json)
{
    const char *at = json;
    int depth = 0;

    do {
        if (*at == '"') {
            for (at++; *at != '"'; at++)
                at += *at == '\\';
        } else if (*at == '{') {
            depth++;
        } else if (*at == '}') {
            depth--;
        }
        at++;
    } while (depth);
    return (size_t)(at - json);
}

/* Of a DaemonSet the server looks at its own form, which has no counter among the annotations. */
static void write_daemon_metadata(struct vpa_buf *buf, struct vpa_arena *a, const struct version *v,
                                  uint64_t rv)
{
    struct jv *meta = jv_get(version_parse(a, v), "metadata"),
              *annotations = jv_get(meta, "annotations");

    jv_del(annotations, TEMPLATE_GENERATION);
    if (annotations && !jv_len(annotations))
        jv_del(meta, "annotations");
    if (rv)
        jv_set(a, meta, "resourceVersion", jv_strf(a, "%llu", (unsigned long long)rv));
    jv_write(buf, meta);
}

void write_metadata(struct vpa_buf *buf, struct vpa_arena *a, const struct restype *t,
                    const struct version *v, uint64_t rv)
{
    size_t begin = strlen("{\"metadata\":"), end = begin + metadata_len(v->json + begin);

    vpa_buf_puts(
        buf, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
    if (!strcmp(t->kind, "DaemonSet")) {
        write_daemon_metadata(buf, a, v, rv);
    } else if (rv && rv != v->rv) {
        vpa_buf_append(buf, v->json + begin, v->rv_at - begin);
        vpa_buf_printf(buf, "%llu", (unsigned long long)rv);
        vpa_buf_append(buf, v->json + v->rv_at + v->rv_len, end - v->rv_at - v->rv_len);
    } else {
        vpa_buf_append(buf, v->json + begin, end - begin);
    }
    vpa_buf_putc(buf, '}');
}

void answer_version(struct ctx *c, int code, const struct version *v)
{
    c->res->status = code;
    c->res->content_type = "application/json";
    vpa_buf_clear(&c->res->body);
    write_object(&c->res->body, c->a, c->type, v, true, 0);
    vpa_buf_putc(&c->res->body, '\n');
}

void answer_object(struct ctx *c, int code, struct jv *object)
{
    struct jv *out = view_of(c->a, c->type, object);

    jv_put_first(c->a, out, "apiVersion", jv_str(c->a, type_api_version(c->a, c->type)));
    jv_put_first(c->a, out, "kind", jv_str(c->a, c->type->kind));
    answer_json(c, code, out);
}

/* ---- GET ---- */

int handle_get(struct ctx *c)
{
    struct output_choice form;
    const char *rv = query_get(c, "resourceVersion");

    if (choose_output(c, false, &form) < 0)
        return -1;
    if (rv && *rv && rv[strspn(rv, "0123456789")])
        return fail(
            c, 400, "BadRequest",
            "invalid resource version: resourceVersion: Invalid value: \"%s\": strconv.ParseUint: "
            "parsing \"%s\": invalid syntax",
            rv, rv);
    struct version *v = store_find(c->type->store, c->ns, c->name);
    if (!v)
        return fail_not_found(c, c->type, c->name);
    if (c->req->stale) /* fault: the state before the last change */
        for (size_t i = c->type->store->log_count; i-- > 0;) {
            const struct event *e = store_event(c->type->store, i);
            if (e->now == v && e->prev) {
                v = e->prev;
                break;
            }
        }
    c->res->status = 200;
    if (form.form == OUT_TABLE) {
        table_begin(&c->res->body, c->sim, c->type,
                    vpa_arena_strndup(c->a, v->json + v->rv_at, v->rv_len), NULL, -1, true);
        table_row(&c->res->body, c->sim, c->a, c->type, v, 0, form.include);
        table_end(&c->res->body);
    } else if (form.form == OUT_METADATA) {
        write_metadata(&c->res->body, c->a, c->type, v, 0);
    } else {
        answer_version(c, 200, v);
    }
    return 0;
}

/* ---- continue tokens ---- */

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static char *encode_token(struct vpa_arena *a, int64_t rv, const char *start)
{
    char *text = vpa_arena_printf(
        a, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%lld,\"start\":\"%s\\u0000\"}", (long long)rv, start);
    size_t len = strlen(text), n = 0;
    char *out = vpa_arena_alloc(a, len * 4 / 3 + 4);

    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)(unsigned char)text[i] << 16;
        if (i + 1 < len)
            v |= (unsigned)(unsigned char)text[i + 1] << 8;
        if (i + 2 < len)
            v |= (unsigned char)text[i + 2];
        out[n++] = base64url[v >> 18 & 63];
        out[n++] = base64url[v >> 12 & 63];
        if (i + 1 < len)
            out[n++] = base64url[v >> 6 & 63];
        if (i + 2 < len)
            out[n++] = base64url[v & 63];
    }
    out[n] = 0;
    return out;
}

static int decode_token(struct ctx *c, const char *token, int64_t *rv, const char **start)
{
    char *text = vpa_arena_zalloc(c->a, strlen(token) + 4);
    size_t n = 0;
    unsigned bits = 0, held = 0;

    for (const char *p = token; *p && *p != '='; p++) {
        const char *hit = strchr(base64url, *p);
        if (!hit)
            break;
        bits = bits << 6 | (unsigned)(hit - base64url);
        held += 6;
        if (held >= 8) {
            held -= 8;
            text[n++] = (char)(bits >> held);
        }
    }
    const char *rv_at = strstr(text, "\"rv\":"), *start_at = strstr(text, "\"start\":\"");
    if (*text != '{' || !rv_at || !start_at)
        return fail(c, 400, "BadRequest",
                    "invalid continue token: continue key is not valid: invalid character "
                    "'\\u%04x' looking "
                    "for beginning of value",
                    (unsigned char)*text);
    *rv = strtoll(rv_at + 5, NULL, 10);
    start_at += 9;
    *start = vpa_arena_strndup(c->a, start_at, strcspn(start_at, "\\\""));
    return 0;
}

/* ---- LIST ---- */

struct list_options {
    struct output_choice form;
    struct selector *selector;
    int64_t limit;
    int64_t rv;        /* 0 the present, else exactly this */
    const char *after; /* "name" or "namespace/name"; NULL from the start */
};

static int list_field_error(struct ctx *c, const char *reason, const char *message)
{
    struct field_errors e = {0};
    field_error(c, &e, reason, "resourceVersionMatch", "%s", message);
    return fail_invalid(c, "meta.k8s.io", "ListOptions", "", &e);
}

static int too_large(struct ctx *c, const char *rv)
{
    struct jv *details =
        jv_lit(c->a, "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large "
                     "resource version\"}],\"retryAfterSeconds\":1}");
    unsigned long long now = c->sim->store.rv;

    sim_unlock(c);
    struct timespec pause = {3, 0};
    nanosleep(&pause, NULL);
    sim_lock(c);
    c->res->retry_after = 1;
    return fail_details(
        c, 504, "Timeout", details,
        vpa_arena_printf(c->a, "Timeout: Too large resource version: %s, current: %llu", rv, now));
}

static int read_version(struct ctx *c, const char *token, struct list_options *o)
{
    const char *rv = query_get(c, "resourceVersion"), *match = query_get(c, "resourceVersionMatch");
    char *end;

    rv = rv ? rv : "";
    if (match && *match) {
        if (!*rv)
            return list_field_error(
                c, "FieldValueForbidden",
                "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided");
        if (strcmp(match, "Exact") != 0 && strcmp(match, "NotOlderThan") != 0)
            return list_field_error(c, "FieldValueNotSupported",
                                    vpa_arena_printf(c->a,
                                                     "Unsupported value: \"%s\": supported values: "
                                                     "\"Exact\", \"NotOlderThan\", \"\"",
                                                     match));
        if (!strcmp(match, "Exact") && !strcmp(rv, "0"))
            return list_field_error(
                c, "FieldValueForbidden",
                "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
    if (token && *rv && strcmp(rv, "0") != 0)
        return fail(c, 400, "BadRequest",
                    "specifying resource version is not allowed when using continue");
    errno = 0;
    unsigned long long n = strtoull(rv, &end, 10);
    if (*rv && (*end || errno || *rv == '-'))
        return fail(
            c, 400, "BadRequest",
            "invalid resource version: resourceVersion: Invalid value: \"%s\": strconv.ParseUint: "
            "parsing \"%s\": invalid syntax",
            rv, rv);
    if (n > c->sim->store.rv)
        return too_large(c, rv);
    if (!strcmp(rv, "0"))
        o->limit = 0;
    if (n && ((match && !strcmp(match, "Exact")) || (!match && o->limit)))
        o->rv = (int64_t)n;
    return 0;
}

static int read_list_options(struct ctx *c, struct list_options *o, const char **token)
{
    const char *limit = query_get(c, "limit");
    char *end;

    if (choose_output(c, true, &o->form) < 0)
        return -1;
    if (limit && *limit) {
        o->limit = strtoll(limit, &end, 10);
        if (*end)
            return fail(c, 400, "BadRequest", "strconv.ParseInt: parsing \"%s\": invalid syntax",
                        limit);
    }
    *token = query_get(c, "continue");
    if (*token && !**token)
        *token = NULL;
    if (selector_read(c, &o->selector) < 0 || read_version(c, *token, o) < 0)
        return -1;
    if (*token)
        return decode_token(c, *token, &o->rv, &o->after);
    return 0;
}

static int expired(struct ctx *c, const struct list_options *o, bool token)
{
    struct jv *meta = jv_obj(c->a);
    struct jv *s =
        jv_lit(c->a, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                     "\"Failure\",\"message\":\"\",\"reason\":\"Expired\",\"code\":410}");

    if (token) {
        jv_set_str(c->a, meta, "continue", encode_token(c->a, -1, o->after));
        jv_set(c->a, s, "metadata", meta);
    }
    jv_set_str(
        c->a, s, "message",
        token
            ? "The provided continue parameter is too old to display a consistent list result. You "
              "can "
              "start a new list without the continue parameter, or use the continue token in this "
              "response to retrieve the remainder of the results. Continuing with the provided "
              "token "
              "results in an inconsistent list - objects that were created, modified, or deleted "
              "between the time the first chunk was returned and now may show up in the list."
            : "The resourceVersion for the provided list is too old.");
    answer_json(c, 410, s);
    return -1;
}

/* The first item behind the token's key. */
static size_t skip_to(const struct ctx *c, const char *after, struct version *const *items,
                      size_t count)
{
    size_t i = 0;

    if (!after)
        return 0;
    const char *slash = strchr(after, '/');
    for (; i < count; i++) {
        int order;
        if (*c->ns || !(c->type->flags & T_NAMESPACED)) {
            order = strcmp(items[i]->name, after);
        } else {
            size_t len = slash ? (size_t)(slash - after) : strlen(after);
            order = strncmp(items[i]->ns, after, len);
            if (!order && items[i]->ns[len])
                order = 1;
            if (!order)
                order = strcmp(items[i]->name, slash ? slash + 1 : "");
        }
        if (order > 0)
            break;
    }
    return i;
}

static void open_list(struct ctx *c, const struct list_options *o, const char *rv, const char *cont,
                      int64_t remaining)
{
    struct vpa_buf *b = &c->res->body;

    if (o->form.form == OUT_TABLE) {
        table_begin(b, c->sim, c->type, rv, cont, remaining, true);
        return;
    }
    if (o->form.form == OUT_METADATA)
        vpa_buf_puts(b,
                     "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\"");
    else
        vpa_buf_printf(b, "{\"kind\":\"%s\",\"apiVersion\":\"%s\"", c->type->list_kind,
                       type_api_version(c->a, c->type));
    vpa_buf_printf(b, ",\"metadata\":{\"resourceVersion\":\"%s\"", rv);
    bool custom = c->type->crd && o->form.form == OUT_JSON; /* their lists always have the member */
    if (cont || custom)
        vpa_buf_printf(b, ",\"continue\":\"%s\"", cont ? cont : "");
    if (remaining >= 0)
        vpa_buf_printf(b, ",\"remainingItemCount\":%lld", (long long)remaining);
    vpa_buf_puts(b, "},\"items\":[");
}

static void write_items(struct ctx *c, const struct list_options *o, struct version *const *items,
                        size_t count)
{
    struct vpa_buf *b = &c->res->body;
    bool kinds = c->type->crd != NULL;
    struct vpa_arena scratch = {0};

    bool nobody_made =
        o->form.form == OUT_METADATA || (o->form.form == OUT_TABLE && table_is_plain(c->type));
    if (!count && nobody_made) { /* Go's nil */
        vpa_buf_truncate(b, b->len - strlen("["));
        vpa_buf_puts(b, "null}\n");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (i)
            vpa_buf_putc(b, ',');
        if (o->form.form == OUT_TABLE)
            table_row(b, c->sim, &scratch, c->type, items[i], 0, o->form.include);
        else if (o->form.form == OUT_METADATA)
            write_metadata(b, &scratch, c->type, items[i], 0);
        else
            write_object(b, &scratch, c->type, items[i], kinds, 0);
        vpa_arena_clear(&scratch);
    }
    vpa_arena_release(&scratch);
    if (o->form.form == OUT_TABLE)
        table_end(b);
    else
        vpa_buf_puts(b, "]}\n");
}

static const char *token_key(struct ctx *c, const struct version *v)
{
    return *c->ns || !(c->type->flags & T_NAMESPACED)
               ? v->name
               : vpa_arena_printf(c->a, "%s/%s", v->ns, v->name);
}

/* Fault: the collection as it was some writes ago. */
#define STALE_BY 20
static int64_t stale_version(const struct ctx *c)
{
    uint64_t now = c->sim->store.rv, then = now > STALE_BY ? now - STALE_BY : 1;

    return (int64_t)(then < c->type->store->floor ? c->type->store->floor : then);
}

int handle_list(struct ctx *c)
{
    struct list_options o = {0};
    const char *token = NULL;
    struct version **items;
    size_t count, kept = 0, end;

    if (read_list_options(c, &o, &token) < 0)
        return -1;
    if (c->req->stale && o.rv <= 0)
        o.rv = stale_version(c);
    bool old = o.rv > 0;
    if (store_snapshot(c->type->store, c->ns, old ? (uint64_t)o.rv : 0, &items, &count) < 0)
        return expired(c, &o, token != NULL);
    uint64_t rv = old ? (uint64_t)o.rv : c->sim->store.rv;
    sim_unlock(c);
    size_t first = skip_to(c, o.after, items, count);
    struct version **page = vpa_xmalloc((count + 1) * sizeof(struct version *));
    for (end = first; end < count && (!o.limit || kept < (size_t)o.limit); end++)
        if (selector_matches(o.selector, items[end]))
            page[kept++] = items[end];
    /* Of whatever labels; one that is asked for by name has none behind it. */
    bool more = o.limit && end < count && !selector_exact_name(o.selector);
    c->res->status = 200;
    c->res->content_type = "application/json";
    open_list(c, &o, vpa_arena_printf(c->a, "%llu", (unsigned long long)rv),
              more ? encode_token(c->a, (int64_t)rv, token_key(c, page[kept - 1])) : NULL,
              more && selector_is_empty(o.selector) ? (int64_t)(count - end) : -1);
    write_items(c, &o, page, kept);
    for (size_t i = 0; i < count; i++)
        version_unref(items[i]);
    free(page);
    free(items);
    return 0;
}
