/*
 * Log lines in klog's text form, which operators grep, or as JSON objects.
 *
 *     I0412 09:30:00.000001    4711 act.c:88] "Evicted pod" namespace="web" pod="api-0"
 *     {"ts":1775986200.000001,"caller":"act.c:88","severity":"info","msg":"Evicted pod",
 *      "namespace":"web",...}
 *
 * The options are the one piece of state of the core; they are set once before threads start.
 */
#include "vpa/base/log.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vpa/base/buf.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"

#define VALUE_MAX 8192
#define LINE_MAX_BYTES (1 << 20)
#define USUAL_LINE 256 /* what most lines need, taken at once */

struct module {
    const char *pattern; /* into modules_text */
    int level;
};

int vpa_log_level;
static struct vpa_log_options options = {.fd = STDERR_FILENO};
static char modules_text[VPA_LOG_VMODULE_TEXT_MAX];
static struct module modules[VPA_LOG_VMODULE_MAX];
static size_t module_count;
static pid_t process_id; /* of the process that configured the log; 0 before that */

/* ---- source files ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The base name, with its folder when wanted. */
static const char *shown_name(const char *path)
{
    const char *name = base_name(path);

    if (!options.add_dir_header || name == path)
        return name;
    const char *p = name - 1;
    while (p > path && p[-1] != '/')
        p--;
    return p;
}

/* ---- verbosity per file ---- */

/* One pair into *m; text is cut up. Pairs of level 0 are fine and mean nothing. */
static int read_module(char *text, struct module *m, struct vpa_error *err)
{
    static const char syntax[] = "syntax error: expect comma-separated list of filename=N";
    char *equals = strchr(text, '=');
    int64_t level;

    if (!equals || equals == text || equals[1] == '\0' || strchr(equals + 1, '='))
        return vpa_fail(err, VPA_INVALID, syntax);
    *equals = '\0';
    if (vpa_parse_int64(equals + 1, &level, NULL) < 0 || level > INT32_MAX || level < INT32_MIN)
        return vpa_fail(err, VPA_INVALID, syntax);
    if (level < 0)
        return vpa_fail(err, VPA_INVALID, "negative value for vmodule level");
    *m = (struct module){text, (int)level};
    return 0;
}

static int read_modules(const char *vmodule, char text[VPA_LOG_VMODULE_TEXT_MAX],
                        struct module list[VPA_LOG_VMODULE_MAX], size_t *count,
                        struct vpa_error *err)
{
    size_t len = strlen(vpa_or_empty(vmodule));

    *count = 0;
    if (len >= VPA_LOG_VMODULE_TEXT_MAX)
        return vpa_fail(err, VPA_LIMIT, "longer than %d bytes", VPA_LOG_VMODULE_TEXT_MAX - 1);
    memcpy(text, vpa_or_empty(vmodule), len + 1);
    for (char *rest = text, *next; rest; rest = next) {
        struct module m;
        next = strchr(rest, ',');
        if (next)
            *next++ = '\0';
        if (*rest == '\0')
            continue;
        if (read_module(rest, &m, err) < 0)
            return -1;
        if (m.level == 0)
            continue;
        if (*count == VPA_LOG_VMODULE_MAX)
            return vpa_fail(err, VPA_LIMIT, "more than %d pairs", VPA_LOG_VMODULE_MAX);
        list[(*count)++] = m;
    }
    return 0;
}

int vpa_log_check_vmodule(const char *vmodule, struct vpa_error *err)
{
    char text[VPA_LOG_VMODULE_TEXT_MAX];
    struct module list[VPA_LOG_VMODULE_MAX];
    size_t count;

    return read_modules(vmodule, text, list, &count, err);
}

int vpa_log_configure(const struct vpa_log_options *wanted, struct vpa_error *err)
{
    if (vpa_log_check_vmodule(wanted->vmodule, err) < 0)
        return -1;
    if (read_modules(wanted->vmodule, modules_text, modules, &module_count, err) < 0)
        return -1; /* not reached: just checked */
    options = *wanted;
    options.vmodule = NULL;
    process_id = getpid();
    vpa_log_level = wanted->level;
    return 0;
}

bool vpa_log_enabled(int level, const char *file)
{
    char name[128];

    if (level <= vpa_log_level)
        return true;
    if (module_count == 0)
        return false;
    snprintf(name, sizeof(name), "%s", base_name(file));
    char *dot = strrchr(name, '.');
    if (dot)
        *dot = '\0';
    for (size_t i = 0; i < module_count; i++)
        if (fnmatch(modules[i].pattern, name, 0) == 0)
            return level <= modules[i].level;
    return false;
}

/* ---- text ---- */

/* A non-negative number, filled up to that width on its left. */
static void put_padded(struct vpa_buf *out, int64_t number, char fill, int width)
{
    for (int64_t limit = 10; --width > 0; limit *= 10)
        if (number < limit)
            vpa_buf_putc(out, fill);
    vpa_buf_put_uint(out, (uint64_t)number);
}

static void put_time(struct vpa_buf *out, int64_t now)
{
    time_t seconds = (time_t)(now / 1000000000);
    struct tm tm;

    localtime_r(&seconds, &tm);
    put_padded(out, tm.tm_mon + 1, '0', 2);
    put_padded(out, tm.tm_mday, '0', 2);
    vpa_buf_putc(out, ' ');
    put_padded(out, tm.tm_hour, '0', 2);
    vpa_buf_putc(out, ':');
    put_padded(out, tm.tm_min, '0', 2);
    vpa_buf_putc(out, ':');
    put_padded(out, tm.tm_sec, '0', 2);
    vpa_buf_putc(out, '.');
    put_padded(out, now % 1000000000 / 1000, '0', 6);
}

/* Every request of the webhook has its line, so no format is read here. */
static void put_header(struct vpa_buf *out, enum vpa_severity severity, const char *file, int line)
{
    if (options.skip_headers)
        return;
    vpa_buf_putc(out, "IWEF"[severity]);
    if (options.clock)
        put_time(out, options.clock());
    vpa_buf_putc(out, ' ');
    put_padded(out, process_id ? process_id : getpid(), ' ', 7);
    vpa_buf_putc(out, ' ');
    vpa_buf_puts(out, shown_name(file));
    vpa_buf_putc(out, ':');
    vpa_buf_put_uint(out, (uint64_t)line);
    vpa_buf_puts(out, "] ");
}

/* A copy of at most VALUE_MAX bytes when the value is longer; NULL otherwise. */
static char *cut(const char *text)
{
    size_t len = strnlen(text, VALUE_MAX + 1);

    if (len <= VALUE_MAX)
        return NULL;
    char *copy = vpa_xstrndup(text, VALUE_MAX + 3);
    memcpy(copy + VALUE_MAX, "...", 4);
    return copy;
}

/* A text of several lines is shown as such, indented, between =< and >. Strangers write texts: what
 * a terminal would act upon is escaped, and no line of theirs begins as one of ours does. */
static void put_lines(struct vpa_buf *out, const char *text)
{
    vpa_buf_puts(out, "=<\n");
    while (*text) {
        size_t len = strcspn(text, "\n");

        vpa_buf_putc(out, '\t');
        vpa_escape_go(out, text, len);
        vpa_buf_putc(out, '\n');
        text += len + (text[len] == '\n');
    }
    vpa_buf_puts(out, " >");
}

static void put_string(struct vpa_buf *out, const char *text)
{
    vpa_auto_free char *copy = cut(text);

    if (copy)
        text = copy;
    if (strchr(text, '\n')) {
        put_lines(out, text);
        return;
    }
    vpa_buf_putc(out, '=');
    vpa_quote_go(out, text);
}

static void put_scalar(struct vpa_buf *out, const struct vpa_log_field *f)
{
    char number[VPA_DOUBLE_TEXT_MAX];

    switch (f->kind) {
    case VPA_FIELD_INT:
        vpa_buf_printf(out, "%lld", (long long)f->value.integer);
        break;
    case VPA_FIELD_DOUBLE:
        vpa_double_format_json(f->value.number, number);
        vpa_buf_puts(out, number);
        break;
    default:
        vpa_buf_puts(out, f->value.integer ? "true" : "false");
        break;
    }
}

static void put_text_field(struct vpa_buf *out, const struct vpa_log_field *f)
{
    vpa_buf_putc(out, ' ');
    vpa_buf_puts(out, f->key);
    if (f->kind == VPA_FIELD_STRING) {
        put_string(out, f->value.string);
    } else {
        vpa_buf_putc(out, '=');
        put_scalar(out, f);
    }
}

/* ---- JSON ---- */

/* One character that is not plain ASCII, or one byte that is not a character; its length. */
static size_t put_json_rune(struct vpa_buf *out, const char *p)
{
    uint32_t rune;
    size_t len = vpa_utf8_decode(p, &rune);

    if (!len) {
        vpa_buf_puts(out, "\xef\xbf\xbd"); /* U+FFFD: a line is valid UTF-8, whatever the fact is */
        return 1;
    }
    if (rune < ' ' || (rune >= 0x7f && rune < 0xa0)) /* controls, which terminals act upon */
        vpa_buf_printf(out, "\\u%04x", (unsigned)rune);
    else
        vpa_buf_append(out, p, len);
    return len;
}

static void put_json_string(struct vpa_buf *out, const char *text)
{
    vpa_auto_free char *copy = cut(text);

    vpa_buf_putc(out, '"');
    for (const char *p = copy ? copy : text; *p;) {
        if (*p == '"' || *p == '\\')
            vpa_buf_putc(out, '\\');
        if (*p >= ' ' && *p < 0x7f)
            vpa_buf_putc(out, *p++);
        else
            p += put_json_rune(out, p);
    }
    vpa_buf_putc(out, '"');
}

static void put_json_head(struct vpa_buf *out, enum vpa_severity severity, const char *file,
                          int line, const char *message)
{
    static const char *const names[] = {"info", "warning", "error", "fatal"};

    vpa_buf_putc(out, '{');
    if (options.clock) {
        int64_t now = options.clock();
        vpa_buf_printf(out, "\"ts\":%lld.%06d,", (long long)(now / 1000000000),
                       (int)(now % 1000000000 / 1000));
    }
    vpa_buf_printf(out, "\"caller\":\"%s:%d\",\"severity\":\"%s\",\"msg\":", shown_name(file), line,
                   names[severity]);
    put_json_string(out, message);
}

static void put_json_field(struct vpa_buf *out, const struct vpa_log_field *f)
{
    vpa_buf_putc(out, ',');
    put_json_string(out, f->key);
    vpa_buf_putc(out, ':');
    if (f->kind == VPA_FIELD_STRING)
        put_json_string(out, f->value.string);
    else if (f->kind == VPA_FIELD_DOUBLE && !(f->value.number - f->value.number == 0))
        vpa_buf_puts(out, "null"); /* NaN and infinities are not JSON */
    else
        put_scalar(out, f);
}

/* ---- lines ---- */

static void write_line(struct vpa_buf *line)
{
    vpa_buf_putc(line, '\n');
    if (vpa_buf_failed(line))
        return;
    /* A log that cannot be written has nowhere to complain. */
    if (write(options.fd, line->data, line->len) < 0)
        return;
}

/* In error lines the error comes first. */
static bool comes_first(enum vpa_severity severity, const struct vpa_log_field *f)
{
    return severity >= VPA_LOG_ERROR && strcmp(f->key, "err") == 0;
}

void vpa_log_write(enum vpa_severity severity, const char *file, int line, const char *message,
                   const struct vpa_log_field *fields, size_t count)
{
    void (*put_field)(struct vpa_buf *, const struct vpa_log_field *) =
        options.json ? put_json_field : put_text_field;
    vpa_auto_buf out = VPA_BUF(LINE_MAX_BYTES);

    if (severity < options.least)
        return;
    vpa_buf_reserve(&out, USUAL_LINE);
    if (options.json) {
        put_json_head(&out, severity, file, line, message);
    } else {
        put_header(&out, severity, file, line);
        vpa_quote_go(&out, message);
    }
    for (size_t i = 0; i < count; i++)
        if (comes_first(severity, &fields[i]))
            put_field(&out, &fields[i]);
    for (size_t i = 0; i < count; i++)
        if (!comes_first(severity, &fields[i]))
            put_field(&out, &fields[i]);
    if (options.json)
        vpa_buf_putc(&out, '}');
    write_line(&out);
}

void vpa_log_text(enum vpa_severity severity, const char *file, int line, const char *text)
{
    vpa_auto_buf out = VPA_BUF(LINE_MAX_BYTES);

    if (severity < options.least)
        return;
    vpa_buf_reserve(&out, USUAL_LINE);
    if (options.json) {
        put_json_head(&out, severity, file, line, text);
        vpa_buf_putc(&out, '}');
    } else {
        put_header(&out, severity, file, line);
        vpa_escape_go(&out, text, strlen(text));
    }
    write_line(&out);
}
