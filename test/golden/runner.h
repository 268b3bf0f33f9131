/*
 * Between the parts of the golden runner: comparisons record (golden_compare.c), a set of one
 * folder is run and reported (runner.c), deviations are looked up (deviations.c), main.c does the
 * rest.
 */
#ifndef GOLDEN_RUNNER_H
#define GOLDEN_RUNNER_H

#include <stddef.h>

#include "golden.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

extern const struct golden_set *const golden_sets[]; /* NULL behind the last; made by the build */

struct golden_options {
    bool verbose; /* every difference, every skip */
    bool propose; /* print lines for test/golden/deviations */
    bool here;    /* run in this process, for a debugger */
};

struct golden_counts {
    size_t cases;
    size_t mismatches;
    size_t skipped;
    size_t deviations; /* listed, or held to the invariant */
    double seconds;
};

/* ---- comparisons record ---- */

/* got is JSON text; all strings live in the case's arena. */
void golden_record(struct golden_run *run, const char *label, const char *wanted, const char *got);
void golden_record_skip(struct golden_run *run, const char *reason);

/* ---- one set ---- */

/* dir/<set>/ with *.jsonl in it, or dir/<set>.jsonl. ours: a deviation must be listed, and every
 * listed one must occur when all of the set's cases are there. */
bool golden_set_exists(const char *dir, const char *set);
struct golden_counts golden_run_set(const struct golden_set *set, const char *dir, bool ours,
                                    const struct golden_options *options);

/* ---- deviations ---- */

struct golden_deviation {
    const char *set, *id, *fingerprint, *decisions;
    const struct vpa_json *values; /* label -> our value */
    const char *key;               /* set, blank, id */
    bool seen;
};
/* Reads the list; exits with a message when it cannot be read. */
void golden_deviations_load(const char *path);
/* NULL when that very case is not listed. */
struct golden_deviation *golden_deviation_find(const struct golden_case *c);
/* Calls fn for every line of a set that was not seen. */
void golden_deviations_unseen(const char *set, void (*fn)(const struct golden_deviation *d));
/* 16 hex digits of the text of a case. */
void golden_fingerprint(const char *line, char out[17]);

#endif
