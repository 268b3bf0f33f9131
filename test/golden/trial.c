/*
 * Trials of the runner: the cases are mutated in what they expect, and every mutation must make its
 * case fail.
 *
 * Half the mutations of a listed case go to the values on the list. With --unlisted the list is not
 * looked at, as if all cases were a stranger's: then licences and invariants have to notice. A case
 * must pass as it is, with the list and without.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "runner.h"

struct golden_trial {
    const struct golden_options *options;
    size_t count;
    struct pick {
        size_t number; /* of the case */
        uint64_t seed;
    } picks[];
};

/* ---- choice ---- */

static uint64_t hash_name(const char *name)
{
    uint64_t hash = 0;

    for (; *name; name++)
        hash = hash * 31 + (unsigned char)*name;
    return hash;
}

struct golden_trial *golden_trial_new(const char *set, size_t cases,
                                      const struct golden_options *options)
{
    size_t count = cases > 0 ? options->mutations : 0;
    struct golden_trial *t = vpa_xcalloc(1, sizeof(*t) + count * sizeof(t->picks[0]));
    struct golden_dice dice = {options->seed ^ hash_name(set)};

    t->options = options;
    t->count = count;
    for (size_t i = 0; i < count; i++)
        t->picks[i] = (struct pick){golden_roll_below(&dice, cases), golden_roll(&dice)};
    return t;
}

/* ---- what cannot be noticed ---- */

struct unnoticed {
    char *set, *file, *path; /* patterns */
};
static struct unnoticed *known;
static size_t known_count, known_capacity;

void golden_unnoticed_load(const char *path)
{
    vpa_auto_free char *line = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "r");

    if (!f) {
        perror(path);
        exit(2);
    }
    for (ssize_t len; (len = getline(&line, &room, f)) > 0;) {
        char set[64], file[64], leaf[256], reason[8];

        if (*line == '#' || *line == '\n')
            continue;
        if (sscanf(line, "%63s %63s %255s %7s", set, file, leaf, reason) != 4) {
            fprintf(stderr, "%s: needs set, file, leaf and reason: %s", path, line);
            exit(2);
        }
        VPA_GROW(known, known_count, known_capacity);
        known[known_count++] =
            (struct unnoticed){vpa_xstrdup(set), vpa_xstrdup(file), vpa_xstrdup(leaf)};
    }
    fclose(f);
}

static bool is_known(const char *set, const char *file, const char *path)
{
    for (size_t i = 0; i < known_count; i++)
        if (golden_is_like(known[i].set, set) && golden_is_like(known[i].file, file) &&
            golden_is_like(known[i].path, path))
            return true;
    return false;
}

/* ---- trial ---- */

/* A case on the bench. */
struct bench {
    struct golden_run run; /* a copy, with counts of its own */
    struct golden_counts counts;
    struct vpa_arena arena; /* of the documents; that of the run is cleared with every case */
    const char *file;
    const char *line;
    const struct vpa_json *root;
    struct golden_deviation *listed; /* NULL: not listed */
    bool usable;                     /* passes as it is */
};

static bool passes(struct bench *b, const char *line)
{
    bool ok = golden_run_line(&b->run, b->file, line);

    vpa_arena_clear(&b->run.arena);
    return ok;
}

static void bench_init(struct bench *b, const struct golden_run *run, const char *file,
                       const char *line)
{
    struct vpa_error err;

    *b = (struct bench){.run = *run, .file = file, .line = line};
    b->run.counts = &b->counts;
    b->run.found = NULL;
    b->run.found_count = b->run.found_capacity = 0;
    b->run.seen = NULL;
    b->run.seen_count = b->run.seen_capacity = 0;
    b->run.arena = (struct vpa_arena){0};
    b->run.ours = run->ours && !run->options->unlisted;
    if (vpa_json_parse(&b->arena, line, strlen(line), &b->root, &err) < 0)
        return;
    struct golden_case c = {.set = run->set->name,
                            .file = file,
                            .id = vpa_or_empty(vpa_json_string(vpa_json_find(b->root, "id"))),
                            .in = vpa_json_find(b->root, "in"),
                            .out = vpa_json_find(b->root, "out"),
                            .differs = vpa_json_find(b->root, "differs"),
                            .arena = &b->arena};
    if (golden_deviation_find(&c, &b->listed) != GOLDEN_LISTED)
        b->listed = NULL;
    b->run.unlisted = run->options->unlisted;
    if (b->run.unlisted)
        b->listed = NULL;
    b->usable = passes(b, line);
}

static void bench_release(struct bench *b)
{
    free(b->run.found);
    free(b->run.seen);
    vpa_arena_release(&b->run.arena);
    vpa_arena_release(&b->arena);
}

/* Whether a mutation of the values on the list is noticed. */
static bool notices_listed(struct bench *b, const struct golden_mutation *m)
{
    const char *text = golden_mutation_apply(&b->arena, b->listed->values, m);
    struct vpa_error err;

    if (!text || vpa_json_parse(&b->arena, text, strlen(text), &b->run.values, &err) < 0)
        return true;
    bool noticed = !passes(b, b->line);
    b->run.values = NULL;
    return noticed;
}

static bool notices(struct bench *b, const struct golden_mutation *m)
{
    const char *text = golden_mutation_apply(&b->arena, b->root, m);

    return !text || !passes(b, text);
}

static void try_one(struct bench *b, struct golden_counts *counts, uint64_t seed)
{
    struct golden_dice dice = {seed};
    bool listed = b->listed && golden_roll_below(&dice, 2) == 0;
    struct golden_mutation m = golden_mutation_choose(
        &b->arena, listed ? b->listed->values : vpa_json_find(b->root, "out"), &dice);
    const char *set = b->run.set->name;

    if (!m.leaf)
        return;
    counts->cases++;
    if (!b->usable) {
        printf("FAILS AS IT IS %s %s (%s)\n", set,
               vpa_or_empty(vpa_json_string(vpa_json_find(b->root, "id"))), b->file);
        counts->mismatches++;
        return;
    }
    if (listed ? notices_listed(b, &m) : notices(b, &m))
        return;
    bool explained = is_known(set, b->file, m.path);
    printf("UNNOTICED %s %s (%s) %s%s %s%s\n", set,
           vpa_or_empty(vpa_json_string(vpa_json_find(b->root, "id"))), b->file,
           listed ? "listed " : "out.", m.path, golden_mutation_name(&m),
           explained ? " (explained)" : "");
    if (explained)
        counts->skipped++;
    else
        counts->mismatches++;
}

void golden_trial_case(const struct golden_trial *trial, struct golden_run *run, size_t number,
                       const char *file, const char *line)
{
    struct bench b;
    bool ready = false;

    for (size_t i = 0; i < trial->count; i++) {
        if (trial->picks[i].number != number)
            continue;
        if (!ready)
            bench_init(&b, run, file, line);
        ready = true;
        try_one(&b, run->counts, trial->picks[i].seed);
    }
    if (ready)
        bench_release(&b);
}
