/*
 * The ledger: what a daemon decided, about which object, by which rule, and on what it rested. A
 * ring in memory, newest kept; on wish a file of JSON lines as well.
 *
 *     struct vpa_ledger *ledger = vpa_ledger_new(&options);
 *     vpa_ledger_record(ledger, &(struct vpa_ledger_entry){
 *         .time = now, .ns = "web", .vpa = "api", .pod = "api-0", .decision = "evict",
 *         .rule = "accepted", .why = "cpu request 500m -> 1238m: ...", .inputs = "{...}"});
 *
 * An entry is one line of JSON, with a number of its own that grows by one:
 *
 *     {"seq":7,"time":"2026-03-01T12:00:00.000000Z","namespace":"web","vpa":"api","pod":"api-0",
 *      "decision":"evict","rule":"accepted","why":"...","inputs":{...}}
 *
 * Inputs are values where they are small; who has large ones gives their hash. Inputs that would
 * make the line longer than VPA_LEDGER_LINE_MAX are replaced by {"hash":"..."}; if it is too long
 * even so, "why" is cut and ends in "...". No secrets: an entry holds names, quantities, times and
 * rules.
 *
 * Any number of threads may record and read. Who records copies and packs; JSON is made when
 * somebody reads, and nobody who records waits for that. The file is written by a thread of its
 * own, so that a slow disk holds up nobody: what waits for it is bounded by VPA_LEDGER_QUEUE_MAX,
 * and what does not fit is missing in the file.
 */
#ifndef VPA_DAEMON_LEDGER_H
#define VPA_DAEMON_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/flags.h"
#include "vpa/base/time.h"

/* Some five thousand recommendations, which take 0.6 MiB packed. */
#define VPA_LEDGER_MEMORY (4 << 20)
#define VPA_LEDGER_LINE_MAX ((size_t)16 << 10)
/* Of one answer. */
#define VPA_LEDGER_PAGE_ENTRIES 500
#define VPA_LEDGER_PAGE_MAX ((size_t)1 << 20)

/* Of the lines that wait for the disk. */
#define VPA_LEDGER_QUEUE_MAX ((size_t)1 << 20)

struct vpa_ledger_flags {
    bool serve;         /* /decisions */
    bool trust_local;   /* callers of loopback need no token */
    int64_t memory;     /* bytes of the ring, unpacked; <= 0: nothing is recorded in memory */
    const char *file;   /* "" for none */
    int64_t file_bytes; /* beyond it the file becomes FILE.1 and a new one begins; <= 0: never */
};
#define VPA_LEDGER_FLAGS(STRUCT, MEMBER)                                                           \
    VPA_FLAG_BOOL(                                                                                 \
        "decisions", STRUCT, MEMBER.serve, true,                                                   \
        "Serve /decisions on --address: what was decided and why; to bearer tokens that "          \
        "may get the nonResourceURL /decisions"),                                                  \
        VPA_FLAG_BOOL("decisions-local", STRUCT, MEMBER.trust_local, true,                         \
                      "Callers of loopback (kubectl port-forward) need no token for /decisions"),  \
        VPA_FLAG_INT(                                                                              \
            "ledger-memory", STRUCT, MEMBER.memory, VPA_LEDGER_MEMORY,                             \
            "Bytes of decisions that are kept in memory, the newest; packed they take less"),      \
        VPA_FLAG_STRING("ledger-file", STRUCT, MEMBER.file, "",                                    \
                        "File that decisions are appended to, as lines of JSON"),                  \
        VPA_FLAG_INT("ledger-file-size", STRUCT, MEMBER.file_bytes, 64 << 20,                      \
                     "Bytes beyond which that file becomes FILE.1 and a new one begins; 0: it "    \
                     "grows without end")
/* What cannot be meant: a file that is too small for a line. */
int vpa_ledger_flags_check(const struct vpa_ledger_flags *flags,
                           struct vpa_error *err) VPA_MUST_CHECK;

struct vpa_ledger_entry { /* borrowed texts; NULL is "" */
    vpa_time time;
    const char *ns, *vpa, *pod;
    const char *decision; /* what is done: "evict", "resize", "pause", ... */
    const char *rule;     /* that decided */
    const char *why;      /* in words */
    const char *inputs;   /* a JSON object; NULL: none */
    size_t inputs_len;    /* 0: up to its end */
};

struct vpa_ledger;
struct vpa_ledger *vpa_ledger_new(const struct vpa_ledger_flags *flags);
/* Nothing more is recorded. NULL is allowed, here and below. */
void vpa_ledger_stop(struct vpa_ledger *ledger);
/* What waits for the file is written first; a disk that has not taken it a second after
 * vpa_ledger_stop(), or after the call without that, is left. */
void vpa_ledger_free(struct vpa_ledger *ledger);
/* A file that cannot be written, or not fast enough, is said once; decisions go on. ledger may be
 * NULL. */
void vpa_ledger_record(struct vpa_ledger *ledger, const struct vpa_ledger_entry *entry);
/* Whether this process decides: true until it is told otherwise. A page of one that does not has
 * "leads":false besides. ledger may be NULL. */
void vpa_ledger_lead(struct vpa_ledger *ledger, bool leads);

struct vpa_ledger_query { /* NULL or "": all. Entries without a namespace are about everything. */
    const char *ns, *vpa, *pod;
    const char *since; /* a number: behind the entry with it; RFC 3339: from that time on */
};
/* {"decisions":[...],"next":7,"more":false}, oldest first: what fits a page; next is the `since` of
 * the next one. VPA_INVALID: `since` is neither. */
int vpa_ledger_read(struct vpa_ledger *ledger, const struct vpa_ledger_query *query,
                    struct vpa_buf *out, struct vpa_error *err) VPA_MUST_CHECK;
/* Bytes of what is kept in memory, unpacked. */
size_t vpa_ledger_size(struct vpa_ledger *ledger);

#endif
