/*
 * Flags as text: values and defaults, the usage page, the rows of docs/flags.md, the start-up log.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/flags.h"
#include "vpa/base/log.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"

#define TEXT_MAX (1 << 20)

/* The names that upstream's usage page shows; none for bool. */
static const char *type_name(const struct vpa_flag *row)
{
    switch (row->kind) {
    case VPA_FLAG_KIND_BOOL:
        return "";
    case VPA_FLAG_KIND_INT:
        return "int";
    case VPA_FLAG_KIND_UINT:
        return "uint";
    case VPA_FLAG_KIND_FLOAT:
        return "float";
    case VPA_FLAG_KIND_STRING:
        return "string";
    case VPA_FLAG_KIND_DURATION:
        return "duration";
    case VPA_FLAG_KIND_QUANTITY:
        return "quantity";
    case VPA_FLAG_KIND_LEVEL:
        return "Level";
    case VPA_FLAG_KIND_SEVERITY:
        return "severity";
    case VPA_FLAG_KIND_MODULES:
        return "moduleSpec";
    case VPA_FLAG_KIND_TRACE:
        return "traceLocation";
    case VPA_FLAG_KIND_TYPED:
        return row->type->name;
    }
    return "";
}

static void format_value(const struct vpa_flag *row, const void *field, struct vpa_buf *out)
{
    char text[VPA_DURATION_TEXT_MAX];

    switch (row->kind) {
    case VPA_FLAG_KIND_BOOL:
        vpa_buf_puts(out, *(const bool *)field ? "true" : "false");
        break;
    case VPA_FLAG_KIND_UINT:
        vpa_buf_printf(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    case VPA_FLAG_KIND_INT:
    case VPA_FLAG_KIND_LEVEL:
    case VPA_FLAG_KIND_SEVERITY:
        vpa_buf_printf(out, "%" PRId64, *(const int64_t *)field);
        break;
    case VPA_FLAG_KIND_FLOAT:
        vpa_double_format_go(*(const double *)field, text);
        vpa_buf_puts(out, text);
        break;
    case VPA_FLAG_KIND_DURATION:
        vpa_duration_format(*(const vpa_duration *)field, text);
        vpa_buf_puts(out, text);
        break;
    case VPA_FLAG_KIND_STRING:
    case VPA_FLAG_KIND_MODULES:
    case VPA_FLAG_KIND_TRACE:
        vpa_buf_puts(out, *(const char *const *)field);
        break;
    case VPA_FLAG_KIND_QUANTITY:
        vpa_quantity_format_text(field, out);
        break;
    case VPA_FLAG_KIND_TYPED:
        row->type->format(field, out);
        break;
    }
}

/* Those of quantities and of types of their own are not told. */
static void format_preset(const struct vpa_flag *row, struct vpa_buf *out)
{
    union {
        bool truth;
        int64_t number;
        double real;
        const char *text;
    } field;

    if (row->kind == VPA_FLAG_KIND_QUANTITY || row->kind == VPA_FLAG_KIND_TYPED)
        return;
    vpa_flag_preset(row, &field);
    format_value(row, &field, out);
}

void vpa_flag_format(const struct vpa_flags *flags, const struct vpa_flag *row, bool preset,
                     struct vpa_buf *out)
{
    if (preset)
        format_preset(row, out);
    else
        format_value(row, (const char *)flags->values + row->offset, out);
}

/* ---- pages ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct vpa_flag *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* The rows by name, in a heap array. */
static const struct vpa_flag **by_name(const struct vpa_flags *flags)
{
    const struct vpa_flag **rows = vpa_xreallocarray(NULL, flags->count + 1, sizeof(*rows));

    for (size_t i = 0; i < flags->count; i++)
        rows[i] = &flags->rows[i];
    qsort(rows, flags->count, sizeof(*rows), compare_rows);
    return rows;
}

static void put_name(const struct vpa_flag *row, struct vpa_buf *out)
{
    if (row->letter)
        vpa_buf_printf(out, "  -%c, --%s", row->letter, row->name);
    else
        vpa_buf_printf(out, "      --%s", row->name);
    if (*type_name(row))
        vpa_buf_printf(out, " %s", type_name(row));
}

static size_t name_width(const struct vpa_flag *row)
{
    size_t type = strlen(type_name(row));

    return strlen("      --") + strlen(row->name) + (type ? type + 1 : 0);
}

/* Defaults that the usage page leaves out. */
static bool is_zero_text(const char *text)
{
    return *text == '\0' || strcmp(text, "0") == 0 || strcmp(text, "0s") == 0 ||
           strcmp(text, "false") == 0;
}

static void put_default(const struct vpa_flag *row, struct vpa_buf *out)
{
    vpa_auto_buf preset = VPA_BUF(TEXT_MAX);

    format_preset(row, &preset);
    const char *text = vpa_buf_text(&preset);
    if (is_zero_text(text))
        return;
    vpa_buf_puts(out, " (default ");
    if (row->kind == VPA_FLAG_KIND_STRING)
        vpa_quote_go(out, text);
    else
        vpa_buf_puts(out, text);
    vpa_buf_putc(out, ')');
}

void vpa_flags_usage(const struct vpa_flags *flags, const char *program, struct vpa_buf *out)
{
    vpa_auto_free const struct vpa_flag **rows = by_name(flags);
    size_t width = 0;

    for (size_t i = 0; i < flags->count; i++)
        if (name_width(rows[i]) > width)
            width = name_width(rows[i]);
    vpa_buf_printf(out, "Usage of %s:\n", program);
    for (size_t i = 0; i < flags->count; i++) {
        put_name(rows[i], out);
        vpa_buf_printf(out, "%*s%s", (int)(width + 3 - name_width(rows[i])), "", rows[i]->help);
        if (rows[i]->note)
            vpa_buf_printf(out, " (accepted, has no effect: %s)", rows[i]->note);
        put_default(rows[i], out);
        vpa_buf_putc(out, '\n');
    }
}

/* ---- log ---- */

static void log_row(const struct vpa_flags *flags, const struct vpa_flag *row)
{
    vpa_auto_buf value = VPA_BUF(TEXT_MAX), preset = VPA_BUF(TEXT_MAX), line = VPA_BUF(TEXT_MAX);

    vpa_flag_format(flags, row, false, &value);
    format_preset(row, &preset);
    if (vpa_log_enabled(2, __FILE__)) {
        vpa_buf_printf(&line, "FLAG: --%s=", row->name);
        vpa_quote_go(&line, row->secret && value.len > 0 ? "***" : vpa_buf_text(&value));
        vpa_log_text(VPA_LOG_INFO, __FILE__, __LINE__, vpa_buf_text(&line));
    }
    if (row->note && strcmp(vpa_buf_text(&value), vpa_buf_text(&preset)) != 0)
        VPA_INFO("Flag has no effect", VPA_KV("flag", row->name), VPA_KV("reason", row->note));
}

void vpa_flags_log(const struct vpa_flags *flags)
{
    vpa_auto_free const struct vpa_flag **rows = by_name(flags);

    for (size_t i = 0; i < flags->count; i++)
        log_row(flags, rows[i]);
}
