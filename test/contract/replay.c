/* Sending what a line says and collecting the answer. */
#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contract.h"

#define ANSWER_MAX (64u << 20)
#define POLL_SECONDS 45
#define LAG_SECONDS 10
#define WATCH_SECONDS 20L

struct transfer {
    struct runner *r;
    struct answer *answer;
    struct vpa_buf body;
    long wanted_events; /* 0: not a watch, -1: until the end */
    long events;
    CURL *handle;
};

static size_t on_header(char *data, size_t size, size_t count, void *ctx)
{
    struct transfer *t = ctx;
    size_t len = size * count, colon = 0;
    struct vpa_arena *a = &t->r->a;

    while (colon < len && data[colon] != ':')
        colon++;
    if (colon == len)
        return len;
    char *name = vpa_arena_strndup(a, data, colon);
    for (char *p = name; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    size_t from = colon + 1, to = len;
    while (from < to && isspace((unsigned char)data[from]))
        from++;
    while (to > from && isspace((unsigned char)data[to - 1]))
        to--;
    const char *value = vpa_arena_strndup(a, data + from, to - from);
    jv_set_str(a, t->answer->headers, name, value);
    if (!strcmp(name, "warning"))
        jv_push(a, t->answer->warnings, jv_str(a, value));
    return len;
}

static size_t on_data(char *data, size_t size, size_t count, void *ctx)
{
    struct transfer *t = ctx;
    size_t len = size * count;

    vpa_buf_append(&t->body, data, len);
    for (size_t i = 0; i < len; i++)
        t->events += data[i] == '\n';
    long status = 0;
    curl_easy_getinfo(t->handle, CURLINFO_RESPONSE_CODE, &status);
    return t->wanted_events > 0 && status == 200 && t->events >= t->wanted_events
               ? 0
               : len; /* 0 closes */
}

static const char *secret_of(struct runner *r, const char *as, bool *known)
{
    *known = true;
    if (!strncmp(as, "${", 2))
        return substitute_text(r, as);
    if (!strcmp(as, "anonymous"))
        return NULL;
    if (!strcmp(as, "bad"))
        return "no-such-token";
    for (size_t i = 0; i < r->user_count; i++)
        if (!strcmp(r->users[i].name, as))
            return r->users[i].secret;
    *known = strcmp(as, "alice") != 0;
    return NULL;
}

static void split_events(struct runner *r, const struct transfer *t, struct answer *out)
{
    const char *at = vpa_buf_text(&t->body);

    out->events = jv_arr(&r->a);
    while (*at && (t->wanted_events < 0 || (long)jv_len(out->events) < t->wanted_events)) {
        size_t len = strcspn(at, "\n");
        struct jv *event;
        if (len && jv_parse(&r->a, at, len, &event, NULL, NULL) == 0)
            jv_push(&r->a, out->events, event);
        at += len + (at[len] == '\n');
    }
}

static struct curl_slist *headers_of(struct runner *r, const struct jv *in, bool has_body)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    bool type = false, accept = false;

    jv_each (m, jv_get(in, "headers")) {
        type = type || !strcasecmp(m->name, "Content-Type");
        accept = accept || !strcasecmp(m->name, "Accept");
        list = curl_slist_append(
            list, vpa_arena_printf(&r->a, "%s: %s", m->name, substitute_text(r, m->value->text)));
    }
    if (has_body && !type)
        list = curl_slist_append(list, "Content-Type: application/json");
    if (!has_body && !type)
        list = curl_slist_append(list, "Content-Type:");
    if (!accept)
        list = curl_slist_append(list, "Accept:");
    bool known;
    const char *secret =
        secret_of(r, *jv_text_at(in, "as") ? jv_text_at(in, "as") : "admin", &known);
    if (secret)
        list = curl_slist_append(list, vpa_arena_printf(&r->a, "Authorization: Bearer %s", secret));
    return list;
}

static void send_request(struct runner *r, const struct jv *in, const char *method,
                         const char *path, const char *body, struct answer *out)
{
    struct transfer t = {.r = r, .answer = out, .handle = curl_easy_init()};
    const struct jv *watch = jv_get(in, "watch");
    struct curl_slist *headers = headers_of(r, in, body != NULL);
    int64_t n = 0;
    long status = 0;

    *out = (struct answer){.content_type = "", .headers = jv_obj(&r->a), .warnings = jv_arr(&r->a)};
    if (watch)
        t.wanted_events = jv_is_int(watch, &n) ? (long)n : -1;
    vpa_buf_init(&t.body, ANSWER_MAX);
    curl_easy_setopt(t.handle, CURLOPT_URL,
                     vpa_arena_printf(&r->a, "%s%s", *path == '/' ? r->url : "", path));
    curl_easy_setopt(t.handle, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(t.handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(t.handle, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(t.handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(t.handle, CURLOPT_TIMEOUT, watch ? WATCH_SECONDS : 60L);
    curl_easy_setopt(t.handle, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(t.handle, CURLOPT_HEADERDATA, &t);
    curl_easy_setopt(t.handle, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(t.handle, CURLOPT_WRITEDATA, &t);
    curl_easy_setopt(t.handle, CURLOPT_PROXY, "");
    curl_easy_setopt(t.handle, CURLOPT_NOSIGNAL, 1L);
    if (r->ca_file)
        curl_easy_setopt(t.handle, CURLOPT_CAINFO, r->ca_file);
    if (!jv_get(jv_get(in, "headers"), "User-Agent"))
        curl_easy_setopt(t.handle, CURLOPT_USERAGENT, "contract/1");
    if (body)
        curl_easy_setopt(t.handle, CURLOPT_POSTFIELDS, body);
    CURLcode rc = curl_easy_perform(t.handle);
    curl_easy_getinfo(t.handle, CURLINFO_RESPONSE_CODE, &status);
    out->status = (int)status;
    out->text = vpa_arena_strdup(&r->a, rc != CURLE_OK && !status ? curl_easy_strerror(rc)
                                                                  : vpa_buf_text(&t.body));
    out->len = t.body.len;
    if (jv_get(out->headers, "content-type"))
        out->content_type = jv_text_at(out->headers, "content-type");
    if (watch && status == 200)
        split_events(r, &t, out);
    else if (jv_parse(&r->a, vpa_buf_text(&t.body), t.body.len, &out->body, NULL, NULL) < 0)
        out->body = NULL;
    curl_slist_free_all(headers);
    curl_easy_cleanup(t.handle);
    vpa_buf_release(&t.body);
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* ---- steps that are no requests ---- */

static void step_fill(struct runner *r, const struct jv *in)
{
    struct answer ignored;

    jv_each (m, jv_get(in, "bodies"))
        send_request(r, in, jv_text_at(in, "method"), substitute_text(r, jv_text_at(in, "path")),
                     jv_dump(&r->a, substitute(r, m->value)), &ignored);
}

static void step_wait_hook(struct runner *r, const struct jv *in, struct strings *differences)
{
    const char *path =
        vpa_arena_printf(&r->a, "%s?dryRun=All", substitute_text(r, jv_text_at(in, "path")));
    int64_t wanted = jv_int_at(in, "count", 1);
    struct answer ignored;

    for (int i = 0; i < POLL_SECONDS * 10; i++) {
        char *body = jv_dump(&r->a, substitute(r, jv_get(in, "probe"))), *at = strchr(body, '@');
        const char *probe =
            at ? vpa_arena_printf(&r->a, "%.*s%u%s", (int)(at - body), body, ++r->probes, at + 1)
               : body;
        send_request(r, in, "POST", path, probe, &ignored);
        if ((int64_t)jv_len(hook_take_seen(r->hook, &r->a)) >= wanted)
            return;
        pause_ms(100);
    }
    strings_add(&r->a, differences, "the webhook was not asked in time");
}

static void step_hook_seen(struct runner *r, const struct jv *out, struct strings *differences)
{
    struct jv *seen = hook_take_seen(r->hook, &r->a);
    const struct jv *wanted = jv_get(out, "requests");
    size_t count = (size_t)jv_int_at(out, "count", (int64_t)jv_len(wanted));

    if (jv_len(seen) != count) {
        strings_add(&r->a, differences,
                    vpa_arena_printf(&r->a, "the webhook was asked %zu times instead of %zu",
                                     jv_len(seen), count));
        return;
    }
    for (size_t i = 0; i < jv_len(wanted); i++) {
        const struct jv *w = wanted->items[i].value, *s = seen->items[i].value;
        const char *path = jv_text_at(w, "path");
        if (*path && strcmp(path, jv_text_at(s, "path")) != 0)
            strings_add(
                &r->a, differences,
                vpa_arena_printf(&r->a, "path: wanted %s, got %s", path, jv_text_at(s, "path")));
        expect_object(r, w, jv_get(s, "review"), false, false, "review", differences);
    }
}

static bool step(struct runner *r, const struct jv *in, const struct jv *out,
                 struct strings *differences)
{
    const char *op = jv_text_at(in, "op");
    struct answer ignored;

    if (!*op)
        return false;
    if (!strcmp(op, "fill")) {
        step_fill(r, in);
    } else if (!strcmp(op, "compact")) {
        if (r->compact_url)
            send_request(r, jv_obj(&r->a), "POST", r->compact_url, "", &ignored);
        else
            strings_add(&r->a, differences, "compaction needs --compact");
    } else if (!strcmp(op, "hook")) {
        hook_set_reply(r->hook, substitute(r, jv_get(in, "reply")));
    } else if (!strcmp(op, "wait_hook")) {
        step_wait_hook(r, in, differences);
    } else if (!strcmp(op, "hook_seen")) {
        step_hook_seen(r, out, differences);
    }
    return true;
}

/* ---- a line ---- */

static void save(struct runner *r, const struct jv *in, const struct answer *got)
{
    jv_each (m, jv_get(in, "save")) {
        const struct jv *v = got->body ? jv_pointer(&r->a, got->body, m->value->text) : NULL;
        if (v)
            jv_set(&r->a, r->vars, m->name, jv_clone(&r->a, v));
    }
}

/*
 * Whether an answer may come from a cache of the server that does not have the writes before (its
 * informers; lists with resourceVersion=0), and asking again changes nothing. Never what was
 * accepted: it would be done twice.
 */
static bool may_lag(const struct runner *r, const struct jv *in, const struct answer *got)
{
    return r->lagging && (!strcmp(jv_text_at(in, "method"), "GET") || got->status >= 400);
}

/* Whether a line that differs, or that a server is not ready for, is to be asked again. */
static bool ask_again(struct runner *r, const struct jv *in, const struct answer *got,
                      time_t waited)
{
    bool starting = got->status == 429 && strstr(got->text, "storage is (re)initializing");

    if (starting || jv_bool_at(in, "poll", false))
        return waited < POLL_SECONDS;
    if (!may_lag(r, in, got))
        return false;
    r->lagging = waited < LAG_SECONDS; /* what differs for so long is no lag; the run has failed */
    return r->lagging;
}

void replay_line(struct runner *r, const struct jv *line, struct strings *differences)
{
    const struct jv *in = jv_get(line, "in"), *out = jv_get(line, "out");
    const struct jv *other =
        jv_get(jv_get(line, "out_by_minor"), vpa_arena_printf(&r->a, "1.%u", r->minor));
    time_t began = time(NULL);
    struct answer got;

    if (other)
        out = other;
    if (step(r, in, out, differences))
        return;
    const char *body = NULL;
    if (jv_get(in, "body"))
        body = jv_dump(&r->a, substitute(r, jv_get(in, "body")));
    else if (jv_get(in, "body_text"))
        body = substitute_text(r, jv_text_at(in, "body_text"));
    for (;;) {
        struct strings found = {0};
        send_request(r, in, jv_text_at(in, "method"), substitute_text(r, jv_text_at(in, "path")),
                     body, &got);
        expect_answer(r, line, out, &got, &found);
        if (!found.count || !ask_again(r, in, &got, time(NULL) - began)) {
            for (size_t i = 0; i < found.count; i++)
                strings_add(&r->a, differences, found.items[i]);
            break;
        }
        pause_ms(50);
    }
    save(r, in, &got);
}
