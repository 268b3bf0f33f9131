/*
 * The flags of every daemon: API server, namespaces, listener, feature gates, log.
 *
 *     struct updater_config { struct vpa_common_flags common; ... };
 *     static const struct vpa_flag rows[] = {
 *         VPA_COMMON_FLAGS(struct updater_config, common, ":8943"),
 *         ...
 *     };
 */
#ifndef VPA_DAEMON_COMMON_FLAGS_H
#define VPA_DAEMON_COMMON_FLAGS_H

#include "vpa/daemon/gates.h"

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

/* Sets up the log by the flags: level, vmodule, format, headers, threshold. clock as in log.h. */
int vpa_common_flags_apply(const struct vpa_common_flags *common, int64_t (*clock)(void),
                           struct vpa_error *err) VPA_MUST_CHECK;
/* The checks after parsing that all daemons share; the error text is the line to log before exit 1.
 */
int vpa_common_flags_check(const struct vpa_common_flags *common,
                           struct vpa_error *err) VPA_MUST_CHECK;
/* Whether the namespace is to be left alone: --vpa-object-namespace names another one, or it is in
 * --ignored-vpa-object-namespaces. */
bool vpa_common_flags_ignore(const struct vpa_common_flags *common, const char *name_space);
/* kube-api-qps and kube-api-burst as the client's token bucket sees them: *qps is never 0, and
 * below it there is no limit.
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

#endif
