/*
 * Command-line flags from one table per daemon: the table is the truth for parsing, defaults,
 * --help, the start-up log and docs/flags.md. A plain struct holds the values; the row macros check
 * at compile time that a field has the type of its row.
 *
 *     struct updater_config {
 *         struct vpa_common_flags common;          // daemon/common_flags.h
 *         struct vpa_leader_flags leader;          // daemon/leader.h
 *         vpa_duration interval;
 *         int64_t min_replicas;
 *     };
 *     #define ROW(KIND, NAME, FIELD, ...) \
 *         VPA_FLAG_##KIND(NAME, struct updater_config, FIELD, __VA_ARGS__)
 *     static const struct vpa_flag rows[] = {
 *         VPA_COMMON_FLAGS(struct updater_config, common, ":8943"),
 *         VPA_LEADER_FLAGS(struct updater_config, leader, "vpa-updater"),
 *         ROW(DURATION, "updater-interval", interval, VPA_MINUTE, "How often the updater runs"),
 *         ROW(INT, "min-replicas", min_replicas, 2, "Pods a controller needs before ..."),
 *         ROW(BOOL, "x", x, false, "...", .note = "there is nothing to profile here"),
 *     };
 *     const struct vpa_flags flags = {.rows = rows, .count = VPA_COUNT(rows), .values = &config};
 *
 *     int code = vpa_flags_start(&flags, &arena, argc, argv, &text);
 *     if (code >= 0) { write text to standard error; return code; }
 *     vpa_flags_log(&flags);
 *
 * Accepted, as upstream's parser does:
 *
 *     --name=value  --name value  --bool  --bool=false  -v4  -v 4  -v=4
 *     "_" for "-" in names; positional arguments (ignored); "--" (the rest is positional);
 *     --help and -h
 *
 * The last of a repeated flag counts; a type of its own may accumulate instead (feature gates do).
 */
#ifndef VPA_BASE_FLAGS_H
#define VPA_BASE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/error.h"
#include "vpa/base/mem.h"
#include "vpa/base/quantity.h"
#include "vpa/base/time.h"

enum vpa_flag_kind {
    VPA_FLAG_KIND_BOOL,     /* bool */
    VPA_FLAG_KIND_INT,      /* int64_t; 0x, 0o, 0b and "_" accepted */
    VPA_FLAG_KIND_UINT,     /* uint64_t */
    VPA_FLAG_KIND_FLOAT,    /* double */
    VPA_FLAG_KIND_STRING,   /* const char *, never NULL; borrowed from argv */
    VPA_FLAG_KIND_DURATION, /* vpa_duration */
    VPA_FLAG_KIND_QUANTITY, /* struct vpa_quantity; zero when not given */
    VPA_FLAG_KIND_LEVEL,    /* int64_t, 32-bit range */
    VPA_FLAG_KIND_SEVERITY, /* int64_t: info 0, warning 1, error 2, fatal 3 */
    VPA_FLAG_KIND_MODULES,  /* const char *: pattern=N,... */
    VPA_FLAG_KIND_TRACE,    /* const char *: file.go:N or empty */
    VPA_FLAG_KIND_TYPED,    /* whatever the row's type says */
};

/* A kind of value that only some daemons know. */
struct vpa_flag_type {
    const char *name; /* on the usage page */
    void (*preset)(void *field);
    /* One more value of the flag; on an error nothing changes. */
    int (*parse)(void *field, const char *text, struct vpa_error *err);
    void (*format)(const void *field, struct vpa_buf *out);
};

struct vpa_flag {
    const char *name; /* with dashes */
    enum vpa_flag_kind kind;
    bool posix;    /* error texts of the leader election flags, which differ upstream */
    char letter;   /* short form, 0 for none */
    size_t offset; /* of the field in the values */
    bool bool_preset;
    int64_t int_preset; /* also unsigned numbers, durations, levels, severities */
    double float_preset;
    const char *text_preset; /* strings; NULL means "" */
    const char *help;
    const char *note; /* "accepted, has no effect: <note>"; NULL when the flag does something */
    bool secret;      /* the value never shows in the log */
    const struct vpa_flag_type *type; /* VPA_FLAG_KIND_TYPED */
};

struct vpa_flags {
    const struct vpa_flag *rows;
    size_t count;
    void *values;
};

#define VPA_FLAG_OFFSET_(STRUCT, FIELD, TYPE)                                                      \
    (offsetof(STRUCT, FIELD) +                                                                     \
     0 * sizeof(struct {                                                                           \
         _Static_assert(__builtin_types_compatible_p(__typeof__(((STRUCT *)0)->FIELD), TYPE),      \
                        "the field of a flag needs the type " #TYPE);                              \
         int unused;                                                                               \
     }))
#define VPA_FLAG_(KIND, NAME, STRUCT, FIELD, TYPE, HELP)                                           \
    .name = NAME, .kind = VPA_FLAG_KIND_##KIND, .offset = VPA_FLAG_OFFSET_(STRUCT, FIELD, TYPE),   \
    .help = HELP
/* Rows; further members (.note = "...") may follow the help text. */
#define VPA_FLAG_BOOL(NAME, STRUCT, FIELD, PRESET, HELP, ...)                                      \
    {                                                                                              \
        VPA_FLAG_(BOOL, NAME, STRUCT, FIELD, bool, HELP), .bool_preset = PRESET, ##__VA_ARGS__     \
    }
#define VPA_FLAG_INT(NAME, STRUCT, FIELD, PRESET, HELP, ...)                                       \
    {                                                                                              \
        VPA_FLAG_(INT, NAME, STRUCT, FIELD, int64_t, HELP), .int_preset = PRESET, ##__VA_ARGS__    \
    }
#define VPA_FLAG_UINT(NAME, STRUCT, FIELD, PRESET, HELP, ...)                                      \
    {                                                                                              \
        VPA_FLAG_(UINT, NAME, STRUCT, FIELD, uint64_t, HELP), .int_preset = PRESET, ##__VA_ARGS__  \
    }
#define VPA_FLAG_FLOAT(NAME, STRUCT, FIELD, PRESET, HELP, ...)                                     \
    {                                                                                              \
        VPA_FLAG_(FLOAT, NAME, STRUCT, FIELD, double, HELP), .float_preset = PRESET, ##__VA_ARGS__ \
    }
#define VPA_FLAG_STRING(NAME, STRUCT, FIELD, PRESET, HELP, ...)                                    \
    {                                                                                              \
        VPA_FLAG_(STRING, NAME, STRUCT, FIELD, const char *, HELP), .text_preset = PRESET,         \
                                                                    ##__VA_ARGS__                  \
    }
#define VPA_FLAG_DURATION(NAME, STRUCT, FIELD, PRESET, HELP, ...)                                  \
    {                                                                                              \
        VPA_FLAG_(DURATION, NAME, STRUCT, FIELD, vpa_duration, HELP), .int_preset = PRESET,        \
                                                                      ##__VA_ARGS__                \
    }
#define VPA_FLAG_QUANTITY(NAME, STRUCT, FIELD, HELP, ...)                                          \
    {                                                                                              \
        VPA_FLAG_(QUANTITY, NAME, STRUCT, FIELD, struct vpa_quantity, HELP), ##__VA_ARGS__         \
    }
#define VPA_FLAG_LEVEL(NAME, STRUCT, FIELD, PRESET, HELP, ...)                                     \
    {                                                                                              \
        VPA_FLAG_(LEVEL, NAME, STRUCT, FIELD, int64_t, HELP), .int_preset = PRESET, ##__VA_ARGS__  \
    }
#define VPA_FLAG_SEVERITY(NAME, STRUCT, FIELD, PRESET, HELP, ...)                                  \
    {                                                                                              \
        VPA_FLAG_(SEVERITY, NAME, STRUCT, FIELD, int64_t, HELP), .int_preset = PRESET,             \
                                                                 ##__VA_ARGS__                     \
    }
#define VPA_FLAG_MODULES(NAME, STRUCT, FIELD, HELP, ...)                                           \
    {                                                                                              \
        VPA_FLAG_(MODULES, NAME, STRUCT, FIELD, const char *, HELP), ##__VA_ARGS__                 \
    }
#define VPA_FLAG_TRACE(NAME, STRUCT, FIELD, PRESET, HELP, ...)                                     \
    {                                                                                              \
        VPA_FLAG_(TRACE, NAME, STRUCT, FIELD, const char *, HELP), .text_preset = PRESET,          \
                                                                   ##__VA_ARGS__                   \
    }
/* A field with a type of its own, described by TYPE (struct vpa_flag_type). */
#define VPA_FLAG_TYPED(NAME, STRUCT, FIELD, FIELD_TYPE, TYPE, HELP, ...)                           \
    {                                                                                              \
        VPA_FLAG_(TYPED, NAME, STRUCT, FIELD, FIELD_TYPE, HELP), .type = TYPE, ##__VA_ARGS__       \
    }

/* Sets every field to its preset; one field, of the type that its row has. */
void vpa_flags_preset(const struct vpa_flags *flags);
void vpa_flag_preset(const struct vpa_flag *row, void *field);

enum vpa_flags_result { VPA_FLAGS_RUN = 0, VPA_FLAGS_HELP = 1 }; /* -1: wrong usage */

/*
 * Presets, then parses argv[1..]. Strings are borrowed from argv, quantities live in the arena.
 * Returns an enum vpa_flags_result, or -1 with upstream's error text, as in invalid argument "x"
 * for "--min-replicas" flag: parse error
 */
int vpa_flags_parse(const struct vpa_flags *flags, struct vpa_arena *arena, int argc,
                    char *const *argv, struct vpa_error *err) VPA_MUST_CHECK;

/*
 * The same for a daemon's main(): -1 to go on, else the exit status (0 after --help, 2 after an
 * error) with what is to be written to standard error in *text.
 */
int vpa_flags_start(const struct vpa_flags *flags, struct vpa_arena *arena, int argc,
                    char *const *argv, struct vpa_buf *text) VPA_MUST_CHECK;

/* The usage text in name order. */
void vpa_flags_usage(const struct vpa_flags *flags, const char *program, struct vpa_buf *out);
/* The value of a row as it prints: 1m0s, 1.048576e+08, true. preset: the default, not the value. */
void vpa_flag_format(const struct vpa_flags *flags, const struct vpa_flag *row, bool preset,
                     struct vpa_buf *out);
/* One line FLAG: --name="value" per flag at verbosity 2, and one line at verbosity 0 for each flag
 * that has a note and a value other than its default. */
void vpa_flags_log(const struct vpa_flags *flags);

#endif
