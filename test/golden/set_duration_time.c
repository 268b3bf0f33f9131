/*
 * Set duration_time: Go durations, RFC 3339 times with seconds and with microseconds, time
 * arithmetic.
 */
#include <string.h>

#include "golden.h"
#include "vpa/base/str.h"
#include "vpa/base/time.h"
#include "vpa/json/json_writer.h"

static const char *duration_json(struct golden_case *c, vpa_duration d)
{
    char text[VPA_DURATION_TEXT_MAX];

    vpa_duration_format(d, text);
    return golden_label(c, "\"%s\"", text);
}

/* Hours, minutes and seconds as a double: whole part and rest are converted apart, as Go does. */
static double in_units(vpa_duration d, vpa_duration unit)
{
    return (double)(d / unit) + (double)(d % unit) / (double)unit;
}

static void run_duration_parse(struct golden_case *c)
{
    char text[VPA_DURATION_TEXT_MAX];
    struct vpa_error err;
    vpa_duration d;

    if (vpa_duration_parse(golden_in_text(c, "text"), &d, &err) < 0) {
        golden_text(c, "error", GOLDEN_OUT(c, "error"), err.text);
        return;
    }
    golden_text(c, "error", GOLDEN_OUT(c, "error"), NULL);
    golden_int(c, "ns", GOLDEN_OUT(c, "ns"), d);
    vpa_duration_format(d, text);
    golden_text(c, "string", GOLDEN_OUT(c, "string"), text);
    golden_double(c, "seconds", GOLDEN_OUT(c, "seconds"), in_units(d, VPA_SECOND));
    golden_double(c, "minutes", GOLDEN_OUT(c, "minutes"), in_units(d, VPA_MINUTE));
}

static void run_duration_format(struct golden_case *c)
{
    char text[VPA_DURATION_TEXT_MAX];
    vpa_duration d = golden_in_int(c, "ns");

    vpa_duration_format(d, text);
    golden_text(c, "string", GOLDEN_OUT(c, "string"), text);
    golden_text(c, "json", GOLDEN_OUT(c, "json"), duration_json(c, d));
}

/* What Go's decoder says of a literal that is no string. */
static const char *kind_text(struct golden_case *c, const struct vpa_json *node)
{
    if (vpa_json_is_null(node)) /* leaves the empty text, which is read as a duration */
        return "time: invalid duration \"\"";
    return golden_label(c, "json: cannot unmarshal %s into Go value of type string",
                        vpa_json_type(node) == VPA_JSON_BOOL ? "bool" : vpa_json_type_name(node));
}

/* metav1.Duration takes strings only. */
static void run_duration_json(struct golden_case *c)
{
    const char *literal = golden_in_text(c, "json");
    const struct vpa_json *node;
    struct vpa_error err = {0};
    vpa_duration d;

    if (vpa_json_parse(c->arena, literal, strlen(literal), &node, &err) < 0 ||
        !vpa_json_string(node) || vpa_duration_parse(vpa_json_string(node), &d, &err) < 0) {
        golden_bool(c, "error", GOLDEN_OUT(c, "error"), true);
        golden_text(c, "text", GOLDEN_OUT(c, "text"),
                    vpa_json_string(node) ? err.text : kind_text(c, node));
        return;
    }
    golden_text(c, "error", GOLDEN_OUT(c, "error"), NULL);
    golden_int(c, "ns", GOLDEN_OUT(c, "ns"), d);
    golden_text(c, "json", GOLDEN_OUT(c, "json"), duration_json(c, d));
}

static const char *time_json(struct golden_case *c, vpa_time t, bool micro)
{
    vpa_auto_buf buf = VPA_BUF(64);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &buf);
    if (micro)
        vpa_json_put_micro_time(&w, t);
    else
        vpa_json_put_time(&w, t);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

/* Whether Go's parser of times may have ended its text about the input so. */
static bool is_complaint(const char *rest, const char *input, const char *layout)
{
    static const char *const ranges[] = {"month", "day", "hour", "minute", "second"};
    vpa_auto_free char *as = vpa_xprintf(" as \"%s\": cannot parse \"", layout);
    vpa_auto_free char *extra = vpa_xprintf(": extra text: \"");

    for (size_t i = 0; i < VPA_COUNT(ranges); i++) {
        vpa_auto_free char *range = vpa_xprintf(": %s out of range", ranges[i]);
        if (strcmp(rest, range) == 0)
            return true;
    }
    bool part = vpa_str_starts_with(rest, as);
    if (!part && !vpa_str_starts_with(rest, extra))
        return false;
    rest += strlen(part ? as : extra);
    /* Then the end of the input, and which part of the layout it is not. */
    const char *quote = strrchr(rest, '"');
    const char *middle = part ? strstr(rest, "\" as \"") : quote;
    if (!middle || !quote || quote[1] != '\0')
        return false;
    vpa_auto_free char *left = vpa_xstrndup(rest, (size_t)(middle - rest));
    vpa_auto_free char *element =
        part ? vpa_xstrndup(middle + 6, (size_t)(quote - middle - 6)) : vpa_xstrdup("");
    return vpa_str_ends_with(input, left) && strstr(layout, element) != NULL;
}

/* The text of the reference's library, as far as its form says. */
static void compare_time_text(struct golden_case *c, const char *name, const struct vpa_json *node,
                              bool micro)
{
    const char *layout = micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00";
    const struct vpa_json *want = vpa_json_find(GOLDEN_OUT(c, name), "text");
    const char *text = vpa_or_empty(vpa_json_string(want)), *input = vpa_json_string(node);
    const char *label = golden_label(c, "%s.text", name);

    if (!input) {
        golden_text(c, label, want, kind_text(c, node));
        return;
    }
    const char *head = golden_label(c, "parsing time \"%s\"", input);
    golden_compared(c, want);
    if (!vpa_str_starts_with(text, head) || !is_complaint(text + strlen(head), input, layout))
        golden_difference(c, label, text, golden_label(c, "%s and why", head));
}

static void compare_time(struct golden_case *c, const char *name, bool micro)
{
    const struct vpa_json *want = GOLDEN_OUT(c, name), *node;
    const char *literal = golden_in_text(c, "json");
    vpa_time t = VPA_TIME_UNSET;
    struct vpa_error err = {0};
    bool error = false;

    bool ok = vpa_json_parse(c->arena, literal, strlen(literal), &node, &err) == 0;
    if (ok && !vpa_json_is_null(node))
        ok =
            vpa_json_string(node) && (micro ? vpa_time_parse_micro(vpa_json_string(node), &t, &err)
                                            : vpa_time_parse(vpa_json_string(node), &t, &err)) == 0;
    vpa_json_bool(vpa_json_find(want, "error"), &error);
    golden_compared(c, vpa_json_find(want, "error"));
    if (ok == error || (vpa_json_find(want, "error") && !error)) {
        golden_difference(c, golden_label(c, "%s.error", name), error ? "an error" : "none",
                          ok ? "none" : err.text);
        return;
    }
    if (!ok) {
        compare_time_text(c, name, node, micro);
        return;
    }
    int64_t seconds = (int64_t)((t - VPA_TIME_UNSET) / VPA_SECOND) - INT64_C(62135596800);
    int64_t nanos = (int64_t)(t - (vpa_time)seconds * VPA_SECOND);
    if (nanos < 0) { /* before year 1 division rounds up */
        nanos += VPA_SECOND;
        seconds--;
    }
    golden_int(c, golden_label(c, "%s.unix_s", name), vpa_json_find(want, "unix_s"), seconds);
    golden_int(c, golden_label(c, "%s.nanosecond", name), vpa_json_find(want, "nanosecond"), nanos);
    golden_bool(c, golden_label(c, "%s.zero", name), vpa_json_find(want, "zero"),
                vpa_time_is_unset(t));
    golden_text(c, golden_label(c, "%s.json", name), vpa_json_find(want, "json"),
                time_json(c, t, micro));
}

static void run_time_json(struct golden_case *c)
{
    compare_time(c, "time", false);
    compare_time(c, "microtime", true);
}

static void run_time_format(struct golden_case *c)
{
    vpa_time t = vpa_time_from_unix(golden_in_int(c, "unix_s"), golden_in_int(c, "nanosecond"));

    golden_text(c, "time", GOLDEN_OUT(c, "time"), time_json(c, t, false));
    golden_text(c, "microtime", GOLDEN_OUT(c, "microtime"), time_json(c, t, true));
}

static void run_time_math(struct golden_case *c)
{
    vpa_time t, u;
    vpa_duration d = golden_in_int(c, "d");

    if (!golden_read_time(GOLDEN_IN(c, "t"), &t) || !golden_read_time(GOLDEN_IN(c, "u"), &u)) {
        golden_difference(c, "in", "times t and u", "something else");
        return;
    }
    vpa_duration difference = vpa_time_sub(t, u);
    golden_int(c, "sub", GOLDEN_OUT(c, "sub"), difference);
    golden_time(c, "round", GOLDEN_OUT(c, "round"), vpa_time_round(t, d));
    golden_int(c, "trunc_sub", GOLDEN_OUT(c, "trunc_sub"), vpa_duration_truncate(difference, d));
    golden_bool(c, "before", GOLDEN_OUT(c, "before"), t < u);
    golden_bool(c, "after", GOLDEN_OUT(c, "after"), t > u);
    if (d != 0)
        golden_double(c, "quotient", GOLDEN_OUT(c, "quotient"), (double)difference / (double)d);
}

static void run(struct golden_case *c)
{
    static const struct {
        const char *file;
        void (*run)(struct golden_case *c);
    } files[] = {
        {"duration_parse", run_duration_parse}, {"duration_format", run_duration_format},
        {"duration_json", run_duration_json},   {"time_json", run_time_json},
        {"time_format", run_time_format},       {"time_math", run_time_math},
    };

    for (size_t i = 0; i < VPA_COUNT(files); i++)
        if (strcmp(files[i].file, c->file) == 0) {
            files[i].run(c);
            return;
        }
    golden_skip(c, "unknown file %s", c->file);
}

const struct golden_set golden_set_duration_time = {.name = "duration_time", .run = run};
