/* Errors owned by the caller; see the header. */
#include "vpa/base/error.h"

#include <stdio.h>
#include <string.h>

/* A cut text ends in "..." so that nobody takes it for the whole. */
static void mark_cut(char *text, int wanted)
{
    if (wanted >= VPA_ERROR_TEXT_MAX)
        memcpy(text + VPA_ERROR_TEXT_MAX - 4, "...", 4);
}

void vpa_error_set(struct vpa_error *err, enum vpa_code code, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return;
    err->code = code;
    err->told = false;
    va_start(args, fmt);
    mark_cut(err->text, vsnprintf(err->text, sizeof(err->text), fmt, args));
    va_end(args);
}

void vpa_error_wrap(struct vpa_error *err, const char *fmt, ...)
{
    char inner[VPA_ERROR_TEXT_MAX];
    va_list args;

    if (!err)
        return;
    memcpy(inner, err->text, sizeof(inner));
    va_start(args, fmt);
    int len = vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    if (len >= 0 && len < VPA_ERROR_TEXT_MAX) {
        size_t at = (size_t)len;
        int more = snprintf(err->text + at, sizeof(err->text) - at, ": %s", inner);
        len = more < 0 ? len : len + more;
    }
    mark_cut(err->text, len);
}

bool vpa_error_says(const struct vpa_error *err, const char *text)
{
    return text && strcmp(err->text, text) == 0;
}
