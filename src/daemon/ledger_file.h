/*
 * The file of a ledger: JSON lines, written by a thread of its own, rotated by size.
 *
 *     struct ledger_file *file = ledger_file_new("/var/log/decisions", 64 << 20, 16384, 1 << 20);
 *     ledger_file_put(file, line);   // nobody waits for the disk
 *     ledger_file_tell(file);        // outside of locks: says once when lines were lost
 *     ledger_file_free(file);        // what waits is written first, if the disk takes it
 */
#ifndef DAEMON_LEDGER_FILE_H
#define DAEMON_LEDGER_FILE_H

#include "ledger_line.h"

struct ledger_file;
/* Beyond max bytes the file becomes PATH.1 and a new one begins; <= 0: never. No line is longer
 * than line_max, and no more than queue_max bytes wait. A file that cannot be opened, or is none (a
 * pipe, a device), is told and tried again with each line. NULL, told, when no thread could be
 * started. */
struct ledger_file *ledger_file_new(const char *path, int64_t max, size_t line_max,
                                    size_t queue_max);
/* No more lines come: the second begins that ledger_file_free() waits. Waits for nothing. */
void ledger_file_stop(struct ledger_file *f);
/* What is not written in that second is missing, which is told: nobody waits for a disk that takes
 * nothing. NULL is allowed. */
void ledger_file_free(struct ledger_file *f);

/* Owns the line, which has its number. What does not fit into the queue is missing in the file. Any
 * thread. */
void ledger_file_put(struct ledger_file *f, struct line *line);
/* Writes a line to the log when something is missing, once. */
void ledger_file_tell(struct ledger_file *f);

#endif
