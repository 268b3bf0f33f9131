/*
 * golden [-v] [--propose] [--here] [--log] [--set NAME]... [DIR]
 *
 * Runs the golden vectors of DIR; without DIR the project's own copy (test/golden/data) and, when
 * it is there, the full collection beside the project (../shared/golden). Prints one line per set
 * and a summary; the exit status is 0 when nothing mismatched, 1 otherwise, 2 for wrong usage.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"
#include "vpa/base/log.h"

#define SETS_MAX 64

static const char usage[] =
    "Usage: golden [-v] [--propose] [--here] [--log] [--set NAME]... [DIR]\n"
    "  -v          every difference in full, every skipped case\n"
    "  --propose   print lines for test/golden/deviations instead of differences\n"
    "  --here      do not run each set in a process of its own\n"
    "  --log       show the product's log lines\n"
    "  --set NAME  only this set (repeatable)\n"
    "  DIR         vectors: <set>/*.jsonl or <set>.jsonl; default: the project's own\n"
    "              and ../shared/golden beside the project\n";

/* Vectors that are not replayed here, and where they are. */
static const struct {
    const char *set, *where;
} elsewhere[] = {
    {"apiserver_contract", "replayed on the simulator by the scenario tests"},
    {"crane", "Crane's algorithm is not part of this version"},
    {"crd_schema", "replayed on the simulator by the scenario tests"},
};

struct totals {
    size_t passed, failed, skipped;
};

struct selection {
    const char *names[SETS_MAX];
    size_t count;
};

static bool selected(const struct selection *selection, const char *name)
{
    for (size_t i = 0; i < selection->count; i++)
        if (strcmp(selection->names[i], name) == 0)
            return true;
    return selection->count == 0;
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
    if (n.deviations)
        printf(" %4zu deviations", n.deviations);
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

static int run_folder(const char *dir, const struct selection *selection,
                      const struct golden_options *options, struct totals *totals)
{
    bool ours = is_ours(dir);
    struct dirent **names;
    int count = scandir(dir, &names, is_set, alphasort);

    if (count < 0) {
        perror(dir);
        return -1;
    }
    printf("vectors of %s\n", dir);
    for (size_t i = 0; golden_sets[i]; i++)
        if (selected(selection, golden_sets[i]->name) &&
            golden_set_exists(dir, golden_sets[i]->name))
            run_one(golden_sets[i], dir, ours, options, totals);
    for (int i = 0; i < count; i++) {
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

int main(int argc, char **argv)
{
    struct golden_options options = {0};
    struct selection selection = {0};
    struct totals totals = {0};
    const char *dir = NULL;
    bool log = false;
    int status = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            options.verbose = true;
        else if (strcmp(argv[i], "--propose") == 0)
            options.propose = true;
        else if (strcmp(argv[i], "--here") == 0)
            options.here = true;
        else if (strcmp(argv[i], "--log") == 0)
            log = true;
        else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && selection.count < SETS_MAX)
            selection.names[selection.count++] = argv[++i];
        else if (argv[i][0] != '-' && !dir)
            dir = argv[i];
        else
            return fputs(usage, stderr), 2;
    }
    for (size_t i = 0; i < selection.count; i++)
        if (!find_set(selection.names[i]))
            return fprintf(stderr, "golden: no driver for the set %s\n", selection.names[i]), 2;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!log)
        silence_log();
    golden_deviations_load(GOLDEN_PROJECT "/test/golden/deviations");
    if (dir) {
        status = run_folder(dir, &selection, &options, &totals);
    } else {
        status = run_folder(GOLDEN_PROJECT "/test/golden/data", &selection, &options, &totals);
        if (access(GOLDEN_PROJECT "/../shared/golden", R_OK) == 0 &&
            run_folder(GOLDEN_PROJECT "/../shared/golden", &selection, &options, &totals) < 0)
            status = -1;
    }
    printf("golden: %zu passed, %zu failed, %zu skipped\n", totals.passed, totals.failed,
           totals.skipped);
    return status < 0 ? 2 : totals.failed ? 1 : 0;
}
