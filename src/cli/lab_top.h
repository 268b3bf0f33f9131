/*
 * Recordings of `kubectl top`: its output again and again, a time stamp before each.
 *
 *     while sleep 60; do date -u +%FT%TZ; kubectl top pods -n shop --containers; done > shop.top
 *
 *     2026-03-01T00:00:00Z
 *     POD         NAME   CPU(cores)   MEMORY(bytes)
 *     web-5d4f8   app    12m          34Mi
 *
 * A line is one of four things: a time stamp (RFC 3339, or whole Unix seconds), alone and later
 * than the one before; the heading of kubectl; a row of it, `POD NAME CPU MEMORY`, with the
 * namespace in front as -A prints it; nothing. Amounts are Kubernetes quantities. Blanks separate.
 * Any other line is an error with its number: nothing is passed over.
 *
 * What it can support: samples as the Metrics API gives them, rounded up to millicores and down to
 * mebibytes, no OOM kills, and memory between two samples is not seen.
 */
#ifndef CLI_LAB_TOP_H
#define CLI_LAB_TOP_H

#include "lab_trace.h"
#include "vpa/base/mem.h"

#define LAB_TOP_EXTENSION ".top"
/* Bytes of a file, and of a line of it. */
#define LAB_TOP_MAX ((size_t)256 << 20)
#define LAB_TOP_LINE_MAX 1024

/* One container of one pod. */
struct lab_top_series {
    const char *ns; /* "" when the recording does not say */
    const char *pod;
    const char *container;
    struct lab_samples samples;
};
struct lab_top {
    struct vpa_arena arena;        /* of the names */
    struct lab_top_series **items; /* in the order in which they appear */
    size_t count;
    size_t capacity;
};
void lab_top_release(struct lab_top *t);
/* VPA_INVALID names the line. At least one row. */
int lab_top_parse(const char *text, size_t len, struct lab_top *out,
                  struct vpa_error *err) VPA_MUST_CHECK;

/* Which containers of a recording: replicas of one are one history. NULL: any. */
struct lab_top_choice {
    const char *container;
    const char *pods; /* what the names of its pods begin with */
};
/* The samples of all replicas of the chosen container as one trace that is named after it: of CPU
 * every sample, of memory the largest of a window. VPA_INVALID: containers of several names or
 * namespaces fit, or none; the text lists them. */
int lab_top_read(const char *path, const struct lab_top_choice *choice, struct lab_trace *out,
                 struct vpa_error *err) VPA_MUST_CHECK;
/* Each container of each pod as a trace "namespace/pod/container" of the group that the file is
 * named after; appended. */
int lab_top_read_all(const char *path, struct lab_traces *out,
                     struct vpa_error *err) VPA_MUST_CHECK;

#endif
