/*
 * Traces from saved answers of Prometheus: of /api/v1/query_range, one series, for example
 *
 *     sum(rate(container_cpu_usage_seconds_total{pod="web-0",container="app"}[5m]))
 *     max(container_memory_working_set_bytes{pod="web-0",container="app"})
 */
#ifndef CLI_LAB_PROMETHEUS_H
#define CLI_LAB_PROMETHEUS_H

#include "lab_trace.h"

/* Either file may be NULL. The error names the file, and what was expected in it. */
int lab_prometheus_read(const char *cpu_file, const char *memory_file, struct lab_trace *out,
                        struct vpa_error *err) VPA_MUST_CHECK;

#endif
