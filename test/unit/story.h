/*
 * What a daemon's passes leave behind, told as text and compared whole with what a file says.
 *
 *     == evictions
 *     p00-00/eviction p00-01/eviction
 *     ...
 *     == evictions, every second refused
 *     ...
 *
 * A file has one section per story: its name, then the text to the byte. When behaviour changes on
 * purpose, STORY_WRITE=FILE makes the test append what it got to FILE; read the difference, then
 * let it take the file's place.
 */
#ifndef TEST_STORY_H
#define TEST_STORY_H

#include "vpa/base/buf.h"
#include "vpa/base/metrics.h"
#include "vpa/daemon/ledger.h"
#include "vpa/json/json.h"

/* Told so far. */
extern struct vpa_buf told;

/* Logs into memory, and tells nothing yet. */
void story_begin(void);
void story_end(void);

/* The text at that path of a JSON value; "" when there is none. */
const char *story_text(const struct vpa_json *node, const char *path);

/* Lines that differ only in the pod's number are one, with how many there were. */
struct story_lines {
    char *texts[64];
    size_t counts[64], count;
};
void story_line(struct story_lines *lines, const char *format, ...) VPA_PRINTF(2, 3);
/* Tells them in the order in which each came first, and forgets them. */
void story_tell_lines(struct story_lines *lines);

/* A line per decision: of what, what, by which rule and why; {} when its inputs are kept. */
void story_tell_ledger(struct vpa_ledger *ledger);
/* The log's lines, each from its message on. */
void story_tell_log(void);
/* The series of the daemon that are not zero, but the quality's and the buckets unless `whole`;
 * the times of the parts of a pass come last, in one line. */
void story_tell_metrics(const struct vpa_metrics *metrics, bool whole);

/* Fails with the first line that differs from the file's section of that name. */
void story_expect(const char *file, const char *name);
/* Fails unless the file has that many sections: one without its story is dead. */
void story_expect_sections(const char *file, size_t count);

#endif
