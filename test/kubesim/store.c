/* Versions, the log of events and snapshots: see store.h. */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_JSON_MAX (8u << 20)

void store_init(struct store *s, size_t history_max)
{
    memset(s, 0, sizeof(*s));
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->any, &attr);
    pthread_condattr_destroy(&attr);
    s->history_max = history_max;
    s->rv = 1;
}

static void drop_event(struct event *e)
{
    version_unref(e->now);
    if (e->prev)
        version_unref(e->prev);
}

void store_release(struct store *s)
{
    while (s->collections) {
        struct collection *c = s->collections;
        s->collections = c->next;
        for (size_t i = 0; i < c->count; i++)
            version_unref(c->items[i]);
        for (size_t i = 0; i < c->log_count; i++)
            drop_event(&c->log[(c->log_first + i) % c->log_capacity]);
        pthread_cond_destroy(&c->changed);
        free(c->items);
        free(c->log);
        free(c->group);
        free(c->plural);
        free(c);
    }
    pthread_cond_destroy(&s->any);
    pthread_mutex_destroy(&s->lock);
}

struct collection *store_collection(struct store *s, const char *group, const char *plural,
                                    const char *const *fields)
{
    for (struct collection *c = s->collections; c; c = c->next)
        if (!strcmp(c->group, group) && !strcmp(c->plural, plural))
            return c;
    struct collection *c = vpa_xcalloc(1, sizeof(*c));
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &attr);
    pthread_condattr_destroy(&attr);
    c->group = vpa_xstrdup(group);
    c->plural = vpa_xstrdup(plural);
    c->fields = fields;
    while (fields && fields[c->field_count])
        c->field_count++;
    c->next = s->collections;
    s->collections = c;
    return c;
}

/* ---- versions ---- */

void version_unref(struct version *v)
{
    if (atomic_fetch_sub(&v->refs, 1) == 1)
        free(v);
}

struct packer {
    char *at;
};

static const char *pack(struct packer *p, const char *text, size_t len)
{
    char *to = p->at;
    memcpy(to, text, len);
    to[len] = 0;
    p->at += len + 1;
    return to;
}

/* One block holds the struct, its arrays and all its texts. */
static struct version *make_version(const struct collection *c, const struct jv *object,
                                    const char *json, size_t len, uint64_t rv)
{
    const struct jv *meta = jv_get(object, "metadata");
    const struct jv *labels = jv_get(meta, "labels");
    size_t label_count = jv_len(labels);
    size_t size = sizeof(struct version) + label_count * sizeof(struct label) +
                  c->field_count * sizeof(char *) + len + 1;
    const char *fields[16];

    size += strlen(jv_text_at(meta, "namespace")) + strlen(jv_text_at(meta, "name")) +
            strlen(jv_text_at(meta, "uid")) + 3;
    jv_each (m, labels)
        size += strlen(m->name) + strlen(jv_text(m->value) ? m->value->text : "") + 2;
    for (size_t i = 0; i < c->field_count; i++) {
        const struct jv *f = jv_at(object, c->fields[i]);
        fields[i] = jv_text(f)                ? f->text
                    : f && f->type == JV_BOOL ? (f->boolean ? "true" : "false")
                                              : "";
        size += strlen(fields[i]) + 1;
    }
    const char *owner = "";
    jv_each (m, jv_get(meta, "ownerReferences"))
        if (jv_bool_at(m->value, "controller", false))
            owner = jv_text_at(m->value, "uid");
    size += strlen(owner) + 1;
    struct version *v = vpa_xmalloc(size);
    *v = (struct version){.rv = rv, .len = len, .label_count = label_count};
    atomic_init(&v->refs, 1);
    v->labels = (struct label *)(v + 1);
    v->fields = (const char **)(v->labels + label_count);
    struct packer p = {(char *)(v->fields + c->field_count)};
    v->json = pack(&p, json, len);
    const char *text = jv_text_at(meta, "namespace");
    v->ns = pack(&p, text, strlen(text));
    text = jv_text_at(meta, "name");
    v->name = pack(&p, text, strlen(text));
    text = jv_text_at(meta, "uid");
    v->uid = pack(&p, text, strlen(text));
    v->owner = pack(&p, owner, strlen(owner));
    v->deleting = jv_get(meta, "deletionTimestamp") != NULL;
    size_t n = 0;
    jv_each (m, labels) {
        const char *value = jv_text(m->value) ? m->value->text : "";
        v->labels[n].key = pack(&p, m->name, strlen(m->name));
        v->labels[n++].value = pack(&p, value, strlen(value));
    }
    for (size_t i = 0; i < c->field_count; i++)
        v->fields[i] = pack(&p, fields[i], strlen(fields[i]));
    return v;
}

/* Serialises with the version filled in as the first member of metadata, so that its place is
 * known. */
static struct version *freeze(const struct collection *c, struct vpa_arena *a, struct jv *object,
                              uint64_t rv)
{
    vpa_auto_buf buf = VPA_BUF(VERSION_JSON_MAX);
    struct jv *meta = jv_ensure(a, object, "metadata");

    jv_del(object, "kind");
    jv_del(object, "apiVersion");
    jv_put_first(a, meta, "resourceVersion", jv_strf(a, "%llu", (unsigned long long)rv));
    jv_put_first(a, object, "metadata", meta);
    jv_write(&buf, object);
    struct version *v = make_version(c, object, vpa_buf_text(&buf), buf.len, rv);
    v->rv_at = strlen("{\"metadata\":{\"resourceVersion\":\"");
    v->rv_len = strcspn(v->json + v->rv_at, "\"");
    return v;
}

struct jv *version_parse(struct vpa_arena *a, const struct version *v)
{
    struct jv *out = NULL;
    if (jv_parse(a, v->json, v->len, &out, NULL, NULL) < 0)
        abort(); /* we wrote it ourselves */
    return out;
}

/* ---- the sorted array ---- */

static int compare(const struct version *v, const char *ns, const char *name)
{
    int order = strcmp(v->ns, ns);
    return order ? order : strcmp(v->name, name);
}

static size_t lower(struct version *const *items, size_t count, const char *ns, const char *name)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(items[middle], ns, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t store_lower(const struct collection *c, const char *ns, const char *name)
{
    return lower(c->items, c->count, ns, name);
}

struct version *store_find(const struct collection *c, const char *ns, const char *name)
{
    size_t i = store_lower(c, ns, name);
    return i < c->count && compare(c->items[i], ns, name) == 0 ? c->items[i] : NULL;
}

static void log_event(struct store *s, struct collection *c, struct event e)
{
    if (c->log_count >= s->history_max) {
        struct event *old = &c->log[c->log_first];
        c->floor = old->rv;
        drop_event(old);
        c->log_first = (c->log_first + 1) % c->log_capacity;
        c->log_count--;
    }
    if (c->log_count == c->log_capacity) {
        size_t capacity = c->log_capacity ? 2 * c->log_capacity : 64;
        struct event *log = vpa_xmalloc(capacity * sizeof(*log));
        for (size_t i = 0; i < c->log_count; i++)
            log[i] = *store_event(c, i);
        free(c->log);
        c->log = log;
        c->log_first = 0;
        c->log_capacity = capacity;
    }
    c->log[(c->log_first + c->log_count++) % c->log_capacity] = e;
    pthread_cond_broadcast(&c->changed);
    pthread_cond_broadcast(&s->any);
}

struct version *store_put(struct store *s, struct collection *c, struct vpa_arena *a,
                          struct jv *object)
{
    struct version *v = freeze(c, a, object, ++s->rv);
    size_t i = store_lower(c, v->ns, v->name);

    if (i < c->count && compare(c->items[i], v->ns, v->name) == 0) {
        struct version *old = c->items[i];
        c->items[i] = v;
        c->bytes += v->len - old->len;
        log_event(s, c, (struct event){v->rv, EVENT_MODIFIED, version_ref(v), old});
        return v;
    }
    VPA_GROW(c->items, c->count, c->capacity);
    memmove(c->items + i + 1, c->items + i, (c->count - i) * sizeof(*c->items));
    c->items[i] = v;
    c->count++;
    c->bytes += v->len;
    log_event(s, c, (struct event){v->rv, EVENT_ADDED, version_ref(v), NULL});
    return v;
}

void store_delete(struct store *s, struct collection *c, struct vpa_arena *a, struct version *v,
                  struct jv *last)
{
    size_t i = store_lower(c, v->ns, v->name);
    struct jv *object = last ? last : version_parse(a, v);
    struct version *final = freeze(c, a, object, ++s->rv);

    c->bytes -= v->len;
    memmove(c->items + i, c->items + i + 1, (c->count - i - 1) * sizeof(*c->items));
    c->count--;
    log_event(s, c, (struct event){final->rv, EVENT_DELETED, final, v});
}

/* ---- the past ---- */

size_t store_event_after(const struct collection *c, uint64_t rv)
{
    size_t low = 0, high = c->log_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (store_event(c, middle)->rv <= rv)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void undo(struct version **items, size_t *count, const struct event *e)
{
    size_t i = lower(items, *count, e->now->ns, e->now->name);

    switch (e->type) {
    case EVENT_ADDED:
        memmove(items + i, items + i + 1, (*count - i - 1) * sizeof(*items));
        (*count)--;
        break;
    case EVENT_MODIFIED:
        items[i] = e->prev;
        break;
    case EVENT_DELETED:
        memmove(items + i + 1, items + i, (*count - i) * sizeof(*items));
        items[i] = e->prev;
        (*count)++;
        break;
    }
}

int store_snapshot(const struct collection *c, const char *ns, uint64_t rv, struct version ***out,
                   size_t *count)
{
    if (rv && rv < c->floor)
        return -1;
    size_t first = 0, n = c->count;
    size_t undone = rv ? c->log_count - store_event_after(c, rv) : 0;
    if (!undone && *ns) {
        first = store_lower(c, ns, "");
        n = first;
        while (n < c->count && !strcmp(c->items[n]->ns, ns))
            n++;
        n -= first;
    }
    struct version **items = vpa_xmalloc((n + undone + 1) * sizeof(*items));
    if (n)
        memcpy(items, c->items + first, n * sizeof(*items));
    for (size_t i = 0; i < undone; i++)
        undo(items, &n, store_event(c, c->log_count - 1 - i));
    if (undone && *ns) {
        size_t from = lower(items, n, ns, ""), to = from;
        while (to < n && !strcmp(items[to]->ns, ns))
            to++;
        memmove(items, items + from, (to - from) * sizeof(*items));
        n = to - from;
    }
    for (size_t i = 0; i < n; i++)
        version_ref(items[i]);
    *out = items;
    *count = n;
    return 0;
}

void store_compact(struct store *s)
{
    for (struct collection *c = s->collections; c; c = c->next) {
        for (size_t i = 0; i < c->log_count; i++)
            drop_event(&c->log[(c->log_first + i) % c->log_capacity]);
        c->log_count = c->log_first = 0;
        c->floor = s->rv;
    }
}
