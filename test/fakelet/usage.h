/*
 * What a container uses: recordings (CSV with the header seconds,cpu_millis,memory_bytes and rising
 * seconds), stretched and scaled, or constants. A pure function of time, so that two runs see the
 * same usage.
 */
#ifndef FAKELET_USAGE_H
#define FAKELET_USAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/error.h"
#include "vpa/base/time.h"

struct traces;
struct traces *traces_new(const char *folder);
void traces_free(struct traces *traces);

struct trace; /* borrowed from the traces */
/* Reads folder/NAME.csv once. VPA_INVALID names file and line. */
int traces_get(struct traces *traces, const char *name, const struct trace **out,
               struct vpa_error *err) VPA_MUST_CHECK;

struct usage {
    const struct trace *trace; /* NULL: constants */
    double stretch;            /* cluster seconds per recorded second */
    bool from_start;           /* the recording begins with the container */
    double cpu_scale, memory_scale;
    double memory_base;
    double cpu_millis, memory_bytes; /* constants */
    vpa_duration after;              /* how long next to nothing is used at first; constants only */
    double startup_cpu, startup_cores;
};

/* At `now` for a container that started at `started`; between two samples the earlier one holds,
 * behind the last the recording begins again. */
void usage_at(const struct usage *usage, vpa_time started, vpa_time now, double *cpu_millis,
              double *memory_bytes);

#endif
