/*
 * A folder of usage: what its index.jsonl says, or, without one, every trace (*.csv, *.csv.gz) and
 * every recording of `kubectl top` (*.top, lab_top.h) in it, by name.
 */
#ifndef CLI_LAB_FOLDER_H
#define CLI_LAB_FOLDER_H

#include "lab_trace.h"

/* The error names file and line, and the message what was expected there. */
int lab_traces_read(const char *folder, struct lab_traces *out,
                    struct vpa_error *err) VPA_MUST_CHECK;

#endif
