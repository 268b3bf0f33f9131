/*
 * Golden vectors: inputs with the outputs that the reference gave for them, run through the
 * product's code.
 *
 * A set of vectors has one driver, test/golden/set_<name>.c; the build finds the file by its name
 * and expects a golden_set_<name> in it (a set's name with "-" or "." written as "_"):
 *
 *     static void run(struct golden_case *c)
 *     {
 *         if (strcmp(c->file, "parse") == 0) ...          // sets of several files dispatch
 *         const char *text = golden_in_text(c, "text");
 *         ...call the product...
 *         golden_text(c, "string", GOLDEN_OUT(c, "string"), got);
 *         golden_int(c, "milli", GOLDEN_OUT(c, "milli"), millis);
 *     }
 *     const struct golden_set golden_set_quantity = {.name = "quantity", .run = run};
 *
 * A driver computes nothing that the product should compute: it hands over the input and compares.
 * Each comparison that fails is one difference under its label; a case without differences has
 * passed. Labels are free text, unique within a case ("passes[2].writes[0].body"). Everything a
 * driver allocates should live in c->arena, which is cleared after the case. A driver may use
 * several cases' worth of state through begin and end. Each set runs in a process of its own; a
 * crash fails its case, and the rest of the set goes on in another process.
 *
 * The runner is strict: a leaf of what a case expects that was compared with nothing is a
 * difference, and `golden --mutate SEED` changes one leaf at a time to see that each is missed (a
 * sample; what cannot be missed stands in test/golden/unnoticed, with the reason).
 *
 * Deviations. Where a decision of docs/compatibility.md makes the product differ on purpose, the
 * case has the member "differs" and stands in test/golden/deviations, one line per case:
 *
 *     <set> <case id> <fingerprint> <decisions> {"<label>":<our value as JSON>,...}
 *
 * The listed labels must be exactly the ones that differ from the reference, with exactly these
 * values; a listed case that equals the reference fails. `golden --propose` prints the lines for
 * the tagged cases that differ now: read each one before it is added. The first half of the
 * fingerprint is of the input, so that a line speaks of that very case, the second of the
 * reference's result: with another one, the line must be looked at again.
 *
 * A tagged case that is not listed (another folder of vectors) passes when it equals the reference.
 * Otherwise undone(), where the set has it, runs it once more with the decisions undone; what
 * differs in both runs must be under leaves that its decisions license, and the set's invariant()
 * must find nothing: there the driver checks what the decision promises instead of c->out. A few
 * decisions came after the tags; touches() names the one that an untagged case meets.
 *
 * Folders. Either one folder per set with *.jsonl in it, each line a case
 *
 *     {"id","note"?,"differs"?,"in":{...},"out":{...}}
 *
 * or the project's own form, one file <set>.jsonl with lines {"file":"parse","case":<such a case>}
 * (test/golden/data, made by test/golden/make-sample).
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/error.h"
#include "vpa/base/mem.h"
#include "vpa/base/time.h"
#include "vpa/json/json.h"

struct golden_run; /* private to the runner */

struct golden_case {
    const char *set;
    const char *file; /* without .jsonl */
    const char *id;
    const char *line; /* the case's text */
    const struct vpa_json *root;
    const struct vpa_json *in;
    const struct vpa_json *out;
    const struct vpa_json *differs; /* array of decisions; NULL when not tagged */
    struct vpa_arena *arena;        /* cleared after the case */
    struct golden_run *run;
};

/* Under the decision these leaves may differ ("*" stands for any text): a label, and below it the
 * path into a document ("calls[2].body"). */
#define GOLDEN_LICENSED_MAX 18
struct golden_licence {
    const char *decision; /* NULL ends a table */
    const char *labels[GOLDEN_LICENSED_MAX];
};

struct golden_set {
    const char *name;
    void (*run)(struct golden_case *c);
    /* NULL: a tagged case that is not listed must equal the reference. Called after run. */
    void (*invariant)(struct golden_case *c);
    /* Runs the case once more with our decisions undone, so that we act as the reference does: what
     * differs then, too, takes the place of what run() found. NULL: there is no such way. */
    void (*undone)(struct golden_case *c);
    bool undone_wholly; /* then all must equal the reference, also what did so before */
    const struct golden_licence *licences; /* NULL: any label may differ in a tagged case */
    /* The decision that an untagged case meets, NULL for none; may be NULL. */
    const char *(*touches)(struct golden_case *c);
    /* Leaves of c->out that are compared with nothing, for the reason that stands beside them in
     * the driver: patterns, NULL behind the last; may be NULL. */
    const char *const *information;
    void (*begin)(void); /* may be NULL: before the first case of the set */
    void (*end)(void);
};

/* The members of in and out; NULL when absent. */
#define GOLDEN_IN(c, name) vpa_json_find((c)->in, name)
#define GOLDEN_OUT(c, name) vpa_json_find((c)->out, name)
/* Members of `in` that must be there: without them the case fails and an empty value is returned.
 */
const char *golden_in_text(struct golden_case *c, const char *name);
int64_t golden_in_int(struct golden_case *c, const char *name); /* a number or a decimal string */
/* Readers of the vectors' own notations, for any node: int64 as number or decimal string; a double
 * as
 * {"num","hex"} or as hex text or as 16 hex digits of its bits; a time in Unix nanoseconds, null
 * unset. */
bool golden_read_int(const struct vpa_json *node, int64_t *out);
bool golden_read_double(const struct vpa_json *node, double *out);
bool golden_read_bits(const struct vpa_json *node, double *out);
bool golden_read_time(const struct vpa_json *node, vpa_time *out);
/* The same for a member of an object; NULL, 0 or the unset time when it is not there. */
const char *golden_text_of(const struct vpa_json *object, const char *name);
int64_t golden_int_of(const struct vpa_json *object, const char *name);
double golden_double_of(const struct vpa_json *object, const char *name);
vpa_time golden_time_of(const struct vpa_json *node); /* the node itself */
/* Whether c->differs names the decision ("S4"). */
bool golden_tagged(const struct golden_case *c, const char *decision);

/*
 * Comparisons. `want` is a node of the case (NULL: absent); `got` is what the product gave. Each
 * returns whether they are equal and records a difference otherwise.
 */
bool golden_text(struct golden_case *c, const char *label, const struct vpa_json *want,
                 const char *got); /* got NULL equals absent and null */
bool golden_int(struct golden_case *c, const char *label, const struct vpa_json *want, int64_t got);
bool golden_bool(struct golden_case *c, const char *label, const struct vpa_json *want, bool got);
/* By bits, but any NaN equals any NaN. want as golden_read_double reads it. */
bool golden_double(struct golden_case *c, const char *label, const struct vpa_json *want,
                   double got);
bool golden_bits(struct golden_case *c, const char *label, const struct vpa_json *want, double got);
/* null equals the unset time. */
bool golden_time(struct golden_case *c, const char *label, const struct vpa_json *want,
                 vpa_time got);
/* got is JSON text; equal as values (order of members free, vpa_json_equal). NULL equals absent. */
bool golden_json(struct golden_case *c, const char *label, const struct vpa_json *want,
                 const char *got);
/* Something that must not be there; got describes what the product gave. */
void golden_unexpected(struct golden_case *c, const char *label, const char *got);
/* A comparison of the driver's own has failed; both are texts for people (and for the deviations).
 */
void golden_difference(struct golden_case *c, const char *label, const char *wanted,
                       const char *got);
/* A part of application/x-www-form-urlencoded text, decoded. */
char *golden_form_decode(struct vpa_arena *arena, const char *text, size_t len);
/* Whether the text is of the pattern, in which "*" stands for any text. */
bool golden_is_like(const char *pattern, const char *text);
/* printf into the arena, for labels. */
#define golden_label(c, ...) vpa_arena_printf((c)->arena, __VA_ARGS__)

/* A member that is only ever true: a remark of the vectors, where it is there at all. */
void golden_marker(struct golden_case *c, const char *name);
/* Text that is not ours to give, but has only so many forms; choices ends with NULL. */
bool golden_one_of(struct golden_case *c, const char *label, const struct vpa_json *want,
                   const char *const *choices);
/* How many children the expectation has; absent and null are none. */
bool golden_count(struct golden_case *c, const char *label, const struct vpa_json *want,
                  size_t got);

/* Calls fn for each place in which two documents differ: a value, or a part that only one has (NULL
 * on the other side). Its label is that of the documents and the path ("calls[2].body"). */
typedef void golden_leaf_fn(void *ctx, const char *label, const struct vpa_json *want,
                            const struct vpa_json *got);
void golden_each_leaf(const struct golden_case *c, const char *label, const struct vpa_json *want,
                      const struct vpa_json *got, golden_leaf_fn *fn, void *ctx);

/*
 * Whatever a case expects must have been looked at: a leaf of c->out that no comparison has seen
 * when the driver returns is a difference, unless the set says that it is for information. The
 * comparisons above see to this for `want` and everything below it; a driver that reads c->out in
 * another way says so here.
 */
void golden_compared(struct golden_case *c, const struct vpa_json *node);

/* A comparison that the driver did not make because a decision of the case forbids it; counted. */
void golden_exempt(struct golden_case *c, size_t count);
/* Whether that very case is on the list of deviations. */
bool golden_listed(const struct golden_case *c);

/* The case is not run, for a reason that the report shows; differences found so far are dropped. */
void golden_skip(struct golden_case *c, const char *fmt, ...) VPA_PRINTF(2, 3);

#endif
