#include "lab_top.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/file.h"
#include "vpa/base/quantity.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/base/time.h"

#define WORDS_MAX 6
#define EXPECTED                                                                                   \
    "expected a time stamp, the heading of kubectl top, or a row of it: POD NAME CPU MEMORY, "     \
    "perhaps with the namespace in front"

/* ---- a line ---- */

struct words {
    char *items[WORDS_MAX];
    size_t count; /* WORDS_MAX: that many or more */
};

static void split(char *line, struct words *out)
{
    out->count = 0;
    for (char *rest = line, *word; out->count < WORDS_MAX && (word = strsep(&rest, " \t\r"));)
        if (*word)
            out->items[out->count++] = word;
}

static bool is_heading(const struct words *w)
{
    static const char *const heading[] = {"NAMESPACE", "POD", "NAME", "CPU(cores)",
                                          "MEMORY(bytes)"};
    size_t skipped = VPA_COUNT(heading) - w->count;

    if (skipped > 1)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->items[i], heading[skipped + i]) != 0)
            return false;
    return true;
}

struct reading {
    struct lab_top *out;
    struct vpa_table series; /* "namespace/pod/container": struct lab_top_series */
    struct vpa_arena scratch;
    int64_t second; /* of the time stamp; -1: none yet */
};

static bool read_second(const char *word, int64_t *out)
{
    vpa_time t;

    if (vpa_parse_int64(word, out, NULL) == 0)
        return true;
    if (vpa_time_parse(word, &t, NULL) < 0)
        return false;
    *out = vpa_time_unix_nanos(t) / VPA_SECOND;
    return true;
}

static int take_stamp(struct reading *r, const char *word, struct vpa_error *err)
{
    int64_t second;

    if (!read_second(word, &second))
        return vpa_fail(err, VPA_INVALID, EXPECTED);
    if (second < 0 || second > INT64_C(253402300799))
        return vpa_fail(err, VPA_INVALID, "%.40s is not a time of our era", word);
    if (second <= r->second)
        return vpa_fail(err, VPA_INVALID, "time stamp %.40s is not after the one before", word);
    r->second = second;
    return 0;
}

static int read_amount(struct reading *r, const char *word, const char *what, double *out,
                       struct vpa_error *err)
{
    struct vpa_quantity q;
    bool cpu = strcmp(what, "CPU") == 0;

    if (vpa_quantity_parse(&r->scratch, word, &q, err) < 0)
        return vpa_wrap(err, "%s", what);
    *out = cpu ? (double)vpa_quantity_milli_value(&q) / 1000.0 : (double)vpa_quantity_value(&q);
    if (*out < 0.0)
        return vpa_fail(err, VPA_INVALID, "%s: %.40s is not a usage", what, word);
    return 0;
}

static struct lab_top_series *get_series(struct reading *r, const struct words *w)
{
    struct lab_top *out = r->out;
    const char *ns = w->count == 5 ? w->items[0] : "";
    const char *pod = w->items[w->count - 4], *container = w->items[w->count - 3];
    const char *key = vpa_arena_printf(&r->scratch, "%s/%s/%s", ns, pod, container);
    struct lab_top_series *s = vpa_table_find(&r->series, key);

    if (s)
        return s;
    s = vpa_arena_zalloc(&out->arena, sizeof(*s));
    s->ns = vpa_arena_strdup(&out->arena, ns);
    s->pod = vpa_arena_strdup(&out->arena, pod);
    s->container = vpa_arena_strdup(&out->arena, container);
    VPA_GROW(out->items, out->count, out->capacity);
    out->items[out->count++] = s;
    vpa_table_put(&r->series, vpa_arena_strdup(&out->arena, key), s);
    return s;
}

static int take_row(struct reading *r, const struct words *w, struct vpa_error *err)
{
    double cpu, memory;

    if (r->second < 0)
        return vpa_fail(err, VPA_INVALID, "a row before the first time stamp");
    if (read_amount(r, w->items[w->count - 2], "CPU", &cpu, err) < 0 ||
        read_amount(r, w->items[w->count - 1], "MEMORY", &memory, err) < 0)
        return -1;
    struct lab_top_series *s = get_series(r, w);
    if (s->samples.count && s->samples.second[s->samples.count - 1] == r->second)
        return vpa_fail(err, VPA_INVALID, "container %.60s of pod %.60s is there twice",
                        s->container, s->pod);
    if (r->out->count > LAB_TRACES_MAX)
        return vpa_fail(err, VPA_LIMIT, "more than %d containers", LAB_TRACES_MAX);
    lab_samples_add(&s->samples, r->second, cpu, memory);
    return 0;
}

static int read_line(struct reading *r, char *line, struct vpa_error *err)
{
    struct words w;

    vpa_arena_clear(&r->scratch);
    split(line, &w);
    if (w.count == 0 || is_heading(&w))
        return 0;
    if (w.count == 1)
        return take_stamp(r, w.items[0], err);
    if (w.count != 4 && w.count != 5)
        return vpa_fail(err, VPA_INVALID, EXPECTED);
    return take_row(r, &w, err);
}

/* ---- a recording ---- */

void lab_top_release(struct lab_top *t)
{
    for (size_t i = 0; i < t->count; i++)
        lab_samples_release(&t->items[i]->samples);
    free(t->items);
    vpa_arena_release(&t->arena);
    *t = (struct lab_top){0};
}

static int read_lines(struct reading *r, const char *text, size_t len, struct vpa_error *err)
{
    char line[LAB_TOP_LINE_MAX];
    size_t number = 1;

    for (size_t at = 0; at < len; number++) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t length = end ? (size_t)(end - text) - at : len - at;
        if (length >= sizeof(line))
            return vpa_fail(err, VPA_LIMIT, "line %zu is longer than %zu bytes", number,
                            sizeof(line) - 1);
        memcpy(line, text + at, length);
        line[length] = '\0';
        if (strlen(line) != length)
            return vpa_fail(err, VPA_INVALID, "line %zu: a byte of zero", number);
        if (read_line(r, line, err) < 0)
            return vpa_wrap(err, "line %zu", number);
        at += length + 1;
    }
    if (!r->out->count)
        return vpa_fail(err, VPA_INVALID, "no rows: " EXPECTED);
    return 0;
}

int lab_top_parse(const char *text, size_t len, struct lab_top *out, struct vpa_error *err)
{
    struct lab_top read = {0};
    struct reading r = {.out = &read, .second = -1};
    int result = read_lines(&r, text, len, err);

    vpa_table_release(&r.series);
    vpa_arena_release(&r.scratch);
    if (result < 0)
        lab_top_release(&read);
    else
        *out = read;
    return result;
}

static int read_file(const char *path, struct lab_top *out, struct vpa_error *err)
{
    vpa_auto_free char *text = NULL;
    size_t len;

    if (vpa_read_file(path, LAB_TOP_MAX, &text, &len, err) < 0)
        return -1;
    if (lab_top_parse(text, len, out, err) < 0)
        return vpa_wrap(err, "%s", path);
    return 0;
}

/* ---- traces of it ---- */

static bool fits(const struct lab_top_choice *c, const struct lab_top_series *s)
{
    return (!c->container || strcmp(c->container, s->container) == 0) &&
           (!c->pods || vpa_str_starts_with(s->pod, c->pods));
}

static int refuse_others(const struct lab_top_series *first, const struct lab_top_series *s,
                         struct vpa_error *err)
{
    if (strcmp(first->container, s->container) != 0)
        return vpa_fail(err, VPA_INVALID,
                        "containers %.60s and %.60s are in it: choose with --container",
                        first->container, s->container);
    if (strcmp(first->ns, s->ns) != 0)
        return vpa_fail(err, VPA_INVALID,
                        "pods %.60s of namespace %.60s and %.60s of %.60s are in it: choose "
                        "with --pods",
                        first->pod, first->ns, s->pod, s->ns);
    return 0;
}

/* The first that fits; all that do are replicas of its container. */
static int choose(const struct lab_top *t, const struct lab_top_choice *c,
                  const struct lab_top_series **out, struct vpa_error *err)
{
    const struct lab_top_series *first = NULL;

    for (size_t i = 0; i < t->count; i++) {
        if (!fits(c, t->items[i]))
            continue;
        first = first ? first : t->items[i];
        if (refuse_others(first, t->items[i], err) < 0)
            return -1;
    }
    if (!first)
        return vpa_fail(err, VPA_INVALID,
                        "no container \"%.60s\" of pods \"%.60s...\"; the first is %.60s of %.60s",
                        c->container ? c->container : "*", vpa_or_empty(c->pods),
                        t->items[0]->container, t->items[0]->pod);
    *out = first;
    return 0;
}

struct sample {
    int64_t second;
    double cpu, memory;
};

static int by_second(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* All samples of the chosen ones by time. */
static void join(const struct lab_top *t, const struct lab_top_choice *c, struct lab_samples *out)
{
    struct sample *all;
    size_t total = 0, at = 0;

    for (size_t i = 0; i < t->count; i++)
        total += fits(c, t->items[i]) ? t->items[i]->samples.count : 0;
    all = vpa_xcalloc(total, sizeof(*all));
    for (size_t i = 0; i < t->count; i++) {
        const struct lab_samples *s = &t->items[i]->samples;
        for (size_t k = 0; fits(c, t->items[i]) && k < s->count; k++)
            all[at++] = (struct sample){s->second[k], s->cpu[k], s->memory[k]};
    }
    qsort(all, total, sizeof(*all), by_second);
    for (size_t i = 0; i < total; i++)
        lab_samples_add(out, all[i].second, all[i].cpu, all[i].memory);
    free(all);
}

int lab_top_read(const char *path, const struct lab_top_choice *choice, struct lab_trace *out,
                 struct vpa_error *err)
{
    const struct lab_top_series *first;
    struct lab_samples samples = {0};
    struct lab_top t;

    if (read_file(path, &t, err) < 0)
        return -1;
    int result = choose(&t, choice, &first, err);
    if (result == 0) {
        join(&t, choice, &samples);
        lab_trace_fold(&samples, first->container, out);
        lab_samples_release(&samples);
    }
    lab_top_release(&t);
    return result < 0 ? vpa_wrap(err, "%s", path) : 0;
}

/* shop.top of any folder is shop. */
static char *group_of(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t len = strlen(name);

    if (vpa_str_ends_with(name, LAB_TOP_EXTENSION))
        len -= strlen(LAB_TOP_EXTENSION);
    return vpa_xstrndup(name, len);
}

int lab_top_read_all(const char *path, struct lab_traces *out, struct vpa_error *err)
{
    struct lab_top t;

    if (read_file(path, &t, err) < 0)
        return -1;
    for (size_t i = 0; i < t.count; i++) {
        const struct lab_top_series *s = t.items[i];
        vpa_auto_free char *id =
            vpa_xprintf("%s%s%s/%s", s->ns, *s->ns ? "/" : "", s->pod, s->container);
        VPA_GROW(out->items, out->count, out->capacity);
        lab_trace_fold(&s->samples, id, &out->items[out->count]);
        free(out->items[out->count].group);
        out->items[out->count++].group = group_of(path);
    }
    lab_top_release(&t);
    return 0;
}
