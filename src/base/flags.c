/*
 * The flag parser: upstream's grammar (spf13/pflag with Go's flag values inside), its error texts
 * and its usage page, driven by a table of rows. What a value may look like depends on the kind of
 * the row; a row with a type of its own brings its parser along.
 */
#include "vpa/base/flags.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vpa/base/log.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"

/* ---- fields ---- */

static void *field_of(const struct vpa_flags *flags, const struct vpa_flag *row)
{
    return (char *)flags->values + row->offset;
}

void vpa_flag_preset(const struct vpa_flag *row, void *field)
{
    switch (row->kind) {
    case VPA_FLAG_KIND_BOOL:
        *(bool *)field = row->bool_preset;
        break;
    case VPA_FLAG_KIND_UINT:
        *(uint64_t *)field = (uint64_t)row->int_preset;
        break;
    case VPA_FLAG_KIND_INT:
    case VPA_FLAG_KIND_DURATION:
    case VPA_FLAG_KIND_LEVEL:
    case VPA_FLAG_KIND_SEVERITY:
        *(int64_t *)field = row->int_preset;
        break;
    case VPA_FLAG_KIND_FLOAT:
        *(double *)field = row->float_preset;
        break;
    case VPA_FLAG_KIND_STRING:
    case VPA_FLAG_KIND_MODULES:
    case VPA_FLAG_KIND_TRACE:
        *(const char **)field = vpa_or_empty(row->text_preset);
        break;
    case VPA_FLAG_KIND_QUANTITY:
        *(struct vpa_quantity *)field = vpa_quantity_units(0, VPA_DECIMAL_SI);
        break;
    case VPA_FLAG_KIND_TYPED:
        row->type->preset(field);
        break;
    }
}

void vpa_flags_preset(const struct vpa_flags *flags)
{
    for (size_t i = 0; i < flags->count; i++)
        vpa_flag_preset(&flags->rows[i], field_of(flags, &flags->rows[i]));
}

/* ---- values ---- */

static int set_bool(const struct vpa_flag *row, const char *text, bool *out, struct vpa_error *err)
{
    static const char *const words[2][6] = {{"0", "f", "F", "false", "FALSE", "False"},
                                            {"1", "t", "T", "true", "TRUE", "True"}};

    for (int truth = 0; truth < 2; truth++)
        for (size_t i = 0; i < VPA_COUNT(words[truth]); i++)
            if (strcmp(text, words[truth][i]) == 0) {
                *out = truth;
                return 0;
            }
    if (!row->posix)
        return vpa_fail(err, VPA_INVALID, "parse error");
    vpa_auto_buf quoted = VPA_BUF(VPA_ERROR_TEXT_MAX * 4);
    vpa_quote_go(&quoted, text);
    return vpa_fail(err, VPA_INVALID, "strconv.ParseBool: parsing %s: invalid syntax",
                    vpa_buf_text(&quoted));
}

/* The base of a Go integer literal; *p moves behind its prefix. */
static unsigned literal_base(const char **p)
{
    if ((*p)[0] != '0' || (*p)[1] == '\0')
        return 10;
    switch ((*p)[1]) {
    case 'x':
    case 'X':
        *p += 2;
        return 16;
    case 'o':
    case 'O':
        *p += 2;
        return 8;
    case 'b':
    case 'B':
        *p += 2;
        return 2;
    default:
        *p += 1;
        return 8;
    }
}

/*
 * Digits of a Go integer literal without sign; "_" only between digits or behind the prefix. Of
 * several errors Go says the first, and that of a misplaced "_" last.
 */
static int read_literal(const char *p, uint64_t *out, struct vpa_error *err)
{
    const char *start = p;
    unsigned base = literal_base(&p);
    bool digit = p != start, misplaced = false;
    uint64_t n = 0;

    if (*p == '\0')
        return vpa_fail(err, VPA_INVALID, "parse error");
    for (; *p; p++) {
        if (*p == '_') {
            misplaced |= !digit || p[1] == '\0' || p[1] == '_';
            digit = false;
            continue;
        }
        int c = tolower((unsigned char)*p);
        unsigned value = isdigit(c)             ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 99;
        if (value >= base)
            return vpa_fail(err, VPA_INVALID, "parse error");
        digit = true;
        if (__builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, value, &n))
            return vpa_fail(err, VPA_LIMIT, "value out of range");
    }
    if (misplaced)
        return vpa_fail(err, VPA_INVALID, "parse error");
    *out = n;
    return 0;
}

static int set_int(const char *text, int64_t *out, struct vpa_error *err)
{
    bool negative = *text == '-';
    uint64_t n;

    if (*text == '-' || *text == '+')
        text++;
    if (read_literal(text, &n, err) < 0)
        return -1;
    if (n > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return vpa_fail(err, VPA_LIMIT, "value out of range");
    *out = negative ? (int64_t)(0 - n) : (int64_t)n;
    return 0;
}

static int set_float(const char *text, double *out, struct vpa_error *err)
{
    struct vpa_error inner = {0};

    if (vpa_double_parse(text, out, &inner) == 0)
        return 0;
    return vpa_fail(err, inner.code, "%s",
                    inner.code == VPA_LIMIT ? "value out of range" : "parse error");
}

/* strconv.ParseInt(text, 10, 32) and its error. */
static int set_int32(const char *text, int64_t *out, struct vpa_error *err)
{
    const char *digits = text + (*text == '-' || *text == '+');
    size_t count = strspn(digits, "0123456789");
    bool ok = count > 0 && digits[count] == '\0';
    int64_t n;

    if (ok && vpa_parse_int64(*text == '+' ? digits : text, &n, NULL) == 0 && n >= INT32_MIN &&
        n <= INT32_MAX) {
        *out = n;
        return 0;
    }
    vpa_auto_buf quoted = VPA_BUF(VPA_ERROR_TEXT_MAX * 4);
    vpa_quote_go(&quoted, text);
    return vpa_fail(err, VPA_INVALID, "strconv.ParseInt: parsing %s: %s", vpa_buf_text(&quoted),
                    ok ? "value out of range" : "invalid syntax");
}

static int set_severity(const char *text, int64_t *out, struct vpa_error *err)
{
    static const char *const names[] = {"INFO", "WARNING", "ERROR", "FATAL"};

    for (size_t i = 0; i < VPA_COUNT(names); i++)
        if (strcasecmp(text, names[i]) == 0) {
            *out = (int64_t)i;
            return 0;
        }
    return set_int32(text, out, err);
}

/* file.go:N with a dot in the file part, or empty. */
static int set_trace(const char *text, const char **out, struct vpa_error *err)
{
    const char *colon = strchr(text, ':');
    int64_t line;

    if (*text) {
        if (!colon || colon == text || strchr(colon + 1, ':') ||
            !memchr(text, '.', (size_t)(colon - text)) ||
            vpa_parse_int64(colon + 1, &line, NULL) < 0)
            return vpa_fail(err, VPA_INVALID, "syntax error: expect file.go:234");
        if (line <= 0)
            return vpa_fail(err, VPA_INVALID, "negative or zero value for level");
    }
    *out = text;
    return 0;
}

static int set_duration(const struct vpa_flag *row, const char *text, vpa_duration *out,
                        struct vpa_error *err)
{
    struct vpa_error inner;

    if (vpa_duration_parse(text, out, &inner) == 0)
        return 0;
    return vpa_fail(err, VPA_INVALID, "%s", row->posix ? inner.text : "parse error");
}

static int set_value(const struct vpa_flag *row, void *field, struct vpa_arena *arena,
                     const char *text, struct vpa_error *err)
{
    switch (row->kind) {
    case VPA_FLAG_KIND_BOOL:
        return set_bool(row, text, field, err);
    case VPA_FLAG_KIND_INT:
        return set_int(text, field, err);
    case VPA_FLAG_KIND_UINT:
        return read_literal(text, field, err);
    case VPA_FLAG_KIND_FLOAT:
        return set_float(text, field, err);
    case VPA_FLAG_KIND_DURATION:
        return set_duration(row, text, field, err);
    case VPA_FLAG_KIND_QUANTITY:
        return vpa_quantity_parse(arena, text, field, err);
    case VPA_FLAG_KIND_LEVEL:
        return set_int32(text, field, err);
    case VPA_FLAG_KIND_SEVERITY:
        return set_severity(text, field, err);
    case VPA_FLAG_KIND_TRACE:
        return set_trace(text, field, err);
    case VPA_FLAG_KIND_TYPED:
        return row->type->parse(field, text, err);
    case VPA_FLAG_KIND_MODULES:
        if (vpa_log_check_vmodule(text, err) < 0)
            return -1;
        break;
    case VPA_FLAG_KIND_STRING:
        break;
    }
    *(const char **)field = text;
    return 0;
}

/* ---- arguments ---- */

struct parser {
    const struct vpa_flags *flags;
    struct vpa_arena *arena;
    char *const *next; /* the argument to read next; NULL-terminated by its end */
    char *const *end;
    struct vpa_error *err;
};

/* By name of len characters, "_" counting as "-". */
static const struct vpa_flag *find_row(const struct vpa_flags *flags, const char *name, size_t len)
{
    for (size_t i = 0; i < flags->count; i++) {
        const char *known = flags->rows[i].name;
        size_t at = 0;
        while (at < len && known[at] && known[at] == (name[at] == '_' ? '-' : name[at]))
            at++;
        if (at == len && known[at] == '\0')
            return &flags->rows[i];
    }
    return NULL;
}

static const struct vpa_flag *find_letter(const struct vpa_flags *flags, char letter)
{
    for (size_t i = 0; i < flags->count; i++)
        if (flags->rows[i].letter == letter && letter)
            return &flags->rows[i];
    return NULL;
}

static int assign(struct parser *p, const struct vpa_flag *row, const char *value)
{
    struct vpa_error inner;
    vpa_auto_buf message = VPA_BUF(VPA_ERROR_TEXT_MAX * 8);

    if (set_value(row, field_of(p->flags, row), p->arena, value, &inner) == 0)
        return 0;
    vpa_buf_puts(&message, "invalid argument ");
    vpa_quote_go(&message, value);
    vpa_buf_puts(&message, " for \"");
    if (row->letter)
        vpa_buf_printf(&message, "-%c, ", row->letter);
    vpa_buf_printf(&message, "--%s\" flag: %s", row->name, inner.text);
    return vpa_fail(p->err, VPA_INVALID, "%s", vpa_buf_text(&message));
}

/* --name, --name=value, --name value. */
static int parse_long(struct parser *p, const char *arg)
{
    const char *name = arg + 2;
    size_t len = strcspn(name, "=");
    const struct vpa_flag *row = find_row(p->flags, name, len);

    if (*name == '-' || *name == '=')
        return vpa_fail(p->err, VPA_INVALID, "bad flag syntax: %s", arg);
    if (!row && len == 4 && memcmp(name, "help", 4) == 0)
        return VPA_FLAGS_HELP;
    if (!row)
        return vpa_fail(p->err, VPA_INVALID, "unknown flag: --%.*s", (int)len, name);
    if (name[len] == '=')
        return assign(p, row, name + len + 1);
    if (row->kind == VPA_FLAG_KIND_BOOL)
        return assign(p, row, "true");
    if (p->next == p->end)
        return vpa_fail(p->err, VPA_INVALID, "flag needs an argument: --%s", name);
    return assign(p, row, *p->next++);
}

/* A letter as Go quotes a rune of that value. */
static void quote_letter(char letter, char out[16])
{
    unsigned char c = (unsigned char)letter;

    if (c == '\'' || c == '\\')
        snprintf(out, 16, "'\\%c'", c);
    else if (c >= ' ' && c < 0x7f)
        snprintf(out, 16, "'%c'", c);
    else if (c > 0xa0 && c != 0xad)
        snprintf(out, 16, "'%c%c'", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
    else if (c >= 7 && c <= 13)
        snprintf(out, 16, "'\\%c'", "abtnvfr"[c - 7]);
    else
        snprintf(out, 16, c < 0x80 ? "'\\x%02x'" : "'\\u%04x'", c);
}

/* -v4, -v=4, -v 4; letters of flags without value may be put together. */
static int parse_short(struct parser *p, const char *arg)
{
    const char *letters = arg + 1;
    char quoted[16];

    if (vpa_str_starts_with(letters, "test."))
        return 0; /* Go's test flags are skipped */
    for (; *letters; letters++) {
        const struct vpa_flag *row = find_letter(p->flags, *letters);
        quote_letter(*letters, quoted);
        if (!row && *letters == 'h')
            return VPA_FLAGS_HELP;
        if (!row)
            return vpa_fail(p->err, VPA_INVALID, "unknown shorthand flag: %s in -%s", quoted,
                            letters);
        if (letters[1] == '=' && letters[2])
            return assign(p, row, letters + 2);
        if (row->kind == VPA_FLAG_KIND_BOOL) {
            if (assign(p, row, "true") < 0)
                return -1;
            continue;
        }
        if (letters[1])
            return assign(p, row, letters + 1);
        if (p->next == p->end)
            return vpa_fail(p->err, VPA_INVALID, "flag needs an argument: %s in -%s", quoted,
                            letters);
        return assign(p, row, *p->next++);
    }
    return 0;
}

int vpa_flags_parse(const struct vpa_flags *flags, struct vpa_arena *arena, int argc,
                    char *const *argv, struct vpa_error *err)
{
    struct parser p = {.flags = flags, .arena = arena, .err = err};

    vpa_flags_preset(flags);
    if (argc < 1)
        return VPA_FLAGS_RUN;
    p.next = argv + 1;
    p.end = argv + argc;
    while (p.next < p.end) {
        const char *arg = *p.next++;
        if (arg[0] != '-' || arg[1] == '\0')
            continue; /* positional */
        if (strcmp(arg, "--") == 0)
            break;
        int result = arg[1] == '-' ? parse_long(&p, arg) : parse_short(&p, arg);
        if (result != 0)
            return result;
    }
    return VPA_FLAGS_RUN;
}

int vpa_flags_start(const struct vpa_flags *flags, struct vpa_arena *arena, int argc,
                    char *const *argv, struct vpa_buf *text)
{
    struct vpa_error err;
    int result = vpa_flags_parse(flags, arena, argc, argv, &err);

    if (result == VPA_FLAGS_RUN)
        return -1;
    vpa_flags_usage(flags, argc > 0 ? argv[0] : "", text);
    if (result == VPA_FLAGS_HELP)
        return 0;
    vpa_buf_printf(text, "%s\n", err.text);
    return 2;
}
