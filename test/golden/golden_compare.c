/*
 * Comparisons of the golden runner and the readers of the vectors' notations (see golden.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "runner.h"

/* ---- differences ---- */

/* JSON text of a string, for the deviations. */
static const char *json_string(struct golden_case *c, const char *text)
{
    vpa_auto_buf buf = VPA_BUF(64 << 20);

    if (!text)
        return "null";
    vpa_buf_putc(&buf, '"');
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            vpa_buf_printf(&buf, "\\%c", *p);
        else if (*p < ' ')
            vpa_buf_printf(&buf, "\\u%04x", *p);
        else
            vpa_buf_putc(&buf, (char)*p);
    }
    vpa_buf_putc(&buf, '"');
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

static void print_node(struct vpa_buf *out, struct golden_case *c, const struct vpa_json *node)
{
    bool truth = false, first = true;

    switch (vpa_json_type(node)) {
    case VPA_JSON_ABSENT:
        vpa_buf_puts(out, "(absent)");
        break;
    case VPA_JSON_NULL:
        vpa_buf_puts(out, "null");
        break;
    case VPA_JSON_BOOL:
        vpa_json_bool(node, &truth);
        vpa_buf_puts(out, truth ? "true" : "false");
        break;
    case VPA_JSON_NUMBER:
        vpa_buf_puts(out, vpa_json_number_text(node));
        break;
    case VPA_JSON_STRING:
        vpa_buf_puts(out, json_string(c, vpa_json_string(node)));
        break;
    case VPA_JSON_ARRAY:
    case VPA_JSON_OBJECT:
        vpa_buf_putc(out, vpa_json_is_array(node) ? '[' : '{');
        vpa_json_foreach (child, node) {
            if (!first)
                vpa_buf_putc(out, ',');
            first = false;
            if (vpa_json_name(child))
                vpa_buf_printf(out, "%s:", json_string(c, vpa_json_name(child)));
            print_node(out, c, child);
        }
        vpa_buf_putc(out, vpa_json_is_array(node) ? ']' : '}');
        break;
    }
}

static const char *node_text(struct golden_case *c, const struct vpa_json *node)
{
    vpa_auto_buf buf = VPA_BUF(64 << 20);

    print_node(&buf, c, node);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

/* got is JSON text. */
static bool record(struct golden_case *c, const char *label, const struct vpa_json *want,
                   const char *got)
{
    golden_record(c->run, vpa_arena_strdup(c->arena, label), node_text(c, want), got);
    return false;
}

void golden_difference(struct golden_case *c, const char *label, const char *wanted,
                       const char *got)
{
    golden_record(c->run, vpa_arena_strdup(c->arena, label),
                  vpa_arena_strdup(c->arena, vpa_or_empty(wanted)), json_string(c, got));
}

void golden_unexpected(struct golden_case *c, const char *label, const char *got)
{
    golden_difference(c, label, "(nothing)", got);
}

void golden_skip(struct golden_case *c, const char *fmt, ...)
{
    char reason[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(reason, sizeof(reason), fmt, args);
    va_end(args);
    golden_record_skip(c->run, reason);
}

/* ---- readers ---- */

bool golden_read_int(const struct vpa_json *node, int64_t *out)
{
    const char *text = vpa_json_string(node);

    if (text)
        return vpa_parse_int64(text, out, NULL) == 0;
    return vpa_json_int64(node, out);
}

/* Zero has one text; "0x0p+90" would be another. */
static bool is_zero_right(const char *text, double x)
{
    text += *text == '-';
    return x != 0 || strcmp(text, "0x0p+00") == 0 || strcmp(text, "0x0p+0") == 0 ||
           strcmp(text, "0") == 0;
}

/* Of {"num","hex"} both must say the same; num is null for what JSON has no number for. */
static bool read_twice(const struct vpa_json *node, double *out)
{
    const struct vpa_json *num = vpa_json_find(node, "num");
    const char *hex = vpa_json_string(vpa_json_find(node, "hex"));
    double same;
    char *end;

    if (!num || !hex || !*hex || vpa_json_count(node) != 2)
        return false;
    *out = strtod(hex, &end);
    if (*end || !is_zero_right(hex, *out))
        return false;
    return isfinite(*out) ? vpa_json_double(num, &same) && same == *out : vpa_json_is_null(num);
}

bool golden_read_double(const struct vpa_json *node, double *out)
{
    const char *text = vpa_json_string(node);
    char *end;

    if (vpa_json_is_object(node))
        return read_twice(node, out);
    if (!text)
        return vpa_json_double(node, out);
    *out = strtod(text, &end);
    return *text && !*end && is_zero_right(text, *out);
}

bool golden_read_bits(const struct vpa_json *node, double *out)
{
    const char *text = vpa_json_string(node);
    uint64_t bits;
    char *end;

    if (!text || strlen(text) != 16)
        return false;
    bits = strtoull(text, &end, 16);
    memcpy(out, &bits, sizeof(bits));
    return !*end;
}

bool golden_read_time(const struct vpa_json *node, vpa_time *out)
{
    int64_t nanos;

    if (vpa_json_is_null(node)) {
        *out = VPA_TIME_UNSET;
        return true;
    }
    if (!golden_read_int(node, &nanos))
        return false;
    *out = nanos;
    return true;
}

const char *golden_in_text(struct golden_case *c, const char *name)
{
    const char *text = vpa_json_string(GOLDEN_IN(c, name));

    if (!text)
        golden_difference(c, golden_label(c, "in.%s", name), "a string", "none");
    return vpa_or_empty(text);
}

int64_t golden_in_int(struct golden_case *c, const char *name)
{
    int64_t n = 0;

    if (!golden_read_int(GOLDEN_IN(c, name), &n))
        golden_difference(c, golden_label(c, "in.%s", name), "an integer", "none");
    return n;
}

const char *golden_text_of(const struct vpa_json *object, const char *name)
{
    return vpa_json_string(vpa_json_find(object, name));
}

int64_t golden_int_of(const struct vpa_json *object, const char *name)
{
    int64_t n = 0;

    golden_read_int(vpa_json_find(object, name), &n);
    return n;
}

double golden_double_of(const struct vpa_json *object, const char *name)
{
    double x = 0.0;

    golden_read_double(vpa_json_find(object, name), &x);
    return x;
}

vpa_time golden_time_of(const struct vpa_json *node)
{
    vpa_time t = VPA_TIME_UNSET;

    golden_read_time(node, &t);
    return t;
}

char *golden_form_decode(struct vpa_arena *arena, const char *text, size_t len)
{
    char *out = vpa_arena_alloc(arena, len + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && i + 2 < len) {
            char hex[3] = {text[i + 1], text[i + 2], '\0'};

            out[n++] = (char)strtol(hex, NULL, 16);
            i += 2;
        } else {
            out[n++] = text[i] == '+' ? ' ' : text[i];
        }
    }
    out[n] = '\0';
    return out;
}

bool golden_tagged(const struct golden_case *c, const char *decision)
{
    vpa_json_foreach (tag, c->differs) {
        if (vpa_str_eq(vpa_json_string(tag), decision))
            return true;
    }
    return false;
}

/* ---- what was compared ---- */

void golden_see(struct golden_run *run, const struct vpa_json *node)
{
    if (!node)
        return;
    VPA_GROW(run->seen, run->seen_count, run->seen_capacity);
    run->seen[run->seen_count++] = node;
}

void golden_compared(struct golden_case *c, const struct vpa_json *node)
{
    golden_see(c->run, node);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const struct vpa_json *const *)a;
    uintptr_t y = (uintptr_t) * (const struct vpa_json *const *)b;

    return x < y ? -1 : x > y;
}

static bool was_seen(const struct golden_run *run, const struct vpa_json *node)
{
    return run->seen_count > 0 &&
           bsearch(&node, run->seen, run->seen_count, sizeof(run->seen[0]), by_address);
}

static bool is_information(const char *const *information, const char *path)
{
    for (; information && *information; information++)
        if (golden_is_like(*information, path))
            return true;
    return false;
}

static void record_unseen(struct golden_case *c, const struct vpa_json *node, const char *path,
                          const char *const *information)
{
    size_t i = 0;

    if (was_seen(c->run, node))
        return;
    if (vpa_json_count(node) == 0) {
        if (!is_information(information, path))
            record(c, golden_label(c, "%s (compared with nothing)", path), node, "null");
        return;
    }
    vpa_json_foreach (child, node) {
        const char *name = vpa_json_name(child);

        record_unseen(c, child,
                      name ? golden_label(c, "%s%s%s", path, *path ? "." : "", name)
                           : golden_label(c, "%s[%zu]", path, i),
                      information);
        i++;
    }
}

void golden_record_unseen(struct golden_case *c, const char *const *information)
{
    struct golden_run *run = c->run;

    if (run->seen_count > 0)
        qsort(run->seen, run->seen_count, sizeof(run->seen[0]), by_address);
    record_unseen(c, c->out, "", information);
}

/* ---- comparisons ---- */

bool golden_text(struct golden_case *c, const char *label, const struct vpa_json *want,
                 const char *got)
{
    const char *text = vpa_json_string(want);

    golden_see(c->run, want);
    if (!got ? vpa_json_is_null(want) : text && strcmp(text, got) == 0)
        return true;
    return record(c, label, want, json_string(c, got));
}

bool golden_int(struct golden_case *c, const char *label, const struct vpa_json *want, int64_t got)
{
    int64_t n;

    golden_see(c->run, want);
    if (golden_read_int(want, &n) && n == got)
        return true;
    const char *quote = vpa_json_string(want) ? "\"" : "";
    return record(c, label, want, golden_label(c, "%s%" PRId64 "%s", quote, got, quote));
}

bool golden_bool(struct golden_case *c, const char *label, const struct vpa_json *want, bool got)
{
    bool b;

    golden_see(c->run, want);
    if (vpa_json_bool(want, &b) && b == got)
        return true;
    return record(c, label, want, got ? "true" : "false");
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

void golden_marker(struct golden_case *c, const char *name)
{
    if (GOLDEN_OUT(c, name))
        golden_bool(c, name, GOLDEN_OUT(c, name), true);
}

bool golden_one_of(struct golden_case *c, const char *label, const struct vpa_json *want,
                   const char *const *choices)
{
    golden_see(c->run, want);
    for (; *choices; choices++)
        if (vpa_str_eq(vpa_json_string(want), *choices))
            return true;
    return record(c, label, want, "\"one of few texts\"");
}

bool golden_count(struct golden_case *c, const char *label, const struct vpa_json *want, size_t got)
{
    bool scalar =
        want && !vpa_json_is_array(want) && !vpa_json_is_object(want) && !vpa_json_is_null(want);

    if (vpa_json_count(want) == 0)
        golden_see(c->run, want); /* with children it is for them to be compared */
    if (!scalar && vpa_json_count(want) == got)
        return true;
    return record(c, label, want, golden_label(c, "%zu", got));
}

bool golden_double(struct golden_case *c, const char *label, const struct vpa_json *want,
                   double got)
{
    double x;

    golden_see(c->run, want);
    if (golden_read_double(want, &x) && same_bits(x, got))
        return true;
    return record(c, label, want, golden_label(c, "{\"num\":\"%.17g\",\"hex\":\"%a\"}", got, got));
}

bool golden_bits(struct golden_case *c, const char *label, const struct vpa_json *want, double got)
{
    double x;
    uint64_t bits;

    golden_see(c->run, want);
    if (golden_read_bits(want, &x) && same_bits(x, got))
        return true;
    memcpy(&bits, &got, sizeof(bits));
    return record(c, label, want, golden_label(c, "\"%016" PRIx64 "\"", bits));
}

bool golden_time(struct golden_case *c, const char *label, const struct vpa_json *want,
                 vpa_time got)
{
    vpa_time t;

    golden_see(c->run, want);
    if (golden_read_time(want, &t) && t == got)
        return true;
    if (vpa_time_is_unset(got))
        return record(c, label, want, "null");
    return record(c, label, want, golden_label(c, "\"%" PRId64 "\"", vpa_time_unix_nanos(got)));
}

bool golden_json(struct golden_case *c, const char *label, const struct vpa_json *want,
                 const char *got)
{
    const struct vpa_json *root;
    struct vpa_error err;

    golden_see(c->run, want);
    if (!got)
        return !want || record(c, label, want, "null");
    if (vpa_json_parse(c->arena, got, strlen(got), &root, &err) < 0)
        return record(c, label, want, json_string(c, golden_label(c, "%s: %s", err.text, got)));
    if (want && vpa_json_equal(want, root))
        return true;
    return record(c, label, want, node_text(c, root));
}

/* ---- leaves ---- */

struct leaf_walk {
    const struct golden_case *c;
    golden_leaf_fn *fn;
    void *ctx;
};

static void walk(struct leaf_walk *w, const char *label, const struct vpa_json *want,
                 const struct vpa_json *got);

static void walk_elements(struct leaf_walk *w, const char *label, const struct vpa_json *want,
                          const struct vpa_json *got)
{
    const struct vpa_json *a = vpa_json_first(want), *b = vpa_json_first(got);

    for (size_t i = 0; a || b; i++) {
        walk(w, golden_label(w->c, "%s[%zu]", label, i), a, b);
        a = a ? vpa_json_next(a) : NULL;
        b = b ? vpa_json_next(b) : NULL;
    }
}

static void walk_members(struct leaf_walk *w, const char *label, const struct vpa_json *want,
                         const struct vpa_json *got)
{
    vpa_json_foreach (member, want)
        walk(w, golden_label(w->c, "%s.%s", label, vpa_json_name(member)), member,
             vpa_json_find(got, vpa_json_name(member)));
    vpa_json_foreach (member, got)
        if (!vpa_json_find(want, vpa_json_name(member)))
            walk(w, golden_label(w->c, "%s.%s", label, vpa_json_name(member)), NULL, member);
}

static void walk(struct leaf_walk *w, const char *label, const struct vpa_json *want,
                 const struct vpa_json *got)
{
    if (want && got && vpa_json_equal(want, got))
        return;
    if (vpa_json_is_array(want) && vpa_json_is_array(got))
        walk_elements(w, label, want, got);
    else if (vpa_json_is_object(want) && vpa_json_is_object(got))
        walk_members(w, label, want, got);
    else
        w->fn(w->ctx, label, want, got);
}

void golden_each_leaf(const struct golden_case *c, const char *label, const struct vpa_json *want,
                      const struct vpa_json *got, golden_leaf_fn *fn, void *ctx)
{
    walk(&(struct leaf_walk){c, fn, ctx}, label, want, got);
}
