/*
 * The cases of one set in one folder, in a process of their own: a crash fails the case that was
 * being run, and another process goes on behind it.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runner.h"

#define CASE_MAX ((ssize_t)64 << 20) /* longest line */
#define CASE_SECONDS 1800            /* then a case counts as crashed; an emulator is slow */

/* What outlives the processes. */
struct shared {
    struct golden_counts counts;
    size_t done;  /* lines that need not be looked at again */
    bool running; /* the line behind them */
    char current[GOLDEN_CURRENT_MAX];
};

/* One walk over the lines of a set. */
struct walk {
    struct golden_run *run;
    const struct golden_trial *trial; /* NULL: the cases themselves */
    struct shared *shared;
    size_t lines;
    bool only_count;
};

/* ---- lines ---- */

/* A line of the project's own form: {"file":"parse","case":{...}}; both parts within the line. */
static char *split_own(char *line, char **file)
{
    static const char head[] = "{\"file\":\"", middle[] = "\",\"case\":";
    char *end = line + strlen(line);
    char *split = strstr(line, middle);

    if (strncmp(line, head, sizeof(head) - 1) != 0 || !split || end[-1] != '}')
        return NULL;
    *split = '\0';
    end[-1] = '\0';
    *file = line + sizeof(head) - 1;
    return split + sizeof(middle) - 1;
}

static void take_line(struct walk *walk, const char *file, const char *line)
{
    size_t number = walk->lines++;

    if (walk->only_count || number < walk->shared->done)
        return;
    walk->shared->running = true;
    alarm(CASE_SECONDS);
    if (walk->trial)
        golden_trial_case(walk->trial, walk->run, number, file, line);
    else
        golden_run_line(walk->run, file, line);
    alarm(0);
    walk->shared->running = false;
    walk->shared->done = number + 1;
    vpa_arena_clear(&walk->run->arena);
}

static void fail_line(struct walk *walk, const char *path, const char *why)
{
    if (walk->lines++ < walk->shared->done || walk->only_count)
        return;
    printf("%s: %s\n", path, why);
    golden_count_failure(walk->run->counts);
    walk->shared->done = walk->lines;
}

/* name: of the file, NULL in the project's own form. */
static void walk_file(struct walk *walk, const char *path, const char *name)
{
    vpa_auto_free char *line = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "r");

    if (!f) {
        fail_line(walk, path, "cannot be read");
        return;
    }
    for (ssize_t len; (len = getline(&line, &room, f)) > 0;) {
        char *text = line, *file = NULL;
        if (line[len - 1] == '\n')
            line[len - 1] = '\0';
        if (!*line)
            continue;
        if (len > CASE_MAX)
            fail_line(walk, path, "a line is too long");
        else if (!name && !(text = split_own(line, &file)))
            fail_line(walk, path, "a line is not {\"file\":..,\"case\":..}");
        else
            take_line(walk, name ? name : file, text);
    }
    fclose(f);
}

static int is_jsonl(const struct dirent *entry)
{
    return vpa_str_ends_with(entry->d_name, ".jsonl");
}

static void walk_files(struct walk *walk, const char *dir)
{
    const char *set = walk->run->set->name;
    vpa_auto_free char *single = vpa_xprintf("%s/%s.jsonl", dir, set);
    vpa_auto_free char *folder = vpa_xjoin(dir, '/', set);
    struct dirent **names;

    int count = scandir(folder, &names, is_jsonl, alphasort);
    if (count < 0) {
        walk_file(walk, single, NULL);
        return;
    }
    for (int i = 0; i < count; i++) {
        vpa_auto_free char *path = vpa_xjoin(folder, '/', names[i]->d_name);
        vpa_auto_free char *name =
            vpa_xstrndup(names[i]->d_name, strlen(names[i]->d_name) - strlen(".jsonl"));
        walk_file(walk, path, name);
        free(names[i]);
    }
    free(names);
}

bool golden_set_exists(const char *dir, const char *set)
{
    vpa_auto_free char *single = vpa_xprintf("%s/%s.jsonl", dir, set);
    vpa_auto_free char *folder = vpa_xjoin(dir, '/', set);
    struct stat st;

    return access(single, R_OK) == 0 || (stat(folder, &st) == 0 && S_ISDIR(st.st_mode));
}

/* ---- sets ---- */

static struct golden_run *unseen_run;

static void report_unseen(const struct golden_deviation *d)
{
    printf("MISMATCH %s %s: listed as a deviation, but there is no such case\n", d->set, d->id);
    golden_count_failure(unseen_run->counts);
}

static size_t count_lines(struct golden_run *run, const char *dir)
{
    struct walk walk = {.run = run, .only_count = true};

    walk_files(&walk, dir);
    return walk.lines;
}

static void close_set(struct golden_run *run, const char *dir, bool fresh)
{
    vpa_auto_free char *folder = vpa_xjoin(dir, '/', run->set->name);

    if (run->ours && fresh && !run->quiet && access(folder, R_OK) == 0) { /* not a selection */
        unseen_run = run;
        golden_deviations_unseen(run->set->name, report_unseen);
    }
    if (!run->options->verbose && !run->options->propose &&
        run->counts->mismatches > GOLDEN_PRINTED_MAX)
        printf("  ... %zu more of %s (-v shows all)\n",
               run->counts->mismatches - GOLDEN_PRINTED_MAX, run->set->name);
}

static void run_set(const struct golden_set *set, const char *dir, bool ours,
                    const struct golden_options *options, struct shared *shared)
{
    struct golden_run run = {.set = set,
                             .options = options,
                             .ours = ours,
                             .quiet = options->mutations > 0,
                             .counts = &shared->counts,
                             .current = shared->current};
    struct walk walk = {.run = &run, .shared = shared};
    vpa_auto_free struct golden_trial *trial = NULL;
    bool fresh = shared->done == 0; /* no case crashed before */

    if (options->mutations > 0)
        trial = golden_trial_new(set->name, count_lines(&run, dir), options);
    walk.trial = trial;
    if (set->begin)
        set->begin();
    walk_files(&walk, dir);
    if (set->end)
        set->end();
    close_set(&run, dir, fresh);
    free(run.found);
    free(run.seen);
    vpa_arena_release(&run.arena);
}

static double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The process ended in another way than it should. */
static void report_crash(const struct golden_set *set, struct shared *shared, int status)
{
    if (!shared->running)
        shared->counts.cases++; /* before or behind the cases, or between two of them */
    shared->counts.mismatches++;
    if (WIFSIGNALED(status))
        printf("MISMATCH %s %s: killed by signal %d\n", set->name, shared->current,
               WTERMSIG(status));
    else
        printf("MISMATCH %s %s: ended with status %d\n", set->name, shared->current,
               WEXITSTATUS(status));
    shared->done++;
}

/* In a child. Whether there may be cases left. */
static bool run_in_child(const struct golden_set *set, const char *dir, bool ours,
                         const struct golden_options *options, struct shared *shared)
{
    int status;

    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    if (child == 0) {
        run_set(set, dir, ours, options, shared);
        exit(0); /* not _exit: the leak checker and the coverage counters run here */
    }
    if (waitpid(child, &status, 0) < 0)
        status = 1 << 8;
    if (status != 0)
        report_crash(set, shared, status);
    bool more = shared->running; /* crashed in a case: there may be others */
    shared->running = false;
    return more;
}

struct golden_counts golden_run_set(const struct golden_set *set, const char *dir, bool ours,
                                    const struct golden_options *options)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double start = now_seconds();

    if (shared == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    if (options->here)
        run_set(set, dir, ours, options, shared);
    else
        while (run_in_child(set, dir, ours, options, shared))
            ;
    struct golden_counts counts = shared->counts;
    counts.seconds = now_seconds() - start;
    munmap(shared, sizeof(*shared));
    return counts;
}
