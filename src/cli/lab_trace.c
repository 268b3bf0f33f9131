#include "lab_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "vpa/base/file.h"
#include "vpa/base/math.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"

#define LINE_MAX_BYTES 256
#define HEADER "timestamp_seconds,cpu_cores,memory_bytes"
#define LONG_DAYS 2.5

void lab_samples_release(struct lab_samples *s)
{
    free(s->second);
    free(s->cpu);
    free(s->memory);
}

void lab_trace_release(struct lab_trace *t)
{
    free(t->id);
    free(t->group);
    free(t->start);
    free(t->cpu);
    free(t->cpu_from);
    free(t->memory);
    *t = (struct lab_trace){0};
}

void lab_traces_release(struct lab_traces *t)
{
    for (size_t i = 0; i < t->count; i++)
        lab_trace_release(&t->items[i]);
    free(t->items);
    *t = (struct lab_traces){0};
}

void lab_samples_add(struct lab_samples *s, int64_t second, double cpu, double memory)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 64;
        s->second = vpa_xreallocarray(s->second, s->capacity, sizeof(*s->second));
        s->cpu = vpa_xreallocarray(s->cpu, s->capacity, sizeof(*s->cpu));
        s->memory = vpa_xreallocarray(s->memory, s->capacity, sizeof(*s->memory));
    }
    s->second[s->count] = second;
    s->cpu[s->count] = cpu;
    s->memory[s->count++] = memory;
}

int lab_usage_parse(const char *text, const char *unknown, const char *what, double *out,
                    struct vpa_error *err)
{
    *out = NAN;
    if (strcmp(text, unknown) == 0)
        return 0;
    if (vpa_double_parse(text, out, err) < 0)
        return vpa_wrap(err, "%s", what);
    if (!isfinite(*out) || *out < 0.0)
        return vpa_fail(err, VPA_INVALID, "%s: %.40s is not a usage", what, text);
    return 0;
}

static int read_line(char *line, struct lab_samples *s, struct vpa_error *err)
{
    char *cpu_text = strchr(line, ',');
    char *memory_text = cpu_text ? strchr(cpu_text + 1, ',') : NULL;
    int64_t second;
    double cpu;
    double memory;

    if (!memory_text || strchr(memory_text + 1, ','))
        return vpa_fail(err, VPA_INVALID, "expected three columns: %s", HEADER);
    *cpu_text++ = '\0';
    *memory_text++ = '\0';
    if (vpa_parse_int64(line, &second, err) < 0)
        return vpa_wrap(err, "timestamp_seconds");
    if (s->count && second <= s->second[s->count - 1])
        return vpa_fail(err, VPA_INVALID, "timestamp_seconds: %s is not after the line before",
                        line);
    if (second < 0 || second > INT64_C(253402300799))
        return vpa_fail(err, VPA_INVALID, "timestamp_seconds: %s is not a time of our era", line);
    if (lab_usage_parse(cpu_text, "", "cpu_cores", &cpu, err) < 0 ||
        lab_usage_parse(memory_text, "", "memory_bytes", &memory, err) < 0)
        return -1;
    lab_samples_add(s, second, cpu, memory);
    return 0;
}

/* The next line without its end; false at the end of the file. */
static bool next_line(gzFile file, char line[LINE_MAX_BYTES], bool *too_long)
{
    if (!gzgets(file, line, LINE_MAX_BYTES))
        return false;
    size_t len = strlen(line);
    *too_long = len == LINE_MAX_BYTES - 1 && line[len - 1] != '\n';
    while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
        line[--len] = '\0';
    return true;
}

static int read_lines(gzFile file, struct lab_samples *s, struct vpa_error *err)
{
    char line[LINE_MAX_BYTES];
    bool too_long = false;
    int zlib_code;

    for (size_t number = 1; next_line(file, line, &too_long); number++) {
        if (too_long)
            return vpa_fail(err, VPA_LIMIT, "line %zu is longer than %d bytes", number,
                            LINE_MAX_BYTES - 2);
        if (number == 1 && strcmp(line, HEADER) != 0)
            return vpa_fail(err, VPA_INVALID, "line 1: expected the header %s", HEADER);
        if (number > 1 && read_line(line, s, err) < 0)
            return vpa_wrap(err, "line %zu", number);
        if (s->count == LAB_SAMPLES_MAX)
            return vpa_fail(err, VPA_LIMIT, "more than %zu samples", LAB_SAMPLES_MAX);
    }
    const char *text = gzerror(file, &zlib_code);
    if (zlib_code != Z_OK && zlib_code != Z_STREAM_END)
        return vpa_fail(err, VPA_INVALID, "cannot be decompressed: %s", text);
    if (!s->count)
        return vpa_fail(err, VPA_INVALID, "no samples: expected the header %s and lines of it",
                        HEADER);
    return 0;
}

static int read_samples(const char *path, struct lab_samples *s, struct vpa_error *err)
{
    gzFile file = gzopen(path, "rb");
    struct vpa_error inner;

    if (!file)
        return vpa_fail(err, VPA_NOT_FOUND, "open %s: %s", path,
                        errno ? strerror(errno) : "out of memory");
    int result = read_lines(file, s, &inner);
    gzclose_r(file);
    if (result < 0)
        return vpa_fail(err, inner.code, "%s: %s", path, inner.text);
    return 0;
}

static void fold_memory(struct lab_trace *t, size_t window, double memory)
{
    if (!isnan(memory) && t->memory && !(t->memory[window] >= memory))
        t->memory[window] = memory;
}

static void fold(struct lab_trace *t, const struct lab_samples *s, bool with_memory)
{
    t->start = vpa_xcalloc(s->count, sizeof(*t->start));
    t->cpu = vpa_xcalloc(s->count, sizeof(*t->cpu));
    t->cpu_from = vpa_xcalloc(s->count + 1, sizeof(*t->cpu_from));
    t->memory = with_memory ? vpa_xcalloc(s->count, sizeof(*t->memory)) : NULL;
    for (size_t i = 0; i < s->count; i++) {
        int64_t window = s->second[i] - s->second[i] % LAB_WINDOW_SECONDS;
        if (!t->windows || t->start[t->windows - 1] != window) {
            t->cpu_from[t->windows] = t->cpu_count;
            if (t->memory)
                t->memory[t->windows] = NAN;
            t->start[t->windows++] = window;
        }
        if (!isnan(s->cpu[i]))
            t->cpu[t->cpu_count++] = s->cpu[i];
        fold_memory(t, t->windows - 1, s->memory[i]);
    }
    t->cpu_from[t->windows] = t->cpu_count;
}

static size_t window_at(const struct lab_trace *t, int64_t second)
{
    size_t i = 0;

    while (i < t->windows && t->start[i] < second)
        i++;
    return i;
}

/* What is scored: all but a warm-up of 24 hours (short traces: 6), up to an end. */
static void set_scored(struct lab_trace *t, int64_t until)
{
    int64_t warm_up = t->is_long ? LAB_DAY_SECONDS : LAB_DAY_SECONDS / 4;

    t->first = window_at(t, t->start[0] + warm_up);
    t->last = window_at(t, until);
}

static bool has_memory(const struct lab_samples *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!isnan(s->memory[i]))
            return true;
    return false;
}

/* sock-shop.csv.gz of any folder is sock-shop. */
static char *id_of(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t len = strlen(name);

    if (vpa_str_ends_with(name, ".csv.gz"))
        len -= strlen(".csv.gz");
    else if (vpa_str_ends_with(name, ".csv"))
        len -= strlen(".csv");
    return vpa_xstrndup(name, len);
}

/* Samples of one second are of several replicas. */
static int64_t interval_of(const struct lab_samples *s)
{
    for (size_t i = 1; i < s->count; i++)
        if (s->second[i] > s->second[i - 1])
            return s->second[i] - s->second[i - 1];
    return LAB_WINDOW_SECONDS;
}

void lab_trace_fold(const struct lab_samples *s, const char *id, struct lab_trace *out)
{
    *out = (struct lab_trace){.id = vpa_xstrdup(id), .group = vpa_xstrdup("traces")};
    fold(out, s, has_memory(s));
    out->is_long = (double)out->windows * LAB_WINDOW_SECONDS >= LONG_DAYS * LAB_DAY_SECONDS;
    out->interval_seconds = interval_of(s);
    set_scored(out, INT64_MAX);
}

int lab_trace_read(const char *path, struct lab_trace *out, struct vpa_error *err)
{
    __attribute__((cleanup(lab_samples_release))) struct lab_samples s = {0};

    if (read_samples(path, &s, err) < 0)
        return -1;
    vpa_auto_free char *id = id_of(path);
    lab_trace_fold(&s, id, out);
    return 0;
}

static bool lists(const struct vpa_json *array, const char *text)
{
    vpa_json_foreach (item, array) {
        if (vpa_str_eq(vpa_json_string(item), text))
            return true;
    }
    return false;
}

/* A number of the index; the preset when it is absent. */
static int index_number(const struct vpa_json *entry, const char *name, int64_t preset,
                        int64_t *out, struct vpa_error *err)
{
    const struct vpa_json *node = vpa_json_find(entry, name);
    const char *text = vpa_json_number_text(node);

    *out = preset;
    if (vpa_json_is_null(node))
        return 0;
    if (!text || vpa_parse_int64(text, out, NULL) < 0)
        return vpa_fail(err, VPA_INVALID, "%s: expected a whole number", name);
    return 0;
}

static int read_entry(const char *folder, const struct vpa_json *entry, struct lab_trace *out,
                      struct vpa_error *err)
{
    __attribute__((cleanup(lab_samples_release))) struct lab_samples s = {0};
    const char *id = vpa_json_string(vpa_json_find(entry, "id"));
    const char *file = vpa_json_string(vpa_json_find(entry, "file"));
    const char *group = vpa_json_string(vpa_json_find(entry, "group"));
    const char *cls = vpa_json_string(vpa_json_find(entry, "cls"));
    int64_t interval;
    int64_t until;

    if (!id || !file || !group || !cls)
        return vpa_fail(err, VPA_INVALID, "expected an object with id, file, group and cls");
    if (index_number(entry, "interval_seconds", LAB_WINDOW_SECONDS, &interval, err) < 0 ||
        index_number(entry, "score_until", INT64_MAX, &until, err) < 0)
        return -1;
    vpa_auto_free char *path = vpa_xjoin(folder, '/', file);
    if (read_samples(path, &s, err) < 0)
        return -1;
    *out = (struct lab_trace){
        .id = vpa_xstrdup(id),
        .group = vpa_xstrdup(group),
        .is_long = strcmp(cls, "long") == 0,
        .interval_seconds = interval,
    };
    fold(out, &s, lists(vpa_json_find(entry, "resources"), "memory"));
    set_scored(out, until);
    return 0;
}

static int add_line(const char *folder, struct vpa_slice line, struct lab_traces *out,
                    struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *entry;
    struct lab_trace trace;

    if (vpa_json_parse(&arena, line.ptr, line.len, &entry, err) < 0 ||
        read_entry(folder, entry, &trace, err) < 0)
        return -1;
    VPA_GROW(out->items, out->count, out->capacity);
    out->items[out->count++] = trace;
    if (out->count > LAB_TRACES_MAX)
        return vpa_fail(err, VPA_LIMIT, "more than %d traces", LAB_TRACES_MAX);
    return 0;
}

int lab_traces_read_index(const char *folder, const char *path, struct lab_traces *out,
                          struct vpa_error *err)
{
    vpa_auto_free char *text = NULL;
    struct vpa_slice line;
    size_t number = 0;
    size_t len;

    if (vpa_read_file(path, LAB_INDEX_MAX, &text, &len, err) < 0)
        return -1;
    const char *rest = text;
    while (vpa_str_split(&rest, '\n', &line)) {
        number++;
        if (vpa_slice_trim(line).len && add_line(folder, line, out, err) < 0)
            return vpa_wrap(err, "%s: line %zu", path, number);
    }
    return 0;
}
