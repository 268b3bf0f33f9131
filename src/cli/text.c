/*
 * Texts for terminals, pages and spreadsheets.
 *
 * Widths come from the C library's tables for the locale C.UTF-8, which every Debian has; where it
 * is missing each character counts as one column.
 */
#include "text.h"

#include <inttypes.h>
#include <locale.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"

#define TEXT_MAX ((size_t)64 << 20)

void cli_put_safe(struct vpa_buf *out, const char *text)
{
    if (text)
        vpa_escape_go(out, text, strlen(text));
}

static int rune_width(uint32_t rune)
{
    static locale_t utf8;
    locale_t before;
    int width;

    if (rune < 0x80)
        return 1;
    if (!utf8)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!utf8)
        return 1;
    before = uselocale(utf8);
    width = wcwidth((wchar_t)rune);
    uselocale(before);
    return width < 0 ? 1 : width;
}

size_t cli_text_width(const char *text)
{
    size_t width = 0;

    while (*text) {
        uint32_t rune = 0;
        size_t len = vpa_utf8_decode(text, &rune);

        width += len ? (size_t)rune_width(rune) : 1;
        text += len ? len : 1;
    }
    return width;
}

void cli_put_html(struct vpa_buf *out, const char *text)
{
    for (const char *p = vpa_or_empty(text); *p;) {
        uint32_t rune = 0;
        size_t len = vpa_utf8_decode(p, &rune);

        if (len == 0 || (rune < 0x20 && rune != '\n' && rune != '\t') || rune == 0x7f)
            vpa_buf_puts(out, "&#xfffd;");
        else if (strchr("<>&\"'", *p))
            vpa_buf_printf(out, "&#%d;", *p);
        else
            vpa_buf_append(out, p, len);
        p += len ? len : 1;
    }
}

void cli_put_csv(struct vpa_buf *out, const char *text)
{
    text = vpa_or_empty(text);
    /* A sign alone is the sign for nothing, and no formula. */
    bool formula = text[0] != '\0' && text[1] != '\0' && strchr("=+-@\t", *text);

    if (!formula && !strpbrk(text, ",\"\r\n")) {
        vpa_buf_puts(out, text);
        return;
    }
    vpa_buf_putc(out, '"');
    if (formula)
        vpa_buf_putc(out, '\'');
    for (const char *p = text; *p; p++) {
        if (*p == '"')
            vpa_buf_putc(out, '"');
        vpa_buf_putc(out, *p);
    }
    vpa_buf_putc(out, '"');
}

void cli_put_colored(struct vpa_buf *out, bool color, enum cli_color how, const char *text)
{
    static const char *const codes[] = {"", "1", "2", "31", "32", "33"};

    if (color && how != CLI_PLAIN)
        vpa_buf_printf(out, "\033[%sm", codes[how]);
    cli_put_safe(out, text);
    if (color && how != CLI_PLAIN)
        vpa_buf_puts(out, "\033[0m");
}

/* ---- JSON and YAML ---- */

static bool is_safe(const char *rune, size_t len)
{
    vpa_auto_buf escaped = VPA_BUF(32);

    vpa_escape_go(&escaped, rune, len);
    return vpa_slice_eq((struct vpa_slice){rune, len}, vpa_buf_text(&escaped));
}

/* As both languages know it; beyond 16 bits JSON has pairs, which YAML has not. */
static void put_escaped(struct vpa_buf *out, uint32_t rune, bool yaml)
{
    if (rune <= 0xffff)
        vpa_buf_printf(out, "\\u%04" PRIx32, rune);
    else if (yaml)
        vpa_buf_printf(out, "\\U%08" PRIx32, rune);
    else
        vpa_buf_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (rune >> 10),
                       0xdc00 + (rune & 0x3ff));
}

/* What is not ASCII stands within strings. */
static void put_quoted(struct vpa_buf *out, const char *text, size_t len, bool yaml)
{
    const char *end = text + len, *run = text;

    while (text < end) {
        uint32_t rune = 0;
        size_t n = *text >= 0x20 && *text < 0x7f ? 1 : vpa_utf8_decode(text, &rune);

        if (!n)
            rune = 0xfffd; /* a byte alone is no character */
        if (*text == '\n' || (*text >= 0x20 && *text < 0x7f) || (n > 1 && is_safe(text, n))) {
            text += n;
            continue;
        }
        vpa_buf_append(out, run, (size_t)(text - run));
        put_escaped(out, rune, yaml);
        text += n ? n : 1;
        run = text;
    }
    vpa_buf_append(out, run, (size_t)(text - run));
}

void cli_put_json(struct vpa_buf *out, const char *json, size_t len)
{
    put_quoted(out, json, len, false);
}

static bool is_plain(const char *text)
{
    /* YAML 1.1, which kubectl reads, has more names for true and false than JSON. */
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};

    if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')))
        return false;
    for (size_t i = 0; i < VPA_COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "-_./")] == '\0';
}

static void put_yaml_text(struct vpa_buf *out, const char *text)
{
    vpa_auto_buf quoted = VPA_BUF(TEXT_MAX);

    if (is_plain(text)) {
        vpa_buf_puts(out, text);
        return;
    }
    vpa_json_escape(&quoted, text);
    put_quoted(out, vpa_buf_text(&quoted), quoted.len, true);
    out->failed |= vpa_buf_failed(&quoted);
}

static void put_yaml_node(struct vpa_buf *out, const struct vpa_json *node, int depth,
                          bool in_list);

static void put_yaml_scalar(struct vpa_buf *out, const struct vpa_json *node)
{
    bool flag;

    if (vpa_json_string(node))
        put_yaml_text(out, vpa_json_string(node));
    else if (vpa_json_number_text(node))
        vpa_buf_puts(out, vpa_json_number_text(node));
    else if (vpa_json_bool(node, &flag))
        vpa_buf_puts(out, flag ? "true" : "false");
    else if (vpa_json_is_object(node))
        vpa_buf_puts(out, "{}");
    else
        vpa_buf_puts(out, vpa_json_is_array(node) ? "[]" : "null");
    vpa_buf_putc(out, '\n');
}

static void indent(struct vpa_buf *out, int depth)
{
    for (int i = 0; i < depth; i++)
        vpa_buf_puts(out, "  ");
}

/* in_list: the first member stands behind the "- " of its element. */
static void put_yaml_node(struct vpa_buf *out, const struct vpa_json *node, int depth, bool in_list)
{
    bool first = in_list;

    vpa_json_foreach (child, node) {
        const char *name = vpa_json_name(child);

        if (!first)
            indent(out, depth);
        first = false;
        if (name)
            put_yaml_text(out, name);
        vpa_buf_puts(out, name ? ":" : "-");
        if (vpa_json_count(child) == 0) {
            vpa_buf_putc(out, ' ');
            put_yaml_scalar(out, child);
        } else if (name) {
            vpa_buf_putc(out, '\n');
            put_yaml_node(out, child, depth + !vpa_json_is_array(child), false);
        } else {
            vpa_buf_putc(out, ' ');
            put_yaml_node(out, child, depth + 1, true);
        }
    }
}

int cli_put_yaml(struct vpa_buf *out, const char *json, size_t len)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error err;

    if (vpa_json_parse(&arena, json, len, &root, &err) < 0)
        return -1;
    if (vpa_json_count(root) == 0)
        put_yaml_scalar(out, root);
    else
        put_yaml_node(out, root, 0, false);
    return 0;
}
