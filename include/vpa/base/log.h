/*
 * Log lines of constant messages with facts as fields, in klog's text form, or JSON by flag.
 *
 *     VPA_INFO("Evicted pod", VPA_KV("namespace", ns), VPA_KV("pod", name));
 *     VPA_V(3, "Skipping pod", VPA_KV("pod", name), VPA_KV("replicas", count));
 *     I0412 09:30:00.000001  4711 act.c:88] "Evicted pod" namespace="web" pod="api-0"
 *
 * The number behind the time is the process id. The level is the one global of the core. Lines are
 * written with one write(2). Never log a token, a body or a key.
 *
 * Texts of fields may come from strangers: a value is cut at 8 KiB; a line of text holds no control
 * character but the line ends and tabs of a value of several lines, a line of JSON is valid UTF-8
 * (U+FFFD for what is not).
 */
#ifndef VPA_BASE_LOG_H
#define VPA_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/error.h"
#include "vpa/base/mem.h" /* VPA_COUNT */

enum vpa_severity { VPA_LOG_INFO, VPA_LOG_WARNING, VPA_LOG_ERROR, VPA_LOG_FATAL };

struct vpa_log_field {
    const char *key;
    enum { VPA_FIELD_STRING, VPA_FIELD_INT, VPA_FIELD_DOUBLE, VPA_FIELD_BOOL } kind;
    union {
        const char *string;
        int64_t integer;
        double number;
    } value;
};

static inline struct vpa_log_field vpa_kv_string(const char *key, const char *value)
{
    return (struct vpa_log_field){key, VPA_FIELD_STRING, {.string = value ? value : ""}};
}
static inline struct vpa_log_field vpa_kv_int(const char *key, int64_t value)
{
    return (struct vpa_log_field){key, VPA_FIELD_INT, {.integer = value}};
}
static inline struct vpa_log_field vpa_kv_double(const char *key, double value)
{
    return (struct vpa_log_field){key, VPA_FIELD_DOUBLE, {.number = value}};
}
static inline struct vpa_log_field vpa_kv_bool(const char *key, bool value)
{
    return (struct vpa_log_field){key, VPA_FIELD_BOOL, {.integer = value}};
}
#define VPA_KV(key, value)                                                                         \
    _Generic((value), char *: vpa_kv_string, const char *: vpa_kv_string, double: vpa_kv_double,   \
             float: vpa_kv_double, bool: vpa_kv_bool, default: vpa_kv_int)(key, value)
/* The text of a struct vpa_error pointer. */
#define VPA_KERR(error) vpa_kv_string("err", (error)->text)

extern int vpa_log_level; /* verbosity, --v */
/* Whether V(level) lines of this source file are written (--v, --vmodule). */
bool vpa_log_enabled(int level, const char *file);

void vpa_log_write(enum vpa_severity severity, const char *file, int line, const char *message,
                   const struct vpa_log_field *fields, size_t count);

#define VPA_LOG_(severity, message, ...)                                                           \
    do {                                                                                           \
        const struct vpa_log_field vpa_fields_[] = {{0}, ##__VA_ARGS__};                           \
        vpa_log_write(severity, __FILE__, __LINE__, message, vpa_fields_ + 1,                      \
                      VPA_COUNT(vpa_fields_) - 1);                                                 \
    } while (0)
#define VPA_INFO(message, ...) VPA_LOG_(VPA_LOG_INFO, message, ##__VA_ARGS__)
#define VPA_WARN(message, ...) VPA_LOG_(VPA_LOG_WARNING, message, ##__VA_ARGS__)
#define VPA_ERROR(message, ...) VPA_LOG_(VPA_LOG_ERROR, message, ##__VA_ARGS__)
#define VPA_V(level, message, ...)                                                                 \
    do {                                                                                           \
        if (vpa_log_enabled(level, __FILE__))                                                      \
            VPA_LOG_(VPA_LOG_INFO, message, ##__VA_ARGS__);                                        \
    } while (0)

/* About a failure: at --v=5 only when another line has said already what is behind it. */
#define VPA_UNLESS_TOLD_(severity, err, message, ...)                                              \
    do {                                                                                           \
        if (!(err)->told)                                                                          \
            VPA_LOG_(severity, message, ##__VA_ARGS__);                                            \
        else                                                                                       \
            VPA_V(5, message, ##__VA_ARGS__);                                                      \
    } while (0)
#define VPA_WARN_UNLESS_TOLD(err, message, ...)                                                    \
    VPA_UNLESS_TOLD_(VPA_LOG_WARNING, err, message, ##__VA_ARGS__)
#define VPA_ERROR_UNLESS_TOLD(err, message, ...)                                                   \
    VPA_UNLESS_TOLD_(VPA_LOG_ERROR, err, message, ##__VA_ARGS__)

/* One line whose text has no quotes (upstream's few unstructured lines). */
void vpa_log_text(enum vpa_severity severity, const char *file, int line, const char *text);

/*
 * Where lines go and how. Until vpa_log_configure: standard error, text, no time, verbosity 0. The
 * time of a line comes from `clock` (nanoseconds of the Unix epoch) because the core reads no
 * clock; NULL prints no time. Times are local (TZ). Values longer than 8 KiB are cut.
 */
struct vpa_log_options {
    int level;
    const char *vmodule; /* pattern=level,...; NULL or empty: none; copied */
    bool json;           /* one JSON object per line */
    bool skip_headers;
    bool add_dir_header;     /* folder/file.c:line */
    enum vpa_severity least; /* lines of lower severity are dropped */
    int fd;                  /* written with one write(2) per line */
    int64_t (*clock)(void);
};
/* Most pairs of a vmodule and longest text of it. */
#define VPA_LOG_VMODULE_MAX 64
#define VPA_LOG_VMODULE_TEXT_MAX 4096
/* Takes effect for all later lines, of all threads: call it before there is a second one.
 * VPA_INVALID with klog's text when vmodule cannot be read. */
int vpa_log_configure(const struct vpa_log_options *wanted, struct vpa_error *err);
/* Whether vmodule can be read, without any effect. */
int vpa_log_check_vmodule(const char *vmodule, struct vpa_error *err) VPA_MUST_CHECK;

#endif
