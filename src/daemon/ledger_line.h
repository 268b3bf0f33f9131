/*
 * A line of the ledger: an entry as the texts that it was made of, with its number.
 *
 *     struct line *line = ledger_line_new(time, texts, lengths);   // heap; free() it
 *     line->seq = 7;
 *     ledger_line_encode(line, &out);                              // as in vpa/daemon/ledger.h
 */
#ifndef DAEMON_LEDGER_LINE_H
#define DAEMON_LEDGER_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/time.h"

enum { NS, VPA, POD, DECISION, RULE, WHY, INPUTS, TEXTS };

struct line {
    struct line *next;
    uint64_t seq;
    size_t size;              /* of all of it */
    const char *texts[TEXTS]; /* behind this, each with a NUL */
    size_t inputs_len;
    vpa_time time; /* from here on it is what is packed */
    char space[];
};
#define PACKED_FROM offsetof(struct line, time)

/* Copies the texts; the number is 0, there is no next one. */
struct line *ledger_line_new(vpa_time time, const char *const texts[TEXTS],
                             const size_t lengths[TEXTS]);
void ledger_line_encode(const struct line *line, struct vpa_buf *out);

struct lines { /* oldest first */
    struct line *first, *last;
    size_t size; /* of all of them */
};
void ledger_lines_put(struct lines *lines, struct line *line); /* owns it */
void ledger_lines_drop_oldest(struct lines *lines);            /* there must be one */

#endif
