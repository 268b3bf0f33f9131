/*
 * Command-line flags from one table per daemon: the table is the truth for parsing, defaults,
 * --help, the start-up log and docs/flags.md. A plain struct holds the values; the row macros check
 * at compile time that a field has the type of its row.
 *
 *     struct updater_config {
 *         struct vpa_common_flags common;
 *         struct vpa_leader_flags leader;
 *         vpa_duration interval;
 *         int64_t min_replicas;
 *     };
 *     #define ROW(KIND, NAME, FIELD, ...) VPA_FLAG_##KIND(NAME, struct updater_config, FIELD,
 * __VA_ARGS__) static const struct vpa_flag rows[] = { VPA_COMMON_FLAGS(struct updater_config,
 * common, ":8943"), VPA_LEADER_FLAGS(struct updater_config, leader, "vpa-updater"), ROW(DURATION,
 * "updater-interval", interval, VPA_MINUTE, "How often the updater runs"), ROW(INT, "min-replicas",
 * min_replicas, 2, "Pods a controller needs before ..."), ROW(BOOL, "x", x, false, "...", .note =
 * "there is nothing to profile here"),
 *     };
 *     const struct vpa_flags flags = {.rows = rows, .count = VPA_COUNT(rows), .values = &config};
 *
 *     int code = vpa_flags_start(&flags, &arena, argc, argv, &text);
 *     if (code >= 0) { write text to standard error; return code; }
 *     if (vpa_common_flags_apply(&config.common, clock, &err) < 0) ...
 *     vpa_flags_log(&flags);
 *
 * Accepted, as upstream's parser does: --name=value, --name value, --bool, --bool=false, -v4, -v 4,
 * -v=4,
 * "_" for "-" in names, positional arguments (ignored), "--" (the rest is positional), --help and
 * -h. The last of a repeated flag counts; feature gates accumulate.
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
    VPA_FLAG_KIND_GATES,    /* struct vpa_gates */
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
#define VPA_FLAG_GATES(NAME, STRUCT, FIELD, HELP, ...)                                             \
    {                                                                                              \
        VPA_FLAG_(GATES, NAME, STRUCT, FIELD, struct vpa_gates, HELP), ##__VA_ARGS__               \
    }

/* Sets every field to its preset. */
void vpa_flags_preset(const struct vpa_flags *flags);

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
/* The rows of docs/flags.md: a Markdown table with name, type, default, meaning, in name order. */
void vpa_flags_markdown(const struct vpa_flags *flags, struct vpa_buf *out);
/* The value of a row as it prints: 1m0s, 1.048576e+08, true. preset: the default, not the value. */
void vpa_flag_format(const struct vpa_flags *flags, const struct vpa_flag *row, bool preset,
                     struct vpa_buf *out);
/* One line FLAG: --name="value" per flag at verbosity 2, and one line at verbosity 0 for each flag
 * that has a note and a value other than its default. */
void vpa_flags_log(const struct vpa_flags *flags);

/*
 * Feature gates. All three are on unless told otherwise (upstream: off); an explicit gate wins over
 * AllAlpha and AllBeta whatever the order.
 */
struct vpa_gates {
    bool cpu_startup_boost; /* CPUStartupBoost */
    bool in_place;          /* InPlace */
    bool per_vpa_config;    /* PerVPAConfig */
    /* Private: the default of all three, and what was said explicitly: 0 nothing, 1 false, 2 true.
     */
    bool preset;
    unsigned char said_all_alpha;
    unsigned char said_all_beta;
    unsigned char said_cpu_startup_boost;
    unsigned char said_in_place;
    unsigned char said_per_vpa_config;
};
/* One more --feature-gates value; on an error nothing changes. */
int vpa_gates_parse(struct vpa_gates *gates, const char *text,
                    struct vpa_error *err) VPA_MUST_CHECK;
/* Our defaults (all on), and upstream's (all off) for comparisons with it. */
void vpa_gates_preset(struct vpa_gates *gates);
void vpa_gates_preset_upstream(struct vpa_gates *gates);

/* Logging flags of every daemon. */
struct vpa_log_flags {
    int64_t v;
    const char *vmodule;
    int64_t stderrthreshold;
    bool logtostderr;
    bool alsologtostderr;
    int64_t alsologtostderrthreshold;
    bool legacy_stderr_threshold_behavior;
    const char *log_dir;
    const char *log_file;
    uint64_t log_file_max_size;
    const char *log_backtrace_at;
    bool add_dir_header;
    bool skip_headers;
    bool skip_log_headers;
    bool one_output;
    const char *logging_format; /* "text" or "json"; our own flag */
};

/* Flags of every daemon. */
struct vpa_common_flags {
    const char *kubeconfig; /* empty: in-cluster configuration only */
    double kube_api_qps;
    double kube_api_burst;
    bool profiling;
    const char *vpa_object_namespace;          /* empty: all */
    const char *ignored_vpa_object_namespaces; /* comma list */
    const char *address;                       /* host:port of /metrics, /health-check, /readyz */
    struct vpa_gates gates;
    struct vpa_log_flags log;
};

/* Leader election: recommender and updater. */
struct vpa_leader_flags {
    bool elect;
    vpa_duration lease_duration;
    vpa_duration renew_deadline;
    vpa_duration retry_period;
    const char *resource_lock;
    const char *resource_name;
    const char *resource_namespace;
};

/* Sets up the log by the flags: level, vmodule, format, headers, threshold. clock as in log.h. */
int vpa_common_flags_apply(const struct vpa_common_flags *common, int64_t (*clock)(void),
                           struct vpa_error *err) VPA_MUST_CHECK;
/* The checks after parsing that all daemons share; the error text is the line to log before exit 1.
 */
int vpa_common_flags_check(const struct vpa_common_flags *common,
                           struct vpa_error *err) VPA_MUST_CHECK;
/* The checks of leader election, only when it is on; *exit_status is 1 or 2 on failure. */
int vpa_leader_flags_check(const struct vpa_leader_flags *leader, int *exit_status,
                           struct vpa_error *err) VPA_MUST_CHECK;
/* Whether the namespace is to be left alone: --vpa-object-namespace names another one, or it is in
 * --ignored-vpa-object-namespaces. */
bool vpa_common_flags_ignore(const struct vpa_common_flags *common, const char *name_space);
/* kube-api-qps and kube-api-burst as the client's token bucket sees them: *qps <= 0 means no limit.
 * -1 with upstream's text when a positive rate has no burst (exit 2). */
int vpa_common_flags_rate(const struct vpa_common_flags *common, double *qps, int *burst,
                          struct vpa_error *err) VPA_MUST_CHECK;

#define VPA_LOG_FILES_NOTE                                                                         \
    "log lines go to standard error only; files are the container runtime's part"

#define VPA_COMMON_FLAGS(STRUCT, MEMBER, ADDRESS)                                                  \
    VPA_FLAG_STRING("kubeconfig", STRUCT, MEMBER.kubeconfig, "",                                   \
                    "File with address and credentials of the API server; empty: the service "     \
                    "account of the pod"),                                                         \
        VPA_FLAG_FLOAT("kube-api-qps", STRUCT, MEMBER.kube_api_qps, 50,                            \
                       "Sustained rate of requests to the API server, per second"),                \
        VPA_FLAG_FLOAT("kube-api-burst", STRUCT, MEMBER.kube_api_burst, 100,                       \
                       "Requests to the API server that may go out at once"),                      \
        VPA_FLAG_BOOL("profiling", STRUCT, MEMBER.profiling, false, "Serve Go profiles",           \
                      .note = "a C program has no Go profiles; use perf"),                         \
        VPA_FLAG_STRING("vpa-object-namespace", STRUCT, MEMBER.vpa_object_namespace, "",           \
                        "Only this namespace is looked at; empty: all"),                           \
        VPA_FLAG_STRING("ignored-vpa-object-namespaces", STRUCT,                                   \
                        MEMBER.ignored_vpa_object_namespaces, "",                                  \
                        "Comma list of namespaces whose VPA objects are left alone"),              \
        VPA_FLAG_STRING("address", STRUCT, MEMBER.address, ADDRESS,                                \
                        "host:port of the plain HTTP listener: /metrics, /health-check, /readyz"), \
        VPA_FLAG_GATES("feature-gates", STRUCT, MEMBER.gates,                                      \
                       "Comma list Name=true|false of feature gates: "                             \
                       "AllAlpha=true|false (ALPHA - default=false), "                             \
                       "AllBeta=true|false (BETA - default=false), "                               \
                       "CPUStartupBoost=true|false (ALPHA - default=true), "                       \
                       "InPlace=true|false (ALPHA - default=true), "                               \
                       "PerVPAConfig=true|false (ALPHA - default=true)"),                          \
        VPA_LOG_FLAGS(STRUCT, MEMBER.log)

#define VPA_LOG_FLAGS(STRUCT, MEMBER)                                                              \
    VPA_FLAG_LEVEL("v", STRUCT, MEMBER.v, 4, "Verbosity of the log", .letter = 'v'),               \
        VPA_FLAG_MODULES("vmodule", STRUCT, MEMBER.vmodule,                                        \
                         "Comma list pattern=N of verbosities per source file (without .c)"),      \
        VPA_FLAG_SEVERITY("stderrthreshold", STRUCT, MEMBER.stderrthreshold, 0,                    \
                          "Least severity that is written, with "                                  \
                          "legacy-stderr-threshold-behavior=false"),                               \
        VPA_FLAG_BOOL("logtostderr", STRUCT, MEMBER.logtostderr, true, "Log to standard error",    \
                      .note = VPA_LOG_FILES_NOTE),                                                 \
        VPA_FLAG_BOOL("alsologtostderr", STRUCT, MEMBER.alsologtostderr, false,                    \
                      "Log to standard error as well as to files", .note = VPA_LOG_FILES_NOTE),    \
        VPA_FLAG_SEVERITY("alsologtostderrthreshold", STRUCT, MEMBER.alsologtostderrthreshold, 0,  \
                          "Least severity for alsologtostderr", .note = VPA_LOG_FILES_NOTE),       \
        VPA_FLAG_BOOL("legacy-stderr-threshold-behavior", STRUCT,                                  \
                      MEMBER.legacy_stderr_threshold_behavior, true,                               \
                      "Ignore stderrthreshold while logging to standard error"),                   \
        VPA_FLAG_STRING("log-dir", STRUCT, MEMBER.log_dir, "", "Folder of log files",              \
                        .note = VPA_LOG_FILES_NOTE),                                               \
        VPA_FLAG_STRING("log-file", STRUCT, MEMBER.log_file, "", "Log file",                       \
                        .note = VPA_LOG_FILES_NOTE),                                               \
        VPA_FLAG_UINT("log-file-max-size", STRUCT, MEMBER.log_file_max_size, 1800,                 \
                      "Largest size of the log file in MiB", .note = VPA_LOG_FILES_NOTE),          \
        VPA_FLAG_TRACE("log-backtrace-at", STRUCT, MEMBER.log_backtrace_at, ":0",                  \
                       "Stack trace at file:N", .note = "log lines carry no stack traces"),        \
        VPA_FLAG_BOOL("add-dir-header", STRUCT, MEMBER.add_dir_header, false,                      \
                      "Show the folder of the source file in log lines"),                          \
        VPA_FLAG_BOOL("skip-headers", STRUCT, MEMBER.skip_headers, false,                          \
                      "Log lines without time and source position"),                               \
        VPA_FLAG_BOOL("skip-log-headers", STRUCT, MEMBER.skip_log_headers, false,                  \
                      "Log files without the lines at their top", .note = VPA_LOG_FILES_NOTE),     \
        VPA_FLAG_BOOL("one-output", STRUCT, MEMBER.one_output, false,                              \
                      "Each line only into the file of its severity", .note = VPA_LOG_FILES_NOTE), \
        VPA_FLAG_STRING("logging-format", STRUCT, MEMBER.logging_format, "text",                   \
                        "Form of log lines: text or json (not known upstream)")

#define VPA_LEADER_FLAGS(STRUCT, MEMBER, NAME)                                                     \
    VPA_FLAG_BOOL("leader-elect", STRUCT, MEMBER.elect, false,                                     \
                  "Take a Lease before starting the main loop", .posix = true),                    \
        VPA_FLAG_DURATION(                                                                         \
            "leader-elect-lease-duration", STRUCT, MEMBER.lease_duration, 15 * VPA_SECOND,         \
            "How long others wait after the last renewal before they take over", .posix = true),   \
        VPA_FLAG_DURATION(                                                                         \
            "leader-elect-renew-deadline", STRUCT, MEMBER.renew_deadline, 10 * VPA_SECOND,         \
            "How long the leader retries a renewal before giving up", .posix = true),              \
        VPA_FLAG_DURATION("leader-elect-retry-period", STRUCT, MEMBER.retry_period,                \
                          2 * VPA_SECOND, "Pause between attempts", .posix = true),                \
        VPA_FLAG_STRING("leader-elect-resource-lock", STRUCT, MEMBER.resource_lock, "leases",      \
                        "Kind of the lock; only leases", .posix = true),                           \
        VPA_FLAG_STRING("leader-elect-resource-name", STRUCT, MEMBER.resource_name, NAME,          \
                        "Name of the Lease", .posix = true),                                       \
        VPA_FLAG_STRING("leader-elect-resource-namespace", STRUCT, MEMBER.resource_namespace,      \
                        "kube-system", "Namespace of the Lease", .posix = true)

#endif
