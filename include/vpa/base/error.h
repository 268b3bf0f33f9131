/*
 * Expected failure: an int (0 or -1) and an error that the caller owns.
 *
 *     struct vpa_error err;
 *     if (vpa_quantity_parse_millis(text, &millis, &err) < 0)
 *         return vpa_wrap(&err, "container %s: cpu request", name);
 *
 * The code says what the caller can do; the text grows from the inside out. On failure the outputs
 * of a function are untouched, on success its error is untouched. A function either returns an
 * error or logs it, never both. `err` may be NULL where the caller has no use for the text.
 */
#ifndef VPA_BASE_ERROR_H
#define VPA_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#define VPA_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define VPA_MUST_CHECK __attribute__((warn_unused_result))

/* Longest error text, terminator included; longer texts are cut and end in "...". */
#define VPA_ERROR_TEXT_MAX 1024

enum vpa_code {
    VPA_OK = 0,
    VPA_INVALID,   /* the input is wrong: skip it, a retry cannot help */
    VPA_NOT_FOUND, /* the thing does not exist (HTTP 404) */
    VPA_CONFLICT,  /* somebody else was faster (HTTP 409): read again */
    VPA_GONE,      /* the version is too old (HTTP 410): list again */
    VPA_RETRY,     /* passing failure (network, 429, 5xx): back off, try again */
    VPA_DENIED,    /* not allowed (HTTP 401, 403) */
    VPA_LIMIT,     /* a stated bound was exceeded */
    VPA_CANCELLED, /* given up on purpose, deadline or shutdown */
    VPA_NOT_OURS,  /* rightly left to somebody else: pass over in silence */
};

struct vpa_error {
    enum vpa_code code;
    bool told; /* a log line has said what is behind it: one more belongs to --v=5 */
    char text[VPA_ERROR_TEXT_MAX];
};

/* Sets code and text; the value is -1 so that it can be returned at once. Both are macros, so that
 * compilers and analysers see the -1 and know which outputs are set. */
#define vpa_fail(err, code, ...) (vpa_error_set(err, code, __VA_ARGS__), vpa_failure_())
/* Puts "<formatted>: " before the text, keeps the code; the value is -1. */
#define vpa_wrap(err, ...) (vpa_error_wrap(err, __VA_ARGS__), vpa_failure_())

/* What they call. */
void vpa_error_set(struct vpa_error *err, enum vpa_code code, const char *fmt, ...)
    VPA_PRINTF(3, 4);
void vpa_error_wrap(struct vpa_error *err, const char *fmt, ...) VPA_PRINTF(2, 3);
static inline int vpa_failure_(void)
{
    return -1;
}

/* Whether the error says what was said before, so that a line is printed once. The one look at a
 * text: a decision rests on the code (test/lint/check-errors). */
bool vpa_error_says(const struct vpa_error *err, const char *text);

#endif
