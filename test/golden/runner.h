/*
 * Between the parts of the golden runner: comparisons record (golden_compare.c), a case is judged
 * (runner.c), the cases of a folder run in processes of their own (folder.c), mutations try the
 * runner itself (trial.c, mutate.c), deviations are looked up (deviations.c), main.c does the rest.
 */
#ifndef GOLDEN_RUNNER_H
#define GOLDEN_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#include "golden.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

extern const struct golden_set *const golden_sets[]; /* NULL behind the last; made by the build */

struct golden_options {
    bool verbose;     /* every difference, every skip */
    bool propose;     /* print lines for test/golden/deviations */
    bool here;        /* run in this process, for a debugger */
    bool unlisted;    /* mutations only: without the list of deviations */
    size_t count;     /* of mutations in a folder; 0: run the cases themselves */
    size_t mutations; /* of them in each set */
    uint64_t seed;
};

/* Of mutations: cases are mutations, mismatches those that nobody noticed nor explained, skipped
 * those that were not noticed and are explained. */
struct golden_counts {
    size_t cases;
    size_t mismatches;
    size_t skipped;
    size_t deviations; /* cases that are listed, or held to the invariant */
    size_t exempt;     /* comparisons in them that may differ from the reference */
    double seconds;
};

/* ---- one case ---- */

struct golden_found {
    const char *label, *wanted, *got;
};

struct golden_run {
    const struct golden_set *set;
    const struct golden_options *options;
    bool ours;                     /* a case that differs must be listed */
    bool quiet;                    /* nothing is printed about a case */
    bool unlisted;                 /* as if nobody had seen the cases: the list is not looked at */
    const struct vpa_json *values; /* instead of those of the listed case; NULL: those */
    struct golden_counts *counts;  /* in memory shared with the parent */
    char *current;                 /* the case being run, likewise */
    struct golden_found *found;    /* differences */
    size_t found_count, found_capacity;
    const struct vpa_json **seen; /* parts of the expectation that were compared */
    size_t seen_count, seen_capacity;
    char skip_reason[512]; /* empty: not skipped */
    struct vpa_arena arena;
};

#define GOLDEN_CURRENT_MAX 256
#define GOLDEN_PRINTED_MAX 10 /* mismatching cases per set without -v */

/* Runs and judges one case. Whether it passed (or was skipped). */
bool golden_run_line(struct golden_run *run, const char *file, const char *line);
/* One more failure that belongs to no case. */
void golden_count_failure(struct golden_counts *counts);

/* ---- comparisons record ---- */

/* got is JSON text; all strings live in the case's arena. */
void golden_record(struct golden_run *run, const char *label, const char *wanted, const char *got);
void golden_record_skip(struct golden_run *run, const char *reason);
/* A comparison that a decision made unnecessary, or that it allowed to fail. */
void golden_count_exempt(struct golden_run *run, size_t count);
/* What is below these nodes was compared; NULL is nothing. */
void golden_see(struct golden_run *run, const struct vpa_json *node);
/* Records what was not. */
void golden_record_unseen(struct golden_case *c, const char *const *information);

/* ---- one set ---- */

/* dir/<set>/ with *.jsonl in it, or dir/<set>.jsonl. ours: a deviation must be listed, and every
 * listed one must occur when all of the set's cases are there. */
bool golden_set_exists(const char *dir, const char *set);
struct golden_counts golden_run_set(const struct golden_set *set, const char *dir, bool ours,
                                    const struct golden_options *options);

/* ---- mutations ---- */

struct golden_trial; /* which cases are mutated, and how */

/* Chooses among `cases` cases of the set. Released by free(). */
struct golden_trial *golden_trial_new(const char *set, size_t cases,
                                      const struct golden_options *options);
/* Mutates the case with that number as often as it was chosen and counts what is noticed. */
void golden_trial_case(const struct golden_trial *trial, struct golden_run *run, size_t number,
                       const char *file, const char *line);
/* Reads a list of mutations that cannot be noticed, which adds to those read before; exits when it
 * cannot be read. */
void golden_unnoticed_load(const char *path);

/* ---- deviations ---- */

struct golden_deviation {
    const char *set, *id, *fingerprint, *decisions;
    const struct vpa_json *values; /* label -> our value */
    const char *key;               /* set, blank, id */
    bool seen;
};
enum golden_listing { GOLDEN_UNLISTED, GOLDEN_LISTED, GOLDEN_CHANGED_REFERENCE };

/* Reads the list; exits with a message when it cannot be read. */
void golden_deviations_load(const char *path);
/* Whether that very case is listed; *out is its line then. A listed case whose input is the same
 * while its result is not has a changed reference. */
enum golden_listing golden_deviation_find(const struct golden_case *c,
                                          struct golden_deviation **out);
/* Calls fn for every line of a set that was not seen. */
void golden_deviations_unseen(const char *set, void (*fn)(const struct golden_deviation *d));
/* 16 hex digits: eight of the input, eight of everything else. */
void golden_fingerprint(const struct golden_case *c, char out[17]);

#endif
