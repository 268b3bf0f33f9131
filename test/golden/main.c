/*
 * golden [-v] [--propose] [--here] [--log] [--mutate SEED [--count N]] [--set NAME]... [--others]
 *        [DIR]
 *
 * Runs the golden vectors of DIR; without DIR the project's own copy (test/golden/data) and, when
 * it is there, the full collection beside the project (../shared/golden). Prints one line per set
 * and a summary; the exit status is 0 when nothing mismatched, 1 otherwise, 2 for wrong usage.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"
#include "vpa/base/log.h"

#define SETS_MAX 64
#define MUTATIONS_PRESET 900

static const char usage[] =
    "Usage: golden [-v] [--propose] [--here] [--log] [--mutate SEED [--count N]] [--set NAME]...\n"
    "              [--others] [DIR]\n"
    "  -v          every difference in full, every skipped case\n"
    "  --propose   print lines for test/golden/deviations instead of differences\n"
    "  --here      do not run each set in a process of its own\n"
    "  --log       show the product's log lines\n"
    "  --mutate SEED  mutate one expected leaf at a time instead; each must make its case fail\n"
    "  --unlisted  mutations without the list of deviations, as for vectors that nobody has seen\n"
    "  --count N   mutations in all (900), the sets in equal shares\n"
    "  --set NAME  only this set (repeatable)\n"
    "  --others    all sets but those that --set names\n"
    "  DIR         vectors: <set>/*.jsonl or <set>.jsonl; default: the project's own\n"
    "              and ../shared/golden beside the project\n";

/* Vectors that are not replayed here, and where they are. */
static const struct {
    const char *set, *where;
} elsewhere[] = {
    {"apiserver_contract", "replayed on the simulator by the scenario tests"},
    {"crd_schema", "replayed on the simulator by the scenario tests"},
};

struct totals {
    size_t passed, failed, skipped;
};

struct selection {
    const char *names[SETS_MAX];
    size_t count;
    bool others; /* all but these */
};

static bool selected(const struct selection *selection, const char *name)
{
    for (size_t i = 0; i < selection->count; i++)
        if (strcmp(selection->names[i], name) == 0)
            return !selection->others;
    return selection->count == 0 || selection->others;
}

static const struct golden_set *find_set(const char *name)
{
    for (size_t i = 0; golden_sets[i]; i++)
        if (strcmp(golden_sets[i]->name, name) == 0)
            return golden_sets[i];
    return NULL;
}

static void run_one(const struct golden_set *set, const char *dir, bool ours,
                    const struct golden_options *options, struct totals *totals)
{
    struct golden_counts n = golden_run_set(set, dir, ours, options);

    printf("%-30s %6zu cases %6zu mismatches %4zu skipped", set->name, n.cases, n.mismatches,
           n.skipped);
    if (n.deviations || n.exempt)
        printf(" %4zu deviations (%zu exempt comparisons)", n.deviations, n.exempt);
    printf(" %7.2f s\n", n.seconds);
    size_t bad = n.mismatches + n.skipped;
    totals->passed += n.cases > bad ? n.cases - bad : 0;
    totals->failed += n.mismatches;
    totals->skipped += n.skipped;
}

/* The collections that the list of deviations speaks of. */
static bool is_ours(const char *dir)
{
    static const char *const ours[] = {GOLDEN_PROJECT "/test/golden/data",
                                       GOLDEN_PROJECT "/../shared/golden"};
    char given[PATH_MAX], known[PATH_MAX];

    for (size_t i = 0; i < VPA_COUNT(ours); i++)
        if (realpath(dir, given) && realpath(ours[i], known) && strcmp(given, known) == 0)
            return true;
    return false;
}

/* A folder or file that no driver claims: one skipped, unless it is known to be elsewhere. */
static void note_undriven(const char *name, const struct selection *selection,
                          struct totals *totals)
{
    char set[256];
    const char *where = NULL;

    snprintf(set, sizeof(set), "%s", name);
    char *end = strstr(set, ".jsonl");
    if (end)
        *end = '\0';
    if (find_set(set) || !selected(selection, set))
        return;
    for (size_t i = 0; i < VPA_COUNT(elsewhere); i++)
        if (strcmp(elsewhere[i].set, set) == 0)
            where = elsewhere[i].where;
    printf("%-30s not run here: %s\n", set, where ? where : "NO DRIVER");
    totals->skipped += !where;
}

static int is_set(const struct dirent *entry)
{
    const char *name = entry->d_name;

    return name[0] >= 'a' && name[0] <= 'z' &&
           (vpa_str_ends_with(name, ".jsonl") || strchr(name, '.') == NULL);
}

/* How many sets of the folder will be run. */
static size_t count_sets(const char *dir, const struct selection *selection)
{
    size_t count = 0;

    for (size_t i = 0; golden_sets[i]; i++)
        count += selected(selection, golden_sets[i]->name) &&
                 golden_set_exists(dir, golden_sets[i]->name);
    return count;
}

static int run_folder(const char *dir, const struct selection *selection,
                      struct golden_options *options, struct totals *totals)
{
    bool ours = is_ours(dir);
    size_t sets = count_sets(dir, selection);
    struct dirent **names;
    int count = scandir(dir, &names, is_set, alphasort);

    if (count < 0) {
        perror(dir);
        return -1;
    }
    printf("vectors of %s\n", dir);
    if (options->count > 0 && sets > 0)
        options->mutations = (options->count + sets - 1) / sets;
    for (size_t i = 0; golden_sets[i]; i++)
        if (selected(selection, golden_sets[i]->name) &&
            golden_set_exists(dir, golden_sets[i]->name))
            run_one(golden_sets[i], dir, ours, options, totals);
    for (int i = 0; i < count; i++) {
        if (options->count == 0)
            note_undriven(names[i]->d_name, selection, totals);
        free(names[i]);
    }
    free(names);
    return 0;
}

/* The vectors are full of failures that the product rightly logs. */
static void silence_log(void)
{
    struct vpa_log_options quiet = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};

    if (quiet.fd < 0 || vpa_log_configure(&quiet, NULL) < 0)
        perror("/dev/null");
}

/* Of the mutations at most one in a hundred may go unnoticed, explained or not. */
static int close_trial(const struct totals *totals)
{
    size_t all = totals->passed + totals->failed + totals->skipped;

    printf("mutations: %zu of %zu noticed, %zu explained\n", totals->passed, all, totals->skipped);
    return totals->failed > 0 || totals->passed * 100 < all * 99;
}

static int close_run(const struct totals *totals, const struct golden_options *options)
{
    int bad = options->count > 0 ? close_trial(totals) : totals->failed > 0;

    printf("golden: %zu passed, %zu failed, %zu skipped\n", totals->passed, totals->failed,
           totals->skipped);
    return bad;
}

struct arguments {
    struct golden_options options;
    struct selection selection;
    const char *dir;
    bool log;
};

/* A value of --mutate or --count. */
static bool read_number(const char *text, int64_t *out)
{
    return text && vpa_parse_int64(text, out, NULL) == 0 && *out >= 0;
}

static bool read_switch(struct arguments *a, const char *word)
{
    static const struct {
        const char *name;
        size_t offset;
    } switches[] = {
        {"-v", offsetof(struct arguments, options.verbose)},
        {"--propose", offsetof(struct arguments, options.propose)},
        {"--unlisted", offsetof(struct arguments, options.unlisted)},
        {"--here", offsetof(struct arguments, options.here)},
        {"--others", offsetof(struct arguments, selection.others)},
        {"--log", offsetof(struct arguments, log)},
    };

    for (size_t i = 0; i < VPA_COUNT(switches); i++)
        if (strcmp(word, switches[i].name) == 0) {
            *(bool *)((char *)a + switches[i].offset) = true;
            return true;
        }
    return false;
}

/* An option with a value. */
static bool read_option(struct arguments *a, const char *word, const char *value)
{
    int64_t n = 0;

    if (strcmp(word, "--set") == 0 && value && a->selection.count < SETS_MAX) {
        a->selection.names[a->selection.count++] = value;
    } else if (strcmp(word, "--mutate") == 0 && read_number(value, &n)) {
        a->options.seed = (uint64_t)n;
        if (a->options.count == 0)
            a->options.count = MUTATIONS_PRESET;
    } else if (strcmp(word, "--count") == 0 && read_number(value, &n)) {
        a->options.count = (size_t)n;
    } else {
        return false;
    }
    return true;
}

static bool read_arguments(struct arguments *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (read_switch(a, argv[i]))
            continue;
        if (argv[i][0] != '-' && !a->dir)
            a->dir = argv[i];
        else if (i + 1 < argc && read_option(a, argv[i], argv[i + 1]))
            i++;
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static const char own[] = GOLDEN_PROJECT "/test/golden/data";
    static const char full[] = GOLDEN_PROJECT "/../shared/golden";
    struct arguments a = {0};
    struct totals totals = {0};

    if (!read_arguments(&a, argc, argv))
        return fputs(usage, stderr), 2;
    for (size_t i = 0; i < a.selection.count; i++)
        if (!find_set(a.selection.names[i]))
            return fprintf(stderr, "golden: no driver for the set %s\n", a.selection.names[i]), 2;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!a.log)
        silence_log();
    golden_deviations_load(GOLDEN_PROJECT "/test/golden/deviations");
    golden_unnoticed_load(GOLDEN_PROJECT "/test/golden/unnoticed");
    if (a.options.unlisted)
        golden_unnoticed_load(GOLDEN_PROJECT "/test/golden/unnoticed-unlisted");
    int status = run_folder(a.dir ? a.dir : own, &a.selection, &a.options, &totals);
    if (!a.dir && access(full, R_OK) == 0 &&
        run_folder(full, &a.selection, &a.options, &totals) < 0)
        status = -1;
    int bad = close_run(&totals, &a.options);
    return status < 0 ? 2 : bad;
}
