#include "story.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "captured_log.h"
#include "vpa/base/file.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define STORY_MAX ((size_t)4 << 20)

struct vpa_buf told;

void story_begin(void)
{
    capture_log(0);
    vpa_buf_init(&told, STORY_MAX);
}

void story_end(void)
{
    vpa_buf_release(&told);
}

const char *story_text(const struct vpa_json *node, const char *path)
{
    return vpa_or_empty(vpa_json_string(vpa_json_at(node, path)));
}

void story_line(struct story_lines *lines, const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *p = text; (p = strstr(p, "p00-")); p += 4)
        p[4] = p[5] = '#';
    for (size_t i = 0; i < lines->count; i++)
        if (strcmp(lines->texts[i], text) == 0) {
            lines->counts[i]++;
            return;
        }
    ck_assert_uint_lt(lines->count, VPA_COUNT(lines->texts));
    lines->counts[lines->count] = 1;
    lines->texts[lines->count++] = vpa_xstrdup(text);
}

void story_tell_lines(struct story_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        vpa_buf_printf(&told, "%zu %s\n", lines->counts[i], lines->texts[i]);
        free(lines->texts[i]);
    }
    lines->count = 0;
}

void story_tell_ledger(struct vpa_ledger *ledger)
{
    vpa_auto_arena arena = {0};
    vpa_auto_buf out = VPA_BUF(2 * VPA_LEDGER_PAGE_MAX);
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_int_eq(vpa_ledger_read(ledger, &(struct vpa_ledger_query){0}, &out, &err), 0);
    ck_assert_int_eq(vpa_json_parse(&arena, out.data, out.len, &root, &err), 0);
    vpa_json_foreach (e, vpa_json_find(root, "decisions"))
        vpa_buf_printf(&told, "> %s/%s %s%s%s, %s: %s%s\n", story_text(e, "namespace"),
                       story_text(e, "vpa"), story_text(e, "pod"), *story_text(e, "pod") ? " " : "",
                       story_text(e, "decision"), story_text(e, "rule"), story_text(e, "why"),
                       vpa_json_find(e, "inputs") ? " {}" : "");
}

void story_tell_log(void)
{
    vpa_auto_free char *all = vpa_xstrdup(logged_text());
    struct story_lines lines = {.count = 0};
    char *rest = all;

    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        const char *message = strstr(line, "] ");

        story_line(&lines, "%c %s", line[0], message ? message + 2 : line);
    }
    story_tell_lines(&lines);
}

/* A line of the page that no story tells. */
static bool is_left_out(const char *line, bool whole)
{
    return !vpa_str_starts_with(line, "vpa_") || vpa_str_ends_with(line, " 0") ||
           strstr(line, "_bucket{") || (!whole && vpa_str_starts_with(line, "vpa_quality_"));
}

void story_tell_metrics(const struct vpa_metrics *metrics, bool whole)
{
    struct vpa_metrics copy = *metrics;
    vpa_auto_buf page = VPA_BUF(STORY_MAX), parts = VPA_BUF(STORY_MAX);
    char *rest;

    vpa_metrics_write(&copy, VPA_EXPOSITION_TEXT, NULL, 0, &page);
    rest = page.data;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        static const char times[] = "_execution_latency_seconds_";
        const char *part = strstr(line, times);

        if (is_left_out(line, whole))
            continue;
        if (part)
            vpa_buf_printf(&parts, " %s", part + strlen(times));
        else
            vpa_buf_printf(&told, "%s\n", line + strlen("vpa_"));
    }
    vpa_buf_printf(&told, "times:%s\n", vpa_buf_text(&parts));
}

/* The whole file; the caller frees it. */
static char *read_sections(const char *file)
{
    struct vpa_error err;
    char *text;
    size_t len;

    ck_assert_msg(vpa_read_file(file, STORY_MAX, &text, &len, &err) == 0, "%s", err.text);
    return text;
}

/* Where the next section's "== " stands, from a line's beginning on; NULL: no more. */
static char *next_section(char *at)
{
    if (vpa_str_starts_with(at, "== "))
        return at;
    at = strstr(at, "\n== ");
    return at ? at + 1 : NULL;
}

/* Cuts the text of the section of that name out; NULL: no such section. */
static const char *find_section(char *sections, const char *name)
{
    size_t len = strlen(name);

    for (char *at = sections; (at = next_section(at));) {
        char *text = strchr(at, '\n'), *end;

        ck_assert_ptr_nonnull(text);
        text++;
        end = next_section(text);
        if ((size_t)(text - at) == len + 4 && memcmp(at + 3, name, len) == 0) {
            if (end)
                *end = '\0';
            return text;
        }
        at = text;
    }
    return NULL;
}

static void write_section(const char *file, const char *name)
{
    FILE *out = fopen(file, "a");

    ck_assert_ptr_nonnull(out);
    fprintf(out, "== %s\n%s", name, vpa_buf_text(&told));
    ck_assert_int_eq(fclose(out), 0);
}

void story_expect(const char *file, const char *name)
{
    vpa_auto_free char *sections = read_sections(file);
    const char *got = vpa_buf_text(&told), *want = find_section(sections, name), *line = got;

    if (getenv("STORY_WRITE"))
        write_section(getenv("STORY_WRITE"), name);
    ck_assert_msg(want, "%s has no section \"%s\"", file, name);
    for (size_t i = 0; got[i] && got[i] == want[i]; i++)
        if (got[i] == '\n')
            line = got + i + 1;
    ck_assert_msg(strcmp(got, want) == 0, "%s: %.*s\nis not %.*s", name, (int)strcspn(line, "\n"),
                  line, (int)strcspn(want + (line - got), "\n"), want + (line - got));
}

void story_expect_sections(const char *file, size_t count)
{
    vpa_auto_free char *sections = read_sections(file);
    size_t found = 0;

    for (char *at = sections; (at = next_section(at)); at = strchr(at, '\n') + 1)
        found++;
    ck_assert_uint_eq(found, count);
}
