/*
 * Prometheus: settings and questions (prom_answer.c has the answers).
 *
 * Three questions are asked once, at start: the CPU rate and the memory of every container over the
 * history (range queries), and a series that carries the labels of pods (an instant query whose
 * text must be a range selector, because all three answers have to be matrices). The texts are
 * built by plain concatenation; upstream escapes nothing and operators use that to smuggle matchers
 * in.
 */
#include "prometheus.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/api/review.h"
#include "vpa/base/file.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/url.h"
#include "vpa/json/json_writer.h"

/* Longest address, query or argument list; flags are bounded by the kernel's argument limit. */
#define TEXT_MAX ((size_t)1 << 20)
#define ARGUMENTS_MAX 64
#define TOKEN_FILE_MAX ((size_t)1 << 20)

/* ---- settings ---- */

/* Go's url.QueryEscape. */
static void url_escape(struct vpa_buf *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (isalnum(c) || strchr("-_.~", c))
            vpa_buf_putc(out, (char)c);
        else if (c == ' ')
            vpa_buf_putc(out, '+');
        else
            vpa_buf_printf(out, "%%%02X", c);
    }
}

static char *basic_auth(const char *user, const char *password)
{
    vpa_auto_free char *pair = vpa_xprintf("%s:%s", user, password);
    vpa_auto_buf out = VPA_BUF(TEXT_MAX);

    vpa_buf_puts(&out, "Basic ");
    vpa_base64_encode(&out, pair, strlen(pair));
    return vpa_buf_take(&out);
}

int prom_read_token(const struct prom_options *o, char **token, struct vpa_error *err)
{
    vpa_auto_free char *text = NULL;
    size_t len;

    if (!*o->bearer_token_file) {
        *token = vpa_xstrdup(o->bearer_token);
        return 0;
    }
    if (vpa_read_file(o->bearer_token_file, TOKEN_FILE_MAX, &text, &len, err) < 0)
        return vpa_wrap(err, "Unable to read bearer token file");
    struct vpa_slice content = vpa_slice_trim((struct vpa_slice){text, len});
    *token = vpa_xstrndup(content.ptr, content.len);
    explicit_bzero(text, len);
    return 0;
}

/* A file that is empty is one that is being written. */
static char *current_token(const struct prom_options *o)
{
    struct vpa_error err;
    vpa_auto_free char *token = NULL;

    if (prom_read_token(o, &token, &err) == 0) {
        if (*token || !*o->bearer_token)
            return VPA_STEAL(token);
        (void)vpa_fail(&err, VPA_INVALID, "%s: empty", o->bearer_token_file);
    }
    VPA_WARN("Asking Prometheus with the token that was read at the start", VPA_KERR(&err));
    return vpa_xstrdup(o->bearer_token);
}

/* The first rule that applies; user information in the address, which stands before `end`, or NULL,
 * comes last. */
static char *authorization(const struct prom_options *o, const char *token, const char *user_info,
                           const char *end)
{
    if (*token)
        return vpa_xprintf("Bearer %s", token);
    if (*o->username && *o->password)
        return basic_auth(o->username, o->password);
    if (*o->env_username && *o->env_password)
        return basic_auth(o->env_username, o->env_password);
    if (!user_info)
        return NULL;

    size_t len = (size_t)(end - user_info);
    const char *colon = memchr(user_info, ':', len);
    size_t user_len = colon ? (size_t)(colon - user_info) : len;
    vpa_auto_free char *user = vpa_url_decode(user_info, user_len, false);
    vpa_auto_free char *password =
        colon ? vpa_url_decode(colon + 1, len - user_len - 1, false) : vpa_xstrdup("");

    return basic_auth(user, password);
}

static int split_address(struct prom_plan *plan, struct vpa_error *err)
{
    const char *address = plan->options->address;

    if (vpa_url_check(address, err) < 0)
        return -1;

    const char *scheme_end = strstr(address, "://");
    const char *host = scheme_end ? scheme_end + 3 : address;
    size_t host_len = strcspn(host, "/?#");
    const char *at = NULL;
    for (size_t i = 0; i < host_len; i++)
        if (host[i] == '@')
            at = host + i;

    vpa_auto_free char *token = current_token(plan->options);
    plan->authorization = authorization(plan->options, token, at ? host : NULL, at);
    const char *name = at ? at + 1 : host;
    size_t name_len = host_len - (size_t)(name - host);
    plan->origin = vpa_xprintf("%.*s%.*s", (int)(host - address), address, (int)name_len, name);

    const char *path = host + host_len;
    size_t path_len = strcspn(path, "?#");
    const char *rest = path + path_len;
    while (path_len > 0 && path[path_len - 1] == '/')
        path_len--;
    plan->path = vpa_xstrndup(path, path_len);
    if (*rest == '?')
        plan->query = vpa_xstrndup(rest + 1, strcspn(rest + 1, "#"));
    return 0;
}

int prom_plan_init(struct prom_plan *plan, const struct prom_options *options,
                   struct vpa_error *err)
{
    struct prom_plan p = {.options = options};
    struct vpa_error e;

    if (vpa_duration_parse(options->query_timeout, &p.timeout, err) < 0)
        return -1;
    if (split_address(&p, err) < 0) {
        prom_plan_release(&p);
        return -1;
    }
    if (vpa_duration_parse_prometheus(options->history_length, &p.length, &e) < 0) {
        prom_plan_release(&p);
        return vpa_fail(err, VPA_INVALID,
                        "history length %s is not a valid Prometheus duration: %s",
                        options->history_length, e.text);
    }
    if (vpa_duration_parse_prometheus(options->history_resolution, &p.resolution, &e) < 0) {
        prom_plan_release(&p);
        return vpa_fail(err, VPA_INVALID,
                        "history resolution %s is not a valid Prometheus duration: %s",
                        options->history_resolution, e.text);
    }
    *plan = p;
    return 0;
}

void prom_plan_release(struct prom_plan *plan)
{
    free(plan->origin);
    free(plan->path);
    free(plan->query);
    free(plan->authorization);
    *plan = (struct prom_plan){0};
}

/* ---- questions ---- */

const char *prom_kind_name(enum prom_kind kind)
{
    static const char *const names[PROM_KINDS] = {"cpu", "memory", "labels"};

    return names[kind];
}

static void selector_text(const struct prom_options *o, struct vpa_buf *out)
{
    if (*o->cadvisor_job)
        vpa_buf_printf(out, "job=\"%s\", ", o->cadvisor_job);
    vpa_buf_printf(out, "%s=~\".+\", %s!=\"POD\", %s!=\"\"", o->container_pod_name_label,
                   o->container_name_label, o->container_name_label);
    if (*o->ns)
        vpa_buf_printf(out, ", %s=\"%s\"", o->container_namespace_label, o->ns);
}

/* Nothing that comes from flags is escaped: operators rely on it. */
void prom_query(const struct prom_plan *plan, enum prom_kind kind, struct vpa_buf *out)
{
    const struct prom_options *o = plan->options;

    switch (kind) {
    case PROM_CPU:
        vpa_buf_printf(out, "rate(%s{", o->cpu_metric);
        selector_text(o, out);
        vpa_buf_printf(out, "}[%s])", o->history_resolution);
        break;
    case PROM_MEMORY:
        vpa_buf_printf(out, "%s{", o->memory_metric);
        selector_text(o, out);
        vpa_buf_puts(out, "}");
        break;
    case PROM_LABELS:
    case PROM_KINDS:
        vpa_buf_puts(out, o->pod_labels_metric);
        break;
    }
}

struct argument {
    char *name;
    char *value;
    size_t order; /* several values of one name stay in their order */
};

static int argument_cmp(const void *a, const void *b)
{
    const struct argument *x = a;
    const struct argument *y = b;
    int by_name = strcmp(x->name, y->name);

    if (by_name != 0)
        return by_name;
    return x->order < y->order ? -1 : 1;
}

struct argument_list {
    struct argument items[ARGUMENTS_MAX];
    size_t count;
};

static void argument_add(struct argument_list *list, char *name, char *value)
{
    if (list->count == ARGUMENTS_MAX) {
        free(name);
        free(value);
        return;
    }
    list->items[list->count] = (struct argument){name, value, list->count};
    list->count++;
}

/* Sets a name to one value, whatever the address said. */
static void argument_set(struct argument_list *list, const char *name, const char *value)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            free(list->items[i].name);
            free(list->items[i].value);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
    argument_add(list, vpa_xstrdup(name), vpa_xstrdup(value));
}

static void arguments_of_address(const char *query, struct argument_list *list)
{
    struct vpa_slice piece;

    while (vpa_str_split(&query, '&', &piece)) {
        const char *equals = memchr(piece.ptr, '=', piece.len);
        size_t name_len = equals ? (size_t)(equals - piece.ptr) : piece.len;

        if (piece.len == 0 || memchr(piece.ptr, ';', piece.len))
            continue;
        argument_add(list, vpa_url_decode(piece.ptr, name_len, true),
                     equals ? vpa_url_decode(equals + 1, piece.len - name_len - 1, true)
                            : vpa_xstrdup(""));
    }
}

/* Decimal seconds as upstream's client prints them: whole seconds plus nanoseconds / 1e9 in a
 * double. Before 1970 both are below zero here, and the sum is the same. */
static void seconds_text(vpa_time t, struct vpa_buf *out)
{
    int64_t nanos = (int64_t)(t % VPA_SECOND);
    int64_t seconds = (int64_t)(t / VPA_SECOND);

    vpa_buf_clear(out);
    vpa_json_format_double(out, (double)seconds + (double)nanos / 1e9);
}

/* Sorted by name; the list is released. */
static void put_arguments(struct argument_list *list, struct vpa_buf *out)
{
    qsort(list->items, list->count, sizeof list->items[0], argument_cmp);
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            vpa_buf_putc(out, '&');
        url_escape(out, list->items[i].name);
        vpa_buf_putc(out, '=');
        url_escape(out, list->items[i].value);
        free(list->items[i].name);
        free(list->items[i].value);
    }
}

void prom_range_arguments(const struct prom_plan *plan, const struct prom_range *range,
                          struct vpa_buf *out)
{
    struct argument_list list = {.count = 0};
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);

    if (plan->query)
        arguments_of_address(plan->query, &list);
    argument_set(&list, "query", range->query);
    seconds_text(range->end, &text);
    argument_set(&list, "end", vpa_buf_text(&text));
    seconds_text(range->start, &text);
    argument_set(&list, "start", vpa_buf_text(&text));
    seconds_text((vpa_time)range->step, &text);
    argument_set(&list, "step", vpa_buf_text(&text));
    put_arguments(&list, out);
}

void prom_arguments(const struct prom_plan *plan, enum prom_kind kind, vpa_time now,
                    struct vpa_buf *out)
{
    struct argument_list list = {.count = 0};
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);

    prom_query(plan, kind, &text);
    if (kind != PROM_LABELS) {
        prom_range_arguments(plan,
                             &(struct prom_range){.query = vpa_buf_text(&text),
                                                  .start = vpa_time_add(now, -plan->length),
                                                  .end = now,
                                                  .step = plan->resolution},
                             out);
        return;
    }
    if (plan->query)
        arguments_of_address(plan->query, &list);
    argument_set(&list, "query", vpa_buf_text(&text));
    seconds_text(now, &text);
    argument_set(&list, "time", vpa_buf_text(&text));
    put_arguments(&list, out);
}

static void endpoint(const struct prom_plan *plan, enum prom_kind kind, struct vpa_buf *out)
{
    vpa_buf_printf(out, "%s%s/api/v1/%s", plan->origin, plan->path,
                   kind == PROM_LABELS ? "query" : "query_range");
}

void prom_post_url(const struct prom_plan *plan, enum prom_kind kind, struct vpa_buf *out)
{
    endpoint(plan, kind, out);
    if (plan->query)
        vpa_buf_printf(out, "?%s", plan->query);
}

void prom_range_url(const struct prom_plan *plan, const struct prom_range *range,
                    struct vpa_buf *out)
{
    endpoint(plan, PROM_CPU, out);
    vpa_buf_putc(out, '?');
    prom_range_arguments(plan, range, out);
}

void prom_get_url(const struct prom_plan *plan, enum prom_kind kind, vpa_time now,
                  struct vpa_buf *out)
{
    endpoint(plan, kind, out);
    vpa_buf_putc(out, '?');
    prom_arguments(plan, kind, now, out);
}
